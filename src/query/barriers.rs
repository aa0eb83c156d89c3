//! Barriers between cores as causes: the last to arrive lets all others go.

use super::causes::{Actor, Asking, How, TOLERANCE};
use super::semaphores::SyncTrack;
use super::sync::SyncId;
use crate::model::{Nanos, end_of};

impl Asking<'_> {
    /// The last to arrive at a barrier: a semaphore that several cores wait for, that changes on all of them at once, and
    /// that none of their instructions is known to raise.
    pub(super) fn last_to_arrive(&self, sync: SyncId, time: Nanos) -> Option<Actor> {
        let mut waiting: Vec<(Option<i64>, u32)> = Vec::new();
        let (early, late) = (time.saturating_sub(TOLERANCE as i64 + 1), end_of(time, TOLERANCE));
        let changes = |other: &SyncTrack| other.changes_until(early) < other.changes_until(late);
        for (key, other) in self.index.syncs.iter().filter(|(key, other)| key.sync == sync && changes(other)) {
            let begun = other.waiters.partition_point(|&e| self.events.start(e) <= time);
            let near = other.waiters[..begun].iter().rev().take(4);
            waiting.extend(near.filter(|&&e| self.events.end(e) >= time).map(|&e| (key.core, e)));
        }
        let several = waiting.iter().any(|(core, _)| *core != waiting[0].0);
        let last = waiting.iter().filter(|_| several).map(|(_, e)| *e).max_by_key(|&e| (self.events.start(e), e))?;
        Some(Actor::Instruction(last))
    }

    /// Whether an instruction is what a change of a semaphore awaited, rather than what made it: it waits for it too.
    pub(super) fn arrives(&self, how: &How, actor: Actor) -> bool {
        match (how, actor) {
            (How::Semaphore { condition, .. }, Actor::Instruction(e)) => {
                let sync = &self.index.operands.spec(e).sync;
                let raises = sync.updates.iter().any(|u| u.sync == condition.sync);
                !raises && self.index.operands.waits(e).any(|c| c.sync == condition.sync)
            }
            _ => false,
        }
    }
}
