//! Dependencies: those that the compiler recorded, those between instructions that share a PSUM bank, and those between
//! transfers and the instructions that start them or wait for them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::RawCapture;
use super::rows::{EdgeKind, Node, RawEdge, RawInstruction, RawWord};
use crate::source::neff::Neff;

/// An end may come this much after the start of what waited for it and still have met the condition: the clocks of DMA
/// engines and cores agree to well under this.
const TOLERANCE_PS: i64 = 300_000;

/// Recorded edges kept per instruction or transfer on average; real programs have fewer than ten, damaged files could name
/// more than fit into memory.
const EDGES_PER_NODE: usize = 200;

/// All edges of a capture, and what went wrong.
pub(super) fn all(capture: &RawCapture, neff: Option<&Neff>) -> (Vec<RawEdge>, Option<String>) {
    let mut edges = vec![];
    let complete = neff.map_or(Ok(()), |neff| recorded(capture, neff, &mut edges));
    same_psum_bank(capture, &mut edges);
    transfers(capture, &mut edges);
    let key = |edge: &RawEdge| (edge.successor, edge.predecessor, edge.kind);
    edges.sort_unstable_by_key(key);
    edges.dedup_by_key(|edge| key(edge));
    (edges, complete.err())
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
    words: Vec<Vec<u32>>,
    /// Transfers of the static block.
    transfers: Vec<u32>,
}

/// Edges of the debug levels: every word of one BIR instruction depends on every word of the others. Where words ran
/// several times, an execution depends on the last one before it.
fn recorded(capture: &RawCapture, neff: &Neff, edges: &mut Vec<RawEdge>) -> Result<(), String> {
    let graphs: Vec<_> = capture.cores.iter().map(|core| neff.graph(&core.name)).collect();
    let mut executed: Vec<FxHashMap<u64, Executed>> = graphs.iter().map(|_| FxHashMap::default()).collect();
    let mut places: FxHashMap<u32, usize> = FxHashMap::default();
    for (index, row) in capture.instructions.iter().enumerate() {
        let Some(bir) = capture.words[row.word as usize].raw_bir_id else { continue };
        let words = &mut executed[usize::from(row.pcore_idx)].entry(bir).or_default().words;
        let place = *places.entry(row.word).or_insert_with(|| {
            words.push(vec![]);
            words.len() - 1
        });
        words[place].push(index as u32);
    }
    let named = graphs.iter().map(|graph| {
        let blocks = graph.iter().flat_map(|graph| &graph.bir).filter(|(_, entry)| entry.is_dma_block);
        blocks.map(|(id, entry)| (entry.entry.name.as_str(), *id)).collect()
    });
    let named: Vec<FxHashMap<&str, u64>> = named.collect();
    for (index, transfer) in capture.dma_transfers.iter().enumerate() {
        let core = usize::from(transfer.pcore_idx);
        if let Some(id) = named[core].get(capture.transfer_plans[transfer.plan as usize].bir_name.as_str()) {
            executed[core].entry(*id).or_default().transfers.push(index as u32);
        }
    }
    let limit = EDGES_PER_NODE.saturating_mul(capture.instructions.len() + capture.dma_transfers.len() + 1000);
    for (executed, graph) in executed.iter().zip(graphs) {
        for (bir, successors) in executed {
            let Some(entry) = graph.and_then(|graph| graph.bir.get(bir)) else { continue };
            for (id, kind) in &entry.dependencies {
                let Some(predecessors) = executed.get(id) else { continue };
                for successor in successors.nodes() {
                    if edges.len() > limit {
                        return Err(format!(
                            "the debug information names over {limit} dependencies; the rest is left out"
                        ));
                    }
                    for predecessor in predecessors.before(capture, successor) {
                        edges.push(capture.edge(predecessor, successor, EdgeKind::Compiler(*kind)));
                    }
                }
            }
        }
    }
    Ok(())
}

impl Executed {
    fn nodes(&self) -> impl Iterator<Item = Node> {
        let instructions = self.words.iter().flatten().copied().map(Node::Instruction);
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
        let words = self.words.iter().filter_map(move |rows| last(rows, Node::Instruction));
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
    let mut last: Vec<[Option<BankUse>; 8]> = vec![[None; 8]; capture.cores.len()];
    for (index, row) in capture.instructions.iter().enumerate() {
        let word = &capture.words[row.word as usize];
        let used = word.psum_read_banks | word.psum_write_banks;
        if used == 0 {
            continue;
        }
        let banks = &mut last[usize::from(row.pcore_idx)];
        let first_edge = edges.len();
        for (bank, before) in banks.iter_mut().enumerate().filter(|(bank, _)| used >> bank & 1 != 0) {
            let wrote = word.psum_write_banks >> bank & 1 != 0;
            let now = BankUse { instruction: index as u32, wrote };
            let Some(before) = before.replace(now) else { continue };
            let earlier = &capture.words[capture.instructions[before.instruction as usize].word as usize];
            if !(wrote || before.wrote) || continues(earlier, word) {
                continue;
            }
            let predecessor = Node::Instruction(before.instruction);
            match edges[first_edge..].iter_mut().find(|edge| edge.predecessor == predecessor) {
                Some(RawEdge { kind: EdgeKind::SamePsumBank(banks), .. }) => *banks |= 1 << bank,
                _ => {
                    let kind = EdgeKind::SamePsumBank(1 << bank);
                    edges.push(capture.edge(predecessor, Node::Instruction(index as u32), kind));
                }
            }
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
