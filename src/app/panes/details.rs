//! Details: every column of the selected event, and rows of other tables that it points at. While nothing is selected,
//! what is known of the profile as a whole, warnings first.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Pane;
use crate::app::action::Action;
use crate::app::jobs::Job;
use crate::app::overlays::{Choice, Pick};
use crate::app::scene::Selection;
use crate::app::{App, update};
use crate::model::time::{format_duration, format_time};
use crate::query::details::{Details, of_row};
use crate::query::place::track_name;
use crate::query::related::{Reference, Target, resolve};
use crate::store::{EventRef, Problem};
use crate::term::text::clip;
use crate::ui::details::{Item, Set, draw, set};

/// How many warnings are listed.
const MOST_WARNINGS: usize = 40;
/// How much of a value is shown, in bytes.
const MOST_TEXT: usize = 6000;

/// A row of another table that is shown in the place of the selection.
struct Visited {
    read: Result<Details, Problem>,
    selected: usize,
    top: usize,
}

/// The pane.
#[derive(Default)]
pub struct DetailsPane {
    /// What is shown: the selection, or `None` for the profile.
    of: Option<Selection>,
    selected: usize,
    top: usize,
    /// Rows that references led to, the last one on the screen.
    visited: Vec<Visited>,
    /// Size of the content as of the last drawing.
    size: Cell<(u16, u16)>,
}

impl DetailsPane {
    /// The place in the list of what is on the screen.
    fn place(&mut self) -> (&mut usize, &mut usize) {
        match self.visited.last_mut() {
            Some(visited) => (&mut visited.selected, &mut visited.top),
            None => (&mut self.selected, &mut self.top),
        }
    }

    fn place_now(&self) -> (usize, usize) {
        self.visited.last().map_or((self.selected, self.top), |v| (v.selected, v.top))
    }

    fn items<'a>(&'a self, app: &'a App) -> Vec<Item<'a>> {
        if let Some(visited) = self.visited.last() {
            return match &visited.read {
                Ok(details) => items_of(details, app),
                Err(problem) => vec![failure(problem, app)],
            };
        }
        match &self.of {
            None => profile_items(app),
            Some(Selection::Gap { window, track }) => {
                let mut items = vec![
                    Item::new("idle", format_duration(window.length())),
                    Item::new("from", format_time(window.start, 1)),
                    Item::new("to", format_time(window.end, 1)),
                    Item::new("track", track.as_str()),
                ];
                match app.links() {
                    Some(links) => {
                        items.extend(links.pieces.iter().map(|(kind, text)| Item::new(kind.name(), text.as_str())));
                    }
                    None if app.asking().is_none() => items.push(Item::new("why", app.causes_state())),
                    None => {}
                }
                items
            }
            Some(Selection::Event(event)) => match app.scene.facts.get(*event).map(|read| &**read) {
                Some(Ok(fact)) => items_of(&fact.details, app),
                Some(Err(problem)) => {
                    let mut items = hot_items(*event, app);
                    items.push(failure(problem, app));
                    items
                }
                None => {
                    let mut items = hot_items(*event, app);
                    items.push(Item::new("", "reading the row …"));
                    items
                }
            },
        }
    }

    fn reference(&self, app: &App) -> Option<Reference> {
        let at = self.place_now().0;
        let details = match self.visited.last() {
            Some(visited) => visited.read.as_ref().ok()?,
            None => match &self.of {
                Some(Selection::Event(event)) => match &**app.scene.facts.get(*event)? {
                    Ok(fact) => &fact.details,
                    Err(_) => return None,
                },
                _ => return None,
            },
        };
        details.fields.get(at)?.reference.clone()
    }

    fn walk(&mut self, app: &App, right: i64, down: i64) {
        let set = self.set(app);
        let (selected, top) = self.place();
        *selected = set.neighbour(*selected, right, down);
        let (selected, mut first) = (*selected, *top);
        let height = usize::from(self.size.get().1).max(1);
        if let Some((from, to)) = set.lines_of(selected) {
            if to >= first + height {
                first = to + 1 - height;
            }
            first = first.min(from);
        }
        *self.place().1 = first;
    }

    fn set(&self, app: &App) -> Set {
        set(&self.items(app), self.size.get().0.max(1))
    }
}

impl Pane for DetailsPane {
    fn subtitle(&self, app: &App) -> String {
        let raw = if app.raw_values { "as recorded" } else { "" };
        let what = match (self.visited.last(), &self.of) {
            (Some(Visited { read: Ok(details), .. }), _) => details.title.clone(),
            (Some(_), _) => String::new(),
            (None, None) => app.scene.store.info.name.clone(),
            (None, Some(Selection::Gap { .. })) => "idle gap".into(),
            (None, Some(Selection::Event(event))) => {
                let table = app.scene.store.table_of(*event);
                format!("{}  {}", table.event_name(event.event), track_name(&app.scene.store, table, event.event))
            }
        };
        if raw.is_empty() { what } else { format!("{raw}  {what}") }
    }

