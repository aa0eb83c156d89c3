//! The log, written to a file on request and never to the screen.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

static LOG: OnceLock<(Instant, Mutex<File>)> = OnceLock::new();

/// Begins to log to a file, after what it holds already.
///
/// # Errors
/// The file cannot be opened.
pub fn to(path: &Path) -> io::Result<()> {
    let file = File::options().create(true).append(true).open(path)?;
    let _ = LOG.set((Instant::now(), Mutex::new(file)));
    line(&format!("neuron-scope {}", env!("CARGO_PKG_VERSION")));
    Ok(())
}

/// Logs a line, where a log is kept; control characters are made visible.
pub fn line(text: &str) {
    if let Some((begin, file)) = LOG.get() {
        let text = crate::term::text::escape(text);
        let seconds = begin.elapsed().as_secs_f64();
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(file, "{seconds:10.3} {text}");
    }
}
