//! How full the state buffer and PSUM are.
//!
//! The vendor's model, worked out from its output: data is live from the start of the instruction that writes it to the
//! end of the last instruction that reads it before it is overwritten, or of the one that wrote it where none reads it.
//! Only regions that engines address directly count: what transfers bring in or take away, and scalars read through
//! pointers, do not; nor does a partial sum between two steps of its accumulation.

use std::collections::{BTreeMap, BTreeSet};

use super::RawCapture;
use super::rows::{RawPsumUsage, RawSbufUsage, Times, nanoseconds};
use crate::source::neff::isa::Space;

/// Partitions of a core.
const PARTITIONS: u16 = 128;
/// Bytes of a PSUM bank.
const BANK: u32 = 2048;

/// An access at a time.
struct Timed {
    times: Times,
    partitions: std::ops::Range<u16>,
    range: std::ops::Range<u32>,
    write: bool,
}

/// Bytes that are live for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Life {
    range: std::ops::Range<u32>,
    times: Times,
}

/// Both tables. `partition_bytes` is the size of a state buffer partition.
pub(super) fn tables(capture: &RawCapture, partition_bytes: u32) -> (Vec<RawSbufUsage>, Vec<RawPsumUsage>) {
    let (sbuf, psum) = accesses(capture);
    let sbuf = sbuf.iter().zip(0..).flat_map(|(list, core)| sbuf_usage(list, core, partition_bytes));
    let psum = psum.iter().zip(0..).flat_map(|(list, core)| psum_usage(list, core));
    (sbuf.collect(), psum.collect())
}

/// The accesses of each core to the state buffer and to PSUM, in order.
fn accesses(capture: &RawCapture) -> (Vec<Vec<Timed>>, Vec<Vec<Timed>>) {
    let none = || capture.cores.iter().map(|_| vec![]).collect();
    let (mut sbuf, mut psum): (Vec<Vec<Timed>>, Vec<Vec<Timed>>) = (none(), none());
    for row in capture.instructions.iter().filter(|row| !row.outside) {
        let word = &capture.words[row.word as usize];
        // What an instruction overwrites, it read before.
        for write in [false, true] {
            let own = word.accesses.iter().filter(|access| !access.pointer && access.write == write);
            for access in own.filter(|access| !access.range.is_empty()) {
                let space = match access.space {
                    Space::Sbuf => &mut sbuf,
                    Space::Psum => &mut psum,
                };
                space[usize::from(row.pcore_idx)].push(Timed {
                    times: row.times,
                    partitions: access.partition..access.partition.saturating_add(access.partitions).min(PARTITIONS),
                    range: access.range.clone(),
                    write,
                });
            }
        }
    }
    (sbuf, psum)
}

/// Ranges of partitions within which all accesses are the same.
fn bands(accesses: &[Timed]) -> Vec<std::ops::Range<u16>> {
    let cuts: BTreeSet<u16> = accesses.iter().flat_map(|a| [a.partitions.start, a.partitions.end]).collect();
    let cuts: Vec<_> = cuts.into_iter().collect();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Which bytes of a partition are live when; lives of the same byte do not overlap.
fn lives<'a>(accesses: impl Iterator<Item = &'a Timed>) -> Vec<Life> {
    let mut live: BTreeMap<u32, (u32, Times)> = BTreeMap::new();
    let mut ended = vec![];
    for access in accesses {
        let range = &access.range;
        split(&mut live, range.start);
        split(&mut live, range.end);
        if access.write {
            let covered: Vec<u32> = live.range(range.clone()).map(|(start, _)| *start).collect();
            for start in covered {
                if let Some((end, mut times)) = live.remove(&start) {
                    times.end_ps = times.end_ps.min(access.times.start_ps);
                    ended.push(Life { range: start..end, times });
                }
            }
            live.insert(range.start, (range.end, access.times));
        } else {
            for (_, (_, times)) in live.range_mut(range.clone()) {
                times.end_ps = times.end_ps.max(access.times.end_ps);
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

fn sbuf_usage(accesses: &[Timed], pcore_idx: u16, partition_bytes: u32) -> Vec<RawSbufUsage> {
    let bands = bands(accesses);
    // Time, band, change of its live bytes.
    let mut changes: Vec<(i64, usize, i64)> = vec![];
    for (band, partitions) in bands.iter().enumerate() {
        for life in lives(within(accesses, partitions)) {
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

fn psum_usage(accesses: &[Timed], pcore_idx: u16) -> Vec<RawPsumUsage> {
    let mut changes: Vec<(i64, u32, i64)> = vec![];
    for partitions in bands(accesses) {
        for life in lives(within(accesses, &partitions)) {
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

fn within<'a>(accesses: &'a [Timed], band: &'a std::ops::Range<u16>) -> impl Iterator<Item = &'a Timed> {
    accesses.iter().filter(|access| access.partitions.start <= band.start && band.end <= access.partitions.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(start_ps: i64, end_ps: i64, range: std::ops::Range<u32>, write: bool) -> Timed {
        Timed { times: Times { start_ps, end_ps }, partitions: 0..128, range, write }
    }

    #[test]
    fn data_lives_from_its_write_to_its_last_read() {
        let list = [
            access(0, 10, 0..100, true),
            access(20, 30, 0..50, false),
            access(40, 50, 25..75, true),
            access(45, 60, 0..30, false),
        ];
        let mut found = lives(list.iter());
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
        let list = [access(0, 10_000, 0..512, true), access(20_000, 30_000, 0..512, false)];
        let rows = sbuf_usage(&list, 0, 1024);
        let steps: Vec<_> = rows.iter().map(|row| (row.timestamp, row.avg_util, row.partition_util[3])).collect();
        assert_eq!(steps, [(0, 0.5, 0.5), (30, 0.0, 0.0)]);
        let rows = psum_usage(&[access(0, 5_000, 2000..2100, true)], 1);
        assert_eq!(rows.iter().map(|row| (row.timestamp, row.banks)).collect::<Vec<_>>(), [(0, 0b11), (5, 0)]);
    }
}
