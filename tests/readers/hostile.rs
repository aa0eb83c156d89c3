//! Damaged and odd directories: one bad file costs only itself, and says so in words.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use neuron_scope::demo;
use neuron_scope::source::discover;
use neuron_scope::store::Store;

use crate::corpus::{corpus, read, read_one};

fn demo_in(directory: &Path) -> std::path::PathBuf {
    demo::write(directory).unwrap()
}

fn problem_of<'a>(store: &'a Store, file: &str) -> &'a str {
    let found = store.problems.iter().find(|p| p.path.ends_with(file));
    &found.unwrap_or_else(|| panic!("no problem with {file} in {:?}", store.problems)).message
}

#[test]
fn one_bad_file_costs_only_itself() {
    let scratch = tempfile::tempdir().unwrap();
    let profile = demo_in(scratch.path());
    let whole = read_one(&profile);
    fs::write(profile.join("DmaPacket.parquet"), b"").unwrap();
    fs::write(profile.join("Summary.parquet"), b"not a table at all").unwrap();
    let flow = fs::read(profile.join("Flow.parquet")).unwrap();
    fs::write(profile.join("Flow.parquet"), &flow[..flow.len() - 100]).unwrap();
    let store = read_one(&profile);
    assert!(problem_of(&store, "DmaPacket.parquet").contains("empty"));
    assert!(problem_of(&store, "Summary.parquet").contains("not a Parquet file"));
    assert!(problem_of(&store, "Flow.parquet").contains("footer"));
    assert_eq!(store.table("Instruction").unwrap().len(), whole.table("Instruction").unwrap().len());
    assert!(store.table("DmaPacket").is_none() && whole.table("DmaPacket").is_some());
    assert!(store.graph.is_none() && whole.graph.is_some());
}

#[test]
fn a_file_cut_or_damaged_anywhere_never_panics() {
    let scratch = tempfile::tempdir().unwrap();
    let profile = demo_in(scratch.path());
    for table in ["Instruction", "Flow", "DmaUsage", "Metadata"] {
        let path = profile.join(format!("{table}.parquet"));
        let bytes = fs::read(&path).unwrap();
        for step in 0..24usize {
            let mut broken = bytes.clone();
            if step % 2 == 0 {
                broken.truncate(bytes.len() * step / 24);
            } else {
                let at = bytes.len() * step / 24;
                broken[at..(at + 16).min(bytes.len())].iter_mut().for_each(|b| *b ^= 0x5a);
            }
            fs::write(&path, &broken).unwrap();
            let store = read_one(&profile);
            assert!(store.table("SemaphoreUpdate").is_some_and(|t| !t.is_empty()), "{table} {step}");
        }
        fs::write(&path, &bytes).unwrap();
    }
}

#[test]
fn directories_that_only_look_odd_open() {
    let scratch = tempfile::tempdir().unwrap();
    let global = scratch.path().join("data/profiles/global");
    fs::create_dir_all(&global).unwrap();
    let profile = demo_in(&global);
    fs::create_dir(profile.join("Warning_7.parquet")).unwrap();
    fs::write(profile.join(".hidden.parquet"), b"x").unwrap();
    fs::write(profile.join("Flow copy.parquet"), b"x").unwrap();
    // A loop of symbolic links, and a name with a line break.
    symlink(&global, global.join("again")).unwrap();
    fs::rename(&profile, global.join("two\nlines@latest")).unwrap();
    let found = discover(&scratch.path().join("data")).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].name, "two\nlines");
    let store = read(&found[0], None).unwrap();
    assert_eq!(store.problems.len(), 1, "{:?}", store.problems);
    assert!(store.problems[0].message.contains("directory"));
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = tempfile::tempdir().unwrap();
    let profile = demo_in(scratch.path());
    let path = profile.join("Flow.parquet");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    assert!(problem_of(&read_one(&profile), "Flow.parquet").contains("permission"));
}

#[test]
fn nothing_to_open_says_what_was_looked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let problem = discover(scratch.path()).unwrap_err();
    assert!(problem.message.contains("Instruction.parquet"), "{}", problem.message);
    let missing = discover(&scratch.path().join("nowhere")).unwrap_err();
    assert!(missing.message.contains("does not exist"), "{}", missing.message);
}

#[test]
fn every_case_of_the_corpus_opens_or_says_why() {
    let Some(root) = corpus("parquet") else { return };
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(root.join("manifest.json")).unwrap()).unwrap();
    for (case, what) in manifest.as_object().unwrap() {
        let Ok(found) = discover(&root.join(case)) else {
            assert_eq!(case, "empty_directory", "{case} holds profiles");
            continue;
        };
        for found in found {
            let store = read(&found, None).unwrap_or_else(|p| panic!("{case}: {p:?}"));
            let broken = what["expect"] == "broken" && found.kind == neuron_scope::store::ProfileKind::Device;
            // Columns of other types are converted, so nothing is lost there.
            if broken && case != "wrong_types" {
                assert!(!store.problems.is_empty(), "{case} is broken, and nothing says so");
            }
            for problem in &store.problems {
                let technical = ["parquet", "Arrow", "EOF", "thrift", "panicked", "Error"];
                let said = technical.iter().find(|word| problem.message.contains(**word));
                assert!(said.is_none(), "{case}: {}", problem.message);
            }
            for (index, table) in store.events.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
                for event in [0, table.len() as u32 / 2, table.len() as u32 - 1] {
                    let event = neuron_scope::store::EventRef { table: index as u16, event };
                    let fields = store.details(event).unwrap_or_else(|p| panic!("{case} {}: {p:?}", table.name));
                    assert!(!fields.is_empty(), "{case} {}", table.name);
                }
            }
        }
    }
}
