//! Dependencies and chains of generated profiles, against answers computed without this program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use neuron_scope::query::causes::{Actor, Asking};
use neuron_scope::store::Store;
use serde_json::Value;

use super::{corpus, open};

/// Profiles with a truth file beside them that lists dependencies.
fn profiles() -> Vec<(PathBuf, Value)> {
    let mut found = Vec::new();
    let mut directories: Vec<PathBuf> = corpus("bundle").into_iter().collect();
    let cases = corpus("parquet").and_then(|root| std::fs::read_dir(root).ok());
    directories.extend(cases.into_iter().flatten().flatten().map(|case| case.path()));
    for directory in directories {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(profile) = name.strip_suffix(".truth.json") else { continue };
            let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
            let Ok(truth) = serde_json::from_str::<Value>(&text) else { continue };
            if truth.get("dependencies").and_then(Value::as_array).is_some_and(|d| !d.is_empty()) {
                found.push((directory.join(profile), truth));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn name_of(store: &Store, asking: &Asking<'_>, actor: Actor) -> (String, i128) {
    let event = asking.event(actor);
    let table = match store.table_of(event).name.as_str() {
        "Instruction" => "instruction",
        "DmaPacketAggregated" => "dma_block",
        other => other,
    };
    (table.to_owned(), store.id_of(event))
}

fn id_of(value: &Value) -> i128 {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)).expect("an id")
}

fn instruction(store: &Store, id: i128) -> Option<Actor> {
    let table = store.table_index("Instruction")?;
    store.find_id(table, id).first().map(|e| Actor::Instruction(e.event))
}

type Edge = ((String, i128), Option<String>, i64);

fn expected(list: &Value) -> Vec<Edge> {
    let mut edges: Vec<Edge> = list
        .as_array()
        .into_iter()
        .flatten()
        .map(|e| {
            let name = (e["table"].as_str().unwrap_or("").to_owned(), id_of(&e["id"]));
            (name, e["type"].as_str().map(str::to_owned), e["gap_time"].as_i64().expect("a gap"))
        })
        .collect();
    edges.sort();
    edges
}

fn check(path: &Path, truth: &Value) -> (usize, usize) {
    let (store, index) = open(path);
    let asking = Asking::new(&store, &index);
    // These cases move the events and leave the column with the gaps as it was.
    let moved = ["all_at_once", "end_before_start", "times_"].iter().any(|c| path.to_string_lossy().contains(c));
    let mut edges = 0;
    for entry in truth["dependencies"].as_array().into_iter().flatten() {
        let id = id_of(&entry["id"]);
        let actor = instruction(&store, id).unwrap_or_else(|| panic!("{}: no instruction {id}", path.display()));
        let found = asking.neighbours(actor);
        for (side, list) in [("predecessors", &found.predecessors), ("successors", &found.successors)] {
            let mut flat: Vec<Edge> = list
                .iter()
                .flat_map(|d| {
                    d.recorded.iter().map(|(_, name)| (name_of(&store, &asking, d.actor), name.clone(), d.gap))
                })
                .collect();
            flat.sort();
            let mut expected = expected(&entry[side]);
            if moved {
                flat.iter_mut().chain(&mut expected).for_each(|edge| edge.2 = 0);
            }
            assert_eq!(flat, expected, "{}: {side} of {id}", path.display());
            edges += flat.len();
        }
    }
    let mut steps = 0;
    for chain in truth["chains"].as_array().into_iter().flatten() {
        let from = id_of(&chain["from"]);
        let actor = instruction(&store, from).unwrap_or_else(|| panic!("{}: no instruction {from}", path.display()));
        let names: Vec<String> = asking
            .latest_end_chain(actor)
            .into_iter()
            .map(|a| name_of(&store, &asking, a))
            .map(|(table, id)| format!("{table}:{id}"))
            .collect();
        let texts = |key: &str| -> Vec<String> {
            chain[key].as_array().into_iter().flatten().filter_map(|t| t.as_str().map(str::to_owned)).collect()
        };
        assert_eq!(names.len() as u64, chain["length"].as_u64().expect("a length"), "{}: {from}", path.display());
        let (first, last) = (texts("first"), texts("last"));
        assert_eq!(names[..first.len()], first[..], "{}: {from}", path.display());
        assert_eq!(names[names.len() - last.len()..], last[..], "{}: {from}", path.display());
        steps += names.len();
    }
    (edges, steps)
}

#[test]
fn dependencies_and_chains_agree_with_every_truth() {
    let mut checked = BTreeMap::new();
    for (path, truth) in profiles() {
        let (edges, steps) = check(&path, &truth);
        checked.insert(path, (edges, steps));
    }
    let edges: usize = checked.values().map(|(e, _)| e).sum();
    println!("{} profiles, {edges} edges, {} steps", checked.len(), checked.values().map(|(_, s)| s).sum::<usize>());
    assert!(checked.is_empty() || edges > 1_000);
}
