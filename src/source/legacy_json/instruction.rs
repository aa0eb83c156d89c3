//! The `instruction` list: what the engines did, and what each instruction had to wait for.

use rustc_hash::FxHashMap;

use super::events::{EventRows, From, IdColumn, id_bits, when};
use super::interner::{Texts, Values};
use super::token::{self, Raw};
use crate::model::{Engine, opcode};
use crate::store::builder::TableInput;
use crate::store::{GroupKey, LabelKind, Measure, flag};

/// What is read of a row.
#[derive(Default)]
pub struct Row<'a> {
    start: Raw<'a>,
    duration: Raw<'a>,
    end: Raw<'a>,
    id: Raw<'a>,
    subgraph: Raw<'a>,
    subgroup: Raw<'a>,
    label: Raw<'a>,
    opcode: Raw<'a>,
    layer: Raw<'a>,
    hlo_name: Raw<'a>,
    source: Raw<'a>,
    kind: Raw<'a>,
    elements: Raw<'a>,
    predecessors: Raw<'a>,
}

impl<'a> Row<'a> {
    /// Takes up one key of the row.
    pub fn set(&mut self, key: &[u8], value: Raw<'a>) {
        let field = match key {
            b"timestamp" | b"start_ts" => &mut self.start,
            b"duration" | b"duration_ns" => &mut self.duration,
            b"end_ts" => &mut self.end,
            b"id" => &mut self.id,
            b"subgraph" => &mut self.subgraph,
            b"subgroup" => &mut self.subgroup,
            b"label" => &mut self.label,
            b"opcode" => &mut self.opcode,
            b"layer" => &mut self.layer,
            b"hlo_name" => &mut self.hlo_name,
            b"nki_source_location" => &mut self.source,
            b"bir_debug_info_source_location" if self.source == Raw::Null => &mut self.source,
            b"instruction_type" => &mut self.kind,
            b"elements" => &mut self.elements,
            b"predecessors" => &mut self.predecessors,
            _ => return,
        };
        *field = value;
    }
}

/// Columns of [`EventRows`] beside the lane.
mod column {
    pub const OPCODE: usize = 0;
    pub const OPERATOR: usize = 1;
    pub const SOURCE: usize = 2;
    pub const FLOPS: usize = 3;
    pub const TRANSPOSE: usize = 4;
}

/// An engine of one core, and which of its tracks.
struct Lane {
    subgraph: u32,
    engine: Option<Engine>,
    /// The group: the engine's name.
    group: String,
    /// The track: the engine's name, or `TensorMatrix`.
    track: String,
}

/// A declared dependency.
pub struct Edge {
    /// Row that has to wait.
    pub to: u32,
    /// Bits of the id that it waits for.
    pub from: i64,
    /// Position in [`Instructions::kinds`].
    pub kind: u8,
}

/// All instructions.
pub struct Instructions {
    /// Times and codes of the rows.
    pub rows: EventRows,
    /// Their ids.
    pub ids: IdColumn,
    /// Their predecessors.
    pub edges: Vec<Edge>,
    /// Kinds of dependency.
    pub kinds: Vec<String>,
    lanes: Vec<Lane>,
    lane_of: FxHashMap<(u32, u32, u32, bool), u32>,
    opcodes: Texts,
    /// Flags, and whether it is a matrix multiplication, by opcode.
    classes: Vec<(u8, bool)>,
    operators: Texts,
    sources: Texts,
    labels: Texts,
    flops: Values<u64>,
}

impl Default for Instructions {
    fn default() -> Instructions {
        Instructions {
            rows: EventRows::with_columns(5),
            ids: IdColumn::default(),
            edges: Vec::new(),
            kinds: Vec::new(),
            lanes: Vec::new(),
            lane_of: FxHashMap::default(),
            opcodes: Texts::default(),
            classes: vec![(0, false)],
            operators: Texts::default(),
            sources: Texts::default(),
            labels: Texts::default(),
            flops: Values::starting_with(0),
        }
    }
}

