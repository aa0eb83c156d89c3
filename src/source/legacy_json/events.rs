//! Rows of an event table as they are gathered, and how they become the builder's input.

use std::hash::Hash;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::token::Raw;
use crate::store::builder::{Chunk, TableInput};
use crate::store::{GroupKey, Keys, LabelKind, Lengths, Measure, Times, flag};

/// Rows per chunk.
const CHUNK: usize = 1 << 17;

/// When an event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// Start, in the file's unit.
    pub start: i64,
    /// Duration, in the file's unit.
    pub length: u64,
    /// [`flag::REVERSED`] where the file says that it ends before it starts.
    pub flags: u8,
}

/// Reads when an event was from its start and either its duration or its end; with neither it takes no time.
/// `None` without a start.
pub fn when(start: Raw, duration: Raw, end: Raw) -> Option<When> {
    let start = start.clamped()?;
    let length = duration.integer().or_else(|| Some(end.integer()? - i128::from(start))).unwrap_or(0);
    let flags = if length < 0 { flag::REVERSED } else { 0 };
    Some(When { start, length: u64::try_from(length.max(0)).unwrap_or(u64::MAX), flags })
}

/// Where the entries of a label come from.
#[derive(Clone, Copy)]
pub enum From {
    /// One entry per lane.
    Lane,
    /// One entry per key of an own column.
    Column(usize),
}

/// Rows of an event table.
#[derive(Default)]
pub struct EventRows {
    starts: Vec<i64>,
    lengths: Vec<u64>,
    flags: Vec<u8>,
    /// What decides on the group of each row (and on more); 0 leaves the row out.
    lanes: Vec<u32>,
    /// Keys of further columns.
    columns: Vec<Vec<u32>>,
    /// Rows that had no times.
    pub timeless: u64,
}

impl EventRows {
    /// No rows yet, with `columns` further columns.
    pub fn with_columns(columns: usize) -> EventRows {
        EventRows { columns: vec![Vec::new(); columns], ..EventRows::default() }
    }

