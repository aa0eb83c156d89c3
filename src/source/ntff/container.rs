//! The container: header, metadata, and where the records of each core are.

use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use prost::Message;

use super::clock::Clocks;
use super::head::{self, Head, Unusable};
use super::pc_map::{self, Patch};
use super::record::RECORD_BYTES;
use crate::model::Engine;
use crate::model::format::format_bytes;
use crate::source::neff::isa::{NumberedEngine, WORD_BYTES, Word};
use crate::source::neff::{Fault, hex};

pub(super) mod proto {
    #![allow(missing_docs, clippy::all, clippy::pedantic)]
    include!(concat!(env!("OUT_DIR"), "/ntff.rs"));
}

/// Bytes before the metadata.
pub(super) const HEADER_BYTES: usize = 128;
/// Cores that one file may describe; a trn2.48xlarge has 128.
const MAX_CORES: usize = 512;

/// Executions that one file may measure.
const MAX_EXECUTIONS: usize = 4096;

/// A device trace.
#[derive(Debug, Default)]
pub struct Ntff {
    /// Version of the format.
    pub version: u8,
    /// Name of the NEFF that ran.
    pub neff_name: String,
    /// Identity of its compilation, in hexadecimal. Up to version 5 it ends before its first zero byte: the runtime
    /// stores it as text. Compare it with [`Ntff::is_run_of`].
    pub uuid: String,
    /// Such as `trn2.3xlarge`.
    pub instance_type: String,
    /// Version of the runtime, with the start of its git hash in parentheses.
    pub runtime_version: String,
    /// Version of the driver, likewise.
    pub driver_version: String,
    /// Version of the collectives library, likewise.
    pub collectives_version: String,
    /// Physical cores that ran.
    pub physical_cores: u64,
    /// When the capture was made, in Unix seconds (version 4 only).
    pub capture_unix_seconds: Option<u64>,
    /// The measured executions (from version 6 on).
    pub executions: Vec<Execution>,
    /// The cores, one per graph of the NEFF.
    pub cores: Vec<Core>,
    /// What is nobody else's business.
    pub private: PrivateInfo,
    /// What could not be read, in plain words.
    pub problems: Vec<String>,
    data: Data,
}

/// What identifies the machine and the process; not to be shown unless asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrivateInfo {
    /// EC2 instance id.
    pub instance_id: String,
    /// Process id (likely).
    pub process_id: Option<u64>,
}

/// One measured execution, in common picoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// Identity of the NEFF that ran, in hexadecimal.
    pub uuid: String,
    /// Start.
    pub start_ps: i64,
    /// End.
    pub end_ps: i64,
}

/// One physical core.
#[derive(Debug, Default)]
pub struct Core {
    /// Name of the graph that it ran, such as `sg00`.
    pub name: String,
    /// Device number.
    pub device: u64,
    /// Core number.
    pub index: u64,
    /// What each engine ran, by engine index.
    pub programs: [CoreProgram; 5],
    /// DMA rings and the queues that they belong to.
    pub queues: Vec<DmaQueue>,
    /// Its counters.
    pub clocks: Clocks,
    /// Device memory by use.
    pub memory: Vec<MemoryUse>,
    /// Duration of the execution, in picoseconds.
    pub duration_ps: i64,
    sections: Vec<Section>,
}

/// What one engine ran, as the runtime laid it out.
#[derive(Debug, Default)]
pub struct CoreProgram {
    /// Whether the file describes the engine at all.
    pub present: bool,
    /// Address of the first word.
    pub load_address: u64,
    code: Data,
    compiled: Vec<u32>,
}

impl CoreProgram {
    /// Number of words.
    pub fn words(&self) -> usize {
        self.compiled.len()
    }

    /// The index of a word in the compiler's program; `None` where the runtime put it in.
    pub fn compiler_pc(&self, index: u32) -> Option<u32> {
        self.compiled.get(index as usize).copied().filter(|compiled| *compiled != pc_map::NONE)
    }
}

/// One ring of one DMA engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DmaQueue {
    /// DMA engine.
    pub engine: u16,
    /// Ring of that engine.
    pub ring: u8,
    /// 0 table, 2 data, 3 io.
    pub class: u64,
    /// Raw name of the queue.
    pub name: String,
    /// Memory channel.
    pub dram_channel: u64,
    /// Its static blocks, by id.
    pub blocks: Vec<Block>,
}

