//! Is a capture complete, and do its files belong together? From names, sizes and headers alone.

use std::collections::BTreeSet;
use std::path::Path;

use super::cached;
use super::kind::FileKind;
use super::pair::{Neff, Trace, file_name};
use super::tree::{Capture, CaptureFile, Process};
use crate::model::format::{format_bytes, format_count};
use crate::model::{Finding, Severity};
use crate::source::ntff::{Head, Unusable};

/// What the vendor's tool gives up on.
const VENDOR_LIMIT: u64 = 5 << 30;

impl Capture {
    /// All findings, the gravest first.
    #[must_use]
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = vec![];
        // Of some files nothing can be said about what is missing.
        for process in self.processes().iter().filter(|_| !self.partial) {
            system_files(process, &mut findings);
            cores(process, &mut findings);
        }
        let empty = self.files.iter().filter(|file| file.bytes == 0 && file.kind != FileKind::Ntff);
        findings.extend(empty.map(|file| {
            Finding::new(
                Severity::Failed,
                "empty-file",
                &file.path,
                format!("the file is empty, so the {} is missing", file.kind.words()),
                "See that the disk was not full and that the process ended by itself, and capture again",
            )
        }));
        for trace in &self.traces {
            findings.extend(self.trace(trace));
        }
        let empty: BTreeSet<&Path> = self.files.iter().filter(|f| f.bytes == 0).map(|f| f.path.as_path()).collect();
        for neff in self.neffs.iter().filter(|neff| !empty.contains(neff.path.as_path())) {
            findings.extend(program(neff));
        }
        // Of a single trace, other programs are no part.
        if !self.partial {
            self.unused(&mut findings);
        }
        findings.sort();
        findings.dedup();
        findings
    }

    /// That there is nothing that was captured, where there is something else: programs, traces of the framework alone.
    #[must_use]
    pub fn nothing_captured(&self, root: &Path) -> Option<Finding> {
        let captured = |file: &&CaptureFile| matches!(file.kind, FileKind::Ntff | FileKind::SystemTrace);
        if self.files.is_empty() || self.files.iter().any(|file| captured(&file)) {
            return None;
        }
        let kinds: BTreeSet<&str> = self.files.iter().map(|file| file.kind.words()).collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        Some(Finding::new(
            Severity::Failed,
            "nothing-captured",
            root,
            format!(
                "there is neither a device trace (.ntff) nor a system trace (ntrace.pb), only: {}",
                kinds.join(", ")
            ),
            "Name the directory that holds the .ntff too. If there is none, nothing was captured: add ProfileMode.DEVICE to \
             the profiler, or set NEURON_RT_INSPECT_ENABLE=1 and NEURON_RT_INSPECT_DEVICE_PROFILE=1, and see that the model \
             runs on the device and not on the host",
        ))
    }

    fn trace(&self, trace: &Trace) -> Vec<Finding> {
        let about =
            |severity, code, text: String, remedy: &str| Finding::new(severity, code, &trace.path, text, remedy);
        let head = match &trace.head {
            Ok(head) => head,
            // Which of them ran at all is told per process.
            Err(Unusable::Empty) if !self.partial => return vec![],
            Err(why) => return vec![unusable(&trace.path, why)],
        };
        let mut findings = vec![];
        if head.needed_bytes > head.bytes {
            findings.push(about(
                Severity::Failed,
                "cut-off",
                format!(
                    "the trace is cut off: {} of {} bytes are there, and events are missing",
                    format_count(head.bytes),
                    format_count(head.needed_bytes)
                ),
                "Copy the file again, or capture again",
            ));
        }
        findings.extend(mismatch(trace, head));
        let (programs, executions) = (head.compilations().len(), head.executions.len());
        if programs > 1 {
            findings.push(about(
                Severity::Warning,
                "several-programs",
                format!(
                    "the trace spans {executions} executions of {programs} programs; it is shown as far as it can be told \
                     apart, with the names of one program"
                ),
                "If something is missing, convert it: neuron-scope convert DIR",
            ));
        } else if executions > 1 {
            findings.push(about(
                Severity::Note,
                "several-executions",
                format!("the trace spans {executions} executions of its program, which are on one axis"),
                "",
            ));
        }
        if head.bytes > VENDOR_LIMIT {
            findings.push(about(
                Severity::Note,
                "large",
                format!("with {} the vendor's tool may give up on it", format_bytes(head.bytes)),
                "Capture fewer cores at once, or less of the run",
            ));
        }
        findings
    }

    /// Programs that nothing ran.
    fn unused(&self, findings: &mut Vec<Finding>) {
        let used: BTreeSet<&Path> =
            self.traces.iter().filter_map(|t| t.program.as_ref()).map(|p| p.path.as_path()).collect();
        let unused = self.neffs.iter().filter(|neff| !used.contains(neff.path.as_path())).count();
        let session = self.traces.iter().any(|trace| trace.name.session.is_some());
        if unused == 0 || used.is_empty() || session {
            return;
        }
        let Some(first) = self.neffs.iter().find(|neff| !used.contains(neff.path.as_path())) else { return };
        findings.push(Finding::new(
            Severity::Note,
            "program-without-trace",
            &first.path,
            format!("{unused} of {} programs have no trace: they did not run in the window", self.neffs.len()),
            "",
        ));
    }
}

