//! The list of matches: in the order of time, or sorted by a column.

use std::cell::Cell as Shared;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Pane;
use crate::app::App;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::jobs::Job;
use crate::app::search::{Sorted, State};
use crate::model::format::format_count;
use crate::model::time::{format_duration, format_time};
use crate::query::event::track_of;
use crate::query::search::{MOST_SORTED, Matches, SortKey, columns_of, sorted};
use crate::store::EventRef;
use crate::store::arrays::spelled;
use crate::ui::table::{Cell, Column, Table};

const COLUMNS: [Column; 6] = [
    Column { title: "#", width: 9, right: true },
    Column { title: "start", width: 16, right: true },
    Column { title: "duration", width: 10, right: true },
    Column { title: "track", width: 18, right: false },
    Column { title: "name", width: 24, right: false },
    Column { title: "operands, variable", width: 0, right: false },
];

/// Columns of the tables that say most; the first one that is recorded is shown.
const TELLING: [&str; 5] = ["symbolic_operands", "operands", "variable", "nc_latency", "args"];

/// What the list is sorted by, in the order in which columns are gone through.
const ORDERS: [(usize, Option<SortKey>); 4] =
    [(1, None), (2, Some(SortKey::Duration)), (3, Some(SortKey::Track)), (4, Some(SortKey::Name))];

/// Rows of a pane on a large screen.
const MOST_LINES: usize = 60;

/// The pane.
pub struct SearchPane {
    /// What is listed, and which generation of the search that is.
    found: Option<Arc<Matches>>,
    generation: u64,
    /// The match one was at when the pane last looked.
    at: Option<EventRef>,
    selected: u64,
    top: u64,
    /// Position in [`ORDERS`], and whether the greatest come first.
    order: (usize, bool),
    lines: Shared<u16>,
}

impl Default for SearchPane {
    fn default() -> SearchPane {
        SearchPane {
            found: None,
            generation: 0,
            at: None,
            selected: 0,
            top: 0,
            order: (0, false),
            lines: Shared::new(5),
        }
    }
}

impl SearchPane {
    fn total(&self) -> u64 {
        self.found.as_ref().map_or(0, |f| f.total())
    }

    /// All matches in the order that is wanted, where that is not the order of time and they have been sorted.
    fn sorted<'a>(&self, app: &'a App) -> Option<&'a [EventRef]> {
        let sorted = app.search.sorted.as_ref()?;
        (sorted.generation == self.generation && sorted.order == self.order).then_some(&*sorted.events)
    }

    /// Rows from `first` on.
    fn rows(&self, app: &App, first: u64, count: usize) -> Vec<EventRef> {
        let Some(found) = &self.found else { return Vec::new() };
        match (self.sorted(app), self.order) {
            (Some(sorted), _) => sorted.iter().skip(first as usize).take(count).copied().collect(),
            // The latest first: the same list from its end.
            (None, (0, true)) => {
                let end = found.total().saturating_sub(first);
                let from = end.saturating_sub(count as u64);
                let mut page = found.page(&app.scene.store, from, (end - from) as usize);
                page.reverse();
                page
            }
            (None, _) => found.page(&app.scene.store, first, count),
        }
    }

    /// The place of a match in the list.
    fn place(&self, app: &App, event: EventRef) -> Option<u64> {
        match (self.sorted(app), self.order) {
            (Some(sorted), _) => sorted.iter().position(|e| *e == event).map(|at| at as u64),
            (None, (order, descending)) => {
                let at = self.found.as_ref()?.position(&app.scene.store, event)?;
                Some(if order == 0 && descending { self.total() - 1 - at } else { at })
            }
        }
    }

    fn go(&mut self, to: u64, app: &mut App) {
        self.selected = to.min(self.total().saturating_sub(1));
        self.scroll();
        self.tell(app);
    }

    /// The first row on the screen; no line stays empty that earlier ones could fill.
    fn top(&self) -> u64 {
        self.top.min(self.total().saturating_sub(u64::from(self.lines.get()).max(1)))
    }

    fn scroll(&mut self) {
        let lines = u64::from(self.lines.get()).max(1);
        self.top = self.top.min(self.total().saturating_sub(lines));
        self.top = self.top.clamp((self.selected + 1).saturating_sub(lines), self.selected);
    }

    /// Sorts by another column; done off the UI thread.
    fn sort(&mut self, order: usize, descending: bool, app: &mut App) {
        self.order = (order, descending);
        (self.selected, self.top) = (0, 0);
        let (Some(found), Some(key)) = (self.found.clone(), &ORDERS[order].1) else {
            app.effects.push(Effect::Cancel("search-sort"));
            self.tell(app);
            return;
        };
        if found.total() > MOST_SORTED {
            app.refuse(format!("{} matches are too many to sort", format_count(found.total())));
            self.order = (0, false);
            return;
        }
        let (store, key, generation) = (app.scene.store.clone(), key.clone(), self.generation);
        app.effects.push(Effect::Job(Job::new("search-sort", move |reporter| {
            let Some(rows) = sorted(&store, &found, &key, descending, reporter.flag()) else { return };
            reporter.answer(move |app| {
                app.search.sorted = Some(Sorted { generation, order: (order, descending), events: rows.into() });
                app.refresh_panes();
            });
        })));
    }

    /// Has the columns that the index does not hold read for the rows on the screen.
    fn tell(&mut self, app: &mut App) {
        // The pane may be larger when it is drawn next.
        let rows = self.rows(app, self.top(), usize::from(self.lines.get()).max(MOST_LINES));
        if rows.is_empty() || app.search.told.as_ref().is_some_and(|(of, _)| *of == rows) {
            return;
        }
        let store = app.scene.store.clone();
        app.effects.push(Effect::Job(Job::new("search-rows", move |reporter| {
            let values = columns_of(&store, &rows, &TELLING);
            let text = |row: Vec<crate::model::Value>| {
                row.iter().filter(|v| **v != crate::model::Value::Null).map(spelled).find(|t| !t.is_empty())
            };
            let texts = values.into_iter().map(|row| text(row).unwrap_or_default()).collect();
            reporter.answer(move |app| app.search.told = Some((rows, texts)));
        })));
    }
}

