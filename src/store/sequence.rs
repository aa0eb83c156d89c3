//! The level-of-detail index of one track: events in order of start, which may overlap.
//!
//! Per block of [`BLOCK`] events it keeps the length of the union of all spans so far, how far they reach, and sums
//! of the measures; over the blocks lie two trees, for the longest working event and the latest end in a range. With
//! these, exact busy and active time, counts and sums of any window cost O(log n), and a row of a frame
//! O(columns · log n), whatever the profile's size. Background: thume.ca/2021/03/14/iforests.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;

use super::events::EventTable;
use super::lane::Lane;
use super::max_tree::{BLOCK, MaxTree};
use super::sorted::BlockTimes;
use crate::model::{Nanos, length};

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
pub(super) struct Extent {
    pub(super) covered: u64,
    pub(super) reach: Nanos,
    pub(super) who: u32,
}

impl Extent {
    pub(super) const EMPTY: Extent = Extent { covered: 0, reach: i64::MIN, who: u32::MAX };

    #[inline]
    pub(super) fn add(&mut self, start: Nanos, end: Nanos, position: usize) {
        self.covered += length(start.max(self.reach), end);
        if end > self.reach || self.who == u32::MAX {
            (self.reach, self.who) = (end, position as u32);
        }
    }

    /// What is covered before `time`, all events that start before it having been added.
    #[inline]
    pub(super) fn before(&self, time: Nanos) -> u64 {
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
    pub(super) fn at(&self, block: usize) -> Extent {
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
        // The trees put their inner nodes behind.
        let room = blocks + blocks / 8 + 32;
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
        Lane::new(table, self)
    }
}

/// Orders events by how much work they are: waits last.
#[inline]
pub(super) fn work_key(table: &EventTable, e: u32) -> u64 {
    if table.is_work(e) { table.lengths.at(e as usize).saturating_add(1) } else { 0 }
}
