//! Widgets: pure functions of an answer, the view state and a theme to a buffer.

pub mod bars;
pub mod blame;
pub mod details;
pub mod header;
pub mod help;
pub mod labels;
mod levels;
pub mod lines;
pub mod look;
pub mod overview;
pub mod palette;
pub mod popup;
pub mod ruler;
mod slices;
pub mod table;
pub mod theme;
pub mod timeline;
