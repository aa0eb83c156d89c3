//! Dependencies: the Flow table, its 64-bit ids resolved to rows.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use memmap2::MmapMut;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::file::{Span, TableFile};
use super::files::Table;
use super::steps::Steps;
use crate::source::Opening;
use crate::store::arrays::{Ints, Texts, column, ints, texts};
use crate::store::builder::Dictionary;
use crate::store::{self, Graph, Problem};

/// The event tables that Flow may name, with the names that it uses.
const NODES: [(&str, &[&str]); 3] = [
    ("Instruction", &["instruction"]),
    ("DmaPacketAggregated", &["dma_block", "dma_packet_aggregated", "dmapacketaggregated"]),
    ("DmaPacket", PACKETS),
];

/// The names of the table of packets.
const PACKETS: &[&str] = &["dma", "dma_packet", "dmapacket"];

/// Marks an end that no row was found for.
const NOWHERE: u32 = u32::MAX;

/// Numbers that are looked up all over: in large pages where the system has them, as otherwise most of a look-up goes
/// into finding the page.
struct Numbers(MmapMut);

impl Numbers {
    /// So many bytes, all 0.
    fn new(bytes: usize) -> std::io::Result<Numbers> {
        let map = MmapMut::map_anon(bytes.max(1))?;
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Numbers(map))
    }
}

/// Rows by id: the ids themselves by row, and an open-addressing table of rows.
struct IdMap {
    /// The ids, 0 where a row has none.
    ids: Numbers,
    rows: usize,
    /// Rows, counted from 1; 0 where free.
    slots: Numbers,
    repeated: u64,
}

impl IdMap {
    fn new(pieces: Vec<Ints>) -> std::io::Result<IdMap> {
        let rows = pieces.iter().map(Ints::len).sum::<usize>();
        let ids = Numbers::new(rows * size_of::<i64>())?;
        let slots = Numbers::new((rows + rows / 2 + 8) * size_of::<u32>())?;
        let mut map = IdMap { ids, rows: 0, slots, repeated: 0 };
        for piece in pieces {
            for i in 0..piece.len() {
                if let Some(id) = piece.at(i) {
                    map.ids.0.as_chunks_mut().0[map.rows] = id.to_ne_bytes();
                    map.insert(id);
                }
                map.rows += 1;
            }
        }
        Ok(map)
    }

    /// The ids by row.
    fn ids(&self) -> &[[u8; 8]] {
        &self.ids.0.as_chunks().0[..self.rows]
    }

