//! The state of the explorer: actions, keymap, panes, background jobs and the event loop.
