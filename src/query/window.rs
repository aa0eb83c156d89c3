//! The figures of a window: what the second header line shows, exact for whatever window is on screen.
//!
//! The utilisations follow the columns of the Summary table of the same names, with the window in the place of the
//! profile: `hfu_estimated_percent` is hardware FLOPs over peak times time, `mfu` leaves transposes out,
//! `mbu_estimated_percent` is HBM bytes over bandwidth times time; the peak is that of all cores covered.

use super::tracks::{Amount, Rate, Total, Track, TrackCache};
use crate::model::queue::{self, Purpose};
use crate::model::{Engine, Window};
use crate::query::rates;
use crate::store::{LabelKind, Measure, Store};

/// The Tensor Engine's peak of one core in FLOP per nanosecond: `2 · rows · columns · clock`, with the Tensor Engine's
/// own clock in GHz; `None` where Metadata lacks one of them.
#[must_use]
pub fn peak_flops_per_ns(store: &Store) -> Option<f64> {
    let fact = |column| store.number("Metadata", column).filter(|&v| v > 0.0);
    let (rows, columns) = (fact("tensor_engine_num_rows")?, fact("tensor_engine_num_cols")?);
    Some(2.0 * rows * columns * fact("tensor_engine_clock_freq")?)
}

/// How active an engine is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineShare {
    /// The engine.
    pub engine: Engine,
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// Share of the window in which it works, waits left out: 0 to 1.
    pub active: f64,
}

/// What limits the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The Tensor Engine is nearer to its peak than memory is to its own.
    Compute,
    /// Memory is nearer to its peak.
    Memory,
    /// Both are idle most of the time: what holds the window up are waits and overheads.
    Latency,
}

/// The figures of a window. All shares are 0 to 1; `None` says that the profile does not record what is needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// How active each engine of each core is, cores in order, engines in theirs.
    pub engines: Vec<EngineShare>,
    /// Number of cores that the figures below cover.
    pub cores: usize,
    /// Model FLOPs utilisation: FLOPs other than transposes over the Tensor Engines' peak.
    pub mfu: Option<f64>,
    /// Hardware FLOPs utilisation: all FLOPs over the Tensor Engines' peak.
    pub hfu: Option<f64>,
    /// Memory bandwidth utilisation: bytes to and from HBM over what its bandwidth allows.
    pub mbu: Option<f64>,
    /// Bytes on queues for spills and reloads over the bytes of all queues.
    pub spill: Option<f64>,
    /// Share of the time with the Tensor Engine limited to less than full speed, mean over the cores.
    pub throttled: Option<f64>,
    /// Bytes per second that the cores' DMA engines move.
    pub dma_rate: Option<f64>,
    /// What limits the window: the greater of `hfu` and `mbu`, unless both are small.
    pub bound: Option<Bound>,
}

impl Figures {
    /// The mean over the cores of how active an engine is.
    #[must_use]
    pub fn active(&self, engine: Engine) -> Option<f64> {
        let shares: Vec<f64> = self.engines.iter().filter(|e| e.engine == engine).map(|e| e.active).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }
}

/// The share of their peaks that neither compute nor memory reaches where latency binds.
const LITTLE: f64 = 0.05;

/// The figures of the part of `window` that the profile covers; none where that is none.
#[must_use]
pub fn figures(store: &Store, cache: &TrackCache, window: Window) -> Figures {
    let Some(window) = window.within(store.whole()) else { return Figures::default() };
    let (mfu, hfu) = utilization(store, window);
    let mbu = bandwidth(store, window);
    let bound = match (hfu, mbu) {
        (Some(hfu), Some(mbu)) if hfu.max(mbu) > 0.0 && hfu.max(mbu) < LITTLE => Some(Bound::Latency),
        (Some(hfu), Some(mbu)) if hfu > mbu => Some(Bound::Compute),
        (Some(hfu), Some(mbu)) if mbu > hfu => Some(Bound::Memory),
        _ => None,
    };
    Figures {
        engines: engines(store, window),
        cores: store.cores(),
        mfu,
        hfu,
        mbu,
        spill: spill(store, cache, window),
        throttled: throttled(store, cache, window),
        dma_rate: dma_rate(store, window),
        bound,
    }
}

