//! The code of one core: its SBUF map, and the small instruction sequences that the program is made of.

use crate::demo::builder::{Builder, Move, Place, Uses};
use crate::demo::chip;
use crate::demo::ops::{self, Site};
use crate::demo::program::{Direction, Engine, Instr, Kind, Node, Traffic};

/// Columns of a full tile: one PSUM bank of fp32, 512 tokens.
pub(super) const COLUMNS: i64 = 512;
/// Bytes of one row of a full bf16 tile.
pub(super) const ROW_BYTES: i64 = COLUMNS * 2;
const TILE: i64 = 128;
/// Time that results take to leave an engine's pipeline.
const MATMUL_LATENCY: i64 = 64;
const PIPELINE_OVERLAP: i64 = 48;

/// A place, and where in it an operand begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub place: Place,
    pub offset: i64,
}

impl Tile {
    pub(super) fn at(place: Place, offset: i64) -> Self {
        Self { place, offset }
    }

    pub(super) fn whole(place: Place) -> Self {
        Self::at(place, 0)
    }
}

/// What a Vector instruction does to how many elements of every partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    opcode: &'static str,
    columns: i64,
    fast: bool,
    arguments: &'static str,
}

impl Work {
    pub(super) fn of(opcode: &'static str, columns: i64) -> Self {
        Self { opcode, columns, fast: false, arguments: "" }
    }

    /// In the mode that handles two bf16 elements a cycle.
    pub(super) fn fast(self) -> Self {
        Self { fast: true, ..self }
    }

    pub(super) fn with(self, arguments: &'static str) -> Self {
        Self { arguments, ..self }
    }
}

/// Buffers of one layer's weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub q: Place,
    pub k: Place,
    pub v: Place,
    pub o: Place,
    pub gate: Place,
    pub up: Place,
    pub down: Place,
}

impl Weights {
    pub(super) fn all(self) -> [Place; 7] {
        [self.q, self.k, self.v, self.o, self.gate, self.up, self.down]
    }
}

/// One core's buffers and what it keeps in mind while its program is written.
#[derive(Debug)]
pub(super) struct CoreCode {
    pub core: usize,
    banks: Vec<Place>,
    turn: usize,
    pub identity: Place,
    pub mask: Place,
    pub cosine: Place,
    pub sine: Place,
    pub epsilon: Place,
    pub token_ids: Place,
    pub offsets: Place,
    /// The hidden states, and the buffer that the next version goes to.
    pub hidden: [Place; 2],
    pub reduced: Place,
    pub normed: [Place; 8],
    pub weights: [Weights; 2],
    pub sums: Place,
    pub scale: Place,
    pub query: Place,
    pub key: Place,
    pub value: Place,
    pub turned_value: Place,
    pub turn_a: Place,
    pub turn_b: Place,
    peaks: [Place; 4],
    totals: [Place; 4],
    scores: [Place; 4],
    turned: [Place; 2],
    pub mixed: Place,
    pub partial: [Place; 2],
    pub gate: [Place; 2],
    pub inner: [Place; 2],
    pub logits: [Place; 2],
    /// Stands for HBM scratch where a transfer touches no SBUF.
    pub scratch: Place,
    /// The spill that has not come back yet.
    saved: Option<Node>,
}

/// Hands out SBUF ranges of a core one after the other.
struct Map<'a> {
    b: &'a mut Builder,
    core: usize,
    next: i64,
}

impl Map<'_> {
    fn take(&mut self, size: i64) -> Place {
        self.take_in(size, 0b1111)
    }

    fn take_in(&mut self, size: i64, quadrants: u8) -> Place {
        let place = self.b.sbuf(self.core, self.next, size, quadrants);
        self.next += (size + 63) / 64 * 64 + 64; // a gap keeps neighbours apart on a memory map
        debug_assert!(self.next <= chip::SBUF_PARTITION_BYTES, "the program fits into SBUF");
        place
    }

    fn several<const N: usize>(&mut self, size: i64) -> [Place; N] {
        std::array::from_fn(|_| self.take(size))
    }

    fn weights(&mut self) -> Weights {
        let [q, k, v, o] = self.several(2048);
        let [gate, up, down] = self.several(4096);
        Weights { q, k, v, o, gate, up, down }
    }
}

