//! How full SBUF and PSUM are, what lies where in SBUF, and the traffic over time.

use crate::demo::chip;
use crate::demo::profile::{Profile, operands};
use crate::demo::program::{Node, Span, Version};
use crate::demo::schedule::Run;
use crate::demo::table::Table;
use crate::demo::tables::dma::site_of;

/// Width of a throughput sample, ns.
const BUCKET: i64 = 1_000;

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    let mut tables = vec![sbuf_usage(p), psum_usage(p), sbuf_allocations(p)];
    tables.push(throughput(p, "DmaUsage", &|_| 1));
    // A copy within HBM reads and writes it.
    tables.push(throughput(p, "HbmUsage", &|t| {
        if p.program.transfers[t].hbm_bytes().1 > 0 { hbm_factor(p, t) } else { 1 }
    }));
    tables
}

fn hbm_factor(p: &Profile, transfer: usize) -> i64 {
    let (read, written) = p.program.transfers[transfer].hbm_bytes();
    i64::from(read > 0) + i64::from(written > 0)
}

// ------------------------------------------------------------ memories

/// A version in one run, from its first write to its last use.
#[derive(Clone, Copy)]
struct Stay<'a> {
    version: &'a Version,
    run: &'a Run,
    start: i64,
    end: i64,
}

/// All stays, none of which outlasts the next one in the same place (an update in place begins the next).
fn stays<'a>(p: &'a Profile, versions: &'a [Version]) -> Vec<Stay<'a>> {
    let mut stays: Vec<Stay> = Vec::new();
    for run in &p.runs {
        for version in versions {
            let start = run.span(version.writer).0;
            let last = version.accesses.iter().map(|n| run.span(*n).1).max().unwrap_or(start);
            let end = if version.constant { run.end } else { last };
            stays.push(Stay { version, run, start, end });
        }
    }
    stays.sort_by_key(|s| (s.version.core, s.version.place, s.start));
    for n in 1..stays.len() {
        let next = stays[n];
        let this = &mut stays[n - 1];
        if (this.version.core, this.version.place) == (next.version.core, next.version.place) {
            this.end = this.end.min(next.start);
        }
    }
    stays
}

/// At every change on a core: the time, and the sum of what is live per slot. `slots` gives a stay's slots and size.
fn live(stays: &[Stay], core: usize, count: usize, slots: &dyn Fn(&Stay) -> Vec<(usize, i64)>) -> Vec<(i64, Vec<i64>)> {
    let mut changes: Vec<(i64, usize, i64)> = Vec::new();
    for stay in stays.iter().filter(|s| s.version.core == core && s.end > s.start) {
        for (slot, size) in slots(stay) {
            changes.push((stay.start, slot, size));
            changes.push((stay.end, slot, -size));
        }
    }
    changes.sort_unstable();
    let mut now = vec![0; count];
    let mut samples: Vec<(i64, Vec<i64>)> = Vec::new();
    for (at, slot, change) in changes {
        now[slot] += change;
        match samples.last_mut() {
            Some((last, values)) if *last == at => values.clone_from(&now),
            _ => samples.push((at, now.clone())),
        }
    }
    samples
}

/// Percent of `capacity` per slot and their mean, as columns.
fn percent_table(name: &str, samples: &[(usize, i64, Vec<i64>)], capacity: i64, columns: &[String]) -> Table {
    let percent = |value: i64| 100.0 * value as f64 / capacity as f64;
    let mut table = Table::new(name).col("timestamp", samples.iter().map(|s| s.1)).col(
        "avg_util_percent",
        samples.iter().map(|s| Some((percent(s.2.iter().sum::<i64>()) / columns.len() as f64) as f32)),
    );
    for (slot, column) in columns.iter().enumerate() {
        table = table.col(column, samples.iter().map(|s| Some(percent(s.2[slot]) as f32)));
    }
    table.col("pcore_idx", samples.iter().map(|s| Some(s.0 as i64)))
}

fn sbuf_usage(p: &Profile) -> Table {
    let stays = stays(p, &p.program.sbuf);
    let slots = |s: &Stay| -> Vec<(usize, i64)> {
        (0..chip::QUADRANTS.len()).filter(|q| s.version.quadrants >> q & 1 == 1).map(|q| (q, s.version.size)).collect()
    };
    let mut samples = Vec::new();
    for core in 0..chip::CORES {
        let found = live(&stays, core, chip::QUADRANTS.len(), &slots);
        samples.extend(found.into_iter().map(|(at, values)| (core, at, values)));
    }
    let columns: Vec<String> = chip::QUADRANTS.iter().map(|q| format!("partition_{q}_util_percent")).collect();
    percent_table("SbufUsage", &samples, chip::SBUF_MEASURED_BYTES, &columns)
}

fn psum_usage(p: &Profile) -> Table {
    let stays = stays(p, &p.program.psum);
    let slots = |s: &Stay| vec![(s.version.place as usize, psum_bytes(p, s.version))];
    let mut samples = Vec::new();
    for core in 0..chip::CORES {
        let found = live(&stays, core, chip::PSUM_BANKS, &slots);
        samples.extend(found.into_iter().map(|(at, values)| (core, at, values)));
    }
    let columns: Vec<String> = (0..chip::PSUM_BANKS).map(|b| format!("bank_{b}_util_percent")).collect();
    percent_table("PsumUsage", &samples, chip::PSUM_BANK_BYTES, &columns)
}

