//! The two lines at the top: which profile and window, and the window's figures.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::theme::Theme;
use crate::model::Window;
use crate::query::window::Figures;
use crate::term::glyphs::Glyphs;

/// What the header says.
pub struct Header<'a> {
    /// Name of the profile.
    pub name: &'a str,
    /// The instance it ran on, where known: `trn2.48xlarge`.
    pub instance: Option<&'a str>,
    /// Number of physical cores.
    pub cores: usize,
    /// The whole profile.
    pub whole: Window,
    /// The window on screen.
    pub window: Window,
    /// Number of warnings and problems.
    pub warnings: usize,
    /// What is being done, while the profile opens.
    pub progress: Option<&'a str>,
    /// The figures of the window.
    pub figures: &'a Figures,
    /// The core whose engines are shown, where there are several.
    pub core: Option<i64>,
}

impl Header<'_> {
    /// Draws both lines into `area`.
    pub fn draw(&self, area: Rect, theme: &Theme, glyphs: &Glyphs, buffer: &mut Buffer) {
        let _ = (area, theme, glyphs, buffer);
    }
}