impl CoreCode {
    pub(super) fn new(b: &mut Builder, core: usize) -> Self {
        let banks = (0..chip::PSUM_BANKS).map(|bank| b.bank(core, bank)).collect();
        let mut m = Map { b, core, next: 0x400 };
        Self {
            core,
            banks,
            turn: 0,
            identity: m.take(256),
            mask: m.take(256),
            cosine: m.take(ROW_BYTES),
            sine: m.take(ROW_BYTES),
            epsilon: m.take_in(64, 0b0001),
            token_ids: m.take_in(64, 0b0001),
            offsets: m.take_in(512, 0b0011),
            hidden: m.several(8 * ROW_BYTES),
            reduced: m.take(8 * ROW_BYTES),
            normed: m.several(ROW_BYTES),
            weights: [m.weights(), m.weights()],
            sums: m.take(64),
            scale: m.take(64),
            query: m.take(ROW_BYTES),
            key: m.take(ROW_BYTES),
            value: m.take(ROW_BYTES),
            turned_value: m.take(ROW_BYTES),
            turn_a: m.take(ROW_BYTES),
            turn_b: m.take(ROW_BYTES),
            peaks: m.several(64),
            totals: m.several(64),
            scores: m.several(ROW_BYTES),
            turned: m.several(ROW_BYTES),
            mixed: m.take(ROW_BYTES),
            partial: m.several(4 * ROW_BYTES),
            gate: m.several(ROW_BYTES),
            inner: m.several(ROW_BYTES),
            logits: m.several(ROW_BYTES),
            scratch: m.take(64),
            saved: None,
        }
    }

    pub(super) fn next_bank(&mut self) -> Place {
        self.turn += 1;
        self.banks[(self.turn - 1) % self.banks.len()]
    }

    // ------------------------------------------------------------ Tensor Engine
    /// Loads 128 x 128 stationary values, then streams `columns` past them into `bank`. `(first, last)` say where in
    /// the accumulation this is. Returns the multiplication.
    pub(super) fn multiply(
        &self,
        b: &mut Builder,
        stationary: Tile,
        moving: Tile,
        bank: Place,
        columns: i64,
        (first, last): (bool, bool),
    ) -> usize {
        let loaded = self.load_stationary(b, stationary);
        let address = b.address(moving.place) + moving.offset;
        let (target, number) = (b.address(bank), b.bank_of(bank));
        let mut instr = self.matmul(columns);
        instr.body = format!(
            "acc_flags={} fp32_mode=NONE src=bfloat16@0x{address:x}[1,0,0][{columns},1,1] \
             dst=0x{target:x}[1,0,0][{columns},1,1] {TILE}*{columns}",
            u8::from(first) + 2 * u8::from(last)
        );
        instr.symbols = Some(psum_symbols(number, 0, address));
        (instr.bank_write, instr.continues, instr.useful) = (number, !first, true);
        let (reads, writes, extra) = ([moving.place], [bank], [(Node::Instr(loaded), Kind::Flow)]);
        b.emit(instr, &Uses { reads: &reads, writes: &writes, appends: !first, extra: &extra })
    }

    fn load_stationary(&self, b: &mut Builder, tile: Tile) -> usize {
        let address = b.address(tile.place) + tile.offset;
        let mut instr = Instr::new(self.core, Engine::Tensor, "LDWEIGHTS", 60);
        instr.body = format!("fp32_mode=NONE src=bfloat16@0x{address:x}[1,0,0][{TILE},1,1] {TILE}*{TILE}");
        instr.symbols = Some(format!("src=SBUF(partition=0,offset=0x{address:x})"));
        instr.traffic.sbuf_read = TILE * TILE * 2;
        instr.loads_weights = TILE * TILE * 2;
        b.emit(instr, &Uses { reads: &[tile.place], ..Uses::default() })
    }