    /// The row in slot `at`, counted from 1.
    #[inline]
    fn row_in(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.slots.0.as_chunks().0[at])
    }

    /// The slot that holds `id`, or the free one where it belongs.
    #[inline]
    fn slot(&self, id: i64) -> usize {
        let hash = (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slots = self.slots.0.len() / size_of::<u32>();
        let ids: &[[u8; 8]] = self.ids.0.as_chunks().0;
        let mut at = ((u128::from(hash) * slots as u128) >> 64) as usize;
        loop {
            match self.row_in(at).checked_sub(1) {
                Some(row) if ids[row as usize] != id.to_ne_bytes() => at = if at + 1 == slots { 0 } else { at + 1 },
                _ => return at,
            }
        }
    }

    /// The first row with this id, or `NOWHERE`.
    #[inline]
    fn find(&self, id: i64) -> u32 {
        self.row_in(self.slot(id)).checked_sub(1).unwrap_or(NOWHERE)
    }

    /// Puts in the row at hand.
    fn insert(&mut self, id: i64) {
        let slot = self.slot(id);
        if self.row_in(slot) == 0 {
            self.slots.0.as_chunks_mut().0[slot] = (self.rows as u32 + 1).to_ne_bytes();
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
            let ids = self.map.ids();
            for recent in &mut self.recent {
                let from = *recent as usize;
                let near = ids.get(from..from + NEAR).and_then(|ids| ids.iter().position(|&i| i == id.to_ne_bytes()));
                if let Some(ahead) = near {
                    *recent += ahead as u32;
                    self.last = (id, *recent);
                    return *recent;
                }
            }
        }
        let row = self.map.find(id);
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
        .with_max_len(1)
        .map(|(file, span)| {
            let ids = super::read_or_note(file, *span, &["id"], problems);
            ids.and_then(|b| ints(column(&b, "id")?.as_ref())).unwrap_or_else(|| Ints::missing(span.rows))
        })
        .collect()
}

impl Nodes {
    /// The nodes that Flow names: of packets, of which there are many, only where it names any.
    fn new(tables: &[Table], packets: bool, problems: &Mutex<Vec<Problem>>) -> Nodes {
        let mut nodes = Nodes { tables: Vec::new(), maps: Vec::new() };
        let mut before = 0u32;
        for (name, aliases) in NODES {
            let Some(table) = tables.iter().find(|t| t.name == name && t.has("id")) else { continue };
            let Ok(rows) = u32::try_from(table.rows()) else { continue };
            // Row numbers from 1 must fit, too.
            if (aliases == PACKETS && !packets) || before.checked_add(rows).is_none_or(|all| all == u32::MAX) {
                continue;
            }
            let map = match IdMap::new(read_ids(table, problems)) {
                Ok(map) => map,
                Err(error) => {
                    let message = format!("cannot be linked to what depends on it: {error}");
                    let path = table.parts.first().map_or_else(Default::default, |(_, file)| file.path.clone());
                    super::push(problems, Problem { path, message });
                    continue;
                }
            };
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

    /// The edges in some rows of Flow.
    fn edges(
        &self,
        batch: &RecordBatch,
        (in_tables, out_tables): (&Texts, &Texts),
        types: Option<Texts>,
        kinds: &Dictionary<String>,
    ) -> Option<Edges> {
        let ids = |name: &str| column(batch, name).and_then(|c| ints(c.as_ref()));
        let (in_ids, out_ids) = (ids("in_id")?, ids("out_id")?);
        let (in_maps, out_maps) = (self.maps_of(in_tables), self.maps_of(out_tables));
        let type_keys = types.as_ref().map(|t| kinds.keys(t.entries.iter().cloned()));
        let rows = batch.num_rows();
        let mut edges = Edges {
            from: Vec::with_capacity(rows),
            to: Vec::with_capacity(rows),
            kinds: Vec::with_capacity(rows),
            ..Edges::default()
        };
        let lookups = || self.maps.iter().map(|(_, _, map)| Lookup::new(map)).collect::<Vec<_>>();
        let (mut in_lookups, mut out_lookups) = (lookups(), lookups());
        for row in 0..rows {
            let end = |ids: &Ints, tables: &Texts, maps: &[Option<usize>], lookups: &mut [Lookup]| {
                let map = maps[tables.keys[row]? as usize]?;
                let node = lookups[map].row(ids.at(row)?);
                (node != NOWHERE).then(|| self.maps[map].1 + node)
            };
            let from = end(&in_ids, in_tables, &in_maps, &mut in_lookups);
            match (from, end(&out_ids, out_tables, &out_maps, &mut out_lookups)) {
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
                    match name_of(in_tables, &in_maps).or_else(|| name_of(out_tables, &out_maps)) {
                        Some(unknown) => *edges.unknown.entry(unknown).or_default() += 1,
                        None => edges.dangling += 1,
                    }
                }
            }
        }
        Some(edges)
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
    let linking = Linking { spans: &spans, opening, steps, problems };
    // Of packets there are so many that their ids are read only where Flow names them; mostly the first rows tell.
    let packets = linking.begins_with_packets();
    let linked = linking.edges(&Nodes::new(tables, packets, problems), packets);
    let linked = linked.or_else(|Unforeseen| linking.edges(&Nodes::new(tables, true, problems), true));
    let (node_tables, kinds, pieces) = linked.ok()?;
    report(&pieces, first.path.clone(), problems);
    steps.step("linking dependencies");
    let edges = pieces.iter().map(|p| store::graph::Edges { from: &p.from, to: &p.to, kinds: &p.kinds });
    Some(Graph::of_pieces(node_tables, kinds, &edges.collect::<Vec<_>>()))
}

/// Packets were named that nobody looked for.
struct Unforeseen;

/// The tables of the nodes, the kinds of edges, and the edges.
type Linked = (Vec<(String, u32)>, Vec<String>, Vec<Edges>);

/// The reading of Flow.
struct Linking<'a> {
    spans: &'a [(&'a TableFile, Span)],
    opening: &'a Opening<'a>,
    steps: &'a Steps<'a>,
    problems: &'a Mutex<Vec<Problem>>,
}

impl Linking<'_> {
    fn begins_with_packets(&self) -> bool {
        let Some((file, span)) = self.spans.first() else { return false };
        let Ok((batch, _)) = file.read(*span, &["in_table", "out_table"]) else { return false };
        let names = |name| column(&batch, name).and_then(|c| texts(c.as_ref()));
        ["in_table", "out_table"].into_iter().filter_map(names).any(|names| names_packets(&names))
    }

    /// The edges between `nodes`, among which are `packets` or not.
    fn edges(&self, nodes: &Nodes, packets: bool) -> Result<Linked, Unforeseen> {
        let kinds = Dictionary::starting_with(String::new());
        let unforeseen = AtomicBool::new(false);
        let read = |(file, span): &(&TableFile, Span)| {
            if self.opening.cancelled() || unforeseen.load(Ordering::Relaxed) {
                return None;
            }
            let wanted = ["in_id", "out_id", "in_table", "out_table", "dependency_type"];
            let batch = super::read_or_note(file, *span, &wanted, self.problems);
            self.steps.done(span.rows as u64, "Flow");
            let batch = batch?;
            let text = |name: &str| column(&batch, name).and_then(|c| texts(c.as_ref()));
            let (in_tables, out_tables) = (text("in_table")?, text("out_table")?);
            if !packets && (names_packets(&in_tables) || names_packets(&out_tables)) {
                unforeseen.store(true, Ordering::Relaxed);
                return None;
            }
            nodes.edges(&batch, (&in_tables, &out_tables), text("dependency_type"), &kinds)
        };
        // One by one, so that no thread is left with many at the end.
        let pieces = self.spans.par_iter().with_max_len(1).filter_map(read).collect();
        if unforeseen.into_inner() { Err(Unforeseen) } else { Ok((nodes.tables.clone(), kinds.entries(), pieces)) }
    }
}

fn names_packets(names: &Texts) -> bool {
    names.entries.iter().any(|name| PACKETS.contains(&name.trim().to_ascii_lowercase().as_str()))
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
