//! Sets of rows or events, one bit each.

use std::ops::Range;

/// A set of numbers below a limit, while it is being filled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// The empty set of numbers below `len`.
    #[must_use]
    pub fn none(len: usize) -> Bits {
        Bits { words: vec![0; len.div_ceil(64)], len }
    }

    /// All numbers below `len`.
    #[must_use]
    pub fn all(len: usize) -> Bits {
        let mut bits = Bits { words: vec![u64::MAX; len.div_ceil(64)], len };
        bits.trim();
        bits
    }

    /// The numbers below `len` for which `holds`.
    #[must_use]
    pub fn where_(len: usize, mut holds: impl FnMut(usize) -> bool) -> Bits {
        let word =
            |first: usize| (first..len.min(first + 64)).fold(0, |word, i| word | (u64::from(holds(i)) << (i - first)));
        Bits { words: (0..len).step_by(64).map(word).collect(), len }
    }

    /// The same, found by several threads.
    #[must_use]
    pub fn par_where(len: usize, holds: impl Fn(usize) -> bool + Sync) -> Bits {
        use rayon::prelude::*;
        const WORDS: usize = 1 << 10;
        let mut bits = Bits::none(len);
        bits.words.par_chunks_mut(WORDS).enumerate().for_each(|(chunk, words)| {
            for (w, word) in words.iter_mut().enumerate() {
                let first = (chunk * WORDS + w) * 64;
                *word = (first..len.min(first + 64)).fold(0, |word, i| word | (u64::from(holds(i)) << (i - first)));
            }
        });
        bits
    }

    /// Clears what lies beyond the limit.
    fn trim(&mut self) {
        if let Some(last) = self.words.last_mut()
            && !self.len.is_multiple_of(64)
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }

    /// The limit.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no number is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// Whether every number below the limit is in the set.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count() == self.len
    }

    /// How many numbers are in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether `i` is in the set.
    #[must_use]
    #[inline]
    pub fn has(&self, i: usize) -> bool {
        self.words.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// Adds `i`, which is below the limit.
    #[inline]
    pub fn set(&mut self, i: usize) {
        self.words[i / 64] |= 1 << (i % 64);
    }

    /// Adds a range.
    pub fn set_range(&mut self, range: Range<usize>) {
        let end = range.end.min(self.len);
        let mut i = range.start;
        while i < end {
            let (bit, next) = (i % 64, (i / 64 + 1) * 64);
            let count = next.min(end) - i;
            self.words[i / 64] |= u64::MAX >> (64 - count) << bit;
            i = next;
        }
    }

    /// Keeps what is in both.
    pub fn and(&mut self, other: &Bits) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }

    /// Adds what is in the other.
    pub fn or(&mut self, other: &Bits) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Turns it into its opposite.
    pub fn invert(&mut self) {
        self.words.iter_mut().for_each(|w| *w = !*w);
        self.trim();
    }

    /// Adds the numbers of `other`, each moved up by `first`.
    pub fn or_at(&mut self, other: &Bits, first: usize) {
        let (word, shift) = (first / 64, first % 64);
        for (i, &bits) in other.words.iter().enumerate() {
            if bits == 0 {
                continue;
            }
            if let Some(low) = self.words.get_mut(word + i) {
                *low |= bits << shift;
            }
            if shift > 0
                && let Some(high) = self.words.get_mut(word + i + 1)
            {
                *high |= bits >> (64 - shift);
            }
        }
        self.trim();
    }

    /// The numbers of `range`, each moved down by its start.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Bits {
        let (word, shift) = (range.start / 64, range.start % 64);
        let at = |i: usize| self.words.get(i).copied().unwrap_or(0);
        let words = (0..range.len().div_ceil(64)).map(|i| match shift {
            0 => at(word + i),
            _ => at(word + i) >> shift | at(word + i + 1) << (64 - shift),
        });
        let mut bits = Bits { words: words.collect(), len: range.len() };
        bits.trim();
        bits
    }
}

/// Words per entry of the directory of a [`Ranked`] set.
const BLOCK: usize = 8;

/// A set that does not change any more: counting in a range costs a few operations.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    bits: Bits,
    /// How many numbers lie in earlier blocks.
    before: Vec<u32>,
}

impl From<Bits> for Ranked {
    fn from(bits: Bits) -> Ranked {
        let mut sum = 0;
        let mut before = Vec::with_capacity(bits.words.len() / BLOCK + 2);
        before.push(0);
        for block in bits.words.chunks(BLOCK) {
            sum += block.iter().map(|w| w.count_ones()).sum::<u32>();
            before.push(sum);
        }
        Ranked { bits, before }
    }
}

