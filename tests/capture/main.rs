//! Capture output directories: what is in them, what belongs together, whether they are sound, and conversion.

#![allow(clippy::unwrap_used)] // Tests may.

mod commands;
mod conversion;
mod explorer;
mod findings;
mod merging;
#[allow(dead_code)]
#[path = "../raw/sample.rs"]
mod sample;
mod trees;
#[allow(dead_code)]
#[path = "../raw/writer.rs"]
mod writer;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory to put a capture into.
struct Tree(TempDir);

impl Tree {
    fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and the directories that it is in.
    fn with(self, name: &str, bytes: impl AsRef<[u8]>) -> Tree {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A path within, without what leads to it.
    fn within(&self, path: &Path) -> String {
        path.strip_prefix(self.path()).unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// The sample trace, of the compilation with a number.
fn ntff(version: u8, compilation: u8) -> Vec<u8> {
    let mut trace = sample::trace(version);
    trace.uuid[0] = compilation;
    trace.bytes()
}

/// Its program.
fn neff(version: u8, compilation: u8) -> Vec<u8> {
    let mut uuid = sample::UUID;
    uuid[0] = compilation;
    writer::neff(uuid, &sample::members(version))
}

/// A trace in which no instruction ran.
fn idle(version: u8) -> Vec<u8> {
    let mut trace = sample::trace(version);
    trace.cores[0].instructions.clear();
    trace.bytes()
}

/// What the command line says to some arguments, with nothing of the person's own about.
fn run(home: &Path, arguments: &[&str], path: Option<&Path>) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_neuron-scope"));
    command.args(arguments).env("HOME", home).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(name, home.join(name));
    }
    command.env_remove("TORCH_NEURONX_NEFF_CACHE_DIR").env("PATH", path.unwrap_or(Path::new("/nonexistent")));
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
