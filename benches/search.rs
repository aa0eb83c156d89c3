//! How long searches take: until the first results, and until all are there; with texts kept from an earlier search
//! (warm) and without.
//!
//! Measures the profile at NEURON_SCOPE_BENCH_PROFILE, else the built-in demo.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use neuron_scope::demo;
use neuron_scope::model::Grid;
use neuron_scope::query::search::{Catalog, Matches, Options, Query, TextCache};
use neuron_scope::source::{Opening, discover, open};
use neuron_scope::store::Store;

/// What people search for: a word in all texts, texts of one column, names, numbers of the index and of a column.
const QUERIES: [(&str, &str); 8] = [
    ("a word in all texts", "0x2001000"),
    ("another word in all texts", "matmul"),
    ("operands", "operands:0x2001000"),
    ("opcode, operands and names", "opcode:reduce | operands:acc_flags=2 | hlo_name:dot | layer:q_proj"),
    ("names", "name:matmul"),
    ("durations", "duration>1us"),
    ("numbers of a column", "pc>100000"),
    ("everything", ""),
];

fn find(store: &Store, query: &Query, texts: &TextCache) -> Matches {
    query.run(store, texts, &AtomicBool::new(false), &|_, _| {}).unwrap()
}

fn first(store: &Store, query: &Query, texts: &TextCache) -> Duration {
    let (began, first) = (Instant::now(), OnceLock::new());
    let all = query.run(store, texts, &AtomicBool::new(false), &|matches, _| {
        if matches.total() > 0 {
            first.get_or_init(|| began.elapsed());
        }
    });
    black_box(all);
    *first.get_or_init(|| began.elapsed())
}

fn searching(c: &mut Criterion) {
    let scratch = tempfile::tempdir().unwrap();
    let path = std::env::var_os("NEURON_SCOPE_BENCH_PROFILE")
        .map_or_else(|| demo::write(scratch.path()).unwrap(), PathBuf::from);
    let found = discover(&path).unwrap().remove(0);
    let cancel = AtomicBool::new(false);
    let store = open(&found, &Opening { cancel: &cancel, report: &|_| {}, cache: None }).unwrap();
    let catalog = Catalog::of(&store);
    let texts = TextCache::default();
    let none = TextCache::with_capacity(0);
    let mut group = c.benchmark_group("search");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(4));
    for (name, text) in QUERIES {
        let query = Query::new(text, Options::default(), &catalog, &store).unwrap();
        group.bench_function(format!("{name}, first results"), |b| {
            b.iter_custom(|n| (0..n).map(|_| first(&store, &query, &none)).sum());
        });
        group.bench_function(format!("{name}, cold"), |b| b.iter(|| black_box(find(&store, &query, &none))));
        group.bench_function(format!("{name}, warm"), |b| b.iter(|| black_box(find(&store, &query, &texts))));
    }
    println!("{} bytes of texts are kept", texts.used());
    group.finish();

    let query = Query::new("matmul", Options::default(), &catalog, &store).unwrap();
    let matches = find(&store, &query, &texts);
    let mut group = c.benchmark_group("matches");
    let middle = store.whole().start.midpoint(store.whole().end);
    let here = matches.next(&store, middle, None);
    let grid = Grid::fit(store.whole(), 200);
    let cells: Vec<_> = (0..200).map(|k| grid.cell(k)).collect();
    group.bench_function("next", |b| b.iter(|| black_box(matches.next(&store, middle, here))));
    group.bench_function("a page of 50", |b| b.iter(|| black_box(matches.page(&store, matches.total() / 2, 50))));
    group.bench_function("position", |b| b.iter(|| black_box(here.and_then(|e| matches.position(&store, e)))));
    group.bench_function("ticks of 200 columns", |b| b.iter(|| black_box(matches.counts(&store, &cells))));
    group.finish();
}

criterion_group!(benches, searching);
criterion_main!(benches);
