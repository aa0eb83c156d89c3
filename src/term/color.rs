//! How many colours the terminal shows, and colours brought down to that.
//!
//! Colours are compared in Oklab (Björn Ottosson, "A perceptual color space for image processing", 2020), and
//! contrast is that of WCAG 2.2 ("relative luminance", "contrast ratio").

use std::str::FromStr;
use std::sync::LazyLock;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use rustc_hash::FxHashMap;

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// No colours; bold, reverse and underline stay.
    None,
    /// The 16 ANSI colours, whose look the terminal's user chose.
    Ansi16,
    /// The 256-colour palette of xterm.
    Ansi256,
    /// 24 bit.
    TrueColor,
}

/// What the user asked for with `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// Find out from the environment.
    #[default]
    Auto,
    /// Exactly this.
    Fixed(Depth),
}

impl FromStr for ColorChoice {
    type Err = String;

    /// `auto`, `never`, `16`, `256` or `true` (also `truecolor`, `24bit`, `none`).
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self::Fixed(match text {
            "auto" => return Ok(Self::Auto),
            "never" | "none" => Depth::None,
            "16" => Depth::Ansi16,
            "256" => Depth::Ansi256,
            "true" | "truecolor" | "24bit" => Depth::TrueColor,
            _ => {
                let shown = super::text::escape(text);
                return Err(format!("`{shown}` is no colour depth: use auto, never, 16, 256 or true"));
            }
        }))
    }
}

impl Depth {
    /// The depth to use: what was asked for, else what the environment tells.
    ///
    /// `lookup` gives environment variables. In order: `NO_COLOR` (not empty, no-color.org) and `TERM=dumb` mean
    /// none; `COLORTERM=truecolor` or `24bit` and terminals known for it mean 24 bit, except inside GNU screen,
    /// which passes only 256; `*-256color` means 256; any other terminal gets 16.
    pub fn detect(choice: ColorChoice, lookup: impl Fn(&str) -> Option<String>) -> Self {
        if let ColorChoice::Fixed(depth) = choice {
            return depth;
        }
        let var = |name: &str| lookup(name).unwrap_or_default();
        let term = var("TERM");
        if !var("NO_COLOR").is_empty() || term.is_empty() || term == "dumb" {
            return Self::None;
        }
        let colorterm = var("COLORTERM").to_ascii_lowercase();
        let named = ["-direct", "kitty", "alacritty", "ghostty", "foot", "wezterm", "contour"];
        let full = matches!(colorterm.as_str(), "truecolor" | "24bit") || named.iter().any(|n| term.contains(n));
        let in_screen = !var("STY").is_empty() && var("TMUX").is_empty();
        match () {
            () if full && !in_screen => Self::TrueColor,
            () if full || term.contains("256color") || !var("TMUX").is_empty() => Self::Ansi256,
            () => Self::Ansi16,
        }
    }
}

/// The contrast from which on a background is more than a tint.
pub const STANDS_OUT: f64 = 1.5;

/// Brings whole frames down to a depth, remembering the colours it has met.
#[derive(Debug)]
pub struct ColorMap {
    depth: Depth,
    ground: Color,
    seen: FxHashMap<(u8, u8, u8), Color>,
}

impl ColorMap {
    /// A map to `depth` for a theme on this ground: its background, or what the terminal's own is taken to be.
    ///
    /// Without colours, a cell whose background [stands out](STANDS_OUT) from the ground is reversed instead.
    pub fn new(depth: Depth, ground: Color) -> Self {
        Self { depth, ground, seen: FxHashMap::default() }
    }

    /// The depth this maps to.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Brings every cell down to the depth.
    pub fn apply(&mut self, buffer: &mut Buffer) {
        match self.depth {
            Depth::TrueColor => {}
            Depth::None => {
                let ground = rgb(self.ground).unwrap_or((0, 0, 0));
                buffer.content.iter_mut().for_each(|cell| strip(cell, ground));
            }
            Depth::Ansi256 | Depth::Ansi16 => buffer.content.iter_mut().for_each(|cell| self.reduce(cell)),
        }
    }

    /// The nearest colour of the depth; `Reset` stays.
    pub fn color(&mut self, color: Color) -> Color {
        let depth = self.depth;
        match (depth, color) {
            (Depth::TrueColor, _) | (_, Color::Reset) => color,
            (Depth::None, _) => Color::Reset,
            (Depth::Ansi256, Color::Rgb(r, g, b)) => {
                *self.seen.entry((r, g, b)).or_insert_with(|| Color::Indexed(nearest((r, g, b), 16..256)))
            }
            (Depth::Ansi256, _) => color,
            (Depth::Ansi16, Color::Rgb(r, g, b)) => {
                *self.seen.entry((r, g, b)).or_insert_with(|| Color::Indexed(nearest((r, g, b), 0..16)))
            }
            (Depth::Ansi16, Color::Indexed(n)) if n >= 16 => {
                let rgb = indexed(n);
                *self.seen.entry(rgb).or_insert_with(|| Color::Indexed(nearest(rgb, 0..16)))
            }
            (Depth::Ansi16, _) => color,
        }
    }

