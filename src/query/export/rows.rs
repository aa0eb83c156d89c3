//! Which rows of a table are exported, and on which track each of them is.

use std::ops::Range;

use arrow::array::RecordBatch;
use rustc_hash::FxHashMap;

use super::Request;
use crate::model::{Grid, Window};
use crate::query::event::track_name;
use crate::query::search::bits::Bits;
use crate::store::sequence::Picks;
use crate::store::{EventRef, EventTable, LabelKind, Lane, ProfileKind, Sequence, Store, arrays};

/// The rows of one table.
pub(super) struct Rows {
    /// Which rows; all where `None`.
    wanted: Option<Bits>,
    /// The track of each row: a place in `tracks`.
    keys: Vec<u16>,
    /// Names of tracks; the first is that of rows that are no events.
    pub tracks: Vec<String>,
    /// Rows of a table that is no table of events are told by their own times.
    by_time: Option<(Window, i64)>,
}

/// More tracks than this share a name that says so.
const MOST_TRACKS: usize = u16::MAX as usize;

impl Rows {
    pub fn new(store: &Store, request: &Request, table: &str) -> Rows {
        let mut rows = Rows { wanted: None, keys: Vec::new(), tracks: vec![String::new()], by_time: None };
        let Some(index) = store.table_index(table) else {
            // Its times are those of the file; in system profiles they are Unix times.
            let shift = if store.info.kind == ProfileKind::System { store.info.origin_unix_ns.unwrap_or(0) } else { 0 };
            rows.by_time = request.window.map(|window| (window, shift));
            return rows;
        };
        let events = &store.events[usize::from(index)];
        let count = events.rows.iter().max().map_or(0, |&row| row as usize + 1);
        rows.name_tracks(store, events, count);
        let all = request.window.is_none()
            && request.matches.is_none()
            && request.keep.is_none()
            && request.sampled.is_none();
        if !all {
            rows.wanted = Some(wanted(store, request, index, count));
        }
        rows
    }

    fn name_tracks(&mut self, store: &Store, events: &EventTable, count: usize) {
        self.keys = vec![0; count];
        let several = store.cores() > 1;
        let labels = events.label(LabelKind::Track);
        let mut known: FxHashMap<(usize, u32), u16> = FxHashMap::default();
        for (at, group) in events.groups.iter().enumerate() {
            let Picks::Range(range) = group.sequence.picks() else { continue };
            for e in range.clone() {
                let label = labels.map_or(0, |l| l.key(e as usize));
                let key = *known.entry((at, label)).or_insert_with(|| {
                    let text = labels.map_or("", |l| l.entries[label as usize].as_str());
                    let (name, next) = (track_name(group, text, several), self.tracks.len());
                    match self.tracks.iter().position(|t| *t == name) {
                        Some(place) => place as u16,
                        None if next < MOST_TRACKS => {
                            self.tracks.push(name);
                            next as u16
                        }
                        None => 0,
                    }
                });
                self.keys[events.rows[e as usize] as usize] = key;
            }
        }
    }

    /// The rows between the first and last wanted ones of a piece; `None` where there are none.
    pub fn span(&self, piece: Range<u32>) -> Option<Range<u32>> {
        let Some(wanted) = &self.wanted else { return Some(piece) };
        let has = |row: &u32| wanted.has(*row as usize);
        let first = piece.clone().find(has)?;
        let last = piece.rev().find(has)?;
        Some(first..last + 1)
    }

    /// Positions in `batch`, which begins at `first`, of the rows that are wanted.
    pub fn of_batch(&self, batch: &RecordBatch, first: u32) -> Vec<u32> {
        let rows = 0..batch.num_rows() as u32;
        if let Some(wanted) = &self.wanted {
            return rows.filter(|row| wanted.has((first + row) as usize)).collect();
        }
        let Some((window, shift)) = self.by_time else { return rows.collect() };
        let ints = |name: &str| batch.column_by_name(name).and_then(|array| arrays::ints(array.as_ref()));
        let starts = ints("start_ts").or_else(|| ints("timestamp"));
        let Some(starts) = starts else { return rows.collect() };
        let ends = ints("end_ts");
        rows.filter(|&row| {
            let at = |times: &arrays::Ints| times.at(row as usize).map(|t| t.saturating_sub(shift));
            let Some(start) = at(&starts) else { return false };
            let end = ends.as_ref().and_then(at).unwrap_or(start);
            start < window.end && (end > window.start || start >= window.start)
        })
        .collect()
    }

    /// The track of a row: a place in `tracks`.
    pub fn track(&self, row: u32) -> u16 {
        self.keys.get(row as usize).copied().unwrap_or(0)
    }
}

/// The rows of the events that are asked for.
fn wanted(store: &Store, request: &Request, index: u16, count: usize) -> Bits {
    let events = &store.events[usize::from(index)];
    let mut rows = Bits::none(count);
    let mut add = |e: u32| {
        let event = EventRef { table: index, event: e };
        let found = request.matches.is_none_or(|m| m.contains(event)) && request.keep.is_none_or(|keep| keep(event));
        if found {
            rows.set(events.rows[e as usize] as usize);
        }
    };
    let window = request.window.unwrap_or_else(|| store.whole());
    for group in &events.groups {
        match request.sampled {
            Some(columns) => {
                for track in tracks(events, &group.sequence) {
                    sample(track.of(events), window, columns, &mut add);
                }
            }
            None => match request.window {
                Some(window) => group.sequence.of(events).visit(window, |e| {
                    add(e);
                    true
                }),
                None => (0..group.sequence.len()).for_each(|i| add(group.sequence.picks().at(i))),
            },
        }
    }
    rows
}

/// The tracks that a group's events form.
fn tracks(events: &EventTable, group: &Sequence) -> Vec<Sequence> {
    let Picks::Range(range) = group.picks() else { return vec![group.clone()] };
    let Some(labels) = events.label(LabelKind::Track) else { return vec![group.clone()] };
    let mut keys: Vec<u32> = range.clone().map(|e| labels.key(e as usize)).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.len() < 2 {
        return vec![group.clone()];
    }
    keys.into_iter().map(|key| events.pick(range.clone(), |e| labels.key(e as usize) == key)).collect()
}

/// The events that stand for the columns of a window.
fn sample(lane: Lane, window: Window, columns: u16, add: &mut impl FnMut(u32)) {
    let grid = Grid::fit(window, columns.max(1));
    let cells = (0..i64::from(grid.columns())).map(|k| grid.cell(k));
    for cell in lane.cells(cells) {
        if let Some(event) = cell.event {
            add(event);
        }
    }
}
