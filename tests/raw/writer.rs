//! Writes NEFF and NTFF files of all three versions, so that tests need no outside file. It knows the formats from
//! their description, not from the readers.

use std::io::Write;

/// A protobuf message under construction.
#[derive(Clone, Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    pub fn number(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    pub fn message(self, field: u64, message: Message) -> Message {
        self.bytes(field, &message.0)
    }

    pub fn packed(self, field: u64, values: &[u64]) -> Message {
        let mut list = Message::default();
        values.iter().for_each(|value| list.varint(*value));
        self.message(field, list)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

pub fn message() -> Message {
    Message::default()
}

/// An instruction word.
#[derive(Clone, Copy)]
pub struct Word(pub [u8; 64]);

impl Word {
    pub fn new(opcode: u8) -> Word {
        let mut bytes = [0; 64];
        bytes[0] = opcode;
        bytes[1] = 0x10;
        Word(bytes)
    }

    pub fn set(mut self, at: usize, bytes: &[u8]) -> Word {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub fn notify(number: u8) -> Word {
        Word::new(0xa6).set(36, &[number]).set(39, &[1])
    }

    /// Waits until a semaphore is at least `value`.
    pub fn waiting(self, semaphore: u8, value: u32) -> Word {
        self.set(4, &[5, semaphore]).set(8, &value.to_le_bytes())
    }

    /// One fp32 row of 128 elements multiplied by what was loaded, into a PSUM address.
    pub fn matmul(flags: u8, psum: u32) -> Word {
        let pattern = |address: u32| {
            let mut bytes = address.to_le_bytes().to_vec();
            bytes.extend([1, 0, 0, 0, 0, 0, 128, 0, 1, 0, 1, 0]);
            bytes
        };
        let word = Word::new(0x02).set(16, &pattern(0x4000)).set(32, &[10]).set(38, &[128, 128]);
        word.set(43, &[flags]).set(48, &pattern(psum))
    }

    /// A `DMA_DIRECT2D` of 128 elements of 256 bytes from device memory to the state buffer.
    pub fn direct2d(semaphore: u8) -> Word {
        let steps = |a: u32, b: u32| [a.to_le_bytes(), b.to_le_bytes()].concat();
        let word = Word::new(0xb8).set(13, &[semaphore, 16]).set(16, &0x8000_0000_1000_u64.to_le_bytes());
        let word = word.set(24, &steps(256, 1)).set(32, &[128, 0, 1, 0]).set(36, &256_u16.to_le_bytes());
        let word = word.set(40, &0x8020_0000_4000_u64.to_le_bytes()).set(48, &steps(262_144, 1));
        word.set(56, &[128, 0, 1, 0]).set(60, &256_u16.to_le_bytes()).set(62, &[10, 10])
    }

    /// A trigger of a static block.
    pub fn trigger(queue: &str, block: u32) -> Word {
        Word::new(0xc1).set(12, queue.as_bytes()).set(48, &block.to_le_bytes())
    }
}

/// A record: eight bytes and a counter.
pub fn record(content: [u8; 8], counter: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&content);
    bytes[8..].copy_from_slice(&counter.to_le_bytes());
    bytes
}

/// A DMA queue: engine, ring, class, name, blocks with their packets.
pub type Queue = (u64, u64, u64, &'static str, Vec<(u64, u64)>);

/// What one core ran and recorded. Engines are numbered Tensor, Scalar, GpSimd, Vector, Sync.
#[derive(Clone, Default)]
pub struct Core {
    pub name: &'static str,
    pub index: u64,
    pub code: [Vec<Word>; 5],
    /// Per engine: byte offset, count, kind.
    pub patches: [Vec<(u64, u64, u64)>; 5],
    pub instructions: Vec<[u8; 16]>,
    pub sync: Vec<[u8; 16]>,
    pub dma: Vec<[u8; 16]>,
    pub throttle: Vec<[u8; 16]>,
    pub queues: Vec<Queue>,
    /// Numerator and denominator of the engines' clocks; identity where absent.
    pub clock: Option<(u64, u64, u64)>,
    pub duration_ps: u64,
}

/// Where the code of an engine is loaded.
fn load_address(engine: usize) -> u64 {
    0x10_0000 * (engine as u64 + 1)
}

impl Core {
    /// Records an executed instruction.
    pub fn ran(&mut self, engine: usize, index: u64, start: u64, end: u64) {
        let place = load_address(engine) / 64 + index;
        let head = |kind: u8| {
            let place = (place & 0xf_ffff).to_le_bytes();
            [place[0], place[1], place[2], 0x80 | (engine as u8 + 1) << 2 | kind]
        };
        let [a, b, c, d] = head(0);
        self.instructions.push(record([a, b, c, d, 0, 0, 12, 0], start));
        let [a, b, c, d] = head(1);
        self.instructions.push(record([a, b, c, d, 0x34, 0x12, 0xff, 0xff], end));
    }

    /// Records a packet: start, end of transfer, acknowledgement.
    pub fn packet(&mut self, engine: u8, ring: u8, bytes: u32, start: u64) {
        let size = bytes.to_le_bytes();
        let tick = self.clock.map_or(1, |(_, num, den)| den / num);
        for (kind, time) in [(1, start), (5, start + 20_000 / tick), (6, start + 90_000 / tick)] {
            let content = [size[0], size[1], size[2], 0x80 | engine, ring << 4 | kind, 0, 0xcd, 0xab];
            self.dma.push(record(content, time));
        }
    }

    /// Records a semaphore update by a source (engine + 1, 6 external).
    pub fn semaphore(&mut self, id: u8, value: u32, source: u8, lost: bool, time: u64) {
        let value = value.to_le_bytes();
        let kind = 0x83 | source << 2 | if lost { 0x40 } else { 0 };
        self.sync.push(record([id, 1, 0xf3, kind, value[0], value[1], value[2], value[3]], time));
    }
}

/// A trace: its version, its cores and, from version 6 on, its executions.
#[derive(Clone, Default)]
pub struct Trace {
    pub version: u8,
    pub uuid: [u8; 16],
    pub instance_type: &'static str,
    /// The program; `fixture.neff` where empty.
    pub neff_name: &'static str,
    /// The machine; `i-secret` where empty.
    pub instance_id: &'static str,
    pub cores: Vec<Core>,
    pub execution: Option<(u64, u64)>,
    /// Further executions, each with the program that ran.
    pub more_executions: Vec<([u8; 16], u64, u64)>,
}

impl Trace {
    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut data: Vec<u8> = vec![];
        let mut nodes = message();
        let mut top_sections = vec![];
        for core in &self.cores {
            let (core, sections) = self.core(core, &mut data);
            nodes = nodes.message(1, core);
            top_sections.extend(sections);
        }
        let version = |a, b, c, hash| message().number(1, a).number(2, b).number(3, c).text(5, hash);
        let mut uuid = self.uuid.to_vec();
        uuid.extend(b"left over");
        let mut top = message()
            .text(1, if self.neff_name.is_empty() { "fixture.neff" } else { self.neff_name })
            .bytes(2, &uuid)
            .number(3, 10_001)
            .message(4, message().message(4, nodes))
            .number(5, self.cores.len() as u64)
            .message(8, version(2, 30, 51, "faafe12"))
            .text(9, self.instance_type)
            .message(11, version(2, 26, 0, ""));
        let first = self.execution.map(|(start, end)| (self.uuid, start, end));
        for (uuid, start, end) in first.into_iter().chain(self.more_executions.iter().copied()) {
            top = top.message(15, message().bytes(1, &uuid).number(2, start).number(3, end));
        }
        for section in top_sections {
            top = top.message(16, section);
        }
        let instance = if self.instance_id.is_empty() { "i-secret" } else { self.instance_id };
        top = top.text(17, instance).number(18, 4242);
        let mut file = vec![self.version];
        file.extend(&(top.0.len() as u64).to_le_bytes()[..7]);
        file.resize(128, 0xee);
        file.extend(&top.0);
        file.extend(&data);
        file
    }

    fn core(&self, core: &Core, data: &mut Vec<u8>) -> (Message, Vec<Message>) {
        let inline = self.version < 6;
        let mut built = message().text(1, core.name).number(3, core.index);
        for (engine, words) in core.code.iter().enumerate() {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.0).collect();
            let code = message().number(1, engine as u64).number(2, load_address(engine));
            let code = match inline {
                true => code.bytes(3, &bytes),
                false => code.number(7, data.len() as u64).number(8, bytes.len() as u64),
            };
            if !inline {
                data.extend(&bytes);
            }
            built = built.message(4, code);
            let mut map = message().number(1, engine as u64);
            for (at, count, kind) in &core.patches[engine] {
                map = map.message(2, message().number(1, *at).number(2, *count).number(3, *kind));
            }
            built = built.message(5, map);
        }
        let mut sections = vec![];
        for (kind, records) in [(0, &core.instructions), (1, &core.sync), (4, &core.dma), (5, &core.throttle)] {
            let section = message().number(1, kind).number(5, data.len() as u64).number(6, 16 * records.len() as u64);
            data.extend(records.iter().flatten());
            match inline {
                true => built = built.message(6, section),
                false => sections.push(section.number(7, core.index)),
            }
        }
        for (engine, ring, class, name, blocks) in &core.queues {
            let mut queue = message().number(1, *engine).number(2, *ring).number(3, *class).text(4, name).number(7, 2);
            for (id, packets) in blocks {
                queue = queue.message(8, message().number(1, *id).number(2, *packets));
            }
            built = built.message(7, queue);
        }
        if let Some((base, num, den)) = core.clock {
            let clock = message().number(1, base).number(2, num).number(3, den);
            let clocks = (1..=5).fold(message(), |clocks, field| clocks.message(field, clock.clone()));
            built = built.message(10, clocks.message(8, clock));
        }
        built = built.message(11, message().number(1, 0).number(2, 4096).text(3, "generic"));
        (built.number(14, core.duration_ps), sections)
    }
}

