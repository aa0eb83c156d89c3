//! What is known about each instruction word that ran: operands, place in the compiler's program, names in the debug
//! levels, bytes and operations.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::plans::Plans;
use super::rows::RawWord;
use crate::model::Engine;
use crate::source::neff::isa::{Access, NumberedEngine, SemaphoreNames, Space, Word, op};
use crate::source::neff::{Graph, Kernels, LevelEntry, Neff};
use crate::source::ntff::{Core, Ntff, Place};

/// No word yet.
const NONE: u32 = u32::MAX;

/// What ids of the debug levels start with on a core: `sg0001`.
pub(super) fn id_prefix(pcore_idx: u16) -> String {
    format!("sg00{pcore_idx:02}")
}

/// The words of one core, made when they are first needed.
pub(super) struct Words<'a> {
    ntff: &'a Ntff,
    core: &'a Core,
    pcore_idx: u16,
    neff: Option<(&'a Neff, &'a Graph)>,
    /// Which core of the logical core the graph is of.
    graph_index: u16,
    by_index: [Vec<u32>; 5],
    outside: FxHashMap<(Engine, u32), u32>,
    /// For each word of the Tensor Engine whether the matrix loaded last is transposed.
    transposed: Vec<bool>,
    names: SemaphoreNames,
}

