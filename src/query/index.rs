//! What the questions of this room about waiting need beyond the hot columns: parsed operands, semaphores over time,
//! transfers with what started them. Built once per profile, off the UI thread; afterwards every answer is quick.
//!
//! Memory: 8 bytes per instruction, about as much again per distinct use of semaphores and PSUM, 20 per change of a
//! semaphore, 60 per transfer; a profile of 10 million instructions takes a few hundred megabytes.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow::buffer::ScalarBuffer;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::collectives::Collectives;
use super::operands::Operands;
use super::packets::Packets;
use super::semaphores::{Sample, SyncKey, SyncTrack};
use super::sync::{self, SyncId};
use super::transfers::{self, Issue, Transfers};
use crate::model::opcode::is_wait;
use crate::model::{Engine, Nanos};
use crate::store::{Batch, EventRef, EventTable, Group, LOST_RECORDS, LabelKind, Problem, Store, Want, flag};

/// The instructions of one engine, in order of start: neighbouring events of the table.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Position in the groups of the table.
    pub group: u32,
    /// First event.
    pub first: u32,
    /// One behind the last event.
    pub end: u32,
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// The engine.
    pub engine: Option<Engine>,
    /// By how much an instruction on the data path usually begins before the one ahead of it there ends, where they
    /// overlap: the engine has then taken in all data of the one ahead. Of the Tensor Engine only matrix multiplications
    /// count; weights are loaded beside them.
    pub overlap: u64,
}

/// Opcodes in classes that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Class {
    /// Only waits or does nothing: never an answer.
    pub passes: bool,
    /// Waits until the engine has finished what it was given.
    pub drains: bool,
    /// A matrix multiplication.
    pub matmul: bool,
    /// Sets a range of semaphores to 0.
    pub clears: bool,
}

/// See the module.
pub struct CauseIndex {
    /// Position of Instruction in [`Store::events`].
    pub(super) table: u16,
    /// What the instructions say themselves.
    pub operands: Operands,
    /// Per opcode key.
    classes: Vec<Class>,
    /// The engines.
    pub streams: Vec<Stream>,
    /// Semaphores and events.
    pub syncs: FxHashMap<SyncKey, SyncTrack>,
    /// Who changes semaphores, as recorded; the first entry stands for "not recorded".
    pub sources: Vec<String>,
    /// Transfers.
    pub transfers: Transfers,
    /// The packets of the transfers.
    pub packets: Packets,
    /// Collective operations.
    pub collectives: Collectives,
    /// Instructions that use a PSUM bank, by core and bank, in order of start; empty where Flow has the links itself.
    pub(super) bank_uses: FxHashMap<(Option<i64>, u8), ScalarBuffer<u32>>,
    /// Whether names need the core to tell things apart.
    pub(super) several_cores: bool,
    /// Starts of the executions, in order.
    executions: Vec<Nanos>,
    /// Stretches in which changes of semaphores are missing, by core.
    lost: Vec<(Option<i64>, Nanos, Nanos)>,
    /// Whether the profile records changes of semaphores at all.
    pub has_updates: bool,
    /// What is not recorded, and what would record it; what could not be put together.
    pub notes: Vec<String>,
}

/// The kind of Flow edges that link uses of one PSUM bank.
pub const SAME_BANK: &str = "SAME_PSUM_BANK";
/// What Neuron Explorer needs to record dynamic transfers.
pub const RECORD_DGE: &str = "set NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1 when capturing";

impl CauseIndex {
    /// Reads what is needed. Takes time in proportion to the profile: call it off the UI thread.
    ///
    /// # Errors
    /// Says which file could not be read, that it was cancelled, or that the profile has no instructions.
    pub fn build(store: &Store, cancel: &AtomicBool) -> Result<CauseIndex, Problem> {
        CauseIndex::build_reporting(store, cancel, &|_| {})
    }

