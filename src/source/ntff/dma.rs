//! DMA records: start, end of transfer and acknowledgement of each packet. Per engine and ring the three are queues of
//! equal length, so the n-th of each belong together.

use super::container::{Core, DmaQueue, Ntff, SectionKind};
use super::record::Record;

/// One packet. Times are in common picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// A ring while its records are gathered.
#[derive(Default)]
struct Ring {
    packets: Vec<Packet>,
    /// How many starts, ends and acknowledgements there were.
    counts: [usize; 3],
}

impl Ring {
    /// The packet that the next record of a step (0 start, 1 end, 2 acknowledgement) belongs to.
    fn next(&mut self, step: usize) -> &mut Packet {
        let number = self.counts[step];
        self.counts[step] += 1;
        if number == self.packets.len() {
            self.packets.push(Packet::default());
        }
        &mut self.packets[number]
    }
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
        let mut rings: Vec<Ring> = (0..1 << 11).map(|_| Ring::default()).collect();
        let clocks: Vec<_> = (0..1 << 7).map(|engine| core.clocks.dma(engine)).collect();
        for record in self.sections(core, SectionKind::Dma).flat_map(Record::all) {
            let engine = usize::from(record.byte(3) & 0x7f);
            let time = clocks[engine].picoseconds(record.counter());
            let ring = &mut rings[engine << 4 | usize::from(record.byte(4) >> 4)];
            match record.byte(4) & 15 {
                1 if record.is_valid() => ring.next(0).start_ps = time,
                5 if record.is_valid() => {
                    let packet = ring.next(1);
                    (packet.end_ps, packet.bytes, packet.crc) = (time, record.u24(), record.u16(6));
                }
                6 if record.is_valid() => ring.next(2).ack_ps = time,
                _ => invalid += 1,
            }
        }
        let base = core.dma_base();
        let filled = rings.into_iter().enumerate().filter(|(_, ring)| !ring.packets.is_empty());
        let rings = filled.map(|(key, Ring { mut packets, counts })| {
            let (engine, ring) = ((key >> 4) as u16, (key & 15) as u8);
            let whole = counts.into_iter().min().unwrap_or(0);
            packets.truncate(whole);
            let unpaired = counts.iter().map(|count| (count - whole) as u64).sum();
            DmaPackets { engine: engine + base, ring, queue: core.queue(engine, ring), packets, unpaired }
        });
        (rings.collect(), invalid)
    }
}
