//! Puts the tree together.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cache::{By, MATRIX, TrackCache};
use rustc_hash::FxHashSet;

use super::name;
use super::{
    Amount, Content, DmaGrouping, GroupBy, Kind, Node, NodeId, Quantity, Rate, Total, Track, TrackOptions, Tree,
};
use crate::model::{Engine, natural_cmp};
use crate::store::{EventTable, LabelKind, Measure, Store, flag};

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

/// Derives all that a tree with these options needs, so that [`tree`] is quick afterwards.
pub fn prepare(store: &Store, cache: &TrackCache, options: &TrackOptions) {
    drop(tree(store, cache, options, &BTreeSet::new()));
}

/// The tracks of a store. `spread` holds the keys of tracks whose overlapping events are shown in rows of their own,
/// below the track.
///
/// The first call for some options derives what the store does not hold, in time proportional to the events; later
/// calls with the same cache are quick.
#[must_use]
pub fn tree(store: &Store, cache: &TrackCache, options: &TrackOptions, spread: &BTreeSet<String>) -> Tree {
    let mut cores: BTreeSet<i64> = store.events.iter().flat_map(|t| &t.groups).filter_map(|g| g.key.core).collect();
    cores.extend(store.counters.iter().filter_map(|c| c.key.core));
    let several = store.cores() > 1;
    let keys = FxHashSet::default();
    let mut build = Build { store, cache, options, spread, several, nodes: Vec::new(), keys };
    let items = build.items();
    let scopes: Vec<Option<i64>> = cores.iter().map(|&c| Some(c)).collect();
    if several && options.by == GroupBy::Core {
        for (i, &core) in scopes.iter().enumerate() {
            let name = format!("nc{}", core.unwrap_or_default());
            let group = build.group(None, &name, core, i > 0);
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
    Tree { options: *options, nodes: build.nodes }
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
    let recorded = |node: &&Node| !matches!(node.content, Content::Group(_) | Content::Missing(_));
    tree.nodes.iter().filter(recorded).map(|node| (path(node), node.kind, node.count)).collect()
}

struct Build<'a> {
    store: &'a Store,
    cache: &'a TrackCache,
    options: &'a TrackOptions,
    spread: &'a BTreeSet<String>,
    several: bool,
    nodes: Vec<Node>,
    keys: FxHashSet<String>,
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
/// How the groups of packets on host-device engines begin.
const HOST_DEVICE: &str = "Host-device DMA";

impl Build<'_> {
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
            Item::Table("Core barriers", "CoreBarriers"),
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
                if let Some(table) = self.store.table_index(table) {
                    let groups = self.groups(table, core, |_| true);
                    self.group_of_events(parent, name, core, table, &groups);
                }
            }
            Item::Semaphores => self.semaphores(core, parent),
            Item::Unknown(table) => self.unknown(table, core, parent),
        }
    }

    // Nodes.

    fn add(&mut self, parent: Option<NodeId>, label: &str, core: Option<i64>, content: Content) -> NodeId {
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

    fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    fn group(&mut self, parent: Option<NodeId>, label: &str, core: Option<i64>, folded: bool) -> NodeId {
        let id = self.add(parent, label, core, Content::Group(None));
        self.node(id).folded = folded;
        id
    }

    fn events_node(
        &mut self,
        parent: Option<NodeId>,
        label: &str,
        core: Option<i64>,
        track: Track,
        steps: Option<u32>,
    ) -> NodeId {
        let table = &self.store.events[usize::from(track.table)];
        let (count, instants) = track.lane(self.store).map_or((0, false), |lane| {
            let first = lane.event(0).map(|e| table.flags[e as usize]);
            (lane.len() as u64, first.is_some_and(|f| f & flag::INSTANT != 0))
        });
        let id = self.add(parent, label, core, Content::Events { track: track.clone(), steps });
        let peak = steps.and_then(|c| self.store.counters[c as usize].peak());
        let node = self.node(id);
        (node.count, node.kind) = (count, if instants { Kind::Instants } else { Kind::Slices });
        node.quantity = Quantity::Count;
        node.scale = (0.0, peak.unwrap_or(1.0).max(1.0));
        let key = node.key.clone();
        if self.spread.contains(&key)
            && let super::Source::Group(group) = track.source
        {
            let rows = self.cache.split(self.store, track.table, group, By::Row);
            for (label, sequence) in rows.iter() {
                let row = self.add(
                    Some(id),
                    label,
                    core,
                    Content::Events { track: Track::picked(track.table, sequence), steps: None },
                );
                let kind = self.nodes[id as usize].kind;
                let node = self.node(row);
                (node.count, node.kind) = (sequence.len() as u64, kind);
            }
            self.node(id).folded = false;
        }
        id
    }

    fn counter_node(
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
            Quantity::Share => (0.0, peak.max(1.0)),
            _ => (0.0, if peak > 0.0 { peak } else { 1.0 }),
        };
        id
    }

    // What the store has.

    fn counter(&self, table: &str, column: &str, core: Option<i64>) -> Option<u32> {
        let same = |c: &crate::store::Counter| c.key.core == core && c.key.table == table && c.key.column == column;
        self.store.counters.iter().position(same).map(|i| i as u32)
    }

    /// Columns of a counter table for `core`, in natural order.
    fn columns(&self, table: &str, core: Option<i64>) -> Vec<(String, u32)> {
        let all = self.store.counters.iter().enumerate().filter(|(_, c)| c.key.table == table && c.key.core == core);
        let mut columns: Vec<(String, u32)> = all.map(|(i, c)| (c.key.column.clone(), i as u32)).collect();
        columns.sort_by(|a, b| natural_cmp(&a.0, &b.0));
        columns
    }

    fn groups(&self, table: u16, core: Option<i64>, keep: impl Fn(&str) -> bool) -> Vec<u32> {
        let groups = self.store.events[usize::from(table)].groups.iter().enumerate();
        groups.filter(|(_, g)| g.key.core == core && keep(&g.key.name)).map(|(i, _)| i as u32).collect()
    }

    fn instructions(&self) -> Option<u16> {
        self.store.table_index("Instruction").or_else(|| self.store.table_index("ActiveTime"))
    }

    // Items.

    /// The tracks of an engine; those of several cores lie next to each other.
    fn engine(&mut self, engine: Option<Engine>, cores: &[Option<i64>], parent: Option<NodeId>) {
        let Some(table) = self.instructions() else { return };
        let mut tracks: Vec<(String, Option<i64>, Track)> = Vec::new();
        for (group, found) in (0u32..).zip(&self.store.events[usize::from(table)].groups) {
            if found.key.engine == engine && cores.contains(&found.key.core) {
                let named = self.engine_tracks(engine, table, group);
                tracks.extend(named.into_iter().map(|(label, track)| (label, found.key.core, track)));
            }
        }
        tracks.sort_by(|a, b| rank(&a.0).cmp(&rank(&b.0)).then(a.1.cmp(&b.1)));
        for (label, core, track) in tracks {
            self.events_node(parent, &label, core, track, None);
        }
    }

    fn engine_tracks(&self, engine: Option<Engine>, table: u16, group: u32) -> Vec<(String, Track)> {
        let events = &self.store.events[usize::from(table)];
        let own = name::bare(&events.groups[group as usize].key.name);
        let by = match uniform(events, group) {
            _ if self.options.split_sequencer => By::Sequencer,
            Some(label) if !label.is_empty() => {
                return vec![(name::bare(label).to_owned(), Track::group(table, group))];
            }
            Some(_) if engine != Some(Engine::Tensor) => return vec![(own.to_owned(), Track::group(table, group))],
            _ => By::Track,
        };
        let named = |(label, sequence): &(String, Arc<crate::store::Sequence>)| {
            let goes_on = label.is_empty() || label.starts_with(' ');
            let label = if goes_on { format!("{own}{label}") } else { label.clone() };
            (label, Track::picked(table, sequence))
        };
        self.cache.split(self.store, table, group, by).iter().map(named).collect()
    }

    fn dma(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let packets = self.store.table_index("DmaPacket");
        let whole = self.store.table_index("DmaPacketAggregated");
        let has_queues = packets.is_some_and(|t| self.store.events[usize::from(t)].label(LabelKind::Queue).is_some());
        let grouping = match self.options.dma {
            DmaGrouping::Queue if whole.is_some() => DmaGrouping::Queue,
            DmaGrouping::QueueOnEngine if has_queues => DmaGrouping::QueueOnEngine,
            _ if packets.is_none() => DmaGrouping::Queue,
            _ => DmaGrouping::Engine,
        };
        let mut tracks: Vec<(String, Track)> = Vec::new();
        let table = if grouping == DmaGrouping::Queue { whole } else { packets };
        let Some(table) = table else { return };
        for group in self.groups(table, core, |name| !name.starts_with(HOST_DEVICE)) {
            if grouping == DmaGrouping::QueueOnEngine {
                let split = self.cache.split(self.store, table, group, By::Queue);
                tracks.extend(split.iter().map(|(n, s)| (n.clone(), Track::picked(table, s))));
            } else {
                let label = &self.store.events[usize::from(table)].groups[group as usize].key.name;
                tracks.push((name::bare(label).to_owned(), Track::group(table, group)));
            }
        }
        if tracks.is_empty() {
            return;
        }
        tracks.sort_by(|a, b| natural_cmp(&a.0, &b.0));
        let id = self.group(parent, "DMA", core, true);
        // Activity is that of the engines, whatever the tracks below.
        let busy: Vec<Track> = match packets {
            Some(packets) if grouping != DmaGrouping::Queue => {
                let groups = self.groups(packets, core, |name| !name.starts_with(HOST_DEVICE));
                groups.into_iter().map(|g| Track::group(packets, g)).collect()
            }
            _ => tracks.iter().map(|(_, track)| track.clone()).collect(),
        };
        self.set_activity(id, busy, grouping == DmaGrouping::Queue);
        for (label, track) in tracks {
            let label = if label.is_empty() { "queue not recorded" } else { &label };
            self.events_node(Some(id), label, core, track, None);
        }
    }

    fn set_activity(&mut self, id: NodeId, tracks: Vec<Track>, by_queue: bool) {
        let key = format!("{}{}", self.nodes[id as usize].key, if by_queue { " by queue" } else { "" });
        let activity = self.cache.activity(self.store, &key, tracks);
        self.node(id).content = Content::Group(Some(activity));
    }

    fn usage(&mut self, label: &str, table: &str, core: Option<i64>, parent: Option<NodeId>) {
        let columns = self.columns(table, core);
        if columns.is_empty() {
            return;
        }
        let whole = columns.iter().position(|(c, _)| c == "avg_util_percent");
        let id = match whole {
            Some(at) => self.counter_node(parent, label, columns[at].1, Quantity::Percent, core),
            None => self.group(parent, label, core, true),
        };
        for (i, (column, counter)) in columns.iter().enumerate() {
            if whole != Some(i) {
                self.counter_node(Some(id), &name::column(column), *counter, Quantity::Percent, core);
            }
        }
    }

    fn throttle(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let mut columns = self.columns("Throttle", core);
        columns.sort_by_key(|(column, _)| column != "all");
        let mut above = parent;
        for (i, (column, counter)) in columns.iter().enumerate() {
            let label = if i == 0 { "Throttle" } else { column };
            let id = self.counter_node(above, label, *counter, Quantity::Share, core);
            if i == 0 {
                above = Some(id);
            }
        }
    }

    fn throughput(&mut self, label: &str, table: &str, core: Option<i64>, parent: Option<NodeId>) {
        let rate = self.counter(table, "current_throughput", core);
        let bytes = self.counter(table, "total_transfer_bytes", core);
        let total = bytes.map(Total::Growing).or(rate.map(Total::Integral));
        let mut above = parent;
        if let Some(rate) = rate {
            let id = self.counter_node(parent, &format!("{label} rate"), rate, Quantity::BytesPerSecond, core);
            self.node(id).full = name::full(&format!("{label} Throughput"), core, self.several);
            above = Some(id);
        }
        if let Some(total) = total {
            let scale = rate.and_then(|r| self.store.counters[r as usize].peak()).unwrap_or(1.0);
            let rate = Rate { total, scale: 1e9, since: Some(self.store.whole().start) };
            let full = format!("Cumulative {label} Throughput");
            self.rate_node(above, "cumulative", &full, rate, Quantity::BytesPerSecond, scale, core);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn rate_node(
        &mut self,
        parent: Option<NodeId>,
        label: &str,
        full: &str,
        rate: Rate,
        quantity: Quantity,
        scale: f64,
        core: Option<i64>,
    ) -> NodeId {
        let count = match &rate.total {
            Total::Measured(parts) => {
                parts.iter().filter_map(|p| p.track.lane(self.store)).map(|l| l.len() as u64).max()
            }
            Total::Growing(counter) | Total::Integral(counter) => {
                Some(self.store.counters[*counter as usize].len() as u64)
            }
        };
        let id = self.add(parent, label, core, Content::Rate(rate));
        let full = name::full(full, core, self.several);
        let node = self.node(id);
        (node.kind, node.count, node.quantity, node.full) = (Kind::Counter, count.unwrap_or(0), quantity, full);
        node.scale = (0.0, if scale > 0.0 { scale } else { 1.0 });
        id
    }

    fn utilization(&mut self, label: &str, core: Option<i64>, parent: Option<NodeId>) {
        let Some(table) = self.store.table_index("Instruction") else { return };
        let events = &self.store.events[usize::from(table)];
        let tensor: Vec<u32> = (0u32..)
            .zip(&events.groups)
            .filter(|(_, g)| g.key.core == core && g.key.engine == Some(Engine::Tensor))
            .map(|(i, _)| i)
            .collect();
        if tensor.is_empty() {
            return;
        }
        let flops = events.measure_index(Measure::HardwareFlops);
        let (Some(flops), Some(peak)) = (flops, crate::query::window::peak_flops_per_ns(self.store)) else {
            let why = if flops.is_none() { "FLOPs not recorded" } else { "clock or array size not recorded" };
            let id = self.add(parent, label, core, Content::Missing(why));
            self.node(id).kind = Kind::Counter;
            return;
        };
        let mut parts: Vec<Amount> = Vec::new();
        let mut add = |measure: usize, minus: bool| {
            parts.extend(tensor.iter().map(|&g| Amount { track: Track::group(table, g), measure, minus }));
        };
        add(flops, false);
        if label == "MFU"
            && let Some(transposes) = events.measure_index(Measure::TransposeFlops)
        {
            add(transposes, true);
        }
        let parts: Arc<[Amount]> = parts.into();
        let rate = |since| Rate { total: Total::Measured(parts.clone()), scale: 100.0 / peak, since };
        let full = format!("Estimated Instant {label}");
        let id = self.rate_node(parent, label, &full, rate(None), Quantity::Percent, 100.0, core);
        let since = Some(self.store.whole().start);
        let full = format!("Estimated Cumulative {label}");
        self.rate_node(Some(id), "cumulative", &full, rate(since), Quantity::Percent, 100.0, core);
    }

    fn host_dma(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let Some(table) = self.store.table_index("DmaPacket") else { return };
        let groups = self.groups(table, core, |name| name.starts_with(HOST_DEVICE));
        let Some(id) = self.group_of_events(parent, HOST_DEVICE, core, table, &groups) else { return };
        let _ = id;
        let Some(bytes) = self.store.events[usize::from(table)].measure_index(Measure::Bytes) else { return };
        let part = |&g: &u32| Amount { track: Track::group(table, g), measure: bytes, minus: false };
        let parts: Arc<[Amount]> = groups.iter().map(part).collect();
        let rate = |since| Rate { total: Total::Measured(parts.clone()), scale: 1e9, since };
        let whole = self.store.whole();
        let peak = crate::query::rates::peak(self.store, &rate(None), whole);
        let label = "Host DMA rate";
        let id = self.rate_node(
            parent,
            label,
            "Host-Device DMA Throughput",
            rate(None),
            Quantity::BytesPerSecond,
            peak,
            core,
        );
        let full = "Cumulative Host-Device DMA Throughput";
        self.rate_node(Some(id), "cumulative", full, rate(Some(whole.start)), Quantity::BytesPerSecond, peak, core);
    }

    /// Groups of a table: a track where there is one, else a folded group of tracks.
    fn group_of_events(
        &mut self,
        parent: Option<NodeId>,
        label: &str,
        core: Option<i64>,
        table: u16,
        groups: &[u32],
    ) -> Option<NodeId> {
        let events: &EventTable = &self.store.events[usize::from(table)];
        match groups {
            [] => None,
            [one] => {
                let own = name::bare(&events.groups[*one as usize].key.name);
                let id = self.events_node(parent, label, core, Track::group(table, *one), None);
                if own.starts_with(HOST_DEVICE) || own.starts_with("CC-core") {
                    self.node(id).full = name::full(own, core, self.several);
                }
                Some(id)
            }
            several => {
                let id = self.group(parent, label, core, true);
                let tracks = several.iter().map(|&g| Track::group(table, g)).collect();
                self.set_activity(id, tracks, false);
                for &group in several {
                    let own = name::bare(&events.groups[group as usize].key.name).to_owned();
                    self.events_node(Some(id), &own, core, Track::group(table, group), None);
                }
                Some(id)
            }
        }
    }

    fn semaphores(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let mut columns = self.columns("SemaphoreUpdate", core);
        let table = self.store.table_index("SemaphoreUpdate");
        let groups = table.map_or_else(Vec::new, |t| self.groups(t, core, |_| true));
        if groups.is_empty() && columns.is_empty() {
            return;
        }
        let id = self.group(parent, "Semaphores", core, true);
        if let Some(table) = table {
            self.set_activity(id, groups.iter().map(|&g| Track::group(table, g)).collect(), false);
            for group in groups {
                let label = self.store.events[usize::from(table)].groups[group as usize].key.name.clone();
                let steps = columns.iter().position(|(c, _)| *c == label).map(|i| columns.remove(i).1);
                self.events_node(Some(id), &label, core, Track::group(table, group), steps);
            }
        }
        for (column, counter) in columns {
            self.counter_node(Some(id), &column, counter, Quantity::Count, core);
        }
    }

    fn unknown(&mut self, table: &str, core: Option<i64>, parent: Option<NodeId>) {
        if let Some(index) = self.store.table_index(table) {
            let groups = self.groups(index, core, |_| true);
            self.group_of_events(parent, table, core, index, &groups);
        }
        let columns = self.columns(table, core);
        match columns.as_slice() {
            [] => {}
            [(_, counter)] => {
                self.counter_node(parent, table, *counter, Quantity::Count, core);
            }
            several => {
                let id = self.group(parent, table, core, true);
                for (column, counter) in several {
                    self.counter_node(Some(id), column, *counter, Quantity::Count, core);
                }
            }
        }
    }

    /// A core's own row shows the mean activity of its engines.
    fn finish_core(&mut self, id: NodeId) {
        let instructions = self.instructions();
        let engines: Vec<Track> = self.nodes[id as usize]
            .children
            .iter()
            .filter_map(|&c| self.nodes[c as usize].track())
            .filter(|t| Some(t.table) == instructions)
            .cloned()
            .collect();
        if !engines.is_empty() {
            let key = self.nodes[id as usize].key.clone();
            let key = if self.options.split_sequencer { format!("{key} split") } else { key };
            let activity = self.cache.activity(self.store, &key, engines);
            self.node(id).content = Content::Group(Some(activity));
        }
    }
}

/// The order of an engine's tracks: the matrix multiplications first.
fn rank(label: &str) -> (bool, &str) {
    (label != MATRIX, label)
}

/// The track of Neuron Explorer that all events of a group are on, where it is the same; empty where not recorded.
fn uniform(table: &EventTable, group: u32) -> Option<&str> {
    let Some(labels) = table.label(LabelKind::Track) else { return Some("") };
    let picks = table.groups[group as usize].sequence.picks();
    let first = (!picks.is_empty()).then(|| labels.key(picks.at(0) as usize))?;
    let same = (0..picks.len()).all(|i| labels.key(picks.at(i) as usize) == first);
    same.then(|| labels.entries.get(first as usize).map_or("", String::as_str))
}
