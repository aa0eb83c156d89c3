//! An implicit tree over blocks of events that finds the event with the greatest key in any range.
//!
//! Leaves are blocks of [`BLOCK`] positions; each node holds the position of its greatest key (the first of equals).
//! Background: Tristan Hume, "iForests", thume.ca/2021/03/14/iforests.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;

/// Positions per leaf: small enough to scan, large enough that the trees cost next to nothing.
pub const BLOCK: usize = 32;

/// Argmax over ranges of positions `0..len`.
#[derive(Clone, Debug)]
pub struct MaxTree {
    /// All levels, leaves first; level `k + 1` has half as many nodes as level `k`, rounded up.
    nodes: ScalarBuffer<u32>,
    len: usize,
}

impl MaxTree {
    /// Builds the tree over `len` positions.
    pub fn build<K: PartialOrd>(len: usize, key: impl Fn(usize) -> K) -> MaxTree {
        let leaf = |block: usize| {
            let mut best = block * BLOCK;
            let mut best_key = key(best);
            for i in best + 1..len.min(best + BLOCK) {
                let key = key(i);
                if key > best_key {
                    (best, best_key) = (i, key);
                }
            }
            best as u32
        };
        let leaves = (0..len.div_ceil(BLOCK)).map(leaf).collect();
        MaxTree::above(leaves, len, key)
    }

    /// Builds the tree over its leaves: per block the position of its greatest key, the first of equals.
    pub(crate) fn above<K: PartialOrd>(leaves: Vec<u32>, len: usize, key: impl Fn(usize) -> K) -> MaxTree {
        let (mut from, mut width) = (0, leaves.len());
        let mut nodes = leaves;
        nodes.reserve_exact(width + 32);
        while width > 1 {
            for pair in (from..from + width).step_by(2) {
                let left = nodes[pair];
                let winner = match nodes.get(pair + 1).filter(|_| pair + 1 < from + width) {
                    Some(&right) if key(right as usize) > key(left as usize) => right,
                    _ => left,
                };
                nodes.push(winner);
            }
            from += width;
            width = width.div_ceil(2);
        }
        nodes.shrink_to_fit();
        MaxTree { nodes: nodes.into(), len }
    }

    /// Restores a tree from [`MaxTree::nodes`]; `None` where the number of nodes does not fit `len`.
    pub(crate) fn from_nodes(nodes: ScalarBuffer<u32>, len: usize) -> Option<MaxTree> {
        let mut expected = 0;
        let mut width = len.div_ceil(BLOCK);
        while width > 0 {
            expected += width;
            width = if width == 1 { 0 } else { width.div_ceil(2) };
        }
        (nodes.len() == expected).then_some(MaxTree { nodes, len })
    }

    /// The nodes, for the cache.
    pub(crate) fn nodes(&self) -> &ScalarBuffer<u32> {
        &self.nodes
    }

    /// The first position in `range` whose key is greatest; `None` for an empty range. O(log n).
    pub fn max_in<K: PartialOrd>(&self, range: Range<usize>, key: impl Fn(usize) -> K) -> Option<usize> {
        let range = range.start..range.end.min(self.len);
        if range.is_empty() {
            return None;
        }
        let mut best = range.start;
        let mut best_key = key(best);
        let mut consider = |i: usize| {
            let k = key(i);
            if k > best_key || (k == best_key && i < best) {
                (best, best_key) = (i, k);
            }
        };
        let (first_full, last_full) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        if first_full >= last_full {
            range.for_each(&mut consider);
            return Some(best);
        }
        (range.start..first_full * BLOCK).for_each(&mut consider);
        let (mut lo, mut hi, mut level, mut width) = (first_full, last_full, 0, self.len.div_ceil(BLOCK));
        while lo < hi {
            if lo & 1 == 1 {
                consider(self.nodes[level + lo] as usize);
                lo += 1;
            }
            if hi & 1 == 1 {
                hi -= 1;
                consider(self.nodes[level + hi] as usize);
            }
            level += width;
            width = width.div_ceil(2);
            (lo, hi) = (lo / 2, hi / 2);
        }
        (last_full * BLOCK..range.end).for_each(&mut consider);
        Some(best)
    }

    /// Calls `visit` for every position below `before` whose key exceeds `above`, in order, until it returns false.
    /// O(found · log n).
    pub fn visit_above<K: PartialOrd>(
        &self,
        before: usize,
        above: K,
        key: impl Fn(usize) -> K,
        mut visit: impl FnMut(usize) -> bool,
    ) {
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
            if begins >= before || key(self.nodes[levels[level] + node] as usize) <= above {
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
            prop_assert!(MaxTree::from_nodes(tree.nodes().clone(), keys.len()).is_some());
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
