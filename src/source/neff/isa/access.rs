//! What an instruction reads and writes on chip, and how much work that is.
//!
//! Addresses below 0x2000000 are in the state buffer (128 partitions of 0x40000 bytes of address space each), those
//! from there on in PSUM. Access patterns step in elements.

use super::{Word, dtype_bytes, op};

/// First address of PSUM.
const PSUM_BASE: u32 = 0x200_0000;
/// Address space of one state buffer partition.
const SBUF_PARTITION: u32 = 0x4_0000;
/// Bytes of PSUM in a partition.
const PSUM_PARTITION: u32 = 16 * 1024;
/// Bytes of one PSUM bank in a partition.
const PSUM_BANK: u32 = 2 * 1024;

/// A strided region: a byte address, and a step and a count of elements per dimension, innermost first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPattern<const N: usize> {
    /// Byte address of the first element.
    pub address: u32,
    /// Elements between neighbours, per dimension; negative ones walk backwards.
    pub steps: [i16; N],
    /// Elements per dimension.
    pub counts: [u16; N],
}

impl<const N: usize> AccessPattern<N> {
    /// Elements per partition.
    fn elements(&self) -> u64 {
        self.counts.iter().fold(1, |product, count| product.saturating_mul(u64::from(*count)))
    }

    /// The smallest range of addresses that holds every element, given the bytes of one.
    fn range(&self, element: u64) -> std::ops::Range<i64> {
        let element = element as i64;
        let (mut low, mut high) = (0, 0);
        for (step, count) in self.steps.iter().zip(&self.counts) {
            let reach = i64::from(*step) * (i64::from(*count) - 1).max(0) * element;
            low += reach.min(0);
            high += reach.max(0);
        }
        let address = i64::from(self.address);
        address + low..address + high + element
    }
}

/// A memory on the chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// The state buffer.
    Sbuf,
    /// The accumulation buffer of the Tensor Engine.
    Psum,
}

/// One region that an instruction reads or writes, the same in each of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Which memory.
    pub space: Space,
    /// Whether it is written.
    pub write: bool,
    /// First partition.
    pub partition: u16,
    /// Number of partitions.
    pub partitions: u16,
    /// Bytes from the start of the partition.
    pub range: std::ops::Range<u32>,
    /// Bytes per partition, counted as the vendor does: elements times their size.
    pub bytes: u64,
    /// Whether this is a scalar or bias that is read through a pointer; the vendor does not count those.
    pub pointer: bool,
}

impl Access {
    fn new<const N: usize>(
        pattern: AccessPattern<N>,
        dtype: u8,
        partitions: u8,
        write: bool,
        pointer: bool,
    ) -> Option<Access> {
        let element = dtype_bytes(dtype);
        if element == 0 {
            return None;
        }
        let range = pattern.range(element);
        let (space, base, span) = match pattern.address < PSUM_BASE {
            true => (Space::Sbuf, pattern.address / SBUF_PARTITION * SBUF_PARTITION, SBUF_PARTITION),
            false => {
                let inside = pattern.address - PSUM_BASE;
                (Space::Psum, PSUM_BASE + inside / PSUM_PARTITION * PSUM_PARTITION, PSUM_PARTITION)
            }
        };
        let clip = |address: i64| (address - i64::from(base)).clamp(0, i64::from(span)) as u32;
        let partition = match space {
            Space::Sbuf => pattern.address / SBUF_PARTITION,
            Space::Psum => (pattern.address - PSUM_BASE) / PSUM_PARTITION,
        };
        Some(Access {
            space,
            write,
            partition: partition.min(u32::from(u16::MAX)) as u16,
            partitions: u16::from(partitions),
            range: clip(range.start)..clip(range.end),
            bytes: pattern.elements().saturating_mul(element),
            pointer,
        })
    }

    /// The PSUM banks touched, one bit each; 0 in the state buffer. Banks of base partitions above 0 are unverified.
    pub fn banks(&self) -> u8 {
        if self.space != Space::Psum || self.range.is_empty() {
            return 0;
        }
        let (first, last) = (self.range.start / PSUM_BANK, (self.range.end - 1) / PSUM_BANK);
        (first..=last.min(7)).fold(0, |mask, bank| mask | 1 << bank)
    }
}

/// The bytes and multiplications of one instruction, counted as the vendor does: bytes per partition for the engines,
/// bytes in all for transfers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// On-chip regions.
    pub accesses: Vec<Access>,
    /// Multiply-accumulate operations of a `MATMUL`: rows times columns times moving elements.
    pub matmul_elements: u64,
}

