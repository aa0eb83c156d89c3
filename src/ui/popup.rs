//! What lies over the screen: lists, texts, the line in which text is typed, the keys that can follow.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};

use super::look::Look;
use crate::term::text;

/// A line of a list.
pub struct ListRow<'a> {
    /// What it is called.
    pub label: &'a str,
    /// The characters of the label that matched what was typed.
    pub matched: &'a [usize],
    /// More about it.
    pub detail: &'a str,
    /// The key that does the same.
    pub key: &'a str,
}

/// How a paragraph is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As any text.
    Plain,
    /// As a heading.
    Heading,
    /// As something of second rank.
    Dim,
    /// In a colour of its own, with a sample of it before the text.
    Sample(Color),
}

/// A paragraph of a notice; as in the file, it is made safe when drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paragraph {
    /// The text.
    pub text: String,
    /// How it is set.
    pub tone: Tone,
}

impl Paragraph {
    /// A paragraph.
    #[must_use]
    pub fn new(text: impl Into<String>, tone: Tone) -> Paragraph {
        Paragraph { text: text.into(), tone }
    }
}

/// Fills `area` and draws a border with a title around it; gives what is inside.
pub fn frame(area: Rect, title: &str, buffer: &mut Buffer, look: &Look) -> Rect {
    let style = look.on_popup(look.theme.text);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
                cell.set_style(style);
            }
        }
    }
    if area.width < 4 || area.height < 3 {
        return area;
    }
    let line = look.on_popup(look.theme.border_focused);
    let glyphs = &look.glyphs.pane;
    let (right, bottom) = (area.right() - 1, area.bottom() - 1);
    for x in area.left() + 1..right {
        buffer.set_string(x, area.y, glyphs.horizontal, line);
        buffer.set_string(x, bottom, glyphs.horizontal, line);
    }
    for y in area.top() + 1..bottom {
        buffer.set_string(area.x, y, glyphs.vertical, line);
        buffer.set_string(right, y, glyphs.vertical, line);
    }
    let corners = [(area.x, area.y), (right, area.y), (area.x, bottom), (right, bottom)];
    for ((x, y), corner) in corners.into_iter().zip(glyphs.corners) {
        buffer.set_string(x, y, corner, line);
    }
    if !title.is_empty() {
        let room = usize::from(area.width) - 4;
        let title = format!(" {} ", text::truncate(title, room.saturating_sub(2)));
        buffer.set_stringn(
            area.x + 2,
            area.y,
            title,
            room,
            look.on_popup(look.theme.title).add_modifier(Modifier::BOLD),
        );
    }
    Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 }
}

/// Where a list of `count` lines lies: the whole, and how many lines it shows.
fn list_area(count: usize, screen: Rect) -> (Rect, usize) {
    let width = screen.width.saturating_sub(4).clamp(1, 110).min(screen.width);
    // Border, entry, border; a list that is narrowed keeps its place.
    let most = screen.height.saturating_sub(6).clamp(3, 30);
    let lines = (count.max(1) as u16).min(most).max(5.min(most));
    let height = (lines + 3).min(screen.height);
    let x = screen.x + (screen.width - width) / 2;
    let y = screen.y + (screen.height.saturating_sub(most + 3)) / 2;
    (Rect { x, y, width, height }, usize::from(height.saturating_sub(3)))
}

/// The first line that a list shows when `selected` is to be seen.
fn list_top(selected: usize, count: usize, lines: usize) -> usize {
    selected.saturating_sub(lines / 2).min(count.saturating_sub(lines))
}

/// The line of a list that lies at a place of the screen.
#[must_use]
pub fn list_row_at(at: Position, selected: usize, count: usize, screen: Rect) -> Option<usize> {
    let (area, lines) = list_area(count, screen);
    if !area.contains(at) {
        return None;
    }
    let line = usize::from(at.y.checked_sub(area.y + 2)?);
    let row = list_top(selected, count, lines) + line;
    (line < lines && row < count).then_some(row)
}

/// Draws a list; gives the line for what is typed.
pub fn list<'a>(
    title: &str,
    selected: usize,
    count: usize,
    row: impl Fn(usize) -> ListRow<'a>,
    screen: Rect,
    buffer: &mut Buffer,
    look: &Look,
) -> Rect {
    let (area, lines) = list_area(count, screen);
    let inside = frame(area, title, buffer, look);
    let entry = Rect { height: 1.min(inside.height), ..inside };
    let top = list_top(selected, count, lines);
    if count == 0 {
        buffer.set_stringn(
            inside.x,
            inside.y + 1,
            "nothing matches",
            usize::from(inside.width),
            look.on_popup(look.theme.dim),
        );
    }
    let shown: Vec<ListRow> = (top..count.min(top + lines)).map(&row).collect();
    let labels = shown.iter().map(|r| text::width(r.label)).max().unwrap_or(0);
    let label_room = labels.min(usize::from(inside.width).saturating_sub(12) * 3 / 5);
    for (i, line) in shown.iter().enumerate() {
        let y = inside.y + 1 + i as u16;
        if y >= area.bottom().saturating_sub(1) {
            break;
        }
        list_line(line, top + i == selected, label_room, Rect { y, height: 1, ..inside }, buffer, look);
    }
    entry
}

