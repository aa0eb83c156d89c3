//! What runs: instructions, transfers, collectives, and what depends on what. No times yet.

use crate::demo::chip;
use crate::demo::ops::Site;

/// `[start, end)`, ns from the profile's origin.
pub(super) type Span = (i64, i64);

/// A compute engine of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Engine {
    Tensor,
    Vector,
    Scalar,
    GpSimd,
    Sync,
}

impl Engine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Engine::Tensor => "Tensor",
            Engine::Vector => "Vector",
            Engine::Scalar => "Scalar",
            Engine::GpSimd => "GpSimd",
            Engine::Sync => "Sync",
        }
    }

    /// The instruction stream of this engine on a core.
    pub(super) fn stream(self, core: usize) -> usize {
        core * chip::ENGINES.len() + self as usize
    }
}

/// Something that can be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    Instr(usize),
    Dma(usize),
    Collective(usize),
}

/// Kinds of dependency, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flow,
    Anti,
    Output,
    SameBank,
    /// From an instruction to the transfer that it starts; untyped in the Flow table.
    Trigger,
}

/// A semaphore condition: `semaphore >= value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// `core * SEMAPHORES + number`.
    pub semaphore: usize,
    /// What must have happened; for an engine's semaphore, replaced by the instruction that does the increment.
    pub on: Node,
    /// The value that the semaphore has then; filled in when the program is complete.
    pub value: i64,
}

/// A step of the runtime's bring-up, in which the engines pass a shared semaphore on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handshake {
    /// Raises the semaphore to this value when the engine's turn is over.
    PassOn(i64),
    /// Waits until all engines had their turn.
    Last,
}

/// Bytes moved by an instruction or transfer, by kind of place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub hbm_read: i64,
    pub hbm_write: i64,
    pub sbuf_read: i64,
    pub sbuf_write: i64,
    pub spill_save: i64,
    pub spill_reload: i64,
    pub psum_read: i64,
    pub psum_write: i64,
    pub psum_to_sbuf: i64,
    pub input: i64,
    pub output: i64,
    pub weight: i64,
}

/// What an instruction does, apart from when.
#[derive(Clone, Debug)]
pub(super) struct Instr {
    pub core: usize,
    pub engine: Engine,
    pub opcode: &'static str,
    /// Absent for what the runtime adds around the program.
    pub compiler_opcode: Option<&'static str>,
    pub body: String,
    /// The compiler's operands where they are not the run-time ones.
    pub compiler_body: Option<String>,
    pub symbols: Option<String>,
    pub site: Option<Site>,
    /// Number of the compiler's ("Penguin") statement, from 1.
    pub statement: Option<i64>,
    /// Number of the back end's instruction, from 1, and its rank within the statement.
    pub bir: Option<(i64, i64)>,
    pub wait: Option<Wait>,
    /// Value of the engine's semaphore after this instruction, where it increments it.
    pub increment: Option<i64>,
    /// A step of the bring-up; its condition is written in `body`.
    pub handshake: Option<Handshake>,
    /// Earlier instructions of the same engine that must have ended.
    pub after: Vec<usize>,
    pub duration: i64,
    /// Until the engine can issue the next instruction.
    pub interval: i64,
    pub transfer: Option<usize>,
    pub collective: Option<usize>,
    pub barrier: Option<usize>,
    pub chain: Option<String>,
    pub bank_read: Option<usize>,
    pub bank_write: Option<usize>,
    /// A matrix multiplication that adds to the accumulation already in its bank.
    pub continues: bool,
    pub transpose: bool,
    /// Counts as work of the model, not of moving data about.
    pub useful: bool,
    pub traffic: Traffic,
    pub flops: i64,
    pub elements: i64,
    pub loads_weights: i64,
    pub activation: Option<&'static str>,
    pub performance: Option<&'static str>,
    pub channels: i64,
    /// Tile of the kernel's outer loop, and step of its inner one.
    pub iteration: Option<(usize, Option<usize>)>,
}

