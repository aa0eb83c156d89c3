//! What an event held back: the other way round of [`super::causes`].

use super::causes::{Actor, Asking, Cause};
use super::semaphores::{Met, SyncKey, SyncTrack};
use crate::model::{Nanos, end_of};

/// Waits, successors and neighbours that are looked at for one event.
const MOST: usize = 1_024;
/// Waits before and after a change that are looked at.
const NEAR: usize = 256;
/// Instructions in a row that are looked through.
const THROUGH: u32 = 256;

/// Something that an event held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What.
    pub actor: Actor,
    /// Whether the event is what bound its start.
    pub bound: bool,
    /// Nanoseconds by which something else held it back longer; 0 where the event bound it.
    pub slack: u64,
}

impl Asking<'_> {
    /// Changes of semaphores that an actor made, as far as they are recorded.
    #[must_use]
    pub fn changes_by(&self, actor: Actor) -> Vec<(SyncKey, usize)> {
        let core = self.core(actor);
        let end = self.span(actor).1;
        let mut found = Vec::new();
        match actor {
            Actor::Instruction(e) => {
                for update in &self.index.operands.spec(e).sync.updates {
                    let key = SyncKey { core, sync: update.sync };
                    let Some(track) = self.index.syncs.get(&key) else { continue };
                    let near = track.changes_until(end.saturating_sub(101))..track.changes_until(end_of(end, 100));
                    let own = near.filter(|&i| self.updater(update.sync, track, i).0 == Some(actor));
                    found.extend(own.map(|i| (key, i)));
                }
            }
            Actor::Transfer(t) => {
                let transfer = self.index.transfers.get(t);
                let key = transfer.sync.map(|sync| SyncKey { core, sync });
                let track = key.and_then(|key| Some((key, self.index.syncs.get(&key)?)));
                if let Some((key, track)) = track {
                    found.extend(track.completion(transfer.end, transfer.by).map(|i| (key, i)));
                }
            }
            Actor::Other(event) => found = self.told_of(event),
        }
        found
    }

    /// The instructions whose conditions were met by the `i`-th change of a semaphore, in order of start.
    #[must_use]
    pub fn met_by(&self, key: SyncKey, i: usize) -> Vec<u32> {
        let Some(track) = self.index.syncs.get(&key) else { return Vec::new() };
        let time = track.time(i);
        let at = track.waiters.partition_point(|&e| self.events.start(e) < time.saturating_sub(10));
        let mut found: Vec<u32> = track.waiters[..at]
            .iter()
            .rev()
            .take(NEAR)
            .copied()
            .filter(|&e| self.events.end(e) >= time && self.is_met_by(track, key, e, i))
            .collect();
        let later = track.waiters[at..].iter().take(NEAR).copied();
        found.extend(later.filter(|&e| self.is_met_by(track, key, e, i)));
        found.sort_by_key(|&e| self.events.start(e));
        found
    }

    fn is_met_by(&self, track: &SyncTrack, key: SyncKey, e: u32, i: usize) -> bool {
        let (start, end) = (self.events.start(e), self.events.end(e));
        let waits = self.index.operands.waits(e).filter(|c| c.sync == key.sync);
        waits.into_iter().any(|condition| match track.met(&condition, end_of(start, super::causes::TOLERANCE)) {
            Met::By(met) => met == i,
            Met::Not | Met::Unknown => track.met_within(&condition, start, end) == Some(i),
            Met::Always => false,
        })
    }

    /// The first instruction from `e` on, on its engine, that is not a wait.
    fn through(&self, e: u32) -> Option<u32> {
        let end = self.index.stream_of(e).end.min(e.saturating_add(THROUGH));
        (e..end).find(|&e| !self.passes(Actor::Instruction(e)))
    }

    /// All that may have waited for an actor, waits looked through: what its engine or queue went on to, what waited for
    /// its semaphores, what depends on it, and the transfers that it started.
    fn candidates(&self, actor: Actor) -> Vec<Actor> {
        let transfers = &self.index.transfers;
        let mut found: Vec<Actor> = Vec::new();
        match actor {
            Actor::Instruction(e) => {
                let end = self.index.stream_of(e).end;
                let next = (e + 1..end.min(e.saturating_add(17))).filter(|&n| !self.passes(Actor::Instruction(n)));
                found.extend(next.map(Actor::Instruction));
                found.extend((e + 1 < end).then(|| self.through(e + 1)).flatten().map(Actor::Instruction));
                found.extend(transfers.started_by(e).map(Actor::Transfer));
                found.extend(self.index.collectives.started_by(e).map(|c| Actor::Other(c.event)));
            }
            Actor::Transfer(t) => found.extend(transfers.after(t).map(Actor::Transfer)),
            Actor::Other(_) => {}
        }
        for (key, i) in self.changes_by(actor) {
            found.extend(self.met_by(key, i).into_iter().filter_map(|e| self.through(e)).map(Actor::Instruction));
        }
        for (node, _) in self.edges(actor, false).into_iter().take(MOST) {
            match self.actor_of_node(node) {
                Some(Actor::Instruction(e)) => found.extend(self.through(e).map(Actor::Instruction)),
                other => found.extend(other),
            }
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|a| *a != actor);
        found
    }

    /// The edges of an actor in the recorded graph, with the positions of their kinds.
    pub(super) fn edges(&self, actor: Actor, before: bool) -> Vec<(u32, u8)> {
        let Some(graph) = &self.store.graph else { return Vec::new() };
        let event = self.event(actor);
        let table = self.store.table_of(event);
        // Edges of the packet that stands for a transfer are its own.
        if matches!(actor, Actor::Transfer(_)) && table.name == "DmaPacket" {
            return Vec::new();
        }
        let Some(node) = graph.node(&table.name, table.rows[event.event as usize]) else { return Vec::new() };
        if before { graph.predecessors(node).collect() } else { graph.successors(node).collect() }
    }

    /// What an actor held back, the first to go on first; those that it bound before others at the same time.
    #[must_use]
    pub fn effects(&self, actor: Actor) -> Vec<Effect> {
        let end = self.span(actor).1;
        let mut found: Vec<Effect> = self
            .candidates(actor)
            .into_iter()
            .filter(|a| self.span(*a).0 >= self.span(actor).0)
            .map(|other| {
                let blocker = self.blocker(other);
                let bound = blocker.is_some_and(|(_, by)| by == actor);
                let slack = match blocker {
                    Some((cause, _)) if !bound => crate::model::length(end, cause.satisfied),
                    _ => 0,
                };
                Effect { actor: other, bound, slack }
            })
            .collect();
        found.sort_by_key(|e| (self.span(e.actor).0, !e.bound, e.actor));
        found
    }

    /// What an actor unblocked: what started because of it, the first first.
    #[must_use]
    pub fn unblocked(&self, actor: Actor) -> Vec<Actor> {
        self.effects(actor).into_iter().filter(|e| e.bound).map(|e| e.actor).collect()
    }

    /// All that held back an actor, the last first, each with the actor that is the answer (waits looked through) and how
    /// much later it could have been without effect.
    #[must_use]
    pub fn choices(&self, actor: Actor) -> Vec<Choice> {
        let causes = self.causes(actor);
        let mut found: Vec<Choice> = Vec::new();
        for cause in &causes.causes {
            let through = cause.actor.filter(|a| self.passes(*a));
            let by = match through {
                Some(wait) => self.let_go(wait, cause.satisfied),
                None => cause.actor.map(|a| (*cause, a)),
            };
            let choice = Choice { cause: by.map_or(*cause, |(c, _)| c), actor: by.map(|(_, a)| a), through, slack: 0 };
            let slack = causes.slack(cause);
            // The same actor may hold it back in several ways; the last of them counts.
            if choice.actor.is_none() || found.iter().all(|c| c.actor != choice.actor) {
                found.push(Choice { slack, ..choice });
            }
        }
        found
    }

    /// What let a wait go, waits looked through, as far as it had by `until`.
    fn let_go(&self, wait: Actor, until: Nanos) -> Option<(Cause, Actor)> {
        let Actor::Instruction(e) = wait else { return None };
        let mut at = (e, until);
        for _ in 0..THROUGH {
            let cause = self.release(at.0, at.1).binding().copied()?;
            match cause.actor? {
                Actor::Instruction(next) if self.passes(Actor::Instruction(next)) => at = (next, cause.satisfied),
                actor => return Some((cause, actor)),
            }
        }
        None
    }
}

/// One of the things that held something back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// How.
    pub cause: Cause,
    /// What did it; `None` where that is not recorded.
    pub actor: Option<Actor>,
    /// The wait that was looked through.
    pub through: Option<Actor>,
    /// How much later it could have been satisfied without effect; 0 for the one that bound the start.
    pub slack: u64,
}
