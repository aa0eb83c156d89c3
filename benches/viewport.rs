//! A frame of the timeline: all rows of a 200x60 screen over a million events, as it opens and with all groups unfolded,
//! at four windows, built and drawn; with a plain scan of the same events as the yardstick.
//!
//! `NEURON_SCOPE_BENCH_EVENTS` sets another number of events.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use neuron_scope::model::{Engine, Field, Grid, Window, end_of, length};
use neuron_scope::query::emphasis::Emphases;
use neuron_scope::query::tracks::{NodeId, TrackCache, TrackOptions, Tree, tree};
use neuron_scope::query::viewport;
use neuron_scope::store::builder::{Builder, Chunk, TableInput};
use neuron_scope::store::{
    EventTable, GroupKey, Ids, Keys, LabelKind, Lengths, Measure, Problem, ProfileInfo, ProfileKind, Rows, Store, Times,
};
use neuron_scope::term::glyphs::UNICODE;
use neuron_scope::ui::labels;
use neuron_scope::ui::theme::Theme;
use neuron_scope::ui::timeline::{Coloring, Line, Timeline};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const SCREEN: Rect = Rect { x: 0, y: 0, width: 200, height: 56 };

struct NoRows;

impl Rows for NoRows {
    fn row(&self, _: &str, _: u32) -> Result<Vec<Field>, Problem> {
        Ok(Vec::new())
    }

    fn ids(&self, _: &str) -> Result<Option<Ids>, Problem> {
        Ok(None)
    }
}

/// The same numbers every time (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % most
    }
}

/// `count` events over the groups, back to back with gaps, some waits, a few overlaps.
fn table(name: &str, groups: Vec<GroupKey>, count: usize, random: &mut Random) -> TableInput {
    let names = ["", "MATMUL", "LDWEIGHTS", "ACTIVATE", "TENSOR_TENSOR", "COPY", "EVENT_SEMAPHORE"].map(str::to_owned);
    let operators: Vec<String> =
        (0..200).map(|n| if n == 0 { String::new() } else { format!("model/layer[{n}]/op") }).collect();
    let mut now = vec![0i64; groups.len()];
    let (mut starts, mut lengths, mut flags) = (Vec::new(), Vec::new(), Vec::new());
    let (mut of_group, mut named, mut of_operator, mut flops) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for i in 0..count {
        let group = 1 + i % (groups.len() - 1);
        let name = 1 + random.below(names.len() as u64 - 1) as u32;
        let length = 20 + random.below(400);
        starts.push(now[group]);
        lengths.push(length);
        flags.push(u8::from(name == 6));
        of_group.push(group as u32);
        named.push(name);
        of_operator.push(1 + (i / 500 % 199) as u32);
        flops.push(random.below(256) as u32);
        now[group] = (now[group] + length as i64 + random.below(300) as i64 - 40).max(0);
    }
    let range = Some((0, now.iter().copied().max().unwrap_or(1)));
    TableInput {
        name: name.into(),
        labels: vec![(LabelKind::Name, names.to_vec()), (LabelKind::Operator, operators)],
        measures: vec![(Measure::Bytes, (0..256).collect()), (Measure::HardwareFlops, (0..256).collect())],
        chunks: vec![Chunk {
            first_row: 0,
            starts: Times::pack(starts),
            lengths: Lengths::pack(lengths),
            flags: flags.into(),
            groups: Keys::pack(&of_group, groups.len()),
            labels: vec![Keys::pack(&named, 7), Keys::pack(&of_operator, 200)],
            measures: vec![Keys::pack(&flops, 256), Keys::pack(&flops, 256)],
            range,
        }],
        groups,
        keep_row_map: false,
    }
}

