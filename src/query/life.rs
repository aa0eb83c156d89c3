//! The life of a transfer: issued, queued behind what, started, ended, its consumer woken.

use super::causes::{Actor, Asking, Basis, How};
use super::chain::{Piece, PieceKind};
use super::residual::Residual;
use crate::model::{Nanos, end_of, length};

/// A transfer's life. Times that are not recorded are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Life {
    /// The instruction that issued it, with its start.
    pub issued: Option<(u32, Nanos)>,
    /// When it could have started with nothing in the way: its queue's least time after the issue.
    pub ready: Option<Nanos>,
    /// The transfer it was queued behind, for how long, and how that is known.
    pub behind: Option<(u32, u64, Basis)>,
    /// Start of its first packet.
    pub started: Nanos,
    /// End of its last packet.
    pub ended: Nanos,
    /// When its semaphore said that it was complete.
    pub completed: Option<Nanos>,
    /// The instructions that it woke, with their starts.
    pub woke: Vec<(u32, Nanos)>,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes per second from its first packet to its last; `None` where it took no time.
    pub rate: Option<f64>,
    /// Bytes per second that the core's DMA engines can move together, as Metadata says.
    pub peak: Option<f64>,
    /// The greatest rate of a transfer of at least its size on the same queue, in bytes per second.
    pub best: Option<f64>,
}

impl Life {
    /// The stages from the issue to the first consumer's start, first to last; they lie end to end.
    #[must_use]
    pub fn stages(&self, transfer: Actor) -> Vec<Piece> {
        let mut stages = Vec::new();
        let mut at = self.issued.map_or(self.started, |(_, start)| start.min(self.started));
        let mut push = |kind, until: Nanos, actor: Option<Actor>, basis| {
            if until > at {
                let held = Some(transfer);
                let (cause, residual) = (None, Residual::Ordinary);
                stages.push(Piece { kind, start: at, end: until, actor, held, cause, residual, basis });
                at = until;
            }
        };
        let issuer = self.issued.map(|(e, _)| Actor::Instruction(e));
        let own = Some(transfer);
        match self.behind {
            Some((other, queued, basis)) => {
                let queued_from = self.started.saturating_sub_unsigned(queued);
                push(PieceKind::Dispatch, queued_from, issuer, Basis::Derived);
                push(PieceKind::Queued, self.started, Some(Actor::Transfer(other)), basis);
            }
            None => push(PieceKind::Dispatch, self.started, issuer, Basis::Derived),
        }
        push(PieceKind::Transfer, self.ended, own, Basis::Recorded);
        if let Some(completed) = self.completed {
            push(PieceKind::Semaphore, completed, own, Basis::Recorded);
        }
        if let Some((first, start)) = self.woke.first() {
            push(PieceKind::Dispatch, *start, Some(Actor::Instruction(*first)), Basis::Derived);
        }
        stages
    }
}

impl Asking<'_> {
    /// The life of a transfer. Panics when there is no such transfer.
    #[must_use]
    pub fn life(&self, t: u32) -> Life {
        let transfers = &self.index.transfers;
        let transfer = transfers.get(t);
        let queue = transfers.queue_of(t);
        let issued = transfer.issuer.map(|e| (e, self.events.start(e)));
        let ready = issued.map(|(_, at)| end_of(at, queue.launch).min(transfer.start));
        let causes = self.causes(Actor::Transfer(t));
        let ahead = causes.causes.iter().find(|c| c.how == How::Queued).and_then(|c| Some((c.actor?, c.basis)));
        let waited = length(ready.unwrap_or(transfer.start), transfer.start);
        let behind = match (ahead, ready) {
            (Some((Actor::Transfer(other), basis)), _) => Some((other, waited, basis)),
            (_, Some(ready)) => {
                transfers.in_the_way(t, ready, transfer.start).map(|(other, _)| (other, waited, Basis::Inferred))
            }
            _ => None,
        };
        let change = self.changes_by(Actor::Transfer(t)).first().copied();
        let completed = change.and_then(|(key, i)| Some(self.index.syncs.get(&key)?.time(i)));
        let waiters = change.map_or_else(Vec::new, |(key, i)| self.met_by(key, i));
        let rate = |bytes: u64, start, end| match length(start, end) {
            0 => None,
            time => Some(bytes as f64 * 1e9 / time as f64),
        };
        let best = queue.order.iter().map(|&o| transfers.get(o)).filter(|o| o.bytes >= transfer.bytes);
        let best = best
            .filter_map(|o| rate(o.bytes, o.start, o.end))
            .fold(None, |b: Option<f64>, r| Some(b.map_or(r, |b| b.max(r))));
        Life {
            issued,
            ready,
            behind: behind.filter(|(_, waited, _)| *waited > 0),
            started: transfer.start,
            ended: transfer.end,
            completed,
            woke: waiters.into_iter().map(|e| (e, self.events.start(e))).collect(),
            bytes: transfer.bytes,
            rate: rate(transfer.bytes, transfer.start, transfer.end),
            peak: self.store.number("Metadata", "dma_ddr_bandwidth").filter(|v| *v > 0.0),
            best,
        }
    }
}
