//! The column of labels at the left of the timeline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use super::theme::Theme;
use super::timeline::Line;
use crate::query::tracks::Quantity;
use crate::query::viewport::Figure;
use crate::term::glyphs::Glyphs;
use crate::term::text;

/// Below this many columns, labels are short.
pub const NARROW: u16 = 100;

/// Columns of the label column on a screen of `columns` columns, the gap before the timeline included.
#[must_use]
pub fn width(columns: u16) -> u16 {
    match columns {
        0..40 => 10.min(columns / 2),
        40..NARROW => 15,
        NARROW..160 => 20,
        _ => 24,
    }
}

/// Columns that a figure takes.
const FIGURE: usize = 4;

/// A figure in at most four columns: `62`, `<1`, `18G`.
#[must_use]
pub fn figure(figure: Figure, quantity: Quantity) -> String {
    match (figure, quantity) {
        (Figure::Active(share), _) => percent(share * 100.0),
        (Figure::Mean(mean), Quantity::Percent) => percent(mean),
        (Figure::Mean(mean), _) => short(mean),
        (Figure::Count(count), _) => short(count as f64),
    }
}

/// Whole percents without the sign; what is more than nothing never reads as nothing, nor less than all as all.
#[must_use]
pub fn percent(percent: f64) -> String {
    match percent {
        p if !p.is_finite() => String::new(),
        p if p > 0.0 && p < 0.5 => "<1".into(),
        p if p > 99.5 && p < 100.0 => ">99".into(),
        p => format!("{p:.0}"),
    }
}

/// A number in at most four columns.
fn short(value: f64) -> String {
    let (mut value, mut unit) = (value, 0);
    while value.abs() >= 999.5 && unit + 1 < 7 {
        (value, unit) = (value / 1000.0, unit + 1);
    }
    let suffix = ["", "k", "M", "G", "T", "P", "E"][unit];
    if value != 0.0 && value.abs() < 9.95 && value.fract() != 0.0 {
        format!("{value:.1}{suffix}")
    } else {
        format!("{value:.0}{suffix}")
    }
}

/// Draws the label of one track into the first row of `area`, which is the label column.
pub fn draw(area: Rect, line: &Line, theme: &Theme, glyphs: &Glyphs, buffer: &mut Buffer) {
    let node = line.node;
    let columns = usize::from(area.width.saturating_sub(1));
    if columns == 0 || area.height == 0 {
        return;
    }
    let narrow = columns < usize::from(width(NARROW)) - 1;
    let arrow = match (node.children.is_empty(), line.folded) {
        (true, _) if line.pinned => glyphs.up,
        (true, _) => " ",
        (false, true) => glyphs.folded,
        (false, false) => glyphs.unfolded,
    };
    let indent = if narrow { 0 } else { usize::from(node.depth.min(4)) };
    let figure = line.row.figure.map(|f| figure(f, node.quantity)).unwrap_or_default();
    let room = columns.saturating_sub(indent + if narrow { 1 } else { 2 });
    let name_room = room.saturating_sub(if figure.is_empty() { 0 } else { text::width(&figure).max(FIGURE - 1) + 1 });
    let name = match (narrow, line.pinned) {
        (true, _) => &node.short,
        (false, true) => &node.full,
        (false, false) => &node.label,
    };
    let style = ratatui::style::Style::new().fg(theme.label);
    let (x, y) = (area.x + indent as u16, area.y);
    buffer.set_stringn(x, y, arrow, 1, style.fg(theme.dim));
    let x = x + if narrow { 1 } else { 2 };
    let style = if node.depth == 0 { style.add_modifier(Modifier::BOLD) } else { style };
    buffer.set_string(x, y, text::truncate_middle(name, name_room), style);
    if !figure.is_empty() {
        let at = area.x + (columns - text::width(&figure).min(columns)) as u16;
        buffer.set_stringn(at, y, figure, columns, style.fg(theme.value).remove_modifier(Modifier::BOLD));
    }
}
