//! One graph of a NEFF: what runs on one physical core.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::archive::Archive;
use super::debug::{self, BirEntry, EngineDebug};
use super::isa::{NumberedEngine, SemaphoreNames, WORD_BYTES, ui_queue_name};
use super::kernels::is_kernel_member;
use crate::model::Engine;

/// A tensor, or another variable that transfers name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tensor {
    /// Name in the graph.
    pub name: String,
    /// The compiler's kind: `input`, `output`, `file` (weights), `virtual`, `state-buffer`, `dge-table`…
    pub kind: String,
    /// Number by which compiled words refer to it.
    pub id: Option<u64>,
    /// Size in bytes, where it has one.
    pub bytes: Option<u64>,
    /// Element type, such as `bfloat16`.
    pub dtype: String,
    /// Dimensions.
    pub shape: Vec<u64>,
    /// Layout, such as `NCHW`.
    pub format: String,
}

impl Tensor {
    /// Whether this is the state buffer rather than device memory.
    pub fn is_state_buffer(&self) -> bool {
        self.kind == "state-buffer"
    }
}

/// A DMA queue as the compiler declared it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queue {
    /// Raw name, such as `qSPIO0`.
    pub name: String,
    /// `in`, `out`, `data` or `dynamic`.
    pub kind: String,
    /// Engine that starts its transfers: `act`, `sp`, `pool`…
    pub owner: String,
    /// Rings that share its work.
    pub rings: u64,
    /// Semaphores that its transfers increment.
    pub semaphores: Vec<u64>,
}

/// One part of a static DMA block.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Descriptor {
    /// Variable read.
    pub from: String,
    /// Variable written.
    pub to: String,
    /// Bytes from the start of the variable read.
    pub from_off: u64,
    /// Bytes from the start of the variable written.
    pub to_off: u64,
    /// Extent per dimension, innermost (in bytes) first.
    pub from_sizes: Vec<u64>,
    /// Extent per dimension written.
    pub to_sizes: Vec<u64>,
    /// Bytes between neighbours per dimension.
    pub from_steps: Vec<i64>,
    /// Bytes between neighbours per dimension written.
    pub to_steps: Vec<i64>,
    /// Element type read.
    pub from_dtype: String,
    /// Element type written.
    pub to_dtype: String,
    /// What is done: `copy`…
    pub op: String,
}

impl Descriptor {
    /// Bytes read.
    pub fn read_bytes(&self) -> u64 {
        self.from_sizes.iter().fold(1, |product: u64, size| product.saturating_mul(*size))
    }

    /// Bytes written.
    pub fn write_bytes(&self) -> u64 {
        self.to_sizes.iter().fold(1, |product: u64, size| product.saturating_mul(*size))
    }
}

/// A static DMA block: transfers that one trigger starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DmaBlock {
    /// Raw name of the queue.
    pub queue: String,
    /// Number in that queue.
    pub id: u32,
    /// Semaphores that its completion increments, 16 times each.
    pub semaphores: Vec<u64>,
    /// Name in the BIR level.
    pub bir_name: String,
    /// Its parts.
    pub descriptors: Vec<Descriptor>,
}

impl DmaBlock {
    /// Bytes read.
    pub fn read_bytes(&self) -> u64 {
        self.descriptors.iter().fold(0, |sum, part| sum.saturating_add(part.read_bytes()))
    }

    /// Bytes written.
    pub fn write_bytes(&self) -> u64 {
        self.descriptors.iter().fold(0, |sum, part| sum.saturating_add(part.write_bytes()))
    }
}

/// What one engine is to run.
#[derive(Debug, Default)]
pub struct Program {
    /// Instruction words, 64 bytes each.
    pub code: Vec<u8>,
    /// The BIR id of each word, where the compiler recorded it.
    pub bir_ids: Vec<Option<u64>>,
}

