//! A file that shrinks while it is mapped: reading what is no longer there raises SIGBUS, which no code survives. The
//! terminal is given back all the same, and a sentence says what happened.

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use super::session;

/// The terminal's settings before it was taken.
static BEFORE: OnceLock<libc::termios> = OnceLock::new();

const WORDS: &[u8] = b"neuron-scope: a file was made shorter while it was open, most likely the cache of the profile; \
    open the profile again, with --no-cache if it goes on\n";

/// Prepares for SIGBUS; call it while the terminal is still as the shell left it.
pub fn prepare() {
    let mut settings = MaybeUninit::<libc::termios>::zeroed();
    // SAFETY: `settings` is written by the call, and only read where that says so.
    unsafe {
        if libc::tcgetattr(libc::STDOUT_FILENO, settings.as_mut_ptr()) == 0 {
            let _ = BEFORE.set(settings.assume_init());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigemptyset(&raw mut action.sa_mask);
        action.sa_sigaction = give_up as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// Gives the terminal back and ends, with calls only that a signal handler may make.
extern "C" fn give_up(signal: libc::c_int) {
    let write = |to: libc::c_int, bytes: &[u8]| {
        // SAFETY: a slice that outlives the call.
        unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
    };
    if session::is_entered() {
        write(libc::STDOUT_FILENO, session::MOUSE_OFF);
        write(libc::STDOUT_FILENO, session::LEAVE);
        if let Some(before) = BEFORE.get() {
            // SAFETY: settings that the terminal gave itself.
            unsafe { libc::tcsetattr(libc::STDOUT_FILENO, libc::TCSANOW, before) };
        }
    }
    write(libc::STDERR_FILENO, WORDS);
    // SAFETY: ends the process without running anything.
    unsafe { libc::_exit(128 + signal) };
}
