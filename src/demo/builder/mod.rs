//! Adding instructions and transfers in program order. Dependencies follow from what is read and written, and
//! become semaphore waits; when anything runs is decided later, by `schedule`.

mod transfers;

use std::collections::{BTreeMap, BTreeSet};

use crate::demo::chip::{self, Descriptors};
use crate::demo::ops::Site;
use crate::demo::program::{Engine, Handshake, Instr, Kind, Node, Program, Version, Wait};
pub(super) use transfers::Move;

/// An SBUF range or a PSUM bank of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(usize);

#[derive(Debug)]
struct PlaceState {
    core: usize,
    address: i64,
    size: i64,
    quadrants: u8,
    bank: Option<usize>,
    writers: Vec<Node>,
    readers: Vec<Node>,
    version: Option<usize>,
}

/// What an instruction touches, beside what it is.
#[derive(Debug, Default)]
pub(super) struct Uses<'a> {
    pub reads: &'a [Place],
    pub writes: &'a [Place],
    /// Adds to what is there, instead of replacing it.
    pub appends: bool,
    pub extra: &'a [(Node, Kind)],
}

/// A program under construction.
#[derive(Debug)]
pub(super) struct Builder {
    pub program: Program,
    places: Vec<PlaceState>,
    /// Per stream and semaphore: how far along it is known to be (stream position, or transfer count).
    seen: Vec<BTreeMap<usize, i64>>,
    position: Vec<i64>,
    /// Uses of each semaphore and blocks of each queue, per core.
    counts: BTreeMap<usize, i64>,
    blocks: BTreeMap<(usize, usize), i64>,
    /// Where in HBM each core's tensors are.
    tensors: BTreeMap<(usize, String), i64>,
    statements: i64,
    birs: i64,
    current: (Option<Site>, i64, i64),
    /// Loop position in the kernel, for instructions to come.
    pub iteration: Option<(usize, Option<usize>)>,
}

impl Builder {
    pub(super) fn new() -> Self {
        let program = Program { streams: vec![Vec::new(); chip::STREAMS], ..Program::default() };
        Self {
            program,
            places: Vec::new(),
            seen: vec![BTreeMap::new(); chip::STREAMS],
            position: Vec::new(),
            counts: BTreeMap::new(),
            blocks: BTreeMap::new(),
            tensors: BTreeMap::new(),
            statements: 0,
            birs: 0,
            current: (None, 0, 0),
            iteration: None,
        }
    }

    // ------------------------------------------------------------ places
    pub(super) fn sbuf(&mut self, core: usize, address: i64, size: i64, quadrants: u8) -> Place {
        self.place(core, address, size, quadrants, None)
    }

    pub(super) fn bank(&mut self, core: usize, bank: usize) -> Place {
        let address = chip::PSUM_BASE + bank as i64 * chip::PSUM_BANK_BYTES;
        self.place(core, address, chip::PSUM_BANK_BYTES, 0b1111, Some(bank))
    }

    fn place(&mut self, core: usize, address: i64, size: i64, quadrants: u8, bank: Option<usize>) -> Place {
        let (writers, readers, version) = (Vec::new(), Vec::new(), None);
        self.places.push(PlaceState { core, address, size, quadrants, bank, writers, readers, version });
        Place(self.places.len() - 1)
    }

    pub(super) fn address(&self, place: Place) -> i64 {
        self.places[place.0].address
    }

    pub(super) fn bank_of(&self, place: Place) -> Option<usize> {
        self.places[place.0].bank
    }

    pub(super) fn size(&self, place: Place) -> i64 {
        self.places[place.0].size
    }

    /// Keeps what is in these places until the execution ends.
    pub(super) fn keep(&mut self, places: &[Place]) {
        for place in places {
            if let Some(version) = self.places[place.0].version {
                self.program.sbuf[version].constant = true;
            }
        }
    }

    // ------------------------------------------------------------ instructions
    /// Starts a new compiler statement of an operator.
    pub(super) fn begin(&mut self, site: Site) {
        self.statements += 1;
        self.current = (Some(site), self.statements, 0);
    }

    /// An instruction of the current statement, after the waits that it needs.
    pub(super) fn emit(&mut self, mut instr: Instr, uses: &Uses) -> usize {
        if let (Some(site), statement, rank) = self.current {
            self.birs += 1;
            self.current.2 += 1;
            instr.site = Some(site);
            instr.statement = Some(statement);
            instr.bir = Some((self.birs, rank));
            instr.iteration = self.iteration;
        }
        self.place_instr(instr, uses)
    }

    /// An instruction that the runtime adds around the program.
    pub(super) fn runtime(&mut self, core: usize, engine: Engine, opcode: &'static str, duration: i64, body: &str) {
        let mut instr = Instr::new(core, engine, opcode, duration);
        instr.compiler_opcode = None;
        instr.body = body.to_owned();
        self.place_instr(instr, &Uses::default());
    }

