//! Dependencies: those that the compiler recorded, those between instructions that share a PSUM bank, and those between
//! transfers and the instructions that start them or wait for them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::RawCapture;
use super::rows::{EdgeKind, Node, RawEdge, RawInstruction, RawWord};
use crate::source::neff::Neff;

/// An end may come this much after the start of what waited for it and still have met the condition: the clocks of DMA
/// engines and cores agree to well under this.
const TOLERANCE_PS: i64 = 300_000;

/// Adds all edges to a capture.
pub(super) fn add(capture: &mut RawCapture, neff: Option<&Neff>) {
    let mut edges = vec![];
    if let Some(neff) = neff {
        recorded(capture, neff, &mut edges);
    }
    same_psum_bank(capture, &mut edges);
    transfers(capture, &mut edges);
    let key = |edge: &RawEdge| (edge.successor, edge.predecessor, edge.kind);
    edges.sort_unstable_by_key(key);
    edges.dedup_by_key(|edge| key(edge));
    capture.edges = edges;
}

impl RawCapture {
    fn edge(&self, predecessor: Node, successor: Node, kind: EdgeKind) -> RawEdge {
        let times = |node: Node| match node {
            Node::Instruction(index) => self.instructions[index as usize].times,
            Node::Transfer(index) => self.dma_transfers[index as usize].times,
        };
        let gap_ps = times(successor).start_ps.saturating_sub(times(predecessor).end_ps);
        RawEdge { predecessor, successor, kind, gap_time: gap_ps.div_euclid(1000) }
    }
}

/// What executed the words of one BIR instruction.
#[derive(Default)]
struct Executed {
    /// Instructions by word, each in the order of their starts.
    words: Vec<(u32, Vec<u32>)>,
    /// Transfers of the static block.
    transfers: Vec<u32>,
}

/// Edges of the debug levels: every word of one BIR instruction depends on every word of the others. Where words ran
/// several times, an execution depends on the last one before it.
fn recorded(capture: &RawCapture, neff: &Neff, edges: &mut Vec<RawEdge>) {
    for (pcore_idx, core) in capture.cores.iter().enumerate() {
        let Some(graph) = neff.graph(&core.name) else { continue };
        let mut executed: FxHashMap<u64, Executed> = FxHashMap::default();
        let mut word_places: FxHashMap<u32, (u64, usize)> = FxHashMap::default();
        let rows = capture.instructions.iter().enumerate();
        for (index, row) in rows.filter(|(_, row)| usize::from(row.pcore_idx) == pcore_idx) {
            let Some(bir) = capture.words[row.word as usize].raw_bir_id else { continue };
            let entry = executed.entry(bir).or_default();
            let (_, place) = *word_places.entry(row.word).or_insert_with(|| {
                entry.words.push((row.word, vec![]));
                (bir, entry.words.len() - 1)
            });
            entry.words[place].1.push(index as u32);
        }
        let blocks: FxHashMap<&str, u64> = {
            let named = graph.bir.iter().filter(|(_, entry)| entry.is_dma_block);
            named.map(|(id, entry)| (entry.entry.name.as_str(), *id)).collect()
        };
        for (index, transfer) in capture.dma_transfers.iter().enumerate() {
            let name = capture.transfer_plans[transfer.plan as usize].bir_name.as_str();
            if let Some(id) = blocks.get(name).filter(|_| usize::from(transfer.pcore_idx) == pcore_idx) {
                executed.entry(*id).or_default().transfers.push(index as u32);
            }
        }
        for (bir, successors) in &executed {
            let Some(entry) = graph.bir.get(bir) else { continue };
            for (id, kind) in &entry.dependencies {
                let Some(predecessors) = executed.get(id) else { continue };
                for successor in successors.nodes() {
                    for predecessor in predecessors.before(capture, successor) {
                        edges.push(capture.edge(predecessor, successor, EdgeKind::Compiler(*kind)));
                    }
                }
            }
        }
    }
}

impl Executed {
    fn nodes(&self) -> impl Iterator<Item = Node> {
        let instructions = self.words.iter().flat_map(|(_, rows)| rows).copied().map(Node::Instruction);
        instructions.chain(self.transfers.iter().copied().map(Node::Transfer))
    }

