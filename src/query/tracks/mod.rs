//! Tracks: what is listed down the side of the timeline, in the order in which it is shown.
//!
//! A [`Tree`] is made by [`tree`]. What it needs beyond the store's own groups (an engine's two tracks, queues on each
//! engine, merged activity) is derived once, kept in a [`TrackCache`], and shared by later trees. Deriving costs time
//! in proportion to the events, so show [`outline`] at once and call [`tree`] (or [`prepare`])
//! off the UI thread.

mod build;
mod cache;
mod items;
mod name;

use std::sync::Arc;

pub use build::{leaves, outline, prepare, tree};
pub use cache::{Activity, TrackCache};

use crate::store::{Lane, Sequence, Store};

/// How transfers are grouped into tracks (Neuron Explorer's "DMA Aggregation").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DmaGrouping {
    /// One track per DMA engine; each event is a packet.
    #[default]
    Engine,
    /// One track per queue on each engine; each event is a packet.
    QueueOnEngine,
    /// One track per queue; each event is a whole transfer.
    Queue,
}

/// What comes first in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupBy {
    /// Everything of one physical core together.
    #[default]
    Core,
    /// The same track of all cores next to each other.
    Engine,
}

/// Which tracks to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackOptions {
    /// How transfers are grouped.
    pub dma: DmaGrouping,
    /// Whether each engine is split into its sequencer and what it computes.
    pub split_sequencer: bool,
    /// What comes first.
    pub by: GroupBy,
}

/// What a track shows, in the words of `info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Spans.
    Slices,
    /// Moments.
    Instants,
    /// A value over time.
    Counter,
    /// Addresses over time.
    Map,
}

impl Kind {
    /// The name used in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Slices => "slices",
            Kind::Instants => "instants",
            Kind::Counter => "counter",
            Kind::Map => "map",
        }
    }
}

/// What the values of a track are, and so how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// 0 to 100.
    Percent,
    /// Bytes per second.
    BytesPerSecond,
    /// How many.
    Count,
}

/// Position of a node in [`Tree::nodes`].
pub type NodeId = u32;

/// The events of one track.
#[derive(Clone, Debug)]
pub struct Track {
    /// Position in [`Store::events`].
    pub table: u16,
    /// Which events of it.
    pub source: Source,
}

/// Where a track's events are indexed.
#[derive(Clone, Debug)]
pub enum Source {
    /// The store's own group, by position in its table.
    Group(u32),
    /// Events picked from a group.
    Picked(Arc<Sequence>),
}

impl Track {
    /// The events with their index; `None` where the store is another than the track was made for.
    #[must_use]
    pub fn lane<'a>(&'a self, store: &'a Store) -> Option<Lane<'a>> {
        let table = store.events.get(usize::from(self.table))?;
        Some(match &self.source {
            Source::Group(group) => table.groups.get(*group as usize)?.sequence.of(table),
            Source::Picked(sequence) => sequence.of(table),
        })
    }
}

/// A part of a [`Rate`]: a measure of a track's events.
#[derive(Clone, Debug)]
pub struct Amount {
    /// The events.
    pub track: Track,
    /// Position in [`crate::store::EventTable::measures`].
    pub measure: usize,
    /// Whether it is taken away rather than added.
    pub minus: bool,
}

/// What a [`Rate`] adds up.
#[derive(Clone, Debug)]
pub enum Total {
    /// Measures of events, each spread evenly over its span.
    Measured(Arc<[Amount]>),
    /// A counter that grows (bytes so far), by position in [`Store::counters`].
    Growing(u32),
    /// The integral of a counter of a rate per second, by position in [`Store::counters`].
    Integral(u32),
}

/// A value derived from amounts: their sum over time, times a factor.
#[derive(Clone, Debug)]
pub struct Rate {
    /// What is added up.
    pub total: Total,
    /// What a sum of one per nanosecond is in the track's unit.
    pub scale: f64,
    /// Since when it is averaged; `None` shows each moment by itself.
    pub since: Option<i64>,
}

