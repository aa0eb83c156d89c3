//! What the run would take if an event, an opcode or a layer took a given share of its time: the same causes are
//! replayed with other durations.
//!
//! Every start follows its causes by what is usual for its engine, opcode and kind of cause, not by what it took this
//! time; so the replay of the unchanged run misses the recorded one by a little, and by how much says how far to trust
//! the estimate.

use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::causes::{Actor, Asking, Cause, How, TOLERANCE};
use crate::model::{Nanos, length};
use crate::store::LabelKind;

/// What is to take another share of its time.
#[derive(Clone, Debug, PartialEq)]
pub enum Changed {
    /// One event.
    Event(Actor),
    /// All instructions of an opcode, or all transfers on a queue.
    Name(String),
    /// All instructions of a layer or operator.
    Layer(String),
}

/// An estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// From the first start to the last end, as recorded, in nanoseconds.
    pub recorded: u64,
    /// The same with the causes replayed and nothing changed.
    pub replayed: u64,
    /// The same with the change.
    pub changed: u64,
    /// What the run would take: the recorded time, scaled as the replay was by the change.
    pub estimate: u64,
    /// By which share of the recorded time the unchanged replay misses it; negative where it is shorter.
    pub error: f64,
    /// Number of events that the change applies to.
    pub events: usize,
    /// Their time as recorded, in nanoseconds.
    pub time: u64,
}

/// What is usual after a kind of cause: by engine or queue, opcode and kind.
type Usual = FxHashMap<(u32, u32, u8), u64>;

/// The usual length of an opcode on an engine.
type Lengths = FxHashMap<(u32, u32), u64>;

/// Times of a replay, by instruction and by transfer.
struct Times {
    instructions: Vec<(Nanos, Nanos)>,
    transfers: Vec<(Nanos, Nanos)>,
    others: FxHashMap<Actor, (Nanos, Nanos)>,
}

impl Times {
    fn of(&self, actor: Actor) -> Option<(Nanos, Nanos)> {
        match actor {
            Actor::Instruction(e) => self.instructions.get(e as usize).copied(),
            Actor::Transfer(t) => self.transfers.get(t as usize).copied(),
            Actor::Other(_) => self.others.get(&actor).copied(),
        }
    }
}

fn kind_of(how: &How) -> u8 {
    match how {
        How::Order => 0,
        How::Issue => 1,
        How::Occupied => 2,
        How::Semaphore { .. } => 3,
        How::Dependency(_) => 4,
        How::Trigger => 5,
        How::Queued => 6,
    }
}

