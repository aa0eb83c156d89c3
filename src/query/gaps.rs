//! Idle gaps of an engine as events: from the end of its active time to the start of the next instruction that is not a
//! wait, with what held that one back, piece by piece.

use super::causes::{Actor, Asking, Basis};
use super::chain::{Chain, MOST_STEPS, Piece, PieceKind, Root};
use super::residual::Residual;
use crate::model::{Nanos, Window, length};
use crate::store::{Lane, flag};

/// A stretch in which nothing but waits ran on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// End of the last instruction before it, or start of the profile.
    pub start: Nanos,
    /// Start of the instruction that ends it, or end of the profile.
    pub end: Nanos,
    /// The instruction that ends it; `None` after the last one.
    pub next: Option<u32>,
}

impl Gap {
    /// Its length in nanoseconds.
    #[must_use]
    pub fn length(&self) -> u64 {
        length(self.start, self.end)
    }
}

/// The gap of `lane` that holds `time`; `None` where something runs. `whole` is the span of the profile.
#[must_use]
pub fn gap_at(lane: Lane<'_>, whole: Window, time: Nanos) -> Option<Gap> {
    let table = lane.table();
    if lane.active(Window::new(time, time.saturating_add(1))) > 0 || !(whole.start..whole.end).contains(&time) {
        return None;
    }
    // The least start from which on nothing was active up to then.
    let (mut low, mut high) = (whole.start, time);
    while low < high {
        let middle = low + (length(low, high) / 2) as i64;
        if lane.active(Window::new(middle, time)) == 0 { high = middle } else { low = middle + 1 }
    }
    let working = |i: &usize| lane.event(*i).is_some_and(|e| table.is_work(e));
    // Instructions without length are no activity, but end a gap all the same.
    let before = lane.starting_before(time.saturating_add(1));
    let instant = (0..before).rev().take(64).find(working).and_then(|i| lane.event(i));
    let start = instant.map_or(high, |e| high.max(table.end(e)));
    let next = (before..lane.len()).find(working).and_then(|i| lane.event(i)).filter(|&e| table.start(e) < whole.end);
    let end = next.map_or(whole.end, |e| table.start(e));
    (start < end).then_some(Gap { start, end, next })
}

