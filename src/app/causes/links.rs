//! What the selection waited for and what it unblocked, as the Dependencies pane lists it.

use crate::model::length;
use crate::query::causes::{Actor, Asking, How};
use crate::query::chain::{Piece, PieceKind};
use crate::query::dependencies::{Dependency, Kind};
use crate::query::emphasis::Emphasis;
use crate::query::gaps::Gap;
use crate::query::words::Why;

/// Pieces of a gap that Details list.
const MOST_PIECES: usize = 100;

/// Something that the selection is linked to.
#[derive(Clone, Debug)]
pub struct Link {
    /// What.
    pub actor: Actor,
    /// Why, in words: all kinds.
    pub kinds: String,
    /// From the end of the earlier to the start of the later in nanoseconds; negative where they overlap.
    pub gap: i64,
    /// Whether the earlier is what bound the start of the later.
    pub bound: bool,
    /// Whether the profile lists it; otherwise it follows from what is recorded.
    pub recorded: bool,
    /// How it stands out on the timeline.
    pub emphasis: Emphasis,
}

/// All that the selection is linked to.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// The event, or the instruction that ended the gap.
    pub actor: Option<Actor>,
    /// What it waited for, the last to end first, what bound it before all others.
    pub before: Vec<Link>,
    /// What waited for it, the first to start first.
    pub after: Vec<Link>,
    /// How many of each are left out.
    pub left_out: (usize, usize),
    /// Why it started when it did.
    pub why: Option<Why>,
    /// Of a gap, what it was spent on, the last in time first: kind, length and words.
    pub pieces: Vec<(PieceKind, String)>,
    /// By how much later it started than its engine alone would have let it, in nanoseconds.
    pub late: u64,
}

/// The links of an event.
#[must_use]
pub fn of_actor(asking: &Asking, actor: Actor) -> Links {
    let found = asking.neighbours(actor);
    let mut before: Vec<Link> = found.predecessors.iter().map(|d| link(asking, d, true)).collect();
    let mut after: Vec<Link> = found.successors.iter().map(|d| link(asking, d, false)).collect();
    let (start, end) = asking.span(actor);
    // What holds back is not always a dependency: the engine works in order.
    if let Some((cause, by)) = asking.blocker(actor)
        && before.iter().all(|l| l.actor != by)
    {
        before.push(Link {
            actor: by,
            kinds: asking.how_text(&cause.how),
            gap: start.saturating_sub(asking.span(by).1),
            bound: true,
            recorded: false,
            emphasis: Emphasis::Ordered,
        });
    }
    for other in asking.unblocked(actor) {
        if after.iter().all(|l| l.actor != other) {
            let how = asking.blocker(other).map_or(How::Order, |(cause, _)| cause.how);
            after.push(Link {
                actor: other,
                kinds: asking.how_text(&how),
                gap: asking.span(other).0.saturating_sub(end),
                bound: true,
                recorded: false,
                emphasis: Emphasis::Ordered,
            });
        }
    }
    before.sort_by_key(|l| !l.bound);
    after.sort_by_key(|l| !l.bound);
    Links {
        actor: Some(actor),
        before,
        after,
        left_out: found.left_out,
        why: Some(asking.why(actor)),
        pieces: Vec::new(),
        late: late(asking, actor),
    }
}

/// The first instruction of the engine to go on when a gap ended: what it waited for is what the gap waited for. The one
/// that ends a gap may only follow others of its engine that began within the gap.
#[must_use]
pub fn woken(asking: &Asking, gap: &Gap, next: Actor) -> Actor {
    let stream = |actor: Actor| match actor {
        Actor::Instruction(e) => Some(asking.index.stream_of(e).first),
        _ => None,
    };
    let mut at = next;
    for _ in 0..MOST_PIECES {
        match asking.blocker(at) {
            Some((_, by)) if stream(by) == stream(next) && (gap.start..gap.end).contains(&asking.span(by).0) => at = by,
            _ => break,
        }
    }
    at
}

/// The links of an idle gap: what the instruction that ended it waited for, and that instruction.
#[must_use]
pub fn of_gap(asking: &Asking, gap: &Gap) -> Links {
    let Some(next) = gap.next.map(Actor::Instruction) else { return Links::default() };
    let of_next = of_actor(asking, woken(asking, gap, next));
    let ended = Link {
        actor: next,
        kinds: "ended the gap".into(),
        gap: 0,
        bound: true,
        recorded: true,
        emphasis: Emphasis::Flow,
    };
    let chain = asking.gap_chain(gap);
    let words = |p: &Piece| {
        let time = crate::model::time::format_duration(length(p.start, p.end));
        (p.kind, format!("{time}  {}  ({})", asking.piece_text(p), p.basis.name()))
    };
    Links {
        after: vec![ended],
        left_out: (of_next.left_out.0, 0),
        pieces: chain.pieces.iter().take(MOST_PIECES).map(words).collect(),
        late: gap.length(),
        ..of_next
    }
}

fn link(asking: &Asking, found: &Dependency, before: bool) -> Link {
    let kinds: Vec<&Kind> = found.recorded.iter().map(|(kind, _)| kind).chain(&found.derived).collect();
    let mut words: Vec<String> = kinds.iter().map(|k| k.text()).collect();
    words.dedup();
    // The name that the profile gives an edge says what it is for.
    let names = found.recorded.iter().filter_map(|(kind, name)| name.as_deref().filter(|n| *n != kind.name()));
    words.extend(names.map(str::to_owned));
    let emphasis = kinds.iter().map(|k| emphasis(k, found.actor, before)).max().unwrap_or_default();
    let emphasis = if asking.passes(found.actor) { emphasis.min(Emphasis::Ordered) } else { emphasis };
    Link {
        actor: found.actor,
        kinds: words.join(", "),
        gap: found.gap,
        bound: found.bound,
        recorded: !found.recorded.is_empty(),
        emphasis,
    }
}

/// How a link stands out.
fn emphasis(kind: &Kind, other: Actor, before: bool) -> Emphasis {
    let transfer = matches!(other, Actor::Transfer(_));
    match kind {
        Kind::Flow => Emphasis::Flow,
        Kind::Anti => Emphasis::Anti,
        Kind::Output => Emphasis::Output,
        Kind::SameBank(_) => Emphasis::PsumBank,
        Kind::DmaTrigger if before && !transfer => Emphasis::DmaStarter,
        Kind::DmaTrigger | Kind::DmaWait(_) if transfer => Emphasis::Transfer,
        Kind::DmaTrigger | Kind::DmaWait(_) => Emphasis::Flow,
        Kind::Ordered | Kind::Semaphore(_) | Kind::Other(_) => Emphasis::Ordered,
    }
}

/// By how much later something started than its engine, or its issue, alone would have let it.
fn late(asking: &Asking, actor: Actor) -> u64 {
    let causes = asking.causes(actor);
    let own = |how: &How| matches!(how, How::Order | How::Issue | How::Occupied | How::Trigger);
    let ready = causes.causes.iter().filter(|c| own(&c.how)).map(|c| c.satisfied).max();
    ready.map_or(0, |ready| length(ready, asking.span(actor).0))
}

/// A length with its sign: `+28 ns`.
#[must_use]
pub fn signed(ns: i64) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    format!("{sign}{}", crate::model::time::format_duration(ns.unsigned_abs()))
}
