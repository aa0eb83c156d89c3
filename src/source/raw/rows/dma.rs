//! Rows about DMA.

use super::Times;

/// What a word transfers. Words of one static block or one `DMA_DIRECT2D` share it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawTransferPlan {
    /// Raw name of the queue; empty for dynamic transfers, whose queue follows from engine and semaphore.
    pub queue: String,
    /// Number of the static block.
    pub block_id: Option<u32>,
    /// `read` from device memory, `write` to it, or `copy` within one memory.
    pub op: &'static str,
    /// The tensor in device memory, where it is known.
    pub variable: String,
    /// What is read: `[SB]`, `[INPUT]`, `[OUTPUT]`, `[WEIGHT]`, `[DRAM]`.
    pub source: String,
    /// What is written.
    pub dest: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Whether device memory is read.
    pub reads_hbm: bool,
    /// Whether device memory is written.
    pub writes_hbm: bool,
    /// Semaphores that each ring increments at its end.
    pub semaphores: Vec<u8>,
    /// Name in the BIR level.
    pub bir_name: String,
    /// State buffer partitions read, such as `0-127`.
    pub read_sbuf_partitions: String,
    /// How many.
    pub read_num_sbuf_partitions: u32,
    /// Extent read per dimension, innermost in bytes.
    pub read_shape: String,
    /// Where reading starts.
    pub read_offset: String,
    /// Bytes between neighbours.
    pub read_steps: String,
    /// State buffer partitions written.
    pub write_sbuf_partitions: String,
    /// How many.
    pub write_num_sbuf_partitions: u32,
    /// Extent written per dimension.
    pub write_shape: String,
    /// Where writing starts.
    pub write_offset: String,
    /// Bytes between neighbours.
    pub write_steps: String,
    /// Whether elements are transposed on the way.
    pub is_transpose_mode: bool,
}

/// One ring of one DMA engine (table `DmaQueuesInfo`, and the columns of `DmaPacket` that all packets of it share).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDmaRing {
    /// Which core.
    pub pcore_idx: u16,
    /// DMA engine.
    pub engine_idx: u16,
    /// Ring of that engine.
    pub queue_idx: u8,
    /// Queue as the vendor's viewer names it, such as `qSyncDynamicHW`; empty where the capture names none.
    pub queue: String,
    /// Raw name of the queue.
    pub queue_raw: String,
    /// `instruction`, `input`, `output`, `data`, `software_dynamic`, `hardware_dynamic` or `unknown`.
    pub queue_type: &'static str,
    /// The capture's class of queue: 0 table, 2 data, 3 io.
    pub class: Option<u64>,
    /// Memory channel.
    pub dram_channel: Option<u64>,
}

impl RawDmaRing {
    /// The full name, such as `qSyncIO0-Q0-E64`, or `Q0-E64` where the queue has none.
    #[must_use]
    pub fn queue_name(&self) -> String {
        match self.queue.as_str() {
            "" => format!("Q{}-E{}", self.queue_idx, self.engine_idx),
            queue => format!("{queue}-Q{}-E{}", self.queue_idx, self.engine_idx),
        }
    }

    /// The vendor's word for the class of the queue.
    #[must_use]
    pub fn class_name(&self) -> &'static str {
        match self.class {
            Some(2) => "weights",
            Some(3) => "io",
            _ => "unknown",
        }
    }
}

/// One packet (table `DmaPacket`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawDmaPacket {
    /// From the start to the end of the transfer of its data.
    pub times: Times,
    /// When it was acknowledged, in picoseconds.
    pub ack_ps: i64,
    /// Index in [`super::super::RawCapture::dma_rings`].
    pub ring: u32,
    /// Bytes read and written, 4-byte semaphore writes included.
    pub transfer_bytes: u32,
    /// Number within the ring.
    pub packet_idx: u32,
    /// Index in [`super::super::RawCapture::dma_transfers`].
    pub transfer: Option<u32>,
    /// Checksum.
    pub crc: u16,
    /// Whether it lies, at least partly, outside the measured execution.
    pub outside: bool,
}

/// The packets of one static block or one `DMA_DIRECT2D` (table `DmaPacketAggregated`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawDmaTransfer {
    /// From the first packet's start to the last one's end.
    pub times: Times,
    /// When the last packet was acknowledged, in picoseconds.
    pub ack_ps: i64,
    /// Which core.
    pub pcore_idx: u16,
    /// Index in [`super::super::RawCapture::transfer_plans`].
    pub plan: u32,
    /// A ring of the queue, as an index in [`super::super::RawCapture::dma_rings`].
    pub ring: u32,
    /// The instruction that started it, as an index in [`super::super::RawCapture::instructions`].
    pub trigger: u32,
    /// Bytes, semaphore writes included.
    pub transfer_bytes: u64,
    /// Number of packets.
    pub packets: u32,
    /// Whether it lies, at least partly, outside the measured execution.
    pub outside: bool,
}
