//! Collective operations as causes: what started each, and the semaphore by which its end is known.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::causes::{Actor, Asking, Basis, Cause, Causes, How};
use super::index::CauseIndex;
use super::pairs::{NONE, Pairs, some};
use super::reach::partition;
use super::semaphores::{SyncKey, SyncTrack};
use crate::model::{Engine, Nanos, end_of};
use crate::store::cache::{Columns, Reader, Written};
use crate::store::{Batch, EventRef, EventTable, Problem, Store, Want};

/// The table of collective operations.
const TABLE: &str = "CcOp";
/// Whose semaphore tells the engines that an operation is over.
const OWNER: &str = "CC";
/// An operation and the change that tells of its end are recorded within so many nanoseconds of each other.
const AT_END: u64 = 1_000;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Its row of CcOp.
    pub event: EventRef,
    /// When it began.
    pub start: Nanos,
    /// When it was over.
    pub end: Nanos,
    /// The instruction that started it, as an event of Instruction.
    pub issuer: Option<u32>,
    /// The operation before it on the same stream, as a position in [`Collectives::list`].
    before: Option<u32>,
}

/// What a row of CcOp says of the instruction that started it.
#[derive(Clone, Debug, Default)]
struct Trigger {
    engine: Option<Engine>,
    time: Option<Nanos>,
}

/// All collective operations, in order of their ends.
#[derive(Clone, Debug, Default)]
pub struct Collectives {
    /// The operations.
    pub list: Vec<Collective>,
    /// Semaphores that tell of their ends.
    pub(super) syncs: Vec<SyncKey>,
    /// Instructions with the operations that they started, in order.
    of_issuer: Pairs,
    of_event: FxHashMap<EventRef, u32>,
}

impl Collectives {
    /// Puts them together; `triggers` are by row, `issuer` finds the instruction that began on an engine at a time.
    fn new(
        (table, events): (u16, &EventTable),
        triggers: &[Trigger],
        syncs: Vec<SyncKey>,
        issuer: impl Fn(&Trigger) -> Option<u32>,
    ) -> Collectives {
        let mut list: Vec<(Collective, u32)> = (0..events.len() as u32)
            .map(|e| {
                let trigger = triggers.get(events.rows[e as usize] as usize);
                let (event, start, end) = (EventRef { table, event: e }, events.start(e), events.end(e));
                let stream = events.groups.partition_point(|g| g.sequence.first_event() <= e) as u32;
                (Collective { event, start, end, issuer: trigger.and_then(&issuer), before: None }, stream)
            })
            .collect();
        list.sort_by_key(|(c, _)| (c.end, c.event));
        for i in 0..list.len() {
            let (own, stream) = list[i];
            let before = list[..i].iter().rposition(|(c, s)| *s == stream && c.start < own.start);
            list[i].0.before = before.map(|b| b as u32);
        }
        let list: Vec<Collective> = list.into_iter().map(|(c, _)| c).collect();
        Collectives::index(list, syncs)
    }

    fn index(list: Vec<Collective>, syncs: Vec<SyncKey>) -> Collectives {
        let of_issuer = Pairs::new((0..).zip(&list).filter_map(|(i, c)| Some((c.issuer?, i))));
        let of_event = (0..).zip(&list).map(|(i, c)| (c.event, i)).collect();
        Collectives { list, syncs, of_issuer, of_event }
    }

    /// Writes all but the semaphores.
    pub(super) fn write(&self, out: &mut Columns) -> Written {
        let column = |of: fn(&Collective) -> u32| self.list.iter().map(of).collect();
        out.u32s("collective.event", &column(|c| c.event.event))?;
        out.u32s("collective.issuer", &column(|c| c.issuer.unwrap_or(NONE)))?;
        out.u32s("collective.before", &column(|c| c.before.unwrap_or(NONE)))
    }

    /// Reads what was written so; `None` where it does not fit together.
    pub(super) fn read(store: &Store, file: &Reader, syncs: Vec<SyncKey>) -> Option<Collectives> {
        let column = |name: &str| file.u32s(&format!("collective.{name}"));
        let (events, issuers, before) = (column("event")?, column("issuer")?, column("before")?);
        let mut list = Vec::with_capacity(events.len());
        for (&e, (&issuer, &before)) in events.iter().zip(issuers.iter().zip(before.iter())) {
            let table = store.table_index(TABLE)?;
            let found = store.events.get(usize::from(table)).filter(|t| (e as usize) < t.len())?;
            let (event, start, end) = (EventRef { table, event: e }, found.start(e), found.end(e));
            list.push(Collective { event, start, end, issuer: some(issuer), before: some(before) });
        }
        Some(Collectives::index(list, syncs))
    }