/// What one static block is to this ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Number in the queue.
    pub id: u32,
    /// Packets expected; the hardware splits some.
    pub packets: u64,
}

/// Device memory in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryUse {
    /// What for.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
}

/// Bytes of the file, or bytes that came inside the metadata.
#[derive(Debug)]
enum Data {
    File(Range<usize>),
    Own(Vec<u8>),
}

impl Default for Data {
    fn default() -> Data {
        Data::Own(vec![])
    }
}

#[derive(Debug)]
struct Section {
    kind: u64,
    range: Range<usize>,
}

/// What the records of a section are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    Instructions = 0,
    Sync = 1,
    Dma = 4,
    Throttle = 5,
}

impl Ntff {
    /// Opens and reads a file, as far as its metadata describes it. Fails where it is no NTFF, or one of a version that is
    /// not understood, or does not fit into memory.
    pub fn open(path: &Path) -> Result<Ntff, Fault> {
        let head = Head::open(path).map_err(|why| why.fault().about(path))?;
        let size = head.needed_bytes.min(head.bytes);
        let failed = |problem: std::io::Error| Unusable::Unreadable(problem.to_string()).fault().about(path);
        let mut bytes = vec![];
        let room = usize::try_from(size).ok().filter(|size| bytes.try_reserve_exact(*size).is_ok());
        if room.is_none() {
            let what = format!("its records take {}, more than there is memory for", format_bytes(size));
            let remedy = "open it on a machine with more memory, or capture less of the run";
            return Err(Fault::new(what, remedy).about(path));
        }
        crate::files::open(path).and_then(|file| file.take(size).read_to_end(&mut bytes)).map_err(failed)?;
        Ntff::parse(bytes).map_err(|fault| fault.about(path))
    }

    /// Reads a file from memory. Damage beyond the header and the metadata is among the problems.
    pub fn parse(bytes: Vec<u8>) -> Result<Ntff, Fault> {
        let start = &bytes[..bytes.len().min(HEADER_BYTES)];
        let length = head::metadata_length(start, bytes.len() as u64).map_err(|why| why.fault())?;
        // It is no longer than what is in memory.
        let metadata = &bytes[HEADER_BYTES..HEADER_BYTES + length as usize];
        let version = bytes[0];
        let top = proto::Trace::decode(metadata).map_err(|problem| Unusable::Damaged(problem.to_string()).fault())?;
        let data = HEADER_BYTES + metadata.len()..bytes.len();
        let mut reader = Reader { left: data.len(), data, problems: vec![] };
        if top.executions.len() > MAX_EXECUTIONS {
            reader.problems.push(format!("more than {MAX_EXECUTIONS} executions are listed; the rest are left out"));
        }
        let mut ntff = Ntff { version, ..describe(&top) };
        ntff.cores = reader.cores(&top);
        reader.assign_sections(&top, &mut ntff.cores);
        ntff.problems = reader.problems;
        ntff.data = Data::Own(bytes);
        Ok(ntff)
    }

    /// The instruction words that an engine of a core ran.
    pub fn code<'a>(&'a self, core: &'a Core, engine: Engine) -> &'a [u8] {
        self.slice(&core.programs[engine.number()].code)
    }

    /// One of those words.
    pub fn word<'a>(&'a self, core: &'a Core, engine: Engine, index: u32) -> Option<Word<'a>> {
        let at = (index as usize).checked_mul(WORD_BYTES)?;
        Word::new(self.code(core, engine).get(at..)?)
    }

    /// Whether this is a capture of the compilation with an identity, as far as the file tells.
    pub fn is_run_of(&self, uuid: &str) -> bool {
        head::is_run_of(&self.uuid, uuid)
    }

    /// Bytes of the file.
    pub fn file_size(&self) -> usize {
        match &self.data {
            Data::Own(bytes) => bytes.len(),
            Data::File(range) => range.len(),
        }
    }

