//! The dependency graph: who must precede whom, in both directions, in compressed sparse rows.

use arrow::buffer::ScalarBuffer;

/// A node: an event row of one of the graph's tables. Rows of the first table come first, then those of the next.
pub type Node = u32;

/// Some edges `from[i] → to[i]` of kind `kinds[i]`; the lists are equally long.
#[derive(Clone, Copy, Debug)]
pub struct Edges<'a> {
    /// What must precede.
    pub from: &'a [Node],
    /// What it must precede.
    pub to: &'a [Node],
    /// Position of the kind in [`Graph::kinds`].
    pub kinds: &'a [u8],
}

/// One direction of the graph.
#[derive(Clone, Debug)]
pub struct Adjacency {
    /// Where each node's edges begin; one more entry than nodes.
    pub(crate) offsets: ScalarBuffer<u32>,
    /// The node at the other end of each edge.
    pub(crate) targets: ScalarBuffer<u32>,
    /// Position of each edge's kind in [`Graph::kinds`].
    pub(crate) kinds: ScalarBuffer<u8>,
}

impl Adjacency {
    /// Sorts the edges of all pieces by the first of their `ends`, keeping the order of equal ones.
    fn build<'a>(
        nodes: usize,
        pieces: &[Edges<'a>],
        ends: impl Fn(&Edges<'a>) -> (&'a [Node], &'a [Node]),
    ) -> Adjacency {
        let mut offsets = vec![0u32; nodes + 1];
        for piece in pieces {
            for &node in ends(piece).0 {
                offsets[node as usize + 1] += 1;
            }
        }
        for i in 0..nodes {
            offsets[i + 1] += offsets[i];
        }
        let count = pieces.iter().map(|piece| piece.from.len()).sum();
        let mut targets = vec![0u32; count];
        let mut kinds = vec![0u8; count];
        // The offsets serve as cursors while filling and are shifted back afterwards.
        for piece in pieces {
            let (from, to) = ends(piece);
            for ((&node, &other), &kind) in from.iter().zip(to).zip(piece.kinds) {
                let slot = offsets[node as usize] as usize;
                targets[slot] = other;
                kinds[slot] = kind;
                offsets[node as usize] += 1;
            }
        }
        offsets.copy_within(0..nodes, 1);
        offsets[0] = 0;
        Adjacency { offsets: offsets.into(), targets: targets.into(), kinds: kinds.into() }
    }

    fn of(&self, node: Node) -> impl Iterator<Item = (Node, u8)> + '_ {
        let range = match (self.offsets.get(node as usize), self.offsets.get(node as usize + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        };
        range.map(|i| (self.targets[i], self.kinds[i]))
    }
}

/// Dependencies between events, in both directions.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The tables whose rows are nodes, with the number of rows of each: `Instruction`, then `DmaPacketAggregated`.
    pub tables: Vec<(String, u32)>,
    /// The kinds of edges, as recorded: `FLOW_DEPENDENCE`; empty where the file gives none.
    pub kinds: Vec<String>,
    pub(crate) successors: Adjacency,
    pub(crate) predecessors: Adjacency,
}

impl Graph {
    /// Builds both directions from edges `from[i] → to[i]` of kind `kinds[edge_kinds[i]]`.
    #[must_use]
    pub fn build(
        tables: Vec<(String, u32)>,
        kinds: Vec<String>,
        from: &[Node],
        to: &[Node],
        edge_kinds: &[u8],
    ) -> Graph {
        Graph::of_pieces(tables, kinds, &[Edges { from, to, kinds: edge_kinds }])
    }

    /// [`Graph::build`] of edges that were read in pieces.
    #[must_use]
    pub fn of_pieces(tables: Vec<(String, u32)>, kinds: Vec<String>, pieces: &[Edges]) -> Graph {
        let nodes = tables.iter().map(|(_, rows)| *rows as usize).sum();
        let (successors, predecessors) = rayon::join(
            || Adjacency::build(nodes, pieces, |edges| (edges.from, edges.to)),
            || Adjacency::build(nodes, pieces, |edges| (edges.to, edges.from)),
        );
        Graph { tables, kinds, successors, predecessors }
    }

    /// Number of edges.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.successors.targets.len()
    }

    /// Whether any edge is of this kind; [`Graph::kinds`] may list kinds that no edge has.
    #[must_use]
    pub fn has_kind(&self, name: &str) -> bool {
        let wanted = self.kinds.iter().position(|kind| kind == name).and_then(|kind| u8::try_from(kind).ok());
        wanted.is_some_and(|kind| self.successors.kinds.contains(&kind))
    }

    /// The node of a table's row.
    #[must_use]
    pub fn node(&self, table: &str, row: u32) -> Option<Node> {
        let mut offset = 0;
        for (name, rows) in &self.tables {
            if name == table {
                return (row < *rows).then_some(offset + row);
            }
            offset += rows;
        }
        None
    }

    /// The table and row of a node.
    #[must_use]
    pub fn row(&self, node: Node) -> Option<(&str, u32)> {
        let mut rest = node;
        for (name, rows) in &self.tables {
            if rest < *rows {
                return Some((name, rest));
            }
            rest -= rows;
        }
        None
    }

    /// What `node` must precede, with the position of each edge's kind in [`Graph::kinds`].
    pub fn successors(&self, node: Node) -> impl Iterator<Item = (Node, u8)> + '_ {
        self.successors.of(node)
    }

    /// What must precede `node`, with the position of each edge's kind in [`Graph::kinds`].
    pub fn predecessors(&self, node: Node) -> impl Iterator<Item = (Node, u8)> + '_ {
        self.predecessors.of(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_directions_hold_every_edge(edges in prop::collection::vec((0u32..30, 0u32..30, 0u8..3), 0..200)) {
            let from: Vec<u32> = edges.iter().map(|e| e.0).collect();
            let to: Vec<u32> = edges.iter().map(|e| e.1).collect();
            let kinds: Vec<u8> = edges.iter().map(|e| e.2).collect();
            let tables = vec![("Instruction".to_string(), 20), ("DmaPacketAggregated".to_string(), 10)];
            let names = vec!["a".into(), "b".into(), "c".into()];
            let pieces = [0..from.len() / 3, from.len() / 3..from.len()];
            let pieces = pieces.map(|p| Edges { from: &from[p.clone()], to: &to[p.clone()], kinds: &kinds[p] });
            let graph = Graph::of_pieces(tables, names, &pieces);
            for node in 0..30 {
                let next: Vec<_> = edges.iter().filter(|e| e.0 == node).map(|e| (e.1, e.2)).collect();
                let before: Vec<_> = edges.iter().filter(|e| e.1 == node).map(|e| (e.0, e.2)).collect();
                prop_assert_eq!(graph.successors(node).collect::<Vec<_>>(), next);
                prop_assert_eq!(graph.predecessors(node).collect::<Vec<_>>(), before);
                let (table, row) = graph.row(node).unwrap();
                prop_assert_eq!(graph.node(table, row), Some(node));
            }
            prop_assert_eq!(graph.row(30), None);
        }
    }
}
