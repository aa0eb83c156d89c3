//! Windows of time and the absolute grid of columns that they are drawn on.

use super::Nanos;

/// A half-open stretch of time `[start, end)`, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First nanosecond inside.
    pub start: Nanos,
    /// First nanosecond after.
    pub end: Nanos,
}

impl Window {
    /// A window from `start` to `end`, at least one nanosecond long.
    #[must_use]
    pub fn new(start: Nanos, end: Nanos) -> Window {
        let start = start.min(i64::MAX - 1);
        Window { start, end: end.max(start + 1) }
    }

    /// Its length in nanoseconds.
    #[must_use]
    pub fn length(self) -> u64 {
        self.end.abs_diff(self.start)
    }

    /// The part of it that lies in `other`; `None` where they have nothing in common.
    #[must_use]
    pub fn within(self, other: Window) -> Option<Window> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start < end).then_some(Window { start, end })
    }

    /// Whether `time` lies inside.
    #[must_use]
    pub fn contains(self, time: Nanos) -> bool {
        self.start <= time && time < self.end
    }
}

/// A run of columns on a grid. Column `k` of the grid begins at `origin + floor(k * num / den)` nanoseconds, so that
/// panning by whole columns yields the very same cells, whatever the width. Columns narrower than a nanosecond inherit
/// the nanosecond they lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Column width in nanoseconds, numerator.
    num: u64,
    /// Column width in nanoseconds, denominator.
    den: u64,
    /// Where column 0 begins.
    origin: Nanos,
    /// Index of the leftmost column.
    first: i128,
    /// Number of columns.
    columns: u16,
}

impl Grid {
    /// The grid whose `columns` columns span exactly `window`.
    #[must_use]
    pub fn fit(window: Window, columns: u16) -> Grid {
        let columns = columns.max(1);
        Grid { origin: window.start, ..Grid::with_width(window.length(), u64::from(columns), columns) }
    }

    /// A grid of `columns` columns, each `num / den` nanoseconds wide, whose leftmost column begins at time 0.
    #[must_use]
    pub fn with_width(num: u64, den: u64, columns: u16) -> Grid {
        let (num, den) = (num.max(1), den.max(1));
        let common = gcd(num, den);
        Grid { num: num / common, den: den / common, origin: 0, first: 0, columns: columns.max(1) }
    }

    /// The same columns, moved so that the leftmost one holds `time`.
    #[must_use]
    pub fn starting_at(self, time: Nanos) -> Grid {
        Grid { first: self.index_of(time), ..self }
    }

    /// The same columns, moved so that column `column` holds `time`.
    #[must_use]
    pub fn with_time_at(self, time: Nanos, column: u16) -> Grid {
        Grid { first: self.index_of(time) - i128::from(column), ..self }
    }

    /// The same columns, `by` columns further right (later).
    #[must_use]
    pub fn panned(self, by: i64) -> Grid {
        Grid { first: self.first + i128::from(by), ..self }
    }

