//! One key press: how it is written in key files, and how what the terminal sends is brought to
//! one form, so that a binding works whatever the terminal.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key press in its one normal form: Shift is part of a character and only kept on named keys;
/// letters with Ctrl are lower case; Ctrl-i, Ctrl-m and Ctrl-[ are Tab, Enter and Esc, which is
/// what most terminals send for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    mods: KeyModifiers,
}

/// Keys with a name, the one that is shown first among those of a code.
const NAMES: &[(&str, KeyCode)] = &[
    ("Space", KeyCode::Char(' ')),
    ("lt", KeyCode::Char('<')),
    ("gt", KeyCode::Char('>')),
    ("Enter", KeyCode::Enter),
    ("Return", KeyCode::Enter),
    ("CR", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Escape", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("BackTab", KeyCode::BackTab),
    ("Backspace", KeyCode::Backspace),
    ("BS", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Del", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("Ins", KeyCode::Insert),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PageUp", KeyCode::PageUp),
    ("PgUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("PgDn", KeyCode::PageDown),
    ("PgDown", KeyCode::PageDown),
];

impl Key {
    /// The normal form of a code with modifiers; `None` for what is no key press of its own (a
    /// modifier alone, a lock key).
    pub fn new(code: KeyCode, mods: KeyModifiers) -> Option<Key> {
        let mut mods = mods;
        if mods.contains(KeyModifiers::META) {
            mods = mods.difference(KeyModifiers::META) | KeyModifiers::ALT;
        }
        let ctrl = mods.contains(KeyModifiers::CONTROL);
        let code = match code {
            KeyCode::Modifier(_) | KeyCode::CapsLock | KeyCode::NumLock | KeyCode::ScrollLock => return None,
            KeyCode::BackTab => {
                mods |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            // What some terminals send for Ctrl-Space.
            KeyCode::Null => return Key::new(KeyCode::Char(' '), mods | KeyModifiers::CONTROL),
            KeyCode::Char(c) if ctrl => {
                mods.remove(KeyModifiers::SHIFT);
                match one(c.to_lowercase()).unwrap_or(c) {
                    'i' => {
                        mods.remove(KeyModifiers::CONTROL);
                        KeyCode::Tab
                    }
                    'm' => {
                        mods.remove(KeyModifiers::CONTROL);
                        KeyCode::Enter
                    }
                    '[' => {
                        mods.remove(KeyModifiers::CONTROL);
                        KeyCode::Esc
                    }
                    // Terminals send one byte for each of these pairs; crossterm reports the digits.
                    '4' => KeyCode::Char('\\'),
                    '5' => KeyCode::Char(']'),
                    '6' => KeyCode::Char('^'),
                    '7' | '/' => KeyCode::Char('_'),
                    c => KeyCode::Char(c),
                }
            }
            KeyCode::Char(c) => {
                let shifted = mods.contains(KeyModifiers::SHIFT);
                mods.remove(KeyModifiers::SHIFT);
                KeyCode::Char(if shifted { one(c.to_uppercase()).unwrap_or(c) } else { c })
            }
            code => code,
        };
        Some(Key { code, mods })
    }

    /// The key of an event; `None` for releases and modifiers pressed alone.
    pub fn from_event(event: KeyEvent) -> Option<Key> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        Key::new(event.code, event.modifiers)
    }

    /// The event a terminal would send for it.
    pub fn event(self) -> KeyEvent {
        KeyEvent::new(self.code, self.mods)
    }

    /// Whether it is Esc without modifiers.
    pub fn is_escape(self) -> bool {
        self.code == KeyCode::Esc && self.mods.is_empty()
    }

    /// Reads one key as key files have it: a character, or a name such as `Space`, `PageUp`, `F1`
    /// (any case), or a name in angle brackets (`<lt>`), with `C-`, `A-` (or `M-`) and `S-` before it.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Key, String> {
        let inner = match text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
            Some(inner) if !inner.is_empty() => inner,
            _ => text,
        };
        let (mut mods, mut rest) = (KeyModifiers::NONE, inner);
        while let Some((modifier, after)) = modifier(rest) {
            if mods.contains(modifier) {
                return Err(format!("{text:?} has a modifier twice"));
            }
            mods |= modifier;
            rest = after;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (None, _) => return Err("a key is missing".to_owned()),
            (Some(c), None) if c.is_control() => return Err(format!("{c:?} is no key that can be typed")),
            (Some(c), None) => KeyCode::Char(c),
            _ => named(rest).ok_or_else(|| {
                let spaced: Vec<String> = rest.chars().map(String::from).collect();
                if rest.len() <= 3 && mods.is_empty() {
                    format!("unknown key {text:?}; a sequence is written with blanks: {:?}", spaced.join(" "))
                } else {
                    format!("unknown key {text:?}; write a character or Space, Enter, Esc, Tab, Left, PageUp, F1, C-o, A-x …")
                }
            })?,
        };
        Key::new(code, mods).ok_or_else(|| format!("{text:?} is no key that can be typed"))
    }

    /// Reads a sequence of keys separated by blanks: `g g`.
    ///
    /// # Errors
    /// What is wrong with the first bad one; an empty sequence.
    pub fn parse_sequence(text: &str) -> Result<Vec<Key>, String> {
        let keys = text.split_whitespace().map(Key::parse).collect::<Result<Vec<_>, _>>()?;
        match keys.len() {
            0 => Err("a key is missing; the space bar is written Space".to_owned()),
            1..=MAX_SEQUENCE => Ok(keys),
            n => Err(format!("{n} keys in a row are too many; {MAX_SEQUENCE} is the limit")),
        }
    }

    /// Writes a sequence as [`Key::parse_sequence`] reads it.
    pub fn format_sequence(keys: &[Key]) -> String {
        keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ")
    }
}

/// Longer sequences are surely a mistake.
const MAX_SEQUENCE: usize = 8;

/// The only item of an iterator that has just one: letters whose other case is several are left alone.
fn one(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next();
    if chars.next().is_some() { None } else { first }
}

/// A modifier and what follows it, if more than a lone `-` does.
fn modifier(text: &str) -> Option<(KeyModifiers, &str)> {
    let rest = text.get(2..).filter(|rest| !rest.is_empty())?;
    let modifier = match text.get(..2)? {
        "C-" | "c-" => KeyModifiers::CONTROL,
        "A-" | "a-" | "M-" | "m-" => KeyModifiers::ALT,
        "S-" | "s-" => KeyModifiers::SHIFT,
        _ => return None,
    };
    Some((modifier, rest))
}

fn named(name: &str) -> Option<KeyCode> {
    if let Some(number) = name.strip_prefix(['F', 'f']).and_then(|digits| digits.parse::<u8>().ok()) {
        return (1..=24).contains(&number).then_some(KeyCode::F(number));
    }
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, code)| code)
}

impl fmt::Display for Key {
    /// Writes what [`Key::parse`] reads back; `<` and `>` stand for themselves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, prefix) in
            [(KeyModifiers::CONTROL, "C-"), (KeyModifiers::ALT, "A-"), (KeyModifiers::SHIFT, "S-")]
        {
            if self.mods.contains(modifier) {
                f.write_str(prefix)?;
            }
        }
        match self.code {
            KeyCode::Char(c) if c != ' ' => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "F{number}"),
            code => match NAMES.iter().find(|(_, known)| *known == code) {
                Some((name, _)) => f.write_str(name),
                // Media keys and the like can be pressed but not bound.
                None => write!(f, "{code:?}"),
            },
        }
    }
}
