//! Counters: lists of samples, and the lists that counters are derived from.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::interner::Texts;
use super::token::Raw;
use crate::store::counter::Numbers;
use crate::store::{Counter, CounterKey, Times};

/// Table, key of the column and key of the subgraph.
type Series = (&'static str, u32, u32);

/// Samples of many counters, in the order of the file.
#[derive(Default)]
pub struct Samples {
    columns: Texts,
    series: FxHashMap<Series, Vec<(i64, f64)>>,
}

impl Samples {
    /// Adds a sample. A value that is there without being a number means that none is recorded from then on.
    pub fn push(&mut self, table: &'static str, column: Raw, subgraph: u32, time: i64, value: Raw) {
        let key = (table, self.columns.key(column), subgraph);
        // NaN stands for "not recorded".
        self.series.entry(key).or_default().push((time, value.number().unwrap_or(f64::NAN)));
    }

    /// Whether all values of a table are zero.
    pub fn all_zero(&self, table: &str) -> bool {
        let of_table = self.series.iter().filter(|((t, _, _), _)| *t == table);
        of_table.flat_map(|(_, samples)| samples).all(|(_, value)| *value == 0.0)
    }

    /// The counters of all tables but those that `keep` rejects. `name` says how a column of a table is to be called and
    /// by what its values are to be multiplied, `core` which core a subgraph is.
    pub fn counters(
        &self,
        unit: i64,
        keep: impl Fn(&str) -> bool,
        core: impl Fn(u32) -> Option<i64>,
        name: impl Fn(&str, &str) -> (String, f64),
    ) -> Vec<Counter> {
        let mut merged: BTreeMap<CounterKey, Vec<(i64, f64)>> = BTreeMap::new();
        for (&(table, column, subgraph), samples) in self.series.iter().filter(|((table, _, _), _)| keep(table)) {
            let (column, factor) = name(table, self.columns.get(column));
            let key = CounterKey { table: table.to_string(), column, core: core(subgraph) };
            let samples = samples.iter().map(|&(time, value)| (time.div_euclid(unit), value * factor));
            merged.entry(key).or_default().extend(samples);
        }
        merged.into_iter().map(|(key, samples)| counter(key, samples)).collect()
    }
}

/// A counter of samples in any order; of those of one time, the last one given counts.
pub fn counter(key: CounterKey, mut samples: Vec<(i64, f64)>) -> Counter {
    samples.sort_by_key(|&(time, _)| time);
    let (times, values) = samples.into_iter().unzip();
    Counter::new(key, Times::pack(times), Numbers::pack(values))
}

/// A stretch of time in which activity is limited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Key of the subgraph.
    pub subgraph: u32,
    /// Start, in the file's unit.
    pub start: i64,
    /// End, in the file's unit.
    pub end: i64,
    /// What is allowed, in percent.
    pub percent: f64,
}

/// The limit over time: where several hold, the lowest; where none does, 100. Begins at `from` at the latest.
pub fn limit_over_time(limits: &[Limit], from: i64, unit: i64) -> Vec<(i64, f64)> {
    let mut edges: Vec<(i64, bool, usize)> = Vec::with_capacity(limits.len() * 2);
    for (i, limit) in limits.iter().enumerate() {
        let (start, end) = (limit.start.div_euclid(unit), limit.end.div_euclid(unit));
        if end > start {
            edges.extend([(start, true, i), (end, false, i)]);
        }
    }
    edges.sort_unstable_by_key(|edge| edge.0);
    // The limits that hold, by value: how many of each.
    let mut holding: BTreeMap<u64, usize> = BTreeMap::new();
    let mut samples: Vec<(i64, f64)> = Vec::new();
    if edges.first().is_some_and(|edge| edge.0 > from) {
        samples.push((from, 100.0));
    }
    for group in edges.chunk_by(|a, b| a.0 == b.0) {
        for &(_, begins, i) in group {
            // Non-negative floats sort like their bits.
            let bits = limits[i].percent.to_bits();
            let count = holding.entry(bits).or_insert(0);
            if begins {
                *count += 1;
            } else {
                *count = count.saturating_sub(1);
            }
            if *count == 0 {
                holding.remove(&bits);
            }
        }
        let lowest = holding.keys().next().map_or(100.0, |&bits| f64::from_bits(bits));
        samples.push((group[0].0, lowest));
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_lowest_limit_holds(spans in prop::collection::vec((0i64..100, 0i64..40, 1u8..9), 0..12)) {
            let limits: Vec<Limit> = spans
                .iter()
                .map(|&(start, length, k)| Limit { subgraph: 0, start, end: start + length, percent: f64::from(k) * 12.5 })
                .collect();
            let samples = limit_over_time(&limits, 0, 1);
            for t in 0..150 {
                let expected = limits.iter().filter(|l| l.start <= t && t < l.end).map(|l| l.percent).fold(100.0, f64::min);
                let found = samples.iter().rev().find(|s| s.0 <= t).map_or(100.0, |s| s.1);
                prop_assert_eq!(found, expected, "at {}", t);
            }
        }
    }

    #[test]
    fn samples_are_sorted_and_gaps_kept() {
        let mut samples = Samples::default();
        for (time, text) in [(30, "3"), (10, "1"), (20, "NaN")] {
            samples.push("T", Raw::Text(b"c"), 1, time, Raw::Word(text.as_bytes()));
        }
        let counters = samples.counters(1, |_| true, |_| None, |_, column| (column.to_string(), 2.0));
        assert_eq!(counters.len(), 1);
        let at = |t| counters[0].value_at(t);
        assert_eq!([at(5), at(10), at(25), at(30)], [None, Some(2.0), None, Some(6.0)]);
        assert!(!samples.all_zero("T") && samples.all_zero("other"));
    }
}
