//! Dependencies: the Flow table, its 64-bit ids resolved to rows.

use std::sync::Mutex;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::files::Table;
use super::steps::Steps;
use crate::source::Opening;
use crate::store::arrays::{Ints, Texts, column, ints, texts};
use crate::store::builder::Dictionary;
use crate::store::{Graph, Problem};

/// The event tables that Flow may name, with the names that it uses.
const NODES: [(&str, &[&str]); 3] = [
    ("Instruction", &["instruction"]),
    ("DmaPacketAggregated", &["dma_block", "dma_packet_aggregated", "dmapacketaggregated"]),
    ("DmaPacket", &["dma", "dma_packet", "dmapacket"]),
];

/// Marks an end that no row was found for.
const NOWHERE: u32 = u32::MAX;

/// Rows by id: the ids themselves by row, and an open-addressing table of rows.
struct IdMap {
    ids: Vec<i64>,
    /// Rows; `NOWHERE` where free.
    slots: Vec<u32>,
    repeated: u64,
}

impl IdMap {
    fn new(pieces: Vec<Ints>) -> IdMap {
        let rows = pieces.iter().map(Ints::len).sum::<usize>();
        let mut map = IdMap { ids: Vec::with_capacity(rows), slots: vec![NOWHERE; rows + rows / 2 + 8], repeated: 0 };
        for piece in pieces {
            for i in 0..piece.len() {
                let row = map.ids.len() as u32;
                match piece.at(i) {
                    Some(id) => {
                        map.ids.push(id);
                        map.insert(id, row);
                    }
                    None => map.ids.push(0),
                }
            }
        }
        map
    }

    /// The slot that holds `id`, or the free one where it belongs.
    #[inline]
    fn slot(&self, id: i64) -> usize {
        let hash = (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize;
        while self.slots[at] != NOWHERE && self.ids[self.slots[at] as usize] != id {
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
        at
    }

    fn insert(&mut self, id: i64, row: u32) {
        let slot = self.slot(id);
        if self.slots[slot] == NOWHERE {
            self.slots[slot] = row;
        } else {
            // Of equal ids, the first row counts.
            self.repeated += 1;
        }
    }
}

/// How many rows from a recent one on are tried: an engine's rows that depend on each other are often the next but one.
const NEAR: usize = 4;

/// Looks up the ids of one end of consecutive rows. Neighbours in Flow are mostly neighbours in their own tables too
/// (one run per engine), so the rows after recent ones are tried before the table, which is far away in memory.
struct Lookup<'a> {
    map: &'a IdMap,
    last: (i64, u32),
    recent: [u32; 8],
    oldest: usize,
}

impl<'a> Lookup<'a> {
    fn new(map: &'a IdMap) -> Lookup<'a> {
        Lookup { map, last: (0, NOWHERE), recent: [0; 8], oldest: 0 }
    }

    /// The first row with this id, or `NOWHERE`.
    #[inline]
    fn row(&mut self, id: i64) -> u32 {
        if self.last.0 == id && self.last.1 != NOWHERE {
            return self.last.1;
        }
        // Only where no id repeats is any row with the id the first one. Rows without an id hold a 0.
        if self.map.repeated == 0 && id != 0 {
            for recent in &mut self.recent {
                let from = *recent as usize;
                let near = self.map.ids.get(from..from + NEAR).and_then(|ids| ids.iter().position(|&i| i == id));
                if let Some(ahead) = near {
                    *recent += ahead as u32;
                    self.last = (id, *recent);
                    return *recent;
                }
            }
        }
        let row = self.map.slots[self.map.slot(id)];
        self.last = (id, row);
        if row != NOWHERE {
            self.recent[self.oldest] = row;
            self.oldest = (self.oldest + 1) % self.recent.len();
        }
        row
    }
}

/// The nodes of the graph: tables with the ids of their rows.
struct Nodes {
    tables: Vec<(String, u32)>,
    maps: Vec<(&'static [&'static str], u32, IdMap)>,
}

fn read_ids(table: &Table, problems: &Mutex<Vec<Problem>>) -> Vec<Ints> {
    let spans: Vec<_> =
        table.parts.iter().flat_map(|(_, file)| file.spans(1 << 18).into_iter().map(move |s| (file, s))).collect();
    spans
        .par_iter()
        .map(|(file, span)| {
            let ids = super::read_or_note(file, *span, &["id"], problems);
            ids.and_then(|b| ints(column(&b, "id")?.as_ref())).unwrap_or_else(|| Ints::missing(span.rows))
        })
        .collect()
}

impl Nodes {
    fn new(tables: &[Table], named: &dyn Fn(&[&str]) -> bool, problems: &Mutex<Vec<Problem>>) -> Nodes {
        let mut nodes = Nodes { tables: Vec::new(), maps: Vec::new() };
        let mut before = 0u32;
        for (name, aliases) in NODES {
            let Some(table) = tables.iter().find(|t| t.name == name && t.has("id")) else { continue };
            let Ok(rows) = u32::try_from(table.rows()) else { continue };
            if !named(aliases) || before.checked_add(rows).is_none() {
                continue;
            }
            let map = IdMap::new(read_ids(table, problems));
            if map.repeated > 0
                && let Some((_, file)) = table.parts.first()
            {
                let message = format!(
                    "{} rows repeat an id of an earlier row; dependencies lead to the first row of each id",
                    map.repeated
                );
                super::push(problems, Problem { path: file.path.clone(), message });
            }
            nodes.maps.push((aliases, before, map));
            nodes.tables.push((name.to_string(), rows));
            before += rows;
        }
        nodes
    }

