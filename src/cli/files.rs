//! The files of a capture and the tree that they form, as `info` shows them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::model::format::format_bytes;
use crate::source::capture::kind::rank_of;
use crate::source::capture::{Capture, CaptureFile, Process, Trace};
use crate::term::text::escape;

/// The files: what each is, and whether there is a view of it.
#[must_use]
pub fn files_json(capture: &Capture) -> Vec<Value> {
    let file = |file: &CaptureFile| {
        json!({
            "path": file.path.to_string_lossy(),
            "kind": file.kind.name(),
            "bytes": file.bytes,
            "rank": rank_of(file.kind, &file.path.file_name().unwrap_or_default().to_string_lossy()),
            "view": file.kind.has_view(),
        })
    };
    capture.files.iter().map(file).collect()
}

/// The tree: processes, their cores, what each executed.
#[must_use]
pub fn tree_json(capture: &Capture) -> Vec<Value> {
    let process = |process: &Process<'_>| {
        let cores = process.cores.iter().map(|(core, traces)| {
            let executions: Vec<Value> = traces.iter().map(|trace| trace_json(trace)).collect();
            json!({ "core": core, "executions": executions })
        });
        json!({
            "path": process.directory.to_string_lossy(),
            "instance": process.name.as_ref().map(|name| &name.instance),
            "pid": process.name.as_ref().map(|name| name.pid),
            "cores": cores.collect::<Vec<_>>(),
        })
    };
    capture.processes().iter().map(process).collect()
}

fn trace_json(trace: &Trace) -> Value {
    let head = trace.head.as_ref().ok();
    json!({
        "name": trace.label,
        "path": trace.path.to_string_lossy(),
        "rank": trace.name.rank,
        "session": trace.name.session,
        "execution": trace.name.execution,
        "hash": trace.name.hash,
        "ntff_version": head.map(|head| head.version),
        "uuid": head.map(|head| &head.uuid),
        "physical_cores": head.map(|head| head.cores.iter().map(|core| core.index).collect::<Vec<_>>()),
        "idle": head.is_none_or(|head| head.is_idle()),
        "neff": trace.program.as_ref().map(|program| program.path.to_string_lossy()),
        "paired": trace.program.as_ref().map(|program| program.rule.words()),
        "mismatched": trace.is_mismatched(),
        "problem": trace.head.as_ref().err().map(|why| why.fault().to_string()),
    })
}

/// The files by process, for people.
#[must_use]
pub fn text(capture: &Capture) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let mut system = false;
    let traces: BTreeMap<&Path, &Trace> = capture.traces.iter().map(|trace| (trace.path.as_path(), trace)).collect();
    for process in capture.processes() {
        let name = process.name.as_ref().map_or_else(String::new, |name| format!("process {}  ", name.pid));
        let _ = writeln!(out, "{name}{}", escape(&process.directory.to_string_lossy()));
        for file in &process.files {
            let within = file.path.strip_prefix(&process.directory).unwrap_or(&file.path);
            let remark = remark(traces.get(file.path.as_path()).copied(), file);
            system |= file.kind.is_system();
            let _ = writeln!(
                out,
                "  {:>9}  {:<37} {}{remark}",
                format_bytes(file.bytes),
                file.kind.words(),
                escape(&within.to_string_lossy())
            );
        }
    }
    if system {
        let _ = writeln!(out, "  neuron-scope convert has the vendor's tool make a system profile of the .pb files");
    }
    out
}

/// What else there is to say of a file.
fn remark(trace: Option<&Trace>, file: &CaptureFile) -> String {
    let Some(trace) = trace else {
        return if file.kind.has_view() { String::new() } else { "  (no view yet)".to_owned() };
    };
    match (&trace.head, &trace.program) {
        (Err(why), _) => format!("  ! {}", why.fault().what),
        (Ok(head), _) if head.is_idle() => "  (nothing ran)".to_owned(),
        (Ok(_), None) => "  ! its program is not there".to_owned(),
        (Ok(_), Some(program)) => {
            let name = program.path.file_name().unwrap_or_default().to_string_lossy();
            let doubt = if trace.is_mismatched() { "  ! of another compilation" } else { "" };
            format!("  ran {} ({}){doubt}", escape(&name), program.rule.words())
        }
    }
}
