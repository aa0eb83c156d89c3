//! Whole columns of a table, read from where full rows are kept, some rows at a time.

use crate::model::Value;

/// What to read a column as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Text, dictionary-coded; other values are spelled out.
    Text,
    /// Integers.
    Integer,
}

/// A column of some rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Scanned {
    /// Texts (some may repeat), and for each row the position of its own; `u32::MAX` where it has none.
    Texts {
        /// The texts.
        entries: Vec<String>,
        /// One per row.
        keys: Vec<u32>,
    },
    /// Integers, where the rows have any.
    Integers(Vec<Option<i64>>),
    /// The table has no such column, or it is damaged here.
    Missing,
}

impl Scanned {
    /// The text of row `i`; `None` where there is none.
    #[must_use]
    pub fn text(&self, i: usize) -> Option<&str> {
        match self {
            Scanned::Texts { entries, keys } => entries.get(*keys.get(i)? as usize).map(String::as_str),
            _ => None,
        }
    }

    /// The integer of row `i`; `None` where there is none.
    #[must_use]
    pub fn integer(&self, i: usize) -> Option<i64> {
        match self {
            Scanned::Integers(values) => values.get(i).copied().flatten(),
            _ => None,
        }
    }
}

/// Neighbouring rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Row of the first.
    pub first_row: u32,
    /// How many.
    pub rows: usize,
    /// The columns, in the order in which they were asked for.
    pub columns: Vec<Scanned>,
}

/// Collects a column value by value, for sources that read row by row.
#[derive(Debug)]
pub struct Gather {
    want: Want,
    entries: Vec<String>,
    known: rustc_hash::FxHashMap<String, u32>,
    keys: Vec<u32>,
    integers: Vec<Option<i64>>,
    any: bool,
}

impl Gather {
    /// Nothing yet.
    #[must_use]
    pub fn new(want: Want) -> Gather {
        Gather {
            want,
            entries: Vec::new(),
            known: rustc_hash::FxHashMap::default(),
            keys: Vec::new(),
            integers: Vec::new(),
            any: false,
        }
    }

    /// Adds the value of the next row; `None` where it has no such column.
    pub fn push(&mut self, value: Option<&Value>) {
        self.any |= value.is_some();
        match self.want {
            Want::Integer => self.integers.push(value.and_then(Value::as_i64)),
            Want::Text => {
                let text = match value {
                    None | Some(Value::Null) => None,
                    Some(Value::Text(text)) => Some(text.clone()),
                    Some(other) => Some(other.to_json().to_string()),
                };
                let key = text.map_or(u32::MAX, |text| match self.known.get(&text) {
                    Some(&key) => key,
                    None => {
                        let key = self.entries.len() as u32;
                        self.entries.push(text.clone());
                        self.known.insert(text, key);
                        key
                    }
                });
                self.keys.push(key);
            }
        }
    }

    /// The column.
    #[must_use]
    pub fn finish(self) -> Scanned {
        match self.want {
            _ if !self.any => Scanned::Missing,
            Want::Integer => Scanned::Integers(self.integers),
            Want::Text => Scanned::Texts { entries: self.entries, keys: self.keys },
        }
    }
}
