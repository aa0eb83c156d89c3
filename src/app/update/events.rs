//! Stepping through events and looking at one.

use std::sync::Arc;

use super::gaps::{self, Which};
use crate::app::App;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::jobs::Job;
use crate::app::scene::{Scene, Selection};
use crate::query::details::event_with_fields;
use crate::query::tracks::{DmaGrouping, Node, TrackOptions};
use crate::query::viewport::{next_event, previous_event};
use crate::store::{EventRef, LabelKind, Store};

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::EventNext => step(app, false),
        Action::EventPrev => step(app, true),
        Action::SameNameNext => same_name(app, false),
        Action::SameNamePrev => same_name(app, true),
        Action::HighlightSameName => highlight(app),
        Action::IdleNext => gaps::idle(app, Which::Next),
        Action::IdlePrev => gaps::idle(app, Which::Previous),
        Action::IdleLongest => gaps::idle(app, Which::Longest),
        Action::Enter => enter(app),
        Action::CopyJson => copy(app),
        Action::RawValues(arg) => app.change("raw-values", arg.as_deref()),
        Action::NextWarning => app.next_warning(),
        _ => return false,
    }
    true
}

/// Goes to an event that something led to: notes the place that is left, and shows the tracks that hold the event if
/// they are not among the present ones.
pub fn visit(app: &mut App, event: EventRef) {
    app.scene.leave();
    arrive(app, event);
}

/// The same without noting the place that is left.
pub fn arrive(app: &mut App, event: EventRef) {
    app.wanted = None;
    if app.scene.go_to(event) {
        return;
    }
    // Packets and whole transfers are never shown at once.
    let table = app.scene.store.table_of(event);
    let dma = match table.name.as_str() {
        "DmaPacket" => DmaGrouping::Engine,
        "DmaPacketAggregated" => DmaGrouping::Queue,
        _ => {
            app.refuse(format!("{} is shown on no track", table.event_name(event.event)));
            return;
        }
    };
    let options = TrackOptions { dma, ..app.scene.options };
    app.say("the tracks are grouped by what this event is part of");
    app.retrack(options, move |app| {
        if !app.scene.go_to(event) {
            app.refuse("the event is shown on no track");
        }
    });
}

/// The event one is at: the selected one where the current track holds it, else what lies under the cursor.
fn here(app: &App) -> Option<EventRef> {
    let selected = app.scene.selected_event().filter(|&e| app.scene.holds(e));
    selected.or_else(|| app.scene.under_cursor())
}

pub(super) fn stepped(app: &App) -> Option<&Node> {
    app.scene.node().filter(|n| n.track().is_some())
}

fn step(app: &mut App, back: bool) {
    let Some(node) = stepped(app) else {
        app.refuse("this track has no events to step through");
        return;
    };
    let selected = app.scene.selected_event().and_then(|_| here(app));
    let cursor = app.scene.view.cursor();
    let store = &app.scene.store;
    let found = match (selected, back) {
        (Some(_), false) => next_event(store, node, selected, cursor),
        (Some(_), true) => previous_event(store, node, selected, cursor),
        // Without a selection the one under the cursor is the first.
        (None, false) => app.scene.under_cursor().or_else(|| next_event(store, node, None, cursor)),
        (None, true) => previous_event(store, node, None, cursor),
    };
    match found {
        Some(event) => {
            app.scene.go_to(event);
        }
        None => {
            let text =
                if back { "this is the first event of the track" } else { "this is the last event of the track" };
            app.refuse(text);
        }
    }
}

/// The next or previous event of the track with the same name.
fn same_name(app: &mut App, back: bool) {
    let (Some(event), Some(node)) = (here(app), stepped(app)) else {
        app.refuse("no event is selected");
        return;
    };
    let found = find_same_name(&app.scene.store, node, event, back);
    let name = app.scene.store.table_of(event).event_name(event.event).to_owned();
    match found {
        Some(event) => {
            app.scene.go_to(event);
        }
        None => app.refuse(format!("no {} {name} on this track", if back { "earlier" } else { "later" })),
    }
}

