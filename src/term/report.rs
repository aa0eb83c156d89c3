//! What happens on a panic: the terminal is restored first, then a report is written, then a person is told where.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{SystemTime, UNIX_EPOCH};

use super::paths::{state_dir, write_private};
use super::session::restore;
use super::text::escape;

/// The thread that owns the terminal, if a session is open.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// The last report written.
static LAST: Mutex<Option<PathBuf>> = Mutex::new(None);

/// What to tell about a panic elsewhere, should it bring the program down after all.
static UNTOLD: Mutex<Option<String>> = Mutex::new(None);

/// The report of the last panic in this process, for telling about background work that failed.
pub fn last_report() -> Option<PathBuf> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Makes this thread the one whose panics end the session.
pub(super) fn own_terminal() {
    *OWNER.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
}

/// No session is open any more. Where it ends because a panic of another thread was passed on to this one (as rayon
/// does), what was kept back is told now.
pub(super) fn disown_terminal() {
    *OWNER.lock().unwrap_or_else(PoisonError::into_inner) = None;
    let untold = UNTOLD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(untold) = untold.filter(|_| thread::panicking()) {
        tell(&untold);
    }
}

/// Installs the hook, once per process.
///
/// A panic of the thread that owns the terminal restores it and says where the report is. A panic of another thread
/// while a session is open writes its report silently, as the screen is in use: see [`last_report`].
pub fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| std::panic::set_hook(Box::new(on_panic)));
}

fn on_panic(info: &PanicHookInfo<'_>) {
    let owner = *OWNER.lock().unwrap_or_else(PoisonError::into_inner);
    let elsewhere = owner.is_some_and(|owner| owner != thread::current().id());
    if !elsewhere {
        restore();
    }
    let text = report(info, &Backtrace::force_capture());
    let saved = save(&state_dir(), &text);
    if let Ok(path) = &saved {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.clone());
    }
    let what = "neuron-scope stopped because of a fault in itself";
    let told = match saved {
        Ok(path) => format!(
            "{what}: {}\nA report that helps to mend it was written to {}\n",
            escape(&message(info)),
            escape(&path.to_string_lossy())
        ),
        Err(error) => format!("{what}; the report could not be written ({error}), so here it is:\n{text}"),
    };
    if elsewhere {
        *UNTOLD.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    } else {
        tell(&told);
    }
}

/// Prints to standard error; the terminal may be gone, and nothing here may panic again.
fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes a report below a directory and returns its path.
fn save(dir: &Path, text: &str) -> io::Result<PathBuf> {
    let path = dir.join(format!("fault-{}-{}.txt", seconds(), std::process::id()));
    write_private(&path, text.as_bytes())?;
    Ok(path)
}

/// What went wrong, where, in which version; only printable characters and newlines.
fn report(info: &PanicHookInfo<'_>, backtrace: &Backtrace) -> String {
    let mut out = format!("neuron-scope {} stopped because of a fault in itself\n\n", env!("CARGO_PKG_VERSION"));
    let place = info.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let arguments: Vec<_> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    let thread = thread::current().name().unwrap_or("unnamed").to_owned();
    for (name, value) in [
        ("what", message(info)),
        ("where", place),
        ("thread", thread),
        ("command", arguments.join(" ")),
        ("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("terminal", format!("TERM={} COLORTERM={}", variable("TERM"), variable("COLORTERM"))),
        ("time", format!("{} s after 1970", seconds())),
    ] {
        let _ = writeln!(out, "{name:9} {}", escape(&value));
    }
    out.push('\n');
    for line in backtrace.to_string().lines() {
        let _ = writeln!(out, "{}", escape(line));
    }
    out
}

fn message(info: &PanicHookInfo<'_>) -> String {
    info.payload_as_str().unwrap_or("(no message)").to_owned()
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
