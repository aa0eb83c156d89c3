//! Columns of `Instruction`.

use super::{Column, MERGED_OF, end_of, int, integer, maybe, merged_of, text, unknown, word};
use crate::model::Value;
use crate::source::neff::{KernelInstruction, Kernels};
use crate::source::raw::{RawCapture, RawInstruction, RawWord};
use crate::store::ColumnKind;

fn row(capture: &RawCapture, row: usize) -> &RawInstruction {
    &capture.instructions[row]
}

fn code(capture: &RawCapture, row: usize) -> &RawWord {
    &capture.words[capture.instructions[row].word as usize]
}

/// Something about the kernel's instruction that this one is of.
fn written(capture: &RawCapture, row: usize, about: impl Fn(&Kernels, &KernelInstruction) -> String) -> Value {
    let index = code(capture, row).kernel_instruction;
    let found = index.and_then(|index| capture.kernels.instructions.get(index as usize));
    found.map_or(Value::Null, |found| word(&about(&capture.kernels, found)))
}

/// The name as the schema has it: `inst.72:0`, with the id in the penguin level.
fn kernel_name(instruction: &KernelInstruction, code: &RawWord) -> String {
    match code.raw_penguin_id {
        Some(id) => format!("{}:{id}", instruction.name),
        None => instruction.name.to_string(),
    }
}

/// The banks of a mask: `[0, 6]`.
fn banks(mask: u8) -> Value {
    let numbers: Vec<String> = (0..8).filter(|bank| mask >> bank & 1 != 0).map(|bank: u8| bank.to_string()).collect();
    Value::Text(format!("[{}]", numbers.join(", ")))
}

/// FLOPs are those of matrix multiplications; for all else there is nothing to count.
fn flops(word: &RawWord, flops: u64) -> Value {
    if word.tensor_elements == 0 { Value::Null } else { int(flops) }
}

pub(super) const INSTRUCTION: &[Column] = &[
    integer("start_ts", |c, i| Value::Int(row(c, i).times.start_ts())),
    integer("end_ts", |c, i| end_of(row(c, i).times)),
    integer("duration_ns", |c, i| int(row(c, i).times.duration_ns())),
    text("engine", |c, i| word(&row(c, i).engine.name().to_lowercase())),
    text("timeline_track", |c, i| word(code(c, i).timeline_track())),
    integer("pcore_idx", |c, i| int(row(c, i).pcore_idx)),
    text("opcode", |c, i| word(&code(c, i).opcode)),
    text("operands", |c, i| Value::Text(code(c, i).operands.clone())),
    text("compiler_opcode", |c, i| word(&code(c, i).compiler_opcode)),
    text("compiler_operands", |c, i| word(&code(c, i).compiler_operands)),
    integer("id", |c, i| Value::Int(c.instruction_id(i as u32))),
    integer("pc", |c, i| maybe(code(c, i).pc)),
    integer("compiler_pc", |c, i| maybe(code(c, i).compiler_pc)),
    text("penguin_id", |c, i| word(&code(c, i).penguin_id)),
    integer("raw_penguin_id", |c, i| maybe(code(c, i).raw_penguin_id)),
    text("bir_id", |c, i| word(&code(c, i).bir_id)),
    integer("raw_bir_id", |c, i| maybe(code(c, i).raw_bir_id)),
    text("bir_instruction_name", |c, i| word(&code(c, i).bir_instruction_name)),
    text("kernel_instruction_name", |c, i| written(c, i, |_, row| kernel_name(row, code(c, i)))),
    integer("crc_in", |c, i| int(row(c, i).crc_in)),
    integer("crc_out", |c, i| int(row(c, i).crc_out)),
    integer("evt_wait_time_ns", |c, i| maybe(c.evt_wait_time_ns(row(c, i)))),
    text("hlo_attrs", |c, i| word(&code(c, i).hlo_attrs)),
    text("hlo_name", |c, i| word(&code(c, i).hlo_name)),
    integer("raw_hlo_id", |c, i| maybe(code(c, i).raw_hlo_id)),
    integer("raw_framework_id", |c, i| maybe(code(c, i).raw_framework_id)),
    text("layer", |c, i| word(&code(c, i).layer)),
    unknown("stack_frame_ids", ColumnKind::Text),
    text("nki_source_location", |c, i| word(&code(c, i).nki_source_location)),
    unknown("bir_debug_info_source_location", ColumnKind::Text),
    unknown("dma_trigger_start_ts", ColumnKind::Integer),
    unknown("dma_trigger_end_ts", ColumnKind::Integer),
    unknown("dma_wait_time_ns", ColumnKind::Integer),
    unknown("instruction_chain", ColumnKind::Text),
    integer("hbm_read_bytes", |c, i| int(code(c, i).hbm_read_bytes)),
    integer("hbm_write_bytes", |c, i| int(code(c, i).hbm_write_bytes)),
    integer("sbuf_read_bytes", |c, i| int(code(c, i).sbuf_read_bytes)),
    integer("sbuf_write_bytes", |c, i| int(code(c, i).sbuf_write_bytes)),
    unknown("spill_save_bytes", ColumnKind::Integer),
    unknown("spill_reload_bytes", ColumnKind::Integer),
    integer("psum_read_bytes", |c, i| int(code(c, i).psum_read_bytes)),
    integer("psum_write_bytes", |c, i| int(code(c, i).psum_write_bytes)),
    integer("psum_read_sbuf_write_bytes", |c, i| int(code(c, i).psum_read_sbuf_write_bytes)),
    unknown("input_queue_bytes", ColumnKind::Integer),
    unknown("output_queue_bytes", ColumnKind::Integer),
    unknown("weight_queue_bytes", ColumnKind::Integer),
    unknown("performance_mode", ColumnKind::Text),
    text("tensor_instruction_type", |c, i| word(code(c, i).tensor_instruction_type)),
    integer("tensor_elements", |c, i| flops(code(c, i), code(c, i).tensor_elements)),
    integer("raw_flops", |c, i| flops(code(c, i), code(c, i).raw_flops())),
    unknown("adjusted_flops", ColumnKind::Integer),
    integer("tensor_elements_transpose", |c, i| flops(code(c, i), code(c, i).tensor_elements_transpose)),
    integer("flops_transpose", |c, i| flops(code(c, i), code(c, i).flops_transpose())),
    unknown("adjusted_flops_transpose", ColumnKind::Integer),
    text("scalar_activation_fn", |c, i| word(&code(c, i).scalar_activation_fn)),
    text("psum_read_banks", |c, i| banks(code(c, i).psum_read_banks)),
    text("psum_write_banks", |c, i| banks(code(c, i).psum_write_banks)),
    text("symbolic_operands", |c, i| word(&code(c, i).symbolic_operands)),
    text(MERGED_OF, |c, i| merged_of(c, row(c, i).pcore_idx)),
    // Beyond the schema, which has them in tables of their own.
    text("kernel_call_stack", |c, i| written(c, i, Kernels::call_stack)),
    text("kernel_loops", |c, i| written(c, i, Kernels::loops)),
];
