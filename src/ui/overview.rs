//! The whole profile in one line, with the window marked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::labels;
use super::theme::Theme;
use crate::model::{Grid, Nanos, Window};
use crate::term::glyphs::Glyphs;

/// What the overview shows.
pub struct Overview<'a> {
    /// The answer of [`crate::query::viewport::overview`], one entry per column.
    pub shares: &'a [f32],
    /// The whole profile.
    pub whole: Window,
    /// The window on screen.
    pub window: Window,
    /// Times to point out, each with its colour: marks, matches.
    pub ticks: &'a [(Nanos, Color)],
}

impl Overview<'_> {
    /// Draws into the first row of `area`: the label in the label column, the strip in the rest.
    pub fn draw(&self, area: Rect, theme: &Theme, glyphs: &Glyphs, buffer: &mut Buffer) {
        let label = labels::width(area.width).min(area.width);
        let columns = area.width - label;
        if area.height == 0 || columns == 0 {
            return;
        }
        buffer.set_stringn(
            area.x + 1,
            area.y,
            "overview",
            usize::from(label.saturating_sub(1)),
            Style::new().fg(theme.dim),
        );
        let grid = Grid::fit(self.whole, columns);
        let x = area.x + label;
        let most = self.shares.iter().copied().fold(0.0, f32::max);
        let from = grid.column_of(self.window.start).clamp(0, i64::from(columns) - 1) as u16;
        let to = grid.column_of(self.window.end - 1).clamp(i64::from(from), i64::from(columns) - 1) as u16;
        for (k, &share) in (0..columns).zip(self.shares) {
            let Some(cell) = buffer.cell_mut((x + k, area.y)) else { continue };
            let color = if (from..=to).contains(&k) { theme.window } else { theme.dim };
            if share > 0.0 {
                let level = ((share / most * 8.0).round() as usize).clamp(1, 8);
                cell.set_symbol(glyphs.levels[level - 1]);
            }
            cell.set_style(Style::new().fg(color));
        }
        for &(time, color) in self.ticks {
            if let Some(k) = grid.visible_column(time) {
                buffer.set_string(x + k, area.y, glyphs.tick, Style::new().fg(color));
            }
        }
        // The brackets stand outside the window, where there is room.
        let style = Style::new().fg(theme.window);
        buffer.set_string(x + from.saturating_sub(1), area.y, glyphs.brackets[0], style);
        buffer.set_string(x + (to + 1).min(columns - 1), area.y, glyphs.brackets[1], style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::glyphs::UNICODE;

    #[test]
    fn the_window_is_marked() {
        let strip = |from, to| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
            let shares: Vec<f32> = (0..20).map(|k| if k == 3 { 0.0 } else { 0.01 * k as f32 }).collect();
            let overview = Overview {
                shares: &shares,
                whole: Window::new(0, 200),
                window: Window::new(from, to),
                ticks: &[(155, Color::Red)],
            };
            overview.draw(buffer.area, &Theme::dark(), &UNICODE, &mut buffer);
            buffer.content.iter().map(|c| c.symbol()).collect::<String>()
        };
        assert_eq!(strip(50, 90), " overview  ▁▁ [▂▃▃▃]▄▅▅▅▆╷▇▇██");
        assert_eq!(strip(0, 200), " overview [▁▁ ▂▂▃▃▃▄▄▅▅▅▆╷▇▇█]");
        assert_eq!(strip(-500, 1), " overview [] ▁ ▂▂▃▃▃▄▄▅▅▅▆╷▇▇██".replacen("] ▁", "]▁", 1));
    }
}
