//! `explain PATH EVENT|gap@TIME@TRACK|A..B`: why it started then, why the engine was idle, where the time went.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::asked::{Asked, actor_json, ask};
use super::program::ProgramArg;
use super::{json_line, print};
use crate::model::length;
use crate::model::time::format_duration;
use crate::query::causes::{Actor, Asking, How};
use crate::query::chain::{Chain, MOST_STEPS, Piece, PieceKind, Root};
use crate::query::event::id_json;
use crate::query::gaps::Gap;
use crate::query::life::Life;
use crate::query::locate::{OnTrack, Subject};
use crate::query::reach::By;
use crate::store::EventRef;
use crate::term::text::escape;

/// Arguments of `explain`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
What to explain is one of
  an event   [Table:]id, pc:N@TRACK#OCCURRENCE, or at:TIME@TRACK: why it started then
  a gap      gap@TIME@TRACK: why the engine was idle
  a range    A..B, either end may be left out: where its time went, along the chain that bounds it
Pieces are listed from the last back to the first; they lie end to end and add up.")]
pub struct Args {
    /// Profile directory, data path or file
    pub path: PathBuf,
    /// The program of a raw capture
    #[command(flatten)]
    pub program: ProgramArg,
    /// What to explain
    #[arg(allow_hyphen_values = true)]
    pub subject: String,
    /// Print at most so many pieces; 0 prints all (JSON always has all)
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the explanation. Returns the exit status: 0, 1 where there is nothing of that name, 2 where the name means
/// nothing or nothing can be read.
#[must_use]
pub fn run(args: &Args, cache: Option<&Path>) -> u8 {
    let Asked { store, index, subject } = match ask(&args.path, &args.program, &args.subject, cache) {
        Ok(asked) => asked,
        Err(status) => return status,
    };
    let asking = Asking::new(&store, &index);
    let explained = Explained::new(&asking, &subject);
    print(&match args.json {
        true => json_line(&explained.to_json(&asking)),
        false => explained.to_text(&asking, args.limit),
    })
}

/// What is explained.
#[derive(Clone, Debug)]
enum About {
    Event(Actor),
    Gap(String, Gap),
    Range(i64, i64),
}

/// An explanation.
#[derive(Clone, Debug)]
pub struct Explained {
    about: About,
    chain: Chain,
    life: Option<Life>,
}

impl Explained {
    /// Explains `subject`.
    #[must_use]
    pub fn new(asking: &Asking<'_>, subject: &Subject) -> Explained {
        match subject {
            Subject::Event(event) => {
                let actor = asking.actor(*event);
                let life = if let Actor::Transfer(t) = actor { Some(asking.life(t)) } else { None };
                Explained { about: About::Event(actor), chain: asking.chain(actor, i64::MIN, MOST_STEPS), life }
            }
            Subject::Gap(OnTrack { name, .. }, gap) => {
                Explained { about: About::Gap(name.clone(), *gap), chain: asking.gap_chain(gap), life: None }
            }
            Subject::Range(from, to) => {
                Explained { about: About::Range(*from, *to), chain: asking.range_chain(*from, *to), life: None }
            }
        }
    }

    /// The pieces, the last in time first.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.chain.pieces
    }

    /// The JSON of CLI.md, with the causes of the start, why the chain ends, and totals of its time.
    #[must_use]
    pub fn to_json(&self, asking: &Asking<'_>) -> Value {
        let mut json = Map::new();
        json.insert("subject".into(), self.subject_json(asking));
        let pieces: Vec<Value> = self.chain.pieces.iter().map(|p| piece_json(asking, p)).collect();
        json.insert("pieces".into(), pieces.into());
        json.insert("total_ns".into(), json!(self.chain.total()));
        json.insert("root".into(), json!(asking.root_text(&self.chain.root)));
        json.insert("truncated".into(), json!(self.chain.root == Root::TooLong));
        if let About::Event(actor) = self.about {
            let why = asking.why(actor);
            let residual = why.residual.text();
            json.insert(
                "why".into(),
                json!({"text": why.text, "lag_ns": why.lag, "lag": residual, "basis": why.basis.name()}),
            );
            json.insert("causes".into(), causes_json(asking, actor));
            let unblocked = asking.unblocked(actor).into_iter().map(|a| Value::from(actor_json(asking, a)));
            json.insert("unblocked".into(), unblocked.collect());
        }
        if let Some(life) = &self.life {
            json.insert("life".into(), life_json(asking, life));
        }
        let totals = [
            ("by_kind", By::Kind),
            ("by_track", By::Track),
            ("by_opcode", By::Opcode),
            ("by_layer", By::Layer),
            ("by_line", By::Line),
        ];
        for (name, by) in totals {
            let totals = asking.totals(&self.chain, by).into_iter();
            json.insert(name.into(), totals.map(|(name, ns)| json!({"name": name, "ns": ns})).collect());
        }
        json.insert("notes".into(), json!(asking.index.notes));
        json.into()
    }

