//! Columns of what NKI kernels say of themselves. Ids are counted from 1.

use super::{Column, int, integer, maybe, text, word};
use crate::model::Value;
use crate::source::neff::{KernelFrame, KernelInstruction, KernelIteration};
use crate::source::raw::RawCapture;

fn frame(capture: &RawCapture, row: usize) -> &KernelFrame {
    &capture.kernels.frames[row]
}

fn turn(capture: &RawCapture, row: usize) -> &KernelIteration {
    &capture.kernels.iterations[row]
}

fn written(capture: &RawCapture, row: usize) -> &KernelInstruction {
    &capture.kernels.instructions[row]
}

fn id(index: Option<u32>) -> Value {
    maybe(index.map(|index| i64::from(index) + 1))
}

/// 0 is a line that is not said.
fn line(line: u32) -> Value {
    maybe((line > 0).then_some(line))
}

pub(super) const INSTRUCTION: &[Column] = &[
    text("kernel_instruction_name", |c, i| word(&written(c, i).name)),
    integer("stack_frame_id", |c, i| id(written(c, i).frame)),
    integer("stack_frame_depth", |c, i| int(c.kernels.depths(written(c, i)).0 as u64)),
    integer("iteration_variables_id", |c, i| id(written(c, i).iteration)),
    integer("iteration_variable_depth", |c, i| int(c.kernels.depths(written(c, i)).1 as u64)),
    integer("pcore_idx", |c, i| maybe(written(c, i).core)),
    text("file_path", |c, i| word(c.kernels.file(written(c, i).frame))),
    integer("line_number", |c, i| line(written(c, i).line)),
];

pub(super) const FRAME: &[Column] = &[
    integer("stack_frame_id", |_, i| int(i as u64 + 1)),
    text("fully_qualified_function_name", |c, i| word(c.kernels.text(frame(c, i).name))),
    integer("parent_stack_frame_id", |c, i| id(frame(c, i).parent)),
    integer("pcore_idx", |c, i| maybe(frame(c, i).core)),
    text("file_path", |c, i| word(c.kernels.text(frame(c, i).file))),
    integer("line_number", |c, i| line(frame(c, i).line)),
];

pub(super) const ITERATION: &[Column] = &[
    integer("iteration_variable_id", |_, i| int(i as u64 + 1)),
    text("variable_name", |c, i| word(c.kernels.text(turn(c, i).variable))),
    integer("variable_value", |c, i| maybe(c.kernels.text(turn(c, i).value).parse::<i64>().ok())),
    integer("parent_iteration_variable_id", |c, i| id(turn(c, i).parent)),
    integer("pcore_idx", |c, i| maybe(turn(c, i).core)),
    text("file_path", |c, i| word(c.kernels.file(turn(c, i).frame))),
    integer("line_number", |c, i| line(turn(c, i).line)),
];
