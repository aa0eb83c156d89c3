//! Finding a moment among times that are in order.
//!
//! Beside the times lies the first one of each block, so that a search looks at a few bytes of the index and then at one
//! block: few cache lines and, where the times are in a mapped file, one page.

use arrow::buffer::ScalarBuffer;

use super::max_tree::BLOCK;
use crate::model::{Nanos, Window};

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

    /// [`BlockTimes::before`] each of `asked`, all of them step by step: no step waits for the one before, so that the
    /// processor fetches from many places at once, which most of the time goes into.
    pub fn before_each(&self, asked: &[Nanos], len: usize, at: impl Fn(usize) -> Nanos) -> Vec<usize> {
        let (Some(&least), Some(&most)) = (asked.iter().min(), asked.iter().max()) else { return Vec::new() };
        let blocks = |time: Nanos| self.0.partition_point(|&first| first < time);
        let (from, to) = (blocks(least), blocks(most));
        // How many blocks begin before each.
        let mut found = vec![from; asked.len()];
        let mut left = to - from;
        while left > 0 {
            let step = left.div_ceil(2);
            for (found, &time) in found.iter_mut().zip(asked) {
                let next = *found + step;
                *found = if next <= to && self.0[next - 1] < time { next } else { *found };
            }
            left -= step;
        }
        for found in &mut found {
            *found = if *found == 0 { 0 } else { (*found - 1) * BLOCK + 1 };
        }
        // The rest of the block that begins last.
        let mut left = BLOCK - 1;
        while left > 0 {
            let step = left.div_ceil(2);
            for (found, &time) in found.iter_mut().zip(asked) {
                let next = *found + step;
                *found = if *found > 0 && next <= len && at(next - 1) < time { next } else { *found };
            }
            left -= step;
        }
        found
    }
}

/// The times at which `windows` begin and end, once where one begins as the one before ends; and for each window where
/// its own two are among them.
pub fn edges(windows: &[Window]) -> (Vec<Nanos>, Vec<(usize, usize)>) {
    let mut times: Vec<Nanos> = Vec::with_capacity(windows.len() + 1);
    let place = |window: &Window| {
        if times.last() != Some(&window.start) {
            times.push(window.start);
        }
        times.push(window.end);
        (times.len() - 2, times.len() - 1)
    };
    let places = windows.iter().map(place).collect();
    (times, places)
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
        fn many_are_found_like_one(mut times in prop::collection::vec(prop_oneof![3 => 0i64..3000, 1 => any::<i64>()], 0..2000), asked in prop::collection::vec(prop_oneof![3 => -10i64..3010, 1 => any::<i64>()], 0..50)) {
            times.sort_unstable();
            let blocks = BlockTimes::new(times.len(), |i| times[i]);
            let each: Vec<usize> = asked.iter().map(|&time| times.partition_point(|&t| t < time)).collect();
            prop_assert_eq!(blocks.before_each(&asked, times.len(), |i| times[i]), each);
        }
    }
}
