//! The seven full profiles that neuron-profile 2.28 wrote, against what an ordinary JSON parser finds in them and
//! against their own summaries.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use neuron_scope::model::{Engine, Value, Window};
use neuron_scope::source::Opening;
use neuron_scope::source::legacy_json::{Kind, open, sniff_file};
use neuron_scope::store::{EventRef, EventTable, LabelKind, Measure, Store};
use serde_json::Value as Json;

struct Oracle {
    name: String,
    path: PathBuf,
    json: Json,
    store: Store,
}

impl Oracle {
    fn rows(&self, list: &str) -> &[Json] {
        self.json[list].as_array().map_or(&[], Vec::as_slice)
    }

    fn table(&self, name: &str) -> &EventTable {
        self.store.table(name).unwrap_or_else(|| panic!("{} has no {name}", self.name))
    }
}

fn oracles() -> Vec<Oracle> {
    let Some(root) = super::corpus::corpus("neuron") else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path().join("oracle.json")).collect();
    paths.retain(|p| p.is_file());
    paths.sort();
    assert_eq!(paths.len(), 7);
    let read = |path: PathBuf| {
        let opening = Opening { cancel: &AtomicBool::new(false), report: &|_| (), cache: None };
        let store = open(&path, &opening).unwrap();
        let json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let name = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        Oracle { name, path, json, store }
    };
    paths.into_iter().map(read).collect()
}

fn text<'a>(row: &'a Json, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("{key} of {row}"))
}

fn int(row: &Json, key: &str) -> i64 {
    row[key].as_i64().unwrap_or_else(|| panic!("{key} of {row}"))
}

fn core(row: &Json) -> i64 {
    text(row, "subgraph")[2..].parse().unwrap()
}

/// `S[34] (qSyncDynamicHW)`, or `S[34]` where the file has only the number.
fn semaphore(row: &Json) -> String {
    let id = text(row, "id");
    if id.starts_with("S[") { id.to_string() } else { format!("S[{id}]") }
}

/// Length of the union of intervals.
fn union(mut spans: Vec<(i64, i64)>) -> i64 {
    spans.sort_unstable();
    let (mut total, mut reached) = (0, i64::MIN);
    for (start, end) in spans {
        total += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    total
}

fn count<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    keys.fold(BTreeMap::new(), |mut counts, key| {
        *counts.entry(key).or_default() += 1;
        counts
    })
}

#[test]
fn nothing_is_wrong_with_them_and_all_rows_are_there() {
    for oracle in oracles() {
        assert_eq!(sniff_file(&oracle.path), Some(Kind::FullProfile));
        assert_eq!(oracle.store.problems, [], "{}", oracle.name);
        let usage = |kind: &str| oracle.rows("instruction_usage").iter().filter(|r| text(r, "type") == kind).count();
        let list = |key: &str| oracle.rows(key).len();
        let expected = [
            ("Instruction", list("instruction")),
            ("DmaPacket", list("dma")),
            ("SbufUsage", usage("sb")),
            ("PsumUsage", usage("psum")),
            ("SemaphoreUpdate", list("semaphore_update")),
            ("DmaUsage", list("dma_throughput")),
            ("PendingDma", list("pending_dma")),
            ("Throttle", list("ham")),
            ("ActiveTime", list("active_time")),
            ("DmaQueuesInfo", list("dma_queues_info")),
            ("TensorInfo", list("neff_node")),
            ("NeffHeader", 1),
            ("Metadata", 1),
            ("Summary", 1),
            ("Warning", 3),
            ("layer_summary", list("layer_summary")),
            ("nc_mem_usage", list("nc_mem_usage")),
        ];
        for (name, rows) in expected {
            let found = oracle.store.tables.iter().find(|t| t.name == name).map(|t| t.rows);
            assert_eq!(found, Some(rows as u64), "{name} of {}", oracle.name);
        }
        for records in &oracle.store.records {
            let listed = oracle.store.tables.iter().find(|t| t.name == records.name).unwrap();
            assert_eq!(records.rows.len() as u64, listed.rows, "{} of {}", records.name, oracle.name);
        }
    }
}

#[test]
fn tracks_hold_as_many_events_as_the_lists() {
    for oracle in oracles() {
        let table = oracle.table("Instruction");
        let tracks = table.label(LabelKind::Track).unwrap();
        let of_group = |g: &neuron_scope::store::Group| {
            let core = g.key.core.unwrap();
            let first = g.sequence.first_event();
            (first..first + g.sequence.len() as u32).map(move |e| (core, tracks.at(e as usize).clone()))
        };
        let found = count(table.groups.iter().flat_map(of_group));
        let expected = count(oracle.rows("instruction").iter().map(|r| (core(r), text(r, "label").to_string())));
        assert_eq!(found, expected, "{}", oracle.name);

        let groups = |name: &str| -> BTreeMap<(i64, String), usize> {
            let groups = oracle.table(name).groups.iter();
            groups.map(|g| ((g.key.core.unwrap(), g.key.name.clone()), g.sequence.len())).collect()
        };
        let engines = oracle.rows("dma").iter().map(|r| (core(r), format!("DMA-E{}", text(r, "dma_engine"))));
        assert_eq!(groups("DmaPacket"), count(engines), "{}", oracle.name);
        let semaphores = oracle.rows("semaphore_update").iter().map(|r| (core(r), semaphore(r)));
        assert_eq!(groups("SemaphoreUpdate"), count(semaphores), "{}", oracle.name);
    }
}

