//! The one line in which text is typed, wherever that is: search, commands, goto, names.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use super::history::{History, Purpose};
use super::keymap::Key;
use crate::term::text::{is_unsafe, width};

/// The longest text an entry takes, in characters; more is cut off.
const MAX_CHARS: usize = 4096;

/// What can complete the text before the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// The byte at which the completed word starts.
    pub start: usize,
    /// What can stand there instead, the best first.
    pub candidates: Vec<String>,
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryEvent {
    /// The text is another one.
    Changed,
    /// Only the cursor moved, or nothing did.
    Moved,
    /// Enter: the text is final.
    Submit(String),
    /// Esc or Ctrl-c: never mind.
    Cancel,
    /// The key means nothing here.
    Ignored,
}

/// How an entry is drawn; the theme gives the styles.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryStyle {
    /// The text before the entry, `/` or `:`.
    pub prompt: Style,
    /// What was typed.
    pub text: Style,
    /// What is shown while nothing is typed.
    pub placeholder: Style,
    /// What shows that the line goes on to the left or right.
    pub more: Style,
}

/// A line of text being typed. It never holds characters that are unsafe to draw.
#[derive(Debug)]
pub struct Entry {
    purpose: Purpose,
    prompt: String,
    placeholder: String,
    area: TextArea<'static>,
    /// Whether the text was only proposed: what is typed first takes its place.
    proposed: bool,
    /// How many texts back in history, and what was typed before going there.
    recalled: Option<(usize, String)>,
    /// The candidates being cycled through, the one shown, and where it ends.
    completing: Option<(Completions, usize)>,
}

impl Entry {
    /// An empty entry. `prompt` stands before the text, `placeholder` in its place while there is none.
    pub fn new(purpose: Purpose, prompt: &str, placeholder: &str) -> Entry {
        let mut area = TextArea::default();
        area.set_max_histories(200);
        let (prompt, placeholder) = (safe(prompt), safe(placeholder));
        Entry { purpose, prompt, placeholder, area, proposed: false, recalled: None, completing: None }
    }