impl Asking<'_> {
    /// What the run would take if `what` took `share` of its time (0.5: half). `None` where nothing ran, nothing is meant,
    /// or it was cancelled. Takes some microseconds per event: call it off the UI thread.
    #[must_use]
    pub fn what_if(&self, what: &Changed, share: f64, cancel: &AtomicBool) -> Option<Estimate> {
        let share = if share.is_finite() { share.clamp(0.0, 1_000.0) } else { 1.0 };
        let order = self.in_order();
        let picked: Vec<Actor> = order.iter().copied().filter(|a| self.is_meant(*a, what)).collect();
        if picked.is_empty() {
            return None;
        }
        let usual = self.usual_lags(&order, cancel)?;
        let lengths = self.usual_lengths();
        let factors: FxHashMap<Actor, f64> = picked.iter().map(|a| (*a, share)).collect();
        // What a capture holds of before and after the execution takes part, but is not what the run took.
        let whole = self.store.whole();
        let inside = |(start, end): (Nanos, Nanos)| start <= whole.end && end >= whole.start;
        let measured: Vec<Actor> = order.iter().copied().filter(|a| inside(self.span(*a))).collect();
        let recorded = extent(measured.iter().map(|a| self.span(*a)))?;
        let replay = |factors: &FxHashMap<Actor, f64>| {
            let times = self.replay(&order, (&usual, &lengths), factors, cancel)?;
            extent(measured.iter().filter_map(|a| times.of(*a)))
        };
        let (replayed, changed) = (replay(&FxHashMap::default())?, replay(&factors)?);
        let scale = changed as f64 / replayed.max(1) as f64;
        Some(Estimate {
            recorded,
            replayed,
            changed,
            estimate: (recorded as f64 * scale).round() as u64,
            error: (replayed as f64 - recorded as f64) / recorded.max(1) as f64,
            events: picked.len(),
            time: picked.iter().map(|a| self.span(*a)).fold(0, |sum, (a, b)| sum.saturating_add(length(a, b))),
        })
    }

    /// All instructions and transfers in order of start, causes before what they cause.
    fn in_order(&self) -> Vec<Actor> {
        let instructions = (0..self.events.len() as u32).map(Actor::Instruction);
        let transfers = (0..self.index.transfers.list.len() as u32).map(Actor::Transfer);
        let collectives = self.index.collectives.list.iter().map(|c| Actor::Other(c.event));
        let mut order: Vec<Actor> = instructions.chain(transfers).chain(collectives).collect();
        // A wait is over after what it waited for has begun.
        let over = |a: Actor| if self.passes(a) { self.span(a).1 } else { self.span(a).0 };
        // At a barrier, the last to arrive comes first.
        order.sort_by_key(|a| (over(*a), !self.passes(*a), std::cmp::Reverse(self.span(*a).0), *a));
        order
    }

    fn is_meant(&self, actor: Actor, what: &Changed) -> bool {
        match (what, actor) {
            (Changed::Event(event), _) => *event == actor,
            (_, a) if self.passes(a) => false,
            (Changed::Name(name), Actor::Instruction(e)) => self.events.event_name(e) == name,
            (Changed::Name(name), Actor::Transfer(t)) => self.index.transfers.queue_of(t).name == *name,
            (Changed::Layer(layer), Actor::Instruction(e)) => self.events.text(LabelKind::Operator, e) == layer,
            _ => false,
        }
    }

    fn class_of(&self, actor: Actor, how: &How) -> (u32, u32, u8) {
        match actor {
            Actor::Instruction(e) => {
                let (engine, opcode) = self.opcode_of(e);
                (engine, opcode, kind_of(how))
            }
            Actor::Transfer(t) => (u32::MAX, self.index.transfers.get(t).queue, kind_of(how)),
            Actor::Other(_) => (u32::MAX, u32::MAX, kind_of(how)),
        }
    }

    /// The median of what passes from the last cause to the start, by class.
    fn usual_lags(&self, order: &[Actor], cancel: &AtomicBool) -> Option<Usual> {
        let mut lags: FxHashMap<(u32, u32, u8), Vec<u32>> = FxHashMap::default();
        for (i, actor) in order.iter().enumerate() {
            if i % 4_096 == 0 && cancel.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(cause) = self.causes(*actor).binding() {
                let lag = length(cause.satisfied, self.span(*actor).0).min(u64::from(u32::MAX)) as u32;
                lags.entry(self.class_of(*actor, &cause.how)).or_default().push(lag);
            }
        }
        let median = |mut lags: Vec<u32>| {
            let middle = lags.len() / 2;
            u64::from(*lags.select_nth_unstable(middle).1)
        };
        Some(lags.into_iter().map(|(class, lags)| (class, median(lags))).collect())
    }

    /// The median length of instructions, by engine and opcode.
    fn usual_lengths(&self) -> Lengths {
        let mut all: FxHashMap<(u32, u32), Vec<u64>> = FxHashMap::default();
        for e in 0..self.events.len() as u32 {
            let key = self.opcode_of(e);
            all.entry(key).or_default().push(length(self.events.start(e), self.events.end(e)));
        }
        let median = |mut lengths: Vec<u64>| {
            let middle = lengths.len() / 2;
            *lengths.select_nth_unstable(middle).1
        };
        all.into_iter().map(|(key, lengths)| (key, median(lengths))).collect()
    }

    /// An engine and an opcode.
    fn opcode_of(&self, e: u32) -> (u32, u32) {
        let opcode = self.events.label(LabelKind::Name).map_or(0, |l| l.key(e as usize));
        (self.index.stream_of(e).first, opcode)
    }

    fn usual_length(&self, actor: Actor, lengths: &Lengths) -> u64 {
        let Actor::Instruction(e) = actor else { return u64::MAX };
        lengths.get(&self.opcode_of(e)).copied().unwrap_or(u64::MAX)
    }

    /// The instruction ahead on its engine, where an instruction takes far longer than is usual for it and
    /// ends just when that one does: engines complete in order.
    fn ended_with(&self, actor: Actor, lengths: &Lengths) -> Option<u32> {
        let Actor::Instruction(e) = actor else { return None };
        let (start, end) = (self.events.start(e), self.events.end(e));
        let ahead = e.checked_sub(1).filter(|&b| b >= self.index.stream_of(e).first)?;
        let until = self.events.end(ahead);
        if length(start, end) < self.usual_length(actor, lengths).saturating_mul(2) {
            return None;
        }
        (until > start && until <= end && length(until, end) <= TOLERANCE).then_some(ahead)
    }

    /// When everything starts and ends with the `factors` on how long some of it takes.
    fn replay(
        &self,
        order: &[Actor],
        (usual, lengths): (&Usual, &Lengths),
        factors: &FxHashMap<Actor, f64>,
        cancel: &AtomicBool,
    ) -> Option<Times> {
        let mut times = Times {
            instructions: (0..self.events.len() as u32).map(|e| (self.events.start(e), self.events.end(e))).collect(),
            transfers: self.index.transfers.list.iter().map(|t| (t.start, t.end)).collect(),
            others: FxHashMap::default(),
        };
        for (i, &actor) in order.iter().enumerate() {
            if i % 4_096 == 0 && cancel.load(Ordering::Relaxed) {
                return None;
            }
            let (start, end) = self.span(actor);
            let causes = self.causes(actor);
            let moved = causes.causes.iter().map(|c| (self.moved(actor, c, &times), c)).max_by_key(|(at, _)| *at);
            let start_now = match moved {
                Some((at, cause)) => {
                    let lag = usual.get(&self.class_of(actor, &cause.how)).copied();
                    // Where this was not the cause at the time, what was usual for the one that was.
                    let lag = lag.unwrap_or_else(|| causes.binding().map_or(0, |b| length(b.satisfied, start)));
                    at.saturating_add_unsigned(lag)
                }
                None => start,
            };
            let duration = match actor {
                Actor::Instruction(e) if self.passes(actor) => self.wait_now(e, start_now, &times),
                _ => {
                    let scale = |ns: u64| (ns as f64 * factors.get(&actor).copied().unwrap_or(1.0)).round() as u64;
                    match self.ended_with(actor, lengths) {
                        // It was over when the one ahead of it was, and not before.
                        Some(ahead) => {
                            let (was, now) = (self.events.end(ahead), times.instructions[ahead as usize].1);
                            let own = scale(length(start, end).min(self.usual_length(actor, lengths)));
                            length(start_now, now.saturating_add(end.saturating_sub(was))).max(own)
                        }
                        None => scale(length(start, end)),
                    }
                }
            };
            let now = (start_now, start_now.saturating_add_unsigned(duration));
            match actor {
                Actor::Instruction(e) => times.instructions[e as usize] = now,
                Actor::Transfer(t) => times.transfers[t as usize] = now,
                Actor::Other(_) => drop(times.others.insert(actor, now)),
            }
        }
        Some(times)
    }

    /// How long a wait takes when it starts at `start_now`: until what let it go, and as long after that as recorded.
    fn wait_now(&self, e: u32, start_now: Nanos, times: &Times) -> u64 {
        let (start, end) = (self.events.start(e), self.events.end(e));
        let causes = self.release(e, end);
        let let_go = causes.binding().filter(|c| c.satisfied > start);
        match let_go {
            Some(cause) => {
                let after = length(cause.satisfied, end);
                let now = self.moved(Actor::Instruction(e), cause, times).max(start_now);
                length(start_now, now).saturating_add(after)
            }
            None => length(start, end),
        }
    }

    /// When something outside changes a semaphore in a replay: it follows what the device did last, as it did then.
    fn moved_outside(&self, satisfied: Nanos, times: &Times) -> Nanos {
        let Some((last, now)) = self.last_at_work(satisfied).and_then(|a| Some((a, times.of(a)?))) else {
            return satisfied;
        };
        let (start, end) = self.span(last);
        let (then, now) = if end <= satisfied { (end, now.1) } else { (start, now.0) };
        now.saturating_add(satisfied.saturating_sub(then))
    }

    /// When a cause is satisfied in a replay.
    fn moved(&self, held: Actor, cause: &Cause, times: &Times) -> Nanos {
        let Some((actor, now)) = cause.actor.and_then(|a| Some((a, times.of(a)?))) else {
            return self.moved_outside(cause.satisfied, times);
        };
        let (start, end) = self.span(actor);
        let shifted = |from: Nanos, to: Nanos| to.saturating_add(cause.satisfied.saturating_sub(from));
        match cause.how {
            How::Semaphore { .. } if self.arrives(&cause.how, actor) => shifted(start, now.0),
            How::Order | How::Semaphore { .. } => shifted(end, now.1),
            How::Dependency(_) if cause.satisfied == start && end > start => now.0,
            How::Dependency(_) => shifted(end, now.1),
            How::Issue | How::Trigger => shifted(start, now.0),
            How::Occupied => shifted(end, now.1).max(now.0),
            How::Queued => {
                // Its rings come free in proportion to how long it takes.
                let part = length(start, self.span(held).0) as f64 / length(start, end).max(1) as f64;
                let ahead = part * length(now.0, now.1) as f64;
                now.0.saturating_add_unsigned(ahead.round() as u64)
            }
        }
    }
}

/// From the least start to the greatest end.
fn extent(spans: impl Iterator<Item = (Nanos, Nanos)>) -> Option<u64> {
    let whole = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    Some(length(whole.0, whole.1))
}