    /// Brings one cell down; what was legible stays legible.
    fn reduce(&mut self, cell: &mut Cell) {
        let (fg, bg) = (self.color(cell.fg), self.color(cell.bg));
        let ground = if bg == Color::Reset { self.color(self.ground) } else { bg };
        let merged = fg == ground && fg != Color::Reset && cell.fg != cell.bg && cell.symbol() != " ";
        cell.fg = match rgb(ground) {
            Some(ground) if merged && lightness(ground) > 0.6 => Color::Indexed(0),
            Some(_) if merged => Color::Indexed(15),
            _ => fg,
        };
        cell.bg = bg;
    }
}

/// Takes the colours off a cell; a background that stood out becomes reverse video.
fn strip(cell: &mut Cell, ground: (u8, u8, u8)) {
    if rgb(cell.bg).is_some_and(|bg| contrast(bg, ground) >= STANDS_OUT) {
        cell.modifier.insert(Modifier::REVERSED);
    }
    cell.fg = Color::Reset;
    cell.bg = Color::Reset;
}

/// The red, green and blue of a colour, 16 and 256 colours as xterm shows them; none for the terminal's default.
pub fn rgb(color: Color) -> Option<(u8, u8, u8)> {
    let index = match color {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => return Some((r, g, b)),
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
    };
    Some(indexed(index))
}

/// The WCAG contrast ratio of two colours, from 1 to 21.
pub fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The lightness of a colour as it is perceived (Oklab L), from 0 to 1.
pub fn lightness(color: (u8, u8, u8)) -> f64 {
    oklab(color)[0]
}

