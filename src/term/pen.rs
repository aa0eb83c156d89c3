//! What the terminal will do with the next byte: where its cursor stands and how it draws, and the shortest bytes to
//! change that. Control functions are those of ECMA-48 as xterm documents them ("XTerm Control Sequences").

use std::io::Write as _;

use ratatui::style::Modifier;

use super::tile::{Ink, Look, Tile};

/// The state of the terminal as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pen {
    /// Row and column of the cursor. The column is unknown after the last one was written (terminals differ in where
    /// the cursor waits to wrap) and after glyphs whose width terminals see differently.
    row: Option<u16>,
    column: Option<u16>,
    look: Look,
}

impl Pen {
    /// A terminal that was just reset (SGR) and whose cursor is in the corner.
    pub fn home() -> Self {
        Self { row: Some(0), column: Some(0), look: Look::default() }
    }

    /// The same attributes with the cursor somewhere: where a row begins for comparing costs.
    pub fn adrift(self) -> Self {
        Self { row: None, column: None, ..self }
    }

    /// Changes colours and attributes to a look, or to what blanks of that look need.
    pub fn dress(&mut self, look: Look, blank: bool, out: &mut Vec<u8>) {
        let wanted = if blank { look.on_blank(self.look) } else { look };
        if wanted == self.look {
            return;
        }
        let start = out.len();
        sgr(self.look, wanted, false, out);
        let changed = out.len() - start;
        sgr(Look::default(), look, true, out);
        if out.len() - start < 2 * changed {
            out.drain(start..start + changed);
            self.look = look;
        } else {
            out.truncate(start + changed);
            self.look = wanted;
        }
    }

    /// Draws a tile where the cursor is, in a row that ends before column `width`, in the colours that are on.
    pub fn put(&mut self, tile: &Tile, wide: bool, width: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(tile.bytes());
        let steady = tile.is_steady(wide);
        self.column = self.column.map(|x| x + 1 + u16::from(wide)).filter(|x| steady && *x < width);
    }

    /// Repeats the tile just drawn (REP), in a row that ends before column `width`.
    pub fn repeat(&mut self, times: u16, width: u16, out: &mut Vec<u8>) {
        csi(times, b'b', out);
        self.column = self.column.map(|x| x + times).filter(|x| *x < width);
    }

    /// Erases to the end of the row (EL) with the default background.
    pub fn erase_rest(&mut self, out: &mut Vec<u8>) {
        self.dress(Look::default(), true, out);
        out.extend_from_slice(b"\x1b[K");
    }

    /// Inserts (ICH) or deletes (DCH) columns at the cursor, in a row that ends `room` columns from it; what comes in has
    /// the default background.
    pub fn shift(&mut self, columns: i16, room: u16, out: &mut Vec<u8>) {
        self.dress(Look::default(), true, out);
        if columns < 0 {
            csi(columns.unsigned_abs(), b'P', out);
            return;
        }
        // tmux (3.3a, grid_move_cells) leaves old cells standing where more columns come in than stay.
        let mut left = columns.unsigned_abs();
        while left > 0 {
            let part = left.min((room / 2).max(1));
            csi(part, b'@', out);
            left -= part;
        }
    }

