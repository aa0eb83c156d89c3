//! `convert PATH`: has the vendor's tool convert what cannot be read here.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::{FAILED, UNUSABLE, complain, complain_of, print, tell};
use crate::source::convert::{Input, convert, result_of, tool};
use crate::source::{Format, Found, survey};
use crate::store::{Problem, ProfileKind};
use crate::term::text::escape;

/// Arguments of `convert`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The output directory of a capture, or a device trace
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Only print the command, to be run where the vendor's tool is installed
    #[arg(long)]
    pub print: bool,
}

/// Converts; prints where the results are. Returns the exit status: 1 where the tool is missing or fails, 2 where there
/// is nothing to convert.
pub fn run(args: &Args, cache: Option<&Path>) -> u8 {
    let inputs = match inputs(&args.path) {
        Ok(inputs) => inputs,
        Err(problem) => {
            complain_of(&problem);
            return UNUSABLE;
        }
    };
    let by_hand = || inputs.iter().map(|input| format!("{}\n", input.command(Path::new("OUT")))).collect::<String>();
    if args.print {
        return print(&by_hand());
    }
    let Some(tool) = tool() else {
        complain(
            "neuron-explorer is neither on the PATH nor in /opt/aws/neuron/bin. Where it is, run this and open OUT:",
        );
        return print(&by_hand()).max(FAILED);
    };
    let Some(cache) = cache else {
        complain("no directory to convert into: set HOME or XDG_CACHE_HOME");
        return UNUSABLE;
    };
    let cancel = AtomicBool::new(false);
    let bar = std::io::stderr().is_terminal();
    for input in &inputs {
        if let Some(before) = result_of(input, cache) {
            complain("converted already; open the directory printed with neuron-scope");
            print(&format!("{}\n", before.display()));
            continue;
        }
        complain(&input.command(Path::new("OUT")));
        let said = |line: &str| match bar {
            true => tell(&format!("\r\x1b[K{}", escape(line).chars().take(120).collect::<String>())),
            false => tell(&format!("{}\n", escape(line))),
        };
        let converted = convert(input, &tool, cache, &cancel, &said);
        if bar {
            tell("\r\x1b[K");
        }
        match converted {
            Ok(directory) => {
                print(&format!("{}\n", directory.display()));
            }
            Err(problem) => {
                complain_of(&problem);
                return FAILED;
            }
        }
    }
    0
}

/// What there is to convert: what cannot be read here, or else all of it.
fn inputs(path: &Path) -> Result<Vec<Input>, Problem> {
    let survey = survey(path)?;
    let system = survey.capture.system_directories(path).into_iter().map(Input::Directory);
    let device = |found: &&Found| found.format == Format::Vendor && found.kind == ProfileKind::Device;
    let mut inputs: Vec<Input> = system.chain(survey.found.iter().filter(device).map(Input::of)).collect();
    inputs.dedup();
    if inputs.is_empty() {
        inputs = match survey.found.first() {
            Some(found) if path.is_file() && found.format == Format::Raw => vec![Input::of(found)],
            _ if survey.capture.traces.is_empty() => {
                let message = "holds nothing to convert: no capture of a device or of the runtime".into();
                return Err(Problem { path: path.to_path_buf(), message });
            }
            _ => vec![Input::Directory(path.to_path_buf())],
        };
    }
    Ok(inputs)
}
