//! The App without a terminal: keys are played in, background work is waited for, frames are measured.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::effect::Effect;
use super::jobs::{Jobs, Message};
use super::{App, Start};
use crate::source::Found;
use crate::store::Problem;
use crate::term::color::{ColorMap, Depth};
use crate::term::screen::{Capabilities, Screen};

/// How long one key comes after another.
const APART: Duration = Duration::from_secs(1);

/// What to play.
pub struct Script {
    /// How the App begins.
    pub start: Start,
    /// What to open.
    pub found: Vec<Found>,
    /// The keys.
    pub keys: Vec<KeyEvent>,
    /// Columns and lines of the screen.
    pub size: (u16, u16),
    /// Colours of the screen.
    pub depth: Depth,
    /// Whether all keys arrive at once, as from a fast typist.
    pub burst: bool,
}

/// Times and sizes of the frames.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    build_us: Vec<u64>,
    draw_us: Vec<u64>,
    bytes: Vec<u64>,
    first_frame: Option<Duration>,
    complete: Duration,
}

impl Stats {
    /// Bytes that each frame took.
    #[must_use]
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// As `render --stats` prints it; the frames drawn while the profile opens do not count among the frames.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let frames: Vec<u64> = self.build_us.iter().zip(&self.draw_us).map(|(a, b)| a + b).collect();
        json!({
            "frames": frames.len(),
            "build_us": spread(&self.build_us),
            "draw_us": spread(&self.draw_us),
            "frame_us": spread(&frames),
            "bytes_per_frame": spread(&self.bytes),
            "open_ms": {
                "first_frame": self.first_frame.map(|t| t.as_secs_f64() * 1e3),
                "complete": self.complete.as_secs_f64() * 1e3,
            },
            "peak_rss_bytes": peak_rss(),
        })
    }
}

fn spread(values: &[u64]) -> Value {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at = |share: f64| sorted.get(((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1)).copied();
    json!({ "p50": at(0.5), "p99": at(0.99), "max": sorted.last() })
}

/// The most memory that this process has had in use, as Linux tells; `None` elsewhere.
fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The App with everything around it but a terminal.
pub struct Headless {
    /// The App.
    pub app: App,
    jobs: Jobs,
    news: UnboundedReceiver<Message>,
    screen: Screen<io::Sink>,
    colors: ColorMap,
    ascii: bool,
    buffer: Buffer,
    stats: Stats,
    now: Duration,
}

impl Headless {
    /// An App on a screen of some size.
    #[must_use]
    pub fn new(start: Start, (width, height): (u16, u16), depth: Depth) -> Headless {
        let ascii = start.look.glyphs.ascii;
        let mut app = App::new(start);
        app.resize(width, height);
        let (jobs, news) = Jobs::new();
        Headless {
            colors: ColorMap::new(depth, app.look.theme.background),
            app,
            jobs,
            news,
            // As xterm, tmux, kitty, foot and most others.
            screen: Screen::new(io::sink(), Capabilities { repeat: true, ..Capabilities::default() }),
            ascii,
            buffer: Buffer::empty(Rect::new(0, 0, width, height)),
            stats: Stats::default(),
            now: Duration::ZERO,
        }
    }

    /// Opens what was found and waits until it is complete.
    pub fn open(&mut self, found: Vec<Found>) {
        let begin = Instant::now();
        self.app.open_one_of(found);
        loop {
            self.carry_out();
            if self.stats.first_frame.is_none() && self.app.has_profile() {
                let _ = self.frame();
                self.stats.first_frame = Some(begin.elapsed());
            }
            if self.app.opening().is_none() || !self.wait() {
                break;
            }
        }
        self.app.settle();
        self.carry_out();
        let _ = self.frame();
        self.stats.complete = begin.elapsed();
        // Rows to be read, the cache to be written.
        self.settle();
        let _ = self.frame();
        self.stats.first_frame.get_or_insert(self.stats.complete);
        (self.stats.build_us, self.stats.draw_us, self.stats.bytes) = (Vec::new(), Vec::new(), Vec::new());
    }

    /// Plays a key and draws only what comes of it at once, as while a key is held down.
    pub fn hold(&mut self, key: KeyEvent) {
        self.now += APART;
        self.app.key(key, self.now);
        self.carry_out();
        let _ = self.frame();
    }

    /// Plays a key: draws what comes of it at once, then what comes of the work that it caused.
    pub fn press(&mut self, key: KeyEvent) {
        self.now += APART;
        self.app.key(key, self.now);
        self.carry_out();
        let _ = self.frame();
        self.rest();
    }

    /// Gives the screen another size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.now += APART;
        self.app.resize(width, height);
        self.app.changed();
        self.carry_out();
        let _ = self.frame();
        self.rest();
    }

    /// Plays keys that arrive all at once, and draws as a terminal would be drawn: when there is no more input.
    pub fn burst(&mut self, keys: &[KeyEvent]) {
        self.now += APART;
        for key in keys {
            self.app.key(*key, self.now);
            self.carry_out();
        }
        let _ = self.frame();
        self.rest();
    }

    /// Does what was put off, and draws it where the screen is another one for it.
    fn rest(&mut self) {
        if self.settle() {
            let _ = self.frame();
        }
    }

    /// Waits for all work; says whether there was any.
    fn settle(&mut self) -> bool {
        let mut any = false;
        loop {
            if self.app.deadline().is_some() {
                self.app.settle();
                any = true;
            }
            self.carry_out();
            if !self.wait() {
                return any;
            }
            any = true;
        }
    }

    /// Takes the next news; false where nothing is being done.
    fn wait(&mut self) -> bool {
        if self.jobs.idle() {
            return false;
        }
        if let Some(news) = self.news.blocking_recv()
            && let Some(answer) = self.jobs.take(news)
        {
            answer(&mut self.app);
            self.app.changed();
        }
        true
    }

    fn carry_out(&mut self) {
        for effect in self.app.take_effects() {
            match effect {
                Effect::Job(job) => self.jobs.start(job),
                Effect::Cancel(slot) => self.jobs.cancel(slot),
                Effect::Copy(text) => self.app.say(format!("{} bytes copied", text.len())),
                Effect::Repaint => {
                    self.screen.invalidate();
                    self.colors = ColorMap::new(self.colors.depth(), self.app.look.theme.background);
                }
                Effect::Write { path, bytes } => match super::atomic::write_atomically(&path, &bytes) {
                    Ok(()) => self.app.say(format!("written to {}", path.display())),
                    Err(error) => self.app.fail(format!("{}: {error}", path.display())),
                },
                Effect::Quit | Effect::Suspend | Effect::Mouse(_) => {}
            }
        }
    }

    /// Draws a frame, and measures it.
    fn frame(&mut self) -> io::Result<()> {
        let begin = Instant::now();
        self.buffer.resize(self.app.screen);
        let frame = self.app.draw(&mut self.buffer);
        if self.ascii {
            crate::term::glyphs::to_ascii(&mut self.buffer);
        }
        self.colors.apply(&mut self.buffer);
        let built = Instant::now();
        let sent = self.screen.draw(&self.buffer, frame.cursor, frame.hint)?;
        // A frame of which nothing is sent is none.
        if sent.bytes > 0 {
            self.stats.build_us.push((built - begin).as_micros() as u64);
            self.stats.draw_us.push(built.elapsed().as_micros() as u64);
            self.stats.bytes.push(sent.bytes as u64);
        }
        Ok(())
    }

    /// The screen as of the last frame.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Times and sizes of the frames since the profile was opened.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

/// Plays a script.
///
/// # Errors
/// Says why nothing could be opened.
pub fn play(script: Script) -> Result<(String, Stats), Problem> {
    let colored = script.depth != Depth::None;
    let mut headless = Headless::new(script.start, script.size, script.depth);
    headless.open(script.found);
    if let Some(problem) = headless.app.failure() {
        return Err(problem.clone());
    }
    if script.burst {
        headless.burst(&script.keys);
    } else {
        for key in &script.keys {
            if headless.app.ended() {
                break;
            }
            headless.press(*key);
        }
    }
    headless.app.save_state();
    Ok((text(&headless.buffer, colored), headless.stats))
}

/// A screen as text, with the escape sequences of its colours where wanted, without trailing blanks where not.
#[must_use]
pub fn text(buffer: &Buffer, colored: bool) -> String {
    let mut out = String::new();
    let width = usize::from(buffer.area.width);
    for row in buffer.content.chunks(width.max(1)) {
        let mut line = String::new();
        let mut style = None;
        let mut skip = 0;
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = crate::term::text::width(cell.symbol()).saturating_sub(1);
            let wanted = (cell.fg, cell.bg, cell.modifier);
            if colored && style != Some(wanted) {
                line.push_str(&sequence(cell.fg, cell.bg, cell.modifier));
                style = Some(wanted);
            }
            line.push_str(cell.symbol());
        }
        if colored {
            line.push_str("\x1b[m");
            out.push_str(&line);
        } else {
            out.push_str(line.trim_end());
        }
        out.push('\n');
    }
    out
}

