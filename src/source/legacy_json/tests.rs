//! Small files with everything that can be odd about them.

mod damage;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use super::{Opening, open};
use crate::model::{Engine, Value, Window};
use crate::source::OpenEvent;
use crate::store::{Datum, EventRef, LabelKind, Measure, Problem, Store, flag};

struct Fixture {
    directory: tempfile::TempDir,
    path: PathBuf,
}

fn fixture(name: &str, bytes: &[u8]) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    Fixture { directory, path }
}

fn read(fixture: &Fixture) -> Result<Store, Problem> {
    let opening = Opening { cancel: &AtomicBool::new(false), report: &|_| (), cache: None };
    open(&fixture.path, &opening)
}

/// The profile of some JSON, and the file that keeps its rows readable.
fn store(json: &str) -> (Store, Fixture) {
    let fixture = fixture("p.json", json.as_bytes());
    (read(&fixture).unwrap(), fixture)
}

fn failure(name: &str, bytes: &[u8]) -> String {
    read(&fixture(name, bytes)).err().map(|p| p.message).unwrap_or_default()
}

fn messages(store: &Store) -> Vec<&str> {
    store.problems.iter().map(|p| p.message.as_str()).collect()
}

const INSTRUCTIONS: &str = r#"[
    {"id":9223372036854775807,"timestamp":100,"duration":50,"subgraph":"sg00","subgroup":"Tensor","label":"TensorMatrix",
     "opcode":"MATMUL","instruction_type":"REGULAR","elements":64,"layer":"Unknown","hlo_name":"dot.1","pc":7,
     "operands":"S[5] (Tensor)++@complete","predecessors":[]},
    {"id":18446744073709551615,"timestamp":"150","duration":"20","subgraph":"sg01","subgroup":"Vector","label":"Vector",
     "opcode":"EVENT_SEMAPHORE","layer":"layer_1",
     "predecessors":[{"id":9223372036854775807,"type":"FLOW_DEPENDENCE"},{"id":4242,"type":"ORDERED"}]},
    {"id":5,"timestamp":90.75,"duration":1e1,"subgraph":"sg00","subgroup":"Tensor","label":"TensorMatrix",
     "opcode":"MATMUL","instruction_type":"TRANSPOSE","elements":"32",
     "predecessors":[{"type":"FLOW_DEPENDENCE","id":"77"},18446744073709551615]},
    {"id":6,"duration":3,"subgraph":"sg00","subgroup":"Sync","opcode":"DMA_DIRECT2D","timestamp":NaN}
]"#;

const DMA: &str = r#"[
    {"id":77,"timestamp":10,"duration":5,"subgraph":"sg00","dma_engine":"64","dma_queue":"2","subgroup":"Q2-E64",
     "queue_type":"hardware_dynamic","transfer_size":4096,"read_size":4096,"write_size":4096,"packet_aggregation_id":900},
    {"id":78,"timestamp":12,"duration":8,"subgraph":"sg00","dma_engine":65,"dma_queue":2,"subgroup":"Q2-E65",
     "queue_type":"hardware_dynamic","transfer_size":"1000","read_size":1000,"write_size":1000,"packet_aggregation_id":900},
    {"id":79,"timestamp":1,"duration":1,"subgraph":"sg01","dma_engine":"80","dma_queue":"14","subgroup":"Q14-E80",
     "queue_type":"instruction","transfer_size":8,"packet_aggregation_id":901}
]"#;

