//! Curves over time.

use std::collections::BTreeMap;

use super::semaphore_track;
use crate::source::parquet::value_columns;
use crate::source::raw::{RawCapture, RawSbufUsage, RawThroughput};
use crate::store::counter::Numbers;
use crate::store::{Counter, CounterKey, Times};

/// All counters.
pub(super) fn all(capture: &RawCapture) -> Vec<Counter> {
    let mut found = vec![];
    found.extend(throughput("DmaUsage", &capture.dma_usage));
    found.extend(throughput("HbmUsage", &capture.hbm_usage));
    found.extend(curves("PendingDma", "value", capture.pending_dma.iter(), |row| {
        (row.pcore_idx, row.timestamp, f64::from(row.value))
    }));
    for (at, column) in value_columns("SbufUsage").iter().enumerate() {
        // The mean, then the partitions that are told.
        let share = |row: &RawSbufUsage| match at.checked_sub(1) {
            None => Some(row.avg_util),
            Some(partition) => row.partition_util.get(partition).copied(),
        };
        found.extend(curves("SbufUsage", column, capture.sbuf_usage.iter(), |row| {
            (row.pcore_idx, row.timestamp, 100.0 * share(row).unwrap_or(f64::NAN))
        }));
    }
    for (at, column) in value_columns("PsumUsage").iter().enumerate() {
        let percent = |banks: u8| at.checked_sub(1).map_or(banks_percent(banks), |bank| bank_percent(banks, bank));
        found.extend(curves("PsumUsage", column, capture.psum_usage.iter(), |row| {
            (row.pcore_idx, row.timestamp, percent(row.banks))
        }));
    }
    found.extend(throttle_limits(capture));
    found.extend(semaphores(capture));
    found
}

/// How much of PSUM is in use.
pub(super) fn banks_percent(banks: u8) -> f64 {
    f64::from(banks.count_ones()) * 12.5
}

/// How much of a bank is in use: all or nothing is known.
pub(super) fn bank_percent(banks: u8, bank: usize) -> f64 {
    if banks >> bank & 1 != 0 { 100.0 } else { 0.0 }
}

/// A column of a table as a counter per core: `of` gives core, time and value of a row.
fn curves<'a, T: 'a>(
    table: &str,
    column: &str,
    rows: impl Iterator<Item = &'a T>,
    of: impl Fn(&T) -> (u16, i64, f64),
) -> Vec<Counter> {
    let mut samples: BTreeMap<u16, Vec<(i64, f64)>> = BTreeMap::new();
    for row in rows {
        let (core, time, value) = of(row);
        samples.entry(core).or_default().push((time, value));
    }
    samples.into_iter().map(|(core, samples)| counter(table, column, core, samples)).collect()
}

/// A counter of samples in order of time.
fn counter(table: &str, column: &str, core: u16, samples: Vec<(i64, f64)>) -> Counter {
    let key = CounterKey { table: table.into(), column: column.into(), core: Some(i64::from(core)) };
    let (times, values) = samples.into_iter().unzip();
    Counter::new(key, Times::pack(times), Numbers::pack(values))
}

fn throughput(table: &str, rows: &[RawThroughput]) -> Vec<Counter> {
    let current =
        curves(table, "current_throughput", rows.iter(), |row| (row.pcore_idx, row.timestamp, row.current_throughput));
    let total = curves(table, "total_transfer_bytes", rows.iter(), |row| {
        (row.pcore_idx, row.timestamp, row.total_transfer_bytes as f64)
    });
    current.into_iter().chain(total).collect()
}

/// What share of its clock the Tensor Engine may use: 100 where no record says otherwise. A state lasts to the next one.
fn throttle_limits(capture: &RawCapture) -> Vec<Counter> {
    let mut by_core: BTreeMap<u16, (Vec<(i64, f64)>, i64)> = BTreeMap::new();
    for row in capture.throttles.iter().filter(|row| row.n > 0) {
        let start = row.times.start_ts();
        let first = || if start > 0 { vec![(0, 100.0)] } else { vec![] };
        let (samples, end) = by_core.entry(row.pcore_idx).or_insert_with(|| (first(), start));
        samples.push((start, (100.0 * f64::from(row.k) / f64::from(row.n)).min(100.0)));
        *end = start.saturating_add_unsigned(row.times.duration_ns());
    }
    let limit = |(core, (mut samples, end)): (u16, (Vec<_>, i64))| {
        samples.push((end, 100.0));
        counter("Throttle", "limit_percent", core, samples)
    };
    by_core.into_iter().map(limit).collect()
}

/// The values of semaphores; across a stretch in which records are missing a value is not known.
fn semaphores(capture: &RawCapture) -> Vec<Counter> {
    let mut by_track: BTreeMap<(u16, u8, bool), Vec<(i64, f64)>> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for row in &capture.semaphores {
        let key = (row.pcore_idx, row.id, row.is_event);
        names.entry(key).or_insert_with(|| semaphore_track(capture, row));
        by_track.entry(key).or_default().push((row.timestamp(), f64::from(row.value)));
    }
    let lost = |core: u16| {
        let gaps = capture.gaps.iter().filter(move |gap| gap.pcore_idx == core);
        gaps.map(|gap| gap.after_ps.div_euclid(1000)).collect::<Vec<_>>()
    };
    let lost: Vec<Vec<i64>> = (0..capture.cores.len()).map(|core| lost(core as u16)).collect();
    by_track
        .into_iter()
        .map(|(key, samples)| {
            let samples = forgetting(samples, lost.get(usize::from(key.0)).map_or(&[], Vec::as_slice));
            counter("SemaphoreUpdate", &names[&key], key.0, samples)
        })
        .collect()
}

/// The samples, with one that is not known where records begin to be missing. Both are in order of time.
fn forgetting(samples: Vec<(i64, f64)>, lost: &[i64]) -> Vec<(i64, f64)> {
    if lost.is_empty() {
        return samples;
    }
    let mut found = Vec::with_capacity(samples.len());
    for (index, &(time, value)) in samples.iter().enumerate() {
        found.push((time, value));
        let next = samples.get(index + 1).map_or(i64::MAX, |next| next.0);
        let gap = lost.get(lost.partition_point(|at| *at < time));
        found.extend(gap.filter(|at| **at < next).map(|at| (*at, f64::NAN)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_known_after_a_loss() {
        let known: Vec<_> = forgetting(vec![(10, 1.0), (20, 2.0), (50, 3.0)], &[5, 30, 40, 60])
            .into_iter()
            .map(|(time, value)| (time, (!value.is_nan()).then_some(value)))
            .collect();
        assert_eq!(known, [(10, Some(1.0)), (20, Some(2.0)), (30, None), (50, Some(3.0)), (60, None)]);
    }
}
