//! The lists of the Causes pane: binding chain, reach, critical path, what-if.

use std::sync::atomic::AtomicBool;

use super::links::signed;
use super::report::{Part, Report, Tone};
use crate::app::App;
use crate::app::effect::Effect;
use crate::app::history::Purpose;
use crate::app::jobs::Job;
use crate::app::overlays::Prompt;
use crate::app::panes::{PaneKind, info};
use crate::model::format::{format_count, format_rate};
use crate::model::length;
use crate::model::time::{format_duration, format_time};
use crate::query::causes::{Actor, Asking};
use crate::query::chain::{Chain, MOST_STEPS, Piece};
use crate::query::gaps::Gap;
use crate::query::reach::{By, Totals};
use crate::query::whatif::Changed;
use crate::store::LabelKind;

/// How far a reach is followed, unless asked for more.
const DEPTH: usize = 8;
/// Events that a reach counts at most.
const MOST_REACHED: usize = 100_000;
/// Events that are listed of each depth of a reach.
const LISTED: usize = 200;
/// Lines of totals by one criterion.
const MOST_TOTALS: usize = 12;

/// Has a list made off the UI thread, and shows it.
pub(super) fn make(
    app: &mut App,
    what: &str,
    work: impl FnOnce(&Asking, &AtomicBool) -> Result<Report, String> + Send + 'static,
) {
    let Some((store, index)) = app.sources() else { return };
    let said = format!("{what} …");
    app.say(said.clone());
    app.effects.push(Effect::Job(Job::new("why", move |reporter| {
        let asking = Asking::new(&store, &index);
        let made = work(&asking, reporter.flag()).map(|mut report| {
            report.events = report.marked.iter().flat_map(|a| asking.shown_as(*a)).collect();
            report
        });
        reporter.answer(move |app| {
            if app.asking().is_none() {
                return;
            }
            if app.message.as_ref().is_some_and(|m| m.text == said) {
                app.message = None;
            }
            match made {
                Ok(report) => show(app, report),
                Err(why) => app.refuse(why),
            }
        });
    })));
}

/// Shows a list in its pane, which gets the focus.
pub(super) fn show(app: &mut App, mut report: Report) {
    report.selection = app.scene.selection.clone();
    app.causes.report = Some(report);
    let pane = PaneKind::Causes;
    if !app.panes.shown().contains(&pane) {
        app.panes.open(info(pane));
    }
    app.panes.set_focus(Some(pane));
    // What stands out is another thing now.
    app.seen = None;
}

/// The binding chain of the selection; of a transfer its life, too.
pub fn chain(app: &mut App) -> Result<(), String> {
    let (actor, gap) = app.held()?;
    make(app, "following the causes", move |asking, _| {
        let mut report = match &gap {
            Some(gap) => of_gap(asking, gap),
            None => of_actor(asking, actor),
        };
        let choices = asking.choices(actor);
        if choices.len() > 1 {
            report.heading(format!("what {} also waited for", asking.name(actor)));
        }
        for choice in choices.iter().skip(1) {
            let how = asking.how_text(&choice.cause.how);
            let name = choice.actor.map_or_else(|| "not recorded".to_owned(), |a| asking.name(a));
            let parts = vec![
                Part::number(format_duration(choice.slack), Tone::Value),
                Part::new("slack", Tone::Dim),
                Part::number(format_time(choice.cause.satisfied, 1), Tone::Dim),
                Part::new(format!("{how} ← {name}"), Tone::Plain),
            ];
            report.line(choice.actor, parts);
        }
        Ok(report)
    });
    Ok(())
}

fn of_actor(asking: &Asking, actor: Actor) -> Report {
    let chain = asking.chain(actor, asking.store.whole().start, MOST_STEPS);
    let title = format!("{}: {} from its root", asking.name(actor), format_duration(chain.total()));
    let mut report = Report::new(title);
    if let Actor::Transfer(t) = actor {
        let life = asking.life(t);
        report.heading("life of the transfer");
        for piece in life.stages(actor) {
            report.line(piece.actor, piece_parts(asking, &piece));
        }
        let rates = [("moved at", life.rate), ("best of its queue", life.best), ("peak of the DMA engines", life.peak)];
        let rates = rates.iter().filter_map(|(name, rate)| Some(format!("{name} {}", format_rate((*rate)?))));
        report.text(rates.collect::<Vec<_>>().join(", "), Tone::Plain);
    }
    add_chain(asking, &mut report, &chain);
    report
}

fn of_gap(asking: &Asking, gap: &Gap) -> Report {
    let chain = asking.gap_chain(gap);
    let mut report = Report::new(format!("idle for {}", format_duration(gap.length())));
    add_chain(asking, &mut report, &chain);
    report
}

