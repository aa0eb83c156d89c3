//! What is listed for each core, and which nodes of the tree that makes.

use std::sync::Arc;

use super::build::Build;
use super::cache::{By, MATRIX};
use super::name;
use super::{Amount, Content, DmaGrouping, HOST_DEVICE, Kind, NodeId, Quantity, Rate, Total, Track};
use crate::model::queue::without_core;
use crate::model::{Engine, natural_cmp};
use crate::query::{rates, window};
use crate::store::{EventTable, LabelKind, Measure};

impl Build<'_> {
    /// The tracks of an engine; those of several cores lie next to each other.
    pub(super) fn engine(&mut self, engine: Option<Engine>, cores: &[Option<i64>], parent: Option<NodeId>) {
        let Some(table) = self.instructions() else { return };
        let mut tracks: Vec<(String, Option<i64>, Option<Track>)> = Vec::new();
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

    fn engine_tracks(&mut self, engine: Option<Engine>, table: u16, group: u32) -> Vec<(String, Option<Track>)> {
        let events = &self.store.events[usize::from(table)];
        let own = without_core(&events.groups[group as usize].key.name);
        let whole = |label: &str| vec![(label.to_owned(), Some(Track::group(table, group)))];
        let by = match uniform(events, group) {
            _ if self.options.split_sequencer => By::Sequencer,
            Some(label) if !label.is_empty() => return whole(without_core(label)),
            Some(_) if engine != Some(Engine::Tensor) => return whole(own),
            _ => By::Track,
        };
        // The halves of a split are named after the engine; a recorded name stays as it is.
        let goes_on = |label: &str| label.is_empty() || (by == By::Sequencer && label.starts_with(' '));
        let named = |(label, track): (String, Option<Track>)| {
            (if goes_on(&label) { format!("{own}{label}") } else { label }, track)
        };
        self.split(table, group, by).into_iter().map(named).collect()
    }

    pub(super) fn dma(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let packets = self.store.table_index("DmaPacket");
        let whole = self.store.table_index("DmaPacketAggregated");
        let has_queues = packets.is_some_and(|t| self.store.events[usize::from(t)].label(LabelKind::Queue).is_some());
        let grouping = match self.options.dma {
            DmaGrouping::Queue if whole.is_some() => DmaGrouping::Queue,
            DmaGrouping::QueueOnEngine if has_queues => DmaGrouping::QueueOnEngine,
            _ if packets.is_none() => DmaGrouping::Queue,
            _ => DmaGrouping::Engine,
        };
        let mut tracks: Vec<(String, Option<Track>)> = Vec::new();
        let table = if grouping == DmaGrouping::Queue { whole } else { packets };
        let Some(table) = table else { return };
        for group in self.groups(table, core, |name| !name.starts_with(HOST_DEVICE)) {
            if grouping == DmaGrouping::QueueOnEngine {
                tracks.extend(self.split(table, group, By::Queue));
            } else {
                let label = &self.store.events[usize::from(table)].groups[group as usize].key.name;
                tracks.push((without_core(label).to_owned(), Some(Track::group(table, group))));
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
            _ => tracks.iter().filter_map(|(_, track)| track.clone()).collect(),
        };
        self.set_activity(id, busy, if grouping == DmaGrouping::Queue { "by queue" } else { "" });
        for (label, track) in tracks {
            let label = if label.is_empty() { "queue not recorded" } else { &label };
            self.events_node(Some(id), label, core, track, None);
        }
    }

    pub(super) fn usage(&mut self, label: &str, table: &str, core: Option<i64>, parent: Option<NodeId>) {
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

    /// The limit, and below it the stretches of time that it was recorded for.
    pub(super) fn throttle(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let tracks = self.tracks_of("Throttle", core);
        let Some((_, counter)) = self.columns("Throttle", core).first().cloned() else {
            self.group_of_events(parent, "Throttle", core, tracks);
            return;
        };
        let id = self.counter_node(parent, "Throttle", counter, Quantity::Percent, core);
        for (label, track) in tracks {
            self.events_node(Some(id), &label, core, track, None);
        }
    }

    pub(super) fn throughput(&mut self, label: &str, table: &str, core: Option<i64>, parent: Option<NodeId>) {
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
            let peak = rate.and_then(|r| self.store.counters[r as usize].peak()).unwrap_or(1.0);
            let rate = Rate { total, scale: 1e9, since: Some(self.store.whole().start) };
            let names = ("cumulative", format!("Cumulative {label} Throughput"));
            self.rate_node(above, (names.0, &names.1), rate, (Quantity::BytesPerSecond, peak), core);
        }
    }

    /// `names` are the label and what Neuron Explorer calls it, `unit` what the values are and the greatest of them.
    fn rate_node(
        &mut self,
        parent: Option<NodeId>,
        names: (&str, &str),
        rate: Rate,
        unit: (Quantity, f64),
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
        let id = self.add(parent, names.0, core, Content::Rate(rate));
        let full = name::full(names.1, core, self.several);
        let node = self.node(id);
        (node.kind, node.count, node.quantity, node.full) = (Kind::Counter, count.unwrap_or(0), unit.0, full);
        node.scale = (0.0, if unit.1 > 0.0 { unit.1 } else { 1.0 });
        id
    }

    pub(super) fn utilization(&mut self, label: &str, core: Option<i64>, parent: Option<NodeId>) {
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
        let (Some(flops), Some(peak)) = (flops, window::peak_flops_per_ns(self.store)) else {
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
        let unit = (Quantity::Percent, 100.0);
        let full = format!("Estimated Instant {label}");
        let id = self.rate_node(parent, (label, &full), rate(None), unit, core);
        let since = Some(self.store.whole().start);
        let full = format!("Estimated Cumulative {label}");
        self.rate_node(Some(id), ("cumulative", &full), rate(since), unit, core);
    }

    pub(super) fn host_dma(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let mut tracks = Vec::new();
        let mut parts = Vec::new();
        for (table, events) in (0u16..).zip(&self.store.events) {
            let bytes = events.measure_index(Measure::Bytes);
            for group in self.groups(table, core, |name| name.starts_with(HOST_DEVICE)) {
                let track = Track::group(table, group);
                parts.extend(bytes.map(|measure| Amount { track: track.clone(), measure, minus: false }));
                tracks.push((without_core(&events.groups[group as usize].key.name).to_owned(), Some(track)));
            }
        }
        self.group_of_events(parent, HOST_DEVICE, core, tracks);
        if parts.is_empty() {
            return;
        }
        let parts: Arc<[Amount]> = parts.into();
        let rate = |since| Rate { total: Total::Measured(parts.clone()), scale: 1e9, since };
        let whole = self.store.whole();
        let unit = (Quantity::BytesPerSecond, rates::peak(self.store, &rate(None), whole));
        let names = ("Host DMA rate", "Host-Device DMA Throughput");
        let id = self.rate_node(parent, names, rate(None), unit, core);
        let names = ("cumulative", "Cumulative Host-Device DMA Throughput");
        self.rate_node(Some(id), names, rate(Some(whole.start)), unit, core);
    }

    /// A track where there is one, else a folded group of tracks.
    pub(super) fn group_of_events(
        &mut self,
        parent: Option<NodeId>,
        label: &str,
        core: Option<i64>,
        tracks: Vec<(String, Option<Track>)>,
    ) {
        if let [(own, track)] = tracks.as_slice() {
            // Engines and cores are known by their numbers.
            let own_name = own.starts_with(HOST_DEVICE) || own.starts_with("CC-core");
            let id = self.events_node(parent, if own_name { own } else { label }, core, track.clone(), None);
            let full = name::full(if own.is_empty() { label } else { own }, core, self.several);
            self.node(id).full = full;
        } else if !tracks.is_empty() {
            let id = self.group(parent, label, core, true);
            self.set_activity(id, tracks.iter().filter_map(|(_, track)| track.clone()).collect(), "");
            for (own, track) in tracks {
                self.events_node(Some(id), &own, core, track, None);
            }
        }
    }

    /// One track per semaphore: its updates, and its value where that is recorded.
    pub(super) fn semaphores(&mut self, core: Option<i64>, parent: Option<NodeId>) {
        let mut columns = self.columns("SemaphoreUpdate", core);
        let tracks = self.tracks_of("SemaphoreUpdate", core);
        if tracks.is_empty() && columns.is_empty() {
            return;
        }
        let id = self.group(parent, "Semaphores", core, true);
        if !tracks.is_empty() {
            self.set_activity(id, tracks.iter().filter_map(|(_, track)| track.clone()).collect(), "");
        }
        for (label, track) in tracks {
            let steps = columns.iter().position(|(c, _)| *c == label).map(|i| columns.remove(i).1);
            self.events_node(Some(id), &label, core, track, steps);
        }
        for (column, counter) in columns {
            self.counter_node(Some(id), &column, counter, Quantity::Count, core);
        }
    }

    pub(super) fn unknown(&mut self, table: &str, core: Option<i64>, parent: Option<NodeId>) {
        let tracks = self.tracks_of(table, core);
        let label = match (table, tracks.as_slice()) {
            ("ExecutionInfo", _) => "Executions",
            _ => table,
        };
        self.group_of_events(parent, label, core, tracks);
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
    pub(super) fn finish_core(&mut self, id: NodeId) {
        let instructions = self.instructions();
        let below = self.nodes[id as usize].children.iter().filter_map(|&c| self.nodes[c as usize].track());
        let engines: Vec<Track> = below.filter(|t| Some(t.table) == instructions).cloned().collect();
        if !engines.is_empty() {
            self.set_activity(id, engines, if self.options.split_sequencer { "split" } else { "" });
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
