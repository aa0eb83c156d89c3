//! What is under the cursor or the pointer, on one line: operands first, symbolic where there are.

use super::App;
use super::facts::Fact;
use super::scene::Selection;
use crate::model::format::format_rate;
use crate::model::time::{format_duration, format_time};
use crate::query::details::text_of;
use crate::query::place::track_name;
use crate::query::tracks::{Content, Quantity};
use crate::query::viewport::{self, Figure};
use crate::store::{EventRef, Measure, flag};
use crate::term::text::clip;
use crate::ui::bars::Segment;
use crate::ui::labels;

/// Longer operands do not fit on any line, in bytes.
const MOST_TEXT: usize = 2000;

/// The parts of the line.
#[must_use]
pub fn parts(app: &App) -> Vec<Segment> {
    let mut parts = match (&app.scene.area, selected_gap(app), app.pointed()) {
        (Some(area), ..) => area_parts(app, area),
        (None, Some(gap), _) => {
            let mut parts = super::causes::segments(app, gap);
            parts.extend(node_parts(app));
            parts
        }
        (None, None, Some(event)) => {
            let mut parts = super::causes::segments(app, &Selection::Event(event));
            parts.extend(event_parts(app, event));
            parts
        }
        (None, None, None) => node_parts(app),
    };
    if let Some(mark) = app.marking.marks().nearest(app.scene.view.cursor()) {
        let cursor = app.scene.view.cursor();
        // The nearer edge of a span.
        let edge =
            if mark.start_ns.abs_diff(cursor) <= mark.end().abs_diff(cursor) { mark.start_ns } else { mark.end() };
        let sign = if cursor < edge { "-" } else { "+" };
        let delta = format_duration(cursor.abs_diff(edge));
        let text = format!("{} {sign}{delta} {}", app.look.glyphs.delta, mark.name);
        parts.insert(1.min(parts.len()), Segment::new(text).colored(super::marking::color(&app.look.theme, mark)));
    }
    if app.search.active() {
        parts.insert(0, Segment::new(app.search.counter()).colored(app.look.theme.value));
    }
    parts
}

/// The gap that is selected, while the cursor is in it.
fn selected_gap(app: &App) -> Option<&Selection> {
    let selection = app.scene.selection.as_ref().filter(|_| app.pointer.is_none())?;
    let cursor = app.scene.view.cursor();
    matches!(selection, Selection::Gap { window, .. } if (window.start..window.end).contains(&cursor))
        .then_some(selection)
}

fn event_parts(app: &App, event: EventRef) -> Vec<Segment> {
    let store = &app.scene.store;
    let theme = &app.look.theme;
    let table = store.table_of(event);
    let e = event.event;
    let fact: Option<&Fact> = app.scene.facts.get(event).and_then(|read| read.as_ref().as_ref().ok());
    let text = |names: &[&str]| fact.and_then(|f| text_of(&f.fields, names)).map(std::borrow::Cow::into_owned);
    let mut parts = Vec::new();
    let operands = text(&["symbolic_operands", "operands", "compiler_operands"]).or_else(|| transfer(&text));
    if let Some(operands) = operands {
        parts.push(Segment::new(clip(&operands, MOST_TEXT)).colored(theme.value).elastic());
    }
    parts.push(Segment::new(format_time(table.start(e), 1)));
    parts.push(Segment::new(format_duration(table.lengths.at(e as usize))));
    parts.push(Segment::new(table.event_name(e)).colored(theme.title));
    if let Some(at) = table.measure_index(Measure::Bytes) {
        let bytes = *table.measures[at].1.at(e as usize);
        if bytes > 0 {
            parts.push(Segment::new(crate::model::format::format_bytes(bytes)));
        }
    }
    let hierarchy = text(&["layer"]).or_else(|| {
        let operator = table.text(crate::store::LabelKind::Operator, e);
        (!operator.is_empty()).then(|| operator.to_owned())
    });
    parts.extend(hierarchy.map(Segment::new));
    parts.extend(text(&["hlo_name"]).map(Segment::new));
    let kind = text(&["tensor_instruction_type", "instruction_type", "queue_type", "op"]);
    let transposes = table.flags[e as usize] & flag::TRANSPOSE != 0;
    parts.extend(kind.or_else(|| transposes.then(|| "TRANSPOSE".into())).map(|k| Segment::new(k).colored(theme.dim)));
    parts.extend(text(&["pc"]).map(|pc| Segment::new(format!("pc {pc}"))));
    let source = text(&["nki_source_location", "bir_debug_info_source_location"]);
    parts.extend(source.map(|s| Segment::new(s).colored(theme.info)));
    parts.push(Segment::new(track_name(store, table, e)).colored(theme.dim));
    parts
}

