//! A child of the test program takes a real pseudo-terminal; the parent watches through an emulator what it leaves.

use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::*;
use crate::term::answers;
use crate::term::screen::{Capabilities, Screen};
use crate::term::signals::{Signals, TermSignal};

const ROLE: &str = "NEURON_SCOPE_TEST_CHILD";
const SIZE: PtySize = PtySize { rows: 12, cols: 100, pixel_width: 0, pixel_height: 0 };

/// The child: takes the terminal, says so, and does as signals and its role say.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A panic ends it as it ends a program, without what the test harness would print about it.
    let code = std::panic::catch_unwind(|| runtime.block_on(run_child(&role)));
    std::process::exit(code.unwrap_or(101));
}

async fn run_child(role: &str) -> i32 {
    let mut signals = Signals::listen().unwrap();
    let mut session = Session::enter(true).unwrap();
    let mut screen = Screen::new(session.writer().unwrap(), Capabilities::default());
    let mut say = |line: &str| {
        let mut frame = Buffer::empty(Rect::new(0, 0, SIZE.cols, SIZE.rows));
        frame.set_string(2, 3, line, Style::new().bold().on_blue());
        screen.invalidate();
        let _ = screen.draw(&frame, None, None);
    };
    if role == "background colour" {
        let found = answers::ask(answers::PATIENCE, |name| std::env::var(name).ok()).background;
        let mut typed = [0];
        io::stdin().read_exact(&mut typed).unwrap();
        let found = found.map(|found| found.light);
        say(&format!("light {found:?}, then {:?}", char::from(typed[0])));
        return 0;
    }
    say(&format!("ready {}", std::process::id()));
    let mut stops = 0;
    loop {
        let signal = signals.next().await;
        match (role, signal) {
            ("panic", TermSignal::Resized) => panic!("the child fell\x1b over"),
            ("background panic", TermSignal::Resized) => {
                let failed = std::thread::spawn(|| panic!("only a job")).join().is_err();
                let report = crate::term::report::last_report();
                say(&format!("failed {failed}, reported {}", report.is_some_and(|r| r.exists())));
            }
            ("passed on", TermSignal::Resized) => {
                let job = std::thread::spawn(|| panic!("a job that matters"));
                std::panic::resume_unwind(job.join().unwrap_err());
            }
            ("mouse", TermSignal::Resized) => {
                session.set_mouse(!session.mouse()).unwrap();
                say(&format!("mouse {}", session.mouse()));
            }
            (_, TermSignal::Resized) => {}
            (_, TermSignal::Suspend) => {
                session.suspend().unwrap();
                stops += 1;
                say(&format!("stopped {stops}"));
            }
            (_, TermSignal::Resumed) => {
                session.resume().unwrap();
                say(&format!("back after {stops}"));
            }
            (_, TermSignal::Terminate | TermSignal::Hangup) => {
                drop(session);
                if let Ok(marker) = std::env::var("SAVED_TO") {
                    std::fs::write(marker, format!("{signal:?}")).unwrap();
                }
                return i32::from(signal.exit_code());
            }
        }
    }
}

struct Terminal {
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Option<Box<dyn std::io::Write + Send>>,
    child: Box<dyn Child + Send + Sync>,
    shown: Arc<Mutex<vt100::Parser>>,
    bytes: Arc<Mutex<Vec<u8>>>,
    state: tempfile::TempDir,
}

impl Terminal {
    /// Starts the child, below a shell with job control if `shell` gives what that does.
    fn start(role: &str, shell: Option<&str>) -> Self {
        let state = tempfile::tempdir().unwrap();
        let pair = native_pty_system().openpty(SIZE).unwrap();
        let program = std::env::current_exe().unwrap();
        let arguments = ["--exact", "term::session::tests::child", "--nocapture", "--test-threads=1"];
        let mut command = match shell {
            None => {
                let mut command = CommandBuilder::new(&program);
                command.args(arguments);
                command
            }
            Some(script) => {
                let mut command = CommandBuilder::new("bash");
                command.args(["-mc", script, "bash"]);
                command.arg(&program);
                command.args(arguments);
                command
            }
        };
        command.env(ROLE, role);
        command.env("SAVED_TO", state.path().join("saved"));
        command.env("XDG_STATE_HOME", state.path());
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let shown = Arc::new(Mutex::new(vt100::Parser::new(some(SIZE.rows), some(SIZE.cols), 0)));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (sink, log) = (Arc::clone(&shown), Arc::clone(&bytes));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                sink.lock().unwrap().process(&buffer[..n]);
                log.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        let writer = pair.master.take_writer().unwrap();
        Self { master: Some(pair.master), writer: Some(writer), child, shown, bytes, state }
    }