    /// The same; `report` is told, from any thread, how many hundredths are done.
    ///
    /// # Errors
    /// As [`CauseIndex::build`].
    pub fn build_reporting(
        store: &Store,
        cancel: &AtomicBool,
        report: &(dyn Fn(usize) + Sync),
    ) -> Result<CauseIndex, Problem> {
        let mut index = CauseIndex::empty(store)?;
        let events = index.events(store);
        // The shares of a profile of ten million instructions.
        let clears = |e: u32| index.class(events, e).clears;
        let read = |rows: usize| report(rows.saturating_mul(60) / events.len());
        index.operands = Operands::read(store, events, &clears, cancel, &read)?;
        index.add_streams(events);
        report(70);
        index.read_updates(store, cancel)?;
        index.add_users(events);
        report(85);
        index.add_transfers(store, events, cancel)?;
        report(90);
        index.packets = Packets::new(store, &index.transfers, cancel)?;
        index.add_collectives(store, events, cancel)?;
        index.add_bank_uses(store, events);
        index.add_notes(store);
        match cancel.load(Ordering::Relaxed) {
            true => Err(problem(store, "looking for causes was cancelled")),
            false => Ok(index),
        }
    }

    /// An index that holds what the store tells without reading.
    pub(super) fn empty(store: &Store) -> Result<CauseIndex, Problem> {
        let table = store.table_index("Instruction").filter(|&t| !store.events[usize::from(t)].is_empty());
        let Some(table) = table else {
            return Err(problem(store, "records no instructions, so nothing tells what waited for what"));
        };
        let opcodes = store.events[usize::from(table)].label(LabelKind::Name);
        Ok(CauseIndex {
            table,
            operands: Operands::default(),
            classes: opcodes.map_or_else(Vec::new, |l| l.entries.iter().map(|o| class(o)).collect()),
            streams: Vec::new(),
            syncs: FxHashMap::default(),
            sources: vec![String::new()],
            transfers: Transfers::default(),
            packets: Packets::default(),
            collectives: Collectives::default(),
            bank_uses: FxHashMap::default(),
            several_cores: store.cores() > 1,
            executions: executions(store),
            lost: lost(store),
            has_updates: false,
            notes: Vec::new(),
        })
    }

    fn add_streams(&mut self, events: &EventTable) {
        for (group, found) in (0..).zip(&events.groups) {
            let first = found.sequence.first_event();
            let end = first.saturating_add(found.sequence.len() as u32);
            let (core, engine) = (found.key.core, found.key.engine);
            self.streams.push(Stream { group, first, end, core, engine, overlap: 0 });
        }
        let overlaps: Vec<u64> = self.streams.par_iter().map(|stream| self.usual_overlap(events, stream)).collect();
        self.streams.iter_mut().zip(overlaps).for_each(|(stream, overlap)| stream.overlap = overlap);
    }

    /// The median overlap of neighbours on the data path of an engine.
    fn usual_overlap(&self, events: &EventTable, stream: &Stream) -> u64 {
        let mut overlaps = Vec::new();
        let mut last: Option<u32> = None;
        for e in stream.first..stream.end {
            if !self.on_path(events, stream, e) {
                continue;
            }
            if let Some(before) = last {
                let overlap = crate::model::length(events.start(e), events.end(before));
                if overlap > 0 && events.end(e) > events.end(before) {
                    overlaps.push(overlap);
                }
            }
            last = Some(e);
        }
        let middle = overlaps.len() / 2;
        if overlaps.is_empty() { 0 } else { *overlaps.select_nth_unstable(middle).1 }
    }

    /// Whether an instruction streams tensors through its engine.
    pub(super) fn on_path(&self, events: &EventTable, stream: &Stream, e: u32) -> bool {
        let class = self.class(events, e);
        let streams = class.matmul || stream.engine != Some(Engine::Tensor);
        events.flags[e as usize] & flag::SEQUENCER == 0 && !class.passes && streams
    }

