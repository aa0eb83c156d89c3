//! Several captures of one run on one time axis.

use std::collections::BTreeSet;

use neuron_scope::query::tracks::{TrackCache, TrackOptions, tree as tree_of};
use neuron_scope::source::{Found, Opening, discover, merged, open};
use neuron_scope::store::Store;

use crate::writer::Trace;
use crate::{Tree, neff, sample};

/// A trace of the sample program whose execution is so many picoseconds later.
fn later(by: u64) -> Trace {
    let mut trace = sample::trace(6);
    let shift = |record: &mut [u8; 16]| {
        let time = u64::from_le_bytes(record[8..].try_into().unwrap()) + by;
        record[8..].copy_from_slice(&time.to_le_bytes());
    };
    let core = &mut trace.cores[0];
    for records in [&mut core.instructions, &mut core.sync, &mut core.dma, &mut core.throttle] {
        records.iter_mut().for_each(shift);
    }
    trace.execution = trace.execution.map(|(start, end)| (start + by, end + by));
    trace
}

fn tree(second: &Trace) -> Tree {
    Tree::new()
        .with("run_rank_0.ntff", sample::trace(6).bytes())
        .with("run_rank_1.ntff", second.bytes())
        .with("run.neff", neff(6, 7))
}

fn open_found(found: &Found) -> Store {
    open(found, &Opening { cancel: &false.into(), report: &|_| {}, cache: None }).unwrap()
}

fn both(tree: &Tree) -> Store {
    open_found(&merged(discover(tree.path()).unwrap(), tree.path()).unwrap())
}

/// Core, start, length, name and flags of each event of a table, by core and start.
fn rows(store: &Store, table: &str) -> Vec<(i64, i64, u64, String, u8)> {
    let table = store.table(table).unwrap();
    let row = |e: usize| {
        let core = table.group_of(e as u32).and_then(|group| group.key.core).unwrap();
        let name = table.event_name(e as u32).to_owned();
        (core, table.starts.at(e), table.lengths.at(e), name, table.flags[e])
    };
    let mut rows: Vec<_> = (0..table.len()).map(row).collect();
    rows.sort();
    rows
}

fn warnings(store: &Store) -> String {
    let Some(records) = store.records("Warning") else { return String::new() };
    (0..records.rows.len()).filter_map(|row| records.get(row, "message")?.text()).collect::<Vec<_>>().join("\n")
}

#[test]
fn cores_of_one_device_keep_their_distance() {
    const BY_NS: i64 = 7_000;
    let tree = tree(&later(BY_NS as u64 * 1000));
    let alone: Vec<Store> = discover(tree.path()).unwrap().iter().map(open_found).collect();
    let store = both(&tree);
    for table in ["Instruction", "DmaPacket", "DmaPacketAggregated", "SemaphoreUpdate", "Throttle"] {
        let mut expected = rows(&alone[0], table);
        let moved = rows(&alone[1], table).into_iter();
        expected.extend(moved.map(|(core, start, length, name, flags)| (core + 1, start + BY_NS, length, name, flags)));
        expected.sort();
        assert_eq!(rows(&store, table), expected, "{table}");
    }
    let graph = |store: &Store| store.graph.as_ref().unwrap().edges();
    assert_eq!(graph(&store), graph(&alone[0]) + graph(&alone[1]));
    assert_eq!(store.cores(), 2);
    assert_eq!(alone[0].range, Some((2000, 9999)));
    assert_eq!(store.range, Some((2000, 9999 + BY_NS)));
    assert!(warnings(&store).contains("nc1 is of run_rank_1.ntff, placed by the clock"), "{}", warnings(&store));
}

#[test]
fn what_an_event_of_any_of_them_says_is_its_own() {
    let tree = tree(&later(7_000_000));
    let (alone, store) = (open_found(&discover(tree.path()).unwrap()[1]), both(&tree));
    let fields = |store: &Store, core: i64| {
        let table = store.table_index("DmaPacketAggregated").unwrap();
        let events = &store.events[usize::from(table)];
        let event = (0..events.len() as u32).find(|e| events.group_of(*e).unwrap().key.core == Some(core)).unwrap();
        let details = store.details(neuron_scope::store::EventRef { table, event }).unwrap();
        let kept = ["variable", "queue_name", "transfer_size", "source", "dest", "packet_count"];
        details.into_iter().filter(|f| kept.contains(&f.name.as_str())).map(|f| (f.name, f.value)).collect::<Vec<_>>()
    };
    assert_eq!(fields(&store, 1), fields(&alone, 0));
    assert!(fields(&store, 1).iter().any(|(name, value)| name == "variable" && value.to_json() == "x"));
}

