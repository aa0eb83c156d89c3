//! The glyphs everything is drawn with: one set for Unicode terminals, one of pure ASCII.
//!
//! Every field is one column wide unless its comment says otherwise, and both sets agree on the width, so a
//! layout never depends on the set. [`to_ascii`] is the safety net behind them: it turns what a widget drew
//! without asking for a glyph (a name from a profile, say) into ASCII just before the screen is sent.

use std::borrow::Cow;

use ratatui::buffer::{Buffer, CellWidth as _};
use unicode_width::UnicodeWidthChar as _;

/// A set of glyphs.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Whether this is the ASCII set.
    pub ascii: bool,
    /// Working: a cell filled with its colour.
    pub full: &'static str,
    /// Light, medium and dark shade.
    pub shades: [&'static str; 3],
    /// The left edge of a slice (right half of the cell filled).
    pub slice_left: &'static str,
    /// The right edge of a slice (left half of the cell filled).
    pub slice_right: &'static str,
    /// A whole slice in one column.
    pub slice_one: &'static str,
    /// A cell that merges many events.
    pub merged: &'static str,
    /// Working, but transposing rather than multiplying.
    pub transposing: &'static str,
    /// A mark for the transpose in a name (superscript T).
    pub transpose: &'static str,
    /// Levels of a density or counter row, from the lowest that is not nothing to full.
    pub levels: [&'static str; 8],
    /// Waiting on a semaphore: a thin line.
    pub wait: &'static str,
    /// Where a wait starts and ends.
    pub wait_ends: [&'static str; 2],
    /// Idle or nothing.
    pub blank: &'static str,
    /// An event without a duration.
    pub instant: &'static str,
    /// A mark set by the user.
    pub mark: &'static str,
    /// A folded group or tree row.
    pub folded: &'static str,
    /// An unfolded group or tree row.
    pub unfolded: &'static str,
    /// Brackets around the window on the overview.
    pub brackets: [&'static str; 2],
    /// A tick of the ruler.
    pub tick: &'static str,
    /// A tick between two labelled ones.
    pub tick_minor: &'static str,
    /// Arrows.
    pub left: &'static str,
    /// Arrow to the right.
    pub right: &'static str,
    /// Arrow up.
    pub up: &'static str,
    /// Arrow down.
    pub down: &'static str,
    /// The time cursor, a vertical line.
    pub cursor: &'static str,
    /// What stands where text was cut.
    pub ellipsis: &'static str,
    /// Lines of a pane without focus.
    pub pane: Frame,
    /// Lines of the pane that has the focus.
    pub pane_focused: Frame,
    /// The moving part of a scroll bar, and what it moves along.
    pub scroll: [&'static str; 2],
    /// Done, or good.
    pub check: &'static str,
    /// Failed, or bad.
    pub cross: &'static str,
    /// A warning.
    pub warning: &'static str,
    /// A remark.
    pub info: &'static str,
    /// An item of a list.
    pub bullet: &'static str,
    /// What separates figures on a line.
    pub dot: &'static str,
    /// Difference.
    pub delta: &'static str,
    /// Microseconds, two columns.
    pub us: &'static str,
    /// Times, as in `4×`.
    pub times: &'static str,
    /// At least, at most; one column each.
    pub at_least: &'static str,
    /// At most.
    pub at_most: &'static str,
    /// About.
    pub about: &'static str,
    /// A range, as in `17–19`.
    pub dash: &'static str,
    /// A pinned track.
    pub pin: &'static str,
    /// Steps of something that takes time.
    pub spinner: [&'static str; 4],
}

/// The lines around a pane.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// Horizontal line.
    pub horizontal: &'static str,
    /// Vertical line.
    pub vertical: &'static str,
    /// Corners: top left, top right, bottom left, bottom right.
    pub corners: [&'static str; 4],
    /// Where lines meet: left, right, top, bottom side, and a crossing.
    pub joins: [&'static str; 5],
}

impl Frame {
    /// The frame as a border set for ratatui's blocks.
    pub const fn border_set(&self) -> ratatui::symbols::border::Set<'static> {
        ratatui::symbols::border::Set {
            top_left: self.corners[0],
            top_right: self.corners[1],
            bottom_left: self.corners[2],
            bottom_right: self.corners[3],
            vertical_left: self.vertical,
            vertical_right: self.vertical,
            horizontal_top: self.horizontal,
            horizontal_bottom: self.horizontal,
        }
    }
}

/// Glyphs for a UTF-8 terminal.
pub const UNICODE: Glyphs = Glyphs {
    ascii: false,
    full: "█",
    shades: ["░", "▒", "▓"],
    slice_left: "▐",
    slice_right: "▌",
    slice_one: "█",
    merged: "▓",
    transposing: "▞",
    transpose: "ᵀ",
    levels: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
    wait: "─",
    wait_ends: ["╶", "╴"],
    blank: " ",
    instant: "◆",
    mark: "▼",
    folded: "▸",
    unfolded: "▾",
    brackets: ["[", "]"],
    tick: "╷",
    tick_minor: "·",
    left: "←",
    right: "→",
    up: "↑",
    down: "↓",
    cursor: "│",
    ellipsis: "…",
    pane: Frame {
        horizontal: "─", vertical: "│", corners: ["┌", "┐", "└", "┘"], joins: ["├", "┤", "┬", "┴", "┼"]
    },
    pane_focused: Frame {
        horizontal: "━",
        vertical: "┃",
        corners: ["┏", "┓", "┗", "┛"],
        joins: ["┣", "┫", "┳", "┻", "╋"],
    },
    scroll: ["█", "│"],
    check: "✓",
    cross: "✗",
    warning: "!",
    info: "i",
    bullet: "•",
    dot: "·",
    delta: "Δ",
    us: "µs",
    times: "×",
    at_least: "≥",
    at_most: "≤",
    about: "≈",
    dash: "–",
    pin: "▪",
    spinner: ["◐", "◓", "◑", "◒"],
};

/// Glyphs for everything else: pure ASCII.
pub const ASCII: Glyphs = Glyphs {
    ascii: true,
    full: "#",
    shades: [".", ":", "%"],
    slice_left: "[",
    slice_right: "]",
    slice_one: "#",
    merged: "%",
    transposing: "/",
    transpose: "T",
    levels: ["_", ".", ":", "-", "=", "+", "*", "#"],
    wait: "-",
    wait_ends: ["-", "-"],
    blank: " ",
    instant: "*",
    mark: "v",
    folded: "+",
    unfolded: "-",
    brackets: ["[", "]"],
    tick: "|",
    tick_minor: ".",
    left: "<",
    right: ">",
    up: "^",
    down: "v",
    cursor: "|",
    ellipsis: "~",
    pane: Frame { horizontal: "-", vertical: "|", corners: ["+", "+", "+", "+"], joins: ["+", "+", "+", "+", "+"] },
    pane_focused: Frame {
        horizontal: "=",
        vertical: "H",
        corners: ["#", "#", "#", "#"],
        joins: ["#", "#", "#", "#", "#"],
    },
    scroll: ["#", "|"],
    check: "+",
    cross: "x",
    warning: "!",
    info: "i",
    bullet: "*",
    dot: ".",
    delta: "d",
    us: "us",
    times: "x",
    at_least: ">",
    at_most: "<",
    about: "~",
    dash: "-",
    pin: "*",
    spinner: ["|", "/", "-", "\\"],
};

/// The set to draw with: ASCII when asked for, or when the locale is not UTF-8.
///
/// `lookup` gives environment variables; the locale is the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is
/// not empty (POSIX, "Internationalization Variables"). With none of them set the locale is unknown, and
/// Unicode is assumed: containers often have no locale while the terminal outside speaks UTF-8.
pub fn choose(ascii: bool, lookup: impl Fn(&str) -> Option<String>) -> &'static Glyphs {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| lookup(name).filter(|v| !v.is_empty()));
    let utf8 = locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    if ascii || !utf8 { &ASCII } else { &UNICODE }
}

/// The text in ASCII, as wide as before; borrowed when it already was.
pub fn ascii_fallback(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.width().unwrap_or(0) {
            _ if c.is_ascii() => out.push(c),
            0 => {}
            1 => out.push(ascii_char(c)),
            columns => out.extend(std::iter::repeat_n('?', columns)),
        }
    }
    Cow::Owned(out)
}

/// Turns every cell of a buffer into ASCII, wide ones into as many cells as they took.
pub fn to_ascii(buffer: &mut Buffer) {
    let columns = usize::from(buffer.area.width);
    if columns == 0 {
        return;
    }
    for row in buffer.content.chunks_mut(columns) {
        let mut x = 0;
        while x < row.len() {
            let symbol = row[x].symbol();
            if symbol.is_ascii() {
                x += 1;
                continue;
            }
            let taken = usize::from(symbol.cell_width()).clamp(1, row.len() - x);
            let text = ascii_fallback(symbol).into_owned();
            let style = row[x].style();
            let mut chars = text.chars();
            for cell in &mut row[x..x + taken] {
                cell.set_char(chars.next().unwrap_or(' ')).set_style(style);
            }
            x += taken;
        }
    }
}

/// The ASCII character that stands in for one of one column.
fn ascii_char(c: char) -> char {
    match c {
        '█' | '■' | '▉' | '▊' => '#',
        '▓' => '%',
        '▚' | '▞' => '/',
        '▒' => ':',
        '░' | '·' | '∙' | '․' => '.',
        '▐' => '[',
        '▌' | '▋' => ']',
        '▁' => '_',
        '▂' => '.',
        '▃' => ':',
        '▄' | '▀' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '▎' | '▍' | '▏' | '▕' | '│' | '┃' | '║' | '╷' | '╵' | '╎' | '┆' | '┊' => '|',
        '─' | '━' | '╶' | '╴' | '‐' | '‑' | '–' | '—' | '−' | '╌' | '┄' => '-',
        '═' => '=',
        '\u{2500}'..='\u{257f}' => '+',
        '←' | '‹' | '≤' | '◂' | '◀' | '⇐' => '<',
        '→' | '›' | '≥' | '▸' | '▶' | '⇒' => '>',
        '↑' | '▴' | '▲' => '^',
        '↓' | '▾' | '▼' => 'v',
        '…' | '≈' => '~',
        '•' | '◆' | '◇' | '●' | '○' | '▪' | '▫' | '★' | '◐'..='◓' => '*',
        'Δ' | 'δ' | '∆' => 'd',
        'µ' | 'μ' => 'u',
        'σ' | 'Σ' => 's',
        '×' | '✗' | '✘' => 'x',
        '÷' | '⁄' => '/',
        '✓' | '✔' => '+',
        'ᵀ' => 'T',
        '±' => '~',
        '°' => 'o',
        '²' => '2',
        '³' => '3',
        '‘' | '’' | '‚' | '′' => '\'',
        '“' | '”' | '„' | '″' => '"',
        '«' => '<',
        '»' => '>',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => ' ',
        'À'..='Å' => 'A',
        'Ç' => 'C',
        'È'..='Ë' => 'E',
        'Ì'..='Ï' => 'I',
        'Ñ' => 'N',
        'Ò'..='Ö' | 'Ø' => 'O',
        'Ù'..='Ü' => 'U',
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' | 'ø' => 'o',
        'ù'..='ü' => 'u',
        'ß' => 's',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::text;
    use proptest::prelude::*;

    /// Every single-column glyph of a set.
    fn columns(g: &Glyphs) -> Vec<&'static str> {
        let mut all = vec![
            g.full,
            g.slice_left,
            g.slice_right,
            g.slice_one,
            g.merged,
            g.transposing,
            g.transpose,
            g.wait,
            g.blank,
            g.instant,
            g.mark,
            g.folded,
            g.unfolded,
            g.tick,
            g.tick_minor,
            g.left,
            g.right,
            g.up,
            g.down,
            g.cursor,
            g.ellipsis,
            g.check,
            g.cross,
            g.warning,
            g.info,
            g.bullet,
            g.dot,
            g.delta,
            g.times,
            g.at_least,
            g.at_most,
            g.about,
            g.dash,
            g.pin,
        ];
        all.extend(g.shades);
        all.extend(g.levels);
        all.extend(g.wait_ends);
        all.extend(g.brackets);
        all.extend(g.scroll);
        all.extend(g.spinner);
        for frame in [&g.pane, &g.pane_focused] {
            all.extend([frame.horizontal, frame.vertical]);
            all.extend(frame.corners);
            all.extend(frame.joins);
        }
        all
    }

    #[test]
    fn both_sets_take_the_same_columns() {
        for set in [&UNICODE, &ASCII] {
            for glyph in columns(set) {
                assert_eq!(text::width(glyph), 1, "{glyph:?}");
            }
            assert_eq!(text::width(set.us), 2);
        }
        assert!(columns(&ASCII).iter().all(|g| g.is_ascii()));
        assert!(ASCII.us.is_ascii());
    }

    #[test]
    fn states_and_levels_look_different_in_both_sets() {
        for g in [&UNICODE, &ASCII] {
            for group in [vec![g.full, g.wait, g.blank, g.transposing, g.merged, g.instant], g.levels.to_vec()] {
                let mut unique = group.clone();
                unique.sort_unstable();
                unique.dedup();
                assert_eq!(unique.len(), group.len(), "{group:?}");
            }
            assert_ne!(g.pane, g.pane_focused, "focus must show without colour");
        }
    }

    #[test]
    fn the_locale_decides() {
        let env = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
        };
        assert!(!choose(false, env(&[("LANG", "C.UTF-8")])).ascii);
        assert!(!choose(false, env(&[("LANG", "en_US.utf8")])).ascii);
        assert!(!choose(false, env(&[])).ascii, "unknown locale");
        assert!(choose(false, env(&[("LANG", "C")])).ascii);
        assert!(choose(false, env(&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8")])).ascii);
        assert!(!choose(false, env(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")])).ascii);
        assert!(choose(true, env(&[("LANG", "C.UTF-8")])).ascii);
    }

    #[test]
    fn a_drawn_buffer_turns_into_ascii() {
        let mut buffer = Buffer::with_lines(["▐MMᵀ▒▌─ 行x 17–19 µs"]);
        to_ascii(&mut buffer);
        assert_eq!(buffer, Buffer::with_lines(["[MMT:]- ??x 17-19 us"]));
    }

    proptest! {
        #[test]
        fn the_fall_back_keeps_the_width(input in "\\PC{0,20}") {
            let safe = text::escape(&input);
            let ascii = ascii_fallback(&safe);
            prop_assert!(ascii.is_ascii());
            prop_assert!(!ascii.chars().any(char::is_control));
            let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, 60, 1));
            buffer.set_string(0, 0, &safe, ratatui::style::Style::new());
            to_ascii(&mut buffer);
            prop_assert!(buffer.content.iter().all(|c| c.symbol().is_ascii() && c.symbol().len() == 1));
        }
    }
}
