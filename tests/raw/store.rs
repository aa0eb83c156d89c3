//! Raw captures as profiles: what a person opens, against the profile that the vendor's tool made of the same capture.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use neuron_scope::query::tracks::{Kind, leaves};
use neuron_scope::source::{self, Format, Found, Opening};
use neuron_scope::store::{ColumnKind, Counter, EventRef, EventTable, LabelKind, Measure, Problem, Store, flag};

use crate::corpus::captures;
use crate::sample::{program, trace};

/// Opens the only profile that a path holds.
pub fn open(path: &Path) -> Store {
    let found = source::discover(path).unwrap();
    assert_eq!(found.len(), 1, "{}", path.display());
    open_found(&found[0]).unwrap()
}

fn open_found(found: &Found) -> Result<Store, Problem> {
    let cancel = AtomicBool::new(false);
    source::open(found, &Opening { cancel: &cancel, report: &|_| {}, cache: None })
}

/// An event as both profiles have it: core, group, track, start, duration, name.
type Seen = (Option<i64>, String, String, i64, u64, String);

fn seen(table: &EventTable, e: u32) -> Seen {
    let group = &table.group_of(e).unwrap().key;
    let track = table.text(LabelKind::Track, e).to_owned();
    (
        group.core,
        group.name.clone(),
        track,
        table.start(e),
        table.lengths.at(e as usize),
        table.event_name(e).to_owned(),
    )
}

/// The events of a table within the measured execution, in order.
fn inside(store: &Store, table: &str) -> Vec<Seen> {
    let Some(table) = store.table(table) else { return vec![] };
    let within = |e: &u32| table.flags[*e as usize] & flag::OUTSIDE == 0;
    let mut found: Vec<Seen> = (0..table.len() as u32).filter(within).map(|e| seen(table, e)).collect();
    found.sort();
    found
}

/// What only the first and only the second list has.
fn difference(ours: &[Seen], vendor: &[Seen]) -> (Vec<Seen>, Vec<Seen>) {
    let mut counts: BTreeMap<&Seen, i64> = BTreeMap::new();
    ours.iter().for_each(|row| *counts.entry(row).or_default() += 1);
    vendor.iter().for_each(|row| *counts.entry(row).or_default() -= 1);
    let of = |sign: i64| counts.iter().filter(move |(_, n)| **n * sign > 0).map(|(row, _)| (*row).clone()).collect();
    (of(1), of(-1))
}

/// The recorded dependencies between instructions.
fn edges(store: &Store) -> BTreeSet<(Seen, Seen, String)> {
    let (table, graph) = (store.table("Instruction").unwrap(), store.graph.as_ref().unwrap());
    let mut found = BTreeSet::new();
    for e in (0..table.len() as u32).filter(|e| table.flags[*e as usize] & flag::OUTSIDE == 0) {
        let node = graph.node("Instruction", table.rows[e as usize]).unwrap();
        for (before, kind) in graph.predecessors(node) {
            let Some(("Instruction", row)) = graph.row(before) else { continue };
            let before = table.event_at_row(row).unwrap();
            found.insert((seen(table, before), seen(table, e), graph.kinds[usize::from(kind)].clone()));
        }
    }
    found
}

