//! What everything is drawn with.

use ratatui::style::{Color, Style};

use super::theme::Theme;
use crate::term::glyphs::{Glyphs, UNICODE};

/// Colours and glyphs.
#[derive(Clone, Debug)]
pub struct Look {
    /// The colours.
    pub theme: Theme,
    /// The glyphs.
    pub glyphs: &'static Glyphs,
    /// The themes that can be chosen.
    pub choices: Vec<Theme>,
    /// Whether there are no colours, so that shapes must tell what stands out.
    pub plain: bool,
}

impl Default for Look {
    fn default() -> Look {
        Look { theme: Theme::dark(), glyphs: &UNICODE, choices: vec![Theme::dark(), Theme::light()], plain: false }
    }
}

impl Look {
    /// The themes that can be chosen.
    #[must_use]
    pub fn themes(&self) -> Vec<Theme> {
        self.choices.clone()
    }

    /// Text of some colour on the background.
    #[must_use]
    pub fn on_background(&self, color: Color) -> Style {
        Style::new().fg(color).bg(self.theme.background)
    }

    /// Text of some colour on bars: header, footer, titles of panes.
    #[must_use]
    pub fn on_bar(&self, color: Color) -> Style {
        Style::new().fg(color).bg(self.theme.bar)
    }

    /// Text of some colour on pop-ups.
    #[must_use]
    pub fn on_popup(&self, color: Color) -> Style {
        Style::new().fg(color).bg(self.theme.popup)
    }
}
