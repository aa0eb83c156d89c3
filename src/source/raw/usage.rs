//! How full the state buffer and PSUM are.
//!
//! The vendor's model, worked out from its output: data is live from the start of the instruction that writes it to the
//! end of the last instruction that reads it before it is overwritten, or of the one that wrote it where none reads it.
//! Only regions that engines address directly count: what transfers bring in or take away, and scalars read through
//! pointers, do not; nor does a partial sum between two steps of its accumulation.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::RawCapture;
use super::rows::{RawInstruction, RawPsumUsage, RawSbufUsage, Times, nanoseconds};
use crate::source::neff::isa::Space;

/// Partitions of a core.
const PARTITIONS: u16 = 128;
/// Bytes of a PSUM bank.
const BANK: u32 = 2048;

/// What an instruction word reads or writes.
struct Region {
    partitions: Range<u16>,
    range: Range<u32>,
    write: bool,
}

/// The accesses of one core to one memory, in order. There are many of them, and few regions.
struct Accesses<'a> {
    instructions: &'a [RawInstruction],
    regions: &'a [Region],
    /// Which instruction accesses which region.
    made: Vec<(u32, u32)>,
}

impl Accesses<'_> {
    /// Ranges of partitions within which all accesses are the same.
    fn bands(&self) -> Vec<Range<u16>> {
        let mut used = vec![false; self.regions.len()];
        self.made.iter().for_each(|(_, region)| used[*region as usize] = true);
        let used = self.regions.iter().zip(used).filter(|(_, used)| *used);
        let cuts: BTreeSet<u16> =
            used.flat_map(|(region, _)| [region.partitions.start, region.partitions.end]).collect();
        let cuts: Vec<_> = cuts.into_iter().collect();
        cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Those to all of some partitions.
    fn within(&self, band: &Range<u16>) -> impl Iterator<Item = (Times, &Region)> {
        let all = self.made.iter().map(|(at, region)| (*at, &self.regions[*region as usize]));
        let own = all.filter(|(_, region)| region.partitions.start <= band.start && band.end <= region.partitions.end);
        own.map(|(at, region)| (self.instructions[at as usize].times, region))
    }
}

/// Bytes that are live for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Life {
    range: Range<u32>,
    times: Times,
}

/// Both tables. `partition_bytes` is the size of a state buffer partition.
pub(super) fn tables(capture: &RawCapture, partition_bytes: u32) -> (Vec<RawSbufUsage>, Vec<RawPsumUsage>) {
    let (regions, of_words) = regions(capture);
    let made = |space: Space| {
        let mut made: Vec<Vec<(u32, u32)>> = capture.cores.iter().map(|_| vec![]).collect();
        for (row, at) in capture.instructions.iter().zip(0..).filter(|(row, _)| !row.outside) {
            let own = of_words[row.word as usize].iter().filter(|(of, _)| *of == space);
            made[usize::from(row.pcore_idx)].extend(own.map(|(_, region)| (at, *region)));
        }
        let accesses = |made| Accesses { instructions: &capture.instructions, regions: &regions, made };
        made.into_iter().map(accesses).zip(0..)
    };
    let sbuf = made(Space::Sbuf).flat_map(|(accesses, core)| sbuf_usage(&accesses, core, partition_bytes)).collect();
    let psum = made(Space::Psum).flat_map(|(accesses, core)| psum_usage(&accesses, core)).collect();
    (sbuf, psum)
}

/// What words access, and for each word where that is. What a word overwrites, it read before.
fn regions(capture: &RawCapture) -> (Vec<Region>, Vec<Vec<(Space, u32)>>) {
    let mut regions = vec![];
    let of_words = capture.words.iter().map(|word| {
        let mut own = vec![];
        for write in [false, true] {
            let accesses = word.accesses.iter().filter(|access| !access.pointer && access.write == write);
            for access in accesses.filter(|access| !access.range.is_empty()) {
                own.push((access.space, regions.len() as u32));
                let partitions = access.partition..access.partition.saturating_add(access.partitions).min(PARTITIONS);
                regions.push(Region { partitions, range: access.range.clone(), write });
            }
        }
        own
    });
    let of_words = of_words.collect();
    (regions, of_words)
}

/// Which bytes of a partition are live when; lives of the same byte do not overlap.
fn lives<'a>(accesses: impl Iterator<Item = (Times, &'a Region)>) -> Vec<Life> {
    let mut live: BTreeMap<u32, (u32, Times)> = BTreeMap::new();
    let mut ended = vec![];
    for (at, region) in accesses {
        let range = &region.range;
        split(&mut live, range.start);
        split(&mut live, range.end);
        if region.write {
            let covered: Vec<u32> = live.range(range.clone()).map(|(start, _)| *start).collect();
            for start in covered {
                if let Some((end, mut times)) = live.remove(&start) {
                    times.end_ps = times.end_ps.min(at.start_ps);
                    ended.push(Life { range: start..end, times });
                }
            }
            live.insert(range.start, (range.end, at));
        } else {
            for (_, (_, times)) in live.range_mut(range.clone()) {
                times.end_ps = times.end_ps.max(at.end_ps);
            }
        }
    }
    ended.extend(live.into_iter().map(|(start, (end, times))| Life { range: start..end, times }));
    ended
}

/// Makes `at` a border between live ranges.
fn split(live: &mut BTreeMap<u32, (u32, Times)>, at: u32) {
    if let Some((_, (end, times))) = live.range_mut(..at).next_back()
        && *end > at
    {
        let rest = (std::mem::replace(end, at), *times);
        live.insert(at, rest);
    }
}

