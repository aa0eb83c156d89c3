//! Where instructions come from: framework stack frames, and the NKI kernel's frames and loops.

use std::collections::BTreeMap;

use crate::demo::ops::OPS;
use crate::demo::profile::Profile;
use crate::demo::program::Instr;
use crate::demo::sources::{self, Mark};
use crate::demo::table::Table;

/// Stack frames, one per caller and line; ids count from 1.
pub(super) struct Frames {
    /// (location, caller) of each frame, in order of id.
    frames: Vec<(i64, i64)>,
    locations: Vec<(i64, i64, i64)>,
    files: Vec<&'static str>,
    functions: Vec<String>,
    leaves: BTreeMap<&'static str, i64>,
}

/// The 1-based position of a value, added at the end where it is new.
fn intern<T: PartialEq>(list: &mut Vec<T>, value: T) -> i64 {
    let at = list.iter().position(|v| *v == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    });
    at as i64 + 1
}

impl Frames {
    pub(super) fn new() -> Self {
        let mut frames = Self {
            frames: Vec::new(),
            locations: Vec::new(),
            files: Vec::new(),
            functions: Vec::new(),
            leaves: BTreeMap::new(),
        };
        for op in OPS {
            let mut caller = 0;
            for step in sources::chain(op.mark) {
                let mark = sources::mark(step);
                let file = intern(&mut frames.files, mark.file);
                let function = intern(&mut frames.functions, mark.function.clone());
                let location = intern(&mut frames.locations, (file, function, mark.line));
                caller = intern(&mut frames.frames, (location, caller));
            }
            frames.leaves.insert(op.mark, caller);
        }
        frames
    }

    /// The innermost frame of a marked line.
    pub(super) fn leaf(&self, mark: &str) -> i64 {
        self.leaves.get(mark).copied().unwrap_or_default()
    }

    pub(super) fn tables(&self) -> Vec<Table> {
        let ids = |n: usize| (1..=n).map(|id| id.to_string());
        vec![
            Table::new("StackFrame")
                .col("id", ids(self.frames.len()))
                .col("file_location_id", self.frames.iter().map(|f| f.0 as i32))
                .col("parent_frame_id", self.frames.iter().map(|f| f.1.to_string())),
            Table::new("StackFrameFileLocation")
                .col("id", ids(self.locations.len()))
                .col("file_name_id", self.locations.iter().map(|l| l.0 as i32))
                .col("function_name_id", self.locations.iter().map(|l| l.1 as i32))
                .col("line_number", self.locations.iter().map(|l| l.2 as i32)),
            Table::new("StackFrameFileName").col("id", ids(self.files.len())).col("name", self.files.iter().copied()),
            Table::new("StackFrameFunctionName")
                .col("id", ids(self.functions.len()))
                .col("name", self.functions.iter().cloned()),
        ]
    }
}

fn kernel_mark(instr: &Instr) -> Option<&'static Mark> {
    instr.site.map(|s| sources::mark(s.op().mark)).filter(|m| m.in_kernel())
}

/// `inst.42:67` for instructions that the kernel's author wrote.
pub(super) fn kernel_instruction(instr: &Instr) -> Option<String> {
    kernel_mark(instr)?;
    Some(format!("inst.{}:{}", instr.bir?.0, instr.statement?))
}

const KERNEL: &str = "attention_kernel.causal_attention";

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    let mut functions = vec![KERNEL.to_owned()];
    let mut called = vec![sources::mark("loop_tile").line];
    let mut loops: Vec<(usize, Option<usize>)> = Vec::new();
    let mut rows: Vec<(&Instr, &Mark, i64, i64, i64)> = Vec::new();
    for instr in &p.program.instrs {
        let (Some(mark), Some((tile, step))) = (kernel_mark(instr), instr.iteration) else { continue };
        let name = format!("attention_kernel.{}", mark.function);
        let frame = intern(&mut functions, name);
        if functions.len() > called.len() {
            called.push(mark.line);
        }
        let outer = intern(&mut loops, (tile, None));
        let (variable, depth) = match step {
            Some(step) => (intern(&mut loops, (tile, Some(step))), 2),
            None => (outer, 1),
        };
        rows.push((instr, mark, frame, variable, depth));
    }
    let rows = || rows.iter();
    let file = sources::mark("loop_tile").file;
    let instructions = Table::new("KernelInstructions")
        .col("kernel_instruction_name", rows().map(|r| kernel_instruction(r.0).unwrap_or_default()))
        .col("stack_frame_id", rows().map(|r| Some(r.2)))
        .col("stack_frame_depth", rows().map(|_| Some(2_i64)))
        .col("iteration_variables_id", rows().map(|r| Some(r.3)))
        .col("iteration_variable_depth", rows().map(|r| Some(r.4)))
        .col("pcore_idx", rows().map(|r| Some(r.0.core as i64)))
        .col("file_path", rows().map(|r| Some(r.1.file)))
        .col("line_number", rows().map(|r| Some(r.1.line)));
    let outer = |tile: usize| loops.iter().position(|l| *l == (tile, None)).map(|n| n as i64 + 1);
    let line = |step: Option<usize>| sources::mark(if step.is_some() { "loop_step" } else { "loop_tile" }).line;
    let variables = Table::new("KernelIterationVariables")
        .col("iteration_variable_id", 1..=loops.len() as i64)
        .col("variable_name", loops.iter().map(|l| Some(if l.1.is_some() { "step" } else { "tile" })))
        .col("variable_value", loops.iter().map(|l| Some(l.1.unwrap_or(l.0) as i64)))
        .col("parent_iteration_variable_id", loops.iter().map(|l| l.1.and_then(|_| outer(l.0))))
        .col("pcore_idx", loops.iter().map(|_| Some(0_i64)))
        .col("file_path", loops.iter().map(|_| Some(file)))
        .col("line_number", loops.iter().map(|l| Some(line(l.1))));
    let frames = Table::new("KernelStackFrames")
        .col("stack_frame_id", 1..=functions.len() as i64)
        .col("fully_qualified_function_name", functions.iter().map(|f| Some(f.as_str())))
        .col("parent_stack_frame_id", functions.iter().enumerate().map(|(n, _)| (n > 0).then_some(1_i64)))
        .col("pcore_idx", functions.iter().map(|_| Some(0_i64)))
        .col("file_path", functions.iter().map(|_| Some(file)))
        .col("line_number", called.into_iter().map(Some));
    vec![instructions, variables, frames]
}
