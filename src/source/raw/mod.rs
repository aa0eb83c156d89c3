//! A raw capture: an NTFF and, where it is there, the NEFF that ran, joined into the tables that the vendor's tool makes
//! of them.

mod chip;
mod describe;
mod dma;
mod doubts;
mod edges;
mod gather;
mod merge;
mod plans;
mod rows;
mod series;
pub mod store;
mod time;
mod usage;
mod words;

pub use chip::Chip;
pub use rows::*;

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::neff::{Fault, Header, Kernels, Neff};
use super::ntff::{Executed, Ntff, PrivateInfo};
use plans::Plans;
use time::Timebase;
use words::Words;

/// Rows from which on work is divided among threads.
const WORTH_SPLITTING: usize = 20_000;

/// What the capture and the program say about themselves (tables `Metadata` and `NeffHeader`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawMetadata {
    /// Version of the NTFF.
    pub ntff_version: u8,
    /// Name of the NEFF that ran.
    pub neff_name: String,
    /// How many programs the measured executions are of.
    pub programs: usize,
    /// Physical cores that ran.
    pub num_physical_cores: u64,
    /// Whether several physical cores form one logical core.
    pub vnc_enabled: bool,
    /// End of the last measured execution, in nanoseconds; the first one starts at 0.
    pub last_hw_timestamp: i64,
    /// How the zero of time is known.
    pub time_origin: &'static str,
    /// When the capture was made, in Unix seconds (version 4 only).
    pub capture_unix_seconds: Option<u64>,
    /// Such as `trn2.3xlarge`.
    pub instance_type: String,
    /// Version of the runtime.
    pub runtime_version: String,
    /// Version of the driver.
    pub driver_version: String,
    /// Version of the collectives library.
    pub collectives_version: String,
    /// Version of the compiler.
    pub compiler_version: String,
    /// What is known about the chip.
    pub chip: Option<Chip>,
}

/// The tables of a raw capture. Rows refer to each other by index; [`RawCapture::instruction_id`] and its like give ids
/// that are unique in the capture and depend on nothing but the files.
#[derive(Debug, Default)]
pub struct RawCapture {
    /// About the capture.
    pub metadata: RawMetadata,
    /// Header of the NEFF.
    pub neff_header: Option<Header>,
    /// What identifies the machine; not to be shown unless asked for.
    pub private: PrivateInfo,
    /// Physical cores; `pcore_idx` is the index here.
    pub cores: Vec<RawCore>,
    /// Words that ran.
    pub words: Vec<RawWord>,
    /// Executed instructions in the order of their starts, also those outside the measured execution.
    pub instructions: Vec<RawInstruction>,
    /// Instructions that had not ended.
    pub unfinished: Vec<RawUnfinished>,
    /// What transfers move.
    pub transfer_plans: Vec<RawTransferPlan>,
    /// DMA rings.
    pub dma_rings: Vec<RawDmaRing>,
    /// DMA packets in the order of their starts.
    pub dma_packets: Vec<RawDmaPacket>,
    /// Transfers in the order of their starts.
    pub dma_transfers: Vec<RawDmaTransfer>,
    /// Semaphore and event updates in the order of time.
    pub semaphores: Vec<RawSemaphoreUpdate>,
    /// Throttling in the order of time.
    pub throttles: Vec<RawThrottle>,
    /// Dependencies, by successor.
    pub edges: Vec<RawEdge>,
    /// Throughput of all packets, by core.
    pub dma_usage: Vec<RawThroughput>,
    /// Throughput of device memory, by core.
    pub hbm_usage: Vec<RawThroughput>,
    /// Transfers under way, by core.
    pub pending_dma: Vec<RawPendingDma>,
    /// How full the state buffer is, by core.
    pub sbuf_usage: Vec<RawSbufUsage>,
    /// Which PSUM banks are in use, by core.
    pub psum_usage: Vec<RawPsumUsage>,
    /// When engines were active.
    pub active_time: Vec<RawActiveTime>,
    /// Tensors of the program.
    pub tensors: Vec<RawTensor>,
    /// Device memory by use.
    pub memory: Vec<RawMemoryUse>,
    /// Where semaphore records are missing (likely).
    pub gaps: Vec<RawGap>,
    /// Source lines, calls and loops of NKI kernels.
    pub kernels: Arc<Kernels>,
    /// The captures that this one is made of, in the order of their cores; none where it is one.
    pub merged: Vec<Merged>,
    /// The zero of time on the clock of the device.
    zero_ps: i64,
    /// Names of semaphores per core.
    semaphore_names: Vec<super::neff::isa::SemaphoreNames>,
    /// What could not be read or is doubtful, in plain words.
    pub problems: Vec<String>,
    /// The same of the program.
    pub program_problems: Vec<String>,
    /// Whether the trace and the program that ran are both there, to their ends: only then does what is missing say
    /// something about how the capture was made.
    pub whole: bool,
}

