//! Summary, OpcodeSummary, ActiveTime and the throttling summary, computed from the events by the documented
//! meaning of each figure: times are unions over both cores, in seconds; percentages are fractions of total_time.

use std::collections::BTreeMap;

use crate::demo::chip::{self, Descriptors, QUEUES};
use crate::demo::profile::{Profile, covered, merge};
use crate::demo::program::{Engine, Instr, Span, Transfer};
use crate::demo::schedule::{Packet, Run};
use crate::demo::table::Table;
use crate::demo::tables::collectives::cc_instructions;
use crate::demo::tables::dma::{interface, queues};
use crate::demo::tables::reference::throttle_rows;

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    vec![opcodes(p), active_time(p), throttle_summary(p)]
}

fn opcodes(p: &Profile) -> Table {
    let mut found: BTreeMap<(Engine, &str), Vec<Span>> = BTreeMap::new();
    for (run, i, instr) in p.instrs() {
        found.entry((instr.engine, instr.opcode)).or_default().push(run.instrs[i]);
    }
    let total = (p.last() - p.first()) as f64;
    let rows = || found.iter();
    Table::new("OpcodeSummary")
        .col("engine", rows().map(|((engine, _), _)| engine.name()))
        .col("opcode", rows().map(|((_, opcode), _)| *opcode))
        .col("instruction_count", rows().map(|(_, spans)| spans.len() as i64))
        .col("instruction_time_ns", rows().map(|(_, spans)| length(spans)))
        .col("active_time_ns", rows().map(|(_, spans)| covered(spans)))
        .col("active_time_percent", rows().map(|(_, spans)| (covered(spans) as f64 / total) as f32))
}

fn length(spans: &[Span]) -> i64 {
    spans.iter().map(|(start, end)| end - start).sum()
}

fn active_time(p: &Profile) -> Table {
    let mut rows: Vec<(usize, Engine, Span)> = Vec::new();
    for core in 0..chip::CORES {
        for engine in chip::ENGINES {
            let spans = spans(p, &|x| x.core == core && x.engine == engine && !x.is_wait());
            rows.extend(merge(&spans).into_iter().map(|(span, _)| (core, engine, span)));
        }
    }
    let rows = || rows.iter();
    Table::new("ActiveTime")
        .col("start_ts", rows().map(|(.., span)| span.0))
        .col("end_ts", rows().map(|(.., span)| span.1))
        .col("engine", rows().map(|(_, engine, _)| engine.name()))
        .col("pcore_idx", rows().map(|(core, ..)| *core as i64))
        .col("duration_ns", rows().map(|(.., span)| span.1 - span.0))
}

fn throttle_summary(p: &Profile) -> Table {
    let mut rows: Vec<(i32, &str, i64, f64)> = Vec::new();
    for core in 0..chip::CORES {
        let mine: Vec<_> = throttle_rows(p).into_iter().filter(|r| r.core == core).collect();
        let limited: i64 = mine.iter().filter(|r| r.k < r.n).map(|r| r.duration).sum();
        let weighted: f64 = mine.iter().map(|r| (r.duration * r.k) as f64 / r.n as f64).sum();
        let covered: i64 = mine.iter().map(|r| r.duration).sum();
        for kind in ["activity_0", "all"] {
            rows.push((core as i32, kind, limited, weighted / covered.max(1) as f64));
        }
    }
    let total = (p.last() - p.first()) as f64;
    Table::new("ThrottleSummary")
        .col("nc_idx", rows.iter().map(|r| r.0))
        .col("throttle_type", rows.iter().map(|r| Some(r.1)))
        .col("throttle_active_time_ns", rows.iter().map(|r| Some(r.2)))
        .col("throttle_active_time_percent", rows.iter().map(|r| Some((r.2 as f64 / total) as f32)))
        .col("max_achievable_util_with_throttling_percent", rows.iter().map(|r| Some(r.3 as f32)))
}

fn spans(p: &Profile, wanted: &dyn Fn(&Instr) -> bool) -> Vec<Span> {
    p.instrs().filter(|(.., x)| wanted(x)).map(|(r, i, _)| r.instrs[i]).collect()
}

/// The figures of Summary by name: whole numbers, or seconds and fractions.
#[derive(Default)]
struct Figures(Vec<(String, Figure)>);

enum Figure {
    Count(i64),
    Ratio(f64),
}

impl Figures {
    fn count(&mut self, name: impl Into<String>, value: i64) {
        self.0.push((name.into(), Figure::Count(value)));
    }

    fn ratio(&mut self, name: impl Into<String>, value: f64) {
        self.0.push((name.into(), Figure::Ratio(value)));
    }

    fn seconds(&mut self, name: impl Into<String>, ns: i64) {
        self.ratio(name, ns as f64 * 1e-9);
    }

