//! Columns of `DmaPacket` and `DmaPacketAggregated`.

use super::{Column, MERGED_OF, end_of, float, int, integer, merged_of, text, truth, unknown, word};
use crate::model::Value;
use crate::source::raw::{RawCapture, RawDmaPacket, RawDmaRing, RawDmaTransfer, RawTransferPlan};
use crate::store::ColumnKind;

fn packet(capture: &RawCapture, row: usize) -> &RawDmaPacket {
    &capture.dma_packets[row]
}

fn packet_ring(capture: &RawCapture, row: usize) -> &RawDmaRing {
    &capture.dma_rings[packet(capture, row).ring as usize]
}

/// The transfer that a packet belongs to, where that is known.
fn transfer_of(capture: &RawCapture, row: usize) -> Option<(u32, &RawTransferPlan)> {
    let transfer = packet(capture, row).transfer?;
    let plan = capture.dma_transfers[transfer as usize].plan;
    Some((transfer, &capture.transfer_plans[plan as usize]))
}

pub(super) const PACKET: &[Column] = &[
    integer("start_ts", |c, i| Value::Int(packet(c, i).times.start_ts())),
    integer("end_ts", |c, i| end_of(packet(c, i).times)),
    integer("duration_ns", |c, i| int(packet(c, i).times.duration_ns())),
    integer("pcore_idx", |c, i| int(packet_ring(c, i).pcore_idx)),
    integer("id", |c, i| Value::Int(c.packet_id(i as u32))),
    integer("packet_idx", |c, i| int(packet(c, i).packet_idx)),
    integer("packet_aggregation_id", |c, i| {
        transfer_of(c, i).map_or(Value::Null, |(transfer, _)| Value::Int(c.transfer_id(transfer)))
    }),
    integer("engine_idx", |c, i| int(packet_ring(c, i).engine_idx)),
    // A packet's record has one size; what is read is what is written.
    integer("read_bytes", |c, i| int(packet(c, i).transfer_bytes)),
    integer("write_bytes", |c, i| int(packet(c, i).transfer_bytes)),
    integer("transfer_bytes", |c, i| int(packet(c, i).transfer_bytes)),
    float("throughput", |c, i| {
        let packet = packet(c, i);
        Value::Float(packet.times.throughput(u64::from(packet.transfer_bytes)))
    }),
    text("queue_type", |c, i| word(packet_ring(c, i).queue_type)),
    text("variable", |c, i| transfer_of(c, i).map_or(Value::Null, |(_, plan)| word(&plan.variable))),
    text("queue_name", |c, i| word(&packet_ring(c, i).queue_name())),
    integer("queue_idx", |c, i| int(packet_ring(c, i).queue_idx)),
    integer("crc", |c, i| int(packet(c, i).crc)),
    text(MERGED_OF, |c, i| merged_of(c, packet_ring(c, i).pcore_idx)),
];

fn transfer(capture: &RawCapture, row: usize) -> &RawDmaTransfer {
    &capture.dma_transfers[row]
}

fn plan(capture: &RawCapture, row: usize) -> &RawTransferPlan {
    &capture.transfer_plans[transfer(capture, row).plan as usize]
}

fn ring(capture: &RawCapture, row: usize) -> &RawDmaRing {
    &capture.dma_rings[transfer(capture, row).ring as usize]
}

pub(super) const TRANSFER: &[Column] = &[
    integer("start_ts", |c, i| Value::Int(transfer(c, i).times.start_ts())),
    integer("end_ts", |c, i| end_of(transfer(c, i).times)),
    integer("duration_ns", |c, i| int(transfer(c, i).times.duration_ns())),
    integer("id", |c, i| Value::Int(c.transfer_id(i as u32))),
    integer("pcore_idx", |c, i| int(transfer(c, i).pcore_idx)),
    integer("block_id", |c, i| plan(c, i).block_id.map_or(Value::Null, int)),
    integer("queue_idx", |c, i| int(ring(c, i).queue_idx)),
    text("queue_name", |c, i| word(&ring(c, i).queue)),
    text("queue_type", |c, i| word(ring(c, i).queue_type)),
    text("op", |c, i| word(plan(c, i).op)),
    text("variable", |c, i| word(&plan(c, i).variable)),
    integer("read_bytes", |c, i| int(plan(c, i).read_bytes)),
    integer("write_bytes", |c, i| int(plan(c, i).write_bytes)),
    integer("transfer_bytes", |c, i| int(transfer(c, i).transfer_bytes)),
    float("throughput", |c, i| Value::Float(transfer(c, i).times.throughput(transfer(c, i).transfer_bytes))),
    text("source", |c, i| word(&plan(c, i).source)),
    text("dest", |c, i| word(&plan(c, i).dest)),
    text("semaphore_id", |c, i| {
        let label = |id: &u8| c.semaphore_name(transfer(c, i).pcore_idx, *id);
        plan(c, i).semaphores.first().map(label).map_or(Value::Null, Value::Text)
    }),
    unknown("modular_flow_function", ColumnKind::Text),
    text("read_sbuf_partitions", |c, i| word(&plan(c, i).read_sbuf_partitions)),
    integer("read_num_sbuf_partitions", |c, i| int(plan(c, i).read_num_sbuf_partitions)),
    text("read_shape", |c, i| word(&plan(c, i).read_shape)),
    text("read_offset", |c, i| word(&plan(c, i).read_offset)),
    text("read_steps", |c, i| word(&plan(c, i).read_steps)),
    text("write_sbuf_partitions", |c, i| word(&plan(c, i).write_sbuf_partitions)),
    integer("write_num_sbuf_partitions", |c, i| int(plan(c, i).write_num_sbuf_partitions)),
    text("write_shape", |c, i| word(&plan(c, i).write_shape)),
    text("write_offset", |c, i| word(&plan(c, i).write_offset)),
    text("write_steps", |c, i| word(&plan(c, i).write_steps)),
    truth("is_transpose_mode", |c, i| Value::Bool(plan(c, i).is_transpose_mode)),
    unknown("transpose_element_size", ColumnKind::Text),
    unknown("transpose_shape", ColumnKind::Text),
    unknown("transpose_from_shape", ColumnKind::Text),
    unknown("transpose_to_shape", ColumnKind::Text),
    unknown("transpose_unroll_factor", ColumnKind::Text),
    integer("trigger", |c, i| Value::Int(c.instruction_id(transfer(c, i).trigger))),
    // When the last packet was acknowledged is known, which instruction that satisfied is not.
    unknown("completion", ColumnKind::Integer),
    text(MERGED_OF, |c, i| merged_of(c, c.dma_transfers[i].pcore_idx)),
];
