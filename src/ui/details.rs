//! A list of names and values: what Details shows of a row.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::look::Look;
use super::popup::wrapped;
use crate::term::text;

/// A name and its value; as in the file, it is made safe when drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The value.
    pub value: Cow<'a, str>,
    /// What it means.
    pub note: Cow<'a, str>,
    /// Whether something can be opened from here.
    pub link: bool,
    /// The colour of the value, where it has one of its own.
    pub color: Option<Color>,
}

impl<'a> Item<'a> {
    /// A name and a value.
    pub fn new(name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) -> Item<'a> {
        Item { name: name.into(), value: value.into(), note: Cow::Borrowed(""), link: false, color: None }
    }
}

/// Where a part of an item stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    item: usize,
    line: usize,
    column: u16,
    /// Columns that the whole item may take here.
    width: u16,
    /// What is written where the value belongs; `None` where the item stands on one line.
    text: Option<String>,
}

/// Items set in columns: short ones beside each other, long ones over the whole width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    pieces: Vec<Piece>,
    lines: usize,
    names: u16,
    /// Items beside each other.
    columns: usize,
}

/// Columns that a value has at least, with the gaps around it.
const VALUE: u16 = 21;

/// Sets items in `width` columns.
#[must_use]
pub fn set(items: &[Item], width: u16) -> Set {
    let longest = items.iter().map(|i| text::width(&i.name)).max().unwrap_or(0) as u16;
    let names = longest.min(if width < 100 { 18 } else { 24 }).min(width / 2).max(1);
    let columns = (width / (names + VALUE)).clamp(1, 5);
    let column = width / columns;
    let mut set = Set { pieces: Vec::new(), lines: 0, names, columns: usize::from(columns) };
    let mut next = 0;
    for (i, item) in items.iter().enumerate() {
        let value_room = usize::from(column.saturating_sub(names + 3));
        let note = if item.note.is_empty() { 0 } else { text::width(&item.note) + 2 };
        let single =
            !item.value.contains('\n') && text::width(&item.value) + note + usize::from(item.link) * 2 <= value_room;
        if single {
            set.pieces.push(Piece { item: i, line: set.lines, column: next * column, width: column, text: None });
            next += 1;
            if next == columns {
                (next, set.lines) = (0, set.lines + 1);
            }
            continue;
        }
        if next > 0 {
            (next, set.lines) = (0, set.lines + 1);
        }
        let room = usize::from(width.saturating_sub(names + 3)).max(1);
        let note = if item.note.is_empty() { String::new() } else { format!("  ({})", item.note) };
        for part in wrapped(&format!("{}{note}", item.value), room) {
            set.pieces.push(Piece { item: i, line: set.lines, column: 0, width, text: Some(part) });
            set.lines += 1;
        }
    }
    set.lines += usize::from(next > 0);
    set
}

impl Set {
    /// Number of lines.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The first and last line of an item.
    #[must_use]
    pub fn lines_of(&self, item: usize) -> Option<(usize, usize)> {
        let mut of = self.pieces.iter().filter(|p| p.item == item).map(|p| p.line);
        let first = of.next()?;
        Some((first, of.next_back().unwrap_or(first)))
    }

    /// The item at a line and column.
    #[must_use]
    pub fn item_at(&self, line: usize, column: u16) -> Option<usize> {
        let here = |p: &&Piece| p.line == line && (p.column..p.column + p.width).contains(&column);
        self.pieces.iter().find(here).map(|p| p.item)
    }

    /// The item beside, above or below another one.
    #[must_use]
    pub fn neighbour(&self, item: usize, right: i64, down: i64) -> usize {
        let Some(here) = self.pieces.iter().find(|p| p.item == item) else { return 0 };
        let last = self.pieces.last().map_or(0, |p| p.item);
        if down == 0 {
            return (item as i64 + right).clamp(0, last as i64) as usize;
        }
        let (first, end) = self.lines_of(item).unwrap_or((0, 0));
        let line = if down < 0 { first as i64 + down } else { end as i64 + down };
        let line = line.clamp(0, self.lines.saturating_sub(1) as i64) as usize;
        let on_line = self.pieces.iter().filter(|p| p.line == line);
        on_line.min_by_key(|p| p.column.abs_diff(here.column)).map_or(item, |p| p.item)
    }
}

/// Draws set items from line `top` on, the one `selected` marked.
pub fn draw(
    set: &Set,
    items: &[Item],
    top: usize,
    selected: Option<usize>,
    area: Rect,
    buffer: &mut Buffer,
    look: &Look,
) {
    let theme = &look.theme;
    let mut last_named = None;
    for piece in &set.pieces {
        let first = last_named != Some(piece.item);
        last_named = Some(piece.item);
        let Some(y) = piece.line.checked_sub(top).filter(|&y| y < usize::from(area.height)) else { continue };
        let (x, y) = (area.x + piece.column, area.y + y as u16);
        let item = &items[piece.item];
        let is_selected = selected == Some(piece.item);
        if is_selected {
            let row = Rect { x, y, width: piece.width.saturating_sub(1), height: 1 }.intersection(area);
            buffer.set_style(row, Style::new().bg(theme.current_row));
        }
        if first {
            let name = text::truncate(&item.name, usize::from(set.names));
            buffer.set_string(x, y, name, Style::new().fg(theme.dim));
        }
        let at = x + set.names + 1;
        let mut style = Style::new().fg(item.color.unwrap_or(theme.text));
        if item.link {
            style = style.add_modifier(Modifier::UNDERLINED);
        }
        let room = usize::from((x + piece.width).min(area.right()).saturating_sub(at));
        match &piece.text {
            Some(part) => {
                buffer.set_stringn(at, y, part, room, style);
            }
            None => {
                let (end, _) = buffer.set_stringn(at, y, text::truncate(&item.value, room), room, style);
                if !item.note.is_empty() {
                    let room = room.saturating_sub(usize::from(end - at) + 2);
                    let note = text::truncate(&item.note, room);
                    buffer.set_string(end + 2, y, note, Style::new().fg(theme.dim));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_items_stand_beside_each_other_and_long_ones_alone() {
        let items = [
            Item::new("a", "1"),
            Item::new("b", "2"),
            Item::new("c", "3"),
            Item::new("long", "x".repeat(100)),
            Item::new("d", "4"),
        ];
        let set = set(&items, 50);
        let lines: Vec<_> = (0..5).map(|i| set.lines_of(i).unwrap()).collect();
        assert_eq!(lines, [(0, 0), (0, 0), (1, 1), (2, 4), (5, 5)]);
        assert_eq!(set.lines(), 6);
        assert_eq!(set.item_at(0, 26), Some(1));
        assert_eq!(set.item_at(1, 26), None);
        assert_eq!(set.item_at(3, 40), Some(3));
        assert_eq!(set.neighbour(1, 0, 1), 2);
        assert_eq!(set.neighbour(2, 0, 1), 3);
        assert_eq!(set.neighbour(3, 0, 1), 4);
        assert_eq!(set.neighbour(3, 0, -1), 2);
        assert_eq!(set.neighbour(0, 1, 0), 1);
        assert_eq!(set.neighbour(4, 1, 0), 4);
    }

    #[test]
    fn narrow_panes_have_one_column() {
        let items = [Item::new("name", "value"), Item::new("other", "value")];
        let set = set(&items, 30);
        assert_eq!(set.lines(), 2);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 2));
        draw(&set, &items, 0, Some(1), buffer.area, &mut buffer, &Look::default());
        let text: Vec<String> =
            (0..2).map(|y| (0..30).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().into()).collect();
        assert_eq!(text, ["name  value", "other value"]);
    }
}
