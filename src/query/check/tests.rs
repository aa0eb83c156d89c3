use std::sync::Arc;

use super::*;
use crate::model::{Engine, Field, Value};
use crate::query::sketch::{Mark, Sketch};
use crate::store::{Datum, Ids, Problem, Records, Rows, TableInfo};

fn records(name: &str, columns: &[&str], rows: &[&[&str]]) -> Records {
    let datum = |text: &&str| text.parse().map_or_else(|_| Datum::Text((*text).into()), Datum::Int);
    Records {
        name: name.into(),
        columns: columns.iter().map(|c| (*c).into()).collect(),
        rows: rows.iter().map(|row| row.iter().map(datum).collect()).collect(),
    }
}

/// A processed device profile in which nothing is wrong.
fn sound() -> Store {
    let mut sketch = Sketch::default();
    sketch.instruction(0, Engine::Tensor, "MATMUL", 0, 10);
    let mut store = sketch.store();
    store.info.format = "parquet".into();
    store.tables = vec![TableInfo { name: "SbufAllocation".into(), rows: 3 }];
    store.records.push(records(
        "Summary",
        &["driver_version", "instance_type", "nc_idx"],
        &[&["2.31.0 ()", "trn2", "0"]],
    ));
    let mut labels = store.events[0].labels.clone();
    if let Some((_, operators)) = labels.iter().find(|(kind, _)| *kind == crate::store::LabelKind::Operator).cloned() {
        labels.push((crate::store::LabelKind::SourceLine, operators));
    }
    store.events[0].labels = labels;
    store
}

fn codes(store: &Store) -> Vec<(&'static str, &'static str)> {
    check(store).iter().map(|f| (f.severity.name(), f.code)).collect()
}

#[test]
fn a_sound_profile_gives_no_findings() {
    assert_eq!(codes(&sound()), []);
}

#[test]
fn what_could_not_be_read_is_a_failure() {
    let mut store = sound();
    store.problems.push(Problem { path: "x".into(), message: "is cut off".into() });
    assert_eq!(codes(&store), [("failed", "not-read")]);
    assert_eq!(check(&store)[0].path, std::path::Path::new("x"));
}

#[test]
fn warnings_of_the_writer_become_findings_with_a_remedy() {
    let warned = |kind, category: &str, message: &str| {
        let mut store = sound();
        store.info.kind = kind;
        store.records.push(records("Warning", &["category", "message"], &[&[category, message]]));
        let finding = check(&store).into_iter().next().unwrap();
        (finding.severity, finding.code, finding.message())
    };
    let (severity, code, text) = warned(ProfileKind::System, "Dropped Events", "1001 trace events were dropped");
    assert_eq!((severity, code), (Severity::Failed, "events-dropped"));
    assert!(text.contains("1001 trace events") && text.contains("start is missing"), "{text}");
    assert!(text.contains("max_events_per_nc") && text.contains("NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC"));
    let (_, code, text) = warned(ProfileKind::Device, "Dropped Events", "3 trace events were dropped near the end.");
    assert!(code == "events-dropped" && !text.contains("start is missing"), "{text}");
    let (severity, code, text) = warned(ProfileKind::Device, "Dropped Events", "host-device DMA events were dropped");
    assert_eq!((severity, code), (Severity::Failed, "host-dma-dropped"));
    assert!(text.contains("end of the host-device") && text.contains("NEURON_RT_PROFILE_BUF_H2D_DMA_MB"), "{text}");
    let (severity, code, _) = warned(ProfileKind::Device, "Dropped Events", "5 semaphore records were dropped");
    assert_eq!((severity, code), (Severity::Failed, "records-dropped"));
    let message = "Missing additional dynamic DMA metadata, reported DMA values may be inaccurate";
    let (severity, code, text) = warned(ProfileKind::Device, "Missing Data", message);
    assert_eq!((severity, code), (Severity::Warning, "dma-without-names"));
    assert!(text.contains("NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1"), "{text}");
    let (severity, code, text) = warned(ProfileKind::Device, "", "Some other thing.");
    assert_eq!((severity, code, text.as_str()), (Severity::Warning, "warned", "Some other thing."));
}

#[test]
fn a_profile_without_instructions_fails() {
    let mut store = sound();
    store.events.clear();
    assert_eq!(codes(&store), [("failed", "no-instructions")]);
}

#[test]
fn missing_debug_information_is_named_with_the_variables() {
    use crate::store::LabelKind;
    let without = |kinds: &[LabelKind]| {
        let mut store = sound();
        store.events[0].labels.retain(|(kind, _)| !kinds.contains(kind));
        check(&store).into_iter().map(|f| f.message()).collect::<Vec<_>>()
    };
    let both = without(&[LabelKind::Operator, LabelKind::SourceLine]);
    assert_eq!(both.len(), 1);
    for word in ["neither operators nor source lines", "NEURON_FRAMEWORK_DEBUG=1", "NKI_DEBUG_INFO=True"] {
        assert!(both[0].contains(word), "{word}: {}", both[0]);
    }
    assert!(without(&[LabelKind::Operator])[0].contains("no operators"));
    assert!(without(&[LabelKind::SourceLine])[0].contains("no source lines"));
}

