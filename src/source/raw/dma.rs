//! DMA packets, and which transfer each belongs to.
//!
//! The hardware records no transfer, but each ring works in order: the n-th piece of work of a ring is its share of the
//! n-th transfer that was started on the queue. A transfer is assigned only where every share ends on a packet and the
//! shares add up to what the program moves; otherwise the packets stay unassigned, and a problem says so.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::rows::{RawDmaPacket, RawDmaRing, RawDmaTransfer, RawInstruction, RawTransferPlan, RawWord, Times};
use super::time::Timebase;
use crate::model::Engine;
use crate::source::neff::isa::ui_queue_name;
use crate::source::neff::{Graph, Queue};
use crate::source::ntff::{Core, DmaPackets, Packet};

/// Bytes of the semaphore write that ends a ring's share of a transfer.
const SEMAPHORE_WRITE: u64 = 4;
/// The ring that fetches instructions and tables.
const INSTRUCTION_RING: u8 = 14;

/// What the DMA records of all cores become.
#[derive(Default)]
pub(super) struct DmaTables {
    pub rings: Vec<RawDmaRing>,
    pub packets: Vec<RawDmaPacket>,
    pub transfers: Vec<RawDmaTransfer>,
    pub problems: Vec<String>,
}

/// What is needed to know which instruction started what.
pub(super) struct Program<'a> {
    pub core: &'a Core,
    pub pcore_idx: u16,
    pub graph: Option<&'a Graph>,
    /// All instructions of the capture.
    pub instructions: &'a [RawInstruction],
    /// Those of this core that start transfers, in order.
    pub triggers: &'a [u32],
    pub words: &'a [RawWord],
    pub plans: &'a [RawTransferPlan],
    pub time: &'a Timebase,
}

/// One transfer that was started.
#[derive(Clone, Copy)]
struct Started {
    instruction: u32,
    plan: u32,
}

impl DmaTables {
    /// Adds the packets of one core.
    pub fn add(&mut self, program: &Program<'_>, rings: Vec<DmaPackets>) {
        let started = started_by_queue(program);
        let mut by_queue: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, ring) in rings.iter().enumerate() {
            if let Some(queue) = ring.queue {
                by_queue.entry(program.core.queues[queue].name.as_str()).or_default().push(index);
            }
        }
        let mut owners: Vec<Option<Vec<u32>>> = rings.iter().map(|_| None).collect();
        for (queue, members) in &by_queue {
            let Some(list) = started.get(*queue) else { continue };
            match assign(program, list, &rings, members) {
                Ok(shares) => {
                    for (member, share) in members.iter().zip(shares) {
                        owners[*member] = Some(share);
                    }
                }
                Err(why) => self.problems.push(format!(
                    "nc{}: the packets of {} cannot be matched with its {} transfers ({why})",
                    program.pcore_idx,
                    ui_queue_name(queue),
                    list.len()
                )),
            }
        }
        // Rings that the capture describes are listed even if nothing moved through them.
        let used: FxHashSet<_> = rings.iter().map(|ring| (ring.engine, ring.ring)).collect();
        for (queue, idle) in program.core.queues.iter().enumerate() {
            if !used.contains(&(idle.engine, idle.ring)) {
                self.rings.push(describe(program, idle.engine, idle.ring, Some(queue)));
            }
        }
        let mut numbers: FxHashMap<(&str, u32), u32> = FxHashMap::default();
        for (ring, owner) in rings.iter().zip(owners) {
            let number = self.rings.len() as u32;
            self.rings.push(describe(program, ring.engine, ring.ring, ring.queue));
            let queue = ring.queue.map_or("", |queue| program.core.queues[queue].name.as_str());
            for (index, packet) in ring.packets.iter().enumerate() {
                let times = relative(program.time, packet);
                let ack_ps = program.time.relative(packet.ack_ps);
                let outside = program.time.outside(usize::from(program.pcore_idx), times);
                let transfer = owner.as_ref().map(|owner| {
                    let place = owner[index];
                    let begun = started[queue][place as usize];
                    let number = *numbers.entry((queue, place)).or_insert_with(|| {
                        self.transfers.push(RawDmaTransfer {
                            times,
                            ack_ps,
                            pcore_idx: program.pcore_idx,
                            plan: begun.plan,
                            ring: number,
                            trigger: begun.instruction,
                            transfer_bytes: 0,
                            packets: 0,
                            outside: false,
                        });
                        self.transfers.len() as u32 - 1
                    });
                    let transfer = &mut self.transfers[number as usize];
                    transfer.times.start_ps = transfer.times.start_ps.min(times.start_ps);
                    transfer.times.end_ps = transfer.times.end_ps.max(times.end_ps);
                    transfer.ack_ps = transfer.ack_ps.max(ack_ps);
                    transfer.transfer_bytes += u64::from(packet.bytes);
                    transfer.packets += 1;
                    transfer.outside |= outside;
                    number
                });
                self.packets.push(RawDmaPacket {
                    times,
                    ack_ps,
                    ring: number,
                    transfer_bytes: packet.bytes,
                    packet_idx: index as u32,
                    transfer,
                    crc: packet.crc,
                    outside,
                });
            }
            if ring.unpaired > 0 {
                self.problems.push(format!(
                    "nc{}: {} DMA records of ring {} of engine {} lack their partners; the last packets are missing",
                    program.pcore_idx, ring.unpaired, ring.ring, ring.engine
                ));
            }
        }
    }

    /// Puts packets and transfers in the order of their starts.
    pub fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.transfers.len() as u32).collect();
        let key = |transfer: &RawDmaTransfer| (transfer.times.start_ps, transfer.pcore_idx, transfer.trigger);
        order.sort_by_key(|index| key(&self.transfers[*index as usize]));
        let mut place = vec![0; order.len()];
        for (now, before) in order.iter().enumerate() {
            place[*before as usize] = now as u32;
        }
        self.transfers.sort_by_key(key);
        for packet in &mut self.packets {
            packet.transfer = packet.transfer.map(|before| place[before as usize]);
        }
        self.packets.sort_by_key(|packet| (packet.times.start_ps, packet.ring, packet.packet_idx));
    }
}

