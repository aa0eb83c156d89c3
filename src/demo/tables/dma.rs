//! Packets, transfers, queues, pending transfers and the tensors that they move.

use std::collections::BTreeMap;

use crate::demo::chip::{self, QUEUES};
use crate::demo::ops::Site;
use crate::demo::profile::Profile;
use crate::demo::program::{Direction, Span, Transfer};
use crate::demo::rng::mix;
use crate::demo::schedule::{Packet, Run};
use crate::demo::table::Table;

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    vec![packets(p), transfers(p), queues(), pending(p), tensors(p)]
}

fn packets(p: &Profile) -> Table {
    let rows: Vec<(&Run, usize, &Packet, &Transfer)> = p
        .runs
        .iter()
        .flat_map(|r| r.packets.iter().enumerate().map(move |(n, k)| (r, n, k, &p.program.transfers[k.transfer])))
        .collect();
    let mut number = vec![0_i32; rows.len()];
    for n in 1..rows.len() {
        let same = rows[n].0.index == rows[n - 1].0.index && rows[n].2.transfer == rows[n - 1].2.transfer;
        number[n] = if same { number[n - 1] + 1 } else { 0 };
    }
    let rows = || rows.iter().copied();
    Table::new("DmaPacket")
        .col("start_ts", rows().map(|(.., k, _)| k.start))
        .col("end_ts", rows().map(|(.., k, _)| k.end))
        .col("duration_ns", rows().map(|(.., k, _)| k.end - k.start))
        .col("pcore_idx", rows().map(|(.., t)| Some(t.core as i64)))
        .col("id", rows().map(|(r, n, ..)| p.packet_id(r, n)))
        .col("packet_idx", number)
        .col("packet_aggregation_id", rows().map(|(r, _, k, _)| p.transfer_id(r, k.transfer)))
        .col("engine_idx", rows().map(|(.., k, t)| Some(engine_number(t, k.engine))))
        .col("read_bytes", rows().map(|(.., t)| t.packet_bytes))
        .col("write_bytes", rows().map(|(.., t)| t.packet_bytes))
        .col("transfer_bytes", rows().map(|(.., t)| t.packet_bytes))
        .col("throughput", rows().map(|(.., k, t)| throughput(t.packet_bytes, (k.start, k.end))))
        .col("queue_type", rows().map(|(.., t)| QUEUES[t.queue].kind))
        .col("variable", rows().map(|(.., t)| Some(t.variable.as_str())))
        .col("queue_name", rows().map(|(.., k, t)| Some(queue_name(t, k.engine))))
        .col("queue_idx", rows().map(|(.., t)| Some(QUEUES[t.queue].idx as i64)))
        .col("crc", rows().map(|(_, n, ..)| (mix(n as u64 ^ 0xc4c) & 0xffff_ffff) as i64))
}

fn engine_number(t: &Transfer, engine: usize) -> i64 {
    chip::FIRST_DMA_ENGINE + (t.core * chip::DMA_ENGINES + engine) as i64
}

/// `qSyncIO0-Q0-E64`.
fn queue_name(t: &Transfer, engine: usize) -> String {
    let queue = &QUEUES[t.queue];
    format!("{}-Q{}-E{}", queue.name, queue.idx, engine_number(t, engine))
}

/// Bytes per second.
fn throughput(bytes: i64, (start, end): Span) -> f32 {
    (bytes as f64 * 1e9 / (end - start).max(1) as f64) as f32
}

