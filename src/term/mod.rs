//! The terminal itself: set-up and restore, colour depth, glyph sets, screen diff, clipboard.

pub mod color;
pub mod glyphs;
mod pen;
pub mod screen;
mod shift;
pub mod text;
mod tile;
