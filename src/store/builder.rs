//! Puts a profile together: sources deliver rows in their own order, the builder sorts them into groups and indexes.

use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow::buffer::ScalarBuffer;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::column::{Coded, Keys, Labels, Lengths, Times};
use super::counter::Counter;
use super::derived::Derived;
use super::events::{EventTable, Group, GroupKey, LabelKind, Measure};
use super::graph::Graph;
use super::records::Records;
use super::sequence::Sequence;
use super::{Problem, ProfileInfo, Rows, Store, TableInfo};

/// A dictionary that several readers fill at once.
#[derive(Debug)]
pub struct Dictionary<T>(Mutex<Known<T>>);

#[derive(Debug)]
struct Known<T> {
    keys: FxHashMap<T, u32>,
    entries: Vec<T>,
}

impl<T: Hash + Eq + Clone> Dictionary<T> {
    /// A dictionary in which `zero` has key 0.
    pub fn starting_with(zero: T) -> Dictionary<T> {
        let dictionary = Dictionary(Mutex::new(Known { keys: FxHashMap::default(), entries: Vec::new() }));
        dictionary.key(zero);
        dictionary
    }

    fn lock(&self) -> MutexGuard<'_, Known<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of one value.
    pub fn key(&self, value: T) -> u32 {
        self.lock().key(value)
    }

    /// The keys of several values, taking the lock once.
    pub fn keys(&self, values: impl IntoIterator<Item = T>) -> Vec<u32> {
        let mut known = self.lock();
        values.into_iter().map(|v| known.key(v)).collect()
    }

    /// Number of entries so far.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether there are no entries; never, as key 0 is taken from the start.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries so far, by key.
    pub fn entries(&self) -> Vec<T> {
        self.lock().entries.clone()
    }
}

impl<T: Hash + Eq + Clone> Known<T> {
    fn key(&mut self, value: T) -> u32 {
        match self.keys.entry(value) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let key = self.entries.len() as u32;
                self.entries.push(new.key().clone());
                *new.insert(key)
            }
        }
    }
}

/// Some consecutive rows of an event table, in the order of the source. All columns are equally long.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Row of the first entry in the whole table.
    pub first_row: u32,
    /// Start of each event.
    pub starts: Times,
    /// Duration of each event in nanoseconds.
    pub lengths: Lengths,
    /// Bits of [`super::flag`].
    pub flags: ScalarBuffer<u8>,
    /// Group of each event; key 0 leaves the row out (it has no times).
    pub groups: Keys,
    /// Keys of each label column, in the order of [`TableInput::labels`].
    pub labels: Vec<Keys>,
    /// Keys of each measure, in the order of [`TableInput::measures`].
    pub measures: Vec<Keys>,
    /// Least start and greatest end, as recorded.
    pub range: Option<(i64, i64)>,
}

impl Chunk {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

/// An event table as a source delivers it.
#[derive(Clone, Debug)]
pub struct TableInput {
    /// The schema's name of the table.
    pub name: String,
    /// The groups, by key; entry 0 stands for rows that are left out.
    pub groups: Vec<GroupKey>,
    /// Label columns with their dictionaries; [`LabelKind::Name`] must be among them.
    pub labels: Vec<(LabelKind, Vec<String>)>,
    /// Measures with their dictionaries.
    pub measures: Vec<(Measure, Vec<u64>)>,
    /// The rows.
    pub chunks: Vec<Chunk>,
    /// Whether to keep the event of each row, because something points at rows.
    pub keep_row_map: bool,
}

/// Where each row goes.
struct Plan {
    total: usize,
    /// Per group (in final order) its events.
    ranges: Vec<(usize, Range<u32>)>,
    /// Per chunk and group key the place of the chunk's first event of that group.
    cursors: Vec<Vec<u32>>,
    /// Ranges that the source did not deliver in order, with the order that sorts them.
    orders: Vec<(Range<usize>, Vec<u32>)>,
}

impl Plan {
    fn new(input: &TableInput) -> Plan {
        let groups = input.groups.len();
        let counts: Vec<Vec<u32>> = input
            .chunks
            .par_iter()
            .map(|chunk| {
                let mut counts = vec![0u32; groups];
                for i in 0..chunk.len() {
                    counts[chunk.groups.at(i) as usize] += 1;
                }
                counts
            })
            .collect();
        let mut order: Vec<usize> = (1..groups).collect();
        order.sort_by(|&a, &b| compare_groups(&input.groups[a], &input.groups[b]));
        let mut cursors = vec![vec![0u32; groups]; input.chunks.len()];
        let mut ranges = Vec::with_capacity(order.len());
        let mut next = 0u32;
        for group in order {
            let begin = next;
            for (chunk, counts) in counts.iter().enumerate() {
                cursors[chunk][group] = next;
                next += counts[group];
            }
            if next > begin {
                ranges.push((group, begin..next));
            }
        }
        Plan { total: next as usize, ranges, cursors, orders: Vec::new() }
    }

