//! Which events stand out: the selected one, matches, dependents.

use std::ops::RangeInclusive;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Grid, Window};
use crate::query::search::Matches;
use crate::store::{Cell, EventRef, LabelKind, Lane};

/// Why an event stands out; of several reasons the last in this order shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Emphasis {
    /// It does not.
    #[default]
    None,
    /// It has the name that is highlighted.
    SameName,
    /// It matches the search.
    Match,
    /// It uses the same PSUM bank as the selected one.
    PsumBank,
    /// It depends on the selected one, or the other way round, by order alone.
    Ordered,
    /// It writes what the selected one wrote.
    Output,
    /// It writes what the selected one read.
    Anti,
    /// It reads what the selected one wrote.
    Flow,
    /// A transfer linked to the selected instruction.
    Transfer,
    /// The instruction that started the selected transfer.
    DmaStarter,
    /// It is part of the chain or list of causes that is shown.
    Chain,
    /// The search match one is at.
    CurrentMatch,
    /// The selected event itself.
    Selected,
}

/// Sets of events that stand out.
#[derive(Clone, Debug, Default)]
pub struct Emphases {
    /// Per table and reason the events, in order.
    sets: FxHashMap<(u16, Emphasis), Vec<u32>>,
    /// A table and the key of a name in it: all events of that name stand out, as [`Emphasis::SameName`].
    pub named: Option<(u16, u32)>,
    /// The matches of a search, which stand out as [`Emphasis::Match`].
    pub matches: Option<Arc<Matches>>,
}

impl Emphases {
    /// Adds events that stand out for one reason.
    pub fn add(&mut self, emphasis: Emphasis, events: impl IntoIterator<Item = EventRef>) {
        let mut touched = Vec::new();
        for event in events {
            let key = (event.table, emphasis);
            self.sets.entry(key).or_default().push(event.event);
            if touched.last() != Some(&key) {
                touched.push(key);
            }
        }
        for key in touched {
            if let Some(set) = self.sets.get_mut(&key)
                && !set.is_sorted()
            {
                set.sort_unstable();
                set.dedup();
            }
        }
    }

    /// Whether nothing stands out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty() && self.named.is_none() && self.matches.is_none()
    }

    /// Why `event` stands out.
    #[must_use]
    pub fn of(&self, event: EventRef) -> Emphasis {
        let holds = |set: &[u32]| set.binary_search(&event.event).is_ok();
        let found = self.sets.iter().filter(|((table, _), set)| *table == event.table && holds(set));
        let matched = self.matches.as_ref().is_some_and(|m| m.contains(event)).then_some(Emphasis::Match);
        found.map(|((_, emphasis), _)| *emphasis).chain(matched).max().unwrap_or_default()
    }

    /// Adds to `row` the columns in which events of the highlighted name lie, as far as the event that stands for the
    /// column, or the first that start in it, show.
    pub fn add_named(&self, row: &mut Vec<Emphasis>, table: u16, lane: &Lane, windows: &[Window], cells: &[Cell]) {
        let Some(labels) = lane.table().label(LabelKind::Name) else { return };
        let Some((_, name)) = self.named.filter(|(named, _)| *named == table) else { return };
        let is_named = |e: u32| labels.key(e as usize) == name;
        for (i, (cell, window)) in cells.iter().zip(windows).enumerate() {
            let mut found = cell.event.is_some_and(is_named);
            if !found && cell.count > 1 {
                let from = lane.starting_before(window.start);
                let some = from..from + (cell.count as usize).min(LOOKED_AT);
                found = some.filter_map(|i| lane.event(i)).any(is_named);
            }
            if found {
                row.resize(cells.len(), Emphasis::None);
                row[i] = row[i].max(Emphasis::SameName);
            }
        }
    }

    /// Adds to `row` the columns in which a match of the search starts or goes on.
    pub fn add_matches(&self, row: &mut Vec<Emphasis>, table: u16, lane: &Lane, windows: &[Window], cells: &[Cell]) {
        let Some(matches) = self.matches.as_ref().filter(|m| m.reaches(table, lane)) else { return };
        let is_match = |event: u32| matches.contains(EventRef { table, event });
        for (i, (cell, window)) in cells.iter().zip(windows).enumerate() {
            let mut found = cell.event.is_some_and(is_match) || cell.count > 0 && matches.any_in(table, lane, *window);
            if !found && cell.event.is_some() {
                lane.running_at(window.start, |e| {
                    found = is_match(e);
                    !found
                });
            }
            if found {
                row.resize(cells.len(), Emphasis::None);
                row[i] = row[i].max(Emphasis::Match);
            }
        }
    }

    /// Per column of `grid` (one more on the left, two on the right) the strongest reason for which an event of `lane` stands
    /// out there, also where another event represents the column. Empty where none of the lane's events does.
    #[must_use]
    pub fn row(&self, table: u16, lane: &Lane, grid: Grid) -> Vec<Emphasis> {
        let mut row = Vec::new();
        let (Some(first), Some(last)) = (lane.event(0), lane.event(lane.len().saturating_sub(1))) else { return row };
        for ((set_table, emphasis), set) in &self.sets {
            let set = between(set, first, last);
            if *set_table == table && !set.is_empty() {
                paint(&mut row, *emphasis, set, lane, grid);
            }
        }
        row
    }
}

