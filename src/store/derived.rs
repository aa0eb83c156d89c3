//! What is derived from a profile's events for the screen, once: kept with the profile, and cached with it, so that a
//! profile that is opened again need not be looked through.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::counter::Counter;
use super::sequence::Sequence;

/// Parts of a group's events, each with a name.
pub type Parts = Arc<Vec<(String, Arc<Sequence>)>>;

/// Derived sequences and counters, by keys that their makers choose.
#[derive(Debug, Default)]
pub struct Derived {
    parts: Mutex<BTreeMap<String, (u16, Parts)>>,
    counters: Mutex<BTreeMap<String, (Counter, u64)>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Derived {
    /// The parts called `key`, if they were derived before.
    #[must_use]
    pub fn parts(&self, key: &str) -> Option<Parts> {
        lock(&self.parts).get(key).map(|(_, parts)| parts.clone())
    }

    /// Keeps parts of events of the table at position `table`.
    pub fn keep_parts(&self, key: String, table: u16, parts: Parts) {
        lock(&self.parts).insert(key, (table, parts));
    }

    /// The counter called `key` with the width of its samples, if it was derived before.
    #[must_use]
    pub fn counter(&self, key: &str) -> Option<(Counter, u64)> {
        lock(&self.counters).get(key).cloned()
    }

    /// Keeps a counter with the width of its samples in nanoseconds (0 where they are exact).
    pub fn keep_counter(&self, key: String, counter: Counter, width: u64) {
        lock(&self.counters).insert(key, (counter, width));
    }

    /// All parts, with the position of their table.
    pub(super) fn all_parts(&self) -> Vec<(String, u16, Parts)> {
        lock(&self.parts).iter().map(|(key, (table, parts))| (key.clone(), *table, parts.clone())).collect()
    }

    /// All counters.
    pub(super) fn all_counters(&self) -> Vec<(String, Counter, u64)> {
        lock(&self.counters).iter().map(|(key, (counter, width))| (key.clone(), counter.clone(), *width)).collect()
    }
}
