//! `demo`: writes the demo profile and opens it.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use super::open::{ExplorerArgs, explore};
use super::program::ProgramArg;
use super::{UNUSABLE, complain, print};
use crate::app::run::Begin;
use crate::demo;

/// Arguments of `demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Directory to write the profile into
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("neuron-scope-demo"))]
    pub dir: PathBuf,
    /// Only write it
    #[arg(long)]
    pub no_open: bool,
    #[command(flatten)]
    pub explorer: ExplorerArgs,
}

/// Writes the profile and opens it; gives the exit status.
pub fn run(args: &Args) -> u8 {
    let path = match demo::write(&args.dir) {
        Ok(path) => path,
        Err(error) => {
            complain(&error.to_string());
            return UNUSABLE;
        }
    };
    if args.no_open || !std::io::stdout().is_terminal() {
        return print(&format!("{}\n", path.display()));
    }
    match super::discover(&[path], &ProgramArg::default()) {
        Ok(found) => explore(Begin::Found(found), &args.explorer),
        Err(status) => status,
    }
}
