//! The big parts of a store as columns: event tables, counters and the graph.

use std::io::Write;
use std::sync::Arc;

use arrow::error::ArrowError;
use serde::{Deserialize, Serialize};

use super::archive::{Reader, Writer};
use crate::model::Engine;
use crate::store::column::{Coded, Keys, Labels, Lengths, Times};
use crate::store::counter::Numbers;
use crate::store::derived::Derived;
use crate::store::events::{EventTable, Group, GroupKey, LabelKind, Measure};
use crate::store::graph::{Adjacency, Graph};
use crate::store::max_tree::MaxTree;
use crate::store::sequence::{Picks, Sequence, Union};
use crate::store::sorted::BlockTimes;
use crate::store::{Counter, CounterKey, Store};

/// What is needed besides the columns to put the parts together.
#[derive(Serialize, Deserialize)]
pub struct Shape {
    tables: Vec<TableShape>,
    counters: Vec<CounterKey>,
    graph: Option<GraphShape>,
    parts: Vec<PartsShape>,
    derived: Vec<DerivedShape>,
}

/// Derived parts of a group of the table at a position.
#[derive(Serialize, Deserialize)]
struct PartsShape {
    key: String,
    table: u16,
    parts: Vec<(String, SequenceShape)>,
}

/// A derived counter.
#[derive(Serialize, Deserialize)]
struct DerivedShape {
    key: String,
    counter: CounterKey,
    width: u64,
}

/// Which events a sequence holds: neighbours from the first on, or (without a first) a list.
#[derive(Serialize, Deserialize)]
struct SequenceShape {
    first: Option<u32>,
    count: u32,
    waits: bool,
}

