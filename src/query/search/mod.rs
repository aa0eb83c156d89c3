//! Finds events by what their fields say, over the whole profile.
//!
//! A [`Catalog`] knows a profile's fields and is made once. [`Query::new`] reads a query for it; [`Query::run`] finds
//! the [`Matches`], off the UI thread: it can be cancelled, and reports what it has found so far. A [`TextCache`] kept
//! between queries makes the second one quick.

pub(crate) mod bits;
mod complete;
mod fields;
mod list;
mod matches;
mod number;
mod parse;
mod plan;
mod predicate;
mod scan;
mod texts;

use std::sync::atomic::AtomicBool;

pub use complete::{Completion, complete};
pub use fields::{Catalog, Category, DERIVED, TableFields};
pub use list::{MOST_SORTED, SortKey, columns_of, sorted};
pub use matches::Matches;
pub use parse::QueryError;
pub use plan::Options;
pub use scan::Progress;
pub use texts::TextCache;

use crate::store::Store;

/// The longest query: what people type is much shorter, and each of its terms takes time.
const MOST_BYTES: usize = 1024;

/// A query that was understood.
#[derive(Clone, Debug)]
pub struct Query {
    plan: plan::Plan,
}

impl Query {
    /// Reads a query for a profile.
    ///
    /// # Errors
    /// What is wrong with it, where, and what was probably meant.
    pub fn new(text: &str, options: Options, catalog: &Catalog, store: &Store) -> Result<Query, QueryError> {
        if text.len() > MOST_BYTES {
            let message = format!("a query has at most {MOST_BYTES} bytes; leave words out");
            return Err(QueryError { column: 0, length: 0, message });
        }
        let parsed = parse::parse(text)?;
        plan::Plan::new(&parsed, options, catalog, store).map(|plan| Query { plan })
    }

    /// Finds the events. `report` receives what has been found so far, a few times, from any thread. `None` when
    /// cancelled.
    #[must_use]
    pub fn run(
        &self,
        store: &Store,
        texts: &TextCache,
        cancel: &AtomicBool,
        report: &(dyn Fn(Matches, Progress) + Sync),
    ) -> Option<Matches> {
        scan::run(store, &self.plan, texts, cancel, report)
    }
}

#[cfg(test)]
mod tests;
