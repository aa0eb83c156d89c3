//! The index of causes as it comes back from the cache.

use std::sync::atomic::AtomicBool;

use neuron_scope::demo;
use neuron_scope::query::blame::Blame;
use neuron_scope::query::causes::{Actor, Asking};
use neuron_scope::query::index::CauseIndex;
use neuron_scope::source::{self, Opening};

use super::corpus;

#[test]
fn what_comes_from_the_cache_answers_as_what_was_built() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut paths = vec![demo::write(dir.path()).expect("the demo")];
    // With semaphores, without Flow's bank links, with packets instead of transfers, and from a raw capture.
    paths.extend(corpus("parquet/lnc1/llama_tp8_nc0@latest"));
    paths.extend(corpus("neuron/v6_attention_baseline_bf16_s1024/baseline_exec_2.ntff"));
    let (cancel, cache) = (AtomicBool::new(false), dir.path().join("cache"));
    for path in paths {
        let found = source::discover(&path).expect("a profile");
        let open = || {
            let opening = Opening { cancel: &cancel, report: &|_| {}, cache: Some(&cache) };
            source::open(&found[0], &opening).expect("it opens")
        };
        let fresh = open();
        assert!(CauseIndex::load(&fresh, &cache).is_none(), "{}", path.display());
        let built = CauseIndex::build(&fresh, &cancel).expect("it has instructions");
        fresh.save_cache(&cache, &cancel).expect("it can be written");
        let bytes = built.save(&fresh, &cache, &cancel).expect("it can be written");
        assert!(bytes.is_some_and(|b| b > 0));
        // The store from the cache, too: positions are the same in both.
        let store = open();
        assert!(store.cached);
        let kept = CauseIndex::load(&store, &cache).expect("it is there");
        let (asked, again) = (Asking::new(&fresh, &built), Asking::new(&store, &kept));
        let instructions = store.table("Instruction").expect("instructions");
        let transfers = built.transfers.list.len() as u32;
        assert_eq!(kept.transfers.list, built.transfers.list);
        assert_eq!(kept.collectives.list, built.collectives.list);
        assert_eq!((&kept.notes, &kept.sources, kept.has_updates), (&built.notes, &built.sources, built.has_updates));
        let actors = (0..instructions.len() as u32).map(Actor::Instruction).chain((0..transfers).map(Actor::Transfer));
        for actor in actors.chain(built.collectives.list.iter().map(|c| Actor::Other(c.event))) {
            assert_eq!(again.causes(actor), asked.causes(actor), "{actor:?} of {}", path.display());
            assert_eq!(again.effects(actor), asked.effects(actor), "{actor:?} of {}", path.display());
            assert_eq!(again.name(actor), asked.name(actor));
        }
        for group in &instructions.groups {
            let blame = |asking: &Asking<'_>| Blame::new(asking, group.sequence.of(instructions), store.whole());
            let (built, kept) = (blame(&asked), blame(&again));
            assert_eq!((&built.texts, built.spans()), (&kept.texts, kept.spans()));
        }
        let packets = store.table_index("DmaPacket").map_or(0, |t| store.events[usize::from(t)].len() as u32);
        for packet in 0..packets {
            let event = |table| neuron_scope::store::EventRef { table, event: packet };
            let own = store.table_index("DmaPacket").map(event).map(|e| again.actor(e));
            assert_eq!(own, store.table_index("DmaPacket").map(event).map(|e| asked.actor(e)));
        }
    }
}

#[test]
fn an_index_that_is_damaged_or_of_other_files_is_not_used() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = demo::write(dir.path()).expect("the demo");
    let (cancel, cache) = (AtomicBool::new(false), dir.path().join("cache"));
    let found = source::discover(&path).expect("a profile");
    let opening = Opening { cancel: &cancel, report: &|_| {}, cache: None };
    let store = source::open(&found[0], &opening).expect("it opens");
    let built = CauseIndex::build(&store, &cancel).expect("it has instructions");
    built.save(&store, &cache, &cancel).expect("it can be written");
    let file = std::fs::read_dir(&cache).expect("the cache").flatten().next().expect("a file").path();
    assert!(file.to_string_lossy().ends_with(".causes.arrow"), "{}", file.display());
    let whole = std::fs::read(&file).expect("it can be read");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("it can be cut");
    assert!(CauseIndex::load(&store, &cache).is_none(), "half of it");
    std::fs::write(&file, &whole).expect("it can be mended");
    assert!(CauseIndex::load(&store, &cache).is_some());
    assert_eq!(neuron_scope::store::cache::prune(&cache).expect("it can be listed").0, 0, "it is still true");
    let table = path.join("Instruction.parquet");
    let content = std::fs::read(&table).expect("instructions");
    std::fs::write(&table, &content[..content.len() - 1]).expect("it can be changed");
    let other = source::open(&found[0], &opening);
    assert!(other.map_or(true, |other| CauseIndex::load(&other, &cache).is_none()), "other files");
    assert_eq!(neuron_scope::store::cache::prune(&cache).expect("it can be listed").0, 1);
}
