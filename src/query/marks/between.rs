//! What happened between two marks, per core and engine.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::{Engine, Window, length};
use crate::query::tracks::HOST_DEVICE;
use crate::query::window::{bandwidth_of, peak_flops_per_ns};
use crate::store::{EventTable, Measure, Problem, Store, arrays};

/// What an engine did. Shares are 0 to 1; `None` says that the profile does not record what is needed.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineWork {
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// The engine.
    pub engine: Engine,
    /// Instructions that overlap the window.
    pub instructions: u64,
    /// Nanoseconds covered by instructions other than waits.
    pub active_ns: u64,
    /// Nanoseconds covered by instructions, waits included.
    pub busy_ns: u64,
    /// FLOPs, transposes included; only the Tensor Engine has any.
    pub flops: Option<f64>,
    /// FLOPs other than transposes, over the engine's peak.
    pub mfu: Option<f64>,
    /// All FLOPs over the engine's peak.
    pub hfu: Option<f64>,
}

/// What a core's DMA engines moved. Bytes are spread evenly over each event, and counted as far as it lies in the
/// window; `None` says that the profile does not record them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Movement {
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// Transfers that overlap the window (packets, where the profile has no transfers).
    pub transfers: u64,
    /// Mean size of these transfers, as a whole.
    pub average_bytes: Option<f64>,
    /// Bytes moved.
    pub bytes: f64,
    /// Bytes read from HBM, by the transfers' sources.
    pub hbm_read: Option<f64>,
    /// Bytes written to HBM, by the transfers' destinations.
    pub hbm_written: Option<f64>,
    /// Bytes that instructions read from SBUF.
    pub sbuf_read: Option<f64>,
    /// Bytes that instructions wrote to SBUF.
    pub sbuf_written: Option<f64>,
    /// Bytes saved from SBUF for lack of room.
    pub spill_saved: Option<f64>,
    /// The same read back.
    pub spill_reloaded: Option<f64>,
    /// The core's part of the bandwidth of HBM, which belongs to all cores together: 0 to 1.
    pub mbu: Option<f64>,
}

/// What happened in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// The window.
    pub window: Window,
    /// Data movement, cores in order.
    pub movement: Vec<Movement>,
    /// Engines, cores in order, engines in theirs.
    pub engines: Vec<EngineWork>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// What happened in `window`. Reads columns of the source: call it off the UI thread. `None` when cancelled.
#[must_use]
pub fn between(store: &Store, window: Window, cancel: &AtomicBool) -> Option<Between> {
    let mut problems = Vec::new();
    let mut cores: BTreeMap<Option<i64>, Movement> = BTreeMap::new();
    transfers(store, window, &mut cores);
    for (table, columns) in [("DmaPacketAggregated", &HBM[..]), ("Instruction", &SBUF[..])] {
        add_columns(store, table, columns, window, cancel, &mut cores, &mut problems)?;
    }
    for (core, movement) in &mut cores {
        movement.core = *core;
        movement.mbu = bandwidth_of(store, window, *core);
    }
    Some(Between { window, movement: cores.into_values().collect(), engines: engines(store, window), problems })
}

fn engines(store: &Store, window: Window) -> Vec<EngineWork> {
    let Some(table) = store.table("Instruction") else { return Vec::new() };
    let peak = peak_flops_per_ns(store).map(|peak| peak * window.length() as f64);
    let work = |group: &crate::store::Group| {
        let engine = group.key.engine?;
        let lane = group.sequence.of(table);
        let tensor = engine == Engine::Tensor;
        let sum = |measure| table.measure_index(measure).filter(|_| tensor).map(|at| lane.sum(at, window));
        let flops = sum(Measure::HardwareFlops);
        let transposes = sum(Measure::TransposeFlops).unwrap_or(0.0);
        let share = |flops: f64| Some(flops / peak.filter(|p| *p > 0.0)?);
        Some(EngineWork {
            core: group.key.core,
            engine,
            instructions: lane.count(window) as u64,
            active_ns: lane.active(window),
            busy_ns: lane.busy(window),
            flops,
            mfu: flops.and_then(|f| share(f - transposes)),
            hfu: flops.and_then(share),
        })
    };
    table.groups.iter().filter_map(work).collect()
}