/// How many events of a column are looked at for a name.
const LOOKED_AT: usize = 64;

/// The part of a sorted `set` from `first` to `last`, both included.
fn between(set: &[u32], first: u32, last: u32) -> &[u32] {
    let set = &set[set.partition_point(|&e| e < first)..];
    &set[..set.partition_point(|&e| e <= last)]
}

/// Marks the columns in which an event of `set` starts or goes on.
fn paint(row: &mut Vec<Emphasis>, emphasis: Emphasis, set: &[u32], lane: &Lane, grid: Grid) {
    let events = lane.table();
    let most = i64::from(grid.columns()) + 1;
    let window = Window::new(grid.edge(-1), grid.cell(most).end);
    let mut mark = |columns: RangeInclusive<i64>| {
        row.resize(usize::from(grid.columns()) + 3, Emphasis::None);
        let (a, b) = ((*columns.start()).max(-1), (*columns.end()).min(most));
        for k in a..=b {
            let cell = &mut row[(k + 1) as usize];
            *cell = (*cell).max(emphasis);
        }
    };
    let holds = |e: u32| set.binary_search(&e).is_ok();
    // The last column that an event reaches; where columns are narrower than a nanosecond, several show its last one.
    let until = |e: u32| {
        let end = events.end(e).max(events.start(e).saturating_add(1));
        grid.column_of(end.saturating_sub(1)).max(grid.column_of(end) - 1)
    };
    lane.running_at(window.start, |e| {
        if holds(e) {
            mark(-1..=until(e));
        }
        true
    });
    let starting = |window: Window| {
        let (a, b) = (lane.starting_before(window.start), lane.starting_before(window.end));
        match (lane.event(a), b.checked_sub(1).and_then(|b| lane.event(b))) {
            (Some(first), Some(last)) if a < b => between(set, first, last),
            _ => &[],
        }
    };
    let inside = starting(window);
    if inside.len() <= 4 * usize::from(grid.columns()) {
        let own = inside.iter().filter(|&&e| lane.position(e).is_some());
        own.for_each(|&e| mark(grid.column_of(events.start(e))..=until(e)));
        return;
    }
    // Of very many, ask each column instead.
    for k in -1..=most {
        let cell = grid.cell(k);
        let mut found = starting(cell).iter().any(|&e| lane.position(e).is_some());
        lane.running_at(cell.start, |e| {
            found = found || holds(e);
            !found
        });
        if found {
            mark(k..=k);
        }
    }
}
