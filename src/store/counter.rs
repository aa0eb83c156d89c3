//! Counters: values that hold from one sample to the next.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;

use super::column::Times;
use super::max_tree::{BLOCK, MaxTree};
use super::sorted::{BlockTimes, edges};
use crate::model::{Nanos, Window};

/// Numbers: 4 bytes each where that loses nothing, else 8. NaN stands for "not recorded".
#[derive(Clone, Debug)]
pub enum Numbers {
    /// All are exactly representable in 32 bits.
    F32(ScalarBuffer<f32>),
    /// Any.
    F64(ScalarBuffer<f64>),
}

impl Numbers {
    /// Packs `values`; infinities become "not recorded".
    #[must_use]
    pub fn pack(values: Vec<f64>) -> Numbers {
        let clean = |v: f64| if v.is_finite() { v } else { f64::NAN };
        if values.iter().all(|&v| !v.is_finite() || f64::from(v as f32) == v) {
            Numbers::F32(values.into_iter().map(|v| clean(v) as f32).collect())
        } else {
            Numbers::F64(values.into_iter().map(clean).collect())
        }
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Numbers::F32(v) => v.len(),
            Numbers::F64(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `i`-th value. Panics when `i` is out of range.
    #[must_use]
    #[inline]
    pub fn at(&self, i: usize) -> f64 {
        match self {
            Numbers::F32(v) => f64::from(v[i]),
            Numbers::F64(v) => v[i],
        }
    }
}

/// What a counter counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct CounterKey {
    /// The source table: `DmaUsage`.
    pub table: String,
    /// The column of it: `current_throughput`.
    pub column: String,
    /// The physical core, where recorded.
    pub core: Option<i64>,
}

/// A step function of time: each sample holds until the next.
#[derive(Clone, Debug)]
pub struct Counter {
    /// What it counts.
    pub key: CounterKey,
    /// Times of the samples, in order.
    pub times: Times,
    /// Their values, in the column's unit.
    pub values: Numbers,
    /// Time of the first sample of each block.
    pub(crate) starts: BlockTimes,
    pub(crate) highest: MaxTree<f64>,
    pub(crate) lowest: MaxTree<f64>,
    /// Value times nanoseconds from the first sample to the first of each block, where recorded.
    pub(crate) integral: ScalarBuffer<f64>,
    /// Nanoseconds with a recorded value up to there.
    pub(crate) known: ScalarBuffer<f64>,
}

/// What one column of a counter's track shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Least value.
    pub min: f64,
    /// Mean over the time for which a value is recorded.
    pub mean: f64,
    /// Greatest value.
    pub max: f64,
}

impl Counter {
    /// Indexes samples, which are in order of time (of equal times, the last counts).
    #[must_use]
    pub fn new(key: CounterKey, times: Times, values: Numbers) -> Counter {
        let n = times.len().min(values.len());
        let highest = MaxTree::build(n, |i| high_key(values.at(i)));
        let lowest = MaxTree::build(n, |i| low_key(values.at(i)));
        let mut integral = Vec::with_capacity(n / BLOCK + 2);
        let mut known = Vec::with_capacity(n / BLOCK + 2);
        let mut area = Area::default();
        for i in 0..n {
            if i % BLOCK == 0 {
                integral.push(area.area);
                known.push(area.known);
            }
            if i + 1 < n {
                area.add(values.at(i), times.at(i), times.at(i + 1));
            }
        }
        let starts = BlockTimes::new(times.len(), |i| times.at(i));
        Counter { key, times, values, starts, highest, lowest, integral: integral.into(), known: known.into() }
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Number of samples before `time`.
    #[must_use]
    pub fn samples_before(&self, time: Nanos) -> usize {
        self.starts.before(time, self.len(), |i| self.times.at(i))
    }

    /// Number of samples at or before each of `times`.
    fn samples_until_each(&self, times: impl Iterator<Item = Nanos>) -> Vec<usize> {
        let after: Vec<Nanos> = times.map(|time| time.saturating_add(1)).collect();
        self.starts.before_each(&after, self.len(), |i| self.times.at(i))
    }

    /// The value that holds at `time`; `None` before the first sample and where it is not recorded.
    #[must_use]
    pub fn value_at(&self, time: Nanos) -> Option<f64> {
        self.value_after(self.samples_before(time.saturating_add(1)))
    }

    /// [`Counter::value_at`] each of `times`.
    #[must_use]
    pub fn values_at(&self, times: impl Iterator<Item = Nanos>) -> Vec<Option<f64>> {
        self.samples_until_each(times).into_iter().map(|samples| self.value_after(samples)).collect()
    }

    /// The value that holds after so many samples.
    fn value_after(&self, samples: usize) -> Option<f64> {
        let value = self.values.at(samples.checked_sub(1)?);
        (!value.is_nan()).then_some(value)
    }

    /// Greatest value of all; `None` where nothing is recorded.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        self.extremes(0..self.len()).map(|(_, max)| max)
    }

