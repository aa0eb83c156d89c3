//! Columns of the small tables: the capture, the program, the machine.

use super::{Column, float, int, integer, maybe, merged_of, text, truth, unknown, word};
use crate::model::Value;
use crate::source::raw::{Chip, RawCapture, RawDmaRing, Times};
use crate::store::ColumnKind;

/// The measured executions; every core has the same ones.
pub(super) fn executions(capture: &RawCapture) -> usize {
    capture.cores.first().map_or(0, |core| core.executions.len())
}

fn execution(capture: &RawCapture, row: usize) -> Times {
    capture.cores.first().and_then(|core| core.executions.get(row)).copied().unwrap_or_default()
}

pub(super) const EXECUTION: &[Column] = &[
    integer("execution_index", |_, i| int(i as u64)),
    text("neff_name", |c, _| word(&c.metadata.neff_name)),
    integer("execution_start_ts", |c, i| Value::Int(execution(c, i).start_ts())),
    integer("execution_end_ts", |c, i| Value::Int(execution(c, i).end_ts())),
    integer("num_subgraphs", |c, _| int(c.cores.len() as u64)),
    unknown("row_count", ColumnKind::Integer),
];

fn chip(capture: &RawCapture, value: fn(&Chip) -> Option<f64>) -> Value {
    capture.metadata.chip.as_ref().and_then(value).map_or(Value::Null, Value::Float)
}

fn array(capture: &RawCapture) -> Value {
    maybe(capture.metadata.chip.map(|chip| chip.tensor_engine_size))
}

pub(super) const METADATA: &[Column] = &[
    unknown("profile_schema_version", ColumnKind::Text),
    integer("ntff_version", |c, _| int(c.metadata.ntff_version)),
    integer("num_physical_cores", |c, _| int(c.metadata.num_physical_cores)),
    truth("vnc_enabled", |c, _| Value::Bool(c.metadata.vnc_enabled)),
    integer("first_hw_timestamp", |_, _| Value::Int(0)),
    integer("last_hw_timestamp", |c, _| Value::Int(c.metadata.last_hw_timestamp)),
    unknown("first_ts", ColumnKind::Text),
    unknown("last_ts", ColumnKind::Text),
    float("dma_ddr_bandwidth", |c, _| chip(c, |chip| chip.dma_ddr_bandwidth)),
    unknown("num_dma_engines_per_neuroncore", ColumnKind::Integer),
    float("hbm_ddr_bandwidth", |c, _| chip(c, |chip| chip.hbm_ddr_bandwidth)),
    integer("tensor_engine_num_rows", |c, _| array(c)),
    integer("tensor_engine_num_cols", |c, _| array(c)),
    float("tensor_engine_clock_freq", |c, _| chip(c, |chip| Some(chip.tensor_engine_clock_freq))),
    unknown("vector_engine_clock_freq", ColumnKind::Float),
    unknown("vector_engine_num_channels", ColumnKind::Integer),
    unknown("scalar_engine_clock_freq", ColumnKind::Float),
    unknown("scalar_engine_num_channels", ColumnKind::Integer),
    unknown("gpsimd_engine_clock_freq", ColumnKind::Float),
    unknown("gpsimd_engine_num_channels", ColumnKind::Integer),
    float("neuroncore_clock_freq", |c, _| chip(c, |chip| Some(chip.other_engine_clock_freq))),
    unknown("ticks_per_nanosec", ColumnKind::Integer),
    text("instance_type", |c, _| word(&c.metadata.instance_type)),
    text("runtime_version", |c, _| word(&c.metadata.runtime_version)),
    text("collectives_version", |c, _| word(&c.metadata.collectives_version)),
    text("driver_version", |c, _| word(&c.metadata.driver_version)),
    unknown("explorer_version", ColumnKind::Text),
    text("compiler_version", |c, _| word(&c.metadata.compiler_version)),
    integer("neuroncore_idx", |c, _| maybe(c.cores.first().map(|core| core.neuroncore_idx))),
    integer("neuron_device_idx", |c, _| maybe(c.cores.first().map(|core| core.neuron_device_idx))),
    unknown("ultraserver_id", ColumnKind::Integer),
    unknown("ultraserver_type", ColumnKind::Text),
    unknown("ultraserver_size", ColumnKind::Integer),
    unknown("ultraserver_instance_index", ColumnKind::Integer),
    unknown("s3_bucket_path", ColumnKind::Text),
    text("profile_name", |c, _| word(&c.metadata.neff_name)),
    unknown("explorer_build_time", ColumnKind::Text),
    unknown("is_simulation", ColumnKind::Bool),
    // Beyond the schema.
    text("time_origin", |c, _| word(c.metadata.time_origin)),
    integer("capture_unix_seconds", |c, _| maybe(c.metadata.capture_unix_seconds)),
];