    fn subject_json(&self, asking: &Asking<'_>) -> Value {
        let stretch = |start, end| json!({"start_ns": start, "end_ns": end, "duration_ns": length(start, end)});
        match &self.about {
            About::Event(actor) => actor_json(asking, *actor).into(),
            About::Range(from, to) => json!({"range": stretch(*from, *to)}),
            About::Gap(track, gap) => {
                let mut found = stretch(gap.start, gap.end);
                found["track"] = json!(track);
                found["ended_by"] = gap.next.map_or(Value::Null, |e| actor_json(asking, Actor::Instruction(e)).into());
                json!({"gap": found})
            }
        }
    }

    /// The same for people; at most `limit` pieces, 0 for all.
    #[must_use]
    pub fn to_text(&self, asking: &Asking<'_>, limit: usize) -> String {
        let mut out = String::new();
        match &self.about {
            About::Event(actor) => {
                let (start, end) = asking.span(*actor);
                let _ = writeln!(out, "{}  {start} – {end} ns", escape(&asking.name(*actor)));
                let why = asking.why(*actor);
                let lag =
                    if why.by.is_some() { format!("  +{} ns  {}", why.lag, why.basis.name()) } else { String::new() };
                let _ = writeln!(out, "  {}{lag}", escape(&why.text));
                for choice in asking.choices(*actor).iter().skip(1) {
                    let name = choice.actor.map_or_else(|| "not recorded".to_owned(), |a| asking.name(a));
                    let how = asking.how_text(&choice.cause.how);
                    let _ = writeln!(out, "  slack {:>7} ns  {} ← {}", choice.slack, escape(&how), escape(&name));
                }
            }
            About::Gap(track, gap) => {
                let ended = gap.next.map_or_else(
                    || "until the end of the profile".to_owned(),
                    |e| format!("ended by {}", asking.name(Actor::Instruction(e))),
                );
                let _ = writeln!(
                    out,
                    "idle: {}  {}",
                    escape(&asking.stretch_text(track, gap.start, gap.end)),
                    escape(&ended)
                );
            }
            About::Range(from, to) => {
                let _ = writeln!(out, "{}", asking.stretch_text("range", *from, *to));
            }
        }
        if let Some(life) = &self.life {
            life_text(asking, life, &mut out);
        }
        let shown = if limit == 0 { usize::MAX } else { limit };
        let queue = |piece: &Piece| queued_on(asking, piece);
        let runs: Vec<&[Piece]> =
            self.chain.pieces.chunk_by(|a, b| queue(a).is_some_and(|own| queue(b) == Some(own))).collect();
        for run in runs.iter().take(shown) {
            out.push_str(&run_text(asking, run));
        }
        let hidden: usize = runs.iter().skip(shown).map(|run| run.len()).sum();
        if hidden > 0 {
            let _ = writeln!(out, "  and {hidden} more pieces (--limit 0 prints all)");
        }
        if let Some(root) = asking.root_text(&self.chain.root) {
            let _ = writeln!(out, "root: {}", escape(&root));
        }
        let total = self.chain.total();
        let _ = writeln!(out, "total {total} ns ({})", format_duration(total));
        for (name, ns) in asking.totals(&self.chain, By::Track).iter().take(8) {
            let share = 100.0 * *ns as f64 / total.max(1) as f64;
            let _ = writeln!(out, "  {share:>5.1} %  {}", escape(name));
        }
        for note in &asking.index.notes {
            let _ = writeln!(out, "note: {}", escape(note));
        }
        out
    }
}

/// The queue that a piece was spent waiting on.
fn queued_on(asking: &Asking<'_>, piece: &Piece) -> Option<u32> {
    match piece.actor {
        Some(Actor::Transfer(t)) if piece.kind == PieceKind::Queued => Some(asking.index.transfers.get(t).queue),
        _ => None,
    }
}

/// A line for a piece, or for all that was spent behind one transfer after the other of a queue.
fn run_text(asking: &Asking<'_>, run: &[Piece]) -> String {
    let (Some(latest), Some(first)) = (run.first(), run.last()) else { return String::new() };
    let took = length(first.start, latest.end);
    let mut text = asking.piece_text(latest);
    if let (Some(Actor::Transfer(t)), true) = (latest.actor, run.len() > 1) {
        text = format!(
            "queued behind {} transfers of {}, the last a {}",
            run.len(),
            asking.queue_name(t),
            asking.name(Actor::Transfer(t))
        );
    }
    let (kind, basis) = (latest.kind.name(), latest.basis.name());
    format!("{:>10} {took:>8} ns  {kind:<9} {basis:<8}  {}\n", first.start, escape(&text))
}

