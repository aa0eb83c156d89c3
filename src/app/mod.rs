//! The state of the explorer: actions, keymap, panes, background jobs and the event loop.

pub mod action;
pub mod argument;
pub mod keymap;
mod nearest;