#[test]
fn a_capture_opens_to_the_profile_that_the_vendor_made_of_it() {
    for (name, _, ntff) in captures("v6") {
        let (ours, vendor) = (open(&ntff), open(&ntff.with_file_name("oracle.json")));
        assert_eq!(ours.problems, [], "{name}");
        assert_eq!(ours.range, vendor.range, "{name}");
        assert_eq!(ours.cores(), vendor.cores(), "{name}");

        let (more, missing) = difference(&inside(&ours, "Instruction"), &inside(&vendor, "Instruction"));
        // The one instruction that the vendor leaves out for no reason that the capture shows.
        let expected = if name == "v6_attention_baseline_fp32_s1024" { vec![8685] } else { vec![] };
        assert_eq!(more.iter().map(|row| row.3).collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(missing, [], "{name}");

        let (more, missing) = difference(&inside(&ours, "DmaPacket"), &inside(&vendor, "DmaPacket"));
        println!("{name}: {} packets more than the vendor", more.len());
        assert_eq!(missing, [], "{name}");
        assert!(more.len() <= 60, "{name}: {more:?}");

        let semaphores = |store: &Store| {
            let rows = inside(store, "SemaphoreUpdate").into_iter().filter(|row| !row.1.starts_with('E'));
            rows.map(|(core, group, _, start, ..)| (core, group, start)).collect::<Vec<_>>()
        };
        assert_eq!(semaphores(&ours), semaphores(&vendor), "{name}");
        let throttles = |store: &Store| {
            let rows = inside(store, "Throttle").into_iter();
            rows.map(|(core, group, _, start, ..)| (core, group, start)).collect::<Vec<_>>()
        };
        assert_eq!(throttles(&ours), throttles(&vendor), "{name}");

        let (own, theirs) = (edges(&ours), edges(&vendor));
        println!("{name}: {} of the vendor's {} edges", own.intersection(&theirs).count(), theirs.len());
        assert_eq!(theirs.difference(&own).next(), None, "{name}: an edge is missing");
        // Those of the instruction that the vendor leaves out are not among its edges.
        let mut more = own.difference(&theirs).filter(|edge| edge.0.3 != 8685 && edge.1.3 != 8685);
        assert_eq!(more.find(|edge| edge.2 != "DMA_TRIGGER"), None, "{name}: an edge is invented");

        // Every track that the vendor's profile has.
        let tracks =
            |store: &Store| leaves(store).into_iter().map(|(path, kind, _)| (path, kind)).collect::<BTreeMap<_, _>>();
        let own = tracks(&ours);
        for (path, kind) in tracks(&vendor) {
            assert_eq!(own.get(&path), Some(&kind), "{name}: {path}");
        }
        assert!(own.iter().any(|(path, kind)| path.contains("E[4]") && *kind == Kind::Instants), "{name}");
    }
}

#[test]
fn counters_agree_with_the_vendors() {
    // Means over the whole profile. The vendor samples throughput more coarsely and counts transfers as pending for ever;
    // those two are held against its rows one by one elsewhere.
    let mut worst: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, _, ntff) in captures("v6") {
        let (ours, vendor) = (open(&ntff), open(&ntff.with_file_name("oracle.json")));
        for counter in &vendor.counters {
            let own = ours.counters.iter().find(|c| c.key == counter.key);
            let own = own.unwrap_or_else(|| panic!("{name}: no counter {:?}", counter.key));
            let Some(table) = ["SbufUsage", "PsumUsage", "Throttle"].into_iter().find(|t| *t == counter.key.table)
            else {
                continue;
            };
            let mean = |c: &Counter| c.level(vendor.whole()).map_or(0.0, |level| level.mean);
            let (a, b) = (mean(own), mean(counter));
            let off = (a - b).abs() / b.abs().max(1e-9);
            assert!(off < 0.03, "{name}: {:?} is {a}, the vendor says {b}", counter.key);
            let worst = worst.entry(table).or_default();
            *worst = worst.max(off);
        }
    }
    worst.iter().for_each(|(table, off)| println!("{table} {:.3} % off at most", 100.0 * off));
}

/// A directory that holds the capture of the sample, with its program beside it.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new(version: u8) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("run.ntff"), trace(version).bytes()).unwrap();
        std::fs::write(folder.path().join("model.neff"), program(version)).unwrap();
        Folder(folder)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn text_of(store: &Store, table: &str, row: u32, column: &str) -> String {
    let fields = store.row(table, row).unwrap();
    fields.iter().find(|f| f.name == column).unwrap().value.to_json().to_string()
}

