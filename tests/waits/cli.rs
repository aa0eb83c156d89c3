//! `deps` and `explain` as other tools read them.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::{corpus, worked_example};

fn run(arguments: &[&str], path: &Path) -> Output {
    let cache = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_neuron-scope"));
    command.arg(arguments[0]).arg(path).args(&arguments[1..]).env("XDG_CACHE_HOME", cache.path());
    command.output().expect("it runs")
}

fn json(arguments: &[&str], path: &Path) -> Value {
    let output = run(arguments, path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn events(list: &Value) -> Vec<i64> {
    list.as_array().into_iter().flatten().map(|e| e["event"]["id"].as_i64().expect("an id")).collect()
}

#[test]
fn explain_walks_the_worked_example() {
    worked_example().iter().for_each(|path| explain_walks(path));
}

fn explain_walks(path: &Path) {
    let gap = json(&["explain", "gap@50us@TensorMatrix(nc0)", "--json"], path);
    assert_eq!(gap["subject"]["gap"]["end_ns"], 69_474);
    assert_eq!(gap["total_ns"], 44_797);
    let pieces = gap["pieces"].as_array().expect("pieces");
    let sum: i64 = pieces.iter().map(|p| p["end_ns"].as_i64().unwrap_or(0) - p["start_ns"].as_i64().unwrap_or(0)).sum();
    assert_eq!(sum, 44_797);
    assert!(pieces.windows(2).all(|w| w[0]["start_ns"] == w[1]["end_ns"]));
    let kinds = ["compute", "transfer", "queued", "dispatch", "semaphore", "idle"];
    for piece in pieces {
        assert!(kinds.contains(&piece["kind"].as_str().unwrap_or("")), "{piece}");
        assert!(["recorded", "derived", "inferred"].contains(&piece["basis"].as_str().unwrap_or("")), "{piece}");
        assert!(piece["evidence"].as_array().is_some_and(|e| !e.is_empty()), "{piece}");
        assert_ne!(piece["event"]["name"], "");
    }
    // From the newest back: the semaphore, the queue, the instruction that issued it, what that waited for.
    let text = pieces.iter().map(|p| p["text"].as_str().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let mut at = 0;
    for part in [
        "S[34] (qSyncDynamicHW)>=16",
        " on qSyncDynamicHW(nc0) from pc 61",
        "issued by DMA_DIRECT2D pc 61 on Sync",
        "S[50] (qScalarDynamicHW)>=16",
    ] {
        at += text[at..].find(part).unwrap_or_else(|| panic!("{part} after {at} of\n{text}"));
    }
    // A moment at which nothing runs means the gap.
    let same = json(&["explain", "at:50us@TensorMatrix", "--json"], path);
    assert_eq!(same["pieces"], gap["pieces"]);

    let event = json(&["explain", "pc:61@Sync(nc0)", "--json"], path);
    assert_eq!(event["subject"]["pc"], 61);
    assert_eq!((event["causes"][0]["bound"].clone(), event["causes"][0]["slack_ns"].clone()), (true.into(), 0.into()));
    assert_eq!(event["why"]["lag_ns"], 17);
    let range = json(&["explain", "60us..70us", "--json"], path);
    assert_eq!(range["total_ns"], 10_000);
    let parts: i64 = range["by_track"].as_array().into_iter().flatten().filter_map(|t| t["ns"].as_i64()).sum();
    assert_eq!(parts, 10_000);
}

#[test]
fn deps_lists_what_is_stored_apart_from_what_is_derived() {
    let Some(path) = corpus("parquet/lnc1/llama_tp8_nc0@latest") else { return };
    let found = json(&["deps", "922463954150608024", "--json", "--chain=latest-end"], &path);
    assert_eq!(found["event"]["id"], 922_463_954_150_608_024i64);
    let before = &found["predecessors"][0];
    assert_eq!(before["event"]["id"], 2_315_010_965_609_130_557i64);
    assert_eq!(before["types"], serde_json::json!(["FLOW_DEPENDENCE", "SAME_PSUM_BANK"]));
    assert_eq!(before["gap_ns"], 55);
    assert_eq!(found["successors"].as_array().map(Vec::len), Some(5));
    assert_eq!(found["chain"][0]["id"], found["event"]["id"]);

    // An instruction and the transfer that it triggered have no type; both have an id.
    let trigger = json(&["deps", "dma_block:899500717253", "--json"], &path);
    assert_eq!(trigger["event"]["table"], "DmaPacketAggregated");
    assert_eq!(trigger["predecessors"][0]["types"], serde_json::json!([null]));
    // Its semaphore is no stored dependency.
    let waits: Vec<Value> = json(&["deps", "4042099139101608704", "--json"], &path)["derived"]["successors"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert!(waits.iter().all(|w| w["types"][0] != "FLOW_DEPENDENCE"), "{waits:?}");

    let deep = json(&["deps", "922463954150608024", "--json", "--depth", "3"], &path);
    assert_eq!(events(&deep["predecessors"]), events(&found["predecessors"]));
    assert!(!events(&deep["predecessors"][0]["predecessors"]).is_empty());
    assert!(found["predecessors"][0].get("predecessors").is_none());
}

#[test]
fn bad_names_are_told_from_missing_events() {
    let Some(path) = corpus("parquet/lnc1/llama_tp8_nc0@latest") else { return };
    let status = |arguments: &[&str]| {
        let output = run(arguments, &path);
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
        output.status.code()
    };
    assert_eq!(status(&["explain", "gap@xx"]), Some(2));
    assert_eq!(status(&["explain", "gap@300us@NoSuchTrack"]), Some(1));
    assert_eq!(status(&["deps", "12345"]), Some(1));
    assert_eq!(status(&["deps", "pc:35@Tensor"]), Some(1), "it ran three times");
    assert_eq!(status(&["deps", "1us..2us"]), Some(2));
    let missing = run(&["explain", "5"], Path::new("/nonexistent"));
    assert_eq!(missing.status.code(), Some(2));
}
