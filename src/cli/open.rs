//! `PATH…`: opens the explorer.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use super::program::ProgramArg;
use super::{UNUSABLE, complain, complain_of, look};
use crate::app::run::{Begin, Setup, run as run_app};
use crate::app::{Start, log};
use crate::source::{self, Found};
use crate::term::paths::state_dir;

/// Arguments of the explorer.
#[derive(Clone, Debug, clap::Args)]
pub struct OpenArgs {
    /// Profile directories, data paths or files
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// A data path that holds profiles
    #[arg(short = 'd', long = "data-path", value_name = "DIR")]
    pub data_path: Option<PathBuf>,
    /// A session (NTFF) file
    #[arg(short = 's', long = "session-file", value_name = "NTFF")]
    pub session_file: Option<PathBuf>,
    #[command(flatten)]
    pub program: ProgramArg,
    #[command(flatten)]
    pub explorer: ExplorerArgs,
}

/// Options of the explorer in a terminal.
#[derive(Clone, Debug, clap::Args)]
pub struct ExplorerArgs {
    #[command(flatten)]
    pub look: look::LookArgs,
    /// Ignore how the profile was arranged when last open (marks stay)
    #[arg(long)]
    pub fresh: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Write a log to a file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Opens the explorer; gives the exit status.
pub fn run(args: &OpenArgs) -> u8 {
    let paths: Vec<PathBuf> = args.paths.iter().chain(&args.data_path).chain(&args.session_file).cloned().collect();
    if let (true, Some(neff)) = (paths.is_empty(), &args.program.neff) {
        complain(&format!("{}: name the capture of its run too: -s FILE.ntff", neff.display()));
        return UNUSABLE;
    }
    let begin = if paths.is_empty() {
        // What lies here can be chosen, and what was opened before.
        match source::discover(Path::new(".")) {
            Ok(here) => with_recent(here),
            Err(_) => Begin::Recent,
        }
    } else {
        match super::discover(&paths, &args.program) {
            Ok(found) => Begin::Found(found),
            Err(status) => return status,
        }
    };
    explore(begin, &args.explorer)
}

/// The profiles found here, and those opened before.
fn with_recent(mut here: Vec<Found>) -> Begin {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let known: Vec<PathBuf> = here.iter().map(|f| real(&f.path)).collect();
    for recent in crate::app::state::recent(&state_dir()) {
        if !known.contains(&real(&recent.path))
            && let Ok(mut found) = source::discover(&recent.path)
            && found.len() == 1
        {
            here.append(&mut found);
        }
    }
    Begin::Found(here)
}

/// Runs the explorer in the terminal; gives the exit status.
pub fn explore(begin: Begin, args: &ExplorerArgs) -> u8 {
    if let Some(path) = &args.log
        && let Err(error) = log::to(path)
    {
        complain(&format!("{}: {error}", path.display()));
        return UNUSABLE;
    }
    if !std::io::stdout().is_terminal() {
        complain("standard output is not a terminal; `neuron-scope render PATH` prints a screen without one");
        return UNUSABLE;
    }
    let chosen = args.look.choose(true);
    let setup = Setup {
        start: Start {
            keymap: chosen.keymap,
            complaints: chosen.complaints,
            look: chosen.look,
            state_dir: Some(state_dir()),
            cache_dir: args.look.cache_dir(),
            fresh: args.fresh,
            mouse: !args.no_mouse,
        },
        begin,
        depth: chosen.depth,
        detect_background: chosen.detect,
        clipboard_file: state_dir().join("clipboard.json"),
    };
    match run_app(setup) {
        Ok(outcome) => {
            if let Some(problem) = &outcome.failure {
                complain_of(problem);
                return UNUSABLE;
            }
            outcome.signal.unwrap_or(0)
        }
        Err(error) => {
            complain(&format!("the terminal: {error}"));
            UNUSABLE
        }
    }
}