    /// The records of one kind, section by section.
    pub(super) fn sections<'a>(&'a self, core: &'a Core, kind: SectionKind) -> impl Iterator<Item = &'a [u8]> {
        let found = core.sections.iter().filter(move |section| section.kind == kind as u64);
        found.map(|section| self.file(&section.range))
    }

    fn slice<'a>(&'a self, data: &'a Data) -> &'a [u8] {
        match data {
            Data::Own(bytes) => bytes,
            Data::File(range) => self.file(range),
        }
    }

    fn file(&self, range: &Range<usize>) -> &[u8] {
        match &self.data {
            Data::Own(bytes) => bytes.get(range.clone()).unwrap_or_default(),
            Data::File(_) => &[],
        }
    }
}

/// Everything but cores and problems.
fn describe(top: &proto::Trace) -> Ntff {
    let executions = top.executions.iter().take(MAX_EXECUTIONS).map(|execution| Execution {
        uuid: hex(execution.uuid.get(..16).unwrap_or(&execution.uuid)),
        start_ps: i64::try_from(execution.start_ps).unwrap_or(i64::MAX),
        end_ps: i64::try_from(execution.end_ps).unwrap_or(i64::MAX),
    });
    let executions: Vec<_> = executions.collect();
    let uuid = executions.first().map(|e| e.uuid.clone()).filter(|uuid| uuid.len() == 32);
    Ntff {
        neff_name: lossy(&top.neff_name),
        uuid: uuid.unwrap_or_else(|| hex(top.uuid.get(..16).unwrap_or(&top.uuid))),
        instance_type: lossy(&top.instance_type),
        runtime_version: version(top.runtime.as_ref()),
        driver_version: version(top.driver.as_ref()),
        collectives_version: version(top.collectives.as_ref()),
        physical_cores: top.physical_cores,
        capture_unix_seconds: (top.capture_unix_seconds != 0).then_some(top.capture_unix_seconds),
        executions,
        private: PrivateInfo {
            instance_id: lossy(&top.instance_id),
            process_id: (top.process_id != 0).then_some(top.process_id),
        },
        ..Ntff::default()
    }
}

/// What a core is called on the screen, by its place in the file.
fn called(place: usize) -> String {
    format!("nc{place}")
}

/// What is still to be accounted for while the metadata is read.
struct Reader {
    /// The data area.
    data: Range<usize>,
    /// Bytes of it that nothing claimed yet. Sections and code tile it, so what claims more is damaged; without this, a
    /// small file could name the same bytes again and again.
    left: usize,
    problems: Vec<String>,
}

impl Reader {
    fn cores(&mut self, top: &proto::Trace) -> Vec<Core> {
        let nodes = top.hosts.iter().flat_map(|host| &host.nodes);
        let mut cores = vec![];
        for bytes in nodes.flat_map(|node| &node.cores) {
            if cores.len() == MAX_CORES {
                self.problems.push(format!("more than {MAX_CORES} cores are described; the rest are left out"));
                break;
            }
            match proto::Core::decode(bytes.as_slice()) {
                Ok(message) => cores.push(self.core(message, &called(cores.len()))),
                Err(problem) => self.problems.push(format!("the description of a core is damaged: {problem}")),
            }
        }
        cores
    }

    fn core(&mut self, message: proto::Core, called: &str) -> Core {
        let mut core = Core {
            name: lossy(&message.name),
            device: message.device,
            index: message.index,
            clocks: Clocks::new(message.clocks.as_ref()),
            duration_ps: i64::try_from(message.duration_ps).unwrap_or(i64::MAX),
            ..Core::default()
        };
        for code in message.code {
            let Some(engine) = Engine::from_number(code.engine) else {
                self.problems.push(format!("{called}: engine {} is not known; its code is left out", code.engine));
                continue;
            };
            let program = &mut core.programs[engine.number()];
            if program.present {
                self.problems.push(format!("{called}: the code of {} is there twice", engine.name()));
                continue;
            }
            let code_data = match code.words.is_empty() {
                false => Data::Own(code.words),
                true => {
                    let what = format!("{called}: the code of {}", engine.name());
                    Data::File(self.claim(code.offset, code.size, &what))
                }
            };
            let length = match &code_data {
                Data::Own(words) => words.len(),
                Data::File(range) => range.len(),
            };
            let words = length / WORD_BYTES;
            let patches = message.pc_maps.iter().filter(|map| map.engine == code.engine).flat_map(|map| &map.patches);
            let patches = patches.filter(|patch| matches!(patch.kind, 0 | 2)).map(|patch| Patch {
                at: usize::try_from(patch.offset).unwrap_or(usize::MAX) / WORD_BYTES,
                count: patch.count,
                removed: patch.kind == 2,
            });
            let compiled = pc_map::compiled_indices(patches.collect(), words);
            *program = CoreProgram { present: true, load_address: code.load_address, code: code_data, compiled };
        }
        core.queues = message.dma_queues.iter().filter_map(dma_queue).collect();
        core.memory = message.memory.iter().map(memory_use).collect();
        for section in &message.sections {
            self.section(&mut core, called, section);
        }
        core
    }

