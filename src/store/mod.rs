//! The indexed profile. Immutable once built.

pub mod arrays;
pub mod builder;
pub mod cache;
pub mod cold;
pub mod column;
pub mod counter;
pub mod derived;
pub mod events;
pub mod graph;
pub mod ids;
pub mod lane;
pub mod max_tree;
pub mod records;
pub mod scan;
pub mod sequence;
pub mod sorted;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};

pub use builder::Builder;
pub use cold::{ColumnInfo, ColumnKind};
pub use column::{Coded, Keys, Labels, Lengths, Times};
pub use counter::{Counter, CounterKey, Level};
pub use events::{EventTable, Group, GroupKey, LOST_RECORDS, LabelKind, MERGED_CAPTURES, Measure, flag};
pub use graph::Graph;
pub use ids::Ids;
pub use lane::{Cell, Lane};
pub use records::{Datum, Records};
pub use scan::{Batch, Scanned, Want};
pub use sequence::Sequence;

use crate::model::{Field, Window};

/// What a profile describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    /// What one NeuronCore (logical core) did.
    Device,
    /// What the runtime and the host did.
    System,
    /// What the framework did.
    Framework,
    /// What a memory allocator did.
    Memory,
}

/// Which profile this is and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileInfo {
    /// Its name, as shown: the directory's, without `@latest`.
    pub name: String,
    /// Where it was read from.
    pub path: PathBuf,
    /// What it describes.
    pub kind: ProfileKind,
    /// The format it was read from: `parquet`, `json`, …
    pub format: String,
    /// Unix time of the origin in nanoseconds, where known.
    pub origin_unix_ns: Option<i64>,
}

/// A table of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// The schema's name.
    pub name: String,
    /// Rows, over all its files.
    pub rows: u64,
}

/// Something that was wrong with the input, in words a person understands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Problem {
    /// The file or directory.
    pub path: PathBuf,
    /// What is wrong, where, and what to do.
    pub message: String,
}

/// Reads full rows from where they are kept. Implemented by each source.
pub trait Rows: Send + Sync {
    /// All columns of one row, in the source's order.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem>;

    /// The original ids of all rows of `table`, in order; `None` where the table has none.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    fn ids(&self, table: &str) -> Result<Option<Ids>, Problem>;

    /// The columns of `table`, in order; `None` where the source does not declare them.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    fn columns(&self, table: &str) -> Result<Option<Vec<ColumnInfo>>, Problem> {
        let _ = table;
        Ok(None)
    }

    /// The rows of `table` in pieces that are best read at once, in order; none where any will do.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    fn pieces(&self, table: &str) -> Result<Vec<Range<u32>>, Problem> {
        let _ = table;
        Ok(Vec::new())
    }

    /// See [`Store::read`].
    ///
    /// # Errors
    /// Says which rows are damaged, where no column can be read.
    fn read(&self, table: &str, rows: Range<u32>, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        cold::read_rows(self, table, rows, columns)
    }
}

/// An indexed profile.
pub struct Store {
    /// Which profile this is.
    pub info: ProfileInfo,
    /// All tables of the source, also those that nothing is drawn from.
    pub tables: Vec<TableInfo>,
    /// The least start and the greatest end over the event tables; `None` where there are no events.
    pub range: Option<(i64, i64)>,
    /// Tables of events.
    pub events: Vec<EventTable>,
    /// Counters.
    pub counters: Vec<Counter>,
    /// Dependencies, where recorded.
    pub graph: Option<Graph>,
    /// Small tables, kept whole.
    pub records: Vec<Records>,
    /// What was wrong with the input.
    pub problems: Vec<Problem>,
    /// What it was read from, by which its cache is known; `None` where it is not cached.
    pub origin: Option<cache::Fingerprint>,
    /// Whether it came from the cache.
    pub cached: bool,
    /// What was derived from the events, kept with them.
    pub derived: derived::Derived,
    /// Where full rows are.
    pub(crate) rows: Arc<dyn Rows>,
    /// Ids per event table, read when first asked for.
    pub(crate) ids: Vec<OnceLock<Option<Ids>>>,
}