/// Where a transfer goes from and to.
fn transfer(text: &impl Fn(&[&str]) -> Option<String>) -> Option<String> {
    let (source, dest) = (text(&["source"]), text(&["dest"]));
    let variable = text(&["variable"]).filter(|v| !v.starts_with("unknown"));
    match (source, dest, variable) {
        (Some(a), Some(b), Some(v)) => Some(format!("{a} -> {b} {v}")),
        (Some(a), Some(b), None) => Some(format!("{a} -> {b}")),
        (_, _, variable) => variable,
    }
}

fn area_parts(app: &App, area: &super::area::Area) -> Vec<Segment> {
    let window = area.window();
    let tracks = area.tracks(|key| app.scene.row_of(key)).map_or(0, |(a, b)| b - a + 1);
    vec![
        Segment::new("area").colored(app.look.theme.title),
        Segment::new(format_duration(window.length())),
        Segment::new(format!("{} to {}", format_time(window.start, 1), format_time(window.end, 1))),
        Segment::new(format!("{tracks} {}", if tracks == 1 { "track" } else { "tracks" })),
    ]
}

/// What the current track shows where no event is: a value, the share of a group, or that nothing runs.
fn node_parts(app: &App) -> Vec<Segment> {
    let scene = &app.scene;
    let Some(node) = scene.node() else { return Vec::new() };
    let theme = &app.look.theme;
    let cell = scene.cursor_cell();
    let time = Segment::new(format_time(scene.view.cursor(), 1));
    let name = Segment::new(node.full.clone()).colored(theme.title);
    let figure = viewport::figure(&scene.store, node, cell);
    let mut parts = vec![name, time];
    match &node.content {
        Content::Missing(why) => parts.push(Segment::new(*why).colored(theme.dim)),
        Content::Pending => parts.push(Segment::new("still being indexed").colored(theme.dim)),
        Content::Events { .. } => parts.push(Segment::new("nothing runs here").colored(theme.dim)),
        Content::Group(None) => {}
        Content::Group(Some(activity)) => {
            let shown = figure.map(|f| labels::figure(f, node.quantity)).unwrap_or_default();
            let what = if matches!(figure, Some(Figure::Count(_))) { "in" } else { "% active, mean of" };
            parts.push(Segment::new(format!("{shown} {what} {} tracks", activity.tracks.len())));
        }
        Content::Counter(counter) => match scene.store.counters.get(*counter as usize).and_then(|c| c.level(cell)) {
            Some(level) => {
                parts.push(Segment::new(amount(level.mean, node.quantity)).colored(theme.value));
                if level.min < level.max {
                    let (least, most) = (amount(level.min, node.quantity), amount(level.max, node.quantity));
                    parts.push(Segment::new(format!("from {least} to {most}")).colored(theme.dim));
                }
            }
            None => parts.push(Segment::new("not recorded here").colored(theme.dim)),
        },
        Content::Rate(_) => match figure {
            Some(Figure::Mean(mean)) => parts.push(Segment::new(amount(mean, node.quantity)).colored(theme.value)),
            _ => parts.push(Segment::new("not recorded here").colored(theme.dim)),
        },
    }
    parts
}

/// A counter's value with its unit.
fn amount(value: f64, quantity: Quantity) -> String {
    match quantity {
        Quantity::Percent => format!("{value:.1} %"),
        Quantity::BytesPerSecond => format_rate(value),
        Quantity::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Quantity::Count => format!("{value:.2}"),
    }
}
