//! `search PATH QUERY`: how many events match, and the first of them in time order.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::info::gather;
use super::program::ProgramArg;
use super::{FAILED, UNUSABLE, complain, complain_of, json_line, print};
use crate::model::format::format_count;
use crate::model::length;
use crate::model::time::{format_duration, format_time};
use crate::query::event::{describe, event_json};
use crate::query::search::{Catalog, Category, Matches, Options, Query, QueryError, TextCache};
use crate::store::{EventRef, Problem, Store};
use crate::term::text::escape;

/// Arguments of `search`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
A QUERY is made of terms, all of which must hold:
  matmul             any text field contains it; capitals count where there are any
  \"two words\"        the same with blanks
  opcode:MAT         part of a field      opcode=MATMUL   all of it      opcode!=NOP  anything else
  opcode~^(MAT|LDW)  a regular expression
  duration>1us       comparisons, with units (ns, us, ms, s, KiB, MiB, GiB)
  -word              must not hold         a | b  one of them            (a b) | c    brackets
Fields are the columns of the tables, and on all events: name, track, duration, start, end, table, core, id,
category, layer, source, line, bytes, queue, purpose (spill, io, …), bank, semaphore.")]
pub struct Args {
    /// Profile directory, data path or file
    pub path: PathBuf,
    /// The program of a raw capture
    #[command(flatten)]
    pub program: ProgramArg,
    /// What to search for
    #[arg(allow_hyphen_values = true)]
    pub query: String,
    /// Print at most so many matches
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// The longest first, instead of in order of time
    #[arg(long)]
    pub longest: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// With --json: add all columns of each event
    #[arg(long, requires = "json")]
    pub fields: bool,
    /// Only events of one kind; operator searches layers, operators and source lines
    #[arg(long, value_enum, value_name = "KIND")]
    pub category: Option<CategoryArg>,
    /// Match names loosely: the letters of each word in order
    #[arg(long)]
    pub fuzzy: bool,
}

/// The categories by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CategoryArg {
    /// Instructions of framework operators
    Operator,
    /// Instructions
    Instruction,
    /// Transfers
    Dma,
}

impl From<CategoryArg> for Category {
    fn from(category: CategoryArg) -> Category {
        match category {
            CategoryArg::Operator => Category::Operator,
            CategoryArg::Instruction => Category::Instruction,
            CategoryArg::Dma => Category::Dma,
        }
    }
}

/// Searches, and prints what was found. Returns the exit status: 0, 1 where nothing matches, 2 where the query means
/// nothing or nothing can be read.
#[must_use]
pub fn run(args: &Args, cache: Option<&Path>) -> u8 {
    let info = gather(std::slice::from_ref(&args.path), &args.program, cache);
    info.problems.iter().for_each(complain_of);
    let options = Options { category: args.category.map(Category::from), fuzzy: args.fuzzy };
    let mut found = Vec::new();
    for store in &info.stores {
        // What could not be read was not searched.
        store.problems.iter().for_each(complain_of);
        match find(store, &args.query, options) {
            Ok(matches) => {
                matches.problems.iter().for_each(complain_of);
                found.push((store, matches));
            }
            Err(fault) => {
                complain(&pointed(&args.query, &fault));
                return UNUSABLE;
            }
        }
    }
    if found.is_empty() {
        return UNUSABLE;
    }
    let answer = match args.json {
        true => to_json(&found, args.limit, args.longest, args.fields).map(|json| json_line(&json)),
        false => Ok(to_text(&found, args.limit, args.longest)),
    };
    match answer.as_deref().map(print) {
        Ok(0) if found.iter().all(|(_, matches)| matches.total() == 0) => FAILED,
        Ok(status) => status,
        Err(problem) => {
            complain_of(problem);
            UNUSABLE
        }
    }
}

/// Finds the events of a profile that match.
///
/// # Errors
/// What is wrong with the query.
pub fn find(store: &Store, query: &str, options: Options) -> Result<Matches, QueryError> {
    let catalog = Catalog::of(store);
    let query = Query::new(query, options, &catalog, store)?;
    // Asked once: there is nothing to keep texts for.
    let texts = TextCache::with_capacity(0);
    let mut matches = query.run(store, &texts, &AtomicBool::new(false), &|_, _| {}).unwrap_or_default();
    matches.problems.extend(catalog.problems);
    Ok(matches)
}

/// A fault under the query that it is in.
#[must_use]
pub fn pointed(query: &str, fault: &QueryError) -> String {
    let query = query.replace(|c: char| c.is_control(), " ");
    format!("{fault}\n  {query}\n  {}{}", " ".repeat(fault.column), "^".repeat(fault.length.max(1)))
}

/// The first matches in order of time, or the longest ones.
fn shown(store: &Store, matches: &Matches, limit: usize, longest: bool) -> Vec<EventRef> {
    if !longest {
        return matches.page(store, 0, limit);
    }
    let mut events = matches.page(store, 0, usize::MAX);
    // Of equally long ones the first comes first.
    events.sort_by_key(|event| {
        let table = store.table_of(*event);
        std::cmp::Reverse(length(table.start(event.event), table.end(event.event)))
    });
    events.truncate(limit);
    events
}

/// The JSON of CLI.md; with several profiles, each event says which it is of.
///
/// # Errors
/// An event's row cannot be read.
pub fn to_json(found: &[(&Store, Matches)], limit: usize, longest: bool, fields: bool) -> Result<Value, Problem> {
    let mut events = Vec::new();
    for (store, matches) in found {
        for event in shown(store, matches, limit - events.len(), longest) {
            let mut event = event_json(store, event, fields)?;
            if found.len() > 1 {
                event.insert("profile".into(), json!(store.info.name));
            }
            events.push(event);
        }
    }
    let total: u64 = found.iter().map(|(_, matches)| matches.total()).sum();
    Ok(json!({ "total": total, "matches": events }))
}

/// The same for people.
#[must_use]
pub fn to_text(found: &[(&Store, Matches)], limit: usize, longest: bool) -> String {
    let mut out = String::new();
    let mut left = limit;
    for (store, matches) in found {
        let name = if found.len() > 1 { format!("{}: ", escape(&store.info.name)) } else { String::new() };
        let _ = match matches.total() {
            0 => writeln!(out, "{name}no match"),
            1 => writeln!(out, "{name}1 match"),
            total => writeln!(out, "{name}{} matches", format_count(total)),
        };
        let page = shown(store, matches, left, longest);
        left -= page.len();
        let rows: Vec<[String; 5]> = page
            .iter()
            .map(|&event| {
                let event = describe(store, event);
                let id = format!("{}:{}", event.table, event.id);
                [format_time(event.start, 1), format_duration(event.duration), event.track, event.name, id]
            })
            .collect();
        for row in table(&rows) {
            let _ = writeln!(out, "  {row}");
        }
        let more = matches.total() - page.len() as u64;
        if more > 0 {
            let _ = writeln!(out, "  … {} more; --limit shows them", format_count(more));
        }
    }
    out
}

/// Rows with their columns under each other, times to the right, texts to the left.
fn table(rows: &[[String; 5]]) -> Vec<String> {
    use crate::term::text::width;
    let rows: Vec<[String; 5]> = rows.iter().map(|row| row.each_ref().map(|cell| escape(cell).into_owned())).collect();
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(widest);
    let line = |row: &[String; 5]| {
        let mut line = String::new();
        for (column, (cell, widest)) in row.iter().zip(widths).enumerate() {
            let blank = " ".repeat(widest - width(cell));
            line += if column > 0 { "  " } else { "" };
            line += &if column < 2 { blank + cell } else { cell.clone() + &blank };
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
