//! The public captures of the corpus, with what the vendor's tool made of them beside them.

use std::path::PathBuf;

use neuron_scope::source::neff::Neff;
use neuron_scope::source::ntff::Ntff;

/// The captures of a version: folder, NEFF and NTFF. Says so when there are none.
pub fn captures(version: &str) -> Vec<(String, PathBuf, PathBuf)> {
    let corpus = std::env::var_os("NEURON_SCOPE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from);
    let mut found = vec![];
    for entry in std::fs::read_dir(corpus.join("neuron")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(version) {
            continue;
        }
        let with = |extension: &str| {
            let files = std::fs::read_dir(entry.path()).into_iter().flatten().flatten().map(|file| file.path());
            files.into_iter().find(|path| path.extension().is_some_and(|found| found == extension))
        };
        if let (Some(neff), Some(ntff)) = (with("neff"), with("ntff")) {
            found.push((name, neff, ntff));
        }
    }
    if found.is_empty() {
        println!("skipped: no {version} capture in {}", corpus.display());
    }
    found.sort();
    found
}

#[test]
fn every_capture_opens_without_a_problem() {
    for (name, neff, ntff) in captures("v") {
        let neff = Neff::open(&neff).unwrap();
        let ntff = Ntff::open(&ntff).unwrap();
        assert_eq!(neff.problems, [""; 0], "{name}");
        assert_eq!(ntff.problems, [""; 0], "{name}");
        assert!(ntff.is_run_of(&neff.header.uuid), "{name}");
        assert!(!ntff.is_run_of(&"ab".repeat(16)), "{name}");
        assert_eq!(neff.graphs.len(), ntff.cores.len(), "{name}");
        for (graph, core) in neff.graphs.iter().zip(&ntff.cores) {
            assert_eq!(graph.name, core.name);
            let instructions = ntff.instructions(core);
            let (rings, bad_dma) = ntff.dma_packets(core);
            let (sync, bad_sync) = ntff.sync_records(core);
            println!(
                "{name} {}: {} instructions, {} unfinished, {} packets, {} sync, {} throttle",
                core.name,
                instructions.finished.len(),
                instructions.unfinished.len(),
                rings.iter().map(|ring| ring.packets.len()).sum::<usize>(),
                sync.len(),
                ntff.throttle_records(core).len()
            );
            assert_eq!(
                (instructions.lost_starts, instructions.lost_ends, instructions.invalid, bad_dma, bad_sync),
                (0, 0, 0, 0, 0)
            );
            assert_eq!(instructions.unfinished.len(), 1, "Tensor waits for the next execution");
            assert!(rings.iter().all(|ring| ring.unpaired == 0));
        }
    }
}
