//! Operand text in the vendor's notation, so that what people read here is what they search for there.

use std::borrow::Cow;

use super::sync::{update_text, wait_text};
use super::{AccessPattern, SemaphoreNames, Update, Wait, Word, dtype_name, op, ui_queue_name};

/// A static DMA block that a `PSEUDO_DMA_TRIGGER` starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TriggeredBlock {
    /// Raw name of the queue.
    pub queue: String,
    /// Number of the block in that queue.
    pub block: u32,
}

/// One end of a strided transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DmaEnd {
    /// A device address.
    Address(u64),
    /// An entry of the graph's descriptor table and an offset into it, in bytes.
    Table {
        /// Number of the entry.
        index: u8,
        /// Bytes from its start.
        offset: u32,
    },
    /// A variable of the graph and an offset into it, in bytes (compiled words only).
    Variable {
        /// The variable's id in the graph.
        id: u16,
        /// Bytes from its start.
        offset: u32,
    },
}

/// What a `DMA_DIRECT2D` or its compiled form moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaMove {
    /// Semaphore that each ring increments when its share is done.
    pub semaphore: u8,
    /// Total of those increments.
    pub increment: u8,
    /// Where the data comes from.
    pub source: DmaEnd,
    /// Where it goes.
    pub destination: DmaEnd,
    /// Bytes of a source element; the unit that [`DmaMove::source_counts`] counts.
    pub source_element: u16,
    /// Bytes of a destination element.
    pub destination_element: u16,
    /// Bytes between source elements, per dimension.
    pub source_steps: [u32; 2],
    /// Bytes between destination elements, per dimension.
    pub destination_steps: [u32; 2],
    /// Source elements per dimension.
    pub source_counts: [u16; 2],
    /// Destination elements per dimension.
    pub destination_counts: [u16; 2],
}

impl DmaMove {
    /// Bytes read.
    pub fn read_bytes(&self) -> u64 {
        u64::from(self.source_counts[0]) * u64::from(self.source_counts[1]) * u64::from(self.source_element)
    }

    /// Bytes written.
    pub fn write_bytes(&self) -> u64 {
        u64::from(self.destination_counts[0])
            * u64::from(self.destination_counts[1])
            * u64::from(self.destination_element)
    }
}

