//! The terminal itself: set-up and restore, colour depth, glyph sets, screen diff, clipboard.

pub mod answers;
pub mod clipboard;
pub mod color;
pub mod fault;
pub mod glyphs;
pub mod paths;
mod pen;
pub mod report;
pub mod screen;
pub mod session;
mod shift;
pub mod signals;
pub mod text;
mod tile;