    /// Of each word, and of the block, the execution that `successor` depends on.
    fn before(&self, capture: &RawCapture, successor: Node) -> impl Iterator<Item = Node> {
        let start = |node: Node| match node {
            Node::Instruction(index) => capture.instructions[index as usize].times.start_ps,
            Node::Transfer(index) => capture.dma_transfers[index as usize].times.start_ps,
        };
        let at = start(successor);
        let last = move |list: &[u32], node: fn(u32) -> Node| {
            let before = list.partition_point(|index| start(node(*index)) <= at);
            let only = (list.len() == 1).then_some(0);
            only.or(before.checked_sub(1)).map(|place| node(list[place]))
        };
        let words = self.words.iter().filter_map(move |(_, rows)| last(rows, Node::Instruction));
        words.chain(last(&self.transfers, Node::Transfer)).filter(move |node| *node != successor)
    }
}

/// The last access of each bank.
#[derive(Clone, Copy)]
struct BankUse {
    instruction: u32,
    wrote: bool,
}

/// Neighbours in the use of a bank of which at least one writes, unless the later one continues the accumulation that
/// the earlier one is part of.
fn same_psum_bank(capture: &RawCapture, edges: &mut Vec<RawEdge>) {
    let mut last: FxHashMap<(u16, u8), BankUse> = FxHashMap::default();
    for (index, row) in capture.instructions.iter().enumerate() {
        let word = &capture.words[row.word as usize];
        let (read, written) = (word.psum_read_banks, word.psum_write_banks);
        let mut linked: FxHashMap<u32, u8> = FxHashMap::default();
        for bank in (0..8).filter(|bank| (read | written) >> bank & 1 != 0) {
            let wrote = written >> bank & 1 != 0;
            let now = BankUse { instruction: index as u32, wrote };
            let Some(before) = last.insert((row.pcore_idx, bank), now) else { continue };
            let earlier = &capture.words[capture.instructions[before.instruction as usize].word as usize];
            if (wrote || before.wrote) && !continues(earlier, word) {
                *linked.entry(before.instruction).or_default() |= 1 << bank;
            }
        }
        for (before, banks) in linked {
            let (predecessor, successor) = (Node::Instruction(before), Node::Instruction(index as u32));
            edges.push(capture.edge(predecessor, successor, EdgeKind::SamePsumBank(banks)));
        }
    }
}

/// Whether `later` adds to what `earlier` accumulates.
fn continues(earlier: &RawWord, later: &RawWord) -> bool {
    let target = |word: &RawWord| word.accesses.iter().find(|access| access.write).map(|access| access.range.clone());
    later.starts_accumulation == Some(false)
        && earlier.starts_accumulation.is_some()
        && target(earlier).is_some_and(|range| target(later) == Some(range))
}

/// Transfers follow the instruction that started them, and precede those that wait for their semaphore: of the transfers
/// that had raised it by then the last one is meant.
fn transfers(capture: &RawCapture, edges: &mut Vec<RawEdge>) {
    let mut by_semaphore: FxHashMap<(u16, u8), Vec<u32>> = FxHashMap::default();
    for (index, transfer) in capture.dma_transfers.iter().enumerate() {
        let (from, to) = (Node::Instruction(transfer.trigger), Node::Transfer(index as u32));
        edges.push(capture.edge(from, to, EdgeKind::DmaTrigger));
        for semaphore in &capture.transfer_plans[transfer.plan as usize].semaphores {
            by_semaphore.entry((transfer.pcore_idx, *semaphore)).or_default().push(index as u32);
        }
    }
    let acknowledged = |index: &u32| capture.dma_transfers[*index as usize].ack_ps;
    for list in by_semaphore.values_mut() {
        list.sort_by_key(acknowledged);
    }
    let mut seen = FxHashSet::default();
    for (index, row) in capture.instructions.iter().enumerate() {
        for wait in capture.words[row.word as usize].sync.waits.iter().filter(|wait| wait.mode != 7) {
            let Some(list) = by_semaphore.get(&(row.pcore_idx, wait.id)) else { continue };
            let ended = list.partition_point(|transfer| acknowledged(transfer) <= met_by(row));
            if let Some(transfer) = ended.checked_sub(1).map(|place| list[place])
                && seen.insert((index, transfer))
            {
                let (from, to) = (Node::Transfer(transfer), Node::Instruction(index as u32));
                edges.push(capture.edge(from, to, EdgeKind::DmaWait));
            }
        }
    }
}

/// When at the latest a condition of an instruction was met. Waits are mostly no spans, but an instruction that only
/// waits can span its wait.
fn met_by(row: &RawInstruction) -> i64 {
    row.times.start_ps.saturating_add(TOLERANCE_PS).max(row.times.end_ps)
}