fn transfers(store: &Store, window: Window, cores: &mut BTreeMap<Option<i64>, Movement>) {
    let has = |name: &&str| store.table(name).is_some_and(|t| !t.is_empty());
    let Some(table) = ["DmaPacketAggregated", "DmaPacket"].into_iter().find(has).and_then(|n| store.table(n)) else {
        return;
    };
    let bytes = table.measure_index(Measure::Bytes);
    let mut sizes: BTreeMap<Option<i64>, u128> = BTreeMap::new();
    for group in table.groups.iter().filter(|g| !g.key.name.starts_with(HOST_DEVICE)) {
        let lane = group.sequence.of(table);
        let movement = cores.entry(group.key.core).or_default();
        movement.transfers += lane.count(window) as u64;
        let Some(bytes) = bytes else { continue };
        movement.bytes += lane.sum(bytes, window);
        let whole = sizes.entry(group.key.core).or_default();
        lane.visit(window, |e| {
            if overlaps(table, e, window) {
                *whole += u128::from(*table.measures[bytes].1.at(e as usize));
            }
            true
        });
    }
    for (core, whole) in sizes {
        if let Some(movement) = cores.get_mut(&core).filter(|m| m.transfers > 0) {
            movement.average_bytes = Some(whole as f64 / movement.transfers as f64);
        }
    }
}

/// Whether an event starts before the window's end and ends after its start, as [`crate::store::Lane::count`] has it.
fn overlaps(table: &EventTable, e: u32, window: Window) -> bool {
    table.start(e) < window.end && table.end(e) > window.start
}

