//! Moving what is already on the screen by whole columns, inside the terminal.
//!
//! Panning the timeline moves every row sideways by the same number of columns. Deleting or inserting characters
//! (DCH, ICH) does that in a few bytes a row, where repainting costs hundreds.

use ratatui::layout::Rect;

use super::tile::Tile;

/// What an application knows about the next frame: the cells of `area` moved by `columns`.
///
/// It is only a hint; a wrong one costs bytes, never a wrong screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftHint {
    /// The cells that moved. It must reach the right edge of the screen, as the terminal moves all that is right of
    /// the cursor; otherwise the hint is ignored.
    pub area: Rect,
    /// How far: positive to the right, negative to the left.
    pub columns: i16,
}

/// A hint that fits a screen: rows `top..bottom`, columns from `left` to the right edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    pub left: usize,
    pub top: usize,
    pub bottom: usize,
    pub columns: i16,
}

impl Shift {
    /// Checks a hint against the screen; none if it moves nothing, everything out of sight, or not up to the edge.
    pub fn check(hint: ShiftHint, screen: Rect) -> Option<Self> {
        let area = hint.area.intersection(screen);
        let fits = !area.is_empty()
            && area.right() == screen.right()
            && (1..area.width).contains(&hint.columns.unsigned_abs());
        fits.then(|| Self {
            left: usize::from(area.left() - screen.left()),
            top: usize::from(area.top() - screen.top()),
            bottom: usize::from(area.bottom() - screen.top()),
            columns: hint.columns,
        })
    }

    /// Moves a row as the terminal would; false, and nothing done, where that would cut a wide glyph in two, as
    /// terminals differ in what they leave of it.
    pub fn apply(&self, row: &mut [Tile]) -> bool {
        let by = usize::from(self.columns.unsigned_abs());
        let Some(moved) = row.get_mut(self.left..).filter(|moved| moved.len() > by) else {
            return false;
        };
        let cut = if self.columns > 0 { moved.len() - by } else { by };
        if moved[0].is_continuation() || moved[cut].is_continuation() {
            return false;
        }
        if self.columns > 0 {
            moved.rotate_right(by);
            moved[..by].fill(Tile::BLANK);
        } else {
            moved.rotate_left(by);
            let kept = moved.len() - by;
            moved[kept..].fill(Tile::BLANK);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::tile::Grid;
    use ratatui::buffer::Buffer;

    fn shifted(line: &str, left: usize, columns: i16) -> Option<Grid> {
        let mut grid = Grid::default();
        grid.load(&Buffer::with_lines([line]));
        let done = Shift { left, top: 0, bottom: 1, columns }.apply(grid.row_mut(0));
        done.then_some(grid)
    }

    fn line(line: &str) -> Option<Grid> {
        let mut grid = Grid::default();
        grid.load(&Buffer::with_lines([line]));
        Some(grid)
    }

    #[test]
    fn rows_move_and_blanks_come_in() {
        assert_eq!(shifted("label abcdef", 6, 2), line("label   abcd"));
        assert_eq!(shifted("label abcdef", 6, -2), line("label cdef  "));
        assert_eq!(shifted("abcdef", 0, -5), line("f     "));
        assert_eq!(shifted("abcdef", 0, 6), None, "nothing would be left");
    }

    #[test]
    fn wide_glyphs_move_whole_or_not_at_all() {
        assert_eq!(shifted("ab行cd", 0, 2), line("  ab行"));
        assert_eq!(shifted("ab行cd", 0, 3), None, "cut at the right edge");
        assert_eq!(shifted("ab行cd", 0, -3), None, "cut where the deletion ends");
        assert_eq!(shifted("ab行cd", 0, -4), line("cd    "));
        assert_eq!(shifted("ab行cd", 3, 1), None, "cut at the left edge of the area");
    }

    #[test]
    fn hints_are_checked() {
        let screen = Rect::new(0, 0, 20, 10);
        let check = |x, y, w, h, columns| Shift::check(ShiftHint { area: Rect::new(x, y, w, h), columns }, screen);
        assert_eq!(check(5, 2, 15, 3, -4), Some(Shift { left: 5, top: 2, bottom: 5, columns: -4 }));
        assert_eq!(check(5, 2, 99, 99, 4), Some(Shift { left: 5, top: 2, bottom: 10, columns: 4 }));
        assert_eq!(check(5, 2, 14, 3, -4), None, "not up to the right edge");
        assert_eq!(check(5, 2, 15, 3, 0), None);
        assert_eq!(check(5, 2, 15, 3, 15), None);
        assert_eq!(check(5, 2, 15, 3, i16::MIN), None);
        assert_eq!(check(20, 2, 5, 3, 1), None);
    }
}