    fn update(&mut self, action: &Action, app: &mut App) -> bool {
        let page = i64::from(self.size.get().1).max(1);
        match action {
            Action::ScrollDown => self.walk(app, 0, 1),
            Action::ScrollUp => self.walk(app, 0, -1),
            Action::ScrollRight => self.walk(app, 1, 0),
            Action::ScrollLeft => self.walk(app, -1, 0),
            Action::ScrollPageDown => self.walk(app, 0, page),
            Action::ScrollPageUp => self.walk(app, 0, -page),
            Action::ScrollTop => self.walk(app, i64::MIN / 4, 0),
            Action::ScrollBottom => self.walk(app, i64::MAX / 4, 0),
            Action::Enter => match self.reference(app) {
                Some(reference) => follow(app, reference),
                None => app.refuse("this column points at nothing"),
            },
            Action::Back if !self.visited.is_empty() => {
                self.visited.pop();
            }
            Action::Escape if !self.visited.is_empty() => {
                self.visited.pop();
            }
            _ => return false,
        }
        true
    }

    fn refresh(&mut self, app: &mut App) {
        if self.of != app.scene.selection {
            self.of = app.scene.selection.clone();
            self.visited.clear();
            self.selected = 0;
            self.top = 0;
        }
        if let Some(read) = app.visiting.take() {
            self.visited.push(Visited { read, selected: 0, top: 0 });
        }
    }

    fn click(&mut self, column: u16, line: u16, app: &mut App) -> bool {
        let top = self.place_now().1;
        let Some(item) = self.set(app).item_at(top + usize::from(line), column) else { return false };
        let again = std::mem::replace(self.place().0, item) == item;
        if again && let Some(reference) = self.reference(app) {
            follow(app, reference);
        }
        true
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer, app: &App, focused: bool) {
        self.size.set((area.width, area.height));
        let items = self.items(app);
        let set = set(&items, area.width);
        let (selected, top) = self.place_now();
        let top = top.min(set.lines().saturating_sub(usize::from(area.height)));
        draw(&set, &items, top, focused.then_some(selected), area, buffer, &app.look);
        super::draw_more(area, top + usize::from(area.height), set.lines(), buffer, &app.look);
    }
}

/// Leads to the rows that a reference points at, once they have been found.
fn follow(app: &mut App, reference: Reference) {
    let store = app.scene.store.clone();
    app.say(format!("looking for {} in {} …", reference.value, reference.table));
    app.effects.push(crate::app::effect::Effect::Job(Job::new("reference", move |reporter| {
        let target = resolve(&store, &reference);
        let first = match &target {
            Ok(Target::Rows { table, rows }) => rows.first().map(|row| of_row(&store, table, *row)),
            _ => None,
        };
        reporter.answer(move |app| {
            if Arc::ptr_eq(&store, &app.scene.store) {
                arrive(app, &reference, target, first);
            }
        });
    })));
}

fn arrive(
    app: &mut App,
    reference: &Reference,
    target: Result<Target, Problem>,
    first: Option<Result<Details, Problem>>,
) {
    match target {
        Err(problem) => app.fail(format!("{}: {}", problem.path.display(), problem.message)),
        Ok(Target::Events(events)) => match events.as_slice() {
            [] => app.refuse(format!("{} has no row with {} {}", reference.table, reference.key, reference.value)),
            [event] => {
                let event = *event;
                app.message = None;
                update::events::visit(app, event);
            }
            events => {
                app.message = None;
                let choices = events.iter().take(2000).map(|&event| event_choice(app, event)).collect();
                app.show(Pick::new(format!("{} rows of {}", events.len(), reference.table), choices));
            }
        },
        Ok(Target::Rows { rows, .. }) => match first {
            None => app.refuse(format!("{} has no row with {} {}", reference.table, reference.key, reference.value)),
            Some(read) => {
                let more = rows.len() - 1;
                match more {
                    0 => app.message = None,
                    _ => app.say(format!("the first of {} rows with {} {}", more + 1, reference.key, reference.value)),
                }
                app.visiting = Some(read);
                app.refresh_panes();
            }
        },
    }
}