fn profile(events: usize) -> Store {
    let info = ProfileInfo {
        name: "bench".into(),
        path: "bench".into(),
        kind: ProfileKind::Device,
        format: "bench".into(),
        origin_unix_ns: None,
    };
    let key = |core, engine: Option<Engine>, name: String| GroupKey { core: Some(core), engine, name };
    let none = GroupKey { core: None, engine: None, name: String::new() };
    let mut engines = vec![none.clone()];
    let mut dma = vec![none];
    for core in [0, 1] {
        engines.extend(Engine::ALL.map(|e| key(core, Some(e), e.name().into())));
        dma.extend((0..16).map(|n| key(core, None, format!("DMA-E{}", 16 * core + n))));
    }
    let mut random = Random(7);
    let mut builder = Builder::new(info);
    builder.events(table("Instruction", engines, events * 2 / 5, &mut random));
    builder.events(table("DmaPacket", dma, events * 3 / 5, &mut random));
    builder.finish(Arc::new(NoRows))
}

/// What a row needs, from all events of its track: busy time and count per column.
fn scan(table: &EventTable, events: std::ops::Range<u32>, cells: &[Window]) -> Vec<(u64, u32)> {
    let mut out = vec![(0, 0); cells.len()];
    let (from, to) = (cells[0].start, cells[cells.len() - 1].end);
    let width = (to - from) as f64 / cells.len() as f64;
    for e in events {
        let (start, end) = (table.start(e), table.end(e));
        if end <= from || start >= to {
            continue;
        }
        let first = ((start.max(from) - from) as f64 / width) as usize;
        for (cell, out) in cells.iter().zip(&mut out).skip(first.saturating_sub(1)).take_while(|(c, _)| c.start < end) {
            out.0 += length(start.max(cell.start), end.min(cell.end));
            out.1 += u32::from(cell.contains(start));
        }
    }
    out
}

fn frame(store: &Store, tree: &Tree, shown: &[NodeId], grid: Grid, theme: &Theme, buffer: &mut Buffer) {
    let emphases = Emphases::default();
    let rows = viewport::rows(store, tree, shown, grid, &emphases);
    let line = |(&id, row)| Line { node: tree.node(id), row, height: 1, folded: false, pinned: false, idle: None };
    let lines: Vec<Line> = shown.iter().zip(&rows).map(line).collect();
    let timeline = Timeline {
        store,
        grid,
        lines: &lines,
        current: Some(0),
        cursor: Some(grid.edge(60)),
        area: None,
        marks: &[],
        coloring: Coloring::Operator,
        dim_others: false,
        plain: false,
        theme,
        glyphs: &UNICODE,
    };
    buffer.reset();
    timeline.draw(SCREEN, buffer);
}

fn viewport_benches(criterion: &mut Criterion) {
    let events = std::env::var("NEURON_SCOPE_BENCH_EVENTS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let store = profile(events);
    let tree = tree(&store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
    let lines = usize::from(SCREEN.height);
    let folded: Vec<NodeId> = tree.unfolded(|node| node.folded).into_iter().take(lines).collect();
    let unfolded: Vec<NodeId> = tree.unfolded(|_| false).into_iter().take(lines).collect();
    let theme = Theme::dark();
    let columns = SCREEN.width - labels::width(SCREEN.width);
    let whole = store.whole();
    let mut group = criterion.benchmark_group("viewport");
    for (name, part) in [("full", 1), ("10 %", 10), ("1 %", 100), ("0.01 %", 10_000)] {
        let long = whole.length() / part;
        let start = whole.start + (whole.length() as i64 - long as i64) / 2;
        let grid = Grid::fit(Window::new(start, end_of(start, long)), columns);
        let mut buffer = Buffer::empty(SCREEN);
        for (layout, shown) in [("frame", &folded), ("frame, all unfolded", &unfolded)] {
            group.bench_function(BenchmarkId::new(layout, name), |b| {
                b.iter(|| frame(&store, &tree, shown, grid, &theme, black_box(&mut buffer)));
            });
        }
        let cells = viewport::cells(grid);
        let table = &store.events[0];
        let one = table.groups[0].sequence.first_event()..table.groups[1].sequence.first_event();
        group.bench_function(BenchmarkId::new("row", name), |b| {
            let lane = table.groups[0].sequence.of(table);
            b.iter(|| black_box(lane.cells(cells.iter().copied())));
        });
        group.bench_function(BenchmarkId::new("row by a scan", name), |b| {
            b.iter(|| black_box(scan(table, one.clone(), &cells)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = viewport_benches
}
criterion_main!(benches);