    /// A time during which something was active, and its share of the profile.
    fn active(&mut self, name: &str, ns: i64, total: i64) {
        self.seconds(name, ns);
        self.ratio(format!("{name}_percent"), ns as f64 / total as f64);
    }

    fn table(self) -> Table {
        self.0.into_iter().fold(Table::new("Summary"), |table, (name, figure)| match figure {
            Figure::Count(value) => table.col(&name, [Some(value)]),
            Figure::Ratio(value) => table.col(&name, [Some(value as f32)]),
        })
    }
}

/// Summary. `rows` and `events` are the rows of all other tables, and those of SemaphoreUpdate among them.
pub(super) fn summary(p: &Profile, rows: i64, events: i64) -> Table {
    let mut f = Figures::default();
    let total = p.last() - p.first();
    f.seconds("total_time", total);
    f.count("neuroncore_cycle_count", total * chip::CORE_MHZ / 1000);
    f.count("event_count", events);
    f.count("total_row_count", rows);
    let packets: i64 = p.runs.iter().map(|r| r.packets.len() as i64).sum();
    f.count("trace_count", p.instrs().count() as i64 + events + packets);
    compute(p, &mut f, total);
    engines(p, &mut f, total);
    transfers(p, &mut f, total);
    collectives(p, &mut f, total);
    f.table()
}

/// FLOPs, bytes and the utilisations made of them.
fn compute(p: &Profile, f: &mut Figures, total: i64) {
    let sum = |amount: &dyn Fn(&Instr) -> i64| p.instrs().map(|(.., x)| amount(x)).sum::<i64>();
    let hardware = sum(&|x| x.flops);
    let transposes = sum(&|x| if x.transpose { x.flops } else { 0 });
    let model = sum(&|x| if x.useful { x.flops } else { 0 });
    let read: i64 = p.transfers().map(|(.., t)| t.hbm_bytes().0).sum();
    let written: i64 = p.transfers().map(|(.., t)| t.hbm_bytes().1).sum();
    let (seconds, hbm) = (total as f64 * 1e-9, (read + written) as f64);
    let peak = chip::PEAK_FLOPS * chip::CORES as f64;
    let inst = hardware - transposes;
    for (name, value) in [
        ("model_flops", model),
        ("hardware_flops", hardware),
        ("transpose_flops", transposes),
        ("adjusted_hardware_flops", hardware),
        ("adjusted_transpose_flops", transposes),
        ("hbm_read_bytes", read),
        ("hbm_write_bytes", written),
        ("sbuf_read_bytes", sum(&|x| x.traffic.sbuf_read)),
        ("sbuf_write_bytes", sum(&|x| x.traffic.sbuf_write)),
        ("spill_save_bytes", sum(&|x| x.traffic.spill_save)),
        ("spill_reload_bytes", sum(&|x| x.traffic.spill_reload)),
        ("psum_read_bytes", sum(&|x| x.traffic.psum_read)),
        ("psum_write_bytes", sum(&|x| x.traffic.psum_write)),
        ("psum_read_sbuf_write_bytes", sum(&|x| x.traffic.psum_to_sbuf)),
        ("psum_read_sbuf_write_count", sum(&|x| i64::from(x.traffic.psum_to_sbuf > 0))),
        ("input_queue_bytes", sum(&|x| x.traffic.input)),
        ("output_queue_bytes", sum(&|x| x.traffic.output)),
        ("weight_queue_bytes", sum(&|x| x.traffic.weight)),
    ] {
        f.count(name, value);
    }
    f.ratio("mm_arithmetic_intensity", inst as f64 / hbm);
    f.ratio("peak_flops_bandwidth_ratio", peak / chip::HBM_BANDWIDTH);
    for (name, flops) in [("mfu", model), ("mfu_hlo", model), ("mfu_inst", inst)] {
        f.ratio(format!("{name}_estimated_percent"), flops as f64 / (peak * seconds));
        let best = flops as f64 / hbm / (peak / chip::HBM_BANDWIDTH);
        f.ratio(format!("{name}_max_achievable_estimated_percent"), best);
    }
    f.ratio("hfu_estimated_percent", hardware as f64 / (peak * seconds));
    let tensors = interface(p);
    let size = |kind: &str| tensors.iter().filter(|t| t.kind == kind).map(|t| t.size).sum::<i64>();
    let (inputs, weights) = (size("IN") + size("WEIGHT"), size("WEIGHT"));
    f.count("inputs_and_weights_size_bytes", inputs);
    f.count("inputs_outputs_weights_size_bytes", inputs + size("OUT"));
    f.count("weight_size_bytes", weights);
    f.ratio("mbu_estimated_percent", hbm / seconds / chip::HBM_BANDWIDTH);
    f.ratio("mbu_min_read_util_percent", inputs as f64 / seconds / chip::HBM_BANDWIDTH);
}

