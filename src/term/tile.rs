//! What one column of the terminal shows, in the form the terminal knows it.
//!
//! A ratatui buffer holds graphemes of any length, cells hidden below wide ones, and colours with two names. A
//! [`Tile`] is the canonical form: equal tiles look equal, and every tile has a width all terminals agree on.

use ratatui::buffer::{Buffer, Cell, CellWidth as _};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthChar as _;

use super::text::is_unsafe;

/// A colour as the terminal is told it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ink {
    /// The terminal's default.
    #[default]
    Default,
    /// An entry of the palette.
    Indexed(u8),
    /// 24 bit.
    Rgb(u8, u8, u8),
}

impl From<Color> for Ink {
    fn from(color: Color) -> Self {
        Self::Indexed(match color {
            Color::Reset => return Self::Default,
            Color::Rgb(r, g, b) => return Self::Rgb(r, g, b),
            Color::Indexed(n) => n,
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Gray => 7,
            Color::DarkGray => 8,
            Color::LightRed => 9,
            Color::LightGreen => 10,
            Color::LightYellow => 11,
            Color::LightBlue => 12,
            Color::LightMagenta => 13,
            Color::LightCyan => 14,
            Color::White => 15,
        })
    }
}

/// Colours and attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub fg: Ink,
    pub bg: Ink,
    pub modifier: Modifier,
}

impl Look {
    /// What a blank of this look needs where `on` is on already: what does not show on it stays as it is.
    pub fn on_blank(self, on: Look) -> Look {
        let modifier = self.modifier | on.modifier.difference(ON_BLANK);
        let fg = if self.modifier.is_empty() { on.fg } else { self.fg };
        Look { fg, bg: self.bg, modifier }
    }
}

/// The attributes that show on a blank.
const ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::CROSSED_OUT)
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::RAPID_BLINK);

/// Room for a character and a few combining marks; more of them would only be noise.
const TEXT: usize = 15;

/// One column: a character with its combining marks, or the second column of the wide one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    text: [u8; TEXT],
    len: u8,
    pub look: Look,
}

impl Tile {
    /// A blank with the default background.
    pub const BLANK: Self = Self::ascii(b' ', Look { fg: Ink::Default, bg: Ink::Default, modifier: Modifier::empty() });

    const fn ascii(byte: u8, look: Look) -> Self {
        let mut text = [0; TEXT];
        text[0] = byte;
        Self { text, len: 1, look }
    }

    /// A blank as it shows: what does not show on it is made equal.
    fn blank(mut look: Look) -> Self {
        look.modifier &= ON_BLANK;
        if look.modifier.is_empty() {
            look.fg = Ink::Default;
        }
        Self::ascii(b' ', look)
    }

    fn char(c: char, look: Look) -> Self {
        let mut text = [0; TEXT];
        let len = c.encode_utf8(&mut text).len();
        Self { text, len: len as u8, look }
    }

    fn continuation(look: Look) -> Self {
        Self { text: [0; TEXT], len: 0, look }
    }

    /// Adds a combining mark if there is room.
    fn append(&mut self, mark: char) {
        let start = usize::from(self.len);
        if start + mark.len_utf8() <= TEXT {
            mark.encode_utf8(&mut self.text[start..]);
            self.len += mark.len_utf8() as u8;
        }
    }

    /// The bytes that show it; none for a continuation.
    pub fn bytes(&self) -> &[u8] {
        &self.text[..usize::from(self.len)]
    }

    /// Whether this is the second column of a wide character.
    pub fn is_continuation(&self) -> bool {
        self.len == 0
    }

    /// Whether this is a blank.
    pub fn is_blank(&self) -> bool {
        self.bytes() == b" "
    }

    /// Whether this is a single character without marks.
    pub fn is_single(&self) -> bool {
        let first = self.text[0];
        let expected = match first {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        self.len == expected
    }

    /// Whether every terminal moves its cursor by the same number of columns for it: certain for single characters
    /// of one column and for the scripts that have always been wide, not for emoji and marks.
    pub fn is_steady(&self, wide: bool) -> bool {
        if !self.is_single() {
            return false;
        }
        let first = std::str::from_utf8(self.bytes()).ok().and_then(|t| t.chars().next()).map_or(0, u32::from);
        !wide
            || matches!(first, 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xff01..=0xff60)
    }
}

/// A screen of tiles, row after row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Grid {
    pub width: usize,
    pub height: usize,
    pub tiles: Vec<Tile>,
}

impl Grid {
    /// Makes it all blank, of this size.
    pub fn clear(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        self.tiles.clear();
        self.tiles.resize(width * height, Tile::BLANK);
    }

    /// Takes over what a buffer shows.
    pub fn load(&mut self, buffer: &Buffer) {
        self.width = usize::from(buffer.area.width);
        self.height = usize::from(buffer.area.height);
        self.tiles.clear();
        if self.width > 0 {
            for row in buffer.content.chunks_exact(self.width) {
                load_row(row, &mut self.tiles);
            }
        }
    }

    /// A row.
    pub fn row(&self, y: usize) -> &[Tile] {
        &self.tiles[y * self.width..(y + 1) * self.width]
    }

