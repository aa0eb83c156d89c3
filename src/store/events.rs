//! A table of events: hot columns, ordered by group, then by start, then by row.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;

use super::column::{Coded, Labels, Lengths, Times};
use super::sequence::Sequence;
use crate::model::{Engine, Nanos, end_of};

/// The table of stretches in which records are missing, where a source knows of any; one group per core.
pub const LOST_RECORDS: &str = "LostRecords";
/// The table that says which of several captures each core is of, where they are shown together.
pub const MERGED_CAPTURES: &str = "MergedCaptures";

/// Properties of an event, one bit each.
pub mod flag {
    /// Waits on a semaphore or event (EVENT_SEMAPHORE): busy, but not active.
    pub const WAIT: u8 = 1;
    /// A matrix multiplication that only transposes or moves data.
    pub const TRANSPOSE: u8 = 2;
    /// Runs in the engine's sequencer (register arithmetic, branches, DMA triggers, semaphores).
    pub const SEQUENCER: u8 = 4;
    /// Has no duration by nature.
    pub const INSTANT: u8 = 8;
    /// The file says that it ends before it starts; shown with no duration.
    pub const REVERSED: u8 = 16;
    /// Lies outside the measured execution.
    pub const OUTSIDE: u8 = 32;

    /// What an opcode alone says of an instruction.
    #[must_use]
    pub fn of_opcode(opcode: &str) -> u8 {
        use crate::model::opcode::{is_sequencer, is_wait};
        let mut flags = 0;
        if is_wait(opcode) {
            flags |= WAIT;
        }
        if is_sequencer(opcode) {
            flags |= SEQUENCER;
        }
        flags
    }
}

/// What a label column says of each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LabelKind {
    /// The opcode, queue or operation: what is written inside the slice.
    Name,
    /// The track of Neuron Explorer (`TensorMatrix`), without the core.
    Track,
    /// The framework operator or layer.
    Operator,
    /// Source file and line.
    SourceLine,
    /// The DMA queue.
    Queue,
}

impl LabelKind {
    /// All kinds.
    pub const ALL: [LabelKind; 5] =
        [LabelKind::Name, LabelKind::Track, LabelKind::Operator, LabelKind::SourceLine, LabelKind::Queue];

    /// A short name, also used by the cache.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LabelKind::Name => "name",
            LabelKind::Track => "track",
            LabelKind::Operator => "operator",
            LabelKind::SourceLine => "source line",
            LabelKind::Queue => "queue",
        }
    }
}

/// A quantity of each event that adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Bytes moved by a transfer.
    Bytes,
    /// FLOPs of the Tensor Engine, transposes included (HFU).
    HardwareFlops,
    /// FLOPs of the Tensor Engine that only transpose; [`Measure::HardwareFlops`] minus this is what MFU counts.
    TransposeFlops,
}

impl Measure {
    /// All measures.
    pub const ALL: [Measure; 3] = [Measure::Bytes, Measure::HardwareFlops, Measure::TransposeFlops];

    /// A short name, also used by the cache.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Measure::Bytes => "bytes",
            Measure::HardwareFlops => "hardware FLOPs",
            Measure::TransposeFlops => "transpose FLOPs",
        }
    }
}

/// What the events of one group have in common: they form one row of the default grouping, or several
/// (the Tensor Engine's two tracks).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// The compute engine, for instructions.
    pub engine: Option<Engine>,
    /// `Tensor`, `DMA-E64`, `qSyncIO0`, …, without the core.
    pub name: String,
}

/// A group and its events.
#[derive(Clone, Debug)]
pub struct Group {
    /// What they have in common.
    pub key: GroupKey,
    /// The events in order of start.
    pub sequence: Sequence,
}

/// Events of one table of the source.
#[derive(Clone, Debug)]
pub struct EventTable {
    /// The schema's name of the table: `Instruction`.
    pub name: String,
    /// Start of each event.
    pub starts: Times,
    /// Duration of each event in nanoseconds.
    pub lengths: Lengths,
    /// Bits of [`flag`].
    pub flags: ScalarBuffer<u8>,
    /// Row of each event in the source table.
    pub rows: ScalarBuffer<u32>,
    /// Event of each source row (`u32::MAX` for a row that holds no event), where something points at rows.
    pub event_of_row: Option<ScalarBuffer<u32>>,
    /// Dictionary-coded text; [`LabelKind::Name`] is always there.
    pub labels: Vec<(LabelKind, Labels)>,
    /// Quantities that add up.
    pub measures: Vec<(Measure, Coded<u64>)>,
    /// The groups, in the order of their events.
    pub groups: Vec<Group>,
}

impl EventTable {
    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Start of event `e`.
    #[must_use]
    #[inline]
    pub fn start(&self, e: u32) -> Nanos {
        self.starts.at(e as usize)
    }

    /// End of event `e`.
    #[must_use]
    #[inline]
    pub fn end(&self, e: u32) -> Nanos {
        end_of(self.starts.at(e as usize), self.lengths.at(e as usize))
    }

    /// Whether event `e` is work rather than waiting on a semaphore.
    #[must_use]
    #[inline]
    pub fn is_work(&self, e: u32) -> bool {
        self.flags[e as usize] & flag::WAIT == 0
    }

    /// The column of `kind`, where recorded.
    #[must_use]
    pub fn label(&self, kind: LabelKind) -> Option<&Labels> {
        self.labels.iter().find(|(k, _)| *k == kind).map(|(_, labels)| labels)
    }

    /// The text of `kind` for event `e`; empty where not recorded.
    #[must_use]
    pub fn text(&self, kind: LabelKind, e: u32) -> &str {
        self.label(kind).map_or("", |labels| labels.at(e as usize))
    }

    /// What is written inside the slice of event `e`.
    #[must_use]
    pub fn event_name(&self, e: u32) -> &str {
        self.text(LabelKind::Name, e)
    }

    /// Position in [`EventTable::measures`] of `measure`, where recorded.
    #[must_use]
    pub fn measure_index(&self, measure: Measure) -> Option<usize> {
        self.measures.iter().position(|(m, _)| *m == measure)
    }

    /// The event of source row `row`.
    #[must_use]
    pub fn event_at_row(&self, row: u32) -> Option<u32> {
        match &self.event_of_row {
            Some(map) => map.get(row as usize).copied().filter(|&e| e != u32::MAX),
            None => self.rows.iter().position(|&r| r == row).map(|e| e as u32),
        }
    }

    /// The group that event `e` belongs to.
    #[must_use]
    pub fn group_of(&self, e: u32) -> Option<&Group> {
        self.groups.get(self.group_number(e)?)
    }

    /// The position in [`EventTable::groups`] of the group that event `e` belongs to.
    #[must_use]
    pub fn group_number(&self, e: u32) -> Option<usize> {
        self.groups.partition_point(|g| g.sequence.first_event() <= e).checked_sub(1)
    }

    /// The events of `range` whose flags and labels satisfy `keep`, as a sequence of their own.
    #[must_use]
    pub fn pick(&self, range: Range<u32>, keep: impl Fn(u32) -> bool) -> Sequence {
        Sequence::of_list(self, range.filter(|&e| keep(e)).collect())
    }
}
