//! `deps PATH EVENT`: what an event depends on, what depends on it, and the chain back to the root.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::asked::{Asked, actor_json, ask};
use super::program::ProgramArg;
use super::{UNUSABLE, complain, json_line, print};
use crate::query::causes::{Actor, Asking};
use crate::query::chain::MOST_STEPS;
use crate::query::dependencies::{Dependency, Neighbours};
use crate::query::event::id_json;
use crate::query::locate::Subject;
use crate::term::text::escape;

/// Arguments of `deps`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
An EVENT is [Table:]id, pc:N@TRACK#OCCURRENCE such as pc:316@Tensor(nc0)#3, or at:TIME@TRACK.")]
pub struct Args {
    /// Profile directory, data path or file
    pub path: PathBuf,
    /// The program of a raw capture
    #[command(flatten)]
    pub program: ProgramArg,
    /// The event
    #[arg(allow_hyphen_values = true)]
    pub event: String,
    /// Neighbours of neighbours, to this depth
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub depth: usize,
    /// The chain back to the root: by what bound each start, or by the declared predecessor that ended last
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, default_missing_value = "binding", require_equals = true)]
    pub chain: Option<ChainArg>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which chain to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ChainArg {
    /// What bound each start
    Binding,
    /// The declared predecessor that ended last; of equals the least id, then a transfer before an instruction
    LatestEnd,
}

/// Events that nested lists hold at most.
const MOST_NESTED: usize = 20_000;
/// Neighbours that are printed on each side.
const MOST_LINES: usize = 200;

/// Prints the dependencies of an event. Returns the exit status: 0, 1 where there is no such event, 2 where its name
/// means nothing or nothing can be read.
#[must_use]
pub fn run(args: &Args, cache: Option<&Path>) -> u8 {
    let Asked { store, index, subject } = match ask(&args.path, &args.program, &args.event, cache) {
        Ok(asked) => asked,
        Err(status) => return status,
    };
    let Subject::Event(event) = subject else {
        complain(&format!("{:?} is no event; `explain` answers for idle time and ranges", args.event));
        return UNUSABLE;
    };
    let asking = Asking::new(&store, &index);
    let actor = asking.actor(event);
    let chain = args.chain.map(|how| match how {
        ChainArg::Binding => asking.chain(actor, i64::MIN, MOST_STEPS).actors,
        ChainArg::LatestEnd => asking.latest_end_chain(actor),
    });
    let answer = match args.json {
        true => json_line(&to_json(&asking, actor, args.depth, chain.as_deref())),
        false => to_text(&asking, actor, chain.as_deref()),
    };
    print(&answer)
}

/// The JSON of CLI.md.
#[must_use]
pub fn to_json(asking: &Asking<'_>, actor: Actor, depth: usize, chain: Option<&[Actor]>) -> Value {
    let mut left = MOST_NESTED;
    let mut json = Map::new();
    json.insert("event".into(), actor_json(asking, actor).into());
    let found = asking.neighbours(actor);
    for (name, list) in [("predecessors", &found.predecessors), ("successors", &found.successors)] {
        json.insert(name.into(), nested(asking, list, name, depth, &mut left).into());
    }
    json.insert("derived".into(), derived(asking, &found));
    let why = asking.why(actor);
    let by = why.by.map(|by| actor_json(asking, by));
    json.insert(
        "bound_by".into(),
        json!({"event": by, "text": why.text, "lag_ns": why.lag, "basis": why.basis.name()}),
    );
    let (before, after) = found.left_out;
    json.insert("left_out".into(), json!({"predecessors": before, "successors": after, "nested": left == 0}));
    if let Some(chain) = chain {
        json.insert("chain".into(), chain.iter().map(|a| Value::from(actor_json(asking, *a))).collect());
    }
    json.insert("notes".into(), json!(asking.index.notes));
    json.into()
}

