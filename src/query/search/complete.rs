//! What can stand at the cursor of a query: names of fields, and values that the profile has.

use std::collections::BTreeSet;

use super::fields::Catalog;
use super::texts::{Loaded, TextCache};
use crate::model::natural_cmp;
use crate::query::event::track_name;
use crate::store::{ColumnKind, EventTable, LabelKind, Store};

/// What can stand in the place of the word before the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The byte at which that word starts.
    pub start: usize,
    /// What can stand there instead, the best first.
    pub candidates: Vec<String>,
}

/// Pieces of a column that are looked through for values.
const PIECES: usize = 4;

/// Completes the word before `cursor` (a byte of `text`) to at most `most` candidates. May read columns: call it off
/// the UI thread.
#[must_use]
pub fn complete(
    text: &str,
    cursor: usize,
    catalog: &Catalog,
    store: &Store,
    texts: &TextCache,
    most: usize,
) -> Completion {
    let Some(before) = text.get(..cursor) else { return Completion::default() };
    let start = word_start(before);
    let word = &before[start..];
    let sign = word.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|&at| at > 0);
    match sign {
        Some(at) if word[at..].starts_with([':', '=', '!', '~']) && catalog.has(&word[..at]) => {
            let value = at + word[at..].chars().take_while(|c| ":=!~".contains(*c)).count();
            let typed = word[value..].trim_start_matches('"');
            let found = values(&word[..at].to_lowercase(), catalog, store, texts);
            Completion { start: start + value, candidates: best(typed, found, most).into_iter().map(quoted).collect() }
        }
        Some(_) => Completion { start: cursor, candidates: Vec::new() },
        None => {
            let names = catalog.names().into_iter().map(str::to_owned).collect::<Vec<_>>();
            let candidates = best(word, names, most).into_iter().map(|name| name + ":").collect();
            Completion { start, candidates }
        }
    }
}

/// Where the word before the end of `text` begins, behind what excludes or opens a bracket.
fn word_start(text: &str) -> usize {
    let mut start = 0;
    let mut in_quotes = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => in_quotes = !in_quotes,
            _ if in_quotes => {}
            c if c.is_whitespace() || c == '|' => start = at + c.len_utf8(),
            '-' | '(' if at == start => start = at + 1,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    start
}

/// Those that begin with what was typed, then those that contain it.
fn best(typed: &str, names: Vec<String>, most: usize) -> Vec<String> {
    let typed = typed.to_lowercase();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for name in names {
        let lower = name.to_lowercase();
        if lower.starts_with(&typed) {
            first.push(name);
        } else if lower.contains(&typed) {
            second.push(name);
        }
    }
    first.extend(second);
    first.truncate(most);
    first
}

/// A value as a query takes it.
fn quoted(value: String) -> String {
    let plain = !value.is_empty()
        && !value.starts_with('"')
        && !value.contains(|c: char| c.is_whitespace() || matches!(c, '|' | ')' | '('));
    if plain { value } else { format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")) }
}

/// Values of a field, in order of name.
fn values(field: &str, catalog: &Catalog, store: &Store, texts: &TextCache) -> Vec<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for fields in &catalog.tables {
        let Some(events) = store.events.get(usize::from(fields.table)) else { continue };
        let column = fields.column(field).map(|c| (c.name.as_str(), c.kind));
        match (field, column) {
            ("table", _) => found.extend([fields.name.clone()]),
            ("track", _) => found.extend(tracks(store, events)),
            ("name", _) => found.extend(labels(events, LabelKind::Name)),
            ("category", _) => {
                found.extend(["operator", "instruction", "dma", "collective", "system"].map(str::to_owned))
            }
            ("purpose", _) => found.extend(
                ["spill", "io", "parameters", "collectives", "hardware", "software", "instructions", "other"]
                    .map(str::to_owned),
            ),
            ("core", None) => {
                found.extend(events.groups.iter().filter_map(|g| g.key.core).map(|core| core.to_string()))
            }
            (_, Some((name, ColumnKind::Text))) => found.extend(of_column(store, texts, &fields.name, name)),
            ("layer", None) => found.extend(labels(events, LabelKind::Operator)),
            ("source", None) => {
                for name in ["nki_source_location", "bir_debug_info_source_location"] {
                    if fields.column(name).is_some() {
                        found.extend(of_column(store, texts, &fields.name, name));
                    }
                }
            }
            ("queue", None) => found.extend(labels(events, LabelKind::Queue)),
            _ => {}
        }
    }
    found.remove("");
    let mut found: Vec<String> = found.into_iter().collect();
    found.sort_by(|a, b| natural_cmp(a, b));
    found
}

fn labels(events: &EventTable, kind: LabelKind) -> Vec<String> {
    events.label(kind).map_or_else(Vec::new, |labels| labels.entries.clone())
}

fn tracks(store: &Store, events: &EventTable) -> Vec<String> {
    let several = store.cores() > 1;
    let labels = labels(events, LabelKind::Track);
    let named = |group| -> Vec<String> {
        if labels.is_empty() {
            return vec![track_name(group, "", several)];
        }
        labels.iter().map(|label| track_name(group, label, several)).collect()
    };
    events.groups.iter().flat_map(named).collect()
}

/// Values of a column, from a few of its pieces.
fn of_column(store: &Store, texts: &TextCache, table: &str, column: &str) -> BTreeSet<String> {
    let pieces = store.pieces(table).unwrap_or_default();
    let step = (pieces.len() / PIECES).max(1);
    let mut found = BTreeSet::new();
    for rows in pieces.into_iter().step_by(step) {
        for loaded in texts.load(store, table, &[column], rows).into_iter().flatten() {
            if let Some(Loaded::Text(text)) = loaded {
                found.extend(text.texts().map(|t| String::from_utf8_lossy(t).into_owned()));
            }
        }
    }
    found
}
