//! What the keys that follow causes cost: what blocked an event and what it unblocked, its neighbours, a long chain, and
//! the blame of an engine over the whole profile.
//!
//! Of the demo, or of the profile that `NEURON_SCOPE_BENCH_PROFILE` names.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use neuron_scope::demo;
use neuron_scope::query::blame::Blame;
use neuron_scope::query::causes::{Actor, Asking};
use neuron_scope::query::index::CauseIndex;
use neuron_scope::source::{Opening, discover, open};

fn waits(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = std::env::var_os("NEURON_SCOPE_BENCH_PROFILE")
        .map_or_else(|| demo::write(dir.path()).expect("the demo"), PathBuf::from);
    let cancel = AtomicBool::new(false);
    let found = discover(&path).expect("a profile");
    let store = open(&found[0], &Opening { cancel: &cancel, report: &|_| {}, cache: None }).expect("it opens");
    let began = Instant::now();
    let index = CauseIndex::build(&store, &cancel).expect("it has instructions");
    let events = store.table("Instruction").expect("instructions");
    eprintln!("index of {} instructions built in {:.2} s", events.len(), began.elapsed().as_secs_f64());
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM")).for_each(|l| eprintln!("{l}"));
    }
    let asking = Asking::new(&store, &index);
    let count = events.len() as u64;
    // The same instructions every time, all over the profile.
    let mut at = 1u64;
    let mut any = move || {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Actor::Instruction(((at >> 33) % count) as u32)
    };
    c.bench_function("blocked by", |b| b.iter(|| black_box((asking.choices(any()), asking.blocker(any())))));
    c.bench_function("unblocked", |b| b.iter(|| black_box(asking.effects(any()))));
    c.bench_function("neighbours", |b| b.iter(|| black_box(asking.neighbours(any()))));
    let last = asking.last_at_work(store.whole().end).expect("something ran");
    let steps = asking.chain(last, i64::MIN, 10_000).actors.len();
    c.bench_function(&format!("chain of {steps}"), |b| b.iter(|| black_box(asking.chain(last, i64::MIN, 10_000))));
    let mut group = c.benchmark_group("blame of an engine, whole profile");
    group.sample_size(10);
    for found in events.groups.iter().take(5) {
        let lane = found.sequence.of(events);
        group.bench_function(&found.key.name, |b| b.iter(|| black_box(Blame::new(&asking, lane, store.whole()))));
        let blame = Blame::new(&asking, lane, store.whole());
        group.bench_function(format!("{} shares of {} spans", found.key.name, blame.spans().len()), |b| {
            b.iter(|| black_box(blame.shares(store.whole())));
        });
    }
}

criterion_group!(benches, waits);
criterion_main!(benches);
