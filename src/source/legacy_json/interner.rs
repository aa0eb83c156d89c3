//! Dictionaries that rows are coded with while they are read.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::token::Raw;

/// Texts by key; key 0 is the empty text.
pub struct Texts {
    /// Keys by the bytes in the file, which spares decoding.
    known: FxHashMap<Box<[u8]>, u32>,
    by_text: FxHashMap<String, u32>,
    entries: Vec<String>,
}

impl Default for Texts {
    fn default() -> Texts {
        let mut texts = Texts { known: FxHashMap::default(), by_text: FxHashMap::default(), entries: Vec::new() };
        texts.of_text(String::new());
        texts
    }
}

impl Texts {
    /// The key of a value's text.
    pub fn key(&mut self, raw: Raw) -> u32 {
        let (Raw::Text(bytes) | Raw::Word(bytes)) = raw else {
            return if raw == Raw::Null { 0 } else { self.of_text(raw.text().into_owned()) };
        };
        if bytes.is_empty() {
            return 0;
        }
        if let Some(&key) = self.known.get(bytes) {
            return key;
        }
        let key = self.of_text(raw.text().into_owned());
        self.known.insert(bytes.into(), key);
        key
    }

    /// The key of a text.
    pub fn of_text(&mut self, text: String) -> u32 {
        *self.by_text.entry(text).or_insert_with_key(|text| {
            self.entries.push(text.clone());
            self.entries.len() as u32 - 1
        })
    }

    /// The text of a key.
    pub fn get(&self, key: u32) -> &str {
        self.entries.get(key as usize).map_or("", String::as_str)
    }

    /// All texts, by key.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }
}

/// Values of any kind by key.
pub struct Values<T> {
    keys: FxHashMap<T, u32>,
    entries: Vec<T>,
}

impl<T: Hash + Eq + Copy> Values<T> {
    /// A dictionary in which `zero` has key 0.
    pub fn starting_with(zero: T) -> Values<T> {
        let mut values = Values { keys: FxHashMap::default(), entries: Vec::new() };
        values.key(zero);
        values
    }

    /// The key of a value.
    pub fn key(&mut self, value: T) -> u32 {
        *self.keys.entry(value).or_insert_with(|| {
            self.entries.push(value);
            self.entries.len() as u32 - 1
        })
    }

    /// All values, by key.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }
}
