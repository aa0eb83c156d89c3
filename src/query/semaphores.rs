//! Semaphores and events over time: their values as recorded, who raises them and who waits.

use arrow::buffer::ScalarBuffer;
use serde::{Deserialize, Serialize};

use super::sync::{Condition, SyncId, Test};
use crate::model::Nanos;

/// An update and the instruction that made it are recorded within so many nanoseconds of each other (9 to 16 are usual;
/// an EVENT_SEMAPHORE updates about 50 before it ends).
const AT_COMPLETION: u64 = 100;
/// A transfer's last update comes at most so long after its last packet (300 to 900 are usual).
const AFTER_TRANSFER: u64 = 5_000;
/// How many updates or runs are looked at one by one before an answer is given up.
const PATIENCE: usize = 4_096;

/// A semaphore or event of one core.
#[derive(Clone, Debug, Default)]
pub struct SyncTrack {
    /// Whose it is, as named by the compiler: `qSyncDynamicHW`, `Tensor`; empty where it is not named.
    pub owner: String,
    /// When the value changed, in order.
    pub(super) times: ScalarBuffer<Nanos>,
    /// The values that it changed to.
    pub(super) values: ScalarBuffer<i32>,
    /// Who changed it: position in [`super::causes::CauseIndex::sources`], 0 where not recorded.
    pub(super) sources: ScalarBuffer<u8>,
    /// The recorded updates, as events of SemaphoreUpdate; `u32::MAX` for a change that is derived.
    pub(super) events: ScalarBuffer<u32>,
    /// Where values begin to rise anew.
    pub(super) runs: ScalarBuffer<u32>,
    /// Instructions that change it when they complete, in order of their ends.
    pub raisers: ScalarBuffer<u32>,
    /// Transfers that raise it, in order of their ends.
    pub transfers: ScalarBuffer<u32>,
    /// Instructions that wait for it, in order of their starts.
    pub waiters: ScalarBuffer<u32>,
}

/// Where a condition was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// By this update.
    By(usize),
    /// Since before the record begins, or for longer than is looked back.
    Always,
    /// Not met by then, as far as is recorded.
    Not,
    /// Nothing is recorded up to then.
    Unknown,
}

/// A change of a value that is being recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub time: Nanos,
    pub value: i32,
    pub source: u8,
    pub event: u32,
}

impl SyncTrack {
    /// Takes the recorded changes, in order of time.
    pub(super) fn record(&mut self, samples: &[Sample]) {
        self.times = samples.iter().map(|s| s.time).collect();
        self.values = samples.iter().map(|s| s.value).collect();
        self.sources = samples.iter().map(|s| s.source).collect();
        self.events = samples.iter().map(|s| s.event).collect();
        let falls = (1..samples.len()).filter(|&i| samples[i].value < samples[i - 1].value);
        self.runs = (!samples.is_empty()).then_some(0).into_iter().chain(falls.map(|i| i as u32)).collect();
    }

    /// Notes that the value is set to 0 at each of `times`, which are in order, where the record lacks it: where the next
    /// recorded value is not greater than the one before, it must have fallen in between.
    pub(super) fn clear_at(&mut self, times: &[Nanos]) {
        let mut samples: Vec<Sample> = (0..self.times.len()).map(|i| self.sample(i)).collect();
        for &time in times {
            let at = samples.partition_point(|s| s.time <= time);
            let before = at.checked_sub(1).map(|i| samples[i].value);
            let fell = match (before, samples.get(at)) {
                (Some(before), Some(next)) => before > 0 && next.value > 0 && next.value <= before,
                _ => false,
            };
            if fell {
                samples.insert(at, Sample { time, value: 0, source: 0, event: u32::MAX });
            }
        }
        if samples.len() > self.times.len() {
            self.record(&samples);
        }
    }

    fn sample(&self, i: usize) -> Sample {
        Sample { time: self.times[i], value: self.values[i], source: self.sources[i], event: self.events[i] }
    }

    /// By how much the value rose in all.
    #[must_use]
    pub fn rise(&self) -> u64 {
        let first = self.values.first().map_or(0, |v| v.max(&0).unsigned_abs().into());
        let steps = self.values.windows(2).map(|pair| u64::from(pair[1].max(pair[0]).abs_diff(pair[0])));
        steps.fold(first, u64::saturating_add)
    }

