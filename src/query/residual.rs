//! What passes between the last cause and the start it bound, where that is more than an engine takes to notice.
//!
//! Measured on seven real captures: 23 ns from a semaphore's change to the start that waited for it, 40 to 150 ns from
//! one instruction to the next. What takes longer is of few kinds.

use super::causes::{Actor, Asking, Causes, How};
use super::sync::Condition;
use crate::model::{Engine, length};

/// What passes from a cause to the start it bound is ordinary up to so many nanoseconds.
pub const ORDINARY: u64 = 300;
/// Instructions of the sequencer keep it busy for less than this after they end.
const FIXED: u64 = 3_000;
/// Descriptors of one transfer are generated within this.
const DESCRIPTORS: u64 = 5_000;

/// Why a start came later than its last cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Residual {
    /// It did not, by more than is ordinary.
    Ordinary,
    /// The engine was still taking in the data of the instruction ahead.
    Occupied,
    /// The engine generated the descriptors of a transfer itself.
    Descriptors,
    /// It waited for something of which it is not recorded when it happened.
    Unrecorded(Condition),
    /// The instruction ahead costs the sequencer a fixed time.
    Fixed,
    /// A transfer's descriptors were fetched and its queue came to it.
    Launch,
    /// None of these: nothing was issued, or what was waited for is not recorded.
    Unexplained,
}

impl Residual {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Residual::Ordinary => "dispatch",
            Residual::Occupied => "the engine was still taking in data",
            Residual::Descriptors => "generating descriptors",
            Residual::Unrecorded(_) => "waiting for a change that is not recorded",
            Residual::Fixed => "fixed cost of the instruction ahead",
            Residual::Launch => "fetching descriptors",
            Residual::Unexplained => "nothing issued",
        }
    }
}

impl Asking<'_> {
    /// Why `actor` started (or, where it only waits, went on) later than the last of its `causes` by `lag` nanoseconds.
    #[must_use]
    pub fn residual(&self, actor: Actor, causes: &Causes, lag: u64) -> Residual {
        if lag <= ORDINARY {
            return Residual::Ordinary;
        }
        let e = match actor {
            Actor::Instruction(e) => e,
            Actor::Transfer(_) | Actor::Other(_) => return Residual::Launch,
        };
        if let Some(condition) = causes.unrecorded.first() {
            return Residual::Unrecorded(*condition);
        }
        let opcode = |e: u32| self.events.event_name(e);
        let is_dma = |e: u32| opcode(e).starts_with("DMA") || opcode(e).starts_with("PSEUDO_DMA");
        if is_dma(e) && self.index.stream_of(e).engine == Some(Engine::GpSimd) && lag <= DESCRIPTORS {
            return Residual::Descriptors;
        }
        let binding = causes.binding();
        if binding.is_some_and(|c| matches!(c.how, How::Occupied)) {
            return Residual::Occupied;
        }
        let ahead = binding.and_then(|c| match (c.how, c.actor) {
            (How::Order | How::Issue | How::Dependency(_), Some(Actor::Instruction(b))) => Some(b),
            _ => None,
        });
        let sequencer = |e: u32| crate::model::opcode::is_sequencer(opcode(e));
        let running = ahead.is_some_and(|b| self.events.end(b) > self.events.start(e));
        match ahead {
            Some(_) if lag > FIXED => Residual::Unexplained,
            Some(b) if sequencer(b) || sequencer(e) => Residual::Fixed,
            Some(_) if running => Residual::Occupied,
            _ => Residual::Unexplained,
        }
    }

    /// Why the start of `actor` came later than its last cause, and by how much; `None` where nothing was recorded to
    /// cause it.
    #[must_use]
    pub fn start_residual(&self, actor: Actor) -> Option<(u64, Residual)> {
        let causes = self.causes(actor);
        let lag = length(causes.binding()?.satisfied, self.span(actor).0);
        Some((lag, self.residual(actor, &causes, lag)))
    }
}
