//! Instruction: one row per executed instruction.

use crate::demo::ops::Site;
use crate::demo::profile::{Profile, compiler_operands, operands, track};
use crate::demo::program::Instr;
use crate::demo::rng::mix;
use crate::demo::schedule::spans_its_wait;
use crate::demo::sources::{self, Mark};
use crate::demo::table::Table;
use crate::demo::tables::kernels::{Frames, kernel_instruction};

pub(super) fn instruction(p: &Profile, frames: &Frames) -> Table {
    let timing = timing(p, Table::new("Instruction"));
    let names = names(p, timing, frames);
    amounts(p, names)
}

fn timing(p: &Profile, table: Table) -> Table {
    let rows = || p.instrs();
    table
        .col("start_ts", rows().map(|(r, i, _)| r.instrs[i].0))
        .col("end_ts", rows().map(|(r, i, _)| r.instrs[i].1))
        .col("duration_ns", rows().map(|(r, i, _)| r.instrs[i].1 - r.instrs[i].0))
        .col("engine", rows().map(|(.., x)| x.engine.name()))
        .col("timeline_track", rows().map(|(.., x)| Some(track(x))))
        .col("pcore_idx", rows().map(|(.., x)| Some(x.core as i64)))
        .col("opcode", rows().map(|(.., x)| x.opcode))
        .col("operands", rows().map(|(.., x)| operands(x)))
        .col("compiler_opcode", rows().map(|(.., x)| x.compiler_opcode))
        .col("compiler_operands", rows().map(|(.., x)| x.compiler_opcode.map(|_| compiler_operands(x))))
        .col("id", rows().map(|(r, i, _)| p.instr_id(r, i)))
        .col("pc", rows().map(|(_, i, _)| p.pc[i]))
        .col("compiler_pc", rows().map(|(_, i, x)| x.compiler_opcode.map(|_| p.compiler_pc(i))))
        .col(
            "evt_wait_time_ns",
            rows().map(|(r, i, x)| {
                let (start, end) = r.instrs[i];
                Some(if spans_its_wait(x) { (end - start - x.duration).max(0) } else { start - r.ready[i] })
            }),
        )
        .col("dma_trigger_start_ts", rows().map(|(r, _, x)| x.transfer.map(|t| r.transfers[t].0)))
        .col("dma_trigger_end_ts", rows().map(|(r, _, x)| x.transfer.map(|t| r.transfers[t].1)))
        .col("dma_wait_time_ns", rows().map(|(r, i, x)| x.transfer.map(|t| (r.transfers[t].0 - r.instrs[i].1).max(0))))
}

fn names(p: &Profile, table: Table, frames: &Frames) -> Table {
    let rows = || p.instrs();
    let site = |f: &dyn Fn(Site) -> String| rows().map(|(.., x)| x.site.map(f)).collect::<Vec<_>>();
    let place = |x: &Instr, wanted: &dyn Fn(&Mark) -> bool| {
        x.site.map(|s| sources::mark(s.op().mark)).filter(|m| wanted(m)).map(Mark::location)
    };
    table
        .col("penguin_id", rows().map(|(.., x)| x.statement.map(|s| format!("{}:{s}", subgraph(x)))))
        .col("raw_penguin_id", rows().map(|(.., x)| x.statement))
        .col("bir_id", rows().map(|(_, i, x)| bir_id(p, i, x)))
        .col("raw_bir_id", rows().map(|(.., x)| raw_bir_id(x)))
        .col("bir_instruction_name", rows().map(|(.., x)| bir_name(x)))
        .col("kernel_instruction_name", rows().map(|(.., x)| kernel_instruction(x)))
        .col("crc_in", rows().map(|(_, i, _)| Some((mix(i as u64) & 0xffff) as i64)))
        .col("crc_out", rows().map(|(_, i, _)| Some((mix(!(i as u64)) & 0xffff) as i64)))
        .col("hlo_attrs", site(&Site::hlo_attributes))
        .col("hlo_name", site(&Site::hlo_name))
        .col("raw_hlo_id", rows().map(|(.., x)| x.site.map(Site::hlo_id)))
        .col("raw_framework_id", rows().map(|(.., x)| x.site.map(Site::framework_id)))
        .col("layer", site(&Site::path))
        .col("stack_frame_ids", site(&|s| format!("[{}]", frames.leaf(s.op().mark))))
        .col("nki_source_location", rows().map(|(.., x)| place(x, &Mark::in_kernel)))
        .col("bir_debug_info_source_location", rows().map(|(.., x)| place(x, &|_| true)))
        .col("instruction_chain", rows().map(|(.., x)| x.chain.clone()))
}

