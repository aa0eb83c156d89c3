//! The timeline: labels, and rows of slices, counters and moments.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::palette::Palette;
use super::slices::Slices;
use super::theme::Theme;
use super::{labels, levels};
use crate::model::{Grid, Nanos, Window};
use crate::query::blame::Blame;
use crate::query::tracks::{Content, Kind, Node};
use crate::query::viewport::{self, Body, Row};
use crate::store::{Level, Store};
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
    /// Whether it is pinned to the top, away from its group.
    pub pinned: bool,
    /// Of an engine, its idle time explained, where that is known.
    pub idle: Option<&'a Blame>,
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
    /// Times of marks, with their colours.
    pub marks: &'a [(Nanos, Color)],
    /// What colours tell apart.
    pub coloring: Coloring,
    /// Whether events that do not stand out are dimmed.
    pub dim_others: bool,
    /// Whether the terminal shows no colours, so that shapes must tell what stands out.
    pub plain: bool,
    /// Colours.
    pub theme: &'a Theme,
    /// Glyphs.
    pub glyphs: &'a Glyphs,
}

impl Timeline<'_> {
    /// Draws into `area`: labels in its first [`labels::width`] columns, the grid in the rest.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let label = labels::width(area.width).min(area.width);
        let windows = viewport::cells(self.grid);
        let palette = Palette::new(self.theme, self.coloring);
        let mut y = area.y;
        for (i, line) in self.lines.iter().enumerate() {
            let height = line.height.max(1).min(area.bottom().saturating_sub(y));
            if height == 0 {
                break;
            }
            let columns = self.grid.columns().min(area.width - label);
            let row = Rect { x: area.x + label, y, width: columns, height };
            let names = Rect { x: area.x, y, width: label, height: 1 };
            let ground = if self.current == Some(i) { self.theme.current_row } else { self.theme.background };
            buffer.set_style(Rect { x: area.x, y, width: area.width, height }, Style::new().bg(ground));
            labels::draw(names, line, self.theme, self.glyphs, buffer);
            if self.current == Some(i) && self.plain {
                buffer.set_style(names, Style::new().add_modifier(Modifier::REVERSED));
            }
            self.row(line, row, &windows, &palette, buffer);
            self.overlay(i, row, buffer);
            y += height;
        }
    }

    fn row(&self, line: &Line, row: Rect, windows: &[Window], palette: &Palette, buffer: &mut Buffer) {
        let theme = self.theme;
        match &line.row.body {
            Body::Blank => {}
            Body::Missing(why) => {
                buffer.set_stringn(row.x, row.y, why, usize::from(row.width), Style::new().fg(theme.dim));
            }
            Body::Levels(found) => {
                // A limit below full speed is worth a look, full speed is not.
                let counter = match &line.node.content {
                    Content::Counter(counter) => self.store.counters.get(*counter as usize),
                    _ => None,
                };
                let limit = counter.is_some_and(|c| c.key.table == "Throttle");
                let color = |level: &Level| match limit {
                    true if level.min < 100.0 => theme.throttle,
                    true => theme.faint,
                    false => theme.counter,
                };
                levels::draw(self, row, found, line.node.scale, color, buffer);
            }
            Body::Shares(shares) if line.node.kind == Kind::Instants => {
                let visible = shares.iter().skip(1).take(usize::from(row.width));
                for (k, _) in visible.enumerate().filter(|(_, share)| **share > 0.0) {
                    buffer.set_string(row.x + k as u16, row.y, self.glyphs.instant, Style::new().fg(theme.counter));
                }
            }
            Body::Shares(shares) => {
                let flat = |&s: &f32| (s > 0.0).then(|| Level { min: 0.0, mean: f64::from(s), max: f64::from(s) });
                let found: Vec<Option<Level>> = shares.iter().map(flat).collect();
                let color = if line.node.label == "DMA" { theme.engine_dma } else { theme.counter };
                levels::draw(self, row, &found, line.node.scale, |_| color, buffer);
            }
            Body::Events { table: index, cells, steps } => {
                let Some(table) = self.store.events.get(usize::from(*index)) else { return };
                if steps.iter().any(Option::is_some) {
                    levels::draw(self, row, steps, line.node.scale, |_| theme.dim, buffer);
                    for (k, _) in
                        cells.iter().skip(1).take(usize::from(row.width)).enumerate().filter(|(_, c)| c.count > 0)
                    {
                        buffer
                            .set_style(Rect { x: row.x + k as u16, width: 1, ..row }, Style::new().fg(theme.semaphore));
                    }
                    return;
                }
                let emphasis = &line.row.emphasis;
                let (node, idle) = (line.node, line.idle);
                let slices =
                    Slices { timeline: self, palette, table, index: *index, node, cells, windows, emphasis, idle };
                let runs = slices.runs();
                for below in 0..row.height {
                    slices.draw(&runs, row.x, row.y + below, below > 0, buffer);
                }
            }
        }
    }

    /// The area, marks and the cursor, over what a row shows.
    fn overlay(&self, line: usize, row: Rect, buffer: &mut Buffer) {
        if let Some((window, lines)) = &self.area
            && lines.contains(&line)
        {
            let from = self.grid.column_of(window.start).clamp(0, i64::from(row.width)) as u16;
            let to = (self.grid.column_of(window.end - 1) + 1).clamp(0, i64::from(row.width)) as u16;
            let part = Rect { x: row.x + from, width: to.saturating_sub(from), ..row };
            buffer.set_style(part, Style::new().bg(self.theme.area));
        }
        for &(mark, color) in self.marks {
            self.upright(mark, row, color, buffer);
        }
        if let Some(time) = self.cursor {
            self.upright(time, row, self.theme.cursor, buffer);
        }
    }

    /// A vertical line at a time: it stands in blank columns and on fills, and shows behind anything else.
    fn upright(&self, time: Nanos, row: Rect, color: Color, buffer: &mut Buffer) {
        let Some(column) = self.grid.visible_column(time).filter(|&c| c < row.width) else { return };
        for y in row.y..row.bottom() {
            let Some(cell) = buffer.cell_mut((row.x + column, y)) else { continue };
            let symbol = cell.symbol();
            if symbol == " " || symbol.is_empty() {
                cell.set_symbol(self.glyphs.cursor).set_fg(color);
            } else if symbol == self.glyphs.full && !self.plain {
                let fill = cell.fg;
                cell.set_symbol(self.glyphs.cursor).set_fg(self.theme.text_on(fill)).set_bg(fill);
            } else if cell.bg == self.theme.background || cell.bg == self.theme.current_row {
                cell.set_bg(self.theme.area);
            }
        }
    }
}

#[cfg(test)]
mod tests;
