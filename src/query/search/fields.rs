//! Which fields a profile's events have.

use crate::model::nearest::nearest;
use crate::store::builder::EVENT_TABLES;
use crate::store::{ColumnInfo, ColumnKind, Problem, Store};

/// Fields that are no column of a table, or stand for several: the name, and what it holds.
pub const DERIVED: [(&str, &str); 17] = [
    ("name", "what is written inside the slice: opcode, queue or operation"),
    ("track", "the track's name with its core: TensorMatrix(nc0)"),
    ("duration", "how long it takes: duration>1us"),
    ("start", "when it starts, from the profile's origin"),
    ("end", "when it ends, from the profile's origin"),
    ("table", "the table it is in: Instruction, DmaPacket"),
    ("category", "operator, instruction, dma, collective or system"),
    ("core", "the physical core"),
    ("id", "its id in the table"),
    ("bytes", "bytes that a transfer moves: bytes>=64KiB"),
    ("layer", "the layer or framework operator"),
    ("source", "file and line of the source: source:llama.py:43"),
    ("line", "line of the source"),
    ("queue", "the DMA queue"),
    ("purpose", "what the DMA queue is for: spill, io, parameters, collectives"),
    ("bank", "PSUM banks that it reads or writes"),
    ("semaphore", "semaphores that it waits for or changes, by number or name"),
];

/// What events are, apart from tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// Instructions that belong to a framework operator, searched by layer, operator and source.
    Operator,
    /// Instructions.
    Instruction,
    /// Transfers and their packets.
    Dma,
}

/// A table of events and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFields {
    /// Position in [`Store::events`].
    pub table: u16,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
}

/// Columns that say which framework operator an instruction belongs to, and where in the source.
pub(super) const OPERATOR_COLUMNS: [&str; 5] =
    ["layer", "hlo_name", "hlo_attrs", "nki_source_location", "bir_debug_info_source_location"];

impl TableFields {
    /// The column of this name, capitals or not.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&ColumnInfo> {
        let exact = self.columns.iter().find(|c| c.name == name);
        exact.or_else(|| self.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name)))
    }

    /// The names of its text columns.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|c| c.kind == ColumnKind::Text).map(|c| c.name.as_str())
    }
}

/// The fields of all tables that are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The tables, in the store's order.
    pub tables: Vec<TableFields>,
    /// Files whose columns could not be learnt.
    pub problems: Vec<Problem>,
}

impl Catalog {
    /// The fields of a profile. May open its files: call it off the UI thread.
    #[must_use]
    pub fn of(store: &Store) -> Catalog {
        let mut catalog = Catalog::default();
        for (table, events) in (0u16..).zip(&store.events) {
            if !EVENT_TABLES.contains(&events.name.as_str()) {
                continue;
            }
            let columns = store.columns(&events.name).unwrap_or_else(|problem| {
                catalog.problems.push(problem);
                Vec::new()
            });
            catalog.tables.push(TableFields { table, name: events.name.clone(), columns });
        }
        catalog
    }

    /// Whether there is a field of this name, capitals or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        DERIVED.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
            || self.tables.iter().any(|t| t.column(name).is_some())
    }

    /// The names of all fields, those that work on all events first, each once.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = DERIVED.iter().map(|(name, _)| *name).collect();
        for column in self.tables.iter().flat_map(|t| &t.columns) {
            if !names.contains(&column.name.as_str()) {
                names.push(&column.name);
            }
        }
        names
    }

    /// The field that was probably meant.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let lower = name.to_lowercase();
        nearest(&lower, self.names()).or_else(|| {
            let part = |n: &&str| lower.len() >= 3 && (n.contains(&lower) || lower.contains(*n) && n.len() >= 3);
            self.names().into_iter().filter(part).min_by_key(|n| n.len().abs_diff(lower.len()))
        })
    }
}
