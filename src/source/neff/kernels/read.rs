//! Walks through a file as a stream: only the items that are known are kept.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{KernelFrame, KernelInstruction, KernelIteration, Kernels};
use crate::source::lenient::Text;

/// Keys of the outermost objects that an outline names.
const MOST_KEYS: usize = 8;
/// Characters of such a key.
const MOST_CHARS: usize = 60;

/// Reads one file; returns its outline, and why the reading ended where it did so early.
pub(super) fn file(
    bytes: &[u8],
    kernels: &mut Kernels,
    known: &mut FxHashMap<Box<str>, u32>,
) -> (String, Option<serde_json::Error>) {
    let mut outline = Outline::default();
    let mut tables = Tables { kernels, known, outline: &mut outline };
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let at = Place { outermost: true, ..Place::default() };
    let walked = Walk { tables: &mut tables, at, kind: Kind::Other }.deserialize(&mut json);
    let failure = walked.and_then(|()| json.end()).err();
    (outline.text(), failure)
}

/// What a file is like from outside.
#[derive(Default)]
struct Outline {
    kind: Option<&'static str>,
    elements: Option<u64>,
    keys: Vec<String>,
    more: bool,
}

impl Outline {
    fn key(&mut self, key: &str) {
        let key: String = key.chars().take(MOST_CHARS).collect();
        if self.keys.contains(&key) {
            return;
        }
        match self.keys.len() < MOST_KEYS {
            true => self.keys.push(key),
            false => self.more = true,
        }
    }

    fn text(&self) -> String {
        let kind = match (self.kind, self.elements) {
            (None, _) => return "nothing".into(),
            (Some(kind), Some(count)) => format!("{kind} of {count}"),
            (Some(kind), None) => kind.to_owned(),
        };
        match self.keys.is_empty() {
            true => kind,
            false => format!("{kind} with {}{}", self.keys.join(", "), if self.more { ", …" } else { "" }),
        }
    }
}

struct Tables<'t> {
    kernels: &'t mut Kernels,
    known: &'t mut FxHashMap<Box<str>, u32>,
    outline: &'t mut Outline,
}

impl Tables<'_> {
    fn text(&mut self, text: String) -> u32 {
        let next = u32::try_from(self.kernels.texts.len()).unwrap_or(u32::MAX);
        let text = text.into_boxed_str();
        if let Some(index) = self.known.get(&text) {
            return *index;
        }
        self.kernels.texts.push(text.clone());
        self.known.insert(text, next);
        next
    }
}

/// Where in the program's text the walk is.
#[derive(Clone, Copy, Default)]
struct Place {
    /// No object is around this.
    outermost: bool,
    /// Nothing at all is around this.
    inside: bool,
    frame: Option<u32>,
    iteration: Option<u32>,
    kernel: Option<u64>,
}

/// What a value is, by the key that it is under.
#[derive(Clone, Copy)]
enum Kind {
    Function,
    Iteration,
    Instruction,
    Other,
}

/// Any value.
struct Walk<'w, 't> {
    tables: &'w mut Tables<'t>,
    at: Place,
    kind: Kind,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values without parts say nothing here.
macro_rules! nothing {
    ($($name:ident($type:ty)),+) => {
        $(fn $name<E: Error>(mut self, _: $type) -> Result<(), E> {
            self.is("a single value");
            Ok(())
        })+
    };
}

impl Walk<'_, '_> {
    fn is(&mut self, kind: &'static str) {
        if !self.at.inside {
            self.tables.outline.kind = Some(kind);
        }
    }

    /// What is under a key that names an item.
    fn item<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Walk { tables, at, kind } = self;
        // Children may come first, so that what they are children of has its place before it is known.
        let inner = match kind {
            Kind::Function => {
                let index = u32::try_from(tables.kernels.frames.len()).unwrap_or(u32::MAX);
                tables.kernels.frames.push(KernelFrame { parent: at.frame, ..KernelFrame::default() });
                Place { frame: Some(index), ..at }
            }
            Kind::Iteration => {
                let index = u32::try_from(tables.kernels.iterations.len()).unwrap_or(u32::MAX);
                let turn = KernelIteration { parent: at.iteration, frame: at.frame, ..KernelIteration::default() };
                tables.kernels.iterations.push(turn);
                Place { iteration: Some(index), ..at }
            }
            _ => at,
        };
        let (mut name, mut file, mut value, mut line) = (String::new(), String::new(), String::new(), 0);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "name" | "var" => name = map.next_value::<Text>()?.0,
                "file" => file = map.next_value::<Text>()?.0,
                "val" => value = map.next_value::<Text>()?.0,
                "line" => {
                    let number = map.next_value::<Text>()?.number();
                    line = number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
                }
                "children" => map.next_value_seed(Walk { tables: &mut *tables, at: inner, kind: Kind::Other })?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match kind {
            Kind::Function => {
                let (name, file) = (tables.text(name), tables.text(file));
                let frame = inner.frame.and_then(|index| tables.kernels.frames.get_mut(index as usize));
                if let Some(frame) = frame {
                    (frame.name, frame.file, frame.line) = (name, file, line);
                }
            }
            Kind::Iteration => {
                let (variable, value) = (tables.text(name), tables.text(value));
                let turn = inner.iteration.and_then(|index| tables.kernels.iterations.get_mut(index as usize));
                if let Some(turn) = turn {
                    (turn.variable, turn.value, turn.line) = (variable, value, line);
                }
            }
            _ if name.is_empty() => {}
            _ => tables.kernels.instructions.push(KernelInstruction {
                name: name.into_boxed_str(),
                line,
                frame: at.frame,
                iteration: at.iteration,
                core: None,
                kernel: at.kernel,
            }),
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        self.is("a single value");
        Ok(())
    }

    nothing!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.is("a list");
        let at = Place { inside: true, ..self.at };
        let mut elements = 0_u64;
        while list.next_element_seed(Walk { tables: self.tables, at, kind: Kind::Other })?.is_some() {
            elements += 1;
            if !self.at.inside {
                self.tables.outline.elements = Some(elements);
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.is("an object");
        if !matches!(self.kind, Kind::Other) {
            return self.item(map);
        }
        let kernels = &self.tables.kernels;
        let before = (kernels.frames.len(), kernels.iterations.len(), kernels.instructions.len());
        let mut core = None;
        while let Some(key) = map.next_key::<String>()? {
            if self.at.outermost {
                self.tables.outline.key(&key);
            }
            let kind = match key.as_str() {
                "func" => Kind::Function,
                "iter" => Kind::Iteration,
                "inst" => Kind::Instruction,
                "lnc" => {
                    core = map.next_value::<Text>()?.number().and_then(|n| u16::try_from(n.checked_sub(1)?).ok());
                    continue;
                }
                _ => Kind::Other,
            };
            let kernel = key.parse().ok().or(self.at.kernel);
            let at = Place { outermost: false, inside: true, kernel, ..self.at };
            map.next_value_seed(Walk { tables: self.tables, at, kind })?;
        }
        // Only after the rest it is said which core this is about.
        if core.is_some() {
            let kernels = &mut *self.tables.kernels;
            kernels.frames[before.0..].iter_mut().for_each(|frame| frame.core = core);
            kernels.iterations[before.1..].iter_mut().for_each(|turn| turn.core = core);
            kernels.instructions[before.2..].iter_mut().for_each(|row| row.core = core);
        }
        Ok(())
    }
}
