//! Findings about device profiles.

use super::about;
use crate::model::format::format_bytes;
use crate::model::{Finding, Severity};
use crate::store::{Datum, LabelKind, Store};

/// The driver that records host-device DMA, and all after it.
const HOST_DMA_DRIVER: (u32, u32) = (2, 31);

/// What explains that names are missing, so that nothing need be done about the debug information.
const EXPLAINS: [&str; 3] = ["no-program", "not-read", "other-compilation"];

pub(super) fn add(store: &Store, findings: &mut Vec<Finding>) {
    if store.table("Instruction").is_none_or(|table| table.is_empty()) {
        findings.push(about(
            store,
            Severity::Failed,
            "no-instructions",
            "no instruction was recorded",
            "Run the model at least 3 times before the capture, and wait for it (torch.neuron.synchronize()) before the \
             export",
        ));
    } else if !super::check_warnings(store).iter().any(|finding| EXPLAINS.contains(&finding.code)) {
        debug_information(store, findings);
    }
    let processed = store.info.format == "parquet";
    if processed && !store.tables.iter().any(|t| t.name == "SbufAllocation" && t.rows > 0) {
        findings.push(about(
            store,
            Severity::Warning,
            "no-sbuf-allocations",
            "allocations in the state buffer are not recorded, so what lies where in it cannot be shown",
            "Process the capture with the newest neuron-explorer, and without -F ignore-nc-buf-usage=true",
        ));
    }
    profiler_memory(store, findings);
    host_dma(store, findings);
}

fn debug_information(store: &Store, findings: &mut Vec<Finding>) {
    let Some(table) = store.table("Instruction") else { return };
    let says = |kind| {
        let named = |text: &String| !matches!(text.as_str(), "" | "Unknown" | "unknown");
        table.label(kind).is_some_and(|labels| labels.entries.iter().any(named))
    };
    let missing = match (says(LabelKind::Operator), says(LabelKind::SourceLine)) {
        (true, true) => return,
        (false, false) => "neither operators nor source lines",
        (false, true) => "no operators",
        (true, false) => "no source lines",
    };
    findings.push(about(
        store,
        Severity::Warning,
        "no-debug-information",
        format!("the program names {missing}, so instructions cannot be traced back to the model"),
        "Set NEURON_FRAMEWORK_DEBUG=1, XLA_IR_DEBUG=1 and XLA_HLO_DEBUG=1 (and NKI_DEBUG_INFO=True for NKI kernels) \
         before compiling, empty the compiler's cache, and capture again",
    ));
}

fn profiler_memory(store: &Store, findings: &mut Vec<Finding>) {
    let Some(records) = store.records("HbmUsageSummaryByType") else { return };
    let bytes = |row| {
        let usage = records.get(row, "usage_type").and_then(Datum::text)?;
        usage.eq_ignore_ascii_case("Profiler Buffers").then(|| records.get(row, "usage_bytes")?.integer())?
    };
    let total = (0..records.rows.len()).filter_map(bytes).fold(0_u64, |sum, b| sum.saturating_add(b.max(0) as u64));
    if total > 0 {
        findings.push(about(
            store,
            Severity::Note,
            "profiler-memory",
            format!(
                "the profiler itself took {} of device memory, which the model has when it is not profiled",
                format_bytes(total)
            ),
            "Leave ProfileMode.DEVICE out where memory is short and instructions are not needed",
        ));
    }
}

/// Why host-device transfers are missing, where the versions tell.
fn host_dma(store: &Store, findings: &mut Vec<Finding>) {
    let version = ["Summary", "Metadata"].iter().find_map(|t| store.fact(t, "driver_version")?.text());
    let too_old = version.and_then(numbers).is_some_and(|version| version < HOST_DMA_DRIVER);
    if too_old {
        let version = version.unwrap_or_default().trim_end_matches(" ()");
        findings.push(about(
            store,
            Severity::Note,
            "no-host-dma",
            format!("driver {version} does not record host-device DMA; that it is missing says nothing"),
            "Use driver 2.31 or newer",
        ));
        return;
    }
    let instance = ["Summary", "Metadata"].iter().find_map(|t| store.fact(t, "instance_type")?.text());
    let shares = instance.is_some_and(|i| i.starts_with("trn2") || i.starts_with("trn3"));
    let core = store.fact("Summary", "nc_idx").and_then(Datum::integer);
    if shares && version.is_some() && store.cores() == 1 && core.is_some_and(|core| core % 2 == 1) {
        findings.push(about(
            store,
            Severity::Note,
            "no-host-dma",
            "two cores share a host-device DMA engine, and only the even one of them records it",
            "Look at the profile of the core before this one",
        ));
    }
}

/// `(2, 26)` of `2.26.0 ()`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
