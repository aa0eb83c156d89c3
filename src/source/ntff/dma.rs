//! DMA records: start, end of transfer and acknowledgement of each packet. Per engine and ring the three are queues of
//! equal length, so the n-th of each belong together.

use super::container::{Core, DmaQueue, Ntff, SectionKind};
use super::record::{RECORD_BYTES, Record};

/// Starts, ends and acknowledgements.
type Ring<'a> = [Vec<&'a [u8; RECORD_BYTES]>; 3];

/// One packet. Times are in common picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When the engine began it.
    pub start_ps: i64,
    /// When its data had been transferred.
    pub end_ps: i64,
    /// When that was acknowledged.
    pub ack_ps: i64,
    /// Bytes.
    pub bytes: u32,
    /// Checksum.
    pub crc: u16,
}

/// The packets of one ring of one DMA engine, in order.
#[derive(Debug)]
pub struct DmaPackets {
    /// DMA engine, numbered as the queue table numbers it.
    pub engine: u16,
    /// Ring of that engine.
    pub ring: u8,
    /// Index of the queue in [`Core::queues`], where the file describes it.
    pub queue: Option<usize>,
    /// The packets.
    pub packets: Vec<Packet>,
    /// Records without their partners.
    pub unpaired: u64,
}

impl Core {
    /// What the seven bits of a record's engine number are short of the queue table's numbers (likely): 0 on trn1, 64
    /// on trn2.
    fn dma_base(&self) -> u16 {
        self.queues.iter().map(|queue| queue.engine).min().unwrap_or(0) & !31
    }

    fn queue(&self, engine: u16, ring: u8) -> Option<usize> {
        let is = |engine: u16| move |queue: &DmaQueue| queue.engine == engine && queue.ring == ring;
        let base = self.dma_base();
        let exact = self.queues.iter().position(is(engine + base));
        exact.or_else(|| self.queues.iter().position(is(engine + (base & !63))))
    }
}

impl Ntff {
    /// The packets of a core by ring, and how many records were none.
    pub fn dma_packets(&self, core: &Core) -> (Vec<DmaPackets>, u64) {
        let mut invalid = 0;
        let mut rings: Vec<Ring<'_>> = (0..1 << 11).map(|_| Ring::default()).collect();
        for record in self.sections(core, SectionKind::Dma).flat_map(Record::all) {
            let step = match record.byte(4) & 15 {
                1 if record.is_valid() => 0,
                5 if record.is_valid() => 1,
                6 if record.is_valid() => 2,
                _ => {
                    invalid += 1;
                    continue;
                }
            };
            let key = usize::from(record.byte(3) & 0x7f) << 4 | usize::from(record.byte(4) >> 4);
            rings[key][step].push(record.0);
        }
        let rings = rings.into_iter().enumerate().filter(|(_, steps)| steps.iter().any(|records| !records.is_empty()));
        let base = core.dma_base();
        let packets = rings.map(|(key, [starts, ends, acks])| {
            let (engine, ring) = ((key >> 4) as u16, (key & 15) as u8);
            let clock = core.clocks.dma(engine);
            let time = |record: Record| clock.picoseconds(record.counter());
            let whole = starts.len().min(ends.len()).min(acks.len());
            let together = starts.iter().zip(&ends).zip(&acks);
            let packets = together.map(|((start, end), ack)| {
                let (start, end, ack) = (Record(start), Record(end), Record(ack));
                Packet {
                    start_ps: time(start),
                    end_ps: time(end),
                    ack_ps: time(ack),
                    bytes: end.u24(),
                    crc: end.u16(6),
                }
            });
            DmaPackets {
                engine: engine + base,
                ring,
                queue: core.queue(engine, ring),
                packets: packets.collect(),
                unpaired: (starts.len() + ends.len() + acks.len() - 3 * whole) as u64,
            }
        });
        let packets = packets.collect();
        (packets, invalid)
    }
}