/// An event as something that can be chosen from a list.
pub fn event_choice(app: &App, event: EventRef) -> Choice {
    let store = &app.scene.store;
    let table = store.table_of(event);
    let track = track_name(store, table, event.event);
    let label = format!("{}  {}", format_time(table.start(event.event), 1), table.event_name(event.event));
    let length = format_duration(table.lengths.at(event.event as usize));
    Choice::new(label, format!("{track}  {length}"), move |app| update::events::visit(app, event))
}

fn items_of<'a>(details: &'a Details, app: &'a App) -> Vec<Item<'a>> {
    let theme = &app.look.theme;
    let mut items: Vec<Item> = Vec::with_capacity(details.fields.len() + 1);
    let mut missing: Vec<&str> = Vec::new();
    for field in &details.fields {
        if field.raw.is_empty() {
            missing.push(&field.name);
            continue;
        }
        let value = if app.raw_values { &field.raw } else { &field.value };
        let shown = clip(value, MOST_TEXT);
        let value = match value.len() - shown.len() {
            0 => Cow::Borrowed(shown),
            more => format!("{shown} … and {more} bytes more: copying takes all").into(),
        };
        items.push(Item {
            name: Cow::Borrowed(&field.name),
            value,
            note: Cow::Borrowed(field.note.as_deref().unwrap_or("")),
            link: field.reference.is_some(),
            color: matches!(field.name.as_str(), "opcode" | "name" | "operation").then_some(theme.title),
        });
    }
    if !missing.is_empty() {
        let mut item = Item::new("not recorded", missing.join(", "));
        item.color = Some(theme.dim);
        items.push(item);
    }
    items
}

fn failure<'a>(problem: &Problem, app: &App) -> Item<'a> {
    let mut item = Item::new("cannot be read", format!("{}: {}", problem.path.display(), problem.message));
    item.color = Some(app.look.theme.error);
    item
}

/// What the index knows of an event.
fn hot_items<'a>(event: EventRef, app: &'a App) -> Vec<Item<'a>> {
    let store = &app.scene.store;
    let table = store.table_of(event);
    let e = event.event;
    vec![
        Item::new("name", table.event_name(e)),
        Item::new("start", format_time(table.start(e), 1)),
        Item::new("end", format_time(table.end(e), 1)),
        Item::new("duration", format_duration(table.lengths.at(e as usize))),
        Item::new("track", track_name(store, table, e)),
        Item::new("table", table.name.as_str()),
    ]
}

/// What is known of the profile as a whole.
fn profile_items(app: &App) -> Vec<Item<'_>> {
    let store = &app.scene.store;
    let theme = &app.look.theme;
    let mut items = Vec::new();
    let warnings = app.warnings();
    let more = warnings.len().saturating_sub(MOST_WARNINGS);
    for warning in warnings.into_iter().take(MOST_WARNINGS) {
        let mut item = Item::new(warning.kind, warning.text);
        item.color = Some(if warning.failed { theme.error } else { theme.warning });
        items.push(item);
    }
    if more > 0 {
        items.push(Item::new("and more", format!("{more} further warnings: press ! to read them one by one")));
    }
    if store.range.is_none() {
        return items;
    }
    items.push(Item::new("profile", store.info.name.as_str()));
    items.push(Item::new("read from", store.info.path.display().to_string()));
    items.push(Item::new("format", store.info.format.as_str()));
    items.push(Item::new("length", format_duration(store.whole().length())));
    let events: u64 = store.events.iter().map(|t| t.len() as u64).sum();
    items.push(Item::new("events", crate::model::format::format_count(events)));
    let facts = [
        ("Metadata", "instance_type", "instance"),
        ("Metadata", "num_physical_cores", "physical cores"),
        ("Metadata", "neuroncore_idx", "NeuronCore"),
        ("Metadata", "first_ts", "captured"),
        ("Metadata", "compiler_version", "compiler"),
        ("Metadata", "runtime_version", "runtime"),
        ("Metadata", "driver_version", "driver"),
        ("Metadata", "collectives_version", "collectives"),
        ("Metadata", "explorer_version", "processed by"),
        ("Metadata", "profile_schema_version", "schema"),
        ("NeffHeader", "network_name", "NEFF"),
        ("NeffHeader", "uuid", "NEFF uuid"),
    ];
    for (table, column, name) in facts {
        if let Some(datum) = store.fact(table, column) {
            let text = match datum {
                crate::store::Datum::Text(text) => text.clone(),
                crate::store::Datum::Int(v) => v.to_string(),
                crate::store::Datum::Bool(v) => v.to_string(),
                crate::store::Datum::Float(v) => v.to_string(),
                crate::store::Datum::Uint(v) => v.to_string(),
                crate::store::Datum::Null => continue,
            };
            if !text.is_empty() {
                items.push(Item::new(name, text));
            }
        }
    }
    items
}
