//! Causes, pieces and gaps in words. Names are as the profile has them: escape before showing.

use super::causes::{Actor, Asking, Basis, Cause, How};
use super::chain::{Piece, PieceKind, Root};
use super::residual::Residual;
use super::semaphores::SyncKey;
use super::sync::Condition;
use crate::model::format::format_bytes;
use crate::model::time::format_duration;
use crate::model::{Nanos, length};

/// An engine that issued nothing for longer than this before an instruction is worth a word.
const QUIET: u64 = 1_000;

/// Why something started when it did, on one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// What bound the start, waits looked through; `None` where that is not recorded.
    pub by: Option<Actor>,
    /// In words: `S[34] (qSyncDynamicHW)>=16 ← transfer on qSyncDynamicHW`.
    pub text: String,
    /// From when the cause was satisfied to the start, in nanoseconds.
    pub lag: u64,
    /// Why that took longer than is ordinary, where it did.
    pub residual: Residual,
    /// How it is known.
    pub basis: Basis,
}

impl Asking<'_> {
    /// A condition as the vendor writes it: `S[34] (qSyncDynamicHW)>=16`.
    #[must_use]
    pub fn condition_text(&self, core: Option<i64>, condition: &Condition) -> String {
        let plain = condition.to_string();
        let test = plain.split_once(']').map_or("", |(_, test)| test);
        format!("{}{test}", self.index.sync_name(core, condition.sync))
    }

    /// Why a cause holds something back: `S[34] (qSyncDynamicHW)>=16`, `engine order`, `flow`.
    #[must_use]
    pub fn how_text(&self, how: &How) -> String {
        match how {
            How::Order => "engine order".to_owned(),
            How::Issue => "issued after".to_owned(),
            How::Occupied => "engine occupied".to_owned(),
            How::Semaphore { condition, core, .. } => self.condition_text(*core, condition),
            How::Dependency(kind) => {
                let graph = self.store.graph.as_ref();
                let name = graph.and_then(|g| g.kinds.get(usize::from(*kind))).map_or("", String::as_str);
                super::dependencies::Kind::of_name(name, 0).text()
            }
            How::Trigger => "issued by".to_owned(),
            How::Queued => "queued behind".to_owned(),
        }
    }

    /// The line that says why `actor` started when it did.
    #[must_use]
    pub fn why(&self, actor: Actor) -> Why {
        let causes = self.causes(actor);
        let start = self.span(actor).0;
        if let Some(condition) = causes.unrecorded.first().filter(|_| causes.causes.is_empty()) {
            let text = format!("{}, which is not recorded", self.condition_text(self.core(actor), condition));
            let residual = Residual::Unrecorded(*condition);
            return Why { by: None, text, lag: 0, residual, basis: Basis::Inferred };
        }
        let Some(direct) = causes.binding().copied() else {
            let text = match actor {
                Actor::Instruction(_) => "first of its engine".to_owned(),
                _ => format!("what started it is not recorded: {}", super::index::RECORD_DGE),
            };
            return Why { by: None, text, lag: 0, residual: Residual::Ordinary, basis: Basis::Recorded };
        };
        let (cause, by) = match self.blocker(actor) {
            Some((cause, by)) => (cause, Some(by)),
            None => (self.outermost(actor).unwrap_or(direct), None),
        };
        let name = match (by, &cause.how) {
            (Some(by), _) => self.name(by),
            (None, How::Semaphore { .. }) => "changed from outside, or by what is not recorded".to_owned(),
            (None, _) => "nothing recorded".to_owned(),
        };
        let residual = self.residual(actor, &causes, length(direct.satisfied, start));
        Why {
            by,
            text: format!("{} ← {name}", self.how_text(&cause.how)),
            lag: length(cause.satisfied, start),
            residual,
            basis: cause.basis,
        }
    }

    /// The last cause that is known where the chain of waits leads to nothing that is recorded.
    fn outermost(&self, actor: Actor) -> Option<Cause> {
        let chain = self.chain(actor, Nanos::MIN, 64);
        chain.pieces.iter().rev().find_map(|p| p.cause)
    }

    /// A piece in words.
    #[must_use]
    pub fn piece_text(&self, piece: &Piece) -> String {
        let name = |actor: Option<Actor>| actor.map_or_else(|| "nothing recorded".to_owned(), |a| self.name(a));
        let semaphore = piece.cause.and_then(|c| match c.how {
            How::Semaphore { condition, core, .. } => Some((condition, core)),
            _ => None,
        });
        let mut text = match piece.kind {
            PieceKind::Compute => name(piece.actor),
            PieceKind::Transfer => self.transfer_text(piece.actor),
            PieceKind::Queued => format!("queued behind {}", name(piece.actor)),
            PieceKind::Idle => "nothing issued".to_owned(),
            PieceKind::Semaphore => match (piece.residual, semaphore) {
                (Residual::Unrecorded(condition), _) => {
                    let core = piece.held.and_then(|a| self.core(a));
                    let condition = self.condition_text(core, &condition);
                    format!("{} waited for {condition}, whose change is not recorded", name(piece.held))
                }
                (_, Some((condition, core))) => {
                    let condition = self.condition_text(core, &condition);
                    match piece.actor {
                        Some(by) => format!("{condition} met after {}", self.name(by)),
                        None => format!("{condition} met once all had arrived"),
                    }
                }
                _ => format!("after {}", name(piece.actor)),
            },
            PieceKind::Dispatch => self.dispatch_text(piece, semaphore),
        };
        if piece.kind == PieceKind::Dispatch && piece.residual != Residual::Ordinary {
            text += &format!(" ({})", piece.residual.text());
        }
        if piece.kind == PieceKind::Idle && piece.held.is_some() {
            text += &format!(", or what {} waited for is not recorded", name(piece.held));
        }
        if let Some(quiet) = self.quiet_text(piece) {
            text += &quiet;
        }
        text
    }

    fn dispatch_text(&self, piece: &Piece, semaphore: Option<(Condition, Option<i64>)>) -> String {
        let name = |actor: Option<Actor>| actor.map_or_else(|| "nothing recorded".to_owned(), |a| self.name(a));
        let how = piece.cause.map(|c| c.how);
        match (how, semaphore) {
            (_, Some((condition, core))) => {
                let condition = self.condition_text(core, &condition);
                let waits = piece.held.is_some_and(|a| self.passes(a));
                let verb = if waits { "let go by" } else { "started by" };
                format!("{} {verb} {condition}", name(piece.held))
            }
            (Some(How::Trigger), _) if piece.actor != piece.held => format!("issued by {}", name(piece.actor)),
            (Some(How::Trigger), _) => format!("{} under way", name(piece.held)),
            (Some(how), _) => {
                let (held, by) = (name(piece.held), name(piece.cause.and_then(|c| c.actor)));
                match how {
                    How::Order => format!("{held} after {by}"),
                    How::Issue => format!("{held} issued after {by}"),
                    How::Occupied => format!("{held} when {by} had been taken in"),
                    how => format!("{held} after {by} ({})", self.how_text(&how)),
                }
            }
            (None, _) => format!("issued by {}", name(piece.actor)),
        }
    }

    fn transfer_text(&self, actor: Option<Actor>) -> String {
        let (actor, t) = match actor {
            Some(actor @ Actor::Transfer(t)) => (actor, t),
            Some(other) => return self.name(other),
            None => return "a transfer".to_owned(),
        };
        let transfer = self.index.transfers.get(t);
        let time = length(transfer.start, transfer.end);
        let mut text = format!("{}, {}", self.name(actor), format_bytes(transfer.bytes));
        if let Some(tensor) = self.tensor(t) {
            text += &format!(" of {tensor}");
        }
        if time > 0 {
            text += &format!(" at {:.1} GB/s", transfer.bytes as f64 / time as f64);
        }
        text
    }

    /// That the engine had been quiet for long before the instruction that a piece is about.
    fn quiet_text(&self, piece: &Piece) -> Option<String> {
        let Some(Actor::Instruction(e)) = piece.held.filter(|a| piece.kind == PieceKind::Dispatch && !self.passes(*a))
        else {
            return None;
        };
        let stream = self.index.stream_of(e);
        let before = (stream.first..e).rev().take(64).find(|&b| !self.passes(Actor::Instruction(b)))?;
        let (end, start) = (self.events.end(before), self.events.start(e));
        (length(end, start) > QUIET)
            .then(|| format!("; {} had issued nothing since {} ns", self.engine_name(e), self.events.start(before)))
    }

    /// Why a chain ends where it does.
    #[must_use]
    pub fn root_text(&self, root: &Root) -> Option<String> {
        Some(match root {
            Root::Reached => return None,
            Root::Beginning(actor) => format!("{}: nothing is recorded before it", self.name(*actor)),
            Root::Outside(key) => {
                format!("{} was changed from outside, or by what is not recorded", self.key_text(*key))
            }
            Root::Unrecorded(condition) => {
                format!("what met {condition} is not recorded; a capture read from its NTFF has it")
            }
            Root::TooLong => "the chain goes on, but has more steps than are shown".to_owned(),
        })
    }

    /// A semaphore with its core where there are several.
    #[must_use]
    pub fn key_text(&self, key: SyncKey) -> String {
        self.with_core(&self.index.sync_name(key.core, key.sync), key.core)
    }

    /// A gap or range and its length, on one line.
    #[must_use]
    pub fn stretch_text(&self, track: &str, start: Nanos, end: Nanos) -> String {
        format!("{track}  {start} – {end} ns  {}", format_duration(length(start, end)))
    }
}
