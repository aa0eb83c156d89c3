//! What had to happen before an instruction or a transfer could start, and which of it came last.
//!
//! An instruction waits for its engine (the one ahead must have been issued, and the data path must have taken in its
//! data), for the conditions in its operands, and for what it depends on; a transfer for the instruction that issues it
//! and for those ahead of it. The cause that was satisfied last is the one that bound the start; what passes until the
//! start is dispatch. Instructions that only wait are looked through: their own causes are the answer.

use super::index::CauseIndex;
use super::semaphores::{Met, SyncKey, SyncTrack};
use super::sync::{Condition, SyncId};
use super::transfers::Transfer;
use crate::model::{Engine, Nanos, end_of, length};
use crate::store::{EventRef, EventTable, LabelKind, Store};

/// Clocks of engines, semaphores and DMA engines agree to within so many nanoseconds.
pub const TOLERANCE: u64 = 10;
/// An engine goes on so long after the change of a semaphore that it waited for (23 or 24 on real captures).
const WAKING: u64 = 30;
/// How far back on its engine an instruction looks for the one ahead of it on the same path.
const LOOK_BACK: u32 = 16;
/// Dependencies of one instruction that are looked at.
const MOST_DEPENDENCIES: usize = 4_096;

/// How an answer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Basis {
    /// The profile says so.
    Recorded,
    /// It follows from what is recorded.
    Derived,
    /// It is likely, by how the hardware works.
    Inferred,
}

impl Basis {
    /// The word in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Basis::Recorded => "recorded",
            Basis::Derived => "derived",
            Basis::Inferred => "inferred",
        }
    }
}

/// Something that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Actor {
    /// An instruction, as an event of the index's table.
    Instruction(u32),
    /// A transfer, as a position in [`super::transfers::Transfers::list`].
    Transfer(u32),
    /// Any other event: it may have dependencies, but no causes, unless it is a collective operation.
    Other(EventRef),
}

/// Why a cause holds something back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The engine's previous instruction had to end.
    Order,
    /// The engine's previous instruction, which still runs, had to be issued.
    Issue,
    /// The previous instruction on the same path, which still runs, had to have taken in its data.
    Occupied,
    /// A condition on a semaphore or event, and the change that met it where that is recorded.
    Semaphore {
        /// The condition.
        condition: Condition,
        /// The core whose semaphore it is.
        core: Option<i64>,
        /// Position in the track.
        update: Option<u32>,
    },
    /// A dependency that the profile lists, by the position of its kind in [`crate::store::Graph::kinds`].
    Dependency(u8),
    /// A transfer's instruction had to issue it.
    Trigger,
    /// The transfer ahead on the same queue had to make room.
    Queued,
}

/// One thing that had to happen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Why.
    pub how: How,
    /// What did it; `None` where only the change of a semaphore is recorded.
    pub actor: Option<Actor>,
    /// Since when this no longer held the start back.
    pub satisfied: Nanos,
    /// How this is known.
    pub basis: Basis,
}

/// All that held something back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// What had to happen, the last first; that one bound the start.
    pub causes: Vec<Cause>,
    /// Conditions of which it is not recorded when or by what they were met.
    pub unrecorded: Vec<Condition>,
}

impl Causes {
    /// The cause that was satisfied last.
    #[must_use]
    pub fn binding(&self) -> Option<&Cause> {
        self.causes.first()
    }

    /// How much later each cause could have been satisfied without effect, given the binding one.
    #[must_use]
    pub fn slack(&self, cause: &Cause) -> u64 {
        self.binding().map_or(0, |b| length(cause.satisfied, b.satisfied))
    }

    /// When an engine had taken in its data is an estimate, and no better than the record of a semaphore that changed just
    /// so long before the start as an engine takes to go on: it counts as no later than that.
    fn prefer_recorded(&mut self, start: Nanos) {
        let woken = |c: &&Cause| matches!(c.how, How::Semaphore { .. }) && length(c.satisfied, start) <= WAKING;
        if let Some(change) = self.causes.iter().filter(woken).map(|c| c.satisfied).max() {
            for cause in self.causes.iter_mut().filter(|c| c.how == How::Occupied) {
                cause.satisfied = cause.satisfied.min(change);
            }
        }
    }

