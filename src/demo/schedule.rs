//! Running the program: a small event simulation that gives every instruction and packet its times.
//!
//! Each engine issues its stream in order. Its next instruction starts once the engine can issue, what must have
//! ended has ended, and its semaphore condition holds. Transfers arrive at the DMA engines some time after their
//! trigger, and every DMA engine works off its packets first come, first served. Events are taken in order of time,
//! so nothing ever waits for something that has not been asked for yet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::demo::chip::{self, Descriptors};
use crate::demo::program::{Engine, Instr, Node, Program, Span, Transfer};
use crate::demo::rng::Rng;

/// A stretch of time in which power limits let the Tensor Engine run only `k` of `n` cycles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throttle {
    pub start: i64,
    pub end: i64,
    pub k: i64,
    pub n: i64,
}

/// One packet of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub transfer: usize,
    pub engine: usize,
    pub start: i64,
    pub end: i64,
}

/// The times of one execution of a program.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub index: usize,
    pub begin: i64,
    pub end: i64,
    /// `[start, end)` per instruction and per transfer.
    pub instrs: Vec<Span>,
    pub transfers: Vec<Span>,
    /// When the transfer's semaphore was updated.
    pub done: Vec<i64>,
    /// When each instruction could have been issued, had there been no condition.
    pub ready: Vec<i64>,
    /// Packets by transfer, in order.
    pub packets: Vec<Packet>,
    pub collectives: Vec<Span>,
    /// When all cores had arrived at each barrier.
    pub barriers: Vec<i64>,
    pub throttle: Option<Throttle>,
}

impl Run {
    pub(super) fn span(&self, node: Node) -> Span {
        match node {
            Node::Instr(i) => self.instrs[i],
            Node::Dma(t) => self.transfers[t],
            Node::Collective(c) => self.collectives[c],
        }
    }
}

const UNKNOWN: i64 = i64::MAX;

struct Simulation<'a> {
    program: &'a Program,
    rng: Rng,
    run: Run,
    heads: Vec<usize>,
    issue: Vec<i64>,
    /// When the systolic array takes the next multiplication, per core.
    array: [i64; chip::CORES],
    /// The last reported end per stream, and the last completion per queue of a core: both report in order.
    reported: Vec<i64>,
    completed: Vec<i64>,
    /// The last arrival per queue of a core: its ring is worked off in order.
    arrived: Vec<i64>,
    free: Vec<i64>,
    arrivals: BinaryHeap<Reverse<(i64, usize)>>,
    packets: Vec<Vec<Packet>>,
    /// Transfers of each step of each collective that are still under way, and when the last of them finished.
    steps: Vec<(usize, i64)>,
}

/// Runs the program once from time `begin`.
pub(super) fn run(program: &Program, index: usize, begin: i64, throttle: Option<Throttle>) -> Run {
    let (n, m) = (program.instrs.len(), program.transfers.len());
    let run = Run {
        index,
        begin,
        end: begin,
        instrs: vec![(UNKNOWN, UNKNOWN); n],
        transfers: vec![(UNKNOWN, UNKNOWN); m],
        done: vec![UNKNOWN; m],
        ready: vec![begin; n],
        packets: Vec::new(),
        collectives: vec![(UNKNOWN, UNKNOWN); program.collectives.len()],
        barriers: vec![UNKNOWN; program.barriers.len()],
        throttle,
    };
    let mut simulation = Simulation {
        program,
        rng: Rng::new(0xde40 + index as u64),
        run,
        heads: vec![0; chip::STREAMS],
        issue: (0..chip::STREAMS).map(|s| begin + chip::boot_delay(chip::ENGINES[s % chip::ENGINES.len()])).collect(),
        array: [begin; chip::CORES],
        reported: vec![begin; chip::STREAMS],
        completed: vec![begin; chip::CORES * chip::QUEUES.len()],
        arrived: vec![begin; chip::CORES * chip::QUEUES.len()],
        free: vec![begin; chip::CORES * chip::DMA_ENGINES],
        arrivals: BinaryHeap::new(),
        packets: vec![Vec::new(); m],
        steps: vec![(0, 0); program.collectives.len()],
    };
    simulation.work();
    let mut run = simulation.run;
    run.packets = simulation.packets.into_iter().flatten().collect();
    let ends = run.instrs.iter().chain(&run.transfers).chain(&run.collectives).map(|span| span.1);
    run.end = ends.chain(run.done.iter().copied()).max().unwrap_or(begin) + 40;
    run
}

