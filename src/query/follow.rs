//! A semaphore followed like a track: its value over time, who raises it and who waits for it.

use super::causes::{Actor, Asking};
use super::semaphores::SyncKey;
use super::sync::{Condition, SyncId};
use crate::model::{Nanos, Window};

/// A change of a semaphore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub time: Nanos,
    /// The value from then on.
    pub value: i32,
    /// The recorded change, as an event of SemaphoreUpdate; `None` where it is derived from a range that was cleared.
    pub event: Option<u32>,
    /// What made it, where that is known.
    pub by: Option<Actor>,
    /// Whether the profile records which engine it was.
    pub recorded: bool,
    /// The instructions whose conditions it met, in order of start.
    pub met: Vec<u32>,
}

/// A semaphore in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// The value at the window's start, where one is recorded.
    pub before: Option<i32>,
    /// The changes in the window, in order.
    pub steps: Vec<Step>,
    /// How many more there are.
    pub left_out: usize,
}

impl Asking<'_> {
    /// The changes of a semaphore in `window`, at most `most` of them.
    #[must_use]
    pub fn follow(&self, key: SyncKey, window: Window, most: usize) -> Followed {
        let Some(track) = self.index.syncs.get(&key) else { return Followed::default() };
        let from = track.changes_until(window.start.saturating_sub(1));
        let to = track.changes_until(window.end.saturating_sub(1)).max(from);
        let step = |i: usize| {
            let (by, recorded) = self.updater(key.sync, track, i);
            let (time, value, event) = (track.time(i), track.value(i), track.event(i));
            Step { time, value, event, by, recorded, met: self.met_by(key, i) }
        };
        Followed {
            before: from.checked_sub(1).map(|i| track.value(i)),
            steps: (from..to).take(most).map(step).collect(),
            left_out: (to - from).saturating_sub(most),
        }
    }

    /// The semaphores and events that an instruction waits for, with the conditions, and those that it changes.
    #[must_use]
    pub fn semaphores_of(&self, e: u32) -> (Vec<(SyncKey, Condition)>, Vec<SyncKey>) {
        let core = self.index.stream_of(e).core;
        let key = |sync: SyncId| SyncKey { core, sync };
        let spec = self.index.operands.spec(e);
        let waits = self.index.operands.waits(e).map(|c| (key(c.sync), c)).collect();
        let updates = spec.sync.updates.iter().map(|u| key(u.sync));
        (waits, updates.chain(spec.sync.transfer.map(|(sync, _)| key(sync))).collect())
    }

    /// All semaphores and events that are recorded or used, by core, then by number.
    #[must_use]
    pub fn semaphores(&self) -> Vec<SyncKey> {
        let mut keys: Vec<SyncKey> = self.index.syncs.keys().copied().collect();
        keys.sort_unstable();
        keys
    }
}
