//! What an engine's idle time is to be blamed on: every idle nanosecond has one cause, and shares of any window add up.

use std::ops::Range;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::banks;
use super::causes::{Actor, Asking, How};
use super::chain::{Piece, PieceKind};
use super::gaps::{self, Gap};
use super::index::{SAME_BANK, Stream};
use super::residual::Residual;
use super::semaphores::SyncKey;
use crate::model::{Nanos, Window, length};
use crate::store::Lane;

/// Something that idle time is blamed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blamed {
    /// An engine worked on what was waited for: its position in [`super::index::CauseIndex::streams`].
    Engine(u32),
    /// A queue moved what was waited for, or others were ahead on it: its position in
    /// [`super::transfers::Transfers::queues`].
    Queue(u32),
    /// Something else took place, a collective operation for one: a table of the store and the group there.
    Group(u16, u32),
    /// A PSUM bank was still in use.
    Bank(Option<i64>, u8),
    /// A semaphore's change took its time to be seen.
    Semaphore(SyncKey),
    /// A condition of which it is not recorded when it was met.
    Unrecorded(SyncKey),
    /// Getting an instruction or a transfer under way.
    Dispatch,
    /// Nothing was issued, or nothing is recorded.
    Nothing,
}

/// A stretch of idle time with what it is blamed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it begins.
    pub start: Nanos,
    /// When it ends.
    pub end: Nanos,
    /// Position in [`Blame::blamed`].
    pub blamed: u16,
}

impl Span {
    /// The part of it that lies in `window`, in nanoseconds.
    fn inside(&self, window: Window) -> u64 {
        length(self.start.max(window.start), self.end.min(window.end))
    }
}

/// Spans that are summed up together, at least; as many as there are causes, so that the sums take no more room than they.
const BLOCK: usize = 128;

/// The idle time of a track.
#[derive(Clone, Debug, Default)]
pub struct Blame {
    /// What is blamed.
    pub blamed: Vec<Blamed>,
    /// The same in words; not yet safe for a terminal.
    pub texts: Vec<String>,
    /// All idle time, in order, without gaps or overlaps within an idle stretch.
    spans: Vec<Span>,
    /// Spans in a block.
    block: usize,
    /// Where each block begins.
    starts: Vec<Nanos>,
    /// For each block, and for what lies behind all: the nanoseconds before it, for each of `blamed`.
    before: Vec<u64>,
}

/// What the idle time of a window comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Position in [`Blame::blamed`].
    pub blamed: u16,
    /// Nanoseconds.
    pub ns: u64,
    /// Share of all idle time in the window: 0 to 1.
    pub share: f64,
}

impl Blame {
    /// The idle time of `lane` in `window`, explained. Takes time in proportion to its gaps: call it off the UI thread.
    #[must_use]
    pub fn new(asking: &Asking<'_>, lane: Lane<'_>, window: Window) -> Blame {
        Blame::of_gaps(asking, lane, window, 0)
    }

    /// The same for the gaps of at least `least` nanoseconds alone.
    #[must_use]
    pub fn of_gaps(asking: &Asking<'_>, lane: Lane<'_>, window: Window, least: u64) -> Blame {
        let all: Vec<Gap> = gaps::of_at_least(lane, asking.store.whole(), window, least);
        let parts: Vec<Blame> = all
            .par_chunks(4_096)
            .map(|gaps| {
                let (mut part, mut known) = (Blame::default(), FxHashMap::default());
                gaps.iter().for_each(|gap| part.add(asking, gap, &mut known));
                part
            })
            .collect();
        let (mut blame, mut known) = (Blame::default(), FxHashMap::default());
        blame.spans.reserve_exact(parts.iter().map(|part| part.spans.len()).sum());
        for part in parts {
            let places: Vec<u16> = part.blamed.into_iter().map(|blamed| blame.place(blamed, &mut known)).collect();
            let spans = part.spans.into_iter();
            blame.spans.extend(spans.map(|span| Span { blamed: places[usize::from(span.blamed)], ..span }));
        }
        let texts = blame.blamed.iter().map(|blamed| asking.blamed_text(blamed)).collect();
        Blame::of(blame.blamed, texts, blame.spans)
    }

