//! The tables that say what was run, where, and what went wrong.

use crate::demo::chip;
use crate::demo::profile::Profile;
use crate::demo::table::Table;

/// Unix time of the profile's origin, in words and as the nanoseconds after the full second.
const ORIGIN: (&str, i64) = ("2025-12-18 15:35:56", 592_459_482);

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    vec![metadata(p), header(), executions(p), throttle(p), errors(p), warnings(), hbm_by_type()]
}

/// The moment `ns` after the origin; the whole profile lies within that second.
fn wall_clock(ns: i64) -> String {
    format!("{}.{:09}+00:00", ORIGIN.0, ORIGIN.1 + ns)
}

fn metadata(p: &Profile) -> Table {
    let ghz = |mhz: i64| (mhz as f64 / 1000.0) as f32;
    Table::new("Metadata")
        .col("profile_schema_version", ["7.5.0"])
        .col("ntff_version", [6_i32])
        .col("num_physical_cores", [chip::CORES as i32])
        .col("vnc_enabled", [true])
        .col("first_hw_timestamp", [p.first()])
        .col("last_hw_timestamp", [p.last()])
        .col("first_ts", [wall_clock(p.first())])
        .col("last_ts", [wall_clock(p.last())])
        .col("dma_ddr_bandwidth", [chip::DMA_BANDWIDTH as f32])
        .col("num_dma_engines_per_neuroncore", [chip::DMA_ENGINES as i32])
        .col("hbm_ddr_bandwidth", [chip::HBM_BANDWIDTH as f32])
        .col("tensor_engine_num_rows", [128_i64])
        .col("tensor_engine_num_cols", [128_i64])
        .col("tensor_engine_clock_freq", [ghz(chip::TENSOR_MHZ)])
        .col("vector_engine_clock_freq", [ghz(chip::VECTOR_MHZ)])
        .col("vector_engine_num_channels", [chip::PARTITIONS])
        .col("scalar_engine_clock_freq", [ghz(chip::SCALAR_MHZ)])
        .col("scalar_engine_num_channels", [chip::PARTITIONS])
        .col("gpsimd_engine_clock_freq", [ghz(chip::GPSIMD_MHZ)])
        .col("gpsimd_engine_num_channels", [8_i64])
        .col("neuroncore_clock_freq", [ghz(chip::CORE_MHZ)])
        .col("ticks_per_nanosec", [1_i64])
        .col("instance_type", [Some("trn2.48xlarge")])
        .col("runtime_version", [Some("2.31.4")])
        .col("collectives_version", [Some("2.31.8")])
        .col("driver_version", [Some("2.31.0")])
        .col("explorer_version", [Some("2.31.0")])
        .col("compiler_version", [Some("2.24.5133.0")])
        .col("neuroncore_idx", [Some(0_i64)])
        .col("neuron_device_idx", [Some(0_i64)])
        .col("ultraserver_id", [None::<i64>])
        .col("ultraserver_type", [None::<String>])
        .col("ultraserver_size", [None::<i32>])
        .col("ultraserver_instance_index", [None::<i32>])
        .col("s3_bucket_path", [None::<String>])
        .col("profile_name", [Some("demo_llama_attention")])
        .col("explorer_build_time", [None::<String>])
        .col("is_simulation", [Some(true)])
}

fn header() -> Table {
    Table::new("NeffHeader")
        .col("network_name", [Some("demo_llama_attention.neff")])
        .col("uuid", [Some("6e2d6465-6d6f-4c6c-8a6d-610000000001")])
        .col("hash", [Some("00000000000000000000000000d3a0d3")])
        .col("enabled_features", [Some("coalesced-cc, queue-set-instances")])
        .col("header_size", [Some(1024_i64)])
        .col("data_size", [Some(9_437_184_i64)])
        .col("major_version", [Some(2_i64)])
        .col("minor_version", [Some(0_i64)])
        .col("package_version", [Some("0")])
        .col("build_version", [Some("0")])
        .col("cc_participant_count", [Some(8_i64)])
        .col("neuroncore_count", [Some(chip::CORES as i64)])
        .col("logical_neuroncore_count", [Some(1_i64)])
        .col("pcore_count_per_lnc", [Some(chip::CORES as i64)])
}

