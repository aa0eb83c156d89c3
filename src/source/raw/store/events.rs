//! Event tables as the builder takes them.

use std::hash::Hash;

use arrow::buffer::ScalarBuffer;
use rustc_hash::FxHashMap;

use crate::model::opcode::is_matmul;
use crate::source::raw::{RawCapture, RawDmaRing, RawWord, Times};
use crate::store::builder::{Chunk, TableInput};
use crate::store::{GroupKey, Keys, LOST_RECORDS, LabelKind, Lengths, Measure, flag};

/// Distinct values, numbered in the order in which they are first met.
struct Codes<T> {
    known: FxHashMap<T, u32>,
    entries: Vec<T>,
}

impl<T: Hash + Eq + Clone> Codes<T> {
    fn starting_with(zero: T) -> Codes<T> {
        let mut codes = Codes { known: FxHashMap::default(), entries: Vec::new() };
        codes.key(zero);
        codes
    }

    fn key(&mut self, value: T) -> u32 {
        *self.known.entry(value).or_insert_with_key(|value| {
            self.entries.push(value.clone());
            self.entries.len() as u32 - 1
        })
    }
}

fn texts() -> Codes<String> {
    Codes::starting_with(String::new())
}

/// Entry 0 stands for rows that are left out.
fn groups() -> Codes<GroupKey> {
    Codes::starting_with(GroupKey { core: None, engine: None, name: String::new() })
}

fn group(pcore_idx: u16, name: impl Into<String>) -> GroupKey {
    GroupKey { core: Some(i64::from(pcore_idx)), engine: None, name: name.into() }
}

fn flag_outside(outside: bool) -> u8 {
    if outside { flag::OUTSIDE } else { 0 }
}

/// One row: keys into the dictionaries that the table comes with.
#[derive(Clone, Copy)]
struct Row<const LABELS: usize, const MEASURES: usize> {
    times: Times,
    flags: u8,
    group: u32,
    labels: [u32; LABELS],
    measures: [u32; MEASURES],
}

/// What a table consists of besides its rows.
struct Parts<const LABELS: usize, const MEASURES: usize> {
    groups: Codes<GroupKey>,
    labels: [(LabelKind, Codes<String>); LABELS],
    measures: [(Measure, Codes<u64>); MEASURES],
    keep_row_map: bool,
}

