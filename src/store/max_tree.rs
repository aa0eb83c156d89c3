//! An implicit tree over blocks of events that finds the event with the greatest key in any range.
//!
//! Leaves are blocks of [`BLOCK`] positions, and `FAN` nodes have one parent. Each node holds its greatest key and that
//! key's position (the first of equals). Keeping the keys here means that a query looks at the events themselves only
//! near the ends of its range, which matters where those lie in a mapped file; and wide nodes mean that it reads a few
//! stretches of keys, where a binary tree would have it wait for memory at every level.
//! Background: Tristan Hume, "iForests", thume.ca/2021/03/14/iforests.

use std::ops::Range;

use arrow::buffer::ScalarBuffer;
use arrow::datatypes::ArrowNativeType;

/// Positions per leaf: small enough to scan, large enough that the trees cost next to nothing.
pub const BLOCK: usize = 32;

/// Children per node.
const FAN: usize = 16;

/// Argmax over ranges of positions `0..len`.
#[derive(Clone, Debug)]
pub struct MaxTree<K: ArrowNativeType> {
    /// All levels, leaves first; level `k + 1` has a [`FAN`]th as many nodes as level `k`, rounded up.
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
        nodes.reserve_exact(inner_nodes(width));
        keys.reserve_exact(inner_nodes(width));
        while width > 1 {
            for first in (from..from + width).step_by(FAN) {
                let mut winner = first;
                for i in first + 1..(first + FAN).min(from + width) {
                    if keys[i] > keys[winner] {
                        winner = i;
                    }
                }
                nodes.push(nodes[winner]);
                keys.push(keys[winner]);
            }
            from += width;
            width = width.div_ceil(FAN);
        }
        nodes.shrink_to_fit();
        keys.shrink_to_fit();
        MaxTree { nodes: nodes.into(), keys: keys.into(), len }
    }

    /// Restores a tree from [`MaxTree::nodes`] and [`MaxTree::keys`]; `None` where their number does not fit `len`.
    pub(crate) fn from_nodes(nodes: ScalarBuffer<u32>, keys: ScalarBuffer<K>, len: usize) -> Option<MaxTree<K>> {
        let leaves = len.div_ceil(BLOCK);
        let expected = leaves + inner_nodes(leaves);
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

    /// The first position in `range` whose key is greatest, and that key; `None` for an empty range. O(log n). `key` is
    /// the one that the tree was built with.
    pub fn max_in(&self, range: Range<usize>, key: impl Fn(usize) -> K) -> Option<(usize, K)> {
        let range = range.start..range.end.min(self.len);
        // The greatest key so far, the first position that it may be at, and the node that knows where it is.
        let mut best: Option<(K, usize, Option<usize>)> = None;
        let mut consider = |k: K, at: usize, node: Option<usize>| {
            if best.is_none_or(|(most, first, _)| k > most || (k == most && at < first)) {
                best = Some((k, at, node));
            }
        };
        let (first_full, last_full) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        if first_full >= last_full {
            range.for_each(|i| consider(key(i), i, None));
            return best.map(|(key, at, _)| (at, key));
        }
        (range.start..first_full * BLOCK).for_each(|i| consider(key(i), i, None));
        let (mut lo, mut hi, mut level, mut width, mut span) =
            (first_full, last_full, 0, self.len.div_ceil(BLOCK), BLOCK);
        while lo < hi {
            let mut consider_nodes = |nodes: Range<usize>| {
                nodes.for_each(|i| consider(self.keys[level + i], i * span, Some(level + i)));
            };
            let (up, down) = (lo.next_multiple_of(FAN), hi / FAN * FAN);
            if up >= down {
                consider_nodes(lo..hi);
                break;
            }
            consider_nodes(lo..up);
            consider_nodes(down..hi);
            (lo, hi) = (up / FAN, down / FAN);
            level += width;
            width = width.div_ceil(FAN);
            span *= FAN;
        }
        (last_full * BLOCK..range.end).for_each(|i| consider(key(i), i, None));
        best.map(|(key, at, node)| (node.map_or(at, |node| self.nodes[node] as usize), key))
    }

    /// Calls `visit` for every position below `before` whose key exceeds `above`, in order, until it returns false.
    /// O(found · log n).
    pub fn visit_above(&self, before: usize, above: K, key: impl Fn(usize) -> K, mut visit: impl FnMut(usize) -> bool) {
        let before = before.min(self.len);
        // Where each level begins, how many nodes it has, and how many positions each of these covers.
        let mut levels = Vec::new();
        let (mut from, mut width, mut span) = (0, self.len.div_ceil(BLOCK), BLOCK);
        while width > 0 {
            levels.push((from, width, span));
            from += width;
            width = if width == 1 { 0 } else { width.div_ceil(FAN) };
            span = span.saturating_mul(FAN);
        }
        let Some(top) = levels.len().checked_sub(1) else { return };
        let mut pending = vec![(top, 0usize)];
        while let Some((level, node)) = pending.pop() {
            let (from, _, span) = levels[level];
            let begins = node * span;
            if begins >= before || self.keys[from + node] <= above {
                continue;
            }
            if let Some(below) = level.checked_sub(1) {
                let children = node * FAN..levels[below].1.min((node + 1) * FAN);
                pending.extend(children.rev().map(|child| (below, child)));
            } else {
                for i in begins..before.min(begins + BLOCK) {
                    if key(i) > above && !visit(i) {
                        return;
                    }
                }
            }
        }
    }
}

/// How many nodes a tree has above its leaves.
fn inner_nodes(leaves: usize) -> usize {
    let (mut width, mut count) = (leaves, 0);
    while width > 1 {
        width = width.div_ceil(FAN);
        count += width;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan(keys in prop::collection::vec(0u8..60, 0..20_000), a in 0usize..20_000, b in 0usize..20_000, above in 0u8..60) {
            let tree = MaxTree::build(keys.len(), |i| keys[i]);
            prop_assert!(MaxTree::from_nodes(tree.nodes().clone(), tree.keys().clone(), keys.len()).is_some());
            let range = a.min(b)..a.max(b);
            let mut naive = None;
            for i in range.start..range.end.min(keys.len()) {
                if naive.is_none_or(|n: usize| keys[i] > keys[n]) {
                    naive = Some(i);
                }
            }
            prop_assert_eq!(tree.max_in(range, |i| keys[i]), naive.map(|i| (i, keys[i])));
            let mut seen = Vec::new();
            tree.visit_above(a, above, |i| keys[i], |i| { seen.push(i); true });
            let expected: Vec<usize> = (0..a.min(keys.len())).filter(|&i| keys[i] > above).collect();
            prop_assert_eq!(seen, expected);
        }
    }
}