/// Adds the pieces of a chain, the last in time first, and what its time was spent on.
fn add_chain(asking: &Asking, report: &mut Report, chain: &Chain) {
    report.marked.extend(chain.actors.iter().copied());
    report.marked.extend(chain.pieces.iter().filter_map(|p| p.actor).filter(|a| !asking.passes(*a)));
    report.marked.sort_unstable();
    report.marked.dedup();
    let kinds = asking.totals(chain, By::Kind);
    let total = chain.total();
    // Of a long chain, the sums say more than its last pieces.
    let long = chain.pieces.len() > LONG;
    let add_sums = |report: &mut Report| {
        for (by, name) in SUMS {
            add_totals(report, name, &asking.totals(chain, by), total);
        }
    };
    if long {
        report.text(shares(&kinds, total), Tone::Plain);
        add_sums(report);
    }
    report.heading(format!("binding chain, {} pieces: {}", chain.pieces.len(), shares(&kinds, total)));
    for piece in chain.pieces.iter().take(MOST_PIECES) {
        report.line(piece.actor, piece_parts(asking, piece));
    }
    if chain.pieces.len() > MOST_PIECES {
        report.text(format!("and {} more pieces", chain.pieces.len() - MOST_PIECES), Tone::Dim);
    }
    if let Some(root) = asking.root_text(&chain.root) {
        report.text(format!("root: {root}"), Tone::Dim);
    }
    if !long {
        add_sums(report);
    }
}

/// What the time of a chain is summed up by.
const SUMS: [(By, &str); 4] =
    [(By::Track, "engine and queue"), (By::Opcode, "opcode"), (By::Layer, "layer"), (By::Line, "source line")];
/// Chains of more pieces are summed up first.
const LONG: usize = 40;

/// Pieces of a chain that are listed.
const MOST_PIECES: usize = 2_000;