fn find_same_name(store: &Store, node: &Node, event: EventRef, back: bool) -> Option<EventRef> {
    let lane = node.lane(store)?;
    let labels = store.table_of(event).label(LabelKind::Name)?;
    let key = labels.key(event.event as usize);
    let at = lane.position(event.event)?;
    let same = |&i: &usize| lane.event(i).is_some_and(|e| labels.key(e as usize) == key);
    let found = if back { (0..at).rev().find(same) } else { (at + 1..lane.len()).find(same) };
    Some(EventRef { table: event.table, event: lane.event(found?)? })
}

fn highlight(app: &mut App) {
    let Some(event) = here(app) else {
        app.refuse("no event is selected");
        return;
    };
    let before = app.scene.highlight.take();
    app.scene.highlight_name_of(event);
    if app.scene.highlight == before {
        app.scene.highlight = None;
    } else if let Some(highlight) = &app.scene.highlight {
        let labels = app.scene.store.table_of(event).label(LabelKind::Name);
        let count = labels.map_or(0, |l| (0..l.keys.len()).filter(|&i| l.key(i) == highlight.key).count());
        let text = format!("{} events are called {}", crate::model::format::format_count(count as u64), highlight.name);
        app.say(text);
    }
}

/// Selects what lies under the cursor; what is selected already is opened: a group is folded or unfolded.
fn enter(app: &mut App) {
    let Some(node) = app.scene.node() else { return };
    if !node.is_leaf() {
        app.act(&Action::Fold);
        return;
    }
    if selected_here(&app.scene, &node.key) {
        // The Details of what is selected get the focus.
        let details = crate::app::panes::PaneKind::Details;
        if !app.panes.shown().contains(&details) {
            app.panes.open(crate::app::panes::info(details));
        }
        app.panes.set_focus(Some(details));
        return;
    }
    match app.scene.under_cursor() {
        Some(event) => app.scene.selection = Some(Selection::Event(event)),
        None => app.refuse("there is nothing under the cursor"),
    }
}

/// Whether the selection is an event or a gap of the track with this key, and reaches into the cursor's column.
fn selected_here(scene: &Scene, key: &str) -> bool {
    let on_track = match &scene.selection {
        Some(Selection::Event(event)) => scene.holds(*event),
        Some(Selection::Gap { track, .. }) => track == key,
        None => false,
    };
    let cell = scene.cursor_cell();
    on_track && scene.selected_window().is_some_and(|window| window.start < cell.end && window.end >= cell.start)
}

/// Copies the selected event with all its columns, or the selected gap.
fn copy(app: &mut App) {
    match app.scene.selection.clone() {
        None => match app.scene.under_cursor() {
            Some(event) => copy_event(app, event),
            None => app.refuse("nothing is selected"),
        },
        Some(Selection::Gap { track, window }) => {
            let name = app.scene.tree.find(&track).map_or(track, |id| app.scene.tree.node(id).full.clone());
            let gap = serde_json::json!({
                "track": name, "start_ns": window.start, "end_ns": window.end, "duration_ns": window.length(),
            });
            app.effects.push(Effect::Copy(format!("{gap:#}")));
        }
        Some(Selection::Event(event)) => copy_event(app, event),
    }
}

fn copy_event(app: &mut App, event: EventRef) {
    let store = app.scene.store.clone();
    app.effects.push(Effect::Job(Job::new("copy", move |reporter| {
        let json = event_with_fields(&store, event);
        reporter.answer(move |app| {
            if !Arc::ptr_eq(&store, &app.scene.store) {
                return;
            }
            match json {
                Ok(json) => app.effects.push(Effect::Copy(format!("{json:#}"))),
                Err(problem) => app.fail(format!("{}: {}", problem.path.display(), problem.message)),
            }
        });
    })));
}
