//! Sequences and merged activity that are derived from the store's groups, once.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Source, Track};
use crate::model::opcode::is_matmul;
use crate::model::queue::without_core;
use crate::model::{Nanos, Window, length};
use crate::store::counter::Numbers;
use crate::store::{Counter, CounterKey, EventTable, LabelKind, Sequence, Store, Times, flag};

/// Names of tracks with the events of each.
pub(super) type Split = Arc<Vec<(String, Arc<Sequence>)>>;

/// How a group is divided into tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum By {
    /// By the tracks that the file names, else by what the engine is known to do.
    Track,
    /// Sequencer and compute.
    Sequencer,
    /// The queues of a DMA engine.
    Queue,
    /// Rows in which no events overlap.
    Row,
    /// Only what is on queues for spills.
    Spill,
}

/// Derived sequences and activity of one store; share it between trees, drop it with the store.
#[derive(Default)]
pub struct TrackCache {
    splits: Mutex<FxHashMap<(u16, u32, By), Split>>,
    activities: Mutex<FxHashMap<String, Arc<Activity>>>,
    throttled: OnceLock<Vec<Counter>>,
}

/// Rows that an unfolded track has at most; the last holds what is left, overlapping.
pub(super) const MOST_ROWS: usize = 8;

impl TrackCache {
    /// The tracks that `group` of `table` is divided into; a name that is empty or begins with a space goes on from
    /// the group's own.
    pub(super) fn split(&self, store: &Store, table: u16, group: u32, by: By) -> Split {
        let lock = || self.splits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&(table, group, by)) {
            return known.clone();
        }
        let events = &store.events[usize::from(table)];
        let split: Split = Arc::new(split(events, &events.groups[group as usize].sequence, by));
        lock().entry((table, group, by)).or_insert(split).clone()
    }

    /// The packets of a DMA engine's group on queues for spills, whose label keys `spills` tells.
    pub(crate) fn spills(&self, store: &Store, table: u16, group: u32, spills: &[bool]) -> Arc<Sequence> {
        let lock = || self.splits.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (table, group, By::Spill);
        if let Some(found) = lock().get(&key).and_then(|split| split.first()) {
            return found.1.clone();
        }
        let events = &store.events[usize::from(table)];
        let picks = events.groups[group as usize].sequence.picks();
        let queues = events.label(LabelKind::Queue);
        let spilled = |&e: &u32| queues.is_some_and(|q| spills.get(q.key(e as usize) as usize) == Some(&true));
        let list = (0..picks.len()).map(|i| picks.at(i)).filter(spilled).collect();
        let sequence = Arc::new(Sequence::of_list(events, list));
        lock().insert(key, Arc::new(vec![(String::new(), sequence.clone())]));
        sequence
    }

    /// For each core with a record of throttling a counter that is 1 where the limit is below full speed, else 0.
    pub(crate) fn throttled(&self, store: &Store) -> &[Counter] {
        self.throttled.get_or_init(|| {
            let recorded = store.counters.iter().filter(|c| c.key.table == "Throttle");
            let limited = |counter: &Counter| {
                let values = (0..counter.len()).map(|i| counter.values.at(i));
                let below = values.map(|v| if v.is_nan() { v } else { f64::from(u8::from(v < 100.0)) });
                Counter::new(counter.key.clone(), counter.times.clone(), Numbers::pack(below.collect()))
            };
            recorded.map(limited).collect()
        })
    }

    /// The merged activity of `tracks`, which `key` names.
    pub(super) fn activity(&self, store: &Store, key: &str, tracks: Vec<Track>) -> Arc<Activity> {
        let lock = || self.activities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(key) {
            return known.clone();
        }
        let activity = Arc::new(Activity::new(store, tracks));
        lock().entry(key.to_owned()).or_insert(activity).clone()
    }
}

/// What tells the tracks of a group apart: the key of a label, whether it is a MATMUL of a file that names no
/// tracks, and whether it runs in the sequencer.
type Class = (u32, bool, bool);

