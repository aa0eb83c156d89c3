//! Sequences and merged activity that are derived from the store's groups, once.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Source, Track};
use crate::model::opcode::is_matmul;
use crate::model::queue::without_core;
use crate::model::{Nanos, Window, length};
use crate::store::counter::Numbers;
use crate::store::{Counter, CounterKey, EventTable, LabelKind, Labels, Sequence, Store, Times, flag};

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

/// A group to divide: its table, its position there, and how.
pub(super) type Job = (u16, u32, By);

/// Derived sequences and activity of one store; share it between trees, drop it with the store.
#[derive(Default)]
pub struct TrackCache {
    splits: Mutex<FxHashMap<Job, Split>>,
    activities: Mutex<FxHashMap<String, Arc<Activity>>>,
    throttled: OnceLock<Vec<Counter>>,
}

/// Rows that an unfolded track has at most; the last holds what is left, overlapping.
pub(super) const MOST_ROWS: usize = 8;

impl TrackCache {
    /// The names of the tracks that `group` of `table` is divided into, with the events of each as far as they were
    /// derived; a name that is empty or begins with a space goes on from the group's own.
    pub(super) fn outline(&self, store: &Store, job: Job) -> Vec<(String, Option<Arc<Sequence>>)> {
        self.recall(store, job);
        let lock = || self.splits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&job) {
            return known.iter().map(|(name, sequence)| (name.clone(), Some(sequence.clone()))).collect();
        }
        if job.2 == By::Row {
            return Vec::new();
        }
        let names = Names::new(&store.events[usize::from(job.0)], job.2);
        let sequence = &store.events[usize::from(job.0)].groups[job.1 as usize].sequence;
        names.present(sequence).into_iter().map(|class| (names.name(class), None)).collect()
    }

    /// Divides a group into tracks, unless that was done before.
    pub(super) fn derive(&self, store: &Store, job: Job) {
        self.recall(store, job);
        let lock = || self.splits.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().contains_key(&job) {
            return;
        }
        // Not under the lock, which the screen may be waiting for.
        let events = &store.events[usize::from(job.0)];
        let split = Arc::new(split(events, &events.groups[job.1 as usize].sequence, job.2));
        if let Some(key) = kept_as(job) {
            store.derived.keep_parts(key, job.0, split.clone());
        }
        lock().insert(job, split);
    }

    /// Takes over what the store kept of an earlier derivation.
    fn recall(&self, store: &Store, job: Job) {
        if let Some(kept) = kept_as(job).and_then(|key| store.derived.parts(&key)) {
            self.splits.lock().unwrap_or_else(PoisonError::into_inner).entry(job).or_insert(kept);
        }
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

    /// The merged activity called `key`, where it was derived.
    pub(super) fn known_activity(&self, key: &str) -> Option<Arc<Activity>> {
        self.activities.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The merged activity of `tracks`, which `key` names.
    pub(super) fn activity(&self, store: &Store, key: &str, tracks: Vec<Track>) -> Arc<Activity> {
        let lock = || self.activities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(key) {
            return known.clone();
        }
        let kept = store.derived.counter(key);
        let activity = match kept {
            Some((active, bucket)) => Activity { tracks, active, bucket },
            None => {
                let activity = Activity::new(store, tracks);
                store.derived.keep_counter(key.to_owned(), activity.active.clone(), activity.bucket);
                activity
            }
        };
        let activity = Arc::new(activity);
        lock().entry(key.to_owned()).or_insert(activity).clone()
    }
}

/// The key under which the store keeps the tracks of the default grouping.
fn kept_as((table, group, by): Job) -> Option<String> {
    (by == By::Track).then(|| format!("tracks of {table}.{group}"))
}

/// What tells the tracks of a group apart: the key of a label, whether it is a MATMUL of a file that names no
/// tracks, and whether it runs in the sequencer.
type Class = (u32, bool, bool);

/// Tells the tracks of a table's groups apart, and names them.
struct Names<'a> {
    table: &'a EventTable,
    by: By,
    labels: Option<&'a Labels>,
    opcodes: Option<&'a Labels>,
    /// Per opcode, whether it is a matrix multiplication.
    matmul: Vec<bool>,
    /// Per label, whether it is the track of these.
    matrix: Vec<bool>,
}

