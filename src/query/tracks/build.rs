//! Puts the tree together.

use std::collections::BTreeSet;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::cache::{By, Job, TrackCache};
use super::name;
use super::{Content, GroupBy, HOST_DEVICE, Kind, Node, NodeId, Quantity, Source, Track, TrackOptions, Tree};
use crate::model::queue::without_core;
use crate::model::{Engine, natural_cmp};
use crate::store::{Datum, MERGED_CAPTURES, Store};

/// One thing that is listed for each core, in the order of [`items`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Engine(Option<Engine>),
    Dma,
    Usage(&'static str, &'static str),
    Throttle,
    Utilization(&'static str),
    Throughput(&'static str, &'static str),
    HostDma,
    Pending,
    Table(&'static str, &'static str),
    Semaphores,
    Unknown(String),
}

/// Derives all that a tree with these options needs, so that [`outline`] and [`tree`] are quick afterwards.
pub fn prepare(store: &Store, cache: &TrackCache, options: &TrackOptions, spread: &BTreeSet<String>) {
    drop(tree(store, cache, options, spread));
}

/// The tracks of a store with all that they show. `spread` holds the keys of tracks whose overlapping events are shown
/// in rows of their own, below the track.
///
/// The first call for some options derives what the store does not hold, in time proportional to the events; later
/// calls with the same cache are quick.
#[must_use]
pub fn tree(store: &Store, cache: &TrackCache, options: &TrackOptions, spread: &BTreeSet<String>) -> Tree {
    // All groups at once, rather than one after the other as the tree comes to them.
    let jobs = Build::run(store, cache, options, spread, false).jobs;
    jobs.into_par_iter().for_each(|job| cache.derive(store, job));
    Build::run(store, cache, options, spread, true).tree()
}

/// The same tracks under the same keys, at once: what was not derived yet is [`Content::Pending`].
#[must_use]
pub fn outline(store: &Store, cache: &TrackCache, options: &TrackOptions, spread: &BTreeSet<String>) -> Tree {
    Build::run(store, cache, options, spread, false).tree()
}

/// The tracks of the default grouping that show something of their own, as `info` lists them: their names joined by
/// `/`, the kind, and the number of events or samples.
#[must_use]
pub fn leaves(store: &Store) -> Vec<(String, Kind, u64)> {
    let tree = tree(store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
    let path = |node: &Node| {
        let mut names = vec![node.full.as_str()];
        let mut above = node.parent;
        while let Some(id) = above {
            names.push(&tree.node(id).label);
            above = tree.node(id).parent;
        }
        names.reverse();
        names.join("/")
    };
    let recorded = |node: &&Node| !matches!(node.content, Content::Group(_) | Content::Missing(_) | Content::Pending);
    tree.nodes.iter().filter(recorded).map(|node| (path(node), node.kind, node.count)).collect()
}

/// A tree in the making.
pub(super) struct Build<'a> {
    pub(super) store: &'a Store,
    pub(super) cache: &'a TrackCache,
    pub(super) options: &'a TrackOptions,
    spread: &'a BTreeSet<String>,
    pub(super) several: bool,
    pub(super) nodes: Vec<Node>,
    keys: FxHashSet<String>,
    /// Whether what is missing is derived; else it is left pending.
    derive: bool,
    /// What would have to be derived.
    pub(super) jobs: Vec<Job>,
}

/// Tables that have items of their own.
const KNOWN: [&str; 9] = [
    "Instruction",
    "ActiveTime",
    "DmaPacket",
    "DmaPacketAggregated",
    "CcOp",
    "CcInstruction",
    "CoreBarriers",
    "SemaphoreUpdate",
    "Throttle",
];
/// Counters that have items of their own.
const KNOWN_COUNTERS: [&str; 7] =
    ["DmaUsage", "HbmUsage", "SbufUsage", "PsumUsage", "PendingDma", "Throttle", "SemaphoreUpdate"];

/// Which of several captures a core is of.
fn capture_of(store: &Store, core: i64) -> Option<&str> {
    let records = store.records(MERGED_CAPTURES)?;
    let integer = |row, column| records.get(row, column).and_then(Datum::integer);
    let row = (0..records.rows.len()).find(|row| integer(*row, "pcore_idx") == Some(core))?;
    records.get(row, "capture")?.text()
}

