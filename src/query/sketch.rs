//! Small profiles for tests, written down event by event.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Engine, Field, end_of};
use crate::store::builder::{Builder, Chunk, TableInput};
use crate::store::counter::Numbers;
use crate::store::{
    Counter, CounterKey, Datum, GroupKey, Ids, Keys, LabelKind, Lengths, Measure, Problem, ProfileInfo, ProfileKind,
    Records, Rows, Store, Times,
};

/// An event of a sketch.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    pub core: Option<i64>,
    pub engine: Option<Engine>,
    pub group: String,
    pub start: i64,
    pub length: u64,
    pub flags: u8,
    pub name: String,
    pub track: String,
    pub operator: String,
    pub queue: String,
    pub bytes: u64,
    pub flops: u64,
    pub transposed: u64,
}

/// A profile to be.
#[derive(Default)]
pub struct Sketch {
    tables: BTreeMap<String, Vec<Mark>>,
    counters: Vec<(CounterKey, Vec<(i64, f64)>)>,
    metadata: Vec<(String, Datum)>,
}

struct NoRows;

impl Rows for NoRows {
    fn row(&self, _: &str, _: u32) -> Result<Vec<Field>, Problem> {
        Ok(Vec::new())
    }

    fn ids(&self, _: &str) -> Result<Option<Ids>, Problem> {
        Ok(None)
    }
}

impl Sketch {
    /// Adds an event.
    pub fn event(&mut self, table: &str, mark: Mark) -> &mut Sketch {
        self.tables.entry(table.to_owned()).or_default().push(mark);
        self
    }

    /// Adds an instruction.
    pub fn instruction(&mut self, core: i64, engine: Engine, name: &str, start: i64, length: u64) -> &mut Sketch {
        let wait = name.starts_with("EVENT_SEMAPHORE");
        self.event(
            "Instruction",
            Mark {
                core: Some(core),
                engine: Some(engine),
                group: engine.name().into(),
                start,
                length,
                flags: u8::from(wait) * crate::store::flag::WAIT,
                name: name.into(),
                operator: format!("model/{name}"),
                ..Mark::default()
            },
        )
    }

    /// Adds a packet.
    pub fn packet(&mut self, core: i64, engine: &str, queue: &str, start: i64, length: u64, bytes: u64) -> &mut Sketch {
        let (core, group) = (Some(core), engine.to_owned());
        let (name, queue) = (queue.to_owned(), queue.to_owned());
        self.event("DmaPacket", Mark { core, group, start, length, name, queue, bytes, ..Mark::default() })
    }

    /// Adds a counter.
    pub fn counter(&mut self, table: &str, column: &str, core: i64, samples: &[(i64, f64)]) -> &mut Sketch {
        let key = CounterKey { table: table.into(), column: column.into(), core: Some(core) };
        self.counters.push((key, samples.to_vec()));
        self
    }

    /// Adds a column of Metadata.
    pub fn metadata(&mut self, column: &str, value: f64) -> &mut Sketch {
        self.metadata.push((column.into(), Datum::Float(value)));
        self
    }

    /// The profile.
    pub fn store(&self) -> Store {
        let info = ProfileInfo {
            name: "sketch".into(),
            path: "sketch".into(),
            kind: ProfileKind::Device,
            format: "sketch".into(),
            origin_unix_ns: None,
        };
        let mut builder = Builder::new(info);
        for (name, marks) in &self.tables {
            builder.events(table(name, marks));
        }
        for (key, samples) in &self.counters {
            let times = Times::pack(samples.iter().map(|s| s.0).collect());
            let values = Numbers::pack(samples.iter().map(|s| s.1).collect());
            builder.counters.push(Counter::new(key.clone(), times, values));
        }
        let (columns, row): (Vec<String>, Vec<Datum>) = self.metadata.iter().cloned().unzip();
        builder.records.push(Records { name: "Metadata".into(), columns, rows: vec![row] });
        builder.finish(Arc::new(NoRows))
    }
}

fn table(name: &str, marks: &[Mark]) -> TableInput {
    let mut groups = vec![GroupKey { core: None, engine: None, name: String::new() }];
    let mut group_keys = Vec::new();
    for m in marks {
        let key = GroupKey { core: m.core, engine: m.engine, name: m.group.clone() };
        let at = groups.iter().skip(1).position(|g| *g == key).map(|i| i + 1);
        group_keys.push(at.unwrap_or_else(|| {
            groups.push(key);
            groups.len() - 1
        }) as u32);
    }
    let text = |get: fn(&Mark) -> &String| {
        let mut entries = vec![String::new()];
        let keys: Vec<u32> = marks
            .iter()
            .map(|m| {
                let known = entries.iter().position(|e| e == get(m));
                known.unwrap_or_else(|| {
                    entries.push(get(m).clone());
                    entries.len() - 1
                }) as u32
            })
            .collect();
        (Keys::pack(&keys, entries.len()), entries)
    };
    let every = Keys::pack(&(0..marks.len() as u32).collect::<Vec<_>>(), marks.len());
    type Get = fn(&Mark) -> &String;
    let kinds: [(LabelKind, Get); 4] = [
        (LabelKind::Name, |m| &m.name),
        (LabelKind::Track, |m| &m.track),
        (LabelKind::Operator, |m| &m.operator),
        (LabelKind::Queue, |m| &m.queue),
    ];
    let columns = kinds.map(|(kind, get)| (kind, text(get)));
    let range = marks.iter().map(|m| (m.start, end_of(m.start, m.length)));
    TableInput {
        name: name.into(),
        groups: groups.clone(),
        labels: columns.iter().map(|(kind, (_, entries))| (*kind, entries.clone())).collect(),
        measures: vec![
            (Measure::Bytes, marks.iter().map(|m| m.bytes).collect()),
            (Measure::HardwareFlops, marks.iter().map(|m| m.flops).collect()),
            (Measure::TransposeFlops, marks.iter().map(|m| m.transposed).collect()),
        ],
        chunks: vec![Chunk {
            first_row: 0,
            starts: Times::pack(marks.iter().map(|m| m.start).collect()),
            lengths: Lengths::pack(marks.iter().map(|m| m.length).collect()),
            flags: marks.iter().map(|m| m.flags).collect(),
            groups: Keys::pack(&group_keys, groups.len()),
            labels: columns.iter().map(|(_, (keys, _))| keys.clone()).collect(),
            measures: vec![every.clone(), every.clone(), every],
            range: range.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }],
        keep_row_map: true,
    }
}