#[test]
fn each_core_says_which_capture_it_is_of() {
    let tree = tree(&later(7_000_000));
    let store = both(&tree);
    let tracks = tree_of(&store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
    let labels: Vec<String> = tracks.nodes.into_iter().filter(|n| n.parent.is_none()).map(|n| n.full).collect();
    assert_eq!(labels[..2], ["nc0 rank 0", "nc1 rank 1"]);
    let field = |store: &Store, row: u32, column: &str| {
        let fields = store.row("Instruction", row).unwrap();
        fields.into_iter().find(|field| field.name == column).map(|field| field.value.to_json())
    };
    // Rows of the second one come after the five of the first; ids that both programs use are told apart.
    for (row, capture, id) in [(2, "rank 0", "sg0000:20"), (7, "rank 1", "sg0001:20")] {
        assert_eq!(field(&store, row, "capture").unwrap(), capture);
        assert_eq!(field(&store, row, "bir_id").unwrap(), id);
    }
    assert_eq!(store.records("MergedCaptures").unwrap().rows.len(), 2);
    let columns = |store: &Store| store.columns("DmaPacket").unwrap().iter().any(|column| column.name == "capture");
    let alone = open_found(&discover(tree.path()).unwrap()[0]);
    assert_eq!((columns(&store), columns(&alone), field(&alone, 2, "capture")), (true, false, None));
}

#[test]
fn executions_of_one_core_are_not_laid_over_each_other() {
    let far = later(u64::pow(10, 13));
    let tree = Tree::new()
        .with("run_rank_0_exec_2.ntff", sample::trace(6).bytes())
        .with("run_rank_0_exec_3.ntff", far.bytes())
        .with("run_rank_1_exec_2.ntff", sample::trace(6).bytes())
        .with("run.neff", neff(6, 7));
    let store = both(&tree);
    assert_eq!(store.cores(), 2);
    let left: Vec<_> = store.problems.iter().map(|p| (p.path.file_name().unwrap(), p.message.as_str())).collect();
    assert_eq!(left[0].0, "run_rank_0_exec_3.ntff");
    assert!(left.len() == 1 && left[0].1.contains("left out"), "{left:?}");
    // One after another on a clock that is known, both are there.
    std::fs::write(tree.at("run_rank_0_exec_3.ntff"), later(100_000_000).bytes()).unwrap();
    let store = both(&tree);
    assert_eq!((store.cores(), store.problems.len()), (3, 0));
}

#[test]
fn captures_of_different_programs_are_said_to_be() {
    let mut other = later(7_000_000);
    other.neff_name = "other.neff";
    assert!(warnings(&both(&tree(&other))).contains("different programs: fixture.neff, other.neff"));
    assert!(!warnings(&both(&tree(&later(7_000_000)))).contains("different programs"));
}

#[test]
fn what_was_merged_is_cached_until_any_of_its_files_changes() {
    let (tree, cache) = (tree(&later(7_000_000)), Tree::new());
    let found = merged(discover(tree.path()).unwrap(), tree.path()).unwrap();
    let cancel = false.into();
    let read =
        |found: &Found| open(found, &Opening { cancel: &cancel, report: &|_| {}, cache: Some(cache.path()) }).unwrap();
    let fresh = read(&found);
    assert!(fresh.save_cache(cache.path(), &cancel).unwrap().is_some());
    // The first one alone is another profile, and has a cache of its own.
    let alone = read(&discover(tree.path()).unwrap()[0]);
    assert!(alone.save_cache(cache.path(), &cancel).unwrap().is_some());
    let cached = read(&found);
    assert!(cached.cached, "the cache was not used");
    assert!(read(&discover(tree.path()).unwrap()[0]).cached);
    for table in ["Instruction", "DmaPacket", "SemaphoreUpdate"] {
        assert_eq!(rows(&cached, table), rows(&fresh, table));
    }
    assert_eq!((&cached.records, &cached.tables), (&fresh.records, &fresh.tables));
    assert_eq!(cached.row("Instruction", 7).unwrap(), fresh.row("Instruction", 7).unwrap());
    assert_eq!(cached.columns("Instruction").unwrap(), fresh.columns("Instruction").unwrap());
    assert_eq!(neuron_scope::store::cache::prune(cache.path()).unwrap().0, 0, "both are true");
    std::fs::write(tree.at("run_rank_1.ntff"), later(8_000_000).bytes()).unwrap();
    assert!(!read(&found).cached);
    assert_eq!(neuron_scope::store::cache::prune(cache.path()).unwrap().0, 1, "only that of both");
}

#[test]
fn other_clocks_are_made_to_start_together_and_that_is_said() {
    let mut far = later(u64::pow(10, 13));
    let store = both(&tree(&far));
    assert_eq!(store.range, Some((2000, 9999)), "ten seconds apart is no one run");
    assert!(warnings(&store).contains("say nothing"), "{}", warnings(&store));
    far = later(7_000_000);
    far.instance_id = "i-other";
    let store = both(&tree(&far));
    assert_eq!(store.range, Some((2000, 9999)));
    assert!(warnings(&store).contains("say nothing"), "{}", warnings(&store));
}

#[test]
fn one_that_cannot_be_read_costs_only_itself() {
    let tree = tree(&later(0)).with("run_rank_2.ntff", &sample::trace(6).bytes()[..300]);
    let store = both(&tree);
    assert_eq!(store.cores(), 2);
    assert!(store.problems.iter().any(|p| p.path.ends_with("run_rank_2.ntff")), "{:?}", store.problems);
}

#[test]
fn there_must_be_several() {
    let tree = Tree::new().with("a.ntff", sample::trace(6).bytes());
    let error = merged(discover(tree.path()).unwrap(), tree.path()).unwrap_err();
    assert!(error.message.contains("only raw capture"), "{}", error.message);
    assert!(merged(vec![], tree.path()).is_err());
}

#[test]
fn the_command_line_merges() {
    let home = Tree::new();
    let tree = tree(&later(7_000_000));
    let output = crate::run(home.path(), &["info", tree.path().to_str().unwrap(), "--merge", "--json"], None);
    let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let profiles = info["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 1);
    assert_eq!(profiles[0]["name"], "run / rank 0 and 1 more");
    assert_eq!(profiles[0]["tables"]["Instruction"], 10);
}
