use super::emulator::{Emulator, Seen};
use super::*;
use std::num::NonZero;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// What attributes and colours show on a blank; the rest of a blank's style is not compared.
const ON_BLANK: Modifier = Modifier::from_bits_truncate(
    Modifier::REVERSED.bits()
        | Modifier::UNDERLINED.bits()
        | Modifier::CROSSED_OUT.bits()
        | Modifier::SLOW_BLINK.bits()
        | Modifier::RAPID_BLINK.bits(),
);

fn ink(color: Color) -> Vec<u16> {
    match color {
        Color::Reset => vec![],
        Color::Rgb(r, g, b) => vec![2, r.into(), g.into(), b.into()],
        Color::Indexed(n @ 0..=7) => vec![30 + u16::from(n)],
        Color::Indexed(n @ 8..=15) => vec![82 + u16::from(n)],
        Color::Indexed(n) => vec![5, n.into()],
        Color::Red => vec![31],
        Color::DarkGray => vec![90],
        other => panic!("{other} is not used here"),
    }
}

fn comparable(mut seen: Seen) -> Seen {
    if seen.text == " " {
        seen.modifier &= ON_BLANK;
        if seen.modifier.is_empty() {
            seen.fg.clear();
        }
    }
    seen
}

/// What a buffer should look like, worked out the plain way.
fn intended(buffer: &Buffer) -> Vec<Seen> {
    let mut all = Vec::new();
    for row in buffer.content.chunks(usize::from(buffer.area.width)) {
        let mut x = 0;
        while x < row.len() {
            let cell = &row[x];
            let seen =
                Seen { text: cell.symbol().to_owned(), fg: ink(cell.fg), bg: ink(cell.bg), modifier: cell.modifier };
            let wide = crate::term::text::width(cell.symbol()) == 2;
            all.push(comparable(seen.clone()));
            if wide {
                all.push(Seen { text: String::new(), ..seen });
            }
            x += 1 + usize::from(wide);
        }
    }
    all
}

/// A screen whose bytes go to the strict emulator and to the vt100 crate.
pub(super) struct Bench {
    screen: Screen<Vec<u8>>,
    strict: Emulator,
    library: vt100::Parser,
}

impl Bench {
    pub(super) fn new(area: Rect, capabilities: Capabilities) -> Self {
        let mut library = vt100::Parser::new(some(area.height), some(area.width), 0);
        library.process(b"\x1b[44mgarbage");
        Self {
            screen: Screen::new(Vec::new(), capabilities),
            strict: Emulator::new(area.width.into(), area.height.into()),
            library,
        }
    }

    fn resize(&mut self, area: Rect) {
        self.strict.resize(area.width.into(), area.height.into());
        self.library.screen_mut().set_size(some(area.height), some(area.width));
    }

    pub(super) fn draw(&mut self, frame: &Buffer, cursor: Option<Position>, hint: Option<ShiftHint>) -> FrameStats {
        let stats = self.screen.draw(frame, cursor, hint).unwrap();
        let bytes = std::mem::take(self.screen.get_mut());
        assert_eq!(bytes.len(), stats.bytes);
        self.strict.feed(&bytes);
        self.library.process(&bytes);
        assert!(!self.strict.synchronized, "the frame was not ended");
        self.compare(frame, cursor.filter(|at| frame.area.contains(*at)));
        stats
    }