impl<const LABELS: usize, const MEASURES: usize> Parts<LABELS, MEASURES> {
    /// The table of so many rows, each made as often as there are columns, which takes less time than room for all of them
    /// would. Its range is that of the rows within the measured execution, where there are any.
    fn table(self, name: &str, count: usize, row: impl Fn(usize) -> Row<LABELS, MEASURES>) -> TableInput {
        let rows = || (0..count).map(&row);
        let (mut first, mut last, mut longest) = (i64::MAX, i64::MIN, 0);
        let mut ranges: [Option<(i64, i64)>; 2] = [None; 2];
        for row in rows() {
            let (start, length) = (row.times.start_ts(), row.times.duration_ns());
            let end = start.saturating_add_unsigned(length);
            (first, last, longest) = (first.min(start), last.max(start), length.max(longest));
            let range = &mut ranges[usize::from(row.flags & flag::OUTSIDE != 0)];
            *range = Some(range.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
        }
        let lengths = || rows().map(|row| row.times.duration_ns());
        let keys =
            |entries: usize, key: &dyn Fn(Row<LABELS, MEASURES>) -> u32| Keys::fill(entries, count, rows().map(key));
        let chunk = Chunk {
            first_row: 0,
            starts: crate::store::Times::fill(first, last, count, rows().map(|row| row.times.start_ts())),
            lengths: match u32::try_from(longest) {
                Ok(_) => Lengths::Narrow(lengths().map(|length| length as u32).collect()),
                Err(_) => Lengths::Wide(lengths().collect()),
            },
            flags: rows().map(|row| row.flags).collect::<ScalarBuffer<u8>>(),
            groups: keys(self.groups.entries.len(), &|row| row.group),
            labels: (0..LABELS).map(|i| keys(self.labels[i].1.entries.len(), &|row| row.labels[i])).collect(),
            measures: (0..MEASURES).map(|i| keys(self.measures[i].1.entries.len(), &|row| row.measures[i])).collect(),
            range: ranges[0].or(ranges[1]),
        };
        TableInput {
            name: name.to_owned(),
            groups: self.groups.entries,
            // A label that says nothing of any row is left away, other than the name.
            labels: self.labels.into_iter().map(|(kind, codes)| (kind, codes.entries)).collect(),
            measures: self.measures.into_iter().map(|(measure, codes)| (measure, codes.entries)).collect(),
            chunks: vec![chunk],
            keep_row_map: self.keep_row_map,
        }
    }
}

/// The keys that all executions of a word share.
#[derive(Clone, Copy)]
struct WordKeys {
    flags: u8,
    group: u32,
    labels: [u32; 4],
    measures: [u32; 2],
}

/// What the engines did.
pub(super) fn instructions(capture: &RawCapture) -> TableInput {
    let mut parts = Parts {
        groups: groups(),
        labels: [LabelKind::Name, LabelKind::Track, LabelKind::Operator, LabelKind::SourceLine]
            .map(|kind| (kind, texts())),
        measures: [Measure::HardwareFlops, Measure::TransposeFlops].map(|m| (m, Codes::starting_with(0))),
        keep_row_map: true,
    };
    let of_words: Vec<WordKeys> = capture.words.iter().map(|word| word_keys(word, &mut parts)).collect();
    parts.table("Instruction", capture.instructions.len(), |index| {
        let row = &capture.instructions[index];
        let WordKeys { flags, group, labels, measures } = of_words[row.word as usize];
        Row { times: row.times, flags: flags | flag_outside(row.outside), group, labels, measures }
    })
}

fn word_keys(word: &RawWord, parts: &mut Parts<4, 2>) -> WordKeys {
    let engine = word.engine;
    let name = engine.map_or("engine not recorded", |engine| engine.name());
    let operator = if word.layer.is_empty() { &word.hlo_name } else { &word.layer };
    let labels = [&*word.opcode, word.timeline_track(), operator, &word.nki_source_location];
    let transposes = word.tensor_instruction_type == "TRANSPOSE";
    let flops = |counts: bool, flops: u64| if counts { flops } else { 0 };
    let matmul = is_matmul(&word.opcode);
    let measures = [flops(matmul, word.raw_flops()), flops(matmul, word.flops_transpose())];
    let mut keyed = parts.labels.iter_mut().zip(labels).map(|((_, codes), text)| codes.key(text.to_owned()));
    let labels = std::array::from_fn(|_| keyed.next().unwrap_or(0));
    let mut keyed = parts.measures.iter_mut().zip(measures).map(|((_, codes), value)| codes.key(value));
    let measures = std::array::from_fn(|_| keyed.next().unwrap_or(0));
    WordKeys {
        flags: flag::of_opcode(&word.opcode) | if transposes { flag::TRANSPOSE } else { 0 },
        group: parts.groups.key(GroupKey { engine, ..group(word.pcore_idx, name) }),
        labels,
        measures,
    }
}

/// The queue of a ring, as its track is called.
fn queue(ring: &RawDmaRing) -> String {
    if ring.queue.is_empty() { format!("Q{}", ring.queue_idx) } else { ring.queue.clone() }
}

fn dma_parts(keep_row_map: bool) -> Parts<2, 1> {
    Parts {
        groups: groups(),
        labels: [(LabelKind::Name, texts()), (LabelKind::Queue, texts())],
        measures: [(Measure::Bytes, Codes::starting_with(0))],
        keep_row_map,
    }
}

/// What the DMA engines did.
pub(super) fn packets(capture: &RawCapture) -> TableInput {
    let mut parts = dma_parts(false);
    let of_rings: Vec<(u32, [u32; 2])> = capture
        .dma_rings
        .iter()
        .map(|ring| {
            let group = parts.groups.key(group(ring.pcore_idx, format!("DMA-E{}", ring.engine_idx)));
            (group, [parts.labels[0].1.key(queue(ring)), parts.labels[1].1.key(ring.queue_name())])
        })
        .collect();
    let bytes = &mut parts.measures[0].1;
    let sizes: Vec<u32> =
        capture.dma_packets.iter().map(|packet| bytes.key(u64::from(packet.transfer_bytes))).collect();
    parts.table("DmaPacket", capture.dma_packets.len(), |index| {
        let packet = &capture.dma_packets[index];
        let (group, labels) = of_rings[packet.ring as usize];
        let flags = flag_outside(packet.outside);
        Row { times: packet.times, flags, group, labels, measures: [sizes[index]] }
    })
}

/// The transfers that packets add up to.
pub(super) fn transfers(capture: &RawCapture) -> TableInput {
    let mut parts = dma_parts(true);
    let rows: Vec<_> = capture
        .dma_transfers
        .iter()
        .map(|transfer| {
            let queue = queue(&capture.dma_rings[transfer.ring as usize]);
            let variable = &capture.transfer_plans[transfer.plan as usize].variable;
            let name = if variable.is_empty() { queue.clone() } else { variable.clone() };
            let group = parts.groups.key(group(transfer.pcore_idx, queue.clone()));
            let labels = [parts.labels[0].1.key(name), parts.labels[1].1.key(queue)];
            let measures = [parts.measures[0].1.key(transfer.transfer_bytes)];
            Row { times: transfer.times, flags: flag_outside(transfer.outside), group, labels, measures }
        })
        .collect();
    parts.table("DmaPacketAggregated", rows.len(), |index| rows[index])
}

/// A table of which rows have a group and a name and nothing else: `of` gives times, flags, core, group and name.
fn plain<'a, T>(
    table: &str,
    rows: impl Iterator<Item = T>,
    of: impl Fn(T) -> (Times, u8, u16, String, std::borrow::Cow<'a, str>),
) -> TableInput {
    let (mut groups, mut names) = (groups(), texts());
    let rows: Vec<Row<1, 0>> = rows
        .map(|row| {
            let (times, flags, core, track, name) = of(row);
            let group = groups.key(group(core, track));
            Row { times, flags, group, labels: [names.key(name.into_owned())], measures: [] }
        })
        .collect();
    let parts = Parts { groups, labels: [(LabelKind::Name, names)], measures: [], keep_row_map: false };
    parts.table(table, rows.len(), |index| rows[index])
}

/// What became of semaphores and events; one track each.
pub(super) fn semaphores(capture: &RawCapture) -> TableInput {
    let mut parts = Parts { groups: groups(), labels: [(LabelKind::Name, texts())], measures: [], keep_row_map: false };
    // There are few of them, and many updates.
    let (mut tracks, mut names) = (FxHashMap::default(), FxHashMap::default());
    let keys: Vec<(u32, u32)> = capture
        .semaphores
        .iter()
        .map(|row| {
            let of_track = || parts.groups.key(group(row.pcore_idx, super::semaphore_track(capture, row)));
            let track = *tracks.entry((row.pcore_idx, row.is_event, row.id)).or_insert_with(of_track);
            let of_name = || parts.labels[0].1.key(row.update_operation_type().into_owned());
            (track, *names.entry(row.operation).or_insert_with(of_name))
        })
        .collect();
    parts.table("SemaphoreUpdate", capture.semaphores.len(), |index| {
        let (row, (group, name)) = (&capture.semaphores[index], keys[index]);
        let times = Times { start_ps: row.time_ps, end_ps: row.time_ps };
        Row { times, flags: flag::INSTANT | flag_outside(row.outside), group, labels: [name], measures: [] }
    })
}

/// When the Tensor Engine's clock was held back, or not.
pub(super) fn throttles(capture: &RawCapture) -> TableInput {
    plain("Throttle", capture.throttles.iter(), |row| {
        let kind = format!("activity_{}", row.kind);
        (row.times, 0, row.pcore_idx, format!("Throttle {kind}"), kind.into())
    })
}

/// Stretches in which records are missing.
pub(super) fn gaps(capture: &RawCapture) -> TableInput {
    plain(LOST_RECORDS, capture.gaps.iter(), |gap| {
        let flags = flag_outside(capture.is_outside(gap.pcore_idx, gap.times()));
        (gap.times(), flags, gap.pcore_idx, LOST_RECORDS.to_owned(), "semaphore records lost".into())
    })
}

/// The measured executions.
pub(super) fn executions(capture: &RawCapture) -> TableInput {
    let executions = capture.cores.first().map(|core| core.executions.as_slice()).unwrap_or_default();
    plain("ExecutionInfo", executions.iter(), |times| {
        (*times, 0, 0, "Executions".to_owned(), capture.metadata.neff_name.as_str().into())
    })
}