fn engines(store: &Store, window: Window) -> Vec<EngineShare> {
    let Some(table) = store.table("Instruction").or_else(|| store.table("ActiveTime")) else { return Vec::new() };
    let share = |group: &crate::store::Group| {
        let active = group.sequence.of(table).active(window) as f64 / window.length() as f64;
        Some(EngineShare { engine: group.key.engine?, core: group.key.core, active })
    };
    table.groups.iter().filter_map(share).collect()
}

/// MFU and HFU.
fn utilization(store: &Store, window: Window) -> (Option<f64>, Option<f64>) {
    let Some((index, table)) = store.table_index("Instruction").zip(store.table("Instruction")) else {
        return (None, None);
    };
    let (Some(peak), Some(flops)) = (peak_flops_per_ns(store), table.measure_index(Measure::HardwareFlops)) else {
        return (None, None);
    };
    let groups = || (0u32..).zip(&table.groups).filter(|(_, g)| g.key.engine == Some(Engine::Tensor)).map(|(i, _)| i);
    let sum = |measure| {
        let part = |group| Amount { track: Track::group(index, group), measure, minus: false };
        let total = Total::Measured(groups().map(part).collect());
        rates::value(store, &Rate { total, scale: 1.0 / (peak * store.cores() as f64), since: None }, window)
    };
    let hardware = sum(flops);
    let transposes = table.measure_index(Measure::TransposeFlops).and_then(sum).unwrap_or(0.0);
    (hardware.map(|h| h - transposes), hardware)
}

/// Counters of one column of all cores, one after another.
fn counters<'a>(store: &'a Store, table: &'a str, column: &'a str) -> impl Iterator<Item = &'a crate::store::Counter> {
    store.counters.iter().filter(move |c| c.key.table == table && c.key.column == column)
}

/// The part of HBM's bandwidth that a physical core uses in `window`, 0 to 1: the bandwidth belongs to the logical
/// core, so the parts of its cores add up. `None` where it is not recorded.
#[must_use]
pub fn bandwidth_of(store: &Store, window: Window, core: Option<i64>) -> Option<f64> {
    bandwidth_where(store, window, |counter| counter.key.core == core)
}

fn bandwidth(store: &Store, window: Window) -> Option<f64> {
    bandwidth_where(store, window, |_| true)
}

fn bandwidth_where(store: &Store, window: Window, wanted: impl Fn(&crate::store::Counter) -> bool) -> Option<f64> {
    let bandwidth = store.number("Metadata", "hbm_ddr_bandwidth").filter(|&v| v > 0.0)?;
    let mut moved = None;
    for counter in counters(store, "HbmUsage", "current_throughput").filter(|c| wanted(c)) {
        *moved.get_or_insert(0.0) += counter.integral(window);
    }
    Some(moved? / window.length() as f64 / bandwidth)
}

fn dma_rate(store: &Store, window: Window) -> Option<f64> {
    let per_second = 1e9 / window.length() as f64;
    for name in ["DmaPacket", "DmaPacketAggregated"] {
        if let Some(table) = store.table(name)
            && let Some(bytes) = table.measure_index(Measure::Bytes)
        {
            let own = table.groups.iter().filter(|g| !g.key.name.starts_with(super::tracks::HOST_DEVICE));
            return Some(own.map(|g| g.sequence.of(table).sum(bytes, window)).sum::<f64>() * per_second);
        }
    }
    let mut moved = None;
    for counter in counters(store, "DmaUsage", "current_throughput") {
        *moved.get_or_insert(0.0) += counter.integral(window);
    }
    Some(moved? / window.length() as f64)
}

/// By the names of the queues: of whole transfers where there are such, else of packets.
fn spill(store: &Store, cache: &TrackCache, window: Window) -> Option<f64> {
    if let Some(table) = store.table("DmaPacketAggregated")
        && let Some(bytes) = table.measure_index(Measure::Bytes)
    {
        let (mut spilled, mut all) = (0.0, 0.0);
        for group in &table.groups {
            let moved = group.sequence.of(table).sum(bytes, window);
            all += moved;
            if queue::meaning(&group.key.name).1 == Some(Purpose::SpillReload) {
                spilled += moved;
            }
        }
        return (all > 0.0).then_some(spilled / all);
    }
    let (index, table) = store.table_index("DmaPacket").zip(store.table("DmaPacket"))?;
    let (bytes, queues) = (table.measure_index(Measure::Bytes)?, table.label(LabelKind::Queue)?);
    let spills: Vec<bool> = queues.entries.iter().map(|q| queue::meaning(q).1 == Some(Purpose::SpillReload)).collect();
    let own = || (0u32..).zip(&table.groups).filter(|(_, g)| !g.key.name.starts_with(super::tracks::HOST_DEVICE));
    let all: f64 = own().map(|(_, g)| g.sequence.of(table).sum(bytes, window)).sum();
    let spilled = if spills.contains(&true) {
        let picked = own().map(|(group, _)| cache.spills(store, index, group, &spills));
        picked.map(|sequence| sequence.of(table).sum(bytes, window)).sum()
    } else {
        0.0
    };
    (all > 0.0).then_some(spilled / all)
}