    /// The runtime brings the engines of a core up, one after the other.
    pub(super) fn bring_up(&mut self, core: usize) {
        let order = [Engine::Tensor, Engine::Scalar, Engine::GpSimd, Engine::Vector, Engine::Sync];
        for engine in order {
            let (first, last) = chip::cleared(engine);
            self.runtime(core, engine, "NOP", 40, "");
            self.runtime(core, engine, "SET_ORDERING_MODE", 44, "mode=relaxed");
            let range = format!("mode=SEMAPHORE_ZERO first={first} last={last}");
            self.runtime(core, engine, "EVENT_SEMAPHORE_RANGE_CLEAR", 280, &range);
        }
        let mut previous = None;
        for (turn, engine) in order.into_iter().chain([Engine::Tensor]).enumerate() {
            let mut instr = Instr::new(core, engine, "EVENT_SEMAPHORE", 54);
            let last = turn == order.len();
            let semaphore = format!("$S[{}]", chip::RUNTIME_SEMAPHORE);
            let wait = if turn > 0 { format!(" {semaphore}=={turn}") } else { String::new() };
            let update = if last { String::new() } else { format!(" {semaphore}++@complete") };
            instr.compiler_opcode = None;
            instr.body = format!("setter=0{wait}{update}");
            instr.wait = previous.map(|on| {
                let semaphore = core * chip::SEMAPHORES + chip::RUNTIME_SEMAPHORE;
                Wait { semaphore, on, value: turn as i64 }
            });
            instr.handshake = Some(if last { Handshake::Last } else { Handshake::PassOn(turn as i64 + 1) });
            previous = Some(Node::Instr(self.push(instr)));
        }
    }

    fn place_instr(&mut self, mut instr: Instr, uses: &Uses) -> usize {
        let needs = self.needs(uses);
        let mut waits = self.waits(instr.stream(), &needs, &mut instr.after);
        let explicit = instr.engine == Engine::Tensor && waits.last().is_some_and(|w| self.is_dynamic(w.0));
        let embedded = if explicit { None } else { waits.pop() };
        for (wait, kind) in waits {
            self.explicit_wait(instr.core, instr.engine, wait, kind);
        }
        instr.wait = embedded.map(|(wait, _)| wait);
        let index = self.push(instr);
        for (node, kind) in strongest(&needs) {
            self.program.edges.push((self.edge_end(node), Node::Instr(index), kind));
        }
        self.touch(Node::Instr(index), uses);
        index
    }

    fn explicit_wait(&mut self, core: usize, engine: Engine, wait: Wait, kind: Kind) -> usize {
        let mut instr = Instr::new(core, engine, "EVENT_SEMAPHORE", 44);
        instr.wait = Some(wait);
        let index = self.push(instr);
        self.program.edges.push((self.edge_end(wait.on), Node::Instr(index), kind));
        index
    }

    fn push(&mut self, instr: Instr) -> usize {
        let index = self.program.instrs.len();
        let stream = &mut self.program.streams[instr.stream()];
        self.position.push(stream.len() as i64);
        stream.push(index);
        self.program.instrs.push(instr);
        index
    }

    fn is_dynamic(&self, wait: Wait) -> bool {
        match wait.on {
            Node::Dma(t) => chip::QUEUES[self.program.transfers[t].queue].descriptors == Descriptors::Hardware,
            _ => false,
        }
    }

    /// In the Flow table a collective is stood for by the instruction that triggered it.
    fn edge_end(&self, node: Node) -> Node {
        match node {
            Node::Collective(c) => Node::Instr(self.program.collectives[c].trigger),
            other => other,
        }
    }

    // ------------------------------------------------------------ dependencies
    fn needs(&self, uses: &Uses) -> Vec<(Node, Kind)> {
        let mut needs = uses.extra.to_vec();
        for place in uses.reads {
            needs.extend(self.places[place.0].writers.iter().map(|n| (*n, Kind::Flow)));
        }
        if !uses.appends {
            for place in uses.writes {
                let state = &self.places[place.0];
                if state.readers.is_empty() {
                    needs.extend(state.writers.iter().map(|n| (*n, Kind::Output)));
                } else {
                    needs.extend(state.readers.iter().map(|n| (*n, Kind::Anti)));
                }
            }
        }
        self.last_per_source(needs)
    }

    /// Of several needs from one source only the last matters: sources report in order.
    fn last_per_source(&self, needs: Vec<(Node, Kind)>) -> Vec<(Node, Kind)> {
        let mut last: BTreeMap<(usize, Kind), (i64, Node)> = BTreeMap::new();
        for (node, kind) in needs {
            let (semaphore, position) = self.source(node);
            let entry = last.entry((semaphore, kind)).or_insert((position, node));
            if position >= entry.0 {
                *entry = (position, node);
            }
        }
        last.into_iter().map(|((_, kind), (_, node))| (node, kind)).collect()
    }

    /// The semaphore that tells of a node, and the node's position among its updates.
    fn source(&self, node: Node) -> (usize, i64) {
        match node {
            Node::Instr(i) => {
                let instr = &self.program.instrs[i];
                let number = chip::engine_semaphore(instr.engine);
                (instr.core * chip::SEMAPHORES + number, self.position[i])
            }
            Node::Dma(t) => (self.program.transfers[t].semaphore, self.program.transfers[t].value),
            Node::Collective(c) => (chip::CC_SEMAPHORE, self.program.collectives[c].value),
        }
    }