fn unusable(path: &Path, why: &Unusable) -> Finding {
    let code = match why {
        Unusable::Version(_) => "unknown-version",
        Unusable::Empty => "empty-file",
        Unusable::Short(_) | Unusable::Cut { .. } => "cut-off",
        Unusable::Damaged(_) => "damaged",
        Unusable::Unreadable(_) => "unreadable",
    };
    let fault = why.fault();
    Finding::new(Severity::Failed, code, path, fault.what, capital(&fault.remedy))
}

/// Whether a trace has its program.
fn mismatch(trace: &Trace, head: &Head) -> Option<Finding> {
    let about = |code, text: String, remedy: String| Finding::new(Severity::Failed, code, &trace.path, text, remedy);
    match &trace.program {
        // Nothing ran that could be named wrongly.
        _ if head.is_idle() => None,
        None => Some(about(
            "no-program",
            "the program (NEFF) that ran is not there, so instructions have no names and no source".to_owned(),
            format!(
                "Copy it beside the trace, or name the compiler's cache with --neff-cache DIR or {}; set that variable \
                 before capturing to have it copied",
                cached::VARIABLE
            ),
        )),
        Some(program) if trace.is_mismatched() => Some(about(
            "other-compilation",
            format!(
                "{} is of another compilation than the one that ran (uuid {} against {}); names and source lines \
                 would be wrong, and the vendor's tool fails with ERROR_PROCESS_INCOMPLETE",
                file_name(&program.path),
                short(&program.uuid),
                short(&head.uuid)
            ),
            format!(
                "Take the program of the same compilation (--neff FILE, --neff-cache DIR or {}), or compile and capture \
                 again in one go",
                cached::VARIABLE
            ),
        )),
        Some(_) => None,
    }
}

fn program(neff: &Neff) -> Option<Finding> {
    let (code, text, remedy) = match &neff.header {
        Err(fault) => ("damaged-program", fault.what.clone(), capital(&fault.remedy)),
        Ok(header) => {
            let needed = header.header_size.saturating_add(header.data_size);
            if neff.bytes >= needed {
                return None;
            }
            let (have, need) = (format_count(neff.bytes), format_count(needed));
            let text = format!("the program is cut off: {have} of {need} bytes are there");
            ("cut-off", text, "Copy the file again".to_owned())
        }
    };
    Some(Finding::new(Severity::Failed, code, &neff.path, text, remedy))
}