#[test]
fn queues_have_their_names_and_transfers_their_bytes() {
    for oracle in oracles() {
        let table = oracle.table("DmaPacketAggregated");
        let names = count(table.groups.iter().map(|g| (g.key.core, g.key.name.clone())));
        let unnamed = names.keys().filter(|(_, name)| !name.starts_with('q')).collect::<Vec<_>>();
        let unknown = |core| (Some(core), "Q14".to_string());
        assert_eq!(unnamed, [&unknown(0), &unknown(1)], "only instruction fetch has no name: {}", oracle.name);

        let mut expected: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
        for row in oracle.rows("dma") {
            let (start, end) = (int(row, "timestamp"), int(row, "timestamp") + int(row, "duration"));
            let transfer = expected.entry(int(row, "packet_aggregation_id")).or_insert((start, end, 0));
            *transfer = (transfer.0.min(start), transfer.1.max(end), transfer.2 + int(row, "transfer_size"));
        }
        assert_eq!(table.len(), expected.len());
        let index = oracle.store.table_index("DmaPacketAggregated").unwrap();
        for (id, (start, end, bytes)) in expected {
            let [found] = oracle.store.find_id(index, id.into())[..] else { panic!("{id} is not one transfer") };
            assert_eq!((table.start(found.event), table.end(found.event)), (start, end));
            assert_eq!(*table.measures[0].1.at(found.event as usize), bytes as u64);
        }
    }
}

#[test]
fn active_and_busy_times_are_those_of_the_summary() {
    for oracle in oracles() {
        let table = oracle.table("Instruction");
        let whole = oracle.store.whole();
        for engine in Engine::ALL {
            let key = engine.name().to_lowercase();
            let mut both_cores = Vec::new();
            let mut instruction_time = 0;
            for group in table.groups.iter().filter(|g| g.key.engine == Some(engine)) {
                let span = |r: &&Json| (int(r, "timestamp"), int(r, "timestamp") + int(r, "duration"));
                let mine = || {
                    let rows = oracle.rows("instruction").iter();
                    rows.filter(|r| text(r, "subgroup") == engine.name() && Some(core(r)) == group.key.core)
                };
                let busy: Vec<_> = mine().map(|r| span(&r)).collect();
                let working = mine().filter(|r| text(r, "opcode") != "EVENT_SEMAPHORE");
                let active: Vec<_> = working.map(|r| span(&r)).collect();
                let lane = group.sequence.of(table);
                assert_eq!(lane.busy(whole) as i64, union(busy), "{} {key}", oracle.name);
                assert_eq!(lane.active(whole) as i64, union(active), "{} {key}", oracle.name);
                // What the lane holds, united over the cores as the vendor does.
                let first = group.sequence.first_event();
                for e in (first..first + group.sequence.len() as u32).filter(|&e| table.is_work(e)) {
                    both_cores.push((table.start(e), table.end(e)));
                    instruction_time += table.end(e) - table.start(e);
                }
            }
            // The vendor adds up picoseconds, the rows are whole nanoseconds: up to one less per row.
            let summary = |metric: &str| {
                let seconds = oracle.store.number("Summary", &format!("{key}_engine_{metric}")).unwrap();
                (seconds * 1e9).round() as i64
            };
            let rows = both_cores.len() as i64;
            let short = summary("active_time") - union(both_cores);
            assert!((0..=rows).contains(&short), "{} {key}: {short} ns of active time missing", oracle.name);
            let short = summary("instruction_time") - instruction_time;
            assert!((0..=rows).contains(&short), "{} {key}: {short} ns of instruction time missing", oracle.name);
        }
        let packets = oracle.table("DmaPacket");
        let spans = (0..packets.len() as u32).map(|e| (packets.start(e), packets.end(e))).collect();
        let seconds = oracle.store.number("Summary", "dma_active_time").unwrap();
        let short = (seconds * 1e9).round() as i64 - union(spans);
        assert!((0..=packets.len() as i64).contains(&short), "{}: {short} ns of DMA time missing", oracle.name);
    }
}