/// A NEFF of the given members.
pub fn neff(uuid: [u8; 16], members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(vec![]);
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    gzip.write_all(&tar.into_inner().unwrap()).unwrap();
    let payload = gzip.finish().unwrap();
    let mut header = vec![0; 1024];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &2_u64.to_le_bytes());
    put(8, &1024_u64.to_le_bytes());
    put(0x10, &(payload.len() as u64).to_le_bytes());
    put(0x18, &2_u64.to_le_bytes());
    put(0xcc, &uuid);
    put(0xdc, b"fixture.neff");
    put(0x1dc, &1_u32.to_le_bytes());
    put(0x220, &0xc00_u64.to_le_bytes());
    put(0x228, &1_u32.to_le_bytes());
    header.extend(payload);
    header
}

/// An entry of a debug level.
pub fn entry(id: u64, name: &str, parents: &[u64], dependencies: &[(u64, u8)]) -> Message {
    let (ids, types): (Vec<u64>, Vec<u8>) = dependencies.iter().copied().unzip();
    message().number(1, id).text(2, name).packed(3, parents).packed(4, &ids).bytes(9, &types)
}

/// A debug level.
pub fn level(entries: impl IntoIterator<Item = Message>) -> Vec<u8> {
    entries.into_iter().fold(message().text(1, "fixture"), |level, entry| level.message(3, entry)).0
}