    fn compare(&self, frame: &Buffer, cursor: Option<Position>) {
        let width = usize::from(frame.area.width);
        for (i, wanted) in intended(frame).into_iter().enumerate() {
            let (x, y) = (i % width, i / width);
            assert_eq!(comparable(self.strict.cells[i].clone()), wanted, "strict, column {x}, row {y}");
            if wanted.text.is_empty() {
                continue;
            }
            let cell = self.library.screen().cell(y as u16, x as u16).unwrap();
            let text = if cell.has_contents() { cell.contents() } else { " " };
            assert_eq!(text, wanted.text, "vt100, column {x}, row {y}");
            let mut modifier = Modifier::empty();
            for (on, flag) in [
                (cell.bold(), Modifier::BOLD),
                (cell.dim(), Modifier::DIM),
                (cell.italic(), Modifier::ITALIC),
                (cell.underline(), Modifier::UNDERLINED),
                (cell.inverse(), Modifier::REVERSED),
            ] {
                modifier.set(flag, on);
            }
            let mut library = comparable(Seen {
                text: text.to_owned(),
                fg: library_ink(cell.fgcolor()),
                bg: library_ink(cell.bgcolor()),
                modifier,
            });
            // This library knows either bold or dim, and nothing of these.
            let mut wanted = wanted;
            wanted.modifier -= Modifier::SLOW_BLINK | Modifier::RAPID_BLINK | Modifier::HIDDEN | Modifier::CROSSED_OUT;
            if wanted.modifier.contains(Modifier::BOLD | Modifier::DIM) {
                wanted.modifier -= Modifier::BOLD | Modifier::DIM;
                library.modifier -= Modifier::BOLD | Modifier::DIM;
            }
            if wanted.text == " " && wanted.modifier.is_empty() {
                wanted.fg.clear();
            }
            assert_eq!(library, wanted, "vt100, column {x}, row {y}");
        }
        assert_eq!(self.strict.cursor_shown, cursor.is_some());
        assert_eq!(!self.library.screen().hide_cursor(), cursor.is_some());
        if let Some(at) = cursor {
            assert_eq!(self.strict.cursor, (usize::from(at.x), usize::from(at.y)));
            assert_eq!(self.library.screen().cursor_position(), (at.y, at.x));
        }
    }
}