#[test]
fn each_version_opens_as_a_profile() {
    for version in 4..=6 {
        let folder = Folder::new(version);
        let store = open(&folder.at(""));
        assert_eq!((store.info.name.as_str(), store.info.format.as_str()), ("run", "ntff"));
        assert_eq!(store.problems, []);
        // Markers lie at the edges of the execution and are no part of it.
        assert_eq!(store.range, Some((2000, 9999)), "version {version}");
        let table = store.table("Instruction").unwrap();
        let outside = (0..table.len()).filter(|e| table.flags[*e] & flag::OUTSIDE != 0).count();
        assert_eq!((table.len(), outside), (5, 2));
        let tracks: Vec<String> = leaves(&store).into_iter().map(|(path, ..)| path).collect();
        for track in ["TensorMatrix", "Tensor", "Sync", "LostRecords"] {
            assert!(tracks.iter().any(|t| t == track), "{track} in {tracks:?}");
        }
        assert!(tracks.iter().any(|t| t.starts_with("Semaphores/S[34] (qSync")), "{tracks:?}");
        let transfers = store.table("DmaPacketAggregated").unwrap();
        assert_eq!((transfers.len(), transfers.event_name(0)), (1, "x"));
        let bytes = transfers.measure_index(Measure::Bytes).unwrap();
        assert_eq!(*transfers.measures[bytes].1.at(0), 32_772);

        // The transfer is known by its id, and so is what started it.
        let event = EventRef { table: store.table_index("DmaPacketAggregated").unwrap(), event: 0 };
        let id = store.id_of(event);
        assert_eq!(store.find_id(event.table, id), [event]);
        assert_eq!(text_of(&store, "DmaPacketAggregated", 0, "trigger"), "2");
        assert_eq!(text_of(&store, "DmaPacket", 0, "packet_aggregation_id"), id.to_string());
        assert_eq!(text_of(&store, "Instruction", 2, "operands").get(1..8), Some("S[34] ("));
        assert_eq!(text_of(&store, "Instruction", 2, "layer"), "\"layer_1/dot\"");
        for (column, value) in [
            ("kernel_instruction_name", "I-2:6"),
            ("kernel_call_stack", "kernel.main (/src/kernel.py:30) > tiles.multiply (/src/tiles.py:5)"),
            ("kernel_loops", "k=4"),
        ] {
            assert_eq!(text_of(&store, "Instruction", 2, column), format!("{value:?}"));
        }
        let written = |column: &str| text_of(&store, "KernelInstructions", 0, column);
        assert_eq!(["stack_frame_id", "stack_frame_depth"].map(written), ["2", "2"]);
        assert_eq!(["iteration_variables_id", "iteration_variable_depth"].map(written), ["1", "1"]);
        assert_eq!(["file_path", "line_number"].map(written), ["\"/src/tiles.py\"", "8"]);
        assert_eq!(text_of(&store, "KernelStackFrames", 1, "parent_stack_frame_id"), "1");
        assert_eq!(text_of(&store, "KernelIterationVariables", 0, "variable_value"), "4");
        assert_eq!(text_of(&store, "Metadata", 0, "ntff_version"), version.to_string());
        assert_eq!(text_of(&store, "NeffHeader", 0, "network_name"), "\"fixture.neff\"");
        // What is nobody else's business is nowhere.
        let all = store.tables.iter().flat_map(|t| (0..t.rows as u32).map(|row| store.row(&t.name, row).unwrap()));
        let all: Vec<_> = all.flatten().map(|field| field.value.to_json().to_string()).collect();
        assert!(!all.iter().any(|text| text.contains("i-secret") || text == "4242"));

        let graph = store.graph.as_ref().unwrap();
        assert_eq!(graph.tables, [("Instruction".into(), 5), ("DmaPacketAggregated".into(), 1)]);
        assert_eq!(graph.edges(), 3);
        let value = |table: &str, column: &str, time| {
            let counter = store.counters.iter().find(|c| c.key.table == table && c.key.column == column).unwrap();
            counter.value_at(time)
        };
        assert_eq!(value("PendingDma", "value", 3000), Some(1.0));
        assert_eq!(value("PsumUsage", "bank_0_util_percent", 9400), Some(100.0));
        assert_eq!(value("Throttle", "limit_percent", 60_000), Some(50.0));
        let semaphore = store.counters.iter().find(|c| c.key.table == "SemaphoreUpdate").unwrap();
        assert_eq!(
            [4_300, 4_350, 4_400].map(|t| semaphore.value_at(t)),
            [None, None, Some(20.0)],
            "unknown after a loss"
        );
    }
}

#[test]
fn what_never_ended_is_named() {
    let folder = Folder::new(6);
    let mut hung = trace(6);
    hung.cores[0].instructions.pop();
    std::fs::write(folder.at("run.ntff"), hung.bytes()).unwrap();
    let store = open(&folder.at("run.ntff"));
    let said = store.records("Warning").unwrap().rows.iter().filter_map(|row| row[0].text()).collect::<Vec<_>>();
    let hung = said.iter().find(|text| text.contains("had not ended")).unwrap();
    assert!(hung.contains("nc0: an instruction") && hung.contains("NOTIFY on Tensor since 89998 ns"), "{hung}");
    assert!(said.iter().any(|text| text.contains("records were lost in one place")), "{said:?}");
}

#[test]
fn a_cached_capture_answers_as_one_that_was_read() {
    let folder = Folder::new(6);
    let (found, cache) = (source::discover(&folder.at("")).unwrap().remove(0), folder.at("cache"));
    let cancel = AtomicBool::new(false);
    let read = || source::open(&found, &Opening { cancel: &cancel, report: &|_| {}, cache: Some(&cache) }).unwrap();
    let fresh = read();
    assert!(fresh.save_cache(&cache, &cancel).unwrap().is_some());
    let cached = read();
    assert!(cached.cached, "the cache was not used");
    assert_eq!((cached.range, &cached.tables, &cached.records), (fresh.range, &fresh.tables, &fresh.records));
    for table in ["Instruction", "DmaPacket", "SemaphoreUpdate"] {
        assert_eq!(inside(&cached, table), inside(&fresh, table));
    }
    assert_eq!(edges(&cached), edges(&fresh));
    let event = EventRef { table: 0, event: 1 };
    assert_eq!(cached.details(event), fresh.details(event));
    assert_eq!(cached.id_of(event), fresh.id_of(event));
    assert_eq!(neuron_scope::store::cache::prune(&cache).unwrap().0, 0, "it is true still");
    // Another program means other names.
    std::fs::write(folder.at("model.neff"), program(5)).unwrap();
    assert!(!read().cached);
    assert_eq!(neuron_scope::store::cache::prune(&cache).unwrap().0, 1);
}

