//! The window of time on the screen, the time cursor in it, and the zooms that led there.

use crate::model::{Grid, Nanos, Window};

/// How many zooms can be undone.
const HISTORY: usize = 200;

/// Column widths that zooming stops at, in tenths of a power of ten: zooming in and out again comes back to the very
/// same cells, and the ruler's labels stay round.
const LADDER: [u64; 6] = [10, 15, 20, 30, 50, 70];

/// The window, the cursor and the zoom history.
#[derive(Clone, Debug)]
pub struct View {
    grid: Grid,
    whole: Window,
    cursor: Nanos,
    /// Whether the whole profile is shown and should stay so when it grows or the screen changes.
    all: bool,
    undo: Vec<Grid>,
    redo: Vec<Grid>,
}

impl View {
    /// All of `whole` in `columns` columns, the cursor at its start.
    #[must_use]
    pub fn new(whole: Window, columns: u16) -> View {
        let grid = fit_all(whole, columns);
        View { grid, whole, cursor: whole.start, all: true, undo: Vec::new(), redo: Vec::new() }
    }

    /// The columns on the screen.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The time on the screen.
    #[must_use]
    pub fn window(&self) -> Window {
        self.grid.window()
    }

    /// The whole profile.
    #[must_use]
    pub fn whole(&self) -> Window {
        self.whole
    }

    /// Whether the whole profile is shown.
    #[must_use]
    pub fn shows_all(&self) -> bool {
        self.all
    }

    /// The time that the cursor is at.
    #[must_use]
    pub fn cursor(&self) -> Nanos {
        self.cursor
    }

    /// The column that the cursor is in.
    #[must_use]
    pub fn cursor_column(&self) -> u16 {
        let last = i64::from(self.grid.columns()) - 1;
        self.grid.column_of(self.cursor).clamp(0, last) as u16
    }

    /// Takes note of another number of columns; the window stays.
    pub fn resize(&mut self, columns: u16) {
        if columns == self.grid.columns() || columns == 0 {
            return;
        }
        self.grid = if self.all { fit_all(self.whole, columns) } else { Grid::fit(self.window(), columns) };
        self.keep_cursor_inside();
    }

    /// Takes note that the profile covers another stretch of time (more of it has been read).
    pub fn set_whole(&mut self, whole: Window) {
        if whole == self.whole {
            return;
        }
        self.whole = whole;
        if self.all {
            self.grid = fit_all(whole, self.grid.columns());
        }
        self.cursor = self.cursor.clamp(whole.start, whole.end);
        self.keep_cursor_inside();
    }

    /// Moves the window by whole columns; the cursor keeps its time as long as that stays on the screen. Says whether
    /// the cursor had to be taken along.
    pub fn pan(&mut self, columns: i64) -> bool {
        let before = (self.grid, self.cursor);
        self.grid = self.bounded(self.grid.panned(columns));
        self.all &= self.grid == before.0;
        self.keep_cursor_inside();
        self.cursor != before.1
    }

    /// Zooms by `steps` of the ladder (negative: out) about the cursor, which stays in its column.
    /// With `together` the zoom is undone together with the one before it.
    pub fn zoom(&mut self, steps: i32, together: bool) {
        self.zoom_about(self.cursor, self.cursor_column(), steps, together);
    }

    /// Zooms by `steps` of the ladder so that `time` stays in `column`.
    pub fn zoom_about(&mut self, time: Nanos, column: u16, steps: i32, together: bool) {
        let columns = self.grid.columns();
        let all = fit_all(self.whole, columns);
        let (num, den) = step_width(self.grid.width(), steps, columns);
        let grid = if steps < 0 && !narrower((num, den), all.width()) {
            all
        } else {
            self.bounded(Grid::with_width(num, den, columns).with_time_at(time, column))
        };
        self.go(grid, together);
    }

    /// Shows the whole profile.
    pub fn zoom_all(&mut self) {
        self.go(fit_all(self.whole, self.grid.columns()), false);
    }

    /// Shows exactly `window` (at least a nanosecond of it).
    pub fn show(&mut self, window: Window) {
        self.go(Grid::fit(window, self.grid.columns()), false);
        if !self.window().contains(self.cursor) {
            self.cursor = window.start;
        }
        self.keep_cursor_inside();
    }