/// The escape sequence of a style (ECMA-48, with xterm's 256 and 24-bit colours).
fn sequence(fg: Color, bg: Color, modifier: Modifier) -> String {
    let mut codes = vec!["0".to_owned()];
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ];
    codes.extend(modifiers.iter().filter(|(m, _)| modifier.contains(*m)).map(|(_, code)| (*code).to_owned()));
    for (color, base) in [(fg, 30), (bg, 40)] {
        match color {
            Color::Reset => {}
            Color::Rgb(r, g, b) => codes.push(format!("{};2;{r};{g};{b}", base + 8)),
            Color::Indexed(n @ 0..8) => codes.push((base + u16::from(n)).to_string()),
            Color::Indexed(n @ 8..16) => codes.push((base + 52 + u16::from(n)).to_string()),
            Color::Indexed(n) => codes.push(format!("{};5;{n}", base + 8)),
            named => {
                if let Some((r, g, b)) = crate::term::color::rgb(named) {
                    codes.push(format!("{};2;{r};{g};{b}", base + 8));
                }
            }
        }
    }
    format!("\x1b[{}m", codes.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Style;

    #[test]
    fn screens_become_text() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 2));
        buffer.set_string(0, 0, "a日b", Style::new().fg(Color::Rgb(1, 2, 3)));
        assert_eq!(text(&buffer, false), "a日b\n\n");
        assert!(text(&buffer, true).starts_with("\x1b[0;38;2;1;2;3ma日b\x1b[0m"));
        assert_eq!(sequence(Color::Indexed(9), Color::Indexed(200), Modifier::BOLD), "\x1b[0;1;91;48;5;200m");
    }

    #[test]
    fn percentiles_of_few_frames() {
        assert_eq!(spread(&[]), json!({ "p50": null, "p99": null, "max": null }));
        assert_eq!(spread(&[5, 1, 9]), json!({ "p50": 5, "p99": 9, "max": 9 }));
    }
}
