//! The public captures of the corpus, with what the vendor's tool made of them beside them.

use std::path::PathBuf;

use neuron_scope::model::Engine;
use neuron_scope::source::neff::Neff;
use neuron_scope::source::ntff::Ntff;
use neuron_scope::source::raw::{EdgeKind, RawCapture, RawInstruction, RawTransferPlan};

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

/// A figure of the vendor's summary of a capture.
fn summary(text: &str, key: &str) -> f64 {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(key));
    line.and_then(|line| line.split_whitespace().nth(1)).unwrap().parse().unwrap()
}

#[test]
fn version_5_agrees_with_the_vendors_summaries() {
    for (name, neff, ntff) in captures("v5") {
        let Ok(text) = std::fs::read_to_string(ntff.with_file_name("oracle-summary.txt")) else { continue };
        let capture = RawCapture::open(&ntff, Some(&neff)).unwrap();
        let figure = |key: &str| summary(&text, key);
        let seconds = capture.cores[0].executions[0].end_ps as f64 * 1e-12;
        assert!((seconds - figure("total_time")).abs() < 1e-15, "{name}");
        assert_eq!(capture.semaphores.len() as f64, figure("event_count"), "{name}: the vendor counts all of them");
        let packets: Vec<_> = capture.dma_packets.iter().filter(|packet| !packet.outside).collect();
        assert_eq!(packets.len() as f64, figure("static_dma_packet_count"), "{name}");
        let bytes: u64 = packets.iter().map(|packet| u64::from(packet.transfer_bytes)).sum();
        println!("{name}: {bytes} bytes, the vendor says {}", figure("static_dma_size"));
        assert_eq!(bytes as f64, figure("static_dma_size"), "{name}");
        let moved = |wanted: fn(&RawTransferPlan) -> u64| -> u64 {
            capture.dma_transfers.iter().map(|t| wanted(&capture.transfer_plans[t.plan as usize])).sum()
        };
        let read = moved(|plan| if plan.reads_hbm { plan.read_bytes } else { 0 });
        let written = moved(|plan| if plan.writes_hbm { plan.write_bytes } else { 0 });
        println!("{name}: {read} read, {written} written");
        assert_eq!(read as f64, figure("hbm_read_bytes"), "{name}");
        assert_eq!(written as f64, figure("hbm_write_bytes"), "{name}");
        let mut off = 0;
        for engine in Engine::ALL {
            let own = capture.instructions.iter().filter(|row| row.engine == engine && !row.outside).count();
            let vendor = figure(&format!("{}_engine_instruction_count", engine.name().to_lowercase()));
            println!("{name}: {} {own}, the vendor says {vendor}", engine.name());
            off += (own as i64).abs_diff(vendor as i64);
        }
        assert!(off <= 4, "{name}: rows at the edges of the execution may differ");
    }
}

#[test]
fn static_transfers_are_found_in_full() {
    for (name, neff, ntff) in captures("v5").into_iter().chain(captures("v4")) {
        let capture = RawCapture::open(&ntff, Some(&neff)).unwrap();
        assert_eq!(capture.problems, [""; 0], "{name}");
        for packet in &capture.dma_packets {
            let is_data = capture.dma_rings[packet.ring as usize].queue_idx != 14;
            assert_eq!(packet.transfer.is_some(), is_data, "{name}: instruction fetches alone belong to no transfer");
        }
        for transfer in &capture.dma_transfers {
            let plan = &capture.transfer_plans[transfer.plan as usize];
            assert!(transfer.transfer_bytes >= plan.write_bytes, "{name}");
            let trigger = &capture.instructions[transfer.trigger as usize];
            assert!(trigger.times.start_ps <= transfer.times.start_ps, "{name}: nothing moves before it is started");
            assert_eq!(capture.words[trigger.word as usize].compiler_opcode, "PSEUDO_DMA_TRIGGER");
            assert_eq!(capture.words[trigger.word as usize].opcode, "WRITE");
        }
        let waits = capture.edges.iter().filter(|edge| edge.kind == EdgeKind::DmaWait);
        println!("{name}: {} transfers, {} of their waits", capture.dma_transfers.len(), waits.clone().count());
        assert!(waits.count() > 0);
        let unknown = |row: &&RawInstruction| {
            let opcode = &capture.words[row.word as usize].opcode;
            !row.outside && (opcode.starts_with("OP_") || opcode == "NOT_IN_FILE")
        };
        let unknown = capture.instructions.iter().filter(unknown).count();
        assert_eq!(unknown, usize::from(name.starts_with("v4")), "{name}");
    }
}
