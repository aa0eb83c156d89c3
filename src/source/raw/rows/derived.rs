//! Rows that follow from others, and rows about the program and the machine.

use std::borrow::Cow;

use super::Times;
use crate::model::Engine;
use crate::source::neff::DependencyType;

/// An end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// Index in [`super::super::RawCapture::instructions`].
    Instruction(u32),
    /// Index in [`super::super::RawCapture::dma_transfers`].
    Transfer(u32),
}

/// Why the later of two depends on the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    /// Recorded by the compiler.
    Compiler(DependencyType),
    /// Both used the PSUM banks given by the bits (derived).
    SamePsumBank(u8),
    /// The instruction started the transfer (derived from their order, which is exact).
    DmaTrigger,
    /// The instruction waited for the semaphore that the transfer raised (derived).
    DmaWait,
}

impl EdgeKind {
    /// The schema's word.
    #[must_use]
    pub fn dependency_type(self) -> Cow<'static, str> {
        match self {
            EdgeKind::Compiler(kind) => kind.name(),
            EdgeKind::SamePsumBank(_) => Cow::Borrowed("SAME_PSUM_BANK"),
            EdgeKind::DmaTrigger => Cow::Borrowed("DMA_TRIGGER"),
            EdgeKind::DmaWait => Cow::Borrowed("DMA_WAIT"),
        }
    }

    /// Whether the compiler recorded it, rather than this program deriving it.
    #[must_use]
    pub fn is_recorded(self) -> bool {
        matches!(self, EdgeKind::Compiler(_))
    }
}

/// A dependency (table `Flow`): `in_id` is the predecessor, `out_id` the successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawEdge {
    /// What must come first.
    pub predecessor: Node,
    /// What depends on it.
    pub successor: Node,
    /// Why.
    pub kind: EdgeKind,
    /// Start of the successor less end of the predecessor, in nanoseconds; can be negative.
    pub gap_time: i64,
}

/// One step of a throughput curve (tables `DmaUsage` and `HbmUsage`): it holds until the next one of the core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawThroughput {
    /// When, in nanoseconds.
    pub timestamp: i64,
    /// Which core.
    pub pcore_idx: u16,
    /// Bytes per second of all transfers under way.
    pub current_throughput: f64,
    /// Bytes of all transfers started so far.
    pub total_transfer_bytes: u64,
}

/// One step of the number of transfers that were triggered and not yet acknowledged (table `PendingDma`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPendingDma {
    /// When, in nanoseconds.
    pub timestamp: i64,
    /// Which core.
    pub pcore_idx: u16,
    /// How many.
    pub value: u32,
    /// How many were triggered so far, whether acknowledged or not: what the vendor shows where it cannot see ends.
    pub triggered: u32,
}

/// One step of how full the state buffer is (table `SbufUsage`), as fractions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawSbufUsage {
    /// When, in nanoseconds.
    pub timestamp: i64,
    /// Which core.
    pub pcore_idx: u16,
    /// Mean over all partitions.
    pub avg_util: f64,
    /// Partitions 0, 32, 64 and 96.
    pub partition_util: [f64; 4],
}

/// One step of which PSUM banks are in use (table `PsumUsage`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPsumUsage {
    /// When, in nanoseconds.
    pub timestamp: i64,
    /// Which core.
    pub pcore_idx: u16,
    /// Banks with live data, one bit each.
    pub banks: u8,
}

/// A stretch in which an engine was active: instructions other than `EVENT_SEMAPHORE` (table `ActiveTime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawActiveTime {
    /// From when to when.
    pub times: Times,
    /// Which core.
    pub pcore_idx: u16,
    /// Which engine.
    pub engine: Engine,
}

/// A tensor of the program (table `TensorInfo`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawTensor {
    /// Which core.
    pub pcore_idx: u16,
    /// Name.
    pub variable_name: String,
    /// `IN`, `OUT`, `WEIGHT`, or the compiler's own word.
    pub kind: String,
    /// Layout, such as `NCHW`.
    pub format: String,
    /// Such as `[128 1024]`.
    pub shape: String,
    /// Element type.
    pub dtype: String,
    /// Bytes.
    pub size: Option<u64>,
    /// Bytes that transfers moved from it to the state buffer.
    pub load_to_sbuf_total_size_bytes: u64,
    /// How many transfers that were.
    pub load_to_sbuf_dma_count: u64,
}

/// Device memory by use (table `HbmUsageSummaryByType`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMemoryUse {
    /// Device.
    pub neuron_device_idx: u64,
    /// Core, as the device numbers it.
    pub neuroncore_idx: u64,
    /// What for.
    pub usage_type: String,
    /// Bytes.
    pub usage_bytes: u64,
}

/// A stretch in which records are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawGap {
    /// Which core.
    pub pcore_idx: u16,
    /// The last record before it, in picoseconds.
    pub after_ps: i64,
    /// The first one after it.
    pub before_ps: i64,
}

impl RawGap {
    /// From when to when.
    #[must_use]
    pub fn times(&self) -> Times {
        Times { start_ps: self.after_ps, end_ps: self.before_ps }
    }
}

/// One physical core.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawCore {
    /// Name of its graph, such as `sg00`.
    pub name: String,
    /// Device number.
    pub neuron_device_idx: u64,
    /// Core number on that device.
    pub neuroncore_idx: u64,
    /// The measured executions on it, in picoseconds.
    pub executions: Vec<Times>,
}
