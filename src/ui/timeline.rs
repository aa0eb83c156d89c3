//! The timeline: labels, and rows of slices, counters and moments.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::labels;
use super::theme::Theme;
use crate::model::{Grid, Nanos, Window};
use crate::query::tracks::Node;
use crate::query::viewport::Row;
use crate::store::{EventRef, Store};
use crate::term::glyphs::Glyphs;

/// What colours tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coloring {
    /// The framework operator.
    #[default]
    Operator,
    /// The opcode, queue or operation.
    Opcode,
    /// The engine.
    Engine,
    /// The layer of the model.
    Layer,
    /// The line of source code.
    SourceLine,
}

/// One track on screen.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The track.
    pub node: &'a Node,
    /// What it shows.
    pub row: &'a Row,
    /// Lines of the screen that it takes.
    pub height: u16,
    /// Whether what lies below it is hidden.
    pub folded: bool,
}

/// The tracks on screen, from top to bottom.
pub struct Timeline<'a> {
    /// The profile.
    pub store: &'a Store,
    /// The columns.
    pub grid: Grid,
    /// The tracks.
    pub lines: &'a [Line<'a>],
    /// Position in `lines` of the current track.
    pub current: Option<usize>,
    /// The time cursor.
    pub cursor: Option<Nanos>,
    /// The selected area: a time and positions in `lines`.
    pub area: Option<(Window, Range<usize>)>,
    /// Times of marks.
    pub marks: &'a [Nanos],
    /// What colours tell apart.
    pub coloring: Coloring,
    /// Whether events that do not stand out are dimmed.
    pub dim_others: bool,
    /// What to write on a wait, where more is known than the event's name.
    pub wait_note: Option<&'a dyn Fn(EventRef) -> Option<String>>,
    /// Colours.
    pub theme: &'a Theme,
    /// Glyphs.
    pub glyphs: &'a Glyphs,
}

impl Timeline<'_> {
    /// Draws into `area`: labels in its first [`labels::width`] columns, the grid in the rest.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let mut y = area.y;
        for line in self.lines {
            if y >= area.bottom() {
                return;
            }
            let row = Rect { x: area.x, y, width: labels::width(area.width), height: 1 };
            labels::draw(row, line.node, line.folded, line.row.figure, self.theme, self.glyphs, buffer);
            y += line.height.max(1);
        }
    }
}