fn profile() -> String {
    format!(
        r#"{{"dma":{DMA},"instruction":{INSTRUCTIONS},
        "dma_queues_info":[{{"q_name":"qSyncDynamicHW","q_idx":2,"q_eng_idx":79,"subgraph":"sg00","q_type":"weights"}}],
        "semaphore_update":[
            {{"id":"S[5] (Tensor)","timestamp":30,"value":2,"subgraph":"sg00"}},{{"id":"S[5] (Tensor)","timestamp":20,"value":1,"subgraph":"sg00"}},
            {{"id":"9","timestamp":25,"value":-1,"subgraph":"sg01"}}],
        "ham":[{{"timestamp":40,"duration":10,"k":4,"n":8,"type":1,"subgraph":"sg00"}}],
        "instruction_usage":[
            {{"type":"sb","timestamp":5,"subgraph":"sg00","usage_avg":0.25,"partition_0_usage":0.5}},
            {{"type":"psum","timestamp":5,"subgraph":"sg00","usage_avg":0.125,"bank_3_usage":1}}],
        "dma_throughput":[{{"timestamp":3,"transfer_rate":1e9,"total_transfer_bytes":4096,"hbm_transfer_rate":0,
            "hbm_total_transfer_bytes":0,"uses_hbm":"false","subgraph":"sg00"}}],
        "pending_dma":[{{"timestamp":4,"value":12,"subgraph":"sg00"}}],
        "active_time":[{{"start_ts":100,"end_ts":150,"engine":"tensor","pcore_idx":0,"duration_ns":50,"subgraph":"sg00"}}],
        "warnings":[{{"message":"m","category":"c"}}],
        "metadata":{{"pe_clock_freq":2.4,"pe_num_rows":128,"first_ts":"2025-12-18T15:35:56.000001Z",
            "first_hw_timestamp":1000,"num_physical_cores":2,"data_version":8}},
        "summary":[{{"mfu_estimated_percent":0.05,"instance_type":"trn2.3xlarge","nd_idx":0}}],
        "neff_header":[{{"header_size":"1024","number_of_neuroncores_per_lnc":"2"}}],
        "neff_node":[{{"variable_name":"k_ref","size":"262144","sg_name":"sg01","node":""}}],
        "cc_ops":[{{"timestamp":60,"duration":5,"name":"AllReduce","subgraph":"sg00"}}],
        "notes":[{{"text":"x"}}],"odd":3,"version":"1"}}"#
    )
}

#[test]
fn every_list_becomes_its_table() {
    let (store, _file) = store(&profile());
    let mut tables: Vec<(&str, u64)> = store.tables.iter().map(|t| (t.name.as_str(), t.rows)).collect();
    tables.sort_unstable();
    assert_eq!(
        tables,
        [
            ("ActiveTime", 1),
            ("DmaPacket", 3),
            ("DmaPacketAggregated", 2),
            ("DmaQueuesInfo", 1),
            ("DmaUsage", 1),
            ("Instruction", 4),
            ("Metadata", 1),
            ("NeffHeader", 1),
            ("PendingDma", 1),
            ("PsumUsage", 1),
            ("SbufUsage", 1),
            ("SemaphoreUpdate", 3),
            ("Summary", 1),
            ("TensorInfo", 1),
            ("Throttle", 1),
            ("Warning", 1),
            ("cc_ops", 1),
            ("notes", 1),
        ]
    );
    assert_eq!(store.range, Some((1, 170)));
    assert_eq!(store.info.origin_unix_ns, Some(1_766_072_156_000_000_000));
    assert_eq!((store.info.name.as_str(), store.info.format.as_str()), ("p", "json"));
    let fact = |table: &str, column: &str| store.fact(table, column).cloned();
    assert_eq!(fact("Metadata", "tensor_engine_clock_freq"), Some(Datum::Float(2.4)));
    assert_eq!(fact("Metadata", "tensor_engine_num_rows"), Some(Datum::Int(128)));
    assert_eq!(fact("Metadata", "instance_type"), Some(Datum::Text("trn2.3xlarge".into())));
    assert_eq!(fact("Metadata", "neuron_device_idx"), Some(Datum::Int(0)));
    assert_eq!(fact("Metadata", "data_version"), Some(Datum::Int(8)));
    assert_eq!(fact("Summary", "mfu_estimated_percent"), Some(Datum::Float(0.05)));
    assert_eq!(fact("NeffHeader", "header_size"), Some(Datum::Int(1024)));
    assert_eq!(fact("NeffHeader", "pcore_count_per_lnc"), Some(Datum::Int(2)));
    assert_eq!(fact("TensorInfo", "size"), Some(Datum::Int(262_144)));
    assert_eq!(fact("TensorInfo", "pcore_idx"), Some(Datum::Int(1)));
    assert_eq!(fact("TensorInfo", "node"), Some(Datum::Null));
    assert_eq!(fact("Warning", "category"), Some(Datum::Text("c".into())));
    let graph = store.graph.as_ref().unwrap();
    assert_eq!(graph.edges(), 3);
    assert_eq!(
        messages(&store),
        [
            "1 row of `instruction` left out: no start time",
            "1 predecessor left out: no instruction and no transfer has that id",
        ]
    );
}

