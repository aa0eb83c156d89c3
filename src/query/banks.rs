//! Which PSUM banks an instruction uses, and which uses of a bank must follow each other.
//!
//! PSUM begins at 0x2000000 and has 16 KiB per partition in 8 banks of 2 KiB; banks of base partitions above 0 are
//! unverified. A later use depends on the use before it unless it continues the accumulation that the earlier one is
//! part of (Neuron Explorer, "Same PSUM Bank dependencies").

use serde::{Deserialize, Serialize};

/// First address of PSUM.
const BASE: i64 = 0x200_0000;
/// Bytes of PSUM in a partition.
const PARTITION: i64 = 16 << 10;
/// Bytes of a bank in a partition.
const BANK: i64 = 2 << 10;

/// How an instruction uses PSUM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BankUse {
    /// Banks it reads, one bit each.
    pub reads: u8,
    /// Banks it writes, one bit each.
    pub writes: u8,
    /// Whether it adds to what is there (a MATMUL whose flags do not begin an accumulation).
    pub continues: bool,
    /// Whether it is part of an accumulation (a MATMUL).
    pub accumulates: bool,
    /// First address written, to tell accumulations in one bank apart; 0 where unknown.
    pub target: u32,
}

impl BankUse {
    /// All banks it uses, one bit each.
    #[must_use]
    pub fn all(&self) -> u8 {
        self.reads | self.writes
    }
}

/// What the operands say of PSUM: `src=fp32@0x2000800[1,1,1,1][512,1,1,1] dst=0x2003000[1,0,0][512,1,1]`.
#[must_use]
pub fn parse(operands: &str) -> BankUse {
    let mut found = BankUse::default();
    for word in operands.split_ascii_whitespace() {
        let Some((name, value)) = word.split_once('=') else { continue };
        if let Some(flags) = (name == "acc_flags").then(|| value.parse::<u32>().ok()).flatten() {
            (found.accumulates, found.continues) = (true, flags & 1 == 0);
        }
        let write = name.starts_with("dst");
        if !write && !name.starts_with("src") {
            continue;
        }
        let Some((banks, address)) = region(value) else { continue };
        if write {
            found.writes |= banks;
            found.target = address;
        } else {
            found.reads |= banks;
        }
    }
    found
}

/// The banks of `fp32@0x2000800[1,1,1,1][512,1,1,1]`, and the address.
fn region(text: &str) -> Option<(u8, u32)> {
    let (dtype, place) = text.split_once('@').unwrap_or(("", text));
    let open = place.find('[').unwrap_or(place.len());
    let address = i64::from_str_radix(place[..open].strip_prefix("0x")?, 16).ok()?;
    // DMA addresses look alike, but lie far above.
    if !(BASE..BASE + 128 * PARTITION).contains(&address) {
        return None;
    }
    let mut lists = place[open..].split('[').skip(1).map(|list| {
        let inner = list.split(']').next().unwrap_or("");
        inner.split(',').map(|n| n.trim().parse::<i64>().unwrap_or(0)).collect::<Vec<_>>()
    });
    let (steps, counts) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
    // What accumulates is fp32.
    let element = element_bytes(dtype).unwrap_or(4);
    let (mut low, mut high) = (0i64, 0i64);
    for (step, count) in steps.iter().zip(&counts) {
        let reach = step.saturating_mul((count - 1).max(0)).saturating_mul(element);
        low = low.saturating_add(reach.min(0));
        high = high.saturating_add(reach.max(0));
    }
    let inside = (address - BASE) % PARTITION;
    let bank = |offset: i64| offset.clamp(0, PARTITION - 1) / BANK;
    let (first, last) =
        (bank(inside.saturating_add(low)), bank(inside.saturating_add(high).saturating_add(element - 1)));
    Some(((first..=last).fold(0, |mask, bank| mask | 1 << bank), address as u32))
}

fn element_bytes(dtype: &str) -> Option<i64> {
    let digits: String = dtype.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    match digits.parse::<i64>().ok()? {
        bits @ (8 | 16 | 32 | 64) => Some(bits / 8),
        _ => None,
    }
}

/// The banks in which `later`, being the next use after `earlier`, must follow it, one bit each.
#[must_use]
pub fn linked(earlier: &BankUse, later: &BankUse) -> u8 {
    let shared = earlier.all() & later.all();
    let written = shared & (earlier.writes | later.writes);
    let same = earlier.target == later.target || earlier.target == 0 || later.target == 0;
    if later.continues && earlier.accumulates && same { 0 } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_come_from_operands() {
        let of = |operands| {
            let found = parse(operands);
            (found.reads, found.writes)
        };
        assert_eq!(of("src=bf16@0x1c000[1,0,0][128,1,1] dst=0x2003000[1,0,0][512,1,1]"), (0, 1 << 6));
        assert_eq!(of("src=fp32@0x2000800[1,1,1,1][512,1,1,1] dst=fp32@0x4000[1,1,1,1][512,1,1,1]"), (1 << 1, 0));
        assert_eq!(of("dst=fp32@0x2000400[1][512]"), (0, 0b11));
        assert_eq!(of("dst=bfloat16@0x2000800[1,1,1,1][128,1,1,1]"), (0, 1 << 1));
        assert_eq!(of("dst=0x80100252f038,0x80100250f038 src_addr_imm=0x802000026400 src=fp32@0x20000zz"), (0, 0));
        assert_eq!(of("src0=fp32@0x2003ff8[-512][2] src1=bfloat16@0x2000000[1][9999999999]"), (0xff, 0));
    }

    #[test]
    fn an_accumulation_goes_on_without_a_link() {
        let begin = parse("acc_flags=1 dst=0x2000000[1,0,0][512,1,1]");
        let more = parse("acc_flags=0 dst=0x2000000[1,0,0][512,1,1]");
        let last = parse("acc_flags=2 dst=0x2000000[1,0,0][512,1,1]");
        let read = parse("src=fp32@0x2000000[1,1,1][512,1,1]");
        assert_eq!([linked(&begin, &more), linked(&more, &last)], [0, 0]);
        assert_eq!(linked(&last, &read), 1);
        assert_eq!(linked(&read, &begin), 1);
        assert_eq!(linked(&read, &read), 0, "two that only read");
        assert_eq!(linked(&last, &begin), 1, "a new accumulation overwrites the old one");
        assert_eq!(linked(&begin, &parse("acc_flags=1 dst=0x2000800[1,0,0][512,1,1]")), 0, "another bank");
        assert_eq!(linked(&begin, &parse("acc_flags=0 dst=0x2000400[1,0,0][256,1,1]")), 1, "another accumulation");
    }
}