impl<'a> Build<'a> {
    fn run(
        store: &'a Store,
        cache: &'a TrackCache,
        options: &'a TrackOptions,
        spread: &'a BTreeSet<String>,
        derive: bool,
    ) -> Build<'a> {
        let mut cores: BTreeSet<i64> = store.events.iter().flat_map(|t| &t.groups).filter_map(|g| g.key.core).collect();
        cores.extend(store.counters.iter().filter_map(|c| c.key.core));
        let several = store.cores() > 1;
        let (nodes, keys, jobs) = (Vec::new(), FxHashSet::default(), Vec::new());
        let mut build = Build { store, cache, options, spread, several, nodes, keys, derive, jobs };
        let items = build.items();
        let scopes: Vec<Option<i64>> = cores.iter().map(|&c| Some(c)).collect();
        if several && options.by == GroupBy::Core {
            for (i, &core) in scopes.iter().enumerate() {
                let name = format!("nc{}", core.unwrap_or_default());
                let group = build.group(None, &name, core, i > 0);
                if let Some(capture) = core.and_then(|core| capture_of(store, core)) {
                    let label = format!("{name} {capture}");
                    let node = build.node(group);
                    (node.full, node.short) = (label.clone(), name::short(&label, None, false));
                    node.label = label;
                }
                items.iter().for_each(|item| build.item(item, core, Some(group)));
                build.finish_core(group);
            }
            items.iter().for_each(|item| build.item(item, None, None));
        } else {
            for item in &items {
                let scopes = scopes.iter().chain([&None]);
                if let Item::Engine(engine) = item {
                    build.engine(*engine, &scopes.copied().collect::<Vec<_>>(), None);
                } else {
                    scopes.for_each(|&core| build.item(item, core, None));
                }
            }
        }
        build
    }

    fn tree(self) -> Tree {
        Tree { options: *self.options, nodes: self.nodes }
    }

    /// The tracks that a group is divided into; those whose events were not derived yet have none.
    pub(super) fn split(&mut self, table: u16, group: u32, by: By) -> Vec<(String, Option<Track>)> {
        let job = (table, group, by);
        if self.derive {
            self.cache.derive(self.store, job);
        }
        let found = self.cache.outline(self.store, job);
        if !self.derive && found.iter().all(|(_, sequence)| sequence.is_none()) {
            self.jobs.push(job);
        }
        found.into_iter().map(|(name, sequence)| (name, sequence.map(|s| Track::picked(table, &s)))).collect()
    }

    /// What the row of a group shows; `how` tells apart what the same group may show.
    pub(super) fn set_activity(&mut self, id: NodeId, tracks: Vec<Track>, how: &str) {
        let key = format!("{} {how}", self.nodes[id as usize].key);
        if tracks.iter().filter_map(|t| t.lane(self.store)).all(|lane| lane.is_instants()) {
            self.node(id).kind = Kind::Instants;
        }
        let activity = match self.derive {
            true => Some(self.cache.activity(self.store, &key, tracks)),
            false => self.cache.known_activity(&key),
        };
        let peak = activity.as_ref().map_or(1.0, |a| a.peak());
        let node = self.node(id);
        (node.content, node.scale) = (Content::Group(activity), (0.0, peak));
    }

    fn items(&self) -> Vec<Item> {
        let mut items: Vec<Item> = Engine::ALL.into_iter().map(|e| Item::Engine(Some(e))).collect();
        items.extend([
            Item::Engine(None),
            Item::Dma,
            Item::Usage("SBUF", "SbufUsage"),
            Item::Usage("PSUM", "PsumUsage"),
            Item::Throttle,
            Item::Utilization("MFU"),
            Item::Utilization("HFU"),
            Item::Throughput("DMA", "DmaUsage"),
            Item::Throughput("HBM", "HbmUsage"),
            Item::Pending,
            Item::HostDma,
            Item::Table("CC ops", "CcOp"),
            Item::Table("CC-cores", "CcInstruction"),
            Item::Table("Barriers", "CoreBarriers"),
            Item::Semaphores,
            Item::Table("Errors", "Error"),
        ]);
        let mut unknown: Vec<String> = self.store.events.iter().map(|t| t.name.clone()).collect();
        unknown.retain(|name| !KNOWN.contains(&name.as_str()) && name != "Error");
        let counters = self.store.counters.iter().map(|c| c.key.table.clone());
        unknown.extend(counters.filter(|name| !KNOWN_COUNTERS.contains(&name.as_str())));
        unknown.sort();
        unknown.dedup();
        items.extend(unknown.into_iter().map(Item::Unknown));
        items
    }

    fn item(&mut self, item: &Item, core: Option<i64>, parent: Option<NodeId>) {
        match item {
            Item::Engine(engine) => self.engine(*engine, &[core], parent),
            Item::Dma => self.dma(core, parent),
            Item::Usage(name, table) => self.usage(name, table, core, parent),
            Item::Throttle => self.throttle(core, parent),
            Item::Utilization(name) => self.utilization(name, core, parent),
            Item::Throughput(name, table) => self.throughput(name, table, core, parent),
            Item::HostDma => self.host_dma(core, parent),
            Item::Pending => {
                if let Some(counter) = self.counter("PendingDma", "value", core) {
                    self.counter_node(parent, "Pending DMA", counter, Quantity::Count, core);
                }
            }
            Item::Table(name, table) => {
                let tracks = self.tracks_of(table, core);
                self.group_of_events(parent, name, core, tracks);
            }
            Item::Semaphores => self.semaphores(core, parent),
            Item::Unknown(table) => self.unknown(table, core, parent),
        }
    }

    // Nodes.

    /// Adds a node below `parent`.
    pub(super) fn add(&mut self, parent: Option<NodeId>, label: &str, core: Option<i64>, content: Content) -> NodeId {
        let id = self.nodes.len() as NodeId;
        // The key does not depend on the options, so that what is folded or selected stays so.
        let above = match parent {
            Some(p) => format!("{}/", self.nodes[p as usize].key),
            None => match core {
                Some(core) if self.several && label != format!("nc{core}") => format!("nc{core}/"),
                _ => String::new(),
            },
        };
        let mut key = format!("{above}{}", label.replace('/', "∕"));
        while !self.keys.insert(key.clone()) {
            key.push('\'');
        }
        let depth = parent.map_or(0, |p| self.nodes[p as usize].depth.saturating_add(1));
        if let Some(p) = parent {
            self.nodes[p as usize].children.push(id);
        }
        self.nodes.push(Node {
            key,
            label: label.to_owned(),
            short: name::short(label, core, self.several),
            full: name::full(label, core, self.several),
            depth,
            parent,
            children: Vec::new(),
            content,
            kind: Kind::Slices,
            quantity: Quantity::Percent,
            scale: (0.0, 100.0),
            core,
            count: 0,
            folded: true,
        });
        id
    }

    pub(super) fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    pub(super) fn group(&mut self, parent: Option<NodeId>, label: &str, core: Option<i64>, folded: bool) -> NodeId {
        let id = self.add(parent, label, core, Content::Group(None));
        self.node(id).folded = folded;
        id
    }

    /// Adds a track of events; without them it is pending.
    pub(super) fn events_node(
        &mut self,
        parent: Option<NodeId>,
        label: &str,
        core: Option<i64>,
        track: Option<Track>,
        steps: Option<u32>,
    ) -> NodeId {
        let Some(track) = track else { return self.add(parent, label, core, Content::Pending) };
        let lane = track.lane(self.store);
        let (count, instants) = lane.map_or((0, false), |lane| (lane.len() as u64, lane.is_instants()));
        let id = self.add(parent, label, core, Content::Events { track: track.clone(), steps });
        let peak = steps.and_then(|c| self.store.counters[c as usize].peak());
        let kind = if instants { Kind::Instants } else { Kind::Slices };
        let node = self.node(id);
        (node.count, node.kind, node.quantity) = (count, kind, Quantity::Count);
        node.scale = (0.0, peak.unwrap_or(1.0).max(1.0));
        if let Source::Group(group) = track.source
            && self.spread.contains(&self.nodes[id as usize].key)
        {
            for (label, row) in self.split(track.table, group, By::Row) {
                self.events_node(Some(id), &label, core, row, None);
            }
            self.node(id).folded = false;
        }
        id
    }

    pub(super) fn counter_node(
        &mut self,
        parent: Option<NodeId>,
        label: &str,
        counter: u32,
        quantity: Quantity,
        core: Option<i64>,
    ) -> NodeId {
        let found = &self.store.counters[counter as usize];
        let (count, peak) = (found.len() as u64, found.peak().unwrap_or(1.0));
        let id = self.add(parent, label, core, Content::Counter(counter));
        let node = self.node(id);
        (node.kind, node.count, node.quantity) = (Kind::Counter, count, quantity);
        node.scale = match quantity {
            Quantity::Percent => (0.0, peak.max(100.0)),
            _ => (0.0, if peak > 0.0 { peak } else { 1.0 }),
        };
        id
    }

    // What the store has.

    pub(super) fn counter(&self, table: &str, column: &str, core: Option<i64>) -> Option<u32> {
        let same = |c: &crate::store::Counter| c.key.core == core && c.key.table == table && c.key.column == column;
        self.store.counters.iter().position(same).map(|i| i as u32)
    }

    /// Columns of a counter table for `core`, in natural order.
    pub(super) fn columns(&self, table: &str, core: Option<i64>) -> Vec<(String, u32)> {
        let all = self.store.counters.iter().enumerate().filter(|(_, c)| c.key.table == table && c.key.core == core);
        let mut columns: Vec<(String, u32)> = all.map(|(i, c)| (c.key.column.clone(), i as u32)).collect();
        columns.sort_by(|a, b| natural_cmp(&a.0, &b.0));
        columns
    }

    pub(super) fn groups(&self, table: u16, core: Option<i64>, keep: impl Fn(&str) -> bool) -> Vec<u32> {
        let groups = self.store.events[usize::from(table)].groups.iter().enumerate();
        groups.filter(|(_, g)| g.key.core == core && keep(&g.key.name)).map(|(i, _)| i as u32).collect()
    }

    /// The tracks of `core` in a table, one per group.
    pub(super) fn tracks_of(&self, table: &str, core: Option<i64>) -> Vec<(String, Option<Track>)> {
        let Some(index) = self.store.table_index(table) else { return Vec::new() };
        let groups = &self.store.events[usize::from(index)].groups;
        let named = |g: u32| (without_core(&groups[g as usize].key.name).to_owned(), Some(Track::group(index, g)));
        self.groups(index, core, |name| !name.starts_with(HOST_DEVICE)).into_iter().map(named).collect()
    }

    pub(super) fn instructions(&self) -> Option<u16> {
        self.store.table_index("Instruction").or_else(|| self.store.table_index("ActiveTime"))
    }
}
