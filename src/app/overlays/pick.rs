//! A list to choose from, narrowed by typing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Flow, Overlay};
use crate::app::App;
use crate::app::entry::{Completions, Entry, EntryEvent};
use crate::app::fuzzy::{Match, rank};
use crate::app::history::Purpose;
use crate::ui::popup::{self, ListRow};

/// Something to do once.
type Run = Box<dyn FnOnce(&mut App)>;

/// One thing that can be chosen.
pub struct Choice {
    /// What it is called; as in the file, it is made safe when drawn.
    pub label: String,
    /// More about it.
    pub detail: String,
    run: Run,
}

impl Choice {
    /// A choice.
    pub fn new(label: impl Into<String>, detail: impl Into<String>, run: impl FnOnce(&mut App) + 'static) -> Choice {
        Choice { label: label.into(), detail: detail.into(), run: Box::new(run) }
    }
}

/// A list to choose from.
pub struct Pick {
    title: String,
    choices: Vec<Choice>,
    shown: Vec<(usize, Match)>,
    selected: usize,
    entry: Entry,
    /// What leaving it without a choice does.
    cancelled: Option<Run>,
}

impl Pick {
    /// A list of `choices` under a title.
    #[must_use]
    pub fn new(title: impl Into<String>, choices: Vec<Choice>) -> Pick {
        let mut pick = Pick {
            title: title.into(),
            choices,
            shown: Vec::new(),
            selected: 0,
            entry: Entry::new(Purpose::Name, "> ", "type to narrow, Enter to choose"),
            cancelled: None,
        };
        pick.narrow();
        pick
    }

    /// The same, with something to do where nothing is chosen.
    #[must_use]
    pub fn or_else(mut self, run: impl FnOnce(&mut App) + 'static) -> Pick {
        self.cancelled = Some(Box::new(run));
        self
    }

    /// The same with another choice marked at first.
    #[must_use]
    pub fn at(mut self, selected: usize) -> Pick {
        self.selected = selected.min(self.shown.len().saturating_sub(1));
        self
    }

    fn narrow(&mut self) {
        let names = self.choices.iter().map(|c| (c.label.as_str(), c.detail.as_str()));
        self.shown = rank(self.entry.text(), names);
        self.selected = 0;
    }

    fn step(&mut self, by: i64) {
        let last = self.shown.len().saturating_sub(1);
        self.selected = (self.selected as i64).saturating_add(by).clamp(0, last as i64) as usize;
    }

    fn choose(&mut self, app: &mut App) -> Flow {
        let Some((at, _)) = self.shown.get(self.selected) else { return Flow::Stay };
        let choice = self.choices.swap_remove(*at);
        (choice.run)(app);
        Flow::Close
    }
}

impl Overlay for Pick {
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow {
        let ctrl = key.modifiers == KeyModifiers::CONTROL;
        match key.code {
            KeyCode::Down => self.step(1),
            KeyCode::Up => self.step(-1),
            KeyCode::Tab => self.step(1),
            KeyCode::BackTab => self.step(-1),
            KeyCode::Char('n') if ctrl => self.step(1),
            KeyCode::Char('p') if ctrl => self.step(-1),
            KeyCode::PageDown => self.step(10),
            KeyCode::PageUp => self.step(-10),
            KeyCode::Enter => return self.choose(app),
            _ => match self.entry.on_key(key, &app.history, &|_, _| Completions::default()) {
                EntryEvent::Changed => self.narrow(),
                EntryEvent::Cancel => {
                    if let Some(run) = self.cancelled.take() {
                        run(app);
                    }
                    return Flow::Close;
                }
                EntryEvent::Submit(_) | EntryEvent::Moved | EntryEvent::Ignored => {}
            },
        }
        Flow::Stay
    }

    fn paste(&mut self, text: &str, _app: &mut App) {
        self.entry.on_paste(text);
        self.narrow();
    }

    fn click(&mut self, at: Position, app: &mut App) -> Flow {
        let Some(row) = popup::list_row_at(at, self.selected, self.shown.len(), app.screen) else {
            return Flow::Close;
        };
        self.selected = row;
        self.choose(app)
    }

    fn scroll(&mut self, lines: i32, _app: &mut App) {
        self.step(i64::from(lines));
    }

    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position> {
        let row = |at: usize| {
            let (index, found) = &self.shown[at];
            let choice = &self.choices[*index];
            ListRow { label: &choice.label, matched: &found.chars, detail: &choice.detail, key: "" }
        };
        let line = popup::list(&self.title, self.selected, self.shown.len(), row, screen, buffer, &app.look);
        super::draw_entry(&self.entry, line, buffer, &app.look)
    }
}
