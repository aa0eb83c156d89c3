//! Signals, as events the loop can wait for.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// What the system tells the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermSignal {
    /// Asked to end (SIGTERM, SIGINT, SIGQUIT and what else would end it unprepared): save, restore, leave.
    Terminate,
    /// The terminal is gone (SIGHUP, a dropped connection): save and leave.
    Hangup,
    /// Asked to stop (SIGTSTP): call [`Session::suspend`](super::session::Session::suspend).
    Suspend,
    /// Running again (SIGCONT): call [`Session::resume`](super::session::Session::resume), paint everything.
    Resumed,
    /// The terminal has another size (SIGWINCH).
    Resized,
}

impl TermSignal {
    /// The exit code of a program that leaves because of this, as shells report it (128 + signal).
    pub fn exit_code(self) -> u8 {
        let number = match self {
            Self::Hangup => libc::SIGHUP,
            _ => libc::SIGTERM,
        };
        128 + number as u8
    }
}

/// The signals, one after the other.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    alarm: Signal,
    user1: Signal,
    user2: Signal,
    hangup: Signal,
    stop: Signal,
    resume: Signal,
    resize: Signal,
}

/// How long the program has to end by itself once its terminal is gone.
const GRACE: Duration = Duration::from_secs(5);

/// Resolves when the terminal that is standard output is gone, also where SIGHUP does not come (ignored, or sent to
/// others only). Input then ends without an error, which its reader takes for a reason to try again for ever; whatever
/// may hang on it, the process ends a little later.
#[must_use]
pub fn terminal_gone() -> oneshot::Receiver<()> {
    let (tell, told) = oneshot::channel();
    let watch = move || {
        let mut terminal = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
        loop {
            // SAFETY: one valid pollfd is passed.
            let found = unsafe { libc::poll(&raw mut terminal, 1, -1) };
            if found > 0 && terminal.revents & (libc::POLLHUP | libc::POLLERR) != 0 {
                break;
            }
            if found > 0 || (found < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted) {
                // Nothing that can be watched.
                return;
            }
        }
        let _ = tell.send(());
        std::thread::sleep(GRACE);
        // SAFETY: ends the process; there is nobody left to show anything to.
        unsafe { libc::_exit(128 + libc::SIGHUP) };
    };
    // Without the thread there are still the signals.
    let _ = std::thread::Builder::new().name("terminal".into()).spawn(watch);
    told
}

impl Signals {
    /// Starts to listen; from here on none of these ends or stops the program by itself.
    ///
    /// Needs a tokio runtime with I/O enabled. Errors are those of installing a handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            alarm: signal(SignalKind::alarm())?,
            user1: signal(SignalKind::user_defined1())?,
            user2: signal(SignalKind::user_defined2())?,
            hangup: signal(SignalKind::hangup())?,
            stop: signal(SignalKind::from_raw(libc::SIGTSTP))?,
            resume: signal(SignalKind::from_raw(libc::SIGCONT))?,
            resize: signal(SignalKind::window_change())?,
        })
    }

    /// Waits for the next one; may be dropped and called again without losing any. Those that end the program come
    /// first.
    pub async fn next(&mut self) -> TermSignal {
        tokio::select! {
            biased;
            _ = self.hangup.recv() => TermSignal::Hangup,
            _ = self.terminate.recv() => TermSignal::Terminate,
            _ = self.interrupt.recv() => TermSignal::Terminate,
            _ = self.quit.recv() => TermSignal::Terminate,
            _ = self.alarm.recv() => TermSignal::Terminate,
            _ = self.user1.recv() => TermSignal::Terminate,
            _ = self.user2.recv() => TermSignal::Terminate,
            _ = self.stop.recv() => TermSignal::Suspend,
            _ = self.resume.recv() => TermSignal::Resumed,
            _ = self.resize.recv() => TermSignal::Resized,
        }
    }
}