fn relative(time: &Timebase, packet: &Packet) -> Times {
    Times { start_ps: time.relative(packet.start_ps), end_ps: time.relative(packet.end_ps) }
}

/// The transfers that the program started on each queue, in order.
fn started_by_queue<'a>(program: &Program<'a>) -> BTreeMap<&'a str, Vec<Started>> {
    let mut found: BTreeMap<&str, Vec<Started>> = BTreeMap::new();
    for index in program.triggers {
        let row = &program.instructions[*index as usize];
        let Some(plan) = program.words[row.word as usize].transfer else { continue };
        let moved = &program.plans[plan as usize];
        let queue = match moved.block_id {
            Some(_) => Some(moved.queue.as_str()),
            None => dynamic_queue(program, row.engine, &moved.semaphores),
        };
        if let Some(queue) = queue {
            found.entry(queue).or_default().push(Started { instruction: *index, plan });
        }
    }
    found
}

/// The dynamic queue that an engine starts transfers on: the one whose semaphores include the transfer's.
fn dynamic_queue<'a>(program: &Program<'a>, engine: Engine, semaphores: &[u8]) -> Option<&'a str> {
    let prefix = match engine {
        Engine::Sync => "qSP",
        Engine::Scalar => "qAct",
        Engine::GpSimd => "qPool",
        Engine::Tensor => "qPe",
        Engine::Vector => "qDve",
    };
    let names = program.core.queues.iter().map(|queue| queue.name.as_str());
    let mut own: Vec<_> = names.filter(|name| name.starts_with(prefix) && name.contains("Dynamic")).collect();
    own.sort_unstable();
    own.dedup();
    if own.len() > 1 {
        let declared = |name: &str| program.graph?.queues.iter().find(|queue| queue.name == name);
        let signals = |queue: &Queue| semaphores.iter().all(|id| queue.semaphores.contains(&u64::from(*id)));
        own.retain(|name| declared(name).is_some_and(signals));
    }
    match own.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// For each ring the place in `started` that each of its packets belongs to.
fn assign(
    program: &Program<'_>,
    started: &[Started],
    rings: &[DmaPackets],
    members: &[usize],
) -> Result<Vec<Vec<u32>>, &'static str> {
    let plan = |begun: &Started| &program.plans[begun.plan as usize];
    if started.iter().any(|begun| plan(begun).block_id.is_none()) {
        return assign_dynamic(program, started, rings, members);
    }
    let share = |begun: &Started| {
        let moved = plan(begun);
        moved.write_bytes.div_ceil(16) + SEMAPHORE_WRITE * moved.semaphores.len().max(1) as u64
    };
    let shares: Vec<_> = started.iter().map(share).collect();
    let wanted: Vec<_> = started.iter().map(|begun| plan(begun).write_bytes).collect();
    let assigned = members.iter().map(|member| {
        let ring = &rings[*member];
        let table = ring.queue.map(|queue| program.core.queues[queue].blocks.as_slice()).unwrap_or_default();
        let packets_of = |begun: &Started| {
            let id = plan(begun).block_id?;
            table.iter().find(|block| block.id == id).map(|block| block.packets)
        };
        let counts: Option<Vec<u64>> = started.iter().map(packets_of).collect();
        let counted = counts.filter(|counts| counts.iter().sum::<u64>() == ring.packets.len() as u64);
        if let Some(counts) = counted {
            let places = counts.iter().zip(0..).flat_map(|(count, place)| std::iter::repeat_n(place, *count as usize));
            return Ok(places.collect());
        }
        by_bytes(&ring.packets, &shares)
            .or_else(|| by_bytes(&ring.packets, &proportional(&ring.packets, &wanted)))
            .ok_or("its blocks do not end where packets do")
    });
    assigned.collect()
}

