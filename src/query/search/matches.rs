//! The events that match, in order of start, then id.
//!
//! Per table they are a set of events with a directory for counting. A table's events are sorted by start within each
//! group, so any question about order or time is answered by counting in each group: O(groups · log n), whatever the
//! number of matches, and nothing is ever sorted as a whole.

use std::ops::Range;

use super::bits::{Bits, Ranked};
use crate::model::{Nanos, Window};
use crate::store::sequence::Picks;
use crate::store::{EventRef, Lane, Problem, Store};

/// The matches of one table.
#[derive(Clone, Debug)]
struct Part {
    table: u16,
    found: Ranked,
    /// The groups that have any: position in the table, and their events.
    groups: Vec<(usize, Range<u32>)>,
}

/// All events that match a query.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    parts: Vec<Part>,
    total: u64,
    /// What could not be searched.
    pub problems: Vec<Problem>,
}

impl Matches {
    /// The events of each table for which the bit is set. Tables are given once each.
    pub(super) fn new(store: &Store, tables: Vec<(u16, Bits)>, problems: Vec<Problem>) -> Matches {
        let mut parts = Vec::new();
        for (table, bits) in tables {
            let Some(events) = store.events.get(usize::from(table)) else { continue };
            let found = Ranked::from(bits);
            let range = |(at, group): (usize, &crate::store::Group)| match group.sequence.picks() {
                Picks::Range(range) if found.within(range.clone()) > 0 => Some((at, range.clone())),
                _ => None,
            };
            let groups: Vec<_> = events.groups.iter().enumerate().filter_map(range).collect();
            if !groups.is_empty() {
                parts.push(Part { table, found, groups });
            }
        }
        let total = parts.iter().map(|p| p.found.count()).sum();
        Matches { parts, total, problems }
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether an event is among them.
    #[must_use]
    pub fn contains(&self, event: EventRef) -> bool {
        self.part(event.table).is_some_and(|p| p.found.has(event.event))
    }

    fn part(&self, table: u16) -> Option<&Part> {
        self.parts.iter().find(|p| p.table == table)
    }

    /// How many matches each table has.
    pub fn per_table(&self) -> impl Iterator<Item = (u16, u64)> {
        self.parts.iter().map(|p| (p.table, p.found.count()))
    }

    /// Each group with its lane, its events and the matches of its table.
    fn lanes<'a>(&'a self, store: &'a Store) -> impl Iterator<Item = Group<'a>> {
        self.parts.iter().flat_map(move |part| {
            let events = store.events.get(usize::from(part.table));
            part.groups.iter().filter_map(move |(at, range)| {
                let events = events?;
                let lane = events.groups.get(*at)?.sequence.of(events);
                Some(Group { part, lane, range: range.clone() })
            })
        })
    }

    /// How many matches start before `time`.
    #[must_use]
    pub fn before(&self, store: &Store, time: Nanos) -> u64 {
        self.lanes(store).map(|g| g.part.found.within(g.range.start..g.until(time))).sum()
    }

    /// How many matches start in each of `cells`.
    #[must_use]
    pub fn counts(&self, store: &Store, cells: &[Window]) -> Vec<u64> {
        let mut counts = vec![0; cells.len()];
        for group in self.lanes(store) {
            let mut last: Option<(Nanos, u32)> = None;
            for (count, cell) in counts.iter_mut().zip(cells) {
                let from = match last {
                    Some((time, event)) if time == cell.start => event,
                    _ => group.until(cell.start),
                };
                let to = group.until(cell.end);
                last = Some((cell.end, to));
                *count += group.part.found.within(from..to);
            }
        }
        counts
    }

    /// How many of a lane's events that start in `window` match.
    #[must_use]
    pub fn in_lane(&self, table: u16, lane: Lane, window: Window) -> u64 {
        let Some(part) = self.part(table) else { return 0 };
        let (from, to) = (lane.starting_before(window.start), lane.starting_before(window.end));
        let (Some(first), Some(last)) = (lane.event(from), to.checked_sub(1).and_then(|i| lane.event(i))) else {
            return 0;
        };
        if from >= to {
            return 0;
        }
        let range = first..last.saturating_add(1);
        let all = part.found.within(range.clone());
        if all == 0 || (last - first) as usize == to - from - 1 {
            return all;
        }
        // Some events between the first and last belong to other tracks of the group.
        part.found.iter(range).filter(|&e| lane.position(e).is_some()).count() as u64
    }

    /// Whether any match lies between the first and the last event of a lane.
    #[must_use]
    pub fn reaches(&self, table: u16, lane: &Lane) -> bool {
        let Some(part) = self.part(table) else { return false };
        let ends = (lane.event(0), lane.len().checked_sub(1).and_then(|last| lane.event(last)));
        matches!(ends, (Some(first), Some(last)) if part.found.within(first..last.saturating_add(1)) > 0)
    }

    /// Whether any of a lane's events that start in `window` match.
    #[must_use]
    pub fn any_in(&self, table: u16, lane: &Lane, window: Window) -> bool {
        let Some(part) = self.part(table) else { return false };
        let (from, to) = (lane.starting_before(window.start), lane.starting_before(window.end));
        let (Some(first), Some(last)) = (lane.event(from), to.checked_sub(1).and_then(|i| lane.event(i))) else {
            return false;
        };
        let range = first..last.saturating_add(1);
        // Some events between the first and last may belong to other tracks of the group.
        from < to && part.found.within(range.clone()) > 0 && part.found.iter(range).any(|e| lane.position(e).is_some())
    }

    /// Whether an event that starts at `time` is the one whose run it belongs to: the matches that start then, by id.
    fn run(&self, store: &Store, time: Nanos) -> Vec<EventRef> {
        let mut run: Vec<EventRef> = Vec::new();
        for group in self.lanes(store) {
            let from = group.until(time);
            let to = time.checked_add(1).map_or(group.range.end, |after| group.until(after));
            run.extend(group.part.found.iter(from..to).map(|event| EventRef { table: group.part.table, event }));
        }
        if run.len() > 1 {
            run.sort_by_cached_key(|&event| (store.id_of(event), event));
        }
        run
    }

    /// The start of the first match that starts at or after `time`.
    fn start_from(&self, store: &Store, time: Nanos) -> Option<Nanos> {
        let first = |g: Group| {
            let event = g.part.found.first_in(g.until(time)..g.range.end)?;
            Some(g.lane.table().start(event))
        };
        self.lanes(store).filter_map(first).min()
    }

    /// The start of the last match that starts before `time`.
    fn start_before(&self, store: &Store, time: Nanos) -> Option<Nanos> {
        let last = |g: Group| {
            let event = g.part.found.last_in(g.range.start..g.until(time))?;
            Some(g.lane.table().start(event))
        };
        self.lanes(store).filter_map(last).max()
    }

    /// The match at position `n` in order.
    #[must_use]
    pub fn nth(&self, store: &Store, n: u64) -> Option<EventRef> {
        self.page(store, n, 1).pop()
    }

    /// Up to `count` matches from position `first` on, in order.
    #[must_use]
    pub fn page(&self, store: &Store, first: u64, count: usize) -> Vec<EventRef> {
        let mut page = Vec::new();
        if first >= self.total || count == 0 {
            return page;
        }
        // The latest time before which no more than `first` matches start.
        let (mut lo, mut hi) = (i64::MIN, i64::MAX);
        while lo < hi {
            // Rounds up, so that it ends; and cannot overflow.
            let middle = (i128::from(lo) + i128::from(hi) + 1).div_euclid(2) as i64;
            if self.before(store, middle) <= first { lo = middle } else { hi = middle - 1 }
        }
        let mut skip = (first - self.before(store, lo)) as usize;
        let mut from = Some(lo);
        while let Some(time) = from.and_then(|time| self.start_from(store, time)) {
            page.extend(self.run(store, time).into_iter().skip(skip).take(count - page.len()));
            if page.len() == count {
                break;
            }
            skip = 0;
            from = time.checked_add(1);
        }
        page
    }

    /// The position of a match in order: 0 for the first.
    #[must_use]
    pub fn position(&self, store: &Store, event: EventRef) -> Option<u64> {
        if !self.contains(event) {
            return None;
        }
        let time = store.table_of(event).start(event.event);
        let within = self.run(store, time).iter().position(|&e| e == event)?;
        Some(self.before(store, time) + within as u64)
    }

    /// The first match after a place: after `event` in order, or the first that starts at or after `time`.
    #[must_use]
    pub fn next(&self, store: &Store, time: Nanos, event: Option<EventRef>) -> Option<EventRef> {
        let Some(event) = event.filter(|e| known(store, *e)) else {
            let time = self.start_from(store, time)?;
            return self.run(store, time).first().copied();
        };
        let start = store.table_of(event).start(event.event);
        let run = self.run(store, start);
        run.get(place(store, &run, event).1).copied().or_else(|| {
            let time = self.start_from(store, start.checked_add(1)?)?;
            self.run(store, time).first().copied()
        })
    }

    /// The last match before a place: before `event` in order, or the last that starts before `time`.
    #[must_use]
    pub fn previous(&self, store: &Store, time: Nanos, event: Option<EventRef>) -> Option<EventRef> {
        let before = |time| self.run(store, self.start_before(store, time)?).last().copied();
        let Some(event) = event.filter(|e| known(store, *e)) else { return before(time) };
        let start = store.table_of(event).start(event.event);
        let run = self.run(store, start);
        let earlier = place(store, &run, event).0.checked_sub(1).and_then(|at| run.get(at).copied());
        earlier.or_else(|| before(start))
    }

    /// All matches, table by table, each in the table's order.
    pub fn unordered(&self) -> impl Iterator<Item = EventRef> {
        self.parts.iter().flat_map(|part| {
            part.groups.iter().flat_map(move |(_, range)| {
                part.found.iter(range.clone()).map(move |event| EventRef { table: part.table, event })
            })
        })
    }
}

/// How many events of a run come before `event`, and up to it. Ids are only asked for where they decide.
fn place(store: &Store, run: &[EventRef], event: EventRef) -> (usize, usize) {
    if let Some(at) = run.iter().position(|&e| e == event) {
        return (at, at + 1);
    }
    if run.is_empty() {
        return (0, 0);
    }
    let key = (store.id_of(event), event);
    let before = run.partition_point(|&e| (store.id_of(e), e) < key);
    (before, before)
}

fn known(store: &Store, event: EventRef) -> bool {
    store.events.get(usize::from(event.table)).is_some_and(|t| (event.event as usize) < t.len())
}

/// A group that has matches.
struct Group<'a> {
    part: &'a Part,
    lane: Lane<'a>,
    range: Range<u32>,
}

impl Group<'_> {
    /// The first event that does not start before `time`.
    fn until(&self, time: Nanos) -> u32 {
        self.range.start + self.lane.starting_before(time) as u32
    }
}
