use std::collections::BTreeSet;

use super::*;
use crate::model::{Engine, Window};
use crate::query::rates;
use crate::query::sketch::{Mark, Sketch};
use crate::query::viewport::{self, Figure};
use crate::store::flag;
use proptest::prelude::*;

fn two_cores() -> Store {
    let mut sketch = Sketch::default();
    for core in [0, 1] {
        sketch
            .instruction(core, Engine::Tensor, "LDWEIGHTS", 0, 40)
            .instruction(core, Engine::Tensor, "MATMUL", 40, 50)
            .instruction(core, Engine::Tensor, "EVENT_SEMAPHORE", 90, 10)
            .instruction(core, Engine::Vector, "TENSOR_REDUCE", 50, 25)
            .packet(core, &format!("DMA-E{}", 64 + 2 * core), "qSyncIO0-Q0-E64", 10, 30, 3000)
            .packet(core, &format!("DMA-E{}", 65 + 2 * core), "qVectorSpillReload0-Q1-E65", 20, 20, 1000)
            .packet(core, &format!("DMA-E{}", 65 + 2 * core), "qSyncIO0-Q0-E65", 50, 20, 1000)
            .counter("SbufUsage", "avg_util_percent", core, &[(0, 20.0), (50, 60.0)])
            .counter("SbufUsage", "partition_32_util_percent", core, &[(0, 20.0)])
            .counter("DmaUsage", "current_throughput", core, &[(0, 2e9), (50, 0.0), (100, 0.0)])
            .counter("Throttle", "limit_percent", core, &[(0, 100.0), (75, 50.0), (100, 100.0)]);
    }
    sketch.packet(0, "Host-device DMA-E3", "", 0, 50, 500);
    let odd = Mark { group: String::new(), start: 5, flags: flag::INSTANT, name: "odd".into(), ..Mark::default() };
    sketch.event("Novelty", odd);
    sketch.store()
}

fn keys(tree: &Tree) -> Vec<&str> {
    tree.nodes.iter().map(|n| n.key.as_str()).collect()
}

fn all(options: &TrackOptions, spread: &[&str]) -> (Store, Tree) {
    let store = two_cores();
    let spread: BTreeSet<String> = spread.iter().map(|s| (*s).to_owned()).collect();
    let tree = tree(&store, &TrackCache::default(), options, &spread);
    (store, tree)
}

#[test]
fn tracks_come_in_the_order_people_read_them() {
    let (_, tree) = all(&TrackOptions::default(), &[]);
    let core = [
        "TensorMatrix",
        "Tensor",
        "Vector",
        "DMA",
        "DMA/DMA-E64",
        "DMA/DMA-E65",
        "SBUF",
        "SBUF/partition 32",
        "Throttle",
        "MFU",
        "HFU",
        "DMA rate",
        "DMA rate/cumulative",
        "Host-device DMA-E3",
        "Host DMA rate",
        "Host DMA rate/cumulative",
    ];
    let of_core = |n: i64| {
        keys(&tree).into_iter().filter_map(|k| k.strip_prefix(&format!("nc{n}/"))).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of_core(0), core.join(" "));
    assert!(of_core(1).starts_with("TensorMatrix Tensor Vector DMA DMA/DMA-E66"));
    assert_eq!(tree.nodes.last().unwrap().key, "Novelty");
    assert_eq!(tree.nodes.last().unwrap().kind, Kind::Instants);
    // nc1 is folded at first, and so is whatever has many children.
    let shown = tree.unfolded(|node| node.folded);
    let labels: Vec<&str> = shown.iter().map(|&id| tree.node(id).label.as_str()).collect();
    assert_eq!(labels[..5], ["nc0", "TensorMatrix", "Tensor", "Vector", "DMA"]);
    assert_eq!(labels[labels.len() - 2..], ["nc1", "Novelty"]);
    assert!(tree.nodes.iter().all(|n| n.short.chars().count() <= SHORT), "{tree:?}");
}

#[test]
fn leaves_are_named_as_neuron_explorer_names_them() {
    let leaves = leaves(&two_cores());
    let found = |path: &str| leaves.iter().find(|l| l.0 == path).map(|l| (l.1, l.2));
    assert_eq!(found("nc0/TensorMatrix(nc0)"), Some((Kind::Slices, 1)));
    assert_eq!(found("nc1/Tensor(nc1)"), Some((Kind::Slices, 2)));
    assert_eq!(found("nc1/DMA/DMA-E67(nc1)"), Some((Kind::Slices, 2)));
    assert_eq!(found("nc0/SBUF(nc0)"), Some((Kind::Counter, 2)));
    assert_eq!(found("nc0/MFU(nc0)"), None, "not recorded");
    assert_eq!(found("nc0/Host-device DMA-E3(nc0)"), Some((Kind::Slices, 1)));
    assert_eq!(found("nc0/DMA rate/Cumulative DMA Throughput(nc0)"), Some((Kind::Counter, 3)));
}

