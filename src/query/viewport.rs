//! What a track shows in a window: one answer per column of the screen.

use rayon::prelude::*;

use super::emphasis::{Emphases, Emphasis};
use super::rates;
use super::tracks::{Content, Kind, Node, NodeId, Track, Tree};
use crate::model::{Grid, Nanos, Window};
use crate::store::{Cell, EventRef, Lane, Level, Store};

/// One row of the timeline. Lists hold one entry per column, one more on the left and two on the right, so that what the
/// edge columns look like does not depend on where the screen ends: entry `k + 1` is column `k`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the columns show.
    pub body: Body,
    /// Why columns stand out; empty where none does.
    pub emphasis: Vec<Emphasis>,
    /// The figure beside the label, of the whole window.
    pub figure: Option<Figure>,
}

/// What the columns of a row show.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Events of one table.
    Events {
        /// Position of the table in [`Store::events`].
        table: u16,
        /// What the columns show.
        cells: Vec<Cell>,
        /// The value that the events change, where there is one.
        steps: Vec<Option<Level>>,
    },
    /// A value over time, on the scale of the node.
    Levels(Vec<Option<Level>>),
    /// The share of the tracks below that are active, 0 to 1.
    Shares(Vec<f32>),
    /// Nothing, and why.
    Missing(&'static str),
    /// Nothing of its own.
    Blank,
}

/// The figure beside a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Share of the window that is active, waits left out: 0 to 1.
    Active(f64),
    /// Mean of the value over the window.
    Mean(f64),
    /// Number of moments in the window.
    Count(u64),
}

/// The cells of `grid`, one more on the left and two on the right.
#[must_use]
pub fn cells(grid: Grid) -> Vec<Window> {
    (-1..=i64::from(grid.columns()) + 1).map(|k| grid.cell(k)).collect()
}

/// The rows of several nodes, computed in parallel.
#[must_use]
pub fn rows(store: &Store, tree: &Tree, nodes: &[NodeId], grid: Grid, emphases: &Emphases) -> Vec<Row> {
    let cells = cells(grid);
    nodes.par_iter().map(|&id| row_of(store, tree.node(id), grid, &cells, emphases)).collect()
}

/// The row of one node.
#[must_use]
pub fn row(store: &Store, node: &Node, grid: Grid, emphases: &Emphases) -> Row {
    row_of(store, node, grid, &cells(grid), emphases)
}

fn row_of(store: &Store, node: &Node, grid: Grid, cells: &[Window], emphases: &Emphases) -> Row {
    let mut emphasis = Vec::new();
    let body = match &node.content {
        Content::Group(Some(activity)) => Body::Shares(activity.shares(store, cells)),
        Content::Group(None) | Content::Pending => Body::Blank,
        Content::Missing(why) => Body::Missing(why),
        Content::Counter(counter) => Body::Levels(levels(store, *counter, cells)),
        Content::Rate(rate) => {
            let flat = |v: f64| Level { min: v, mean: v, max: v };
            let whole = store.whole();
            let inside = |(value, cell): (Option<f64>, &Window)| value.filter(|_| cell.within(whole).is_some());
            Body::Levels(
                rates::values(store, rate, cells).into_iter().zip(cells).map(inside).map(|v| v.map(flat)).collect(),
            )
        }
        Content::Events { track, steps } => {
            let Some(lane) = track.lane(store) else { return Row { body: Body::Blank, emphasis, figure: None } };
            if !emphases.is_empty() {
                emphasis = emphases.row(track.table, &lane, grid);
            }
            let steps = steps.map_or_else(Vec::new, |counter| levels(store, counter, cells));
            let shown = lane.cells(cells.iter().copied());
            emphases.add_named(&mut emphasis, track.table, &lane, cells, &shown);
            emphases.add_matches(&mut emphasis, track.table, &lane, cells, &shown);
            Body::Events { table: track.table, cells: shown, steps }
        }
    };
    Row { body, emphasis, figure: figure(store, node, grid.window()) }
}

/// The last value holds to the end of the profile, and no longer.
fn levels(store: &Store, counter: u32, cells: &[Window]) -> Vec<Option<Level>> {
    let Some(counter) = store.counters.get(counter as usize) else { return vec![None; cells.len()] };
    let last = counter.len().checked_sub(1).map_or(i64::MIN, |i| counter.times.at(i));
    let end = store.whole().end.max(last.saturating_add(1));
    let known = |(level, cell): (Option<Level>, &Window)| level.filter(|_| cell.start < end);
    counter.levels(cells).into_iter().zip(cells).map(known).collect()
}

