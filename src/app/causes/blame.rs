//! What the idle time of each engine waited for: a line below its track, and totals for the window.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::report::{Part, Report, Tone};
use super::reports;
use crate::app::App;
use crate::app::effect::Effect;
use crate::app::jobs::Job;
use crate::app::panes::PaneKind;
use crate::model::time::format_duration;
use crate::model::{Window, length};
use crate::query::blame::Blame;
use crate::query::causes::Asking;
use crate::query::locate::idle_track;
use crate::query::tracks::Tree;
use crate::ui::blame::Legend;

/// The idle time of a track, explained.
pub struct TrackBlame {
    /// The name of the track.
    pub name: String,
    /// Its idle time.
    pub blame: Blame,
}

/// Which idle time has been explained: the gaps of at least so many nanoseconds in a window, on the tracks of a tree.
#[derive(Clone)]
struct Scope {
    window: Window,
    least: u64,
    tree: Arc<Tree>,
}

impl Scope {
    fn serves(&self, other: &Scope) -> bool {
        let within = self.window.start <= other.window.start && self.window.end >= other.window.end;
        within && self.least <= other.least && Arc::ptr_eq(&self.tree, &other.tree)
    }
}

/// The idle time of all engines.
#[derive(Default)]
pub struct Blames {
    /// Whether what it waited for is shown in lines of their own.
    pub on: bool,
    /// The one cause that those lines show, where it is only one.
    only: Option<String>,
    /// Letters for causes, those of most time first.
    letters: BTreeMap<String, char>,
    /// By the key of the track; empty until it has been found out.
    tracks: BTreeMap<String, Arc<TrackBlame>>,
    /// What `tracks` hold.
    known: Option<Scope>,
    /// What is being found out.
    soon: Option<Scope>,
}

/// A letter for each cause; the last one stands for all that are left.
fn letters(tracks: &BTreeMap<String, Arc<TrackBlame>>) -> BTreeMap<String, char> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for blame in tracks.values().map(|found| &found.blame) {
        for span in blame.spans() {
            *sums.entry(&blame.texts[usize::from(span.blamed)]).or_default() += length(span.start, span.end);
        }
    }
    let mut order: Vec<(&str, u64)> = sums.into_iter().collect();
    order.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let all = ('a'..='z').chain(std::iter::repeat('?'));
    order.into_iter().zip(all).map(|((text, _), letter)| (text.to_owned(), letter)).collect()
}

impl Blames {
    /// How causes are told apart in the lines.
    #[must_use]
    pub fn legend(&self) -> Legend<'_> {
        Legend { letters: Some(&self.letters), only: self.only.as_deref() }
    }

    /// The idle time of a track, explained as far as that has been wanted.
    #[must_use]
    pub fn of(&self, key: &str) -> Option<&Blame> {
        self.tracks.get(key).map(|found| &found.blame)
    }
}

impl App {
    /// Shows below each engine what its idle time waited for, or no longer.
    pub(crate) fn set_blame(&mut self, on: bool) {
        self.causes.blames.on = on;
        if !on {
            self.causes.blames.only = None;
            self.scene.arrangement.blamed.clear();
            self.scene.rearrange();
            if self.causes.report.as_ref().is_some_and(|r| r.of_window) {
                self.causes.report = None;
                self.seen = None;
            }
        } else if self.scene.store.range.is_some() && self.knows_causes(None) {
            self.find_blames();
        }
    }

    /// The idle time that is to be explained: all of it where it is asked for or takes little, else the gaps that fill
    /// columns of the screen.
    fn wanted_scope(&self) -> Scope {
        let tree = self.scene.tree.clone();
        if self.causes.blames.on || self.instructions() <= super::UNASKED {
            return Scope { window: self.scene.store.whole(), least: 0, tree };
        }
        let grid = self.scene.view.grid();
        Scope { window: grid.window(), least: grid.window().length() / u64::from(grid.columns().max(1)), tree }
    }

    /// Whether idle time is to be explained at all: in a large profile that takes a while and a look at much of the index.
    fn blames_wanted(&self) -> bool {
        self.causes.blames.on || self.causes.asked || self.instructions() <= super::UNASKED
    }

    /// Whether idle time is still to be explained.
    pub(super) fn blames_unsettled(&self) -> bool {
        let blames = &self.causes.blames;
        let wanted = self.wanted_scope();
        self.blames_wanted()
            && self.asking().is_some()
            && ![&blames.known, &blames.soon].into_iter().flatten().any(|s| s.serves(&wanted))
    }