impl<'a> Words<'a> {
    pub fn new(ntff: &'a Ntff, core: &'a Core, pcore_idx: u16, neff: Option<&'a Neff>) -> Words<'a> {
        let neff = neff.and_then(|neff| Some((neff, neff.graph(&core.name)?)));
        let mut last = false;
        let tensor = Word::all(ntff.code(core, Engine::Tensor)).map(|word| {
            if word.opcode() == op::LDWEIGHTS {
                last = word.loads_transposed();
            }
            last
        });
        Words {
            transposed: tensor.collect(),
            by_index: Engine::NUMBERED.map(|engine| vec![NONE; core.programs[engine.number()].words()]),
            outside: FxHashMap::default(),
            names: neff.map(|(_, graph)| graph.semaphores.clone()).unwrap_or_default(),
            ntff,
            core,
            pcore_idx,
            graph_index: neff.and_then(|(neff, graph)| neff.graph_index(&graph.name)).unwrap_or(0),
            neff,
        }
    }

    /// Index of a word among `words`, to which it is added when it is new.
    pub fn index(&mut self, engine: Engine, place: Place, words: &mut Vec<RawWord>, plans: &mut Plans) -> u32 {
        let next = words.len() as u32;
        match place {
            Place::Code(index) => {
                let slot = &mut self.by_index[engine.number()][index as usize];
                if *slot != NONE {
                    return *slot;
                }
                *slot = next;
                words.push(self.make(engine, index, plans));
            }
            Place::Outside(address) => {
                let known = self.outside.entry((engine, address)).or_insert(next);
                if *known != next {
                    return *known;
                }
                words.push(RawWord {
                    pcore_idx: self.pcore_idx,
                    engine: Some(engine),
                    opcode: Cow::Borrowed("NOT_IN_FILE"),
                    operands: format!(
                        "runtime code that the capture does not hold, at 0x{:x}",
                        u64::from(address) * 64
                    ),
                    ..RawWord::default()
                });
            }
        }
        next
    }

    fn make(&self, engine: Engine, index: u32, plans: &mut Plans) -> RawWord {
        let mut row =
            RawWord { pcore_idx: self.pcore_idx, engine: Some(engine), pc: Some(index), ..RawWord::default() };
        let Some(word) = self.ntff.word(self.core, engine, index) else { return row };
        row.opcode = word.name();
        row.operands = word.operands(&self.names).unwrap_or_else(|| format!("raw={}", word.hex()));
        row.sync = word.sync();
        row.scalar_activation_fn = word.activation().unwrap_or_default();
        row.starts_accumulation = word.starts_accumulation();
        row.compiler_pc = self.core.programs[engine.number()].compiler_pc(index);
        let compiled = self.name(engine, word, &mut row);
        self.measure(engine, word, index, &mut row);
        let plan = plans.of(self.neff.map(|(_, graph)| graph), self.pcore_idx, compiled, word);
        if let Some((number, plan)) = plan {
            row.transfer = Some(number);
            let (read, written) = (plan.read_bytes, plan.write_bytes);
            let count = |hbm: bool, into_hbm: &mut u64, into_sbuf: &mut u64, bytes| match hbm {
                true => *into_hbm += bytes,
                false => *into_sbuf += bytes,
            };
            count(plan.reads_hbm, &mut row.hbm_read_bytes, &mut row.sbuf_read_bytes, read);
            count(plan.writes_hbm, &mut row.hbm_write_bytes, &mut row.sbuf_write_bytes, written);
        }
        row
    }

    /// Names from the compiler's program; returns the compiled word.
    fn name(&self, engine: Engine, word: Word<'a>, row: &mut RawWord) -> Option<Word<'a>> {
        let (neff, graph) = self.neff?;
        let program = &graph.programs[engine.number()];
        let index = row.compiler_pc? as usize;
        let compiled = program.code.get(index.checked_mul(64)?..).and_then(Word::new)?;
        if compiled.opcode() != word.opcode() {
            row.compiler_opcode = compiled.name();
            row.compiler_operands = compiled.operands(&self.names).unwrap_or_else(|| format!("raw={}", compiled.hex()));
        }
        let id = program.bir_ids.get(index).copied().flatten();
        let Some((id, bir)) = id.and_then(|id| Some((id, graph.bir.get(&id)?))) else { return Some(compiled) };
        let prefix = id_prefix(self.pcore_idx);
        row.raw_bir_id = Some(id);
        row.bir_id = format!("{prefix}:{id}");
        row.bir_instruction_name = bir.entry.name.clone();
        row.tensor_instruction_type = "REGULAR";
        let mut source = bir.entry.source.as_ref();
        let levels = &neff.levels;
        let parent = |of: &LevelEntry| of.parents.first().copied();
        if let Some(id) = parent(&bir.entry) {
            row.raw_penguin_id = Some(id);
            row.penguin_id = format!("{prefix}:{id}");
            if let Some(penguin) = levels.penguin.get(&id) {
                row.penguin_name = penguin.name.clone();
                source = source.or(penguin.source.as_ref());
                row.raw_hlo_id = parent(penguin);
            }
        }
        if let Some(hlo) = row.raw_hlo_id.and_then(|id| levels.hlo.get(&id)) {
            row.hlo_name = hlo.name.clone();
            row.hlo_attrs = hlo.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",");
            row.raw_framework_id = parent(hlo);
            source = source.or(hlo.source.as_ref());
        }
        if let Some(framework) = row.raw_framework_id.and_then(|id| levels.framework.get(&id)) {
            row.layer = framework.name.clone();
        }
        row.kernel_instruction = self.kernel_instruction(&neff.kernels, &bir.entry);
        // What the kernel's own information says is of this very instruction, the others of what it is part of.
        let written = row.kernel_instruction.map(|index| &neff.kernels.instructions[index as usize]);
        row.nki_source_location = written.map(|written| neff.kernels.location(written)).unwrap_or_default();
        if let (true, Some(line)) = (row.nki_source_location.is_empty(), source) {
            row.nki_source_location = format!("{}:{}", line.file, line.line);
        }
        Some(compiled)
    }

    /// The instruction of a kernel that became a BIR instruction: that of the same name.
    fn kernel_instruction(&self, kernels: &Kernels, bir: &LevelEntry) -> Option<u32> {
        if kernels.instructions.is_empty() {
            return None;
        }
        // Where functions are compiled by themselves, names end with the graph's.
        let name = bir.name.rsplit_once("_sg").map_or(bir.name.as_str(), |(name, _)| name);
        let penguin = bir.parents.first().copied();
        let find = |name: &str| kernels.find(name, self.graph_index, penguin);
        find(&bir.name).or_else(|| find(name)).or_else(|| find(name.split_once(':')?.0))
    }

    /// Bytes and operations.
    fn measure(&self, engine: Engine, word: Word<'_>, index: u32, row: &mut RawWord) {
        let work = word.work();
        row.sbuf_read_bytes = work.bytes(Space::Sbuf, false);
        row.sbuf_write_bytes = work.bytes(Space::Sbuf, true);
        row.psum_read_bytes = work.bytes(Space::Psum, false);
        row.psum_write_bytes = work.bytes(Space::Psum, true);
        if row.psum_read_bytes > 0 {
            row.psum_read_sbuf_write_bytes = row.sbuf_write_bytes;
        }
        row.psum_read_banks = work.banks(false);
        row.psum_write_banks = work.banks(true);
        row.tensor_elements = work.matmul_elements;
        let transposed = engine == Engine::Tensor && self.transposed.get(index as usize) == Some(&true);
        if transposed && matches!(word.opcode(), op::LDWEIGHTS | op::MATMUL) {
            row.tensor_elements_transpose = work.matmul_elements;
            if !row.tensor_instruction_type.is_empty() {
                row.tensor_instruction_type = "TRANSPOSE";
            }
        }
        row.symbolic_operands = work.accesses.iter().map(symbolic).collect::<Vec<_>>().join(" ");
        row.accesses = work.accesses;
    }
}

/// A place on the chip in the vendor's notation.
fn symbolic(access: &Access) -> String {
    let (partition, start) = (access.partition, access.range.start);
    match access.space {
        Space::Sbuf => format!("SBUF(partition={partition},offset={start})"),
        Space::Psum => format!("PSUM(partition={partition},bank={},offset={})", start / 2048, start % 2048),
    }
}