fn executions(p: &Profile) -> Table {
    let rows = || p.runs.iter();
    let events = p.program.instrs.len() + p.program.transfers.len();
    Table::new("ExecutionInfo")
        .col("execution_index", rows().map(|r| r.index as i32))
        .col("neff_name", rows().map(|_| Some("demo_llama_attention.neff")))
        .col("execution_start_ts", rows().map(|r| Some(r.begin)))
        .col("execution_end_ts", rows().map(|r| Some(r.end)))
        .col("num_subgraphs", rows().map(|_| Some(chip::CORES as i32)))
        .col("row_count", rows().map(|r| Some((events + r.packets.len()) as i64)))
}

/// A stretch of an execution in which one limit held on a core.
pub(super) struct Limit {
    pub core: usize,
    at: i64,
    pub duration: i64,
    pub k: i64,
    pub n: i64,
}

/// Every execution of every core, cut at the changes of its limit.
pub(super) fn throttle_rows(p: &Profile) -> Vec<Limit> {
    let mut rows = Vec::new();
    for core in 0..chip::CORES {
        for run in &p.runs {
            let mut add = |from: i64, to: i64, k: i64, n: i64| {
                let (from, to) = (from.max(run.begin), to.min(run.end));
                if from < to {
                    rows.push(Limit { core, at: from, duration: to - from, k, n });
                }
            };
            match run.throttle {
                Some(t) => {
                    add(run.begin, t.start, 8, 8);
                    add(t.start, t.end, t.k, t.n);
                    add(t.end, run.end, 8, 8);
                }
                None => add(run.begin, run.end, 8, 8),
            }
        }
    }
    rows
}

fn throttle(p: &Profile) -> Table {
    let rows = throttle_rows(p);
    let rows = || rows.iter();
    Table::new("Throttle")
        .col("duration", rows().map(|r| r.duration))
        .col("k", rows().map(|r| r.k as i32))
        .col("n", rows().map(|r| r.n as i32))
        .col("timestamp", rows().map(|r| r.at))
        .col("type", rows().map(|_| "activity_0"))
        .col("pcore_idx", rows().map(|r| Some(r.core as i64)))
}

/// A token outside the vocabulary, and a marker that the program left, in each execution.
fn errors(p: &Profile) -> Table {
    let mut rows = Vec::new();
    for run in &p.runs {
        let embedding = run.transfers.iter().map(|t| t.0).min().unwrap_or(run.begin) + 4_000;
        rows.push((embedding, 0_i64, "EMBD OOB", 1_i32, Some("row 32017 of 32000"), Some("0x7d11"), "Errors"));
        rows.push((run.end - 1_500, 1, "Debug", 12, Some("value 42"), Some("0x2a"), "Custom Notification"));
    }
    let rows = || rows.iter();
    Table::new("Error")
        .col("description", rows().map(|r| r.2))
        .col("error_type_id", rows().map(|r| r.3))
        .col("metadata", rows().map(|r| r.4))
        .col("metadata_hex", rows().map(|r| r.5))
        .col("pcore_idx", rows().map(|r| Some(r.1)))
        .col("timestamp", rows().map(|r| r.0))
        .col("type", rows().map(|r| r.6))
}

fn warnings() -> Table {
    Table::new("Warning")
        .col(
            "message",
            [
                "This is the built-in demo profile. It was simulated; no device has run it.",
                "Host-device DMA was not captured: the demo moves no data between host and device.",
            ],
        )
        .col("category", ["Demo", "Missing Data"])
}

fn hbm_by_type() -> Table {
    let rows: [(&str, i64); 5] = [
        ("Weights", 9_437_184),
        ("IO", 4_194_304),
        ("DRAM Spill", 2_097_152),
        ("Collectives", 33_554_432),
        ("Profiler Buffers", 268_435_456),
    ];
    Table::new("HbmUsageSummaryByType")
        .col("neuron_device_idx", rows.map(|_| 0_i64))
        .col("neuroncore_idx", rows.map(|_| 0_i64))
        .col("usage_type", rows.map(|r| r.0))
        .col("usage_bytes", rows.map(|r| r.1))
}