/// One graph.
#[derive(Debug, Default)]
pub struct Graph {
    /// Name, such as `sg00`; a capture calls the core that runs it the same.
    pub name: String,
    /// Variables, by name.
    pub tensors: Vec<Tensor>,
    /// Ids of the variables that the descriptor table lists.
    pub descriptor_table: Vec<u64>,
    /// DMA queues, by raw name.
    pub queues: Vec<Queue>,
    /// Static DMA blocks.
    pub blocks: Vec<DmaBlock>,
    /// Names of semaphores.
    pub semaphores: SemaphoreNames,
    /// Programs by engine index.
    pub programs: [Program; 5],
    /// BIR instructions of all engines, and static DMA blocks as such, by id.
    pub bir: FxHashMap<u64, BirEntry>,
    by_block: FxHashMap<(String, u32), usize>,
}

impl Graph {
    /// The variable with an id.
    pub fn tensor(&self, id: u64) -> Option<&Tensor> {
        self.tensors.iter().find(|tensor| tensor.id == Some(id))
    }

    /// A static block, by the raw name of its queue and its number there.
    pub fn block(&self, queue: &str, id: u32) -> Option<&DmaBlock> {
        self.by_block.get(&(queue.to_owned(), id)).and_then(|index| self.blocks.get(*index))
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DefinitionFile {
    var: BTreeMap<String, Variable>,
    dma_queue: BTreeMap<String, QueueFile>,
    runtime_semaphore_count: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Variable {
    r#type: String,
    size: Option<u64>,
    var_id: Option<u64>,
    file_name: String,
    list: Vec<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct QueueFile {
    r#type: String,
    owner: String,
    num_queues: u64,
    semaphore_set: Vec<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TensorFile {
    dtype: String,
    sim_shape: Vec<u64>,
    sim_format: String,
    tf_file: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct EngineFile {
    dma: Vec<BlockFile>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BlockFile {
    id: u32,
    queue: String,
    semaphore: Option<OneOrMany>,
    #[serde(rename = "#comment")]
    comment: String,
    desc: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(u64),
    Many(Vec<u64>),
}

/// Whether the contents of a member are of use.
pub fn is_wanted(name: &str) -> bool {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    match file.rsplit_once('.') {
        _ if is_kernel_member(name) => true,
        Some((stem, "bin")) => Engine::NUMBERED.iter().any(|engine| engine.stem() == stem),
        Some((stem, "json")) if !folder.is_empty() => {
            matches!(stem, "def" | "tensor_map") || Engine::NUMBERED.iter().any(|engine| engine.stem() == stem)
        }
        Some((stem, "json")) => matches!(stem, "info" | "kelf-0" | "neff"),
        _ => debug::is_debug_member(name),
    }
}

/// Parses a JSON member; a damaged one is reported and reads as empty.
pub fn json<T: DeserializeOwned + Default>(archive: &Archive, name: &str, problems: &mut Vec<String>) -> T {
    let Some(bytes) = archive.contents.get(name) else { return T::default() };
    serde_json::from_slice(bytes).unwrap_or_else(|problem| {
        problems.push(format!("{name} cannot be read: {problem}"));
        T::default()
    })
}

/// Bytes of a graph from which on its engines are read in parallel.
const WORTH_SPLITTING: usize = 1 << 20;

/// Reads one graph.
pub fn read(archive: &Archive, name: &str, problems: &mut Vec<String>) -> Graph {
    let definition: DefinitionFile = json(archive, &format!("{name}/def.json"), problems);
    let map: BTreeMap<String, TensorFile> = json(archive, &format!("{name}/tensor_map.json"), problems);
    let mut graph = Graph { name: name.to_owned(), ..Graph::default() };
    graph.semaphores = semaphore_names(&definition);
    graph.tensors = tensors(&definition, &map);
    let table = definition.var.values().find(|variable| variable.r#type == "dge-table");
    graph.descriptor_table = table.map(|variable| variable.list.clone()).unwrap_or_default();
    graph.queues = definition
        .dma_queue
        .into_iter()
        .map(|(name, queue)| Queue {
            name,
            kind: queue.r#type,
            owner: queue.owner,
            rings: queue.num_queues,
            semaphores: queue.semaphore_set,
        })
        .collect();

    let read = |engine: &Engine| read_engine(archive, name, *engine);
    let bytes: usize = archive.contents.iter().filter(|(path, _)| path.starts_with(name)).map(|(_, c)| c.len()).sum();
    // Waking other threads takes longer than a small graph does.
    let engines: Vec<_> = match bytes < WORTH_SPLITTING {
        true => Engine::NUMBERED.iter().map(read).collect(),
        false => Engine::NUMBERED.par_iter().map(read).collect(),
    };
    graph.bir = debug::read_dma_blocks(archive, name, problems);
    for (engine, mut read) in Engine::NUMBERED.into_iter().zip(engines) {
        problems.append(&mut read.problems);
        graph.blocks.append(&mut read.blocks);
        graph.bir.extend(read.debug.bir);
        let code = archive.contents.get(&format!("{name}/{}.bin", engine.stem())).cloned().unwrap_or_default();
        if code.len() % WORD_BYTES != 0 {
            let odd = code.len() % WORD_BYTES;
            problems.push(format!("{name}/{}.bin ends with {odd} bytes that are no instruction", engine.stem()));
        }
        graph.programs[engine.number()] = Program { code, bir_ids: read.debug.bir_ids };
    }
    let blocks = graph.blocks.iter().enumerate();
    graph.by_block = blocks.map(|(index, block)| ((block.queue.clone(), block.id), index)).collect();
    graph
}

struct EngineRead {
    blocks: Vec<DmaBlock>,
    debug: EngineDebug,
    problems: Vec<String>,
}

fn read_engine(archive: &Archive, graph: &str, engine: Engine) -> EngineRead {
    let mut problems = vec![];
    let file: EngineFile = json(archive, &format!("{graph}/{}.json", engine.stem()), &mut problems);
    let blocks = file.dma.into_iter().map(|block| DmaBlock {
        queue: block.queue,
        id: block.id,
        semaphores: match block.semaphore {
            None => vec![],
            Some(OneOrMany::One(id)) => vec![id],
            Some(OneOrMany::Many(ids)) => ids,
        },
        bir_name: block.comment,
        descriptors: block.desc,
    });
    let blocks = blocks.collect();
    let debug = debug::read_engine(archive, graph, engine, &mut problems);
    EngineRead { blocks, debug, problems }
}

/// Engines signal completion through the semaphores after those of the runtime, in this order.
fn semaphore_names(definition: &DefinitionFile) -> SemaphoreNames {
    let mut names = SemaphoreNames::default();
    let first = definition.runtime_semaphore_count.unwrap_or(3);
    let engines = [Engine::GpSimd, Engine::Scalar, Engine::Tensor, Engine::Vector];
    for (number, engine) in (first..).zip(engines) {
        if let Ok(id) = u8::try_from(number) {
            names.set(id, engine.name().to_owned());
        }
    }
    for (queue, declared) in &definition.dma_queue {
        for id in declared.semaphore_set.iter().filter_map(|id| u8::try_from(*id).ok()) {
            names.set(id, ui_queue_name(queue));
        }
    }
    names
}

fn tensors(definition: &DefinitionFile, map: &BTreeMap<String, TensorFile>) -> Vec<Tensor> {
    // Weights are listed under another name, but with the file that holds them.
    let by_file: FxHashMap<&str, &TensorFile> = map.values().map(|entry| (entry.tf_file.as_str(), entry)).collect();
    let tensors = definition.var.iter().map(|(name, variable)| {
        let listed = map.get(name).or_else(|| match variable.file_name.as_str() {
            "" => None,
            file => by_file.get(file).copied(),
        });
        Tensor {
            name: name.clone(),
            kind: variable.r#type.clone(),
            id: variable.var_id,
            bytes: variable.size,
            dtype: listed.map(|entry| entry.dtype.clone()).unwrap_or_default(),
            shape: listed.map(|entry| entry.sim_shape.clone()).unwrap_or_default(),
            format: listed.map(|entry| entry.sim_format.clone()).unwrap_or_default(),
        }
    });
    tensors.collect()
}
