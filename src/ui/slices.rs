//! A row of events: slices, waits, moments, and columns that merge many.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::palette::Palette;
use super::timeline::Timeline;
use crate::model::Window;
use crate::query::blame::Blame;
use crate::query::emphasis::Emphasis;
use crate::query::tracks::Node;
use crate::store::{Cell, EventTable, LabelKind, flag};
use crate::term::text;

/// What one column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// Nothing.
    Idle,
    /// One event, or the end of one and the start of another that the next column shows.
    One(u32),
    /// An instruction that only waits, and nothing else.
    Wait(u32),
    /// No instruction, but something that the next one waits for, by its position in [`Blame::blamed`].
    Held(u16),
    /// Several events; the one that stands for them.
    Many(u32),
}

/// A run of columns that show the same.
pub(super) struct Run {
    column: Column,
    /// First and last entry of the row's cells.
    from: usize,
    to: usize,
    emphasis: Emphasis,
    /// The colour of what works here.
    fill: Color,
}

/// A row of events being drawn.
pub(super) struct Slices<'a> {
    pub timeline: &'a Timeline<'a>,
    pub palette: &'a Palette<'a>,
    pub table: &'a EventTable,
    pub index: u16,
    pub node: &'a Node,
    /// One per column, one more on the left and two on the right, and the time that each shows.
    pub cells: &'a [Cell],
    pub windows: &'a [Window],
    pub emphasis: &'a [Emphasis],
    /// The idle time of the track explained, where that is known.
    pub idle: Option<&'a Blame>,
}