/// Bytes per partition: squares side by side add up, steps of one accumulation do not.
fn psum_bytes(p: &Profile, version: &Version) -> i64 {
    let (mut side_by_side, mut widest) = (0, 0);
    for node in &version.accesses {
        let Node::Instr(i) = *node else { continue };
        let instr = &p.program.instrs[i];
        let bytes = instr.traffic.psum_write / chip::PARTITIONS;
        side_by_side += if instr.transpose { bytes } else { 0 };
        widest = widest.max(bytes);
    }
    side_by_side.max(widest)
}

fn sbuf_allocations(p: &Profile) -> Table {
    let stays = stays(p, &p.program.sbuf);
    let mut rows: Vec<(&Stay, i64)> = Vec::new();
    for stay in &stays {
        for (n, quadrant) in chip::QUADRANTS.into_iter().enumerate() {
            if stay.version.quadrants >> n & 1 == 1 {
                rows.push((stay, quadrant));
            }
        }
    }
    rows.sort_by_key(|(s, quadrant)| (s.run.index, s.start, s.version.core, s.version.place, *quadrant));
    let rows = || rows.iter().copied();
    let instr = |s: &Stay| match s.version.writer {
        Node::Instr(i) => Some(&p.program.instrs[i]),
        _ => None,
    };
    let transfer = |s: &Stay| match s.version.writer {
        Node::Dma(t) => Some(&p.program.transfers[t]),
        _ => None,
    };
    let site = |s: &Stay| match s.version.writer {
        Node::Dma(t) => site_of(p, t),
        _ => instr(s).and_then(|i| i.site),
    };
    Table::new("SbufAllocation")
        .col("start_ts", rows().map(|(s, _)| s.start))
        .col("end_ts", rows().map(|(s, _)| s.end))
        .col("start_address", rows().map(|(s, _)| s.version.place))
        .col("end_address", rows().map(|(s, _)| s.version.place + s.version.size - 1))
        .col("partition", rows().map(|(_, quadrant)| quadrant))
        .col("op_source_type", rows().map(|(s, _)| Some(if instr(s).is_some() { "instruction" } else { "dma" })))
        .col("opcode", rows().map(|(s, _)| instr(s).map(|i| i.opcode)))
        .col("operands", rows().map(|(s, _)| instr(s).map(operands)))
        .col("queue_name", rows().map(|(s, _)| transfer(s).map(|t| chip::QUEUES[t.queue].name)))
        .col("block_id", rows().map(|(s, _)| transfer(s).map(|t| t.block)))
        .col("tensor_name", rows().map(|(s, _)| transfer(s).map(|t| t.variable.clone())))
        .col("hlo_name", rows().map(|(s, _)| site(s).map(|site| site.hlo_name())))
        .col("pcore_idx", rows().map(|(s, _)| Some(s.version.core as i64)))
}

// ------------------------------------------------------------ throughput

/// Bytes moved per bucket and so far, per core; `factor` is how often a transfer's bytes count.
fn throughput(p: &Profile, name: &str, factor: &dyn Fn(usize) -> i64) -> Table {
    let first = p.first() / BUCKET * BUCKET;
    let buckets = ((p.last() - first) / BUCKET + 2) as usize;
    let mut rows: Vec<(usize, i64, i64, i64)> = Vec::new(); // core, time, bytes in the bucket, bytes so far
    for core in 0..chip::CORES {
        let mut moved = vec![0; buckets];
        for run in &p.runs {
            for packet in run.packets.iter().filter(|k| p.program.transfers[k.transfer].core == core) {
                let bytes = p.program.transfers[packet.transfer].packet_bytes * factor(packet.transfer);
                spread(&mut moved, first, bytes, (packet.start, packet.end));
            }
        }
        let mut total = 0;
        for (n, bytes) in moved.into_iter().enumerate() {
            total += bytes;
            rows.push((core, first + n as i64 * BUCKET, bytes, total));
        }
    }
    Table::new(name)
        .col("timestamp", rows.iter().map(|r| r.1))
        .col("current_throughput", rows.iter().map(|r| (r.2 as f64 * 1e9 / BUCKET as f64) as f32))
        .col("total_transfer_bytes", rows.iter().map(|r| r.3))
        .col("pcore_idx", rows.iter().map(|r| Some(r.0 as i64)))
}

/// Adds a packet's bytes to the buckets it lies in (bucket n ends at `first + n * BUCKET`), exactly in total.
fn spread(moved: &mut [i64], first: i64, bytes: i64, (start, end): Span) {
    let mut at = start;
    let mut before = 0;
    while at < end {
        let bucket = (at - first) / BUCKET + 1;
        let until = (first + bucket * BUCKET).min(end);
        let so_far = bytes * (until - start) / (end - start);
        if let Some(cell) = moved.get_mut(bucket as usize) {
            *cell += so_far - before;
        }
        (at, before) = (until, so_far);
    }
}
