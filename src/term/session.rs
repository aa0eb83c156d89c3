//! The terminal while the program has it: raw mode, alternate screen, bracketed paste, focus and mouse events; and
//! giving it back as it was, whatever happens.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::{fault, report};

/// Whether the terminal is ours and has to be given back.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Alternate screen, bracketed paste, focus events (xterm's private modes).
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?1004h";
/// The same undone, after the end of a half-sent frame, with attributes and cursor as shells expect them.
pub(super) const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?1004l\x1b[?2004l\x1b[m\x1b[?25h\x1b[?1049l";
/// Buttons, wheel and dragging in SGR form; not every motion, which would flood a slow line.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
pub(super) const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// The terminal, until this is dropped.
///
/// A panic of this thread gives it back as well and writes a report (see [`report`]); signals are up to the event
/// loop, which gets them from [`Signals`](super::signals::Signals).
#[derive(Debug)]
pub struct Session {
    mouse: bool,
}

impl Session {
    /// Takes the terminal that is standard output.
    ///
    /// Fails, and leaves everything as it was, if standard output is no terminal or cannot be put into raw mode.
    pub fn enter(mouse: bool) -> io::Result<Self> {
        if !io::stdout().is_terminal() {
            return Err(io::Error::other(
                "standard output is not a terminal: run it without redirection, or use a subcommand that prints",
            ));
        }
        report::install_panic_hook();
        fault::prepare();
        report::own_terminal();
        let session = Self { mouse };
        session.take()?;
        Ok(session)
    }

    /// What to draw to: standard output without a buffer, so that a frame is one write.
    pub fn writer(&self) -> io::Result<File> {
        Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
    }

    /// Whether mouse events come here rather than to the terminal.
    pub fn mouse(&self) -> bool {
        self.mouse
    }

    /// Takes the mouse, or gives it back to the terminal for selecting text.
    pub fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        self.mouse = on;
        send(if on { MOUSE_ON } else { MOUSE_OFF })
    }

    /// Gives the terminal back and stops the whole job, as Ctrl-Z does; returns when it runs again and the terminal
    /// has been taken anew. The screen must then be painted in full.
    ///
    /// Where nobody could continue the job (it was not started from a shell), it is not stopped: the kernel discards
    /// the signal for such process groups.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore();
        stop_job();
        self.take()
    }

    /// Takes the terminal anew after someone else had it: after a stop that was not ours (SIGSTOP, SIGCONT). The screen
    /// must then be painted in full.
    pub fn resume(&mut self) -> io::Result<()> {
        // Entering the alternate screen twice would save its cursor and attributes as those of the shell.
        restore();
        self.take()
    }

    fn take(&self) -> io::Result<()> {
        enable_raw_mode()?;
        ENTERED.store(true, Ordering::SeqCst);
        let entered = send(ENTER).and_then(|()| if self.mouse { send(MOUSE_ON) } else { Ok(()) });
        if entered.is_err() {
            restore();
        }
        entered
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        restore();
        report::disown_terminal();
    }
}

/// Whether the terminal is ours.
pub(super) fn is_entered() -> bool {
    ENTERED.load(Ordering::SeqCst)
}

/// Gives the terminal back as it was. Does nothing the second time, and never fails: when the terminal is gone there is
/// nothing left to do.
pub fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let _ = send(MOUSE_OFF);
        let _ = send(LEAVE);
        let _ = disable_raw_mode();
    }
}

fn send(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Stops the process group of this program until SIGCONT, with the default action of SIGTSTP.
fn stop_job() {
    // SAFETY: plain system calls; `old` is written by the first sigaction before it is read. The dispositions set here
    // are SIG_IGN and SIG_DFL, so no handler code runs, and the one there was (tokio's) is put back.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        let mut new: libc::sigaction = std::mem::zeroed();
        libc::sigemptyset(&raw mut new.sa_mask);
        // The others of the job first (a wrapper script, say), with our own copy of the signal ignored …
        new.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGTSTP, &raw const new, &raw mut old);
        libc::kill(0, libc::SIGTSTP);
        // … then this process: raise returns only after the signal was handled, that is, when it runs again.
        new.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGTSTP, &raw const new, std::ptr::null_mut());
        libc::raise(libc::SIGTSTP);
        libc::sigaction(libc::SIGTSTP, &raw const old, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests;
