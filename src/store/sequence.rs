//! The level-of-detail index of one track: events in order of start, which may overlap.
//!
//! Per block of [`BLOCK`] events it keeps the length of the union of all spans so far, how far they reach, and sums
//! of the measures; over the blocks lie two trees, for the longest working event and the latest end in a range. With
//! these, exact busy and active time, counts and sums of any window cost O(log n), and a row of a frame
//! O(columns · log n), whatever the profile's size. Background: thume.ca/2021/03/14/iforests.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;

use super::events::EventTable;
use super::max_tree::{BLOCK, MaxTree};
use super::sorted::BlockTimes;
use crate::model::{Nanos, Window, length};

/// Which events of a table, in order of start.
#[derive(Clone, Debug)]
pub enum Picks {
    /// Neighbours.
    Range(Range<u32>),
    /// Any.
    List(ScalarBuffer<u32>),
}

impl Picks {
    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Picks::Range(range) => range.len(),
            Picks::List(list) => list.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The event at position `i`. Panics when a list has no such position.
    #[must_use]
    #[inline]
    pub fn at(&self, i: usize) -> u32 {
        match self {
            Picks::Range(range) => range.start + i as u32,
            Picks::List(list) => list[i],
        }
    }

    /// The position of event `e`.
    #[must_use]
    pub fn position(&self, e: u32) -> Option<usize> {
        match self {
            Picks::Range(range) => range.contains(&e).then(|| (e - range.start) as usize),
            // Lists keep the table's order, which is that of the event numbers.
            Picks::List(list) => list.binary_search(&e).ok(),
        }
    }
}

/// Running union of spans, at the start of each block (and at the end).
#[derive(Clone, Debug)]
pub struct Union {
    /// Nanoseconds covered by the events of earlier blocks.
    pub(crate) covered: ScalarBuffer<u64>,
    /// Latest end among them; `i64::MIN` where there is none.
    pub(crate) reach: ScalarBuffer<i64>,
    /// Position of the event that ends latest; `u32::MAX` where there is none.
    pub(crate) who: ScalarBuffer<u32>,
}

/// The union up to a point, while it is being extended.
#[derive(Clone, Copy)]
struct Extent {
    covered: u64,
    reach: Nanos,
    who: u32,
}

impl Extent {
    const EMPTY: Extent = Extent { covered: 0, reach: i64::MIN, who: u32::MAX };

    #[inline]
    fn add(&mut self, start: Nanos, end: Nanos, position: usize) {
        self.covered += length(start.max(self.reach), end);
        if end > self.reach || self.who == u32::MAX {
            (self.reach, self.who) = (end, position as u32);
        }
    }

    /// What is covered before `time`, all events that start before it having been added.
    #[inline]
    fn before(&self, time: Nanos) -> u64 {
        self.covered - length(time, self.reach)
    }
}

/// A union while it grows.
#[derive(Clone)]
struct Running {
    extent: Extent,
    covered: Vec<u64>,
    reach: Vec<i64>,
    who: Vec<u32>,
}

impl Running {
    fn new(blocks: usize) -> Running {
        let room = blocks + 1;
        let (covered, reach, who) = (Vec::with_capacity(room), Vec::with_capacity(room), Vec::with_capacity(room));
        Running { extent: Extent::EMPTY, covered, reach, who }
    }

    /// Takes down how far it is.
    fn note(&mut self) {
        self.covered.push(self.extent.covered);
        self.reach.push(self.extent.reach);
        self.who.push(self.extent.who);
    }

    fn union(self) -> Union {
        Union { covered: self.covered.into(), reach: self.reach.into(), who: self.who.into() }
    }
}

impl Union {
    fn at(&self, block: usize) -> Extent {
        Extent { covered: self.covered[block], reach: self.reach[block], who: self.who[block] }
    }
}

/// Some events of a table in order of start, with their index.
#[derive(Clone, Debug)]
pub struct Sequence {
    pub(crate) picks: Picks,
    /// Start of the first event of each block.
    pub(crate) starts: BlockTimes,
    /// Union of all spans.
    pub(crate) busy: Union,
    /// Union of the working spans, where some event waits.
    pub(crate) active: Option<Union>,
    /// Longest working event.
    pub(crate) longest: MaxTree<u64>,
    /// Latest end.
    pub(crate) latest: MaxTree<i64>,
    /// Per measure of the table: its sum over the events of earlier blocks.
    pub(crate) sums: Vec<ScalarBuffer<u64>>,
}

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

impl Sequence {
    /// The neighbouring events `range` of `table`, which are in order of start.
    #[must_use]
    pub fn of_range(table: &EventTable, range: Range<u32>) -> Sequence {
        Sequence::build(table, Picks::Range(range))
    }

    /// The events `list` of `table`, which are in the table's order and of one group.
    #[must_use]
    pub fn of_list(table: &EventTable, list: Vec<u32>) -> Sequence {
        Sequence::build(table, Picks::List(list.into()))
    }

    fn build(table: &EventTable, picks: Picks) -> Sequence {
        match &picks {
            Picks::Range(range) => {
                let first = range.start;
                Sequence::index(table, picks.clone(), move |i| first + i as u32)
            }
            Picks::List(list) => {
                let list = list.clone();
                Sequence::index(table, picks, move |i| list[i])
            }
        }
    }

