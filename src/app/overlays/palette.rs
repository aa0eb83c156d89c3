//! The command palette on the screen.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Flow, Overlay};
use crate::app::App;
use crate::app::history::Purpose;
use crate::app::palette::{Palette, PaletteEvent};
use crate::ui::popup::{self, ListRow};

/// How many candidates are listed at once.
const MOST: usize = 30;

/// Commands and settings by their name.
pub struct PaletteOverlay {
    palette: Palette,
}

impl PaletteOverlay {
    /// A palette; `text` is what to begin with.
    #[must_use]
    pub fn new(app: &App, text: &str) -> PaletteOverlay {
        PaletteOverlay { palette: Palette::new(&app.keymap, app.vocabulary(), &app.history, text) }
    }
}

impl Overlay for PaletteOverlay {
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow {
        match self.palette.on_key(key, &app.history) {
            PaletteEvent::Run { action, line } => {
                app.history.push(Purpose::Command, &line);
                app.act(&action);
                Flow::Close
            }
            PaletteEvent::Cancel => Flow::Close,
            PaletteEvent::Open | PaletteEvent::Ignored => Flow::Stay,
        }
    }

    fn paste(&mut self, text: &str, _app: &mut App) {
        self.palette.on_paste(text);
    }

    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position> {
        let rows = self.palette.rows(MOST);
        let selected = rows.iter().position(|row| row.selected).unwrap_or(0);
        let row = |at: usize| ListRow {
            label: &rows[at].label,
            matched: &rows[at].matched,
            detail: &rows[at].detail,
            key: rows[at].key.as_deref().unwrap_or(""),
        };
        let title = match (self.palette.error(), self.palette.usage()) {
            (Some(error), _) => error.to_owned(),
            (None, Some(usage)) => usage,
            (None, None) => format!("Commands ({})", self.palette.len()),
        };
        let line = popup::list(&title, selected, rows.len(), row, screen, buffer, &app.look);
        super::draw_entry(self.palette.entry(), line, buffer, &app.look)
    }
}