    /// Moves the cursor the shortest way.
    pub fn go(&mut self, x: u16, y: u16, out: &mut Vec<u8>) {
        if (self.row, self.column) == (Some(y), Some(x)) {
            return;
        }
        let mut best = Vec::with_capacity(12);
        position(x, y, &mut best);
        let mut way = Vec::with_capacity(12);
        let mut offer = |way: &mut Vec<u8>| {
            if way.len() < best.len() {
                std::mem::swap(&mut best, way);
            }
            way.clear();
        };
        match (self.row, self.column) {
            (Some(row), column) if row == y => {
                if x == 0 {
                    way.push(b'\r');
                    offer(&mut way);
                }
                csi(x + 1, b'G', &mut way);
                offer(&mut way);
                match column {
                    Some(column) if column < x => {
                        csi(x - column, b'C', &mut way);
                        offer(&mut way);
                    }
                    Some(column) => {
                        way.resize(usize::from(column - x).min(4), 8);
                        if column - x > 4 {
                            way.clear();
                            csi(column - x, b'D', &mut way);
                        }
                        offer(&mut way);
                    }
                    None => {}
                }
            }
            (Some(row), column) => {
                if row + 1 == y {
                    way.extend_from_slice(b"\r\n");
                    if x > 0 {
                        csi(x, b'C', &mut way);
                    }
                    offer(&mut way);
                }
                if column == Some(x) {
                    let (by, to) = if row < y { (y - row, b'B') } else { (row - y, b'A') };
                    csi(by, to, &mut way);
                    offer(&mut way);
                }
            }
            (None, _) => {}
        }
        out.extend_from_slice(&best);
        (self.row, self.column) = (Some(y), Some(x));
    }
}

/// Cursor position (CUP), leaving out what is 1 anyway.
fn position(x: u16, y: u16, out: &mut Vec<u8>) {
    if x == 0 {
        csi(y + 1, b'H', out);
    } else {
        let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
    }
}