fn amounts(p: &Profile, table: Table) -> Table {
    let number = |f: &dyn Fn(&Instr) -> i64| p.instrs().map(|(.., x)| Some(f(x))).collect::<Vec<_>>();
    let bank = |b: Option<usize>| b.map_or(Vec::new(), |b| vec![b as i64]);
    let kind = |x: &Instr| x.is_matmul().then_some(if x.transpose { "TRANSPOSE" } else { "REGULAR" });
    let turned = |x: &Instr, amount: i64| if x.transpose { amount } else { 0 };
    table
        .col("hbm_read_bytes", number(&|x| x.traffic.hbm_read))
        .col("hbm_write_bytes", number(&|x| x.traffic.hbm_write))
        .col("sbuf_read_bytes", number(&|x| x.traffic.sbuf_read))
        .col("sbuf_write_bytes", number(&|x| x.traffic.sbuf_write))
        .col("spill_save_bytes", number(&|x| x.traffic.spill_save))
        .col("spill_reload_bytes", number(&|x| x.traffic.spill_reload))
        .col("psum_read_bytes", number(&|x| x.traffic.psum_read))
        .col("psum_write_bytes", number(&|x| x.traffic.psum_write))
        .col("psum_read_sbuf_write_bytes", number(&|x| x.traffic.psum_to_sbuf))
        .col("input_queue_bytes", number(&|x| x.traffic.input))
        .col("output_queue_bytes", number(&|x| x.traffic.output))
        .col("weight_queue_bytes", number(&|x| x.traffic.weight))
        .col("performance_mode", p.instrs().map(|(.., x)| x.performance))
        .col("tensor_instruction_type", p.instrs().map(|(.., x)| kind(x)))
        .col("tensor_elements", number(&|x| x.elements))
        .col("raw_flops", number(&|x| x.flops))
        .col("adjusted_flops", number(&|x| x.flops))
        .col("tensor_elements_transpose", number(&|x| turned(x, x.elements)))
        .col("flops_transpose", number(&|x| turned(x, x.flops)))
        .col("adjusted_flops_transpose", number(&|x| turned(x, x.flops)))
        .col("scalar_activation_fn", p.instrs().map(|(.., x)| x.activation))
        .col("psum_read_banks", p.instrs().map(|(.., x)| bank(x.bank_read)))
        .col("psum_write_banks", p.instrs().map(|(.., x)| bank(x.bank_write)))
        .col("symbolic_operands", p.instrs().map(|(.., x)| x.symbols.clone()))
}

fn subgraph(instr: &Instr) -> String {
    format!("sg{:04}", instr.core)
}

/// What the runtime added is numbered behind the compiler's instructions.
fn bir_id(p: &Profile, index: usize, instr: &Instr) -> String {
    let number = instr.bir.map_or(p.program.instrs.len() as i64 + p.pc[index], |(bir, _)| bir);
    format!("{}:{number}", subgraph(instr))
}

/// Back-end numbers are per core; the core is kept in the high half.
pub(super) fn raw_bir_id(instr: &Instr) -> Option<i64> {
    instr.bir.map(|(bir, _)| ((instr.core as i64) << 32) | bir)
}

/// `I-83-1_sg0001`.
pub(super) fn bir_name(instr: &Instr) -> Option<String> {
    let (_, rank) = instr.bir?;
    Some(format!("I-{}-{rank}_{}", instr.statement?, subgraph(instr)))
}
