//! Widgets: pure functions of an answer, the view state and a theme to a buffer.

pub mod header;
pub mod labels;
pub mod overview;
pub mod ruler;
pub mod theme;
pub mod timeline;