fn piece_parts(asking: &Asking, piece: &Piece) -> Vec<Part> {
    vec![
        Part::number(format_duration(length(piece.start, piece.end)), Tone::Value),
        Part::new(piece.kind.name(), Tone::Piece(piece.kind)),
        Part::number(format_time(piece.start, 1), Tone::Dim),
        Part::new(format!("{}  ({})", asking.piece_text(piece), piece.basis.name()), Tone::Plain),
    ]
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

fn shares(totals: &Totals, whole: u64) -> String {
    let each = totals.iter().map(|(name, ns)| format!("{name} {:.0}%", percent(*ns, whole)));
    each.collect::<Vec<_>>().join(", ")
}

fn add_totals(report: &mut Report, by: &str, totals: &Totals, whole: u64) {
    // A single line would only repeat the sum.
    if totals.len() < 2 {
        return;
    }
    report.heading(format!("by {by}"));
    for (name, ns) in totals.iter().take(MOST_TOTALS) {
        let parts = vec![
            Part::number(format_duration(*ns), Tone::Value),
            Part::number(format!("{:.1}%", percent(*ns, whole)), Tone::Dim),
            Part::default(),
            Part::new(name, Tone::Plain),
        ];
        report.line(None, parts);
    }
    if totals.len() > MOST_TOTALS {
        report.text(format!("and {} more", totals.len() - MOST_TOTALS), Tone::Dim);
    }
}

/// What a delay of the selection would delay.
pub fn reach(app: &mut App, depth: Option<&str>) -> Result<(), String> {
    let (actor, _) = app.held()?;
    let depth = depth.and_then(|d| d.parse().ok()).unwrap_or(DEPTH);
    make(app, "following what this unblocked", move |asking, _| {
        let reach = asking.reach(actor, depth, MOST_REACHED);
        let count = format_count(reach.count() as u64);
        let limited = if reach.limited { "; there are more behind these" } else { "" };
        let name = asking.name(actor);
        let mut report = Report::new(format!("a delay of {name} delays {count} events in {depth} steps{limited}"));
        if reach.count() == 0 {
            report.text(format!("nothing started because of {name}"), Tone::Plain);
        }
        if let Some(until) = reach.until {
            report.text(format!("the last of them ends at {}", format_time(until, 1)), Tone::Plain);
        }
        let tracks = reach.by_track.iter().take(MOST_TOTALS).map(|(track, n)| format!("{track} {n}"));
        let tracks: Vec<String> = tracks.collect();
        if !tracks.is_empty() {
            report.text(tracks.join(", "), Tone::Dim);
        }
        for (level, actors) in reach.levels.iter().enumerate() {
            report.heading(format!(
                "after {} {}: {} events",
                level + 1,
                if level == 0 { "step" } else { "steps" },
                actors.len()
            ));
            for &other in actors.iter().take(LISTED) {
                let (start, end) = asking.span(other);
                let parts = vec![
                    Part::number(format_time(start, 1), Tone::Dim),
                    Part::number(format_duration(length(start, end)), Tone::Value),
                    Part::new(asking.name(other), Tone::Plain),
                ];
                report.line(Some(other), parts);
            }
            if actors.len() > LISTED {
                report.text(format!("and {} more", actors.len() - LISTED), Tone::Dim);
            }
        }
        report.marked = reach.levels.concat();
        Ok(report)
    });
    Ok(())
}

/// The chain that bounds the whole profile.
pub fn critical_path(app: &mut App) -> Result<(), String> {
    make(app, "following the critical path", |asking, _| {
        let path = asking.critical_path().ok_or("nothing ran in this profile")?;
        let total = path.chain.total();
        let title = format!("critical path: {} to {}", format_duration(total), asking.name(path.last));
        let mut report = Report::new(title);
        add_chain(asking, &mut report, &path.chain);
        Ok(report)
    });
    Ok(())
}

/// What the run would take if something took another share of its time; asks what where it is not said.
pub fn what_if(app: &mut App, text: Option<&str>) -> Result<(), String> {
    if let Some(text) = text {
        return estimate(app, text);
    }
    let placeholder = "this 50%, MATMUL 0.5, layer layers.3/attn 0";
    let prompt = Prompt::new(Purpose::Name, "what if: ", placeholder, |text, app| estimate(app, text));
    let mut words = ["this", "layer"].map(str::to_owned).to_vec();
    let names = app.scene.store.table("Instruction").and_then(|table| table.label(LabelKind::Name));
    words.extend(names.into_iter().flat_map(|l| l.entries.iter().filter(|name| !name.is_empty()).cloned()));
    app.show(prompt.with_words(words));
    Ok(())
}

fn estimate(app: &mut App, text: &str) -> Result<(), String> {
    let (what, share) = parse_change(text)?;
    let changed = match what {
        What::Selection => Changed::Event(app.held()?.0),
        What::Name(name) => Changed::Name(name),
        What::Layer(name) => Changed::Layer(name),
    };
    make(app, "replaying the run", move |asking, cancel| {
        let found = asking.what_if(&changed, share, cancel).ok_or("no event is meant by this")?;
        let what = match &changed {
            Changed::Event(actor) => asking.name(*actor),
            Changed::Name(name) => format!("all {name}"),
            Changed::Layer(layer) => format!("layer {layer}"),
        };
        let saved = i64::try_from(found.recorded).unwrap_or(0) - i64::try_from(found.estimate).unwrap_or(0);
        let title = format!("{what} at {:.0}% of its time: {}", share * 100.0, format_duration(found.estimate));
        let mut report = Report::new(title);
        let mut line = |name: &str, value: String| {
            let parts = vec![Part::new(name, Tone::Dim), Part::number(value, Tone::Value)];
            report.line(None, parts);
        };
        line("recorded", format_duration(found.recorded));
        line("estimate", format_duration(found.estimate));
        line("difference", format!("{} ({:+.1}%)", signed(-saved), percent(found.estimate, found.recorded) - 100.0));
        line("events changed", format_count(found.events as u64));
        line("their time", format_duration(found.time));
        line("replayed unchanged", format!("{} ({:+.1}%)", format_duration(found.replayed), found.error * 100.0));
        report.text("the estimate is no better than the replay of the unchanged run", Tone::Dim);
        Ok(report)
    });
    Ok(())
}

/// What is to be changed.
#[derive(Debug, PartialEq)]
enum What {
    Selection,
    Name(String),
    Layer(String),
}

/// Reads `this 50%`, `MATMUL 0.5` or `layer NAME 0`.
fn parse_change(text: &str) -> Result<(What, f64), String> {
    let form = "expected what and its share of the time: this 50%, MATMUL 0.5, layer NAME 0";
    let (what, share) = text.trim().rsplit_once([' ', '=']).unwrap_or(("this", text.trim()));
    let number = share.strip_suffix('%').unwrap_or(share).parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
    let number = number.ok_or_else(|| format!("{share:?} is no share; {form}"))?;
    let share = if share.ends_with('%') { number / 100.0 } else { number };
    let what = match what.trim() {
        "" | "this" => What::Selection,
        layer if layer.starts_with("layer ") => What::Layer(layer["layer ".len()..].trim().to_owned()),
        name => What::Name(name.to_owned()),
    };
    Ok((what, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read() {
        assert_eq!(parse_change("this 50%"), Ok((What::Selection, 0.5)));
        assert_eq!(parse_change("0.25"), Ok((What::Selection, 0.25)));
        assert_eq!(parse_change("MATMUL=0.5"), Ok((What::Name("MATMUL".into()), 0.5)));
        assert_eq!(parse_change("layer a/b c 0"), Ok((What::Layer("a/b c".into()), 0.0)));
        for bad in ["", "MATMUL", "MATMUL -1", "this NaN"] {
            assert!(parse_change(bad).is_err(), "{bad:?}");
        }
    }
}
