//! `keys`: prints the live keymap.

use super::{complain, print};
use crate::app::keymap;

/// Arguments of `keys`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Keys: default, perfetto, vim, neuron-explorer, azerty, or a key file
    #[arg(long, value_name = "NAME|FILE")]
    pub keymap: Option<String>,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the keymap; gives the exit status: 1 where something is wrong with a key file.
pub fn run(args: &Args) -> u8 {
    let loaded = keymap::load(args.keymap.as_deref(), keymap::user_file().as_deref());
    for problem in &loaded.problems {
        complain(&problem.to_string());
    }
    let text = if args.json {
        let row = |row: &keymap::HelpRow| {
            let keys: Vec<&str> = row.keys.iter().map(|k| k.keys.as_str()).collect();
            serde_json::json!({
                "action": row.info.name,
                "usage": row.info.usage(),
                "text": row.info.text,
                "group": row.info.group.title(),
                "keys": keys,
            })
        };
        let rows: Vec<serde_json::Value> = loaded.keymap.help().iter().map(row).collect();
        format!("{:#}\n", serde_json::Value::from(rows))
    } else if args.markdown {
        loaded.keymap.help_markdown()
    } else {
        loaded.keymap.help_text()
    };
    let status = print(&text);
    if status == 0 && !loaded.problems.is_empty() { super::FAILED } else { status }
}