    /// Shows `window` in the middle with some room on both sides.
    pub fn show_roomy(&mut self, window: Window) {
        let columns = self.grid.columns();
        let length = u128::from(window.length());
        let share = u128::from(columns).saturating_mul(3) / 4;
        // The narrowest column of the ladder for which the window takes at most three quarters of the screen.
        let wanted = ((length).min(u128::from(u64::MAX)) as u64, share.max(1) as u64);
        let (num, den) = if narrower(wanted, (1, u64::from(columns))) {
            (1, u64::from(columns))
        } else {
            ladder().find(|&w| !narrower(w, wanted)).unwrap_or(wanted)
        };
        let middle = window.start.saturating_add_unsigned(window.length() / 2);
        let grid = Grid::with_width(num, den, columns).with_time_at(middle, columns / 2);
        self.go(
            if narrower((num, den), fit_all(self.whole, columns).width()) {
                grid
            } else {
                fit_all(self.whole, columns)
            },
            false,
        );
    }

    /// Goes back to the window before the last zoom; false where there is none.
    pub fn undo(&mut self) -> bool {
        let Some(grid) = self.undo.pop() else { return false };
        self.redo.push(self.grid);
        self.place(grid);
        true
    }

    /// Takes the last undo back; false where there is none.
    pub fn redo(&mut self) -> bool {
        let Some(grid) = self.redo.pop() else { return false };
        self.undo.push(self.grid);
        self.place(grid);
        true
    }

    /// Moves the cursor by columns; the window follows where it leaves the screen.
    pub fn move_cursor(&mut self, columns: i64) {
        let at = self.grid.column_of(self.cursor).saturating_add(columns);
        let time = self.grid.edge(at);
        // Columns within one nanosecond: on to the next or previous one.
        let time = match columns {
            1.. if time <= self.cursor => self.cursor.saturating_add(1),
            ..=-1 if time >= self.cursor => self.cursor.saturating_sub(1),
            _ => time,
        };
        self.set_cursor(time);
    }

    /// Puts the cursor at `time`; the window follows by as few columns as needed.
    pub fn set_cursor(&mut self, time: Nanos) {
        self.cursor = time.clamp(self.whole.start, self.whole.end);
        let column = self.grid.column_of(self.cursor);
        let last = i64::from(self.grid.columns()) - 1;
        let by = if column < 0 { column } else { (column - last).max(0) };
        if by != 0 {
            self.grid = self.grid.panned(by);
            self.all = false;
        }
    }

    /// Puts the cursor at `time`, in the middle of the screen where it was not on it.
    pub fn jump(&mut self, time: Nanos) {
        self.cursor = time.clamp(self.whole.start, self.whole.end);
        if self.grid.visible_column(self.cursor).is_none() {
            self.center(self.cursor);
        }
    }

    /// Puts the cursor at the start of the profile, which becomes the left edge.
    pub fn jump_to_start(&mut self) {
        self.cursor = self.whole.start;
        self.pan_to(self.grid.starting_at(self.cursor));
    }

    /// Puts the cursor at the end of the profile, which becomes the right edge.
    pub fn jump_to_end(&mut self) {
        self.cursor = self.whole.end;
        self.pan_to(self.grid.with_time_at(self.cursor, self.grid.columns() - 1));
    }

    fn pan_to(&mut self, grid: Grid) {
        if !self.all {
            self.grid = grid;
        }
        self.keep_cursor_inside();
    }

    /// Moves the window so that `time` is in the middle.
    pub fn center(&mut self, time: Nanos) {
        let column = self.grid.columns() / 2;
        let before = self.grid;
        self.grid = self.grid.with_time_at(time, column);
        self.all &= self.grid == before;
        self.keep_cursor_inside();
    }

    /// Goes to a window and cursor that were shown before.
    pub fn restore(&mut self, window: Window, cursor: Nanos) {
        let columns = self.grid.columns();
        let grid = if window == self.window() { self.grid } else { Grid::fit(window, columns) };
        self.place(grid);
        self.cursor = cursor.clamp(self.whole.start, self.whole.end);
        self.keep_cursor_inside();
    }

    fn go(&mut self, grid: Grid, together: bool) {
        if grid == self.grid {
            return;
        }
        if !together || self.undo.is_empty() {
            if self.undo.len() == HISTORY {
                self.undo.remove(0);
            }
            self.undo.push(self.grid);
        }
        self.redo.clear();
        self.place(grid);
    }

    fn place(&mut self, grid: Grid) {
        let columns = self.grid.columns();
        // The screen may have been resized in between.
        self.grid = if grid.columns() == columns { grid } else { Grid::fit(grid.window(), columns) };
        self.all = self.grid == fit_all(self.whole, columns);
        self.keep_cursor_inside();
    }

    /// Keeps at least half of the screen on the profile.
    fn bounded(&self, grid: Grid) -> Grid {
        let half = i64::from(grid.columns() / 2);
        let (start, end) = (grid.column_of(self.whole.start), grid.column_of(self.whole.end));
        if start > half {
            grid.panned(start - half)
        } else if end < half {
            grid.panned(end - half)
        } else {
            grid
        }
    }

