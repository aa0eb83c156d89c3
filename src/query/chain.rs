//! The binding chain: from the start of an event back to its root, each piece of time with what it was spent on. The
//! pieces lie end to end, so they add up exactly.

use super::causes::{Actor, Asking, Basis, Cause, Causes, How};
use super::residual::Residual;
use super::semaphores::SyncKey;
use super::sync::Condition;
use crate::model::{Nanos, length};

/// Steps that a chain has at most, unless asked for more.
pub const MOST_STEPS: usize = 100_000;
/// Steps in a row that may take no time.
const MOST_INSTANT: usize = 64;

/// What a piece of time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PieceKind {
    /// An engine worked.
    Compute,
    /// Data moved.
    Transfer,
    /// A transfer was issued, but others were ahead of it.
    Queued,
    /// The condition was met, and the engine or queue took this long to act on it.
    Dispatch,
    /// The work was done, and its semaphore took this long to show it.
    Semaphore,
    /// Nothing was issued, or nothing that is recorded.
    Idle,
}

impl PieceKind {
    /// The word in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PieceKind::Compute => "compute",
            PieceKind::Transfer => "transfer",
            PieceKind::Queued => "queued",
            PieceKind::Dispatch => "dispatch",
            PieceKind::Semaphore => "semaphore",
            PieceKind::Idle => "idle",
        }
    }
}

/// A piece of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it was spent on.
    pub kind: PieceKind,
    /// When it begins.
    pub start: Nanos,
    /// When it ends: where the piece before it in the list begins.
    pub end: Nanos,
    /// What was at work, or ahead in the queue, or was being dispatched.
    pub actor: Option<Actor>,
    /// What it held back.
    pub held: Option<Actor>,
    /// The cause that this piece belongs to.
    pub cause: Option<Cause>,
    /// For what passed since the cause: why it took so long.
    pub residual: Residual,
    /// How it is known.
    pub basis: Basis,
}

/// Why a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// It reached the time asked for.
    Reached,
    /// The first instruction of an engine: nothing is recorded before it.
    Beginning(Actor),
    /// A semaphore was changed by something that is not recorded: the host, another core, or a lost record.
    Outside(SyncKey),
    /// A condition of which it is not recorded when it was met.
    Unrecorded(Condition),
    /// The chain has too many steps to be shown.
    TooLong,
}

/// A binding chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The pieces, the last in time first.
    pub pieces: Vec<Piece>,
    /// Where the first piece in time begins.
    pub from: Nanos,
    /// Why it begins there.
    pub root: Root,
    /// What was passed, from the subject back: no waits.
    pub actors: Vec<Actor>,
}

/// Where a chain stands.
#[derive(Clone, Copy)]
struct At {
    actor: Actor,
    /// Explained is what comes before this.
    time: Nanos,
    /// Whether a wait is to be let go rather than to start.
    release: bool,
}

