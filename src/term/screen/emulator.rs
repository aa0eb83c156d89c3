//! A small, strict terminal for tests. Unlike an emulator library it fills what comes in from the side, and what is
//! erased, with the current background, as real terminals do; it spoils what terminals disagree about (the halves of
//! cut wide glyphs, too many columns inserted at once); and it panics on sequences the screen should not send and on relying on a cursor that waits to
//! wrap.

use ratatui::style::Modifier;
use unicode_width::UnicodeWidthChar as _;

/// A colour, as SGR parameters: empty for the default.
pub type Color = Vec<u16>;

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it shows: a glyph, nothing for the second column of a wide one, or a spoilt half.
    pub text: String,
    pub fg: Color,
    pub bg: Color,
    pub modifier: Modifier,
}

const SPOILT: &str = "<nobody knows>";

pub struct Emulator {
    pub width: usize,
    pub height: usize,
    pub cells: Vec<Seen>,
    pub cursor: (usize, usize),
    pub cursor_shown: bool,
    pub synchronized: bool,
    pub frames: usize,
    waits_to_wrap: bool,
    pen: Seen,
    last: Option<char>,
}

impl Emulator {
    /// A terminal that shows garbage, as after some other program.
    pub fn new(width: usize, height: usize) -> Self {
        let pen = Seen { text: " ".to_owned(), fg: vec![], bg: vec![], modifier: Modifier::empty() };
        let garbage = Seen { text: "g".to_owned(), bg: vec![44], ..pen.clone() };
        Self {
            width,
            height,
            cells: vec![garbage; width * height],
            cursor: (width / 2, height / 2),
            cursor_shown: true,
            synchronized: false,
            frames: 0,
            waits_to_wrap: false,
            pen,
            last: None,
        }
    }

    /// Changes the size; what is shown then is anyone's guess.
    pub fn resize(&mut self, width: usize, height: usize) {
        let (pen, frames) = (self.pen.clone(), self.frames);
        *self = Self { pen, frames, ..Self::new(width, height) };
    }