impl Work {
    /// Bytes read from or written to a memory, pointers left out.
    pub fn bytes(&self, space: Space, write: bool) -> u64 {
        let wanted = |access: &&Access| access.space == space && access.write == write && !access.pointer;
        self.accesses.iter().filter(wanted).map(|access| access.bytes).sum()
    }

    /// The PSUM banks read or written, one bit each.
    pub fn banks(&self, write: bool) -> u8 {
        self.accesses.iter().filter(|a| a.write == write).fold(0, |mask, access| mask | access.banks())
    }
}

impl Word<'_> {
    /// The access pattern at a byte offset.
    pub(super) fn pattern<const N: usize>(self, at: usize) -> AccessPattern<N> {
        let mut pattern = AccessPattern { address: self.u32(at), steps: [0; N], counts: [0; N] };
        for dimension in 0..N {
            pattern.steps[dimension] = self.u16(at + 4 + 2 * dimension) as i16;
            pattern.counts[dimension] = self.u16(at + 4 + 2 * (N + dimension));
        }
        pattern
    }

    /// What the instruction reads, writes and multiplies; empty for opcodes that do none of it on chip.
    pub fn work(self) -> Work {
        let mut work = Work::default();
        let channels = self.u8(34);
        let mut add = |access: Option<Access>| work.accesses.extend(access);
        let scalar = |at: usize| AccessPattern { address: self.u32(at), steps: [1], counts: [1] };
        match self.opcode() {
            op::LDWEIGHTS => add(Access::new(self.pattern::<3>(16), self.u8(32), self.u8(38), false, false)),
            op::MATMUL => {
                let moving = self.pattern::<3>(16);
                add(Access::new(moving, self.u8(32), self.u8(38), false, false));
                add(Access::new(self.pattern::<3>(48), self.u8(32), self.u8(39), true, false));
                let array = u64::from(self.u8(38)) * u64::from(self.u8(39));
                work.matmul_elements = moving.elements().saturating_mul(array);
            }
            op::ACTIVATE => {
                add(Access::new(self.pattern::<3>(16), self.u8(32) & 15, channels, false, false));
                add(Access::new(scalar(40), self.u8(32) >> 4, channels, false, true));
                add(Access::new(self.pattern::<3>(48), self.u8(33), channels, true, false));
            }
            0x41 => {
                add(Access::new(self.pattern::<3>(16), self.u8(12) & 15, self.u8(15), false, false));
                add(Access::new(self.pattern::<3>(32), self.u8(12) >> 4, self.u8(15), false, false));
                add(Access::new(self.pattern::<3>(48), self.u8(13), self.u8(15), true, false));
            }
            0x43 => {
                add(Access::new(self.pattern::<3>(16), self.u8(32), channels, false, false));
                for (bit, at) in [(0, 40), (1, 44)] {
                    if self.u8(35) >> bit & 1 != 0 {
                        add(Access::new(scalar(at), 10, channels, false, true));
                    }
                }
                add(Access::new(self.pattern::<3>(48), self.u8(33), channels, true, false));
            }
            0x42 | 0x46..=0x48 => {
                add(Access::new(self.pattern::<4>(12), self.u8(32), channels, false, false));
                add(Access::new(self.pattern::<4>(44), self.u8(33), channels, true, false));
            }
            0x49 => add(Access::new(self.pattern::<4>(44), self.u8(32), channels, true, false)),
            _ => {}
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_walked_backwards_covers_the_same_bytes() {
        let forwards = AccessPattern { address: 0x100, steps: [1, 0, 0], counts: [8, 1, 1] };
        let backwards = AccessPattern { address: 0x100 + 7 * 4, steps: [-1, 0, 0], counts: [8, 1, 1] };
        assert_eq!(forwards.range(4), backwards.range(4));
        assert_eq!(forwards.range(4), 0x100..0x120);
        let tiles = AccessPattern { address: 0x100, steps: [1, 0, 32], counts: [32, 1, 4] };
        assert_eq!(tiles.range(2), 0x100..0x100 + 2 * 128);
    }

    #[test]
    fn banks_follow_the_address() {
        let pattern = |address, count| AccessPattern { address, steps: [1], counts: [count] };
        let banks = |address, count| Access::new(pattern(address, count), 10, 128, true, false).map(|a| a.banks());
        assert_eq!(banks(0x200_3000, 512), Some(1 << 6));
        assert_eq!(banks(0x200_0400, 512), Some(0b11));
        assert_eq!(banks(0x1000, 512), Some(0));
        assert_eq!(banks(0x200_4000, 1), Some(1), "the next partition starts at bank 0 again");
    }
}
