//! Transfers, collectives and barriers: what moves data between memories and cores.

use crate::demo::builder::{Builder, Place, Uses};
use crate::demo::chip::{self, Descriptors};
use crate::demo::program::{Collective, Direction, Engine, Instr, Kind, Node, Transfer};

/// A transfer to be added.
#[derive(Debug)]
pub(in crate::demo) struct Move<'a> {
    pub queue: usize,
    pub engine: Engine,
    pub direction: Direction,
    pub place: Place,
    pub packets: i64,
    pub packet_bytes: i64,
    pub variable: String,
    pub transposed: bool,
    pub extra: &'a [(Node, Kind)],
}

impl Builder {
    /// A DMA transfer and the instruction that triggers it.
    pub(in crate::demo) fn transfer(&mut self, core: usize, m: &Move) -> Node {
        let queue = &chip::QUEUES[m.queue];
        let place = [m.place];
        let uses = match m.direction {
            Direction::Store => Uses { reads: &place, extra: m.extra, ..Uses::default() },
            _ => Uses { writes: &place, extra: m.extra, ..Uses::default() },
        };
        let producers: Vec<Node> = if m.direction == Direction::Store {
            self.needs(&Uses { reads: &place, ..Uses::default() }).into_iter().map(|(n, _)| n).collect()
        } else {
            Vec::new()
        };
        let block = self.next_block(core, m.queue);
        let number = queue.semaphore + block as usize % queue.slots;
        let address = self.address(m.place);
        let mut instr = match queue.descriptors {
            Descriptors::Hardware | Descriptors::Software => {
                let fixed = if queue.descriptors == Descriptors::Hardware { 510 } else { 980 };
                let mut instr = Instr::new(core, m.engine, "DMA_DIRECT2D", fixed + m.packets);
                instr.body = format!(
                    "semaphore={number} sem_increment=16 {}",
                    descriptor_operands(m, address, self.hbm_offset(core, &m.variable))
                );
                instr
            }
            Descriptors::Static | Descriptors::Collectives => {
                let mut instr = Instr::new(core, m.engine, "WRITE", 56);
                let doorbell = 0xfff_f100_9038_i64 + queue.idx as i64 * 0x20000;
                instr.compiler_opcode = Some("PSEUDO_DMA_TRIGGER");
                instr.body = format!("data=0x1,0x1 size=4,4 dst=0x{doorbell:x},0x{:x}", doorbell + 0x20000);
                instr.compiler_body = Some(format!("{} block_id={block}", queue.name));
                instr
            }
        };
        self.count_traffic(&mut instr, m);
        instr.transfer = Some(self.program.transfers.len());
        let trigger = self.emit(instr, &Uses { extra: &self.needs(&uses), ..Uses::default() });
        let node = self.push_transfer(core, trigger, block, m, None);
        for producer in producers {
            if matches!(producer, Node::Instr(_)) {
                self.program.edges.push((producer, node, Kind::Flow));
            }
        }
        self.touch(node, &Uses { extra: &[], ..uses });
        node
    }

    fn next_block(&mut self, core: usize, queue: usize) -> i64 {
        let block = self.blocks.entry((core, queue)).or_insert(0);
        *block += 1;
        *block - 1
    }

    /// Tensors lie one after the other, each in a megabyte of its own.
    fn hbm_offset(&mut self, core: usize, variable: &str) -> i64 {
        let next = self.tensors.len() as i64 * 0x10_0000;
        *self.tensors.entry((core, variable.to_owned())).or_insert(next)
    }

    fn push_transfer(
        &mut self,
        core: usize,
        trigger: usize,
        block: i64,
        m: &Move,
        step: Option<(usize, usize)>,
    ) -> Node {
        let queue = &chip::QUEUES[m.queue];
        let semaphore = core * chip::SEMAPHORES + queue.semaphore + block as usize % queue.slots;
        let value = self.counts.entry(semaphore).or_insert(0);
        *value += 16;
        let value = *value;
        let hbm_offset = self.hbm_offset(core, &m.variable);
        let state = &self.places[m.place.0];
        self.program.transfers.push(Transfer {
            core,
            queue: m.queue,
            trigger,
            block,
            semaphore,
            value,
            packets: m.packets,
            packet_bytes: m.packet_bytes,
            direction: m.direction,
            variable: m.variable.clone(),
            hbm_offset,
            address: state.address,
            quadrants: state.quadrants,
            transposed: m.transposed,
            step,
        });
        let node = Node::Dma(self.program.transfers.len() - 1);
        self.program.edges.push((Node::Instr(trigger), node, Kind::Trigger));
        node
    }