    /// The same origin and width with another number of columns.
    #[must_use]
    pub fn resized(self, columns: u16) -> Grid {
        Grid { columns: columns.max(1), ..self }
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(self) -> u16 {
        self.columns
    }

    /// Index on the grid of the leftmost column.
    #[must_use]
    pub fn first(self) -> i128 {
        self.first
    }

    /// Whether `other` has the same columns, so that one is the other shifted by whole ones.
    #[must_use]
    pub fn same_columns(self, other: Grid) -> bool {
        (self.num, self.den, self.origin) == (other.num, other.den, other.origin)
    }

    /// Column width in nanoseconds, as numerator and denominator.
    #[must_use]
    pub fn width(self) -> (u64, u64) {
        (self.num, self.den)
    }

    /// Start of column `k` (which may lie left or right of the grid), saturating at the ends of `i64`.
    #[must_use]
    pub fn edge(self, k: i64) -> Nanos {
        let exact = ((self.first + i128::from(k)) * i128::from(self.num)).div_euclid(i128::from(self.den));
        (exact + i128::from(self.origin)).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// The nanoseconds that column `k` shows: `[start, end)`, never empty.
    #[must_use]
    pub fn cell(self, k: i64) -> Window {
        Window::new(self.edge(k), self.edge(k + 1))
    }

    /// All the time that the grid shows.
    #[must_use]
    pub fn window(self) -> Window {
        Window::new(self.edge(0), self.edge(i64::from(self.columns)))
    }

    /// The column (relative to the leftmost) that holds `time`; it may lie outside `0..columns`. Of several columns
    /// within one nanosecond, the first.
    #[must_use]
    pub fn column_of(self, time: Nanos) -> i64 {
        (self.index_of(time) - self.first).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// The column of `time`, where it is on the screen.
    #[must_use]
    pub fn visible_column(self, time: Nanos) -> Option<u16> {
        u16::try_from(self.column_of(time)).ok().filter(|&c| c < self.columns)
    }

    fn index_of(self, time: Nanos) -> i128 {
        // The first column whose successor begins after `time`: smallest k with floor((k+1) * num / den) > time.
        let time = i128::from(time) - i128::from(self.origin);
        let next = (time + 1) * i128::from(self.den);
        // Smallest j with j * num >= (time + 1) * den; then k = j - 1.
        let j = next.div_euclid(i128::from(self.num)) + i128::from(next.rem_euclid(i128::from(self.num)) != 0);
        let k = j - 1;
        // Where columns are narrower than a nanosecond, go to the first column of this nanosecond.
        if self.num < self.den {
            let start = time * i128::from(self.den);
            let first =
                start.div_euclid(i128::from(self.num)) + i128::from(start.rem_euclid(i128::from(self.num)) != 0);
            return first.min(k);
        }
        k
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_time_lies_in_its_column(num in 1u64..u64::MAX, den in 1u64..10_000, time: i64) {
            let grid = Grid::with_width(num, den, 80).starting_at(time);
            let cell = grid.cell(0);
            prop_assert!(cell.contains(time) || time == i64::MAX, "{cell:?} does not hold {time}");
            prop_assert_eq!(grid.column_of(time), 0);
        }

        #[test]
        fn panning_by_whole_columns_keeps_the_cells(num in 1u64..1_000_000, den in 1u64..1000, start in -1_000_000_000i64..1_000_000_000, by in -500i64..500) {
            let grid = Grid::with_width(num, den, 80).starting_at(start);
            let panned = grid.panned(by);
            for k in 0..80 {
                prop_assert_eq!(panned.cell(k), grid.cell(k + by));
            }
        }

        #[test]
        fn zooming_keeps_the_time_in_its_column(num in 1u64..1_000_000, den in 1u64..1000, time in -1_000_000_000i64..1_000_000_000, column in 0u16..80) {
            let grid = Grid::with_width(num, den, 80).with_time_at(time, column);
            prop_assert_eq!(grid.visible_column(time), Some(column));
        }

        #[test]
        fn fitting_shows_the_whole_window(start in -1_000_000_000_000i64..1_000_000_000_000, length in 1u64..1_000_000_000_000, columns in 1u16..400) {
            let window = Window::new(start, end_of(start, length));
            let grid = Grid::fit(window, columns);
            prop_assert_eq!(grid.window(), window);
            prop_assert_eq!(grid.column_of(window.start), 0);
            prop_assert!(grid.column_of(window.end - 1) < i64::from(columns));
        }
    }

    use super::super::end_of;

    #[test]
    fn extreme_windows_do_not_overflow() {
        let grid = Grid::fit(Window::new(i64::MIN, i64::MAX), 200);
        assert_eq!(grid.edge(0), i64::MIN);
        assert_eq!(grid.panned(1_000_000).edge(0), i64::MAX);
    }
}