fn list_line(row: &ListRow, selected: bool, label_room: usize, area: Rect, buffer: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    let ground = if selected { theme.current_row } else { theme.popup };
    buffer.set_style(area, Style::new().bg(ground));
    if selected {
        buffer.set_stringn(area.x.saturating_sub(1), area.y, look.glyphs.folded, 1, Style::new().fg(theme.key));
    }
    let plain = Style::new().fg(theme.text).bg(ground);
    let label = text::truncate(row.label, label_room);
    buffer.set_string(area.x, area.y, &label, plain);
    // Which characters matched can only be shown where escaping changed nothing.
    if label.as_ref() == row.label {
        let mut x = area.x;
        for (i, c) in label.chars().enumerate() {
            let width = text::width(c.encode_utf8(&mut [0; 4])) as u16;
            if row.matched.contains(&i) {
                let cell = Rect { x, width: width.max(1), ..area };
                buffer.set_style(cell, Style::new().fg(theme.matched).add_modifier(Modifier::BOLD));
            }
            x += width;
        }
    }
    let key_room = text::width(row.key);
    let at = area.x + label_room as u16 + 2;
    let room = usize::from(area.right().saturating_sub(at)).saturating_sub(if key_room > 0 { key_room + 2 } else { 0 });
    let dim = Style::new().fg(theme.dim).bg(ground);
    buffer.set_string(at, area.y, text::truncate(row.detail, room), dim);
    if key_room > 0 && usize::from(area.width) > key_room {
        let key = Style::new().fg(theme.key).bg(ground);
        buffer.set_string(area.right() - key_room as u16, area.y, text::escape(row.key), key);
    }
}

/// Clears the last line of the screen for a text to be typed, and the one above it for `error`; gives the line.
pub fn prompt(error: Option<&str>, screen: Rect, buffer: &mut Buffer, look: &Look) -> Rect {
    let line = Rect { y: screen.bottom().saturating_sub(1), height: 1.min(screen.height), ..screen };
    clear(line, look.on_popup(look.theme.text), buffer);
    if let Some(error) = error.filter(|_| screen.height > 1) {
        let above = Rect { y: line.y - 1, ..line };
        clear(above, look.on_popup(look.theme.error), buffer);
        let text = text::truncate(error, usize::from(above.width).saturating_sub(2));
        buffer.set_string(above.x + 1, above.y, text, look.on_popup(look.theme.error));
    }
    Rect { x: line.x + 1.min(line.width), width: line.width.saturating_sub(2), ..line }
}

/// Makes `area` blank.
pub fn clear(area: Rect, style: Style, buffer: &mut Buffer) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                cell.reset();
                cell.set_style(style);
            }
        }
    }
}

