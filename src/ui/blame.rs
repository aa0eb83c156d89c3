//! A line of what the idle time of an engine waited for, coloured by cause.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::look::Look;
use crate::model::Grid;
use crate::query::blame::{Blame, Blamed};
use crate::term::text;

/// The colour of a cause.
fn color(blamed: &Blamed, text: &str, look: &Look) -> Color {
    let theme = &look.theme;
    match blamed {
        Blamed::Engine(name) => theme.engine(name),
        Blamed::Queue(_) => theme.category_of(text),
        Blamed::Bank(..) => theme.psum_bank,
        Blamed::Semaphore(_) | Blamed::Unrecorded(_) => theme.semaphore,
        Blamed::Dispatch => theme.ordered,
        Blamed::Nothing => theme.faint,
    }
}

/// Draws the line into `row`, whose columns are those of `grid`. A column shows the cause of most of its idle time, and
/// nothing where the engine works all the time.
pub fn draw(blame: &Blame, grid: Grid, row: Rect, buffer: &mut Buffer, look: &Look) {
    let columns: Vec<Option<u16>> =
        (0..row.width.min(grid.columns())).map(|k| blame.main(grid.cell(i64::from(k)))).collect();
    let mut from = 0;
    while from < columns.len() {
        let to = (from..columns.len()).find(|&i| columns[i] != columns[from]).unwrap_or(columns.len());
        if let Some(at) = columns[from].map(usize::from)
            && let (Some(blamed), Some(name)) = (blame.blamed.get(at), blame.texts.get(at))
        {
            let style = Style::new().fg(color(blamed, name, look));
            let glyph = match blamed {
                Blamed::Nothing => look.glyphs.dot,
                _ => look.glyphs.levels[2],
            };
            for i in from..to {
                buffer.set_stringn(row.x + i as u16, row.y, glyph, 1, style);
            }
            let room = to - from;
            if text::width(name) + 2 <= room {
                buffer.set_string(row.x + from as u16 + 1, row.y, text::escape(name), style);
            } else if room >= 6 {
                buffer.set_string(row.x + from as u16 + 1, row.y, text::truncate(name, room - 2), style);
            }
        }
        from = to;
    }
}