    /// Least, mean and greatest value in `window`; `None` where nothing is recorded there.
    #[must_use]
    pub fn level(&self, window: Window) -> Option<Level> {
        self.levels(&[window]).pop().flatten()
    }

    /// [`Counter::level`] of each of `windows`, quickest where each begins as the one before ends.
    #[must_use]
    pub fn levels(&self, windows: &[Window]) -> Vec<Option<Level>> {
        // Samples at the very start hold already.
        let from = self.samples_until_each(windows.iter().map(|w| w.start));
        let ends: Vec<Nanos> = windows.iter().map(|w| w.end).collect();
        let to = self.starts.before_each(&ends, self.len(), |i| self.times.at(i));
        let mut near = Area::default();
        let level = |(&window, (from, to))| self.level_between(window, from, to, &mut near);
        windows.iter().zip(from.into_iter().zip(to)).map(level).collect()
    }

    /// The level of a window that `from` samples do not begin after, and `to` begin before the end of.
    fn level_between(&self, window: Window, from: usize, to: usize, near: &mut Area) -> Option<Level> {
        // The sample that holds at the start, if any, and those inside.
        let held = from.saturating_sub(1)..to.max(from);
        let (min, max) = self.extremes(held)?;
        if min == max {
            return Some(Level { min, mean: max, max });
        }
        let (area_a, known_a) = self.integrated(from, window.start, near);
        let (area_b, known_b) = self.integrated(to, window.end, near);
        let time = known_b - known_a;
        let mean = if time <= 0.0 { max } else { ((area_b - area_a) / time).clamp(min, max) };
        Some(Level { min, mean, max })
    }

    /// Value times nanoseconds over `window`, 0 where not recorded.
    #[must_use]
    pub fn integral(&self, window: Window) -> f64 {
        self.integrals(&[window])[0]
    }

    /// [`Counter::integral`] over each of `windows`, quickest where each begins as the one before ends.
    #[must_use]
    pub fn integrals(&self, windows: &[Window]) -> Vec<f64> {
        let (times, places) = edges(windows);
        let mut near = Area::default();
        let samples = self.samples_until_each(times.iter().copied());
        let before =
            samples.into_iter().zip(&times).map(|(samples, &time)| self.integrated(samples, time, &mut near).0);
        let before: Vec<f64> = before.collect();
        places.into_iter().map(|(from, to)| before[to] - before[from]).collect()
    }

    /// Least and greatest of some samples; `None` where none of them is recorded.
    fn extremes(&self, range: Range<usize>) -> Option<(f64, f64)> {
        let (_, high) = self.highest.max_in(range.clone(), |i| high_key(self.values.at(i)))?;
        if range.len() == 1 {
            return (high > f64::NEG_INFINITY).then_some((high, high));
        }
        let (_, low) = self.lowest.max_in(range, |i| low_key(self.values.at(i)))?;
        (high > f64::NEG_INFINITY).then_some((-low, high))
    }