    /// Puts one value of each row in its place.
    fn place<T: Copy + Default>(&self, chunks: &[Chunk], get: impl Fn(&Chunk, usize) -> T) -> Vec<T> {
        let mut out = vec![T::default(); self.total];
        for (chunk, cursors) in chunks.iter().zip(&self.cursors) {
            let mut cursors = cursors.clone();
            for i in 0..chunk.len() {
                let group = chunk.groups.at(i) as usize;
                if group != 0 {
                    out[cursors[group] as usize] = get(chunk, i);
                    cursors[group] += 1;
                }
            }
        }
        for (range, order) in &self.orders {
            let unsorted = out[range.clone()].to_vec();
            for (place, &from) in out[range.clone()].iter_mut().zip(order) {
                *place = unsorted[from as usize];
            }
        }
        out
    }

    fn place_keys(&self, chunks: &[Chunk], entries: usize, get: impl Fn(&Chunk) -> &Keys) -> Keys {
        match entries {
            0..=0x100 => Keys::U8(self.place(chunks, |c, i| get(c).at(i) as u8).into()),
            0x101..=0x1_0000 => Keys::U16(self.place(chunks, |c, i| get(c).at(i) as u16).into()),
            _ => Keys::U32(self.place(chunks, |c, i| get(c).at(i)).into()),
        }
    }
}

/// Cores first, then engines in their usual order, then names with numbers compared as numbers.
fn compare_groups(a: &GroupKey, b: &GroupKey) -> std::cmp::Ordering {
    (a.core, a.engine.is_none(), a.engine)
        .cmp(&(b.core, b.engine.is_none(), b.engine))
        .then_with(|| crate::model::natural_cmp(&a.name, &b.name))
}

/// Sorts a table's rows into groups and indexes them.
#[must_use]
pub fn build_table(input: TableInput) -> EventTable {
    let mut plan = Plan::new(&input);
    let chunks = &input.chunks;
    let starts = place_starts(&plan, chunks);
    plan.orders = plan
        .ranges
        .par_iter()
        .filter_map(|(_, range)| {
            let range = range.start as usize..range.end as usize;
            if range.clone().skip(1).all(|i| starts.at(i - 1) <= starts.at(i)) {
                return None;
            }
            let mut order: Vec<u32> = (0..range.len() as u32).collect();
            // Stable, so that rows of equal start keep their order; quick where the rows come in sorted runs.
            order.sort_by_key(|&i| starts.at(range.start + i as usize));
            Some((range, order))
        })
        .collect();
    let starts = if plan.orders.is_empty() { starts } else { place_starts(&plan, chunks) };

    let wide = chunks.iter().any(|c| matches!(c.lengths, Lengths::Wide(_)));
    let ((lengths, flags), (rows, (labels, measures))) = rayon::join(
        || {
            let lengths = if wide {
                Lengths::Wide(plan.place(chunks, |c, i| c.lengths.at(i)).into())
            } else {
                Lengths::Narrow(plan.place(chunks, |c, i| c.lengths.at(i) as u32).into())
            };
            (lengths, ScalarBuffer::from(plan.place(chunks, |c, i| c.flags[i])))
        },
        || {
            let rows: ScalarBuffer<u32> = plan.place(chunks, |c, i| c.first_row + i as u32).into();
            let columns = rayon::join(
                || {
                    let place = |(at, (kind, entries)): (usize, &(LabelKind, Vec<String>))| {
                        let keys = plan.place_keys(chunks, entries.len(), |c| &c.labels[at]);
                        (*kind, Labels { keys, entries: entries.clone() })
                    };
                    input.labels.par_iter().enumerate().map(place).collect::<Vec<_>>()
                },
                || {
                    let place = |(at, (measure, entries)): (usize, &(Measure, Vec<u64>))| {
                        let keys = plan.place_keys(chunks, entries.len(), |c| &c.measures[at]);
                        (*measure, Coded { keys, entries: entries.clone() })
                    };
                    input.measures.par_iter().enumerate().map(place).collect::<Vec<_>>()
                },
            );
            (rows, columns)
        },
    );
    let event_of_row = input.keep_row_map.then(|| {
        let count = chunks.iter().map(|c| c.first_row as usize + c.len()).max().unwrap_or(0);
        let mut map = vec![u32::MAX; count];
        for (event, &row) in rows.iter().enumerate() {
            map[row as usize] = event as u32;
        }
        map.into()
    });
    let mut table = EventTable {
        name: input.name,
        starts,
        lengths,
        flags,
        rows,
        event_of_row,
        labels,
        measures,
        groups: Vec::new(),
    };
    table.groups = plan
        .ranges
        .into_par_iter()
        .map(|(group, range)| Group { key: input.groups[group].clone(), sequence: Sequence::of_range(&table, range) })
        .collect();
    table
}

fn place_starts(plan: &Plan, chunks: &[Chunk]) -> Times {
    let bounds = chunks.iter().filter_map(|c| match &c.starts {
        Times::Narrow { base, offsets } => {
            let most = offsets.iter().copied().max()?;
            Some((*base, base.wrapping_add(i64::from(most))))
        }
        Times::Wide(times) => Some((times.iter().copied().min()?, times.iter().copied().max()?)),
    });
    let (min, max) = bounds.fold((i64::MAX, i64::MIN), |(lo, hi), (a, b)| (lo.min(a), hi.max(b)));
    if min <= max && max.abs_diff(min) > u64::from(u32::MAX) {
        return Times::Wide(plan.place(chunks, |c, i| c.starts.at(i)).into());
    }
    Times::Narrow { base: min, offsets: plan.place(chunks, |c, i| c.starts.at(i).abs_diff(min) as u32).into() }
}

/// Tables whose events span the profile.
pub const EVENT_TABLES: [&str; 6] =
    ["Instruction", "DmaPacketAggregated", "DmaPacket", "CcOp", "CcInstruction", "SystemProfileEvents"];

/// A profile that is being put together.
pub struct Builder {
    /// Which profile this is.
    pub info: ProfileInfo,
    /// All tables of the source.
    pub tables: Vec<TableInfo>,
    /// Tables of events.
    pub events: Vec<EventTable>,
    /// Counters.
    pub counters: Vec<Counter>,
    /// Dependencies.
    pub graph: Option<Graph>,
    /// Small tables.
    pub records: Vec<Records>,
    /// What was wrong.
    pub problems: Vec<Problem>,
    range: Option<(i64, i64)>,
    other_range: Option<(i64, i64)>,
}

impl Builder {
    /// An empty profile.
    #[must_use]
    pub fn new(info: ProfileInfo) -> Builder {
        Builder {
            info,
            tables: Vec::new(),
            events: Vec::new(),
            counters: Vec::new(),
            graph: None,
            records: Vec::new(),
            problems: Vec::new(),
            range: None,
            other_range: None,
        }
    }