/// Breaks a text into lines of at most `width` columns, between words where it can; made safe first.
#[must_use]
pub fn wrapped(content: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for part in content.split('\n') {
        let part = text::escape(part);
        let mut line = String::new();
        let mut used = 0;
        for word in part.split_inclusive(' ') {
            let mut word = word;
            let bare = text::width(word.trim_end());
            if used > 0 && used + bare > width {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
                used = 0;
            }
            // A word longer than a line is cut.
            while text::width(word.trim_end()) > width {
                let cut = fitting(word, width);
                lines.push(word[..cut].to_owned());
                word = &word[cut..];
            }
            line.push_str(word);
            used += text::width(word);
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// How many bytes of `word` fit into `width` columns; at least one character.
fn fitting(word: &str, width: usize) -> usize {
    use unicode_segmentation::UnicodeSegmentation as _;
    let mut used = 0;
    let mut bytes = 0;
    for grapheme in word.graphemes(true) {
        used += text::width(grapheme);
        if used > width && bytes > 0 {
            break;
        }
        bytes += grapheme.len();
    }
    bytes
}

/// Draws a text in a window; `top` is the first line shown. Gives the last line that can be the first.
pub fn notice(
    title: &str,
    paragraphs: &[Paragraph],
    top: usize,
    screen: Rect,
    buffer: &mut Buffer,
    look: &Look,
) -> usize {
    let most = usize::from(screen.width.saturating_sub(8)).clamp(10, 92);
    let mut lines: Vec<(String, Tone, bool)> = Vec::new();
    for paragraph in paragraphs {
        let indent = if matches!(paragraph.tone, Tone::Sample(_)) { 4 } else { 0 };
        let wrapped = wrapped(&paragraph.text, most - indent);
        lines.extend(wrapped.into_iter().enumerate().map(|(i, line)| (line, paragraph.tone, i == 0)));
    }
    let width = lines.iter().map(|(l, tone, _)| text::width(l) + if matches!(tone, Tone::Sample(_)) { 4 } else { 0 });
    let width = (width.max().unwrap_or(0)).max(text::width(title) + 2).min(most) as u16 + 4;
    let height = (lines.len() as u16 + 2).min(screen.height.saturating_sub(2)).max(3);
    let area = Rect {
        x: screen.x + screen.width.saturating_sub(width) / 2,
        y: screen.y + screen.height.saturating_sub(height) / 2,
        width: width.min(screen.width),
        height: height.min(screen.height),
    };
    let inside = frame(area, title, buffer, look);
    let shown = usize::from(inside.height);
    let last = lines.len().saturating_sub(shown);
    for (i, (line, tone, first)) in lines.iter().skip(top.min(last)).take(shown).enumerate() {
        let y = inside.y + i as u16;
        let (color, bold) = match tone {
            Tone::Plain => (look.theme.text, false),
            Tone::Heading => (look.theme.title, true),
            Tone::Dim => (look.theme.dim, false),
            Tone::Sample(_) => (look.theme.text, false),
        };
        let mut style = look.on_popup(color);
        if bold {
            style = style.add_modifier(Modifier::BOLD);
        }
        let mut x = inside.x;
        if let Tone::Sample(sample) = tone {
            if *first {
                let swatch = look.glyphs.full.repeat(2);
                buffer.set_string(x, y, swatch, look.on_popup(*sample));
            }
            x += 4;
        }
        buffer.set_stringn(x, y, line, usize::from(inside.right().saturating_sub(x)), style);
    }
    more(area, top.min(last), last, buffer, look);
    last
}

/// Shows on the border of `area` that there is more above or below.
pub fn more(area: Rect, top: usize, last: usize, buffer: &mut Buffer, look: &Look) {
    if area.width < 6 || last == 0 {
        return;
    }
    let style = look.on_popup(look.theme.key);
    let x = area.right() - 3;
    if top > 0 {
        buffer.set_stringn(x, area.y, look.glyphs.up, 1, style);
    }
    if top < last {
        buffer.set_stringn(x, area.bottom() - 1, look.glyphs.down, 1, style);
    }
}

/// Draws the keys that can follow those pressed so far, above the last line of `screen`.
pub fn hints(pressed: &str, hints: &[(String, String)], screen: Rect, buffer: &mut Buffer, look: &Look) {
    let widest = hints.iter().map(|(key, text)| text::width(key) + text::width(text) + 4).max().unwrap_or(0);
    let room = usize::from(screen.width.saturating_sub(4)).max(1);
    let columns = (room / widest.max(1)).clamp(1, 3);
    let lines = hints.len().div_ceil(columns);
    let height = (lines as u16 + 2).min(screen.height);
    let area = Rect { y: screen.bottom().saturating_sub(height + 1), height, ..screen };
    let inside = frame(area, pressed, buffer, look);
    let width = usize::from(inside.width) / columns;
    let keys = hints.iter().map(|(key, _)| text::width(key)).max().unwrap_or(0);
    for (i, (key, text)) in hints.iter().enumerate() {
        let (column, line) = (i / lines.max(1), i % lines.max(1));
        if line >= usize::from(inside.height) {
            continue;
        }
        let (x, y) = (inside.x + (column * width) as u16, inside.y + line as u16);
        buffer.set_string(x, y, text::escape(key), look.on_popup(look.theme.key).add_modifier(Modifier::BOLD));
        let shown = text::truncate(text, width.saturating_sub(keys + 2));
        buffer.set_string(x + keys as u16 + 2, y, shown, look.on_popup(look.theme.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_between_words_and_is_safe() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrapped("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(wrapped("\u{1b}[2J", 20), ["\\x1b[2J"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
    }

    #[test]
    fn clicks_find_their_line() {
        let screen = Rect::new(0, 0, 80, 24);
        let (area, lines) = list_area(100, screen);
        let first = Position::new(area.x + 3, area.y + 2);
        assert_eq!(list_row_at(first, 0, 100, screen), Some(0));
        assert_eq!(list_row_at(first, 99, 100, screen), Some(100 - lines));
        assert_eq!(list_row_at(Position::new(area.x + 3, area.y + 1), 0, 100, screen), None);
        assert_eq!(list_row_at(Position::new(0, 0), 0, 100, screen), None);
        assert_eq!(list_row_at(Position::new(area.x + 3, area.y + 5), 0, 2, screen), None);
    }
}
