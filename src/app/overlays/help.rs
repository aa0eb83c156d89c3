//! All keys, from the live keymap.

use std::cell::Cell;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Flow, Overlay};
use crate::app::App;
use crate::app::action::{Action, Group};
use crate::app::keymap::{Context, Feed, Pending};
use crate::ui::help::{self, HelpLine};

/// The help.
pub struct HelpOverlay {
    lines: Vec<HelpLine>,
    top: usize,
    /// The last line that can be the first on the screen, as of the last drawing.
    last: Cell<usize>,
    page: Cell<usize>,
}

impl HelpOverlay {
    /// The help for the App's keymap.
    #[must_use]
    pub fn new(app: &App) -> HelpOverlay {
        let rows = app.keymap.help();
        let mut lines = Vec::new();
        for group in Group::ALL {
            lines.push(HelpLine::Heading(group.title().to_owned()));
            lines.extend(rows.iter().filter(|row| row.info.group == group).map(|row| HelpLine::Entry {
                keys: row.keys_text(),
                name: row.info.usage(),
                text: row.info.text.to_owned(),
            }));
        }
        HelpOverlay { lines, top: 0, last: Cell::new(usize::MAX), page: Cell::new(10) }
    }
}

impl Overlay for HelpOverlay {
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow {
        let page = self.page.get() as i32;
        match app.keymap.feed(Context::Pane, &mut Pending::default(), key) {
            Feed::Action(action) => match action {
                Action::ScrollDown => self.scroll(1, app),
                Action::ScrollUp => self.scroll(-1, app),
                Action::ScrollPageDown => self.scroll(page, app),
                Action::ScrollPageUp => self.scroll(-page, app),
                Action::ScrollTop => self.top = 0,
                Action::ScrollBottom => self.top = self.last.get(),
                Action::Help | Action::Escape | Action::Quit => return Flow::Close,
                Action::QuitNow => {
                    app.act(&Action::QuitNow);
                    return Flow::Close;
                }
                Action::Search(_) => {
                    app.show(super::PaletteOverlay::new(app, ""));
                    return Flow::Close;
                }
                _ => {}
            },
            _ => {
                if key.code == crossterm::event::KeyCode::Char(' ') {
                    self.scroll(page, app);
                }
            }
        }
        Flow::Stay
    }

    fn scroll(&mut self, lines: i32, _app: &mut App) {
        self.top = self.top.saturating_add_signed(lines as isize).min(self.last.get());
    }

    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position> {
        let page = help::draw(&self.lines, self.top, screen, buffer, &app.look);
        self.page.set(page.max(1));
        self.last.set(help::height(&self.lines, screen).saturating_sub(page));
        None
    }
}
