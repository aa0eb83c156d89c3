//! Following a semaphore: its track is pinned, and who raises it and who waits is listed.

use super::report::{Part, Report, Tone};
use super::reports;
use crate::app::App;
use crate::app::action::Action;
use crate::app::overlays::{Choice, Pick};
use crate::app::scene::Selection;
use crate::model::time::{format_duration, format_time};
use crate::query::causes::{Actor, Asking};
use crate::query::semaphores::SyncKey;
use crate::query::sync::{SyncId, parse_id};

/// Changes, raisers and waiters that are listed.
const MOST: usize = 500;

/// Follows a semaphore: the one named, or one of those that the selected instruction uses, or one of all.
pub fn follow(app: &mut App, name: Option<&str>) {
    let action = Action::FollowSemaphore(name.map(str::to_owned));
    if !app.knows_causes(Some(&action)) {
        return;
    }
    let Some(asking) = app.asking() else { return };
    let mut keys: Vec<SyncKey> = match name {
        Some(name) => named(&asking, name),
        None => of_selection(&asking, app.scene.selection.as_ref()),
    };
    if keys.is_empty() && name.is_none() {
        keys = asking.index.syncs.keys().copied().collect();
    }
    keys.sort_unstable();
    match keys.as_slice() {
        [] => app.refuse(match name {
            Some(name) => format!("no semaphore is called {name:?}"),
            None => "this profile records no semaphores".into(),
        }),
        [one] => show(app, *one),
        several => {
            let choices: Vec<Choice> = several
                .iter()
                .map(|&key| {
                    let track = asking.index.syncs.get(&key);
                    let detail = track.map_or_else(String::new, |t| {
                        format!(
                            "{} changes, {} raise it, {} wait",
                            t.len(),
                            t.raisers.len() + t.transfers.len(),
                            t.waiters.len()
                        )
                    });
                    Choice::new(asking.key_text(key), detail, move |app| show(app, key))
                })
                .collect();
            app.show(Pick::new("follow a semaphore", choices));
        }
    }
}

/// The semaphores with a number or an owner's name.
fn named(asking: &Asking, name: &str) -> Vec<SyncKey> {
    let number = name.trim().parse::<u16>().ok().map(SyncId::semaphore);
    let wanted = number.or_else(|| parse_id(name).map(|(sync, _)| sync));
    let fits = |key: &&SyncKey| match wanted {
        Some(sync) => key.sync == sync,
        None => asking.key_text(**key).to_lowercase().contains(&name.to_lowercase()),
    };
    asking.index.syncs.keys().filter(fits).copied().collect()
}

/// Those that the selected instruction or transfer uses.
fn of_selection(asking: &Asking, selection: Option<&Selection>) -> Vec<SyncKey> {
    let Some(Selection::Event(event)) = selection else { return Vec::new() };
    let actor = asking.actor(*event);
    let core = asking.core(actor);
    let key = |sync| SyncKey { core, sync };
    let mut keys: Vec<SyncKey> = match actor {
        Actor::Instruction(e) => {
            let sync = &asking.index.operands.spec(e).sync;
            let waits = asking.index.operands.waits(e).map(|c| c.sync);
            waits.chain(sync.updates.iter().map(|u| u.sync)).chain(sync.transfer.map(|(s, _)| s)).map(key).collect()
        }
        Actor::Transfer(t) => asking.index.transfers.get(t).sync.map(key).into_iter().collect(),
        Actor::Other(_) => Vec::new(),
    };
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn show(app: &mut App, key: SyncKey) {
    // Its track shows the value over time.
    let table = app.scene.store.table_index("SemaphoreUpdate");
    let is_its = |n: &&crate::query::tracks::Node| {
        n.track().is_some_and(|t| Some(t.table) == table)
            && n.core == key.core
            && parse_id(&n.label).is_some_and(|(sync, _)| sync == key.sync)
    };
    let track = app.scene.tree.nodes.iter().find(is_its).map(|n| n.key.clone());
    if let Some(track) = &track
        && !app.scene.arrangement.pinned.contains(track)
    {
        app.scene.arrangement.pinned.push(track.clone());
        app.scene.arrangement.hidden.remove(track);
        app.scene.rearrange();
    }
    let name = app.asking().map_or_else(String::new, |asking| asking.key_text(key));
    let now = app.scene.view.cursor();
    reports::make(app, &format!("looking up who raises {name}"), move |asking, _| Ok(report(asking, key, now)));
    match track {
        Some(_) => app.say(format!("the track of {name} is pinned to the top")),
        None => app.say(format!("changes of {name} are not recorded")),
    }
}

/// Who raises a semaphore and who waits for it.
fn report(asking: &Asking, key: SyncKey, now: i64) -> Report {
    let name = asking.key_text(key);
    let Some(track) = asking.index.syncs.get(&key) else { return Report::new(name) };
    let value = track.value_at(now).map_or_else(String::new, |v| format!(", {v} at {}", format_time(now, 1)));
    let mut report = Report::new(format!("{name}: {} changes{value}", track.len()));
    let transfers = track.transfers.iter().map(|t| Actor::Transfer(*t));
    let raisers: Vec<Actor> = track.raisers.iter().map(|e| Actor::Instruction(*e)).chain(transfers).collect();
    let waiters: Vec<Actor> = track.waiters.iter().map(|e| Actor::Instruction(*e)).collect();
    let mut list = |heading: String, actors: &[Actor]| {
        report.heading(heading);
        for &actor in actors.iter().take(MOST) {
            let (start, end) = asking.span(actor);
            let condition = match actor {
                Actor::Instruction(e) => {
                    let waits = asking.index.operands.waits(e);
                    let own = waits.filter(|c| c.sync == key.sync).map(|c| c.to_string());
                    own.collect::<Vec<_>>().join(" ")
                }
                _ => String::new(),
            };
            let parts = vec![
                Part::number(format_time(start, 1), Tone::Dim),
                Part::number(format_duration(crate::model::length(start, end)), Tone::Value),
                Part::new(condition, Tone::Dim),
                Part::new(asking.name(actor), Tone::Plain),
            ];
            report.line(Some(actor), parts);
        }
        if actors.len() > MOST {
            report.text(format!("and {} more", actors.len() - MOST), Tone::Dim);
        }
    };
    list(format!("{} raise it", raisers.len()), &raisers);
    list(format!("{} wait for it", waiters.len()), &waiters);
    report.marked = raisers.into_iter().chain(waiters).collect();
    report
}
