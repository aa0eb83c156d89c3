//! Which tracks are on the screen, in which order: folded, pinned, hidden, moved. The order never changes by itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::query::tracks::{Node, NodeId, Tree};

/// How high a track can be made.
pub const TALLEST: u16 = 8;

/// What a person has done to the list of tracks, by the tracks' keys, so that it holds for any profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrangement {
    /// Groups folded (true) or unfolded by hand.
    pub folded: BTreeMap<String, bool>,
    /// Tracks pinned to the top, in order.
    pub pinned: Vec<String>,
    /// Tracks that are not shown.
    pub hidden: BTreeSet<String>,
    /// The track or group that alone is shown.
    pub only: Option<String>,
    /// Children that were moved: by the key of the parent (empty for the top), all children in order.
    pub order: BTreeMap<String, Vec<String>>,
    /// Heights other than 1.
    pub heights: BTreeMap<String, u16>,
    /// Whether tracks without events are left out.
    pub without_idle: bool,
    /// The one core that is shown.
    pub core: Option<i64>,
    /// Tracks with a line below them for what their idle time waited for.
    #[serde(skip)]
    pub blamed: BTreeSet<String>,
}

/// A track on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The node of the tree.
    pub node: NodeId,
    /// How far it is indented.
    pub depth: u8,
    /// How many lines it takes.
    pub height: u16,
    /// Whether it is pinned to the top, or lies below one that is.
    pub pinned: bool,
    /// Whether what lies below it is folded away.
    pub folded: bool,
}

impl Arrangement {
    /// Whether what lies below a node is folded away.
    #[must_use]
    pub fn is_folded(&self, node: &Node) -> bool {
        !node.children.is_empty() && self.folded.get(&node.key).copied().unwrap_or(node.folded)
    }

    /// The tracks to show, in order.
    #[must_use]
    pub fn rows(&self, tree: &Tree) -> Vec<Row> {
        let only = self.only.as_deref().and_then(|key| tree.find(key));
        let walk = Walk { tree, arrangement: self, only };
        let mut rows = Vec::new();
        for key in &self.pinned {
            if let Some(id) = tree.find(key) {
                let base = tree.node(id).depth;
                walk.add(id, base, true, &mut rows);
            }
        }
        let base = only.map_or(0, |id| tree.node(id).depth);
        let top = match only {
            Some(id) => vec![id],
            None => self.ordered(tree, None),
        };
        for id in top {
            walk.add(id, base, false, &mut rows);
        }
        rows
    }

    /// The children of a node (or the top of the tree), in the order they are shown.
    fn ordered(&self, tree: &Tree, parent: Option<NodeId>) -> Vec<NodeId> {
        let (key, mut children): (&str, Vec<NodeId>) = match parent {
            Some(id) => (&tree.node(id).key, tree.node(id).children.clone()),
            None => {
                let top = (0..tree.nodes.len() as NodeId).filter(|&id| tree.node(id).parent.is_none());
                ("", top.collect())
            }
        };
        if let Some(order) = self.order.get(key) {
            // Tracks that were not there when the order was made come last, in their own order.
            let place = |id: &NodeId| order.iter().position(|k| *k == tree.node(*id).key).unwrap_or(order.len());
            children.sort_by_key(place);
        }
        children
    }

    /// Moves a node among its siblings past the next one that is shown; false where there is none.
    pub fn shift(&mut self, tree: &Tree, id: NodeId, down: bool) -> bool {
        if let Some(at) = self.pinned.iter().position(|k| *k == tree.node(id).key) {
            let to = if down { at + 1 } else { at.wrapping_sub(1) };
            let there = to < self.pinned.len();
            if there {
                self.pinned.swap(at, to);
            }
            return there;
        }
        let parent = tree.node(id).parent;
        let siblings = self.ordered(tree, parent);
        let Some(at) = siblings.iter().position(|&s| s == id) else { return false };
        let shown = |&&s: &&NodeId| self.shows(tree.node(s));
        let past = if down { siblings[at + 1..].iter().find(shown) } else { siblings[..at].iter().rev().find(shown) };
        let Some(to) = past.and_then(|p| siblings.iter().position(|s| s == p)) else { return false };
        let mut keys: Vec<String> = siblings.iter().map(|&s| tree.node(s).key.clone()).collect();
        let moved = keys.remove(at);
        keys.insert(to, moved);
        self.order.insert(parent.map_or_else(String::new, |p| tree.node(p).key.clone()), keys);
        true
    }

