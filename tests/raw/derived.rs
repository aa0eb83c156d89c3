//! Derived tables and the program's own, held against the vendor's output or against rules stated another way.

use std::collections::BTreeSet;

use neuron_scope::source::raw::{EdgeKind, Node};
use serde_json::Value;

use crate::oracle::{Agreement, cases, left_out, number, text};

/// The value of a step function at a time: that of the last step at or before it.
fn at<T: Copy>(steps: &[(i64, T)], time: i64) -> Option<T> {
    let after = steps.partition_point(|(start, _)| *start <= time);
    after.checked_sub(1).map(|index| steps[index].1)
}

#[test]
fn curves_follow_the_vendors() {
    let mut agreement = Agreement::default();
    for case in cases() {
        let capture = &case.capture;
        for core in 0..capture.cores.len() as u16 {
            let own = |row: &&Value| case.core(row) == core;
            let steps: Vec<_> = capture
                .dma_usage
                .iter()
                .filter(|row| row.pcore_idx == core)
                .map(|row| (row.timestamp, (row.total_transfer_bytes, row.current_throughput)))
                .collect();
            let cut = left_out(capture);
            let more: Vec<_> = capture.dma_packets.iter().filter(|p| !p.outside && cut.contains(&p.ring)).collect();
            for row in case.rows("dma_throughput").iter().filter(own) {
                let time = row["timestamp"].as_i64().unwrap();
                let (mut total, mut rate) = at(&steps, time).unwrap_or((0, 0.0));
                for packet in more.iter().filter(|p| capture.dma_rings[p.ring as usize].pcore_idx == core) {
                    let bytes = u64::from(packet.transfer_bytes);
                    total -= if packet.times.start_ts() <= time { bytes } else { 0 };
                    let running = packet.times.start_ts() <= time && time < packet.times.end_ts();
                    rate -= if running { packet.times.throughput(bytes) } else { 0.0 };
                }
                agreement.count("dma total_transfer_bytes", total == number(row, "total_transfer_bytes"));
                let vendor = row["transfer_rate"].as_f64().unwrap();
                agreement.count("dma transfer_rate", (rate - vendor).abs() <= 1e-4 * vendor.max(1e6));
            }
            let steps: Vec<_> = capture
                .pending_dma
                .iter()
                .filter(|row| row.pcore_idx == core)
                .map(|row| (row.timestamp, row.triggered))
                .collect();
            for row in case.rows("pending_dma").iter().filter(own) {
                let triggered = at(&steps, row["timestamp"].as_i64().unwrap());
                agreement.count("pending: triggered so far", triggered.map(u64::from) == row["value"].as_u64());
            }
            let sbuf: Vec<_> = capture
                .sbuf_usage
                .iter()
                .filter(|row| row.pcore_idx == core)
                .map(|row| (row.timestamp, row.partition_util))
                .collect();
            let psum: Vec<_> =
                capture.psum_usage.iter().filter(|r| r.pcore_idx == core).map(|r| (r.timestamp, r.banks)).collect();
            for row in case.rows("instruction_usage").iter().filter(own) {
                let time = row["timestamp"].as_i64().unwrap();
                if text(row, "type") == "sb" {
                    let ours = at(&sbuf, time).unwrap_or_default();
                    let vendor = [0, 32, 64, 96].map(|p| row[format!("partition_{p}_usage")].as_f64().unwrap());
                    // The vendor counts one element less of what is read backwards.
                    let near = |slack: f64| ours.iter().zip(vendor).all(|(a, b)| (a - b).abs() * 229_376.0 <= slack);
                    agreement.count("sbuf usage exact", near(0.5));
                    agreement.count("sbuf usage within 4 B", near(4.5));
                    agreement.count("sbuf usage within 64 B", near(64.5));
                } else {
                    let vendor = (0..8)
                        .fold(0_u8, |mask, bank| mask | (number(row, &format!("bank_{bank}_usage")) as u8) << bank);
                    agreement.count("psum banks", at(&psum, time).unwrap_or(0) == vendor);
                }
            }
        }
    }
    agreement.print("curves");
    for field in ["dma total_transfer_bytes", "dma transfer_rate", "pending: triggered so far"] {
        let (same, all) = agreement.get(field);
        assert_eq!(same, all, "{field}");
    }
    // Three rows show what held for less than the nanosecond they are printed with.
    let (banks, all) = agreement.get("psum banks");
    assert!(all - banks <= 2);
    let (bytes, all) = agreement.get("sbuf usage within 64 B");
    assert!(all - bytes <= 1);
}

