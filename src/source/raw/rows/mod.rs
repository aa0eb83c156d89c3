//! The rows of a raw capture. Field names follow the vendor's schema (7.4) where it has the field, so that an adapter
//! can pass them on under those names.
//!
//! Times are kept in picoseconds from the zero of the profile, which is what the hardware counts in; the methods give
//! the vendor's nanoseconds. The vendor rounds starts and durations down each for itself, so start and duration can add
//! up to one nanosecond less than the end.

mod derived;
mod dma;

pub use derived::*;
pub use dma::*;

use std::borrow::Cow;

use crate::model::Engine;
use crate::source::neff::isa::{Access, SyncUse};
use crate::source::ntff::{SyncOperation, SyncSource};

/// From when to when, in picoseconds from the zero of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Start.
    pub start_ps: i64,
    /// End.
    pub end_ps: i64,
}

impl Times {
    /// Start in nanoseconds, rounded down.
    #[must_use]
    pub fn start_ts(self) -> i64 {
        nanoseconds(self.start_ps)
    }

    /// End in nanoseconds, rounded down.
    #[must_use]
    pub fn end_ts(self) -> i64 {
        nanoseconds(self.end_ps)
    }

    /// Duration in nanoseconds, rounded down; 0 where the end comes before the start.
    #[must_use]
    pub fn duration_ns(self) -> u64 {
        u64::try_from(nanoseconds(self.end_ps.saturating_sub(self.start_ps))).unwrap_or(0)
    }

    /// Bytes per second; 0 where no time passes.
    #[must_use]
    pub fn throughput(self, bytes: u64) -> f64 {
        match self.end_ps.saturating_sub(self.start_ps) {
            passed if passed > 0 => bytes as f64 * 1e12 / passed as f64,
            _ => 0.0,
        }
    }
}

/// Picoseconds as nanoseconds, rounded down.
pub(in crate::source::raw) fn nanoseconds(picoseconds: i64) -> i64 {
    picoseconds.div_euclid(1000)
}

/// An executed instruction (table `Instruction`). What it has in common with every execution of the same word is in
/// [`RawWord`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawInstruction {
    /// When it ran.
    pub times: Times,
    /// Index in [`super::RawCapture::words`].
    pub word: u32,
    /// Which core.
    pub pcore_idx: u16,
    /// Which engine.
    pub engine: Engine,
    /// The wait counter as recorded: engine cycles, 16 bits that wrap and go stale. Means something only where the word
    /// waits ([`RawWord::has_wait`]), and little even there.
    pub evt_wait: u16,
    /// Checksum of the inputs, 0xffff where there is none.
    pub crc_in: u16,
    /// Checksum of the outputs, likewise.
    pub crc_out: u16,
    /// Whether it lies, at least partly, outside the measured execution; the vendor leaves those out.
    pub outside: bool,
}

/// An instruction that had started but not ended when the capture did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawUnfinished {
    /// Start, in picoseconds.
    pub start_ps: i64,
    /// Index in [`super::RawCapture::words`].
    pub word: u32,
    /// Which core.
    pub pcore_idx: u16,
    /// Which engine.
    pub engine: Engine,
}