    /// Pins a node to the top, or takes it from there.
    pub fn toggle_pin(&mut self, node: &Node) {
        match self.pinned.iter().position(|k| *k == node.key) {
            Some(at) => {
                self.pinned.remove(at);
            }
            None => self.pinned.push(node.key.clone()),
        }
    }

    /// Makes a node visible: unfolds what it lies in, and shows it again if it was hidden.
    pub fn reveal(&mut self, tree: &Tree, id: NodeId) {
        if self.only.as_deref().and_then(|key| tree.find(key)).is_some_and(|only| !lies_in(tree, id, only)) {
            self.only = None;
        }
        let node = tree.node(id);
        if self.without_idle && node.count == 0 {
            self.without_idle = false;
        }
        if self.core.is_some() && node.core.is_some() && node.core != self.core {
            self.core = None;
        }
        self.hidden.remove(&node.key);
        let mut above = node.parent;
        while let Some(id) = above {
            let node = tree.node(id);
            self.hidden.remove(&node.key);
            if self.is_folded(node) {
                self.folded.insert(node.key.clone(), false);
            }
            above = node.parent;
        }
    }

    /// Makes a node taller or shorter by lines.
    pub fn grow(&mut self, node: &Node, by: i32) {
        let height = self.height(node).saturating_add_signed(by as i16).clamp(1, TALLEST);
        if height == 1 {
            self.heights.remove(&node.key);
        } else {
            self.heights.insert(node.key.clone(), height);
        }
    }

    fn height(&self, node: &Node) -> u16 {
        self.heights.get(&node.key).copied().unwrap_or(1).clamp(1, TALLEST)
    }

    fn shows(&self, node: &Node) -> bool {
        !(self.hidden.contains(&node.key)
            || (self.without_idle && node.count == 0 && node.children.is_empty())
            || (self.core.is_some() && node.core.is_some() && node.core != self.core))
    }
}

/// Whether a node is `top` or lies below it.
#[must_use]
pub fn lies_in(tree: &Tree, id: NodeId, top: NodeId) -> bool {
    let mut at = Some(id);
    while let Some(id) = at {
        if id == top {
            return true;
        }
        at = tree.node(id).parent;
    }
    false
}

struct Walk<'a> {
    tree: &'a Tree,
    arrangement: &'a Arrangement,
    only: Option<NodeId>,
}

impl Walk<'_> {
    fn add(&self, id: NodeId, base: u8, pinned: bool, rows: &mut Vec<Row>) {
        let node = self.tree.node(id);
        let elsewhere = !pinned && self.arrangement.pinned.contains(&node.key);
        if elsewhere || (!self.arrangement.shows(node) && self.only != Some(id)) {
            return;
        }
        let folded = self.arrangement.is_folded(node);
        let depth = node.depth.saturating_sub(base);
        let blamed = u16::from(self.arrangement.blamed.contains(&node.key));
        let height = self.arrangement.height(node) + blamed;
        rows.push(Row { node: id, depth, height, pinned, folded });
        if !folded {
            for child in self.arrangement.ordered(self.tree, Some(id)) {
                self.add(child, base, pinned, rows);
            }
        }
    }
}