/// From the limits: full speed is a limit of 100 %.
fn throttled(store: &Store, cache: &TrackCache, window: Window) -> Option<f64> {
    let shares = cache.throttled(store).iter().map(|counter| counter.integral(window) / window.length() as f64);
    let shares: Vec<f64> = shares.collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::sketch::{Mark, Sketch};

    #[test]
    fn a_window_has_exact_figures() {
        let mut sketch = Sketch::default();
        for core in [0, 1] {
            let matmul = Mark {
                core: Some(core),
                engine: Some(Engine::Tensor),
                group: "Tensor".into(),
                start: 0,
                length: 50,
                name: "MATMUL".into(),
                flops: 3000,
                transposed: 1000,
                ..Mark::default()
            };
            sketch
                .event("Instruction", matmul)
                .instruction(core, Engine::Tensor, "EVENT_SEMAPHORE", 50, 50)
                .instruction(core, Engine::Vector, "NOP", 0, 25 * (1 + core as u64))
                .packet(core, &format!("DMA-E{core}"), "qSyncIO0-Q0-E0", 0, 100, 3000)
                .packet(core, &format!("DMA-E{core}"), "qVectorSpillReload0-Q1-E0", 0, 50, 1000)
                .packet(core, "Host-device DMA-E9", "", 0, 100, 7777)
                .counter("HbmUsage", "current_throughput", core, &[(0, 4e9), (50, 0.0), (100, 0.0)])
                .counter("Throttle", "limit_percent", core, &[(0, 100.0), (50, 75.0), (60, 100.0), (100, 100.0)]);
        }
        let facts = [
            ("tensor_engine_num_rows", 5.0),
            ("tensor_engine_num_cols", 5.0),
            ("tensor_engine_clock_freq", 2.0),
            ("hbm_ddr_bandwidth", 10e9),
        ];
        facts.iter().for_each(|(column, value)| {
            sketch.metadata(column, *value);
        });
        let store = sketch.store();
        let cache = TrackCache::default();
        let found = figures(&store, &cache, Window::new(0, 100));
        let near = |a: Option<f64>, b: f64| assert!(a.is_some_and(|a| (a - b).abs() < 1e-9), "{a:?} is not {b}");
        assert_eq!(found.cores, 2);
        near(found.active(Engine::Tensor), 0.5);
        near(found.active(Engine::Vector), 0.375);
        assert_eq!(found.active(Engine::Sync), None);
        // 100 FLOP per nanosecond and core.
        near(found.hfu, 0.3);
        near(found.mfu, 0.2);
        near(found.mbu, 0.4);
        near(found.spill, 0.25);
        near(found.throttled, 0.1);
        near(found.dma_rate, 80e9);
        assert_eq!(found.bound, Some(Bound::Memory));
        let found = figures(&store, &cache, Window::new(50, 100));
        near(found.active(Engine::Tensor), 0.0);
        near(found.hfu, 0.0);
        near(found.spill, 0.0);
        near(found.throttled, 0.2);
        assert_eq!(found.bound, None);
        // Before and after the profile there is nothing that could be idle.
        assert_eq!(figures(&store, &cache, Window::new(-50, 300)), figures(&store, &cache, Window::new(0, 100)));
        assert_eq!(figures(&store, &cache, Window::new(100, 300)), Figures::default());
    }

    #[test]
    fn what_is_not_recorded_has_no_figure() {
        let store = Sketch::default().store();
        let found = figures(&store, &TrackCache::default(), Window::new(0, 10));
        assert_eq!(found, Figures { cores: 1, ..Figures::default() });
    }
}
