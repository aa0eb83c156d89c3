//! The help over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::look::Look;
use super::popup::{frame, more};
use crate::term::text;

/// A line of the help.
pub enum HelpLine {
    /// A chapter.
    Heading(String),
    /// An action.
    Entry {
        /// Its keys.
        keys: String,
        /// Its name and argument.
        name: String,
        /// What it does.
        text: String,
    },
}

fn area(screen: Rect) -> Rect {
    let margin = if screen.width >= 100 { 4 } else { 0 };
    Rect { x: screen.x + margin, width: screen.width - 2 * margin, ..screen }
}

/// All lines of the help: a blank one before each chapter but the first.
#[must_use]
pub fn height(lines: &[HelpLine], screen: Rect) -> usize {
    let _ = screen;
    let headings = lines.iter().filter(|l| matches!(l, HelpLine::Heading(_))).count();
    lines.len() + headings.saturating_sub(1)
}

/// Draws the help from line `top` on; gives how many lines are shown.
pub fn draw(lines: &[HelpLine], top: usize, screen: Rect, buffer: &mut Buffer, look: &Look) -> usize {
    let area = area(screen);
    let inside = frame(area, "Keys", buffer, look);
    let shown = usize::from(inside.height);
    let keys =
        lines.iter().filter_map(|l| if let HelpLine::Entry { keys, .. } = l { Some(text::width(keys)) } else { None });
    let width = usize::from(inside.width);
    let key_room = keys.max().unwrap_or(0).min(width / 3);
    let mut spread: Vec<Option<&HelpLine>> = Vec::new();
    for line in lines {
        if matches!(line, HelpLine::Heading(_)) && !spread.is_empty() {
            spread.push(None);
        }
        spread.push(Some(line));
    }
    for (i, line) in spread.iter().skip(top).take(shown).enumerate() {
        let y = inside.y + i as u16;
        match line {
            None => {}
            Some(HelpLine::Heading(title)) => {
                let style = look.on_popup(look.theme.title).add_modifier(Modifier::BOLD);
                buffer.set_string(inside.x, y, text::truncate(title, width), style);
            }
            Some(HelpLine::Entry { keys, name, text: what }) => {
                buffer.set_string(inside.x, y, text::truncate(keys, key_room), look.on_popup(look.theme.key));
                let at = key_room + 2;
                let room = width.saturating_sub(at);
                let (shown, _) = buffer.set_stringn(
                    inside.x + at as u16,
                    y,
                    text::truncate(what, room),
                    room,
                    look.on_popup(look.theme.text),
                );
                // The action's name at the right edge, where there is room.
                let left = usize::from(inside.right().saturating_sub(shown));
                if text::width(name) + 2 <= left {
                    let x = inside.right() - text::width(name) as u16;
                    buffer.set_string(x, y, text::escape(name), look.on_popup(look.theme.dim));
                }
            }
        }
    }
    more(area, top, spread.len().saturating_sub(shown), buffer, look);
    shown
}