    fn keep_cursor_inside(&mut self) {
        let column = self.grid.column_of(self.cursor);
        let last = i64::from(self.grid.columns()) - 1;
        if column < 0 {
            self.cursor = self.grid.edge(0);
        } else if column > last {
            self.cursor = self.grid.edge(last);
        }
    }
}

/// The grid that shows all of `whole`, also what happens the moment it ends.
fn fit_all(whole: Window, columns: u16) -> Grid {
    Grid::fit(Window::new(whole.start, whole.end.saturating_add(1)), columns)
}

fn narrower(a: (u64, u64), b: (u64, u64)) -> bool {
    u128::from(a.0) * u128::from(b.1) < u128::from(b.0) * u128::from(a.1)
}

/// All widths of the ladder in nanoseconds, narrowest first.
fn ladder() -> impl DoubleEndedIterator<Item = (u64, u64)> {
    let fractions = (1..=5u32).rev().map(|e| (1, 10u64.pow(e)));
    let wholes = (0..=17u32).map(|e| (10u64.pow(e), 1));
    // Mantissas are in tenths.
    fractions.chain(wholes).flat_map(|(num, den)| LADDER.map(|m| (m * num, den * 10)))
}

/// The width `steps` rungs narrower (negative: wider) than `width`; never so narrow that the screen shows less than a
/// nanosecond.
fn step_width(width: (u64, u64), steps: i32, columns: u16) -> (u64, u64) {
    let count = steps.unsigned_abs() as usize;
    if count == 0 {
        return width;
    }
    let least = (1, u64::from(columns.max(1)));
    if steps > 0 {
        let next = ladder().rev().filter(|&w| narrower(w, width)).nth(count - 1);
        next.filter(|&w| narrower(least, w)).unwrap_or(least)
    } else {
        ladder().filter(|&w| narrower(width, w)).nth(count - 1).unwrap_or((u64::MAX, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn view() -> View {
        View::new(Window::new(0, 1_000_000), 200)
    }

    proptest! {
        #[test]
        fn zooming_keeps_the_cursor_in_its_column(cursor in 0i64..1_000_000, steps in prop::collection::vec(-4i32..8, 1..20)) {
            let mut view = view();
            view.set_cursor(cursor);
            for step in steps {
                let column = view.cursor_column();
                view.zoom(step, false);
                prop_assert_eq!(view.cursor(), cursor);
                if !view.shows_all() && view.window().start > 0 && view.window().end < 1_000_000 {
                    prop_assert_eq!(view.cursor_column(), column);
                }
            }
        }

        #[test]
        fn the_cursor_never_leaves_the_screen(moves in prop::collection::vec((0u8..6, -300i64..300), 1..40)) {
            let mut view = view();
            for (kind, by) in moves {
                match kind {
                    0 => {
                        view.pan(by);
                    }
                    1 => view.zoom(by as i32 / 40, false),
                    2 => view.move_cursor(by),
                    3 => view.jump(by * 4000),
                    4 => { view.undo(); }
                    _ => view.resize(by.unsigned_abs() as u16),
                }
                let column = view.grid().column_of(view.cursor());
                prop_assert!((0..i64::from(view.grid().columns())).contains(&column), "column {column}");
                prop_assert!(view.window().length() >= 1);
            }
        }
    }

    #[test]
    fn zooming_in_and_out_comes_back_to_the_same_cells() {
        let mut view = view();
        view.set_cursor(400_000);
        view.zoom(3, false);
        let there = view.grid();
        view.zoom(2, false);
        view.zoom(-2, false);
        assert_eq!(view.grid(), there);
        assert!(view.undo() && view.undo() && view.undo());
        assert!(view.shows_all() && !view.undo());
        assert!(view.redo());
        assert_eq!(view.grid(), there);
    }

    #[test]
    fn one_nanosecond_is_the_closest() {
        let mut view = view();
        view.zoom(1000, false);
        assert_eq!(view.window().length(), 1);
        view.zoom(-1000, false);
        assert!(view.shows_all());
    }

    #[test]
    fn in_columns_narrower_than_a_nanosecond_the_cursor_still_moves() {
        let mut view = view();
        view.jump(500);
        view.zoom(1000, false);
        view.move_cursor(1);
        assert_eq!(view.cursor(), 501);
        view.move_cursor(-1);
        assert_eq!(view.cursor(), 500);
    }

    #[test]
    fn extreme_profiles_do_not_overflow() {
        let mut view = View::new(Window::new(i64::MIN, i64::MAX), 80);
        view.zoom(3, false);
        view.pan(-100);
        view.pan(1000);
        view.zoom(-9, false);
        assert!(view.shows_all());
        view.show_roomy(Window::new(5, 5));
        assert_eq!(view.grid().visible_column(5), Some(40));
    }
}