    /// Conditions not known to hold yet, transfers first; needs within the engine go to `after`.
    fn waits(&mut self, stream: usize, needs: &[(Node, Kind)], after: &mut Vec<usize>) -> Vec<(Wait, Kind)> {
        let core = stream / chip::ENGINES.len();
        let mut latest: BTreeMap<usize, (i64, Wait, Kind)> = BTreeMap::new();
        for (node, kind) in needs {
            let (mut semaphore, position) = self.source(*node);
            if let Node::Instr(i) = *node
                && self.program.instrs[i].stream() == stream
            {
                after.push(i);
                let engine = self.program.instrs[i].engine;
                let recent = self.program.streams[stream].len() as i64 - position <= 2;
                if !recent || matches!(engine, Engine::Tensor | Engine::Sync) {
                    continue; // the pipeline keeps this order by itself
                }
            }
            if matches!(node, Node::Collective(_)) {
                semaphore += core * chip::SEMAPHORES; // each core has its own copy
            }
            if self.seen[stream].get(&semaphore).is_none_or(|s| *s < position) {
                let wait = Wait { semaphore, on: *node, value: position };
                let entry = latest.entry(semaphore).or_insert((position, wait, *kind));
                if position > entry.0 {
                    *entry = (position, wait, *kind);
                }
            }
        }
        for (semaphore, (position, ..)) in &latest {
            self.seen[stream].insert(*semaphore, *position);
        }
        let mut waits: Vec<(Wait, Kind)> = latest.into_values().map(|(_, wait, kind)| (wait, kind)).collect();
        waits.sort_by_key(|(wait, _)| (matches!(wait.on, Node::Instr(_)), wait.semaphore));
        waits
    }

    fn touch(&mut self, node: Node, uses: &Uses) {
        for place in uses.reads {
            self.places[place.0].readers.push(node);
            self.access(*place, node);
        }
        for place in uses.writes {
            let state = &mut self.places[place.0];
            if uses.appends && state.version.is_some() {
                state.writers.push(node);
            } else {
                state.writers = vec![node];
                state.readers.clear();
                let (bank, core, size, quadrants) = (state.bank, state.core, state.size, state.quadrants);
                let place_number = bank.map_or(state.address, |b| b as i64);
                let list = if bank.is_some() { &mut self.program.psum } else { &mut self.program.sbuf };
                state.version = Some(list.len());
                let (accesses, constant) = (Vec::new(), false);
                list.push(Version { core, place: place_number, size, quadrants, writer: node, accesses, constant });
            }
            self.access(*place, node);
        }
    }

    fn access(&mut self, place: Place, node: Node) {
        let state = &self.places[place.0];
        let list = if state.bank.is_some() { &mut self.program.psum } else { &mut self.program.sbuf };
        if let Some(version) = state.version {
            list[version].accesses.push(node);
        }
    }

    // ------------------------------------------------------------ completion
    /// Decides which instructions increment their engine's semaphore, and the value of every condition.
    pub(super) fn finish(mut self) -> Program {
        let mut wanted = BTreeSet::new();
        for index in 0..self.program.instrs.len() {
            let Some(i) = self.reported_by(index) else { continue };
            let reporter = self.reporter(i);
            wanted.insert(reporter);
            if let Some(wait) = &mut self.program.instrs[index].wait {
                wait.on = Node::Instr(reporter);
            }
        }
        for stream in &self.program.streams {
            let mut count = 0;
            for index in stream.iter().filter(|i| wanted.contains(i)) {
                count += 1;
                self.program.instrs[*index].increment = Some(count);
            }
        }
        for index in 0..self.program.instrs.len() {
            let Some(i) = self.reported_by(index) else { continue };
            let value = self.program.instrs[i].increment.unwrap_or_default();
            if let Some(wait) = &mut self.program.instrs[index].wait {
                wait.value = value;
            }
        }
        self.program
    }

    /// The instruction that `index` waits for by its engine's own semaphore.
    fn reported_by(&self, index: usize) -> Option<usize> {
        match self.program.instrs[index].wait? {
            Wait { on: Node::Instr(i), .. } if self.program.instrs[index].handshake.is_none() => Some(i),
            _ => None,
        }
    }

    /// The instruction that reports `index`: weight loads are reported by the multiplication after them.
    fn reporter(&self, index: usize) -> usize {
        let instr = &self.program.instrs[index];
        if instr.engine != Engine::Tensor {
            return index;
        }
        let stream = &self.program.streams[instr.stream()];
        let from = self.position[index] as usize;
        stream[from..].iter().copied().find(|i| self.program.instrs[*i].is_matmul()).unwrap_or(index)
    }
}

/// One edge per predecessor, of the strongest kind.
fn strongest(needs: &[(Node, Kind)]) -> Vec<(Node, Kind)> {
    let mut best: BTreeMap<Node, Kind> = BTreeMap::new();
    for (node, kind) in needs {
        best.entry(*node).and_modify(|k| *k = (*k).min(*kind)).or_insert(*kind);
    }
    best.into_iter().collect()
}