fn sbuf_usage(accesses: &Accesses<'_>, pcore_idx: u16, partition_bytes: u32) -> Vec<RawSbufUsage> {
    let bands = accesses.bands();
    // Time, band, change of its live bytes.
    let mut changes: Vec<(i64, usize, i64)> = vec![];
    for (band, partitions) in bands.iter().enumerate() {
        for life in lives(accesses.within(partitions)) {
            let bytes = life.range.len() as i64;
            changes.push((life.times.start_ps, band, bytes));
            changes.push((life.times.end_ps, band, -bytes));
        }
    }
    changes.sort_unstable();
    let mut bytes = vec![0_i64; bands.len()];
    let mut found: Vec<RawSbufUsage> = vec![];
    let size = f64::from(partition_bytes.max(1));
    for (index, (time, band, change)) in changes.iter().enumerate() {
        bytes[*band] += change;
        let timestamp = nanoseconds(*time);
        if changes.get(index + 1).is_some_and(|next| nanoseconds(next.0) == timestamp) {
            continue;
        }
        let at = |partition: u16| bands.iter().position(|band| band.contains(&partition)).map_or(0, |b| bytes[b]);
        let sum: i64 = bands.iter().zip(&bytes).map(|(band, bytes)| band.len() as i64 * bytes).sum();
        let row = RawSbufUsage {
            timestamp,
            pcore_idx,
            avg_util: sum as f64 / f64::from(PARTITIONS) / size,
            partition_util: [0, 32, 64, 96].map(|partition| at(partition) as f64 / size),
        };
        let changed =
            found.last().is_none_or(|last| (last.avg_util, last.partition_util) != (row.avg_util, row.partition_util));
        if changed {
            found.push(row);
        }
    }
    found
}

fn psum_usage(accesses: &Accesses<'_>, pcore_idx: u16) -> Vec<RawPsumUsage> {
    let mut changes: Vec<(i64, u32, i64)> = vec![];
    for partitions in accesses.bands() {
        for life in lives(accesses.within(&partitions)) {
            for bank in life.range.start / BANK..life.range.end.div_ceil(BANK).min(8) {
                changes.push((life.times.start_ps, bank, 1));
                changes.push((life.times.end_ps, bank, -1));
            }
        }
    }
    changes.sort_unstable();
    let mut live = [0_i64; 8];
    let mut found: Vec<RawPsumUsage> = vec![];
    for (index, (time, bank, change)) in changes.iter().enumerate() {
        live[*bank as usize] += change;
        let timestamp = nanoseconds(*time);
        if changes.get(index + 1).is_some_and(|next| nanoseconds(next.0) == timestamp) {
            continue;
        }
        let banks = live.iter().enumerate().fold(0, |mask, (bank, live)| mask | u8::from(*live > 0) << bank);
        if found.last().map_or(0, |last| last.banks) != banks {
            found.push(RawPsumUsage { timestamp, pcore_idx, banks });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Engine;

    /// An access to all partitions by an instruction of its own.
    type Timed = (Times, Region);

    fn access(start_ps: i64, end_ps: i64, range: Range<u32>, write: bool) -> Timed {
        (Times { start_ps, end_ps }, Region { partitions: 0..128, range, write })
    }

    fn with<T>(list: Vec<Timed>, ask: impl Fn(&Accesses<'_>) -> T) -> T {
        let (times, regions): (Vec<Times>, Vec<Region>) = list.into_iter().unzip();
        let instruction = |times| RawInstruction {
            times,
            word: 0,
            pcore_idx: 0,
            engine: Engine::Tensor,
            evt_wait: 0,
            crc_in: 0,
            crc_out: 0,
            outside: false,
        };
        let instructions: Vec<RawInstruction> = times.into_iter().map(instruction).collect();
        let made = (0..instructions.len() as u32).map(|at| (at, at)).collect();
        ask(&Accesses { instructions: &instructions, regions: &regions, made })
    }

    #[test]
    fn data_lives_from_its_write_to_its_last_read() {
        let list = [
            access(0, 10, 0..100, true),
            access(20, 30, 0..50, false),
            access(40, 50, 25..75, true),
            access(45, 60, 0..30, false),
        ];
        let mut found = lives(list.iter().map(|(times, region)| (*times, region)));
        found.sort_by_key(|life| (life.range.start, life.times.start_ps));
        let life = |range, start_ps, end_ps| Life { range, times: Times { start_ps, end_ps } };
        assert_eq!(
            found,
            [
                life(0..25, 0, 60),
                life(25..50, 0, 30),
                life(25..30, 40, 60),
                life(30..75, 40, 50),
                life(50..75, 0, 10),
                life(75..100, 0, 10),
            ]
        );
    }

    #[test]
    fn usage_is_a_share_of_the_partition() {
        let list = vec![access(0, 10_000, 0..512, true), access(20_000, 30_000, 0..512, false)];
        let rows = with(list, |accesses| sbuf_usage(accesses, 0, 1024));
        let steps: Vec<_> = rows.iter().map(|row| (row.timestamp, row.avg_util, row.partition_util[3])).collect();
        assert_eq!(steps, [(0, 0.5, 0.5), (30, 0.0, 0.0)]);
        let rows = with(vec![access(0, 5_000, 2000..2100, true)], |accesses| psum_usage(accesses, 1));
        assert_eq!(rows.iter().map(|row| (row.timestamp, row.banks)).collect::<Vec<_>>(), [(0, 0b11), (5, 0)]);
    }
}