/// The first row to show so that the current one is on the screen; the old position is kept where it can be.
/// Pinned rows are always shown; what is left of `lines` is for the others.
#[must_use]
pub fn scroll_to(rows: &[Row], current: usize, top: usize, lines: u16) -> usize {
    let Some(last) = rows.len().checked_sub(1) else { return 0 };
    let current = current.min(last);
    let pinned = rows.iter().take_while(|r| r.pinned).count();
    let room = lines.saturating_sub(rows[..pinned].iter().map(|r| r.height).sum()).max(1);
    // The first row from which on all rows up to `end` fit; the last of them is shown even if it does not.
    let first_before = |end: usize| {
        let mut used = 0u16;
        let fits = |i: &usize| {
            used = used.saturating_add(rows[*i].height);
            used <= room
        };
        (pinned..end).rev().take_while(fits).last().unwrap_or(end.saturating_sub(1)).max(pinned)
    };
    // No line stays empty that earlier rows could fill.
    let top = top.clamp(pinned, first_before(rows.len()));
    if current < pinned { top } else { top.clamp(first_before(current + 1), current) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tracks::{Content, Kind, Quantity, TrackOptions};

    fn node(key: &str, depth: u8, parent: Option<NodeId>, children: &[NodeId]) -> Node {
        Node {
            key: key.into(),
            label: key.into(),
            short: key.into(),
            full: key.into(),
            depth,
            parent,
            children: children.to_vec(),
            content: Content::Group(None),
            kind: Kind::Slices,
            quantity: Quantity::Count,
            scale: (0.0, 1.0),
            core: Some(i64::from(key.contains("nc1"))),
            count: u64::from(!key.contains("idle")),
            folded: key == "nc1",
        }
    }

    /// nc0 { a, b { b1 }, idle }, nc1 { nc1/a }
    fn tree() -> Tree {
        let nodes = vec![
            node("nc0", 0, None, &[1, 2, 4]),
            node("a", 1, Some(0), &[]),
            node("b", 1, Some(0), &[3]),
            node("b1", 2, Some(2), &[]),
            node("idle", 1, Some(0), &[]),
            node("nc1", 0, None, &[6]),
            node("nc1/a", 1, Some(5), &[]),
        ];
        Tree { options: TrackOptions::default(), nodes }
    }

    fn shown(arrangement: &Arrangement) -> String {
        let tree = tree();
        let rows = arrangement.rows(&tree);
        rows.iter().map(|r| tree.node(r.node).key.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tracks_are_folded_pinned_hidden_and_moved() {
        let tree = tree();
        let mut a = Arrangement::default();
        assert_eq!(shown(&a), "nc0 a b b1 idle nc1");
        a.folded.insert("b".into(), true);
        a.toggle_pin(tree.node(6));
        assert_eq!(shown(&a), "nc1/a nc0 a b idle nc1");
        a.folded.insert("nc1".into(), false);
        assert_eq!(shown(&a), "nc1/a nc0 a b idle nc1", "what is pinned is not shown twice");
        a.toggle_pin(tree.node(6));
        assert!(a.shift(&tree, 1, true));
        assert_eq!(shown(&a), "nc0 b a idle nc1 nc1/a");
        a.hidden.insert("a".into());
        assert!(a.shift(&tree, 2, true), "past what is hidden");
        assert_eq!(shown(&a), "nc0 idle b nc1 nc1/a");
        assert!(!a.shift(&tree, 2, true));
        a.without_idle = true;
        a.core = Some(0);
        assert_eq!(shown(&a), "nc0 b");
        a.only = Some("nc1".into());
        a.reveal(&tree, 3);
        assert_eq!(shown(&a), "nc0 b b1");
        a.reveal(&tree, 6);
        assert_eq!(shown(&a), "nc0 b b1 nc1 nc1/a");
    }

    #[test]
    fn scrolling_moves_no_more_than_it_must() {
        let row = |pinned| Row { node: 0, depth: 0, height: 1, pinned, folded: false };
        let mut rows = vec![row(true), row(true)];
        rows.extend((0..20).map(|_| row(false)));
        assert_eq!(scroll_to(&rows, 2, 0, 10), 2);
        assert_eq!(scroll_to(&rows, 9, 2, 10), 2);
        assert_eq!(scroll_to(&rows, 10, 2, 10), 3);
        assert_eq!(scroll_to(&rows, 5, 9, 10), 5);
        assert_eq!(scroll_to(&rows, 0, 9, 10), 9, "pinned rows are always there");
        assert_eq!(scroll_to(&rows, 21, 40, 10), 14, "no empty lines at the end");
        rows[8].height = 4;
        assert_eq!(scroll_to(&rows, 10, 2, 10), 6);
        assert_eq!(scroll_to(&[], 0, 5, 10), 0);
    }
}
