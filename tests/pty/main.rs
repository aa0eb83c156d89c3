//! The program in a real pseudo-terminal: what an emulator on the other side shows is what the App has drawn, cell by
//! cell, and however the program ends, the terminal is as it was and nothing that is to be kept is lost.

#![allow(clippy::unwrap_used)] // Tests may.

use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use neuron_scope::app::Start;
use neuron_scope::app::headless::Headless;
use neuron_scope::app::keymap::parse_script;
use neuron_scope::source::discover;
use neuron_scope::term::color::Depth;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

/// How long a program that is not stuck may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

static DEMO: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pty");
    neuron_scope::demo::write(&dir).unwrap()
});

fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

/// The program in a terminal.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn std::io::Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    shown: Arc<Mutex<vt100::Parser>>,
    home: tempfile::TempDir,
    /// The App as it should be, without a terminal.
    mirror: Headless,
}

impl Terminal {
    fn open(columns_and_lines: (u16, u16)) -> Terminal {
        Terminal::open_profile(&DEMO, columns_and_lines, Start::default())
    }

    /// Opens a profile; the mirror begins as `start` says.
    fn open_profile(profile: &Path, columns_and_lines: (u16, u16), start: Start) -> Terminal {
        let home = tempfile::tempdir().unwrap();
        let pair = native_pty_system().openpty(size(columns_and_lines)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_neuron-scope"));
        command.arg(profile.as_os_str());
        command.args(["--theme", "dark", "--color", "true", "--keymap", "default", "--no-cache"]);
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        for (name, directory) in [("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("HOME", "home")] {
            command.env(name, home.path().join(directory));
        }
        command.cwd(home.path());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let some = |n| NonZeroU16::new(n).unwrap();
        let (columns, lines) = columns_and_lines;
        let shown = Arc::new(Mutex::new(vt100::Parser::new(some(lines), some(columns), 0)));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let sink = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                sink.lock().unwrap().process(&buffer[..n]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        let mut mirror = Headless::new(start, columns_and_lines, Depth::TrueColor);
        mirror.open(discover(profile).unwrap());
        let terminal = Terminal { master: pair.master, keys, child, shown, home, mirror };
        terminal.agree("when the profile has been opened");
        terminal
    }

    /// Presses keys here and in the mirror; they are typed as a terminal sends them.
    fn press(&mut self, keys: &str) {
        for key in parse_script(keys).unwrap() {
            self.mirror.press(key);
            let bytes = match key.code {
                crossterm::event::KeyCode::Char(c) => c.to_string().into_bytes(),
                crossterm::event::KeyCode::Enter => b"\r".to_vec(),
                crossterm::event::KeyCode::Tab => b"\t".to_vec(),
                other => panic!("{other:?} is not typed here"),
            };
            self.keys.write_all(&bytes).unwrap();
            // One after the other, so that no key counts as held down.
            self.agree(&format!("after {keys:?}, at {:?}", key.code));
        }
    }

    fn resize(&mut self, columns_and_lines: (u16, u16)) {
        let (columns, lines) = columns_and_lines;
        let some = |n| NonZeroU16::new(n).unwrap();
        self.shown.lock().unwrap().screen_mut().set_size(some(lines), some(columns));
        self.master.resize(size(columns_and_lines)).unwrap();
        self.mirror.resize(columns, lines);
        self.agree(&format!("at {columns}x{lines}"));
    }

    /// Waits until the emulator shows what the mirror has drawn.
    fn agree(&self, when: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let difference = {
                let shown = self.shown.lock().unwrap();
                difference(shown.screen(), self.mirror.buffer())
            };
            let Some(difference) = difference else { return };
            assert!(Instant::now() < deadline, "{when}: {difference}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: libc::c_int) {
        let pid = libc::pid_t::try_from(self.child.process_id().unwrap()).unwrap();
        // SAFETY: a signal for a process that this test started and has not waited for.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    /// Quits; what is on the screen then is the shell's matter.
    fn quit(&mut self) -> u32 {
        self.keys.write_all(b"q").unwrap();
        self.end()
    }

    /// Waits for the end; gives the exit code.
    fn end(&mut self) -> u32 {
        let code = self.child.wait().unwrap().exit_code();
        // All that was sent has arrived when the screen is the shell's again.
        let deadline = Instant::now() + PATIENCE;
        while self.shown.lock().unwrap().screen().alternate_screen() {
            assert!(Instant::now() < deadline, "the alternate screen was not left");
            std::thread::sleep(Duration::from_millis(5));
        }
        let shown = self.shown.lock().unwrap();
        let screen = shown.screen();
        assert!(!screen.hide_cursor() && !screen.bracketed_paste());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        assert_eq!((screen.bgcolor(), screen.fgcolor()), (vt100::Color::Default, vt100::Color::Default));
        code
    }

    /// The state kept of the profile.
    fn kept(&self) -> serde_json::Value {
        let dir = self.home.path().join("state/neuron-scope/profiles");
        let file = std::fs::read_dir(dir).unwrap().next().unwrap().unwrap().path();
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first cell in which an emulator's screen is not what was drawn.
fn difference(screen: &vt100::Screen, drawn: &Buffer) -> Option<String> {
    let (lines, columns) = (screen.size().0.get(), screen.size().1.get());
    if (columns, lines) != (drawn.area.width, drawn.area.height) {
        return Some(format!("{columns}x{lines} cells instead of {:?}", drawn.area));
    }
    let color = |color: vt100::Color| match color {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(n) => Color::Indexed(n),
        vt100::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
    };
    for y in 0..lines {
        let mut x = 0;
        while x < columns {
            let wanted = &drawn[(x, y)];
            let cell = screen.cell(y, x)?;
            let text = if cell.has_contents() { cell.contents() } else { " " };
            let blank = text == " " && wanted.symbol() == " ";
            let same = text == wanted.symbol()
                && color(cell.bgcolor()) == wanted.bg
                // What colour a blank would have cannot be seen.
                && (blank || color(cell.fgcolor()) == wanted.fg)
                && cell.inverse() == wanted.modifier.contains(Modifier::REVERSED)
                && (blank || cell.bold() == wanted.modifier.contains(Modifier::BOLD))
                && cell.underline() == wanted.modifier.contains(Modifier::UNDERLINED);
            if !same {
                let found = format!("{text:?} {:?} on {:?}", color(cell.fgcolor()), color(cell.bgcolor()));
                return Some(format!("column {x}, line {y} shows {found} instead of {wanted:?}"));
            }
            x += neuron_scope::term::text::width(wanted.symbol()).max(1) as u16;
        }
    }
    None
}

#[test]
fn the_terminal_shows_what_was_drawn() {
    let mut terminal = Terminal::open((100, 30));
    terminal.press("wlwlwl");
    terminal.press("dadada");
    terminal.press("jdkdj.");
    terminal.resize((80, 24));
    terminal.press("dwd");
    terminal.resize((140, 50));
    terminal.press("ada?qDA0u");
    terminal.press(":zoom-in\r");
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn a_stop_in_between_changes_nothing() {
    let mut terminal = Terminal::open((90, 26));
    terminal.press("wld");
    // As Ctrl-Z does; nobody could continue this program, so it goes on by itself.
    terminal.signal(libc::SIGTSTP);
    terminal.press("d.a");
    terminal.signal(libc::SIGSTOP);
    terminal.signal(libc::SIGCONT);
    terminal.press("dj");
    assert_eq!(terminal.quit(), 0);
}

#[test]
fn a_mark_that_is_on_the_screen_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let profile = neuron_scope::demo::write(dir.path()).unwrap();
    let mut terminal = Terminal::open_profile(&profile, (100, 30), Start::default());
    terminal.press("wllm");
    let mark = terminal.mirror.app.marking.all()[0].clone();
    assert!(terminal.mirror.app.message().unwrap().text.starts_with("mark 1 at "), "it was said, and shown");
    terminal.signal(libc::SIGKILL);
    terminal.child.wait().unwrap();

    // What is kept beside the profile is read by both, and they agree; so the mark is on the screen.
    let start = Start { state_dir: Some(dir.path().join("state")), ..Start::default() };
    let again = Terminal::open_profile(&profile, (100, 30), start);
    let kept: Vec<i64> = again.mirror.app.marking.all().iter().map(|m| m.start_ns).collect();
    assert_eq!(kept, [mark.start_ns]);
    let shown = again.shown.lock().unwrap().screen().contents();
    assert!(shown.contains('▼'), "{shown}");
}

#[test]
fn signals_end_it_tidily_and_what_is_to_be_kept_is() {
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        let mut terminal = Terminal::open((80, 24));
        terminal.press("wlw.");
        let window = terminal.mirror.app.scene.view.window();
        terminal.signal(signal);
        assert_eq!(terminal.end(), code);
        assert_eq!(terminal.kept()["window"], serde_json::json!([window.start, window.end]));
    }
}

#[test]
fn it_ends_when_its_terminal_is_gone_even_if_nobody_says_so() {
    let home = tempfile::tempdir().unwrap();
    let pair = native_pty_system().openpty(size((80, 24))).unwrap();
    let mut command = CommandBuilder::new("sh");
    // The system tells only the shell, which does not pass it on; reading gives the end of the input, again and again.
    let line = r#"trap '' HUP; "$0" "$1" --theme dark --color true --no-cache; true"#;
    command.args(["-c", line, env!("CARGO_BIN_EXE_neuron-scope"), DEMO.to_str().unwrap()]);
    command.env("TERM", "linux");
    command.env("HOME", home.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    // SAFETY: a flag of a descriptor that stays open.
    unsafe { libc::fcntl(pair.master.as_raw_fd().unwrap(), libc::F_SETFL, libc::O_NONBLOCK) };
    // Until everything is drawn: a frame that cannot be written would end it too.
    let (mut shown, mut silent) = (Vec::new(), 0);
    let mut buffer = [0; 1 << 12];
    while silent < 20 || !String::from_utf8_lossy(&shown).contains("overview") {
        match reader.read(&mut buffer) {
            Ok(n) => {
                shown.extend_from_slice(&buffer[..n]);
                silent = 0;
            }
            Err(_) => {
                std::thread::sleep(Duration::from_millis(100));
                silent += 1;
            }
        }
    }
    drop(reader);
    drop(pair.master);
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it goes on without a terminal");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