    /// All in one pass: profiles have tens of millions of events.
    fn index(table: &EventTable, picks: Picks, at: impl Fn(usize) -> u32) -> Sequence {
        let n = picks.len();
        let blocks = n.div_ceil(BLOCK);
        let mut busy = Running::new(blocks);
        let mut active: Option<Running> = None;
        let room = 2 * blocks + 32;
        let (mut longest, mut most_work) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let (mut latest, mut last_end) = (Vec::with_capacity(room), Vec::with_capacity(room));
        for block in 0..blocks {
            busy.note();
            active.iter_mut().for_each(Running::note);
            let from = block * BLOCK;
            let (mut most, mut last) = ((0, from), (i64::MIN, from));
            for i in from..n.min(from + BLOCK) {
                let e = at(i);
                let (start, end, works) = (table.start(e), table.end(e), table.is_work(e));
                if !works && active.is_none() {
                    // Up to the first wait, both are the same.
                    active = Some(busy.clone());
                }
                busy.extent.add(start, end, i);
                if works {
                    active.iter_mut().for_each(|active| active.extent.add(start, end, i));
                }
                let work = work_key(table, e);
                if work > most.0 {
                    most = (work, i);
                }
                if end > last.0 {
                    last = (end, i);
                }
            }
            longest.push(most.1 as u32);
            most_work.push(most.0);
            latest.push(last.1 as u32);
            last_end.push(last.0);
        }
        busy.note();
        active.iter_mut().for_each(Running::note);
        let sums = |(_, values): &(_, super::column::Coded<u64>)| {
            let mut sums = Vec::with_capacity(blocks + 1);
            let mut sum = 0u64;
            for block in 0..blocks {
                sums.push(sum);
                let events = block * BLOCK..n.min((block + 1) * BLOCK);
                sum = events.fold(sum, |sum, i| sum.saturating_add(*values.at(at(i) as usize)));
            }
            sums.push(sum);
            sums.into()
        };
        Sequence {
            busy: busy.union(),
            active: active.map(Running::union),
            starts: BlockTimes::new(n, |i| table.start(at(i))),
            longest: MaxTree::above(longest, most_work, n),
            latest: MaxTree::above(latest, last_end, n),
            sums: table.measures.iter().map(sums).collect(),
            picks,
        }
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.picks.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.picks.is_empty()
    }

    /// The events, by position.
    #[must_use]
    pub fn picks(&self) -> &Picks {
        &self.picks
    }

    /// The first event in the table's order; `u32::MAX` where there is none.
    #[must_use]
    pub fn first_event(&self) -> u32 {
        match &self.picks {
            Picks::Range(range) => range.start,
            Picks::List(list) => list.first().copied().unwrap_or(u32::MAX),
        }
    }

    /// The sequence together with its table, to ask it something.
    #[must_use]
    pub fn of<'a>(&'a self, table: &'a EventTable) -> Lane<'a> {
        Lane { table, sequence: self }
    }
}

/// Blocks that are looked through for running events before the tree is asked.
const LOOK_BACK: usize = 3;

/// Orders events by how much work they are: waits last.
#[inline]
fn work_key(table: &EventTable, e: u32) -> u64 {
    if table.is_work(e) { table.lengths.at(e as usize).saturating_add(1) } else { 0 }
}

/// Both unions at a moment.
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

    fn moment(&self, time: Nanos) -> Moment {
        let position = self.starting_before(time);
        let block = position / BLOCK;
        let mut busy = self.sequence.busy.at(block);
        let mut active = self.sequence.active.as_ref().map(|a| a.at(block));
        for i in block * BLOCK..position {
            let e = self.at(i);
            let (start, end) = (self.table.start(e), self.table.end(e));
            busy.add(start, end, i);
            if let Some(active) = &mut active
                && self.table.is_work(e)
            {
                active.add(start, end, i);
            }
        }
        Moment { position, busy, active: active.unwrap_or(busy) }
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

    /// [`Lane::active`] of each of `windows`, of which one mostly begins where the one before ended.
    #[must_use]
    pub fn actives(&self, windows: &[Window]) -> Vec<u64> {
        let mut last: Option<(Nanos, u64)> = None;
        let before = |time: Nanos| self.moment(time).active.before(time);
        let active = |window: &Window| {
            let from =
                last.filter(|(time, _)| *time == window.start).map_or_else(|| before(window.start), |(_, sum)| sum);
            let to = before(window.end);
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
        let (whole_b, part_b) = self.sum_before(index, window.end);
        let (whole_a, part_a) = self.sum_before(index, window.start);
        (whole_b - whole_a) as f64 - part_b + part_a
    }

    /// [`Lane::sum`] of each of `windows`, of which one often begins where the one before began or ended.
    #[must_use]
    pub fn sums(&self, index: usize, windows: &[Window]) -> Vec<f64> {
        let (mut begin, mut end) = (None, None);
        let sum = |window: &Window| {
            let known = [begin, end].into_iter().flatten().find(|(time, _)| *time == window.start);
            let (_, (whole_a, part_a)) = known.unwrap_or_else(|| (window.start, self.sum_before(index, window.start)));
            let (whole_b, part_b) = self.sum_before(index, window.end);
            begin = Some((window.start, (whole_a, part_a)));
            end = Some((window.end, (whole_b, part_b)));
            (whole_b - whole_a) as f64 - part_b + part_a
        };
        windows.iter().map(sum).collect()
    }

    /// The sum over events that start before `time`, and how much of it lies at or after `time`.
    fn sum_before(&self, index: usize, time: Nanos) -> (u64, f64) {
        let Some((_, values)) = self.table.measures.get(index) else { return (0, 0.0) };
        let position = self.starting_before(time);
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
        let mut last: Option<(Nanos, Moment)> = None;
        cells
            .into_iter()
            .map(|window| {
                let from = match last.take() {
                    Some((time, moment)) if time == window.start => moment,
                    _ => self.moment(window.start),
                };
                let to = self.moment(window.end);
                let cell = self.cell(window, &from, &to);
                last = Some((window.end, to));
                cell
            })
            .collect()
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