    /// From version 6 on, sections are listed beside the cores rather than inside them.
    fn assign_sections(&mut self, top: &proto::Trace, cores: &mut [Core]) {
        for section in &top.sections {
            match cores.iter_mut().enumerate().find(|(_, core)| core.index == section.core_index) {
                Some((at, core)) => self.section(core, &called(at), section),
                None if section.size == 0 => {}
                None => self.problems.push(format!(
                    "{} bytes of records belong to core {}, which the file does not describe",
                    section.size, section.core_index
                )),
            }
        }
    }

    fn section(&mut self, core: &mut Core, called: &str, section: &proto::Section) {
        let name = match section.kind {
            0 => "instruction",
            1 => "semaphore",
            4 => "DMA",
            5 => "throttling",
            _ => "other",
        };
        let range = self.claim(section.offset, section.size, &format!("{called}: the {name} records"));
        let odd = range.len() % RECORD_BYTES;
        if odd != 0 {
            self.problems.push(format!("{called}: {odd} bytes after the last {name} record are no record"));
        }
        if name == "other" && !range.is_empty() {
            let records = range.len() / RECORD_BYTES;
            self.problems.push(format!("{called}: {records} records of kind {} are not understood", section.kind));
        }
        core.sections.push(Section { kind: section.kind, range });
    }

    /// A part of the data area, as far as it is there.
    fn claim(&mut self, offset: u64, size: u64, what: &str) -> Range<usize> {
        let place =
            |at: u64| usize::try_from(at).unwrap_or(usize::MAX).saturating_add(self.data.start).min(self.data.end);
        let range = place(offset)..place(offset.saturating_add(size));
        if (range.len() as u64) < size {
            self.problems.push(format!("{what} are cut off: {} of {size} bytes are there", range.len()));
        }
        match self.left.checked_sub(range.len()) {
            Some(left) => {
                self.left = left;
                range
            }
            None => {
                self.problems.push(format!("{what} overlap others, which cannot be; they are left out"));
                range.start..range.start
            }
        }
    }
}

fn dma_queue(message: &proto::DmaQueue) -> Option<DmaQueue> {
    let blocks = message.blocks.iter();
    Some(DmaQueue {
        engine: u16::try_from(message.engine).ok()?,
        ring: u8::try_from(message.ring).ok()?,
        class: message.class,
        name: lossy(&message.name),
        dram_channel: message.dram_channel,
        blocks: blocks.filter_map(|b| Some(Block { id: u32::try_from(b.id).ok()?, packets: b.packets })).collect(),
    })
}

/// Version 4 has no names; these are the kinds that could be told from the size of the code.
fn memory_use(message: &proto::MemoryUse) -> MemoryUse {
    let name = match message.kind {
        _ if !message.name.is_empty() => lossy(&message.name),
        1 => "pe code".to_owned(),
        2 => "act code".to_owned(),
        3 => "pool code".to_owned(),
        10 => "dve code".to_owned(),
        11 => "sp code".to_owned(),
        other => format!("type {other}"),
    };
    MemoryUse { name, bytes: message.bytes }
}

/// `2.30.51 (faafe)`, as the vendor prints it.
fn version(message: Option<&proto::Version>) -> String {
    let Some(m) = message else { return String::new() };
    let hash = lossy(m.git_hash.get(..5).unwrap_or(&m.git_hash));
    format!("{}.{}.{} ({hash})", m.major, m.minor, m.patch)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