/// What a node draws its row from.
#[derive(Clone, Debug)]
pub enum Content {
    /// The merged activity of the tracks below, where they have any.
    Group(Option<Arc<Activity>>),
    /// Events, and the counter that steps with them, by position in [`Store::counters`].
    Events {
        /// The events.
        track: Track,
        /// The value that they change.
        steps: Option<u32>,
    },
    /// A counter, by position in [`Store::counters`].
    Counter(u32),
    /// A value derived from events or counters.
    Rate(Rate),
    /// Events that were not derived yet.
    Pending,
    /// Something this profile does not hold, and why.
    Missing(&'static str),
}

/// A row of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// A path of names that stays the same as long as the file does, whatever the options; unique in the tree.
    pub key: String,
    /// What it is called in the tree; as in the file, so escape before showing.
    pub label: String,
    /// The same in at most [`SHORT`] columns where the file's names allow, with the core.
    pub short: String,
    /// What Neuron Explorer calls it, with the core: `Tensor(nc0)`.
    pub full: String,
    /// How many nodes lie above it.
    pub depth: u8,
    /// The node above.
    pub parent: Option<NodeId>,
    /// The nodes directly below.
    pub children: Vec<NodeId>,
    /// What its row shows.
    pub content: Content,
    /// What kind of track that is.
    pub kind: Kind,
    /// The unit of what it shows, for counters.
    pub quantity: Quantity,
    /// The least and greatest value its row is scaled to, for counters and shares: the same at every zoom.
    pub scale: (f64, f64),
    /// The physical core, where it belongs to one.
    pub core: Option<i64>,
    /// Number of events or samples.
    pub count: u64,
    /// Whether it is folded at first.
    pub folded: bool,
}

/// How the names of groups of packets on host-device engines begin.
pub const HOST_DEVICE: &str = "Host-device DMA";

/// Columns of a short label.
pub const SHORT: usize = 9;

impl Node {
    /// Its events, where it has any of its own.
    #[must_use]
    pub fn track(&self) -> Option<&Track> {
        match &self.content {
            Content::Events { track, .. } => Some(track),
            _ => None,
        }
    }

    /// Its events with their index.
    #[must_use]
    pub fn lane<'a>(&'a self, store: &'a Store) -> Option<Lane<'a>> {
        self.track()?.lane(store)
    }

    /// Whether it shows something by itself rather than only what lies below.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        !matches!(self.content, Content::Group(_))
    }
}

/// All tracks, each before those below it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// What it was made for.
    pub options: TrackOptions,
    /// The nodes in order.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// A node. Panics when there is none at `id`.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The node with this key.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.key == key).map(|i| i as NodeId)
    }

    /// The nodes that are on screen, in order, when those for which `folded` holds hide what lies below them.
    pub fn unfolded(&self, folded: impl Fn(&Node) -> bool) -> Vec<NodeId> {
        let mut shown = Vec::new();
        let mut hidden_below: Option<u8> = None;
        for (i, node) in self.nodes.iter().enumerate() {
            if hidden_below.is_some_and(|depth| node.depth > depth) {
                continue;
            }
            hidden_below = (!node.children.is_empty() && folded(node)).then_some(node.depth);
            shown.push(i as NodeId);
        }
        shown
    }

    /// The deepest track that holds an event.
    #[must_use]
    pub fn track_of(&self, store: &Store, event: crate::store::EventRef) -> Option<NodeId> {
        let holds = |node: &Node| {
            node.track().is_some_and(|t| t.table == event.table)
                && node.lane(store).is_some_and(|lane| lane.position(event.event).is_some())
        };
        // Rows of an unfolded track come after it.
        self.nodes.iter().rposition(holds).map(|i| i as NodeId)
    }
}

#[cfg(test)]
mod tests;
