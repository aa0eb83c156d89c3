//! Counters: tables of samples, one counter per value column and core.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rayon::prelude::*;

use super::files::Table;
use super::steps::Steps;
use crate::source::Opening;
use crate::store::arrays::{column, floats, ints};
use crate::store::counter::Numbers;
use crate::store::{Counter, CounterKey, Problem, Times};

/// The value columns of each table of samples.
const TABLES: [(&str, &[&str]); 5] = [
    ("DmaUsage", &["current_throughput", "total_transfer_bytes"]),
    ("HbmUsage", &["current_throughput", "total_transfer_bytes"]),
    (
        "SbufUsage",
        &[
            "avg_util_percent",
            "partition_0_util_percent",
            "partition_32_util_percent",
            "partition_64_util_percent",
            "partition_96_util_percent",
        ],
    ),
    (
        "PsumUsage",
        &[
            "avg_util_percent",
            "bank_0_util_percent",
            "bank_1_util_percent",
            "bank_2_util_percent",
            "bank_3_util_percent",
            "bank_4_util_percent",
            "bank_5_util_percent",
            "bank_6_util_percent",
            "bank_7_util_percent",
        ],
    ),
    ("PendingDma", &["value"]),
];

/// The value columns of a table of samples, in the schema's order: of `SbufUsage` and `PsumUsage` the mean, then each
/// partition or bank.
pub(in crate::source) fn value_columns(table: &str) -> &'static [&'static str] {
    TABLES.iter().find(|(name, _)| *name == table).map_or(&[], |(_, columns)| columns)
}

/// The value columns of `table`; `None` where it holds no samples.
#[must_use]
pub fn columns_of(table: &str) -> Option<&'static [&'static str]> {
    TABLES.iter().find(|(name, _)| *name == table).map(|(_, columns)| *columns)
}

/// Samples of one core: times, then a list of values per column.
#[derive(Default)]
struct Samples {
    times: Vec<i64>,
    values: Vec<Vec<f64>>,
}

/// Reads the counters of a table.
pub fn read(
    table: &Table,
    columns: &[&'static str],
    opening: &Opening,
    steps: &Steps,
    problems: &Mutex<Vec<Problem>>,
) -> Vec<Counter> {
    let columns: Vec<&'static str> = columns.iter().copied().filter(|c| table.has(c)).collect();
    let mut wanted = vec!["timestamp", "pcore_idx"];
    wanted.extend(&columns);
    let spans: Vec<_> =
        table.parts.iter().flat_map(|(_, file)| file.spans(1 << 18).into_iter().map(move |s| (file, s))).collect();
    let pieces: Vec<BTreeMap<Option<i64>, Samples>> = spans
        .par_iter()
        .with_max_len(1)
        .filter_map(|(file, span)| {
            if opening.cancelled() {
                return None;
            }
            let batch = super::read_or_note(file, *span, &wanted, problems);
            steps.done(span.rows as u64, &table.name);
            let batch = batch?;
            let times = ints(column(&batch, "timestamp")?.as_ref())?;
            let cores = column(&batch, "pcore_idx").and_then(|c| ints(c.as_ref()));
            let values: Vec<Vec<f64>> = columns
                .iter()
                .map(|c| {
                    column(&batch, c).and_then(|c| floats(c.as_ref())).unwrap_or_else(|| vec![f64::NAN; span.rows])
                })
                .collect();
            let mut piece: BTreeMap<Option<i64>, Samples> = BTreeMap::new();
            for row in 0..batch.num_rows() {
                let Some(time) = times.time(row) else { continue };
                let samples = piece.entry(cores.as_ref().and_then(|c| c.at(row))).or_default();
                samples.values.resize_with(columns.len(), Vec::new);
                samples.times.push(time);
                for (all, new) in samples.values.iter_mut().zip(&values) {
                    all.push(new[row]);
                }
            }
            Some(piece)
        })
        .collect();
    let mut cores: BTreeMap<Option<i64>, Samples> = BTreeMap::new();
    for (core, piece) in pieces.into_iter().flatten() {
        let samples = cores.entry(core).or_default();
        samples.times.extend(piece.times);
        samples.values.resize_with(columns.len(), Vec::new);
        for (all, new) in samples.values.iter_mut().zip(piece.values) {
            all.extend(new);
        }
    }
    cores
        .into_par_iter()
        .flat_map(|(core, mut samples)| {
            if !samples.times.is_sorted() {
                let mut order: Vec<u32> = (0..samples.times.len() as u32).collect();
                order.sort_by_key(|&i| samples.times[i as usize]);
                samples.times = order.iter().map(|&i| samples.times[i as usize]).collect();
                for values in &mut samples.values {
                    *values = order.iter().map(|&i| values[i as usize]).collect();
                }
            }
            let times = Times::pack(samples.times);
            let counters: Vec<Counter> = columns
                .iter()
                .zip(samples.values)
                .map(|(name, values)| {
                    let key = CounterKey { table: table.name.clone(), column: (*name).to_string(), core };
                    Counter::new(key, times.clone(), Numbers::pack(values))
                })
                .collect();
            counters
        })
        .collect()
}