impl Instr {
    pub(super) fn new(core: usize, engine: Engine, opcode: &'static str, duration: i64) -> Self {
        Self {
            core,
            engine,
            opcode,
            compiler_opcode: Some(opcode),
            body: String::new(),
            compiler_body: None,
            symbols: None,
            site: None,
            statement: None,
            bir: None,
            wait: None,
            increment: None,
            handshake: None,
            after: Vec::new(),
            duration,
            interval: duration,
            transfer: None,
            collective: None,
            barrier: None,
            chain: None,
            bank_read: None,
            bank_write: None,
            continues: false,
            transpose: false,
            useful: false,
            traffic: Traffic::default(),
            flops: 0,
            elements: 0,
            loads_weights: 0,
            activation: None,
            performance: None,
            channels: 0,
            iteration: None,
        }
    }

    pub(super) fn stream(&self) -> usize {
        self.engine.stream(self.core)
    }

    pub(super) fn is_wait(&self) -> bool {
        self.opcode == "EVENT_SEMAPHORE"
    }

    pub(super) fn is_matmul(&self) -> bool {
        self.opcode == "MATMUL"
    }
}

/// Where a transfer reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Load,
    Store,
    /// HBM to HBM.
    Copy,
}

/// One DMA transfer: `descriptors` packets of `packet_bytes` each.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub core: usize,
    /// Position in `chip::QUEUES`.
    pub queue: usize,
    pub trigger: usize,
    /// Number within the queue of its core.
    pub block: i64,
    pub semaphore: usize,
    /// Value of the semaphore when it is done.
    pub value: i64,
    pub packets: i64,
    pub packet_bytes: i64,
    pub direction: Direction,
    pub variable: String,
    /// Offset in HBM, the same for every transfer of the tensor.
    pub hbm_offset: i64,
    /// SBUF address and 32-partition quadrants (bit mask) on the chip's side.
    pub address: i64,
    pub quadrants: u8,
    pub transposed: bool,
    /// Step of a collective that starts it, instead of the trigger's own timing.
    pub step: Option<(usize, usize)>,
}

impl Transfer {
    pub(super) fn bytes(&self) -> i64 {
        self.packets * self.packet_bytes
    }

    pub(super) fn hbm_bytes(&self) -> (i64, i64) {
        match self.direction {
            Direction::Load => (self.bytes(), 0),
            Direction::Store => (0, self.bytes()),
            Direction::Copy => (self.bytes(), self.bytes()),
        }
    }
}

/// A collective operation over all ranks, moved by the collectives queue of both cores in steps.
#[derive(Clone, Debug)]
pub(super) struct Collective {
    pub trigger: usize,
    pub operation: &'static str,
    pub bytes: i64,
    /// Transfers of each step.
    pub steps: Vec<Vec<usize>>,
    /// Value of the collectives' semaphore when it is done.
    pub value: i64,
}

/// A tensor's stay in an SBUF range, or an accumulation's in a PSUM bank.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub core: usize,
    /// SBUF address, or PSUM bank.
    pub place: i64,
    pub size: i64,
    pub quadrants: u8,
    /// Who wrote it first, and every access.
    pub writer: Node,
    pub accesses: Vec<Node>,
    /// Stays until the execution ends.
    pub constant: bool,
}

/// The whole program of one execution.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub instrs: Vec<Instr>,
    pub transfers: Vec<Transfer>,
    pub collectives: Vec<Collective>,
    /// Instructions of each stream in program order.
    pub streams: Vec<Vec<usize>>,
    /// Dependencies other than SameBank, which follows from the order of the run.
    pub edges: Vec<(Node, Node, Kind)>,
    pub sbuf: Vec<Version>,
    pub psum: Vec<Version>,
    /// The barrier instructions, one per core each.
    pub barriers: Vec<Vec<usize>>,
}