/// A column whose bytes go somewhere, for rows that a text column says so of.
type Column = (&'static str, Option<(&'static str, &'static str)>, fn(&mut Movement) -> &mut Option<f64>);

/// By where a transfer comes from and goes to.
const HBM: [Column; 2] = [
    ("read_bytes", Some(("source", "DRAM")), |m| &mut m.hbm_read),
    ("write_bytes", Some(("dest", "DRAM")), |m| &mut m.hbm_written),
];

const SBUF: [Column; 4] = [
    ("sbuf_read_bytes", None, |m| &mut m.sbuf_read),
    ("sbuf_write_bytes", None, |m| &mut m.sbuf_written),
    ("spill_save_bytes", None, |m| &mut m.spill_saved),
    ("spill_reload_bytes", None, |m| &mut m.spill_reloaded),
];

/// Adds columns of the rows in a window to the cores that they are of.
fn add_columns(
    store: &Store,
    name: &str,
    columns: &[Column],
    window: Window,
    cancel: &AtomicBool,
    cores: &mut BTreeMap<Option<i64>, Movement>,
    problems: &mut Vec<Problem>,
) -> Option<()> {
    let Some(table) = store.table(name) else { return Some(()) };
    let mut names: Vec<&str> = Vec::new();
    for (column, of, _) in columns {
        names.push(column);
        names.extend(of.map(|(text, _)| text));
    }
    // The events by row, each with its core.
    let mut rows: Vec<(u32, u32, Option<i64>)> = Vec::new();
    for group in &table.groups {
        group.sequence.of(table).visit(window, |e| {
            rows.push((table.rows[e as usize], e, group.key.core));
            true
        });
    }
    rows.sort_unstable();
    let pieces = match store.pieces(name) {
        Ok(pieces) => pieces,
        Err(problem) => {
            problems.push(problem);
            return Some(());
        }
    };
    let mut rest = rows.as_slice();
    for piece in pieces {
        let (inside, others) = rest.split_at(rest.partition_point(|r| r.0 < piece.end));
        rest = others;
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { continue };
        let span: Range<u32> = first.0..last.0 + 1;
        let (batch, problem) = match store.read(name, span.clone(), &names) {
            Ok(read) => read,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        problems.extend(problem);
        for (column, of, slot) in columns {
            let amounts = batch.column_by_name(column).and_then(|array| arrays::floats(array.as_ref()));
            let Some(amounts) = amounts else { continue };
            let holds: Option<(Vec<bool>, Vec<Option<u32>>)> = match of {
                None => None,
                Some((text, part)) => {
                    let texts = batch.column_by_name(text).and_then(|array| arrays::texts(array.as_ref()));
                    let Some(texts) = texts else { continue };
                    Some((texts.entries.iter().map(|t| t.contains(part)).collect(), texts.keys))
                }
            };
            for &(row, e, core) in inside {
                let at = (row - span.start) as usize;
                let counts = holds.as_ref().is_none_or(|(hits, keys)| keys[at].is_some_and(|key| hits[key as usize]));
                let amount = if counts && amounts[at].is_finite() { amounts[at] } else { 0.0 };
                *slot(cores.entry(core).or_default()).get_or_insert(0.0) += amount * share(table, e, window);
            }
        }
    }
    Some(())
}

/// The part of an event that lies in a window; all of an instant in it.
fn share(table: &EventTable, e: u32, window: Window) -> f64 {
    let (start, end) = (table.start(e), table.end(e));
    match table.lengths.at(e as usize) {
        0 => f64::from(u8::from(window.contains(start))),
        whole => length(start.max(window.start), end.min(window.end)) as f64 / whole as f64,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Field, Value};
    use crate::query::sketch::{Mark, Sketch};
    use crate::store::{Ids, Rows, TableInfo};

    struct Columns;

    impl Rows for Columns {
        fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
            let field = |name: &str, value: Value| Field { name: name.into(), value };
            Ok(match table {
                "Instruction" => vec![
                    field("sbuf_read_bytes", Value::Int(100 * (i64::from(row) + 1))),
                    field("sbuf_write_bytes", Value::Null),
                ],
                _ => vec![
                    field("read_bytes", Value::Int(1000)),
                    field("source", Value::Text(if row == 0 { "[DRAM]" } else { "[SB]" }.into())),
                    field("write_bytes", Value::Int(500)),
                    field("dest", Value::Text("[SB]".into())),
                ],
            })
        }

        fn ids(&self, _: &str) -> Result<Option<Ids>, Problem> {
            Ok(None)
        }
    }

    #[test]
    fn a_stretch_has_exact_figures_per_core_and_engine() {
        let mut sketch = Sketch::default();
        let matmul = |core, start| Mark {
            core: Some(core),
            engine: Some(Engine::Tensor),
            group: "Tensor".into(),
            start,
            length: 100,
            name: "MATMUL".into(),
            flops: 3000,
            transposed: 1000,
            ..Mark::default()
        };
        sketch
            .event("Instruction", matmul(0, 0))
            .event("Instruction", matmul(1, 50))
            .instruction(0, Engine::Tensor, "EVENT_SEMAPHORE", 100, 100)
            .counter("HbmUsage", "current_throughput", 0, &[(0, 4e9), (200, 0.0)]);
        for (start, bytes) in [(0, 1000), (100, 3000)] {
            let queue = "qSyncIO0".to_owned();
            let core = Some(0);
            sketch.event(
                "DmaPacketAggregated",
                Mark { core, group: queue.clone(), start, length: 100, queue, bytes, ..Mark::default() },
            );
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
        let mut store = sketch.store();
        let table = |name: &str, rows| TableInfo { name: name.into(), rows };
        store.tables = vec![table("Instruction", 3), table("DmaPacketAggregated", 2)];
        store.rows = Arc::new(Columns);

        let found = between(&store, Window::new(50, 150), &AtomicBool::new(false)).unwrap();
        assert_eq!(found.problems, []);
        let [tensor0, tensor1] = &found.engines[..] else { panic!("{:?}", found.engines) };
        assert_eq!((tensor0.core, tensor0.instructions, tensor0.active_ns, tensor0.busy_ns), (Some(0), 2, 50, 100));
        // The peak of one core is 100 FLOP per nanosecond.
        assert_eq!((tensor0.flops, tensor0.hfu, tensor0.mfu), (Some(1500.0), Some(0.15), Some(0.1)));
        assert_eq!((tensor1.instructions, tensor1.active_ns, tensor1.hfu), (1, 100, Some(0.3)));
        let [core0, core1] = &found.movement[..] else { panic!("{:?}", found.movement) };
        assert_eq!((core0.transfers, core0.bytes, core0.average_bytes), (2, 2000.0, Some(2000.0)));
        assert_eq!((core0.hbm_read, core0.hbm_written), (Some(500.0), Some(0.0)));
        // Half of the first instruction, half of the third.
        assert_eq!((core0.sbuf_read, core0.sbuf_written, core0.spill_saved), (Some(200.0), Some(0.0), None));
        assert_eq!((core1.core, core1.transfers, core1.sbuf_read), (Some(1), 0, Some(200.0)));
        assert_eq!((core0.mbu, core1.mbu), (Some(0.4), None));
        assert!(between(&store, Window::new(0, 1), &AtomicBool::new(true)).is_none());
    }
}
