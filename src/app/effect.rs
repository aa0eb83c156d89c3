//! What the App asks of the program around it.

use std::path::PathBuf;

use super::jobs::Job;

/// Something that the App cannot do by changing its own state.
#[derive(Debug)]
pub enum Effect {
    /// End the program.
    Quit,
    /// Give the terminal back to the shell until it is resumed.
    Suspend,
    /// Draw the whole screen again, whatever it is thought to show.
    Repaint,
    /// Do some work off the UI thread.
    Job(Job),
    /// Stop the work of a slot.
    Cancel(&'static str),
    /// Put a text into the clipboard of the terminal.
    Copy(String),
    /// Use the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Write a file; what comes of it is told on the screen.
    Write {
        /// Where to.
        path: PathBuf,
        /// What.
        bytes: Vec<u8>,
    },
}