impl Asking<'_> {
    /// The chain from the start of `actor` back to its root, or to `floor`.
    #[must_use]
    pub fn chain(&self, actor: Actor, floor: Nanos, most: usize) -> Chain {
        let start = self.span(actor).0;
        let mut chain = Chain { pieces: Vec::with_capacity(8), from: start, root: Root::Reached, actors: vec![actor] };
        let mut at = At { actor, time: start, release: false };
        let (mut steps, mut instant) = (0, 0);
        while at.time > floor {
            if steps == most || instant == MOST_INSTANT {
                chain.root = Root::TooLong;
                break;
            }
            match self.step(at, &mut chain) {
                Ok(next) => {
                    instant = if next.time < at.time { 0 } else { instant + 1 };
                    if next.actor != at.actor && !self.passes(next.actor) {
                        chain.actors.push(next.actor);
                    }
                    at = next;
                }
                Err(root) => {
                    chain.root = root;
                    break;
                }
            }
            steps += 1;
        }
        chain.clip(floor);
        chain
    }

    fn causes_at(&self, at: At) -> Causes {
        match at.actor {
            Actor::Instruction(e) if at.release => self.release(e, at.time),
            actor => self.causes(actor),
        }
    }

    /// One step back: adds what passed since the binding cause was satisfied, and what that cause did.
    fn step(&self, at: At, chain: &mut Chain) -> Result<At, Root> {
        let causes = self.causes_at(at);
        let Some(cause) = causes.causes.iter().find(|c| c.satisfied <= at.time).copied() else {
            return Err(causes.unrecorded.first().map_or(Root::Beginning(at.actor), |c| Root::Unrecorded(*c)));
        };
        let since = cause.satisfied;
        chain.push(self.lag(at, &causes, cause));
        let Some(actor) = cause.actor else {
            return Err(match cause.how {
                How::Semaphore { condition, core, .. } => Root::Outside(SyncKey { core, sync: condition.sync }),
                _ => Root::Beginning(at.actor),
            });
        };
        if self.passes(actor) {
            let next = self.through_wait(&cause, actor);
            chain.push(Piece {
                kind: PieceKind::Semaphore,
                start: next.time.min(since),
                end: since,
                actor: None,
                held: Some(at.actor),
                cause: Some(cause),
                residual: Residual::Ordinary,
                basis: cause.basis,
            });
            return Ok(next);
        }
        let (start, end) = self.span(actor);
        let (start, end) = (start.min(since), end.clamp(start.min(since), since));
        let piece = |kind, start, end| Piece {
            kind,
            start,
            end,
            actor: Some(actor),
            held: Some(at.actor),
            cause: Some(cause),
            residual: Residual::Ordinary,
            basis: cause.basis,
        };
        match (cause.how, actor) {
            (How::Trigger, _) => chain.push(piece(PieceKind::Dispatch, start, since)),
            (How::Queued, _) => chain.push(piece(PieceKind::Queued, start, since)),
            (_, Actor::Instruction(_)) => {
                chain.push(piece(PieceKind::Semaphore, end, since));
                chain.push(piece(PieceKind::Compute, start, end));
            }
            (_, Actor::Transfer(_) | Actor::Other(_)) => {
                chain.push(piece(PieceKind::Semaphore, end, since));
                chain.push(piece(PieceKind::Transfer, start, end));
            }
        }
        Ok(At { actor, time: start, release: false })
    }

    /// Where a chain goes on from an instruction that only waits: issued after it, from what let it start; at a barrier,
    /// from the arrival of the last one there; else from what let it go.
    fn through_wait(&self, cause: &Cause, actor: Actor) -> At {
        if self.arrives(&cause.how, actor) {
            return At { actor, time: self.span(actor).0.min(cause.satisfied), release: false };
        }
        At { actor, time: cause.satisfied, release: cause.how != How::Issue }
    }

    /// What passed between a cause and the start it bound.
    fn lag(&self, at: At, causes: &Causes, cause: Cause) -> Piece {
        let lag = length(cause.satisfied, at.time);
        let residual = self.residual(at.actor, causes, lag);
        let (mut kind, mut basis) = match residual {
            Residual::Unrecorded(_) => (PieceKind::Semaphore, Basis::Inferred),
            Residual::Unexplained => (PieceKind::Idle, Basis::Inferred),
            Residual::Occupied | Residual::Descriptors => (PieceKind::Dispatch, Basis::Inferred),
            _ => (PieceKind::Dispatch, cause.basis),
        };
        let mut actor = at.actor;
        if let (How::Trigger, Actor::Transfer(t)) = (cause.how, at.actor)
            && let Some((other, _)) = self.index.transfers.in_the_way(t, cause.satisfied, at.time)
        {
            // Queues share the DMA engines.
            (kind, basis, actor) = (PieceKind::Queued, Basis::Inferred, Actor::Transfer(other));
        }
        let (start, end) = (cause.satisfied, at.time);
        Piece { kind, start, end, actor: Some(actor), held: Some(at.actor), cause: Some(cause), residual, basis }
    }

    /// What bound the start of `actor`, waits looked through: the cause as it was found, and the actor that is the
    /// answer. `None` where nothing is recorded, or only a semaphore that something outside changed.
    #[must_use]
    pub fn blocker(&self, actor: Actor) -> Option<(Cause, Actor)> {
        let mut at = At { actor, time: self.span(actor).0, release: false };
        for _ in 0..MOST_INSTANT * 16 {
            let causes = self.causes_at(at);
            let cause = causes.causes.iter().find(|c| c.satisfied <= at.time).copied()?;
            let next = cause.actor?;
            if !self.passes(next) {
                return Some((cause, next));
            }
            at = self.through_wait(&cause, next);
        }
        None
    }
}

impl Chain {
    /// Adds a piece that takes time.
    pub(super) fn push(&mut self, piece: Piece) {
        if piece.start < piece.end {
            self.from = piece.start;
            self.pieces.push(piece);
        }
    }

    /// Leaves out what lies before `floor`.
    fn clip(&mut self, floor: Nanos) {
        while self.pieces.last().is_some_and(|p| p.end <= floor) {
            self.pieces.pop();
        }
        if let Some(last) = self.pieces.last_mut() {
            last.start = last.start.max(floor);
        }
        self.from = self.pieces.last().map_or(self.from.max(floor), |p| p.start);
    }

    /// Nanoseconds of all pieces together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.pieces.iter().map(|p| length(p.start, p.end)).sum()
    }
}
