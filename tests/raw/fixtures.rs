//! The readers on files that the fixture writer makes: what comes out is what was put in, and damage never does more
//! than lose something.

use neuron_scope::model::Engine;
use neuron_scope::source::neff::{DependencyType, Neff};
use neuron_scope::source::ntff::Ntff;
use neuron_scope::source::raw::{EdgeKind, Node, RawCapture};
use proptest::prelude::*;

use crate::sample::{LENGTH, UUID, ZERO, members, program, trace};
use crate::writer::{Trace, Word, message, neff};

fn read_neff(bytes: &[u8]) -> Neff {
    Neff::read(bytes, bytes.len() as u64).unwrap()
}

fn join(version: u8) -> RawCapture {
    let ntff = Ntff::parse(trace(version).bytes()).unwrap();
    RawCapture::join(&ntff, Some(&read_neff(&program(version))))
}

#[test]
fn each_version_says_what_was_written() {
    for version in 4..=6 {
        let capture = join(version);
        assert_eq!(capture.problems, [""; 0], "version {version}");
        assert_eq!(capture.metadata.ntff_version, version);
        assert_eq!(capture.metadata.runtime_version, "2.30.51 (faafe)");
        assert_eq!(capture.cores[0].executions[0].end_ps, LENGTH as i64);
        assert_eq!(capture.private.process_id, Some(4242));

        let rows: Vec<_> = capture
            .instructions
            .iter()
            .map(|row| {
                let word = &capture.words[row.word as usize];
                (row.engine, word.pc, &*word.opcode, row.times.start_ts(), row.times.duration_ns(), row.outside)
            })
            .collect();
        let load = if version == 6 { "DMA_DIRECT2D" } else { "WRITE" };
        let marker = if version == 6 { (-10, 10) } else { (-4, 5) };
        assert_eq!(
            rows,
            [
                (Engine::Tensor, Some(0), "NOTIFY", marker.0, marker.1, true),
                (Engine::Sync, Some(0), load, 2000, 500, false),
                (Engine::Tensor, Some(1), "MATMUL", 9000, 499, false),
                (Engine::Tensor, Some(2), "MATMUL", 9600, 399, false),
                (Engine::Tensor, Some(3), "NOTIFY", 89_998, 4, true),
            ],
            "version {version}"
        );
        assert_eq!(capture.evt_wait_time_ns(&capture.instructions[2]), Some(if version == 4 { 8 } else { 10 }));

        let word = &capture.words[capture.instructions[2].word as usize];
        assert_eq!((word.compiler_pc, word.bir_id.as_str()), (Some(0), "sg0000:20"));
        assert_eq!((word.penguin_id.as_str(), word.hlo_name.as_str()), ("sg0000:6", "dot.1"));
        assert_eq!(word.layer, "layer_1/dot");
        assert_eq!(word.nki_source_location, "/src/tiles.py:8");
        assert_eq!((word.psum_write_banks, word.tensor_elements), (1, 128 * 128 * 128));
        assert!(word.operands.starts_with("S[34] (qSync"), "{}", word.operands);
        assert_eq!(word.symbolic_operands, "SBUF(partition=0,offset=16384) PSUM(partition=0,bank=0,offset=0)");
        let word = &capture.words[capture.instructions[1].word as usize];
        assert_eq!((word.hbm_read_bytes, word.sbuf_write_bytes), (32_768, 32_768));
        assert_eq!(word.nki_source_location, "/src/kernel.py:42");

        assert_eq!(capture.dma_packets.len(), 9);
        assert_eq!(capture.dma_transfers.len(), 1, "version {version}");
        let transfer = &capture.dma_transfers[0];
        assert_eq!((transfer.trigger, transfer.packets, transfer.transfer_bytes), (1, 9, 32_772));
        assert_eq!((transfer.times.start_ts(), transfer.times.end_ts()), (3000, 4020));
        let plan = &capture.transfer_plans[transfer.plan as usize];
        assert_eq!((plan.variable.as_str(), plan.op, plan.block_id), ("x", "read", (version < 6).then_some(0)));
        assert_eq!((plan.source.as_str(), plan.dest.as_str()), ("[INPUT]", "[SB]"));
        assert_eq!(plan.write_sbuf_partitions, "0-127");

        let edges: Vec<_> = capture.edges.iter().map(|e| (e.predecessor, e.successor, e.kind)).collect();
        let flow = EdgeKind::Compiler(DependencyType::Flow);
        assert_eq!(
            edges,
            [
                (Node::Instruction(1), Node::Instruction(2), flow),
                (Node::Transfer(0), Node::Instruction(2), EdgeKind::DmaWait),
                (Node::Instruction(1), Node::Instruction(3), flow),
                (Node::Instruction(1), Node::Transfer(0), EdgeKind::DmaTrigger),
            ],
            "version {version}; the second MATMUL continues the first one's accumulation"
        );
        assert_eq!(capture.edges[0].gap_time, 6499);

        let steps: Vec<_> = capture.pending_dma.iter().map(|row| (row.timestamp, row.value, row.triggered)).collect();
        assert_eq!(steps, [(2000, 1, 1), (4090, 0, 1)]);
        assert_eq!(capture.gaps.len(), 1);
        assert_eq!((capture.gaps[0].after_ps, capture.gaps[0].before_ps), (4_300_000, 4_400_000));
        assert_eq!(capture.semaphore_label(&capture.semaphores[0]).get(..7), Some("S[34] ("));
        let throttle = &capture.throttles[0];
        assert_eq!((throttle.times.start_ts(), throttle.times.duration_ns(), throttle.k), (50_000, 40_000, 4));
        let last = capture.hbm_usage.last().unwrap();
        assert_eq!((last.current_throughput, last.total_transfer_bytes), (0.0, 32_772));
        assert_eq!(
            capture.psum_usage.iter().map(|r| (r.timestamp, r.banks)).collect::<Vec<_>>(),
            [(9000, 1), (9500, 0), (9600, 1), (9999, 0)]
        );
        assert_eq!((capture.tensors[0].load_to_sbuf_dma_count, capture.tensors[0].shape.as_str()), (1, "[128 64]"));
    }
}