    /// The operation that an event is.
    #[must_use]
    pub fn of_event(&self, event: EventRef) -> Option<&Collective> {
        self.of_event.get(&event).map(|&c| &self.list[c as usize])
    }

    /// The operations that an instruction started.
    pub fn started_by(&self, instruction: u32) -> impl Iterator<Item = &Collective> + '_ {
        self.of_issuer.of(instruction).map(|c| &self.list[c as usize])
    }

    /// The operation whose end a change of a semaphore tells of.
    pub(super) fn told_by(&self, track: &SyncTrack, update: usize) -> Option<&Collective> {
        if track.owner != OWNER || track.value(update) == 0 {
            return None;
        }
        let time = track.time(update);
        let after = self.list.partition_point(|c| c.end <= end_of(time, super::causes::TOLERANCE));
        let last = self.list.get(after.checked_sub(1)?)?;
        (last.end.abs_diff(time) <= AT_END).then_some(last)
    }
}

impl CauseIndex {
    /// Reads the collective operations.
    pub(super) fn add_collectives(
        &mut self,
        store: &Store,
        events: &EventTable,
        cancel: &AtomicBool,
    ) -> Result<(), Problem> {
        let Some(table) = store.table_index(TABLE) else { return Ok(()) };
        let found = &store.events[usize::from(table)];
        let rows = found.rows.iter().max().map_or(0, |m| *m as usize + 1);
        let triggers = Mutex::new(vec![Trigger::default(); rows]);
        let columns = [("trigger_engine", Want::Text), ("trigger_start_ts", Want::Integer)];
        store.scan(&found.name, &columns, &|batch: Batch| {
            let mut triggers = triggers.lock().unwrap_or_else(PoisonError::into_inner);
            for i in 0..batch.rows {
                if let Some(trigger) = triggers.get_mut(batch.first_row as usize + i) {
                    trigger.engine = batch.columns[0].text(i).and_then(Engine::parse);
                    trigger.time = batch.columns[1].integer(i);
                }
            }
            !cancel.load(Ordering::Relaxed)
        })?;
        let triggers = triggers.into_inner().unwrap_or_else(PoisonError::into_inner);
        let syncs = self.syncs.iter().filter(|(_, track)| track.owner == OWNER).map(|(key, _)| *key).collect();
        let issuer = |trigger: &Trigger| {
            let (engine, time) = (trigger.engine?, trigger.time?);
            let streams = self.streams.iter().filter(|s| s.engine == Some(engine));
            let began = streams.flat_map(|s| {
                let from =
                    s.first + partition((s.end - s.first) as usize, |i| events.start(s.first + i as u32) < time) as u32;
                (from..s.end).take_while(|&e| events.start(e) == time)
            });
            // A write to a doorbell does it; of several that began at once, such a one.
            began
                .filter(|&e| !self.class(events, e).passes)
                .min_by_key(|&e| (!events.event_name(e).ends_with("WRITE"), e))
        };
        self.collectives = Collectives::new((table, found), &triggers, syncs, issuer);
        Ok(())
    }
}

impl Asking<'_> {
    /// What had to happen before a collective operation could begin.
    pub(super) fn of_collective(&self, event: EventRef) -> Causes {
        let mut found = Causes::default();
        let Some(own) = self.index.collectives.of_event(event) else { return found };
        if let Some(issuer) = own.issuer {
            let (how, actor) = (How::Trigger, Some(Actor::Instruction(issuer)));
            let satisfied = self.events.end(issuer).min(own.start);
            found.causes.push(Cause { how, actor, satisfied, basis: Basis::Recorded });
        }
        let before = own.before.and_then(|b| self.index.collectives.list.get(b as usize));
        if let Some(before) = before.filter(|b| b.end <= own.start) {
            let (how, actor) = (How::Order, Some(Actor::Other(before.event)));
            found.causes.push(Cause { how, actor, satisfied: before.end, basis: Basis::Derived });
        }
        found.sorted()
    }

    /// The changes of semaphores that tell of the end of a collective operation.
    pub(super) fn told_of(&self, event: EventRef) -> Vec<(SyncKey, usize)> {
        let collectives = &self.index.collectives;
        let Some(own) = collectives.of_event(event) else { return Vec::new() };
        let mut found = Vec::new();
        for key in &collectives.syncs {
            let Some(track) = self.index.syncs.get(key) else { continue };
            let near = track.changes_until(own.end.saturating_sub(AT_END as i64))
                ..track.changes_until(end_of(own.end, AT_END));
            let tells = |i: &usize| collectives.told_by(track, *i).is_some_and(|c| c.event == event);
            found.extend(near.filter(tells).map(|i| (*key, i)));
        }
        found
    }
}
