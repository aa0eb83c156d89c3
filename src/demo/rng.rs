//! Repeatable pseudo-random numbers: the same on every machine, with no state outside the caller.

/// A SplitMix64 generator (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    /// A generator whose whole sequence follows from `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A value in `0..n`; 0 when `n` is 0. The modulo bias is far below what a profile could show.
    pub(super) fn below(&mut self, n: u64) -> i64 {
        (self.next() % n.max(1)) as i64
    }
}

/// SplitMix64's finaliser: a bijection of the 64-bit numbers that scatters neighbours.
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Row identifiers as profilers write them: 63-bit, sparse, in no order. `table` keeps tables apart.
pub(super) fn scattered_id(table: u64, row: u64, bits: u32) -> i64 {
    (mix((table << 40) ^ row ^ 0x5eed_0000_0000_0000) >> (64 - bits)) as i64
}