    /// Idle time that is blamed on `blamed`, in order.
    #[must_use]
    pub fn of(blamed: Vec<Blamed>, texts: Vec<String>, spans: Vec<Span>) -> Blame {
        let (mut before, mut sums, mut starts) = (Vec::new(), vec![0u64; blamed.len()], Vec::new());
        let block = BLOCK.max(blamed.len());
        for spans in spans.chunks(block) {
            before.extend_from_slice(&sums);
            starts.extend(spans.first().map(|span| span.start));
            spans.iter().for_each(|span| sums[usize::from(span.blamed)] += length(span.start, span.end));
        }
        before.extend(sums);
        Blame { blamed, texts, spans, block, starts, before }
    }

    /// All idle time, in order, without gaps or overlaps within an idle stretch.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    fn add(&mut self, asking: &Asking<'_>, gap: &Gap, known: &mut FxHashMap<Blamed, u16>) {
        let chain = asking.gap_chain(gap);
        for piece in chain.pieces.iter().rev() {
            let blamed = self.place(asking.blamed(piece), known);
            match self.spans.last_mut() {
                Some(last) if last.end == piece.start && last.blamed == blamed => last.end = piece.end,
                _ => self.spans.push(Span { start: piece.start, end: piece.end, blamed }),
            }
        }
    }

    /// The position of a cause, which is new or known.
    fn place(&mut self, blamed: Blamed, known: &mut FxHashMap<Blamed, u16>) -> u16 {
        let next = u16::try_from(self.blamed.len()).unwrap_or(u16::MAX);
        *known.entry(blamed).or_insert_with_key(|blamed| {
            self.blamed.push(*blamed);
            next
        })
    }

    /// Positions of the spans that overlap `window`.
    fn within(&self, window: Window) -> Range<usize> {
        // Few bytes tell the block; spans follow each other, so that ends are in order as starts are.
        let in_block = |block: usize, before: &dyn Fn(&Span) -> bool| {
            let first = block.saturating_sub(1) * self.block;
            let spans = &self.spans[first..(block * self.block).min(self.spans.len())];
            first + spans.partition_point(before)
        };
        let from = in_block(self.starts.partition_point(|s| *s <= window.start), &|s| s.end <= window.start);
        let to = in_block(self.starts.partition_point(|s| *s < window.end), &|s| s.start < window.end);
        from..to.max(from)
    }

    /// Hands the spans of `window` to `each`, one by one or, where there are many, as sums of each cause.
    fn visit(&self, window: Window, mut each: impl FnMut(usize, u64)) {
        let Range { start, end } = self.within(window);
        let mut one_by_one = |range: Range<usize>| {
            self.spans[range].iter().for_each(|span| each(usize::from(span.blamed), span.inside(window)));
        };
        // Only the first and the last may reach out of the window.
        let (first, last) = ((start + 1).div_ceil(self.block.max(1)), end.saturating_sub(1) / self.block.max(1));
        if last <= first {
            return one_by_one(start..end);
        }
        one_by_one(start..first * self.block);
        one_by_one(last * self.block..end);
        let causes = self.blamed.len();
        for cause in 0..causes {
            each(cause, self.before[last * causes + cause] - self.before[first * causes + cause]);
        }
    }

    /// Nanoseconds of `window` that are blamed on each of [`Blame::blamed`].
    fn sums(&self, window: Window) -> Vec<u64> {
        let mut sums = vec![0u64; self.blamed.len()];
        self.visit(window, |cause, ns| sums[cause] += ns);
        sums
    }

    /// What the idle time of `window` is blamed on, the most first; the shares add up to 1 where there is any.
    #[must_use]
    pub fn shares(&self, window: Window) -> Vec<Share> {
        let sums = self.sums(window);
        let total: u64 = sums.iter().sum();
        let mut shares: Vec<Share> = (0..)
            .zip(sums)
            .filter(|(_, ns)| *ns > 0)
            .map(|(blamed, ns)| Share { blamed, ns, share: ns as f64 / total as f64 })
            .collect();
        shares.sort_by(|a, b| b.ns.cmp(&a.ns).then(a.blamed.cmp(&b.blamed)));
        shares
    }

    /// What most of the idle time of a column is blamed on, by its position in [`Blame::blamed`]; `None` where the track
    /// works all the time.
    #[must_use]
    pub fn main(&self, cell: Window) -> Option<u16> {
        if let [span] = self.spans[self.within(cell)] {
            return (span.inside(cell) > 0).then_some(span.blamed);
        }
        let sums = (0..).zip(self.sums(cell)).filter(|(_, ns)| *ns > 0);
        sums.max_by_key(|(blamed, ns)| (*ns, std::cmp::Reverse(*blamed))).map(|(blamed, _)| blamed)
    }

    /// Nanoseconds of a window that are blamed on something, by its position in [`Blame::blamed`].
    #[must_use]
    pub fn part(&self, window: Window, blamed: u16) -> u64 {
        let mut sum = 0;
        self.visit(window, |cause, ns| sum += if cause == usize::from(blamed) { ns } else { 0 });
        sum
    }

    /// What holds the track back in most of the idle time of a column, as [`Blame::main`]; `None` where it works, or
    /// nothing was issued.
    #[must_use]
    pub fn held(&self, cell: Window) -> Option<u16> {
        self.main(cell).filter(|&at| self.blamed.get(usize::from(at)) != Some(&Blamed::Nothing))
    }
}

