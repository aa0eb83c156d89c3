//! What a delay reaches: everything that started because of an event, directly or through others; and the chain that
//! bounds the whole profile.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::causes::{Actor, Asking, Basis};
use super::chain::{Chain, MOST_STEPS, Piece, PieceKind, Root};
use super::residual::Residual;
use crate::model::{Nanos, length};
use crate::store::LabelKind;

/// Everything that started because of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// What it reached, by depth: entry 0 is what it unblocked itself.
    pub levels: Vec<Vec<Actor>>,
    /// Number of events by engine or queue, the most first.
    pub by_track: Vec<(String, usize)>,
    /// The latest end of them.
    pub until: Option<Nanos>,
    /// Whether there are more than were looked at.
    pub limited: bool,
}

impl Reach {
    /// Number of events that were reached.
    #[must_use]
    pub fn count(&self) -> usize {
        self.levels.iter().map(Vec::len).sum()
    }
}

/// What the time of a chain was spent on, by one criterion; the times add up to the chain.
pub type Totals = Vec<(String, u64)>;

/// The chain that bounds a profile, and what its time was spent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    /// The last event to end.
    pub last: Actor,
    /// The chain from its start to the root.
    pub chain: Chain,
    /// By engine or queue.
    pub by_track: Totals,
    /// By opcode; transfers by queue.
    pub by_opcode: Totals,
    /// By layer or operator.
    pub by_layer: Totals,
    /// By source line.
    pub by_line: Totals,
    /// By kind of piece.
    pub by_kind: Totals,
}

/// A criterion that time can be added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Engine or queue.
    Track,
    /// Opcode; transfers by queue.
    Opcode,
    /// Layer or operator.
    Layer,
    /// Source line.
    Line,
    /// Kind of piece.
    Kind,
}

