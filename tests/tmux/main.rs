//! Frames shown by a real terminal: what tmux has on its screen after pans, edits and resets is what was meant, with
//! the backgrounds of the cells that came in from the side, which emulator libraries leave out.

#![allow(clippy::unwrap_used)]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use neuron_scope::term::screen::{Capabilities, Screen, ShiftHint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

const AREA: Rect = Rect::new(0, 0, 70, 12);
const TRACKS: Rect = Rect::new(10, 2, 60, 8);

/// A tmux server of its own, with one pane that shows what is written to a pipe.
struct Tmux {
    dir: tempfile::TempDir,
    pipe: File,
}

impl Tmux {
    /// None where there is no tmux.
    fn start() -> Option<Self> {
        Command::new("tmux").arg("-V").output().ok()?;
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("frames");
        make_pipe(&pipe);
        std::fs::write(dir.path().join("conf"), "set -g status off\nset -g default-terminal tmux-256color\n").unwrap();
        let shown = format!("stty raw -echo; exec cat '{}'", pipe.display());
        let size = [AREA.width.to_string(), AREA.height.to_string()];
        let started = tmux(dir.path(), &["new-session", "-d", "-x", &size[0], "-y", &size[1], &shown]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        // Opening waits for the pane to open its end.
        let pipe = OpenOptions::new().write(true).open(pipe).unwrap();
        Some(Self { dir, pipe })
    }

    fn ask(&self, arguments: &[&str]) -> String {
        String::from_utf8(tmux(self.dir.path(), arguments).stdout).unwrap()
    }

    /// Sends bytes and waits until tmux has taken them all: it then has the pane title sent behind them.
    fn send(&mut self, bytes: &[u8], number: usize) {
        self.pipe.write_all(bytes).unwrap();
        write!(self.pipe, "\x1b]2;frame {number}\x07").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.ask(&["display-message", "-p", "#{pane_title}"]).trim() != format!("frame {number}") {
            assert!(Instant::now() < deadline, "tmux did not take frame {number}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What the pane shows: text and attributes of every cell, read by an emulator from tmux's own dump.
    fn capture(&self) -> vt100::Parser {
        let size = |n| NonZero::new(n).unwrap();
        let mut read = vt100::Parser::new(size(AREA.height), size(AREA.width), 0);
        for (y, line) in self.ask(&["capture-pane", "-p", "-e", "-N"]).lines().enumerate() {
            read.process(format!("\x1b[{}H{line}", y + 1).as_bytes());
        }
        read
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        tmux(self.dir.path(), &["kill-server"]);
    }
}

fn tmux(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("tmux");
    command.env_remove("TMUX").env("TERM", "xterm-256color");
    command.arg("-u").arg("-S").arg(dir.join("socket")).arg("-f").arg(dir.join("conf"));
    command.args(arguments).output().unwrap()
}

fn make_pipe(path: &Path) {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a valid C string; nothing else is passed.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

/// A small timeline from some column on: slices with names and wide glyphs, gaps, a coloured last column.
fn timeline(from: i64, background: Color) -> Buffer {
    let mut frame = Buffer::empty(AREA);
    frame.set_style(AREA, Style::new().bg(background));
    frame.set_string(0, 0, format!("window from {from}"), Style::new().bold());
    for y in TRACKS.top()..TRACKS.bottom() {
        frame.set_string(0, y, format!("Track {y}"), Style::new().fg(Color::Indexed(245)));
        let mut x = i64::from(TRACKS.left());
        while x < i64::from(TRACKS.right()) {
            let column = from + x;
            let (slice, at) = (column.div_euclid(9), column.rem_euclid(9));
            let cell = &mut frame[(x as u16, y)];
            match (slice + i64::from(y)).rem_euclid(4) {
                0 if at < 8 => {
                    let c = b"MATMUL  "[at as usize];
                    cell.set_char(char::from(c)).set_style(Style::new().fg(Color::Black).bg(Color::Rgb(246, 163, 27)));
                }
                1 => {
                    cell.set_symbol("─").set_style(Style::new().fg(Color::Rgb(154, 123, 200)));
                }
                2 if at < 8 && at % 2 == 0 && x + 1 < i64::from(TRACKS.right()) => {
                    cell.set_symbol(["行", "列"][(at as usize / 2) % 2]).set_style(Style::new().bg(Color::Indexed(24)));
                    x += 1;
                }
                _ => {}
            }
            x += 1;
        }
    }
    let foot = Style::new().bg(Color::Rgb(1, 90, 60)).add_modifier(Modifier::UNDERLINED | Modifier::ITALIC);
    frame.set_string(60, 11, "at the end", foot);
    frame
}

fn color(color: Color) -> vt100::Color {
    match color {
        Color::Reset => vt100::Color::Default,
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        Color::Indexed(n) => vt100::Color::Idx(n),
        Color::Black => vt100::Color::Idx(0),
        other => panic!("{other} is not used here"),
    }
}

fn compare(frame: &Buffer, shown: &vt100::Parser, number: usize) {
    let mut skip = 0;
    for (i, cell) in frame.content.iter().enumerate() {
        let (x, y) = frame.pos_of(i);
        let seen = shown.screen().cell(y, x).unwrap();
        if skip > 0 {
            skip -= 1;
            continue;
        }
        let place = format!("frame {number}, column {x}, row {y}");
        let text = if seen.has_contents() { seen.contents() } else { " " };
        assert_eq!(text, cell.symbol(), "{place}");
        assert_eq!(seen.bgcolor(), color(cell.bg), "background, {place}");
        assert_eq!(seen.underline(), cell.modifier.contains(Modifier::UNDERLINED), "{place}");
        if text != " " {
            assert_eq!(seen.fgcolor(), color(cell.fg), "{place}");
            assert_eq!(seen.bold(), cell.modifier.contains(Modifier::BOLD), "{place}");
            assert_eq!(seen.italic(), cell.modifier.contains(Modifier::ITALIC), "{place}");
        }
        skip = usize::from(seen.is_wide());
    }
}

#[test]
fn tmux_shows_what_was_meant() {
    let Some(mut tmux) = Tmux::start() else {
        println!("skipped: tmux is not installed");
        return;
    };
    let mut screen = Screen::new(Vec::new(), Capabilities::default());
    let (mut from, mut number, mut shifted) = (1000, 0, 0);
    for background in [Color::Reset, Color::Rgb(18, 20, 26)] {
        for step in [0, 4, 4, -3, 1, 25, -40, 7, -1, 2] {
            from += step;
            let frame = timeline(from, background);
            let hint = (step != 0).then_some(ShiftHint { area: TRACKS, columns: -step as i16 });
            // One hint in ten is wrong.
            let hint = hint.map(|hint| if step == 7 { ShiftHint { columns: 5, ..hint } } else { hint });
            shifted += screen.draw(&frame, None, hint).unwrap().shifted_rows;
            number += 1;
            tmux.send(&std::mem::take(screen.get_mut()), number);
            compare(&frame, &tmux.capture(), number);
        }
        screen.invalidate();
        tmux.pipe.write_all(b"\x1b[3;5H\x1b[41mleft by another program\r\n").unwrap();
    }
    assert!(shifted > 50, "only {shifted} rows were moved by tmux");
}

/// Reproducible numbers below some bound.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// Draws pieces of text anywhere, over what is there.
fn scribble(frame: &mut Buffer, dice: &mut Dice) {
    const GLYPHS: [&str; 12] = ["a", "Z", " ", "█", "─", "行", "列", "한", "é", "▁", "e\u{301}", "▐"];
    const COLORS: [Color; 6] =
        [Color::Reset, Color::Reset, Color::Black, Color::Indexed(4), Color::Indexed(200), Color::Rgb(250, 150, 50)];
    for _ in 0..dice.roll(6) {
        let mut style = Style::new().fg(COLORS[dice.roll(6)]).bg(COLORS[dice.roll(6)]);
        style.add_modifier = [Modifier::empty(), Modifier::BOLD, Modifier::UNDERLINED, Modifier::ITALIC][dice.roll(4)];
        let text: String = (0..dice.roll(30)).map(|_| GLYPHS[dice.roll(12)]).collect();
        frame.set_string(dice.roll(70) as u16, dice.roll(12) as u16, text, style);
    }
}

/// Moves the columns from `left` on; what comes in is blank, what a wide glyph loses its half of as well.
fn pan(frame: &mut Buffer, left: u16, by: i16) {
    let before = frame.clone();
    for y in 0..AREA.height {
        for x in left..AREA.width {
            let from = i32::from(x) - i32::from(by);
            let inside = (i32::from(left)..i32::from(AREA.width)).contains(&from);
            frame[(x, y)] = if inside { before[(from as u16, y)].clone() } else { ratatui::buffer::Cell::EMPTY };
        }
    }
}

/// A wide glyph in the last column has no room.
fn tidy(frame: &mut Buffer) {
    for y in 0..AREA.height {
        let mut x = 0;
        while x < AREA.width {
            let columns = neuron_scope::term::text::width(frame[(x, y)].symbol()).max(1) as u16;
            if x + columns > AREA.width {
                frame[(x, y)].set_symbol(" ");
            }
            x += columns;
        }
    }
}

#[test]
fn tmux_shows_random_frames() {
    let Some(mut tmux) = Tmux::start() else {
        println!("skipped: tmux is not installed");
        return;
    };
    let mut dice = Dice(7);
    let mut frame = Buffer::empty(AREA);
    let mut screen = Screen::new(Vec::new(), Capabilities::default());
    let mut shifted = 0;
    for number in 0..80 {
        let mut hint = None;
        if dice.roll(3) > 0 {
            let (left, columns) = (dice.roll(12) as u16, dice.roll(99) as i16 - 49);
            pan(&mut frame, left, columns);
            hint = Some(ShiftHint { area: Rect { x: left, ..AREA }, columns });
        }
        scribble(&mut frame, &mut dice);
        tidy(&mut frame);
        shifted += screen.draw(&frame, None, hint).unwrap().shifted_rows;
        tmux.send(&std::mem::take(screen.get_mut()), number);
        compare(&frame, &tmux.capture(), number);
    }
    assert!(shifted > 50, "only {shifted} rows were moved by tmux");
}