#[test]
fn missing_allocations_count_only_in_processed_profiles() {
    let mut store = sound();
    store.tables.clear();
    assert_eq!(codes(&store), [("warning", "no-sbuf-allocations")]);
    store.info.format = "ntff".into();
    assert_eq!(codes(&store), []);
}

#[test]
fn memory_that_the_profiler_takes_is_noted() {
    let mut store = sound();
    let columns = ["usage_type", "usage_bytes"];
    let rows: [&[&str]; 3] =
        [&["Profiler Buffers", "2554331136"], &["Weights", "5"], &["Profiler Buffers", "2554331136"]];
    store.records.push(records("HbmUsageSummaryByType", &columns, &rows));
    let findings = check(&store);
    assert_eq!(codes(&store), [("note", "profiler-memory")]);
    assert!(findings[0].text.contains("4.76 GiB"), "{}", findings[0].text);
}

#[test]
fn missing_host_dma_is_explained_by_driver_and_core() {
    let with = |driver: &str, instance: &str, core: &str| {
        let mut store = sound();
        store.records.retain(|r| r.name != "Summary");
        let columns = ["driver_version", "instance_type", "nc_idx"];
        store.records.push(records("Summary", &columns, &[&[driver, instance, core]]));
        check(&store).first().map(|f| f.text.clone()).unwrap_or_default()
    };
    assert!(with("2.26.0 ()", "trn2.3xlarge", "0").contains("driver 2.26.0 does not record"));
    assert!(with("2.31.0", "trn2.3xlarge", "3").contains("only the even one"));
    assert_eq!(with("2.31.0", "trn2.3xlarge", "2"), "");
    assert_eq!(with("3.0", "trn1.32xlarge", "3"), "", "each core of trn1 has its own");
}

/// Rows of `SystemProfileEvents`: name, process, attributes.
struct Events(Vec<(&'static str, i64, &'static str)>);

impl Rows for Events {
    fn row(&self, _: &str, row: u32) -> Result<Vec<Field>, Problem> {
        let (name, process, attributes) = self.0[row as usize];
        let field = |name: &str, value| Field { name: name.into(), value };
        Ok(vec![
            field("name", Value::Text(name.into())),
            field("process_id", Value::Int(process)),
            field("extra_attributes_json", Value::Text(attributes.into())),
        ])
    }

    fn ids(&self, _: &str) -> Result<Option<Ids>, Problem> {
        Ok(None)
    }
}

fn system(events: &[(&'static str, i64, &'static str)]) -> Store {
    let mut sketch = Sketch::default();
    for (name, ..) in events {
        sketch.event("SystemProfileEvents", Mark { name: (*name).into(), length: 5, ..Mark::default() });
    }
    let mut store = sketch.store();
    store.info.kind = ProfileKind::System;
    store.tables = vec![TableInfo { name: "SystemProfileEvents".into(), rows: events.len() as u64 }];
    store.rows = Arc::new(Events(events.to_vec()));
    store
}

const ONE: &str = r#"{"model_id":605291374318702,"exec_id":1}"#;
const TWO: &str = r#"{"model_id":605291374318702,"exec_id":2}"#;

#[test]
fn launches_without_their_execution_are_counted() {
    let both = [("nrt_execute", 1, ONE), ("nc_exec_running", 1, ONE), ("nc_exec_running", 1, ONE)];
    assert_eq!(codes(&system(&both)), []);
    let one = [("nrt_execute", 1, ONE), ("nrt_execute", 1, TWO), ("nc_exec_running", 1, ONE), ("nrt_execute", 1, "")];
    assert_eq!(codes(&system(&one)), [("failed", "launches-without-execution")]);
    let text = check(&system(&one))[0].message();
    assert!(text.contains("1 of 2 launches") && text.contains("synchronize"), "{text}");
    let other_process = [("nrt_execute", 1, ONE), ("nc_exec_running", 2, ONE)];
    assert_eq!(codes(&system(&other_process)), [("failed", "launches-without-execution")]);
    assert_eq!(codes(&system(&[("nrt_execute", 1, ONE)])), [("warning", "no-executions")]);
}

#[test]
fn compiling_in_the_window_is_noticed() {
    assert_eq!(codes(&system(&[("neuronx-cc compile", 1, "")])), [("warning", "compilation")]);
    assert_eq!(codes(&system(&[("aten::linear", 1, "")])), []);
}