fn transfers(p: &Profile) -> Table {
    let rows = || p.transfers();
    let first_engine: Vec<Vec<usize>> = p
        .runs
        .iter()
        .map(|r| {
            let mut first = vec![0; p.program.transfers.len()];
            for k in r.packets.iter().rev() {
                first[k.transfer] = k.engine;
            }
            first
        })
        .collect();
    let (partitions, counts) = (|t: &Transfer| partition_text(t.quadrants), |t: &Transfer| partition_count(t));
    let reads_sbuf = |t: &Transfer| t.direction == Direction::Store;
    let writes_sbuf = |t: &Transfer| t.direction == Direction::Load;
    let shape = |t: &Transfer| format!("[{}, {}]", t.packets, t.packet_bytes / 2);
    let hbm_offset = |t: &Transfer| format!("[0x{:x}]", t.hbm_offset);
    let sbuf_offset = |t: &Transfer| format!("[0x{:x}]", t.address);
    let turned = |t: &Transfer, text: &str| t.transposed.then(|| text.to_owned());
    let table = Table::new("DmaPacketAggregated")
        .col("start_ts", rows().map(|(r, n, _)| r.transfers[n].0))
        .col("end_ts", rows().map(|(r, n, _)| r.transfers[n].1))
        .col("duration_ns", rows().map(|(r, n, _)| r.transfers[n].1 - r.transfers[n].0))
        .col("id", rows().map(|(r, n, _)| p.transfer_id(r, n)))
        .col("pcore_idx", rows().map(|(.., t)| Some(t.core as i64)))
        .col("block_id", rows().map(|(.., t)| t.block as i32))
        .col("queue_idx", rows().map(|(.., t)| QUEUES[t.queue].idx as i64))
        .col("queue_name", rows().map(|(r, n, t)| queue_name(t, first_engine[r.index][n])))
        .col("queue_type", rows().map(|(.., t)| Some(QUEUES[t.queue].kind)))
        .col("op", rows().map(|(.., t)| if reads_sbuf(t) { "write" } else { "read" }))
        .col("variable", rows().map(|(.., t)| t.variable.as_str()))
        .col("read_bytes", rows().map(|(.., t)| t.bytes()))
        .col("write_bytes", rows().map(|(.., t)| t.bytes()))
        .col("transfer_bytes", rows().map(|(.., t)| t.bytes()))
        .col("throughput", rows().map(|(r, n, t)| throughput(t.bytes(), r.transfers[n])))
        .col("source", rows().map(|(.., t)| if reads_sbuf(t) { "[SB]" } else { "[DRAM]" }))
        .col("dest", rows().map(|(.., t)| if writes_sbuf(t) { "[SB]" } else { "[DRAM]" }))
        .col("semaphore_id", rows().map(|(.., t)| chip::semaphore_name(t.semaphore)))
        .col("modular_flow_function", rows().map(|(.., t)| Some(format!("sg{:04}:0", t.core))));
    table
        .col("read_sbuf_partitions", rows().map(|(.., t)| if reads_sbuf(t) { partitions(t) } else { String::new() }))
        .col("read_num_sbuf_partitions", rows().map(|(.., t)| if reads_sbuf(t) { counts(t) } else { 0 }))
        .col("read_shape", rows().map(|(.., t)| shape(t)))
        .col("read_offset", rows().map(|(.., t)| if reads_sbuf(t) { sbuf_offset(t) } else { hbm_offset(t) }))
        .col("read_steps", rows().map(|_| "[1, 32768]"))
        .col("write_sbuf_partitions", rows().map(|(.., t)| if writes_sbuf(t) { partitions(t) } else { String::new() }))
        .col("write_num_sbuf_partitions", rows().map(|(.., t)| if writes_sbuf(t) { counts(t) } else { 0 }))
        .col("write_shape", rows().map(|(.., t)| shape(t)))
        .col("write_offset", rows().map(|(.., t)| if writes_sbuf(t) { sbuf_offset(t) } else { hbm_offset(t) }))
        .col("write_steps", rows().map(|_| "[1, 32]"))
        .col("is_transpose_mode", rows().map(|(.., t)| Some(t.transposed)))
        .col("transpose_element_size", rows().map(|(.., t)| turned(t, "[2]")))
        .col("transpose_shape", rows().map(|(.., t)| turned(t, "[128, 4, 128]")))
        .col("transpose_from_shape", rows().map(|(.., t)| turned(t, "[4, 128, 128]")))
        .col("transpose_to_shape", rows().map(|(.., t)| turned(t, "[128, 128, 4]")))
        .col("transpose_unroll_factor", rows().map(|(.., t)| turned(t, "[128, 32, 1, 2]")))
        .col("trigger", rows().map(|(r, _, t)| Some(r.instrs[t.trigger].0)))
        .col("completion", rows().map(|(r, _, t)| Some(r.instrs[t.trigger].1)))
}

/// `0-127`, or the ranges of the 32-partition quadrants used.
fn partition_text(quadrants: u8) -> String {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for (n, first) in chip::QUADRANTS.into_iter().enumerate().filter(|(n, _)| quadrants >> n & 1 == 1) {
        match ranges.last_mut() {
            Some(range) if range.1 + 1 == first => range.1 = first + 31,
            _ => ranges.push((first, 32 * n as i64 + 31)),
        }
    }
    ranges.iter().map(|(a, b)| format!("{a}-{b}")).collect::<Vec<_>>().join(",")
}

fn partition_count(t: &Transfer) -> i32 {
    32 * t.quadrants.count_ones() as i32
}

