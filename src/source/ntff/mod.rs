//! NTFF, the device trace: what the notification queues of the cores held when the capture ended.
//!
//! A 128-byte header, a protobuf that describes the rest, and a data area of 16-byte records (from version 6 on also of
//! instruction words). Versions 4 (trn1), 5 and 6 (trn2) are understood; another one is refused by its number.

mod clock;
mod container;
mod dma;
mod head;
mod instructions;
mod pc_map;
mod record;
mod sync;

pub use clock::{Clock, Clocks};
pub use container::{Block, Core, CoreProgram, DmaQueue, Execution, MemoryUse, Ntff, PrivateInfo};
pub use dma::{DmaPackets, Packet};
pub use head::{CoreHead, Head, Unusable, is_run_of};
pub use instructions::{Executed, Executions, Place};
pub use sync::{SyncOperation, SyncRecord, SyncSource, ThrottleRecord};

/// The versions that are understood.
pub const VERSIONS: std::ops::RangeInclusive<u8> = 4..=6;