/// One of several captures that are shown together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// What tells it from the others, such as `rank 1`.
    pub label: String,
    /// Its file.
    pub path: std::path::PathBuf,
    /// Name of the NEFF that ran.
    pub neff_name: String,
    /// The first of its cores.
    pub first_core: usize,
    /// Whether its distance in time from the first one is known.
    pub kept_distance: bool,
}

impl RawCapture {
    /// Opens a capture. A NEFF that cannot be read is a problem, not a failure.
    pub fn open(ntff: &Path, neff: Option<&Path>) -> Result<RawCapture, Fault> {
        let ntff = Ntff::open(ntff)?;
        let (neff, failure) = match neff.map(Neff::open) {
            Some(Ok(neff)) => (Some(neff), None),
            Some(Err(fault)) => (None, Some(fault.to_string())),
            None => (None, None),
        };
        let mut capture = RawCapture::join(&ntff, neff.as_ref());
        capture.program_problems.extend(failure);
        Ok(capture)
    }

    /// Joins a trace and the program that ran.
    #[must_use]
    pub fn join(ntff: &Ntff, neff: Option<&Neff>) -> RawCapture {
        let (mut capture, neff) = RawCapture::decode(ntff, neff);
        capture.derive(neff);
        capture
    }

    /// The same, without keeping the bytes of the trace longer than they are needed: what follows takes room.
    pub(crate) fn join_owned(ntff: Ntff, neff: Option<&Neff>) -> RawCapture {
        let (mut capture, neff) = RawCapture::decode(&ntff, neff);
        drop(ntff);
        capture.derive(neff);
        capture
    }