fn some(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

fn library_ink(color: vt100::Color) -> Vec<u16> {
    match color {
        vt100::Color::Default => vec![],
        vt100::Color::Idx(n) => ink(Color::Indexed(n)),
        vt100::Color::Rgb(r, g, b) => ink(Color::Rgb(r, g, b)),
    }
}

const AREA: Rect = Rect::new(0, 0, 20, 4);

fn lines(lines: [&str; 4]) -> Buffer {
    let mut buffer = Buffer::empty(AREA);
    for (y, line) in lines.into_iter().enumerate() {
        buffer.set_string(0, y as u16, line, Style::new());
    }
    buffer
}

fn sent(now: [&str; 4], next: [&str; 4], hint: Option<ShiftHint>) -> (String, FrameStats) {
    let mut bench = Bench::new(AREA, Capabilities { synchronized: false, ..Capabilities::default() });
    bench.draw(&lines(now), None, None);
    let mut screen = Screen::new(Vec::new(), Capabilities { synchronized: false, ..Capabilities::default() });
    screen.draw(&lines(now), None, None).unwrap();
    screen.get_mut().clear();
    bench.draw(&lines(next), None, hint);
    let stats = screen.draw(&lines(next), None, hint).unwrap();
    (String::from_utf8(screen.into_inner()).unwrap(), stats)
}

#[test]
fn nothing_is_sent_when_nothing_changed() {
    let mut screen = Screen::new(Vec::new(), Capabilities::default());
    let frame = lines(["one", "two", "", "four"]);
    assert!(screen.draw(&frame, None, None).unwrap().bytes > 0);
    screen.get_mut().clear();
    let hint = ShiftHint { area: AREA, columns: 3 };
    assert_eq!(screen.draw(&frame, None, Some(hint)).unwrap(), FrameStats::default());
    assert_eq!(screen.into_inner(), b"");
}

#[test]
fn frames_are_marked_and_only_changes_are_sent() {
    let mut screen = Screen::new(Vec::new(), Capabilities::default());
    screen.draw(&lines(["one", "two", "", ""]), None, None).unwrap();
    screen.get_mut().clear();
    let stats = screen.draw(&lines(["one", "tWo", "", ""]), None, None).unwrap();
    assert_eq!(screen.into_inner(), b"\x1b[?2026h\x1b[2;2HW\x1b[?2026l");
    assert_eq!(stats, FrameStats { bytes: 23, shifted_rows: 0, tiles: 1 });
}

#[test]
fn a_row_of_blanks_is_erased() {
    let (bytes, _) = sent(["", "abcdefghijklmnop", "", ""], ["", "ab", "", ""], None);
    assert_eq!(bytes, "\x1b[2;3H\x1b[K");
}

#[test]
fn short_gaps_are_written_over() {
    let (bytes, _) = sent(["abcdef", "", "", ""], ["AbCdEf", "", "", ""], None);
    assert_eq!(bytes, "\x1b[HAbCdE");
}

#[test]
fn the_terminal_moves_what_moved() {
    let now = ["label 0123456789abcd", "label ABCDEFGHIJKLMN", "", "foot"];
    let next = ["label 3456789abcdxyz", "label DEFGHIJKLMNXYZ", "", "foot"];
    let hint = Some(ShiftHint { area: Rect::new(6, 0, 14, 3), columns: -3 });
    let (bytes, stats) = sent(now, next, hint);
    assert_eq!(bytes, "\x1b[1;7H\x1b[3P\x1b[B\x1b[3P\x1b[1;18Hxyz\x1b[2;18HXYZ");
    assert_eq!(stats.shifted_rows, 2);
    // The other way, and a hint that is wrong: never a wrong screen (checked by both emulators).
    let back = Some(ShiftHint { area: Rect::new(6, 0, 14, 3), columns: 3 });
    assert_eq!(sent(next, now, back).1.shifted_rows, 2);
    assert_eq!(sent(now, next, back).1.shifted_rows, 0);
}

#[test]
fn what_comes_in_has_the_default_background() {
    let mut bench = Bench::new(AREA, Capabilities::default());
    let coloured = |text: &str| {
        let mut buffer = Buffer::empty(AREA);
        buffer.set_string(0, 3, text, Style::new().bg(Color::Rgb(9, 9, 9)));
        buffer
    };
    bench.draw(&coloured("0123456789abcdefghij"), None, None);
    let hint = Some(ShiftHint { area: AREA, columns: -4 });
    let mut next = coloured("456789abcdefghij");
    let stats = bench.draw(&next, None, hint);
    assert_eq!((stats.shifted_rows, stats.tiles), (1, 0), "the new columns are blank already");
    next.set_string(16, 3, "    ", Style::new().bg(Color::Rgb(9, 9, 9)));
    bench.draw(&next, None, None);
}

#[test]
fn the_cursor_is_shown_for_text_entry_only() {
    let mut bench = Bench::new(AREA, Capabilities::default());
    let frame = lines(["name: ", "", "", ""]);
    bench.draw(&frame, Some(Position::new(6, 0)), None);
    assert_eq!(bench.draw(&frame, Some(Position::new(6, 0)), None).bytes, 0);
    assert_eq!(bench.draw(&frame, Some(Position::new(5, 0)), None).bytes, 6, "only a movement");
    bench.draw(&lines(["name: x", "", "", ""]), Some(Position::new(7, 0)), None);
    bench.draw(&frame, None, None);
    assert_eq!(bench.draw(&frame, Some(Position::new(99, 0)), None).bytes, 0, "off the screen means hidden");
}

#[test]
fn a_failed_write_makes_the_screen_unknown() {
    struct Broken(Option<Vec<u8>>);
    impl Write for Broken {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let out = self.0.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            out.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut screen = Screen::new(Broken(None), Capabilities::default());
    let frame = lines(["text", "", "", ""]);
    assert!(screen.draw(&frame, None, None).is_err());
    screen.get_mut().0 = Some(Vec::new());
    screen.draw(&frame, None, None).unwrap();
    let mut strict = Emulator::new(20, 4);
    strict.feed(&screen.into_inner().0.unwrap());
    let shown: Vec<_> = strict.cells.into_iter().map(comparable).collect();
    assert_eq!(shown, intended(&frame));
}

#[test]
fn hostile_symbols_do_not_reach_the_terminal() {
    let mut screen = Screen::new(Vec::new(), Capabilities::default());
    let mut frame = Buffer::empty(AREA);
    for (i, symbol) in ["\x1b]0;x\x07", "\x07", "\u{9b}2J", "a\u{202e}", "\n"].iter().enumerate() {
        frame.content[i].set_symbol(symbol);
    }
    screen.draw(&frame, None, None).unwrap();
    let text = String::from_utf8(screen.into_inner()).unwrap();
    let body = text.split("\x1b[2J").nth(1).unwrap().replace("\x1b[?2026l", "");
    assert!(!body.contains(['\u{9b}', '\u{202e}', '\n', '\x07']), "{body:?}");
    assert!(!body.contains("\x1b]"), "{body:?}");
}

// ---- random frames ----

const GLYPHS: [&str; 16] =
    ["a", "b", "Z", " ", " ", "█", "▐", "─", "行", "列", "🚀", "e\u{301}", "한", "é", "▁", "o\u{323}\u{302}"];
const COLORS: [Color; 9] = [
    Color::Reset,
    Color::Reset,
    Color::Red,
    Color::DarkGray,
    Color::Indexed(4),
    Color::Indexed(12),
    Color::Indexed(200),
    Color::Rgb(1, 2, 3),
    Color::Rgb(250, 150, 50),
];

fn style() -> impl Strategy<Value = Style> {
    let modifier = prop_oneof![4 => Just(0u16), 3 => (0u16..9).prop_map(|b| 1 << b), 1 => 0u16..512];
    (0..COLORS.len(), 0..COLORS.len(), modifier).prop_map(|(fg, bg, bits)| {
        Style::new().fg(COLORS[fg]).bg(COLORS[bg]).add_modifier(Modifier::from_bits_truncate(bits))
    })
}

/// A piece of text somewhere: where (as fractions), what, how.
#[derive(Clone, Debug)]
struct Stroke {
    at: (u16, u16),
    glyphs: Vec<usize>,
    style: Style,
}

fn stroke() -> impl Strategy<Value = Stroke> {
    let glyphs = prop_oneof![
        3 => prop::collection::vec(0..GLYPHS.len(), 1..12),
        1 => (0..GLYPHS.len(), 1usize..40).prop_map(|(glyph, n)| vec![glyph; n]),
    ];
    ((any::<u16>(), any::<u16>()), glyphs, style()).prop_map(|(at, glyphs, style)| Stroke { at, glyphs, style })
}

fn paint(buffer: &mut Buffer, strokes: &[Stroke]) {
    for Stroke { at, glyphs, style } in strokes {
        let (x, y) = (at.0 % buffer.area.width, at.1 % buffer.area.height);
        let text: String = glyphs.iter().map(|g| GLYPHS[*g]).collect();
        buffer.set_string(x, y, text, *style);
    }
}

/// Turns hidden halves and cut glyphs, which a stroke over another leaves, into what a widget would leave.
fn tidy(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width);
    for row in buffer.content.chunks_mut(width) {
        let mut x = 0;
        while x < width {
            let wide = crate::term::text::width(row[x].symbol()) == 2;
            if wide && x + 1 == width {
                row[x].set_symbol(" ");
            }
            x += 1 + usize::from(wide);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Draw over what is there.
    Draw(Vec<Stroke>),
    /// Start from an empty frame.
    Fresh(Vec<Stroke>),
    /// Move the columns from `left` on, in rows `top..`, and draw into the new ones and elsewhere; `told` is what the
    /// hint says, as a difference to the truth (and an area that is off by so much).
    Pan { left: u16, top: u16, by: i16, fill: Vec<Stroke>, told: Option<(i16, u16)> },
    /// Another size.
    Resize(u16, u16),
    /// Someone else wrote to the terminal.
    Disturb,
}

fn step() -> impl Strategy<Value = Step> {
    let strokes = || prop::collection::vec(stroke(), 0..6);
    let told = prop_oneof![
        1 => Just(None),
        5 => Just(Some((0, 0))),
        2 => (-3i16..4, 0u16..3).prop_map(Some),
    ];
    prop_oneof![
        3 => strokes().prop_map(Step::Draw),
        1 => strokes().prop_map(Step::Fresh),
        5 => (0u16..10, 0u16..3, -9i16..10, strokes(), told)
            .prop_map(|(left, top, by, fill, told)| Step::Pan { left, top, by, fill, told }),
        1 => (1u16..40, 1u16..7).prop_map(|(w, h)| Step::Resize(w, h)),
        1 => Just(Step::Disturb),
    ]
}

/// Moves a buffer's columns from `left` on, naively; what comes in is blank.
fn pan(buffer: &mut Buffer, left: u16, top: u16, by: i16) {
    let before = buffer.clone();
    for y in top..buffer.area.height {
        for x in left..buffer.area.width {
            let from = i32::from(x) - i32::from(by);
            let inside = (i32::from(left)..i32::from(buffer.area.width)).contains(&from);
            buffer[(x, y)] = if inside { before[(from as u16, y)].clone() } else { ratatui::buffer::Cell::EMPTY };
        }
    }
}

/// Plays the steps; returns how many rows the terminal moved.
fn play(size: (u16, u16), repeat: bool, steps: Vec<(Step, Option<(u16, u16)>)>) -> usize {
    let mut frame = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    let mut bench = Bench::new(frame.area, Capabilities { repeat, ..Capabilities::default() });
    let mut shifted = 0;
    for (step, cursor) in steps {
        let mut hint = None;
        match step {
            Step::Draw(strokes) => paint(&mut frame, &strokes),
            Step::Fresh(strokes) => {
                frame.reset();
                paint(&mut frame, &strokes);
            }
            Step::Pan { left, top, by, fill, told } => {
                pan(&mut frame, left, top, by);
                paint(&mut frame, &fill);
                hint = told.map(|(columns, off)| ShiftHint {
                    area: Rect::new(left + off, top, frame.area.width, frame.area.height),
                    columns: by + columns,
                });
            }
            Step::Resize(width, height) => {
                frame = Buffer::empty(Rect::new(0, 0, width, height));
                bench.resize(frame.area);
                bench.screen.invalidate();
            }
            Step::Disturb => {
                bench.strict.disturb();
                bench.library.process(b"\x1b[H\x1b[41;1mx");
                bench.screen.invalidate();
            }
        }
        let cursor = cursor.map(|(x, y)| Position::new(x % frame.area.width, y % frame.area.height));
        tidy(&mut frame);
        shifted += bench.draw(&frame, cursor, hint).shifted_rows;
        assert_eq!(bench.draw(&frame, cursor, hint).bytes, 0);
    }
    shifted
}

#[test]
fn any_sequence_of_frames_ends_in_the_intended_screen() {
    let shifted = std::cell::Cell::new(0);
    let cursor = prop::option::weighted(0.3, (any::<u16>(), any::<u16>()));
    let steps = prop::collection::vec((step(), cursor), 1..14);
    TestRunner::new(ProptestConfig { cases: 1000, source_file: Some(file!()), ..ProptestConfig::default() })
        .run(&((1u16..40, 1u16..7), any::<bool>(), steps), |(size, repeat, steps)| {
            shifted.set(shifted.get() + play(size, repeat, steps));
            Ok(())
        })
        .unwrap();
    assert!(shifted.get() > 500, "only {} rows were moved by the terminal", shifted.get());
}
