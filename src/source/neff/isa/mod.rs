//! The instruction words of a NeuronCore: 64 bytes each, of which byte 0 is the opcode.
//!
//! The layouts were worked out from public captures and the vendor's own decode of them; what is not established there
//! is not guessed at: an unknown opcode is `OP_0xNN`, an unknown function `fnN`, an unknown operation `opN`.

mod access;
mod operands;
mod sync;

pub use access::{Access, AccessPattern, Space, Work};
pub use operands::{DmaEnd, DmaMove, TriggeredBlock};
pub use sync::{SemaphoreNames, SyncUse, Update, Wait};

use std::borrow::Cow;

use crate::model::Engine;

/// Bytes of one instruction word.
pub const WORD_BYTES: usize = 64;

/// How raw files number and name the engines.
pub trait NumberedEngine: Sized {
    /// All engines, in the order in which captures number them.
    const NUMBERED: [Engine; 5];
    /// The engine's number in a capture, 0 to 4.
    fn number(self) -> usize;
    /// The engine with a number of a capture; `None` above 4.
    fn from_number(number: u64) -> Option<Self>;
    /// The name that NEFF members use, such as `Pool`.
    fn stem(self) -> &'static str;
}

impl NumberedEngine for Engine {
    const NUMBERED: [Engine; 5] = [Engine::Tensor, Engine::Scalar, Engine::GpSimd, Engine::Vector, Engine::Sync];

    fn number(self) -> usize {
        match self {
            Engine::Tensor => 0,
            Engine::Scalar => 1,
            Engine::GpSimd => 2,
            Engine::Vector => 3,
            Engine::Sync => 4,
        }
    }

    fn from_number(number: u64) -> Option<Engine> {
        Engine::NUMBERED.get(usize::try_from(number).ok()?).copied()
    }

    fn stem(self) -> &'static str {
        ["PE", "Activation", "Pool", "DVE", "SP"][self.number()]
    }
}

/// Opcodes whose names are established. `MEMSET` is likely only: the vendor's output never showed it.
const OPCODES: [(u8, &str); 23] = [
    (0x01, "LDWEIGHTS"),
    (0x02, "MATMUL"),
    (0x21, "ACTIVATE"),
    (0x23, "ACT_TABLE_LOAD"),
    (0x41, "TENSOR_TENSOR"),
    (0x42, "TENSOR_REDUCE"),
    (0x43, "TENSOR_SCALAR"),
    (0x46, "COPY"),
    (0x47, "CAST"),
    (0x48, "RECIPROCAL"),
    (0x49, "MEMSET"),
    (0xa0, "EVENT_SEMAPHORE"),
    (0xa2, "DRAIN"),
    (0xa4, "NOP"),
    (0xa5, "WRITE"),
    (0xa6, "NOTIFY"),
    (0xa9, "COMPARE_BRANCH"),
    (0xaa, "TENSOR_LOAD"),
    (0xb0, "EVENT_SEMAPHORE_RANGE_CLEAR"),
    (0xb1, "SET_ORDERING_MODE"),
    (0xb8, "DMA_DIRECT2D"),
    (0xc1, "PSEUDO_DMA_TRIGGER"),
    (0xd4, "PSEUDO_DMA_DIRECT2D"),
];

/// The opcode bytes that the readers themselves look for.
pub mod op {
    /// Loads the stationary matrix.
    pub const LDWEIGHTS: u8 = 0x01;
    /// Multiplies by the stationary matrix.
    pub const MATMUL: u8 = 0x02;
    /// Applies an activation function.
    pub const ACTIVATE: u8 = 0x21;
    /// Waits for and updates semaphores and events.
    pub const EVENT_SEMAPHORE: u8 = 0xa0;
    /// Leaves a mark in the trace.
    pub const NOTIFY: u8 = 0xa6;
    /// Writes to memory or to a doorbell.
    pub const WRITE: u8 = 0xa5;
    /// Starts a strided transfer whose descriptors the hardware or GpSimd generates.
    pub const DMA_DIRECT2D: u8 = 0xb8;
    /// Starts a block of a static queue; becomes `WRITE` when loaded.
    pub const PSEUDO_DMA_TRIGGER: u8 = 0xc1;
    /// Becomes `DMA_DIRECT2D` when loaded.
    pub const PSEUDO_DMA_DIRECT2D: u8 = 0xd4;
}

/// One instruction word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Word<'a>(&'a [u8; WORD_BYTES]);