#[test]
fn one_core_has_no_level_of_its_own() {
    let mut sketch = Sketch::default();
    sketch.instruction(0, Engine::Tensor, "MATMUL", 0, 5).instruction(0, Engine::Sync, "NOP", 0, 5);
    let store = sketch.store();
    let paths: Vec<String> = leaves(&store).into_iter().map(|l| l.0).collect();
    assert_eq!(paths, ["TensorMatrix", "Sync"]);
}

#[test]
fn options_regroup_and_keep_the_keys() {
    let (_, by_core) = all(&TrackOptions::default(), &[]);
    let (_, by_engine) = all(&TrackOptions { by: GroupBy::Engine, ..TrackOptions::default() }, &[]);
    let expected = ["nc0/TensorMatrix", "nc1/TensorMatrix", "nc0/Tensor", "nc1/Tensor", "nc0/Vector", "nc1/Vector"];
    assert_eq!(keys(&by_engine)[..6], expected);
    let mut a: Vec<&str> = keys(&by_core).into_iter().filter(|k| k.contains('/')).collect();
    let mut b: Vec<&str> = keys(&by_engine).into_iter().filter(|k| k.contains('/')).collect();
    a.sort_unstable();
    b.sort_unstable();
    assert_eq!(a, b);

    let (_, queues) = all(&TrackOptions { dma: DmaGrouping::QueueOnEngine, ..TrackOptions::default() }, &[]);
    let dma: Vec<&str> = keys(&queues).into_iter().filter_map(|k| k.strip_prefix("nc0/DMA/")).collect();
    assert_eq!(dma, ["qSyncIO0-Q0-E64", "qSyncIO0-Q0-E65", "qVectorSpillReload0-Q1-E65"]);

    let (_, split) = all(&TrackOptions { split_sequencer: true, ..TrackOptions::default() }, &[]);
    assert_eq!(keys(&split)[1..4], ["nc0/TensorMatrix", "nc0/Tensor compute", "nc0/Vector compute"]);
}

#[test]
fn overlapping_events_spread_over_rows() {
    let mut sketch = Sketch::default();
    sketch.packet(0, "DMA-E0", "q", 0, 10, 1).packet(0, "DMA-E0", "q", 5, 10, 1).packet(0, "DMA-E1", "q", 20, 10, 1);
    let store = sketch.store();
    let spread = BTreeSet::from(["DMA/DMA-E0".to_owned()]);
    let tree = tree(&store, &TrackCache::default(), &TrackOptions::default(), &spread);
    assert_eq!(keys(&tree), ["DMA", "DMA/DMA-E0", "DMA/DMA-E0/row 1", "DMA/DMA-E0/row 2", "DMA/DMA-E1"]);
    let event = crate::store::EventRef { table: 0, event: 1 };
    assert_eq!(tree.track_of(&store, event), Some(3));
}

