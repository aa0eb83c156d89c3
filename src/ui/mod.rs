//! Widgets: pure functions of an answer, the view state and a theme to a buffer.

pub mod header;
pub mod labels;
mod levels;
pub mod overview;
pub mod palette;
pub mod ruler;
mod slices;
pub mod theme;
pub mod timeline;