    /// Integral and known time from the first sample to `time`, for some time up to which the first `samples` hold.
    /// `near` is where the integral is known, and is taken along.
    fn integrated(&self, samples: usize, time: Nanos, near: &mut Area) -> (f64, f64) {
        let Some(last) = samples.checked_sub(1) else { return (0.0, 0.0) };
        let block = last / BLOCK;
        if !(block * BLOCK..=last).contains(&near.sample) {
            *near = Area { sample: block * BLOCK, area: self.integral[block], known: self.known[block] };
        }
        while near.sample < last {
            near.add(self.values.at(near.sample), self.times.at(near.sample), self.times.at(near.sample + 1));
            near.sample += 1;
        }
        let mut whole = *near;
        whole.add(self.values.at(last), self.times.at(last), time);
        (whole.area, whole.known)
    }
}

/// An integral from the first sample to the time of another.
#[derive(Clone, Copy, Debug, Default)]
struct Area {
    sample: usize,
    /// Value times nanoseconds, where recorded.
    area: f64,
    /// Nanoseconds with a recorded value.
    known: f64,
}

impl Area {
    #[inline]
    fn add(&mut self, value: f64, from: Nanos, to: Nanos) {
        if !value.is_nan() {
            let held = to.abs_diff(from) as f64;
            self.area += value * held;
            self.known += held;
        }
    }
}

fn high_key(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value }
}

fn low_key(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { -value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counter(samples: &[(i64, f64)]) -> Counter {
        let key = CounterKey { table: "DmaUsage".into(), column: "current_throughput".into(), core: Some(0) };
        Counter::new(
            key,
            Times::pack(samples.iter().map(|s| s.0).collect()),
            Numbers::pack(samples.iter().map(|s| s.1).collect()),
        )
    }

    proptest! {
        #[test]
        fn levels_agree_with_a_walk(mut samples in prop::collection::vec((0i64..400, prop_oneof![5 => 0f64..100.0, 1 => Just(f64::NAN)]), 0..200), a in -10i64..420, n in 1i64..100) {
            samples.sort_by_key(|s| s.0);
            let counter = counter(&samples);
            let at = |t: i64| samples.iter().rev().find(|s| s.0 <= t).map(|s| s.1).filter(|v| !v.is_nan());
            // Of samples at one time only the last holds for any time, but each is seen by minimum and maximum.
            let mut seen: Vec<f64> = samples.iter().filter(|s| s.0 > a && s.0 < a + n).map(|s| s.1).filter(|v| !v.is_nan()).collect();
            seen.extend(at(a));
            let level = counter.level(Window::new(a, a + n));
            prop_assert_eq!(level.is_some(), !seen.is_empty());
            if let Some(level) = level {
                let held: Vec<f64> = (a..a + n).filter_map(at).collect();
                prop_assert_eq!(level.min, seen.iter().copied().fold(f64::INFINITY, f64::min));
                prop_assert_eq!(level.max, seen.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                if !held.is_empty() {
                    let mean = held.iter().sum::<f64>() / held.len() as f64;
                    prop_assert!((level.mean - mean).abs() < 1e-6, "{} is not {mean}", level.mean);
                }
            }
            prop_assert_eq!(counter.value_at(a), at(a));
            let windows: Vec<Window> = (0..5).map(|k| Window::new(a + k * n, a + (k + 1) * n)).collect();
            let each: Vec<Option<Level>> = windows.iter().map(|&w| counter.level(w)).collect();
            prop_assert_eq!(counter.levels(&windows), each);
            let each: Vec<f64> = windows.iter().map(|&w| counter.integral(w)).collect();
            prop_assert_eq!(counter.integrals(&windows), each);
            let naive: f64 = (a..a + n).filter(|&t| samples.last().is_some_and(|s| s.0 > t)).filter_map(at).sum();
            prop_assert!(samples.last().is_some_and(|s| s.0 < a + n) || (counter.integral(windows[0]) - naive).abs() < 1e-6);
            let times = windows.iter().map(|w| w.start);
            prop_assert_eq!(counter.values_at(times.clone()), times.map(at).collect::<Vec<_>>());
        }
    }
}