    /// Number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether no change is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// When the `i`-th change was. Panics when there is none.
    #[must_use]
    pub fn time(&self, i: usize) -> Nanos {
        self.times[i]
    }

    /// The value after the `i`-th change. Panics when there is none.
    #[must_use]
    pub fn value(&self, i: usize) -> i32 {
        self.values[i]
    }

    /// Who made the `i`-th change; see `sources`. Panics when there is none.
    #[must_use]
    pub fn source(&self, i: usize) -> u8 {
        self.sources[i]
    }

    /// The recorded `i`-th change, as an event of SemaphoreUpdate; `None` where it is derived. Panics when there is none.
    #[must_use]
    pub fn event(&self, i: usize) -> Option<u32> {
        Some(self.events[i]).filter(|e| *e != u32::MAX)
    }

    /// Number of changes up to and including `time`.
    #[must_use]
    pub fn changes_until(&self, time: Nanos) -> usize {
        self.times.partition_point(|t| *t <= time)
    }

    /// The value that holds at `time`; `None` before the first change.
    #[must_use]
    pub fn value_at(&self, time: Nanos) -> Option<i32> {
        Some(self.values[self.changes_until(time).checked_sub(1)?])
    }

    /// Which change made `condition` hold as it does at `time`.
    #[must_use]
    pub fn met(&self, condition: &Condition, time: Nanos) -> Met {
        let Some(mut last) = self.changes_until(time).checked_sub(1) else { return Met::Unknown };
        if !condition.is_met(self.values[last]) {
            return Met::Not;
        }
        let rising = matches!(condition.test, Test::AtLeast | Test::Above);
        for _ in 0..PATIENCE {
            if rising {
                // Within a run values do not fall, so what meets the condition is its end.
                let run = self.runs.partition_point(|&start| start as usize <= last) - 1;
                let start = self.runs[run] as usize;
                last = start + self.values[start..=last].partition_point(|v| !condition.is_met(*v));
                if last > start {
                    return Met::By(last);
                }
            }
            match last.checked_sub(1) {
                None => return Met::By(last),
                Some(before) if !condition.is_met(self.values[before]) => return Met::By(last),
                Some(before) => last = before,
            }
        }
        Met::Always
    }

    /// The change that made `condition` hold until, just before `time`, it was undone: by what waited for it, as an event
    /// is cleared.
    #[must_use]
    pub fn met_and_undone(&self, condition: &Condition, time: Nanos) -> Option<usize> {
        let last = self.changes_until(time).checked_sub(1)?;
        let before = last.checked_sub(1)?;
        let just = time.abs_diff(self.times[last]) <= AT_COMPLETION;
        (just && !condition.is_met(self.values[last]) && condition.is_met(self.values[before])).then_some(before)
    }

    /// The first change after `from` and up to `to` by which `condition` holds.
    #[must_use]
    pub fn met_within(&self, condition: &Condition, from: Nanos, to: Nanos) -> Option<usize> {
        let first = self.changes_until(from);
        (first..self.len())
            .take(PATIENCE)
            .take_while(|&i| self.times[i] <= to)
            .find(|&i| condition.is_met(self.values[i]))
    }

    /// The instruction among [`SyncTrack::raisers`] that completed nearest to `time`; `end` tells the end of each, and
    /// `may` which can have been it.
    pub(super) fn raiser(&self, time: Nanos, end: impl Fn(u32) -> Nanos, may: impl Fn(u32) -> bool) -> Option<u32> {
        let after = self.raisers.partition_point(|&e| end(e) <= time);
        let near = |e: &u32| end(*e).abs_diff(time) <= AT_COMPLETION && may(*e);
        let before = self.raisers[..after].iter().rev().take(16).copied().find(near);
        let later = self.raisers[after..].iter().take(16).copied().find(near);
        [before, later].into_iter().flatten().min_by_key(|&e| end(e).abs_diff(time))
    }

    /// The transfer that was the last to end up to `time`.
    pub(super) fn transfer(&self, time: Nanos, end: impl Fn(u32) -> Nanos) -> Option<u32> {
        let after = self.transfers.partition_point(|&t| end(t) <= time);
        let last = self.transfers[after.checked_sub(1)?];
        (end(last).abs_diff(time) <= AFTER_TRANSFER).then_some(last)
    }