/// How different two colours look: the distance in Oklab; 0.02 is just noticeable, black to white is 1.
pub fn difference(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
    distance(oklab(a), oklab(b))
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// The colours of xterm's 256-colour palette (`256colres.pl` and the VGA-like 16 of its defaults).
fn indexed(n: u8) -> (u8, u8, u8) {
    const ANSI: [(u8, u8, u8); 16] = [
        (0, 0, 0),
        (205, 0, 0),
        (0, 205, 0),
        (205, 205, 0),
        (0, 0, 238),
        (205, 0, 205),
        (0, 205, 205),
        (229, 229, 229),
        (127, 127, 127),
        (255, 0, 0),
        (0, 255, 0),
        (255, 255, 0),
        (92, 92, 255),
        (255, 0, 255),
        (0, 255, 255),
        (255, 255, 255),
    ];
    let step = |v: u8| if v == 0 { 0 } else { 55 + 40 * v };
    match n {
        0..=15 => ANSI[usize::from(n)],
        16..=231 => (step((n - 16) / 36), step((n - 16) / 6 % 6), step((n - 16) % 6)),
        232..=255 => {
            let grey = 8 + 10 * (n - 232);
            (grey, grey, grey)
        }
    }
}

/// The entry of the palette, within a range, that looks most like a colour.
fn nearest(color: (u8, u8, u8), range: std::ops::Range<u16>) -> u8 {
    static PALETTE: LazyLock<Vec<[f64; 3]>> = LazyLock::new(|| (0..=255).map(|n| oklab(indexed(n))).collect());
    let wanted = oklab(color);
    let mut best = (f64::INFINITY, 0);
    for n in range {
        let n = n.min(255) as u8;
        let d = distance(PALETTE[usize::from(n)], wanted);
        if d < best.0 {
            best = (d, n);
        }
    }
    best.1
}

/// WCAG 2.2 relative luminance.
fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

/// An sRGB component as linear light (IEC 61966-2-1).
fn linear(component: u8) -> f64 {
    // Every cell of every frame may ask.
    static LINEAR: LazyLock<[f64; 256]> = LazyLock::new(|| {
        std::array::from_fn(|component| {
            let c = component as f64 / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    });
    LINEAR[usize::from(component)]
}

/// A colour in Oklab.
fn oklab((r, g, b): (u8, u8, u8)) -> [f64; 3] {
    oklab_of_linear([linear(r), linear(g), linear(b)])
}

/// Linear sRGB in Oklab, with the matrices of Ottosson's article.
pub(crate) fn oklab_of_linear([r, g, b]: [f64; 3]) -> [f64; 3] {
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn detect(choice: &str, vars: &[(&str, &str)]) -> Depth {
        let lookup = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Depth::detect(choice.parse().unwrap(), lookup)
    }

    #[test]
    fn the_flag_wins() {
        let dumb: &[_] = &[("TERM", "dumb"), ("NO_COLOR", "1")];
        assert_eq!(detect("true", dumb), Depth::TrueColor);
        assert_eq!(detect("256", dumb), Depth::Ansi256);
        assert_eq!(detect("16", dumb), Depth::Ansi16);
        assert_eq!(detect("never", &[("TERM", "xterm-kitty")]), Depth::None);
        let error = "blue\x1b".parse::<ColorChoice>().unwrap_err();
        assert_eq!(error, r"`blue\x1b` is no colour depth: use auto, never, 16, 256 or true");
    }

    #[test]
    fn the_environment_tells() {
        assert_eq!(detect("auto", &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), Depth::None);
        assert_eq!(detect("auto", &[("TERM", "xterm-256color"), ("NO_COLOR", "")]), Depth::Ansi256);
        assert_eq!(detect("auto", &[("TERM", "dumb"), ("COLORTERM", "truecolor")]), Depth::None);
        assert_eq!(detect("auto", &[]), Depth::None);
        assert_eq!(detect("auto", &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Depth::TrueColor);
        assert_eq!(detect("auto", &[("TERM", "xterm-kitty")]), Depth::TrueColor);
        assert_eq!(detect("auto", &[("TERM", "linux")]), Depth::Ansi16);
        let tmux = [("TERM", "screen"), ("TMUX", "/tmp/t,1,0")];
        assert_eq!(detect("auto", &tmux), Depth::Ansi256);
        let screen = [("TERM", "screen"), ("COLORTERM", "truecolor"), ("STY", "1.pts")];
        assert_eq!(detect("auto", &screen), Depth::Ansi256);
    }

    #[test]
    fn colours_come_down_to_their_neighbours() {
        let mut map = ColorMap::new(Depth::Ansi256, Color::Reset);
        assert_eq!(map.color(Color::Rgb(255, 0, 0)), Color::Indexed(196));
        assert_eq!(map.color(Color::Rgb(95, 135, 175)), Color::Indexed(67));
        assert_eq!(map.color(Color::Rgb(48, 48, 48)), Color::Indexed(236));
        assert_eq!(map.color(Color::Cyan), Color::Cyan);
        assert_eq!(map.color(Color::Reset), Color::Reset);
        let mut map = ColorMap::new(Depth::Ansi16, Color::Reset);
        assert_eq!(map.color(Color::Rgb(10, 10, 12)), Color::Indexed(0));
        assert_eq!(map.color(Color::Rgb(250, 250, 255)), Color::Indexed(15));
        assert_eq!(map.color(Color::Rgb(220, 30, 20)), Color::Indexed(1));
        assert_eq!(map.color(Color::Indexed(21)), Color::Indexed(4));
        assert_eq!(map.color(Color::Indexed(3)), Color::Indexed(3));
    }

    #[test]
    fn every_palette_entry_is_its_own_neighbour() {
        for n in 16..=255u8 {
            assert_eq!(indexed(nearest(indexed(n), 16..256)), indexed(n), "{n}");
        }
    }

    #[test]
    fn text_never_melts_into_its_ground() {
        let back = Color::Rgb(18, 20, 26);
        let mut map = ColorMap::new(Depth::Ansi16, back);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 2, 1));
        buffer.set_string(0, 0, "a", Style::new().fg(Color::Rgb(30, 30, 40)).bg(back));
        buffer.set_string(1, 0, "b", Style::new().fg(Color::Rgb(30, 30, 40)));
        map.apply(&mut buffer);
        assert_eq!((buffer[(0, 0)].fg, buffer[(0, 0)].bg), (Color::Indexed(15), Color::Indexed(0)));
        assert_eq!((buffer[(1, 0)].fg, buffer[(1, 0)].bg), (Color::Indexed(15), Color::Reset));
    }

    #[test]
    fn without_colours_state_still_shows() {
        let back = Color::Rgb(18, 20, 26);
        let mut map = ColorMap::new(Depth::None, back);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        buffer.set_string(0, 0, "s", Style::new().fg(Color::Black).bg(Color::Rgb(230, 159, 0)));
        buffer.set_string(1, 0, "t", Style::new().fg(Color::White).bg(back));
        buffer.set_string(2, 0, "u", Style::new().bg(Color::Rgb(26, 29, 36)).add_modifier(Modifier::BOLD));
        buffer.set_string(3, 0, "v", Style::new().add_modifier(Modifier::UNDERLINED));
        map.apply(&mut buffer);
        let modifiers: Vec<_> = buffer.content.iter().map(|c| c.modifier).collect();
        assert_eq!(modifiers, [Modifier::REVERSED, Modifier::empty(), Modifier::BOLD, Modifier::UNDERLINED]);
        assert!(buffer.content.iter().all(|c| c.fg == Color::Reset && c.bg == Color::Reset));
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        assert!((contrast((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 1e-9);
        assert!((contrast((119, 119, 119), (255, 255, 255)) - 4.478).abs() < 0.001);
        assert!(difference((0, 0, 0), (255, 255, 255)) > 0.999);
        assert!(difference((10, 20, 30), (10, 20, 30)) < 1e-12);
    }
}
