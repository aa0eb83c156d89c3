//! The cache gives the very answers that reading gives, and never an untrue one.

use std::fs;
use std::sync::atomic::AtomicBool;

use neuron_scope::demo;
use neuron_scope::model::Window;
use neuron_scope::source::discover;
use neuron_scope::store::{EventRef, Store, cache};

use crate::corpus::read;

/// All that can be asked of a store, as text.
fn answers(store: &Store) -> String {
    use std::fmt::Write;
    let mut out = format!("{:?} {:?} {:?} {:?}\n", store.info, store.range, store.tables, store.problems);
    let _ = writeln!(out, "{:?}", store.records);
    let whole = store.whole();
    let step = whole.length() / 7;
    for table in &store.events {
        let _ = writeln!(out, "{} {:?}", table.name, table.labels.iter().map(|l| l.0).collect::<Vec<_>>());
        for group in &table.groups {
            let lane = group.sequence.of(table);
            let _ = writeln!(out, "{:?} {}", group.key, lane.len());
            for i in 0..7 {
                let from = whole.start.saturating_add_unsigned(i * step);
                let window = Window::new(from, from.saturating_add_unsigned(step));
                let sums: Vec<f64> = (0..table.measures.len()).map(|m| lane.sum(m, window)).collect();
                let cells = lane.cells([window]);
                let _ = writeln!(
                    out,
                    "{} {} {} {sums:?} {cells:?}",
                    lane.busy(window),
                    lane.active(window),
                    lane.count(window)
                );
            }
        }
        for e in (0..table.len() as u32).step_by(97) {
            let labels: Vec<_> = table.labels.iter().map(|(kind, _)| table.text(*kind, e)).collect();
            let _ = writeln!(out, "{} {} {labels:?}", table.start(e), table.end(e));
        }
    }
    for counter in &store.counters {
        let _ =
            writeln!(out, "{:?} {:?} {:?}", counter.key, counter.level(whole), counter.value_at(whole.start + 5000));
    }
    if let Some(graph) = &store.graph {
        for node in (0..5000).step_by(13) {
            let edges: Vec<_> = graph.predecessors(node).chain(graph.successors(node)).collect();
            let _ = writeln!(out, "{:?} {edges:?}", graph.row(node));
        }
    }
    let first = EventRef { table: 0, event: 1 };
    let _ =
        writeln!(out, "{} {:?} {:?}", store.id_of(first), store.find_id(0, store.id_of(first)), store.details(first));
    out
}

#[test]
fn a_cached_profile_answers_as_one_that_was_read() {
    let scratch = tempfile::tempdir().unwrap();
    let profile = demo::write(scratch.path()).unwrap();
    let directory = scratch.path().join("cache");
    let found = discover(&profile).unwrap().remove(0);
    let fresh = read(&found, Some(&directory)).unwrap();
    assert!(fresh.origin.is_some() && !fresh.cached);
    let bytes = fresh.save_cache(&directory, &AtomicBool::new(false)).unwrap();
    assert!(bytes.is_some_and(|b| b > 100_000), "{bytes:?}");
    let cached = read(&found, Some(&directory)).unwrap();
    assert!(cached.cached, "the cache was not used");
    for (cached, fresh) in answers(&cached).lines().zip(answers(&fresh).lines()) {
        assert_eq!(cached, fresh);
    }
}

#[test]
fn a_changed_or_damaged_profile_or_cache_is_read_again() {
    let scratch = tempfile::tempdir().unwrap();
    let profile = demo::write(scratch.path()).unwrap();
    let directory = scratch.path().join("cache");
    let found = discover(&profile).unwrap().remove(0);
    let save = || {
        let store = read(&found, Some(&directory)).unwrap();
        store.save_cache(&directory, &AtomicBool::new(false)).unwrap();
    };
    let is_used = || read(&found, Some(&directory)).unwrap().cached;
    save();
    assert!(is_used());
    // A new file of the profile, then a changed one.
    fs::copy(profile.join("Warning.parquet"), profile.join("Extra.parquet")).unwrap();
    assert!(!is_used());
    save();
    assert!(is_used());
    fs::File::options()
        .append(true)
        .open(profile.join("Extra.parquet"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    assert!(!is_used());
    save();
    let file = fs::read_dir(&directory).unwrap().flatten().next().unwrap().path();
    let bytes = fs::read(&file).unwrap();
    for cut in [0, 1, 100, bytes.len() / 2, bytes.len() - 1] {
        // Caches are replaced, never changed in place.
        fs::remove_file(&file).unwrap();
        fs::write(&file, &bytes[..cut]).unwrap();
        assert!(!is_used(), "a cache cut to {cut} bytes was used");
    }
    // What describes the columns lies at the end; whatever it says, the profile opens.
    for at in (bytes.len().saturating_sub(40_000)..bytes.len()).step_by(397) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        fs::remove_file(&file).unwrap();
        fs::write(&file, damaged).unwrap();
        let _ = is_used();
    }
}

#[test]
fn a_cancelled_writing_leaves_nothing_and_pruning_keeps_what_is_true() {
    let scratch = tempfile::tempdir().unwrap();
    let profile = demo::write(scratch.path()).unwrap();
    let directory = scratch.path().join("cache");
    let found = discover(&profile).unwrap().remove(0);
    let store = read(&found, Some(&directory)).unwrap();
    assert_eq!(store.save_cache(&directory, &AtomicBool::new(true)).unwrap(), None);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    store.save_cache(&directory, &AtomicBool::new(false)).unwrap();
    assert_eq!(cache::prune(&directory).unwrap().0, 0);
    fs::remove_dir_all(&profile).unwrap();
    assert_eq!(cache::prune(&directory).unwrap().0, 1);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}
