//! The ruler above the timeline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::theme::Theme;
use crate::model::time::TimeFormat;
use crate::model::{Grid, Nanos};
use crate::term::glyphs::Glyphs;
use crate::term::text;

/// A labelled tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Its column; its label follows it.
    pub column: u16,
    /// Its time.
    pub time: Nanos,
    /// The time as it is written, without a unit.
    pub label: String,
}

/// The ticks of `grid`: at round times that depend on the width of the columns alone, so that they move with the
/// window, with labels that all differ and never touch.
#[must_use]
pub fn ticks(grid: Grid) -> (TimeFormat, Vec<Tick>) {
    let window = grid.window();
    let largest = window.start.unsigned_abs().max(window.end.unsigned_abs());
    let (num, den) = grid.width();
    let mut steps = (0..19).flat_map(|power| [1, 2, 5].map(|m| m * 10i128.pow(power)));
    let fits = |step: i128| {
        let format = TimeFormat::new(largest, step as u64);
        let widest = [window.start, window.end].map(|t| text::width(&format.text(t)));
        let columns = step * i128::from(den) / i128::from(num);
        (columns >= (widest[0].max(widest[1]) + 3) as i128).then_some((step, format))
    };
    let Some((step, format)) = steps.find_map(fits) else {
        return (TimeFormat::new(largest, window.length()), Vec::new());
    };
    let mut ticks = Vec::new();
    let mut time = i128::from(window.start).div_euclid(step) * step;
    while let Ok(at) = i64::try_from(time.max(i128::from(i64::MIN))) {
        let column = grid.column_of(at);
        if column >= i64::from(grid.columns()) {
            break;
        }
        if let Ok(column) = u16::try_from(column)
            && i128::from(at) == time
        {
            ticks.push(Tick { column, time: at, label: format.number(at) });
        }
        time += step;
    }
    (format, ticks)
}

/// Draws the times of `grid` into the first row of `area`, which is as wide as the grid, with the marks on it.
pub fn draw(area: Rect, grid: Grid, marks: &[(Nanos, Color)], theme: &Theme, glyphs: &Glyphs, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let (format, ticks) = ticks(grid);
    for (i, tick) in ticks.iter().enumerate() {
        let room = area.width.saturating_sub(tick.column + 1);
        let x = area.x + tick.column;
        buffer.set_stringn(
            x,
            area.y,
            glyphs.tick,
            usize::from(area.width - tick.column.min(area.width)),
            Style::new().fg(theme.faint),
        );
        let unit = if format.unit.ns() == 1000 { glyphs.us } else { format.unit.symbol() };
        let label = if i == 0 { format!("{} {unit}", tick.label) } else { tick.label.clone() };
        if text::width(&label) <= usize::from(room) {
            buffer.set_string(x + 1, area.y, label, Style::new().fg(theme.ruler));
        }
    }
    for &(mark, color) in marks {
        if let Some(column) = grid.visible_column(mark).filter(|&c| c < area.width) {
            let style = Style::new().fg(color).add_modifier(Modifier::BOLD);
            buffer.set_string(area.x + column, area.y, glyphs.mark, style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Window;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_differ_and_never_touch(start in -1_000_000_000_000i64..1_000_000_000_000, length in 1u64..1_000_000_000_000, columns in 20u16..300) {
            let grid = Grid::fit(Window::new(start, start.saturating_add_unsigned(length)), columns);
            let (_, ticks) = ticks(grid);
            for pair in ticks.windows(2) {
                prop_assert_ne!(&pair[0].label, &pair[1].label);
                let end = usize::from(pair[0].column) + 1 + text::width(&pair[0].label);
                prop_assert!(end < usize::from(pair[1].column), "{pair:?}");
            }
            for tick in &ticks {
                prop_assert_eq!(i64::from(tick.column), grid.column_of(tick.time));
            }
        }

        #[test]
        fn ticks_move_with_the_window(start in 100_000i64..1_000_000, num in 1u64..5000, den in 1u64..9, by in -40i64..40) {
            let grid = Grid::with_width(num, den, 100).starting_at(start);
            let (format, before) = ticks(grid);
            let (format_after, after) = ticks(grid.panned(by));
            // Where the unit changes, so may the step.
            if format == format_after && before.first().map(|t| t.label.len()) == after.first().map(|t| t.label.len()) {
                for tick in &before {
                    let column = i64::from(tick.column) - by;
                    if (0..100).contains(&column) && after.len() == before.len() {
                        prop_assert!(after.iter().any(|t| t.time == tick.time && i64::from(t.column) == column));
                    }
                }
            }
        }

        #[test]
        fn extreme_windows_have_a_ruler(a: i64, b: i64, columns in 1u16..300) {
            let _ = ticks(Grid::fit(Window::new(a.min(b), a.max(b)), columns));
        }
    }

    #[test]
    fn times_are_round_at_every_zoom() {
        let labels = |start, end, columns| -> String {
            let (format, ticks) = ticks(Grid::fit(Window::new(start, end), columns));
            let labels: Vec<String> = ticks.into_iter().map(|t| t.label.replace('\u{2009}', " ")).collect();
            format!("{} {}", labels.join(" | "), format.unit.symbol())
        };
        assert_eq!(labels(17_200, 19_900, 80), "17.5 | 18.0 | 18.5 | 19.0 | 19.5 µs");
        assert_eq!(labels(0, 1_000_000, 60), "0.0 | 0.2 | 0.4 | 0.6 | 0.8 ms");
        assert_eq!(
            labels(18_172_000, 18_172_010, 80),
            "18.172 000 | 18.172 002 | 18.172 004 | 18.172 006 | 18.172 008 ms"
        );
    }
}
