//! A text to be read: a warning of the profile, a legend.

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Flow, Overlay};
use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::{Context, Feed, Pending};
use crate::ui::popup::{self, Paragraph};

/// A text in a window of its own; any key but those that scroll closes it, and then does what it always does.
pub struct Notice {
    title: String,
    text: Vec<Paragraph>,
    top: usize,
    last: Cell<usize>,
}

impl Notice {
    /// A text under a title.
    #[must_use]
    pub fn new(title: impl Into<String>, text: Vec<Paragraph>) -> Notice {
        Notice { title: title.into(), text, top: 0, last: Cell::new(0) }
    }
}

impl Overlay for Notice {
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow {
        match app.keymap.feed(Context::Pane, &mut Pending::default(), key) {
            Feed::Action(Action::ScrollDown) => self.scroll(1, app),
            Feed::Action(Action::ScrollUp) => self.scroll(-1, app),
            Feed::Action(Action::ScrollPageDown) => self.scroll(10, app),
            Feed::Action(Action::ScrollPageUp) => self.scroll(-10, app),
            Feed::Action(Action::Escape | Action::Quit) => return Flow::Close,
            _ if key.code == KeyCode::Enter => return Flow::Close,
            _ => {
                app.key(key, app.now);
                return Flow::Close;
            }
        }
        Flow::Stay
    }

    fn scroll(&mut self, lines: i32, _app: &mut App) {
        self.top = self.top.saturating_add_signed(lines as isize).min(self.last.get());
    }

    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position> {
        self.last.set(popup::notice(&self.title, &self.text, self.top, screen, buffer, &app.look));
        None
    }
}
