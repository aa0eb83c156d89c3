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
        // The first block to begin at or after it: what is searched lies in the block before that one.
        let next = self.0.partition_point(|&first| first < time);
        let Some(block) = next.checked_sub(1) else { return 0 };
        let (mut lo, mut hi) = (block * BLOCK + 1, len.min(next * BLOCK));
        while lo < hi {
            let middle = lo + (hi - lo) / 2;
            if at(middle) < time {
                lo = middle + 1;
            } else {
                hi = middle;
            }
        }
        lo
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
    }
}
