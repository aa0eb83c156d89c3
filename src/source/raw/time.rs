//! The zero of time, and what lies within the measured execution.

use super::rows::Times;
use crate::source::ntff::{Core, Executed, Ntff, Place};

/// What a `NOTIFY` at the start of an execution carries.
const STARTS: u8 = 2;
/// Up to version 5 the zero is not recorded; it lies this long after the start of the start marker, within 10 ns.
const MARKER_TO_ZERO_PS: i64 = 4_000;

/// The zero of time of a file, and the measured executions per core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Timebase {
    /// The zero, in the capture's picoseconds.
    pub zero_ps: i64,
    /// How the zero is known.
    pub origin: &'static str,
    /// The executions of each core, relative to the zero.
    pub executions: Vec<Vec<Times>>,
}

impl Timebase {
    /// Finds the zero: recorded in the file, or else the start marker of the first core.
    pub fn new(ntff: &Ntff, instructions: &[&[Executed]]) -> Timebase {
        if let Some(first) = ntff.executions.first() {
            let zero_ps = first.start_ps;
            let relative = |time: i64| time.saturating_sub(zero_ps);
            let executions = ntff.executions.iter();
            let executions: Vec<_> =
                executions.map(|e| Times { start_ps: relative(e.start_ps), end_ps: relative(e.end_ps) }).collect();
            return Timebase {
                zero_ps,
                origin: "recorded in the capture",
                executions: vec![executions; ntff.cores.len()],
            };
        }
        let markers = ntff.cores.iter().zip(instructions).map(|(core, rows)| start_marker(ntff, core, rows));
        let starts: Vec<_> = markers.map(|marker| marker.map(|time| time.saturating_add(MARKER_TO_ZERO_PS))).collect();
        let marked = starts.iter().flatten().next().copied();
        let first = instructions.iter().flat_map(|rows| rows.iter().map(|row| row.start_ps)).min();
        let zero_ps = marked.or(first).unwrap_or(0);
        // Cores start one after the other, but the vendor measures from the first start to the last end on all of them.
        let ends = ntff
            .cores
            .iter()
            .zip(&starts)
            .map(|(core, start)| start.unwrap_or(zero_ps).saturating_sub(zero_ps).saturating_add(core.duration_ps));
        let execution = Times { start_ps: 0, end_ps: ends.max().unwrap_or(0) };
        Timebase {
            zero_ps,
            origin: match marked {
                Some(_) => "the start marker, within about 10 ns",
                None => "the first record, for want of a start marker",
            },
            executions: vec![vec![execution]; ntff.cores.len()],
        }
    }

    /// A time relative to the zero.
    pub fn relative(&self, picoseconds: i64) -> i64 {
        picoseconds.saturating_sub(self.zero_ps)
    }

    /// Whether something lies, at least partly, outside every execution of a core.
    pub fn outside(&self, core: usize, times: Times) -> bool {
        let within = |execution: &Times| execution.start_ps <= times.start_ps && times.end_ps <= execution.end_ps;
        !self.executions.get(core).is_some_and(|executions| executions.iter().any(within))
    }
}

/// The start of the first start marker, in the capture's picoseconds.
fn start_marker(ntff: &Ntff, core: &Core, rows: &[Executed]) -> Option<i64> {
    let is_marker = |row: &&Executed| match row.place {
        Place::Code(index) => ntff.word(core, row.engine, index).and_then(|word| word.notification()) == Some(STARTS),
        Place::Outside(_) => false,
    };
    rows.iter().filter(is_marker).map(|row| row.start_ps).min()
}
