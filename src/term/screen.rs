//! The screen: what the terminal shows, and the fewest bytes that make it show the next frame.
//!
//! Over ssh bytes are what costs. A frame is compared with the one before, tile by tile; only what differs is sent,
//! with the shortest cursor movements and attribute changes, between the marks of synchronised output so that no
//! half-drawn frame is ever seen. Where the application says that cells moved sideways, the terminal moves them.

use std::io::{self, Write};

use ratatui::buffer::Buffer;
use ratatui::layout::Position;

use self::paint::Run;
use super::pen::Pen;
use super::shift::Shift;
pub use super::shift::ShiftHint;
use super::tile::{Grid, Tile};

/// What a terminal can do beyond moving the cursor and colouring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Ignores or honours synchronised output (private mode 2026).
    pub synchronized: bool,
    /// Inserts and deletes characters (ICH, DCH).
    pub shift: bool,
    /// Repeats the last character (REP). Off unless the terminal was seen to do it: one that cannot shows too little.
    pub repeat: bool,
}

impl Default for Capabilities {
    /// What every terminal in use can do.
    fn default() -> Self {
        Self { synchronized: true, shift: true, repeat: false }
    }
}

/// What one frame took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameStats {
    /// Bytes written; 0 when nothing had changed.
    pub bytes: usize,
    /// Rows that the terminal moved.
    pub shifted_rows: usize,
    /// Tiles written.
    pub tiles: usize,
}

/// The terminal's screen, written to `W`.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    capabilities: Capabilities,
    shown: Option<Shown>,
    next: Grid,
    runs: Vec<Run>,
    bytes: Vec<u8>,
}

/// What the terminal is known to show.
#[derive(Debug)]
struct Shown {
    grid: Grid,
    pen: Pen,
    cursor: Option<Position>,
}

impl<W: Write> Screen<W> {
    /// A screen about which nothing is known yet: the first frame paints all of it.
    pub fn new(out: W, capabilities: Capabilities) -> Self {
        Self { out, capabilities, shown: None, next: Grid::default(), runs: Vec::new(), bytes: Vec::new() }
    }

    /// Forgets what is shown, after a resume or when others may have written: the next frame paints everything.
    pub fn invalidate(&mut self) {
        self.shown = None;
    }

    /// Takes down whether the terminal repeats characters, once that is known.
    pub fn set_repeat(&mut self, repeat: bool) {
        self.capabilities.repeat = repeat;
    }

    /// What is written to, for sequences that draw nothing (the clipboard, say).
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Gives back what was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Shows a frame: the buffer, with the terminal's cursor at `cursor` (for text entry) or hidden.
    ///
    /// A frame of another size than the one before paints everything. Writes and flushes once, or not at all when
    /// nothing changed. After an error the screen counts as unknown.
    pub fn draw(
        &mut self,
        frame: &Buffer,
        cursor: Option<Position>,
        hint: Option<ShiftHint>,
    ) -> io::Result<FrameStats> {
        self.next.load(frame);
        self.bytes.clear();
        let cursor = cursor.filter(|at| frame.area.contains(*at));
        let cursor = cursor.map(|at| Position::new(at.x - frame.area.x, at.y - frame.area.y));
        let shift = hint.filter(|_| self.capabilities.shift).and_then(|hint| Shift::check(hint, frame.area));
        let mut stats = FrameStats::default();

        let mut shown = match self.shown.take() {
            // Where the cursor was left is not relied on, so that whatever moves it between frames does no harm.
            Some(shown) if (shown.grid.width, shown.grid.height) == (self.next.width, self.next.height) => {
                Shown { pen: shown.pen.adrift(), ..shown }
            }
            _ => self.clear(),
        };
        let cleared = self.bytes.len();
        if let Some(shift) = shift.filter(|_| cleared == 0) {
            stats.shifted_rows = self.shift(&mut shown, shift);
        }
        self.runs.clear();
        for y in 0..self.next.height {
            paint::row(y, shown.grid.row(y), self.next.row(y), &mut self.runs);
        }
        let repeat = self.capabilities.repeat;
        stats.tiles = paint::paint(&mut self.runs, &self.next, repeat, &mut shown.pen, &mut self.bytes);
        self.place_cursor(&mut shown, cursor);

        stats.bytes = self.bytes.len();
        if stats.bytes > 0 {
            self.out.write_all(&self.bytes)?;
            self.out.flush()?;
        }
        std::mem::swap(&mut shown.grid, &mut self.next);
        self.shown = Some(shown);
        Ok(stats)
    }

    /// Brings the terminal to a known state: all blank, no attributes, no cursor.
    fn clear(&mut self) -> Shown {
        let mut grid = Grid::default();
        grid.clear(self.next.width, self.next.height);
        self.bytes.extend_from_slice(b"\x1b[?25l\x1b[m\x1b[H\x1b[2J");
        Shown { grid, pen: Pen::home(), cursor: None }
    }

    /// Lets the terminal move the rows for which that is cheaper than painting, and returns how many.
    ///
    /// All moves come before all painting: they share one change of the background to the default, which is what the
    /// terminal fills in.
    fn shift(&mut self, shown: &mut Shown, shift: Shift) -> usize {
        const MOVE: usize = 8;
        let mut rows = 0;
        let mut moved: Vec<Tile> = Vec::with_capacity(self.next.width);
        let (mut scratch, mut runs) = (Vec::new(), Vec::new());
        for y in shift.top..shift.bottom {
            let (now, next) = (shown.grid.row(y), self.next.row(y));
            moved.clear();
            moved.extend_from_slice(now);
            if now == next || !shift.apply(&mut moved) {
                continue;
            }
            let mut cost = |from: &[Tile]| {
                runs.clear();
                paint::row(y, from, next, &mut runs);
                paint::cost(&runs, next, self.capabilities.repeat, shown.pen, &mut scratch)
            };
            if cost(&moved) + MOVE < cost(now) {
                shown.pen.go(shift.left as u16, y as u16, &mut self.bytes);
                shown.pen.shift(shift.columns, (self.next.width - shift.left) as u16, &mut self.bytes);
                shown.grid.row_mut(y).copy_from_slice(&moved);
                rows += 1;
            }
        }
        rows
    }

    /// Puts the cursor where it belongs, and the marks around a frame that draws.
    fn place_cursor(&mut self, shown: &mut Shown, cursor: Option<Position>) {
        let draws = !self.bytes.is_empty();
        if draws && shown.cursor.take().is_some() {
            // Not every terminal honours the marks: without a cursor nothing is seen to jump about.
            self.bytes.splice(0..0, *b"\x1b[?25l");
        }
        match (shown.cursor, cursor) {
            (before, after) if before == after => {}
            (before, Some(at)) => {
                shown.pen.go(at.x, at.y, &mut self.bytes);
                if before.is_none() {
                    self.bytes.extend_from_slice(b"\x1b[?25h");
                }
            }
            (_, None) => self.bytes.extend_from_slice(b"\x1b[?25l"),
        }
        shown.cursor = cursor;
        if draws && self.capabilities.synchronized {
            self.bytes.splice(0..0, *b"\x1b[?2026h");
            self.bytes.extend_from_slice(b"\x1b[?2026l");
        }
    }
}

mod paint;

#[cfg(test)]
mod emulator;
#[cfg(test)]
mod panning;
#[cfg(test)]
mod tests;
