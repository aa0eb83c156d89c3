//! The command palette: every action and setting by its name, and whole command lines.
//!
//! Only state; the widget draws [`Palette::rows`] and the app carries out what is run.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Action, ActionInfo};
use super::argument::ArgKind;
use super::entry::{Completions, Entry, EntryEvent};
use super::fuzzy::{Match, rank};
use super::history::{History, Purpose};
use super::keymap::{Context, Key, Keymap};
use crate::query::place::parse_place;

/// A setting as the app describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name after `set`.
    pub name: String,
    /// Its present value.
    pub value: String,
    /// The values it can have, if they can be listed.
    pub choices: Vec<String>,
    /// One line saying what it is.
    pub text: String,
}

/// What the app knows and the palette does not: settings, and words that arguments can be.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The settings, in the order they are listed.
    pub settings: Vec<Setting>,
    /// Known words for a kind of argument: themes, layouts, tracks, semaphores.
    pub words: Vec<(ArgKind, Vec<String>)>,
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaletteEvent {
    /// The palette stays open.
    Open,
    /// Carry this out and close; `line` is for the history.
    Run {
        /// What to do.
        action: Action,
        /// The whole command line.
        line: String,
    },
    /// Close.
    Cancel,
    /// The key means nothing here.
    Ignored,
}

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name, or the value of an argument.
    pub label: String,
    /// The characters of the label that matched what was typed.
    pub matched: Vec<usize>,
    /// What it is.
    pub detail: String,
    /// The key it is bound to.
    pub key: Option<String>,
    /// Whether it is the one that Enter takes.
    pub selected: bool,
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// A command line used before.
    Recent(String),
    /// An action by its place in [`Action::ALL`].
    Action(usize),
    /// A setting by its place in [`Vocabulary::settings`]; choosing it asks for the value.
    Setting(usize),
    /// A word for the argument being typed.
    Word(String),
}

/// The state of the palette.
#[derive(Debug)]
pub struct Palette {
    entry: Entry,
    vocabulary: Vocabulary,
    /// The key of each action.
    keys: Vec<Option<String>>,
    recent: Vec<String>,
    candidates: Vec<(Candidate, Match)>,
    selected: usize,
    /// Whether the selection was moved by hand since the text changed.
    moved: bool,
    error: Option<String>,
}

/// So many command lines used before stand at the top while nothing is typed.
const RECENT: usize = 5;

/// What the typed text is so far.
enum Typed<'a> {
    /// A name, perhaps of several words, to be looked for.
    Name(&'a str),
    /// An action's whole name and what follows it.
    Argument(&'static ActionInfo, &'a str),
    /// A setting's whole name and the value that follows it.
    Value(&'a Setting, &'a str),
}

impl Palette {
    /// A palette that lists everything. `text` is what to begin with, such as `goto-time `.
    pub fn new(keymap: &Keymap, vocabulary: Vocabulary, history: &History, text: &str) -> Palette {
        let key = |info: &ActionInfo| {
            let action = info.action();
            keymap.hint(Context::Timeline, &action).or_else(|| keymap.hint(Context::Pane, &action))
        };
        let mut palette = Palette {
            entry: Entry::new(Purpose::Command, ":", "command, setting, goto …").with_text(text),
            vocabulary,
            keys: Action::ALL.iter().map(key).collect(),
            recent: history.of(Purpose::Command).take(RECENT).map(str::to_owned).collect(),
            candidates: Vec::new(),
            selected: 0,
            moved: false,
            error: None,
        };
        palette.refresh();
        palette
    }

    /// The line being typed, to be drawn above the list.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Why the last Enter did nothing, in words.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// What the command being typed takes, `goto-time <time>`; `None` while a name is looked for.
    pub fn usage(&self) -> Option<String> {
        match self.typed() {
            Typed::Name(_) => None,
            Typed::Argument(info, _) => Some(info.usage()),
            Typed::Value(setting, _) if setting.choices.is_empty() => Some(format!("set {} <value>", setting.name)),
            Typed::Value(setting, _) => Some(format!("set {} <{}>", setting.name, setting.choices.join("|"))),
        }
    }

    /// What Enter would take.
    pub fn selected(&self) -> Option<&Candidate> {
        self.candidates.get(self.selected).map(|(candidate, _)| candidate)
    }

