//! What follows every change: full rows are read, panes learn of it, and figures are brought up to date when the
//! window rests.

use std::sync::Arc;
use std::time::Duration;

use super::App;
use super::area::Area;
use super::at_once::at_once;
use super::effect::Effect;
use super::facts::Fact;
use super::jobs::Job;
use super::panes::PaneKind;
use super::scene::{Highlight, Selection};
use crate::model::Window;
use crate::query::details;
use crate::query::emphasis::{Emphases, Emphasis};
use crate::store::{EventRef, LabelKind, Store};

/// How long nothing must move until figures are computed anew and the row under the cursor is read.
const REST: Duration = Duration::from_millis(120);

/// What the panes know of.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    store: usize,
    selection: Option<Selection>,
    highlight: Option<Highlight>,
    window: Window,
    area: Option<Area>,
    track: Option<String>,
    search: (u64, Option<EventRef>),
    panes: Vec<PaneKind>,
    marks: (u64, Option<String>),
}

impl App {
    /// Has done what follows from a change.
    pub(super) fn follow(&mut self) {
        self.follow_search();
        self.follow_causes();
        self.follow_marks();
        let track = self.scene.node().map(|n| n.key.clone());
        let (cursor, scene) = (self.scene.view.cursor(), &mut self.scene);
        if let (Some(area), Some(track)) = (&mut scene.area, &track)
            && area.growing
        {
            area.to = (cursor, track.clone());
        }
        let seen = Seen {
            store: Arc::as_ptr(&self.scene.store) as usize,
            selection: self.scene.selection.clone(),
            highlight: self.scene.highlight.clone(),
            window: self.scene.view.window(),
            area: self.scene.area.clone(),
            track,
            search: (self.search.generation, self.search.at),
            panes: self.panes.shown().to_vec(),
            marks: (self.marking.generation, self.marking.current.clone()),
        };
        if self.seen.as_ref() != Some(&seen) || self.visiting.is_some() {
            let stands_out = |s: &Seen| (s.store, s.selection.clone(), s.highlight.clone(), s.search);
            if self.seen.as_ref().map(stands_out) != Some(stands_out(&seen)) {
                self.emphasize();
            }
            self.seen = Some(seen);
            self.refresh_panes();
        }
        if let Some(event) = self.scene.selected_event() {
            self.read(0, "details", event);
        }
        self.rest = self.is_unsettled().then_some(self.now + REST);
    }

    /// Finds out anew which events stand out.
    fn emphasize(&mut self) {
        let mut emphases = Emphases::default();
        let scene = &self.scene;
        if let Some(highlight) = &scene.highlight
            && let Some(labels) = scene.store.events[usize::from(highlight.table)].label(LabelKind::Name)
        {
            let same = (0..labels.keys.len() as u32).filter(|&e| labels.key(e as usize) == highlight.key);
            emphases.add(Emphasis::SameName, same.map(|event| EventRef { table: highlight.table, event }));
        }
        self.add_causes(&mut emphases);
        emphases.matches = self.search.found.clone();
        // The match one is at is selected too, and its own colour tells more.
        emphases.add(Emphasis::CurrentMatch, self.search.at);
        emphases.add(Emphasis::Selected, scene.selected_event().filter(|e| self.search.at != Some(*e)));
        self.emphases = emphases;
    }

    /// Whether something remains to be done once the window and the cursor rest.
    fn is_unsettled(&self) -> bool {
        let stale = self.shown.window != Some(self.scene.view.window());
        let unread = self.pointed().is_some_and(|e| self.scene.facts.get(e).is_none() && self.reading[1] != Some(e));
        stale || unread || self.causes_unsettled() || self.causes_unprepared()
    }

    /// The event that the line at the bottom tells of: the one under the pointer, else under the cursor; of several
    /// there the selected one.
    pub(super) fn pointed(&self) -> Option<EventRef> {
        let scene = &self.scene;
        let selected = || {
            let event = scene.selected_event()?;
            let table = scene.store.table_of(event);
            let cell = scene.cursor_cell();
            let here = table.start(event.event) < cell.end && table.end(event.event) >= cell.start;
            (here && scene.holds(event)).then_some(event)
        };
        self.pointer.or_else(selected).or_else(|| scene.under_cursor())
    }

    /// When [`App::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.rest
    }

    /// Does what was put off until the window and the cursor rest; says whether the screen is another one now.
    pub fn tick(&mut self, now: Duration) -> bool {
        self.now = now;
        if self.rest.is_none_or(|rest| now < rest) {
            return false;
        }
        self.settle();
        self.prepare_causes();
        true
    }

    /// Does at once what is put off until the window and the cursor rest.
    pub fn settle(&mut self) {
        self.rest = None;
        self.dragged = false;
        self.update_figures();
        self.foresee_causes();
        if let Some(event) = self.pointed() {
            self.read(1, "hover", event);
        }
    }

    /// Has an event's row read, where it has not been.
    fn read(&mut self, which: usize, slot: &'static str, event: EventRef) {
        if self.scene.facts.get(event).is_some() || self.reading.contains(&Some(event)) {
            return;
        }
        self.reading[which] = Some(event);
        let store = self.scene.store.clone();
        self.effects.push(Effect::Job(Job::new(slot, move |reporter| {
            let fact = at_once(|| read_fact(&store, event));
            reporter.answer(move |app| {
                app.reading[which] = None;
                if Arc::ptr_eq(&store, &app.scene.store) {
                    app.scene.facts.put(event, Arc::new(fact));
                }
            });
        })));
    }
}

fn read_fact(store: &Store, event: EventRef) -> Result<Fact, crate::store::Problem> {
    let fields = store.details(event)?;
    let details = details::of_event(store, event, &fields);
    Ok(Fact { fields, details })
}