    fn matmul(&self, columns: i64) -> Instr {
        let streaming = columns * 1000 / chip::TENSOR_MHZ;
        let mut instr = Instr::new(self.core, Engine::Tensor, "MATMUL", streaming + MATMUL_LATENCY);
        instr.interval = streaming;
        instr.traffic.sbuf_read = TILE * columns * 2;
        instr.traffic.psum_write = TILE * columns * 4;
        instr.flops = 2 * TILE * TILE * columns;
        instr.elements = TILE * columns;
        instr
    }

    /// Turns the 128 x 128 squares of a query tile one after the other, into the quarters of a bank.
    fn transpose(&mut self, b: &mut Builder, source: Place, tile: usize) -> Place {
        let bank = self.next_bank();
        let mut previous = self.load_stationary(b, Tile::whole(self.identity));
        for part in 0..=tile as i64 {
            b.iteration = Some((tile, Some(part as usize)));
            let address = b.address(source) + part * TILE * 2;
            let offset = part * TILE * 4;
            let target = b.address(bank) + offset;
            let mut instr = self.matmul(TILE);
            instr.interval = instr.duration; // the same bank again: the one before must have left the pipeline
            instr.body = format!(
                "acc_flags=3 fp32_mode=NONE transpose_mode=ENABLED src=bfloat16@0x{address:x}[1,0,0][{TILE},1,1] \
                 dst=0x{target:x}[1,0,0][{TILE},1,1] {TILE}*{TILE}"
            );
            instr.symbols = Some(psum_symbols(b.bank_of(bank), offset, address));
            (instr.bank_write, instr.transpose) = (b.bank_of(bank), true);
            let (reads, writes, extra) = ([source], [bank], [(Node::Instr(previous), Kind::Flow)]);
            instr.after.push(previous);
            // The identity is a flow dependency of the first square only; the others follow it in the pipeline.
            let extra = if part == 0 { &extra[..] } else { &[] };
            previous = b.emit(instr, &Uses { reads: &reads, writes: &writes, appends: part > 0, extra });
        }
        bank
    }

    // ------------------------------------------------------------ Vector, Scalar and GpSimd
    /// A Vector instruction; `(to, appends)` is its destination.
    pub(super) fn vector(&self, b: &mut Builder, work: Work, sources: &[Tile], to: (Place, bool)) -> usize {
        let duration = 60 + work.columns * 1000 / chip::VECTOR_MHZ / if work.fast { 2 } else { 1 };
        let mut instr = Instr::new(self.core, Engine::Vector, work.opcode, duration);
        instr.performance = work.fast.then_some("2x");
        self.elementwise(b, instr, sources, to, work.columns, work.arguments)
    }

    /// A Scalar activation; further sources are bias or scale.
    pub(super) fn activate(
        &self,
        b: &mut Builder,
        function: &'static str,
        sources: &[Place],
        to: (Place, bool),
        columns: i64,
    ) -> usize {
        let duration = 130 + columns * 1000 / chip::SCALAR_MHZ;
        let mut instr = Instr::new(self.core, Engine::Scalar, "ACTIVATE", duration);
        instr.activation = Some(function);
        let tiles: Vec<Tile> = sources.iter().map(|p| Tile::whole(*p)).collect();
        self.elementwise(b, instr, &tiles, to, columns, &format!("func={function} scale=1.000000"))
    }

