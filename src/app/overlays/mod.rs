//! What lies over the screen for a while and takes all keys: text entry, lists to choose from, help.

mod export;
mod help;
mod notice;
mod palette;
mod pick;
mod prompt;
mod search;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::App;
use super::entry::{Entry, EntryStyle};
use crate::ui::look::Look;

pub use export::ExportOverlay;
pub use help::HelpOverlay;
pub use notice::Notice;
pub use palette::PaletteOverlay;
pub use pick::{Choice, Pick};
pub use prompt::Prompt;
pub use search::SearchOverlay;

/// Whether an overlay stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It stays on the screen.
    Stay,
    /// It goes.
    Close,
}

/// Something over the screen. While it takes a key it is not among the App's overlays.
pub trait Overlay {
    /// Takes a key.
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow;

    /// Takes a pasted text.
    fn paste(&mut self, text: &str, app: &mut App) {
        let _ = (text, app);
    }

    /// Takes a click, at a place on the screen; wheel turns come as lines.
    fn click(&mut self, at: Position, app: &mut App) -> Flow {
        let _ = (at, app);
        Flow::Close
    }

    /// Takes turns of the wheel, in lines.
    fn scroll(&mut self, lines: i32, app: &mut App) {
        let _ = (lines, app);
    }

    /// Draws it over `screen`; gives where the terminal's cursor belongs, if text is typed.
    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position>;
}

/// How text being typed looks on a pop-up.
fn entry_style(look: &Look) -> EntryStyle {
    EntryStyle {
        prompt: look.on_popup(look.theme.key),
        text: look.on_popup(look.theme.input),
        placeholder: look.on_popup(look.theme.dim),
        more: look.on_popup(look.theme.dim),
    }
}

/// Draws what is typed; gives where the terminal's cursor belongs.
fn draw_entry(entry: &Entry, line: Rect, buffer: &mut Buffer, look: &Look) -> Option<Position> {
    if line.is_empty() {
        return None;
    }
    entry.render(line, buffer, &entry_style(look));
    Some(entry.cursor_position(line))
}

impl App {
    /// Puts an overlay on top.
    pub fn show(&mut self, overlay: impl Overlay + 'static) {
        self.overlays.push(Box::new(overlay));
    }

    /// Has the topmost overlay do something with the App; false where there is none.
    pub(super) fn with_overlay(&mut self, work: impl FnOnce(&mut dyn Overlay, &mut App) -> Flow) -> bool {
        let Some(mut overlay) = self.overlays.pop() else { return false };
        let depth = self.overlays.len();
        if work(&mut *overlay, self) == Flow::Stay {
            // What it opened lies over it.
            self.overlays.insert(depth.min(self.overlays.len()), overlay);
        }
        true
    }
}
