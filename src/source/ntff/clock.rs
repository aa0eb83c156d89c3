//! From the counters of the engines to one common clock, in picoseconds.

use crate::model::Engine;
use crate::source::neff::isa::NumberedEngine;

use super::container::proto;

/// One counter: `common picoseconds = (counter - base) * den / num`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    base: u64,
    num: u64,
    den: u64,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { base: 0, num: 1, den: 1 }
    }
}

impl Clock {
    pub(super) fn new(message: Option<&proto::Clock>) -> Clock {
        let or_one = |value: u64| if value == 0 { 1 } else { value };
        message.map_or_else(Clock::default, |m| Clock { base: m.base, num: or_one(m.num), den: or_one(m.den) })
    }

    /// Common picoseconds of a counter; saturates.
    pub fn picoseconds(self, counter: u64) -> i64 {
        if self.is_identity() {
            return i64::try_from(counter).unwrap_or(i64::MAX);
        }
        let ticks = i128::from(counter) - i128::from(self.base);
        let common = ticks.saturating_mul(i128::from(self.den)).div_euclid(i128::from(self.num));
        common.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// Whether the counter is the common clock already.
    pub fn is_identity(self) -> bool {
        self.base == 0 && self.num == self.den
    }
}

/// The counters of one core.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clocks {
    engines: [Clock; 5],
    dma: Vec<Clock>,
}

impl Clocks {
    pub(super) fn new(message: Option<&proto::Clocks>) -> Clocks {
        let Some(message) = message else { return Clocks::default() };
        let m = message;
        let engines = [&m.pe, &m.activation, &m.pool, &m.dve, &m.sp].map(|clock| Clock::new(clock.as_ref()));
        Clocks { engines, dma: m.dma.iter().take(256).map(|clock| Clock::new(Some(clock))).collect() }
    }

    /// The clock of an engine's instruction records.
    pub fn engine(&self, engine: Engine) -> Clock {
        self.engines[engine.number()]
    }

    /// The clock of semaphore and event records.
    pub fn sync(&self) -> Clock {
        self.engine(Engine::Sync)
    }

    /// The clock of throttling records.
    pub fn throttle(&self) -> Clock {
        self.engine(Engine::Tensor)
    }

    /// The clock of a DMA engine, by its number within the core's sixteen.
    pub fn dma(&self, engine: u16) -> Clock {
        let last = self.dma.len().saturating_sub(1);
        self.dma.get(usize::from(engine % 16).min(last)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_picoseconds() {
        assert_eq!(Clock::default().picoseconds(7), 7);
        assert_eq!(Clock::default().picoseconds(u64::MAX), i64::MAX);
        let cycles = Clock { base: 100, num: 85, den: 100_000 };
        assert_eq!(cycles.picoseconds(185), 100_000);
        assert_eq!(cycles.picoseconds(99), -1177, "rounded down, also before the base");
        assert_eq!(Clock { base: u64::MAX, num: 1, den: u64::MAX }.picoseconds(0), i64::MIN);
    }
}
