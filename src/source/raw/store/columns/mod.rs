//! The rows of every table under the schema's names, in the schema's order. What a capture does not tell stays empty, so
//! that whatever reads a processed profile can read a raw one.

mod dma;
mod instruction;
mod kernels;
mod series;
mod small;

use crate::model::Value;
use crate::source::raw::RawCapture;
use crate::store::{ColumnKind, LOST_RECORDS, MERGED_CAPTURES};

/// A column: its name, what its values are, and how one is made for a row.
pub(super) struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
    pub value: fn(&RawCapture, usize) -> Value,
}

type Get = fn(&RawCapture, usize) -> Value;

const fn integer(name: &'static str, value: Get) -> Column {
    Column { name, kind: ColumnKind::Integer, value }
}

const fn float(name: &'static str, value: Get) -> Column {
    Column { name, kind: ColumnKind::Float, value }
}

const fn text(name: &'static str, value: Get) -> Column {
    Column { name, kind: ColumnKind::Text, value }
}

const fn truth(name: &'static str, value: Get) -> Column {
    Column { name, kind: ColumnKind::Bool, value }
}

/// A column that a raw capture has nothing for.
const fn unknown(name: &'static str, kind: ColumnKind) -> Column {
    Column { name, kind, value: |_, _| Value::Null }
}

/// A table.
pub(super) struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
    pub rows: fn(&RawCapture) -> usize,
    /// Whether it is kept whole: it has few rows, and its numbers are asked for one by one.
    pub small: bool,
}

/// All tables.
pub(super) const TABLES: &[Table] = &[
    Table { name: "Instruction", columns: instruction::INSTRUCTION, rows: |c| c.instructions.len(), small: false },
    Table { name: "DmaPacket", columns: dma::PACKET, rows: |c| c.dma_packets.len(), small: false },
    Table { name: "DmaPacketAggregated", columns: dma::TRANSFER, rows: |c| c.dma_transfers.len(), small: false },
    Table { name: "SemaphoreUpdate", columns: series::SEMAPHORE, rows: |c| c.semaphores.len(), small: false },
    Table { name: "Throttle", columns: series::THROTTLE, rows: |c| c.throttles.len(), small: false },
    Table { name: "ActiveTime", columns: series::ACTIVE_TIME, rows: |c| c.active_time.len(), small: false },
    Table { name: "DmaUsage", columns: series::DMA_USAGE, rows: |c| c.dma_usage.len(), small: false },
    Table { name: "HbmUsage", columns: series::HBM_USAGE, rows: |c| c.hbm_usage.len(), small: false },
    Table { name: "PendingDma", columns: series::PENDING_DMA, rows: |c| c.pending_dma.len(), small: false },
    Table { name: "SbufUsage", columns: series::SBUF_USAGE, rows: |c| c.sbuf_usage.len(), small: false },
    Table { name: "PsumUsage", columns: series::PSUM_USAGE, rows: |c| c.psum_usage.len(), small: false },
    Table { name: "Flow", columns: series::FLOW, rows: |c| c.edges.len(), small: false },
    Table {
        name: "KernelInstructions",
        columns: kernels::INSTRUCTION,
        rows: |c| c.kernels.instructions.len(),
        small: false,
    },
    Table { name: "KernelStackFrames", columns: kernels::FRAME, rows: |c| c.kernels.frames.len(), small: false },
    Table {
        name: "KernelIterationVariables",
        columns: kernels::ITERATION,
        rows: |c| c.kernels.iterations.len(),
        small: false,
    },
    Table { name: LOST_RECORDS, columns: series::LOST, rows: |c| c.gaps.len(), small: false },
    Table { name: "ExecutionInfo", columns: small::EXECUTION, rows: small::executions, small: true },
    Table { name: "Metadata", columns: small::METADATA, rows: |_| 1, small: true },
    Table {
        name: "NeffHeader",
        columns: small::NEFF_HEADER,
        rows: |c| usize::from(c.neff_header.is_some()),
        small: true,
    },
    Table { name: "TensorInfo", columns: small::TENSOR, rows: |c| c.tensors.len(), small: true },
    Table { name: "DmaQueuesInfo", columns: small::QUEUE, rows: |c| c.dma_rings.len(), small: true },
    Table {
        name: MERGED_CAPTURES,
        columns: small::MERGED,
        rows: |c| if c.merged.is_empty() { 0 } else { c.cores.len() },
        small: true,
    },
    Table { name: "HbmUsageSummaryByType", columns: small::MEMORY, rows: |c| c.memory.len(), small: true },
];

/// The column that says which of several captures a row is of; a single capture does not have it.
pub(super) const MERGED_OF: &str = "capture";

fn merged_of(capture: &RawCapture, pcore_idx: u16) -> Value {
    capture.merged_of(pcore_idx).map_or(Value::Null, |merged| word(&merged.label))
}

impl Table {
    /// Its columns, for several captures together or for one.
    pub fn columns_of(&self, merged: bool) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(move |column| merged || column.name != MERGED_OF)
    }
}

/// A number, whatever its width.
fn int<T>(value: T) -> Value
where
    T: Copy,
    i64: TryFrom<T>,
    u64: TryFrom<T>,
{
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Value::Int(value),
        (_, Ok(value)) => Value::Uint(value),
        _ => Value::Null,
    }
}

/// A number that may not be known.
fn maybe<T>(value: Option<T>) -> Value
where
    T: Copy,
    i64: TryFrom<T>,
    u64: TryFrom<T>,
{
    value.map_or(Value::Null, int)
}

/// A text; an empty one is not known or does not apply.
fn word(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::Text(text.to_owned()) }
}

/// Start plus duration, both rounded down: the end as the timeline has it.
fn end_of(times: crate::source::raw::Times) -> Value {
    Value::Int(times.start_ts().saturating_add_unsigned(times.duration_ns()))
}
