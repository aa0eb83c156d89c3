//! Which transfer each packet belongs to: by its packet_aggregation_id where whole transfers are recorded, else as they
//! were put together.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow::buffer::ScalarBuffer;
use rustc_hash::FxHashMap;

use super::causes::{Actor, Asking};
use super::pairs::{NONE, some};
use super::transfers::Transfers;
use crate::model::end_of;
use crate::store::{Batch, EventRef, Problem, Store, Want};

/// The table of packets.
const TABLE: &str = "DmaPacket";

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    pub(super) table: u16,
    /// Per packet its transfer.
    pub(super) transfers: ScalarBuffer<u32>,
}

/// Transfers by their ids, which mostly follow each other.
enum ById {
    Near { first: i64, transfers: Vec<u32> },
    Apart(FxHashMap<i64, u32>),
}

impl ById {
    fn new(ids: Vec<(i64, u32)>) -> ById {
        let (first, last) = ids.iter().fold((i64::MAX, i64::MIN), |(lo, hi), (id, _)| (lo.min(*id), hi.max(*id)));
        if ids.is_empty() || last.abs_diff(first) / 8 > ids.len() as u64 {
            return ById::Apart(ids.into_iter().collect());
        }
        let mut transfers = vec![NONE; last.abs_diff(first) as usize + 1];
        ids.iter().for_each(|(id, t)| transfers[id.abs_diff(first) as usize] = *t);
        ById::Near { first, transfers }
    }

    fn get(&self, id: i64) -> Option<u32> {
        match self {
            ById::Near { first, transfers } => {
                let at = usize::try_from(id.checked_sub(*first)?).ok()?;
                transfers.get(at).copied().and_then(some)
            }
            ById::Apart(transfers) => transfers.get(&id).copied(),
        }
    }
}

impl Packets {
    /// Finds out of all packets where they belong. Takes time in proportion to their number.
    pub(super) fn new(store: &Store, transfers: &Transfers, cancel: &AtomicBool) -> Result<Packets, Problem> {
        let Some(table) = store.table_index(TABLE) else { return Ok(Packets::default()) };
        let events = &store.events[usize::from(table)];
        if transfers.list.iter().next().is_some_and(|t| t.event.table == table) {
            let mut own = vec![NONE; events.len()];
            transfers.members().for_each(|(packet, t)| own[packet as usize] = t);
            return Ok(Packets { table, transfers: own.into() });
        }
        let Some(whole) = transfers.list.iter().next().map(|t| store.table_of(t.event)) else {
            return Ok(Packets::default());
        };
        let by_row: FxHashMap<u32, u32> =
            (0..).zip(transfers.list.iter()).map(|(t, x)| (whole.rows[x.event.event as usize], t)).collect();
        let ids = Mutex::new(Vec::new());
        store.scan(&whole.name, &[("id", Want::Integer)], &|batch: Batch| {
            let found = |i: usize| Some((batch.columns[0].integer(i)?, *by_row.get(&(batch.first_row + i as u32))?));
            ids.lock().unwrap_or_else(PoisonError::into_inner).extend((0..batch.rows).filter_map(found));
            !cancel.load(Ordering::Relaxed)
        })?;
        let by_id = ById::new(ids.into_inner().unwrap_or_else(PoisonError::into_inner));
        let rows = events.rows.iter().max().map_or(0, |m| *m as usize + 1);
        let of_row: Vec<AtomicU32> = (0..rows).map(|_| AtomicU32::new(NONE)).collect();
        store.scan(TABLE, &[("packet_aggregation_id", Want::Integer)], &|batch: Batch| {
            for i in 0..batch.rows {
                let own = batch.columns[0].integer(i).and_then(|id| by_id.get(id));
                if let (Some(own), Some(place)) = (own, of_row.get(batch.first_row as usize + i)) {
                    place.store(own, Ordering::Relaxed);
                }
            }
            !cancel.load(Ordering::Relaxed)
        })?;
        let own = |row: &u32| of_row.get(*row as usize).map_or(NONE, |t| t.load(Ordering::Relaxed));
        Ok(Packets { table, transfers: events.rows.iter().map(own).collect() })
    }

    /// The transfer that a packet belongs to.
    #[must_use]
    pub fn transfer_of(&self, packet: EventRef) -> Option<u32> {
        let own = self.transfers.get(packet.event as usize).filter(|_| packet.table == self.table);
        own.copied().and_then(some)
    }
}

impl Asking<'_> {
    /// The packets of a transfer.
    #[must_use]
    pub fn packets_of(&self, t: u32) -> Vec<EventRef> {
        let packets = &self.index.packets;
        let Some(table) = self.store.events.get(usize::from(packets.table)).filter(|t| t.name == TABLE) else {
            return Vec::new();
        };
        let transfer = self.index.transfers.get(t);
        let mut found = Vec::new();
        for group in &table.groups {
            let lane = group.sequence.of(table);
            let (from, to) = (lane.starting_before(transfer.start), lane.starting_before(end_of(transfer.end, 1)));
            let own =
                (from..to).filter_map(|i| lane.event(i)).filter(|&e| packets.transfers.get(e as usize) == Some(&t));
            found.extend(own.map(|event| EventRef { table: packets.table, event }));
        }
        found
    }

    /// The events that stand for an actor wherever it is shown: of a transfer its packets, too.
    #[must_use]
    pub fn shown_as(&self, actor: Actor) -> Vec<EventRef> {
        let mut events = match actor {
            Actor::Transfer(t) => self.packets_of(t),
            Actor::Instruction(_) | Actor::Other(_) => Vec::new(),
        };
        events.push(self.event(actor));
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_found_by_ids_near_and_far_apart() {
        for ids in [vec![], vec![(7, 0)], vec![(-3, 2), (0, 1), (4, 0)], vec![(i64::MIN, 1), (5, 0), (i64::MAX, 2)]] {
            let by_id = ById::new(ids.clone());
            for id in ids.iter().map(|(id, _)| *id).chain([i64::MIN, -4, 1, 5, i64::MAX]) {
                assert_eq!(by_id.get(id), ids.iter().find(|(own, _)| *own == id).map(|(_, t)| *t), "{id} of {ids:?}");
            }
        }
    }
}