#[test]
fn flops_and_bytes_are_those_of_the_summary() {
    for oracle in oracles() {
        let table = oracle.table("Instruction");
        let window = Window::new(i64::MIN, i64::MAX);
        let sum = |table: &EventTable, measure: Measure| -> f64 {
            let index = table.measure_index(measure).unwrap();
            table.groups.iter().map(|g| g.sequence.of(table).sum(index, window)).sum()
        };
        let summary = |metric: &str| oracle.store.number("Summary", metric).unwrap();
        assert_eq!(sum(table, Measure::HardwareFlops), summary("hardware_flops"), "{}", oracle.name);
        assert_eq!(sum(table, Measure::TransposeFlops), summary("transpose_flops"), "{}", oracle.name);
        let bytes = ["static_dma_size", "hardware_dynamic_dma_size", "software_dynamic_dma_size"];
        let bytes: f64 = bytes.iter().map(|m| summary(m)).sum();
        assert_eq!(sum(oracle.table("DmaPacket"), Measure::Bytes), bytes, "{}", oracle.name);
        assert_eq!(sum(oracle.table("DmaPacketAggregated"), Measure::Bytes), bytes, "{}", oracle.name);
    }
}

#[test]
fn predecessors_and_ids_are_those_of_the_file() {
    for oracle in oracles() {
        let graph = oracle.store.graph.as_ref().unwrap();
        let index = oracle.store.table_index("Instruction").unwrap();
        let table = oracle.table("Instruction");
        let mut edges = 0;
        for (row, json) in (0u32..).zip(oracle.rows("instruction")) {
            let [event] = oracle.store.find_id(index, int(json, "id").into())[..] else { panic!("id of row {row}") };
            assert_eq!(table.rows[event.event as usize], row);
            assert_eq!(table.start(event.event), int(json, "timestamp"));
            let found: Vec<(i128, String)> = graph
                .predecessors(graph.node("Instruction", row).unwrap())
                .map(|(node, kind)| {
                    let (name, row) = graph.row(node).unwrap();
                    assert_eq!(name, "Instruction");
                    let event = table.event_at_row(row).unwrap();
                    (oracle.store.id_of(EventRef { table: index, event }), graph.kinds[usize::from(kind)].clone())
                })
                .collect();
            let declared = json["predecessors"].as_array().map_or(&[][..], Vec::as_slice);
            let expected: Vec<(i128, String)> =
                declared.iter().map(|p| (int(p, "id").into(), text(p, "type").to_string())).collect();
            assert_eq!(found, expected, "{} row {row}", oracle.name);
            edges += found.len();
        }
        assert_eq!(graph.edges(), edges);
    }
}

#[test]
fn counters_hold_the_samples_of_the_file() {
    for oracle in oracles() {
        let value = |table: &str, column: &str, core: i64, time: i64| {
            let counters = oracle.store.counters.iter();
            let mut counters = counters.filter(|c| c.key.table == table && c.key.core == Some(core));
            let counter = counters.find(|c| c.key.column == column);
            counter.unwrap_or_else(|| panic!("{table} {column} {core}")).value_at(time).unwrap()
        };
        for row in oracle.rows("dma_throughput") {
            let found = value("DmaUsage", "total_transfer_bytes", core(row), int(row, "timestamp"));
            assert_eq!(found, int(row, "total_transfer_bytes") as f64);
        }
        for row in oracle.rows("semaphore_update") {
            assert_eq!(
                value("SemaphoreUpdate", &semaphore(row), core(row), int(row, "timestamp")),
                int(row, "value") as f64
            );
        }
        let psum = || oracle.rows("instruction_usage").iter().filter(|r| text(r, "type") == "psum");
        let samples = count(psum().map(|r| (core(r), int(r, "timestamp"))));
        // Of two samples at one time there is no telling which the tool meant.
        for row in psum().filter(|r| samples[&(core(r), int(r, "timestamp"))] == 1) {
            let found = value("PsumUsage", "bank_7_util_percent", core(row), int(row, "timestamp"));
            assert_eq!(found, 100.0 * row["bank_7_usage"].as_f64().unwrap());
        }
        let counters = &oracle.store.counters;
        let limit = counters.iter().find(|c| c.key.table == "Throttle").unwrap();
        for row in oracle.rows("ham") {
            let (start, middle) = (int(row, "timestamp"), int(row, "timestamp") + int(row, "duration") / 2);
            let expected = 100.0 * int(row, "k") as f64 / int(row, "n") as f64;
            assert_eq!((limit.value_at(start), limit.value_at(middle)), (Some(expected), Some(expected)));
        }
        assert!(counters.iter().all(|c| c.key.table != "HbmUsage"), "these recorded no HBM traffic");
    }
}

#[test]
fn every_row_can_be_read_again() {
    for oracle in oracles() {
        for (list, table) in
            [("instruction", "Instruction"), ("dma", "DmaPacket"), ("semaphore_update", "SemaphoreUpdate")]
        {
            for (row, json) in (0u32..).zip(oracle.rows(list)) {
                let fields = oracle.store.row(table, row).unwrap();
                let field = |name: &str| fields.iter().find(|f| f.name == name).map(|f| &f.value);
                let start = field("start_ts").or(field("timestamp"));
                assert_eq!(start, Some(&Value::Int(int(json, "timestamp"))));
                assert_eq!(field("pcore_idx"), Some(&Value::Int(core(json))));
                if list != "semaphore_update" {
                    assert_eq!(field("id"), Some(&Value::Int(int(json, "id"))));
                    assert!(fields.len() >= json.as_object().unwrap().len());
                }
            }
        }
    }
}