    /// Has the idle time of all engines explained, off the UI thread, where that is wanted and not done.
    pub(super) fn find_blames(&mut self) {
        let wanted = self.wanted_scope();
        let blames = &self.causes.blames;
        if !self.blames_wanted() {
            return;
        }
        if blames.known.as_ref().is_some_and(|known| known.serves(&wanted)) {
            if blames.on && self.scene.arrangement.blamed.is_empty() {
                self.show_blames();
            }
            return;
        }
        if blames.soon.as_ref().is_some_and(|soon| soon.serves(&wanted)) {
            return;
        }
        let Some((store, index)) = self.sources() else { return };
        // Some more, so that the next steps find it there.
        let around = i64::try_from(wanted.window.length()).unwrap_or(i64::MAX);
        let (start, end) = (wanted.window.start.saturating_sub(around), wanted.window.end.saturating_add(around));
        let scope = Scope { window: Window::new(start, end), least: wanted.least / 2, tree: wanted.tree };
        self.causes.blames.soon = Some(scope.clone());
        let mut idle = self.causes.idle.clone();
        self.effects.push(Effect::Job(Job::new("blame", move |reporter| {
            let asking = Asking::new(&store, &index);
            let mut tracks = BTreeMap::new();
            for node in scope.tree.nodes.iter().filter(|n| n.children.is_empty()) {
                if reporter.cancelled() {
                    return;
                }
                let find = || node.track().and_then(|track| idle_track(&store, track));
                let track = idle.entry(node.key.clone()).or_insert_with(find);
                let Some(lane) = track.as_ref().and_then(|track| track.lane(&store)) else { continue };
                let blame = Blame::of_gaps(&asking, lane, scope.window, scope.least);
                tracks.insert(node.key.clone(), Arc::new(TrackBlame { name: node.full.clone(), blame }));
            }
            let letters = letters(&tracks);
            reporter.answer(move |app| {
                app.causes.blames.soon = None;
                if Arc::ptr_eq(&store, &app.scene.store) {
                    app.causes.idle.extend(idle);
                    (app.causes.blames.tracks, app.causes.blames.letters) = (tracks, letters);
                    app.causes.blames.known = Some(scope);
                    if app.causes.blames.on {
                        app.show_blames();
                    }
                }
            });
        })));
    }

    fn show_blames(&mut self) {
        let first = self.scene.arrangement.blamed.is_empty();
        self.scene.arrangement.blamed = self.causes.blames.tracks.keys().cloned().collect();
        self.scene.rearrange();
        if !first {
            return;
        }
        let focus = self.panes.focused();
        let totals = self.blame_totals();
        reports::show(self, totals);
        // A switch takes the focus from nothing.
        self.panes.set_focus(focus);
    }

    /// Has the totals follow the window.
    pub(crate) fn follow_blame_totals(&mut self) {
        if self.causes.report.as_ref().is_some_and(|r| r.of_window) && self.panes.shown().contains(&PaneKind::Causes) {
            self.causes.report = Some(self.blame_totals());
        }
    }

    /// What the idle time of each engine in the window is blamed on.
    fn blame_totals(&self) -> Report {
        let window = self.scene.view.window();
        let mut title = format!("what idle time waited for, in {}", format_duration(window.length()));
        if let Some(only) = &self.causes.blames.only {
            title += &format!("; shown is {only}");
        }
        let mut report = Report::new(title);
        report.of_window = true;
        let shown = self.scene.rows.iter().map(|r| &self.scene.tree.node(r.node).key);
        for found in shown.filter_map(|key| self.causes.blames.tracks.get(key)) {
            self.add_shares(&mut report, found, window);
        }
        report
    }

    fn add_shares(&self, report: &mut Report, found: &TrackBlame, window: Window) {
        let (blame, legend) = (&found.blame, self.causes.blames.legend());
        let shares = blame.shares(window);
        let idle: u64 = shares.iter().map(|s| s.ns).sum();
        let part = idle as f64 * 100.0 / window.length().max(1) as f64;
        report.heading(format!("{}: idle {} ({part:.0}% of the window)", found.name, format_duration(idle)));
        for share in shares {
            let at = usize::from(share.blamed);
            let (Some(blamed), Some(text)) = (blame.blamed.get(at), blame.texts.get(at)) else { continue };
            let (sign, color) = legend.sign(blamed, text, &self.look);
            let parts = vec![
                Part::number(format_duration(share.ns), Tone::Value),
                Part::number(format!("{:.1}%", share.share * 100.0), Tone::Dim),
                Part::new(sign, Tone::Colored(color)),
                Part::new(text, Tone::Plain),
            ];
            report.cause(text, parts);
        }
    }

    /// Shows in the lines below the engines only one cause, or all again where that is what is shown.
    pub(crate) fn show_only(&mut self, cause: &str) {
        let only = &mut self.causes.blames.only;
        *only = if only.as_deref() == Some(cause) { None } else { Some(cause.to_owned()) };
        match only {
            Some(cause) => {
                let said = format!("only {cause} is shown below the engines");
                self.say(said);
            }
            None => self.say("all causes are shown"),
        }
        self.seen = None;
    }
}
