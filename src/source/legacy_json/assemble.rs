//! From what was read to the indexed profile.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::dma::Queues;
use super::events::IdColumn;
use super::gather::Gathered;
use super::input::Input;
use super::read::count;
use super::rows::{JsonRows, Source};
use super::samples::{counter, limit_over_time};
use super::schema::{self, core_of};
use crate::model::{Engine, clock};
use crate::store::{Builder, CounterKey, Datum, Graph, GroupKey, ProfileInfo, ProfileKind, Records, Store, TableInfo};

/// What goes from one of the single-row lists into `Metadata`, where the schema has it.
const INTO_METADATA: &[(&str, &str, &str)] = &[
    ("Summary", "instance_type", "instance_type"),
    ("Summary", "runtime_version", "runtime_version"),
    ("Summary", "collectives_version", "collectives_version"),
    ("Summary", "driver_version", "driver_version"),
    ("Summary", "profiler_version", "explorer_version"),
    ("Summary", "compiler_version", "compiler_version"),
    ("Summary", "nc_idx", "neuroncore_idx"),
    ("Summary", "nd_idx", "neuron_device_idx"),
    ("Summary", "ultraserver_id", "ultraserver_id"),
    ("Summary", "ultraserver_type", "ultraserver_type"),
    ("Summary", "ultraserver_size", "ultraserver_size"),
    ("Summary", "ultraserver_instance_index", "ultraserver_instance_index"),
    ("Summary", "s3_bucket_path", "s3_bucket_path"),
    ("profile_info", "profile_name", "profile_name"),
    ("profile_info", "profiler_build_time", "explorer_build_time"),
    ("profile_info", "profiler_version", "explorer_version"),
];

/// What the small tables say about all the others.
struct Facts {
    records: Vec<Records>,
    queues: Queues,
    /// See [`unit`].
    unit: i64,
    /// Least start and greatest end of instructions and packets, in the file's unit.
    range: Option<(i64, i64)>,
}

impl Facts {
    /// Takes them from what was read.
    fn of(gathered: &Gathered) -> Facts {
        let records = records(gathered);
        let find = |name: &str| records.iter().find(|r| r.name == name);
        let range = [gathered.instructions.rows.range(), gathered.packets.rows.range()].into_iter().flatten();
        let range = range.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (unit, queues) = (unit(find("Metadata"), range), Queues::new(find("DmaQueuesInfo")));
        Facts { records, queues, unit, range }
    }
}

/// Builds the profile. `damaged` are the rows of each list that were reported already.
pub fn assemble(gathered: &Gathered, input: &Input, problems: &[String], damaged: &BTreeMap<String, u64>) -> Store {
    let facts = Facts::of(gathered);
    let rows = rows(gathered, input, &facts);
    let Facts { records, queues, unit, range } = facts;
    let metadata = records.iter().find(|r| r.name == "Metadata");
    let numbers: Vec<Option<i64>> = gathered.subgraphs.entries().iter().map(|name| core_of(name)).collect();
    let number = |subgraph: u32| numbers.get(subgraph as usize).copied().flatten();
    let one_core = metadata.and_then(|m| m.get(0, "num_physical_cores")?.integer()) == Some(1);
    // Subgraphs of a single core ran on that core.
    let core = |subgraph: u32| number(subgraph).map(|n| if one_core { 0 } else { n });

    let mut builder = Builder::new(info(input, metadata, unit));
    for message in problems {
        builder.problem(&input.path, message.clone());
    }
    // Rows by table, and how many of them have no times.
    let mut timeless: Vec<(&str, u64)> = Vec::new();
    let (graph, dangling) = graph(gathered);
    let graph_has = |table: &str| graph.as_ref().is_some_and(|g| g.tables.iter().any(|(name, _)| name == table));
    if gathered.instructions.rows.any() {
        builder.events(gathered.instructions.table(unit, core));
    }
    timeless.push(("instruction", gathered.instructions.rows.timeless));
    if gathered.packets.rows.any() {
        builder.events(gathered.packets.table(unit, &queues, core, number, graph_has("DmaPacket")));
    }
    timeless.push(("dma", gathered.packets.rows.timeless));
    if !gathered.packets.transfers.is_empty() {
        builder.events(gathered.packets.transfers(unit, &queues, core, number));
        builder
            .tables
            .push(TableInfo { name: "DmaPacketAggregated".into(), rows: gathered.packets.transfers.len() as u64 });
    }
    let named = |core, name: &str| GroupKey { core, engine: None, name: name.to_string() };
    if gathered.semaphores.rows.any() {
        builder.events(gathered.semaphores.table("SemaphoreUpdate", unit, |subgraph, id| {
            let name = semaphore_name(id);
            (named(core(subgraph), &name), name)
        }));
    }
    timeless.push(("semaphore_update", gathered.semaphores.rows.timeless));
    if gathered.throttle.rows.any() {
        builder.events(gathered.throttle.table("Throttle", unit, |subgraph, kind| {
            let kind = if kind.parse::<u32>().is_ok() { format!("activity_{kind}") } else { kind.to_string() };
            (named(core(subgraph), format!("Throttle {kind}").trim_end()), kind)
        }));
    }
    timeless.push(("ham", gathered.throttle.rows.timeless));
    if gathered.active.rows.any() && !gathered.instructions.rows.any() {
        builder.events(gathered.active.table("ActiveTime", unit, |subgraph, engine| {
            let known = Engine::parse(engine);
            let name = known.map_or_else(|| engine.to_string(), |e| e.name().to_string());
            (GroupKey { core: core(subgraph), engine: known, name: name.clone() }, name)
        }));
    }
    for other in gathered.others.iter().filter(|other| other.events.rows.any()) {
        let name = &gathered.listed[other.listed].name;
        builder.events(other.events.table(name, unit, |subgraph, text| {
            let group = if text.is_empty() { name } else { text };
            (named(core(subgraph), group), group.to_string())
        }));
    }
    for (list, rows) in timeless {
        let rows = rows.saturating_sub(damaged.get(list).copied().unwrap_or(0));
        if rows > 0 {
            builder.problem(&input.path, format!("{} of `{list}` left out: no start time", count(rows, "row")));
        }
    }
    if dangling > 0 {
        builder.problem(
            &input.path,
            format!("{} left out: no instruction and no transfer has that id", count(dangling, "predecessor")),
        );
    }
    builder.graph = graph;
    // Where no HBM traffic was seen at all, it was not recorded: zeros would say that there was none.
    let hbm = gathered.uses_hbm || !gathered.samples.all_zero("HbmUsage");
    builder.counters = gathered.samples.counters(
        unit,
        |table| hbm || table != "HbmUsage",
        core,
        |table, column| match table {
            "SemaphoreUpdate" => (semaphore_name(column), 1.0),
            "SbufUsage" | "PsumUsage" => (column.to_string(), 100.0),
            _ => (column.to_string(), 1.0),
        },
    );
    add_limits(&mut builder, gathered, unit, core, range);
    for listed in &gathered.listed {
        builder.tables.push(TableInfo { name: listed.name.clone(), rows: listed.offsets.len() as u64 });
        if listed.name == "DmaUsage" && hbm {
            builder.tables.push(TableInfo { name: "HbmUsage".into(), rows: listed.offsets.len() as u64 });
        }
    }
    builder.records = records;
    builder.finish(Arc::new(rows))
}