#[test]
fn what_the_program_says_equals_the_vendors() {
    let mut agreement = Agreement::default();
    for case in cases() {
        let capture = &case.capture;
        let header = capture.neff_header.as_ref().unwrap();
        let vendor = &case.rows("neff_header")[0];
        for (key, own) in [
            ("network_name", header.network_name.clone()),
            ("uuid", header.uuid.clone()),
            ("hash", header.hash.clone()),
            ("enabled_features", header.enabled_features()),
            ("header_size", header.header_size.to_string()),
            ("data_size", header.data_size.to_string()),
            ("major_version", header.major_version.to_string()),
            ("minor_version", header.minor_version.to_string()),
            ("package_version", header.package_version.to_string()),
            ("number_of_logical_neuroncores", header.logical_cores.to_string()),
            ("number_of_neuroncores_per_lnc", header.cores_per_logical_core.to_string()),
        ] {
            agreement.count("header", own == text(vendor, key));
        }
        let summary = &case.rows("summary")[0];
        let metadata = &capture.metadata;
        for (key, own) in [
            ("instance_type", &metadata.instance_type),
            ("runtime_version", &metadata.runtime_version),
            ("driver_version", &metadata.driver_version),
            ("collectives_version", &metadata.collectives_version),
            ("compiler_version", &metadata.compiler_version),
        ] {
            agreement.count("versions", *own == text(summary, key));
        }
        let vendor = &case.rows("metadata")[0];
        agreement
            .count("last_hw_timestamp", metadata.last_hw_timestamp == vendor["last_hw_timestamp"].as_i64().unwrap());
        agreement.count("ntff_version", u64::from(metadata.ntff_version) == number(vendor, "ntff_version"));
        for row in case.rows("neff_node").iter().filter(|row| row.get("size").is_some()) {
            let own =
                capture.tensors.iter().find(|t| t.pcore_idx == 0 && t.variable_name == text(row, "variable_name"));
            let own = own.map(|t| (t.kind.clone(), t.format.clone(), t.shape.clone(), t.size.unwrap().to_string()));
            let vendor = (text(row, "type"), text(row, "format"), text(row, "shape"), text(row, "size"));
            agreement.count("tensor", own == Some(vendor));
        }
        for row in case.rows("dma_queues_info") {
            let own = capture.dma_rings.iter().find(|ring| {
                ring.pcore_idx == case.core(row)
                    && u64::from(ring.engine_idx) == number(row, "q_eng_idx")
                    && u64::from(ring.queue_idx) == number(row, "q_idx")
            });
            let own = own.map(|r| (r.queue.clone(), r.class_name().to_owned(), r.dram_channel.unwrap()));
            let vendor = (text(row, "q_name"), text(row, "q_type"), number(row, "q_dram_channel"));
            agreement.count("dma queue", own == Some(vendor));
        }
        for row in case.rows("nc_mem_usage") {
            let own = capture.memory.iter().filter(|used| used.neuroncore_idx == number(row, "nc"));
            let kind = text(row, "usage_type");
            let bytes: u64 = own.filter(|used| kind == "Total" || used.usage_type == kind).map(|u| u.usage_bytes).sum();
            agreement.count("device memory", bytes == number(row, "amount_bytes"));
        }
    }
    agreement.print("program and machine");
    agreement.assert_complete();
}

/// Every transfer is joined to the instruction that started it, with the bytes that instruction moves.
#[test]
fn dynamic_transfers_are_found_in_full() {
    for case in cases() {
        let capture = &case.capture;
        let started = capture.instructions.iter().filter(|row| capture.words[row.word as usize].transfer.is_some());
        assert_eq!(started.count(), capture.dma_transfers.len(), "{}", case.name);
        for packet in &capture.dma_packets {
            let dynamic = capture.dma_rings[packet.ring as usize].queue_type.ends_with("dynamic");
            assert_eq!(packet.transfer.is_some(), dynamic, "{}: all packets but instruction fetches", case.name);
        }
        for transfer in &capture.dma_transfers {
            let plan = &capture.transfer_plans[transfer.plan as usize];
            let trigger = &capture.instructions[transfer.trigger as usize];
            let word = &capture.words[trigger.word as usize];
            assert_eq!(word.opcode, "DMA_DIRECT2D");
            assert_eq!(transfer.transfer_bytes, plan.write_bytes + 64, "{}", case.name);
            assert!(
                trigger.times.start_ps < transfer.times.start_ps,
                "{}: nothing moves before it is started",
                case.name
            );
            // Its semaphore reaches a multiple of 16 when the last ring is done.
            let raised = capture.semaphores.iter().filter(|row| {
                row.pcore_idx == transfer.pcore_idx
                    && plan.semaphores == [row.id]
                    && row.value > 0
                    && row.value % 16 == 0
            });
            let nearest = raised.map(|row| row.time_ps.abs_diff(transfer.ack_ps)).min().unwrap();
            assert!(nearest < 700_000, "{}: {nearest} ps from the end to its semaphore", case.name);
        }
        let pending = capture.pending_dma.iter().rfind(|row| row.pcore_idx == 0).unwrap();
        assert_eq!(pending.value, 0, "{}: all transfers have ended", case.name);
        let written = capture.hbm_usage.iter().rfind(|row| row.pcore_idx == 0).unwrap();
        assert!(written.total_transfer_bytes > number(&case.rows("summary")[0], "hbm_read_bytes"), "{}", case.name);
    }
}

