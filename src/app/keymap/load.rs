//! Reads key files: presets built into the program and the user's own file merged over one.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Binding, Context, Key, Keymap};
use crate::app::action::Action;
use crate::model::nearest::nearest;
use crate::term::text::escape;

/// The presets by name, with their text.
pub const PRESETS: &[(&str, &str)] = &[
    ("default", include_str!("../../../keymaps/default.toml")),
    ("perfetto", include_str!("../../../keymaps/perfetto.toml")),
    ("vim", include_str!("../../../keymaps/vim.toml")),
    ("neuron-explorer", include_str!("../../../keymaps/neuron-explorer.toml")),
    ("azerty", include_str!("../../../keymaps/azerty.toml")),
];

/// A larger key file is no key file.
const MAX_BYTES: u64 = 1 << 20;

/// A file with so many broken lines is no key file; none of it counts.
const MAX_BROKEN: usize = 50;

/// Something wrong in a key file. Everything else in it still works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, or the preset's name.
    pub file: String,
    /// Line and column, both from 1, the column in characters; `None` where the whole file is meant.
    pub place: Option<(usize, usize)>,
    /// What is wrong and what to do, in words.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// A keymap and what was wrong with the files it came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The keymap, complete as far as the files are sound.
    pub keymap: Keymap,
    /// In the order of the files and lines.
    pub problems: Vec<Problem>,
}

/// The user's key file, `neuron-scope/keymap.toml` in the configuration directory, whether or
/// not it exists; `None` where there is no home directory.
pub fn user_file() -> Option<PathBuf> {
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("neuron-scope").join("keymap.toml"))
}

/// The keymap to use. `choice` is what `--keymap` was given: the name of a preset, which is then
/// taken as it is, or the path of a key file. Without it the user's file counts, if it exists, and
/// the default preset otherwise. What cannot be read is reported and the default preset is used.
pub fn load(choice: Option<&str>, user_file: Option<&Path>) -> Loaded {
    let mut loader = Loader::default();
    match choice {
        Some(choice) if preset(choice).is_some() => loader.preset(choice),
        Some(choice) if is_path(choice) => loader.file(Path::new(choice)),
        Some(choice) => {
            loader.problems.push(Problem {
                file: "--keymap".into(),
                place: None,
                message: unknown_preset(choice, true),
            });
            loader.preset("default");
        }
        None => match user_file.filter(|path| path.exists()) {
            Some(path) => loader.file(path),
            None => loader.preset("default"),
        },
    }
    loader.finish()
}

impl Keymap {
    /// A preset by its name; `None` if there is none.
    pub fn preset(name: &str) -> Option<Loaded> {
        preset(name)?;
        let mut loader = Loader::default();
        loader.preset(name);
        Some(loader.finish())
    }

    /// The keymap of a key file's text; `file` is its name in problems.
    pub fn from_toml(file: &str, text: &str) -> Loaded {
        let mut loader = Loader::default();
        loader.user(file, text);
        loader.finish()
    }
}

impl Default for Keymap {
    fn default() -> Keymap {
        let mut loader = Loader::default();
        loader.preset("default");
        loader.finish().keymap
    }
}

fn preset(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

fn is_path(choice: &str) -> bool {
    choice.contains(['/', '\\']) || choice.ends_with(".toml") || Path::new(choice).exists()
}

fn unknown_preset(name: &str, or_file: bool) -> String {
    let known: Vec<&str> = PRESETS.iter().map(|(known, _)| *known).collect();
    let meant = match nearest(name, known.iter().copied()) {
        Some(near) => format!(" (did you mean {near:?}?)"),
        None => String::new(),
    };
    let file = if or_file { ", and no file has this name" } else { "" };
    format!("unknown preset {name:?}{meant}{file}; the presets are {}. The default one is used", known.join(", "))
}

#[derive(Default)]
struct Loader {
    bindings: Vec<Binding>,
    problems: Vec<Problem>,
    layers: usize,
}

/// One key file while it is being merged.
struct Layer<'a> {
    file: &'a str,
    text: &'a str,
    index: usize,
}