fn add_limits(
    builder: &mut Builder,
    gathered: &Gathered,
    unit: i64,
    core: impl Fn(u32) -> Option<i64>,
    range: Option<(i64, i64)>,
) {
    let mut by_core: BTreeMap<Option<i64>, Vec<_>> = BTreeMap::new();
    for limit in &gathered.limits {
        by_core.entry(core(limit.subgraph)).or_default().push(*limit);
    }
    let from = range.map_or(0, |(start, _)| start.div_euclid(unit));
    for (core, limits) in by_core {
        let key = CounterKey { table: "Throttle".into(), column: "limit_percent".into(), core };
        builder.counters.push(counter(key, limit_over_time(&limits, from, unit)));
    }
}

/// The schema writes `S[34] (qSyncDynamicHW)`, as the file does where a semaphore has a name; without one the file has
/// only the number.
fn semaphore_name(id: &str) -> String {
    match id.parse::<u32>() {
        Ok(number) => format!("S[{number}]"),
        Err(_) => id.to_string(),
    }
}

/// The small tables, with what the schema keeps in `Metadata` put there.
fn records(gathered: &Gathered) -> Vec<Records> {
    let mut records = gathered.records();
    records.sort_by(|a, b| a.name.cmp(&b.name));
    let mut more: Vec<(&str, Datum)> = Vec::new();
    for &(table, column, name) in INTO_METADATA {
        let found = records.iter().find(|r| r.name == table).and_then(|r| r.get(0, column));
        if let Some(datum) = found.filter(|d| !matches!(d, Datum::Null))
            && more.iter().all(|(known, _)| *known != name)
        {
            more.push((name, datum.clone()));
        }
    }
    if more.is_empty() {
        return records;
    }
    if records.iter().all(|r| r.name != "Metadata") {
        records.push(Records { name: "Metadata".into(), columns: Vec::new(), rows: vec![Vec::new()] });
    }
    for metadata in records.iter_mut().filter(|r| r.name == "Metadata") {
        for (name, datum) in &more {
            if metadata.columns.iter().any(|column| column == name) {
                continue;
            }
            metadata.columns.push((*name).to_string());
            for row in &mut metadata.rows {
                row.push(datum.clone());
            }
        }
    }
    records
}