/// The figure beside a node's label, exact for the part of `window` that the profile covers; `None` where that is none.
#[must_use]
pub fn figure(store: &Store, node: &Node, window: Window) -> Option<Figure> {
    let window = window.within(store.whole())?;
    match &node.content {
        Content::Group(activity) => {
            let activity = activity.as_ref()?;
            Some(match node.kind {
                Kind::Instants => {
                    let starts = |t: &Track| t.lane(store).map_or(0, |lane| starts_in(&lane, window));
                    Figure::Count(activity.tracks.iter().map(starts).sum())
                }
                _ => Figure::Active(activity.share(store, window)),
            })
        }
        Content::Missing(_) | Content::Pending => None,
        Content::Counter(counter) => Some(Figure::Mean(store.counters.get(*counter as usize)?.level(window)?.mean)),
        Content::Rate(rate) => rates::value(store, rate, window).map(Figure::Mean),
        Content::Events { track, .. } => {
            let lane = track.lane(store)?;
            Some(match node.kind {
                Kind::Instants => Figure::Count(starts_in(&lane, window)),
                _ => Figure::Active(lane.active(window) as f64 / window.length() as f64),
            })
        }
    }
}

fn starts_in(lane: &Lane, window: Window) -> u64 {
    (lane.starting_before(window.end) - lane.starting_before(window.start)) as u64
}

/// The event of a track at a moment: of those that run then, the one that started last, working before waiting.
#[must_use]
pub fn event_at(store: &Store, node: &Node, time: Nanos) -> Option<EventRef> {
    event_in(store, node, Window::new(time, time.saturating_add(1)))
}

/// The event that stands for a cell of a track.
#[must_use]
pub fn event_in(store: &Store, node: &Node, cell: Window) -> Option<EventRef> {
    let lane = node.lane(store)?;
    let event = lane.cells([cell]).pop()?.event?;
    Some(EventRef { table: node.track()?.table, event })
}

/// The event after `event` on a track; without one, the first that starts at or after `time`.
#[must_use]
pub fn next_event(store: &Store, node: &Node, event: Option<EventRef>, time: Nanos) -> Option<EventRef> {
    let lane = node.lane(store)?;
    let table = node.track()?.table;
    let position = match event.filter(|e| e.table == table).and_then(|e| lane.position(e.event)) {
        Some(position) => position + 1,
        None => lane.starting_before(time),
    };
    Some(EventRef { table, event: lane.event(position)? })
}

/// The event before `event` on a track; without one, the last that starts before `time`.
#[must_use]
pub fn previous_event(store: &Store, node: &Node, event: Option<EventRef>, time: Nanos) -> Option<EventRef> {
    let lane = node.lane(store)?;
    let table = node.track()?.table;
    let position = match event.filter(|e| e.table == table).and_then(|e| lane.position(e.event)) {
        Some(position) => position,
        None => lane.starting_before(time),
    };
    Some(EventRef { table, event: lane.event(position.checked_sub(1)?)? })
}

/// Whether a node shows anything in `window`.
#[must_use]
pub fn shows_anything(store: &Store, node: &Node, window: Window) -> bool {
    match &node.content {
        Content::Group(Some(activity)) => activity.share(store, window) > 0.0,
        Content::Group(None) => true,
        Content::Missing(_) | Content::Pending => false,
        Content::Counter(counter) => store.counters.get(*counter as usize).is_some_and(|c| c.level(window).is_some()),
        Content::Rate(rate) => rates::value(store, rate, window).is_some(),
        Content::Events { track, .. } => track.lane(store).is_some_and(|lane| {
            let mut any = false;
            lane.visit(window, |_| {
                any = true;
                false
            });
            any
        }),
    }
}

/// The next node of `shown` after position `from` (before it, where `back`) that shows anything in `window`.
#[must_use]
pub fn next_track(
    store: &Store,
    tree: &Tree,
    shown: &[NodeId],
    from: usize,
    back: bool,
    window: Window,
) -> Option<usize> {
    let filled = |&i: &usize| shown.get(i).is_some_and(|&id| shows_anything(store, tree.node(id), window));
    if back {
        (0..from.min(shown.len())).rev().find(filled)
    } else {
        (from.saturating_add(1)..shown.len()).find(filled)
    }
}