impl Asking<'_> {
    /// What a piece of idle time is blamed on.
    #[must_use]
    pub fn blamed(&self, piece: &Piece) -> Blamed {
        let queue = |t: u32| Blamed::Queue(self.index.transfers.get(t).queue);
        let engine = |e: u32| Blamed::Engine(self.index.stream_number(e) as u32);
        match (piece.kind, piece.actor) {
            (PieceKind::Idle, _) | (PieceKind::Compute | PieceKind::Transfer | PieceKind::Queued, None) => {
                Blamed::Nothing
            }
            (PieceKind::Compute | PieceKind::Transfer | PieceKind::Queued, Some(Actor::Other(other))) => {
                let group = self.store.table_of(other).group_number(other.event);
                group.map_or(Blamed::Nothing, |group| Blamed::Group(other.table, group as u32))
            }
            (PieceKind::Compute, Some(Actor::Instruction(e))) => match self.bank_between(piece) {
                Some(bank) => Blamed::Bank(self.index.stream_of(e).core, bank),
                None => engine(e),
            },
            (PieceKind::Compute | PieceKind::Transfer | PieceKind::Queued, Some(Actor::Transfer(t))) => queue(t),
            (PieceKind::Transfer | PieceKind::Queued, Some(Actor::Instruction(e))) => engine(e),
            (PieceKind::Semaphore, held) => {
                let core = held.and_then(|a| self.core(a));
                match (piece.residual, piece.cause.map(|c| c.how)) {
                    (Residual::Unrecorded(condition), _) => Blamed::Unrecorded(SyncKey { core, sync: condition.sync }),
                    (_, Some(How::Semaphore { condition, core, .. })) => {
                        Blamed::Semaphore(SyncKey { core, sync: condition.sync })
                    }
                    _ => Blamed::Dispatch,
                }
            }
            (PieceKind::Dispatch, _) => Blamed::Dispatch,
        }
    }

    /// The PSUM bank that links what is at work in `piece` with what it held back, where nothing else does.
    fn bank_between(&self, piece: &Piece) -> Option<u8> {
        let (Some(Actor::Instruction(a)), Some(Actor::Instruction(b))) = (piece.actor, piece.held) else {
            return None;
        };
        let (first, second) = (self.index.operands.spec(a).banks, self.index.operands.spec(b).banks);
        let shared = first.all() & second.all();
        if shared == 0 || self.index.stream_of(a).first == self.index.stream_of(b).first {
            return None;
        }
        let linked = match &self.store.graph {
            Some(graph) if self.index.bank_uses.is_empty() => {
                let kinds = self.kinds_between(graph, a, b);
                let is = |wanted: &str| kinds.iter().any(|k| graph.kinds[usize::from(*k)] == wanted);
                is(SAME_BANK) && !is("FLOW_DEPENDENCE")
            }
            // A read that the writer waits for; the other way round data flow.
            _ => banks::linked(&first, &second) != 0 && first.writes & second.reads == 0,
        };
        linked.then(|| shared.trailing_zeros() as u8)
    }

    /// The kinds of the edges between two instructions.
    fn kinds_between(&self, graph: &crate::store::Graph, from: u32, to: u32) -> Vec<u8> {
        let node = |e: u32| graph.node(&self.events.name, self.events.rows[e as usize]);
        let Some((from, to)) = node(from).zip(node(to)) else { return Vec::new() };
        graph.predecessors(to).take(4_096).filter(|(n, _)| *n == from).map(|(_, kind)| kind).collect()
    }

    /// The engine of an instruction, with the core where there are several: `Vector(nc0)`.
    #[must_use]
    pub fn engine_name(&self, e: u32) -> String {
        self.stream_name(self.index.stream_of(e))
    }

    fn stream_name(&self, stream: &Stream) -> String {
        let name = self.events.groups.get(stream.group as usize).map_or("", |g| g.key.name.as_str());
        self.with_core(name, stream.core)
    }

    /// The queue of a transfer, with the core where there are several.
    #[must_use]
    pub fn queue_name(&self, t: u32) -> String {
        let queue = self.index.transfers.queue_of(t);
        self.with_core(&queue.name, queue.core)
    }

    /// A name with the core where there are several: `Vector(nc0)`.
    #[must_use]
    pub fn with_core(&self, name: &str, core: Option<i64>) -> String {
        match core.filter(|_| self.index.several_cores) {
            Some(core) => format!("{name}(nc{core})"),
            None => name.to_owned(),
        }
    }

    /// What is blamed, in words.
    #[must_use]
    pub fn blamed_text(&self, blamed: &Blamed) -> String {
        match blamed {
            Blamed::Engine(stream) => {
                self.index.streams.get(*stream as usize).map_or_else(String::new, |s| self.stream_name(s))
            }
            Blamed::Queue(queue) => {
                let queue = self.index.transfers.queues.get(*queue as usize);
                queue.map_or_else(String::new, |q| self.with_core(&q.name, q.core))
            }
            Blamed::Group(table, group) => {
                let group = self.store.events.get(usize::from(*table)).and_then(|t| t.groups.get(*group as usize));
                group.map_or_else(String::new, |g| self.with_core(&g.key.name, g.key.core))
            }
            Blamed::Bank(core, bank) => self.with_core(&format!("PSUM bank {bank}"), *core),
            Blamed::Semaphore(key) => format!("latency of {}", self.index.sync_name(key.core, key.sync)),
            Blamed::Unrecorded(key) => {
                format!("{}, whose change is not recorded", self.index.sync_name(key.core, key.sync))
            }
            Blamed::Dispatch => "dispatch".to_owned(),
            Blamed::Nothing => "nothing issued".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_of_any_window_are_those_of_its_spans(
            lengths in prop::collection::vec((0i64..4, 1i64..9, 0u16..5), 0..2_000),
            from in -10i64..10_000,
            size in 0i64..12_000,
        ) {
            let mut time = 0;
            let spans: Vec<Span> = lengths.iter().map(|&(gap, length, blamed)| {
                let start = time + gap;
                time = start + length;
                Span { start, end: time, blamed }
            }).collect();
            let blamed: Vec<Blamed> = (0..5).map(Blamed::Engine).collect();
            let texts = (0..5).map(|i| i.to_string()).collect();
            let blame = Blame::of(blamed, texts, spans.clone());
            let window = Window::new(from, from + size);
            let inside = |s: &Span| (s.end.min(window.end) - s.start.max(window.start)).max(0) as u64;
            let sum = |k: u16| spans.iter().filter(|s| s.blamed == k).map(inside).sum::<u64>();
            let sums: Vec<u64> = (0..5).map(sum).collect();
            prop_assert_eq!(&blame.sums(window), &sums);
            for (k, sum) in (0..).zip(&sums) {
                prop_assert_eq!(blame.part(window, k), *sum);
            }
            let most = sums.iter().max().filter(|ns| **ns > 0);
            prop_assert_eq!(blame.main(window), most.and_then(|most| sums.iter().position(|s| s == most)).map(|k| k as u16));
            let shares = blame.shares(window);
            prop_assert_eq!(shares.iter().map(|s| s.ns).sum::<u64>(), sums.iter().sum::<u64>());
            prop_assert!(shares.windows(2).all(|pair| pair[0].ns >= pair[1].ns));
        }
    }
}
