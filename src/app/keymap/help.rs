//! The live keymap as help: rows for the overlay, plain text and Markdown for `neuron-scope keys`.

use std::fmt::Write;

use super::{Context, Key, Keymap};
use crate::app::action::{Action, ActionInfo, Group};

/// A sequence bound to an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpKeys {
    /// The keys, `g g`, with the argument they pass in brackets if there is one.
    pub keys: String,
    /// Whether they do this only where a pane has the focus.
    pub pane_only: bool,
}

/// One action with all its keys.
#[derive(Clone, Debug)]
pub struct HelpRow {
    /// The action's row of the table.
    pub info: &'static ActionInfo,
    /// Its keys; empty if it is only in the palette.
    pub keys: Vec<HelpKeys>,
}

impl HelpRow {
    /// The keys in one text, two blanks apart, those of panes after `[pane]`; `:name` if there are none.
    pub fn keys_text(&self) -> String {
        let keys = |pane_only: bool| -> Vec<&str> {
            self.keys.iter().filter(|keys| keys.pane_only == pane_only).map(|keys| keys.keys.as_str()).collect()
        };
        let (everywhere, pane) = (keys(false), keys(true));
        match (everywhere.is_empty(), pane.is_empty()) {
            (true, true) => format!(":{}", self.info.name),
            (false, true) => everywhere.join("  "),
            (true, false) => format!("[pane] {}", pane.join("  ")),
            (false, false) => format!("{}  [pane] {}", everywhere.join("  "), pane.join("  ")),
        }
    }
}

impl Keymap {
    /// Every action once, in the order of the table, with the keys that are live.
    pub fn help(&self) -> Vec<HelpRow> {
        let mut rows: Vec<HelpRow> = Action::ALL.iter().map(|info| HelpRow { info, keys: Vec::new() }).collect();
        for context in [Context::Timeline, Context::Pane] {
            for (keys, action) in self.trie(context).bindings() {
                let keys = match action.arg() {
                    Some(arg) => format!("{} ({arg})", Key::format_sequence(&keys)),
                    None => Key::format_sequence(&keys),
                };
                let Some(row) = rows.iter_mut().find(|row| row.info.name == action.name()) else { continue };
                if !row.keys.iter().any(|known| known.keys == keys) {
                    row.keys.push(HelpKeys { keys, pane_only: context == Context::Pane });
                }
            }
        }
        rows
    }

    /// The keys as plain text in columns, grouped.
    pub fn help_text(&self) -> String {
        let rows = self.help();
        let width = |cell: fn(&HelpRow) -> String| rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0);
        let (keys, names) = (width(HelpRow::keys_text), width(|row| row.info.name.to_owned()));
        let mut out = String::new();
        for group in Group::ALL {
            let _ = writeln!(out, "{}{}", if out.is_empty() { "" } else { "\n" }, group.title());
            for row in rows.iter().filter(|row| row.info.group == group) {
                let _ = writeln!(out, "  {:keys$}  {:names$}  {}", row.keys_text(), row.info.name, row.info.text);
            }
        }
        out
    }

    /// The keys as Markdown tables, grouped, with the arguments the actions take.
    pub fn help_markdown(&self) -> String {
        let mut out = String::new();
        for group in Group::ALL {
            let _ = writeln!(out, "### {}\n\n| keys | action | does |\n|---|---|---|", group.title());
            for row in self.help().iter().filter(|row| row.info.group == group) {
                let keys: Vec<String> = row
                    .keys
                    .iter()
                    .map(|keys| format!("{}{}", code(&keys.keys), if keys.pane_only { " (pane)" } else { "" }))
                    .collect();
                let _ = writeln!(out, "| {} | {} | {} |", keys.join(" "), code(&row.info.usage()), row.info.text);
            }
            out.push('\n');
        }
        out
    }
}

/// A Markdown code span inside a table cell.
fn code(text: &str) -> String {
    let text = text.replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
