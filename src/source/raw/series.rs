//! Curves over time: throughput, pending transfers, active time.

use super::RawCapture;
use super::rows::{RawActiveTime, RawDmaPacket, RawPendingDma, RawThroughput, Times, nanoseconds};
use crate::model::Engine;
use crate::source::neff::isa::NumberedEngine;

/// The throughput of all packets.
pub(super) fn dma_usage(capture: &RawCapture) -> Vec<RawThroughput> {
    steps(capture, |packet| u64::from(packet.transfer_bytes))
}

/// The throughput of the packets that read or write device memory. Packets whose transfer is not known, instruction
/// fetches among them, do not count, as with the vendor.
pub(super) fn hbm_usage(capture: &RawCapture) -> Vec<RawThroughput> {
    steps(capture, |packet| {
        let Some(transfer) = packet.transfer else { return 0 };
        let plan = &capture.transfer_plans[capture.dma_transfers[transfer as usize].plan as usize];
        u64::from(packet.transfer_bytes) * (u64::from(plan.reads_hbm) + u64::from(plan.writes_hbm))
    })
}

/// A change of a curve: when, by how much per second, and the bytes that start.
type Change = (i64, f64, u64);

fn steps(capture: &RawCapture, bytes: impl Fn(&RawDmaPacket) -> u64) -> Vec<RawThroughput> {
    let mut changes: Vec<Vec<Change>> = vec![vec![]; capture.cores.len()];
    for packet in capture.dma_packets.iter().filter(|packet| !packet.outside) {
        let moved = bytes(packet);
        if moved > 0 {
            let rate = packet.times.throughput(moved);
            let core = &mut changes[usize::from(capture.dma_rings[packet.ring as usize].pcore_idx)];
            core.push((packet.times.start_ps, rate, moved));
            core.push((packet.times.end_ps, -rate, 0));
        }
    }
    let mut found = vec![];
    for (core, pcore_idx) in changes.iter_mut().zip(0..) {
        core.sort_by_key(|(time, _, _)| *time);
        let (mut active, mut rate, mut total) = (0_i64, 0.0, 0_u64);
        for (index, (time, change, started)) in core.iter().enumerate() {
            active += if *started > 0 { 1 } else { -1 };
            // Sums of floats drift; nothing under way is exactly nothing.
            rate = if active == 0 { 0.0 } else { rate + change };
            total += started;
            let timestamp = nanoseconds(*time);
            if core.get(index + 1).is_none_or(|next| nanoseconds(next.0) != timestamp) {
                let current_throughput = rate;
                found.push(RawThroughput { timestamp, pcore_idx, current_throughput, total_transfer_bytes: total });
            }
        }
    }
    found
}

/// The number of transfers that were triggered and not yet acknowledged. A transfer whose packets are not known
/// never ends.
pub(super) fn pending(capture: &RawCapture) -> Vec<RawPendingDma> {
    let mut ends = vec![None; capture.instructions.len()];
    for transfer in &capture.dma_transfers {
        ends[transfer.trigger as usize] = Some(transfer.ack_ps);
    }
    let mut changes: Vec<Vec<(i64, i32)>> = vec![vec![]; capture.cores.len()];
    for (row, end) in capture.instructions.iter().zip(&ends) {
        if capture.words[row.word as usize].transfer.is_some() && !row.outside {
            let core = &mut changes[usize::from(row.pcore_idx)];
            core.push((row.times.start_ps, 1));
            core.extend(end.map(|end| (end, -1)));
        }
    }
    let mut found = vec![];
    for (core, pcore_idx) in changes.iter_mut().zip(0..) {
        core.sort_unstable();
        let (mut value, mut triggered) = (0_i32, 0);
        for (time, change) in core {
            value += *change;
            triggered += u32::from(*change > 0);
            let value = value.max(0).unsigned_abs();
            found.push(RawPendingDma { timestamp: nanoseconds(*time), pcore_idx, value, triggered });
        }
    }
    found
}

/// The stretches in which engines were active.
pub(super) fn active_time(capture: &RawCapture) -> Vec<RawActiveTime> {
    let mut current: Vec<Option<Times>> = vec![None; capture.cores.len() * Engine::NUMBERED.len()];
    let mut found = vec![];
    let row_of = |slot: usize, times: Times| RawActiveTime {
        times,
        pcore_idx: (slot / Engine::NUMBERED.len()) as u16,
        engine: Engine::NUMBERED[slot % Engine::NUMBERED.len()],
    };
    for row in capture.instructions.iter().filter(|row| !row.outside) {
        if capture.words[row.word as usize].opcode == "EVENT_SEMAPHORE" {
            continue;
        }
        let slot = usize::from(row.pcore_idx) * Engine::NUMBERED.len() + row.engine.number();
        match &mut current[slot] {
            Some(times) if row.times.start_ps <= times.end_ps => times.end_ps = times.end_ps.max(row.times.end_ps),
            other => found.extend(other.replace(row.times).map(|times| row_of(slot, times))),
        }
    }
    let left = current.into_iter().enumerate().filter_map(|(slot, times)| Some(row_of(slot, times?)));
    found.extend(left);
    found.sort_by_key(|row| (row.times.start_ps, row.pcore_idx, row.engine.number()));
    found
}