impl Instructions {
    /// Adds a row; `subgraphs` is shared by all tables.
    pub fn push(&mut self, row: &Row, subgraphs: &mut Texts) {
        let subgraph = subgraphs.key(row.subgraph);
        let opcode = self.opcodes.key(row.opcode);
        if opcode as usize == self.classes.len() {
            let name = self.opcodes.get(opcode);
            self.classes.push((flag::of_opcode(name), opcode::is_matmul(name)));
        }
        let (mut flags, matmul) = self.classes[opcode as usize];
        let mut flops = (0, 0);
        if matmul {
            // One multiplication and one addition per element. The vendor's FLOPs are these.
            let count = row.elements.integer().and_then(|n| u64::try_from(n).ok()).unwrap_or(0).saturating_mul(2);
            flops.0 = self.flops.key(count);
        }
        if matches!(row.kind, Raw::Text(b"TRANSPOSE")) {
            flags |= flag::TRANSPOSE;
            flops.1 = flops.0;
        }
        let known = |raw: Raw| !matches!(raw, Raw::Null | Raw::Text(b"" | b"Unknown"));
        let operator = [row.layer, row.hlo_name].into_iter().find(|&raw| known(raw));
        let operator = operator.map_or(0, |raw| self.operators.key(raw));
        let source = self.sources.key(row.source);
        let lane = self.lane(subgraph, row, matmul);
        if let Raw::List(list) = row.predecessors {
            self.note_predecessors(list);
        }
        self.ids.push(row.id);
        let when = when(row.start, row.duration, row.end);
        self.rows.push(when, flags, lane, &[opcode, operator, source, flops.0, flops.1]);
    }

    fn lane(&mut self, subgraph: u32, row: &Row, matmul: bool) -> u32 {
        let key = (subgraph, self.labels.key(row.subgroup), self.labels.key(row.label), matmul);
        if let Some(&lane) = self.lane_of.get(&key) {
            return lane;
        }
        let (subgroup, label) = (self.labels.get(key.1), self.labels.get(key.2));
        let matrix = label == "TensorMatrix" || subgroup == "TensorMatrix";
        let engine = Engine::parse(subgroup).or_else(|| Engine::parse(label)).or(if matrix {
            Some(Engine::Tensor)
        } else {
            None
        });
        let group = match engine {
            Some(engine) => engine.name(),
            None => [subgroup, label].into_iter().find(|t| !t.is_empty()).unwrap_or("engine not recorded"),
        };
        let matrix = engine == Some(Engine::Tensor) && (matmul || matrix);
        let track = if matrix { "TensorMatrix" } else { group };
        let lane = Lane { subgraph, engine, group: group.to_string(), track: track.to_string() };
        self.lanes.push(lane);
        let number = self.lanes.len() as u32;
        self.lane_of.insert(key, number);
        number
    }

    fn note_predecessors(&mut self, list: &[u8]) {
        let to = self.rows.len() as u32;
        for element in token::elements(list) {
            let (mut id, mut kind) = (element, Raw::Null);
            if let Raw::Object(object) = element {
                let walked = token::object(object, 0, |key, value| match key {
                    b"id" => id = value,
                    b"type" => kind = value,
                    _ => {}
                });
                if walked.is_err() {
                    continue;
                }
            }
            let Some((from, _)) = id_bits(id) else { continue };
            let kind = self.kind(kind);
            self.edges.push(Edge { to, from, kind });
        }
    }

    fn kind(&mut self, raw: Raw) -> u8 {
        let same = |known: &String| matches!(raw, Raw::Text(bytes) if bytes == known.as_bytes());
        if let Some(at) = self.kinds.iter().position(same) {
            return at as u8;
        }
        let text = raw.text();
        match self.kinds.iter().position(|known| *known == text) {
            Some(at) => at as u8,
            // A byte holds no more; no file has more than a handful.
            None if self.kinds.len() == 256 => 255,
            None => {
                self.kinds.push(text.into_owned());
                (self.kinds.len() - 1) as u8
            }
        }
    }

    /// The table; `core` tells the core of a subgraph.
    pub fn table(&self, unit: i64, core: impl Fn(u32) -> Option<i64>) -> TableInput {
        let none = GroupKey { core: None, engine: None, name: String::new() };
        let groups = self.lanes.iter().map(|lane| GroupKey {
            core: core(lane.subgraph),
            engine: lane.engine,
            name: lane.group.clone(),
        });
        let tracks = std::iter::once(String::new()).chain(self.lanes.iter().map(|lane| lane.track.clone()));
        let labels = vec![
            (LabelKind::Name, From::Column(column::OPCODE), self.opcodes.entries().to_vec()),
            (LabelKind::Track, From::Lane, tracks.collect()),
            (LabelKind::Operator, From::Column(column::OPERATOR), self.operators.entries().to_vec()),
            (LabelKind::SourceLine, From::Column(column::SOURCE), self.sources.entries().to_vec()),
        ];
        let flops = self.flops.entries().to_vec();
        let measures = vec![
            (Measure::HardwareFlops, column::FLOPS, flops.clone()),
            (Measure::TransposeFlops, column::TRANSPOSE, flops),
        ];
        self.rows.table("Instruction", unit, std::iter::once(none).chain(groups).collect(), labels, measures, true)
    }
}
