//! A line of text asked for at the bottom of the screen.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Flow, Overlay};
use crate::app::App;
use crate::app::entry::{Completions, Entry, EntryEvent};
use crate::app::history::Purpose;
use crate::ui::popup;

type Submit = Box<dyn FnMut(&str, &mut App) -> Result<(), String>>;

/// A line of text asked for; what is entered is tried, and asked for again where it is wrong.
pub struct Prompt {
    entry: Entry,
    submit: Submit,
    words: Vec<String>,
    error: Option<String>,
}

impl Prompt {
    /// Asks for a text. `submit` carries it out, or says what is wrong with it.
    pub fn new(
        purpose: Purpose,
        prompt: &str,
        placeholder: &str,
        submit: impl FnMut(&str, &mut App) -> Result<(), String> + 'static,
    ) -> Prompt {
        Prompt {
            entry: Entry::new(purpose, prompt, placeholder),
            submit: Box::new(submit),
            words: Vec::new(),
            error: None,
        }
    }

    /// The same with a text that what is typed first replaces.
    #[must_use]
    pub fn proposing(mut self, text: &str) -> Prompt {
        self.entry = self.entry.proposing(text);
        self
    }

    /// The same with words that Tab completes.
    #[must_use]
    pub fn with_words(mut self, words: Vec<String>) -> Prompt {
        self.words = words;
        self
    }
}

impl Overlay for Prompt {
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow {
        let words = &self.words;
        let complete = |text: &str, cursor: usize| {
            let start = text[..cursor].rfind(' ').map_or(0, |at| at + 1);
            let typed = text[start..cursor].to_lowercase();
            let fitting = words.iter().filter(|w| w.to_lowercase().starts_with(&typed));
            Completions { start, candidates: fitting.cloned().collect() }
        };
        match self.entry.on_key(key, &app.history, &complete) {
            EntryEvent::Submit(text) => match (self.submit)(text.trim(), app) {
                Ok(()) => {
                    app.history.push(self.entry.purpose(), &text);
                    Flow::Close
                }
                Err(why) => {
                    self.error = Some(why);
                    Flow::Stay
                }
            },
            EntryEvent::Cancel => Flow::Close,
            EntryEvent::Changed => {
                self.error = None;
                Flow::Stay
            }
            EntryEvent::Moved | EntryEvent::Ignored => Flow::Stay,
        }
    }

    fn paste(&mut self, text: &str, _app: &mut App) {
        self.entry.on_paste(text);
        self.error = None;
    }

    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position> {
        let line = popup::prompt(self.error.as_deref(), screen, buffer, &app.look);
        super::draw_entry(&self.entry, line, buffer, &app.look)
    }
}
