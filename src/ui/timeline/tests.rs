use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::model::Engine;
use crate::query::blame::{Blamed, Span};
use crate::query::emphasis::{Emphases, Emphasis};
use crate::query::sketch::{Mark, Sketch};
use crate::query::tracks::{TrackCache, TrackOptions, Tree, tree};
use crate::store::{EventRef, flag};
use crate::term::glyphs::{ASCII, UNICODE};

/// One of everything: slices apart and side by side, a transpose, waits, moments, counters, a folded group.
fn profile() -> Store {
    let mut sketch = Sketch::default();
    sketch
        .instruction(0, Engine::Vector, "TENSOR_REDUCE", 0, 200)
        .instruction(0, Engine::Vector, "COPY", 200, 100)
        .instruction(0, Engine::Vector, "COPY", 300, 10)
        .instruction(0, Engine::Vector, "COPY", 320, 4)
        .instruction(0, Engine::Vector, "COPY", 325, 4)
        .instruction(0, Engine::Vector, "COPY", 331, 3)
        .instruction(0, Engine::Vector, "IOTA", 500, 1)
        .instruction(0, Engine::Scalar, "EVENT_SEMAPHORE", 50, 260)
        .instruction(0, Engine::Scalar, "ACTIVATE", 310, 90)
        .instruction(0, Engine::Scalar, "EVENT_SEMAPHORE", 450, 50)
        .packet(0, "DMA-E0", "qSyncIO0-Q0-E0", 0, 300, 1)
        .packet(0, "DMA-E1", "qSyncIO0-Q0-E1", 100, 100, 1)
        .counter(
            "SbufUsage",
            "avg_util_percent",
            0,
            &[(0, 10.0), (100, 60.0), (105, 90.0), (110, 60.0), (400, 0.0), (599, 0.0)],
        )
        .counter("Throttle", "limit_percent", 0, &[(100, 100.0), (300, 50.0), (400, 100.0), (599, 100.0)]);
    let transpose = Mark {
        core: Some(0),
        engine: Some(Engine::Tensor),
        group: "Tensor".into(),
        start: 100,
        length: 150,
        flags: flag::TRANSPOSE,
        name: "MATMUL".into(),
        ..Mark::default()
    };
    sketch.event("Instruction", Mark { start: 300, flags: 0, ..transpose.clone() }).event("Instruction", transpose);
    for start in [150, 152, 400] {
        let core = Some(0);
        sketch.event(
            "Error",
            Mark { core, group: "Errors".into(), start, name: "bad\u{1b}[31m".into(), ..Mark::default() },
        );
    }
    sketch.event(
        "CcOp",
        Mark {
            group: "CC ops stream 3".into(),
            start: 20,
            length: 500,
            name: "All\u{1b}Reduce".into(),
            ..Mark::default()
        },
    );
    sketch.store()
}

struct Look<'a> {
    store: &'a Store,
    emphases: Emphases,
    size: (u16, u16),
    grid: Grid,
    glyphs: &'static Glyphs,
    plain: bool,
    height: u16,
    cursor: Option<Nanos>,
    /// Explained idle time, of the track whose key ends so.
    idle: Option<Blame>,
    idle_of: &'static str,
}

