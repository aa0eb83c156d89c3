//! The whole profile in one line, with the window marked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use super::theme::Theme;
use crate::model::{Nanos, Window};
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
        let _ = (area, theme, glyphs, buffer);
    }
}
