//! Collective operations, the instructions of the collectives cores, and the barriers between cores.

use crate::demo::chip;
use crate::demo::profile::{Profile, compiler_engine, compiler_operands};
use crate::demo::program::{Collective, Span};
use crate::demo::schedule::Run;
use crate::demo::table::Table;

/// Ranks of the job that take part.
const RANKS: i64 = 8;
/// What a collectives core does in one operation, with the share of the time (in 24ths) at which each part ends.
const PARTS: [(&str, i64); 6] = [
    ("WAIT_SEMAPHORE", 3),
    ("DMA_ADVANCE", 10),
    ("SIGNAL_PEER", 11),
    ("WAIT_PEER", 15),
    ("DMA_ADVANCE", 22),
    ("SIGNAL_PEER", 24),
];

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    let stream = Table::new("CcStream")
        .col("stream_id", [chip::CC_STREAM])
        .col("stream_index", [0_i64])
        .col("cc_core_ids", [format!("{:?}", chip::CC_CORES).replace(' ', "")]);
    vec![operations(p), instructions(p), stream, barriers(p)]
}

fn operations(p: &Profile) -> Table {
    let rows: Vec<(&Run, usize, &Collective)> =
        p.runs.iter().flat_map(|r| p.program.collectives.iter().enumerate().map(move |(n, c)| (r, n, c))).collect();
    let rows = || rows.iter().copied();
    let rate = |r: &Run, n: usize, c: &Collective| {
        let (start, end) = r.collectives[n];
        c.bytes as f64 * 1e9 / (end - start) as f64
    };
    let ranks: Vec<String> = (0..RANKS).map(|r| r.to_string()).collect();
    let group = format!("[[{}]]", ranks.join(", "));
    Table::new("CcOp")
        .col("start_ts", rows().map(|(r, n, _)| r.collectives[n].0))
        .col("end_ts", rows().map(|(r, n, _)| r.collectives[n].1))
        .col("duration_ns", rows().map(|(r, n, _)| r.collectives[n].1 - r.collectives[n].0))
        .col("operation", rows().map(|(.., c)| c.operation))
        .col("algorithm", rows().map(|_| "Mesh"))
        .col("num_elements", rows().map(|(.., c)| c.bytes / 2))
        .col("dtype", rows().map(|_| "bfloat16"))
        .col("op_id", rows().map(|(_, n, _)| n as i64))
        .col("stream_id", rows().map(|_| chip::CC_STREAM))
        .col("stream_index", rows().map(|_| 0_i64))
        .col("trigger_engine", rows().map(|(.., c)| compiler_engine(p.program.instrs[c.trigger].engine)))
        .col("input_size", rows().map(|(.., c)| Some(c.bytes)))
        .col("output_size", rows().map(|(.., c)| Some(c.bytes)))
        .col("algorithm_bandwidth", rows().map(|(r, n, c)| Some(rate(r, n, c) as f32)))
        // Of an AllReduce over n ranks every link carries 2 (n - 1) / n of the data.
        .col(
            "bus_bandwidth",
            rows().map(|(r, n, c)| Some((rate(r, n, c) * 2.0 * (RANKS - 1) as f64 / RANKS as f64) as f32)),
        )
        .col("trigger_start_ts", rows().map(|(r, _, c)| Some(r.instrs[c.trigger].0)))
        .col("cc_trigger_start_delay", rows().map(|(r, n, c)| Some(r.collectives[n].0 - r.instrs[c.trigger].0)))
        .col("replica_group_id", rows().map(|_| Some(0_i64)))
        .col("replica_group", rows().map(|_| Some(group.clone())))
}

/// One part of an operation on one collectives core.
pub(super) struct CcInstruction {
    pub span: Span,
    core: i64,
    part: &'static str,
    trigger: i64,
}

pub(super) fn cc_instructions(p: &Profile) -> Vec<CcInstruction> {
    let mut rows = Vec::new();
    for run in &p.runs {
        for (n, c) in p.program.collectives.iter().enumerate() {
            let (start, end) = run.collectives[n];
            let trigger = run.instrs[c.trigger].0;
            for (n, core) in chip::CC_CORES.into_iter().enumerate() {
                let mut from = 0;
                for (part, until) in PARTS {
                    let at = |share: i64| start + (end - start) * share / 24;
                    // The cores of a pair start a moment after each other and rest briefly after each part.
                    let span = (at(from) + 9 * n as i64, at(until) - 30);
                    rows.push(CcInstruction { span, core, part, trigger });
                    from = until;
                }
            }
        }
    }
    rows
}

fn instructions(p: &Profile) -> Table {
    let rows = cc_instructions(p);
    let rows = || rows.iter();
    Table::new("CcInstruction")
        .col("start_ts", rows().map(|c| c.span.0))
        .col("end_ts", rows().map(|c| c.span.1))
        .col("duration_ns", rows().map(|c| c.span.1 - c.span.0))
        .col("core_idx", rows().map(|c| c.core))
        .col("description", rows().map(|c| c.part))
        .col("trigger_engine", rows().map(|_| Some("Pool")))
        .col("trigger_start_ts", rows().map(|c| Some(c.trigger)))
}

fn barriers(p: &Profile) -> Table {
    let members: Vec<usize> = p.program.barriers.concat();
    let rows: Vec<(&Run, usize)> = p.runs.iter().flat_map(|r| members.iter().map(move |i| (r, *i))).collect();
    let rows = || rows.iter().copied();
    let instr = |i: usize| &p.program.instrs[i];
    Table::new("CoreBarriers")
        .col("start_ts", rows().map(|(r, i)| r.instrs[i].0))
        .col("end_ts", rows().map(|(r, i)| r.instrs[i].1))
        .col("duration_ns", rows().map(|(r, i)| r.instrs[i].1 - r.instrs[i].0))
        .col("engine_name", rows().map(|(_, i)| instr(i).engine.name()))
        .col("id", rows().map(|(r, i)| p.instr_id(r, i)))
        .col("semaphore", rows().map(|_| 9_i64))
        .col("compiler_pc", rows().map(|(_, i)| p.compiler_pc(i)))
        .col("compiler_opcode", rows().map(|_| "PSEUDO_CORE_BARRIER"))
        .col("compiler_operands", rows().map(|(_, i)| compiler_operands(instr(i))))
        .col("pcore_idx", rows().map(|(_, i)| Some(instr(i).core as i64)))
}
