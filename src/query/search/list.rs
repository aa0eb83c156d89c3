//! The list of matches: columns of its rows, and orders other than that of time.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering as Atomic};

use rustc_hash::FxHashMap;

use super::matches::Matches;
use crate::model::{Value, natural_cmp};
use crate::query::event::track_of;
use crate::store::{EventRef, Store, arrays};

/// Rows that are read together when they lie so near each other.
const NEAR: u32 = 1 << 11;

/// Columns of the rows of `events`, one list per event in the order of `columns`; nothing where a table has no such
/// column or it cannot be read.
#[must_use]
pub fn columns_of(store: &Store, events: &[EventRef], columns: &[&str]) -> Vec<Vec<Value>> {
    let mut values = vec![vec![Value::Null; columns.len()]; events.len()];
    visit_rows(store, events, columns, None, |at, row| values[at] = row);
    values
}

/// Reads columns of the rows of events, rows near each other at once. Gives up when cancelled.
fn visit_rows(
    store: &Store,
    events: &[EventRef],
    columns: &[&str],
    cancel: Option<&AtomicBool>,
    mut visit: impl FnMut(usize, Vec<Value>),
) {
    let row_of = |event: EventRef| store.table_of(event).rows[event.event as usize];
    let mut order: Vec<(u16, u32, usize)> =
        events.iter().enumerate().map(|(at, &event)| (event.table, row_of(event), at)).collect();
    order.sort_unstable();
    for of_table in order.chunk_by(|a, b| a.0 == b.0) {
        let table = &store.events[usize::from(of_table[0].0)].name;
        let Ok(pieces) = store.pieces(table) else { continue };
        let mut rest = of_table;
        while let Some(&(_, first, _)) = rest.first() {
            if cancel.is_some_and(|c| c.load(Atomic::Relaxed)) {
                return;
            }
            let piece = pieces.partition_point(|p| p.end <= first);
            let end = pieces.get(piece).map_or(first + 1, |p: &Range<u32>| p.end);
            let mut count = 1;
            while rest.get(count).is_some_and(|&(_, row, _)| row < end && row - rest[count - 1].1 <= NEAR) {
                count += 1;
            }
            let (near, others) = rest.split_at(count);
            rest = others;
            let last = near.last().map_or(first, |n| n.1);
            let Ok((batch, _)) = store.read(table, first..last + 1, columns) else { continue };
            let arrays: Vec<_> = columns.iter().map(|name| batch.column_by_name(name)).collect();
            for &(_, row, at) in near {
                let value = |array: &Option<&arrow::array::ArrayRef>| {
                    array.map_or(Value::Null, |array| arrays::value(array.as_ref(), (row - first) as usize))
                };
                visit(at, arrays.iter().map(value).collect());
            }
        }
    }
}

/// What a list is sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// Duration.
    Duration,
    /// Name.
    Name,
    /// Track.
    Track,
    /// Table.
    Table,
    /// A column of the tables.
    Column(String),
}

/// More matches than this are not sorted.
pub const MOST_SORTED: u64 = 2_000_000;

/// A value that rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Whole(i128),
    Float(f64),
    /// By the place of the text among all texts.
    Text(u32),
    Nothing,
}

impl Key {
    /// Nothing comes last, whatever the direction.
    fn compare(self, other: Key, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Key::Nothing, Key::Nothing) => return Ordering::Equal,
            (Key::Nothing, _) => return Ordering::Greater,
            (_, Key::Nothing) => return Ordering::Less,
            (Key::Whole(a), Key::Whole(b)) => a.cmp(&b),
            (Key::Text(a), Key::Text(b)) => a.cmp(&b),
            (Key::Text(_), _) => Ordering::Greater,
            (_, Key::Text(_)) => Ordering::Less,
            (a, b) => a.float().total_cmp(&b.float()),
        };
        if descending { order.reverse() } else { order }
    }

    fn float(self) -> f64 {
        match self {
            Key::Whole(v) => v as f64,
            Key::Float(v) => v,
            _ => 0.0,
        }
    }
}

/// Texts that get numbers in order of first sight, and places in order of name.
#[derive(Default)]
struct Names {
    known: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        let number = self.known.len() as u32;
        self.known.insert(name.to_owned(), number);
        number
    }

    /// The place of each number.
    fn places(&self) -> Vec<u32> {
        let mut names: Vec<(&String, u32)> = self.known.iter().map(|(name, &number)| (name, number)).collect();
        names.sort_by(|a, b| natural_cmp(a.0, b.0).then_with(|| a.0.cmp(b.0)));
        let mut places = vec![0; names.len()];
        for (place, (_, number)) in (0..).zip(names) {
            places[number as usize] = place;
        }
        places
    }
}

/// All matches sorted by `key`, equal ones by start. `None` when cancelled, or with more than [`MOST_SORTED`].
#[must_use]
pub fn sorted(
    store: &Store,
    matches: &Matches,
    key: &SortKey,
    descending: bool,
    cancel: &AtomicBool,
) -> Option<Vec<EventRef>> {
    if matches.total() > MOST_SORTED {
        return None;
    }
    let events: Vec<EventRef> = matches.unordered().collect();
    let mut names = Names::default();
    let mut keys = vec![Key::Nothing; events.len()];
    match key {
        SortKey::Column(column) => visit_rows(store, &events, &[column], Some(cancel), |at, mut row| {
            keys[at] = match row.pop() {
                None | Some(Value::Null) => Key::Nothing,
                Some(Value::Int(v)) => Key::Whole(v.into()),
                Some(Value::Uint(v)) => Key::Whole(v.into()),
                Some(Value::Float(v)) if v.is_nan() => Key::Nothing,
                Some(Value::Float(v)) => Key::Float(v),
                Some(value) => Key::Text(names.number(&arrays::spelled(&value))),
            };
        }),
        _ => {
            for (slot, &event) in keys.iter_mut().zip(&events) {
                let table = store.table_of(event);
                *slot = match key {
                    SortKey::Duration => Key::Whole(table.lengths.at(event.event as usize).into()),
                    SortKey::Track => Key::Text(names.number(&track_of(store, event))),
                    SortKey::Table => Key::Text(names.number(&table.name)),
                    _ => Key::Text(names.number(table.event_name(event.event))),
                };
            }
        }
    }
    if cancel.load(Atomic::Relaxed) {
        return None;
    }
    let places = names.places();
    let mut order: Vec<(Key, i64, EventRef)> = keys
        .into_iter()
        .zip(&events)
        .map(|(key, &event)| {
            let key = if let Key::Text(number) = key { Key::Text(places[number as usize]) } else { key };
            (key, store.table_of(event).start(event.event), event)
        })
        .collect();
    order.sort_unstable_by(|a, b| a.0.compare(b.0, descending).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    Some(order.into_iter().map(|(_, _, event)| event).collect())
}