    fn contents(&self) -> String {
        self.shown.lock().unwrap().screen().contents()
    }

    /// Waits until the screen shows a text.
    fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.contents().contains(text) {
            assert!(Instant::now() < deadline, "`{text}` never came; the screen:\n{}", self.contents());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until some bytes were sent.
    fn wait_for_bytes(&self, wanted: &[u8]) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.bytes.lock().unwrap().windows(wanted.len()).any(|w| w == wanted) {
            assert!(Instant::now() < deadline, "{wanted:?} was never sent");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn type_in(&mut self, bytes: &[u8]) {
        self.writer.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The process that took the terminal.
    fn pid(&self) -> libc::pid_t {
        self.wait_for("ready ");
        let contents = self.contents();
        contents.split("ready ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap()
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a signal for a process that this test started and has not waited for.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    /// A signal to the process behind a screen that no longer shows its number.
    fn signal_to(pid: libc::pid_t, signal: libc::c_int) {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    fn resize(&self) {
        // Another size each time, or the kernel sends no signal.
        let master = self.master.as_ref().unwrap();
        let cols = master.get_size().unwrap().cols + 1;
        master.resize(PtySize { cols, ..SIZE }).unwrap();
    }

    fn exit_code(&mut self) -> u32 {
        self.child.wait().unwrap().exit_code()
    }

    /// Whether the line discipline echoes and waits for whole lines, as a shell needs it.
    fn is_cooked(&self) -> bool {
        let fd = self.master.as_ref().unwrap().as_raw_fd().unwrap();
        // SAFETY: `modes` is plain data that tcgetattr fills; the descriptor is open.
        let modes = unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(fd, &raw mut modes), 0);
            modes
        };
        modes.c_lflag & (libc::ICANON | libc::ECHO | libc::ISIG) == libc::ICANON | libc::ECHO | libc::ISIG
            && modes.c_oflag & libc::OPOST != 0
    }

    fn assert_taken(&self) {
        let shown = self.shown.lock().unwrap();
        let screen = shown.screen();
        assert!(screen.alternate_screen() && screen.bracketed_paste() && screen.hide_cursor());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::ButtonMotion);
        assert_eq!(screen.mouse_protocol_encoding(), vt100::MouseProtocolEncoding::Sgr);
        drop(shown);
        assert!(!self.is_cooked());
    }

    fn assert_given_back(&self) {
        let shown = self.shown.lock().unwrap();
        let screen = shown.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.bracketed_paste() && !screen.hide_cursor());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        assert_eq!((screen.bgcolor(), screen.bold()), (vt100::Color::Default, false));
        assert!(!screen.contents().contains("ready"), "the frame is left on the normal screen");
        drop(shown);
        assert!(self.is_cooked());
    }

    fn saved(&self) -> String {
        std::fs::read_to_string(self.state.path().join("saved")).unwrap_or_default()
    }

    fn reports(&self) -> Vec<PathBuf> {
        let dir: &Path = &self.state.path().join("neuron-scope");
        std::fs::read_dir(dir).map(|files| files.map(|f| f.unwrap().path()).collect()).unwrap_or_default()
    }
}

fn some(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

#[test]
fn a_signal_to_end_saves_and_gives_the_terminal_back() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT] {
        let mut terminal = Terminal::start("plain", None);
        terminal.wait_for("ready");
        terminal.assert_taken();
        terminal.signal(signal);
        assert_eq!(terminal.exit_code(), 143);
        terminal.settle();
        terminal.assert_given_back();
        assert_eq!(terminal.saved(), "Terminate");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_says_where_its_report_is() {
    let mut terminal = Terminal::start("panic", None);
    terminal.wait_for("ready");
    terminal.resize();
    terminal.wait_for(".txt");
    assert_eq!(terminal.exit_code(), 101);
    terminal.assert_given_back();
    let reports = terminal.reports();
    assert_eq!(reports.len(), 1);
    let said = terminal.contents();
    assert!(said.contains(r"because of a fault in itself: the child fell\x1b over"), "{said}");
    assert!(said.contains(&*reports[0].to_string_lossy()), "{said}");
    let report = std::fs::read_to_string(&reports[0]).unwrap();
    for part in [
        r"what      the child fell\x1b over",
        "where     src/term/session/tests.rs:",
        "TERM=xterm-256color",
        "run_child",
    ] {
        assert!(report.contains(part), "{part} is missing in\n{report}");
    }
    assert!(!report.contains('\x1b'));
}

#[test]
fn a_panic_in_the_background_leaves_the_screen_alone() {
    let mut terminal = Terminal::start("background panic", None);
    terminal.wait_for("ready");
    let pid = terminal.pid();
    terminal.resize();
    terminal.wait_for("failed true, reported true");
    terminal.assert_taken();
    assert_eq!(terminal.contents().trim(), "failed true, reported true", "nothing else is on the screen");
    Terminal::signal_to(pid, libc::SIGTERM);
    assert_eq!(terminal.exit_code(), 143);
}

#[test]
fn a_panic_in_the_background_that_ends_the_program_is_told() {
    let mut terminal = Terminal::start("passed on", None);
    terminal.wait_for("ready");
    terminal.resize();
    terminal.wait_for(".txt");
    assert_eq!(terminal.exit_code(), 101);
    terminal.assert_given_back();
    assert!(terminal.contents().contains("because of a fault in itself: a job that matters"));
}

#[test]
fn the_mouse_can_be_given_back_and_taken_again() {
    let mut terminal = Terminal::start("mouse", None);
    let pid = terminal.pid();
    terminal.resize();
    terminal.wait_for("mouse false");
    assert_eq!(terminal.shown.lock().unwrap().screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    terminal.resize();
    terminal.wait_for("mouse true");
    terminal.assert_taken();
    Terminal::signal_to(pid, libc::SIGTERM);
    assert_eq!(terminal.exit_code(), 143);
}

#[test]
fn a_dropped_connection_still_saves() {
    let mut terminal = Terminal::start("plain", None);
    terminal.wait_for("ready");
    terminal.writer = None;
    let pid = terminal.pid();
    // Only the reader thread's copy of the master is left; a hang-up is what the kernel would send.
    terminal.master = None;
    Terminal::signal_to(pid, libc::SIGHUP);
    assert_eq!(terminal.exit_code(), 129);
    assert_eq!(terminal.saved(), "Hangup");
}

#[test]
fn a_shell_gets_the_terminal_while_the_program_is_stopped() {
    if std::process::Command::new("bash").arg("-c").arg("true").status().is_err() {
        println!("skipped: no bash for job control");
        return;
    }
    let script = r#""$@"; echo "code $? in the shell"; read line; fg; echo "code $? at the end"; read line"#;
    let mut terminal = Terminal::start("plain", Some(script));
    let pid = terminal.pid();
    terminal.assert_taken();
    Terminal::signal_to(pid, libc::SIGTSTP);
    terminal.wait_for("in the shell");
    terminal.assert_given_back();
    terminal.type_in(b"\r");
    // Its own return from the stop and the signal that it goes on each paint the screen.
    terminal.wait_for("back after 1");
    terminal.assert_taken();
    Terminal::signal_to(pid, libc::SIGTERM);
    terminal.wait_for("code 143 at the end");
    terminal.assert_given_back();
    terminal.type_in(b"\r");
    assert_eq!(terminal.exit_code(), 0);
    assert_eq!(terminal.saved(), "Terminate");
}

#[test]
fn nobody_to_go_on_with_it_means_it_does_not_stop() {
    let mut terminal = Terminal::start("plain", None);
    let pid = terminal.pid();
    Terminal::signal_to(pid, libc::SIGTSTP);
    terminal.wait_for("stopped 1");
    terminal.assert_taken();
    Terminal::signal_to(pid, libc::SIGTERM);
    assert_eq!(terminal.exit_code(), 143);
}

#[test]
fn asking_for_the_background_leaves_nothing_in_the_input() {
    for (answer, found) in [
        (&b"\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\\x1b[?62;22c"[..], "light Some(true), then 'x'"),
        (b"\x1b]11;rgb:0000/2b2b/3636\x07\x1b[?6c", "light Some(false), then 'x'"),
        (b"\x1b[?6c", "light None, then 'x'"),
    ] {
        let mut terminal = Terminal::start("background colour", None);
        terminal.wait_for_bytes(b"\x1b]11;?\x1b\\\x1b[c");
        terminal.type_in(answer);
        terminal.type_in(b"x");
        terminal.wait_for_bytes(found.as_bytes());
        assert_eq!(terminal.exit_code(), 0);
    }
}

#[test]
fn restoring_what_was_not_taken_does_nothing() {
    restore();
    restore();
    assert!(!ENTERED.load(Ordering::SeqCst));
}

impl Terminal {
    /// Waits until what the child wrote last has been read.
    fn settle(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.shown.lock().unwrap().screen().alternate_screen() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