    /// The change by which a transfer that ended at `end` and raises the value by `by` in all was known to be complete:
    /// the first from then on that makes it a multiple of that.
    #[must_use]
    pub fn completion(&self, end: Nanos, by: i32) -> Option<usize> {
        let first = self.times.partition_point(|t| *t < end);
        let whole = |value: i32| value > 0 && value.checked_rem(by) == Some(0);
        let i = (first..self.len()).take(64).find(|&i| whole(self.values[i]))?;
        (self.times[i].abs_diff(end) <= AFTER_TRANSFER).then_some(i)
    }
}

/// A semaphore or event of a core, by which it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SyncKey {
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// Which one.
    pub sync: SyncId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn track(samples: &[(i64, i32)]) -> SyncTrack {
        let mut track = SyncTrack::default();
        let of = |&(time, value): &(i64, i32)| Sample { time, value, source: 0, event: 0 };
        track.record(&samples.iter().map(of).collect::<Vec<_>>());
        track
    }

    proptest! {
        #[test]
        fn a_condition_is_met_by_the_change_that_made_it_true(
            mut samples in prop::collection::vec((0i64..60, 0i32..6), 0..60),
            test in prop::sample::select(vec![Test::Equal, Test::Unequal, Test::AtLeast, Test::Above, Test::AtMost, Test::Below]),
            value in 0i32..6,
            time in -1i64..62,
        ) {
            samples.sort_by_key(|s| s.0);
            let track = track(&samples);
            let condition = Condition { sync: SyncId::semaphore(1), test, value };
            // One by one: where it last became true and stayed so until then.
            let until = samples.iter().filter(|s| s.0 <= time).count();
            let mut expected = if until == 0 { Met::Unknown } else { Met::Not };
            for i in 0..until {
                let holds = condition.is_met(samples[i].1);
                let held = i > 0 && condition.is_met(samples[i - 1].1);
                match (held, holds) {
                    (_, false) => expected = Met::Not,
                    (false, true) => expected = Met::By(i),
                    (true, true) => {}
                }
            }
            prop_assert_eq!(track.met(&condition, time), expected);
            let within = (0..samples.len()).find(|&i| samples[i].0 > time && samples[i].0 <= time + 9 && condition.is_met(samples[i].1));
            prop_assert_eq!(track.met_within(&condition, time, time + 9), within);
        }
    }

    #[test]
    fn a_fall_that_is_not_recorded_is_put_where_the_range_was_cleared() {
        let mut cleared = track(&[(10, 16), (20, 32), (50, 16), (60, 32)]);
        cleared.clear_at(&[30, 70]);
        assert_eq!(cleared.value_at(40), Some(0));
        assert_eq!(cleared.len(), 5);
        assert_eq!(cleared.event(2), None);
        let condition = Condition { sync: SyncId::semaphore(1), test: Test::AtLeast, value: 32 };
        assert_eq!(cleared.met(&condition, 40), Met::Not);
        assert_eq!(cleared.met(&condition, 65), Met::By(4));
        let mut recorded = track(&[(10, 16), (31, 0), (50, 16)]);
        recorded.clear_at(&[30]);
        assert_eq!(recorded.len(), 3);
    }

    #[test]
    fn an_event_is_met_although_it_is_cleared_at_once() {
        let track = track(&[(100, 1), (104, 0), (500, 1)]);
        let condition = Condition { sync: SyncId::event(4), test: Test::Equal, value: 1 };
        assert_eq!(track.met(&condition, 130), Met::Not);
        assert_eq!([103, 130, 250, 510].map(|t| track.met_and_undone(&condition, t)), [None, Some(0), None, None]);
    }

    #[test]
    fn updates_find_who_made_them() {
        let mut track = track(&[(115, 1), (230, 2)]);
        track.raisers = vec![0, 1, 2].into();
        let ends = [100, 220, 2_000];
        let end = |e: u32| ends[e as usize];
        assert_eq!(track.raiser(115, end, |_| true), Some(0));
        assert_eq!(track.raiser(230, end, |_| true), Some(1));
        assert_eq!(track.raiser(230, end, |e| e != 1), None, "too far from any other");
        track.transfers = vec![0, 1].into();
        assert_eq!(track.transfer(230, end), Some(1));
        assert_eq!(track.transfer(90, end), None);
        assert_eq!(track.completion(100, 1), Some(0));
        assert_eq!(track.completion(100, 2), Some(1), "half of it");
        assert_eq!(track.completion(231, 1), None);
    }
}