impl Slices<'_> {
    /// What the row shows, from left to right.
    pub fn runs(&self) -> Vec<Run> {
        let columns: Vec<Column> = (0..self.cells.len()).map(|i| self.column(i)).collect();
        let mut runs = Vec::new();
        let mut from = 0;
        while from < columns.len() {
            let (column, emphasis) = (columns[from], self.emphasis_at(from));
            let joins = !matches!(column, Column::Many(_));
            let mut to = from;
            while joins && to + 1 < columns.len() && columns[to + 1] == column && self.emphasis_at(to + 1) == emphasis {
                to += 1;
            }
            if column != Column::Idle {
                runs.push(Run { column, from, to, emphasis, fill: Color::Reset });
            }
            from = to + 1;
        }
        // The labels of all before any is looked up: they lie far apart in memory, and can be fetched at once.
        let working = |run: &Run| match run.column {
            Column::One(e) | Column::Many(e) => Some((e, self.palette.key(self.table, e))),
            Column::Idle | Column::Wait(_) | Column::Held(_) => None,
        };
        let keys: Vec<_> = runs.iter().map(working).collect();
        for (run, key) in runs.iter_mut().zip(keys) {
            if let Some((e, key)) = key {
                run.fill = self.fill(e, key, run.emphasis);
            }
        }
        runs
    }

    /// Draws into the line `y`, from `x` on, one column per cell between the outer ones. `second`
    /// is set for lines below the first of a tall row: they name the operator.
    pub fn draw(&self, runs: &[Run], x: u16, y: u16, second: bool, buffer: &mut Buffer) {
        for run in runs {
            match run.column {
                Column::Idle => {}
                Column::Many(e) => self.many(run, e, x, y, buffer),
                Column::Wait(e) => {
                    let whole = Window::new(self.windows[run.from].start, self.windows[run.to].end);
                    let cause = self.idle.and_then(|idle| idle.held(whole));
                    let name = cause.map_or_else(|| self.table.event_name(e), |cause| self.cause(cause));
                    self.wait(run, name, x, y, second, buffer);
                }
                Column::Held(cause) => self.wait(run, self.cause(cause), x, y, second, buffer),
                Column::One(e) => self.one(run, e, x, y, second, buffer),
            }
        }
    }

    fn emphasis_at(&self, i: usize) -> Emphasis {
        self.emphasis.get(i).copied().unwrap_or_default()
    }

    fn column(&self, i: usize) -> Column {
        let cell = &self.cells[i];
        let Some(e) = cell.event else {
            return self.idle.and_then(|idle| idle.held(self.windows[i])).map_or(Column::Idle, Column::Held);
        };
        if !self.table.is_work(e) {
            return Column::Wait(e);
        }
        match cell.count {
            0 => Column::One(e),
            1 if self.table.start(e) >= self.windows[i].start => Column::One(e),
            // Another event starts here: it is seen if it goes on to the next column.
            1 => match self.cells.get(i + 1).and_then(|next| next.event) {
                Some(next) if next != e && self.windows[i].contains(self.table.start(next)) => Column::One(e),
                _ => Column::Many(e),
            },
            _ => Column::Many(e),
        }
    }

    /// The fill of an event's columns: what stands out has its own, and may dim all others.
    fn fill(&self, e: u32, key: Option<(LabelKind, u32)>, emphasis: Emphasis) -> Color {
        let theme = self.timeline.theme;
        match self.palette.emphasis(emphasis) {
            Some(color) => color,
            None if self.timeline.dim_others || self.outside(e) => theme.faint,
            None => self.palette.color(self.table, self.index, key, self.node),
        }
    }

    /// Whether an event lies outside the measured execution.
    fn outside(&self, e: u32) -> bool {
        self.table.flags[e as usize] & flag::OUTSIDE != 0
    }

    /// Without colours, shapes tell what stands out: left edge, right edge, a single column.
    fn shapes(&self, emphasis: Emphasis) -> Option<[&'static str; 3]> {
        if !self.timeline.plain {
            return None;
        }
        match emphasis {
            Emphasis::None => None,
            Emphasis::Selected | Emphasis::CurrentMatch => Some(["<", ">", "@"]),
            Emphasis::Match | Emphasis::SameName => Some(["(", ")", "o"]),
            _ => Some(["{", "}", "+"]),
        }
    }

    fn modifier(&self, emphasis: Emphasis) -> Modifier {
        match emphasis {
            Emphasis::None if self.timeline.dim_others && self.timeline.plain => Modifier::DIM,
            Emphasis::None => Modifier::empty(),
            _ => Modifier::BOLD,
        }
    }

    fn event_modifier(&self, e: u32, emphasis: Emphasis) -> Modifier {
        match emphasis {
            Emphasis::None if self.timeline.plain && self.outside(e) => Modifier::DIM,
            _ => self.modifier(emphasis),
        }
    }

    fn put(&self, i: usize, x: u16, y: u16, symbol: &str, style: Style, buffer: &mut Buffer) {
        let visible = i.checked_sub(1).filter(|&k| k + 3 < self.cells.len());
        if let Some(k) = visible
            && let Some(cell) = buffer.cell_mut((x.saturating_add(k as u16), y))
        {
            cell.set_symbol(symbol).set_style(style);
        }
    }

    fn many(&self, run: &Run, e: u32, x: u16, y: u16, buffer: &mut Buffer) {
        let glyphs = self.timeline.glyphs;
        let cell = &self.cells[run.from];
        let share = cell.active as f64 / self.windows[run.from].length() as f64;
        let shade = match self.shapes(run.emphasis) {
            Some([_, _, single]) => single,
            None if cell.busy == 0 => glyphs.merged,
            None => glyphs.shades[((share * 3.0) as usize).min(2)],
        };
        let style = Style::new().fg(run.fill).add_modifier(self.event_modifier(e, run.emphasis));
        self.put(run.from, x, y, shade, style, buffer);
    }

    /// A cause of waiting in words; the track's own core goes without saying.
    fn cause(&self, at: u16) -> &str {
        let text = self.idle.and_then(|idle| idle.texts.get(usize::from(at))).map_or("", String::as_str);
        let own = self.node.core.map(|core| format!("(nc{core})"));
        own.and_then(|own| text.strip_suffix(own.as_str())).unwrap_or(text)
    }

    /// A thin line, with `name` on it where there is room.
    fn wait(&self, run: &Run, name: &str, x: u16, y: u16, second: bool, buffer: &mut Buffer) {
        let (glyphs, theme) = (self.timeline.glyphs, self.timeline.theme);
        let color = self.palette.emphasis(run.emphasis).unwrap_or(match self.timeline.dim_others {
            true => theme.faint,
            false => theme.wait,
        });
        let style = Style::new().fg(color).add_modifier(self.modifier(run.emphasis));
        for i in run.from..=run.to {
            self.put(i, x, y, glyphs.wait, style, buffer);
        }
        if let Some([left, right, _]) = self.shapes(run.emphasis) {
            self.put(run.to, x, y, right, style, buffer);
            self.put(run.from, x, y, left, style, buffer);
        }
        let (from, to) = self.visible(run);
        let room = (to + 1).saturating_sub(from);
        if second || room < 6 {
            return;
        }
        let width = text::width(name);
        if width > 0 && width + 4 <= room {
            let style = style.fg(theme.semaphore);
            let at = from + (room - width - 2) / 2;
            self.write(at, &format!(" {} ", text::escape(name)), width + 2, style, x, y, buffer);
        }
    }

    fn one(&self, run: &Run, e: u32, x: u16, y: u16, second: bool, buffer: &mut Buffer) {
        let (glyphs, theme) = (self.timeline.glyphs, self.timeline.theme);
        let fill = run.fill;
        let modifier = self.event_modifier(e, run.emphasis);
        let shape = self.shapes(run.emphasis);
        let flags = self.table.flags[e as usize];
        let edge = Style::new().fg(fill).add_modifier(modifier);
        if self.table.lengths.at(e as usize) == 0 && run.from == run.to {
            let symbol = shape.map_or(glyphs.instant, |s| s[2]);
            return self.put(run.from, x, y, symbol, edge, buffer);
        }
        let transposes = flags & flag::TRANSPOSE != 0;
        let filler = if transposes { glyphs.transposing } else { glyphs.full };
        if run.from == run.to {
            // A gap tells neighbours apart.
            let crowded = self.cells.get(run.to + 1).is_some_and(|c| c.event.is_some());
            let symbol = match shape {
                Some([_, _, single]) => single,
                None if transposes => filler,
                None if crowded && !glyphs.ascii => glyphs.slice_right,
                None => glyphs.slice_one,
            };
            return self.put(run.from, x, y, symbol, edge, buffer);
        }
        for i in run.from..=run.to {
            self.put(i, x, y, filler, edge, buffer);
        }
        // Beyond the screen the slice goes on.
        let (begins, ends) = (run.from > 0, run.to + 2 < self.cells.len());
        let [left, right] = shape.map_or([glyphs.slice_left, glyphs.slice_right], |s| [s[0], s[1]]);
        if begins {
            self.put(run.from, x, y, left, edge, buffer);
        }
        if ends {
            self.put(run.to, x, y, right, edge, buffer);
        }
        let (from, to) = self.visible(run);
        let from = if begins { from.max(run.from + 1) } else { from };
        let to = if ends { to.min(run.to - 1) } else { to };
        let room = (to + 1).saturating_sub(from);
        let name = self.name(e, second, transposes, room);
        if !name.is_empty() {
            let style = if transposes {
                Style::new().fg(fill).add_modifier(modifier | Modifier::BOLD)
            } else {
                theme.fill(fill).add_modifier(modifier)
            };
            self.write(from, &name, room, style, x, y, buffer);
        }
    }

    /// What is written in a slice with room for so many columns; nothing where it would not be understood.
    fn name(&self, e: u32, second: bool, transposes: bool, room: usize) -> String {
        if room < 2 {
            return String::new();
        }
        let name = if second {
            let path = self.table.text(LabelKind::Operator, e);
            path.rsplit('/').next().unwrap_or(path)
        } else {
            self.table.event_name(e)
        };
        let mark = if transposes && !second { self.timeline.glyphs.transpose } else { "" };
        let name = text::escape(name);
        let short = if &*name == "MATMUL" { "MM" } else { &*name };
        let (own, room) = (text::width(&name), room - text::width(mark));
        if own <= room {
            format!("{name}{mark}")
        } else if text::width(short) <= room {
            format!("{short}{mark}")
        } else if room >= 3 {
            // The start of a name says more than a mark for what is missing.
            let mut cut = text::truncate(&name, room + 1).into_owned();
            if cut.ends_with(text::ELLIPSIS) {
                cut.truncate(cut.len() - text::ELLIPSIS.len());
            }
            cut + mark
        } else {
            String::new()
        }
    }

    /// First and last entry of a run that are on the screen.
    fn visible(&self, run: &Run) -> (usize, usize) {
        (run.from.max(1), run.to.min(self.cells.len().saturating_sub(3)))
    }

    #[allow(clippy::too_many_arguments)]
    fn write(&self, at: usize, name: &str, room: usize, style: Style, x: u16, y: u16, buffer: &mut Buffer) {
        if at >= 1 {
            buffer.set_stringn(x.saturating_add(at as u16 - 1), y, name, room, style);
        }
    }
}
