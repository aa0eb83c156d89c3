//! Agreement with what the vendor's tool printed for the same captures. The table that is printed says how much; what
//! is known to differ is asserted with its number and its reason.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use neuron_scope::source::ntff::SyncOperation;
use neuron_scope::source::raw::{Node, RawCapture, RawInstruction};
use serde_json::Value;

use crate::corpus::captures;

/// One capture and what the vendor says about it.
pub struct Case {
    pub name: String,
    pub capture: RawCapture,
    pub vendor: Value,
}

/// The seven version 6 captures.
pub fn cases() -> Vec<Case> {
    let cases = captures("v6").into_iter().map(|(name, neff, ntff)| {
        let text = std::fs::read(neff.with_file_name("oracle.json")).unwrap();
        Case {
            name,
            capture: RawCapture::open(&ntff, Some(&neff)).unwrap(),
            vendor: serde_json::from_slice(&text).unwrap(),
        }
    });
    cases.collect()
}

impl Case {
    pub fn rows(&self, table: &str) -> &[Value] {
        self.vendor[table].as_array().unwrap()
    }

    pub fn core(&self, row: &Value) -> u16 {
        let name = row["subgraph"].as_str().unwrap();
        self.capture.cores.iter().position(|core| core.name == name).unwrap() as u16
    }
}

