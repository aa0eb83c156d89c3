//! The big parts of a store as columns: event tables, counters and the graph.

use std::io::Write;

use arrow::error::ArrowError;
use serde::{Deserialize, Serialize};

use super::archive::{Reader, Writer};
use crate::model::Engine;
use crate::store::column::{Coded, Keys, Labels, Lengths, Times};
use crate::store::counter::Numbers;
use crate::store::events::{EventTable, Group, GroupKey, LabelKind, Measure};
use crate::store::graph::{Adjacency, Graph};
use crate::store::max_tree::MaxTree;
use crate::store::sequence::{Picks, Sequence, Union};
use crate::store::{Counter, CounterKey, Store};

/// What is needed besides the columns to put the parts together.
#[derive(Serialize, Deserialize)]
pub struct Shape {
    tables: Vec<TableShape>,
    counters: Vec<CounterKey>,
    graph: Option<GraphShape>,
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
    events: (u32, u32),
    waits: bool,
}

/// The big parts.
pub struct Parts {
    pub events: Vec<EventTable>,
    pub counters: Vec<Counter>,
    pub graph: Option<Graph>,
}

type Written = Result<(), ArrowError>;

/// Writes the parts; `None` when `go_on` said no.
pub fn write<W: Write>(
    store: &Store,
    out: &mut Writer<W>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Shape>, ArrowError> {
    let mut shape = Shape { tables: Vec::new(), counters: Vec::new(), graph: None };
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
        let at = format!("c{index}");
        write_times(&counter.times, &format!("{at}.times"), out)?;
        match &counter.values {
            Numbers::F32(v) => out.f32s(&format!("{at}.values"), v)?,
            Numbers::F64(v) => out.f64s(&format!("{at}.values"), v)?,
        }
        out.u32s(&format!("{at}.highest"), counter.highest.nodes())?;
        out.u32s(&format!("{at}.lowest"), counter.lowest.nodes())?;
        out.f64s(&format!("{at}.integral"), &counter.integral)?;
        out.f64s(&format!("{at}.known"), &counter.known)?;
        shape.counters.push(counter.key.clone());
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
        let sequence = &group.sequence;
        let name = format!("{at}.g{index}");
        write_union(&sequence.busy, &format!("{name}.busy"), out)?;
        if let Some(active) = &sequence.active {
            write_union(active, &format!("{name}.active"), out)?;
        }
        out.u32s(&format!("{name}.longest"), sequence.longest.nodes())?;
        out.u32s(&format!("{name}.latest"), sequence.latest.nodes())?;
        for (measure, sums) in sequence.sums.iter().enumerate() {
            out.u64s(&format!("{name}.sums{measure}"), sums)?;
        }
        groups.push(GroupShape {
            core: group.key.core,
            engine: group.key.engine.map(|e| e.name().to_string()),
            name: group.key.name.clone(),
            events: (sequence.first_event(), sequence.len() as u32),
            waits: sequence.active.is_some(),
        });
    }
    Ok(TableShape {
        name: table.name.clone(),
        labels: table.labels.iter().map(|(kind, _)| kind.name().to_string()).collect(),
        measures: table.measures.iter().map(|(measure, _)| measure.name().to_string()).collect(),
        groups,
    })
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
    let counters = shape.counters.iter().enumerate().map(|(i, key)| {
        let at = format!("c{i}");
        let times = read_times(from, &format!("{at}.times"))?;
        let name = format!("{at}.values");
        let values = from.f32s(&name).map(Numbers::F32).or_else(|| from.f64s(&name).map(Numbers::F64))?;
        let n = times.len();
        Some(Counter {
            key: key.clone(),
            highest: MaxTree::from_nodes(from.u32s(&format!("{at}.highest"))?, n)?,
            lowest: MaxTree::from_nodes(from.u32s(&format!("{at}.lowest"))?, n)?,
            integral: from.f64s(&format!("{at}.integral"))?,
            known: from.f64s(&format!("{at}.known"))?,
            values: (values.len() == n).then_some(values)?,
            times,
        })
    });
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
    Some(Parts { events: events.collect::<Option<_>>()?, counters: counters.collect::<Option<_>>()?, graph })
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
        let (first, count) = group.events;
        let name = format!("{at}.g{index}");
        let tree = |part: &str| MaxTree::from_nodes(from.u32s(&format!("{name}.{part}"))?, count as usize);
        let sums = (0..measures.len()).map(|m| from.u64s(&format!("{name}.sums{m}")));
        let key = GroupKey {
            core: group.core,
            engine: group.engine.as_deref().and_then(Engine::parse),
            name: group.name.clone(),
        };
        let sequence = Sequence {
            picks: Picks::Range(first..first.checked_add(count).filter(|&end| end as usize <= n)?),
            busy: read_union(from, &format!("{name}.busy"))?,
            active: if group.waits { Some(read_union(from, &format!("{name}.active"))?) } else { None },
            longest: tree("longest")?,
            latest: tree("latest")?,
            sums: sums.collect::<Option<_>>()?,
        };
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