    /// Indexes a table of events and adds it.
    pub fn events(&mut self, input: TableInput) {
        let range = input.chunks.iter().filter_map(|c| c.range).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let table = build_table(input);
        self.indexed(table, range);
    }

    /// Adds an indexed table of events; `range` is its least start and greatest end as recorded.
    pub fn indexed(&mut self, table: EventTable, range: Option<(i64, i64)>) {
        let span = if EVENT_TABLES.contains(&table.name.as_str()) { &mut self.range } else { &mut self.other_range };
        if let Some((start, end)) = range {
            *span = Some(span.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
        }
        self.events.push(table);
    }

    /// Notes something that was wrong.
    pub fn problem(&mut self, path: impl Into<PathBuf>, message: impl Into<String>) {
        self.problems.push(Problem { path: path.into(), message: message.into() });
    }

    /// The finished profile; `rows` reads full rows.
    #[must_use]
    pub fn finish(mut self, rows: Arc<dyn Rows>) -> Store {
        self.events.sort_by_key(|t| {
            (EVENT_TABLES.iter().position(|n| *n == t.name).unwrap_or(EVENT_TABLES.len()), t.name.clone())
        });
        self.tables.sort_by(|a, b| a.name.cmp(&b.name));
        self.counters.sort_by(|a, b| a.key.cmp(&b.key));
        let sampled = || {
            let spans =
                self.counters.iter().filter(|c| !c.is_empty()).map(|c| (c.times.at(0), c.times.at(c.len() - 1)));
            spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        };
        let range = self.range.or(self.other_range).or_else(sampled);
        let ids = self.events.iter().map(|_| OnceLock::new()).collect();
        Store {
            info: self.info,
            tables: self.tables,
            range,
            events: self.events,
            counters: self.counters,
            graph: self.graph,
            records: self.records,
            problems: self.problems,
            origin: None,
            cached: false,
            derived: Derived::default(),
            rows,
            ids,
        }
    }
}