impl Word<'_> {
    /// The activation function's name (`ACTIVATE` only), `fnN` where it is not known.
    pub fn activation(self) -> Option<Cow<'static, str>> {
        (self.opcode() == op::ACTIVATE).then(|| match self.u8(35) {
            7 => Cow::Borrowed("EXP"),
            other => Cow::Owned(format!("fn{other}")),
        })
    }

    /// The static block that a `PSEUDO_DMA_TRIGGER` starts.
    pub fn triggered_block(self) -> Option<TriggeredBlock> {
        (self.opcode() == op::PSEUDO_DMA_TRIGGER).then(|| {
            let name = self.0[12..48].split(|byte| *byte == 0).next().unwrap_or_default();
            TriggeredBlock { queue: String::from_utf8_lossy(name).into_owned(), block: self.u32(48) }
        })
    }

    /// What a `DMA_DIRECT2D`, or the compiled word that becomes one, moves.
    pub fn dma_move(self) -> Option<DmaMove> {
        let compiled = match self.opcode() {
            op::DMA_DIRECT2D => false,
            op::PSEUDO_DMA_DIRECT2D => true,
            _ => return None,
        };
        let end = |at: usize| {
            if self.u8(at + 7) & 0x20 != 0 {
                DmaEnd::Table { index: self.u8(at + 4), offset: self.u32(at) }
            } else if compiled {
                DmaEnd::Variable { id: self.u16(at + 4), offset: self.u32(at) }
            } else {
                DmaEnd::Address(self.u64(at))
            }
        };
        Some(DmaMove {
            semaphore: self.u8(13),
            increment: self.u8(14),
            source: end(16),
            destination: end(40),
            source_element: self.u16(36),
            destination_element: self.u16(60),
            source_steps: [self.u32(24), self.u32(28)],
            destination_steps: [self.u32(48), self.u32(52)],
            source_counts: [self.u16(32), self.u16(34)],
            destination_counts: [self.u16(56), self.u16(58)],
        })
    }

    /// The operands as the vendor's viewer writes them, single-spaced; `None` where the layout is not established.
    pub fn operands(self, names: &SemaphoreNames) -> Option<String> {
        let text = self.body(names)?;
        let mut parts = vec![];
        if self.u8(4) != 0 {
            parts.push(wait_text(Wait { mode: self.u8(4), id: self.u8(5), value: self.u32(8) }, names, false));
        }
        if self.u8(6) != 0 {
            parts.push(update_text(Update { mode: self.u8(6), id: self.u8(7), value: 1 }, names, false));
        }
        if !text.is_empty() {
            parts.push(text);
        }
        Some(parts.join(" "))
    }

    fn body(self, names: &SemaphoreNames) -> Option<String> {
        let dtype = |at: usize| dtype_name(self.u8(at));
        Some(match self.opcode() {
            op::LDWEIGHTS | op::MATMUL => self.matrix_text(),
            op::ACTIVATE => format!(
                "{} bias_ptr={}@0x{:x} src={}@{} dst={}@{} channels={} scale={:.6} imm={:.6} accumulator_cmd=IDLE",
                self.activation()?,
                dtype_name(self.u8(32) >> 4),
                self.u32(40),
                dtype_name(self.u8(32) & 15),
                self.pattern::<3>(16),
                dtype(33),
                self.pattern::<3>(48),
                self.u8(34),
                self.f32(36),
                self.f32(44),
            ),
            0x23 => format!("table_sel={}", self.u8(12)),
            0x41 => format!(
                "op={} src0={}@{} src1={}@{} dst={}@{} channels={}",
                alu_name(self.u8(14)),
                dtype_name(self.u8(12) & 15),
                self.pattern::<3>(16),
                dtype_name(self.u8(12) >> 4),
                self.pattern::<3>(32),
                dtype(13),
                self.pattern::<3>(48),
                self.u8(15),
            ),
            0x42 => format!(
                "op={} dim={} {}{}",
                alu_name(self.u8(36)),
                if self.u8(37) == 2 { Cow::Borrowed("X") } else { Cow::Owned(format!("dim{}", self.u8(37))) },
                if self.u8(35) == 0 { String::new() } else { format!("negated={} ", self.u8(35)) },
                self.unary_text(),
            ),
            0x43 => self.tensor_scalar_text(),
            0x46..=0x48 => self.unary_text(),
            0x49 => {
                let fp32 = self.u8(32) == 10;
                let value = if fp32 { general(self.f32(40)) } else { format!("0x{:x}", self.u32(40)) };
                format!("value={value} dst={}@{} channels={}", dtype(32), self.pattern::<4>(44), self.u8(34))
            }
            op::EVENT_SEMAPHORE => self.event_text(names),
            0xa2 => String::new(),
            0xa4 => format!("cycle={}", self.u32(12)),
            op::WRITE => {
                let both = self.u8(13) != 0;
                let pair = |at: usize| match both {
                    true => format!("0x{:x},0x{:x}", self.u64(at), self.u64(at + 8)),
                    false => format!("0x{:x}", self.u64(at)),
                };
                let sizes = if both { format!("{},{}", self.u8(12), self.u8(13)) } else { self.u8(12).to_string() };
                format!("data={} size={sizes} dst={}", pair(32), pair(16))
            }
            op::NOTIFY => {
                let kind = if self.u8(39) == 1 { "EXPLICIT".to_owned() } else { format!("kind{}", self.u8(39)) };
                format!("hint={} notification={kind} trace=START", self.u8(36))
            }
            0xa9 => self.branch_text()?,
            0xaa => self.load_text()?,
            0xb0 => {
                let mode = if self.u8(12) == 1 { "SEMAPHORE_ZERO".to_owned() } else { format!("mode{}", self.u8(12)) };
                format!("mode={mode} first={} last={}", self.u8(13), self.u8(14))
            }
            0xb1 => {
                let mode = match self.u8(12) {
                    0 => "relaxed".to_owned(),
                    1 => "strict".to_owned(),
                    other => other.to_string(),
                };
                format!("ordering_mode={mode}")
            }
            op::DMA_DIRECT2D | op::PSEUDO_DMA_DIRECT2D => self.dma_text()?,
            op::PSEUDO_DMA_TRIGGER => {
                let started = self.triggered_block()?;
                format!("{} block_id={}", ui_queue_name(&started.queue), started.block)
            }
            _ => return None,
        })
    }

    /// `LDWEIGHTS` and `MATMUL`. fp32 is multiplied in passes over its low and high halves.
    fn matrix_text(self) -> String {
        let pass = match self.u8(33) {
            0 => String::new(),
            1 => "fp32_mode=LOW ".to_owned(),
            2 => "fp32_mode=HIGH ".to_owned(),
            3 => "fp32_mode=LOW_HIGH ".to_owned(),
            other => format!("fp32_mode=m{other} "),
        };
        let source = format!("src={}@{}", dtype_name(self.u8(32)), self.pattern::<3>(16));
        let (rows, columns) = (self.u8(38), self.u8(39));
        if self.opcode() == op::LDWEIGHTS {
            let mode = if self.loads_transposed() { "ENABLED" } else { "DISABLED" };
            return format!("{pass}transpose_mode={mode} {source} {rows}*{columns}");
        }
        format!("acc_flags={} {pass}{source} dst={} {rows}*{columns}", self.u8(43), self.pattern::<3>(48))
    }

    /// One source, one destination, four dimensions.
    fn unary_text(self) -> String {
        format!(
            "src={}@{} dst={}@{} channels={}",
            dtype_name(self.u8(32)),
            self.pattern::<4>(12),
            dtype_name(self.u8(33)),
            self.pattern::<4>(44),
            self.u8(34)
        )
    }

    fn tensor_scalar_text(self) -> String {
        let pointer = |bit: u8| self.u8(35) >> bit & 1 != 0;
        let value = |bit: u8, at: usize| match pointer(bit) {
            true => format!("0x{:x}", self.u32(at)),
            false => general(self.f32(at)),
        };
        let origin = |bit: u8| if pointer(bit) { "PTR" } else { "INSTRUCTION" };
        format!(
            "ops={},{} imm={},{} imm_src={},{} src={}@{} dst={}@{} channels={}",
            alu_name(self.u8(36)),
            alu_name(self.u8(37)),
            value(0, 40),
            value(1, 44),
            origin(0),
            origin(1),
            dtype_name(self.u8(32)),
            self.pattern::<3>(16),
            dtype_name(self.u8(33)),
            self.pattern::<3>(48),
            self.u8(34)
        )
    }

    fn event_text(self, names: &SemaphoreNames) -> String {
        // Barriers of the runtime carry only the second block; the viewer prints those semaphores without a name.
        let plain = self.u8(4) == 0;
        let mut parts = vec![format!("setter={}", self.u8(12))];
        if self.u8(32) != 0 {
            let wait = Wait { mode: self.u8(32), id: self.u8(33), value: self.u32(36) };
            parts.push(wait_text(wait, names, plain));
        }
        if self.u8(34) != 0 {
            let update = Update { mode: self.u8(34), id: self.u8(35), value: self.u32(40) };
            parts.push(update_text(update, names, plain));
        }
        parts.join(" ")
    }

    fn branch_text(self) -> Option<String> {
        let label = self.u32(48);
        match (self.u8(12), self.u8(14)) {
            (0, 3) => {
                let hint = if self.u8(3) == 0 { String::new() } else { format!(" debugHint={}", self.u8(3)) };
                Some(format!("cmp_op=ALWAYS label_id={label}{hint}"))
            }
            (3, 3) => Some(format!(
                "cmp_op=EQ dtype={} cmp0=$R[{}] cmp1={} label_id={label}",
                dtype_name(self.u8(13)),
                self.u8(16),
                self.u32(32)
            )),
            _ => None,
        }
    }

    fn load_text(self) -> Option<String> {
        let (rows, columns) = (usize::from(self.u8(14)), usize::from(self.u8(15)));
        let registers = self.0[32..].get(..rows * columns).filter(|list| list.len() <= 16)?;
        let registers: Vec<_> = registers.iter().map(|number| format!("$R[{number}]")).collect();
        Some(format!(
            "addr={}@0x{:x}[{},{}][{rows},{columns}] data={}",
            dtype_name(self.u8(12)),
            self.u64(16),
            self.u16(24),
            self.u16(26),
            registers.join(",")
        ))
    }

    fn dma_text(self) -> Option<String> {
        let moved = self.dma_move()?;
        let compiled = self.opcode() == op::PSEUDO_DMA_DIRECT2D;
        let end = |side: &str, end: DmaEnd| match end {
            DmaEnd::Address(address) => format!("{side}_addr_imm=0x{address:x} {side}_shape_reg=0"),
            DmaEnd::Variable { id, offset } => {
                format!("{side}_var_id={id} {side}_var_offset={offset} {side}_shape_reg=0")
            }
            DmaEnd::Table { index, offset } => {
                let offset = if compiled { offset.to_string() } else { format!("0x{offset:x}") };
                format!("{side}_table_offset_imm={offset} {side}_table_index={index} {side}_shape_reg=0")
            }
        };
        let pattern =
            |steps: [u32; 2], counts: [u16; 2]| format!("[{},{}][{},{}]", steps[0], steps[1], counts[0], counts[1]);
        let types = match (self.u8(62), self.u8(63)) {
            (a, b) if a != b => format!(" in_dtype={} out_dtype={}", dtype_name(a), dtype_name(b)),
            _ => String::new(),
        };
        Some(format!(
            "{}semaphore={} sem_increment={} src_elem_size={} dst_elem_size={} src_pattern={} dst_pattern={} {} {}{types}{}",
            if compiled { "dge_op=DIRECT2D " } else { "" },
            moved.semaphore,
            moved.increment,
            moved.source_element,
            moved.destination_element,
            pattern(moved.source_steps, moved.source_counts),
            pattern(moved.destination_steps, moved.destination_counts),
            end("src", moved.source),
            end("dst", moved.destination),
            if compiled { "" } else { " compute_op=NONE" },
        ))
    }
}