impl Layer<'_> {
    fn place(&self, span: Range<usize>) -> (usize, usize) {
        let before = self.text.get(..span.start.min(self.text.len())).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl Loader {
    fn finish(self) -> Loaded {
        Loaded { keymap: Keymap::new(&self.bindings), problems: self.problems }
    }

    fn preset(&mut self, name: &str) {
        if let Some(text) = preset(name) {
            // Presets are part of the program and their chain ends, or its tests would not.
            self.text(&format!("{name}.toml"), text, None);
        }
    }

    fn file(&mut self, path: &Path) {
        let name = escape(&path.display().to_string()).into_owned();
        match read(path) {
            Ok(text) => self.user(&name, &text),
            Err(message) => {
                self.problems.push(Problem { file: name, place: None, message });
                self.preset("default");
            }
        }
    }

    fn user(&mut self, file: &str, text: &str) {
        self.text(file, text, Some("default"));
    }

    /// Merges a key file over the preset it names, or over `base` if it names none.
    fn text(&mut self, file: &str, text: &str, base: Option<&str>) {
        let (sound, errors) = without_broken_lines(text);
        let document = DeTable::parse(&sound).map(Spanned::into_inner).unwrap_or_default();
        let layer = Layer { file, text, index: self.layers };
        let base = self.base(&layer, &document).or(base);
        if let Some(base) = base {
            self.preset(base);
        }
        let layer = Layer { index: self.layers, ..layer };
        self.layers += 1;
        let start = self.problems.len();
        for (at, message) in errors {
            self.problem(&layer, at..at, message);
        }
        self.merge(&layer, &document);
        // Unbinding comes before binding, but people read a file from its top.
        self.problems[start..].sort_by_key(|problem| problem.place);
    }

    fn base(&mut self, layer: &Layer<'_>, document: &DeTable<'_>) -> Option<&'static str> {
        let (_, value) = document.iter().find(|(key, _)| matches!(key.get_ref().as_ref(), "preset" | "inherits"))?;
        let Some(name) = value.get_ref().as_str() else {
            self.problem(layer, value.span(), "expected the name of a preset in quotes".to_owned());
            return None;
        };
        let known = PRESETS.iter().find(|(known, _)| *known == name).map(|(known, _)| *known);
        if known.is_none() {
            self.problem(layer, value.span(), unknown_preset(name, false));
        }
        known
    }

    fn merge(&mut self, layer: &Layer<'_>, document: &DeTable<'_>) {
        let mut tables = Vec::new();
        for (key, value) in in_order(document) {
            let name = key.get_ref().as_ref();
            match (Context::ALL.into_iter().find(|context| context.name() == name), value.get_ref()) {
                (Some(context), DeValue::Table(table)) => tables.push((context, table)),
                (Some(_), _) => self.problem(layer, value.span(), format!("expected a table: [{name}]")),
                (None, _) if matches!(name, "preset" | "inherits") => {}
                (None, list) if name == "unbind" => self.unbind_list(layer, &Context::ALL, value.span(), list),
                (None, _) => {
                    let message = format!("unknown {name:?}; keys belong under [global], [timeline] or [pane]");
                    self.problem(layer, key.span(), message);
                }
            }
        }
        for &(context, table) in &tables {
            for (key, value) in in_order(table) {
                if key.get_ref() == "unbind" {
                    self.unbind_list(layer, &[context], value.span(), value.get_ref());
                } else if value.get_ref().as_bool() == Some(false) {
                    self.unbind(layer, &[context], key.span(), key.get_ref());
                }
            }
        }
        for &(context, table) in &tables {
            for (key, value) in in_order(table) {
                if key.get_ref() != "unbind" && value.get_ref().as_bool() != Some(false) {
                    self.bind(layer, context, key, value);
                }
            }
        }
        self.report_hidden(layer);
    }

    fn unbind_list(&mut self, layer: &Layer<'_>, contexts: &[Context], span: Range<usize>, list: &DeValue<'_>) {
        let Some(list) = list.as_array() else {
            return self.problem(layer, span, "expected a list of keys: unbind = [\"x\", \"g g\"]".to_owned());
        };
        for item in list.iter() {
            match item.get_ref().as_str() {
                Some(keys) => self.unbind(layer, contexts, item.span(), keys),
                None => self.problem(layer, item.span(), "expected a key in quotes".to_owned()),
            }
        }
    }

    /// Removes a sequence and all that begin with it.
    fn unbind(&mut self, layer: &Layer<'_>, contexts: &[Context], span: Range<usize>, text: &str) {
        let keys = match Key::parse_sequence(text) {
            Ok(keys) => keys,
            Err(message) => return self.problem(layer, span, message),
        };
        let before = self.bindings.len();
        self.bindings.retain(|old| !(contexts.contains(&old.context) && old.keys.starts_with(&keys)));
        if self.bindings.len() == before {
            let place = if let [context] = contexts { format!(" in [{}]", context.name()) } else { String::new() };
            self.problem(layer, span, format!("nothing to unbind: {text:?} is not bound{place}"));
        }
    }

    fn bind(
        &mut self,
        layer: &Layer<'_>,
        context: Context,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let keys = match Key::parse_sequence(key.get_ref()) {
            Ok(keys) => keys,
            Err(message) => return self.problem(layer, key.span(), message),
        };
        let Some(text) = value.get_ref().as_str() else {
            let message =
                format!("expected an action's name, or false to unbind, found {}", value.get_ref().type_str());
            return self.problem(layer, value.span(), message);
        };
        let action = match Action::parse(text) {
            Ok(action) => action,
            Err(error) => return self.problem(layer, value.span(), error.to_string()),
        };
        let clashes = |old: &Binding| old.context == context && clash(&old.keys, &keys);
        if let Some(own) = self.bindings.iter().find(|old| old.layer == layer.index && clashes(old)) {
            let message = clash_in_file(&keys, own);
            return self.problem(layer, key.span(), message);
        }
        let hidden: Vec<String> = self
            .bindings
            .iter()
            .filter(|old| clashes(old) && old.keys.len() != keys.len())
            .map(|old| format!("{:?} ({})", Key::format_sequence(&old.keys), old.action))
            .collect();
        if !hidden.is_empty() {
            let verb = if hidden.len() == 1 { "is" } else { "are" };
            let message = format!(
                "{:?} takes the place of {}, which {verb} no longer bound; `unbind` {} first if that is meant",
                Key::format_sequence(&keys),
                hidden.join(", "),
                if hidden.len() == 1 { "it" } else { "them" },
            );
            self.problem(layer, key.span(), message);
        }
        self.bindings.retain(|old| !clashes(old));
        let place = layer.place(key.span());
        self.bindings.push(Binding { context, keys, action, layer: layer.index, place });
    }

    /// A global binding has no effect where an older layer binds its keys in a context.
    fn report_hidden(&mut self, layer: &Layer<'_>) {
        let mut messages = Vec::new();
        for new in self.bindings.iter().filter(|new| new.layer == layer.index && new.context == Context::Global) {
            for old in self.bindings.iter().filter(|old| old.layer != layer.index && old.context != Context::Global) {
                if clash(&old.keys, &new.keys) && old.action != new.action {
                    let context = old.context.name();
                    messages.push((
                        new.place,
                        format!(
                            "{:?} has no effect in [{context}], where {:?} is bound to {}; bind it under [{context}] too, or unbind it there",
                            Key::format_sequence(&new.keys),
                            Key::format_sequence(&old.keys),
                            old.action
                        ),
                    ));
                }
            }
        }
        for (place, message) in messages {
            self.problems.push(Problem { file: layer.file.to_owned(), place: Some(place), message });
        }
    }

    fn problem(&mut self, layer: &Layer<'_>, span: Range<usize>, message: String) {
        self.problems.push(Problem { file: layer.file.to_owned(), place: Some(layer.place(span)), message });
    }
}