/// The vendor's document of a real wait, from the capture itself.
#[test]
fn a_wait_is_followed_to_the_transfer_and_its_trigger() {
    for case in cases().iter().filter(|case| case.name == "v6_attention_baseline_bf16_s1024") {
        let capture = &case.capture;
        let find = |engine: &str, pc: u32| {
            let rows = capture.instructions.iter().enumerate().filter(|(_, row)| row.pcore_idx == 0 && !row.outside);
            let mut rows = rows.filter(|(_, row)| {
                let word = &capture.words[row.word as usize];
                word.timeline_track() == engine && word.pc == Some(pc)
            });
            rows.next().unwrap().0 as u32
        };
        let cause = |instruction: u32| {
            let wait = capture
                .edges
                .iter()
                .find(|edge| edge.kind == EdgeKind::DmaWait && edge.successor == Node::Instruction(instruction));
            let Some(Node::Transfer(transfer)) = wait.map(|edge| edge.predecessor) else { panic!("no transfer") };
            capture.dma_transfers[transfer as usize]
        };
        let queue = |ring: u32| capture.dma_rings[ring as usize].queue.as_str();
        let first = cause(find("Tensor", 110));
        assert_eq!(queue(first.ring), "qSyncDynamicHW");
        assert_eq!(first.trigger, find("Sync", 61));
        assert_eq!(capture.instructions[first.trigger as usize].times.start_ts(), 65_642);
        assert_eq!(capture.transfer_plans[first.plan as usize].semaphores, [34]);
        let second = cause(first.trigger);
        assert_eq!(queue(second.ring), "qScalarDynamicHW");
        assert_eq!(capture.transfer_plans[second.plan as usize].semaphores, [50]);
    }
}

/// Neighbours in a PSUM bank, by the vendor's three rules stated another way: for each pair of accesses of a bank with
/// none between them.
#[test]
fn psum_bank_edges_follow_the_three_rules() {
    for case in cases() {
        let capture = &case.capture;
        let word = |index: u32| &capture.words[capture.instructions[index as usize].word as usize];
        let mut expected = BTreeSet::new();
        for core in 0..capture.cores.len() as u16 {
            for bank in 0..8 {
                let uses = |index: &u32| {
                    let w = word(*index);
                    capture.instructions[*index as usize].pcore_idx == core
                        && (w.psum_read_banks | w.psum_write_banks) >> bank & 1 == 1
                };
                let users: Vec<u32> = (0..capture.instructions.len() as u32).filter(uses).collect();
                for pair in users.windows(2) {
                    let (a, b) = (word(pair[0]), word(pair[1]));
                    let writes = (a.psum_write_banks | b.psum_write_banks) >> bank & 1 == 1;
                    let target = |operands: &str| {
                        let at = operands.find("dst=").unwrap();
                        operands[at..].split_whitespace().next().unwrap().to_owned()
                    };
                    let adds = a.opcode == "MATMUL"
                        && b.opcode == "MATMUL"
                        && ["acc_flags=0", "acc_flags=2"].iter().any(|flags| b.operands.contains(flags))
                        && target(&a.operands) == target(&b.operands);
                    if writes && !adds {
                        expected.insert((pair[0], pair[1]));
                    }
                }
            }
        }
        let found = capture.edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::SamePsumBank(_)));
        let found: BTreeSet<_> = found
            .map(|edge| match (edge.predecessor, edge.successor) {
                (Node::Instruction(a), Node::Instruction(b)) => (a, b),
                other => panic!("{other:?}"),
            })
            .collect();
        println!("{}: {} edges between users of a PSUM bank", case.name, found.len());
        assert!(!expected.is_empty());
        assert_eq!(found, expected, "{}", case.name);
    }
}
