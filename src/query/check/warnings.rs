//! What the writer of a profile warned of, with what to do about it.

use super::about;
use crate::model::{Finding, Severity};
use crate::store::{Datum, Problem, ProfileKind, Store};

/// What could not be read, or does not fit.
pub(super) fn of_problem(problem: &Problem) -> Finding {
    let (code, remedy) = match problem.message.contains("uuids differ") {
        true => (
            "other-compilation",
            "The vendor's tool fails on such a pair with ERROR_PROCESS_INCOMPLETE: compile and capture again in one go, or \
             give the right program (--neff FILE, --neff-cache DIR)",
        ),
        false => ("not-read", ""),
    };
    Finding::new(Severity::Failed, code, problem.path.clone(), problem.message.clone(), remedy)
}

/// The findings behind the rows of the `Warning` table.
pub(super) fn of(store: &Store) -> Vec<Finding> {
    let Some(records) = store.records("Warning") else { return vec![] };
    let text = |row, column| records.get(row, column).and_then(Datum::text).unwrap_or_default();
    (0..records.rows.len()).map(|row| finding(store, text(row, "category"), text(row, "message"))).collect()
}

fn finding(store: &Store, category: &str, message: &str) -> Finding {
    let said = format!("{category} {message}").to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let text = message.to_owned();
    let sentence = message.trim_end_matches('.');
    if says(&["not found beside the capture"]) {
        return about(store, Severity::Failed, "no-program", text, "");
    }
    if says(&["records were lost"]) {
        let remedy = "Capture fewer cores at once, or less of the run";
        return about(store, Severity::Warning, "records-lost", message, remedy);
    }
    if says(&["several programs"]) {
        let remedy = "If something is missing, convert it: neuron-scope convert DIR";
        return about(store, Severity::Warning, "several-programs", message, remedy);
    }
    if says(&["incomplete execution"]) {
        let remedy = "Wait for the device (torch.neuron.synchronize()) before the export";
        return about(store, Severity::Warning, "execution-not-ended", message, remedy);
    }
    if says(&["dropped", "overwritten"]) {
        // Host-device DMA stops being recorded when its buffer is full; the runtime's events overwrite the oldest.
        return if says(&["host-device", "host dma", "h2d"]) {
            about(
                store,
                Severity::Failed,
                "host-dma-dropped",
                format!("{sentence}; the buffer was full, so the end of the host-device transfers is missing"),
                "Set NEURON_RT_PROFILE_BUF_H2D_DMA_MB above its default of 64 and capture again, or capture less",
            )
        } else if store.info.kind == ProfileKind::System || says(&["trace event"]) {
            // The runtime's buffer is a ring; a warning that says otherwise knows better.
            let lost = if says(&["near the end", "newest"]) {
                ""
            } else {
                "; the oldest ones go first, so the start is missing"
            };
            about(
                store,
                Severity::Failed,
                "events-dropped",
                format!("{sentence}{lost}"),
                "Raise NeuronConfig(max_events_per_nc=…) or NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC (1000000 by \
                 default), filter by core or kind of event, or capture less",
            )
        } else {
            about(
                store,
                Severity::Failed,
                "records-dropped",
                format!("{sentence}; figures near the gaps are too low"),
                "Capture fewer cores at once, or less of the run",
            )
        };
    }
    if says(&["dge", "dynamic dma"]) {
        return about(
            store,
            Severity::Warning,
            "dma-without-names",
            text,
            "Set NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1 and capture again, to tell dynamic transfers apart by tensor (it \
             costs time, and large programs may time out)",
        );
    }
    about(store, Severity::Warning, "warned", text, "")
}
