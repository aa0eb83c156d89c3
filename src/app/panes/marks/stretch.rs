//! What happened in the stretch between two marks, line by line: figures of all cores, then data movement and engines
//! core by core.

use crate::model::format::{format_bytes, format_count, format_rate};
use crate::model::time::{format_duration, format_time};
use crate::model::{Value, Window};
use crate::query::marks::{Between, EngineWork, Movement};
use crate::query::units::{Unit, formatted};
use crate::query::window::Figures;
use crate::ui::lines::{Cell, Line};
use crate::ui::look::Look;

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn core_text(core: Option<i64>) -> String {
    core.map_or_else(|| "all".into(), |core| format!("nc{core}"))
}

/// The first lines: how long it is, and the figures that the header has of a window.
pub(super) fn summary(window: Window, figures: &Figures, look: &Look) -> Vec<Line<'static>> {
    let (length, from, to) =
        (format_duration(window.length()), format_time(window.start, 1), format_time(window.end, 1));
    let title = format!("{} {length}  {from} to {to}", look.glyphs.delta);
    let named = [
        ("MFU", figures.mfu),
        ("HFU", figures.hfu),
        ("MBU", figures.mbu),
        ("spill", figures.spill),
        ("throttled", figures.throttled),
    ];
    let mut all: Vec<String> =
        named.into_iter().filter_map(|(name, share)| Some(format!("{name} {}", percent(share?)))).collect();
    all.extend(figures.dma_rate.map(|rate| format!("DMA {}", format_rate(rate))));
    vec![vec![Cell::new(title, Some(look.theme.title))], vec![Cell::new(all.join("  "), None)]]
}

/// Something that moved, of each core.
type Moved = (&'static str, fn(&Movement) -> Option<String>);

fn bytes(amount: f64) -> String {
    format_bytes(amount.round().max(0.0) as u64)
}

const MOVED: [Moved; 10] = [
    ("DMA transfers", |m| Some(format_count(m.transfers))),
    ("average size", |m| m.average_bytes.map(bytes)),
    ("DMA bytes", |m| Some(bytes(m.bytes))),
    ("HBM read", |m| m.hbm_read.map(bytes)),
    ("HBM written", |m| m.hbm_written.map(bytes)),
    ("SBUF read", |m| m.sbuf_read.map(bytes)),
    ("SBUF written", |m| m.sbuf_written.map(bytes)),
    ("spill saved", |m| m.spill_saved.map(bytes)),
    ("spill reloaded", |m| m.spill_reloaded.map(bytes)),
    ("MBU", |m| m.mbu.map(percent)),
];

/// Data movement with a column per core, then a line per engine; what is not recorded says so.
pub(super) fn tables(between: &Between, look: &Look) -> [Vec<Line<'static>>; 2] {
    let theme = &look.theme;
    let missing = || Cell::number("n/a", Some(theme.dim));
    let mut moved: Vec<Line> = Vec::new();
    if !between.movement.is_empty() {
        let heads = between.movement.iter().map(|m| Cell::number(core_text(m.core), Some(theme.title)));
        moved.push([Cell::new("moved", Some(theme.title))].into_iter().chain(heads).collect());
        for (name, value) in MOVED {
            let values =
                between.movement.iter().map(|m| value(m).map_or_else(missing, |text| Cell::number(text, None)));
            moved.push([Cell::new(name, Some(theme.dim))].into_iter().chain(values).collect());
        }
        // The last column of a line has what is left: nothing.
        moved.iter_mut().for_each(|line| line.push(Cell::new("", None)));
    }
    let mut worked: Vec<Line> = Vec::new();
    if !between.engines.is_empty() {
        let heads = ["instr.", "active", "", "FLOPs", "MFU", "HFU"];
        let heads = heads.into_iter().map(|head| Cell::number(head, Some(theme.title)));
        worked.push([Cell::new("engine", Some(theme.title))].into_iter().chain(heads).collect());
        let whole = between.window.length().max(1) as f64;
        let line = |work: &EngineWork| {
            let name = match work.core {
                Some(core) => format!("{}·{core}", work.engine.name()),
                None => work.engine.name().to_owned(),
            };
            let flops = work.flops.map(|flops| formatted(&Value::Float(flops), Unit::Flops));
            let [flops, mfu, hfu] = [flops, work.mfu.map(percent), work.hfu.map(percent)].map(|text| match text {
                Some(text) => Cell::number(text, None),
                None => Cell::number("", None),
            });
            let active = format_duration(work.active_ns);
            let share = percent(work.active_ns as f64 / whole);
            let count = format_count(work.instructions);
            let name = Cell::new(name, Some(theme.engine(work.engine.name())));
            vec![
                name,
                Cell::number(count, None),
                Cell::number(active, None),
                Cell::number(share, None),
                flops,
                mfu,
                hfu,
            ]
        };
        worked.extend(between.engines.iter().map(line));
        worked.iter_mut().for_each(|line| line.push(Cell::new("", None)));
    }
    if let Some(problem) = between.problems.first() {
        let text = format!("not all could be read: {}: {}", problem.path.display(), problem.message);
        worked.push(vec![Cell::new(text, Some(theme.warning))]);
    }
    [moved, worked]
}