#[test]
fn without_the_program_what_the_capture_holds_is_still_there() {
    let capture = RawCapture::join(&Ntff::parse(trace(6).bytes()).unwrap(), None);
    assert_eq!(capture.instructions.len(), 5);
    assert_eq!(capture.dma_transfers.len(), 1, "the loaded word tells enough");
    let plan = &capture.transfer_plans[capture.dma_transfers[0].plan as usize];
    assert_eq!((plan.source.as_str(), plan.dest.as_str(), plan.variable.as_str()), ("[DRAM]", "[SB]", ""));
    assert!(capture.edges.iter().all(|edge| !edge.kind.is_recorded()));
    assert_eq!(capture.semaphore_label(&capture.semaphores[0]), "34");
}

#[test]
fn a_program_of_another_compilation_is_noticed() {
    let mut other = trace(5);
    other.uuid[0] = 8;
    let capture = RawCapture::join(&Ntff::parse(other.bytes()).unwrap(), Some(&read_neff(&program(5))));
    let said = |capture: &RawCapture, what: &str| {
        assert!(capture.problems.iter().any(|problem| problem.contains(what)), "{:?}", capture.problems);
    };
    said(&capture, "of the same instructions");
    // It says the same of what it does, so that names hold.
    assert_eq!(capture.words.iter().find(|word| word.pc == Some(1)).unwrap().hlo_name, "dot.1");
    // Of other instructions, nothing is taken over: not names, nor dependencies, nor what compiled it.
    let mut changed = members(5);
    let tensor = changed.iter_mut().find(|(name, _)| *name == "sg00/PE.bin").unwrap();
    tensor.1[20] ^= 1;
    let bytes = neff(UUID, &changed);
    let capture = RawCapture::join(&Ntff::parse(other.bytes()).unwrap(), Some(&read_neff(&bytes)));
    said(&capture, "not the one that ran");
    let alone = RawCapture::join(&Ntff::parse(other.bytes()).unwrap(), None);
    assert_eq!(format!("{:?}", capture.words), format!("{:?}", alone.words));
    assert_eq!((&capture.edges, &capture.metadata, &capture.neff_header), (&alone.edges, &alone.metadata, &None));
    // Up to version 5 the uuid ends at its first zero byte.
    let ntff = Ntff::parse(Trace { uuid: UUID, ..trace(5) }.bytes()).unwrap();
    assert!(ntff.is_run_of(&read_neff(&program(5)).header.uuid));
}

