//! Signals, as events the loop can wait for.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the system tells the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermSignal {
    /// Asked to end (SIGTERM, SIGINT, SIGQUIT): save, restore, leave.
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
    hangup: Signal,
    stop: Signal,
    resume: Signal,
    resize: Signal,
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
            _ = self.stop.recv() => TermSignal::Suspend,
            _ = self.resume.recv() => TermSignal::Resumed,
            _ = self.resize.recv() => TermSignal::Resized,
        }
    }
}