    fn read_updates(&mut self, store: &Store, cancel: &AtomicBool) -> Result<(), Problem> {
        let Some(table) = store.table("SemaphoreUpdate") else { return Ok(()) };
        let rows = table.rows.iter().max().map_or(0, |m| *m as usize + 1);
        let values: Vec<AtomicI32> = (0..rows).map(|_| AtomicI32::new(0)).collect();
        let by: Vec<AtomicU8> = (0..rows).map(|_| AtomicU8::new(0)).collect();
        let sources = Mutex::new(vec![String::new()]);
        let columns = [("value", Want::Integer), ("update_source", Want::Text)];
        store.scan(&table.name, &columns, &|batch: Batch| {
            for i in 0..batch.rows {
                let row = batch.first_row as usize + i;
                let (Some(value), Some(source)) = (values.get(row), by.get(row)) else { break };
                let recorded = batch.columns[0].integer(i).unwrap_or(0);
                let recorded = recorded.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
                value.store(recorded, Ordering::Relaxed);
                if let Some(text) = batch.columns[1].text(i).filter(|t| !t.is_empty()) {
                    let mut sources = sources.lock().unwrap_or_else(PoisonError::into_inner);
                    let place = sources.iter().position(|s| s == text).unwrap_or_else(|| {
                        sources.push(text.to_owned());
                        sources.len() - 1
                    });
                    source.store(u8::try_from(place).unwrap_or(0), Ordering::Relaxed);
                }
            }
            !cancel.load(Ordering::Relaxed)
        })?;
        self.sources = sources.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.has_updates = !table.is_empty();
        for group in &table.groups {
            let Some((sync, owner)) = sync::parse_id(&group.key.name) else { continue };
            let picks = group.sequence.picks();
            let samples: Vec<Sample> = (0..picks.len())
                .map(|i| {
                    let event = picks.at(i);
                    let row = table.rows[event as usize] as usize;
                    let value = values[row].load(Ordering::Relaxed);
                    Sample { time: table.start(event), value, source: by[row].load(Ordering::Relaxed), event }
                })
                .collect();
            let track = self.syncs.entry(SyncKey { core: group.key.core, sync }).or_default();
            track.owner = owner.to_owned();
            track.record(&samples);
        }
        Ok(())
    }

    /// Who raises each semaphore when they complete, who waits for it, and where ranges are cleared.
    fn add_users(&mut self, events: &EventTable) {
        let mut clears: Vec<(Option<i64>, Nanos, (u16, u16))> = Vec::new();
        let mut users: FxHashMap<SyncKey, (Vec<u32>, Vec<u32>)> = FxHashMap::default();
        for stream in &self.streams {
            let key = |sync| SyncKey { core: stream.core, sync };
            for e in (stream.first..stream.end).filter(|&e| self.operands.any(e)) {
                let said = &self.operands.spec(e).sync;
                for update in &said.updates {
                    users.entry(key(update.sync)).or_default().0.push(e);
                }
                for wait in self.operands.waits(e) {
                    users.entry(key(wait.sync)).or_default().1.push(e);
                }
                if let Some(range) = said.clears {
                    clears.push((stream.core, events.end(e), range));
                }
            }
        }
        let mut users: Vec<_> = users.into_iter().collect();
        users.par_iter_mut().for_each(|(_, (raisers, waiters))| {
            raisers.sort_by_key(|&e| events.end(e));
            raisers.dedup();
            waiters.sort_by_key(|&e| events.start(e));
            waiters.dedup();
        });
        for (key, (raisers, waiters)) in users {
            let track = self.syncs.entry(key).or_default();
            (track.raisers, track.waiters) = (raisers.into(), waiters.into());
        }
        clears.sort_by_key(|c| c.1);
        for (key, track) in self.syncs.iter_mut().filter(|(key, _)| !key.sync.event) {
            let covers =
                |c: &&(Option<i64>, Nanos, (u16, u16))| c.0 == key.core && (c.2.0..=c.2.1).contains(&key.sync.number);
            let times: Vec<Nanos> = clears.iter().filter(covers).map(|c| c.1).collect();
            track.clear_at(&times);
        }
    }

