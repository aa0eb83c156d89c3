//! The colours of everything, by what they mean.
//!
//! Two themes are built in, dark and light, both made for people with any kind of colour vision; a user's theme
//! changes single roles of one of them (see [`mod@file`]). Colour is never the only channel: states differ in glyph too.

pub mod file;

use ratatui::style::{Color, Style};

use crate::term::answers::Background;
use crate::term::color::{contrast, rgb};

macro_rules! roles {
    ($($(#[doc = $doc:literal])+ $role:ident = $dark:literal, $light:literal;)+) => {
        /// A theme: one colour for every role, and a palette for names.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Theme {
            /// What the theme is called.
            pub name: String,
            /// Whether it is for a light background.
            pub light: bool,
            $($(#[doc = $doc])+ pub $role: Color,)+
            /// Fills for names that have no role of their own (opcodes, operators …); never empty.
            pub categories: Vec<Color>,
        }

        impl Theme {
            /// The names of all roles, as a theme file gives them.
            pub const ROLES: &'static [&'static str] = &[$(stringify!($role)),+];

            /// The built-in theme for dark terminals.
            pub fn dark() -> Self {
                Self {
                    name: "dark".to_owned(),
                    light: false,
                    $($role: hex($dark),)+
                    categories: DARK_CATEGORIES.iter().map(|c| hex(*c)).collect(),
                }
            }

            /// The built-in theme for light terminals.
            pub fn light() -> Self {
                Self {
                    name: "light".to_owned(),
                    light: true,
                    $($role: hex($light),)+
                    categories: LIGHT_CATEGORIES.iter().map(|c| hex(*c)).collect(),
                }
            }

            /// The colour of a role, by its name.
            pub fn role(&self, role: &str) -> Option<Color> {
                match role {
                    $(stringify!($role) => Some(self.$role),)+
                    _ => None,
                }
            }

            /// Gives a role another colour; false when there is no such role.
            pub fn set_role(&mut self, role: &str, color: Color) -> bool {
                match role {
                    $(stringify!($role) => self.$role = color,)+
                    _ => return false,
                }
                true
            }
        }
    };
}

roles! {
    /// Behind everything.
    background = 0x12141a, 0xfcfcfa;
    /// Behind header, footer and pane titles.
    bar = 0x1c2029, 0xecedec;
    /// Behind pop-ups.
    popup = 0x1a1e27, 0xf3f3ef;
    /// Ordinary text.
    text = 0xd8dce3, 0x1c2128;
    /// Text of second rank.
    dim = 0x8b94a3, 0x5c6470;
    /// Lines of a grid and other things that only guide the eye.
    faint = 0x3a404c, 0xcfd2d6;
    /// Names of tracks and fields.
    label = 0xb4bcc9, 0x3a424e;
    /// The name of the profile, titles of panes.
    title = 0xf2f4f8, 0x0b0e13;
    /// Figures that matter.
    value = 0xf0d9a0, 0x6b4a00;
    /// Numbers of the ruler.
    ruler = 0xa4adbb, 0x4a525e;
    /// Keys in the footer and in help.
    key = 0x7cc7f2, 0x00528a;
    /// Text being typed, and the prompt.
    input = 0xffffff, 0x000000;
    /// The window on the overview, scroll bars.
    window = 0xe6c15a, 0x8a6200;
    /// The time cursor.
    cursor = 0xff8f5a, 0xc23b00;
    /// The selected event or list row, as a fill.
    selection = 0xf4f6fa, 0x101418;
    /// Behind the current track or row.
    current_row = 0x222734, 0xe3e8f0;
    /// Behind an area selection.
    area = 0x2a4265, 0xb4d0ee;
    /// Events of the same name as the one highlighted.
    highlight = 0x9be37f, 0x2a7110;
    /// Search matches.
    matched = 0xffe14d, 0xf2c200;
    /// The search match one is at.
    current_match = 0x3fe6ff, 0x00a8c6;
    /// The instruction that started a DMA.
    dma_starter = 0xff574b, 0xda392d;
    /// The transfers of the selected instruction.
    transfer = 0x5a8cff, 0x2761ed;
    /// Dependents: a value flows (read after write).
    flow = 0x2fc48d, 0x097e53;
    /// Dependents: write after read.
    anti = 0xffa64d, 0xe07b00;
    /// Dependents: write after write.
    output = 0xcc92ff, 0x7f32c8;
    /// Dependents: in order on the same queue or engine.
    ordered = 0xb9c2d0, 0x6a7380;
    /// Dependents: they share a PSUM bank.
    psum_bank = 0x9a6532, 0x7a4a1e;
    /// A semaphore's name and value.
    semaphore = 0xc9a6ff, 0x6a32b8;
    /// Waiting: the thin line.
    wait = 0x9a7bc8, 0x8055b5;
    /// An idle gap that is selected or explained.
    idle = 0x4a5160, 0xb4b9c1;
    /// Running below full clock.
    throttle = 0xe0703a, 0xb4501a;
    /// Something to look at.
    warning = 0xffc14d, 0x8a5a00;
    /// Something failed.
    error = 0xff7a70, 0xb3130e;
    /// All is well.
    good = 0x6fd68c, 0x1c6b35;
    /// A remark.
    info = 0x79b8ff, 0x1457b0;
    /// Border of a pane.
    border = 0x4a5262, 0xa9afb8;
    /// Border of the pane that has the focus.
    border_focused = 0x7cc7f2, 0x00528a;
    /// Counter rows.
    counter = 0x5fa8d3, 0x2f7fb0;
    /// The second of two counters compared.
    counter_other = 0xd3905f, 0xb0652f;
    /// Marks set by the user.
    mark = 0xff9bd0, 0xb01e72;
    /// The PE array multiplying.
    engine_tensor_matrix = 0xf6a31b, 0xca7700;
    /// The PE array's sequencer.
    engine_tensor = 0xfeda57, 0xd49100;
    /// The Vector engine.
    engine_vector = 0x0dbef5, 0x0b8fd0;
    /// The Scalar engine.
    engine_scalar = 0x34bd85, 0x0f8a62;
    /// The GpSimd engine.
    engine_gpsimd = 0xc779d0, 0x9b3dae;
    /// The Sync engine.
    engine_sync = 0x949ba8, 0x69768a;
    /// DMA queues and rings.
    engine_dma = 0x7078f8, 0x3e33a8;
    /// Collectives.
    engine_collective = 0xf2663e, 0xc0391a;
}

// Found by annealing: the least difference of any two, seen with normal vision or without one of the three cones
// (Machado, Oliveira and Fernandes 2009), is as large as twelve colours that stand out from the background allow.
const DARK_CATEGORIES: [u32; 12] = [
    0xf6a31b, 0x04b4e8, 0xf2663e, 0xb1b893, 0x7078f8, 0xfeda57, 0xa381a3, 0x8ce5ff, 0xbc360f, 0x466e5f, 0xdeffe0,
    0x9b3dae,
];
const LIGHT_CATEGORIES: [u32; 12] = [
    0xc48546, 0x3c91fa, 0xd13d76, 0xa5c314, 0x4036ab, 0x96640a, 0x1fc8ff, 0x8f2205, 0x907bb7, 0xeea7a8, 0x575fd9,
    0x663a6b,
];

impl Theme {
    /// The built-in theme that suits a terminal's background.
    ///
    /// Where the terminal said what its background is, and this theme's text is easy to read on it, that background is
    /// shown rather than another painted over it: it is what the person chose, and lines can end early.
    pub fn for_terminal(background: Option<Background>) -> Self {
        let Some(background) = background else {
            return Self::dark();
        };
        let mut theme = if background.light { Self::light() } else { Self::dark() };
        let readable = |ground| {
            [theme.text, theme.dim, theme.label]
                .iter()
                .all(|text| rgb(*text).is_some_and(|t| contrast(t, ground) >= 4.5))
        };
        if background.color.is_some_and(readable) {
            theme.background = Color::Reset;
        }
        theme
    }

    /// What everything stands on: the background, or what the terminal's own is taken to be.
    pub fn ground(&self) -> Color {
        match (self.background, self.light) {
            (Color::Reset, true) => Self::light().background,
            (Color::Reset, false) => Self::dark().background,
            (background, _) => background,
        }
    }

    /// Ordinary text on the background.
    pub fn base(&self) -> Style {
        Style::new().fg(self.text).bg(self.background)
    }

    /// A slice filled with a colour, and its text.
    pub fn fill(&self, fill: Color) -> Style {
        Style::new().fg(self.text_on(fill)).bg(fill)
    }

    /// The colour for text on a fill: black or white, whichever is easier to read (never less than 4.58:1).
    pub fn text_on(&self, fill: Color) -> Color {
        let Some(fill) = rgb(fill) else {
            return self.text;
        };
        let (black, white) = ((0, 0, 0), (255, 255, 255));
        if contrast(fill, black) >= contrast(fill, white) { Color::Rgb(0, 0, 0) } else { Color::Rgb(255, 255, 255) }
    }

    /// The colour for a name, from its [`name_hash`]: the same everywhere, at every zoom and in every run.
    pub fn category(&self, hash: u64) -> Color {
        // Spread over the high bits first: hashes that share a factor with the palette's size would collide.
        let spread = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let index = spread as usize % self.categories.len().max(1);
        self.categories.get(index).copied().unwrap_or(self.text)
    }

    /// The colour for a name.
    pub fn category_of(&self, name: &str) -> Color {
        self.category(name_hash(name))
    }

    /// The colour of an engine, by its name or the start of it (`Vector`, `TensorMatrix nc0`); else one for the name.
    pub fn engine(&self, name: &str) -> Color {
        let lower = name.to_ascii_lowercase();
        let engines = [
            ("tensormatrix", self.engine_tensor_matrix),
            ("tensor", self.engine_tensor),
            ("vector", self.engine_vector),
            ("scalar", self.engine_scalar),
            ("gpsimd", self.engine_gpsimd),
            ("sync", self.engine_sync),
            ("dma", self.engine_dma),
            ("cc", self.engine_collective),
        ];
        let known = engines.into_iter().find(|(start, _)| lower.starts_with(start));
        known.map_or_else(|| self.category_of(name), |(_, color)| color)
    }
}

/// A hash of a name that is the same on every machine and in every version (FNV-1a, 64 bit).
pub fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

const fn hex(rgb: u32) -> Color {
    Color::Rgb((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8)
}

#[cfg(test)]
mod tests;
