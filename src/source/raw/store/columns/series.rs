//! Columns of what happens at moments or over time, and of the links between events.

use super::super::counters::{bank_percent, banks_percent};
use super::{Column, MERGED_OF, end_of, float, int, integer, merged_of, text, unknown, word};
use crate::model::Value;
use crate::source::raw::{EdgeKind, RawThroughput};
use crate::store::ColumnKind;

pub(super) const SEMAPHORE: &[Column] = &[
    integer("timestamp", |c, i| Value::Int(c.semaphores[i].timestamp())),
    text("id", |c, i| Value::Text(c.semaphore_label(&c.semaphores[i]))),
    integer("value", |c, i| int(c.semaphores[i].value)),
    text("update_source", |c, i| word(&c.semaphores[i].source_name())),
    unknown("double_set_or_clear", ColumnKind::Bool),
    unknown("update_mode", ColumnKind::Integer),
    text("update_operation_type", |c, i| word(&c.semaphores[i].update_operation_type())),
    unknown("update_trigger_timing", ColumnKind::Text),
    integer("pcore_idx", |c, i| int(c.semaphores[i].pcore_idx)),
    text(MERGED_OF, |c, i| merged_of(c, c.semaphores[i].pcore_idx)),
];

pub(super) const THROTTLE: &[Column] = &[
    integer("duration", |c, i| int(c.throttles[i].times.duration_ns())),
    integer("k", |c, i| int(c.throttles[i].k)),
    integer("n", |c, i| int(c.throttles[i].n)),
    integer("timestamp", |c, i| Value::Int(c.throttles[i].times.start_ts())),
    text("type", |c, i| Value::Text(format!("activity_{}", c.throttles[i].kind))),
    integer("pcore_idx", |c, i| int(c.throttles[i].pcore_idx)),
];

pub(super) const ACTIVE_TIME: &[Column] = &[
    integer("start_ts", |c, i| Value::Int(c.active_time[i].times.start_ts())),
    integer("end_ts", |c, i| Value::Int(c.active_time[i].times.end_ts())),
    text("engine", |c, i| word(&c.active_time[i].engine.name().to_lowercase())),
    integer("pcore_idx", |c, i| int(c.active_time[i].pcore_idx)),
    integer("duration_ns", |c, i| int(c.active_time[i].times.duration_ns())),
];

/// The columns of a table of throughput, whose rows are those of a field.
macro_rules! throughput {
    ($field:ident) => {
        &[
            integer("timestamp", |c, i| Value::Int(c.$field[i].timestamp)),
            float("current_throughput", |c, i| rate(&c.$field[i])),
            integer("total_transfer_bytes", |c, i| int(c.$field[i].total_transfer_bytes)),
            integer("pcore_idx", |c, i| int(c.$field[i].pcore_idx)),
        ]
    };
}

fn rate(row: &RawThroughput) -> Value {
    Value::Float(row.current_throughput)
}

pub(super) const DMA_USAGE: &[Column] = throughput!(dma_usage);
pub(super) const HBM_USAGE: &[Column] = throughput!(hbm_usage);

pub(super) const PENDING_DMA: &[Column] = &[
    integer("timestamp", |c, i| Value::Int(c.pending_dma[i].timestamp)),
    integer("value", |c, i| int(c.pending_dma[i].value)),
    integer("pcore_idx", |c, i| int(c.pending_dma[i].pcore_idx)),
];

pub(super) const SBUF_USAGE: &[Column] = &[
    integer("timestamp", |c, i| Value::Int(c.sbuf_usage[i].timestamp)),
    float("avg_util_percent", |c, i| Value::Float(100.0 * c.sbuf_usage[i].avg_util)),
    float("partition_0_util_percent", |c, i| Value::Float(100.0 * c.sbuf_usage[i].partition_util[0])),
    float("partition_32_util_percent", |c, i| Value::Float(100.0 * c.sbuf_usage[i].partition_util[1])),
    float("partition_64_util_percent", |c, i| Value::Float(100.0 * c.sbuf_usage[i].partition_util[2])),
    float("partition_96_util_percent", |c, i| Value::Float(100.0 * c.sbuf_usage[i].partition_util[3])),
    integer("pcore_idx", |c, i| int(c.sbuf_usage[i].pcore_idx)),
];

pub(super) const PSUM_USAGE: &[Column] = &[
    integer("timestamp", |c, i| Value::Int(c.psum_usage[i].timestamp)),
    float("avg_util_percent", |c, i| Value::Float(banks_percent(c.psum_usage[i].banks))),
    float("bank_0_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 0))),
    float("bank_1_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 1))),
    float("bank_2_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 2))),
    float("bank_3_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 3))),
    float("bank_4_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 4))),
    float("bank_5_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 5))),
    float("bank_6_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 6))),
    float("bank_7_util_percent", |c, i| Value::Float(bank_percent(c.psum_usage[i].banks, 7))),
    integer("pcore_idx", |c, i| int(c.psum_usage[i].pcore_idx)),
];

pub(super) const FLOW: &[Column] = &[
    integer("in_id", |c, i| Value::Int(c.node_id(c.edges[i].predecessor).0)),
    integer("out_id", |c, i| Value::Int(c.node_id(c.edges[i].successor).0)),
    text("in_table", |c, i| word(c.node_id(c.edges[i].predecessor).1)),
    text("out_table", |c, i| word(c.node_id(c.edges[i].successor).1)),
    // An instruction and the transfer that it triggered have no type in the schema.
    text("dependency_type", |c, i| match c.edges[i].kind {
        EdgeKind::DmaTrigger => Value::Null,
        kind => word(&kind.dependency_type()),
    }),
    integer("gap_time", |c, i| Value::Int(c.edges[i].gap_time)),
];

pub(super) const LOST: &[Column] = &[
    integer("start_ts", |c, i| Value::Int(c.gaps[i].times().start_ts())),
    integer("end_ts", |c, i| end_of(c.gaps[i].times())),
    integer("duration_ns", |c, i| int(c.gaps[i].times().duration_ns())),
    integer("pcore_idx", |c, i| int(c.gaps[i].pcore_idx)),
    text("type", |_, _| word("semaphore records lost")),
];