/// The recorded neighbours on one side, with theirs below them to a depth.
fn nested(asking: &Asking<'_>, list: &[Dependency], side: &str, depth: usize, left: &mut usize) -> Vec<Value> {
    let mut out = Vec::new();
    for dependency in list.iter().filter(|d| !d.recorded.is_empty()) {
        let types: Vec<Value> = dependency.recorded.iter().map(|(_, name)| json!(name)).collect();
        let kinds: Vec<String> = dependency.recorded.iter().map(|(kind, _)| kind.text()).collect();
        let mut entry = entry(asking, dependency, types, kinds);
        *left = left.saturating_sub(1);
        if depth > 1 && *left > 0 {
            let further = asking.neighbours(dependency.actor);
            let list = if side == "predecessors" { &further.predecessors } else { &further.successors };
            entry.insert(side.into(), nested(asking, list, side, depth - 1, left).into());
        }
        out.push(entry.into());
    }
    out
}

fn entry(asking: &Asking<'_>, of: &Dependency, types: Vec<Value>, kinds: Vec<String>) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("event".into(), actor_json(asking, of.actor).into());
    entry.insert("types".into(), types.into());
    entry.insert("kinds".into(), json!(kinds));
    entry.insert("gap_ns".into(), json!(of.gap));
    entry.insert("bound".into(), json!(of.bound));
    entry
}

/// What links neighbours without being stored.
fn derived(asking: &Asking<'_>, found: &Neighbours) -> Value {
    let side = |list: &[Dependency]| -> Vec<Value> {
        let linked = list.iter().filter(|d| !d.derived.is_empty());
        let entries = linked.map(|d| {
            let types = d.derived.iter().map(|kind| json!(kind.name())).collect();
            entry(asking, d, types, d.derived.iter().map(|kind| kind.text()).collect()).into()
        });
        entries.collect()
    };
    json!({"predecessors": side(&found.predecessors), "successors": side(&found.successors)})
}

/// The same for people.
#[must_use]
pub fn to_text(asking: &Asking<'_>, actor: Actor, chain: Option<&[Actor]>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", line(asking, actor));
    // What bound the start need not be a dependency: the engine may have been busy.
    let why = asking.why(actor);
    let lag = if why.by.is_some() { format!("  +{} ns  {}", why.lag, why.basis.name()) } else { String::new() };
    let _ = writeln!(out, "  {}{lag}", escape(&why.text));
    let found = asking.neighbours(actor);
    let sides =
        [("depends on", &found.predecessors, found.left_out.0), ("needed by", &found.successors, found.left_out.1)];
    for (name, list, left_out) in sides {
        let _ = writeln!(out, "{name} {}:", list.len() + left_out);
        for dependency in list.iter().take(MOST_LINES) {
            let recorded = dependency.recorded.iter().map(|(kind, _)| kind.text());
            let derived = dependency.derived.iter().map(|kind| format!("{} (derived)", kind.text()));
            let kinds: Vec<String> = recorded.chain(derived).collect();
            let mark = if dependency.bound { '*' } else { ' ' };
            let kinds = escape(&kinds.join(", ")).into_owned();
            let _ = writeln!(out, "{mark} {:>+9} ns  {}  {kinds}", dependency.gap, line(asking, dependency.actor));
        }
        let hidden = left_out + list.len().saturating_sub(MOST_LINES);
        if hidden > 0 {
            let _ = writeln!(out, "  and {hidden} more (--json lists up to 1000)");
        }
    }
    let _ = writeln!(
        out,
        "* is what bound the start, where that is a dependency; times are from the end of one to the start of the other"
    );
    if let Some(chain) = chain {
        let _ = writeln!(out, "chain of {}:", chain.len());
        for actor in chain {
            let _ = writeln!(out, "  {}", line(asking, *actor));
        }
    }
    for note in &asking.index.notes {
        let _ = writeln!(out, "note: {}", escape(note));
    }
    out
}

/// An actor on one line, with its id.
fn line(asking: &Asking<'_>, actor: Actor) -> String {
    let (start, end) = asking.span(actor);
    let id = id_json(asking.store.id_of(asking.event(actor)));
    format!("{}  {start} – {end} ns  id {id}", escape(&asking.name(actor)))
}
