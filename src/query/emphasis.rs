//! Which events stand out: the selected one, matches, dependents.

use rustc_hash::FxHashMap;

use crate::model::Grid;
use crate::store::{EventRef, Lane};

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
    /// Whether all other events are dimmed.
    pub dim_others: bool,
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
        self.sets.is_empty()
    }

    /// Why `event` stands out.
    #[must_use]
    pub fn of(&self, event: EventRef) -> Emphasis {
        let holds = |set: &[u32]| set.binary_search(&event.event).is_ok();
        let found = self.sets.iter().filter(|((table, _), set)| *table == event.table && holds(set));
        found.map(|((_, emphasis), _)| *emphasis).max().unwrap_or_default()
    }

    /// Per column of `grid` (and one more on either side) the strongest reason for which an event of `lane` stands
    /// out there, also where another event represents the column. Empty where none of the lane's events does.
    #[must_use]
    pub fn row(&self, table: u16, lane: &Lane, grid: Grid) -> Vec<Emphasis> {
        let window = crate::model::Window::new(grid.edge(-1), grid.edge(i64::from(grid.columns()) + 1));
        let mut row = Vec::new();
        let (Some(first), Some(last)) = (lane.event(0), lane.event(lane.len().saturating_sub(1))) else { return row };
        for ((set_table, emphasis), set) in &self.sets {
            let from = set.partition_point(|&e| e < first);
            let set = &set[from..from + set[from..].partition_point(|&e| e <= last)];
            if *set_table != table || set.is_empty() {
                continue;
            }
            let events = lane.table();
            let mut paint = |e: u32| {
                if lane.position(e).is_none() || row.is_empty() && events.start(e) >= window.end {
                    return;
                }
                let end = events.end(e).max(events.start(e).saturating_add(1));
                if events.start(e) < window.end && end > window.start {
                    if row.is_empty() {
                        row = vec![Emphasis::None; usize::from(grid.columns()) + 2];
                    }
                    let most = i64::from(grid.columns());
                    let a = grid.column_of(events.start(e)).clamp(-1, most);
                    let b = grid.column_of(end.saturating_sub(1)).clamp(-1, most).max(a);
                    for cell in &mut row[(a + 1) as usize..=(b + 1) as usize] {
                        *cell = (*cell).max(*emphasis);
                    }
                }
            };
            // Those that run into the window, then those that start in it.
            lane.running_at(window.start, |e| {
                if set.binary_search(&e).is_ok() {
                    paint(e);
                }
                true
            });
            let starts = lane.starting_before(window.start)..lane.starting_before(window.end);
            let (Some(a), Some(b)) = (lane.event(starts.start), starts.end.checked_sub(1).and_then(|i| lane.event(i)))
            else {
                continue;
            };
            let inside = &set[set.partition_point(|&e| e < a)..];
            let inside = &inside[..inside.partition_point(|&e| e <= b)];
            // Of very many, the first of each column is enough: what stands out is the column.
            let mut next = i64::MIN;
            let mut i = 0;
            while let Some(&e) = inside.get(i) {
                paint(e);
                i += 1;
                let column = grid.column_of(events.start(e));
                if column == next {
                    let edge = grid.edge(column + 1);
                    i += inside[i..].partition_point(|&e| events.start(e) < edge);
                }
                next = column;
            }
        }
        row
    }
}
