//! What a track shows in a window: the questions that [`Sequence`] answers.

use super::events::EventTable;
use super::max_tree::BLOCK;
use super::sequence::{Extent, Sequence, work_key};
use super::sorted::Finger;
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

/// Goes from moment to moment of a lane, mostly forwards, and does only what lies between them.
struct Walk<'a> {
    lane: Lane<'a>,
    finger: Finger,
    moment: Moment,
}

impl Walk<'_> {
    /// The unions at `time`.
    #[inline]
    fn at(&mut self, time: Nanos) -> Moment {
        let Lane { table, sequence } = self.lane;
        let position = self.lane.seek(&mut self.finger, time);
        let mut from = position / BLOCK * BLOCK;
        if (from..=position).contains(&self.moment.position) {
            from = self.moment.position;
        } else {
            self.moment.busy = sequence.busy.at(from / BLOCK);
            self.moment.active = sequence.active.as_ref().map_or(Extent::EMPTY, |active| active.at(from / BLOCK));
        }
        for i in from..position {
            let e = sequence.picks.at(i);
            let (start, end) = (table.start(e), table.end(e));
            self.moment.busy.add(start, end, i);
            if sequence.active.is_some() && table.is_work(e) {
                self.moment.active.add(start, end, i);
            }
        }
        if sequence.active.is_none() {
            self.moment.active = self.moment.busy;
        }
        self.moment.position = position;
        self.moment
    }
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
        self.seek(&mut Finger::default(), time)
    }

    /// [`Lane::starting_before`], which looks near the answer to the question before.
    fn seek(&self, finger: &mut Finger, time: Nanos) -> usize {
        self.sequence.starts.seek(finger, time, self.len(), |i| self.table.start(self.at(i)))
    }

    fn walk(&self) -> Walk<'a> {
        let moment = Moment { position: 0, busy: Extent::EMPTY, active: Extent::EMPTY };
        Walk { lane: *self, finger: Finger::default(), moment }
    }

    /// Nanoseconds of `window` covered by spans, waits included: the vendor's word for all is busy.
    #[must_use]
    pub fn busy(&self, window: Window) -> u64 {
        let mut walk = self.walk();
        let before = walk.at(window.start).busy.before(window.start);
        walk.at(window.end).busy.before(window.end) - before
    }

    /// Nanoseconds of `window` covered by spans other than EVENT_SEMAPHORE: the vendor's active time.
    #[must_use]
    pub fn active(&self, window: Window) -> u64 {
        let mut walk = self.walk();
        let before = walk.at(window.start).active.before(window.start);
        walk.at(window.end).active.before(window.end) - before
    }

    /// [`Lane::active`] of each of `windows`, of which one mostly begins where the one before ended.
    #[must_use]
    pub fn actives(&self, windows: &[Window]) -> Vec<u64> {
        let mut walk = self.walk();
        let mut last = None;
        let active = |window: &Window| {
            let from = match last {
                Some((time, sum)) if time == window.start => sum,
                _ => walk.at(window.start).active.before(window.start),
            };
            let to = walk.at(window.end).active.before(window.end);
            last = Some((window.end, to));
            to - from
        };
        windows.iter().map(active).collect()
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

    /// [`Lane::sum`] of each of `windows`, of which one often begins where the one before began or ended.
    #[must_use]
    pub fn sums(&self, index: usize, windows: &[Window]) -> Vec<f64> {
        let (mut begin, mut end) = (None, None);
        let mut finger = Finger::default();
        let sum = |window: &Window| {
            let known = [begin, end].into_iter().flatten().find(|(time, _)| *time == window.start);
            let mut before = |time| self.sum_before(index, time, self.seek(&mut finger, time));
            let (_, (whole_a, part_a)) = known.unwrap_or_else(|| (window.start, before(window.start)));
            let (whole_b, part_b) = before(window.end);
            begin = Some((window.start, (whole_a, part_a)));
            end = Some((window.end, (whole_b, part_b)));
            (whole_b - whole_a) as f64 - part_b + part_a
        };
        windows.iter().map(sum).collect()
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

    /// What each of `cells` shows; they are in order of time and may repeat.
    #[must_use]
    pub fn cells(&self, cells: impl IntoIterator<Item = Window>) -> Vec<Cell> {
        let mut walk = self.walk();
        let mut last: Option<(Window, Cell)> = None;
        let cell = |window: Window| {
            if let Some((same, cell)) = last
                && same == window
            {
                return cell;
            }
            let (from, to) = (walk.at(window.start), walk.at(window.end));
            let cell = self.cell(window, &from, &to);
            last = Some((window, cell));
            cell
        };
        cells.into_iter().map(cell).collect()
    }

    fn cell(&self, window: Window, from: &Moment, to: &Moment) -> Cell {
        let started = from.position..to.position;
        let busy = to.busy.before(window.end) - from.busy.before(window.start);
        let active = to.active.before(window.end) - from.active.before(window.start);
        if started.is_empty() && busy == 0 {
            return Cell::default();
        }
        let carried = |extent: &Extent| (extent.reach > window.start).then_some(extent.who as usize);
        let part = |i: usize| {
            let e = self.at(i);
            length(self.table.start(e).max(window.start), self.table.end(e).min(window.end))
        };
        let works = |&i: &usize| self.table.is_work(self.at(i));
        let longest = self.sequence.longest.max_in(started.clone(), |i| work_key(self.table, self.at(i))).filter(works);
        let event = match (carried(&from.active).filter(works), longest) {
            (Some(a), Some(b)) => Some(if part(b) > part(a) { b } else { a }),
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