#[test]
fn repeated_instructions_pair_and_depend_on_the_last_one_before() {
    let mut looped = trace(6);
    let core = &mut looped.cores[0];
    core.instructions.clear();
    for lap in 0..3 {
        core.ran(4, 0, ZERO + lap * 1_000_000 + 1000, ZERO + lap * 1_000_000 + 2000);
        core.ran(0, 1, ZERO + lap * 1_000_000 + 5000, ZERO + lap * 1_000_000 + 6000);
    }
    let capture = RawCapture::join(&Ntff::parse(looped.bytes()).unwrap(), Some(&read_neff(&program(6))));
    assert_eq!((capture.instructions.len(), capture.words.len()), (6, 2));
    let recorded = capture.edges.iter().filter(|edge| edge.kind.is_recorded());
    let recorded: Vec<_> = recorded.map(|edge| (edge.predecessor, edge.successor)).collect();
    let pair = |a, b| (Node::Instruction(a), Node::Instruction(b));
    assert_eq!(recorded, [pair(0, 1), pair(2, 3), pair(4, 5)]);
    assert!(capture.problems.iter().any(|problem| problem.contains("cannot be matched with its 3 transfers")));
    assert_eq!(capture.dma_packets.iter().filter(|packet| packet.transfer.is_some()).count(), 0);
}

#[test]
fn unknown_words_show_their_bytes() {
    let mut odd = trace(6);
    odd.cores[0].ran(4, 1, ZERO + 10, ZERO + 20);
    odd.cores[0].ran(4, 77, ZERO + 30, ZERO + 40);
    let capture = RawCapture::join(&Ntff::parse(odd.bytes()).unwrap(), None);
    let word = capture.words.iter().find(|word| word.opcode == "OP_0xCD").unwrap();
    assert!(word.operands.starts_with("raw=cd10"), "{}", word.operands);
    let word = capture.words.iter().find(|word| word.opcode == "NOT_IN_FILE").unwrap();
    assert_eq!(word.pc, None);
}

#[test]
fn what_cannot_be_read_is_refused_in_words() {
    let mut other = trace(6);
    other.version = 7;
    let fault = Ntff::parse(other.bytes()).unwrap_err().to_string();
    assert!(fault.contains("version 7") && fault.contains("neuron-explorer view"), "{fault}");
    assert!(Ntff::parse(vec![]).unwrap_err().to_string().contains("is empty"));
    assert!(Ntff::parse(vec![6; 20]).unwrap_err().to_string().contains("ends after 20"));
    assert!(Neff::read(&[0; 20][..], 20).unwrap_err().to_string().contains("ends after 20"));
    assert!(Neff::read(&[0; 2000][..], 2000).unwrap_err().to_string().contains("no NEFF"));
}

