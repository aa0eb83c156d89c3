//! The debug levels of a NEFF: asm → BIR → penguin → HLO → framework. Each level's entries point at those of the next.

use std::collections::HashMap;

use prost::Message;
use rustc_hash::FxHashMap;

use super::archive::Archive;
use super::isa::NumberedEngine;
use crate::model::Engine;

mod proto {
    #![allow(missing_docs, clippy::all, clippy::pedantic)]
    include!(concat!(env!("OUT_DIR"), "/neff_debug.rs"));
}

/// Why one instruction depends on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DependencyType {
    /// The order of issue only.
    Ordered,
    /// Overwrites what the other reads.
    Anti,
    /// Overwrites what the other writes.
    Output,
    /// Reads what the other writes.
    Flow,
    /// A type that is not known, by its number.
    Other(u8),
}

impl DependencyType {
    fn from_number(number: u8) -> DependencyType {
        match number {
            1 => DependencyType::Ordered,
            2 => DependencyType::Anti,
            3 => DependencyType::Output,
            4 => DependencyType::Flow,
            other => DependencyType::Other(other),
        }
    }

    /// The vendor's word, such as `FLOW_DEPENDENCE`.
    pub fn name(self) -> std::borrow::Cow<'static, str> {
        std::borrow::Cow::Borrowed(match self {
            DependencyType::Ordered => "ORDERED",
            DependencyType::Anti => "ANTI_DEPENDENCE",
            DependencyType::Output => "OUTPUT_DEPENDENCE",
            DependencyType::Flow => "FLOW_DEPENDENCE",
            DependencyType::Other(number) => return std::borrow::Cow::Owned(format!("DEPENDENCE_{number}")),
        })
    }
}

/// An entry of a level above the instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LevelEntry {
    /// The compiler's name, such as `I-21-0` (BIR) or `float32<128 x 1000> $8[m]` (penguin).
    pub name: String,
    /// Ids in the next level.
    pub parents: Vec<u64>,
    /// Source file and line, where the compiler recorded them.
    pub source: Option<SourceLine>,
    /// Whatever else the entry says, as key and value.
    pub attributes: Vec<(String, String)>,
}

/// A line of source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// Path as the compiler saw it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// A BIR instruction: what the compiler scheduled as one unit, which may be several instruction words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BirEntry {
    /// Name, penguin ids, source.
    pub entry: LevelEntry,
    /// BIR ids it depends on. Those it waits for through semaphores are here as well: the compiler puts instructions
    /// in that only wait, and only the semaphore list names them.
    pub dependencies: Vec<(u64, DependencyType)>,
    /// Whether this is a static DMA block rather than instructions.
    pub is_dma_block: bool,
}

/// The levels that the whole file shares, by id.
#[derive(Debug, Default)]
pub struct Levels {
    /// Penguin instructions.
    pub penguin: FxHashMap<u64, LevelEntry>,
    /// HLO instructions.
    pub hlo: FxHashMap<u64, LevelEntry>,
    /// Framework operations.
    pub framework: FxHashMap<u64, LevelEntry>,
    /// Names of the kernels, as far as the penguin level lists them.
    pub kernels: Vec<String>,
}

/// The debug information of one engine of a graph.
#[derive(Debug, Default)]
pub struct EngineDebug {
    /// The BIR id of each compiled instruction.
    pub bir_ids: Vec<Option<u64>>,
    /// BIR instructions by id.
    pub bir: FxHashMap<u64, BirEntry>,
}

/// Whether a member is debug information.
pub fn is_debug_member(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.starts_with("debug_info") && file.contains(".dbg")
}

/// Reads the levels that lie outside the graphs.
pub fn read_levels(archive: &Archive, problems: &mut Vec<String>) -> Levels {
    let mut levels = Levels::default();
    for (name, bytes) in &archive.contents {
        let file = name.rsplit('/').next().unwrap_or(name);
        if !is_debug_member(name) || file.contains("_asm_") || file.contains("_backend_") {
            continue;
        }
        let into = match () {
            () if file.contains("penguin") => &mut levels.penguin,
            () if file.contains("hlo") => &mut levels.hlo,
            () if file.contains("pttf") || file.contains("framework") => &mut levels.framework,
            () => continue,
        };
        let Some(level) = decode(name, bytes, problems) else { continue };
        let kernels = level.kernels.iter().map(|kernel| lossy(kernel));
        levels.kernels.extend(kernels);
        let strings: Vec<_> = level.strings.iter().map(|text| lossy(text)).collect();
        each_entry(name, &level, problems, |entry| {
            into.entry(entry.id).or_insert_with(|| level_entry(&entry, &strings));
        });
    }
    levels
}