impl<const N: usize> std::fmt::Display for AccessPattern<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |items: Vec<String>| items.join(",");
        write!(
            f,
            "0x{:x}[{}][{}]",
            self.address,
            list(self.steps.iter().map(i16::to_string).collect()),
            list(self.counts.iter().map(u16::to_string).collect())
        )
    }
}

fn alu_name(number: u8) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        0 => "BYPASS",
        4 => "ADD",
        6 => "MULTIPLY",
        8 => "MAX",
        other => return Cow::Owned(format!("op{other}")),
    })
}

/// A number in C's `%g`: six significant digits without trailing zeros, an exponent where it is far from 1.
fn general(value: f32) -> String {
    if !value.is_finite() || value == 0.0 {
        return value.to_string().to_lowercase();
    }
    let scientific = format!("{:.5e}", f64::from(value));
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return trim(&format!("{:.decimals$}", f64::from(value)));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_c_prints_them() {
        for (value, text) in
            [(0.0, "0"), (1.0, "1"), (0.125, "0.125"), (1e-5, "1e-05"), (1234567.0, "1.23457e+06"), (-2.5, "-2.5")]
        {
            assert_eq!(general(value), text);
        }
        assert_eq!(general(f32::INFINITY), "inf");
        assert_eq!(general(f32::NAN), "nan");
    }

    #[test]
    fn no_word_panics() {
        let names = SemaphoreNames::default();
        for opcode in 0..=255 {
            for fill in [0, 1, 0x7f, 0xff] {
                let mut bytes = [fill; super::super::WORD_BYTES];
                bytes[0] = opcode;
                let word = Word(&bytes);
                let _ = (word.operands(&names), word.work(), word.sync(), word.dma_move());
            }
        }
    }
}