impl Ranked {
    /// How many numbers are in the set.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.before.last().copied().unwrap_or(0).into()
    }

    /// Whether `i` is in the set.
    #[must_use]
    #[inline]
    pub fn has(&self, i: u32) -> bool {
        self.bits.has(i as usize)
    }

    /// How many numbers below `i` are in the set.
    #[must_use]
    #[inline]
    pub fn below(&self, i: u32) -> u64 {
        let i = (i as usize).min(self.bits.len);
        let (word, bit) = (i / 64, i % 64);
        let block = word / BLOCK;
        let mut count = self.before[block];
        for w in &self.bits.words[block * BLOCK..word] {
            count += w.count_ones();
        }
        if bit > 0 {
            count += (self.bits.words[word] & ((1 << bit) - 1)).count_ones();
        }
        count.into()
    }

    /// How many numbers of a range are in the set.
    #[must_use]
    #[inline]
    pub fn within(&self, range: Range<u32>) -> u64 {
        if range.is_empty() { 0 } else { self.below(range.end) - self.below(range.start) }
    }

    /// The least number of the set in `range`.
    #[must_use]
    pub fn first_in(&self, range: Range<u32>) -> Option<u32> {
        let end = (range.end as usize).min(self.bits.len);
        let mut i = range.start as usize;
        while i < end {
            let rest = self.bits.words[i / 64] >> (i % 64);
            if rest != 0 {
                let found = i + rest.trailing_zeros() as usize;
                return (found < end).then_some(found as u32);
            }
            i = (i / 64 + 1) * 64;
            // Whole blocks without any are passed over by the directory.
            while i.is_multiple_of(64 * BLOCK)
                && i < end
                && self.before[i / 64 / BLOCK] == self.before[i / 64 / BLOCK + 1]
            {
                i += 64 * BLOCK;
            }
        }
        None
    }

    /// The greatest number of the set in `range`.
    #[must_use]
    pub fn last_in(&self, range: Range<u32>) -> Option<u32> {
        let before = self.below(range.end);
        if before == self.below(range.start) {
            return None;
        }
        // The one with `before - 1` numbers below it.
        let block = self.before.partition_point(|&b| u64::from(b) < before) - 1;
        let mut left = before - u64::from(self.before[block]);
        for (i, &word) in self.bits.words.iter().enumerate().skip(block * BLOCK) {
            let ones = u64::from(word.count_ones());
            if left > ones {
                left -= ones;
                continue;
            }
            let mut word = word;
            for _ in 1..left {
                word &= word - 1;
            }
            return Some((i * 64) as u32 + word.trailing_zeros());
        }
        None
    }

    /// The numbers of the set in `range`, ascending.
    pub fn iter(&self, range: Range<u32>) -> impl Iterator<Item = u32> {
        let mut from = range.start;
        std::iter::from_fn(move || {
            let found = self.first_in(from..range.end)?;
            from = found + 1;
            Some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn bits(len: usize, set: &BTreeSet<usize>) -> Bits {
        let mut bits = Bits::none(len);
        set.iter().for_each(|&i| bits.set(i));
        bits
    }

    fn sets() -> impl Strategy<Value = (usize, BTreeSet<usize>, BTreeSet<usize>)> {
        (1usize..3000).prop_flat_map(|len| {
            let set = || prop::collection::btree_set(0..len, 0..60.min(len + 1));
            (Just(len), set(), set())
        })
    }

    proptest! {
        #[test]
        fn sets_agree_with_trees((len, a, b) in sets(), from in 0u32..3000, to in 0u32..3100) {
            let (x, y) = (bits(len, &a), bits(len, &b));
            let list = |bits: &Bits| (0..len).filter(|&i| bits.has(i)).collect::<BTreeSet<_>>();
            let mut and = x.clone();
            and.and(&y);
            prop_assert_eq!(list(&and), a.intersection(&b).copied().collect());
            let mut or = x.clone();
            or.or(&y);
            prop_assert_eq!(list(&or), a.union(&b).copied().collect());
            let mut not = x.clone();
            not.invert();
            prop_assert_eq!(not.count(), len - a.len());
            prop_assert_eq!(&Bits::where_(len, |i| a.contains(&i)), &x);
            prop_assert_eq!(&Bits::par_where(len, |i| a.contains(&i)), &x);
            let (lo, hi) = ((from as usize).min(len), (to as usize).min(len));
            if lo <= hi {
                let piece = x.slice(lo..hi);
                prop_assert_eq!(piece.count(), a.range(lo..hi).count());
                let mut back = Bits::none(len);
                back.or_at(&piece, lo);
                prop_assert_eq!(list(&back), a.range(lo..hi).copied().collect());
                let mut full = Bits::none(len);
                full.set_range(lo..hi);
                prop_assert_eq!(list(&full), (lo..hi).collect());
            }
            let ranked = Ranked::from(x);
            prop_assert_eq!(ranked.count(), a.len() as u64);
            let inside: Vec<u32> = a.iter().map(|&i| i as u32).filter(|i| (from..to).contains(i)).collect();
            prop_assert_eq!(ranked.within(from..to), inside.len() as u64);
            prop_assert_eq!(ranked.first_in(from..to), inside.first().copied());
            if from <= to {
                prop_assert_eq!(ranked.last_in(from..to), inside.last().copied());
            }
            prop_assert_eq!(ranked.iter(from..to).collect::<Vec<_>>(), inside);
        }
    }
}