/// Whether two sequences cannot both be bound in one context.
fn clash(a: &[Key], b: &[Key]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn clash_in_file(keys: &[Key], first: &Binding) -> String {
    let (new, old) = (Key::format_sequence(keys), Key::format_sequence(&first.keys));
    let line = first.place.0;
    match keys.len().cmp(&first.keys.len()) {
        std::cmp::Ordering::Equal => format!("{new:?} is already bound to {} in line {line}", first.action),
        std::cmp::Ordering::Less => {
            format!("{new:?} cannot be an action and also begin {old:?} ({}) in line {line}", first.action)
        }
        std::cmp::Ordering::Greater => {
            format!(
                "{old:?} is bound to {} in line {line}, so no sequence such as {new:?} can begin with it",
                first.action
            )
        }
    }
}

/// The entries of a table as they stand in the file.
fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The text with every line blanked that is not TOML, so that the others still count and places
/// stay right, and for each of them where and what is wrong.
fn without_broken_lines(text: &str) -> (String, Vec<(usize, String)>) {
    let (mut sound, mut errors) = (text.to_owned(), Vec::new());
    for _ in 0..MAX_BROKEN {
        let Err(error) = DeTable::parse(&sound) else { return (sound, errors) };
        let at = error.span().map_or(0, |span| span.start).min(sound.len());
        let message = match error.message() {
            "duplicate key" => "this is in the file twice; the first one counts".to_owned(),
            message => format!("not valid TOML here: {}", message.replace('\n', " ")),
        };
        if errors.last() != Some(&(at, message.clone())) {
            errors.push((at, message));
        }
        let mut bytes = sound.into_bytes();
        let end = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |newline| at + newline);
        // What is never closed is found at the end of the file, but lies before it.
        let end = bytes[..end].iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
        let start = bytes[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        bytes[start..end].fill(b' ');
        sound = String::from_utf8(bytes).unwrap_or_default();
    }
    (String::new(), errors)
}

fn read(path: &Path) -> Result<String, String> {
    crate::files::read_text(path, MAX_BYTES).map_err(|error| format!("cannot be read: {error}"))
}
