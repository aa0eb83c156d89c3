//! What transfers are to move: from the compiler's static blocks, or from the operands of `DMA_DIRECT2D`.

use rustc_hash::FxHashMap;

use super::rows::RawTransferPlan;
use crate::source::neff::isa::{DmaEnd, DmaMove, TriggeredBlock, Word};
use crate::source::neff::{Descriptor, DmaBlock, Graph, Tensor};

/// Address space of one state buffer partition.
const PARTITION: u64 = 0x4_0000;
/// Device addresses with this bit lie in the state buffer (derived from the addresses seen).
const STATE_BUFFER_BIT: u64 = 1 << 37;

/// The plans of a capture.
#[derive(Default)]
pub(super) struct Plans {
    pub list: Vec<RawTransferPlan>,
    /// Static blocks of each core, found once.
    blocks: FxHashMap<(u16, TriggeredBlock), u32>,
}

impl Plans {
    /// The plan of a word, if it starts a transfer. The compiled word says more than what the runtime made of it.
    pub fn of(
        &mut self,
        graph: Option<&Graph>,
        pcore_idx: u16,
        compiled: Option<Word<'_>>,
        word: Word<'_>,
    ) -> Option<(u32, &RawTransferPlan)> {
        let number = match compiled.and_then(Word::triggered_block) {
            Some(block) => self.block(graph?, pcore_idx, block)?,
            None => {
                let moved = compiled.and_then(Word::dma_move).or_else(|| word.dma_move())?;
                self.list.push(dynamic(graph, &moved));
                self.list.len() as u32 - 1
            }
        };
        Some((number, &self.list[number as usize]))
    }

    fn block(&mut self, graph: &Graph, pcore_idx: u16, triggered: TriggeredBlock) -> Option<u32> {
        if let Some(known) = self.blocks.get(&(pcore_idx, triggered.clone())) {
            return Some(*known);
        }
        let block = graph.block(&triggered.queue, triggered.block)?;
        let number = self.list.len() as u32;
        self.list.push(fixed(graph, block));
        self.blocks.insert((pcore_idx, triggered), number);
        Some(number)
    }
}

/// One end of a transfer.
struct End {
    name: &'static str,
    variable: String,
    is_hbm: bool,
}

impl End {
    fn of(tensor: Option<&Tensor>) -> End {
        let Some(tensor) = tensor else { return End { name: "DRAM", variable: String::new(), is_hbm: true } };
        let name = match tensor.kind.as_str() {
            "state-buffer" => return End { name: "SB", variable: String::new(), is_hbm: false },
            "input" => "INPUT",
            "output" => "OUTPUT",
            "file" => "WEIGHT",
            _ => "DRAM",
        };
        End { name, variable: tensor.name.clone(), is_hbm: true }
    }
}

fn directed(source: &End, destination: &End) -> RawTransferPlan {
    let variable = match (source.is_hbm, destination.is_hbm) {
        (_, true) if !destination.variable.is_empty() => &destination.variable,
        (true, _) => &source.variable,
        _ => "",
    };
    RawTransferPlan {
        op: match (source.is_hbm, destination.is_hbm) {
            (true, false) => "read",
            (false, true) => "write",
            _ => "copy",
        },
        variable: variable.to_owned(),
        source: format!("[{}]", source.name),
        dest: format!("[{}]", destination.name),
        reads_hbm: source.is_hbm,
        writes_hbm: destination.is_hbm,
        ..RawTransferPlan::default()
    }
}