    fn add_transfers(&mut self, store: &Store, events: &EventTable, cancel: &AtomicBool) -> Result<(), Problem> {
        let whole = store.table_index("DmaPacketAggregated");
        if let Some(table) = whole {
            let found = &store.events[usize::from(table)];
            let rows = found.rows.iter().max().map_or(0, |m| *m as usize + 1);
            let syncs = Mutex::new(vec![None; rows]);
            store.scan(&found.name, &[("semaphore_id", Want::Text)], &|batch: Batch| {
                let mut syncs = syncs.lock().unwrap_or_else(PoisonError::into_inner);
                for i in 0..batch.rows {
                    let text = batch.columns[0].text(i).filter(|t| *t != "-1");
                    let sync = text.and_then(sync::parse_id).map(|(sync, _)| sync);
                    if let Some(place) = syncs.get_mut(batch.first_row as usize + i) {
                        *place = sync;
                    }
                }
                !cancel.load(Ordering::Relaxed)
            })?;
            let syncs = syncs.into_inner().unwrap_or_else(PoisonError::into_inner);
            let transfers = transfers::recorded(store, table, &syncs);
            // Rows that nothing started and that raise nothing are sums over a queue, as older JSON has them.
            if transfers.list.iter().any(|t| t.issuer.is_some() || t.sync.is_some()) {
                self.transfers = transfers;
            }
        }
        if self.transfers.list.is_empty()
            && let Some(packets) = store.table_index("DmaPacket")
        {
            let issues = self.issues(events);
            let (transfers, problems) = transfers::derived(store, packets, &issues);
            self.transfers = transfers;
            self.notes.extend(problems);
        }
        let mut by_sync: FxHashMap<SyncKey, Vec<u32>> = FxHashMap::default();
        for (t, transfer) in (0..).zip(self.transfers.list.iter()) {
            if let Some(sync) = transfer.sync {
                let core = self.transfers.queues[transfer.queue as usize].core;
                by_sync.entry(SyncKey { core, sync }).or_default().push(t);
            }
        }
        let mut raised: FxHashMap<u32, i32> = FxHashMap::default();
        for (key, mut list) in by_sync {
            list.sort_by_key(|&t| self.transfers.get(t).end);
            let rise = self.syncs.get(&key).map_or(0, SyncTrack::rise);
            // What all of them did in equal parts.
            let count = list.len() as u64;
            let each = i32::try_from(rise / count).ok().filter(|by| *by > 0 && rise.is_multiple_of(count));
            for &t in &list {
                let issuer = self.transfers.get(t).issuer;
                let said =
                    issuer.and_then(|i| self.operands.spec(i).sync.transfer).filter(|(sync, _)| *sync == key.sync);
                if let Some(by) = said.map(|(_, by)| by.max(1)).or(each) {
                    raised.insert(t, by);
                }
            }
            self.syncs.entry(key).or_default().transfers = list.into();
        }
        self.transfers.set_by(|t, x| if x.by == 1 { raised.get(&t).copied().unwrap_or(1) } else { x.by });
        Ok(())
    }

    /// The instructions that start transfers and name the semaphore, in order of start.
    fn issues(&self, events: &EventTable) -> Vec<Issue> {
        let mut issues = Vec::new();
        for stream in &self.streams {
            for event in stream.first..stream.end {
                let Some((sync, by)) = self.operands.spec(event).sync.transfer else { continue };
                let track = self.syncs.get(&SyncKey { core: stream.core, sync });
                let queue = track.map_or_else(String::new, |t| t.owner.clone());
                issues.push(Issue { event, core: stream.core, queue, sync, by });
            }
        }
        issues.sort_by_key(|issue| events.start(issue.event));
        issues
    }

    fn add_bank_uses(&mut self, store: &Store, events: &EventTable) {
        if store.graph.as_ref().is_some_and(|g| g.has_kind(SAME_BANK)) {
            return;
        }
        let mut uses: FxHashMap<(Option<i64>, u8), Vec<u32>> = FxHashMap::default();
        for stream in &self.streams {
            for e in stream.first..stream.end {
                let banks = self.operands.spec(e).banks.all();
                for bank in (0..8).filter(|bank| banks >> bank & 1 != 0) {
                    uses.entry((stream.core, bank)).or_default().push(e);
                }
            }
        }
        for (key, mut uses) in uses {
            uses.sort_by_key(|&e| (events.start(e), events.rows[e as usize]));
            self.bank_uses.insert(key, uses.into());
        }
    }

    fn add_notes(&mut self, store: &Store) {
        if !self.has_updates {
            let note = "changes of semaphores are not recorded: waits for them cannot be told from idling; a profile of the same capture by Neuron Explorer 2.2x or later has them";
            self.notes.push(note.to_owned());
        }
        if store.graph.is_none() {
            self.notes.push("dependencies are not recorded (no Flow table)".to_owned());
        }
        let any = |name: &str| store.table(name).is_some_and(|t| !t.is_empty());
        if self.transfers.list.is_empty() && !self.transfers_issued() {
            return;
        }
        if self.transfers.list.is_empty() && !any("DmaPacket") {
            self.notes.push(format!("transfers are not recorded: {RECORD_DGE}"));
        }
    }