    /// Adds a row; one without times keeps its number and is left out.
    pub fn push(&mut self, when: Option<When>, flags: u8, lane: u32, columns: &[u32]) {
        self.timeless += u64::from(when.is_none());
        let lane = if when.is_some() { lane } else { 0 };
        let when = when.unwrap_or(When { start: 0, length: 0, flags: 0 });
        self.starts.push(when.start);
        self.lengths.push(when.length);
        self.flags.push(when.flags | flags);
        self.lanes.push(lane);
        for (column, &key) in self.columns.iter_mut().zip(columns) {
            column.push(key);
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether any row has times.
    pub fn any(&self) -> bool {
        self.timeless < self.len() as u64
    }

    /// Least start and greatest end, in the file's unit.
    pub fn range(&self) -> Option<(i64, i64)> {
        self.range_of(0..self.len(), 1)
    }

    fn range_of(&self, rows: std::ops::Range<usize>, unit: i64) -> Option<(i64, i64)> {
        let spans = rows.filter(|&i| self.lanes[i] != 0).map(|i| {
            let start = self.starts[i];
            (start.div_euclid(unit), start.saturating_add_unsigned(self.lengths[i]).div_euclid(unit))
        });
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The table. `groups` and the labels' entries are by lane or by key of a column, entry 0 being that of rows left out
    /// and of what is not recorded; equal entries become one. `unit` is the number of the file's time units in a
    /// nanosecond. A label that says nothing of any row is left away, other than the name.
    pub fn table(
        &self,
        name: &str,
        unit: i64,
        groups: Vec<GroupKey>,
        labels: Vec<(LabelKind, From, Vec<String>)>,
        measures: Vec<(Measure, usize, Vec<u64>)>,
        keep_row_map: bool,
    ) -> TableInput {
        // Entry 0 must stay alone: a lane with the same name must not be left out.
        let (mut distinct, mut lane_groups) = distinct(&groups[1.min(groups.len())..]);
        distinct.insert(0, GroupKey { core: None, engine: None, name: String::new() });
        lane_groups.iter_mut().for_each(|g| *g += 1);
        lane_groups.insert(0, 0);
        let labels: Vec<_> = labels
            .into_iter()
            .filter(|(kind, _, entries)| *kind == LabelKind::Name || entries.iter().any(|e| !e.is_empty()))
            .map(|(kind, from, mut entries)| {
                if let Some(first) = entries.first_mut() {
                    first.clear();
                }
                let (entries, keys) = self::distinct(&entries);
                (kind, from, entries, keys)
            })
            .collect();
        let starts: Vec<usize> = (0..self.len()).step_by(CHUNK).collect();
        let chunks = starts
            .into_par_iter()
            .map(|from| {
                let rows = from..self.len().min(from + CHUNK);
                let count = rows.len();
                let coded = |keys: &[u32], map: &[u32], entries: usize| {
                    Keys::fill(entries, count, keys[rows.clone()].iter().map(|&k| map[k as usize]))
                };
                let column = |from: From| match from {
                    From::Lane => &self.lanes,
                    From::Column(i) => &self.columns[i],
                };
                let length = |i: usize| {
                    let start = self.starts[i];
                    if unit == 1 {
                        self.lengths[i]
                    } else {
                        let end = start.saturating_add_unsigned(self.lengths[i]);
                        end.div_euclid(unit).abs_diff(start.div_euclid(unit))
                    }
                };
                Chunk {
                    first_row: from as u32,
                    starts: Times::pack(self.starts[rows.clone()].iter().map(|t| t.div_euclid(unit)).collect()),
                    lengths: Lengths::pack(rows.clone().map(length).collect()),
                    flags: self.flags[rows.clone()].to_vec().into(),
                    groups: coded(&self.lanes, &lane_groups, distinct.len()),
                    labels: labels
                        .iter()
                        .map(|(_, from, entries, map)| coded(column(*from), map, entries.len()))
                        .collect(),
                    measures: measures
                        .iter()
                        .map(|(_, at, entries)| Keys::pack(&self.columns[*at][rows.clone()], entries.len()))
                        .collect(),
                    range: self.range_of(rows.clone(), unit),
                }
            })
            .collect();
        TableInput {
            name: name.to_string(),
            groups: distinct,
            labels: labels.into_iter().map(|(kind, _, entries, _)| (kind, entries)).collect(),
            measures: measures.into_iter().map(|(measure, _, entries)| (measure, entries)).collect(),
            chunks,
            keep_row_map,
        }
    }
}

/// The distinct values in order of appearance, and for each value the position of its like.
fn distinct<T: Clone + Eq + Hash>(values: &[T]) -> (Vec<T>, Vec<u32>) {
    let mut known: FxHashMap<&T, u32> = FxHashMap::default();
    let mut kept: Vec<T> = Vec::new();
    let positions = values
        .iter()
        .map(|value| {
            *known.entry(value).or_insert_with(|| {
                kept.push(value.clone());
                kept.len() as u32 - 1
            })
        })
        .collect();
    (kept, positions)
}

/// The original ids of a table's rows.
#[derive(Clone, Default)]
pub struct IdColumn {
    /// The 64 bits of each id; the row's number where there is none.
    pub bits: Vec<i64>,
    /// Whether any row has an id.
    pub any: bool,
    /// Whether the bits are those of unsigned integers.
    pub unsigned: bool,
}

impl IdColumn {
    /// Adds a row's id.
    pub fn push(&mut self, raw: Raw) {
        let id = id_bits(raw);
        self.any |= id.is_some();
        self.unsigned |= id.is_some_and(|(_, unsigned)| unsigned);
        self.bits.push(id.map_or(self.bits.len() as i64, |(bits, _)| bits));
    }
}

/// The 64 bits of an id, and whether it only fits an unsigned integer.
pub fn id_bits(raw: Raw) -> Option<(i64, bool)> {
    let id = raw.integer()?;
    i64::try_from(id).map(|bits| (bits, false)).or_else(|_| u64::try_from(id).map(|bits| (bits as i64, true))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_any_form() {
        let word = |text: &'static str| Raw::Word(text.as_bytes());
        assert_eq!(when(word("5"), word("3"), Raw::Null), Some(When { start: 5, length: 3, flags: 0 }));
        assert_eq!(when(Raw::Text(b"5"), Raw::Null, word("9")), Some(When { start: 5, length: 4, flags: 0 }));
        assert_eq!(when(word("5"), Raw::Null, word("1")), Some(When { start: 5, length: 0, flags: flag::REVERSED }));
        assert_eq!(when(word("5"), word("-2"), Raw::Null).unwrap().flags, flag::REVERSED);
        assert_eq!(when(word("NaN"), word("3"), Raw::Null), None);
        let all = when(word("-9223372036854775808"), Raw::Null, word("9223372036854775807")).unwrap();
        assert_eq!((all.start, all.length), (i64::MIN, u64::MAX));
    }

    #[test]
    fn rows_without_times_keep_their_number_and_equal_groups_become_one() {
        let mut rows = EventRows::with_columns(1);
        let at = |start| Some(When { start, length: 10, flags: 0 });
        rows.push(at(30), 0, 1, &[1]);
        rows.push(None, 0, 1, &[1]);
        rows.push(at(10), 0, 2, &[0]);
        let group = |name: &str| GroupKey { core: None, engine: None, name: name.into() };
        let labels = vec![(LabelKind::Name, From::Column(0), vec![String::new(), "NOP".into()])];
        let input = rows.table("T", 1, vec![group("a"), group("a"), group("a")], labels, Vec::new(), true);
        let table = crate::store::builder::build_table(input);
        assert_eq!(table.groups.len(), 1);
        assert_eq!(table.rows.to_vec(), [2, 0]);
        assert_eq!((table.event_name(0), table.event_name(1)), ("", "NOP"));
        assert_eq!(table.event_at_row(1), None);
        assert_eq!((rows.timeless, rows.range()), (1, Some((10, 40))));
    }

    #[test]
    fn picoseconds_become_nanoseconds() {
        let mut rows = EventRows::with_columns(0);
        rows.push(Some(When { start: 1_999, length: 2_002, flags: 0 }), 0, 1, &[]);
        let group = GroupKey { core: None, engine: None, name: "a".into() };
        let labels = vec![(LabelKind::Name, From::Lane, vec![String::new(), "x".into()])];
        let input = rows.table("T", 1000, vec![group.clone(), group], labels, Vec::new(), false);
        let table = crate::store::builder::build_table(input);
        assert_eq!((table.start(0), table.end(0)), (1, 4));
    }

    #[test]
    fn ids_above_the_signed_range_survive() {
        let mut ids = IdColumn::default();
        ids.push(Raw::Word(b"18446744073709551615"));
        ids.push(Raw::Text(b"9007199254740993"));
        ids.push(Raw::Null);
        assert!(ids.unsigned && ids.any);
        assert_eq!(ids.bits, [-1, 9_007_199_254_740_993, 2]);
    }
}
