//! Full rows that were read from the profile's files, so that looking at an event again is instant.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::Field;
use crate::query::details::Details;
use crate::store::{EventRef, Problem};

/// How many rows are kept.
const MOST: usize = 512;

/// A row that was read: its fields as they are, and taken apart.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The fields.
    pub fields: Vec<Field>,
    /// The same as Details shows them.
    pub details: Details,
}

/// The outcome of reading a row.
pub type Read = Arc<Result<Fact, Problem>>;

/// Rows read so far, and which are being waited for.
#[derive(Debug, Default)]
pub struct Facts {
    known: FxHashMap<EventRef, Read>,
    order: VecDeque<EventRef>,
}

impl Facts {
    /// A row, where it has been read.
    #[must_use]
    pub fn get(&self, event: EventRef) -> Option<&Read> {
        self.known.get(&event)
    }

    /// Keeps a row.
    pub fn put(&mut self, event: EventRef, read: Read) {
        if self.known.insert(event, read).is_none() {
            self.order.push_back(event);
        }
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    /// Forgets all rows, as those of another profile.
    pub fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }
}
