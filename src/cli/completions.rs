//! `completions`: prints completions for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The shell
    pub shell: Shell,
}

/// Prints the completions; gives the exit status.
pub fn run(args: &Args) -> u8 {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "neuron-scope", &mut out);
    super::print(&String::from_utf8_lossy(&out))
}