#[test]
fn instructions_have_engines_tracks_classes_and_flops() {
    let (store, _file) = store(&profile());
    let table = store.table("Instruction").unwrap();
    let groups: Vec<_> = table.groups.iter().map(|g| (g.key.core, g.key.engine, g.key.name.as_str())).collect();
    assert_eq!(groups, [(Some(0), Some(Engine::Tensor), "Tensor"), (Some(1), Some(Engine::Vector), "Vector")]);
    let spans: Vec<_> = (0..3).map(|e| (table.start(e), table.end(e), table.rows[e as usize])).collect();
    assert_eq!(spans, [(90, 100, 2), (100, 150, 0), (150, 170, 1)]);
    let flags: Vec<u8> = table.flags.to_vec();
    assert_eq!(flags, [flag::TRANSPOSE, 0, flag::WAIT | flag::SEQUENCER]);
    assert_eq!(table.text(LabelKind::Track, 0), "TensorMatrix");
    assert_eq!(table.text(LabelKind::Track, 2), "Vector");
    let operators: Vec<_> = (0..3).map(|e| table.text(LabelKind::Operator, e)).collect();
    assert_eq!(operators, ["", "dot.1", "layer_1"]);
    assert!(table.label(LabelKind::SourceLine).is_none());
    let lane = table.groups[0].sequence.of(table);
    let sum = |measure| lane.sum(table.measure_index(measure).unwrap(), Window::new(0, 1000));
    assert_eq!((sum(Measure::HardwareFlops), sum(Measure::TransposeFlops)), (192.0, 64.0));
    // Ids of all 64 bits, and the events that have them.
    let event = |event| EventRef { table: store.table_index("Instruction").unwrap(), event };
    assert_eq!(store.id_of(event(1)), 9_223_372_036_854_775_807);
    assert_eq!(store.id_of(event(2)), 18_446_744_073_709_551_615);
    assert_eq!(store.find_id(0, 18_446_744_073_709_551_615), [event(2)]);
    assert!(store.find_id(0, 6).is_empty(), "has no times and is no event");
}

#[test]
fn dependencies_lead_to_instructions_and_packets() {
    let (store, _file) = store(&profile());
    let graph = store.graph.as_ref().unwrap();
    let before = |row: u32| -> Vec<(String, u32, String)> {
        let node = graph.node("Instruction", row).unwrap();
        let found = graph.predecessors(node).map(|(node, kind)| (graph.row(node).unwrap(), kind));
        found.map(|((table, row), kind)| (table.to_string(), row, graph.kinds[usize::from(kind)].clone())).collect()
    };
    assert_eq!(before(1), [("Instruction".to_string(), 0, "FLOW_DEPENDENCE".to_string())]);
    // A packet, and a bare id without a kind.
    assert_eq!(
        before(2),
        [("DmaPacket".to_string(), 0, "FLOW_DEPENDENCE".to_string()), ("Instruction".to_string(), 1, String::new()),]
    );
    assert!(before(0).is_empty());
}

#[test]
fn packets_have_queues_and_add_up_to_transfers() {
    let (store, _file) = store(&profile());
    let packets = store.table("DmaPacket").unwrap();
    let groups: Vec<_> = packets.groups.iter().map(|g| (g.key.core, g.key.name.as_str())).collect();
    assert_eq!(groups, [(Some(0), "DMA-E64"), (Some(0), "DMA-E65"), (Some(1), "DMA-E80")]);
    let names: Vec<_> = (0..3).map(|e| (packets.event_name(e), packets.text(LabelKind::Queue, e))).collect();
    assert_eq!(
        names,
        [("qSyncDynamicHW", "qSyncDynamicHW-Q2-E64"), ("qSyncDynamicHW", "qSyncDynamicHW-Q2-E65"), ("Q14", "Q14-E80")]
    );
    let whole = store.table("DmaPacketAggregated").unwrap();
    let groups: Vec<_> = whole.groups.iter().map(|g| (g.key.core, g.key.name.as_str())).collect();
    assert_eq!(groups, [(Some(0), "qSyncDynamicHW"), (Some(1), "Q14")]);
    assert_eq!((whole.start(0), whole.end(0)), (10, 20));
    let sum = whole.groups[0].sequence.of(whole).sum(0, Window::new(0, 100));
    assert_eq!(sum, 5096.0);
    let index = store.table_index("DmaPacketAggregated").unwrap();
    assert_eq!(store.find_id(index, 900), [EventRef { table: index, event: 0 }]);
    let fields = store.row("DmaPacketAggregated", 0).unwrap();
    let field = |name: &str| fields.iter().find(|f| f.name == name).map(|f| f.value.clone());
    assert_eq!(field("transfer_bytes"), Some(Value::Int(5096)));
    assert_eq!(field("queue_name"), Some(Value::Text("qSyncDynamicHW".into())));
    assert_eq!(field("packets"), Some(Value::Int(2)));
}