impl Asking<'_> {
    /// All that started because of `actor`, to a depth, up to `most` events.
    #[must_use]
    pub fn reach(&self, actor: Actor, depth: usize, most: usize) -> Reach {
        let mut reach = Reach::default();
        let mut seen = FxHashSet::from_iter([actor]);
        let mut level = vec![actor];
        let mut tracks: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..depth {
            let mut next = Vec::new();
            for &from in &level {
                for other in self.unblocked(from) {
                    if seen.len() > most {
                        reach.limited = true;
                        break;
                    }
                    if seen.insert(other) {
                        next.push(other);
                    }
                }
            }
            if next.is_empty() {
                level.clear();
                break;
            }
            for &other in &next {
                *tracks.entry(self.track_name(other)).or_default() += 1;
                let end = self.span(other).1;
                reach.until = Some(reach.until.map_or(end, |u| u.max(end)));
            }
            reach.levels.push(next.clone());
            level = next;
        }
        reach.limited |= !level.is_empty() && level.iter().any(|a| !self.unblocked(*a).is_empty());
        reach.by_track = tracks.into_iter().collect();
        reach.by_track.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        reach
    }

    /// The engine or queue of an actor, with the core where there are several.
    #[must_use]
    pub fn track_name(&self, actor: Actor) -> String {
        match actor {
            Actor::Instruction(e) => self.engine_name(e),
            Actor::Transfer(t) => self.queue_name(t),
            Actor::Other(event) => {
                let group = self.store.table_of(event).group_of(event.event);
                group.map_or_else(String::new, |g| self.with_core(&g.key.name, g.key.core))
            }
        }
    }

    /// What the time of a chain was spent on, the most first. Time with nothing at work is listed as what it is.
    #[must_use]
    pub fn totals(&self, chain: &Chain, by: By) -> Totals {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for piece in &chain.pieces {
            let key = match (by, piece.actor) {
                (By::Kind, _) | (_, None) => piece.kind.name().to_owned(),
                _ if piece.kind == PieceKind::Idle => piece.kind.name().to_owned(),
                (By::Track, Some(actor)) => self.track_name(actor),
                (By::Opcode, Some(Actor::Instruction(e))) => self.events.event_name(e).to_owned(),
                (By::Layer, Some(Actor::Instruction(e))) => self.named(LabelKind::Operator, e, "no layer recorded"),
                (By::Line, Some(Actor::Instruction(e))) => self.named(LabelKind::SourceLine, e, "no line recorded"),
                (_, Some(actor)) => self.track_name(actor),
            };
            *sums.entry(key).or_default() += length(piece.start, piece.end);
        }
        let mut totals: Totals = sums.into_iter().collect();
        totals.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        totals
    }

    fn named(&self, kind: LabelKind, e: u32, none: &str) -> String {
        match self.events.text(kind, e) {
            "" => none.to_owned(),
            text => text.to_owned(),
        }
    }

    /// What was at work last before `until`: the instruction (not a wait) or transfer that ended last, or still runs
    /// then; of several that still run, the one that began first.
    #[must_use]
    pub fn last_at_work(&self, until: Nanos) -> Option<Actor> {
        // Ends are nearly in the order of starts, so this far back is far enough.
        const BACK: usize = 256;
        let mut best: Option<(Nanos, std::cmp::Reverse<Nanos>, Actor)> = None;
        let mut offer = |actor: Actor| {
            let (start, end) = self.span(actor);
            let key = (end.min(until), std::cmp::Reverse(start), actor);
            if start < until && best.is_none_or(|b| key > b) {
                best = Some(key);
            }
        };
        for stream in &self.index.streams {
            let count = (stream.end - stream.first) as usize;
            let before = partition(count, |i| self.events.start(stream.first + i as u32) < until);
            let near = (0..before).rev().take(BACK).map(|i| Actor::Instruction(stream.first + i as u32));
            near.filter(|a| !self.passes(*a)).for_each(&mut offer);
        }
        let transfers = &self.index.transfers;
        let before = transfers.list.partition_point(|t| t.start < until);
        (0..before).rev().take(BACK).for_each(|t| offer(Actor::Transfer(t as u32)));
        best.map(|(_, _, actor)| actor)
    }

    /// Where the time of `[from, to)` went: the work that was last before `to`, and its chain back to `from`. The pieces
    /// add up to the range.
    #[must_use]
    pub fn range_chain(&self, from: Nanos, to: Nanos) -> Chain {
        let mut chain = Chain { pieces: Vec::new(), from: to, root: Root::Reached, actors: Vec::new() };
        let idle = |start, end, basis| Piece {
            kind: PieceKind::Idle,
            start,
            end,
            actor: None,
            held: None,
            cause: None,
            residual: Residual::Unexplained,
            basis,
        };
        if let Some(last) = self.last_at_work(to) {
            let (start, end) = self.span(last);
            let end = end.min(to);
            let kind = if matches!(last, Actor::Transfer(_)) { PieceKind::Transfer } else { PieceKind::Compute };
            chain.push(idle(end.max(from), to, Basis::Recorded));
            chain.push(Piece { kind, actor: Some(last), ..idle(start.max(from), end, Basis::Recorded) });
            if start > from {
                let rest = self.chain(last, from, MOST_STEPS);
                chain.pieces.extend(rest.pieces);
                (chain.from, chain.root, chain.actors) = (rest.from, rest.root, rest.actors);
            }
        }
        if chain.from > from {
            chain.push(idle(from, chain.from, Basis::Inferred));
        }
        chain
    }

    /// The chain that bounds the whole profile, and what its time was spent on; `None` where nothing ran.
    #[must_use]
    pub fn critical_path(&self) -> Option<CriticalPath> {
        let whole = self.store.whole();
        let last = self.last_at_work(whole.end)?;
        let chain = self.range_chain(whole.start, whole.end);
        let by = |by| self.totals(&chain, by);
        Some(CriticalPath {
            last,
            by_track: by(By::Track),
            by_opcode: by(By::Opcode),
            by_layer: by(By::Layer),
            by_line: by(By::Line),
            by_kind: by(By::Kind),
            chain,
        })
    }
}

/// The first of `0..count` for which `before` does not hold, given that it holds up to some point.
pub(super) fn partition(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
