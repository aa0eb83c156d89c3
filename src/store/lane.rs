//! What a track shows in a window: the questions that [`Sequence`] answers.

use std::ops::Range;

use super::events::EventTable;
use super::max_tree::BLOCK;
use super::sequence::{Extent, Sequence, work_key};
use super::sorted::edges;
use crate::model::{Nanos, Window, length};

/// What one column of a track shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Events that start here.
    pub count: u32,
    /// Nanoseconds covered by spans, waits included.
    pub busy: u64,
    /// Nanoseconds covered by working spans.
    pub active: u64,
    /// The event that stands for the cell: the working one with the longest part here, else a waiting one.
    pub event: Option<u32>,
}

/// Blocks that are looked through for running events before the tree is asked.
const LOOK_BACK: usize = 3;

/// Both unions at a moment.
#[derive(Clone, Copy)]
struct Moment {
    /// Number of events that start before it.
    position: usize,
    busy: Extent,
    active: Extent,
}

/// A sequence with its table. All windows are half-open; all answers are exact.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    table: &'a EventTable,
    sequence: &'a Sequence,
}

impl<'a> Lane<'a> {
    pub(super) fn new(table: &'a EventTable, sequence: &'a Sequence) -> Lane<'a> {
        Lane { table, sequence }
    }

    /// The table that the events are in.
    #[must_use]
    pub fn table(&self) -> &'a EventTable {
        self.table
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sequence.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sequence.is_empty()
    }

    /// Whether no event has any length: they are moments.
    #[must_use]
    pub fn is_instants(&self) -> bool {
        self.sequence.busy.covered.last().is_none_or(|&covered| covered == 0)
    }

    /// The event at position `i` in order of start.
    #[must_use]
    pub fn event(&self, i: usize) -> Option<u32> {
        (i < self.len()).then(|| self.sequence.picks.at(i))
    }

    /// The position of event `e`.
    #[must_use]
    pub fn position(&self, e: u32) -> Option<usize> {
        self.sequence.picks.position(e)
    }

    #[inline]
    fn at(&self, i: usize) -> u32 {
        self.sequence.picks.at(i)
    }

    /// Least start and greatest end.
    #[must_use]
    pub fn span(&self) -> Option<(Nanos, Nanos)> {
        let first = self.event(0)?;
        let reach = *self.sequence.busy.reach.last()?;
        Some((self.table.start(first), reach))
    }

    /// Number of events that start before `time`.
    #[must_use]
    pub fn starting_before(&self, time: Nanos) -> usize {
        self.sequence.starts.before(time, self.len(), |i| self.table.start(self.at(i)))
    }

    /// [`Lane::starting_before`] each of `times`.
    fn starting_before_each(&self, times: &[Nanos]) -> Vec<usize> {
        self.sequence.starts.before_each(times, self.len(), |i| self.table.start(self.at(i)))
    }

    /// How far the block of a position has got after its first event.
    fn block_begun(&self, position: usize) -> Moment {
        let first = position / BLOCK * BLOCK;
        let busy = self.sequence.busy.at(position / BLOCK);
        let active = self.sequence.active.as_ref().map_or(busy, |active| active.at(position / BLOCK));
        let mut moment = Moment { position, busy, active };
        if first < position {
            self.add(&mut moment, first);
        }
        moment
    }

    /// Adds the events from position `from` on to the unions of a moment.
    fn complete(&self, mut moment: Moment, from: usize) -> Moment {
        for i in from..moment.position {
            self.add(&mut moment, i);
        }
        if self.sequence.active.is_none() {
            moment.active = moment.busy;
        }
        moment
    }

    /// Both unions at a time.
    fn moment(&self, time: Nanos) -> Moment {
        let moment = self.block_begun(self.starting_before(time));
        self.complete(moment, moment.position / BLOCK * BLOCK + 1)
    }

    /// Both unions at each of `times`.
    fn moments(&self, times: &[Nanos]) -> Vec<Moment> {
        // Each block is begun before any is completed, for the reason of [`BlockTimes::before_each`].
        let begun = self.starting_before_each(times).into_iter().map(|position| self.block_begun(position));
        let mut moments: Vec<Moment> = begun.collect();
        let mut last: Option<Moment> = None;
        for moment in &mut moments {
            let position = moment.position;
            let from = position / BLOCK * BLOCK + 1;
            *moment = match last {
                Some(last) if (from..=position).contains(&last.position) => {
                    self.complete(Moment { position, ..last }, last.position)
                }
                _ => self.complete(*moment, from),
            };
            last = Some(*moment);
        }
        moments
    }

    #[inline]
    fn add(&self, moment: &mut Moment, i: usize) {
        let e = self.at(i);
        let (start, end) = (self.table.start(e), self.table.end(e));
        moment.busy.add(start, end, i);
        if self.sequence.active.is_some() && self.table.is_work(e) {
            moment.active.add(start, end, i);
        }
    }

    /// Nanoseconds of `window` covered by spans, waits included: the vendor's word for all is busy.
    #[must_use]
    pub fn busy(&self, window: Window) -> u64 {
        self.moment(window.end).busy.before(window.end) - self.moment(window.start).busy.before(window.start)
    }

    /// Nanoseconds of `window` covered by spans other than EVENT_SEMAPHORE: the vendor's active time.
    #[must_use]
    pub fn active(&self, window: Window) -> u64 {
        self.moment(window.end).active.before(window.end) - self.moment(window.start).active.before(window.start)
    }

    /// [`Lane::active`] of each of `windows`.
    #[must_use]
    pub fn actives(&self, windows: &[Window]) -> Vec<u64> {
        let (times, places) = edges(windows);
        let moments = self.moments(&times);
        let before: Vec<u64> = moments.iter().zip(&times).map(|(moment, &time)| moment.active.before(time)).collect();
        places.into_iter().map(|(from, to)| before[to] - before[from]).collect()
    }

    /// Events that overlap `window`: they start before its end and end after its start.
    #[must_use]
    pub fn count(&self, window: Window) -> usize {
        let from = self.starting_before(window.start);
        let mut count = self.starting_before(window.end) - from;
        self.visit_running(from, window.start, |_| {
            count += 1;
            true
        });
        // Events without length that lie on the window's start do not end after it.
        for i in from..self.len() {
            let e = self.at(i);
            if self.table.start(e) != window.start {
                break;
            }
            count -= usize::from(self.table.end(e) <= window.start);
        }
        count
    }

    /// Calls `visit` for the events running at `time` (start before, end after it), in order, until it returns false.
    pub fn running_at(&self, time: Nanos, mut visit: impl FnMut(u32) -> bool) {
        self.visit_running(self.starting_before(time), time, |i| visit(self.at(i)));
    }

    fn visit_running(&self, before: usize, time: Nanos, mut visit: impl FnMut(usize) -> bool) {
        // What runs has mostly begun a moment ago: look back until nothing earlier reaches `time`.
        let reach = &self.sequence.busy.reach;
        let last = before / BLOCK;
        let near = (last.saturating_sub(LOOK_BACK)..=last).rev().find(|&block| reach[block] <= time);
        match near {
            Some(block) => {
                let mut running = (block * BLOCK..before).filter(|&i| self.table.end(self.at(i)) > time);
                while running.next().is_some_and(&mut visit) {}
            }
            None => self.sequence.latest.visit_above(before, time, |i| self.table.end(self.at(i)), visit),
        }
    }

    /// Calls `visit` for the events that overlap `window` or start in it, in order of start, until it returns false.
    pub fn visit(&self, window: Window, mut visit: impl FnMut(u32) -> bool) {
        let from = self.starting_before(window.start);
        let mut go_on = true;
        self.visit_running(from, window.start, |i| {
            go_on = visit(self.at(i));
            go_on
        });
        for i in from..self.len() {
            let e = self.at(i);
            if !go_on || self.table.start(e) >= window.end {
                return;
            }
            go_on = visit(e);
        }
    }

    /// The sum of measure `index` of the table over `window`, each event's amount spread evenly over its span.
    #[must_use]
    pub fn sum(&self, index: usize, window: Window) -> f64 {
        self.sums(index, &[window])[0]
    }

    /// [`Lane::sum`] of each of `windows`.
    #[must_use]
    pub fn sums(&self, index: usize, windows: &[Window]) -> Vec<f64> {
        let (times, places) = edges(windows);
        let mut last: Option<(Nanos, (u64, f64))> = None;
        let before = |(position, &time): (usize, &Nanos)| {
            // Averages since a moment all begin at it.
            let (_, sum) = *last.insert(match last {
                Some(known) if known.0 == time => known,
                _ => (time, self.sum_before(index, time, position)),
            });
            sum
        };
        let before: Vec<_> = self.starting_before_each(&times).into_iter().zip(&times).map(before).collect();
        let sum = |(from, to): (usize, usize)| {
            let ((whole_a, part_a), (whole_b, part_b)) = (before[from], before[to]);
            (whole_b - whole_a) as f64 - part_b + part_a
        };
        places.into_iter().map(sum).collect()
    }

    /// The sum over the `position` events that start before `time`, and how much of it lies at or after `time`.
    fn sum_before(&self, index: usize, time: Nanos, position: usize) -> (u64, f64) {
        let Some((_, values)) = self.table.measures.get(index) else { return (0, 0.0) };
        let block = position / BLOCK;
        let mut whole = self.sequence.sums[index][block];
        for i in block * BLOCK..position {
            whole = whole.saturating_add(*values.at(self.at(i) as usize));
        }
        let mut later = 0.0;
        self.visit_running(position, time, |i| {
            let e = self.at(i);
            let amount = *values.at(e as usize) as f64;
            later += amount * (length(time, self.table.end(e)) as f64 / self.table.lengths.at(e as usize) as f64);
            true
        });
        (whole, later)
    }

    /// What each of `cells` shows.
    #[must_use]
    pub fn cells(&self, cells: impl IntoIterator<Item = Window>) -> Vec<Cell> {
        let windows: Vec<Window> = cells.into_iter().collect();
        let (times, places) = edges(&windows);
        let moments = self.moments(&times);
        let started = |&(from, to): &(usize, usize)| moments[from].position..moments[to].position;
        // The longest of each before any of them is looked at, again for that reason.
        let longest: Vec<Option<usize>> = places.iter().map(|place| self.longest(started(place))).collect();
        let cells = windows.into_iter().zip(places).zip(longest);
        cells.map(|((window, (from, to)), longest)| self.cell(window, &moments[from], &moments[to], longest)).collect()
    }

    /// The position of the longest working event of some.
    fn longest(&self, range: Range<usize>) -> Option<usize> {
        let longest = self.sequence.longest.max_in(range, |i| work_key(self.table, self.at(i)));
        longest.filter(|&(_, work)| work > 0).map(|(at, _)| at)
    }

    fn cell(&self, window: Window, from: &Moment, to: &Moment, longest: Option<usize>) -> Cell {
        let started = from.position..to.position;
        let busy = to.busy.before(window.end) - from.busy.before(window.start);
        let active = to.active.before(window.end) - from.active.before(window.start);
        if started.is_empty() && busy == 0 {
            return Cell::default();
        }
        let carried = |extent: &Extent| (extent.reach > window.start).then_some(extent.who as usize);
        let event = match (carried(&from.active), longest) {
            (Some(a), Some(b)) => {
                let e = self.at(b);
                let part = length(self.table.start(e), self.table.end(e).min(window.end));
                Some(if part > length(window.start, from.active.reach.min(window.end)) { b } else { a })
            }
            (a, b) => a.or(b),
        }
        .or_else(|| carried(&from.busy))
        .or_else(|| (!started.is_empty()).then_some(started.start));
        Cell { count: started.len().min(u32::MAX as usize) as u32, busy, active, event: event.map(|i| self.at(i)) }
    }

    /// Splits the events into rows in which none overlap, each going to the first row that is free, so that an event
    /// keeps its row at every zoom. With more than `most` rows, the last holds what is left, overlapping.
    #[must_use]
    pub fn rows(&self, most: usize) -> Vec<Vec<u32>> {
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut ends: Vec<Nanos> = Vec::new();
        for i in 0..self.len() {
            let e = self.at(i);
            let (start, end) = (self.table.start(e), self.table.end(e).max(self.table.start(e).saturating_add(1)));
            match ends.iter().position(|&free| free <= start) {
                Some(row) => {
                    rows[row].push(e);
                    ends[row] = end;
                }
                None if rows.len() < most.max(1) => {
                    rows.push(vec![e]);
                    ends.push(end);
                }
                None => rows[most.max(1) - 1].push(e),
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests;