impl<'a> Word<'a> {
    /// The word in the first 64 bytes; `None` where fewer are left.
    pub fn new(bytes: &'a [u8]) -> Option<Word<'a>> {
        bytes.first_chunk().map(Word)
    }

    /// The words of a program in order; an odd tail is left out.
    pub fn all(code: &'a [u8]) -> impl ExactSizeIterator<Item = Word<'a>> {
        code.as_chunks().0.iter().map(Word)
    }

    /// The opcode byte.
    pub fn opcode(self) -> u8 {
        self.0[0]
    }

    /// The opcode's name, `OP_0xNN` where it is not known.
    pub fn name(self) -> Cow<'static, str> {
        match OPCODES.binary_search_by_key(&self.opcode(), |(op, _)| *op) {
            Ok(at) => Cow::Borrowed(OPCODES[at].1),
            Err(_) => Cow::Owned(format!("OP_0x{:02X}", self.opcode())),
        }
    }

    /// The raw bytes.
    pub fn bytes(self) -> &'a [u8; WORD_BYTES] {
        self.0
    }

    /// The raw bytes in lower-case hexadecimal.
    pub fn hex(self) -> String {
        use std::fmt::Write;
        self.0.iter().fold(String::with_capacity(2 * WORD_BYTES), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// The number of a `NOTIFY`: 2 where an execution starts, 3 where it ends.
    pub fn notification(self) -> Option<u8> {
        (self.opcode() == op::NOTIFY).then(|| self.u8(36))
    }

    /// Whether the stationary matrix is loaded transposed (`LDWEIGHTS` only).
    pub fn loads_transposed(self) -> bool {
        self.opcode() == op::LDWEIGHTS && self.u8(34) != 0
    }

    /// Whether a `MATMUL` starts a new accumulation (`Some(false)`: it adds to what is there). A word of 1 is start,
    /// 2 stop.
    pub fn starts_accumulation(self) -> Option<bool> {
        (self.opcode() == op::MATMUL).then(|| self.u8(43) & 1 != 0)
    }

    fn u8(self, at: usize) -> u8 {
        self.0[at]
    }

    fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn u32(self, at: usize) -> u32 {
        u32::from(self.u16(at)) | u32::from(self.u16(at + 2)) << 16
    }

    fn u64(self, at: usize) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }

    fn f32(self, at: usize) -> f32 {
        f32::from_bits(self.u32(at))
    }
}

/// A data type's number in the vendor's notation, `dtypeN` where its name is not known.
fn dtype_name(number: u8) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        6 => "bfloat16",
        7 => "float16",
        8 => "int32",
        9 => "uint32",
        10 => "fp32",
        other => return Cow::Owned(format!("dtype{other}")),
    })
}

/// Bytes of one element; 0 for a data type that is not known, so that nothing is made up from it.
fn dtype_bytes(number: u8) -> u64 {
    match number {
        6 | 7 => 2,
        8..=10 => 4,
        _ => 0,
    }
}

/// The vendor viewer's spelling of a queue name: `qSPIO0` is shown as `qSyncIO0`.
pub fn ui_queue_name(raw: &str) -> String {
    for (prefix, shown) in [("qSP", "qSync"), ("qPool", "qGpSimd"), ("qAct", "qScalar")] {
        if let Some(rest) = raw.strip_prefix(prefix) {
            return format!("{shown}{rest}");
        }
    }
    raw.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcode_names_are_sorted_and_unknown_ones_show_their_number() {
        assert!(OPCODES.is_sorted_by(|a, b| a.0 < b.0));
        let mut bytes = [0; WORD_BYTES];
        bytes[0] = 0x02;
        assert_eq!(Word(&bytes).name(), "MATMUL");
        bytes[0] = 0xcc;
        assert_eq!(Word(&bytes).name(), "OP_0xCC");
        assert!(Word(&bytes).hex().starts_with("cc00"));
        assert_eq!(Word::new(&bytes[..63]), None);
    }

    #[test]
    fn queue_names_follow_the_viewer() {
        assert_eq!(ui_queue_name("qSPDynamicHW"), "qSyncDynamicHW");
        assert_eq!(ui_queue_name("qPoolDynamic"), "qGpSimdDynamic");
        assert_eq!(ui_queue_name("qActTable"), "qScalarTable");
        assert_eq!(ui_queue_name("qDveTable"), "qDveTable");
    }
}