/// How many of the file's time units a nanosecond has: 1, or 1,000 where the file is in picoseconds.
///
/// That is so only if the metadata say it: the stretch from `first_ts` to `last_ts`, which are points in time and so have
/// a unit, is a thousandth of the stretch from `first_hw_timestamp` to `last_hw_timestamp`, and the events reach as far as
/// the latter. (`ticks_per_nanosec` is 1,000 in files that are in nanoseconds, too, and says nothing.)
fn unit(metadata: Option<&Records>, range: Option<(i64, i64)>) -> i64 {
    let Some(metadata) = metadata else { return 1 };
    let time = |column: &str| metadata.get(0, column).and_then(|d| clock::unix_nanos(d.text()?));
    let ticks = |column: &str| metadata.get(0, column).and_then(Datum::integer);
    let real = time("last_ts").zip(time("first_ts")).map(|(b, a)| i128::from(b) - i128::from(a));
    let counted =
        ticks("last_hw_timestamp").zip(ticks("first_hw_timestamp")).map(|(b, a)| i128::from(b) - i128::from(a));
    let events = range.map(|(a, b)| i128::from(b) - i128::from(a));
    match (real, counted, events) {
        (Some(real @ 1..), Some(counted), Some(events))
            if (counted - real * 1000).abs() <= real * 10 && events > real * 30 =>
        {
            1000
        }
        _ => 1,
    }
}

fn info(input: &Input, metadata: Option<&Records>, unit: i64) -> ProfileInfo {
    let get = |column: &str| metadata.and_then(|m| m.get(0, column));
    // A point in time within the first year of the epoch is no point in time but a stand-in for one.
    let first =
        get("first_ts").and_then(|d| clock::unix_nanos(d.text()?)).filter(|t| *t > 365 * 86_400 * 1_000_000_000);
    let ticks = get("first_hw_timestamp").and_then(Datum::integer);
    let name = input.path.file_name().map_or_else(|| "profile".into(), |n| n.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let name = name.strip_suffix(".json").unwrap_or(name).to_string();
    ProfileInfo {
        name,
        path: input.path.clone(),
        kind: ProfileKind::Device,
        format: crate::source::Format::LegacyJson.name().into(),
        origin_unix_ns: first.zip(ticks).and_then(|(first, ticks)| first.checked_sub(ticks.div_euclid(unit))),
    }
}

/// The dependency graph, and how many predecessors name nothing that is in the file.
fn graph(gathered: &Gathered) -> (Option<Graph>, u64) {
    let instructions = &gathered.instructions;
    if instructions.edges.is_empty() {
        return (None, 0);
    }
    let rows_of = |ids: &[i64]| -> FxHashMap<i64, u32> {
        // Where ids repeat, the first row counts.
        ids.iter().enumerate().rev().map(|(row, &id)| (id, row as u32)).collect()
    };
    let transfer_ids: Vec<i64> = gathered.packets.transfers.iter().map(|t| t.id).collect();
    let by_instruction = rows_of(&instructions.ids.bits);
    let elsewhere = instructions.edges.iter().any(|edge| !by_instruction.contains_key(&edge.from));
    let by_transfer = if elsewhere { rows_of(&transfer_ids) } else { FxHashMap::default() };
    let by_packet = if elsewhere { rows_of(&gathered.packets.ids.bits) } else { FxHashMap::default() };
    let (count, transfers) = (instructions.rows.len() as u32, transfer_ids.len() as u32);
    let (mut from, mut to, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut dangling, mut packets) = (0, false);
    for edge in &instructions.edges {
        let node = by_instruction
            .get(&edge.from)
            .copied()
            .or_else(|| Some(by_transfer.get(&edge.from)? + count))
            .or_else(|| Some(by_packet.get(&edge.from)? + count + transfers));
        let Some(node) = node else {
            dangling += 1;
            continue;
        };
        packets |= node >= count + transfers;
        from.push(node);
        to.push(edge.to);
        kinds.push(edge.kind);
    }
    let mut tables = vec![("Instruction".to_string(), count), ("DmaPacketAggregated".to_string(), transfers)];
    if packets {
        tables.push(("DmaPacket".to_string(), gathered.packets.rows.len() as u32));
    }
    (Some(Graph::build(tables, instructions.kinds.clone(), &from, &to, &kinds)), dangling)
}

/// The rows of what was read.
fn rows(gathered: &Gathered, input: &Input, facts: &Facts) -> JsonRows {
    let mut tables = FxHashMap::default();
    for listed in &gathered.listed {
        let source = Source { columns: listed.columns, offsets: Arc::new(listed.offsets.clone()) };
        if listed.name == "DmaUsage" {
            let shared = Source { columns: schema::HBM_USAGE, offsets: source.offsets.clone() };
            tables.insert("HbmUsage".to_string(), shared);
        }
        tables.insert(listed.name.clone(), source);
    }
    let packets = &gathered.packets;
    let number = |subgraph: u32| core_of(gathered.subgraphs.get(subgraph));
    let transfers = packets.transfer_fields(facts.unit, &facts.queues, number);
    let bits = packets.transfers.iter().map(|t| t.id).collect();
    let of_transfers = IdColumn { bits, any: true, unsigned: packets.ids.unsigned };
    let ids = [
        ("Instruction", gathered.instructions.ids.clone()),
        ("DmaPacket", packets.ids.clone()),
        ("DmaPacketAggregated", of_transfers),
    ];
    JsonRows {
        input: input.clone(),
        tables,
        transfers,
        ids: ids.into_iter().collect(),
        queues: facts.queues.clone(),
        unit: facts.unit,
    }
}
