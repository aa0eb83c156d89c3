use super::*;
use crate::model::{Grid, end_of};
use crate::store::builder::{Chunk, TableInput, build_table};
use crate::store::events::{GroupKey, LabelKind, Measure, flag};
use crate::store::{Keys, Lengths, Times};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Plain {
    start: i64,
    length: u64,
    wait: bool,
    bytes: u64,
}

fn table(events: &[Plain]) -> EventTable {
    let chunk = Chunk {
        first_row: 0,
        starts: Times::pack(events.iter().map(|e| e.start).collect()),
        lengths: Lengths::pack(events.iter().map(|e| e.length).collect()),
        flags: events.iter().map(|e| if e.wait { flag::WAIT } else { 0 }).collect(),
        groups: Keys::pack(&vec![1; events.len()], 2),
        labels: vec![Keys::pack(&vec![0; events.len()], 1)],
        measures: vec![Keys::pack(&(0..events.len() as u32).collect::<Vec<_>>(), events.len())],
        range: None,
    };
    let key = GroupKey { core: None, engine: None, name: "Tensor".into() };
    build_table(TableInput {
        name: "Instruction".into(),
        groups: vec![key.clone(), key],
        labels: vec![(LabelKind::Name, vec![String::new()])],
        measures: vec![(Measure::Bytes, events.iter().map(|e| e.bytes).collect())],
        chunks: vec![chunk],
        keep_row_map: true,
    })
}

fn union(events: &[Plain], window: Window, keep: impl Fn(&Plain) -> bool) -> u64 {
    let mut spans: Vec<(i64, i64)> = events
        .iter()
        .filter(|e| keep(e))
        .map(|e| (e.start.max(window.start), end_of(e.start, e.length).min(window.end)))
        .filter(|(a, b)| a < b)
        .collect();
    spans.sort_unstable();
    let (mut total, mut reach) = (0, i64::MIN);
    for (a, b) in spans {
        total += length(a.max(reach), b);
        reach = reach.max(b);
    }
    total
}

fn events(most: i64) -> impl Strategy<Value = Vec<Plain>> {
    let event = (0..most, prop_oneof![3 => 0u64..20, 1 => 0u64..500], any::<bool>(), 0u64..5000)
        .prop_map(|(start, length, wait, bytes)| Plain { start, length, wait, bytes });
    prop::collection::vec(event, 0..200)
}

