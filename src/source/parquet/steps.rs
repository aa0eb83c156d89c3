//! Counts the work done and reports it, not too often.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::source::{OpenEvent, Opening, Progress};

/// Progress of one opening, in rows.
pub struct Steps<'a> {
    opening: &'a Opening<'a>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Steps<'a> {
    /// Nothing of `total` rows done yet.
    #[must_use]
    pub fn new(opening: &'a Opening<'a>, total: u64) -> Steps<'a> {
        Steps { opening, done: AtomicU64::new(0), total }
    }

    /// Notes that `rows` more rows of `table` were read.
    pub fn done(&self, rows: u64, table: &str) {
        let done = self.done.fetch_add(rows, Ordering::Relaxed) + rows;
        self.say(done, format!("reading {table}"));
    }

    /// Notes what is being done apart from reading.
    pub fn step(&self, step: &str) {
        self.say(self.done.load(Ordering::Relaxed), step.to_string());
    }

    fn say(&self, done: u64, step: String) {
        let done = done.min(self.total);
        (self.opening.report)(OpenEvent::Progress(Progress { step, done, total: self.total }));
    }
}