fn dynamic(graph: Option<&Graph>, moved: &DmaMove) -> RawTransferPlan {
    let end = |end: DmaEnd| match end {
        DmaEnd::Variable { id, .. } => End::of(graph.and_then(|graph| graph.tensor(u64::from(id)))),
        DmaEnd::Table { index, .. } => {
            let id = graph.and_then(|graph| graph.descriptor_table.get(usize::from(index)));
            End::of(id.and_then(|id| graph?.tensor(*id)))
        }
        DmaEnd::Address(address) => match address & STATE_BUFFER_BIT {
            0 => End::of(None),
            _ => End { name: "SB", variable: String::new(), is_hbm: false },
        },
    };
    let offset = |end: DmaEnd| match end {
        DmaEnd::Variable { offset, .. } | DmaEnd::Table { offset, .. } => u64::from(offset),
        DmaEnd::Address(address) => address & (STATE_BUFFER_BIT - 1),
    };
    let (source, destination) = (end(moved.source), end(moved.destination));
    let side = |is_hbm: bool, at: DmaEnd, steps: [u32; 2], counts: [u16; 2], element: u16| {
        let steps = [1, i64::from(steps[0]), i64::from(steps[1])];
        let sizes = [u64::from(element), u64::from(counts[0]), u64::from(counts[1])];
        Side::new(is_hbm, offset(at), &sizes, &steps)
    };
    let reading = side(source.is_hbm, moved.source, moved.source_steps, moved.source_counts, moved.source_element);
    let writing = side(
        destination.is_hbm,
        moved.destination,
        moved.destination_steps,
        moved.destination_counts,
        moved.destination_element,
    );
    RawTransferPlan {
        read_bytes: moved.read_bytes(),
        write_bytes: moved.write_bytes(),
        semaphores: vec![moved.semaphore],
        ..with_sides(directed(&source, &destination), reading, writing)
    }
}

fn fixed(graph: &Graph, block: &DmaBlock) -> RawTransferPlan {
    let first = block.descriptors.first().cloned().unwrap_or_default();
    let end = |name: &str| match graph.tensors.iter().find(|tensor| tensor.name == name) {
        Some(tensor) => End::of(Some(tensor)),
        None => End { variable: name.to_owned(), ..End::of(None) },
    };
    let (source, destination) = (end(&first.from), end(&first.to));
    let reading = Side::new(source.is_hbm, first.from_off, &first.from_sizes, &first.from_steps);
    let writing = Side::new(destination.is_hbm, first.to_off, &first.to_sizes, &first.to_steps);
    RawTransferPlan {
        queue: block.queue.clone(),
        block_id: Some(block.id),
        read_bytes: block.read_bytes(),
        write_bytes: block.write_bytes(),
        semaphores: block.semaphores.iter().filter_map(|id| u8::try_from(*id).ok()).collect(),
        bir_name: block.bir_name.clone(),
        is_transpose_mode: block.descriptors.iter().any(is_transpose),
        ..with_sides(directed(&source, &destination), reading, writing)
    }
}

fn is_transpose(part: &Descriptor) -> bool {
    part.op.to_ascii_lowercase().contains("transpose")
}

/// Where one end lies, as the schema's texts.
struct Side {
    partitions: String,
    count: u32,
    shape: String,
    offset: String,
    steps: String,
}

impl Side {
    fn new(is_hbm: bool, offset: u64, sizes: &[u64], steps: &[i64]) -> Side {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let mut side = Side {
            partitions: String::new(),
            count: 0,
            shape: list(sizes.iter().map(u64::to_string).collect()),
            offset: format!("[0x{offset:x}]"),
            steps: list(steps.iter().map(i64::to_string).collect()),
        };
        if !is_hbm {
            let across = |(step, size): (&i64, &u64)| (*step == PARTITION as i64).then_some(*size);
            let count = steps.iter().zip(sizes).find_map(across).unwrap_or(1).clamp(1, 128);
            let first = offset / PARTITION % 128;
            side.count = count as u32;
            side.partitions = match count {
                1 => first.to_string(),
                _ => format!("{first}-{}", first + count - 1),
            };
        }
        side
    }
}

fn with_sides(plan: RawTransferPlan, reading: Side, writing: Side) -> RawTransferPlan {
    RawTransferPlan {
        read_sbuf_partitions: reading.partitions,
        read_num_sbuf_partitions: reading.count,
        read_shape: reading.shape,
        read_offset: reading.offset,
        read_steps: reading.steps,
        write_sbuf_partitions: writing.partitions,
        write_num_sbuf_partitions: writing.count,
        write_shape: writing.shape,
        write_offset: writing.offset,
        write_steps: writing.steps,
        ..plan
    }
}
