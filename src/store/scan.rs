//! Whole columns of a table, read from where full rows are kept, some rows at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::Array;
use rayon::prelude::*;

use super::{Problem, Store, arrays};

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
        Want::Text => {
            let texts = arrays::texts(array)?;
            let keys = texts.keys.iter().map(|k| k.unwrap_or(u32::MAX)).collect();
            Scanned::Texts { entries: texts.entries, keys }
        }
    })
}
