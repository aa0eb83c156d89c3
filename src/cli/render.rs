//! `render`: the real App without a terminal.

use std::path::PathBuf;

use super::program::ProgramArg;
use super::{UNUSABLE, complain, complain_of, look, print};
use crate::app::Start;
use crate::app::headless::{Script, play};
use crate::app::keymap::parse_script;
use crate::term::color::{ColorChoice, Depth};

/// Arguments of `render`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Profile directories, data paths or files
    #[arg(value_name = "PATH", required_unless_present = "session_file")]
    pub paths: Vec<PathBuf>,
    /// A session (NTFF) file
    #[arg(short = 's', long = "session-file", value_name = "NTFF")]
    pub session_file: Option<PathBuf>,
    #[command(flatten)]
    pub program: ProgramArg,
    /// Keys to play once the profile is open: `dd/MATMUL<Enter>]`
    #[arg(long, default_value = "")]
    pub keys: String,
    /// Columns and lines of the screen
    #[arg(long, value_name = "WxH", default_value = "160x48", value_parser = size)]
    pub size: (u16, u16),
    /// Print times and sizes of the frames as one line of JSON on standard error
    #[arg(long)]
    pub stats: bool,
    /// Play all keys at once, as a fast typist would
    #[arg(long)]
    pub burst: bool,
    #[command(flatten)]
    pub look: look::LookArgs,
}

/// Reads `160x48`.
fn size(text: &str) -> Result<(u16, u16), String> {
    let wrong = || format!("{text:?} is no size; expected columns and lines such as 160x48");
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let number = |n: &str| n.trim().parse::<u16>().ok().filter(|n| (1..=1000).contains(n));
    Ok((number(width).ok_or_else(wrong)?, number(height).ok_or_else(wrong)?))
}

/// Plays the keys and prints the last screen; gives the exit status.
pub fn run(args: &Args) -> u8 {
    let keys = match parse_script(&args.keys) {
        Ok(keys) => keys,
        Err(error) => {
            complain(&error.to_string());
            return UNUSABLE;
        }
    };
    let paths: Vec<PathBuf> = args.paths.iter().chain(&args.session_file).cloned().collect();
    let found = match super::discover(&paths, &args.program) {
        Ok(found) => found,
        Err(status) => return status,
    };
    let mut chosen = args.look.choose(args.look.keymap.is_some());
    // What is printed goes into a file more often than to a terminal.
    let depth = match args.look.color {
        ColorChoice::Auto => Depth::None,
        ColorChoice::Fixed(depth) => depth,
    };
    chosen.look.plain = depth == Depth::None;
    let script = Script {
        start: Start {
            keymap: chosen.keymap,
            complaints: chosen.complaints,
            look: chosen.look,
            state_dir: None,
            cache_dir: args.look.cache_dir(),
            fresh: true,
            mouse: false,
        },
        found,
        keys,
        size: args.size,
        depth,
        burst: args.burst,
    };
    match play(script) {
        Err(problem) => {
            complain_of(&problem);
            UNUSABLE
        }
        Ok((screen, stats)) => {
            if args.stats {
                super::tell(&super::json_line(&stats.to_json()));
            }
            print(&screen)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_columns_and_lines() {
        assert_eq!(size("160x48"), Ok((160, 48)));
        assert_eq!(size("80X24"), Ok((80, 24)));
        for bad in ["", "80", "80x", "0x24", "80x-1", "80x24x2", "99999x10"] {
            assert!(size(bad).is_err(), "{bad:?}");
        }
    }
}
