//! The one-line bars: the names of the panes, the line under the cursor, the keys that are useful now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::look::Look;
use crate::term::text;

/// A pane's name in the bar above the panes.
pub struct Tab<'a> {
    /// The key that opens it.
    pub key: &'a str,
    /// Its name.
    pub title: &'a str,
    /// Whether it is shown.
    pub shown: bool,
    /// Whether it has the focus.
    pub focused: bool,
}

/// Draws the bar above the panes: a line with the names of all panes on it, and where each can be found.
pub fn tabs(prefix: &str, tabs: &[Tab], right: &str, focused: bool, area: Rect, buffer: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    let (line, glyphs) =
        if focused { (theme.border_focused, &look.glyphs.pane_focused) } else { (theme.border, &look.glyphs.pane) };
    let style = look.on_background(line);
    for x in area.left()..area.right() {
        buffer.set_stringn(x, area.y, glyphs.horizontal, 1, style);
    }
    let mut x = area.x + 2;
    let put = |text: &str, style: Style, x: &mut u16, buffer: &mut Buffer| {
        let room = usize::from(area.right().saturating_sub(*x + 1));
        (*x, _) = buffer.set_stringn(*x, area.y, text, room, style);
    };
    if !prefix.is_empty() {
        put(&format!(" {prefix} "), look.on_background(theme.dim), &mut x, buffer);
    } else {
        put(" ", style, &mut x, buffer);
    }
    for tab in tabs {
        put(tab.key, look.on_background(theme.key), &mut x, buffer);
        put(" ", look.on_background(theme.text), &mut x, buffer);
        let mut title = look.on_background(match (tab.focused, tab.shown) {
            (true, _) => theme.border_focused,
            (false, true) => theme.title,
            (false, false) => theme.dim,
        });
        if tab.shown {
            title = title.add_modifier(Modifier::BOLD);
        }
        if tab.focused {
            title = title.add_modifier(Modifier::REVERSED);
        }
        put(tab.title, title, &mut x, buffer);
        put("  ", look.on_background(theme.text), &mut x, buffer);
    }
    let room = usize::from(area.right().saturating_sub(x + 2));
    if !right.is_empty() && room > 6 {
        let right = text::truncate(right, room.saturating_sub(2));
        let right = format!(" {right} ");
        let at = area.right().saturating_sub(text::width(&right) as u16 + 1);
        buffer.set_stringn(at, area.y, &right, room, look.on_background(theme.dim));
    }
}

/// A part of the line under the cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// What is said; as in the file, it is made safe when drawn.
    pub text: String,
    /// Its colour; that of ordinary text where it has none.
    pub color: Option<Color>,
    /// Whether it may be cut short to leave room for the others.
    pub elastic: bool,
}

impl Segment {
    /// A part that is shown whole, or not at all.
    pub fn new(text: impl Into<String>) -> Segment {
        Segment { text: text.into(), color: None, elastic: false }
    }

    /// The same in a colour.
    #[must_use]
    pub fn colored(mut self, color: Color) -> Segment {
        self.color = Some(color);
        self
    }

    /// The same, but cut short where there is too little room.
    #[must_use]
    pub fn elastic(mut self) -> Segment {
        self.elastic = true;
        self
    }
}

/// Draws parts beside each other, two blanks apart. Where they do not fit, elastic ones are cut short, to a third of
/// the line at the least, and the last ones are left out.
pub fn segments(parts: &[Segment], area: Rect, ground: Color, buffer: &mut Buffer, look: &Look) {
    const GAP: usize = 2;
    let base = Style::new().fg(look.theme.text).bg(ground);
    super::popup::clear(area, base, buffer);
    let room = usize::from(area.width.saturating_sub(2));
    let parts: Vec<&Segment> = parts.iter().filter(|p| !p.text.is_empty()).collect();
    let widths: Vec<usize> = parts.iter().map(|p| text::width(&p.text)).collect();
    let fixed: usize = parts.iter().zip(&widths).filter(|(p, _)| !p.elastic).map(|(_, w)| w + GAP).sum();
    let elastic = parts.iter().filter(|p| p.elastic).count().max(1);
    let share = (room.saturating_sub(fixed) / elastic).max(room / 3).saturating_sub(GAP);
    let (mut x, end) = (area.x + 1, area.right().saturating_sub(1));
    for (part, width) in parts.iter().zip(widths) {
        let left = usize::from(end.saturating_sub(x));
        let wanted = if part.elastic { width.min(share) } else { width };
        if left == 0 || (wanted > left && !part.elastic && x > area.x + 1) {
            continue;
        }
        let shown = text::truncate(&part.text, wanted.min(left));
        let style = base.fg(part.color.unwrap_or(look.theme.text));
        (x, _) = buffer.set_stringn(x, area.y, shown, left, style);
        x = x.saturating_add(GAP as u16).min(end);
    }
}

/// Draws keys with what they do; those that do not fit are left out, `last` never.
pub fn keys(keys: &[(String, &str)], last: &[(String, &str)], area: Rect, buffer: &mut Buffer, look: &Look) {
    super::popup::clear(area, look.on_bar(look.theme.dim), buffer);
    let width = |(key, what): &(String, &str)| text::width(key) + text::width(what) + 3;
    let kept: usize = last.iter().map(width).sum();
    let mut room = usize::from(area.width.saturating_sub(1)).saturating_sub(kept);
    let mut x = area.x + 1;
    let mut put = |entry: &(String, &str), buffer: &mut Buffer| {
        let left = usize::from(area.right().saturating_sub(x));
        (x, _) = buffer.set_stringn(x, area.y, text::escape(&entry.0), left, look.on_bar(look.theme.key));
        let left = usize::from(area.right().saturating_sub(x));
        (x, _) = buffer.set_stringn(x, area.y, format!(" {}  ", entry.1), left, look.on_bar(look.theme.dim));
    };
    for entry in keys {
        let Some(left) = room.checked_sub(width(entry)) else { break };
        room = left;
        put(entry, buffer);
    }
    for entry in last {
        put(entry, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(width: u16, draw: impl FnOnce(Rect, &mut Buffer)) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        draw(buffer.area, &mut buffer);
        (0..width).map(|x| buffer[(x, 0)].symbol()).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn long_operands_leave_room_for_the_rest() {
        let look = Look::default();
        let parts = [Segment::new("x".repeat(60)).elastic(), Segment::new("17.2 µs"), Segment::new("MATMUL")];
        let draw = |width| line(width, |area, buffer| segments(&parts, area, Color::Reset, buffer, &look));
        assert_eq!(draw(90), format!(" {}  17.2 µs  MATMUL", "x".repeat(60)));
        assert_eq!(draw(40), format!(" {}…  17.2 µs  MATMUL", "x".repeat(18)));
        assert_eq!(draw(20), " xxx…  17.2 µs");
    }

    #[test]
    fn help_is_always_among_the_keys() {
        let look = Look::default();
        let some = [("a/d".to_owned(), "pan"), ("w/s".to_owned(), "zoom")];
        let last = [("?".to_owned(), "help")];
        let draw = |width| line(width, |area, buffer| keys(&some, &last, area, buffer, &look));
        assert_eq!(draw(40), " a/d pan  w/s zoom  ? help");
        assert_eq!(draw(20), " a/d pan  ? help");
    }
}