/// How many values were equal, by field.
#[derive(Default)]
pub struct Agreement(BTreeMap<&'static str, (usize, usize)>);

impl Agreement {
    pub fn count(&mut self, field: &'static str, equal: bool) {
        let (same, all) = self.0.entry(field).or_default();
        *same += usize::from(equal);
        *all += 1;
    }

    pub fn print(&self, title: &str) {
        println!("{title}");
        for (field, (same, all)) in &self.0 {
            println!("  {field:<32} {same:>7} of {all:>7}");
        }
    }

    pub fn assert_complete(&self) {
        for (field, (same, all)) in &self.0 {
            assert_eq!(same, all, "{field}");
        }
    }

    pub fn get(&self, field: &str) -> (usize, usize) {
        self.0.get(field).copied().unwrap_or_default()
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().to_owned()
}

pub fn number(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap_or(0)
}

/// The vendor's instructions beside ours: same core, engine, pc and start.
pub fn pairs(case: &Case) -> Vec<(&Value, u32, &RawInstruction)> {
    let capture = &case.capture;
    let mut ours: HashMap<(u16, String, u64, i64), Vec<u32>> = HashMap::new();
    for (index, row) in capture.instructions.iter().enumerate().filter(|(_, row)| !row.outside) {
        let word = &capture.words[row.word as usize];
        let key = (row.pcore_idx, word.timeline_track().to_owned(), u64::from(word.pc.unwrap()), row.times.start_ts());
        ours.entry(key).or_default().push(index as u32);
    }
    let vendor = case.rows("instruction").iter().map(|row| {
        let key = (case.core(row), text(row, "label"), number(row, "pc"), row["timestamp"].as_i64().unwrap());
        let index = ours.get_mut(&key).and_then(Vec::pop).unwrap_or_else(|| panic!("{}: no {key:?}", case.name));
        (row, index, &capture.instructions[index as usize])
    });
    let found: Vec<_> = vendor.collect();
    // One row is missing in the vendor's output, for no reason that the capture shows.
    let left: Vec<_> = ours.iter().filter(|(_, rows)| !rows.is_empty()).map(|(key, _)| key.clone()).collect();
    let missing = (0, "Sync".to_owned(), 25, 8685);
    let expected = if case.name == "v6_attention_baseline_fp32_s1024" { vec![missing] } else { vec![] };
    assert_eq!(left, expected, "{}: rows that the vendor does not have", case.name);
    found
}

/// Rings whose packets the vendor leaves out: those with a packet under way at the zero of time.
pub fn left_out(capture: &RawCapture) -> BTreeSet<u32> {
    let cut = capture.dma_packets.iter().filter(|packet| packet.outside && packet.times.end_ps >= 0);
    cut.filter(|packet| packet.times.start_ps < 0).map(|packet| packet.ring).collect()
}

#[test]
fn instructions_equal_the_vendors() {
    let mut agreement = Agreement::default();
    for case in cases() {
        assert_eq!(case.capture.problems, [""; 0], "{}", case.name);
        for (row, _, ours) in pairs(&case) {
            let word = &case.capture.words[ours.word as usize];
            let mut equal = |field, equal: bool| agreement.count(field, equal);
            equal("duration", ours.times.duration_ns() == number(row, "duration"));
            equal("opcode", word.opcode == text(row, "opcode"));
            let operands = words(&text(row, "operands"));
            if word.operands != operands {
                println!("{}\n  ours   {}\n  vendor {operands}", case.name, word.operands);
            }
            equal("operands", word.operands == operands);
            equal("compiler_pc", word.compiler_pc.map(u64::from) == row["compiler_pc"].as_u64());
            equal("compiler_opcode", word.compiler_opcode == text(row, "compiler_opcode"));
            equal("compiler_operands", word.compiler_operands == words(&text(row, "compiler_operands")));
            let wait = case.capture.evt_wait_time_ns(ours).map(u64::from);
            equal("evt_wait_time", wait == row["evt_wait_time"].as_u64());
            equal("crc_in", u64::from(ours.crc_in) == number(row, "crc_in"));
            equal("crc_out", u64::from(ours.crc_out) == number(row, "crc_out"));
            equal("bir_id", word.bir_id == text(row, "bir_id"));
            equal("raw_bir_id", word.raw_bir_id.unwrap_or(0) == number(row, "raw_bir_id"));
            equal("bir_instruction_name", word.bir_instruction_name == text(row, "bir_instruction_name"));
            equal("penguin_id", word.penguin_id == text(row, "penguin_id"));
            equal("raw_penguin_id", word.raw_penguin_id.unwrap_or(0) == number(row, "raw_penguin_id"));
            equal("hlo_name", word.hlo_name == text(row, "hlo_name"));
            equal("activation_fn", word.scalar_activation_fn == text(row, "activation_fn"));
            equal("instruction_type", word.tensor_instruction_type == text(row, "instruction_type"));
            equal("elements", word.tensor_elements == number(row, "elements"));
            equal("hbm_read_bytes", word.hbm_read_bytes == number(row, "hbm_read_bytes"));
            equal("hbm_write_bytes", word.hbm_write_bytes == number(row, "hbm_write_bytes"));
            equal("sbuf_read_bytes", word.sbuf_read_bytes == number(row, "sbuf_read_bytes"));
            equal("sbuf_write_bytes", word.sbuf_write_bytes == number(row, "sbuf_write_bytes"));
            equal("psum_read_bytes", word.psum_read_bytes == number(row, "psum_read_bytes"));
            equal("psum_write_bytes", word.psum_write_bytes == number(row, "psum_write_bytes"));
            let moved = number(row, "psum_read_sbuf_write_bytes");
            equal("psum_read_sbuf_write_bytes", word.psum_read_sbuf_write_bytes == moved);
        }
        let summary = &case.rows("summary")[0];
        let ran = || case.capture.instructions.iter().filter(|row| !row.outside);
        let word = |row: &RawInstruction| &case.capture.words[row.word as usize];
        let flops: u64 = ran().map(|row| word(row).raw_flops()).sum();
        let transposed: u64 = ran().map(|row| word(row).flops_transpose()).sum();
        agreement.count("summary hardware_flops", flops == number(summary, "hardware_flops"));
        agreement.count("summary transpose_flops", transposed == number(summary, "transpose_flops"));
        let seconds = case.capture.cores[0].executions[0].end_ps as f64 * 1e-12;
        agreement.count("summary total_time", (seconds - summary["total_time"].as_f64().unwrap()).abs() < 1e-15);
    }
    agreement.print("instructions");
    agreement.assert_complete();
}

#[test]
fn dependencies_equal_the_vendors() {
    let mut agreement = Agreement::default();
    let (mut total, mut invented) = (0, 0);
    for case in cases() {
        let pairs = pairs(&case);
        let ids: HashMap<u64, u32> = pairs.iter().map(|(row, index, _)| (number(row, "id"), *index)).collect();
        let mut ours: HashMap<u32, BTreeSet<(u32, String)>> = HashMap::new();
        for edge in case.capture.edges.iter().filter(|edge| edge.kind.is_recorded()) {
            if let (Node::Instruction(before), Node::Instruction(after)) = (edge.predecessor, edge.successor) {
                ours.entry(after).or_default().insert((before, edge.kind.dependency_type().into_owned()));
            }
        }
        for (row, index, _) in &pairs {
            let vendor = row["predecessors"].as_array().into_iter().flatten();
            let vendor: BTreeSet<_> = vendor.map(|edge| (ids[&number(edge, "id")], text(edge, "type"))).collect();
            let own = ours.remove(index).unwrap_or_default();
            total += vendor.len();
            invented += own.difference(&vendor).count();
            agreement.count("predecessors of an instruction", own == vendor);
        }
    }
    agreement.print("dependencies");
    println!("  {total} edges, {invented} that the vendor does not have");
    agreement.assert_complete();
    assert_eq!(invented, 0);
}

#[test]
fn packets_semaphores_and_throttling_equal_the_vendors() {
    let mut agreement = Agreement::default();
    let mut more = 0;
    for case in cases() {
        let capture = &case.capture;
        let mut ours: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        let cut = left_out(capture);
        for (index, packet) in capture.dma_packets.iter().enumerate().filter(|(_, packet)| !packet.outside) {
            let ring = &capture.dma_rings[packet.ring as usize];
            let key =
                (ring.pcore_idx, ring.engine_idx.to_string(), ring.queue_idx.to_string(), packet.times.start_ts());
            ours.entry(key).or_default().push(index);
        }
        let mut rows: Vec<_> = case.rows("dma").iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(number(row, "packet_idx")));
        for row in rows {
            let start = row["timestamp"].as_i64().unwrap();
            let key = (case.core(row), text(row, "dma_engine"), text(row, "dma_queue"), start);
            let found = ours.get_mut(&key).and_then(Vec::pop);
            agreement.count("packet engine, ring and start", found.is_some());
            let Some(index) = found else { continue };
            let packet = &capture.dma_packets[index];
            let ring = &capture.dma_rings[packet.ring as usize];
            agreement.count("packet duration", packet.times.duration_ns() == number(row, "duration"));
            let bytes = u64::from(packet.transfer_bytes);
            agreement.count("packet transfer_size", bytes == number(row, "transfer_size"));
            agreement.count("packet crc", u64::from(packet.crc) == number(row, "crc"));
            agreement.count("packet queue_type", ring.queue_type == text(row, "queue_type"));
            let rate = row["transfer_rate"].as_f64().unwrap();
            agreement.count("packet transfer_rate", (packet.times.throughput(bytes) / rate - 1.0).abs() < 1e-6);
        }
        for index in ours.into_values().flatten() {
            assert!(cut.contains(&capture.dma_packets[index].ring), "{}: {:?}", case.name, capture.dma_packets[index]);
            more += 1;
        }

        let mut vendor: Vec<_> = case
            .rows("semaphore_update")
            .iter()
            .map(|row| (row["timestamp"].as_i64().unwrap(), case.core(row), text(row, "id"), number(row, "value")))
            .collect();
        vendor.sort();
        let own = capture.semaphores.iter().filter(|row| !row.is_event && !row.outside);
        let mut own: Vec<_> =
            own.map(|r| (r.timestamp(), r.pcore_idx, capture.semaphore_label(r), u64::from(r.value))).collect();
        own.sort();
        agreement.count("semaphore count", vendor.len() == own.len());
        for (vendor, own) in vendor.iter().zip(&own) {
            agreement.count("semaphore update", vendor == own);
        }

        let mut vendor: Vec<_> = case
            .rows("ham")
            .iter()
            .map(|r| {
                (r["timestamp"].as_i64().unwrap(), case.core(r), ["duration", "k", "n", "type"].map(|k| number(r, k)))
            })
            .collect();
        vendor.sort();
        let own = capture.throttles.iter();
        let mut own: Vec<_> = own
            .map(|r| {
                let values = [r.times.duration_ns(), u64::from(r.k), u64::from(r.n), u64::from(r.kind)];
                (r.times.start_ts(), r.pcore_idx, values)
            })
            .collect();
        own.sort();
        agreement.count("throttle count", vendor.len() == own.len());
        for (vendor, own) in vendor.iter().zip(&own) {
            agreement
                .count("throttle start and clock", (vendor.0, vendor.1, &vendor.2[1..]) == (own.0, own.1, &own.2[1..]));
            // The last state lasts to the end of the execution; the vendor ends it about a nanosecond before.
            let last = own.0 + own.2[0] as i64 >= capture.metadata.last_hw_timestamp - 1;
            let slack = if last { 1 } else { 0 };
            agreement.count("throttle duration", own.2[0].abs_diff(vendor.2[0]) <= slack);
        }
        let mut vendor: Vec<_> = case
            .rows("active_time")
            .iter()
            .map(|r| {
                (
                    r["start_ts"].as_i64().unwrap(),
                    number(r, "pcore_idx"),
                    text(r, "engine"),
                    r["end_ts"].as_i64().unwrap(),
                    number(r, "duration_ns"),
                )
            })
            .collect();
        vendor.sort();
        let own = capture.active_time.iter();
        let mut own: Vec<_> = own
            .map(|r| {
                let t = r.times;
                (t.start_ts(), u64::from(r.pcore_idx), r.engine.name().to_lowercase(), t.end_ts(), t.duration_ns())
            })
            .collect();
        own.sort();
        agreement.count("active time count", vendor.len() == own.len());
        for (vendor, own) in vendor.iter().zip(&own) {
            agreement.count("active time", vendor == own);
        }
        // Event operations are in the capture, not in the vendor's table.
        let events = capture.semaphores.iter().filter(|row| row.is_event);
        assert!(events.clone().count() > 0);
        assert!(events.clone().all(|row| matches!(row.operation, SyncOperation::Set | SyncOperation::Clear)));
    }
    agreement.print("packets, semaphores, throttling, activity");
    println!("  {more} packets that the vendor leaves out, on rings with a packet under way at zero");
    agreement.assert_complete();
}