    fn transfers_issued(&self) -> bool {
        self.operands.specs.iter().any(|s| s.sync.transfer.is_some())
    }

    /// Which execution a moment belongs to, counted from the first.
    pub(super) fn execution(&self, time: Nanos) -> usize {
        self.executions.partition_point(|start| *start <= time)
    }

    /// Whether changes of semaphores of a core are missing somewhere between two moments.
    pub(super) fn lost_between(&self, core: Option<i64>, from: Nanos, to: Nanos) -> bool {
        let first = self.lost.partition_point(|(c, _, end)| (*c, *end) <= (core, from));
        self.lost.get(first).is_some_and(|(c, start, _)| *c == core && *start < to)
    }

    /// The table of instructions.
    #[must_use]
    pub fn events<'a>(&self, store: &'a Store) -> &'a EventTable {
        &store.events[usize::from(self.table)]
    }

    /// An instruction as an event.
    #[must_use]
    pub fn event(&self, e: u32) -> EventRef {
        EventRef { table: self.table, event: e }
    }

    pub(super) fn class(&self, events: &EventTable, e: u32) -> Class {
        let label = events.label(LabelKind::Name);
        label.and_then(|l| self.classes.get(l.key(e as usize) as usize)).copied().unwrap_or_default()
    }

    /// The stream of an instruction. Panics when there are no instructions.
    #[must_use]
    pub fn stream_of(&self, e: u32) -> &Stream {
        &self.streams[self.stream_number(e)]
    }

    /// The position of an instruction's stream in [`CauseIndex::streams`].
    #[must_use]
    pub fn stream_number(&self, e: u32) -> usize {
        self.streams.partition_point(|s| s.first <= e).saturating_sub(1)
    }

    /// A semaphore or event by the core of an instruction.
    #[must_use]
    pub fn sync(&self, core: Option<i64>, sync: SyncId) -> Option<&SyncTrack> {
        self.syncs.get(&SyncKey { core, sync })
    }

    /// A semaphore as the vendor writes it: `S[34] (qSyncDynamicHW)`.
    #[must_use]
    pub fn sync_name(&self, core: Option<i64>, sync: SyncId) -> String {
        match self.sync(core, sync).map_or("", |t| t.owner.as_str()) {
            "" => sync.to_string(),
            owner => format!("{sync} ({owner})"),
        }
    }
}

fn problem(store: &Store, message: &str) -> Problem {
    Problem { path: store.info.path.clone(), message: message.into() }
}

fn executions(store: &Store) -> Vec<Nanos> {
    let Some(table) = store.table("ExecutionInfo") else { return Vec::new() };
    let mut starts: Vec<Nanos> = (0..table.len() as u32).map(|e| table.start(e)).collect();
    starts.sort_unstable();
    starts
}

/// Stretches in which records are missing; those of a core follow and do not overlap each other.
fn lost(store: &Store) -> Vec<(Option<i64>, Nanos, Nanos)> {
    let Some(table) = store.table(LOST_RECORDS) else { return Vec::new() };
    let of_group = |group: &Group| {
        let (core, first) = (group.key.core, group.sequence.first_event());
        let events = first..first.saturating_add(group.sequence.len() as u32);
        events.map(|e| (core, table.start(e), table.end(e))).collect::<Vec<_>>()
    };
    let mut lost: Vec<_> = table.groups.iter().flat_map(of_group).collect();
    lost.sort_unstable();
    lost
}

fn class(opcode: &str) -> Class {
    let bare = opcode.strip_prefix("PSEUDO_").unwrap_or(opcode);
    Class {
        passes: is_wait(opcode) || matches!(bare, "DRAIN" | "NOP"),
        drains: bare == "DRAIN",
        matmul: crate::model::opcode::is_matmul(opcode),
        clears: bare == "EVENT_SEMAPHORE_RANGE_CLEAR",
    }
}
