//! Semaphore, event and throttling records.

use super::container::{Core, Ntff, SectionKind};
use super::record::Record;
use crate::model::Engine;
use crate::source::neff::isa::NumberedEngine;

/// What was done to a semaphore or event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncOperation {
    /// An event was set.
    Set,
    /// An event was cleared.
    Clear,
    /// A semaphore was incremented.
    Increment,
    /// A semaphore was decremented.
    Decrement,
    /// A semaphore was assigned.
    Assign,
    /// Something that is not known, by its number.
    Other(u8),
}

/// Who did it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncSource {
    /// An engine of the core.
    Engine(Engine),
    /// A DMA engine, another core or the host.
    External,
    /// Something that is not known, by its number.
    Other(u8),
}

/// One update of a semaphore or event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncRecord {
    /// When, in common picoseconds.
    pub time_ps: i64,
    /// The value after it.
    pub value: u32,
    /// Number of the semaphore or event.
    pub id: u8,
    /// Whether it is an event rather than a semaphore.
    pub is_event: bool,
    /// What was done.
    pub operation: SyncOperation,
    /// Who did it.
    pub source: SyncSource,
    /// Whether records were dropped near here (likely): values and ids jump there.
    pub loss: bool,
}

/// The Tensor Engine's clock, from here to the next record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleRecord {
    /// When, in common picoseconds.
    pub time_ps: i64,
    /// Activity counter.
    pub activity: u16,
    /// The clock is k/n of its full speed.
    pub k: u8,
    /// See `k`.
    pub n: u8,
    /// 0 full speed, 1 throttled.
    pub kind: u8,
}

impl Ntff {
    /// The semaphore and event records of a core in the file's order, and how many records were none.
    pub fn sync_records(&self, core: &Core) -> (Vec<SyncRecord>, u64) {
        let clock = core.clocks.sync();
        let mut invalid = 0;
        let records = self.sections(core, SectionKind::Sync).flat_map(Record::all).filter(|record| {
            let valid = record.is_valid() && record.kind() == 3;
            invalid += u64::from(!valid);
            valid
        });
        let records = records.map(|record| SyncRecord {
            time_ps: clock.picoseconds(record.counter()),
            value: record.u32(4),
            id: record.byte(0),
            is_event: record.byte(1) & 1 == 0,
            operation: match record.byte(2) {
                0xf1 => SyncOperation::Set,
                0x07 => SyncOperation::Clear,
                0xf3 => SyncOperation::Increment,
                0xf4 => SyncOperation::Decrement,
                0xf9 => SyncOperation::Assign,
                other => SyncOperation::Other(other),
            },
            source: match record.source() {
                6 => SyncSource::External,
                number => match Engine::from_number(u64::from(number).wrapping_sub(1)) {
                    Some(engine) => SyncSource::Engine(engine),
                    None => SyncSource::Other(number),
                },
            },
            loss: record.byte(3) & 0x40 != 0,
        });
        let records = records.collect();
        (records, invalid)
    }

    /// The throttling records of a core, in the file's order.
    pub fn throttle_records(&self, core: &Core) -> Vec<ThrottleRecord> {
        let clock = core.clocks.throttle();
        let records = self.sections(core, SectionKind::Throttle).flat_map(Record::all);
        let records = records.filter(|record| record.is_valid() && record.kind() == 2);
        let records = records.map(|record| ThrottleRecord {
            time_ps: clock.picoseconds(record.counter()),
            activity: record.u16(0),
            n: record.byte(2),
            k: record.byte(4),
            kind: record.byte(5),
        });
        records.collect()
    }
}