/// The gaps of `lane` that overlap `window`, in order, whole.
pub fn gaps(lane: Lane<'_>, whole: Window, window: Window) -> impl Iterator<Item = Gap> + '_ {
    let table = lane.table();
    let window =
        Window::new(window.start.max(whole.start), window.end.min(whole.end).max(whole.start.saturating_add(1)));
    // What runs into the window begins the walk.
    let first = gap_at(lane, whole, window.start);
    let mut reach = match first {
        Some(gap) => gap.start,
        None => window.start,
    };
    let mut position = lane.starting_before(window.start);
    if first.is_none() {
        lane.running_at(window.start, |e| {
            if table.is_work(e) {
                reach = reach.max(table.end(e));
            }
            true
        });
    }
    let mut done = false;
    std::iter::from_fn(move || {
        while !done {
            let event = lane.event(position);
            let Some(e) = event.filter(|&e| table.start(e) < whole.end) else {
                done = true;
                let gap = Gap { start: reach, end: whole.end, next: None };
                return (gap.start < gap.end && gap.start < window.end).then_some(gap);
            };
            position += 1;
            if table.flags[e as usize] & flag::WAIT != 0 {
                continue;
            }
            let gap = Gap { start: reach, end: table.start(e), next: Some(e) };
            reach = reach.max(table.end(e));
            if gap.start >= window.end {
                done = true;
                return None;
            }
            if gap.start < gap.end {
                return Some(gap);
            }
        }
        None
    })
}

/// The gaps of at least `least` nanoseconds that overlap `window`, in order, whole. Where there are many more events than
/// such gaps could be, takes time in proportion to the latter.
#[must_use]
pub fn of_at_least(lane: Lane<'_>, whole: Window, window: Window, least: u64) -> Vec<Gap> {
    let events = lane.starting_before(window.end).saturating_sub(lane.starting_before(window.start));
    let steps = window.length().checked_div(least / 2).unwrap_or(u64::MAX);
    // A look at a step costs about as much as so many events one after the other.
    if steps.saturating_mul(64) < events as u64 {
        return step_by_step(lane, whole, window, least);
    }
    gaps(lane, whole, window).filter(|gap| gap.length() >= least).collect()
}

/// The same for `least` of at least 2, by looking for steps in which nothing is active: a gap of that length holds at least
/// one.
fn step_by_step(lane: Lane<'_>, whole: Window, window: Window, least: u64) -> Vec<Gap> {
    let step = i64::try_from(least / 2).unwrap_or(i64::MAX).max(1);
    let inside = Window::new(window.start.max(whole.start), window.end.min(whole.end));
    let mut found: Vec<Gap> = Vec::new();
    // One more at each end, for the gaps that reach out of the window.
    let mut time = inside.start.saturating_sub(step).max(whole.start);
    let end = inside.end.saturating_add(step).min(whole.end);
    while time < end {
        let next = time.saturating_add(step);
        let known = found.last().is_some_and(|gap| gap.end > time);
        if !known
            && lane.active(Window::new(time, next)) == 0
            && let Some(gap) = gap_at(lane, whole, time)
            && gap.length() >= least
            && gap.start < inside.end
            && gap.end > inside.start
        {
            found.push(gap);
        }
        time = next;
    }
    found
}

/// The first gap of at least `least` nanoseconds that begins after `time`.
#[must_use]
pub fn next(lane: Lane<'_>, whole: Window, time: Nanos, least: u64) -> Option<Gap> {
    let rest = Window::new(time, whole.end.max(time.saturating_add(1)));
    gaps(lane, whole, rest).find(|gap| gap.start > time && gap.length() >= least)
}

/// The last gap of at least `least` nanoseconds that begins before `time`.
#[must_use]
pub fn previous(lane: Lane<'_>, whole: Window, time: Nanos, least: u64) -> Option<Gap> {
    // Ever longer stretches, so that a near one is found at once.
    let mut reach = 1_000u64;
    loop {
        let from = time.saturating_sub_unsigned(reach).max(whole.start);
        if from >= time {
            return None;
        }
        let found = gaps(lane, whole, Window::new(from, time)).filter(|g| g.start < time && g.length() >= least).last();
        if found.is_some() || from == whole.start {
            return found;
        }
        reach = reach.saturating_mul(8);
    }
}

/// The longest gap that overlaps `window`, by its part inside; the first of equals.
#[must_use]
pub fn longest(lane: Lane<'_>, whole: Window, window: Window) -> Option<Gap> {
    let inside = |gap: &Gap| length(gap.start.max(window.start), gap.end.min(window.end));
    let mut best: Option<Gap> = None;
    for gap in gaps(lane, whole, window) {
        if best.as_ref().is_none_or(|b| inside(&gap) > inside(b)) {
            best = Some(gap);
        }
    }
    best
}

impl Asking<'_> {
    /// What a gap was spent on: pieces that add up to it, the last in time first.
    #[must_use]
    pub fn gap_chain(&self, gap: &Gap) -> Chain {
        let idle = |start, end, held| Piece {
            kind: PieceKind::Idle,
            start,
            end,
            actor: None,
            held,
            cause: None,
            residual: Residual::Unexplained,
            basis: Basis::Recorded,
        };
        let Some(next) = gap.next.map(Actor::Instruction) else {
            let pieces = vec![idle(gap.start, gap.end, None)];
            return Chain { pieces, from: gap.start, root: Root::Reached, actors: Vec::new() };
        };
        let mut chain = self.chain(next, gap.start, MOST_STEPS);
        if chain.from > gap.start {
            // The record begins there, or does not tell.
            let basis = if matches!(chain.root, Root::Beginning(_)) { Basis::Recorded } else { Basis::Inferred };
            chain.pieces.push(Piece { basis, ..idle(gap.start, chain.from, Some(next)) });
            chain.from = gap.start;
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Engine;
    use crate::query::sketch::Sketch;

    proptest! {
        #[test]
        fn gaps_are_where_nothing_but_waits_runs(
            marks in prop::collection::vec((0i64..200, 0u64..20, prop::bool::weighted(0.3)), 1..30),
            from in -5i64..210,
            length in 1i64..120,
        ) {
            let mut sketch = Sketch::default();
            for (start, length, wait) in &marks {
                let name = if *wait { "EVENT_SEMAPHORE" } else { "MATMUL" };
                sketch.instruction(0, Engine::Tensor, name, *start, *length);
            }
            let store = sketch.store();
            let table = &store.events[0];
            let (lane, whole) = (table.groups[0].sequence.of(table), store.whole());
            // One nanosecond at a time; work without length cuts a gap in two.
            let works = |t: i64| marks.iter().any(|(s, l, wait)| !wait && (*s..*s + *l as i64).contains(&t));
            let cut = |t: i64| marks.iter().any(|(s, _, wait)| !wait && *s == t);
            let mut expected: Vec<(i64, i64)> = Vec::new();
            for t in (whole.start..whole.end).filter(|t| !works(*t)) {
                match expected.last_mut() {
                    Some(gap) if gap.1 == t && !cut(t) => gap.1 = t + 1,
                    _ => expected.push((t, t + 1)),
                }
            }
            let window = Window::new(from, from + length);
            let inside = |g: &&(i64, i64)| g.1 > window.start.max(whole.start) && g.0 < window.end.min(whole.end);
            let overlapping: Vec<(i64, i64)> = expected.iter().filter(inside).copied().collect();
            let found: Vec<Gap> = gaps(lane, whole, window).collect();
            if window.start < whole.end && window.end > whole.start {
                prop_assert_eq!(found.iter().map(|g| (g.start, g.end)).collect::<Vec<_>>(), overlapping);
            }
            for t in whole.start..whole.end {
                let at = expected.iter().find(|g| (g.0..g.1).contains(&t));
                prop_assert_eq!(gap_at(lane, whole, t).map(|g| (g.start, g.end)), at.copied(), "at {}", t);
            }
            let after = expected.iter().find(|g| g.0 > from && g.1 - g.0 >= 3);
            prop_assert_eq!(next(lane, whole, from, 3).map(|g| (g.start, g.end)), after.copied());
            let before = expected.iter().rev().find(|g| g.0 < from && g.1 - g.0 >= 3);
            prop_assert_eq!(previous(lane, whole, from, 3).map(|g| (g.start, g.end)), before.copied());
            for least in 2..9 {
                let long: Vec<Gap> = found.iter().copied().filter(|gap| gap.length() >= least).collect();
                if window.start < whole.end && window.end > whole.start {
                    prop_assert_eq!(&of_at_least(lane, whole, window, least), &long);
                    prop_assert_eq!(step_by_step(lane, whole, window, least), long, "at least {}", least);
                }
            }
            let most = found.iter().map(|g| g.end.min(window.end) - g.start.max(window.start)).max();
            let longest = longest(lane, whole, window).map(|g| g.end.min(window.end) - g.start.max(window.start));
            prop_assert_eq!(longest, most);
        }
    }
}