    /// A row, to change it.
    pub fn row_mut(&mut self, y: usize) -> &mut [Tile] {
        &mut self.tiles[y * self.width..(y + 1) * self.width]
    }
}

/// Appends one row of cells, exactly one tile for each.
fn load_row(cells: &[Cell], out: &mut Vec<Tile>) {
    let mut x = 0;
    while let Some(cell) = cells.get(x) {
        let look = Look { fg: cell.fg.into(), bg: cell.bg.into(), modifier: cell.modifier };
        let columns = match cell.symbol().as_bytes() {
            b" " | b"" => {
                out.push(Tile::blank(look));
                1
            }
            [byte @ 0x21..=0x7e] => {
                out.push(Tile::ascii(*byte, look));
                1
            }
            [_] => {
                out.push(Tile::ascii(b'?', look));
                1
            }
            _ => load_grapheme(cell.symbol(), cells.len() - x, look, out),
        };
        x += columns;
    }
}

/// Appends the tiles of a grapheme, as many as ratatui reserved for it, and returns how many.
///
/// Terminals disagree about joined graphemes, so each character of some width gets its own columns while there is
/// room, marks stay with theirs, and what remains is blank.
fn load_grapheme(symbol: &str, room: usize, look: Look, out: &mut Vec<Tile>) -> usize {
    let columns = usize::from(symbol.cell_width()).clamp(1, room);
    let mut left = columns;
    let mut head = None;
    for c in symbol.chars().filter(|c| !is_unsafe(*c)) {
        match (c.width(), head) {
            (Some(0), Some(head)) => {
                let tile: &mut Tile = &mut out[head];
                tile.append(c);
            }
            (Some(wide @ 1..=2), _) if wide <= left => {
                head = Some(out.len());
                out.push(Tile::char(c, look));
                if wide == 2 {
                    out.push(Tile::continuation(look));
                }
                left -= wide;
            }
            // A mark without a base, or no room: what follows belongs to it.
            _ => head = None,
        }
    }
    out.extend(std::iter::repeat_n(Tile::blank(look), left));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn texts(symbols: &[&str]) -> Vec<String> {
        let mut buffer = Buffer::empty(Rect::new(3, 4, symbols.len() as u16, 1));
        for (cell, symbol) in buffer.content.iter_mut().zip(symbols) {
            cell.set_symbol(symbol);
        }
        let mut grid = Grid::default();
        grid.load(&buffer);
        assert_eq!(grid.tiles.len(), symbols.len());
        grid.tiles.iter().map(|t| String::from_utf8(t.bytes().to_vec()).unwrap()).collect()
    }

    #[test]
    fn wide_glyphs_cover_what_is_below_them() {
        assert_eq!(texts(&["行", "x", "e\u{301}"]), ["行", "", "e\u{301}"]);
        assert_eq!(texts(&["x", "行"]), ["x", " "], "no room for the second half");
    }

    #[test]
    fn joined_graphemes_come_apart() {
        assert_eq!(texts(&["👩\u{200d}🚀", "x", "y"]), ["👩", "", "y"]);
        assert_eq!(texts(&["\u{1f1e9}\u{1f1ea}", "x"]), ["\u{1f1e9}", "\u{1f1ea}"]);
        assert_eq!(texts(&["👍🏽", "", "z"]), ["👍", "", "z"]);
        assert_eq!(texts(&["⚠\u{fe0f}", "", "z"]), ["⚠", " ", "z"]);
    }

    #[test]
    fn controls_and_lone_marks_never_get_through() {
        assert_eq!(texts(&["\x1b", "\u{301}", "a\x1b[2J\u{202e}"]), ["?", " ", "a"]);
    }

    #[test]
    fn marks_are_kept_while_there_is_room() {
        let zalgo = format!("a{}", "\u{301}".repeat(40));
        assert_eq!(texts(&[&zalgo]), [format!("a{}", "\u{301}".repeat(7))]);
    }

    #[test]
    fn what_looks_equal_is_equal() {
        let tile = |symbol: &str, style: Style| {
            let mut cell = Cell::EMPTY;
            cell.set_symbol(symbol).set_style(style);
            let mut out = Vec::new();
            load_row(&[cell], &mut out);
            out[0]
        };
        assert_eq!(tile("a", Style::new().fg(Color::Red)), tile("a", Style::new().fg(Color::Indexed(1))));
        assert_eq!(tile(" ", Style::new().fg(Color::Red).bold()), Tile::BLANK);
        assert_ne!(tile(" ", Style::new().fg(Color::Red).underlined()), tile(" ", Style::new().underlined()));
        assert_ne!(tile(" ", Style::new().bg(Color::Red)), Tile::BLANK);
        assert_ne!(tile("a", Style::new().bold()), tile("a", Style::new()));
    }

    #[test]
    fn only_sure_widths_are_steady() {
        let steady = |symbol: &str| {
            let mut cells = vec![Cell::EMPTY; 2];
            cells[0].set_symbol(symbol);
            let mut out = Vec::new();
            load_row(&cells, &mut out);
            out[0].is_steady(out[1].is_continuation())
        };
        assert!(steady("a") && steady("█") && steady("行") && steady("한") && steady("é"));
        assert!(!steady("e\u{301}") && !steady("🚀"));
    }
}