/// What a header says; there is a row only where there is one.
macro_rules! header {
    ($header:ident => $value:expr) => {
        |c, _| c.neff_header.as_ref().map_or(Value::Null, |$header| $value)
    };
}

pub(super) const NEFF_HEADER: &[Column] = &[
    text("network_name", header!(h => word(&h.network_name))),
    text("uuid", header!(h => word(&h.uuid))),
    text("hash", header!(h => word(&h.hash))),
    text("enabled_features", header!(h => word(&h.enabled_features()))),
    integer("header_size", header!(h => int(h.header_size))),
    integer("data_size", header!(h => int(h.data_size))),
    integer("major_version", header!(h => int(h.major_version))),
    integer("minor_version", header!(h => int(h.minor_version))),
    text("package_version", header!(h => Value::Text(h.package_version.to_string()))),
    text("build_version", header!(h => word(&h.build_version))),
    unknown("cc_participant_count", ColumnKind::Integer),
    unknown("neuroncore_count", ColumnKind::Integer),
    integer("logical_neuroncore_count", header!(h => int(h.logical_cores))),
    integer("pcore_count_per_lnc", header!(h => int(h.cores_per_logical_core))),
];

pub(super) const TENSOR: &[Column] = &[
    text("variable_name", |c, i| word(&c.tensors[i].variable_name)),
    text("type", |c, i| word(&c.tensors[i].kind)),
    text("format", |c, i| word(&c.tensors[i].format)),
    text("shape", |c, i| word(&c.tensors[i].shape)),
    integer("size", |c, i| maybe(c.tensors[i].size)),
    unknown("node", ColumnKind::Integer),
    integer("pcore_idx", |c, i| int(c.tensors[i].pcore_idx)),
    integer("load_to_sbuf_avg_size_bytes", |c, i| {
        maybe(c.tensors[i].load_to_sbuf_total_size_bytes.checked_div(c.tensors[i].load_to_sbuf_dma_count))
    }),
    integer("load_to_sbuf_total_size_bytes", |c, i| int(c.tensors[i].load_to_sbuf_total_size_bytes)),
    integer("load_to_sbuf_dma_count", |c, i| int(c.tensors[i].load_to_sbuf_dma_count)),
    float("load_to_sbuf_repeat_factor", |c, i| {
        let size = c.tensors[i].size.filter(|size| *size > 0);
        size.map_or(Value::Null, |size| Value::Float(c.tensors[i].load_to_sbuf_total_size_bytes as f64 / size as f64))
    }),
    text("dtype", |c, i| word(&c.tensors[i].dtype)),
];

fn ring(capture: &RawCapture, row: usize) -> &RawDmaRing {
    &capture.dma_rings[row]
}

pub(super) const QUEUE: &[Column] = &[
    text("name", |c, i| word(&ring(c, i).queue)),
    text("type", |c, i| word(ring(c, i).class_name())),
    integer("pcore_idx", |c, i| int(ring(c, i).pcore_idx)),
    integer("idx", |c, i| int(ring(c, i).queue_idx)),
    integer("engine_idx", |c, i| int(ring(c, i).engine_idx)),
    unknown("axi_port", ColumnKind::Integer),
    integer("dram_channel", |c, i| maybe(ring(c, i).dram_channel)),
];

pub(super) const MERGED: &[Column] = &[
    integer("pcore_idx", |_, i| int(i as u64)),
    text("capture", |c, i| merged_of(c, i as u16)),
    text("neff_name", |c, i| c.merged_of(i as u16).map_or(Value::Null, |merged| word(&merged.neff_name))),
    text("file", |c, i| c.merged_of(i as u16).map_or(Value::Null, |merged| word(&merged.path.to_string_lossy()))),
    truth("placed_by_clock", |c, i| {
        c.merged_of(i as u16).map_or(Value::Null, |merged| Value::Bool(merged.kept_distance))
    }),
    integer("neuron_device_idx", |c, i| int(c.cores[i].neuron_device_idx)),
    integer("neuroncore_idx", |c, i| int(c.cores[i].neuroncore_idx)),
];

pub(super) const MEMORY: &[Column] = &[
    integer("neuron_device_idx", |c, i| int(c.memory[i].neuron_device_idx)),
    integer("neuroncore_idx", |c, i| int(c.memory[i].neuroncore_idx)),
    text("usage_type", |c, i| word(&c.memory[i].usage_type)),
    integer("usage_bytes", |c, i| int(c.memory[i].usage_bytes)),
];