#[test]
fn an_outline_has_the_same_tracks_and_fills_up() {
    let store = two_cores();
    let cache = TrackCache::default();
    let spread = BTreeSet::from(["nc0/DMA/DMA-E64".to_owned()]);
    for options in [
        TrackOptions::default(),
        TrackOptions { dma: DmaGrouping::QueueOnEngine, by: GroupBy::Engine, ..TrackOptions::default() },
        TrackOptions { split_sequencer: true, ..TrackOptions::default() },
    ] {
        let before = outline(&store, &cache, &options, &spread);
        let full = tree(&store, &cache, &options, &spread);
        let after = outline(&store, &cache, &options, &spread);
        let without_rows = |tree: &Tree| {
            keys(tree).into_iter().filter(|k| !k.contains("/row ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(without_rows(&before), without_rows(&full));
        assert_eq!(keys(&after), keys(&full));
        let pending = |tree: &Tree| tree.nodes.iter().filter(|n| matches!(n.content, Content::Pending)).count();
        assert!(pending(&before) > 0);
        assert_eq!((pending(&full), pending(&after)), (0, 0));
    }
}

#[test]
fn figures_of_labels_are_exact() {
    let (store, tree) = all(&TrackOptions::default(), &[]);
    let figure = |key: &str, window| viewport::figure(&store, tree.node(tree.find(key).unwrap()), window);
    let whole = Window::new(0, 100);
    assert_eq!(figure("nc0/Tensor", whole), Some(Figure::Active(0.4)), "the wait is not active");
    assert_eq!(figure("nc0/TensorMatrix", whole), Some(Figure::Active(0.5)));
    assert_eq!(figure("nc0/DMA", whole), Some(Figure::Active(0.35)), "the mean of 30 % and 40 %");
    assert_eq!(figure("nc0/SBUF", Window::new(40, 60)), Some(Figure::Mean(40.0)));
    assert_eq!(figure("nc0/Host DMA rate", whole), Some(Figure::Mean(5e9)));
    assert_eq!(figure("nc0/DMA rate/cumulative", whole), Some(Figure::Mean(1e9)));
    assert_eq!(figure("nc0/MFU", whole), None);
    assert_eq!(figure("Novelty", whole), Some(Figure::Count(1)));
}

#[test]
fn utilisation_counts_what_the_array_did() {
    let mut sketch = Sketch::default();
    let matmul = |start, flops, transposed| Mark {
        core: Some(0),
        engine: Some(Engine::Tensor),
        group: "Tensor".into(),
        start,
        length: 10,
        name: "MATMUL".into(),
        flops,
        transposed,
        ..Mark::default()
    };
    sketch.event("Instruction", matmul(0, 1000, 0)).event("Instruction", matmul(10, 1000, 1000));
    for (column, value) in
        [("tensor_engine_num_rows", 5.0), ("tensor_engine_num_cols", 5.0), ("tensor_engine_clock_freq", 2.0)]
    {
        sketch.metadata(column, value);
    }
    let store = sketch.store();
    let tree = tree(&store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
    let value = |key: &str, a, b| match &tree.node(tree.find(key).unwrap()).content {
        Content::Rate(rate) => rates::value(&store, rate, Window::new(a, b)).unwrap(),
        other => panic!("{other:?}"),
    };
    // The peak is 2 · 5 · 5 · 2 = 100 FLOP per nanosecond.
    assert_eq!(value("MFU", 0, 10), 100.0);
    assert_eq!(value("MFU", 5, 15), 50.0);
    assert_eq!(value("HFU", 5, 15), 100.0);
    assert_eq!(value("MFU/cumulative", 15, 20), 50.0);
}

proptest! {
    #[test]
    fn merged_activity_agrees_with_a_scan(spans in prop::collection::vec((0usize..5, 0i64..300, 1u64..40), 1..60), start in -20i64..300, num in 1u64..30, den in 1u64..4) {
        let mut sketch = Sketch::default();
        for &(engine, start, length) in &spans {
            sketch.packet(0, &format!("DMA-E{engine}"), "q", start, length, 1);
        }
        let store = sketch.store();
        let tree = tree(&store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
        let node = tree.node(0);
        let Content::Group(Some(activity)) = &node.content else { return Ok(()) };
        let grid = crate::model::Grid::with_width(num, den, 30).starting_at(start);
        let cells = viewport::cells(grid);
        let engines: BTreeSet<usize> = spans.iter().map(|s| s.0).collect();
        let naive = |cell: &Window| {
            let active = (cell.start..cell.end).map(|t| {
                engines.iter().filter(|&&e| spans.iter().any(|s| s.0 == e && s.1 <= t && t < s.1 + s.2 as i64)).count()
            });
            active.sum::<usize>() as f64 / cell.length() as f64 / engines.len() as f64
        };
        for (share, cell) in activity.shares(&store, &cells).iter().zip(&cells) {
            prop_assert!((f64::from(*share) - naive(cell)).abs() < 1e-6, "{share} is not {}", naive(cell));
        }
        for (sum, cell) in activity.sums(&store, &cells).into_iter().zip(&cells) {
            let share = sum as f64 / cell.length() as f64 / engines.len() as f64;
            prop_assert!((share - naive(cell)).abs() < 1e-6, "{share} is not {}", naive(cell));
        }
    }

    #[test]
    fn coarse_activity_keeps_the_sum(spans in prop::collection::vec((0i64..1000, 0i64..400), 0..40), bucket in 1u64..50) {
        let whole = Window::new(0, 1000);
        let count = whole.length().div_ceil(bucket) as usize;
        let mut sums = vec![0i64; 2 * (count + 1)];
        let mut covered = vec![0i64; count + 1];
        let mut near = 0;
        for &(start, length) in &spans {
            cache::spread(&mut sums, whole, bucket, &mut near, (start, start + length));
            for t in start..(start + length).min(1000) {
                covered[(t as u64 / bucket) as usize] += 1;
            }
        }
        let mut level = 0;
        for i in 0..count {
            level += sums[2 * i + 1];
            prop_assert_eq!(sums[2 * i] + level * bucket as i64, covered[i]);
        }
    }
}