impl<'a> Names<'a> {
    fn new(table: &'a EventTable, by: By) -> Names<'a> {
        let labels = table.label(if by == By::Queue { LabelKind::Queue } else { LabelKind::Track });
        let opcodes = table.label(LabelKind::Name).filter(|_| by != By::Queue);
        let matmul = opcodes.map_or_else(Vec::new, |n| n.entries.iter().map(|e| is_matmul(e)).collect());
        let matrix = labels.map_or_else(Vec::new, |l| l.entries.iter().map(|e| without_core(e) == MATRIX).collect());
        Names { table, by, labels, opcodes, matmul, matrix }
    }

    #[inline]
    fn class(&self, e: u32) -> Class {
        let at = e as usize;
        let label = self.labels.map_or(0, |l| l.key(at));
        let matmul = label == 0 && self.opcodes.is_some_and(|n| self.matmul[n.key(at) as usize]);
        let in_matrix = matmul || self.matrix.get(label as usize) == Some(&true);
        (label, matmul, self.by == By::Sequencer && !in_matrix && self.table.flags[at] & flag::SEQUENCER != 0)
    }

    /// The classes that occur, in order of first appearance.
    fn present(&self, sequence: &Sequence) -> Vec<Class> {
        let picks = sequence.picks();
        let mut found: Vec<Class> = Vec::new();
        for class in (0..picks.len()).map(|i| self.class(picks.at(i))) {
            if found.last() != Some(&class) && !found.contains(&class) {
                found.push(class);
            }
        }
        found
    }

    fn name(&self, (label, matmul, sequencer): Class) -> String {
        let track = match self.labels.and_then(|l| l.entries.get(label as usize)) {
            Some(text) if label != 0 => without_core(text),
            _ if matmul => MATRIX,
            _ => "",
        };
        let part = match self.by {
            By::Sequencer if track == MATRIX => "",
            By::Sequencer if sequencer => " sequencer",
            By::Sequencer => " compute",
            _ => "",
        };
        format!("{track}{part}")
    }
}

fn split(table: &EventTable, sequence: &Sequence, by: By) -> Vec<(String, Arc<Sequence>)> {
    let index = |list: Vec<u32>| Arc::new(Sequence::of_list(table, list));
    if by == By::Row {
        let rows = sequence.of(table).rows(MOST_ROWS);
        let named = rows.into_par_iter().enumerate().map(|(i, row)| (format!("row {}", i + 1), index(row)));
        return named.collect();
    }
    let names = Names::new(table, by);
    let mut lists: Vec<(Class, Vec<u32>)> = Vec::new();
    let mut known: FxHashMap<Class, usize> = FxHashMap::default();
    let mut last = None;
    let picks = sequence.picks();
    for e in (0..picks.len()).map(|i| picks.at(i)) {
        let class = names.class(e);
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
    lists.into_par_iter().map(|(class, list)| (names.name(class), index(list))).collect()
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
        let key = CounterKey { table: String::new(), column: "active tracks".into(), core: None };
        if events <= EXACT {
            let mut changes: Vec<(Nanos, i32)> = Vec::with_capacity(2 * events);
            tracks.iter().for_each(|t| working_spans(store, t, |a, b| changes.extend([(a, 1), (b, -1)])));
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
        let empty = || vec![0i64; 2 * (count + 1)];
        let fill = |mut sums: Vec<i64>, track: &Track| {
            let mut near = 0;
            working_spans(store, track, |a, b| spread(&mut sums, whole, bucket, &mut near, (a, b)));
            sums
        };
        let add = |mut a: Vec<i64>, b: Vec<i64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let sums = tracks.par_iter().fold(empty, fill).reduce(empty, add);
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
        let share = |(active, cell): (f64, &Window)| (active / cell.length() as f64 / most) as f32;
        if fine && self.tracks.len() <= FEW {
            return self.sums(store, cells).into_iter().map(|sum| sum as f64).zip(cells).map(share).collect();
        }
        self.active.integrals(cells).into_iter().zip(cells).map(share).collect()
    }

    /// How long the tracks are active in each of `cells`, added up.
    pub(super) fn sums(&self, store: &Store, cells: &[Window]) -> Vec<u64> {
        let actives = |track: &Track| track.lane(store).map(|lane| lane.actives(cells));
        let add = |mut sums: Vec<u64>, more: Vec<u64>| {
            sums.iter_mut().zip(more).for_each(|(sum, active)| *sum += active);
            sums
        };
        // In parallel, as no other row of a frame has as much to do.
        self.tracks.par_iter().filter_map(actives).reduce(|| vec![0; cells.len()], add)
    }

    /// The greatest share of the tracks that are ever active at once, above 0, as far as buckets tell: what a row of
    /// shares is scaled to.
    #[must_use]
    pub fn peak(&self) -> f64 {
        let most = self.tracks.len().max(1) as f64;
        self.active.peak().filter(|&peak| peak > 0.0).map_or(1.0, |peak| (peak / most).min(1.0))
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
/// number of spans that cover all of it. `near` is the bucket that the span before ended in.
pub(super) fn spread(sums: &mut [i64], whole: Window, bucket: u64, near: &mut usize, (a, b): (Nanos, Nanos)) {
    let (a, b) = (a.max(whole.start), b.min(whole.end));
    if a >= b {
        return;
    }
    // Divisions would take most of the time, and most spans lie in the bucket of the one before or the next.
    let place = |offset: u64, near: usize| {
        let start = near as u64 * bucket;
        match offset.checked_sub(start) {
            Some(rest) if rest < bucket => (near, rest),
            Some(rest) if rest - bucket < bucket => (near + 1, rest - bucket),
            _ => ((offset / bucket) as usize, offset % bucket),
        }
    };
    let (from, to) = (length(whole.start, a), length(whole.start, b));
    let (first, in_first) = place(from, *near);
    let (last, in_last) = place(to, first);
    *near = last;
    if first == last {
        sums[2 * first] += (to - from) as i64;
        return;
    }
    sums[2 * first] += (bucket - in_first) as i64;
    sums[2 * last] += in_last as i64;
    sums[2 * first + 3] += 1;
    sums[2 * last + 1] -= 1;
}

/// Calls `each` for the union of a track's working spans, as spans in order that neither overlap nor touch. Of a track
/// of moments, each counts as a nanosecond, so that it shows.
fn working_spans(store: &Store, track: &Track, mut each: impl FnMut(Nanos, Nanos)) {
    let Some(lane) = track.lane(store) else { return };
    let (table, moments) = (lane.table(), lane.is_instants());
    let mut open: Option<(Nanos, Nanos)> = None;
    for e in (0..lane.len()).filter_map(|i| lane.event(i)).filter(|&e| table.is_work(e)) {
        let start = table.start(e);
        let end = if moments { start.saturating_add(1) } else { table.end(e) };
        match &mut open {
            Some((_, reach)) if start <= *reach => *reach = end.max(*reach),
            _ if start < end => {
                if let Some((a, b)) = open.replace((start, end)) {
                    each(a, b);
                }
            }
            _ => {}
        }
    }
    if let Some((a, b)) = open {
        each(a, b);
    }
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