#[test]
fn every_truncation_loses_something_and_nothing_else() {
    let whole = trace(6).bytes();
    let program = program(6);
    let neff = read_neff(&program);
    for cut in 0..whole.len() {
        if let Ok(ntff) = Ntff::parse(whole[..cut].to_vec()) {
            assert!(!ntff.problems.is_empty(), "cut at {cut}");
            let _ = RawCapture::join(&ntff, Some(&neff));
        }
    }
    let ntff = Ntff::parse(whole).unwrap();
    for cut in 0..program.len() {
        if let Ok(neff) = Neff::read(&program[..cut], cut as u64) {
            assert!(!neff.problems.is_empty(), "cut at {cut}");
            let _ = RawCapture::join(&ntff, Some(&neff));
        }
    }
}

#[test]
fn records_that_name_the_same_bytes_again_are_left_out() {
    let mut bytes = trace(6).bytes();
    let length = bytes[1..8].iter().rev().fold(0_usize, |l, b| l << 8 | usize::from(*b));
    let mut metadata = message();
    metadata.0 = bytes[128..128 + length].to_vec();
    for _ in 0..1000 {
        metadata = metadata.message(16, message().number(1, 1).number(6, 32).number(7, 4));
    }
    let mut again = bytes[..128].to_vec();
    again[1..8].copy_from_slice(&(metadata.0.len() as u64).to_le_bytes()[..7]);
    again.extend(&metadata.0);
    again.extend(bytes.split_off(128 + length));
    let ntff = Ntff::parse(again).unwrap();
    assert_eq!(ntff.problems.len(), 1000);
    assert_eq!(ntff.sync_records(&ntff.cores[0]).0.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever a few bytes are changed to, reading ends with rows, problems or a fault.
    #[test]
    fn damaged_captures_never_panic(
        version in 4_u8..=6,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        with_program in any::<bool>(),
    ) {
        let mut bytes = trace(version).bytes();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(ntff) = Ntff::parse(bytes) {
            let neff = with_program.then(|| read_neff(&program(version)));
            let capture = RawCapture::join(&ntff, neff.as_ref());
            for row in &capture.instructions {
                prop_assert!((row.word as usize) < capture.words.len());
            }
            prop_assert!(capture.instructions.is_sorted_by_key(|row| row.times.start_ps));
        }
    }

    /// The same for programs, in the file or inside the archive.
    #[test]
    fn damaged_programs_never_panic(
        version in 4_u8..=6,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        member in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut members = members(version);
        let mut bytes = program(version);
        let target = match member {
            Some(index) => {
                let index = index.index(members.len());
                &mut members[index].1
            }
            None => &mut bytes,
        };
        for (at, value) in damage {
            let at = at.index(target.len());
            target[at] = value;
        }
        if member.is_some() {
            bytes = neff(UUID, &members);
        }
        if let Ok(neff) = Neff::read(&bytes[..], bytes.len() as u64) {
            let ntff = Ntff::parse(trace(version).bytes()).unwrap();
            let _ = RawCapture::join(&ntff, Some(&neff));
        }
    }

    /// Any words at all have operands or raw bytes, and any records are read.
    #[test]
    fn any_words_and_records_are_read(
        words in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 64), 1..6),
        records in proptest::collection::vec(any::<[u8; 16]>(), 0..60),
    ) {
        let mut odd = trace(6);
        let core = &mut odd.cores[0];
        core.code[0] = words.iter().map(|bytes| Word::new(0).set(0, bytes)).collect();
        for index in 0..words.len() as u64 {
            core.ran(0, index, ZERO + index * 100, ZERO + index * 100 + 50);
        }
        for (number, record) in records.iter().enumerate() {
            match number % 4 {
                0 => core.instructions.push(*record),
                1 => core.sync.push(*record),
                2 => core.dma.push(*record),
                _ => core.throttle.push(*record),
            }
        }
        let ntff = Ntff::parse(odd.bytes()).unwrap();
        let capture = RawCapture::join(&ntff, Some(&read_neff(&program(6))));
        prop_assert!(capture.instructions.len() >= words.len());
    }
}
