//! Flow and SemaphoreUpdate: what depends on what, and the signals that carry it.

use std::collections::BTreeSet;

use crate::demo::chip;
use crate::demo::profile::{Profile, own_semaphore};
use crate::demo::program::{Handshake, Kind, Node};
use crate::demo::schedule::Run;
use crate::demo::table::Table;

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    vec![flow(p), semaphores(p)]
}

fn flow(p: &Profile) -> Table {
    let mut rows: Vec<(&Run, Node, Node, Kind)> = Vec::new();
    for run in &p.runs {
        rows.extend(p.program.edges.iter().map(|(from, to, kind)| (run, *from, *to, *kind)));
        rows.extend(same_bank(p, run).into_iter().map(|(a, b)| (run, Node::Instr(a), Node::Instr(b), Kind::SameBank)));
    }
    let table_of = |node: Node| if matches!(node, Node::Dma(_)) { "dma_block" } else { "instruction" };
    let rows = || rows.iter().copied();
    Table::new("Flow")
        .col("in_id", rows().map(|(r, a, ..)| p.node_id(r, a)))
        .col("out_id", rows().map(|(r, _, b, _)| p.node_id(r, b)))
        .col("in_table", rows().map(|(_, a, ..)| table_of(a)))
        .col("out_table", rows().map(|(_, _, b, _)| table_of(b)))
        .col(
            "dependency_type",
            rows().map(|(.., kind)| match kind {
                Kind::Flow => Some("FLOW_DEPENDENCE"),
                Kind::Anti => Some("ANTI_DEPENDENCE"),
                Kind::Output => Some("OUTPUT_DEPENDENCE"),
                Kind::SameBank => Some("SAME_PSUM_BANK"),
                Kind::Trigger => None,
            }),
        )
        .col("gap_time", rows().map(|(r, a, b, _)| Some(r.span(b).0 - r.span(a).1)))
}

/// Neighbouring uses of a PSUM bank of which at least one writes, unless the later one goes on with the earlier
/// one's accumulation. These are the vendor's three rules for its Same PSUM Bank dependencies.
pub(super) fn same_bank(p: &Profile, run: &Run) -> Vec<(usize, usize)> {
    let mut uses: Vec<(usize, usize, i64, usize)> = Vec::new();
    for (index, instr) in p.program.instrs.iter().enumerate() {
        for bank in instr.bank_read.iter().chain(&instr.bank_write) {
            uses.push((instr.core, *bank, run.instrs[index].0, index));
        }
    }
    uses.sort_unstable();
    let mut pairs = Vec::new();
    for pair in uses.windows(2) {
        let ((core, bank, _, a), (next_core, next_bank, _, b)) = (pair[0], pair[1]);
        let (earlier, later) = (&p.program.instrs[a], &p.program.instrs[b]);
        let wrote = earlier.bank_write.is_some() || later.bank_write.is_some();
        if (core, bank) == (next_core, next_bank) && wrote && !later.continues {
            pairs.push((a, b));
        }
    }
    pairs
}

/// One change of a semaphore.
struct Update {
    at: i64,
    semaphore: usize,
    value: i64,
    source: &'static str,
    /// Absent for a zeroed range, which the profiler does not name.
    operation: Option<&'static str>,
}

fn updates(p: &Profile, run: &Run) -> Vec<Update> {
    let used: BTreeSet<usize> = p.program.instrs.iter().filter_map(|i| i.wait).map(|w| w.semaphore).collect();
    let mut updates = Vec::new();
    for (index, instr) in p.program.instrs.iter().enumerate() {
        let (at, source) = (run.instrs[index].1, instr.engine.name());
        let shared = instr.core * chip::SEMAPHORES + chip::RUNTIME_SEMAPHORE;
        let passed_on = match instr.handshake {
            Some(Handshake::PassOn(value)) => Some((shared, value)),
            _ => None,
        };
        let own = instr.increment.map(|value| (own_semaphore(instr), value));
        for (semaphore, value) in passed_on.into_iter().chain(own) {
            updates.push(Update { at, semaphore, value, source, operation: Some("sem_inc") });
        }
        if instr.opcode == "EVENT_SEMAPHORE_RANGE_CLEAR" {
            let (first, last) = chip::cleared(instr.engine);
            for semaphore in used.range(instr.core * chip::SEMAPHORES..(instr.core + 1) * chip::SEMAPHORES) {
                if (first..=last).contains(&(semaphore % chip::SEMAPHORES)) {
                    updates.push(Update { at, semaphore: *semaphore, value: 0, source, operation: None });
                }
            }
        }
    }
    for (n, t) in p.program.transfers.iter().enumerate() {
        let (at, semaphore, value) = (run.done[n], t.semaphore, t.value);
        updates.push(Update { at, semaphore, value, source: "AXI", operation: Some("sem_add_imm") });
    }
    for core in 0..chip::CORES {
        for (n, c) in p.program.collectives.iter().enumerate() {
            let (at, semaphore) = (run.collectives[n].1, core * chip::SEMAPHORES + chip::CC_SEMAPHORE);
            updates.push(Update { at, semaphore, value: c.value, source: "AXI", operation: Some("sem_inc") });
        }
        for (n, at) in run.barriers.iter().enumerate() {
            let (at, semaphore) = (*at, core * chip::SEMAPHORES + chip::BARRIER_SEMAPHORE);
            let value = 16 * (n as i64 + 1);
            updates.push(Update { at, semaphore, value, source: "GpSimd", operation: Some("sem_add_imm") });
        }
    }
    updates.sort_by_key(|u| (u.at, u.semaphore, u.value));
    updates
}

fn semaphores(p: &Profile) -> Table {
    let rows: Vec<Update> = p.runs.iter().flat_map(|run| updates(p, run)).collect();
    let rows = || rows.iter();
    Table::new("SemaphoreUpdate")
        .col("timestamp", rows().map(|u| u.at))
        .col("id", rows().map(|u| chip::semaphore_name(u.semaphore)))
        .col("value", rows().map(|u| u.value as i32))
        .col("update_source", rows().map(|u| Some(u.source)))
        .col("double_set_or_clear", rows().map(|_| Some(false)))
        .col("update_mode", rows().map(|u| u.operation.map(|o| if o == "sem_inc" { 1_i32 } else { 3 })))
        .col("update_operation_type", rows().map(|u| u.operation))
        .col("update_trigger_timing", rows().map(|_| Some("complete")))
        .col("pcore_idx", rows().map(|u| Some((u.semaphore / chip::SEMAPHORES) as i64)))
}