impl Look<'_> {
    fn tree(&self) -> Tree {
        tree(self.store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new())
    }

    fn buffer(&self) -> Buffer {
        let tree = self.tree();
        let shown = tree.unfolded(|node| node.folded);
        let rows = viewport::rows(self.store, &tree, &shown, self.grid, &self.emphases);
        let line = |(&id, row)| {
            let node = tree.node(id);
            let idle = self.idle.as_ref().filter(|_| node.key.ends_with(self.idle_of));
            Line { node, row, height: self.height, folded: node.folded, pinned: false, idle }
        };
        let lines: Vec<Line> = shown.iter().zip(&rows).map(line).collect();
        let theme = Theme::dark();
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        let timeline = Timeline {
            store: self.store,
            grid: self.grid,
            lines: &lines,
            current: Some(0),
            cursor: self.cursor,
            area: None,
            marks: &[],
            coloring: Coloring::Operator,
            dim_others: false,
            plain: self.plain,
            theme: &theme,
            glyphs: self.glyphs,
        };
        timeline.draw(buffer.area, &mut buffer);
        buffer
    }

    fn text(&self) -> String {
        let buffer = self.buffer();
        let lines = buffer.content.chunks(usize::from(self.size.0));
        lines
            .map(|line| line.iter().map(|c| c.symbol()).collect::<String>().trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn look(store: &Store, columns: u16, from: i64, to: i64) -> Look<'_> {
    Look {
        store,
        emphases: Emphases::default(),
        size: (columns, 14),
        grid: Grid::fit(Window::new(from, to), columns - labels::width(columns)),
        glyphs: &UNICODE,
        plain: false,
        height: 1,
        cursor: None,
        idle: None,
        idle_of: "Scalar",
    }
}

#[test]
fn everything_has_its_look() {
    let store = profile();
    let mut look = look(&store, 80, 0, 600);
    look.cursor = Some(430);
    insta::assert_snapshot!("narrow", look.text());
    look.glyphs = &ASCII;
    insta::assert_snapshot!("narrow_ascii", look.text());
}

#[test]
fn wide_and_zoomed_in() {
    let store = profile();
    insta::assert_snapshot!("wide_zoomed", look(&store, 120, 290, 340).text());
}

#[test]
fn tall_rows_show_more() {
    let store = profile();
    let mut look = look(&store, 100, 0, 600);
    (look.height, look.size.1) = (3, 36);
    insta::assert_snapshot!("tall", look.text());
}

#[test]
fn what_stands_out_differs_in_colour_or_in_shape() {
    let store = profile();
    let table = store.table_index("Instruction").unwrap();
    let events = store.table("Instruction").unwrap();
    let of = |name: &str| {
        let all = (0..events.len() as u32).filter(|&e| events.event_name(e) == name);
        all.map(|event| EventRef { table, event }).collect::<Vec<_>>()
    };
    let mut look = look(&store, 80, 0, 600);
    look.emphases.add(Emphasis::Match, of("COPY"));
    look.emphases.add(Emphasis::Selected, of("TENSOR_REDUCE"));
    look.emphases.add(Emphasis::Flow, of("ACTIVATE"));
    look.plain = true;
    insta::assert_snapshot!("emphasis_plain", look.text());
    look.plain = false;
    let theme = Theme::dark();
    let buffer = look.buffer();
    let has = |color| buffer.content.iter().any(|c| c.fg == color);
    assert!(has(theme.matched) && has(theme.selection) && has(theme.flow));
    look.emphases = Emphases::default();
    let buffer = look.buffer();
    assert!(!buffer.content.iter().any(|c| c.fg == theme.matched || c.fg == theme.selection));
}

/// Idle time, blamed in turn on a queue, nothing, an engine.
fn idle(spans: &[(i64, i64, u16)]) -> Blame {
    let blamed = vec![Blamed::Queue(0), Blamed::Nothing, Blamed::Engine(0), Blamed::Dispatch];
    let texts = ["qSync\u{1b}DynamicHW", "nothing issued", "Vector", "dispatch"].map(String::from).to_vec();
    let span = |&(start, end, blamed)| Span { start, end, blamed };
    Blame::of(blamed, texts, spans.iter().map(span).collect())
}

#[test]
fn waiting_is_a_thin_line_and_idling_blank() {
    let store = profile();
    let mut look = look(&store, 120, 0, 600);
    look.idle = Some(idle(&[(0, 30, 1), (30, 310, 0), (400, 420, 1), (420, 520, 2), (520, 600, 1)]));
    let scalar = |look: &Look| look.text().lines().find(|l| l.contains("Scalar")).unwrap_or_default().to_owned();
    insta::assert_snapshot!("waiting", scalar(&look));
    look.glyphs = &ASCII;
    insta::assert_snapshot!("waiting_ascii", scalar(&look));
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let store = profile();
    for columns in [80, 200] {
        let text = look(&store, columns, 0, 600).text();
        assert!(!text.contains('\u{1b}'));
        assert!(text.contains(r"All\x1bReduce"), "{text}");
    }
}

#[test]
fn any_size_is_drawn() {
    let store = profile();
    for columns in 1..60 {
        for rows in 0..4 {
            let mut look = look(&store, columns.max(20), 0, 600);
            look.size = (columns, rows);
            look.buffer();
        }
    }
}

proptest! {
    /// Every column shows one of three states: work or a recorded wait, held back, nothing issued.
    #[test]
    fn columns_without_events_show_what_held_the_engine_back(
        events in prop::collection::vec((0i64..20, 1u64..3), 1..12),
        blamed in prop::collection::vec(0u16..4, 1..20),
        start in -2i64..18,
    ) {
        let mut sketch = Sketch::default();
        for (start, length) in &events {
            sketch.instruction(0, Engine::Scalar, "ACTIVATE", start * 10, length * 10);
        }
        let store = sketch.store();
        let spans: Vec<(i64, i64, u16)> = (0..).zip(&blamed).map(|(i, b)| (i * 10, i * 10 + 10, *b)).collect();
        let mut look = look(&store, 80, 0, 1);
        look.grid = Grid::with_width(10, 1, 65).starting_at(start * 10);
        look.size.1 = 2;
        look.idle = Some(idle(&spans));
        let theme = Theme::dark();
        let buffer = look.buffer();
        for k in 0..65i64 {
            let cell = &buffer[(15 + k as u16, 0)];
            let at = start + k;
            let works = events.iter().any(|(from, length)| (*from..from + *length as i64).contains(&at));
            let held = usize::try_from(at).ok().and_then(|at| blamed.get(at)).is_some_and(|b| *b != 1);
            match (works, held) {
                (true, _) => prop_assert!(cell.symbol() != " " && cell.symbol() != UNICODE.wait, "{k}: {:?}", cell),
                // A name stands on the line.
                (false, true) => prop_assert!(cell.fg == theme.wait || cell.fg == theme.semaphore, "{k}: {:?}", cell),
                (false, false) => prop_assert_eq!(cell.symbol(), " ", "{}", k),
            }
        }
    }

    #[test]
    fn panning_moves_what_is_drawn(spans in prop::collection::vec((0i64..400, 0u64..60, any::<bool>()), 1..60), start in 0i64..300, num in 1u64..40, den in 1u64..4, by in -20i64..20) {
        let mut sketch = Sketch::default();
        for &(start, length, wait) in &spans {
            sketch.instruction(0, Engine::Vector, if wait { "EVENT_SEMAPHORE" } else { "COPY" }, start, length);
        }
        let store = sketch.store();
        let line = |by: i64| {
            let mut look = look(&store, 80, 0, 1);
            look.grid = Grid::with_width(num, den, 65).starting_at(start).panned(by);
            look.size.1 = 1;
            let line: Vec<String> = look.buffer().content.iter().skip(15).map(|c| c.symbol().to_owned()).collect();
            line
        };
        let (before, after) = (line(0), line(by));
        // Names keep to the visible part of a slice, so only where there are none must the columns be the same.
        let blank = |s: &str| s.chars().all(|c| c.is_alphanumeric() || "[]_ ".contains(c));
        for k in 0..65i64 {
            if (0..65).contains(&(k + by)) {
                let (a, b) = (&before[(k + by) as usize], &after[k as usize]);
                let filled = |s: &str| blank(s) && s != " " || s == "█" || s == "─";
                prop_assert!(a == b || (filled(a) || a == " ") && (filled(b) || b == " "), "{a} became {b} in column {k}");
            }
        }
    }
}