fn split(table: &EventTable, sequence: &Sequence, by: By) -> Vec<(String, Arc<Sequence>)> {
    let index = |list: Vec<u32>| Arc::new(Sequence::of_list(table, list));
    if by == By::Row {
        let rows = sequence.of(table).rows(MOST_ROWS);
        let named = rows.into_par_iter().enumerate().map(|(i, row)| (format!("row {}", i + 1), index(row)));
        return named.collect();
    }
    let labels = table.label(if by == By::Queue { LabelKind::Queue } else { LabelKind::Track });
    let names = table.label(LabelKind::Name);
    let matmul: Vec<bool> = names.map_or_else(Vec::new, |n| n.entries.iter().map(|e| is_matmul(e)).collect());
    let matrix: Vec<bool> = labels.map_or_else(Vec::new, |l| l.entries.iter().map(|e| e == MATRIX).collect());
    let class = |e: u32| -> Class {
        let at = e as usize;
        let label = labels.map_or(0, |l| l.key(at));
        let matmul = label == 0 && by != By::Queue && names.is_some_and(|n| matmul[n.key(at) as usize]);
        let in_matrix = matmul || matrix.get(label as usize) == Some(&true);
        (label, matmul, by == By::Sequencer && !in_matrix && table.flags[at] & flag::SEQUENCER != 0)
    };
    let mut lists: Vec<(Class, Vec<u32>)> = Vec::new();
    let mut known: FxHashMap<Class, usize> = FxHashMap::default();
    let mut last = None;
    let picks = sequence.picks();
    for e in (0..picks.len()).map(|i| picks.at(i)) {
        let class = class(e);
        let list = match last {
            Some((same, list)) if same == class => list,
            _ => *known.entry(class).or_insert_with(|| {
                lists.push((class, Vec::new()));
                lists.len() - 1
            }),
        };
        last = Some((class, list));
        lists[list].1.push(e);
    }
    let name = |(label, matmul, sequencer): Class| {
        let track = match labels.and_then(|l| l.entries.get(label as usize)) {
            Some(text) if label != 0 => without_core(text),
            _ if matmul => MATRIX,
            _ => "",
        };
        let part = match by {
            By::Sequencer if track == MATRIX => "",
            By::Sequencer if sequencer => " sequencer",
            By::Sequencer => " compute",
            _ => "",
        };
        format!("{track}{part}")
    };
    lists.into_par_iter().map(|(class, list)| (name(class), index(list))).collect()
}

/// The Tensor Engine's track of matrix multiplications.
pub(super) const MATRIX: &str = "TensorMatrix";

/// The share of tracks that are active, over time.
#[derive(Clone, Debug)]
pub struct Activity {
    /// The tracks.
    pub tracks: Vec<Track>,
    /// Number of active tracks over time: exact, or the mean of each bucket.
    active: Counter,
    /// Width of a bucket in nanoseconds; 0 where the counter is exact.
    bucket: u64,
}

/// Up to so many events, the number of active tracks is kept exactly.
const EXACT: usize = 1 << 20;
/// Beyond, this many buckets over the whole profile.
const BUCKETS: u64 = 1 << 16;
/// Columns narrower than so many buckets are computed from the tracks themselves, where these are few.
const COARSE: u64 = 8;
/// How many tracks are few.
const FEW: usize = 64;

