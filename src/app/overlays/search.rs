//! The line in which a query is typed, with what it finds above it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Flow, Overlay};
use crate::app::App;
use crate::app::action::Action;
use crate::app::entry::{Completions, Entry, EntryEvent};
use crate::app::history::Purpose;
use crate::app::search::{Search, State};
use crate::model::time::{format_duration, format_time};
use crate::query::event::track_of;
use crate::store::EventRef;
use crate::term::text;
use crate::ui::popup;
use crate::ui::table::{Cell, Column, Table};

/// A query being typed.
pub struct SearchOverlay {
    entry: Entry,
    /// The search as it was, to come back to.
    before: Search,
}

impl SearchOverlay {
    /// An empty query. The search before stays until something is typed.
    #[must_use]
    pub fn new(app: &App) -> SearchOverlay {
        let entry = Entry::new(Purpose::Search, "/", "text, opcode:MAT, duration>1us, purpose:spill, -word, a | b");
        SearchOverlay { entry, before: app.search.clone() }
    }

    fn changed(&self, app: &mut App) {
        app.search_for(self.entry.text());
        self.moved(app);
    }

    fn moved(&self, app: &mut App) {
        app.complete_query(self.entry.text(), self.entry.cursor());
    }
}

impl Overlay for SearchOverlay {
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow {
        let ctrl = key.modifiers == KeyModifiers::CONTROL;
        match key.code {
            KeyCode::Char('t') if ctrl => {
                app.act(&Action::SearchCategory(None));
                return Flow::Stay;
            }
            KeyCode::Char('l') if ctrl => {
                app.act(&Action::SearchFuzzy(None));
                return Flow::Stay;
            }
            _ => {}
        }
        let known = app.search.completion.clone();
        let complete = |text: &str, cursor: usize| match &known {
            Some((of, at, found)) if of == text && *at == cursor => {
                Completions { start: found.start, candidates: found.candidates.clone() }
            }
            _ => Completions::default(),
        };
        match self.entry.on_key(key, &app.history, &complete) {
            EntryEvent::Submit(text) => {
                // Enter on an empty line: the last query again.
                let last = app.history.of(Purpose::Search).next().map(str::to_owned);
                let text = if text.trim().is_empty() { last.unwrap_or_default() } else { text };
                app.history.push(Purpose::Search, &text);
                if text != app.search.text {
                    app.search_for(&text);
                }
                app.message = None;
                app.go_to_first_match();
                return Flow::Close;
            }
            EntryEvent::Cancel => {
                app.restore_search(self.before.clone());
                return Flow::Close;
            }
            EntryEvent::Changed => self.changed(app),
            EntryEvent::Moved => self.moved(app),
            EntryEvent::Ignored => {}
        }
        Flow::Stay
    }

    fn paste(&mut self, text: &str, app: &mut App) {
        if self.entry.on_paste(text) == EntryEvent::Changed {
            self.changed(app);
        }
    }

    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position> {
        let look = &app.look;
        let line = popup::prompt(None, screen, buffer, look);
        let shown = (screen.height / 3).clamp(3, 10);
        let events = page(app, usize::from(shown));
        // A line above, and one below for how far the search is.
        let height = (shown + 2).min(screen.height.saturating_sub(1));
        let area = Rect { y: line.y.saturating_sub(height), height, ..screen };
        popup::clear(area, look.on_popup(look.theme.text), buffer);
        let title = match self.entry.completions() {
            Some((candidates, at)) => around(candidates, at),
            None => match &app.search.completion {
                Some((of, _, found)) if of == self.entry.text() && !found.candidates.is_empty() => {
                    format!("Tab: {}", found.candidates[..found.candidates.len().min(20)].join("  "))
                }
                _ => String::new(),
            },
        };
        for x in area.left()..area.right() {
            buffer.set_string(x, area.y, look.glyphs.pane.horizontal, look.on_popup(look.theme.border_focused));
        }
        if !title.is_empty() {
            let title = format!(" {} ", text::truncate(&title, usize::from(area.width).saturating_sub(6)));
            buffer.set_string(area.x + 2, area.y, title, look.on_popup(look.theme.key));
        }
        let list = Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(2), height: shown };
        let rows: Vec<Vec<Cell>> = events.iter().map(|&event| cells(app, event)).collect();
        let table = Table { columns: &COLUMNS, sorted: None, ground: look.theme.popup };
        table.draw_rows(&rows, None, list.intersection(area), buffer, look);
        let wrong = matches!(app.search.state, State::Wrong(_));
        let y = area.bottom().saturating_sub(1);
        let mut x = area.x + 1;
        if wrong {
            // What is wrong may take several lines; nothing else is listed then.
            let error = look.on_popup(look.theme.error);
            for (line, y) in popup::wrapped(&app.search.status(), usize::from(list.width)).iter().zip(list.y..y) {
                buffer.set_stringn(list.x, y, line, usize::from(list.width), error);
            }
        } else {
            let status = look.on_popup(look.theme.title);
            (x, _) = buffer.set_stringn(x, y, app.search.status(), usize::from(list.width), status);
        }
        let switches = format!("Ctrl-t {}   Ctrl-l {}", app.search.category(), loose(app));
        let room = usize::from(area.right().saturating_sub(x + 3));
        if text::width(&switches) <= room {
            let at = area.right().saturating_sub(text::width(&switches) as u16 + 1);
            buffer.set_string(at, y, switches, look.on_popup(look.theme.dim));
        }
        super::draw_entry(&self.entry, line, buffer, look)
    }
}

fn loose(app: &App) -> &'static str {
    if app.search.options.fuzzy { "loosely" } else { "as typed" }
}

/// The candidates from the one that is shown on.
fn around(candidates: &[String], at: usize) -> String {
    let shown = candidates.iter().skip(at).chain(candidates.iter().take(at)).take(20);
    let shown: Vec<&str> = shown.map(String::as_str).collect();
    format!("{} of {}: {}", at + 1, candidates.len(), shown.join("  "))
}

const COLUMNS: [Column; 4] = [
    Column { title: "start", width: 16, right: true },
    Column { title: "duration", width: 9, right: true },
    Column { title: "track", width: 18, right: false },
    Column { title: "name", width: 0, right: false },
];

fn cells(app: &App, event: EventRef) -> Vec<Cell<'_>> {
    let table = app.scene.store.table_of(event);
    vec![
        Cell::new(format_time(table.start(event.event), 1)),
        Cell::new(format_duration(table.lengths.at(event.event as usize))),
        Cell::new(track_of(&app.scene.store, event)),
        Cell::new(table.event_name(event.event)).colored(app.look.theme.title),
    ]
}

/// The first matches from where one is.
fn page(app: &App, count: usize) -> Vec<EventRef> {
    let Some(found) = &app.search.found else { return Vec::new() };
    let store = &app.scene.store;
    let first = found.before(store, app.scene.view.cursor());
    found.page(store, first.min(found.total().saturating_sub(count as u64)), count)
}