fn engines(p: &Profile, f: &mut Figures, total: i64) {
    for engine in chip::ENGINES {
        let name = engine.name().to_lowercase();
        let all = spans(p, &|x| x.engine == engine);
        f.seconds(format!("{name}_engine_instruction_time"), length(&all));
        f.count(format!("{name}_engine_instruction_count"), all.len() as i64);
        let active = covered(&spans(p, &|x| x.engine == engine && !x.is_wait()));
        f.active(&format!("{name}_engine_active_time"), active, total);
    }
    f.count("matmul_instruction_count", spans(p, &Instr::is_matmul).len() as i64);
    let activations = spans(p, &|x| x.opcode == "ACTIVATE");
    f.count("activate_instruction_count", activations.len() as i64);
    f.seconds("activate_instruction_time", length(&activations));
    let mut every = spans(p, &|x| !x.is_wait());
    every.extend(p.runs.iter().flat_map(|r| r.packets.iter().map(|k| (k.start, k.end))));
    let mut working = spans(p, &|x| !chip::HOUSEKEEPING.contains(&x.opcode));
    working.extend(p.runs.iter().flat_map(|r| r.packets.iter().map(|k| (k.start, k.end))));
    every.extend(p.runs.iter().flat_map(|r| r.collectives.iter().copied()));
    f.active("total_active_time", covered(&every), total);
    let first = working.iter().map(|s| s.0).min().unwrap_or_default();
    let last = working.iter().map(|s| s.1).max().unwrap_or_default();
    f.seconds("total_exec_time", last - first);
}

fn transfers(p: &Profile, f: &mut Figures, total: i64) {
    let packets: Vec<(&Run, &Packet, &Transfer)> =
        p.runs.iter().flat_map(|r| r.packets.iter().map(move |k| (r, k, &p.program.transfers[k.transfer]))).collect();
    let times = |wanted: &dyn Fn(Descriptors) -> bool| -> (Vec<Span>, i64) {
        let mine = || packets.iter().filter(|(.., t)| wanted(QUEUES[t.queue].descriptors));
        (mine().map(|(_, k, _)| (k.start, k.end)).collect(), mine().map(|(.., t)| t.packet_bytes).sum())
    };
    let (all, bytes) = times(&|_| true);
    f.seconds("dma_packet_time", length(&all));
    f.active("dma_active_time", covered(&all), total);
    f.count("dma_active_cycles", covered(&all) * chip::CORE_MHZ / 1000);
    let whole: Vec<Span> = p.transfers().map(|(r, n, _)| r.transfers[n]).collect();
    f.seconds("dma_transfer_time", length(&whole));
    f.count("dma_transfer_count", whole.len() as i64);
    f.count("dma_transfer_total_bytes", bytes);
    f.ratio("dma_transfer_average_bytes", bytes as f64 / whole.len() as f64);
    f.count("dma_queue_count", queues().rows() as i64);
    let share = |part: i64, of: i64| part as f64 / of.max(1) as f64;
    let is_dynamic = |d: Descriptors| matches!(d, Descriptors::Hardware | Descriptors::Software);
    let (dynamic, dynamic_bytes) = times(&is_dynamic);
    f.ratio("dynamic_dma_active_time_percent", share(covered(&dynamic), total));
    f.ratio("dynamic_dma_packet_percent", share(dynamic.len() as i64, all.len() as i64));
    f.ratio("dynamic_dma_size_percent", share(dynamic_bytes, bytes));
    for (kind, (mine, size)) in [
        ("static", times(&|d| !is_dynamic(d))),
        ("software_dynamic", times(&|d| d == Descriptors::Software)),
        ("hardware_dynamic", times(&|d| d == Descriptors::Hardware)),
    ] {
        f.active(&format!("{kind}_dma_active_time"), covered(&mine), total);
        f.count(format!("{kind}_dma_packet_count"), mine.len() as i64);
        f.count(format!("{kind}_dma_size"), size);
        f.ratio(format!("{kind}_dma_packet_percent"), share(mine.len() as i64, all.len() as i64));
        f.ratio(format!("{kind}_dma_size_percent"), share(size, bytes));
    }
}

fn collectives(p: &Profile, f: &mut Figures, total: i64) {
    let operations: Vec<Span> = p.runs.iter().flat_map(|r| r.collectives.iter().copied()).collect();
    let parts: Vec<Span> = cc_instructions(p).iter().map(|c| c.span).collect();
    for (name, mine) in [("cc_op", &operations), ("cc_cores_instruction", &parts)] {
        f.seconds(format!("{name}_time"), length(mine));
        f.count(format!("{name}_count"), mine.len() as i64);
        f.active(&format!("{name}_active_time"), covered(mine), total);
    }
}