impl Activity {
    fn new(store: &Store, tracks: Vec<Track>) -> Activity {
        let events: usize = tracks.iter().filter_map(|t| t.lane(store)).map(|lane| lane.len()).sum();
        let spans = || tracks.par_iter().map(|track| working_spans(store, track));
        let key = CounterKey { table: String::new(), column: "active tracks".into(), core: None };
        if events <= EXACT {
            let mut changes: Vec<(Nanos, i32)> =
                spans().flat_map_iter(|spans| spans.into_iter().flat_map(|(a, b)| [(a, 1), (b, -1)])).collect();
            changes.par_sort_unstable();
            let (mut times, mut values, mut level) = (Vec::new(), Vec::new(), 0);
            for (time, by) in changes {
                level += by;
                if times.last() == Some(&time) {
                    values.pop();
                } else {
                    times.push(time);
                }
                values.push(f64::from(level));
            }
            let active = Counter::new(key, Times::pack(times), Numbers::pack(values));
            return Activity { tracks, active, bucket: 0 };
        }
        let whole = store.whole();
        let bucket = whole.length().div_ceil(BUCKETS).max(1);
        let count = whole.length().div_ceil(bucket) as usize;
        let fill = |mut sums: Vec<i64>, spans: Vec<(Nanos, Nanos)>| {
            for (a, b) in spans {
                spread(&mut sums, whole, bucket, a, b);
            }
            sums
        };
        let sums = spans().fold(|| vec![0i64; 2 * (count + 1)], fill).reduce(
            || vec![0i64; 2 * (count + 1)],
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            },
        );
        let (mut times, mut values, mut level) = (Vec::new(), Vec::new(), 0);
        for i in 0..=count {
            level += sums[2 * i + 1];
            times.push(whole.start.saturating_add_unsigned(bucket.saturating_mul(i as u64)));
            let mean = level as f64 + sums[2 * i] as f64 / bucket as f64;
            values.push(if i == count { 0.0 } else { mean as f32 as f64 });
        }
        let active = Counter::new(key, Times::pack(times), Numbers::pack(values));
        Activity { tracks, active, bucket }
    }

    /// The mean share of the tracks that are active, waits left out, in each of `cells`: 0 to 1.
    #[must_use]
    pub fn shares(&self, store: &Store, cells: &[Window]) -> Vec<f32> {
        let most = self.tracks.len().max(1) as f64;
        let fine = cells.first().is_some_and(|c| c.length() < COARSE.saturating_mul(self.bucket));
        if fine && self.tracks.len() <= FEW {
            let mut sums = vec![0u64; cells.len()];
            for lane in self.tracks.iter().filter_map(|t| t.lane(store)) {
                lane.cells(cells.iter().copied()).iter().zip(&mut sums).for_each(|(cell, sum)| *sum += cell.active);
            }
            return sums.iter().zip(cells).map(|(s, c)| (*s as f64 / c.length() as f64 / most) as f32).collect();
        }
        cells.iter().map(|&c| (self.active.integral(c) / c.length() as f64 / most) as f32).collect()
    }

    /// The mean share of the tracks that are active in `window`, exact: 0 to 1.
    #[must_use]
    pub fn share(&self, store: &Store, window: Window) -> f64 {
        let most = self.tracks.len().max(1) as f64 * window.length() as f64;
        if self.bucket == 0 {
            return self.active.integral(window) / most;
        }
        let active: u64 = self.tracks.iter().filter_map(|t| t.lane(store)).map(|lane| lane.active(window)).sum();
        active as f64 / most
    }
}

/// Adds the span `[a, b)` to `sums`: per bucket the part that is covered by ends of spans, and the change in the
/// number of spans that cover all of it.
pub(super) fn spread(sums: &mut [i64], whole: Window, bucket: u64, a: Nanos, b: Nanos) {
    let (a, b) = (a.max(whole.start), b.min(whole.end));
    if a >= b {
        return;
    }
    let (from, to) = (length(whole.start, a), length(whole.start, b));
    let (first, last) = ((from / bucket) as usize, (to / bucket) as usize);
    if first == last {
        sums[2 * first] += (to - from) as i64;
        return;
    }
    sums[2 * first] += (bucket - from % bucket) as i64;
    sums[2 * last] += (to % bucket) as i64;
    sums[2 * first + 3] += 1;
    sums[2 * last + 1] -= 1;
}

/// The union of a track's working spans, as spans that neither overlap nor touch. Of a track of moments, each counts
/// as a nanosecond, so that it shows.
fn working_spans(store: &Store, track: &Track) -> Vec<(Nanos, Nanos)> {
    let Some(lane) = track.lane(store) else { return Vec::new() };
    let table = lane.table();
    let moments = lane.is_instants();
    let mut spans: Vec<(Nanos, Nanos)> = Vec::new();
    for e in (0..lane.len()).filter_map(|i| lane.event(i)).filter(|&e| table.is_work(e)) {
        let start = table.start(e);
        let end = if moments { start.saturating_add(1) } else { table.end(e) };
        match spans.last_mut() {
            Some((_, reach)) if start <= *reach => *reach = end.max(*reach),
            _ if start < end => spans.push((start, end)),
            _ => {}
        }
    }
    spans
}

impl Track {
    /// A whole group of the store.
    pub(crate) fn group(table: u16, group: u32) -> Track {
        Track { table, source: Source::Group(group) }
    }

    /// Events picked from a group.
    pub(super) fn picked(table: u16, sequence: &Arc<Sequence>) -> Track {
        Track { table, source: Source::Picked(sequence.clone()) }
    }
}
