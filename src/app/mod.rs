//! The state of the explorer: actions, keymap, panes, background jobs and the event loop.

pub mod action;
pub mod argument;
pub mod atomic;
pub mod entry;
pub mod fuzzy;
pub mod history;
pub mod keymap;
pub mod palette;