#[test]
fn counters_have_the_units_of_the_schema() {
    let (store, _file) = store(&profile());
    let value = |table: &str, column: &str, core, time| {
        let counter =
            store.counters.iter().find(|c| c.key.table == table && c.key.column == column && c.key.core == core);
        counter.unwrap_or_else(|| panic!("no {table} {column}")).value_at(time)
    };
    assert_eq!(value("SbufUsage", "avg_util_percent", Some(0), 5), Some(25.0));
    assert_eq!(value("SbufUsage", "partition_0_util_percent", Some(0), 5), Some(50.0));
    assert_eq!(value("PsumUsage", "bank_3_util_percent", Some(0), 9), Some(100.0));
    assert_eq!(value("DmaUsage", "current_throughput", Some(0), 3), Some(1e9));
    assert_eq!(value("DmaUsage", "total_transfer_bytes", Some(0), 2), None);
    assert_eq!(value("PendingDma", "value", Some(0), 4), Some(12.0));
    let limit: Vec<_> = [1, 39, 40, 49, 50].map(|t| value("Throttle", "limit_percent", Some(0), t)).to_vec();
    assert_eq!(limit, [100.0, 100.0, 50.0, 50.0, 100.0].map(Some));
    // Sorted by time.
    assert_eq!(value("SemaphoreUpdate", "S[5] (Tensor)", Some(0), 25), Some(1.0));
    assert_eq!(value("SemaphoreUpdate", "S[5] (Tensor)", Some(0), 30), Some(2.0));
    assert_eq!(value("SemaphoreUpdate", "S[9]", Some(1), 30), Some(-1.0));
    let updates = store.table("SemaphoreUpdate").unwrap();
    assert!(updates.flags.iter().all(|f| f & flag::INSTANT != 0));
    assert_eq!(updates.groups[0].key.name, "S[5] (Tensor)");
    assert!(store.counters.iter().all(|c| c.key.table != "HbmUsage"), "no HBM traffic was recorded, which is not none");
    assert_eq!(store.table("Throttle").unwrap().event_name(0), "activity_1");
    assert_eq!(store.table("cc_ops").unwrap().event_name(0), "AllReduce");
    assert!(store.table("ActiveTime").is_none(), "instructions tell more");
}

#[test]
fn rows_are_read_again_with_all_their_columns() {
    let (store, _file) = store(&profile());
    let fields = store.row("Instruction", 0).unwrap();
    let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "start_ts",
            "end_ts",
            "duration_ns",
            "engine",
            "timeline_track",
            "pcore_idx",
            "opcode",
            "operands",
            "id",
            "pc",
            "hlo_name",
            "layer",
            "tensor_instruction_type",
            "tensor_elements",
            "predecessors"
        ]
    );
    let packet = store.row("DmaPacket", 1).unwrap();
    let field = |name: &str| packet.iter().find(|f| f.name == name).map(|f| f.value.clone());
    assert_eq!(field("queue_name"), Some(Value::Text("qSyncDynamicHW-Q2-E65".into())));
    assert_eq!(field("transfer_bytes"), Some(Value::Int(1000)));
    assert_eq!(field("end_ts"), Some(Value::Int(20)));
    let limit = store.row("Throttle", 0).unwrap();
    assert!(limit.iter().any(|f| f.name == "type" && f.value == Value::Text("activity_1".into())));
    let usage = store.row("SbufUsage", 0).unwrap();
    assert!(usage.iter().any(|f| f.name == "avg_util_percent" && f.value == Value::Float(25.0)));
    assert_eq!(store.row("notes", 0).unwrap().len(), 1);
    assert!(store.row("Instruction", 4).is_err() && store.row("Nothing", 0).is_err());
}