/// Every queue exists on every DMA engine of its core.
pub(super) fn queues() -> Table {
    let rows: Vec<(usize, &chip::Queue, usize)> = (0..chip::CORES)
        .flat_map(|core| QUEUES.iter().flat_map(move |q| (0..chip::DMA_ENGINES).map(move |e| (core, q, e))))
        .collect();
    let rows = || rows.iter().copied();
    Table::new("DmaQueuesInfo")
        .col("name", rows().map(|(_, q, _)| q.name))
        .col("type", rows().map(|(_, q, _)| q.purpose))
        .col("pcore_idx", rows().map(|(core, ..)| core as i64))
        .col("idx", rows().map(|(_, q, _)| q.idx as i64))
        .col("engine_idx", rows().map(|(core, _, e)| chip::FIRST_DMA_ENGINE + (core * chip::DMA_ENGINES + e) as i64))
        .col("axi_port", rows().map(|(.., e)| (e % 4) as i64))
        .col("dram_channel", rows().map(|(_, q, e)| ((e + q.idx) % 8) as i64))
}

/// Transfers asked for and not finished yet, at every change.
fn pending(p: &Profile) -> Table {
    let mut rows: Vec<(usize, i64, i32)> = Vec::new();
    for core in 0..chip::CORES {
        let mine = p.transfers().filter(|(.., t)| t.core == core);
        let mut changes: Vec<(i64, i32)> =
            mine.flat_map(|(r, n, t)| [(r.instrs[t.trigger].0, -1), (r.transfers[n].1, 1)]).collect();
        changes.sort_unstable(); // requests (-1) before completions of the same moment
        let mut value = 0;
        for (at, change) in changes {
            value -= change;
            rows.push((core, at, value));
        }
    }
    Table::new("PendingDma")
        .col("timestamp", rows.iter().map(|r| r.1))
        .col("value", rows.iter().map(|r| r.2))
        .col("pcore_idx", rows.iter().map(|r| Some(r.0 as i64)))
}

/// A tensor of the program's interface.
pub(super) struct Tensor {
    pub name: String,
    pub core: usize,
    pub kind: &'static str,
    pub size: i64,
    /// Transfers to SBUF and their bytes.
    pub loads: Option<(i64, i64)>,
}

/// Inputs and weights as loaded, and the outputs.
pub(super) fn interface(p: &Profile) -> Vec<Tensor> {
    let mut loads: BTreeMap<(usize, &str), (i64, i64, i64)> = BTreeMap::new();
    let mut outputs: BTreeMap<(usize, &str), i64> = BTreeMap::new();
    for (run, _, t) in p.transfers() {
        if t.queue == chip::OUTPUTS && run.index == 0 {
            *outputs.entry((t.core, &t.variable)).or_default() += t.bytes();
        }
        let is_input = t.queue == chip::INPUTS || t.queue == chip::WEIGHTS || t.queue == chip::GPSIMD_DYNAMIC;
        if t.direction == Direction::Load && (is_input || t.variable.ends_with(".weight")) {
            let entry = loads.entry((t.core, &t.variable)).or_insert((0, 0, t.bytes()));
            entry.0 += 1;
            entry.1 += t.bytes();
        }
    }
    let mut tensors: Vec<Tensor> = loads
        .into_iter()
        .map(|((core, name), (count, bytes, size))| Tensor {
            name: name.to_owned(),
            core,
            kind: if name.ends_with(".weight") { "WEIGHT" } else { "IN" },
            size,
            loads: Some((count, bytes)),
        })
        .collect();
    tensors.extend(outputs.into_iter().map(|((core, name), size)| Tensor {
        name: name.to_owned(),
        core,
        kind: "OUT",
        size,
        loads: None,
    }));
    tensors
}

fn tensors(p: &Profile) -> Table {
    let rows = interface(p);
    let rows = || rows.iter();
    Table::new("TensorInfo")
        .col("variable_name", rows().map(|t| Some(t.name.clone())))
        .col("type", rows().map(|t| Some(t.kind)))
        .col("format", rows().map(|_| Some("NC")))
        .col("shape", rows().map(|t| Some(format!("[128 {}]", t.size / 256))))
        .col("size", rows().map(|t| Some(t.size)))
        .col("node", rows().enumerate().map(|(n, _)| Some(n as i64)))
        .col("pcore_idx", rows().map(|t| Some(t.core as i64)))
        .col("load_to_sbuf_avg_size_bytes", rows().map(|t| t.loads.map(|(count, bytes)| bytes / count)))
        .col("load_to_sbuf_total_size_bytes", rows().map(|t| t.loads.map(|(_, bytes)| bytes)))
        .col("load_to_sbuf_dma_count", rows().map(|t| t.loads.map(|(count, _)| count)))
        .col(
            "load_to_sbuf_repeat_factor",
            rows().map(|t| t.loads.map(|(_, bytes)| (bytes as f64 / t.size as f64) as f32)),
        )
}

/// The HLO operation whose code asked for a transfer.
pub(super) fn site_of(p: &Profile, transfer: usize) -> Option<Site> {
    p.program.instrs[p.program.transfers[transfer].trigger].site
}
