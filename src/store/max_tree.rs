//! An implicit tree over blocks of events that finds the event with the greatest key in any range.
//!
//! Leaves are blocks of [`BLOCK`] positions; each node holds its greatest key and that key's position (the first of
//! equals). Keeping the keys here means that a query looks at the events themselves only near the ends of its range,
//! which matters where those lie in a mapped file.
//! Background: Tristan Hume, "iForests", thume.ca/2021/03/14/iforests.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;
use arrow::datatypes::ArrowNativeType;

/// Positions per leaf: small enough to scan, large enough that the trees cost next to nothing.
pub const BLOCK: usize = 32;

/// Argmax over ranges of positions `0..len`.
#[derive(Clone, Debug)]
pub struct MaxTree<K: ArrowNativeType> {
    /// All levels, leaves first; level `k + 1` has half as many nodes as level `k`, rounded up.
    nodes: ScalarBuffer<u32>,
    /// The key of each node.
    keys: ScalarBuffer<K>,
    len: usize,
}

impl<K: ArrowNativeType + PartialOrd> MaxTree<K> {
    /// Builds the tree over `len` positions.
    pub fn build(len: usize, key: impl Fn(usize) -> K) -> MaxTree<K> {
        let leaf = |block: usize| {
            let mut best = (block * BLOCK, key(block * BLOCK));
            for i in block * BLOCK + 1..len.min((block + 1) * BLOCK) {
                let key = key(i);
                if key > best.1 {
                    best = (i, key);
                }
            }
            (best.0 as u32, best.1)
        };
        let (nodes, keys) = (0..len.div_ceil(BLOCK)).map(leaf).unzip();
        MaxTree::above(nodes, keys, len)
    }

    /// Builds the tree over its leaves: per block the position of its greatest key, the first of equals, and that key.
    pub(crate) fn above(leaves: Vec<u32>, leaf_keys: Vec<K>, len: usize) -> MaxTree<K> {
        let (mut from, mut width) = (0, leaves.len());
        let (mut nodes, mut keys) = (leaves, leaf_keys);
        nodes.reserve_exact(width + 32);
        keys.reserve_exact(width + 32);
        while width > 1 {
            for left in (from..from + width).step_by(2) {
                let right = left + 1;
                let winner = if right < from + width && keys[right] > keys[left] { right } else { left };
                nodes.push(nodes[winner]);
                keys.push(keys[winner]);
            }
            from += width;
            width = width.div_ceil(2);
        }
        nodes.shrink_to_fit();
        keys.shrink_to_fit();
        MaxTree { nodes: nodes.into(), keys: keys.into(), len }
    }

    /// Restores a tree from [`MaxTree::nodes`] and [`MaxTree::keys`]; `None` where their number does not fit `len`.
    pub(crate) fn from_nodes(nodes: ScalarBuffer<u32>, keys: ScalarBuffer<K>, len: usize) -> Option<MaxTree<K>> {
        let mut expected = 0;
        let mut width = len.div_ceil(BLOCK);
        while width > 0 {
            expected += width;
            width = if width == 1 { 0 } else { width.div_ceil(2) };
        }
        (nodes.len() == expected && keys.len() == expected).then_some(MaxTree { nodes, keys, len })
    }

    /// The nodes, for the cache.
    pub(crate) fn nodes(&self) -> &ScalarBuffer<u32> {
        &self.nodes
    }

    /// The key of each node, for the cache.
    pub(crate) fn keys(&self) -> &ScalarBuffer<K> {
        &self.keys
    }

    /// The first position in `range` whose key is greatest; `None` for an empty range. O(log n). `key` is the one that
    /// the tree was built with.
    pub fn max_in(&self, range: Range<usize>, key: impl Fn(usize) -> K) -> Option<usize> {
        let range = range.start..range.end.min(self.len);
        let mut best: Option<(usize, K)> = None;
        let mut consider = |i: usize, k: K| {
            if best.is_none_or(|(at, most)| k > most || (k == most && i < at)) {
                best = Some((i, k));
            }
        };
        let (first_full, last_full) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        if first_full >= last_full {
            range.for_each(|i| consider(i, key(i)));
            return best.map(|(at, _)| at);
        }
        (range.start..first_full * BLOCK).for_each(|i| consider(i, key(i)));
        let (mut lo, mut hi, mut level, mut width) = (first_full, last_full, 0, self.len.div_ceil(BLOCK));
        while lo < hi {
            if lo & 1 == 1 {
                consider(self.nodes[level + lo] as usize, self.keys[level + lo]);
                lo += 1;
            }
            if hi & 1 == 1 {
                hi -= 1;
                consider(self.nodes[level + hi] as usize, self.keys[level + hi]);
            }
            level += width;
            width = width.div_ceil(2);
            (lo, hi) = (lo / 2, hi / 2);
        }
        (last_full * BLOCK..range.end).for_each(|i| consider(i, key(i)));
        best.map(|(at, _)| at)
    }

    /// Calls `visit` for every position below `before` whose key exceeds `above`, in order, until it returns false.
    /// O(found · log n).
    pub fn visit_above(&self, before: usize, above: K, key: impl Fn(usize) -> K, mut visit: impl FnMut(usize) -> bool) {
        let before = before.min(self.len);
        let mut levels = Vec::new();
        let (mut from, mut width) = (0, self.len.div_ceil(BLOCK));
        while width > 0 {
            levels.push(from);
            from += width;
            width = if width == 1 { 0 } else { width.div_ceil(2) };
        }
        let Some(top) = levels.len().checked_sub(1) else { return };
        let mut pending = vec![(top, 0usize)];
        while let Some((level, node)) = pending.pop() {
            let begins = (node << level) * BLOCK;
            if begins >= before || self.keys[levels[level] + node] <= above {
                continue;
            }
            if level == 0 {
                for i in begins..before.min(begins + BLOCK) {
                    if key(i) > above && !visit(i) {
                        return;
                    }
                }
            } else {
                let below = levels[level] - levels[level - 1];
                if 2 * node + 1 < below {
                    pending.push((level - 1, 2 * node + 1));
                }
                pending.push((level - 1, 2 * node));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan(keys in prop::collection::vec(0u8..20, 0..700), a in 0usize..700, b in 0usize..700, above in 0u8..20) {
            let tree = MaxTree::build(keys.len(), |i| keys[i]);
            prop_assert!(MaxTree::from_nodes(tree.nodes().clone(), tree.keys().clone(), keys.len()).is_some());
            let range = a.min(b)..a.max(b);
            let mut naive = None;
            for i in range.start..range.end.min(keys.len()) {
                if naive.is_none_or(|n: usize| keys[i] > keys[n]) {
                    naive = Some(i);
                }
            }
            prop_assert_eq!(tree.max_in(range, |i| keys[i]), naive);
            let mut seen = Vec::new();
            tree.visit_above(a, above, |i| keys[i], |i| { seen.push(i); true });
            let expected: Vec<usize> = (0..a.min(keys.len())).filter(|&i| keys[i] > above).collect();
            prop_assert_eq!(seen, expected);
        }
    }
}