    fn elementwise(
        &self,
        b: &mut Builder,
        mut instr: Instr,
        sources: &[Tile],
        (to, appends): (Place, bool),
        columns: i64,
        arguments: &str,
    ) -> usize {
        if instr.duration > 2 * PIPELINE_OVERLAP {
            instr.interval = instr.duration - PIPELINE_OVERLAP;
        }
        instr.channels = chip::PARTITIONS;
        let (mut text, mut symbols) = (String::new(), String::new());
        let written = chip::PARTITIONS * (columns * 2).min(b.size(to));
        let target = b.address(to);
        for (n, source) in sources.iter().enumerate() {
            let address = b.address(source.place) + source.offset;
            let name = if sources.len() == 1 { "src".to_owned() } else { format!("src{n}") };
            let bank = b.bank_of(source.place);
            let kind = if bank.is_some() { "fp32" } else { "bfloat16" };
            let elements = if n > 0 && b.size(source.place) <= 64 { 1 } else { columns };
            text += &format!("{name}={kind}@0x{address:x}[1,1,1][{elements},1,1] ");
            if let Some(bank) = bank {
                symbols += &format!(" {name}=PSUM(partition=0,bank={bank},offset=0)");
                instr.bank_read = Some(bank);
                instr.traffic.psum_read += chip::PARTITIONS * columns * 4;
                instr.traffic.psum_to_sbuf = written;
            } else {
                instr.traffic.sbuf_read += chip::PARTITIONS * elements * 2;
            }
        }
        instr.traffic.sbuf_write = written;
        instr.symbols = (!symbols.is_empty()).then(|| format!("dst=SBUF(partition=0,offset=0x{target:x}){symbols}"));
        instr.body = format!("{text}dst=bfloat16@0x{target:x}[1,1,1][{columns},1,1] {arguments}").trim_end().to_owned();
        instr.body += " channels=128";
        let reads: Vec<Place> = sources.iter().map(|s| s.place).collect();
        b.emit(instr, &Uses { reads: &reads, writes: &[to], appends, extra: &[] })
    }

    /// An instruction (of GpSimd, mostly) with its operands written out.
    pub(super) fn described(
        &self,
        b: &mut Builder,
        mut instr: Instr,
        sources: &[Place],
        to: Place,
        columns: i64,
        arguments: &str,
    ) -> usize {
        let target = b.address(to);
        let text: String = sources
            .iter()
            .enumerate()
            .map(|(n, p)| format!("src{n}=bfloat16@0x{:x}[1,1,1][{columns},1,1] ", b.address(*p)))
            .collect();
        instr.body = format!("{text}dst=bfloat16@0x{target:x}[1,1,1][{columns},1,1] {arguments}");
        instr.traffic = Traffic {
            sbuf_read: instr.channels * columns * 2 * sources.len() as i64,
            sbuf_write: instr.channels * columns * 2,
            ..Traffic::default()
        };
        b.emit(instr, &Uses { reads: sources, writes: &[to], ..Uses::default() })
    }

    // ------------------------------------------------------------ attention
    /// Masked scores of one query tile and their softmax; returns the weights, not yet turned.
    pub(super) fn scores(&mut self, b: &mut Builder, layer: usize, tile: usize) -> Place {
        let columns = (tile as i64 + 1) * TILE; // causal: later keys are never looked at
        b.iteration = Some((tile, None));
        let bank = self.next_bank();
        b.begin(Site::new(ops::QK, layer));
        let query = Tile::at(self.query, tile as i64 * TILE * 2);
        self.multiply(b, query, Tile::whole(self.key), bank, columns, (true, false));
        b.begin(Site::new(ops::MASK, layer));
        // Identity x mask adds the mask to the diagonal square, still in PSUM.
        let identity = Tile::whole(self.identity);
        let added = self.multiply(b, identity, Tile::whole(self.mask), bank, TILE, (false, true));
        b.program.instrs[added].useful = false;
        let (peak, total, weights) = (self.peaks[tile], self.totals[tile], self.scores[tile]);
        b.begin(Site::new(ops::ROW_MAX, layer));
        self.vector(b, Work::of("TENSOR_REDUCE", columns).with("op=max axis=X"), &[Tile::whole(bank)], (peak, false));
        b.begin(Site::new(ops::ROW_EXP, layer));
        self.activate(b, "EXP", &[bank, peak], (weights, false), columns);
        b.begin(Site::new(ops::ROW_SCALE, layer));
        self.vector(
            b,
            Work::of("TENSOR_REDUCE", columns).fast().with("op=add axis=X"),
            &[Tile::whole(weights)],
            (total, false),
        );
        self.vector(b, Work::of("RECIPROCAL", 1), &[Tile::whole(total)], (total, false));
        let factors = [Tile::whole(weights), Tile::whole(total)];
        self.vector(b, Work::of("TENSOR_SCALAR", columns).fast().with("op=mult"), &factors, (weights, false));
        b.iteration = None;
        weights
    }