    /// How many candidates match.
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Whether nothing matches.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// At most `n` rows around the selected one.
    pub fn rows(&self, n: usize) -> Vec<Row> {
        let start = self.selected.saturating_sub(n / 2).min(self.candidates.len().saturating_sub(n));
        let row = |(at, (candidate, found)): (usize, &(Candidate, Match))| Row {
            label: self.label(candidate),
            matched: found.chars.clone(),
            detail: self.detail(candidate),
            key: if let Candidate::Action(index) = candidate { self.keys[*index].clone() } else { None },
            selected: at == self.selected,
        };
        self.candidates.iter().enumerate().skip(start).take(n).map(row).collect()
    }

    /// Takes a key: arrows and pages move the selection, Tab takes it over into the line, Enter
    /// runs it, everything else edits the line.
    pub fn on_key(&mut self, event: KeyEvent, history: &History) -> PaletteEvent {
        let Some(key) = Key::from_event(event) else { return PaletteEvent::Ignored };
        let (code, mods) = (key.event().code, key.event().modifiers);
        let ctrl = mods == KeyModifiers::CONTROL;
        match code {
            KeyCode::Down => return self.step(1),
            KeyCode::Char('n') if ctrl => return self.step(1),
            KeyCode::Up => return self.step(-1),
            KeyCode::Char('p') if ctrl => return self.step(-1),
            KeyCode::PageDown => return self.step(10),
            KeyCode::PageUp => return self.step(-10),
            KeyCode::Tab if mods.is_empty() => return self.take_over(),
            KeyCode::Tab => return PaletteEvent::Open,
            KeyCode::Enter => return self.submit(),
            _ => {}
        }
        match self.entry.on_key(event, history, &|_, _| Completions::default()) {
            EntryEvent::Changed => {
                self.refresh();
                PaletteEvent::Open
            }
            EntryEvent::Moved => PaletteEvent::Open,
            EntryEvent::Cancel => PaletteEvent::Cancel,
            EntryEvent::Submit(_) | EntryEvent::Ignored => PaletteEvent::Ignored,
        }
    }

    /// Takes a pasted text into the line.
    pub fn on_paste(&mut self, text: &str) {
        self.entry.on_paste(text);
        self.refresh();
    }