#[test]
fn a_row_that_is_longer_than_one_read_is_read_whole() {
    let long = "x".repeat(100_000);
    let (store, _file) = store(&format!(r#"{{"instruction":[{{"timestamp":1,"duration":1,"operands":"{long}"}}]}}"#));
    let fields = store.row("Instruction", 0).unwrap();
    assert!(fields.iter().any(|f| f.name == "operands" && f.value == Value::Text(long.clone())));
}

#[test]
fn subgraphs_of_one_core_share_its_tracks() {
    let row = |subgraph: &str, time: u32| {
        format!(r#"{{"timestamp":{time},"duration":1,"subgraph":"{subgraph}","subgroup":"Vector","opcode":"COPY"}}"#)
    };
    let rows = [row("sg00", 1), row("sg01", 5)].join(",");
    let (one, _file) = store(&format!(r#"{{"instruction":[{rows}],"metadata":[{{"num_physical_cores":1}}]}}"#));
    let groups = &one.table("Instruction").unwrap().groups;
    assert_eq!(groups.iter().map(|g| g.key.core).collect::<Vec<_>>(), [Some(0)]);
    let (two, _file) = store(&format!(r#"{{"instruction":[{rows}]}}"#));
    let groups = &two.table("Instruction").unwrap().groups;
    assert_eq!(groups.iter().map(|g| g.key.core).collect::<Vec<_>>(), [Some(0), Some(1)]);
}

#[test]
fn picoseconds_are_divided_only_if_the_metadata_show_them() {
    let file = |last_ts: &str, last: u64, ticks: u32| {
        format!(
            r#"{{"instruction":[{{"timestamp":5000,"duration":100500,"opcode":"A"}}],
            "semaphore_update":[{{"id":"1","timestamp":7999,"value":1}}],
            "metadata":[{{"first_ts":"1970-01-01T00:00:00Z","last_ts":"{last_ts}","first_hw_timestamp":0,
            "last_hw_timestamp":{last},"ticks_per_nanosec":{ticks}}}]}}"#
        )
    };
    let (picos, _file) = store(&file("1970-01-01T00:00:00.000000106Z", 106_000, 1000));
    let table = picos.table("Instruction").unwrap();
    assert_eq!((table.start(0), table.end(0)), (5, 105));
    assert_eq!(picos.table("SemaphoreUpdate").unwrap().start(0), 7);
    assert_eq!(picos.row("Instruction", 0).unwrap()[1].value, Value::Int(105));
    let (nanos, _file) = store(&file("1970-01-01T00:00:00.000106Z", 106_000, 1000));
    assert_eq!(nanos.table("Instruction").unwrap().end(0), 105_500);
    assert_eq!(nanos.info.origin_unix_ns, None, "1970 stands for not knowing");
}

#[test]
fn opening_reports_progress_and_can_be_stopped() {
    let row = r#"{"timestamp":1,"duration":1,"opcode":"COPY","operands":"0123456789012345678901234567890123456789"}"#;
    let json = format!(r#"{{"instruction":[{}]}}"#, vec![row; 100_000].join(","));
    let file = fixture("p.json", json.as_bytes());
    let seen = Mutex::new(Vec::new());
    let report = |event| {
        if let OpenEvent::Progress(progress) = event {
            seen.lock().unwrap().push(progress);
        }
    };
    let cancel = AtomicBool::new(false);
    open(&file.path, &Opening { cancel: &cancel, report: &report, cache: None }).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() >= 4);
    assert!(seen.windows(2).all(|w| w[0].done <= w[1].done && w[0].total == json.len() as u64));

    let report = |_| cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let stopped = open(&file.path, &Opening { cancel: &cancel, report: &report, cache: None });
    assert_eq!(stopped.err().unwrap().message, "opening was cancelled");
}
