//! The built-in demo profile: small, complete, and the same each time.
//!
//! A program for two cores (`workload`, written with `builder`) is run twice by a small event simulation
//! (`schedule`) whose engines, semaphores and DMA engines behave like the device's; `tables` writes down what
//! happened. Everything in the tables therefore has a true cause somewhere else in the tables.

mod builder;
mod chip;
mod kernels;
mod ops;
mod profile;
mod program;
mod rng;
mod schedule;
mod sources;
pub mod table;
mod tables;
#[cfg(test)]
mod tests;
mod workload;

use std::fs;
use std::path::{Path, PathBuf};

/// Name of the profile's directory.
pub const NAME: &str = "demo_llama_attention@latest";

/// Why the demo profile could not be written.
#[derive(Debug)]
pub enum DemoError {
    /// A directory or source file could not be created.
    File(PathBuf, std::io::Error),
    /// A table could not be written.
    Table(table::TableError),
}

impl std::fmt::Display for DemoError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, error) => {
                write!(f, "could not create {}: {error}; choose a directory that can be written to", path.display())
            }
            Self::Table(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DemoError {}

/// Writes the demo profile into `dir`, which is created where needed: `demo_llama_attention@latest/` with the tables,
/// and `src/` beside it with the Python files that its source locations name. The contents never differ. Returns the
/// profile's directory.
///
/// # Errors
/// When a file cannot be written.
pub fn write(dir: &Path) -> Result<PathBuf, DemoError> {
    let path = dir.join(NAME);
    fs::create_dir_all(&path).map_err(|e| DemoError::File(path.clone(), e))?;
    for (name, text) in sources::FILES {
        let file = dir.join(name);
        let made = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text));
        made.map_err(|e| DemoError::File(file.clone(), e))?;
    }
    for table in tables::all(&profile::Profile::new()) {
        table.write(&path).map_err(DemoError::Table)?;
    }
    Ok(path)
}