/// An event: a table of the store and a position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventRef {
    /// Position in [`Store::events`].
    pub table: u16,
    /// Position in the table.
    pub event: u32,
}

impl Store {
    /// The event table called `name`.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&EventTable> {
        self.table_index(name).map(|i| &self.events[usize::from(i)])
    }

    /// Position in [`Store::events`] of the table called `name`.
    #[must_use]
    pub fn table_index(&self, name: &str) -> Option<u16> {
        self.events.iter().position(|t| t.name == name).map(|i| i as u16)
    }

    /// The table that an event is in.
    #[must_use]
    pub fn table_of(&self, event: EventRef) -> &EventTable {
        &self.events[usize::from(event.table)]
    }

    /// The small table called `name`.
    #[must_use]
    pub fn records(&self, name: &str) -> Option<&Records> {
        self.records.iter().find(|r| r.name == name)
    }

    /// A datum in the first row of a small table: `fact("Metadata", "instance_type")`.
    #[must_use]
    pub fn fact(&self, table: &str, column: &str) -> Option<&Datum> {
        self.records(table)?.get(0, column)
    }

    /// A number in the first row of a small table.
    #[must_use]
    pub fn number(&self, table: &str, column: &str) -> Option<f64> {
        self.fact(table, column)?.number()
    }

    /// The whole profile as a window.
    #[must_use]
    pub fn whole(&self) -> Window {
        let (start, end) = self.range.unwrap_or((0, 1));
        Window::new(start, end)
    }

    /// Number of physical cores: as recorded, else as many as the events name, at least one.
    #[must_use]
    pub fn cores(&self) -> usize {
        let recorded = self.number("Metadata", "num_physical_cores").filter(|&n| n >= 1.0).map(|n| n as usize);
        let mut seen: Vec<i64> = self.events.iter().flat_map(|t| &t.groups).filter_map(|g| g.key.core).collect();
        seen.sort_unstable();
        seen.dedup();
        recorded.unwrap_or(0).max(seen.len()).max(1)
    }

    /// Whether opening it again is noticeably quicker from a cache.
    #[must_use]
    pub fn worth_caching(&self) -> bool {
        const ROWS: u64 = 200_000;
        self.tables.iter().map(|t| t.rows).sum::<u64>() > ROWS
    }

    /// Writes the cache, where there is something to write. Returns its size in bytes.
    ///
    /// # Errors
    /// Says which file could not be written and what to do.
    pub fn save_cache(&self, directory: &Path, cancel: &AtomicBool) -> Result<Option<u64>, Problem> {
        match &self.origin {
            Some(fingerprint) if !self.cached => cache::save(self, fingerprint, directory, cancel),
            _ => Ok(None),
        }
    }

    /// All columns of an event's row.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    pub fn details(&self, event: EventRef) -> Result<Vec<Field>, Problem> {
        let table = self.table_of(event);
        self.rows.row(&table.name, table.rows[event.event as usize])
    }

    /// All columns of a row of any table of the source.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    pub fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
        self.rows.row(table, row)
    }

    /// The original ids of a table's rows, read when first asked for; `None` where it has none.
    #[must_use]
    pub fn ids(&self, table: u16) -> Option<&Ids> {
        let index = usize::from(table);
        self.ids.get(index)?.get_or_init(|| self.rows.ids(&self.events[index].name).ok().flatten()).as_ref()
    }

    /// The original id of an event; its row number where the table has no ids.
    #[must_use]
    pub fn id_of(&self, event: EventRef) -> i128 {
        let row = self.table_of(event).rows[event.event as usize];
        self.ids(event.table).and_then(|ids| ids.get(row)).unwrap_or_else(|| i128::from(row))
    }

    /// The events of `table` with the original id `id`, in order of row: usually one, several where ids repeat.
    #[must_use]
    pub fn find_id(&self, table: u16, id: i128) -> Vec<EventRef> {
        let events = &self.events[usize::from(table)];
        let rows = match self.ids(table) {
            Some(ids) => ids.rows_of(id),
            None => u32::try_from(id).into_iter().collect(),
        };
        rows.into_iter().filter_map(|row| events.event_at_row(row)).map(|event| EventRef { table, event }).collect()
    }
}