    /// The same with a text to start from; the cursor is at its end.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Entry {
        self.area.insert_str(safe(text));
        self
    }

    /// The same with a text that is taken as it is, edited, or replaced by what is typed first.
    #[must_use]
    pub fn proposing(self, text: &str) -> Entry {
        let entry = self.with_text(text);
        Entry { proposed: !entry.text().is_empty(), ..entry }
    }

    /// What it is for.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// What was typed so far.
    pub fn text(&self) -> &str {
        self.area.lines().first().map_or("", String::as_str)
    }

    /// Where the cursor is: the number of bytes before it.
    pub fn cursor(&self) -> usize {
        let column = self.area.cursor().1;
        self.text().char_indices().nth(column).map_or(self.text().len(), |(at, _)| at)
    }

    /// Replaces the text; undo brings the old one back.
    pub fn set_text(&mut self, text: &str) {
        self.replace(0, self.text().len(), text);
        self.recalled = None;
        self.completing = None;
    }

    /// The candidates being cycled through and the one that is shown.
    pub fn completions(&self) -> Option<(&[String], usize)> {
        self.completing.as_ref().map(|(completions, shown)| (completions.candidates.as_slice(), *shown))
    }

    /// Takes a key. Editing keys are those of shells: Ctrl-a and Ctrl-e, Ctrl-w, Ctrl-u, Ctrl-k, Alt-b
    /// and Alt-f, Ctrl-y puts back what was cut, Ctrl-_ undoes; Up and Down walk the history, Tab
    /// takes what `complete` proposes for the text and cursor (in bytes).
    pub fn on_key(
        &mut self,
        event: KeyEvent,
        history: &History,
        complete: &dyn Fn(&str, usize) -> Completions,
    ) -> EntryEvent {
        let Some(key) = Key::from_event(event) else { return EntryEvent::Ignored };
        let (code, mods) = (key.event().code, key.event().modifiers);
        let (ctrl, alt) = (mods == KeyModifiers::CONTROL, mods == KeyModifiers::ALT);
        let before = self.text().to_owned();
        let completing = self.completing.take();
        let types = matches!(code, KeyCode::Char(_)) && mods.is_empty();
        if std::mem::take(&mut self.proposed) && (types || code == KeyCode::Backspace) {
            self.replace(0, before.len(), "");
        }
        match code {
            KeyCode::Enter => return EntryEvent::Submit(before),
            KeyCode::Esc => return EntryEvent::Cancel,
            KeyCode::Char('c') if ctrl => return EntryEvent::Cancel,
            KeyCode::Tab => self.complete(completing, mods == KeyModifiers::SHIFT, complete),
            KeyCode::Up => self.recall(history, true),
            KeyCode::Char('p') if ctrl => self.recall(history, true),
            KeyCode::Down => self.recall(history, false),
            KeyCode::Char('n') if ctrl => self.recall(history, false),
            _ => {
                if !self.edit(code, mods, ctrl, alt) {
                    return EntryEvent::Ignored;
                }
                self.recalled = None;
            }
        }
        if self.text() == before { EntryEvent::Moved } else { EntryEvent::Changed }
    }

    /// Takes a pasted text: line ends and tabs become blanks, what cannot be shown is left out.
    pub fn on_paste(&mut self, text: &str) -> EntryEvent {
        self.completing = None;
        self.recalled = None;
        if std::mem::take(&mut self.proposed) {
            self.replace(0, self.text().len(), "");
        }
        if self.insert(&safe(text)) { EntryEvent::Changed } else { EntryEvent::Moved }
    }

    fn edit(&mut self, code: KeyCode, mods: KeyModifiers, ctrl: bool, alt: bool) -> bool {
        let plain = mods.is_empty();
        let area = &mut self.area;
        match code {
            KeyCode::Char(c) if plain => {
                self.insert(&safe(c.encode_utf8(&mut [0; 4])));
            }
            KeyCode::Backspace if ctrl || alt => {
                area.delete_word();
            }
            KeyCode::Char('w') if ctrl => {
                area.delete_word();
            }
            KeyCode::Backspace => {
                area.delete_char();
            }
            KeyCode::Char('h') if ctrl => {
                area.delete_char();
            }
            KeyCode::Delete if ctrl || alt => {
                area.delete_next_word();
            }
            KeyCode::Char('d') if alt => {
                area.delete_next_word();
            }
            KeyCode::Delete => {
                area.delete_next_char();
            }
            KeyCode::Char('d') if ctrl => {
                area.delete_next_char();
            }
            KeyCode::Char('u') if ctrl => {
                area.delete_line_by_head();
            }
            KeyCode::Char('k') if ctrl => {
                area.delete_line_by_end();
            }
            KeyCode::Char('y') if ctrl => {
                area.paste();
            }
            KeyCode::Char('_') if ctrl => {
                area.undo();
            }
            KeyCode::Char('_') if alt => {
                area.redo();
            }
            KeyCode::Left if ctrl || alt => area.move_cursor(CursorMove::WordBack),
            KeyCode::Char('b') if alt => area.move_cursor(CursorMove::WordBack),
            KeyCode::Right if ctrl || alt => area.move_cursor(CursorMove::WordForward),
            KeyCode::Char('f') if alt => area.move_cursor(CursorMove::WordForward),
            KeyCode::Left => area.move_cursor(CursorMove::Back),
            KeyCode::Char('b') if ctrl => area.move_cursor(CursorMove::Back),
            KeyCode::Right => area.move_cursor(CursorMove::Forward),
            KeyCode::Char('f') if ctrl => area.move_cursor(CursorMove::Forward),
            KeyCode::Home => area.move_cursor(CursorMove::Head),
            KeyCode::Char('a') if ctrl => area.move_cursor(CursorMove::Head),
            KeyCode::End => area.move_cursor(CursorMove::End),
            KeyCode::Char('e') if ctrl => area.move_cursor(CursorMove::End),
            _ => return false,
        }
        true
    }

    fn insert(&mut self, text: &str) -> bool {
        let room = MAX_CHARS.saturating_sub(self.text().chars().count());
        let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        self.area.insert_str(&text[..end])
    }

    /// Puts `text` in the place of the bytes from `start` to `end`; the cursor is after it.
    fn replace(&mut self, start: usize, end: usize, text: &str) {
        let chars = |bytes: &str| bytes.chars().count();
        let line = self.text();
        let (from, count) = (chars(&line[..start]), chars(&line[start..end]));
        self.area.move_cursor(CursorMove::Jump(0, u16::try_from(from).unwrap_or(u16::MAX)));
        self.area.delete_str(count);
        self.insert(&safe(text));
    }

    fn recall(&mut self, history: &History, back: bool) {
        let (depth, typed) = self.recalled.take().unwrap_or_else(|| (0, self.text().to_owned()));
        // What was typed before going back picks the texts that begin with it.
        let matching: Vec<&str> =
            history.of(self.purpose).filter(|text| text.starts_with(&typed) && **text != typed).collect();
        let depth = if back { (depth + 1).min(matching.len()) } else { depth.saturating_sub(1) };
        let text = if depth == 0 { typed.as_str() } else { matching[depth - 1] };
        if text != self.text() {
            self.replace(0, self.text().len(), text);
        }
        self.recalled = Some((depth, typed));
    }

    fn complete(
        &mut self,
        completing: Option<(Completions, usize)>,
        backwards: bool,
        complete: &dyn Fn(&str, usize) -> Completions,
    ) {
        self.recalled = None;
        let (completions, shown) = match completing {
            Some((completions, shown)) => {
                let count = completions.candidates.len();
                let step = if backwards { count - 1 } else { 1 };
                (completions, (shown + step) % count)
            }
            None => {
                let completions = complete(self.text(), self.cursor());
                let last = completions.candidates.len().saturating_sub(1);
                (completions, if backwards { last } else { 0 })
            }
        };
        let start = completions.start;
        if let Some(candidate) = completions.candidates.get(shown).cloned()
            && self.text().is_char_boundary(start)
            && start <= self.cursor()
        {
            self.replace(start, self.cursor(), &candidate);
            self.completing = Some((completions, shown));
        }
    }

    /// Draws the entry in the first line of `area`. A text that is too long is moved so that the
    /// cursor is in view.
    pub fn render(&self, area: Rect, buffer: &mut Buffer, style: &EntryStyle) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let line = Rect { height: 1, ..area };
        buffer.set_style(line, style.text);
        buffer.set_stringn(line.x, line.y, &self.prompt, usize::from(line.width), style.prompt);
        let view = self.view(line.width);
        let x = line.x + view.prompt;
        let room = usize::from(line.width - view.prompt);
        if self.text().is_empty() {
            buffer.set_stringn(x, line.y, &self.placeholder, room, style.placeholder);
            return;
        }
        let text = if self.proposed { style.text.add_modifier(Modifier::REVERSED) } else { style.text };
        let (end, _) = buffer.set_stringn(x, line.y, &self.text()[view.from..], room, text);
        let shown = usize::from(end - x);
        if view.from > 0 {
            buffer.set_stringn(x, line.y, "…", room, style.more);
        }
        if width(&self.text()[view.from..]) > shown && room > 0 {
            buffer.set_stringn(line.right() - 1, line.y, "…", 1, style.more);
        }
    }

    /// Where the terminal's cursor belongs when the entry is drawn in `area`.
    pub fn cursor_position(&self, area: Rect) -> Position {
        let view = self.view(area.width);
        let before = width(&self.text()[view.from..self.cursor()]);
        let column = usize::from(view.prompt) + before;
        Position { x: area.x + u16::try_from(column).unwrap_or(u16::MAX).min(area.width.saturating_sub(1)), y: area.y }
    }

    /// Which part of the text is shown in so many columns.
    fn view(&self, columns: u16) -> View {
        let prompt = u16::try_from(width(&self.prompt)).unwrap_or(u16::MAX).min(columns);
        // One column stays for the cursor after the text, one for what shows that there is more.
        let room = usize::from(columns - prompt).saturating_sub(2);
        let before = &self.text()[..self.cursor()];
        let mut hidden = width(before).saturating_sub(room);
        let mut from = 0;
        for (at, grapheme) in before.grapheme_indices(true) {
            if hidden == 0 {
                break;
            }
            from = at + grapheme.len();
            hidden = hidden.saturating_sub(width(grapheme));
        }
        View { prompt, from }
    }
}

struct View {
    /// The columns of the prompt.
    prompt: u16,
    /// The first byte of the text that is shown.
    from: usize,
}

/// One line that can be drawn as it is.
fn safe(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c }).filter(|&c| !is_unsafe(c)).collect()
}

#[cfg(test)]
mod tests;