    fn count_traffic(&self, instr: &mut Instr, m: &Move) {
        let bytes = m.packets * m.packet_bytes;
        let traffic = &mut instr.traffic;
        let spilling = m.queue == chip::SPILLS;
        if m.direction == Direction::Store {
            (traffic.hbm_write, traffic.sbuf_read) = (bytes, bytes);
            traffic.spill_save = if spilling { bytes } else { 0 };
        } else {
            (traffic.hbm_read, traffic.sbuf_write) = (bytes, bytes);
            traffic.spill_reload = if spilling { bytes } else { 0 };
        }
        match m.queue {
            chip::INPUTS => traffic.input = bytes,
            chip::OUTPUTS => traffic.output = bytes,
            chip::WEIGHTS => traffic.weight = bytes,
            _ => {}
        }
    }

    // ------------------------------------------------------------ collectives and barriers
    /// Every core arrives on GpSimd, after what it needs, and all leave together.
    pub(in crate::demo) fn barrier(&mut self, needs: &[Vec<(Node, Kind)>]) {
        let number = self.program.barriers.len();
        let mut members = Vec::new();
        for (core, mine) in needs.iter().enumerate() {
            let stream = Engine::GpSimd.stream(core);
            for (wait, kind) in self.waits(stream, mine, &mut Vec::new()) {
                self.explicit_wait(core, Engine::GpSimd, wait, kind);
            }
        }
        for core in 0..needs.len() {
            let mut instr = Instr::new(core, Engine::GpSimd, "EVENT_SEMAPHORE", 64);
            let value = 16 * (number as i64 + 1);
            instr.compiler_opcode = Some("PSEUDO_CORE_BARRIER");
            instr.body =
                format!("{}>={value}", chip::semaphore_name(core * chip::SEMAPHORES + chip::BARRIER_SEMAPHORE));
            instr.compiler_body = Some(format!("$S[{}]>={value} semaphore=9 id={number}", chip::BARRIER_SEMAPHORE));
            instr.barrier = Some(number);
            let index = self.push(instr);
            for (other, theirs) in needs.iter().enumerate() {
                for (node, kind) in theirs.iter().filter(|_| other != core) {
                    self.program.edges.push((*node, Node::Instr(index), *kind));
                }
            }
            members.push(index);
        }
        self.program.barriers.push(members);
    }

    /// An AllReduce of `bytes`, triggered by core 0 and moved through HBM by both cores in two steps.
    pub(in crate::demo) fn all_reduce(&mut self, bytes: i64, scratch: Place, variable: &str) -> Node {
        let number = self.program.collectives.len();
        let elements = bytes / 2;
        let mut instr = Instr::new(0, Engine::GpSimd, "WRITE", 220);
        instr.compiler_opcode = Some("PSEUDO_TRIGGER_COLLECTIVE_2");
        instr.body = "data=0x1 size=4 dst=0xffff026f038".to_owned();
        instr.compiler_body = Some("ctype=ALL_REDUCE op=ADD dtype=bfloat16".to_owned());
        instr.chain = Some(format!(
            "PSEUDO_TRIGGER_COLLECTIVE_2 $S[{}]++@complete ctype=ALL_REDUCE op=ADD dtype=bfloat16 cc_dim=0 \
             src0_pattern=[1,1][{elements},1]\n PSEUDO_EXTENSION group_id=0 channel_id=0 stream_id=0 \
             dst_pattern=[1,1][{elements},1]",
            chip::CC_SEMAPHORE
        ));
        instr.collective = Some(number);
        let trigger = self.emit(instr, &Uses::default());
        let mut steps = Vec::new();
        for step in 0..2 {
            let mut moved = Vec::new();
            for core in 0..chip::CORES {
                let m = Move {
                    queue: chip::COLLECTIVES,
                    engine: Engine::GpSimd,
                    direction: Direction::Copy,
                    place: scratch,
                    packets: 32,
                    packet_bytes: bytes / chip::CORES as i64 / 32,
                    variable: variable.to_owned(),
                    transposed: false,
                    extra: &[],
                };
                let block = self.next_block(core, m.queue);
                let Node::Dma(t) = self.push_transfer(core, trigger, block, &m, Some((number, step))) else { continue };
                moved.push(t);
            }
            steps.push(moved);
        }
        let value = number as i64 + 1;
        self.program.collectives.push(Collective { trigger, operation: "AllReduce", bytes, steps, value });
        Node::Collective(number)
    }
}

/// Addresses as DMA descriptors have them: HBM and SBUF are far apart, SBUF partitions 256 KiB.
fn descriptor_operands(m: &Move, address: i64, hbm_offset: i64) -> String {
    let (size, count) = (m.packet_bytes, m.packets);
    let memory = (format!("[{size},1][{count},1]"), 0x8000_0100_0000 + hbm_offset);
    let sbuf = (format!("[262144,1][{count},1]"), 0x8020_0000_0000 + address);
    let (from, to) = if m.direction == Direction::Load { (memory, sbuf) } else { (sbuf, memory) };
    format!(
        "src_elem_size={size} dst_elem_size={size} src_pattern={} dst_pattern={} src_addr_imm=0x{:x} src_shape_reg=0 \
         dst_addr_imm=0x{:x} dst_shape_reg=0 compute_op=NONE",
        from.0, to.0, from.1, to.1
    )
}