    /// What the trace and the program say, without what follows from it, and the program where it is of use.
    fn decode<'a>(ntff: &Ntff, neff: Option<&'a Neff>) -> (RawCapture, Option<&'a Neff>) {
        let (neff, doubt) = describe::usable(ntff, neff);
        let decoded: Vec<_> = ntff.cores.iter().map(|core| ntff.instructions(core)).collect();
        let rows: Vec<&[Executed]> = decoded.iter().map(|found| found.finished.as_slice()).collect();
        let time = Timebase::new(ntff, &rows);
        let mut capture = RawCapture::describe(ntff, neff, &time);
        capture.problems.extend(doubt.map(str::to_owned));
        let mut plans = Plans::default();
        for (pcore_idx, (core, found)) in ntff.cores.iter().zip(&decoded).enumerate() {
            let mut words = Words::new(ntff, core, pcore_idx as u16, neff);
            capture.add_instructions(found, &mut words, &mut plans, &time, pcore_idx as u16);
            capture.report_instructions(pcore_idx, found);
        }
        drop(decoded);
        capture.instructions.sort_by_key(|row| (row.times.start_ps, row.pcore_idx));
        capture.transfer_plans = plans.list;
        capture.add_dma(ntff, neff, &time);
        for (pcore_idx, core) in ntff.cores.iter().enumerate() {
            let (records, invalid) = ntff.sync_records(core);
            capture.add_sync(&records, &time, pcore_idx as u16);
            if invalid > 0 {
                capture.problems.push(format!("nc{pcore_idx}: {invalid} semaphore records are not understood"));
            }
            capture.add_throttle(ntff, core, &time, pcore_idx as u16);
        }
        capture.semaphores.sort_by_key(|row| (row.time_ps, row.pcore_idx));
        (capture, neff)
    }

    /// Whether something lies wholly outside the measured executions of a core.
    #[must_use]
    pub fn is_outside(&self, pcore_idx: u16, times: Times) -> bool {
        let executions = self.cores.get(usize::from(pcore_idx)).map(|core| core.executions.as_slice());
        let meets = |execution: &Times| execution.start_ps < times.end_ps && times.start_ps < execution.end_ps;
        !executions.unwrap_or_default().iter().any(meets)
    }

    /// Which of several captures a core is of.
    #[must_use]
    pub fn merged_of(&self, pcore_idx: u16) -> Option<&Merged> {
        let after = self.merged.partition_point(|merged| merged.first_core <= usize::from(pcore_idx));
        self.merged.get(after.checked_sub(1)?)
    }

    /// The id of an instruction: from 1.
    #[must_use]
    pub fn instruction_id(&self, index: u32) -> i64 {
        i64::from(index) + 1
    }

    /// The id of a packet: after those of the instructions.
    #[must_use]
    pub fn packet_id(&self, index: u32) -> i64 {
        (self.instructions.len() as i64).saturating_add(self.instruction_id(index))
    }

    /// The id of a transfer: after those of the packets.
    #[must_use]
    pub fn transfer_id(&self, index: u32) -> i64 {
        (self.dma_packets.len() as i64).saturating_add(self.packet_id(index))
    }

    /// The id of an end of an edge, and the schema's word for its table.
    #[must_use]
    pub fn node_id(&self, node: Node) -> (i64, &'static str) {
        match node {
            Node::Instruction(index) => (self.instruction_id(index), "instruction"),
            Node::Transfer(index) => (self.transfer_id(index), "dma_block"),
        }
    }

    /// A semaphore or event as the vendor lists it: `S[5] (Tensor)`, or `2` where it has no name. Events, which the
    /// vendor does not list, are `E[4]`.
    #[must_use]
    pub fn semaphore_label(&self, row: &RawSemaphoreUpdate) -> String {
        if row.is_event { format!("E[{}]", row.id) } else { self.semaphore_name(row.pcore_idx, row.id) }
    }

    /// A semaphore of a core as the vendor lists it: `S[5] (Tensor)`, or `2` where it has no name.
    #[must_use]
    pub fn semaphore_name(&self, pcore_idx: u16, id: u8) -> String {
        match self.semaphore_names.get(usize::from(pcore_idx)).and_then(|names| names.get(id)) {
            Some(name) => format!("S[{id}] ({name})"),
            None => id.to_string(),
        }
    }

    /// The wait counter in nanoseconds, as the vendor gives it (one clock for all engines, rounded down); `None` on
    /// chips whose clock is not known.
    #[must_use]
    pub fn evt_wait_time_ns(&self, row: &RawInstruction) -> Option<u32> {
        // The vendor counts in picoseconds and single precision, which shows where ticks are whole nanoseconds.
        let clock = self.metadata.chip?.other_engine_clock_freq as f32;
        Some((f32::from(row.evt_wait) * 1000.0 / clock / 1000.0) as u32)
    }

    /// Adds the tables that follow from the others.
    fn derive(&mut self, neff: Option<&Neff>) {
        let this: &RawCapture = self;
        let partition_bytes = self.metadata.chip.map_or(192 << 10, |chip| chip.sbuf_partition_bytes);
        let places = || (edges::all(this, neff), usage::tables(this, partition_bytes));
        let curves = || {
            let throughput = (series::dma_usage(this), series::hbm_usage(this));
            (throughput, series::pending(this), series::active_time(this))
        };
        let rows = this.instructions.len().saturating_add(this.dma_packets.len());
        // Waking another thread takes longer than a small capture does.
        let ((edges, (sbuf, psum)), ((dma, hbm), pending, active)) =
            if rows < WORTH_SPLITTING { (places(), curves()) } else { rayon::join(places, curves) };
        self.edges = edges.0;
        self.problems.extend(edges.1);
        (self.sbuf_usage, self.psum_usage) = (sbuf, psum);
        (self.dma_usage, self.hbm_usage) = (dma, hbm);
        (self.pending_dma, self.active_time) = (pending, active);
        let mut loads: FxHashMap<(u16, &str), (u64, u64)> = FxHashMap::default();
        for transfer in &self.dma_transfers {
            let plan = &self.transfer_plans[transfer.plan as usize];
            if plan.op == "read" {
                let (count, bytes) = loads.entry((transfer.pcore_idx, plan.variable.as_str())).or_default();
                *count += 1;
                *bytes += plan.read_bytes;
            }
        }
        for tensor in &mut self.tensors {
            let (count, bytes) =
                loads.get(&(tensor.pcore_idx, tensor.variable_name.as_str())).copied().unwrap_or_default();
            (tensor.load_to_sbuf_dma_count, tensor.load_to_sbuf_total_size_bytes) = (count, bytes);
        }
    }
}
