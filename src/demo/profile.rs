//! A program and its executions, with the identifiers that tie the tables together.

use crate::demo::chip;
use crate::demo::program::{Engine, Instr, Node, Program, Span, Transfer, Wait};
use crate::demo::rng::scattered_id;
use crate::demo::schedule::{self, Run, Throttle};
use crate::demo::workload;

/// First instruction of the profile, ns from its origin.
const FIRST: i64 = 4_300;
/// Pause between the executions: the host fetches the result and sends the next request.
const PAUSE: i64 = 31_700;
/// Throttled stretch of the second execution, from its begin.
const THROTTLED: (i64, i64) = (150_000, 196_000);
const COMPILER_PC: i64 = 113;

/// Everything that the tables are written from.
#[derive(Debug)]
pub(super) struct Profile {
    pub program: Program,
    pub runs: Vec<Run>,
    /// Instructions core by core, engine by engine, in program order; and each one's pc.
    pub order: Vec<usize>,
    pub pc: Vec<i64>,
}

impl Profile {
    /// The demo: two executions of one program.
    pub(super) fn new() -> Self {
        let program = workload::program();
        let first = schedule::run(&program, 0, FIRST, None);
        let begin = first.end + PAUSE;
        let throttle = Throttle { start: begin + THROTTLED.0, end: begin + THROTTLED.1, k: 1, n: 2 };
        let second = schedule::run(&program, 1, begin, Some(throttle));
        let order = program.streams.concat();
        let mut pc = vec![0; program.instrs.len()];
        for stream in &program.streams {
            for (n, index) in stream.iter().enumerate() {
                pc[*index] = n as i64;
            }
        }
        Self { program, runs: vec![first, second], order, pc }
    }

    /// Every execution's instructions, in row order.
    pub(super) fn instrs(&self) -> impl Iterator<Item = (&Run, usize, &Instr)> + Clone {
        self.runs.iter().flat_map(move |run| self.order.iter().map(move |i| (run, *i, &self.program.instrs[*i])))
    }

    /// Every execution's transfers.
    pub(super) fn transfers(&self) -> impl Iterator<Item = (&Run, usize, &Transfer)> + Clone {
        self.runs.iter().flat_map(move |run| self.program.transfers.iter().enumerate().map(move |(n, t)| (run, n, t)))
    }

    pub(super) fn instr_id(&self, run: &Run, index: usize) -> i64 {
        scattered_id(1, (run.index * self.program.instrs.len() + index) as u64, 62)
    }

    pub(super) fn transfer_id(&self, run: &Run, index: usize) -> i64 {
        scattered_id(2, (run.index * self.program.transfers.len() + index) as u64, 40)
    }

    pub(super) fn packet_id(&self, run: &Run, index: usize) -> i64 {
        scattered_id(3, (run.index * run.packets.len() + index) as u64, 62)
    }

    pub(super) fn node_id(&self, run: &Run, node: Node) -> i64 {
        match node {
            Node::Instr(i) => self.instr_id(run, i),
            Node::Dma(t) => self.transfer_id(run, t),
            Node::Collective(c) => self.instr_id(run, self.program.collectives[c].trigger),
        }
    }

    pub(super) fn first(&self) -> i64 {
        self.runs.first().map_or(0, |r| r.begin)
    }

    pub(super) fn last(&self) -> i64 {
        self.runs.last().map_or(0, |r| r.end)
    }

    /// The compiler's program counter.
    pub(super) fn compiler_pc(&self, index: usize) -> i64 {
        self.pc[index] + COMPILER_PC
    }
}

/// `TensorMatrix` for matrix multiplications, else the engine's name.
pub(super) fn track(instr: &Instr) -> &'static str {
    if instr.is_matmul() { "TensorMatrix" } else { instr.engine.name() }
}

/// The operands as executed: condition, update, and the rest.
pub(super) fn operands(instr: &Instr) -> String {
    let condition = instr.wait.filter(|_| instr.handshake.is_none());
    let wait = condition.map(|w| format!("{}>={}", chip::semaphore_name(w.semaphore), w.value));
    let update = instr.increment.map(|_| format!("{}++@complete", chip::semaphore_name(own_semaphore(instr))));
    join([wait, update, Some(instr.body.clone())])
}

/// The operands as compiled, in which semaphores have numbers only.
pub(super) fn compiler_operands(instr: &Instr) -> String {
    let number = |semaphore: usize| semaphore % chip::SEMAPHORES;
    let wait = instr.wait.map(|Wait { semaphore, value, .. }| format!("$S[{}]>={value}", number(semaphore)));
    let update = instr.increment.map(|_| format!("$S[{}]++@complete", number(own_semaphore(instr))));
    join([wait, update, Some(instr.compiler_body.clone().unwrap_or_else(|| instr.body.clone()))])
}

fn join(parts: [Option<String>; 3]) -> String {
    parts.into_iter().flatten().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The semaphore that this instruction increments if it increments any.
pub(super) fn own_semaphore(instr: &Instr) -> usize {
    instr.core * chip::SEMAPHORES + chip::engine_semaphore(instr.engine)
}

/// Whether an engine's name is wanted as the compiler's `trigger_engine`.
pub(super) fn compiler_engine(engine: Engine) -> &'static str {
    match engine {
        Engine::Tensor => "PE",
        Engine::Vector => "DVE",
        Engine::Scalar => "Activation",
        Engine::GpSimd => "Pool",
        Engine::Sync => "SP",
    }
}

/// Stretches of time, each with the positions of its members in the list that it was made of.
pub(super) type Cover = Vec<(Span, Vec<usize>)>;

/// Merges touching or overlapping `[start, end)` spans; each with the positions of its members.
pub(super) fn merge(spans: &[Span]) -> Cover {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|i| spans[*i]);
    let mut merged: Cover = Vec::new();
    for i in order {
        let (start, end) = spans[i];
        match merged.last_mut() {
            Some((span, members)) if start <= span.1 => {
                span.1 = span.1.max(end);
                members.push(i);
            }
            _ => merged.push(((start, end), vec![i])),
        }
    }
    merged
}

/// Time covered by at least one span.
pub(super) fn covered(spans: &[Span]) -> i64 {
    merge(spans).iter().map(|((start, end), _)| end - start).sum()
}