impl Pane for SearchPane {
    fn subtitle(&self, app: &App) -> String {
        let search = &app.search;
        if !search.active() {
            return String::new();
        }
        let only = if search.options.category.is_some() { search.category() } else { "" };
        let loosely = if search.options.fuzzy { "loosely" } else { "" };
        let parts = [only, loosely, &search.text, &search.status()].map(str::to_owned);
        parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("  ")
    }

    fn update(&mut self, action: &Action, app: &mut App) -> bool {
        let page = u64::from(self.lines.get()).max(1);
        let (order, descending) = self.order;
        match action {
            Action::ScrollDown => self.go(self.selected.saturating_add(1), app),
            Action::ScrollUp => self.go(self.selected.saturating_sub(1), app),
            Action::ScrollPageDown => self.go(self.selected.saturating_add(page), app),
            Action::ScrollPageUp => self.go(self.selected.saturating_sub(page), app),
            Action::ScrollTop => self.go(0, app),
            Action::ScrollBottom => self.go(u64::MAX, app),
            Action::SortNext => self.sort((order + 1) % ORDERS.len(), false, app),
            Action::SortPrev => self.sort((order + ORDERS.len() - 1) % ORDERS.len(), false, app),
            Action::SortReverse => self.sort(order, !descending, app),
            Action::Enter => match self.rows(app, self.selected, 1).first() {
                Some(&event) => app.go_to_match(event),
                None => app.refuse("nothing is listed"),
            },
            _ => return false,
        }
        true
    }

    fn refresh(&mut self, app: &mut App) {
        if self.generation != app.search.generation {
            self.generation = app.search.generation;
            self.found = app.search.found.clone();
            let (order, descending) = self.order;
            if ORDERS[order].1.is_some() && app.search.state == State::Done {
                self.sort(order, descending, app);
            }
            self.at = None;
            self.selected = self.selected.min(self.total().saturating_sub(1));
        }
        if self.at != app.search.at {
            self.at = app.search.at;
            if let Some(place) = self.at.and_then(|event| self.place(app, event)) {
                self.selected = place;
            }
        }
        self.scroll();
        self.tell(app);
    }

    fn click(&mut self, _column: u16, line: u16, app: &mut App) -> bool {
        let Some(line) = line.checked_sub(1) else { return false };
        let row = self.top() + u64::from(line);
        if row >= self.total() {
            return false;
        }
        let again = self.selected == row;
        self.go(row, app);
        if again {
            self.update(&Action::Enter, app);
        }
        true
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer, app: &App, focused: bool) {
        self.lines.set(area.height.saturating_sub(1));
        let theme = &app.look.theme;
        if self.total() == 0 {
            let key = app.keymap.hint(crate::app::keymap::Context::Timeline, &Action::Search(None));
            let text = match app.search.active() {
                true => app.search.status(),
                false => format!("{} searches the whole profile", key.unwrap_or_else(|| "the action search".into())),
            };
            let style = app.look.on_background(theme.dim);
            let text = crate::term::text::escape(&text);
            buffer.set_stringn(area.x, area.y, text, usize::from(area.width), style);
            return;
        }
        let events = self.rows(app, self.top(), usize::from(self.lines.get()));
        let rows: Vec<Vec<Cell>> = events
            .iter()
            .zip(self.top()..)
            .map(|(&event, at)| {
                let table = app.scene.store.table_of(event);
                let told = app
                    .search
                    .told
                    .as_ref()
                    .and_then(|(of, texts)| of.iter().position(|e| *e == event).and_then(|at| texts.get(at)));
                let name = Cell::new(table.event_name(event.event));
                let current = app.search.at == Some(event);
                vec![
                    Cell::new(format_count(at + 1)).colored(theme.dim),
                    Cell::new(format_time(table.start(event.event), 1)),
                    Cell::new(format_duration(table.lengths.at(event.event as usize))).colored(theme.value),
                    Cell::new(track_of(&app.scene.store, event)).colored(theme.label),
                    name.colored(if current { theme.value } else { theme.title }),
                    Cell::new(told.map_or("", String::as_str)).colored(theme.dim),
                ]
            })
            .collect();
        let sorted = Some((ORDERS[self.order.0].0, self.order.1));
        let table = Table { columns: &COLUMNS, sorted, ground: theme.background };
        let selected = focused.then(|| (self.selected.saturating_sub(self.top())) as usize);
        table.draw(&rows, selected, area, buffer, &app.look);
    }
}