    /// Another program writes something, and leaves its attributes on.
    pub fn disturb(&mut self) {
        self.go(0, 0);
        self.pen.bg = vec![41];
        self.pen.modifier = Modifier::BOLD | Modifier::CROSSED_OUT;
        self.print('x');
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).expect("a frame is UTF-8");
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\x1b' => {
                    assert_eq!(chars.next(), Some('['), "only control sequences are expected");
                    let mut parameters = String::new();
                    let end = loop {
                        match chars.next().expect("a whole sequence") {
                            c @ '\x40'..='\x7e' => break c,
                            c => parameters.push(c),
                        }
                    };
                    self.csi(&parameters, end);
                }
                '\r' => (self.cursor.0, self.waits_to_wrap) = (0, false),
                '\n' => {
                    assert!(self.cursor.1 + 1 < self.height, "the screen would scroll");
                    self.cursor.1 += 1;
                }
                '\x08' => {
                    self.certain();
                    self.cursor.0 = self.cursor.0.checked_sub(1).expect("backspace at the left edge");
                }
                c => self.print(c),
            }
        }
    }

    /// Relative movements and edits are only certain when the cursor does not wait to wrap.
    fn certain(&self) {
        assert!(!self.waits_to_wrap, "relies on a cursor that waits to wrap");
    }

    fn at(&self, x: usize) -> usize {
        self.cursor.1 * self.width + x
    }

    /// Where a glyph is cut, terminals differ in what they leave.
    fn spoil(&mut self, x: usize) {
        let i = self.at(x);
        if x < self.width && self.cells[i].text.is_empty() {
            self.cells[i].text = SPOILT.to_owned();
            let head = self.at(x - 1);
            self.cells[head].text = SPOILT.to_owned();
        }
    }

    fn print(&mut self, c: char) {
        assert!(!c.is_control(), "control character {c:?}");
        let width = c.width().expect("a printable character");
        if width == 0 {
            // Where the cursor waits to wrap it still stands on the last column.
            let mut x = if self.waits_to_wrap { self.width - 1 } else { self.cursor.0 - 1 };
            while self.cells[self.at(x)].text.is_empty() {
                x -= 1;
            }
            let i = self.at(x);
            self.cells[i].text.push(c);
            return;
        }
        assert!(!self.waits_to_wrap, "printed beyond the right edge");
        let x = self.cursor.0;
        assert!(x + width <= self.width, "no room for a wide glyph");
        self.spoil(x);
        self.spoil(x + width);
        let i = self.at(x);
        self.cells[i] = Seen { text: c.to_string(), ..self.pen.clone() };
        if width == 2 {
            self.cells[i + 1] = Seen { text: String::new(), ..self.pen.clone() };
        }
        self.last = Some(c);
        self.cursor.0 = (x + width).min(self.width - 1);
        self.waits_to_wrap = x + width == self.width;
    }

    /// What is erased or comes in: the current background, nothing else.
    fn filling(&self) -> Seen {
        Seen { bg: self.pen.bg.clone(), text: " ".to_owned(), fg: vec![], modifier: Modifier::empty() }
    }

    fn csi(&mut self, parameters: &str, end: char) {
        let numbers: Vec<usize> = parameters.split(';').map(|p| p.parse().unwrap_or(0)).collect();
        let first = numbers[0].max(1);
        let (x, y) = self.cursor;
        match (parameters, end) {
            ("?2026", 'h') => {
                assert!(!self.synchronized);
                self.synchronized = true;
            }
            ("?2026", 'l') => {
                assert!(self.synchronized);
                self.synchronized = false;
                self.frames += 1;
            }
            ("?25", 'h' | 'l') => self.cursor_shown = end == 'h',
            (_, 'm') => self.sgr(parameters),
            ("2", 'J') => {
                let filling = self.filling();
                self.cells.fill(filling);
            }
            ("", 'K') => {
                self.certain();
                self.spoil(x);
                let filling = self.filling();
                let (from, to) = (self.at(x), self.at(self.width));
                self.cells[from..to].fill(filling);
            }
            (_, '@' | 'P') => {
                self.certain();
                assert!(first < self.width - x);
                let cut = if end == '@' { self.width - first } else { x + first };
                self.spoil(x);
                self.spoil(cut);
                let filling = self.filling();
                let (from, to) = (self.at(x), self.at(self.width));
                let row = &mut self.cells[from..to];
                if end == '@' {
                    let stay = row.len() - first;
                    row.rotate_right(first);
                    row[..first].fill(filling);
                    // As tmux 3.3a does it: what neither moved nor was moved over stands as it was, whatever that is.
                    row[stay.min(first)..first].iter_mut().for_each(|cell| cell.text = SPOILT.to_owned());
                } else {
                    row.rotate_left(first);
                    let kept = row.len() - first;
                    row[kept..].fill(filling);
                }
            }
            (_, 'b') => {
                let last = self.last.expect("something to repeat");
                for _ in 0..first {
                    self.print(last);
                }
            }
            (_, 'H') => self.go(numbers.get(1).copied().unwrap_or(1).max(1) - 1, first - 1),
            (_, 'G') => self.go(first - 1, y),
            (_, 'A' | 'B' | 'C' | 'D') => {
                self.certain();
                match end {
                    'A' => self.go(x, y - first),
                    'B' => self.go(x, y + first),
                    'C' => self.go(x + first, y),
                    _ => self.go(x - first, y),
                }
            }
            _ => panic!("unexpected sequence CSI {parameters} {end}"),
        }
    }

    fn go(&mut self, x: usize, y: usize) {
        assert!(x < self.width && y < self.height, "moved off the screen");
        self.cursor = (x, y);
        self.waits_to_wrap = false;
    }

    fn sgr(&mut self, parameters: &str) {
        let numbers: Vec<u16> = parameters.split(';').map(|p| p.parse().unwrap_or(0)).collect();
        let mut rest = numbers.as_slice();
        let pen = &mut self.pen;
        while let Some((&code, tail)) = rest.split_first() {
            rest = tail;
            match code {
                0 => (pen.fg, pen.bg, pen.modifier) = (vec![], vec![], Modifier::empty()),
                1 => pen.modifier |= Modifier::BOLD,
                2 => pen.modifier |= Modifier::DIM,
                3 => pen.modifier |= Modifier::ITALIC,
                4 => pen.modifier |= Modifier::UNDERLINED,
                5 => pen.modifier |= Modifier::SLOW_BLINK,
                6 => pen.modifier |= Modifier::RAPID_BLINK,
                7 => pen.modifier |= Modifier::REVERSED,
                8 => pen.modifier |= Modifier::HIDDEN,
                9 => pen.modifier |= Modifier::CROSSED_OUT,
                22 => pen.modifier -= Modifier::BOLD | Modifier::DIM,
                23 => pen.modifier -= Modifier::ITALIC,
                24 => pen.modifier -= Modifier::UNDERLINED,
                25 => pen.modifier -= Modifier::SLOW_BLINK | Modifier::RAPID_BLINK,
                27 => pen.modifier -= Modifier::REVERSED,
                28 => pen.modifier -= Modifier::HIDDEN,
                29 => pen.modifier -= Modifier::CROSSED_OUT,
                39 => pen.fg.clear(),
                49 => pen.bg.clear(),
                30..=37 | 90..=97 => pen.fg = vec![code],
                40..=47 | 100..=107 => pen.bg = vec![code - 10],
                38 | 48 => {
                    let taken = if rest[0] == 5 { 2 } else { 4 };
                    let color = rest[..taken].to_vec();
                    rest = &rest[taken..];
                    *(if code == 38 { &mut pen.fg } else { &mut pen.bg }) = color;
                }
                _ => panic!("unexpected attribute {code}"),
            }
        }
    }
}
