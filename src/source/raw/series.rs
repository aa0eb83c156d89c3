//! Curves over time: throughput, pending transfers, active time.

use super::RawCapture;
use super::rows::{RawActiveTime, RawPendingDma, RawThroughput, Times, nanoseconds};
use crate::model::Engine;
use crate::source::neff::isa::NumberedEngine;

/// Fills the throughput of all packets, and that of the packets that read or write device memory. Packets whose transfer
/// is not known (instruction fetches among them) count towards the first only, as with the vendor.
pub(super) fn throughput(capture: &mut RawCapture) {
    let bytes = |capture: &RawCapture, packet: usize| u64::from(capture.dma_packets[packet].transfer_bytes);
    capture.dma_usage = steps(capture, bytes);
    capture.hbm_usage = steps(capture, |capture, packet| {
        let Some(transfer) = capture.dma_packets[packet].transfer else { return 0 };
        let plan = &capture.transfer_plans[capture.dma_transfers[transfer as usize].plan as usize];
        bytes(capture, packet) * (u64::from(plan.reads_hbm) + u64::from(plan.writes_hbm))
    });
}

fn steps(capture: &RawCapture, bytes: impl Fn(&RawCapture, usize) -> u64) -> Vec<RawThroughput> {
    let mut found = vec![];
    for pcore_idx in 0..capture.cores.len() as u16 {
        // Time, change of the rate, bytes that start.
        let mut changes: Vec<(i64, f64, u64)> = vec![];
        for (index, packet) in capture.dma_packets.iter().enumerate() {
            let moved = bytes(capture, index);
            if packet.outside || moved == 0 || capture.dma_rings[packet.ring as usize].pcore_idx != pcore_idx {
                continue;
            }
            let rate = packet.times.throughput(moved);
            changes.push((packet.times.start_ps, rate, moved));
            changes.push((packet.times.end_ps, -rate, 0));
        }
        changes.sort_by_key(|(time, _, _)| *time);
        let (mut active, mut rate, mut total) = (0_i64, 0.0, 0_u64);
        for (index, (time, change, started)) in changes.iter().enumerate() {
            active += if *started > 0 { 1 } else { -1 };
            // Sums of floats drift; nothing under way is exactly nothing.
            rate = if active == 0 { 0.0 } else { rate + change };
            total += started;
            let timestamp = nanoseconds(*time);
            let last = changes.get(index + 1).is_none_or(|next| nanoseconds(next.0) != timestamp);
            if last {
                found.push(RawThroughput {
                    timestamp,
                    pcore_idx,
                    current_throughput: rate,
                    total_transfer_bytes: total,
                });
            }
        }
    }
    found
}

/// Fills the number of transfers that were triggered and not yet acknowledged. A transfer whose packets are not known
/// never ends.
pub(super) fn pending(capture: &mut RawCapture) {
    let mut ends = vec![None; capture.instructions.len()];
    for transfer in &capture.dma_transfers {
        ends[transfer.trigger as usize] = Some(transfer.ack_ps);
    }
    for pcore_idx in 0..capture.cores.len() as u16 {
        let mut changes: Vec<(i64, i32)> = vec![];
        for (row, end) in capture.instructions.iter().zip(&ends) {
            let triggers = capture.words[row.word as usize].transfer.is_some();
            if row.pcore_idx == pcore_idx && triggers && !row.outside {
                changes.push((row.times.start_ps, 1));
                changes.extend(end.map(|end| (end, -1)));
            }
        }
        changes.sort_unstable();
        let (mut value, mut triggered) = (0_i32, 0);
        for (time, change) in changes {
            value += change;
            triggered += u32::from(change > 0);
            let value = value.max(0).unsigned_abs();
            capture.pending_dma.push(RawPendingDma { timestamp: nanoseconds(time), pcore_idx, value, triggered });
        }
    }
}

/// Fills the stretches in which engines were active.
pub(super) fn active_time(capture: &mut RawCapture) {
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
    capture.active_time = found;
}
