//! Rows of other tables that a row points at: the compiler's view of an instruction, the queue of a transfer, what
//! triggered it.

use std::sync::{Mutex, PoisonError};

use crate::model::Field;
use crate::store::{Batch, EventRef, Problem, Scanned, Store, Want};

/// A column that points at rows of another table.
struct Link {
    from: &'static str,
    column: &'static str,
    to: &'static str,
    key: &'static str,
}

const fn link(from: &'static str, column: &'static str, to: &'static str, key: &'static str) -> Link {
    Link { from, column, to, key }
}

/// The references of the schema (version 7.4).
const LINKS: [Link; 15] = [
    link("Instruction", "id", "AssemblyInstruction", "instruction_id"),
    link("Instruction", "raw_bir_id", "BirInstruction", "raw_bir_id"),
    link("Instruction", "raw_penguin_id", "PenguinInstruction", "raw_penguin_id"),
    link("Instruction", "raw_hlo_id", "HloInstruction", "raw_hlo_id"),
    link("Instruction", "raw_framework_id", "FrameworkInstruction", "raw_framework_id"),
    link("DmaPacket", "packet_aggregation_id", "DmaPacketAggregated", "id"),
    link("DmaPacket", "queue_idx", "DmaQueuesInfo", "idx"),
    link("DmaPacketAggregated", "queue_idx", "DmaQueuesInfo", "idx"),
    link("DmaPacketAggregated", "trigger", "Instruction", "id"),
    link("DmaPacketAggregated", "completion", "Instruction", "id"),
    link("CcOp", "stream_id", "CcStream", "stream_id"),
    link("CoreBarriers", "id", "Instruction", "id"),
    link("BirInstruction", "raw_hlo_id", "HloInstruction", "raw_hlo_id"),
    link("PenguinInstruction", "raw_hlo_id", "HloInstruction", "raw_hlo_id"),
    link("HloInstruction", "raw_framework_id", "FrameworkInstruction", "raw_framework_id"),
];

/// A reference from a row to rows of another table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The column that holds it.
    pub column: String,
    /// The table it points at.
    pub table: &'static str,
    /// The column there that holds the same value.
    pub key: &'static str,
    /// The value.
    pub value: i64,
}

/// Where a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Events that can be gone to.
    Events(Vec<EventRef>),
    /// Rows of a table that is not drawn.
    Rows {
        /// The table.
        table: String,
        /// Its rows.
        rows: Vec<u32>,
    },
}

/// The references of a row of `table`, to tables that the profile has.
#[must_use]
pub fn references(store: &Store, table: &str, fields: &[Field]) -> Vec<Reference> {
    let known = |name: &str| store.tables.iter().any(|t| t.name == name && t.rows > 0);
    LINKS
        .iter()
        .filter(|link| link.from == table && known(link.to))
        .filter_map(|link| {
            let value = fields.iter().find(|f| f.name == link.column)?.value.as_i64()?;
            // 0 and -1 are how "none" is written in these columns, except for an index.
            let none = value < 0 || (value == 0 && link.key != "idx" && link.key != "stream_id");
            (!none).then(|| Reference { column: link.column.into(), table: link.to, key: link.key, value })
        })
        .collect()
}

/// Follows a reference. Reads a column of the table it points at: call it off the UI thread.
///
/// # Errors
/// Says which file could not be read and what to do.
pub fn resolve(store: &Store, reference: &Reference) -> Result<Target, Problem> {
    if reference.key == "id"
        && let Some(table) = store.table_index(reference.table)
    {
        return Ok(Target::Events(store.find_id(table, i128::from(reference.value))));
    }
    let rows = rows_with(store, reference.table, reference.key, reference.value)?;
    match store.table_index(reference.table) {
        Some(table) => {
            let events = &store.events[usize::from(table)];
            let events = rows.into_iter().filter_map(|row| events.event_at_row(row));
            Ok(Target::Events(events.map(|event| EventRef { table, event }).collect()))
        }
        None => Ok(Target::Rows { table: reference.table.to_owned(), rows }),
    }
}

/// The rows of a table whose column holds an integer, in order. Reads that column: call it off the UI thread.
///
/// # Errors
/// Says which file could not be read and what to do.
pub fn rows_with(store: &Store, table: &str, column: &str, value: i64) -> Result<Vec<u32>, Problem> {
    let found = Mutex::new(Vec::new());
    store.scan(table, &[(column, Want::Integer)], &|batch: Batch| {
        if let Some(Scanned::Integers(values)) = batch.columns.first() {
            let here = values.iter().zip(batch.first_row..).filter(|(v, _)| **v == Some(value)).map(|(_, row)| row);
            let here: Vec<u32> = here.collect();
            if !here.is_empty() {
                found.lock().unwrap_or_else(PoisonError::into_inner).extend(here);
            }
        }
        true
    })?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable();
    Ok(found)
}