    fn typed(&self) -> Typed<'_> {
        let text = self.entry.text().trim_start();
        let Some((name, rest)) = text.split_once(' ') else { return Typed::Name(text) };
        let Some(info) = Action::find(name).filter(|info| info.arg.is_some()) else { return Typed::Name(text) };
        let rest = rest.trim_start();
        if info.arg == Some(ArgKind::Setting)
            && let Some((name, value)) = rest.split_once(' ')
            && let Some(setting) = self.vocabulary.settings.iter().find(|setting| setting.name == name)
        {
            return Typed::Value(setting, value.trim());
        }
        Typed::Argument(info, rest.trim_end())
    }

    /// Looks again for what matches the text.
    fn refresh(&mut self) {
        self.candidates = match self.typed() {
            Typed::Name(query) => self.commands(query),
            Typed::Argument(info, typed) => words(typed, self.arguments(info)),
            Typed::Value(setting, typed) => words(typed, setting.choices.clone()),
        };
        self.selected = 0;
        self.moved = false;
        self.error = None;
    }

    fn commands(&self, query: &str) -> Vec<(Candidate, Match)> {
        let mut all: Vec<Candidate> = Vec::new();
        if query.trim().is_empty() {
            all.extend(self.recent.iter().cloned().map(Candidate::Recent));
        }
        all.extend((0..Action::ALL.len()).map(Candidate::Action));
        all.extend((0..self.vocabulary.settings.len()).map(Candidate::Setting));
        let texts: Vec<(String, String)> =
            all.iter().map(|candidate| (self.label(candidate), self.detail(candidate))).collect();
        rank(query, texts.iter().map(|(name, text)| (name.as_str(), text.as_str())))
            .into_iter()
            .map(|(index, found)| (all[index].clone(), found))
            .collect()
    }

    fn arguments(&self, info: &ActionInfo) -> Vec<String> {
        let Some(kind) = info.arg else { return Vec::new() };
        let mut words: Vec<String> = kind.words().iter().map(|word| (*word).to_owned()).collect();
        if kind == ArgKind::Setting {
            words.extend(self.vocabulary.settings.iter().map(|setting| setting.name.clone()));
        }
        for (known, more) in &self.vocabulary.words {
            if *known == kind {
                words.extend(more.iter().cloned());
            }
        }
        words
    }

    fn label(&self, candidate: &Candidate) -> String {
        match candidate {
            Candidate::Recent(text) | Candidate::Word(text) => text.clone(),
            Candidate::Action(index) => Action::ALL[*index].name.to_owned(),
            Candidate::Setting(index) => format!("set {}", self.vocabulary.settings[*index].name),
        }
    }

    fn detail(&self, candidate: &Candidate) -> String {
        let about = |setting: &Setting| format!("{} (now {})", setting.text, setting.value);
        match candidate {
            Candidate::Recent(line) => {
                Action::parse(line).map_or(String::new(), |action| action.info().text.to_owned())
            }
            Candidate::Action(index) => Action::ALL[*index].text.to_owned(),
            Candidate::Setting(index) => about(&self.vocabulary.settings[*index]),
            Candidate::Word(word) => match self.typed() {
                Typed::Argument(info, _) if info.arg == Some(ArgKind::Setting) => {
                    self.vocabulary.settings.iter().find(|setting| setting.name == *word).map_or(String::new(), about)
                }
                _ => String::new(),
            },
        }
    }

    fn step(&mut self, by: isize) -> PaletteEvent {
        let last = self.candidates.len().saturating_sub(1);
        // A single step goes round; a page stops at the ends.
        self.selected = match by {
            1 if self.selected >= last => 0,
            -1 if self.selected == 0 => last,
            by => self.selected.saturating_add_signed(by).min(last),
        };
        self.moved = true;
        PaletteEvent::Open
    }

    /// The line as it would be with the candidate, and whether more must follow.
    fn line_with(&self, candidate: &Candidate) -> (String, bool) {
        match (candidate, self.typed()) {
            (Candidate::Recent(line), _) => (line.clone(), false),
            (Candidate::Action(index), _) => (Action::ALL[*index].name.to_owned(), false),
            (Candidate::Setting(index), _) => (format!("set {}", self.vocabulary.settings[*index].name), true),
            (Candidate::Word(word), Typed::Value(setting, _)) => (format!("set {} {word}", setting.name), false),
            (Candidate::Word(word), Typed::Argument(info, _)) => {
                (format!("{} {word}", info.name), info.arg == Some(ArgKind::Setting))
            }
            (Candidate::Word(word), Typed::Name(_)) => (word.clone(), false),
        }
    }

    /// Tab: the selected candidate's text becomes the line.
    fn take_over(&mut self) -> PaletteEvent {
        if let Some(candidate) = self.selected().cloned() {
            let (line, more) = self.line_with(&candidate);
            let takes = matches!(candidate, Candidate::Action(index) if Action::ALL[index].arg.is_some());
            let blank = if more || takes { " " } else { "" };
            self.entry.set_text(&format!("{line}{blank}"));
            self.refresh();
        }
        PaletteEvent::Open
    }

    fn submit(&mut self) -> PaletteEvent {
        let typed_word = match self.typed() {
            Typed::Name(_) => None,
            Typed::Argument(_, word) | Typed::Value(_, word) => Some(word.to_owned()),
        };
        let chosen = self.selected().cloned().filter(|_| match &typed_word {
            None => true,
            // What was typed counts as it is when it is nothing, or one of the words itself.
            Some(typed) => {
                let is_word = self
                    .candidates
                    .iter()
                    .any(|(candidate, _)| matches!(candidate, Candidate::Word(word) if word == typed));
                self.moved || !(typed.is_empty() || is_word)
            }
        });
        let (line, more) = match &chosen {
            Some(candidate) => self.line_with(candidate),
            None => (self.entry.text().trim().to_owned(), false),
        };
        if more {
            return self.take_over();
        }
        match Action::parse(&line) {
            Ok(action) => PaletteEvent::Run { action, line },
            // A place is gone to without saying so.
            Err(_) if typed_word.is_none() && parse_place(&line, false).is_ok() => {
                let place = format!("goto {line}");
                PaletteEvent::Run { action: Action::Goto(Some(line)), line: place }
            }
            Err(error) => {
                self.error = Some(error.to_string());
                PaletteEvent::Open
            }
        }
    }
}

fn words(typed: &str, words: Vec<String>) -> Vec<(Candidate, Match)> {
    rank(typed, words.iter().map(|word| (word.as_str(), "")))
        .into_iter()
        .map(|(index, found)| (Candidate::Word(words[index].clone()), found))
        .collect()
}

#[cfg(test)]
mod tests;
