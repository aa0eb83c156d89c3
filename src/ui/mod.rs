//! Widgets: pure functions of an answer, the view state and a theme to a buffer.

pub mod theme;
