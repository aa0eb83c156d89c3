//! A line of what the idle time of an engine waited for, coloured by cause.

use std::collections::BTreeMap;

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
        Blamed::Engine(_) => theme.engine(text),
        Blamed::Queue(_) | Blamed::Group(..) => theme.category_of(text),
        Blamed::Bank(..) => theme.psum_bank,
        Blamed::Semaphore(_) | Blamed::Unrecorded(_) => theme.semaphore,
        Blamed::Dispatch => theme.ordered,
        Blamed::Nothing => theme.faint,
    }
}

/// What tells causes apart, and which of them are shown.
#[derive(Clone, Copy, Default)]
pub struct Legend<'a> {
    /// The letters of causes, for where there are no colours.
    pub letters: Option<&'a BTreeMap<String, char>>,
    /// The only cause that is shown.
    pub only: Option<&'a str>,
}

impl Legend<'_> {
    /// What stands for a cause in a line, and in which colour.
    #[must_use]
    pub fn sign(&self, blamed: &Blamed, text: &str, look: &Look) -> (String, Color) {
        let letter = self.letters.filter(|_| look.plain).and_then(|letters| letters.get(text));
        let sign = match (blamed, letter) {
            (Blamed::Nothing, _) => look.glyphs.dot.to_owned(),
            (_, Some(letter)) => letter.to_string(),
            (_, None) => look.glyphs.levels[2].to_owned(),
        };
        (sign, color(blamed, text, look))
    }
}

/// Draws the line into `row`, whose columns are those of `grid`. A column shows the cause of most of its idle time, and
/// nothing where the engine works all the time; where only one cause is shown, how much of the column it fills.
pub fn draw(blame: &Blame, legend: Legend, grid: Grid, row: Rect, buffer: &mut Buffer, look: &Look) {
    let cells = (0..row.width.min(grid.columns())).map(|k| grid.cell(i64::from(k)));
    if let Some(only) = legend.only {
        let Some(at) = blame.texts.iter().position(|text| text == only) else { return };
        let style = Style::new().fg(color(&blame.blamed[at], only, look));
        for (x, cell) in (row.x..).zip(cells) {
            let (part, whole) = (blame.part(cell, at as u16), cell.length().max(1));
            if part > 0 {
                let level = (part.saturating_mul(8).div_ceil(whole).clamp(1, 8) - 1) as usize;
                buffer.set_stringn(x, row.y, look.glyphs.levels[level], 1, style);
            }
        }
        return;
    }
    let columns: Vec<Option<u16>> = cells.map(|cell| blame.main(cell)).collect();
    let mut from = 0;
    while from < columns.len() {
        let to = (from..columns.len()).find(|&i| columns[i] != columns[from]).unwrap_or(columns.len());
        if let Some(at) = columns[from].map(usize::from)
            && let (Some(blamed), Some(name)) = (blame.blamed.get(at), blame.texts.get(at))
        {
            let (sign, color) = legend.sign(blamed, name, look);
            let style = Style::new().fg(color);
            for i in from..to {
                buffer.set_stringn(row.x + i as u16, row.y, &sign, 1, style);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Window;
    use crate::query::blame::Span;

    fn shown(look: &Look, legend: Legend) -> String {
        let blamed = vec![Blamed::Queue(0), Blamed::Nothing, Blamed::Dispatch];
        let texts = ["q\u{1b}", "nothing issued", "dispatch"].map(String::from).to_vec();
        let span = |(start, end, blamed)| Span { start, end, blamed };
        let spans = vec![span((0, 36, 0)), span((36, 40, 2)), span((60, 80, 1)), span((80, 95, 2))];
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 1));
        let grid = Grid::fit(Window::new(0, 100), 10);
        draw(&Blame::of(blamed, texts, spans), legend, grid, buffer.area, &mut buffer, look);
        buffer.content.iter().map(|c| c.symbol()).collect()
    }

    #[test]
    fn causes_are_told_apart_with_and_without_colours_and_alone() {
        let (look, plain) = (Look::default(), Look { plain: true, ..Look::default() });
        let letters = BTreeMap::from([("q\u{1b}".into(), 'a'), ("dispatch".into(), 'b')]);
        let legend = Legend { letters: Some(&letters), only: None };
        assert_eq!(shown(&look, legend), "▃▃▃▃  ··▃▃");
        assert_eq!(shown(&plain, legend), "aaaa  ··bb");
        assert_eq!(shown(&look, Legend { only: Some("dispatch"), ..legend }), "   ▄    █▄");
        assert_eq!(shown(&look, Legend { only: Some("elsewhere"), ..legend }), "          ");
    }
}