    /// For each text of a table column: the position in `maps` that it names.
    fn maps_of(&self, names: &Texts) -> Vec<Option<usize>> {
        let find = |name: &String| {
            let name = name.trim().to_ascii_lowercase();
            self.maps.iter().position(|(aliases, _, _)| aliases.contains(&name.as_str()))
        };
        names.entries.iter().map(find).collect()
    }
}

/// Edges of some rows of Flow.
#[derive(Default)]
struct Edges {
    from: Vec<u32>,
    to: Vec<u32>,
    kinds: Vec<u8>,
    /// Rows of which an end names no known row.
    dangling: u64,
    /// Rows that name tables this version does not know, by name.
    unknown: FxHashMap<String, u64>,
}

/// Reads the dependency graph.
pub fn read(tables: &[Table], opening: &Opening, steps: &Steps, problems: &Mutex<Vec<Problem>>) -> Option<Graph> {
    let flow = tables.iter().find(|t| t.name == "Flow" && t.rows() > 0)?;
    let (_, first) = flow.parts.first()?;
    if let Some(missing) = ["in_id", "out_id", "in_table", "out_table"].into_iter().find(|c| !flow.has(c)) {
        let message = format!("has no column {missing}, so dependencies cannot be followed");
        super::push(problems, Problem { path: first.path.clone(), message });
        return None;
    }
    let spans: Vec<_> =
        flow.parts.iter().flat_map(|(_, file)| file.spans(1 << 18).into_iter().map(move |s| (file, s))).collect();
    let names_packets = || {
        spans.par_iter().any(|(file, span)| {
            let Ok((batch, _)) = file.read(*span, &["in_table", "out_table"]) else { return false };
            ["in_table", "out_table"].iter().any(|name| {
                let names = column(&batch, name).and_then(|c| texts(c.as_ref()));
                names.is_some_and(|n| n.entries.iter().any(|e| NODES[2].1.contains(&e.to_ascii_lowercase().as_str())))
            })
        })
    };
    let packets = names_packets();
    let nodes = Nodes::new(tables, &|aliases| packets || aliases != NODES[2].1, problems);
    let kinds = Dictionary::starting_with(String::new());
    let pieces: Vec<Edges> = spans
        .par_iter()
        .filter_map(|(file, span)| {
            if opening.cancelled() {
                return None;
            }
            let wanted = ["in_id", "out_id", "in_table", "out_table", "dependency_type"];
            let batch = super::read_or_note(file, *span, &wanted, problems);
            steps.done(span.rows as u64, "Flow");
            let batch = batch?;
            let ids = |name: &str| column(&batch, name).and_then(|c| ints(c.as_ref()));
            let text = |name: &str| column(&batch, name).and_then(|c| texts(c.as_ref()));
            let (in_ids, out_ids) = (ids("in_id")?, ids("out_id")?);
            let (in_tables, out_tables) = (text("in_table")?, text("out_table")?);
            let (in_maps, out_maps) = (nodes.maps_of(&in_tables), nodes.maps_of(&out_tables));
            let types = text("dependency_type");
            let type_keys = types.as_ref().map(|t| kinds.keys(t.entries.iter().cloned()));
            let mut edges = Edges {
                from: Vec::with_capacity(span.rows),
                to: Vec::with_capacity(span.rows),
                kinds: Vec::with_capacity(span.rows),
                ..Edges::default()
            };
            let lookups = || nodes.maps.iter().map(|(_, _, map)| Lookup::new(map)).collect::<Vec<_>>();
            let (mut in_lookups, mut out_lookups) = (lookups(), lookups());
            for row in 0..batch.num_rows() {
                let end = |ids: &Ints, tables: &Texts, maps: &[Option<usize>], lookups: &mut [Lookup]| {
                    let map = maps[tables.keys[row]? as usize]?;
                    let node = lookups[map].row(ids.at(row)?);
                    (node != NOWHERE).then(|| nodes.maps[map].1 + node)
                };
                let from = end(&in_ids, &in_tables, &in_maps, &mut in_lookups);
                match (from, end(&out_ids, &out_tables, &out_maps, &mut out_lookups)) {
                    (Some(from), Some(to)) => {
                        let kind = types.as_ref().and_then(|t| t.keys[row]).zip(type_keys.as_ref());
                        edges.from.push(from);
                        edges.to.push(to);
                        edges.kinds.push(kind.map_or(0, |(k, keys)| keys[k as usize].min(255) as u8));
                    }
                    _ => {
                        let name_of = |tables: &Texts, maps: &[Option<usize>]| {
                            let key = tables.keys[row]? as usize;
                            maps[key].is_none().then(|| tables.entries[key].clone())
                        };
                        match name_of(&in_tables, &in_maps).or_else(|| name_of(&out_tables, &out_maps)) {
                            Some(unknown) => *edges.unknown.entry(unknown).or_default() += 1,
                            None => edges.dangling += 1,
                        }
                    }
                }
            }
            Some(edges)
        })
        .collect();
    let Nodes { tables: node_tables, maps } = nodes;
    drop(maps);
    report(&pieces, first.path.clone(), problems);
    steps.step("linking dependencies");
    let total = pieces.iter().map(|e| e.from.len()).sum();
    let (mut from, mut to, mut edge_kinds) =
        (Vec::with_capacity(total), Vec::with_capacity(total), Vec::with_capacity(total));
    for piece in pieces {
        from.extend(piece.from);
        to.extend(piece.to);
        edge_kinds.extend(piece.kinds);
    }
    Some(Graph::build(node_tables, kinds.entries(), &from, &to, &edge_kinds))
}

fn report(pieces: &[Edges], path: std::path::PathBuf, problems: &Mutex<Vec<Problem>>) {
    let dangling: u64 = pieces.iter().map(|e| e.dangling).sum();
    if dangling > 0 {
        let message = format!("{dangling} dependencies name an id that no row has; they are left out");
        super::push(problems, Problem { path: path.clone(), message });
    }
    let mut unknown: FxHashMap<&str, u64> = FxHashMap::default();
    for (name, count) in pieces.iter().flat_map(|e| &e.unknown) {
        *unknown.entry(name).or_default() += count;
    }
    let mut unknown: Vec<_> = unknown.into_iter().collect();
    unknown.sort_unstable();
    for (name, count) in unknown {
        let message =
            format!("{count} dependencies name a table called {name:?}, which has no events here; they are left out");
        super::push(problems, Problem { path: path.clone(), message });
    }
}
