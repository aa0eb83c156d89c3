//! How long opening takes, and showing one event: read, from the cache, and as a plain scan of the same columns.
//!
//! Measures the profile at NEURON_SCOPE_BENCH_PROFILE, else the built-in demo.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use criterion::{Criterion, criterion_group, criterion_main};
use neuron_scope::demo;
use neuron_scope::source::{Found, Opening, discover, open};
use neuron_scope::store::{EventRef, Store};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

fn read(found: &Found, cache: Option<&Path>) -> Store {
    open(found, &Opening { cancel: &AtomicBool::new(false), report: &|_| {}, cache }).unwrap()
}

/// Decodes start and end of all instructions and adds up how long they took: no index, one question.
fn scan(found: &Found) -> i64 {
    let file = std::fs::File::open(found.path.join("Instruction.parquet")).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["start_ts", "end_ts"]);
    let reader = builder.with_projection(mask).with_batch_size(1 << 17).build().unwrap();
    reader
        .map(|batch| {
            let batch = batch.unwrap();
            let column = |i: usize| batch.column(i).as_primitive::<Int64Type>().values();
            column(0).iter().zip(column(1)).map(|(start, end)| end - start).sum::<i64>()
        })
        .sum()
}

fn opening(c: &mut Criterion) {
    let scratch = tempfile::tempdir().unwrap();
    let path = std::env::var_os("NEURON_SCOPE_BENCH_PROFILE")
        .map_or_else(|| demo::write(scratch.path()).unwrap(), PathBuf::from);
    let found = discover(&path).unwrap().remove(0);
    let cache = scratch.path().join("cache");
    let store = read(&found, None);
    store.save_cache(&cache, &AtomicBool::new(false)).unwrap();
    let mut group = c.benchmark_group("open");
    group.sample_size(10).measurement_time(Duration::from_secs(20));
    group.bench_function("naive scan of two columns", |b| b.iter(|| black_box(scan(&found))));
    group.bench_function("read and indexed", |b| b.iter(|| black_box(read(&found, None))));
    group.bench_function("from the cache", |b| b.iter(|| black_box(read(&found, Some(&cache)))));
    group.finish();

    let table = store.table_index("Instruction").unwrap();
    let count = store.events[usize::from(table)].len() as u32;
    let mut event = 0u32;
    let mut group = c.benchmark_group("details");
    group.bench_function("all columns of a random instruction", |b| {
        b.iter(|| {
            event = event.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) % count;
            black_box(store.details(EventRef { table, event }).unwrap())
        });
    });
    group.finish();
}

criterion_group!(benches, opening);
criterion_main!(benches);