#[derive(Serialize, Deserialize)]
struct GraphShape {
    tables: Vec<(String, u32)>,
    kinds: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct TableShape {
    name: String,
    labels: Vec<String>,
    measures: Vec<String>,
    groups: Vec<GroupShape>,
}

#[derive(Serialize, Deserialize)]
struct GroupShape {
    core: Option<i64>,
    engine: Option<String>,
    name: String,
    events: SequenceShape,
}

/// The big parts.
pub struct Parts {
    pub events: Vec<EventTable>,
    pub counters: Vec<Counter>,
    pub graph: Option<Graph>,
    pub derived: Derived,
}

type Written = Result<(), ArrowError>;

/// Writes the parts; `None` when `go_on` said no.
pub fn write<W: Write>(
    store: &Store,
    out: &mut Writer<W>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Shape>, ArrowError> {
    let mut shape =
        Shape { tables: Vec::new(), counters: Vec::new(), graph: None, parts: Vec::new(), derived: Vec::new() };
    for (index, table) in store.events.iter().enumerate() {
        if !go_on() {
            return Ok(None);
        }
        shape.tables.push(write_table(table, &format!("t{index}"), out)?);
    }
    for (index, counter) in store.counters.iter().enumerate() {
        if !go_on() {
            return Ok(None);
        }
        write_counter(counter, &format!("c{index}"), out)?;
        shape.counters.push(counter.key.clone());
    }
    for (index, (key, table, parts)) in store.derived.all_parts().into_iter().enumerate() {
        if !go_on() {
            return Ok(None);
        }
        let mut shapes = Vec::new();
        for (part, (name, sequence)) in parts.iter().enumerate() {
            shapes.push((name.clone(), write_sequence(sequence, &format!("d{index}.{part}"), out)?));
        }
        shape.parts.push(PartsShape { key, table, parts: shapes });
    }
    for (index, (key, counter, width)) in store.derived.all_counters().into_iter().enumerate() {
        write_counter(&counter, &format!("dc{index}"), out)?;
        shape.derived.push(DerivedShape { key, counter: counter.key.clone(), width });
    }
    if let Some(graph) = &store.graph {
        for (name, side) in [("successors", &graph.successors), ("predecessors", &graph.predecessors)] {
            if !go_on() {
                return Ok(None);
            }
            out.u32s(&format!("{name}.offsets"), &side.offsets)?;
            out.u32s(&format!("{name}.targets"), &side.targets)?;
            out.u8s(&format!("{name}.kinds"), &side.kinds)?;
        }
        shape.graph = Some(GraphShape { tables: graph.tables.clone(), kinds: graph.kinds.clone() });
    }
    Ok(Some(shape))
}

fn write_table<W: Write>(table: &EventTable, at: &str, out: &mut Writer<W>) -> Result<TableShape, ArrowError> {
    write_times(&table.starts, &format!("{at}.starts"), out)?;
    match &table.lengths {
        Lengths::Narrow(v) => out.u32s(&format!("{at}.lengths"), v)?,
        Lengths::Wide(v) => out.u64s(&format!("{at}.lengths"), v)?,
    }
    out.u8s(&format!("{at}.flags"), &table.flags)?;
    out.u32s(&format!("{at}.rows"), &table.rows)?;
    if let Some(map) = &table.event_of_row {
        out.u32s(&format!("{at}.event_of_row"), map)?;
    }
    for (kind, labels) in &table.labels {
        let name = format!("{at}.label.{}", kind.name());
        write_keys(&labels.keys, &format!("{name}.keys"), out)?;
        out.texts(&format!("{name}.entries"), &labels.entries)?;
    }
    for (measure, values) in &table.measures {
        let name = format!("{at}.measure.{}", measure.name());
        write_keys(&values.keys, &format!("{name}.keys"), out)?;
        out.u64s(&format!("{name}.entries"), &values.entries.clone().into())?;
    }
    let mut groups = Vec::new();
    for (index, group) in table.groups.iter().enumerate() {
        let events = write_sequence(&group.sequence, &format!("{at}.g{index}"), out)?;
        groups.push(GroupShape {
            core: group.key.core,
            engine: group.key.engine.map(|e| e.name().to_string()),
            name: group.key.name.clone(),
            events,
        });
    }
    Ok(TableShape {
        name: table.name.clone(),
        labels: table.labels.iter().map(|(kind, _)| kind.name().to_string()).collect(),
        measures: table.measures.iter().map(|(measure, _)| measure.name().to_string()).collect(),
        groups,
    })
}

fn write_counter<W: Write>(counter: &Counter, at: &str, out: &mut Writer<W>) -> Written {
    write_times(&counter.times, &format!("{at}.times"), out)?;
    match &counter.values {
        Numbers::F32(v) => out.f32s(&format!("{at}.values"), v)?,
        Numbers::F64(v) => out.f64s(&format!("{at}.values"), v)?,
    }
    out.i64s(&format!("{at}.starts"), counter.starts.times())?;
    for (name, tree) in [("highest", &counter.highest), ("lowest", &counter.lowest)] {
        out.u32s(&format!("{at}.{name}"), tree.nodes())?;
        out.f64s(&format!("{at}.{name}.keys"), tree.keys())?;
    }
    out.f64s(&format!("{at}.integral"), &counter.integral)?;
    out.f64s(&format!("{at}.known"), &counter.known)
}

fn write_sequence<W: Write>(sequence: &Sequence, name: &str, out: &mut Writer<W>) -> Result<SequenceShape, ArrowError> {
    write_union(&sequence.busy, &format!("{name}.busy"), out)?;
    if let Some(active) = &sequence.active {
        write_union(active, &format!("{name}.active"), out)?;
    }
    out.i64s(&format!("{name}.starts"), sequence.starts.times())?;
    out.u32s(&format!("{name}.longest"), sequence.longest.nodes())?;
    out.u64s(&format!("{name}.longest.keys"), sequence.longest.keys())?;
    out.u32s(&format!("{name}.latest"), sequence.latest.nodes())?;
    out.i64s(&format!("{name}.latest.keys"), sequence.latest.keys())?;
    for (measure, sums) in sequence.sums.iter().enumerate() {
        out.u64s(&format!("{name}.sums{measure}"), sums)?;
    }
    let first = match &sequence.picks {
        Picks::Range(range) => Some(range.start),
        Picks::List(list) => {
            out.u32s(&format!("{name}.list"), list)?;
            None
        }
    };
    Ok(SequenceShape { first, count: sequence.len() as u32, waits: sequence.active.is_some() })
}

fn write_times<W: Write>(times: &Times, name: &str, out: &mut Writer<W>) -> Written {
    match times {
        Times::Narrow { base, offsets } => {
            out.u32s(name, offsets)?;
            out.i64s(&format!("{name}.base"), &vec![*base].into())
        }
        Times::Wide(times) => out.i64s(name, times),
    }
}

fn write_keys<W: Write>(keys: &Keys, name: &str, out: &mut Writer<W>) -> Written {
    match keys {
        Keys::U8(k) => out.u8s(name, k),
        Keys::U16(k) => out.u16s(name, k),
        Keys::U32(k) => out.u32s(name, k),
    }
}

fn write_union<W: Write>(union: &Union, name: &str, out: &mut Writer<W>) -> Written {
    out.u64s(&format!("{name}.covered"), &union.covered)?;
    out.i64s(&format!("{name}.reach"), &union.reach)?;
    out.u32s(&format!("{name}.who"), &union.who)
}

/// Reads the parts; `None` where anything is missing or does not fit.
pub fn read(from: &Reader, shape: &Shape) -> Option<Parts> {
    let events = shape.tables.iter().enumerate().map(|(i, t)| read_table(from, t, &format!("t{i}")));
    let events = events.collect::<Option<Vec<EventTable>>>()?;
    let counters = shape.counters.iter().enumerate().map(|(i, key)| read_counter(from, key, &format!("c{i}")));
    let derived = Derived::default();
    for (index, kept) in shape.parts.iter().enumerate() {
        let table = events.get(usize::from(kept.table))?;
        let parts = kept.parts.iter().enumerate().map(|(part, (name, shape))| {
            let sequence = read_sequence(from, shape, &format!("d{index}.{part}"), table.measures.len(), table.len())?;
            Some((name.clone(), Arc::new(sequence)))
        });
        derived.keep_parts(kept.key.clone(), kept.table, Arc::new(parts.collect::<Option<_>>()?));
    }
    for (index, kept) in shape.derived.iter().enumerate() {
        let counter = read_counter(from, &kept.counter, &format!("dc{index}"))?;
        derived.keep_counter(kept.key.clone(), counter, kept.width);
    }
    let graph = match &shape.graph {
        None => None,
        Some(GraphShape { tables, kinds: edge_kinds }) => {
            let side = |name: &str| {
                let targets = from.u32s(&format!("{name}.targets"))?;
                let kinds = from.u8s(&format!("{name}.kinds"))?;
                let offsets = from.u32s(&format!("{name}.offsets"))?;
                (targets.len() == kinds.len()).then_some(Adjacency { offsets, targets, kinds })
            };
            Some(Graph {
                tables: tables.clone(),
                kinds: edge_kinds.clone(),
                successors: side("successors")?,
                predecessors: side("predecessors")?,
            })
        }
    };
    Some(Parts { events, counters: counters.collect::<Option<_>>()?, graph, derived })
}

fn read_table(from: &Reader, shape: &TableShape, at: &str) -> Option<EventTable> {
    let starts = read_times(from, &format!("{at}.starts"))?;
    let n = starts.len();
    let name = format!("{at}.lengths");
    let lengths = from.u32s(&name).map(Lengths::Narrow).or_else(|| from.u64s(&name).map(Lengths::Wide))?;
    let labels = shape.labels.iter().map(|label| {
        let kind = LabelKind::ALL.into_iter().find(|k| k.name() == label)?;
        let name = format!("{at}.label.{label}");
        let keys = read_keys(from, &format!("{name}.keys"), n)?;
        Some((kind, Labels { keys, entries: from.texts(&format!("{name}.entries"))? }))
    });
    let measures = shape.measures.iter().map(|label| {
        let measure = Measure::ALL.into_iter().find(|m| m.name() == label)?;
        let name = format!("{at}.measure.{label}");
        let keys = read_keys(from, &format!("{name}.keys"), n)?;
        Some((measure, Coded { keys, entries: from.u64s(&format!("{name}.entries"))?.to_vec() }))
    });
    let measures: Vec<_> = measures.collect::<Option<_>>()?;
    let groups = shape.groups.iter().enumerate().map(|(index, group)| {
        let key = GroupKey {
            core: group.core,
            engine: group.engine.as_deref().and_then(Engine::parse),
            name: group.name.clone(),
        };
        let sequence = read_sequence(from, &group.events, &format!("{at}.g{index}"), measures.len(), n)?;
        Some(Group { key, sequence })
    });
    let groups = groups.collect::<Option<_>>()?;
    let table = EventTable {
        name: shape.name.clone(),
        starts,
        lengths,
        flags: from.u8s(&format!("{at}.flags"))?,
        rows: from.u32s(&format!("{at}.rows"))?,
        event_of_row: from.u32s(&format!("{at}.event_of_row")),
        labels: labels.collect::<Option<_>>()?,
        measures,
        groups,
    };
    (table.lengths.len() == n && table.flags.len() == n && table.rows.len() == n).then_some(table)
}

fn read_counter(from: &Reader, key: &CounterKey, at: &str) -> Option<Counter> {
    let times = read_times(from, &format!("{at}.times"))?;
    let name = format!("{at}.values");
    let values = from.f32s(&name).map(Numbers::F32).or_else(|| from.f64s(&name).map(Numbers::F64))?;
    let n = times.len();
    let tree = |name: &str| {
        let nodes = from.u32s(&format!("{at}.{name}"))?;
        MaxTree::from_nodes(nodes, from.f64s(&format!("{at}.{name}.keys"))?, n)
    };
    Some(Counter {
        key: key.clone(),
        starts: BlockTimes::from_times(from.i64s(&format!("{at}.starts"))?, n)?,
        highest: tree("highest")?,
        lowest: tree("lowest")?,
        integral: from.f64s(&format!("{at}.integral"))?,
        known: from.f64s(&format!("{at}.known"))?,
        values: (values.len() == n).then_some(values)?,
        times,
    })
}

/// A sequence of a table with so many measures and events.
fn read_sequence(from: &Reader, shape: &SequenceShape, name: &str, measures: usize, events: usize) -> Option<Sequence> {
    let count = shape.count as usize;
    let nodes = |part: &str| from.u32s(&format!("{name}.{part}"));
    let picks = match shape.first {
        Some(first) => Picks::Range(first..first.checked_add(shape.count).filter(|&end| end as usize <= events)?),
        None => Picks::List(from.u32s(&format!("{name}.list")).filter(|list| list.len() == count)?),
    };
    Some(Sequence {
        picks,
        busy: read_union(from, &format!("{name}.busy"))?,
        active: if shape.waits { Some(read_union(from, &format!("{name}.active"))?) } else { None },
        starts: BlockTimes::from_times(from.i64s(&format!("{name}.starts"))?, count)?,
        longest: MaxTree::from_nodes(nodes("longest")?, from.u64s(&format!("{name}.longest.keys"))?, count)?,
        latest: MaxTree::from_nodes(nodes("latest")?, from.i64s(&format!("{name}.latest.keys"))?, count)?,
        sums: (0..measures).map(|m| from.u64s(&format!("{name}.sums{m}"))).collect::<Option<_>>()?,
    })
}

fn read_times(from: &Reader, name: &str) -> Option<Times> {
    match from.u32s(name) {
        Some(offsets) => {
            let base = *from.i64s(&format!("{name}.base"))?.first()?;
            Some(Times::Narrow { base, offsets })
        }
        None => from.i64s(name).map(Times::Wide),
    }
}

fn read_keys(from: &Reader, name: &str, n: usize) -> Option<Keys> {
    let keys = from
        .u8s(name)
        .map(Keys::U8)
        .or_else(|| from.u16s(name).map(Keys::U16))
        .or_else(|| from.u32s(name).map(Keys::U32))?;
    (keys.len() == n).then_some(keys)
}

fn read_union(from: &Reader, name: &str) -> Option<Union> {
    Some(Union {
        covered: from.u64s(&format!("{name}.covered"))?,
        reach: from.i64s(&format!("{name}.reach"))?,
        who: from.u32s(&format!("{name}.who"))?,
    })
}
