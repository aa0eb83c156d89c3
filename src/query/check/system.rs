//! Findings about system profiles.

use std::sync::Mutex;

use rustc_hash::FxHashSet;

use super::about;
use crate::model::compilation::is_compilation;
use crate::model::format::format_count;
use crate::model::{Finding, Severity};
use crate::store::{Batch, LabelKind, Scanned, Store, Want};

const TABLE: &str = "SystemProfileEvents";

pub(super) fn add(store: &Store, findings: &mut Vec<Finding>) {
    launches(store, findings);
    compilation(store, findings);
}

/// An execution: process, model, number.
type Execution = (i64, u64, u64);

#[derive(Default)]
struct Seen {
    launched: FxHashSet<Execution>,
    ran: FxHashSet<Execution>,
}

/// Launches that no execution on a device follows.
fn launches(store: &Store, findings: &mut Vec<Finding>) {
    let seen = Mutex::new(Seen::default());
    let columns = [("name", Want::Text), ("process_id", Want::Integer), ("extra_attributes_json", Want::Text)];
    let visit = |batch: Batch| {
        let [name, process, attributes] = &batch.columns[..] else { return false };
        let mut found = Seen::default();
        for row in 0..batch.rows {
            let set = match name.text(row) {
                Some("nrt_execute") => &mut found.launched,
                Some("nc_exec_running") => &mut found.ran,
                _ => continue,
            };
            set.extend(execution(process, attributes, row));
        }
        let mut all = seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.launched.extend(found.launched);
        all.ran.extend(found.ran);
        true
    };
    if store.scan(TABLE, &columns, &visit).is_err() {
        return;
    }
    let seen = seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let lost = seen.launched.difference(&seen.ran).count();
    if lost == 0 {
        return;
    }
    let count = |n: usize| format_count(n as u64);
    findings.push(if seen.ran.is_empty() {
        about(
            store,
            Severity::Warning,
            "no-executions",
            format!("{} launches were recorded, but nothing of what the device did", count(lost)),
            "Leave hardware events in NEURON_RT_INSPECT_EVENT_FILTER_TYPE, and wait (torch.neuron.synchronize()) before \
             the export",
        )
    } else {
        about(
            store,
            Severity::Failed,
            "launches-without-execution",
            format!(
                "{} of {} launches have no execution on the device: the export did not wait for it",
                count(lost),
                count(seen.launched.len())
            ),
            "Call torch.neuron.synchronize() at the end of what is profiled, before the export",
        )
    });
}

fn execution(process: &Scanned, attributes: &Scanned, row: usize) -> Option<Execution> {
    #[derive(serde::Deserialize)]
    struct Attributes {
        model_id: u64,
        exec_id: u64,
    }
    let said: Attributes = serde_json::from_str(attributes.text(row)?).ok()?;
    Some((process.integer(row)?, said.model_id, said.exec_id))
}

/// Events of a compiler at work.
fn compilation(store: &Store, findings: &mut Vec<Finding>) {
    let Some(table) = store.table(TABLE) else { return };
    let Some(names) = table.label(LabelKind::Name) else { return };
    if let Some(name) = names.entries.iter().find(|name| is_compilation(name)) {
        let name: String = name.chars().take(80).collect();
        findings.push(about(
            store,
            Severity::Warning,
            "compilation",
            format!("something was compiled in the window ({name}), so times include what a warm run does not have"),
            "Run the model 3 times or more before the profiler starts, and profile what comes after",
        ));
    }
}