/// An instruction word that ran at least once: the columns of `Instruction` that do not change between executions.
/// Numbers that are `None` and texts that are empty are not known or do not apply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawWord {
    /// Which core.
    pub pcore_idx: u16,
    /// Which engine.
    pub engine: Option<Engine>,
    /// Index in the code as the runtime laid it out; `None` for runtime code that the capture does not hold.
    pub pc: Option<u32>,
    /// Such as `MATMUL`; `OP_0xNN` where unknown, `NOT_IN_FILE` for runtime code that the capture does not hold.
    pub opcode: Cow<'static, str>,
    /// The vendor's notation; for layouts that are not known `raw=` and the 64 bytes.
    pub operands: String,
    /// Index in the compiler's program; `None` where the runtime put the word in.
    pub compiler_pc: Option<u32>,
    /// Opcode of the compiled word, where the runtime rewrote it.
    pub compiler_opcode: Cow<'static, str>,
    /// Operands of the compiled word, likewise.
    pub compiler_operands: String,
    /// Such as `sg0000:446`. The last two digits are the physical core's (likely).
    pub bir_id: String,
    /// Id in the BIR level.
    pub raw_bir_id: Option<u64>,
    /// Such as `I-60-0`.
    pub bir_instruction_name: String,
    /// Such as `sg0000:60`.
    pub penguin_id: String,
    /// Id in the penguin level.
    pub raw_penguin_id: Option<u64>,
    /// Such as `float32<128 x 512> $12[i_q_0]`.
    pub penguin_name: String,
    /// Such as `dot.1`.
    pub hlo_name: String,
    /// Attributes of the HLO instruction as `key=value`.
    pub hlo_attrs: String,
    /// Id in the HLO level.
    pub raw_hlo_id: Option<u64>,
    /// Id in the framework level.
    pub raw_framework_id: Option<u64>,
    /// Name in the framework level.
    pub layer: String,
    /// Source line as `file:line`.
    pub nki_source_location: String,
    /// What the kernel's author wrote, as an index in [`super::RawCapture::kernels`].
    pub kernel_instruction: Option<u32>,
    /// Device memory read, in bytes.
    pub hbm_read_bytes: u64,
    /// Device memory written.
    pub hbm_write_bytes: u64,
    /// State buffer read: per partition for compute, in all for transfers, as the vendor counts.
    pub sbuf_read_bytes: u64,
    /// State buffer written, likewise.
    pub sbuf_write_bytes: u64,
    /// PSUM read, per partition.
    pub psum_read_bytes: u64,
    /// PSUM written, per partition.
    pub psum_write_bytes: u64,
    /// Bytes written to the state buffer while PSUM is read.
    pub psum_read_sbuf_write_bytes: u64,
    /// `REGULAR` or `TRANSPOSE`; empty for what the runtime put in.
    pub tensor_instruction_type: &'static str,
    /// Multiply-accumulate operations of a `MATMUL`.
    pub tensor_elements: u64,
    /// Those of a `MATMUL` that transposes.
    pub tensor_elements_transpose: u64,
    /// Name of the activation function.
    pub scalar_activation_fn: Cow<'static, str>,
    /// PSUM banks read, one bit each.
    pub psum_read_banks: u8,
    /// PSUM banks written, one bit each.
    pub psum_write_banks: u8,
    /// Places on the chip, such as `PSUM(partition=0,bank=6,offset=0)`, sources before destinations.
    pub symbolic_operands: String,
    /// Semaphores and events waited for and updated.
    pub sync: SyncUse,
    /// Regions on the chip read and written.
    pub accesses: Vec<Access>,
    /// For a `MATMUL` whether it starts a new accumulation.
    pub starts_accumulation: Option<bool>,
    /// What it transfers, as an index in [`super::RawCapture::transfer_plans`].
    pub transfer: Option<u32>,
}

impl RawWord {
    /// The timeline track: `TensorMatrix` for matrix multiplications, otherwise the engine.
    #[must_use]
    pub fn timeline_track(&self) -> &'static str {
        match self.engine {
            Some(Engine::Tensor) if self.opcode == "MATMUL" => "TensorMatrix",
            Some(engine) => engine.name(),
            None => "",
        }
    }

    /// Whether the word waits for a semaphore or event.
    #[must_use]
    pub fn has_wait(&self) -> bool {
        !self.sync.waits.is_empty()
    }

    /// Floating-point operations: two per multiply-accumulate. fp32, which the hardware multiplies in several passes,
    /// counts each pass, as the vendor's `hardware_flops` does.
    #[must_use]
    pub fn raw_flops(&self) -> u64 {
        self.tensor_elements.saturating_mul(2)
    }

    /// Those of transposes.
    #[must_use]
    pub fn flops_transpose(&self) -> u64 {
        self.tensor_elements_transpose.saturating_mul(2)
    }
}

/// An update of a semaphore or event (table `SemaphoreUpdate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawSemaphoreUpdate {
    /// When, in picoseconds.
    pub time_ps: i64,
    /// Which core.
    pub pcore_idx: u16,
    /// Number of the semaphore or event; [`super::RawCapture::semaphore_label`] names it.
    pub id: u8,
    /// Whether it is an event; the vendor lists semaphores only.
    pub is_event: bool,
    /// Value after the update.
    pub value: u32,
    /// Who did it.
    pub update_source: SyncSource,
    /// What was done.
    pub operation: SyncOperation,
    /// Whether records were lost near here (likely).
    pub loss: bool,
    /// Whether it lies outside the measured execution.
    pub outside: bool,
}

impl RawSemaphoreUpdate {
    /// When, in nanoseconds, rounded down.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        nanoseconds(self.time_ps)
    }

    /// The schema's word for what was done.
    #[must_use]
    pub fn update_operation_type(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self.operation {
            SyncOperation::Set => "event_set",
            SyncOperation::Clear => "event_clear",
            SyncOperation::Increment => "sem_inc",
            SyncOperation::Decrement => "sem_dec",
            SyncOperation::Assign => "sem_assign",
            SyncOperation::Other(number) => return Cow::Owned(format!("op_0x{number:02x}")),
        })
    }

    /// The engine that did it, or `External` (DMA, another core, the host).
    #[must_use]
    pub fn source_name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self.update_source {
            SyncSource::Engine(engine) => engine.name(),
            SyncSource::External => "External",
            SyncSource::Other(number) => return Cow::Owned(format!("source {number}")),
        })
    }
}

/// The clock of the Tensor Engine over a stretch of time (table `Throttle`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawThrottle {
    /// From when to when.
    pub times: Times,
    /// Which core.
    pub pcore_idx: u16,
    /// The clock is k/n of its full speed.
    pub k: u8,
    /// See `k`.
    pub n: u8,
    /// 0 full speed, 1 throttled; the schema's `activity_N`.
    pub kind: u8,
    /// Activity counter.
    pub activity: u16,
}