/// The whole profile at a glance: the mean share of the compute engines that are active in each of `columns`, 0 to 1.
/// Where there are none, of all tracks of events.
#[must_use]
pub fn overview(store: &Store, tree: &Tree, columns: u16) -> Vec<f32> {
    let grid = Grid::fit(store.whole(), columns);
    let cells: Vec<Window> = (0..i64::from(columns)).map(|k| grid.cell(k)).collect();
    let engines = tree.nodes.iter().filter(|n| n.track().is_some() && n.kind == Kind::Slices);
    let main = ["Instruction", "ActiveTime"].iter().find_map(|n| store.table_index(n));
    let tracks: Vec<_> = engines
        .filter(|n| main.is_none_or(|m| n.track().is_some_and(|t| t.table == m)))
        .filter_map(|n| n.lane(store))
        .collect();
    let active: Vec<Vec<u64>> =
        tracks.par_iter().map(|l| l.cells(cells.iter().copied()).iter().map(|c| c.active).collect()).collect();
    let share = |(k, cell): (usize, &Window)| {
        let sum: u64 = active.iter().map(|a| a[k]).sum();
        (sum as f64 / cell.length() as f64 / tracks.len().max(1) as f64) as f32
    };
    cells.iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::model::Engine;
    use crate::query::sketch::Sketch;
    use crate::query::tracks::{TrackCache, TrackOptions, tree};

    fn profile(spans: &[(i64, u64)]) -> (Store, Tree) {
        let mut sketch = Sketch::default();
        for &(start, length) in spans {
            sketch.instruction(0, Engine::Vector, "COPY", start, length);
        }
        let store = sketch.store();
        let tree = tree(&store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
        (store, tree)
    }

    fn spans() -> impl Strategy<Value = Vec<(i64, u64)>> {
        prop::collection::vec((0i64..300, prop_oneof![3 => 0u64..20, 1 => 0u64..200]), 1..80)
    }

    proptest! {
        #[test]
        fn rows_shift_with_the_window(spans in spans(), start in -20i64..320, num in 1u64..40, den in 1u64..5, by in -30i64..30) {
            let (store, tree) = profile(&spans);
            let grid = Grid::with_width(num, den, 30).starting_at(start);
            let mut emphases = Emphases::default();
            emphases.add(Emphasis::Match, (0..spans.len() as u32).step_by(3).map(|event| EventRef { table: 0, event }));
            let (a, b) = (row(&store, tree.node(0), grid, &emphases), row(&store, tree.node(0), grid.panned(by), &emphases));
            let (Body::Events { cells: a_cells, .. }, Body::Events { cells: b_cells, .. }) = (&a.body, &b.body) else { panic!() };
            let emphasis = |row: &Row, i: usize| row.emphasis.get(i).copied().unwrap_or_default();
            for k in 0..33i64 {
                if (0..33).contains(&(k + by)) {
                    let (i, j) = (k as usize, (k + by) as usize);
                    prop_assert_eq!(b_cells[i], a_cells[j]);
                    prop_assert_eq!(emphasis(&b, i), emphasis(&a, j));
                }
            }
        }

        #[test]
        fn what_stands_out_shows_in_every_column_it_touches(spans in spans(), picks in prop::collection::vec(0usize..80, 0..90), start in -20i64..320, num in 1u64..40, den in 1u64..5) {
            let (store, tree) = profile(&spans);
            let grid = Grid::with_width(num, den, 10).starting_at(start);
            let table = &store.events[0];
            let events: Vec<u32> = picks.into_iter().filter(|&p| p < spans.len()).map(|p| p as u32).collect();
            let mut emphases = Emphases::default();
            emphases.add(Emphasis::Match, events.iter().map(|&event| EventRef { table: 0, event }));
            let shown = row(&store, tree.node(0), grid, &emphases).emphasis;
            for (i, cell) in cells(grid).iter().enumerate() {
                // Where columns are narrower than a nanosecond they all show the one they lie in.
                let touches = |&e: &u32| table.start(e) < cell.end && table.end(e).max(table.start(e) + 1) > cell.start;
                let expected = if events.iter().any(touches) { Emphasis::Match } else { Emphasis::None };
                prop_assert_eq!(shown.get(i).copied().unwrap_or_default(), expected, "column {}", i as i64 - 1);
            }
        }

        #[test]
        fn stepping_visits_every_event_once(spans in spans(), from in -10i64..310) {
            let (store, tree) = profile(&spans);
            let node = tree.node(0);
            let mut event = None;
            let mut seen = 0;
            while let Some(next) = next_event(&store, node, event, from) {
                prop_assert!(store.events[0].start(next.event) >= from);
                (event, seen) = (Some(next), seen + 1);
            }
            let mut event = None;
            while let Some(previous) = previous_event(&store, node, event, from) {
                prop_assert!(store.events[0].start(previous.event) < from);
                (event, seen) = (Some(previous), seen + 1);
            }
            prop_assert_eq!(seen, spans.len());
        }
    }

    #[test]
    fn tracks_that_show_nothing_are_skipped() {
        let mut sketch = Sketch::default();
        sketch
            .instruction(0, Engine::Vector, "COPY", 0, 10)
            .instruction(0, Engine::Scalar, "ACTIVATE", 50, 10)
            .instruction(0, Engine::Sync, "NOP", 0, 10);
        let store = sketch.store();
        let tree = tree(&store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
        let shown = tree.unfolded(|n| n.folded);
        let window = Window::new(0, 20);
        assert_eq!(next_track(&store, &tree, &shown, 0, false, window), Some(2));
        assert_eq!(next_track(&store, &tree, &shown, 2, true, window), Some(0));
        assert_eq!(next_track(&store, &tree, &shown, 2, false, window), None);
        assert_eq!(event_at(&store, tree.node(0), 9).map(|e| e.event), Some(0));
        assert_eq!(event_at(&store, tree.node(0), 10), None);
        assert_eq!(
            overview(&store, &tree, 2),
            [1.0 / 3.0 * 20.0 / 30.0, 1.0 / 3.0 * 10.0 / 30.0].map(|v: f64| v as f32)
        );
    }
}