/// Which files of a system profile are there.
fn system_files(process: &Process<'_>, findings: &mut Vec<Finding>) {
    let has = |kind| process.files.iter().any(|file| file.kind == kind);
    let mut about = |severity, code, text: &str, remedy: &str| {
        findings.push(Finding::new(severity, code, &process.directory, text, remedy));
    };
    let (trace, info) = (has(FileKind::SystemTrace), has(FileKind::TraceInfo));
    let by_runtime = process.name.is_some();
    match (trace, info) {
        (true, true) => {}
        (true, false) => about(
            Severity::Failed,
            "no-trace-info",
            "ntrace.pb is there but trace_info.pb is not, without which the vendor's tool finds no system profile",
            "Copy trace_info.pb as well; it is written when the profiler stops, so let the process end by itself",
        ),
        (false, true) => about(
            Severity::Failed,
            "no-system-trace",
            "trace_info.pb is there but ntrace.pb is not, which holds the events of the system profile",
            "Copy ntrace.pb as well, or capture again",
        ),
        (false, false) if by_runtime && !has(FileKind::Ntff) => about(
            Severity::Warning,
            "nothing-captured",
            "there is neither a device trace (.ntff) nor a system trace (ntrace.pb): profiling was not on, or nothing ran on \
             the device",
            "See that NEURON_RT_INSPECT_ENABLE=1 or the profiler's modes are set, and that the model does not run on the host",
        ),
        (false, false) if by_runtime => about(
            Severity::Note,
            "no-system-trace",
            "there is no system profile (ntrace.pb, trace_info.pb): what the runtime did was not captured. That is fine \
             for a look at the device alone",
            "For one, add ProfileMode.RUNTIME, or set NEURON_RT_INSPECT_ENABLE=1 without \
             NEURON_RT_INSPECT_SYSTEM_PROFILE=0",
        ),
        (false, false) => {}
    }
    if !trace && !info {
        return;
    }
    if !has(FileKind::Ntff) {
        about(
            Severity::Note,
            "no-device-trace",
            "there is no device trace (.ntff): what ran on the cores was not captured. That is fine for a look at the \
             system alone",
            "For one, add ProfileMode.DEVICE, or set NEURON_RT_INSPECT_DEVICE_PROFILE=1 (or session)",
        );
    }
    let optional = [
        (FileKind::CpuUtil, "no-cpu-util", "use of the host's processors", "CPU_UTIL", "NEURON_RT_INSPECT_CPU_UTIL"),
        (
            FileKind::HostMemory,
            "no-host-memory",
            "use of the host's memory",
            "HOST_MEMORY",
            "NEURON_RT_INSPECT_HOST_MEMORY",
        ),
    ];
    for (kind, code, what, mode, variable) in optional {
        if !has(kind) {
            let remedy = format!("For it, add ProfileMode.{mode} or set {variable}=1");
            about(Severity::Note, code, &format!("the {what} was not sampled, which is optional"), &remedy);
        }
    }
    if !has(FileKind::FrameworkTrace) {
        about(
            Severity::Note,
            "no-framework-trace",
            "there is no trace of the framework (trace.json), so operators cannot be followed to the device",
            "Call NeuronProfiler.export_trace when the trace is ready; a neuron_framework_trace_rank_N.json belongs in \
             the directory of its process",
        );
    }
}

/// Which cores ran, which were idle and which were not captured.
fn cores(process: &Process<'_>, findings: &mut Vec<Finding>) {
    let traces: Vec<&Trace> = process.cores.values().flatten().copied().collect();
    let idle = |trace: &Trace| match &trace.head {
        Ok(head) => head.is_idle(),
        Err(why) => *why == Unusable::Empty,
    };
    let idle: Vec<&Trace> = traces.iter().copied().filter(|trace| idle(trace)).collect();
    if let Some(first) = idle.first() {
        findings.push(if idle.len() == traces.len() {
            Finding::new(
                Severity::Failed,
                "all-empty",
                &process.directory,
                format!("none of the {} device traces holds an instruction", traces.len()),
                "See that the model runs on the device and not on the host, run it at least 3 times before the \
                 profiler starts, and wait for it (torch.neuron.synchronize()) before the export",
            )
        } else {
            Finding::new(
                Severity::Note,
                "idle-core",
                &first.path,
                format!(
                    "{} of {} device traces are empty: the process held those cores and ran nothing on them, which is \
                     fine",
                    idle.len(),
                    traces.len()
                ),
                "To hold only the cores that are used, set NEURON_RT_NUM_CORES or start with torchrun",
            )
        });
    }
    let captured: BTreeSet<u64> = process.cores.keys().filter_map(|core| *core).collect();
    let missing = not_captured(&captured);
    if !missing.is_empty() {
        findings.push(Finding::new(
            Severity::Warning,
            "core-not-captured",
            &process.directory,
            format!(
                "there is no trace of core {}, not even an empty one: it was not captured, which does not mean that it \
                 was idle",
                list(&missing)
            ),
            "Leave it in NeuronConfig(capture_enabled_for_nc=…) or NEURON_RT_INSPECT_EVENT_FILTER_NC",
        ));
    }
}

/// Cores between those captured.
fn not_captured(captured: &BTreeSet<u64>) -> BTreeSet<u64> {
    let (Some(first), Some(last)) = (captured.first(), captured.last()) else { return BTreeSet::new() };
    // More would be a name that is no core.
    if last - first > 4096 {
        return BTreeSet::new();
    }
    (*first..=*last).filter(|core| !captured.contains(core)).collect()
}

/// `3, 5 to 7`.
fn list(numbers: &BTreeSet<u64>) -> String {
    let mut runs: Vec<(u64, u64)> = vec![];
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let text = runs.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first} to {last}"),
    });
    text.collect::<Vec<_>>().join(", ")
}

fn short(uuid: &str) -> &str {
    uuid.get(..8).unwrap_or(uuid)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_cores_are_those_between() {
        let of = |cores: &[u64]| list(&not_captured(&cores.iter().copied().collect()));
        assert_eq!(of(&[0, 1, 2]), "");
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[0, 2, 6, 8]), "1, 3 to 5, 7");
        assert_eq!(of(&[0, u64::MAX]), "");
    }
}
