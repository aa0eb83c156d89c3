//! Whole columns of a table, read from where full rows are kept, some rows at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{Array, AsArray, BinaryArray, StringArray};
use arrow::datatypes::Int32Type;
use rayon::prelude::*;

use super::{Problem, Store, arrays};

/// What to read a column as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Text, dictionary-coded; other values are spelled out.
    Text,
    /// Integers.
    Integer,
    /// Lists of small numbers as integers with one bit for each number from 0 to 62 that a list holds.
    Members,
}

/// A column of some rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Scanned {
    /// Texts (some may repeat), and for each row the position of its own, `u32::MAX` where it has none; without
    /// positions there is one text per row.
    Texts {
        /// The texts.
        entries: StringArray,
        /// One per row.
        keys: Option<Vec<u32>>,
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
            Scanned::Texts { entries, keys } => {
                let entry = keys.as_ref().map_or(Some(i), |keys| keys.get(i).map(|k| *k as usize))?;
                (entry < entries.len() && entries.is_valid(entry)).then(|| entries.value(entry))
            }
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

impl Store {
    /// Reads columns of all rows of any table of the source, and gives them to `visit` some rows at a time: in any
    /// order, and from several threads at once. Stops when `visit` returns false. Where there is no such table nothing
    /// is visited; damaged rows are [`Scanned::Missing`]. Slow: call it off the UI thread.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    pub fn scan(
        &self,
        table: &str,
        columns: &[(&str, Want)],
        visit: &(dyn Fn(Batch) -> bool + Sync),
    ) -> Result<(), Problem> {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let stopped = AtomicBool::new(false);
        self.pieces(table)?.into_par_iter().for_each(|rows| {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            // What is damaged was said when the profile was opened, or is missing.
            let batch = self.read(table, rows.clone(), &names).ok().map(|(batch, _)| batch);
            let read = |(name, want): &(&str, Want)| {
                let array = batch.as_ref().and_then(|b| b.column_by_name(name));
                array.and_then(|array| scanned(array.as_ref(), *want)).unwrap_or(Scanned::Missing)
            };
            let columns = columns.iter().map(read).collect();
            if !visit(Batch { first_row: rows.start, rows: rows.len(), columns }) {
                stopped.store(true, Ordering::Relaxed);
            }
        });
        Ok(())
    }
}

fn scanned(array: &dyn Array, want: Want) -> Option<Scanned> {
    Some(match want {
        Want::Integer => {
            let ints = arrays::ints(array)?;
            Scanned::Integers((0..ints.len()).map(|i| ints.at(i)).collect())
        }
        Want::Text => texts(array)?,
        Want::Members => Scanned::Integers(arrays::members(array)?),
    })
}

/// Text as it is stored: looking for what repeats in a column that its writer did not code costs more than it saves.
fn texts(array: &dyn Array) -> Option<Scanned> {
    if let Some(plain) = array.as_binary_opt::<i32>() {
        return Some(Scanned::Texts { entries: strings(plain), keys: None });
    }
    if let Some(coded) = array.as_dictionary_opt::<Int32Type>()
        && let Some(plain) = coded.values().as_binary_opt::<i32>()
    {
        let keys = coded.keys().iter().map(|key| key.map_or(u32::MAX, |k| k as u32)).collect();
        return Some(Scanned::Texts { entries: strings(plain), keys: Some(keys) });
    }
    let texts = arrays::texts(array)?;
    let keys = texts.keys.iter().map(|k| k.unwrap_or(u32::MAX)).collect();
    Some(Scanned::Texts { entries: StringArray::from_iter_values(&texts.entries), keys: Some(keys) })
}

/// Bytes as text; those that are no UTF-8 are replaced.
fn strings(bytes: &BinaryArray) -> StringArray {
    StringArray::try_from_binary(bytes.clone())
        .unwrap_or_else(|_| bytes.iter().map(|b| b.map(String::from_utf8_lossy)).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{DictionaryArray, Int64Array, ListArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    fn text(array: &dyn Array, want: Want) -> Vec<Option<String>> {
        let found = scanned(array, want).expect("it holds such");
        (0..array.len()).map(|i| found.text(i).map(str::to_owned)).collect()
    }

    #[test]
    fn texts_read_the_same_however_they_are_stored() {
        let bytes: Vec<Option<&[u8]>> = vec![Some(b"one"), None, Some(b"\xff2"), Some(b""), Some(b"one")];
        let expected = ["one", "-", "\u{fffd}2", "", "one"].map(|t| (t != "-").then(|| t.to_owned()));
        let plain = BinaryArray::from_opt_vec(bytes.clone());
        assert_eq!(text(&plain, Want::Text), expected);
        let entries = BinaryArray::from_opt_vec(vec![Some(b"one"), Some(b"\xff2"), Some(b"")]);
        let keys = arrow::array::Int32Array::from(vec![Some(0), None, Some(1), Some(2), Some(0)]);
        let coded = DictionaryArray::new(keys, Arc::new(entries));
        assert_eq!(text(&coded, Want::Text), expected);
        let numbers = Int64Array::from(vec![Some(7), None]);
        assert_eq!(text(&numbers, Want::Text), [Some("7".to_owned()), None]);
    }

    #[test]
    fn members_of_lists_become_bits() {
        let lists =
            vec![Some(vec![Some(6)]), None, Some(vec![]), Some(vec![Some(0), Some(3), Some(70), Some(-1), None])];
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
        let Some(Scanned::Integers(bits)) = scanned(&lists, Want::Members) else { panic!("no integers") };
        assert_eq!(bits, [Some(1 << 6), None, Some(0), Some(0b1001)]);
        let texts = BinaryArray::from_opt_vec(vec![Some(b"[6]"), None, Some(b"0, 3,70"), Some(b"")]);
        let Some(Scanned::Integers(bits)) = scanned(&texts, Want::Members) else { panic!("no integers") };
        assert_eq!(bits, [Some(1 << 6), None, Some(0b1001), Some(0)]);
    }
}
