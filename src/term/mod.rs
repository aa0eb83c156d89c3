//! The terminal itself: set-up and restore, colour depth, glyph sets, screen diff, clipboard.

pub mod color;
pub mod glyphs;
pub mod text;