/// Reads the instruction level and the BIR level of one engine.
pub fn read_engine(archive: &Archive, graph: &str, engine: Engine, problems: &mut Vec<String>) -> EngineDebug {
    let stem = engine.stem();
    let mut found = EngineDebug { bir: read_bir(archive, graph, stem, problems), ..EngineDebug::default() };
    let name = format!("{graph}/debug_info_asm_{stem}.dbg");
    if let Some(level) = archive.contents.get(&name).and_then(|bytes| decode(&name, bytes, problems)) {
        // An entry that cannot be read must not move those after it to other instructions.
        let known = |bytes: &Vec<u8>| {
            let entry = proto::Entry::decode(bytes.as_slice()).ok()?;
            entry.parents.iter().copied().find(|id| found.bir.contains_key(id))
        };
        found.bir_ids = level.entries.iter().map(known).collect();
    }
    found
}

/// Reads the static DMA blocks of the BIR level.
pub fn read_dma_blocks(archive: &Archive, graph: &str, problems: &mut Vec<String>) -> FxHashMap<u64, BirEntry> {
    let mut blocks = read_bir(archive, graph, "DMA", problems);
    blocks.values_mut().for_each(|block| block.is_dma_block = true);
    blocks
}

fn read_bir(archive: &Archive, graph: &str, stem: &str, problems: &mut Vec<String>) -> FxHashMap<u64, BirEntry> {
    let name = format!("{graph}/debug_info_backend_{stem}.dbg");
    let Some(level) = archive.contents.get(&name).and_then(|bytes| decode(&name, bytes, problems)) else {
        return HashMap::default();
    };
    let strings: Vec<_> = level.strings.iter().map(|text| lossy(text)).collect();
    let mut found = HashMap::default();
    each_entry(&name, &level, problems, |entry| {
        let typed = |ids: &[u64], types: &[u8]| -> Vec<_> {
            let types = types.iter().map(|number| DependencyType::from_number(*number));
            ids.iter().copied().zip(types.chain(std::iter::repeat(DependencyType::Other(0)))).collect()
        };
        let mut dependencies = typed(&entry.dependencies, &entry.dependency_types);
        dependencies.extend(typed(&entry.waits, &entry.wait_types));
        dependencies.sort_unstable();
        dependencies.dedup();
        found.insert(entry.id, BirEntry { entry: level_entry(&entry, &strings), dependencies, is_dma_block: false });
    });
    found
}

fn decode(name: &str, bytes: &[u8], problems: &mut Vec<String>) -> Option<proto::Level> {
    match proto::Level::decode(bytes) {
        Ok(level) => Some(level),
        Err(problem) => {
            problems.push(format!("{name} is damaged, so its names are missing: {problem}"));
            None
        }
    }
}

/// Hands out the entries of a level one by one.
fn each_entry(name: &str, level: &proto::Level, problems: &mut Vec<String>, mut take: impl FnMut(proto::Entry)) {
    let mut damaged = 0;
    for bytes in &level.entries {
        match proto::Entry::decode(bytes.as_slice()) {
            Ok(entry) => take(entry),
            Err(_) => damaged += 1,
        }
    }
    if damaged > 0 {
        problems.push(format!("{name}: {damaged} entries are damaged, so their names are missing"));
    }
}

fn level_entry(entry: &proto::Entry, strings: &[String]) -> LevelEntry {
    let attributes: Vec<_> = entry.attributes.iter().map(|a| (lossy(&a.key), lossy(&a.value))).collect();
    let value = |key: &str| attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let source = value("kernel_line").and_then(|line| {
        let file = value("kernel_file")?;
        let listed = file.parse::<usize>().ok().and_then(|index| strings.get(index));
        Some(SourceLine { file: listed.map_or(file, String::as_str).to_owned(), line: line.parse().ok()? })
    });
    LevelEntry { name: lossy(&entry.name), parents: entry.parents.clone(), source, attributes }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
