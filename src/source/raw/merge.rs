//! Several captures of one run on one time axis.

use std::sync::Arc;

use super::rows::{Node, Times};
use super::words::id_prefix;
use super::{RawCapture, RawCore};

/// Captures of one run whose measured executions start further apart than this did not run together.
const MOST_APART_PS: i64 = 1_000_000_000_000;
/// From this version on, all cores of a device count common picoseconds.
const COMMON_CLOCK: u8 = 5;

impl RawCapture {
    /// Adds the cores of another capture after those that are there already. Where both counted on the clock of one
    /// device they keep their distance in time; otherwise their measured executions are made to start together.
    /// Returns whether the distance was kept.
    pub fn append(&mut self, other: RawCapture) -> bool {
        let shift = self.distance_to(&other);
        self.concatenate(other, shift.unwrap_or(0));
        shift.is_some()
    }

    /// Whether it is known how much later the other one ran.
    #[must_use]
    pub fn knows_distance_to(&self, other: &RawCapture) -> bool {
        self.distance_to(other).is_some()
    }

    /// How much later the other one's zero is, where that is known.
    fn distance_to(&self, other: &RawCapture) -> Option<i64> {
        let device = |capture: &RawCapture| {
            let first = capture.cores.first()?.neuron_device_idx;
            capture.cores.iter().all(|core| core.neuron_device_idx == first).then_some(first)
        };
        let common = |capture: &RawCapture| capture.metadata.ntff_version >= COMMON_CLOCK;
        let same = common(self)
            && common(other)
            && !self.private.instance_id.is_empty()
            && self.private.instance_id == other.private.instance_id
            && device(self).is_some()
            && device(self) == device(other);
        let distance = other.zero_ps.checked_sub(self.zero_ps)?;
        (same && distance.unsigned_abs() <= MOST_APART_PS.unsigned_abs()).then_some(distance)
    }

    fn concatenate(&mut self, mut other: RawCapture, shift_ps: i64) {
        let at = |time: &mut i64| *time = time.saturating_add(shift_ps);
        let times = |times: &mut Times| {
            at(&mut times.start_ps);
            at(&mut times.end_ps);
        };
        let timestamp = |time: &mut i64| *time = time.saturating_add(shift_ps.div_euclid(1000));
        let cores = u16::try_from(self.cores.len()).unwrap_or(u16::MAX);
        let core = |index: &mut u16| *index = index.saturating_add(cores);
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let (words, plans, rings) =
            (count(self.words.len()), count(self.transfer_plans.len()), count(self.dma_rings.len()));
        let (instructions, transfers) = (count(self.instructions.len()), count(self.dma_transfers.len()));

        for RawCore { executions, .. } in &mut other.cores {
            executions.iter_mut().for_each(times);
        }
        for row in &mut other.words {
            core(&mut row.pcore_idx);
            row.transfer = row.transfer.map(|plan| plan.saturating_add(plans));
            // The compiler numbers the instructions of each program anew.
            for id in [&mut row.bir_id, &mut row.penguin_id] {
                if let Some((_, number)) = id.split_once(':') {
                    *id = format!("{}:{number}", id_prefix(row.pcore_idx));
                }
            }
        }
        for row in &mut other.instructions {
            times(&mut row.times);
            core(&mut row.pcore_idx);
            row.word = row.word.saturating_add(words);
        }
        for row in &mut other.unfinished {
            at(&mut row.start_ps);
            core(&mut row.pcore_idx);
            row.word = row.word.saturating_add(words);
        }
        other.dma_rings.iter_mut().for_each(|row| core(&mut row.pcore_idx));
        for row in &mut other.dma_packets {
            times(&mut row.times);
            at(&mut row.ack_ps);
            row.ring = row.ring.saturating_add(rings);
            row.transfer = row.transfer.map(|transfer| transfer.saturating_add(transfers));
        }
        for row in &mut other.dma_transfers {
            times(&mut row.times);
            at(&mut row.ack_ps);
            core(&mut row.pcore_idx);
            row.plan = row.plan.saturating_add(plans);
            row.ring = row.ring.saturating_add(rings);
            row.trigger = row.trigger.saturating_add(instructions);
        }
        for row in &mut other.semaphores {
            at(&mut row.time_ps);
            core(&mut row.pcore_idx);
        }
        for row in &mut other.throttles {
            times(&mut row.times);
            core(&mut row.pcore_idx);
        }
        let node = |node: &mut Node| match node {
            Node::Instruction(index) => *index = index.saturating_add(instructions),
            Node::Transfer(index) => *index = index.saturating_add(transfers),
        };
        for row in &mut other.edges {
            node(&mut row.predecessor);
            node(&mut row.successor);
        }
        for row in other.dma_usage.iter_mut().chain(&mut other.hbm_usage) {
            timestamp(&mut row.timestamp);
            core(&mut row.pcore_idx);
        }
        for row in &mut other.pending_dma {
            timestamp(&mut row.timestamp);
            core(&mut row.pcore_idx);
        }
        for row in &mut other.sbuf_usage {
            timestamp(&mut row.timestamp);
            core(&mut row.pcore_idx);
        }
        for row in &mut other.psum_usage {
            timestamp(&mut row.timestamp);
            core(&mut row.pcore_idx);
        }
        for row in &mut other.active_time {
            times(&mut row.times);
            core(&mut row.pcore_idx);
        }
        other.tensors.iter_mut().for_each(|row| core(&mut row.pcore_idx));
        for row in &mut other.gaps {
            at(&mut row.after_ps);
            at(&mut row.before_ps);
            core(&mut row.pcore_idx);
        }

        let written = u32::try_from(self.kernels.instructions.len()).unwrap_or(u32::MAX);
        for row in &mut other.words {
            row.kernel_instruction = row.kernel_instruction.map(|index| index.saturating_add(written));
        }
        if !other.kernels.files.is_empty() {
            Arc::make_mut(&mut self.kernels).append(Arc::unwrap_or_clone(other.kernels), cores);
        }

        self.metadata.num_physical_cores =
            self.metadata.num_physical_cores.saturating_add(other.metadata.num_physical_cores);
        self.metadata.vnc_enabled |= other.metadata.vnc_enabled;
        let ends = other.cores.iter().flat_map(|core| &core.executions).map(|execution| execution.end_ts());
        self.metadata.last_hw_timestamp = ends.fold(self.metadata.last_hw_timestamp, i64::max);
        self.cores.append(&mut other.cores);
        self.words.append(&mut other.words);
        self.instructions.append(&mut other.instructions);
        self.unfinished.append(&mut other.unfinished);
        self.transfer_plans.append(&mut other.transfer_plans);
        self.dma_rings.append(&mut other.dma_rings);
        self.dma_packets.append(&mut other.dma_packets);
        self.dma_transfers.append(&mut other.dma_transfers);
        self.semaphores.append(&mut other.semaphores);
        self.throttles.append(&mut other.throttles);
        self.edges.append(&mut other.edges);
        self.dma_usage.append(&mut other.dma_usage);
        self.hbm_usage.append(&mut other.hbm_usage);
        self.pending_dma.append(&mut other.pending_dma);
        self.sbuf_usage.append(&mut other.sbuf_usage);
        self.psum_usage.append(&mut other.psum_usage);
        self.active_time.append(&mut other.active_time);
        self.tensors.append(&mut other.tensors);
        self.memory.append(&mut other.memory);
        self.gaps.append(&mut other.gaps);
        self.semaphore_names.append(&mut other.semaphore_names);
        self.problems.append(&mut other.problems);
        self.program_problems.append(&mut other.program_problems);
        self.whole &= other.whole;
    }
}