#[test]
fn the_program_can_lie_elsewhere_or_be_missing() {
    let (folder, other) = (Folder::new(6), tempfile::tempdir().unwrap());
    let elsewhere = other.path().join("elsewhere.neff");
    std::fs::rename(folder.at("model.neff"), &elsewhere).unwrap();
    let found = source::discover(&folder.at("run.ntff")).unwrap();
    assert_eq!((found[0].format, &found[0].neff), (Format::Raw, &None));
    let store = open_found(&found[0]).unwrap();
    let warning = store.fact("Warning", "message").and_then(|d| d.text()).unwrap();
    assert!(warning.contains("fixture.neff") && warning.contains("--neff"), "{warning}");
    assert_eq!(store.table("Instruction").unwrap().len(), 5);

    let given = source::with_program(found, &elsewhere).unwrap();
    let store = open_found(&given[0]).unwrap();
    assert_eq!(text_of(&store, "Instruction", 2, "hlo_name"), "\"dot.1\"");
    // A program that cannot be read costs what it would have told.
    std::fs::write(&elsewhere, b"not a program").unwrap();
    let store = open_found(&given[0]).unwrap();
    assert_eq!(store.problems.len(), 1);
    assert_eq!(store.problems[0].path, elsewhere);
    assert_eq!(store.table("Instruction").unwrap().len(), 5);
    let none = source::with_program(Vec::new(), &elsewhere).unwrap_err();
    assert!(none.message.contains(".ntff"), "{}", none.message);
}

#[test]
fn damage_is_said_with_the_file_and_what_to_do() {
    let folder = Folder::new(6);
    let whole = std::fs::read(folder.at("run.ntff")).unwrap();
    let mut other_version = whole.clone();
    other_version[0] = 7;
    let cases: [(&[u8], &str, &str); 4] = [
        (b"", "empty", "capture again"),
        (&whole[..100], "ends after 100", "copy it again"),
        (&whole[..200], "metadata", "copy it again"),
        (&other_version, "version 7", "neuron-explorer view"),
    ];
    for (bytes, what, remedy) in cases {
        std::fs::write(folder.at("run.ntff"), bytes).unwrap();
        let found = source::discover(&folder.at("run.ntff")).unwrap();
        let problem = open_found(&found[0]).err().unwrap();
        assert_eq!(problem.path, folder.at("run.ntff"));
        assert!(problem.message.contains(what) && problem.message.contains(remedy), "{}", problem.message);
    }
    std::fs::write(folder.at("run.ntff"), &whole[..whole.len() - 40]).unwrap();
    let store = open(&folder.at(""));
    assert!(store.problems.iter().any(|p| p.message.contains("cut off")), "{:?}", store.problems);
    let neff = source::discover(&folder.at("model.neff")).unwrap_err();
    assert!(neff.message.contains("info"), "{}", neff.message);
}

#[test]
fn tables_follow_the_published_schema() {
    let corpus = std::env::var_os("NEURON_SCOPE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from);
    let Ok(text) = std::fs::read(corpus.join("../formats/parquet-schema.json")) else {
        return println!("skipped: the schema is not there");
    };
    let schema: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let folder = Folder::new(6);
    let store = open(&folder.at(""));
    let mut compared = 0;
    for table in &store.tables {
        let Some(wanted) = schema["tables"][&table.name].as_array() else { continue };
        let columns = store.columns(&table.name).unwrap();
        for (column, wanted) in columns.iter().zip(wanted) {
            let kind = match wanted[1].as_str().unwrap() {
                "string" => ColumnKind::Text,
                "float" | "double" => ColumnKind::Float,
                "boolean" => ColumnKind::Bool,
                _ => ColumnKind::Integer,
            };
            assert_eq!((column.name.as_str(), column.kind), (wanted[0].as_str().unwrap(), kind), "{}", table.name);
        }
        assert!(columns.len() >= wanted.len(), "{}", table.name);
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}

#[test]
fn tables_have_the_columns_of_a_processed_profile() {
    let folder = Folder::new(6);
    let store = open(&folder.at(""));
    let demo = tempfile::tempdir().unwrap();
    let processed = open(&neuron_scope::demo::write(demo.path()).unwrap());
    let names = |store: &Store, table: &str| -> Vec<String> {
        store.columns(table).unwrap().into_iter().map(|column| column.name).collect()
    };
    let mut compared = 0;
    for table in &store.tables {
        let (own, wanted) = (names(&store, &table.name), names(&processed, &table.name));
        if !wanted.is_empty() {
            let missing: Vec<_> = wanted.iter().filter(|column| !own.contains(column)).collect();
            assert_eq!(missing, [""; 0], "{}", table.name);
            compared += 1;
        }
    }
    assert!(compared >= 15, "{compared}");
}
