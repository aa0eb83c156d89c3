//! Which keys do what: presets, the user's file over them, and the walk along key sequences.

mod help;
mod key;
mod load;
mod script;
mod trie;

use crossterm::event::KeyEvent;

pub use help::{HelpKeys, HelpRow};
pub use key::Key;
pub use load::{Loaded, PRESETS, Problem, load, user_file};
pub use script::{ScriptError, parse_script};

use super::action::Action;
use trie::{Found, Node, Trie};

/// Where the focus is. Keys of [`Context::Global`] work everywhere, unless the focused part
/// binds them itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere; as a focus: where neither a timeline nor a pane has it.
    Global,
    /// The timeline, the root of the screen.
    Timeline,
    /// A list, details, or another pane or pop-up list.
    Pane,
}

impl Context {
    /// All contexts.
    pub const ALL: [Context; 3] = [Context::Global, Context::Timeline, Context::Pane];

    /// The name of its table in key files.
    pub fn name(self) -> &'static str {
        match self {
            Context::Global => "global",
            Context::Timeline => "timeline",
            Context::Pane => "pane",
        }
    }
}

/// One sequence of keys bound to one action, and where that was written.
#[derive(Clone, Debug)]
struct Binding {
    context: Context,
    keys: Vec<Key>,
    action: Action,
    layer: usize,
    place: (usize, usize),
}

/// The live keymap: every context's bindings with the global ones beneath.
#[derive(Clone, Debug)]
pub struct Keymap {
    contexts: [Trie; 3],
}

/// The keys of an unfinished sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    keys: Vec<Key>,
}

impl Pending {
    /// Whether no sequence has begun.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Forgets the keys so far.
    pub fn clear(&mut self) {
        self.keys.clear();
    }

    /// The keys so far, `Space`.
    pub fn text(&self) -> String {
        Key::format_sequence(&self.keys)
    }
}

/// A key that can follow the ones pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The key.
    pub key: String,
    /// What it does, or how many actions lie behind it.
    pub text: String,
    /// The action; `None` where more keys follow.
    pub action: Option<Action>,
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feed {
    /// A sequence is complete.
    Action(Action),
    /// More keys are needed; these can follow.
    Wait(Vec<Hint>),
    /// Nothing is bound to it; an unfinished sequence is forgotten.
    Unbound,
    /// Esc ended an unfinished sequence.
    Cancelled,
    /// No key press (a release, a modifier alone); an unfinished sequence goes on.
    Ignored,
}

impl Keymap {
    fn new(bindings: &[Binding]) -> Keymap {
        let trie = |context: Context| {
            let mut trie = Trie::default();
            // The context's own come last and push aside global ones they clash with.
            for layer in [Context::Global, context] {
                for binding in bindings.iter().filter(|binding| binding.context == layer) {
                    trie.insert(&binding.keys, binding.action.clone());
                }
            }
            trie
        };
        Keymap { contexts: Context::ALL.map(trie) }
    }

    fn trie(&self, context: Context) -> &Trie {
        &self.contexts[context as usize]
    }

    /// Takes a key where the focus is `context` and says what comes of it. `pending` carries an
    /// unfinished sequence from key to key.
    pub fn feed(&self, context: Context, pending: &mut Pending, event: KeyEvent) -> Feed {
        let Some(key) = Key::from_event(event) else { return Feed::Ignored };
        if key.is_escape() && !pending.is_empty() {
            pending.clear();
            return Feed::Cancelled;
        }
        pending.keys.push(key);
        let feed = match self.trie(context).find(&pending.keys) {
            Found::Prefix(trie) => return Feed::Wait(hints(trie)),
            Found::Action(action) => Feed::Action(action.clone()),
            Found::Nothing => Feed::Unbound,
        };
        pending.clear();
        feed
    }

    /// What can follow the keys pressed so far; empty if no sequence has begun.
    pub fn hints(&self, context: Context, pending: &Pending) -> Vec<Hint> {
        match self.trie(context).find(&pending.keys) {
            Found::Prefix(trie) if !pending.is_empty() => hints(trie),
            _ => Vec::new(),
        }
    }

    /// Every sequence bound to the action in any context, argument included, each once, in the
    /// order of the key file.
    pub fn keys_for(&self, action: &Action) -> Vec<String> {
        let mut out = Vec::new();
        for context in [Context::Timeline, Context::Pane, Context::Global] {
            for (keys, bound) in self.trie(context).bindings() {
                let text = Key::format_sequence(&keys);
                if bound == action && !out.contains(&text) {
                    out.push(text);
                }
            }
        }
        out
    }

    /// The shortest sequence bound to the action where the focus is `context`, for the footer.
    pub fn hint(&self, context: Context, action: &Action) -> Option<String> {
        self.trie(context)
            .bindings()
            .into_iter()
            .filter(|(_, bound)| *bound == action)
            .map(|(keys, _)| (keys.len(), Key::format_sequence(&keys)))
            .min_by_key(|(length, text)| (*length, text.chars().count()))
            .map(|(_, text)| text)
    }
}

fn hints(trie: &Trie) -> Vec<Hint> {
    let hint = |(key, node): &(Key, Node)| match node {
        Node::Action(action) => {
            let text = match action.arg() {
                Some(arg) => format!("{} ({arg})", action.info().text),
                None => action.info().text.to_owned(),
            };
            Hint { key: key.to_string(), text, action: Some(action.clone()) }
        }
        Node::Prefix(trie) => {
            Hint { key: key.to_string(), text: format!("{} more …", trie.bindings().len()), action: None }
        }
    };
    trie.entries().iter().map(hint).collect()
}

#[cfg(test)]
mod tests;