impl Simulation<'_> {
    fn work(&mut self) {
        loop {
            let next = (0..chip::STREAMS).filter_map(|s| self.candidate(s).map(|t| (t, s))).min();
            let arrival = self.arrivals.peek().map(|Reverse(a)| *a);
            match (next, arrival) {
                (_, Some((at, transfer))) if next.is_none_or(|(t, _)| at <= t) => {
                    self.arrivals.pop();
                    self.arrive(transfer, at);
                }
                (Some((at, stream)), _) => self.execute(stream, at),
                (None, _) => break,
            }
        }
        debug_assert!(self.run.instrs.iter().all(|(_, end)| *end != UNKNOWN), "the program runs to its end");
    }

    fn head(&self, stream: usize) -> Option<usize> {
        self.program.streams[stream].get(self.heads[stream]).copied()
    }

    /// When the next instruction of a stream starts (a barrier: when it is left), if that is known yet.
    fn candidate(&self, stream: usize) -> Option<i64> {
        let index = self.head(stream)?;
        let instr = &self.program.instrs[index];
        if let Some(barrier) = instr.barrier {
            return self.barrier_left(barrier);
        }
        let mut at = self.issue[stream];
        if instr.is_matmul() {
            at = at.max(self.array[instr.core]);
        }
        for before in &instr.after {
            at = at.max(self.run.instrs[*before].1);
        }
        if let Some(wait) = instr.wait {
            let met = self.happened(wait.on)?;
            // Dispatch takes a moment, a slightly different one for every instruction.
            at = at.max(met + chip::SEMAPHORE_LATENCY + (index % 7) as i64);
        }
        Some(at)
    }

    fn happened(&self, node: Node) -> Option<i64> {
        let at = match node {
            Node::Instr(i) => self.run.instrs[i].1,
            Node::Dma(t) => self.run.done[t],
            Node::Collective(c) => self.run.collectives[c].1,
        };
        (at != UNKNOWN).then_some(at)
    }

    fn barrier_left(&self, barrier: usize) -> Option<i64> {
        let mut last = 0;
        for member in &self.program.barriers[barrier] {
            let stream = self.program.instrs[*member].stream();
            if self.head(stream) != Some(*member) {
                return None;
            }
            last = last.max(self.issue[stream]);
        }
        Some(last + 64)
    }

    fn execute(&mut self, stream: usize, at: i64) {
        let Some(index) = self.head(stream) else { return };
        let program = self.program;
        let instr = &program.instrs[index];
        if let Some(barrier) = instr.barrier {
            self.run.barriers[barrier] = at - 30;
            for member in &program.barriers[barrier] {
                let stream = program.instrs[*member].stream();
                let arrived = self.issue[stream];
                self.finish(*member, stream, (arrived, arrived), at, at);
            }
            return;
        }
        let (duration, interval, beside) = self.stretched(instr, at);
        let ready = self.issue[stream];
        let start = if instr.is_wait() && spans_its_wait(instr) { ready } else { at };
        let end = if instr.is_wait() { at + duration } else { (at + duration).max(self.reported[stream] + 1) };
        let next = match instr.opcode {
            "MATMUL" => {
                self.array[instr.core] = at + interval;
                at + beside // the next weights are loaded while this runs
            }
            _ => at + interval,
        };
        self.finish(index, stream, (start, ready), end, next);
        if let Some(transfer) = instr.transfer {
            let latency = 40 * self.rng.below(4);
            let arrival = match chip::QUEUES[program.transfers[transfer].queue].descriptors {
                Descriptors::Hardware => start + 380 + latency, // generated while the instruction runs
                Descriptors::Software => end + 1700 + latency,
                _ => end + 1250 + latency,
            };
            let last = &mut self.arrived[queue_of(&program.transfers[transfer])];
            *last = arrival.max(*last);
            self.arrivals.push(Reverse((*last, transfer)));
        }
        if let Some(collective) = instr.collective {
            let start = end + 1900 + self.rng.below(500);
            self.run.collectives[collective].0 = start;
            self.begin_step(collective, 0, start + 400);
        }
    }

    fn finish(&mut self, index: usize, stream: usize, (start, ready): (i64, i64), end: i64, next: i64) {
        self.run.instrs[index] = (start, end);
        self.run.ready[index] = ready;
        self.issue[stream] = next;
        self.heads[stream] += 1;
        if self.program.instrs[index].increment.is_some() {
            self.reported[stream] = end;
        }
    }

    /// Duration, issue interval, and how soon the next weights are loaded beside a multiplication: with clock noise,
    /// and with throttling on the Tensor Engine.
    fn stretched(&mut self, instr: &Instr, at: i64) -> (i64, i64, i64) {
        let noise = match instr.engine {
            Engine::Tensor => self.rng.below(3),
            _ => self.rng.below(1 + instr.duration as u64 / 24),
        };
        let (duration, interval) = (instr.duration + noise, instr.interval + noise);
        match self.run.throttle {
            Some(t) if instr.engine == Engine::Tensor && !instr.is_wait() && (t.start..t.end).contains(&at) => {
                (duration * t.n / t.k, interval * t.n / t.k, 24 * t.n / t.k)
            }
            _ => (duration, interval, 24),
        }
    }

    // ------------------------------------------------------------ transfers
    fn arrive(&mut self, transfer: usize, at: i64) {
        let t = &self.program.transfers[transfer];
        // Each packet pays a fixed cost; below 512 bytes memory reads and modifies whole lines besides.
        let cost = 60 + t.packet_bytes / chip::PACKET_BYTES_PER_NS + if t.packet_bytes < 512 { 190 } else { 0 };
        let first = self.rng.below(chip::DMA_ENGINES as u64) as usize;
        let mut span = (i64::MAX, 0);
        for n in 0..t.packets as usize {
            let engine = (first + n) % chip::DMA_ENGINES;
            let slot = t.core * chip::DMA_ENGINES + engine;
            let start = self.free[slot].max(at);
            let end = start + cost + self.rng.below(1 + cost as u64 / 20);
            self.free[slot] = end;
            span = (span.0.min(start), span.1.max(end));
            self.packets[transfer].push(Packet { transfer, engine, start, end });
        }
        self.run.transfers[transfer] = span;
        let queue = queue_of(t);
        let done = (span.1 + chip::DMA_COMPLETION).max(self.completed[queue] + 1);
        self.completed[queue] = done;
        self.run.done[transfer] = done;
        if let Some((collective, step)) = t.step {
            self.step_done(collective, step, done);
        }
    }

    fn begin_step(&mut self, collective: usize, step: usize, at: i64) {
        let transfers = &self.program.collectives[collective].steps[step];
        self.steps[collective] = (transfers.len(), at);
        for transfer in transfers {
            self.arrivals.push(Reverse((at, *transfer)));
        }
    }

    fn step_done(&mut self, collective: usize, step: usize, done: i64) {
        let (left, last) = &mut self.steps[collective];
        *left -= 1;
        *last = (*last).max(done);
        let (left, last) = (*left, *last);
        if left > 0 {
            return;
        }
        if step + 1 < self.program.collectives[collective].steps.len() {
            // The ranks tell each other that their parts are there before the sums travel back.
            self.begin_step(collective, step + 1, last + 900);
        } else {
            self.run.collectives[collective].1 = last + 700;
        }
    }
}

/// Position of a transfer's queue among those of all cores.
fn queue_of(t: &Transfer) -> usize {
    t.core * chip::QUEUES.len() + t.queue
}

/// While the engines start, and on GpSimd, which polls in software, an EVENT_SEMAPHORE spans its wait; elsewhere it
/// runs once the condition holds, and the wait before it is blank, as in most of what real captures show.
pub(super) fn spans_its_wait(instr: &Instr) -> bool {
    instr.is_wait() && (instr.engine == Engine::GpSimd || instr.handshake.is_some())
}
