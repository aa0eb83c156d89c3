//! Lists about causes, as the Causes pane shows them.

use ratatui::style::Color;

use crate::app::scene::Selection;
use crate::query::causes::Actor;
use crate::query::chain::PieceKind;
use crate::store::EventRef;

/// Lines that a list has at most.
pub const MOST_LINES: usize = 5_000;

/// What a part of a line is, and so how it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary.
    #[default]
    Plain,
    /// Of second rank.
    Dim,
    /// The name of what follows.
    Heading,
    /// A figure that matters.
    Value,
    /// A kind of piece.
    Piece(PieceKind),
    /// A colour that means something on the timeline.
    Colored(Color),
}

/// A part of a line; as in the file, it is made safe when drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What is written.
    pub text: String,
    /// How.
    pub tone: Tone,
    /// Whether it ends where others begin, as numbers do.
    pub right: bool,
}

impl Part {
    /// A part.
    pub fn new(text: impl Into<String>, tone: Tone) -> Part {
        Part { text: text.into(), tone, right: false }
    }

    /// A number.
    pub fn number(text: impl Into<String>, tone: Tone) -> Part {
        Part { text: text.into(), tone, right: true }
    }
}

/// A line of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its parts, one per column; a single one has the whole line.
    pub parts: Vec<Part>,
    /// What can be gone to from here.
    pub target: Option<Actor>,
    /// A cause of idle time that it is about.
    pub cause: Option<String>,
}

/// A list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// Its lines.
    pub entries: Vec<Entry>,
    /// What is drawn on the timeline with it.
    pub marked: Vec<Actor>,
    /// The events that show them.
    pub events: Vec<EventRef>,
    /// Whether it tells what idle time in the window waited for, and so follows the window.
    pub of_window: bool,
    /// What was selected when it was made.
    pub selection: Option<Selection>,
}

impl Report {
    /// A list without lines.
    pub fn new(title: impl Into<String>) -> Report {
        Report { title: title.into(), ..Report::default() }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.entries.push(Entry { parts: vec![Part::new(text, Tone::Heading)], ..Entry::default() });
    }

    /// Adds a line of text.
    pub fn text(&mut self, text: impl Into<String>, tone: Tone) {
        self.entries.push(Entry { parts: vec![Part::new(text, tone)], ..Entry::default() });
    }

    /// Adds a line, unless there are too many.
    pub fn line(&mut self, target: Option<Actor>, parts: Vec<Part>) {
        if self.entries.len() < MOST_LINES {
            self.entries.push(Entry { parts, target, cause: None });
        }
    }

    /// Adds a line about a cause of idle time.
    pub fn cause(&mut self, cause: &str, parts: Vec<Part>) {
        self.entries.push(Entry { parts, target: None, cause: Some(cause.to_owned()) });
    }
}