    pub(super) fn sorted(mut self) -> Causes {
        // Of two at once, the more telling one.
        let rank = |how: &How| match how {
            How::Semaphore { .. } => 0,
            How::Dependency(_) => 1,
            How::Queued => 2,
            How::Trigger | How::Order => 3,
            How::Occupied => 4,
            How::Issue => 5,
        };
        self.causes.sort_by(|a, b| b.satisfied.cmp(&a.satisfied).then(rank(&a.how).cmp(&rank(&b.how))));
        self
    }
}

/// Answers about causes: a store with its index.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The profile.
    pub store: &'a Store,
    /// Its index.
    pub index: &'a CauseIndex,
    pub(super) events: &'a EventTable,
}

impl<'a> Asking<'a> {
    /// Answers about `store`, of which `index` was built.
    #[must_use]
    pub fn new(store: &'a Store, index: &'a CauseIndex) -> Asking<'a> {
        Asking { store, index, events: index.events(store) }
    }

    /// The actor that an event is: an instruction, a transfer, or the transfer that a packet belongs to.
    #[must_use]
    pub fn actor(&self, event: EventRef) -> Actor {
        if event.table == self.index.table {
            return Actor::Instruction(event.event);
        }
        let own = self.index.transfers.of_event(event).or_else(|| self.index.packets.transfer_of(event));
        own.map_or(Actor::Other(event), Actor::Transfer)
    }

    /// The event that stands for an actor.
    #[must_use]
    pub fn event(&self, actor: Actor) -> EventRef {
        match actor {
            Actor::Instruction(e) => self.index.event(e),
            Actor::Transfer(t) => self.index.transfers.get(t).event,
            Actor::Other(event) => event,
        }
    }

    /// When an actor starts and ends.
    #[must_use]
    pub fn span(&self, actor: Actor) -> (Nanos, Nanos) {
        match actor {
            Actor::Instruction(e) => (self.events.start(e), self.events.end(e)),
            Actor::Transfer(t) => {
                let transfer = self.index.transfers.get(t);
                (transfer.start, transfer.end)
            }
            Actor::Other(event) => {
                let table = self.store.table_of(event);
                (table.start(event.event), table.end(event.event))
            }
        }
    }

    /// The core of an actor.
    #[must_use]
    pub fn core(&self, actor: Actor) -> Option<i64> {
        match actor {
            Actor::Instruction(e) => self.index.stream_of(e).core,
            Actor::Transfer(t) => self.index.transfers.queue_of(t).core,
            Actor::Other(event) => self.store.table_of(event).group_of(event.event).and_then(|g| g.key.core),
        }
    }

    /// Whether an actor only waits, and so is never an answer.
    #[must_use]
    pub fn passes(&self, actor: Actor) -> bool {
        matches!(actor, Actor::Instruction(e) if self.index.class(self.events, e).passes)
    }

    /// All that held back the start of an actor.
    #[must_use]
    pub fn causes(&self, actor: Actor) -> Causes {
        match actor {
            Actor::Instruction(e) => self.of_instruction(e),
            Actor::Transfer(t) => self.of_transfer(t),
            Actor::Other(event) => self.of_collective(event),
        }
    }

    fn of_instruction(&self, e: u32) -> Causes {
        let (events, index) = (self.events, self.index);
        let start = events.start(e);
        let limit = end_of(start, TOLERANCE);
        let stream = index.stream_of(e);
        let mut found = Causes { causes: Vec::with_capacity(8), unrecorded: Vec::new() };
        if let Some(before) = e.checked_sub(1).filter(|&b| b >= stream.first) {
            let ended = events.end(before) <= limit;
            let (how, satisfied) =
                if ended { (How::Order, events.end(before).min(start)) } else { (How::Issue, events.start(before)) };
            let actor = Some(Actor::Instruction(before));
            let basis = if ended { Basis::Recorded } else { Basis::Derived };
            found.causes.push(Cause { how, actor, satisfied, basis });
        }
        found.causes.extend(self.occupied(e));
        if index.operands.any(e) {
            for condition in index.operands.waits(e) {
                match self.met(stream.core, &condition, start) {
                    Some(cause) => found.causes.push(cause),
                    None => found.unrecorded.push(condition),
                }
            }
        }
        found.causes.extend(self.dependencies(e, start));
        found.prefer_recorded(start);
        found.sorted()
    }

    /// The instruction ahead on the engine's data path, where another lies between or it still runs.
    fn occupied(&self, e: u32) -> Option<Cause> {
        let (events, index) = (self.events, self.index);
        let stream = index.stream_of(e);
        if !index.on_path(events, stream, e) {
            return None;
        }
        let oldest = stream.first.max(e.saturating_sub(LOOK_BACK));
        let ahead = (oldest..e).rev().find(|&b| index.on_path(events, stream, b))?;
        let (start, end) = (events.start(e), events.end(ahead));
        let actor = Some(Actor::Instruction(ahead));
        if end <= end_of(start, TOLERANCE) {
            let (how, satisfied, basis) = (How::Order, end.min(start), Basis::Recorded);
            return (ahead + 1 != e).then_some(Cause { how, actor, satisfied, basis });
        }
        let satisfied = end.saturating_sub_unsigned(stream.overlap).max(events.start(ahead)).min(start);
        Some(Cause { how: How::Occupied, actor, satisfied, basis: Basis::Inferred })
    }

    /// What met a condition by `time`; `None` where that is not recorded.
    pub(super) fn met(&self, core: Option<i64>, condition: &Condition, time: Nanos) -> Option<Cause> {
        let track = self.index.sync(core, condition.sync)?;
        if condition.sync.event && track.is_empty() {
            return self.event_set(core, track, condition, time);
        }
        let limit = end_of(time, TOLERANCE);
        let update = match track.met(condition, limit) {
            Met::By(update) => Some(update),
            Met::Not if condition.sync.event => track.met_and_undone(condition, limit),
            Met::Always | Met::Not | Met::Unknown => None,
        };
        update.map(|update| self.by_update(core, track, condition, update, time))
    }

    /// The instruction that set an event whose changes are not recorded.
    fn event_set(&self, core: Option<i64>, track: &SyncTrack, condition: &Condition, time: Nanos) -> Option<Cause> {
        let after = track.raisers.partition_point(|&e| self.events.end(e) <= end_of(time, TOLERANCE));
        let setter = track.raisers[after.checked_sub(1)?];
        Some(Cause {
            how: How::Semaphore { condition: *condition, core, update: None },
            actor: Some(Actor::Instruction(setter)),
            satisfied: self.events.end(setter).min(time),
            basis: Basis::Inferred,
        })
    }

    fn by_update(
        &self,
        core: Option<i64>,
        track: &SyncTrack,
        condition: &Condition,
        update: usize,
        time: Nanos,
    ) -> Cause {
        let (actor, recorded) = self.updater(condition.sync, track, update);
        Cause {
            how: How::Semaphore { condition: *condition, core, update: Some(update as u32) },
            actor,
            satisfied: track.time(update).min(time),
            basis: match recorded || actor.is_none() {
                // What is missing may have changed it back and forth.
                _ if self.index.lost_between(core, track.time(update), time) => Basis::Inferred,
                true => Basis::Recorded,
                false => Basis::Derived,
            },
        }
    }

    /// Who made a change of a semaphore, and whether the profile records which engine it was.
    #[must_use]
    pub fn updater(&self, sync: SyncId, track: &SyncTrack, update: usize) -> (Option<Actor>, bool) {
        let time = track.time(update);
        let source = self.index.sources.get(usize::from(track.source(update))).map_or("", String::as_str);
        let engine = Engine::parse(source);
        let may = |e: u32| engine.is_none_or(|engine| self.index.stream_of(e).engine == Some(engine));
        let by_instruction = || track.raiser(time, |e| self.events.end(e), may).map(Actor::Instruction);
        let by_transfer = || {
            let transfers = &self.index.transfers;
            let last = track.transfer(end_of(time, TOLERANCE), |t| transfers.get(t).end);
            // Rings that finish early raise it while the transfer still runs.
            let running = || {
                let after = track.transfers.partition_point(|&t| transfers.get(t).end <= time);
                track.transfers[after..].iter().take(4).copied().find(|&t| transfers.get(t).start <= time)
            };
            let by = |t: u32| transfers.get(t).by;
            let whole = |t: u32| track.value(update).checked_rem(by(t)) == Some(0);
            last.filter(|&t| whole(t)).or_else(running).or(last).map(Actor::Transfer)
        };
        let by_collective = || self.index.collectives.told_by(track, update).map(|c| Actor::Other(c.event));
        match engine {
            Some(_) => (by_instruction().or_else(|| self.last_to_arrive(sync, track.time(update))), true),
            None if source.is_empty() => (by_instruction().or_else(by_transfer).or_else(by_collective), false),
            None => (by_transfer().or_else(by_instruction).or_else(by_collective), true),
        }
    }

    /// What the profile lists as to be waited for, as far as it was over by then.
    fn dependencies(&self, e: u32, start: Nanos) -> impl Iterator<Item = Cause> + '_ {
        let graph = self.store.graph.as_ref();
        let node = graph.and_then(|g| g.node(&self.events.name, self.events.rows[e as usize]));
        let edges = graph.zip(node).into_iter().flat_map(|(g, n)| g.predecessors(n).take(MOST_DEPENDENCIES));
        edges.filter_map(move |(node, kind)| {
            let actor = self.actor_of_node(node).filter(|a| *a != Actor::Instruction(e))?;
            let (began, ended) = self.span(actor);
            let kind_name = graph?.kinds.get(usize::from(kind)).map_or("", String::as_str);
            // What is only ordered need not have ended.
            let satisfied = if kind_name.starts_with("ORDER") { began } else { ended };
            (satisfied <= end_of(start, TOLERANCE)).then(|| Cause {
                how: How::Dependency(kind),
                actor: Some(actor),
                satisfied: satisfied.min(start),
                basis: Basis::Recorded,
            })
        })
    }

    /// The actor of a node of the graph.
    #[must_use]
    pub fn actor_of_node(&self, node: u32) -> Option<Actor> {
        let (table, row) = self.store.graph.as_ref()?.row(node)?;
        if table == self.events.name {
            return self.events.event_at_row(row).map(Actor::Instruction);
        }
        let table = self.store.table_index(table)?;
        let event = EventRef { table, event: self.store.events[usize::from(table)].event_at_row(row)? };
        Some(self.index.transfers.of_event(event).map_or(Actor::Other(event), Actor::Transfer))
    }

    fn of_transfer(&self, t: u32) -> Causes {
        let transfers = &self.index.transfers;
        let transfer = transfers.get(t);
        let queue = transfers.queue_of(t);
        let mut found = Causes::default();
        let issued = transfer.issuer.map(|i| (i, self.events.start(i))).filter(|(_, at)| *at <= transfer.start);
        // With nothing in the way it would have started then.
        let ready = issued.map_or(transfer.start, |(_, at)| end_of(at, queue.launch).min(transfer.start));
        if let Some((issuer, _)) = issued {
            let basis = if transfer.derived { Basis::Derived } else { Basis::Recorded };
            let actor = Some(Actor::Instruction(issuer));
            found.causes.push(Cause { how: How::Trigger, actor, satisfied: ready, basis });
        }
        found.causes.extend(self.ahead(t, &transfer, ready));
        found.causes.extend(self.of_transfer_dependencies(&transfer));
        found.sorted()
    }

    /// The transfer ahead on the queue, where it was still under way when `t` was ready.
    fn ahead(&self, t: u32, transfer: &Transfer, ready: Nanos) -> Option<Cause> {
        let transfers = &self.index.transfers;
        let ahead = transfers.before(t).filter(|&b| transfers.get(b).end > ready)?;
        // Rings go on to the next transfer one by one, so the one ahead may end later than this one starts.
        let satisfied = transfers.get(ahead).end.min(transfer.start);
        Some(Cause { how: How::Queued, actor: Some(Actor::Transfer(ahead)), satisfied, basis: Basis::Derived })
    }

    fn of_transfer_dependencies(&self, transfer: &Transfer) -> impl Iterator<Item = Cause> + '_ {
        let table = self.store.table_of(transfer.event);
        let graph = self.store.graph.as_ref().filter(|_| table.name != "DmaPacket");
        let node = graph.and_then(|g| g.node(&table.name, table.rows[transfer.event.event as usize]));
        let (start, issuer) = (transfer.start, transfer.issuer);
        let edges = graph.zip(node).into_iter().flat_map(|(g, n)| g.predecessors(n).take(MOST_DEPENDENCIES));
        edges.filter_map(move |(node, kind)| {
            let actor = self.actor_of_node(node).filter(|a| issuer.map(Actor::Instruction) != Some(*a))?;
            let ended = self.span(actor).1;
            (ended <= start).then_some(Cause {
                how: How::Dependency(kind),
                actor: Some(actor),
                satisfied: ended,
                basis: Basis::Recorded,
            })
        })
    }

    /// What let an instruction go that only waits: the condition that was met while it ran, or what it waited for to be
    /// drained; else what bound its start. Nothing later than `until` is an answer.
    #[must_use]
    pub fn release(&self, e: u32, until: Nanos) -> Causes {
        let (events, index) = (self.events, self.index);
        let (start, end) = (events.start(e), events.end(e).min(until));
        let stream = index.stream_of(e);
        let mut found = Causes::default();
        for condition in index.operands.waits(e) {
            let Some(track) = index.sync(stream.core, condition.sync) else { continue };
            if let Some(update) = track.met_within(&condition, start, end) {
                let cause = self.by_update(stream.core, track, &condition, update, end);
                // The last one at a barrier waits for nobody.
                found.causes.extend((cause.actor != Some(Actor::Instruction(e))).then_some(cause));
            }
        }
        if index.class(events, e).drains {
            let oldest = stream.first.max(e.saturating_sub(LOOK_BACK));
            let running = (oldest..e).filter(|&b| events.end(b) > start && events.end(b) <= end_of(end, TOLERANCE));
            if let Some(last) = running.max_by_key(|&b| events.end(b)) {
                let satisfied = events.end(last).min(end);
                let actor = Some(Actor::Instruction(last));
                found.causes.push(Cause { how: How::Order, actor, satisfied, basis: Basis::Derived });
            }
        }
        if found.causes.is_empty() {
            found = self.of_instruction(e);
            found.causes.retain(|c| c.satisfied <= until);
            return found;
        }
        found.sorted()
    }

    /// A name for an actor: `DMA_DIRECT2D pc 61 on Sync`, or `transfer on qSyncDynamicHW from pc 61`.
    #[must_use]
    pub fn name(&self, actor: Actor) -> String {
        let several = self.index.several_cores;
        let on_core = |core: Option<i64>| core.filter(|_| several).map_or(String::new(), |c| format!("(nc{c})"));
        match actor {
            Actor::Instruction(e) => {
                let stream = self.index.stream_of(e);
                let group = self.events.groups.get(stream.group as usize).map_or("", |g| g.key.name.as_str());
                let track = match self.events.text(LabelKind::Track, e) {
                    "" => group,
                    track => track,
                };
                let pc = self.index.operands.pc(e).map_or(String::new(), |pc| format!(" pc {pc}"));
                format!("{}{pc} on {track}{}", self.events.event_name(e), on_core(stream.core))
            }
            Actor::Transfer(t) => {
                let queue = self.index.transfers.queue_of(t);
                let pc = self.index.transfers.get(t).issuer.and_then(|e| self.index.operands.pc(e));
                let from = pc.map_or(String::new(), |pc| format!(" from pc {pc}"));
                format!("transfer on {}{}{from}", queue.name, on_core(queue.core))
            }
            Actor::Other(event) => {
                let table = self.store.table_of(event);
                let group = table.group_of(event.event);
                let name = group.map_or("", |g| g.key.name.as_str());
                format!("{} on {name}{}", table.event_name(event.event), on_core(group.and_then(|g| g.key.core)))
            }
        }
    }

    /// The tensor that a transfer moves, where whole transfers are recorded and it is known.
    #[must_use]
    pub fn tensor(&self, t: u32) -> Option<&'a str> {
        let event = self.index.transfers.get(t).event;
        let table = self.store.events.get(usize::from(event.table)).filter(|t| t.name == "DmaPacketAggregated")?;
        Some(table.text(LabelKind::Name, event.event)).filter(|name| !matches!(*name, "" | "unknown"))
    }

    /// The semaphore that a key names, as the vendor writes it.
    #[must_use]
    pub fn sync_name(&self, key: SyncKey) -> String {
        self.index.sync_name(key.core, key.sync)
    }
}
