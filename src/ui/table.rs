//! A list with columns.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::look::Look;
use crate::term::text;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub title: &'static str,
    /// Columns of the screen that it takes; 0 takes what the others leave.
    pub width: u16,
    /// Whether its texts end where it ends.
    pub right: bool,
}

/// A text in a row; as in the file, it is made safe when drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell<'a> {
    /// What is said.
    pub text: Cow<'a, str>,
    /// Its colour; that of ordinary text where it has none.
    pub color: Option<Color>,
}

impl<'a> Cell<'a> {
    /// A text.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Cell<'a> {
        Cell { text: text.into(), color: None }
    }

    /// The same in a colour.
    #[must_use]
    pub fn colored(mut self, color: Color) -> Cell<'a> {
        self.color = Some(color);
        self
    }
}

/// A list with columns, as it is drawn.
pub struct Table<'a> {
    /// Its columns.
    pub columns: &'a [Column],
    /// The column that it is sorted by, and whether the greatest come first.
    pub sorted: Option<(usize, bool)>,
    /// What is behind it.
    pub ground: Color,
}

/// Between columns.
const GAP: u16 = 2;
/// What the column that takes the rest needs at the least.
const LEAST: u16 = 12;

impl Table<'_> {
    /// Where each column begins and how wide it is; the last ones are left out where there is no room.
    fn places(&self, area: Rect) -> Vec<(u16, u16)> {
        let mut shown = self.columns.len();
        let taken = |n: usize| -> u16 {
            self.columns[..n].iter().map(|c| if c.width == 0 { LEAST } else { c.width } + GAP).sum::<u16>()
        };
        while shown > 1 && taken(shown) > area.width + GAP {
            shown -= 1;
        }
        let columns = &self.columns[..shown];
        let rest = (area.width + GAP).saturating_sub(taken(shown)) + LEAST;
        let mut x = area.x;
        let place = |c: &Column| {
            let width = if c.width == 0 { rest } else { c.width };
            let at = x;
            x = x.saturating_add(width + GAP);
            (at, width.min(area.right().saturating_sub(at)))
        };
        columns.iter().map(place).collect()
    }

    /// Draws the titles into the first line of `area` and `rows` below; `selected` is the position of one of them.
    pub fn draw(&self, rows: &[Vec<Cell>], selected: Option<usize>, area: Rect, buffer: &mut Buffer, look: &Look) {
        if area.height == 0 {
            return;
        }
        for (i, ((x, width), column)) in self.places(area).into_iter().zip(self.columns).enumerate() {
            let arrow = match self.sorted {
                Some((at, true)) if at == i => look.glyphs.down,
                Some((at, false)) if at == i => look.glyphs.up,
                _ => "",
            };
            let title = format!("{}{arrow}", column.title);
            let style = Style::new().fg(look.theme.dim).bg(self.ground).add_modifier(Modifier::UNDERLINED);
            put(&title, x, width, area.y, column.right, style, buffer);
        }
        self.draw_rows(rows, selected, Rect { y: area.y + 1, height: area.height - 1, ..area }, buffer, look);
    }

    /// Draws rows only.
    pub fn draw_rows(&self, rows: &[Vec<Cell>], selected: Option<usize>, area: Rect, buffer: &mut Buffer, look: &Look) {
        let places = self.places(area);
        for ((i, row), y) in rows.iter().enumerate().zip(area.top()..area.bottom()) {
            let mut ground = Style::new().fg(look.theme.text).bg(self.ground);
            if selected == Some(i) {
                ground = ground.bg(look.theme.current_row);
                if look.plain {
                    ground = ground.add_modifier(Modifier::REVERSED);
                }
                buffer.set_style(Rect { y, height: 1, ..area }, ground);
            }
            for ((cell, column), &(x, width)) in row.iter().zip(self.columns).zip(&places) {
                put(&cell.text, x, width, y, column.right, ground.fg(cell.color.unwrap_or(look.theme.text)), buffer);
            }
        }
    }
}

fn put(content: &str, x: u16, width: u16, y: u16, right: bool, style: Style, buffer: &mut Buffer) {
    let shown = text::truncate(content, usize::from(width));
    let room = width.saturating_sub(text::width(&shown) as u16);
    buffer.set_stringn(x + if right { room } else { 0 }, y, shown, usize::from(width), style);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out() {
        let columns = [
            Column { title: "time", width: 6, right: true },
            Column { title: "name", width: 0, right: false },
            Column { title: "note", width: 8, right: false },
        ];
        let table = Table { columns: &columns, sorted: Some((0, false)), ground: Color::Reset };
        let draw = |width| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, 2));
            let row = vec![Cell::new("1 ns"), Cell::new("a\u{1b}long name of a thing"), Cell::new("note")];
            table.draw(&[row], Some(0), buffer.area, &mut buffer, &Look::default());
            let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
            (line(0), line(1))
        };
        let up = Look::default().glyphs.up;
        assert_eq!(
            draw(40),
            (format!(" time{up}  name                    note"), "  1 ns  a\\x1blong name of a t…  note".into())
        );
        assert_eq!(draw(22), (format!(" time{up}  name"), "  1 ns  a\\x1blong nam…".into()));
    }
}
