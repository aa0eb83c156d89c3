//! Keys written as one text, as `render --keys` takes them: `dd/MATMUL<Enter>]`.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::key::Key;

/// Why a text is no script of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// Where in the text, in characters from 1.
    pub column: usize,
    /// What is wrong, in words.
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keys, character {}: {}", self.column, self.message)
    }
}

impl std::error::Error for ScriptError {}

/// Reads keys played into the program: every character is a key, except that `<` begins a named
/// key that ends at `>`: `<lt>` (the character `<`), `<Enter>`, `<Esc>`, `<Space>`, `<Tab>`,
/// `<C-o>`, `<S-Left>`, `<PageDown>`, `<Backspace>`, `<F1>` …
///
/// # Errors
/// The first unknown or unclosed name, with its place.
pub fn parse_script(text: &str) -> Result<Vec<KeyEvent>, ScriptError> {
    let mut events = Vec::new();
    let (mut rest, mut column) = (text, 1);
    while let Some(c) = rest.chars().next() {
        let fail = |message: String| ScriptError { column, message };
        let taken = if c == '<' {
            let end = rest.find('>').ok_or_else(|| fail("\"<\" without \">\"; the character itself is <lt>".into()))?;
            let name = &rest[1..end];
            if name.chars().count() < 2 {
                return Err(fail(format!("unknown key \"<{name}>\"; the character < itself is <lt>")));
            }
            events.push(Key::parse(name).map_err(fail)?.event());
            &rest[..=end]
        } else {
            let event = match c {
                '\n' | '\r' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
                '\t' => KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE),
                c if c.is_control() => return Err(fail(format!("{c:?} is no key that can be typed"))),
                c => KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE),
            };
            events.push(event);
            &rest[..c.len_utf8()]
        };
        column += taken.chars().count();
        rest = &rest[taken.len()..];
    }
    Ok(events)
}
