//! Every readable profile of the corpus gives the answers that were computed without this program.

use std::collections::BTreeMap;
use std::path::Path;

use neuron_scope::cli::info;
use neuron_scope::cli::program::ProgramArg;
use neuron_scope::model::{Engine, Window};
use neuron_scope::store::{Group, Measure, Store, flag};
use serde_json::Value;

use crate::corpus::{corpus, read_one, with_truth};

#[test]
fn info_agrees_with_the_truth() {
    let mut cases = 0;
    for root in ["parquet", "bundle"].into_iter().filter_map(corpus) {
        for (path, truth) in with_truth(&root) {
            let info = info::gather(std::slice::from_ref(&path), &ProgramArg::default(), None).to_json();
            compare_info(&path, &info, &truth);
            cases += 1;
        }
    }
    println!("{cases} profiles compared");
    assert!(cases == 0 || cases > 60, "only {cases} profiles were compared");
}

fn compare_info(path: &Path, info: &Value, truth: &Value) {
    let profile = &info["profiles"][0];
    let at = path.display();
    let rows: BTreeMap<&String, u64> = number_map(&profile["tables"]);
    for (table, count) in number_map(&truth["rows"]) {
        assert_eq!(rows.get(table), Some(&count), "{at}: rows of {table}");
    }
    let origin = match profile["kind"].as_str() {
        Some("system") => profile["origin_unix_ns"].as_i64().unwrap(),
        _ => 0,
    };
    for (ours, theirs) in [("start_ns", "start"), ("end_ns", "end")] {
        let ours = profile[ours].as_i64().map(|t| t + origin);
        assert_eq!(ours, truth["time_range"][theirs].as_i64(), "{at}: {theirs}");
    }
    let tracks: Vec<(&str, u64)> = profile["tracks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["path"].as_str().unwrap(), t["events"].as_u64().unwrap()))
        .collect();
    let expected = [&truth["tracks"]["instructions"], &truth["tracks"]["dma_by_engine"], &truth["tracks_default"]];
    for (name, count) in expected.into_iter().flat_map(number_map) {
        let ends = |path: &str| path == name || path.strip_suffix(name.as_str()).is_some_and(|p| p.ends_with('/'));
        let found: Vec<_> = tracks.iter().filter(|(path, _)| ends(path)).collect();
        assert_eq!(found.len(), 1, "{at}: track {name} in {tracks:?}");
        assert_eq!(found[0].1, count, "{at}: events of {name}");
    }
}

fn number_map(value: &Value) -> BTreeMap<&String, u64> {
    value.as_object().into_iter().flatten().map(|(k, v)| (k, v.as_u64().unwrap())).collect()
}

#[test]
fn busy_and_active_time_agree_with_the_truth() {
    for root in ["parquet", "bundle"].into_iter().filter_map(corpus) {
        for (path, truth) in with_truth(&root) {
            // Where one event lasts longer than a signed number can say, the truth itself overflowed.
            let range = &truth["time_range"];
            let fits =
                range["end"].as_i64().zip(range["start"].as_i64()).is_none_or(|(a, b)| a.checked_sub(b).is_some());
            if truth["engines"].is_array() && fits {
                let store = read_one(&path);
                compare_engines(&path, &store, &truth);
                compare_windows(&path, &store, &truth);
                compare_queues(&path, &store, &truth);
            }
        }
    }
}

fn compare_engines(path: &Path, store: &Store, truth: &Value) {
    let Some(table) = store.table("Instruction") else { return };
    for engine in truth["engines"].as_array().unwrap() {
        let lane = lane_of(store, engine);
        let what = format!("{}: {engine}", path.display());
        assert_eq!(lane.len() as u64, engine["count"].as_u64().unwrap(), "{what}");
        // A reversed event has a negative duration in the truth's sum, and covers nothing.
        let whole = Window::new(i64::MIN, i64::MAX);
        assert_eq!(Some(lane.busy(whole)), engine["active_ns"].as_u64(), "{what}");
        if let Some(active) = engine["active_ns_without_waits"].as_u64() {
            assert_eq!(lane.active(whole), active, "{what}");
        }
    }
    assert!(!table.groups.is_empty() || truth["engines"].as_array().unwrap().is_empty());
}

fn lane_of<'a>(store: &'a Store, engine: &Value) -> neuron_scope::store::Lane<'a> {
    let table = store.table("Instruction").unwrap();
    let name = engine["engine"].as_str().unwrap();
    let (known, core) = (Engine::parse(name), engine["pcore_idx"].as_i64());
    let is = |g: &&Group| g.key.core == core && g.key.engine == known && (known.is_some() || g.key.name == name);
    let group = table.groups.iter().find(is);
    group.unwrap_or_else(|| panic!("no group for {engine}")).sequence.of(table)
}

fn compare_windows(path: &Path, store: &Store, truth: &Value) {
    for window in truth["windows"].as_array().into_iter().flatten() {
        let (start, end) = (window["start"].as_i64().unwrap(), window["end"].as_i64().unwrap());
        if start >= end {
            continue;
        }
        let span = Window::new(start, end);
        for engine in window["engines"].as_array().unwrap() {
            let lane = lane_of(store, engine);
            let what = format!("{}: {engine} in {span:?}", path.display());
            // Events that end before they start are shown at their start; the truth counts both ends as they are.
            let table = lane.table();
            if !table.flags.iter().any(|f| f & flag::REVERSED != 0) {
                assert_eq!(lane.count(span) as u64, engine["count"].as_u64().unwrap(), "{what}");
            }
            assert_eq!(lane.busy(span), engine["busy_ns"].as_u64().unwrap(), "{what}");
        }
        if let Some(table) = store.table("DmaPacket") {
            let lanes = || table.groups.iter().map(|g| g.sequence.of(table));
            let bytes = table.measure_index(Measure::Bytes).unwrap();
            // Bytes of packets without duration move at their start; the truth knows only rates.
            let odd = lanes().any(|l| l.busy(span) == 0 && l.count(span) == 0 && l.sum(bytes, span) > 0.0);
            let odd = odd || table.flags.iter().any(|f| f & flag::REVERSED != 0);
            let packets: usize = lanes().map(|l| l.count(span)).sum();
            let counted = window["dma"]["packets"].as_u64().unwrap();
            assert!(packets as u64 == counted || odd, "{} {span:?}: {packets} packets", path.display());
            let moved: f64 = lanes().map(|l| l.sum(bytes, span)).sum();
            let expected = window["dma"]["bytes_prorated"].as_f64().unwrap();
            let close = odd || (moved - expected).abs() <= 1e-6 * expected.max(1.0);
            assert!(close, "{} {span:?}: {moved} bytes, expected {expected}", path.display());
        }
    }
}

fn compare_queues(path: &Path, store: &Store, truth: &Value) {
    let Some(table) = store.table("DmaPacketAggregated") else { return };
    for (name, count) in number_map(&truth["tracks"]["dma_aggregated"]) {
        let core = |c: Option<i64>| c.filter(|_| store.cores() > 1).map_or(String::new(), |c| format!("(nc{c})"));
        let group = table.groups.iter().find(|g| format!("{}{}", g.key.name, core(g.key.core)) == *name);
        let found = group.map(|g| g.sequence.len() as u64);
        assert_eq!(found, Some(count), "{}: queue {name}", path.display());
    }
}
