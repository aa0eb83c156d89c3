//! What marks need to know of a profile: edges to snap to, what lies between two of them, and spans that the profile
//! itself names.

mod between;

pub use between::{Between, EngineWork, Movement, between};

use crate::model::{Nanos, Window};
use crate::store::{Lane, Store};

/// Events that run at one moment of one track and are looked at for an edge; more are a crowd without edges.
const CROWD: usize = 4096;

/// The edge nearest to `time` of events in `lanes`, if one is at most `tolerance` nanoseconds away. The earlier of two
/// equally near ones.
#[must_use]
pub fn nearest_edge<'a>(lanes: impl IntoIterator<Item = Lane<'a>>, time: Nanos, tolerance: u64) -> Option<Nanos> {
    let edges = lanes.into_iter().filter_map(|lane| edge_of_lane(lane, time, tolerance));
    edges.min_by_key(|edge| (edge.abs_diff(time), *edge))
}

fn edge_of_lane(lane: Lane, time: Nanos, tolerance: u64) -> Option<Nanos> {
    let table = lane.table();
    let mut best: Option<Nanos> = None;
    let mut note = |edge: Nanos| {
        let key = |edge: Nanos| (edge.abs_diff(time), edge);
        if edge.abs_diff(time) <= tolerance && best.is_none_or(|best| key(edge) < key(best)) {
            best = Some(edge);
        }
    };
    let position = lane.starting_before(time);
    for at in [position.checked_sub(1), Some(position)].into_iter().flatten() {
        if let Some(event) = lane.event(at) {
            note(table.start(event));
            note(table.end(event));
        }
    }
    // Nothing starts nearer than that, so a nearer end is that of an event which runs there already.
    let reach = best.map_or(tolerance, |edge| edge.abs_diff(time)).saturating_add(1);
    let near = Window::new(time.saturating_sub_unsigned(reach), time.saturating_add_unsigned(reach));
    let mut left = CROWD;
    lane.visit(near, |event| {
        left -= 1;
        let end = table.end(event);
        if end.abs_diff(time) <= tolerance && best.is_none_or(|b| (end.abs_diff(time), end) < (b.abs_diff(time), b)) {
            best = Some(end);
        }
        left > 0
    });
    best
}

/// A span that the profile itself names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSpan {
    /// Its name; as in the file, so escape before showing.
    pub name: String,
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
    /// The table that it is from.
    pub table: String,
}

/// Parts of the names of tables that hold spans which people named: regions of kernels and annotations.
const NAMED_SPANS: [&str; 3] = ["region", "annotation", "userspan"];

/// More spans than this are no bands but a track.
const MOST_SPANS: usize = 10_000;

/// Spans that people named while the profile was taken (NKI's profiler_region_open and _close, user annotations),
/// where a table offers them, in order of start.
#[must_use]
pub fn recorded_spans(store: &Store) -> Vec<RecordedSpan> {
    let mut spans = Vec::new();
    for table in &store.events {
        let name = table.name.to_lowercase();
        if !NAMED_SPANS.iter().any(|part| name.contains(part)) {
            continue;
        }
        let events = (0..table.len() as u32).filter(|&e| table.end(e) > table.start(e)).take(MOST_SPANS);
        spans.extend(events.map(|e| RecordedSpan {
            name: table.event_name(e).to_owned(),
            start: table.start(e),
            end: table.end(e),
            table: table.name.clone(),
        }));
    }
    spans.sort_by(|a, b| (a.start, a.end, &a.name).cmp(&(b.start, b.end, &b.name)));
    spans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::query::sketch::{Mark, Sketch};

    fn sketch(events: &[(i64, u64)]) -> Store {
        let mut sketch = Sketch::default();
        for &(start, length) in events {
            sketch.event("Instruction", Mark { group: "t".into(), start, length, ..Mark::default() });
        }
        sketch.store()
    }

    proptest! {
        #[test]
        fn the_nearest_edge_is_found(
            events in prop::collection::vec((0i64..60, 0u64..30), 1..25),
            time in -5i64..100,
            tolerance in 0u64..20,
        ) {
            let store = sketch(&events);
            let table = &store.events[0];
            let edges = events.iter().flat_map(|&(start, length)| [start, start + length as i64]);
            let near = edges.filter(|e| e.abs_diff(time) <= tolerance);
            let expected = near.min_by_key(|e| (e.abs_diff(time), *e));
            let lanes = table.groups.iter().map(|g| g.sequence.of(table));
            prop_assert_eq!(nearest_edge(lanes, time, tolerance), expected);
        }
    }

    #[test]
    fn named_spans_are_found_by_their_tables() {
        let mut sketch = Sketch::default();
        let mark =
            |name: &str, start, length| Mark { group: "g".into(), name: name.into(), start, length, ..Mark::default() };
        sketch
            .event("NkiRegion", mark("tile", 50, 10))
            .event("NkiRegion", mark("load", 5, 20))
            .event("NkiRegion", mark("moment", 7, 0))
            .event("Instruction", mark("MATMUL", 0, 9));
        let spans = recorded_spans(&sketch.store());
        let found: Vec<(&str, i64, i64)> = spans.iter().map(|s| (s.name.as_str(), s.start, s.end)).collect();
        assert_eq!(found, [("load", 5, 25), ("tile", 50, 60)]);
    }
}