/// The events that a piece is known by: what was at work, what it held back, and the change of a semaphore.
fn evidence(asking: &Asking<'_>, piece: &Piece) -> Vec<EventRef> {
    let mut found: Vec<EventRef> = Vec::new();
    let actors = [piece.actor, piece.cause.and_then(|c| c.actor), piece.held];
    found.extend(actors.into_iter().flatten().map(|a| asking.event(a)));
    if let Some(How::Semaphore { condition, core, update: Some(update) }) = piece.cause.map(|c| c.how)
        && let Some(track) = asking.index.sync(core, condition.sync)
        && let Some(event) = track.event(update as usize)
        && let Some(table) = asking.store.table_index("SemaphoreUpdate")
    {
        found.push(EventRef { table, event });
    }
    let mut seen = Vec::new();
    found.retain(|event| {
        !seen.contains(event) && {
            seen.push(*event);
            true
        }
    });
    found
}

fn piece_json(asking: &Asking<'_>, piece: &Piece) -> Value {
    let evidence = evidence(asking, piece);
    let id = |event: &EventRef| {
        // Their ids name the semaphore, so their rows are named.
        let table = asking.store.table_of(*event);
        match table.name.as_str() {
            "SemaphoreUpdate" => i128::from(table.rows[event.event as usize]),
            _ => asking.store.id_of(*event),
        }
    };
    let names: Vec<String> = evidence.iter().map(|e| format!("{}:{}", asking.store.table_of(*e).name, id(e))).collect();
    json!({
        "kind": piece.kind.name(),
        "event": piece.actor.map(|a| actor_json(asking, a)),
        "start_ns": piece.start,
        "end_ns": piece.end,
        "duration_ns": length(piece.start, piece.end),
        "basis": piece.basis.name(),
        "evidence": evidence.iter().map(|e| id_json(id(e))).collect::<Vec<_>>(),
        "evidence_events": names,
        "blamed": asking.blamed_text(&asking.blamed(piece)),
        "text": asking.piece_text(piece),
    })
}

fn causes_json(asking: &Asking<'_>, actor: Actor) -> Value {
    let choices = asking.choices(actor).into_iter().enumerate();
    let entries = choices.map(|(i, choice)| {
        json!({
            "bound": i == 0,
            "how": asking.how_text(&choice.cause.how),
            "event": choice.actor.map(|a| actor_json(asking, a)),
            "through": choice.through.map(|a| actor_json(asking, a)),
            "satisfied_ns": choice.cause.satisfied,
            "slack_ns": choice.slack,
            "basis": choice.cause.basis.name(),
        })
    });
    entries.collect()
}

fn life_json(asking: &Asking<'_>, life: &Life) -> Value {
    let instruction = |e: u32| actor_json(asking, Actor::Instruction(e));
    let behind = life.behind.map(
        |(t, ns, basis)| json!({"event": actor_json(asking, Actor::Transfer(t)), "ns": ns, "basis": basis.name()}),
    );
    json!({
        "issued_ns": life.issued.map(|(_, at)| at),
        "issued_by": life.issued.map(|(e, _)| instruction(e)),
        "ready_ns": life.ready,
        "queued_behind": behind,
        "started_ns": life.started,
        "ended_ns": life.ended,
        "completed_ns": life.completed,
        "woke": life.woke.iter().map(|(e, at)| json!({"event": instruction(*e), "start_ns": at})).collect::<Vec<_>>(),
        "bytes": life.bytes,
        "bytes_per_second": life.rate,
        "best_bytes_per_second": life.best,
        "peak_bytes_per_second": life.peak,
    })
}

fn life_text(asking: &Asking<'_>, life: &Life, out: &mut String) {
    let name = |e: u32| escape(&asking.name(Actor::Instruction(e))).into_owned();
    match life.issued {
        Some((e, at)) => drop(writeln!(out, "  issued     {at:>10} ns  by {}", name(e))),
        None => drop(writeln!(out, "  issued     not recorded: {}", crate::query::index::RECORD_DGE)),
    }
    if let Some((t, ns, basis)) = life.behind {
        let behind = escape(&asking.name(Actor::Transfer(t))).into_owned();
        let _ = writeln!(out, "  queued     {ns:>10} ns  behind {behind} ({})", basis.name());
    }
    let _ = writeln!(out, "  started    {:>10} ns", life.started);
    let rate = life.rate.map_or(String::new(), |r| format!(", {}", crate::model::format::format_rate(r)));
    let bytes = crate::model::format::format_bytes(life.bytes);
    let _ = writeln!(out, "  ended      {:>10} ns  {bytes}{rate}", life.ended);
    if let Some(peak) = life.peak.zip(life.rate).map(|(peak, rate)| 100.0 * rate / peak) {
        let _ = writeln!(out, "             {peak:.1} % of what the DMA engines move together");
    }
    match life.completed {
        Some(at) => drop(writeln!(out, "  completed  {at:>10} ns  as its semaphore says")),
        None => drop(writeln!(out, "  completed  not recorded")),
    }
    for (e, at) in life.woke.iter().take(4) {
        let _ = writeln!(out, "  woke       {at:>10} ns  {}", name(*e));
    }
}
