//! Lists in columns: what panes list of causes and dependencies.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::look::Look;
use crate::term::text;

/// A cell; as in the file, it is made safe when drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell<'a> {
    /// What is written.
    pub text: Cow<'a, str>,
    /// Its colour; that of ordinary text where it has none.
    pub color: Option<Color>,
    /// Whether it stands at the right of its column, as numbers do.
    pub right: bool,
}

impl<'a> Cell<'a> {
    /// A cell.
    pub fn new(text: impl Into<Cow<'a, str>>, color: Option<Color>) -> Cell<'a> {
        Cell { text: text.into(), color, right: false }
    }

    /// A number.
    pub fn number(text: impl Into<Cow<'a, str>>, color: Option<Color>) -> Cell<'a> {
        Cell { right: true, ..Cell::new(text, color) }
    }
}

/// A line: cells of columns that all lines share; a single one has the whole line.
pub type Line<'a> = Vec<Cell<'a>>;

/// Blanks between columns.
const GAP: u16 = 2;

/// The widths of the columns of `lines`, as wide as what is in them; the last one has what is left.
fn widths(lines: &[Line]) -> Vec<u16> {
    let mut widths = Vec::new();
    for line in lines.iter().filter(|l| l.len() > 1) {
        widths.resize(widths.len().max(line.len()), 0);
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(text::width(&cell.text).min(60) as u16);
        }
    }
    widths
}

/// The columns of the screen that `lines` take.
#[must_use]
pub fn width(lines: &[Line]) -> u16 {
    let columns = widths(lines);
    let single = lines.iter().filter(|l| l.len() == 1).map(|l| text::width(&l[0].text) as u16).max();
    columns.iter().map(|w| w + GAP).sum::<u16>().saturating_sub(GAP).max(single.unwrap_or(0))
}

/// Draws as many of `lines`, which begin with the `top`-th of `count`, as there is room for; `selected` is one of those.
pub fn draw(lines: &[Line], selected: Option<usize>, area: Rect, buffer: &mut Buffer, look: &Look) {
    let widths = widths(lines);
    for (i, (line, y)) in lines.iter().zip(area.top()..area.bottom()).enumerate() {
        let chosen = selected == Some(i);
        let ground = if chosen { look.theme.current_row } else { look.theme.background };
        let base = Style::new().fg(look.theme.text).bg(ground);
        let row = Rect { y, height: 1, ..area };
        buffer.set_style(row, base);
        let modifier = if chosen && look.plain { Modifier::REVERSED } else { Modifier::empty() };
        buffer.set_style(row, Style::new().add_modifier(modifier));
        let mut x = area.x;
        for (column, cell) in line.iter().enumerate() {
            let left = area.right().saturating_sub(x);
            let last = column + 1 == line.len();
            let width = if last { left } else { widths.get(column).copied().unwrap_or(left).min(left) };
            if width == 0 && !last {
                continue;
            }
            let shown = text::truncate(&cell.text, usize::from(width));
            let shown =
                if cell.right && !last { text::pad_start(&shown, usize::from(width)) } else { shown.into_owned() };
            let style = base.fg(cell.color.unwrap_or(look.theme.text)).add_modifier(modifier);
            buffer.set_stringn(x, y, shown, usize::from(left), style);
            x = x.saturating_add(width + GAP).min(area.right());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let look = Look::default();
        let line = |a: &'static str, b: &'static str, c: &'static str| {
            vec![Cell::number(a, None), Cell::new(b, None), Cell::new(c, None)]
        };
        let lines =
            [vec![Cell::new("a heading that is long", None)], line("5", "flow", "MATMUL"), line("125", "x", "y\u{1b}")];
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 3));
        draw(&lines, None, buffer.area, &mut buffer, &look);
        let row = |y: u16| (0..20).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        assert_eq!([row(0), row(1)], ["a heading that is l…", "  5  flow  MATMUL"].map(String::from));
        assert!(row(2).starts_with("125  x     y") && !row(2).contains('\u{1b}'));
    }
}
