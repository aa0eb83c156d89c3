//! Finding a moment among times that are in order.
//!
//! Beside the times lies the first one of each block, so that a search looks at a few bytes of the index and then at one
//! block: few cache lines and, where the times are in a mapped file, one page.

use arrow::buffer::ScalarBuffer;

use super::max_tree::BLOCK;
use crate::model::Nanos;

/// The time of the first position of each block of [`BLOCK`].
#[derive(Clone, Debug)]
pub struct BlockTimes(ScalarBuffer<i64>);

impl BlockTimes {
    /// Takes them from `len` times, which are in order.
    pub fn new(len: usize, at: impl Fn(usize) -> Nanos) -> BlockTimes {
        BlockTimes((0..len.div_ceil(BLOCK)).map(|block| at(block * BLOCK)).collect())
    }

    /// Restores them from [`BlockTimes::times`]; `None` where there are not as many as `len` positions have blocks.
    pub(crate) fn from_times(times: ScalarBuffer<i64>, len: usize) -> Option<BlockTimes> {
        (times.len() == len.div_ceil(BLOCK)).then_some(BlockTimes(times))
    }

    /// The times, for the cache.
    pub(crate) fn times(&self) -> &ScalarBuffer<i64> {
        &self.0
    }

    /// How many of `len` times lie before `time`; `at` gives the times that this was made from.
    #[inline]
    pub fn before(&self, time: Nanos, len: usize, at: impl Fn(usize) -> Nanos) -> usize {
        self.seek(&mut Finger::default(), time, len, at)
    }

    /// [`BlockTimes::before`], which looks near the answer to the question before, where `time` is not earlier.
    #[inline]
    pub fn seek(&self, finger: &mut Finger, time: Nanos, len: usize, at: impl Fn(usize) -> Nanos) -> usize {
        if time < finger.time {
            *finger = Finger::default();
        }
        // The first block that may begin at or after it: what is searched lies in the block before that one.
        let mut next = finger.position.div_ceil(BLOCK);
        let mut lo = finger.position;
        if self.0.get(next).is_some_and(|&first| first < time) {
            let from = next;
            next = self.first_from(time, from + 1, finger.stride);
            finger.stride = next - from;
            lo = (next - 1) * BLOCK + 1;
        }
        let mut hi = len.min(next * BLOCK);
        if lo < hi && at(lo) >= time {
            hi = lo;
        }
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            if at(middle) < time {
                lo = middle + 1;
            } else {
                hi = middle;
            }
        }
        (finger.time, finger.position) = (time, lo);
        lo
    }

    /// The first block from `lo` on that does not begin before `time`, probably `stride` further on.
    fn first_from(&self, time: Nanos, mut lo: usize, stride: usize) -> usize {
        let mut hi = self.0.len();
        let mut step = (stride / 8).max(1);
        while let Some(&first) = self.0.get(lo.saturating_add(step)) {
            if first >= time {
                hi = lo + step;
                break;
            }
            lo += step + 1;
            step *= 2;
        }
        lo + self.0[lo..hi].partition_point(|&first| first < time)
    }
}

/// Where a search ended, so that one for a time not much later ends soon.
#[derive(Clone, Copy, Debug)]
pub struct Finger {
    time: Nanos,
    position: usize,
    /// How many blocks further on than the one before it was.
    stride: usize,
}

impl Default for Finger {
    /// Nothing is known.
    fn default() -> Finger {
        Finger { time: Nanos::MIN, position: 0, stride: usize::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_counting(mut times in prop::collection::vec(prop_oneof![-9i64..90, any::<i64>()], 0..300), time in prop_oneof![-10i64..100, any::<i64>()]) {
            times.sort_unstable();
            let blocks = BlockTimes::new(times.len(), |i| times[i]);
            prop_assert_eq!(blocks.before(time, times.len(), |i| times[i]), times.iter().filter(|&&t| t < time).count());
        }

        #[test]
        fn agrees_with_counting_from_wherever_it_was(mut times in prop::collection::vec(0i64..3000, 0..3000), asked in prop::collection::vec((prop_oneof![4 => 0i64..50, 1 => -10i64..3010], any::<bool>()), 1..50)) {
            times.sort_unstable();
            let blocks = BlockTimes::new(times.len(), |i| times[i]);
            let mut finger = Finger::default();
            let mut time = 0;
            for (by, on) in asked {
                time = if on { time + by } else { by };
                prop_assert_eq!(blocks.seek(&mut finger, time, times.len(), |i| times[i]), times.partition_point(|&t| t < time));
            }
        }
    }
}
