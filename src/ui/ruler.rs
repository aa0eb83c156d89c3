//! The ruler above the timeline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::theme::Theme;
use crate::model::{Grid, Nanos};
use crate::term::glyphs::Glyphs;

/// Draws the times of `grid` into the first row of `area`, which is as wide as the grid, with the marks on it.
pub fn draw(area: Rect, grid: Grid, marks: &[Nanos], theme: &Theme, glyphs: &Glyphs, buffer: &mut Buffer) {
    let _ = (area, grid, marks, theme, glyphs, buffer);
}
