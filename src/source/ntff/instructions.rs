//! Instruction records: a start and an end per executed instruction.

use super::container::{Core, Ntff, SectionKind};
use super::record::Record;
use crate::model::Engine;
use crate::source::neff::isa::NumberedEngine;

/// Records hold this many bits of an instruction's place.
const PLACE_BITS: u32 = 20;
const PLACE_MASK: u32 = (1 << PLACE_BITS) - 1;
/// The end of an instruction that had not ended when the capture did.
const OPEN: i64 = i64::MIN;

/// Where an executed instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// A word of the engine's code, by index.
    Code(u32),
    /// Runtime code that the file does not hold: the low 20 bits of its address, divided by 64.
    Outside(u32),
}

/// One executed instruction. Times are in common picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executed {
    /// Start.
    pub start_ps: i64,
    /// End.
    pub end_ps: i64,
    /// Which instruction.
    pub place: Place,
    /// Which engine.
    pub engine: Engine,
    /// The raw wait counter: cycles of the engine, 16 bits that wrap and go stale.
    pub wait: u16,
    /// Checksum of the inputs, 0xffff where there is none.
    pub crc_in: u16,
    /// Checksum of the outputs, likewise.
    pub crc_out: u16,
}

/// What the instruction records of a core say.
#[derive(Debug, Default)]
pub struct Executions {
    /// Instructions with both records, by engine and then in the order of their start records.
    pub finished: Vec<Executed>,
    /// Instructions that had started but not ended; their `end_ps` means nothing.
    pub unfinished: Vec<Executed>,
    /// Ends whose start is missing.
    pub lost_starts: u64,
    /// Starts whose end is missing although the same instruction started again.
    pub lost_ends: u64,
    /// Records that are none.
    pub invalid: u64,
}

/// The state of one engine while its records are read.
struct Lane {
    engine: Engine,
    events: Vec<Executed>,
    /// For each place modulo 2^20, the event that is open there, plus one.
    open: Vec<u32>,
    base: u32,
    words: u32,
    last: u32,
}

impl Lane {
    fn new(core: &Core, engine: Engine) -> Lane {
        let program = &core.programs[engine.number()];
        Lane {
            engine,
            events: vec![],
            open: vec![],
            base: (program.load_address / 64) as u32 & PLACE_MASK,
            words: u32::try_from(program.words()).unwrap_or(u32::MAX),
            last: 0,
        }
    }

    /// Programs of more than 2^20 words wrap; the place nearest to the last one is meant.
    fn place(&mut self, relative: u32) -> Place {
        if relative >= self.words {
            return Place::Outside((relative + self.base) & PLACE_MASK);
        }
        let mut index = relative;
        if self.words > 1 << PLACE_BITS {
            let lap = self.last & !PLACE_MASK;
            let candidates = [lap.checked_sub(1 << PLACE_BITS), Some(lap), lap.checked_add(1 << PLACE_BITS)];
            let candidates = candidates.into_iter().flatten().map(|lap| lap | relative);
            let nearest = candidates.filter(|at| *at < self.words).min_by_key(|at| at.abs_diff(self.last));
            index = nearest.unwrap_or(relative);
            self.last = index;
        }
        Place::Code(index)
    }

    fn relative(&self, place: Place) -> u32 {
        match place {
            Place::Code(index) => index & PLACE_MASK,
            Place::Outside(address) => address.wrapping_sub(self.base) & PLACE_MASK,
        }
    }

    fn slot(&mut self, relative: u32) -> &mut u32 {
        let at = relative as usize;
        if at >= self.open.len() {
            self.open.resize((at + 1).next_power_of_two(), 0);
        }
        &mut self.open[at]
    }
}

impl Ntff {
    /// Pairs the instruction records of a core. Linear in their number.
    pub fn instructions(&self, core: &Core) -> Executions {
        let mut found = Executions::default();
        let mut lanes = Engine::NUMBERED.map(|engine| Lane::new(core, engine));
        let clocks = Engine::NUMBERED.map(|engine| core.clocks.engine(engine));
        for record in self.sections(core, SectionKind::Instructions).flat_map(Record::all) {
            let number = usize::from(record.source()).wrapping_sub(1);
            let (Some(lane), true, kind @ (0 | 1)) = (lanes.get_mut(number), record.is_valid(), record.kind()) else {
                found.invalid += 1;
                continue;
            };
            let time = clocks[number].picoseconds(record.counter());
            let relative = (record.u24() & PLACE_MASK).wrapping_sub(lane.base) & PLACE_MASK;
            if kind == 0 {
                let place = lane.place(relative);
                let number = lane.events.len() as u32 + 1;
                lane.events.push(Executed {
                    start_ps: time,
                    end_ps: OPEN,
                    place,
                    engine: lane.engine,
                    wait: record.u16(6),
                    crc_in: 0,
                    crc_out: 0,
                });
                if std::mem::replace(lane.slot(relative), number) != 0 {
                    found.lost_ends += 1;
                }
            } else {
                let number = std::mem::take(lane.slot(relative));
                match (number as usize).checked_sub(1).and_then(|index| lane.events.get_mut(index)) {
                    Some(event) => {
                        event.end_ps = time;
                        event.crc_in = record.u16(4);
                        event.crc_out = record.u16(6);
                    }
                    None => found.lost_starts += 1,
                }
            }
        }
        for mut lane in lanes {
            for (index, event) in std::mem::take(&mut lane.events).into_iter().enumerate() {
                if event.end_ps != OPEN {
                    found.finished.push(event);
                } else if *lane.slot(lane.relative(event.place)) as usize == index + 1 {
                    found.unfinished.push(event);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_long_programs_follow_their_neighbours() {
        let lane = |words| Lane { engine: Engine::Tensor, events: vec![], open: vec![], base: 0, words, last: 0 };
        let mut long = lane(3 << PLACE_BITS);
        for index in [
            0, 500_000, 1_000_000, 1_100_000, 1_600_000, 2_097_151, 2_097_153, 2_096_000, 1_600_000, 1_100_000,
            1_048_575,
        ] {
            assert_eq!(long.place(index & PLACE_MASK), Place::Code(index));
        }
        let mut short = lane(100);
        assert_eq!(short.place(99), Place::Code(99));
        assert_eq!(short.place(100), Place::Outside(100));
    }
}