proptest! {
    #[test]
    fn windows_agree_with_a_scan(events in events(400), a in -20i64..420, n in 1i64..400) {
        let table = table(&events);
        let window = Window::new(a, a + n);
        let Some(group) = table.groups.first() else { return Ok(()) };
        let lane = group.sequence.of(&table);
        prop_assert_eq!(lane.busy(window), union(&events, window, |_| true));
        prop_assert_eq!(lane.active(window), union(&events, window, |e| !e.wait));
        let overlaps = |e: &&Plain| e.start < window.end && end_of(e.start, e.length) > window.start;
        prop_assert_eq!(lane.count(window), events.iter().filter(overlaps).count());
        let mut seen = Vec::new();
        lane.visit(window, |e| { seen.push(table.rows[e as usize]); true });
        seen.sort_unstable();
        let shown: Vec<u32> = (0..events.len() as u32).filter(|&i| {
            let e = &events[i as usize];
            overlaps(&e) || (e.start >= window.start && e.start < window.end)
        }).collect();
        prop_assert_eq!(seen, shown);
        let share: f64 = events.iter().map(|e| match e.length {
            0 => if window.contains(e.start) { e.bytes as f64 } else { 0.0 },
            n => e.bytes as f64 * length(e.start.max(window.start), end_of(e.start, n).min(window.end)) as f64 / n as f64,
        }).sum();
        prop_assert!((lane.sum(0, window) - share).abs() < 1e-6 * share.max(1.0), "{} is not {share}", lane.sum(0, window));
    }

    #[test]
    fn cells_hide_nothing_and_do_not_depend_on_the_pan(events in events(400), start in -20i64..420, num in 1u64..60, den in 1u64..8, by in -30i64..30) {
        let table = table(&events);
        let Some(group) = table.groups.first() else { return Ok(()) };
        let lane = group.sequence.of(&table);
        let grid = Grid::with_width(num, den, 40).starting_at(start);
        let cells = lane.cells((0..40).map(|k| grid.cell(k)));
        let windows: Vec<Window> = (0..40).map(|k| grid.cell(k)).collect();
        prop_assert_eq!(lane.actives(&windows), cells.iter().map(|cell| cell.active).collect::<Vec<_>>());
        for (k, cell) in cells.iter().enumerate() {
            let window = grid.cell(k as i64);
            prop_assert_eq!(cell.busy, union(&events, window, |_| true));
            prop_assert_eq!(cell.active, union(&events, window, |e| !e.wait));
            let inside = |e: &&Plain| window.contains(e.start);
            prop_assert_eq!(cell.count as usize, events.iter().filter(inside).count());
            let here = |e: &&Plain| inside(e) || (e.start < window.end && end_of(e.start, e.length) > window.start);
            prop_assert_eq!(cell.event.is_some(), events.iter().any(|e| here(&e)));
            // Of those that start here the longest, if the one from before that goes on longest does not show more.
            let end = |e: &Plain| end_of(e.start, e.length);
            let mut order: Vec<&Plain> = events.iter().filter(|e| !e.wait).collect();
            order.sort_by_key(|e| e.start);
            let (mut begun, mut longest): (Option<&Plain>, Option<&Plain>) = (None, None);
            for e in order {
                if e.start < window.start && begun.is_none_or(|b| end(e) > end(b)) {
                    begun = Some(e);
                }
                if inside(&e) && longest.is_none_or(|l| e.length > l.length) {
                    longest = Some(e);
                }
            }
            let begun = begun.filter(|e| end(e) > window.start);
            let part = |e: &Plain| length(e.start.max(window.start), end(e).min(window.end));
            let expected = match (begun, longest) {
                (Some(a), Some(b)) => Some(if part(b) > part(a) { b } else { a }),
                (a, b) => a.or(b),
            };
            if let (Some(expected), Some(e)) = (expected, cell.event) {
                let shown = (table.start(e), table.end(e), table.is_work(e));
                prop_assert_eq!(shown, (expected.start, end(expected), true));
            }
            if let Some(e) = cell.event {
                let event = &events[table.rows[e as usize] as usize];
                prop_assert!(here(&event));
                prop_assert_eq!(!event.wait, events.iter().any(|e| !e.wait && here(&e)));
            }
        }
        let panned = grid.panned(by);
        let again = lane.cells((0..40).map(|k| panned.cell(k)));
        for k in 0..40i64 {
            if (0..40).contains(&(k + by)) {
                prop_assert_eq!(again[k as usize], cells[(k + by) as usize]);
            }
        }
    }

    #[test]
    fn extreme_times_do_not_overflow(events in prop::collection::vec((any::<i64>(), any::<u64>(), any::<bool>(), any::<u64>()), 1..60), a: i64, b: i64) {
        let events: Vec<Plain> = events.into_iter().map(|(start, length, wait, bytes)| Plain { start, length, wait, bytes }).collect();
        let table = table(&events);
        let lane = table.groups[0].sequence.of(&table);
        let window = Window::new(a.min(b), a.max(b));
        prop_assert_eq!(lane.busy(window), union(&events, window, |_| true));
        let grid = Grid::fit(window, 30);
        prop_assert_eq!(lane.cells((0..30).map(|k| grid.cell(k))).len(), 30);
        prop_assert!(lane.sum(0, window).is_finite());
    }

    #[test]
    fn rows_hold_every_event_once_without_overlap(events in events(200), most in 1usize..6) {
        let table = table(&events);
        let Some(group) = table.groups.first() else { return Ok(()) };
        let rows = group.sequence.of(&table).rows(most);
        prop_assert!(rows.len() <= most);
        for (r, row) in rows.iter().enumerate() {
            for pair in row.windows(2) {
                prop_assert!(table.start(pair[0]) <= table.start(pair[1]));
                prop_assert!(r + 1 == most || table.end(pair[0]) <= table.start(pair[1]));
            }
        }
        let mut all: Vec<u32> = rows.into_iter().flatten().collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..events.len() as u32).collect::<Vec<_>>());
    }
}