    /// Turns the weights of one query tile and multiplies the values with them.
    pub(super) fn mix(&mut self, b: &mut Builder, layer: usize, tile: usize, weights: Place) {
        let columns = (tile as i64 + 1) * TILE;
        b.iteration = Some((tile, None));
        b.begin(Site::new(ops::TRANSPOSE, layer));
        let bank = self.transpose(b, weights, tile);
        let turned = self.turned[tile % 2];
        self.vector(b, Work::of("COPY", columns), &[Tile::whole(bank)], (turned, false));
        b.begin(Site::new(ops::PV, layer));
        let bank = self.next_bank();
        for step in 0..=tile {
            b.iteration = Some((tile, Some(step)));
            let offset = step as i64 * TILE * 2;
            let (value, moving) = (Tile::at(self.turned_value, offset), Tile::at(turned, offset));
            self.multiply(b, value, moving, bank, TILE, (step == 0, step == tile));
        }
        self.activate(b, "COPY", &[bank], (self.mixed, tile > 0), TILE);
        b.iteration = None;
    }

    // ------------------------------------------------------------ transfers
    /// `(packets, bytes of each)` from HBM to a place.
    pub(super) fn load(
        &self,
        b: &mut Builder,
        queue: usize,
        engine: Engine,
        place: Place,
        (packets, packet_bytes): (i64, i64),
        variable: &str,
    ) -> Node {
        let (direction, variable) = (Direction::Load, variable.to_owned());
        let m =
            Move { queue, engine, direction, place, packets, packet_bytes, variable, transposed: false, extra: &[] };
        b.transfer(self.core, &m)
    }

    /// `(packets, bytes of each)` from a place to HBM.
    pub(super) fn store(
        &self,
        b: &mut Builder,
        queue: usize,
        engine: Engine,
        place: Place,
        (packets, packet_bytes): (i64, i64),
        variable: &str,
    ) -> Node {
        let (direction, variable) = (Direction::Store, variable.to_owned());
        let m =
            Move { queue, engine, direction, place, packets, packet_bytes, variable, transposed: false, extra: &[] };
        b.transfer(self.core, &m)
    }

    /// Saves the hidden states to HBM or brings them back, through Vector's spill queue.
    pub(super) fn spill(&mut self, b: &mut Builder, place: Place, variable: &str, direction: Direction) {
        let extra: Vec<(Node, Kind)> = self.saved.into_iter().map(|n| (n, Kind::Flow)).collect();
        let m = Move {
            queue: chip::SPILLS,
            engine: Engine::Vector,
            direction,
            place,
            packets: 64,
            packet_bytes: 16384,
            variable: variable.to_owned(),
            transposed: false,
            extra: &extra,
        };
        let node = b.transfer(self.core, &m);
        self.saved = (direction == Direction::Store).then_some(node);
    }
}

fn psum_symbols(bank: Option<usize>, offset: i64, source: i64) -> String {
    let bank = bank.unwrap_or_default();
    format!("dst=PSUM(partition=0,bank={bank},offset={offset}) src=SBUF(partition=0,offset=0x{source:x})")
}