/// A control sequence with one parameter whose default is 1.
fn csi(parameter: u16, end: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b[");
    if parameter != 1 {
        let _ = write!(out, "{parameter}");
    }
    out.push(end);
}

/// The change from one look to another as one SGR, after a reset if asked for.
fn sgr(from: Look, to: Look, reset: bool, out: &mut Vec<u8>) {
    const SWITCHES: [(Modifier, u8, u8); 9] = [
        (Modifier::BOLD, 1, 22),
        (Modifier::DIM, 2, 22),
        (Modifier::ITALIC, 3, 23),
        (Modifier::UNDERLINED, 4, 24),
        (Modifier::SLOW_BLINK, 5, 25),
        (Modifier::RAPID_BLINK, 6, 25),
        (Modifier::REVERSED, 7, 27),
        (Modifier::HIDDEN, 8, 28),
        (Modifier::CROSSED_OUT, 9, 29),
    ];
    out.extend_from_slice(b"\x1b[");
    let start = out.len();
    if reset {
        out.extend_from_slice(b"0;");
    }
    let removed = from.modifier.difference(to.modifier);
    let mut added = to.modifier.difference(from.modifier);
    let mut last_off = 0;
    for (modifier, _, off) in SWITCHES {
        if removed.intersects(modifier) && off != last_off {
            let _ = write!(out, "{off};");
            last_off = off;
        }
    }
    // One code switches both of a pair off, so the other may have to come back.
    for pair in [Modifier::BOLD | Modifier::DIM, Modifier::SLOW_BLINK | Modifier::RAPID_BLINK] {
        if removed.intersects(pair) {
            added |= to.modifier & pair;
        }
    }
    for (modifier, on, _) in SWITCHES {
        if added.intersects(modifier) {
            let _ = write!(out, "{on};");
        }
    }
    if from.fg != to.fg {
        color(to.fg, 30, out);
    }
    if from.bg != to.bg {
        color(to.bg, 40, out);
    }
    // The last separator becomes the end; a reset alone needs no parameter.
    match &out[start..] {
        b"0;" => out.truncate(start),
        [] => {}
        _ => {
            out.pop();
        }
    }
    out.push(b'm');
}

/// A colour's parameters, with a separator behind; `base` is 30 for text and 40 for the background.
fn color(ink: Ink, base: u8, out: &mut Vec<u8>) {
    let _ = match ink {
        Ink::Default => write!(out, "{};", base + 9),
        Ink::Indexed(n @ 0..=7) => write!(out, "{};", base + n),
        Ink::Indexed(n @ 8..=15) => write!(out, "{};", base + 52 + n),
        Ink::Indexed(n) => write!(out, "{};5;{n};", base + 8),
        Ink::Rgb(r, g, b) => write!(out, "{};2;{r};{g};{b};", base + 8),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn went(from: (u16, u16), to: (u16, u16)) -> String {
        let mut pen = Pen::home();
        let mut out = Vec::new();
        pen.go(from.0, from.1, &mut out);
        out.clear();
        pen.go(to.0, to.1, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_cursor_goes_the_shortest_way() {
        assert_eq!(went((5, 5), (5, 5)), "");
        assert_eq!(went((5, 5), (0, 5)), "\r");
        assert_eq!(went((5, 5), (6, 5)), "\x1b[C");
        assert_eq!(went((5, 5), (3, 5)), "\x08\x08");
        assert_eq!(went((150, 5), (110, 5)), "\x1b[40D");
        assert_eq!(went((150, 5), (8, 5)), "\x1b[9G");
        assert_eq!(went((5, 5), (0, 6)), "\r\n");
        assert_eq!(went((5, 5), (5, 6)), "\x1b[B");
        assert_eq!(went((5, 5), (5, 3)), "\x1b[2A");
        assert_eq!(went((9, 30), (120, 31)), "\r\n\x1b[120C");
        assert_eq!(went((5, 5), (0, 9)), "\x1b[10H");
        assert_eq!(went((5, 5), (0, 0)), "\x1b[H");
        assert_eq!(went((5, 5), (2, 1)), "\x1b[2;3H");
    }

    fn dressed(from: Look, to: Look) -> String {
        let mut pen = Pen { look: from, ..Pen::home() };
        let mut out = Vec::new();
        pen.dress(to, true, &mut out);
        assert_eq!(to.on_blank(pen.look), pen.look);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_what_changed_is_sent() {
        let plain = Look { modifier: Modifier::UNDERLINED, ..Look::default() };
        let red = Look { fg: Ink::Indexed(1), ..plain };
        assert_eq!(dressed(plain, plain), "");
        assert_eq!(dressed(plain, red), "\x1b[31m");
        assert_eq!(dressed(plain, Look { bg: Ink::Rgb(1, 2, 3), ..plain }), "\x1b[48;2;1;2;3m");
        assert_eq!(dressed(plain, Look { bg: Ink::Indexed(12), ..red }), "\x1b[31;104m");
        assert_eq!(dressed(plain, Look { fg: Ink::Indexed(214), ..red }), "\x1b[38;5;214m");
        assert_eq!(dressed(red, plain), "\x1b[39m");
    }

    #[test]
    fn a_reset_is_used_where_it_is_shorter() {
        let all = Look { fg: Ink::Indexed(1), bg: Ink::Indexed(2), modifier: Modifier::all() };
        let one = Look { modifier: Modifier::UNDERLINED, ..Look::default() };
        assert_eq!(dressed(all, one), "\x1b[0;4m");
        let mut pen = Pen { look: all, ..Pen::home() };
        let mut out = Vec::new();
        pen.dress(Look::default(), true, &mut out);
        assert_eq!(out, b"\x1b[m");
    }

    #[test]
    fn attributes_that_share_a_switch_survive_each_other() {
        let both = Look { modifier: Modifier::BOLD | Modifier::DIM | Modifier::REVERSED, ..Look::default() };
        let bold = Look { modifier: Modifier::BOLD | Modifier::REVERSED, ..Look::default() };
        let mut out = Vec::new();
        sgr(both, bold, false, &mut out);
        assert_eq!(out, b"\x1b[22;1m");
    }

    #[test]
    fn blanks_leave_alone_what_does_not_show() {
        let look = Look { fg: Ink::Indexed(3), bg: Ink::Default, modifier: Modifier::BOLD };
        assert_eq!(Look::default().on_blank(look), look);
        let reversed = Look { modifier: Modifier::REVERSED, ..look };
        assert_ne!(Look::default().on_blank(reversed), reversed);
    }
}
