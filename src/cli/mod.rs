//! One file per subcommand; each prints text, JSON or CSV.

mod asked;
pub mod check;
mod completions;
mod convert;
mod demo;
pub mod deps;
pub mod explain;
pub mod export;
pub mod files;
pub mod index;
pub mod info;
mod keys;
mod look;
mod man;
mod neff;
mod open;
pub mod program;
mod render;
pub mod search;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use self::program::ProgramArg;
use crate::store::{Problem, cache};
use crate::term::text::{escape, is_unsafe};

/// The exit status of a failed check, or where nothing was found.
pub const FAILED: u8 = 1;
/// The exit status of bad usage and unreadable input.
pub const UNUSABLE: u8 = 2;

/// Explore AWS Neuron profiles in the terminal
///
/// Without a subcommand the profile at PATH is opened: a directory of Parquet tables, a data path that holds many, or a
/// file. Without a PATH, one of those opened before can be chosen.
#[derive(Debug, Parser)]
#[command(name = "neuron-scope", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    open: open::OpenArgs,
    /// Another directory to look for compiled programs (NEFF) in, besides those of the capture
    #[arg(long, value_name = "DIR", global = true)]
    neff_cache: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a small synthetic profile, always the same, and open it
    Demo(demo::Args),
    /// Play keys into the explorer without a terminal, and print the last screen
    Render(render::Args),
    /// Say what there is: profiles, tables, time range, tracks, problems
    Info(info::Args),
    /// Say whether a capture is sound: what is missing, lost or mismatched, and what to do about it
    Check(check::Args),
    /// Have the vendor's tool convert what cannot be read here, such as system traces
    Convert(convert::Args),
    /// Find events by what their fields say
    Search(search::Args),
    /// Write the events of a range or a search to files, one per table
    Export(export::Args),
    /// List what an event depends on and what depends on it
    Deps(deps::Args),
    /// Say why an event started then, why an engine was idle, or where the time of a range went
    Explain(explain::Args),
    /// Build the cache now, so that opening is instant
    Index(index::Args),
    /// Print the live keymap
    Keys(keys::Args),
    /// Print completions for a shell
    Completions(completions::Args),
    /// Print the manual page
    Man,
}

/// Runs the program; gives its exit status.
#[must_use]
pub fn run() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors.
            let status = if error.use_stderr() { UNUSABLE } else { 0 };
            let _ = error.print();
            return status;
        }
    };
    if let Some(directory) = cli.neff_cache {
        if !directory.is_dir() {
            complain(&format!("--neff-cache {}: is no directory", directory.display()));
            return UNUSABLE;
        }
        crate::source::capture::cached::name(directory);
    }
    match cli.command {
        None => open::run(&cli.open),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Render(args)) => render::run(&args),
        Some(Command::Info(args)) => info::run(&args, cache::directory().as_deref()),
        Some(Command::Check(args)) => check::run(&args, cache::directory().as_deref()),
        Some(Command::Convert(args)) => convert::run(&args, cache::directory().as_deref()),
        Some(Command::Search(args)) => search::run(&args, cache::directory().as_deref()),
        Some(Command::Export(args)) => export::run(&args, cache::directory().as_deref()),
        Some(Command::Deps(args)) => deps::run(&args, cache::directory().as_deref()),
        Some(Command::Explain(args)) => explain::run(&args, cache::directory().as_deref()),
        Some(Command::Index(args)) => index::run(&args, cache::directory().as_deref()),
        Some(Command::Keys(args)) => keys::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man) => man::run(),
    }
}

/// Says what is wrong, safely.
fn complain(text: &str) {
    for line in text.lines() {
        tell(&format!("neuron-scope: {}\n", escape(line)));
    }
}

/// Writes to standard error; where that cannot be written, nobody can be told.
fn tell(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says what could not be read.
fn complain_of(problem: &Problem) {
    complain(&format!("{}: {}", problem.path.display(), problem.message));
}

/// Writes to standard output; a reader that has gone is no error.
fn print(text: &str) -> u8 {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => 0,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            complain(&format!("standard output: {error}"));
            UNUSABLE
        }
    }
}

/// A line of JSON in which nothing acts on a terminal: C1 controls, directions and invisible characters become `\uXXXX`.
fn json_line(value: &serde_json::Value) -> String {
    // JSON itself spells out only the first 32 characters.
    let acts = |c: char| c >= '\u{7f}' && is_unsafe(c);
    let text = format!("{value}\n");
    if !text.contains(acts) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// A variable of the environment.
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The profiles that paths hold; what holds none is complained of.
fn discover(paths: &[PathBuf], program: &ProgramArg) -> Result<Vec<crate::source::Found>, u8> {
    program.discover(paths).map_err(|problem| {
        complain_of(&problem);
        UNUSABLE
    })
}