/// Shares of what a ring moved, in proportion to the transfers' sizes.
fn proportional(packets: &[Packet], wanted: &[u64]) -> Vec<u64> {
    let total: u128 = packets.iter().map(|packet| u128::from(packet.bytes)).sum();
    let sum = wanted.iter().map(|bytes| u128::from(*bytes)).sum::<u128>().max(1);
    wanted.iter().map(|bytes| u64::try_from(total * u128::from(*bytes) / sum).unwrap_or(u64::MAX)).collect()
}

/// Gives packets to shares in order; `None` unless every share ends on a packet and all packets are given.
fn by_bytes(packets: &[Packet], shares: &[u64]) -> Option<Vec<u32>> {
    let mut places = Vec::with_capacity(packets.len());
    let mut left = packets.iter();
    for (share, place) in shares.iter().zip(0..) {
        let mut have = 0;
        while have < *share {
            have += u64::from(left.next()?.bytes);
            places.push(place);
        }
        if have != *share {
            return None;
        }
    }
    left.next().is_none().then_some(places)
}

/// Dynamic transfers: a ring's share of each ends with the write of its semaphore.
fn assign_dynamic(
    program: &Program<'_>,
    started: &[Started],
    rings: &[DmaPackets],
    members: &[usize],
) -> Result<Vec<Vec<u32>>, &'static str> {
    let mut moved = vec![0; started.len()];
    let mut assigned = vec![];
    for member in members {
        let mut place = 0;
        let mut places = Vec::with_capacity(rings[*member].packets.len());
        for packet in &rings[*member].packets {
            let Some(total) = moved.get_mut(place) else { return Err("it has more packets than were started") };
            *total += u64::from(packet.bytes);
            places.push(place as u32);
            place += usize::from(u64::from(packet.bytes) == SEMAPHORE_WRITE);
        }
        if place != started.len() {
            return Err("a ring lacks packets");
        }
        assigned.push(places);
    }
    let ends = SEMAPHORE_WRITE * members.len() as u64;
    let exact = started.iter().zip(&moved).all(|(begun, moved)| {
        let plan = &program.plans[begun.plan as usize];
        *moved == plan.write_bytes + ends
    });
    if exact { Ok(assigned) } else { Err("the bytes differ") }
}

fn describe(program: &Program<'_>, engine_idx: u16, queue_idx: u8, queue: Option<usize>) -> RawDmaRing {
    let queue = queue.map(|queue| &program.core.queues[queue]);
    let name = queue.map(|queue| queue.name.as_str()).unwrap_or_default();
    let declared = program.graph.and_then(|graph| graph.queues.iter().find(|queue| queue.name == name));
    RawDmaRing {
        pcore_idx: program.pcore_idx,
        engine_idx,
        queue_idx,
        queue: ui_queue_name(name),
        queue_raw: name.to_owned(),
        queue_type: match queue_idx {
            INSTRUCTION_RING => "instruction",
            _ => queue_type(name, queue.map(|queue| queue.class), declared.map(|queue| queue.kind.as_str())),
        },
        class: queue.map(|queue| queue.class),
        dram_channel: queue.map(|queue| queue.dram_channel),
    }
}

/// The schema's type of a queue, from its name, the capture's class and the compiler's kind.
fn queue_type(name: &str, class: Option<u64>, kind: Option<&str>) -> &'static str {
    match (class, kind) {
        _ if name.contains("DynamicHW") => "hardware_dynamic",
        _ if name.contains("Dynamic") => "software_dynamic",
        (Some(0), _) => "instruction",
        (_, Some("in")) => "input",
        (_, Some("out")) => "output",
        (_, Some("data")) => "data",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(sizes: &[u32]) -> Vec<Packet> {
        sizes.iter().map(|bytes| Packet { start_ps: 0, end_ps: 0, ack_ps: 0, bytes: *bytes, crc: 0 }).collect()
    }

    #[test]
    fn shares_must_end_on_packets() {
        assert_eq!(by_bytes(&packets(&[256, 256, 4, 100, 4]), &[516, 104]), Some(vec![0, 0, 0, 1, 1]));
        assert_eq!(by_bytes(&packets(&[256, 256, 4]), &[500, 16]), None);
        assert_eq!(by_bytes(&packets(&[256]), &[256, 4]), None);
        assert_eq!(by_bytes(&packets(&[256, 4]), &[256]), None);
        assert_eq!(proportional(&packets(&[300, 100]), &[3, 1]), [300, 100]);
    }
}
