//! Tables of events: which columns are hot, and what groups their rows.

use std::sync::Mutex;

use rayon::prelude::*;

use super::file::{Span, TableFile};
use super::files::Table;
use super::keys::{PROCESS, TextColumns, floats_or_ints, group_keys, mark_classes, number_keys, pack};
use super::steps::Steps;
use crate::model::{end_of, length, queue};
use crate::source::Opening;
use crate::store::arrays::{Ints, column, ints};
use crate::store::builder::{Chunk, Dictionary, TableInput};
use crate::store::{GroupKey, Keys, LabelKind, Lengths, Measure, Problem, Times, flag};

/// Rows per chunk: a few thousand pages' worth, so that two threads stay busy and memory stays low.
const CHUNK_ROWS: usize = 1 << 18;

/// What the rows of one track have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One group per engine: `Tensor`.
    Engine(&'static str),
    /// One group per DMA engine: `DMA-E64`; the prefix and the column.
    Numbered(&'static str, &'static str),
    /// One group per DMA queue, without ring and engine: `qSyncIO0`.
    Queue(&'static str),
    /// One group per text of a column, behind a prefix.
    Text(&'static str, &'static str),
    /// One group per thread, stream or core of a process: `i-0b…/PID:7/neuron_rt/NC:0`.
    Process,
    /// One group.
    Whole(&'static str),
}

/// How a table of events is read.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The schema's name of the table.
    pub table: String,
    /// Column of the start.
    pub start: &'static str,
    /// Column of the end; instants have none.
    pub end: Option<&'static str>,
    /// Column of the duration, used where there is no end.
    pub duration: Option<&'static str>,
    /// What groups the rows.
    pub grouping: Grouping,
    /// Label columns: the first of each list that the table has.
    pub labels: &'static [(LabelKind, &'static [&'static str])],
    /// Measures: the first column of each list that the table has.
    pub measures: &'static [(Measure, &'static [&'static str])],
    /// Whether something points at rows.
    pub keep_row_map: bool,
    /// What the stored times count from, in the profile's own time.
    pub origin: i64,
}

const fn spec(table: String, start: &'static str, end: Option<&'static str>, grouping: Grouping) -> Spec {
    let duration = Some("duration_ns");
    Spec { table, start, end, duration, grouping, labels: &[], measures: &[], keep_row_map: false, origin: 0 }
}

/// How the table called `name` is read; `None` for tables that hold no events of their own.
#[must_use]
pub fn spec_of(name: &str, table: &Table, has_instructions: bool) -> Option<Spec> {
    use LabelKind::{Name, Operator, Queue, SourceLine, Track};
    let named = name.to_string();
    let spans = Some("end_ts");
    Some(match name {
        "Instruction" => Spec {
            labels: &[
                (Name, &["opcode"]),
                (Track, &["timeline_track"]),
                (Operator, &["layer", "hlo_name"]),
                (SourceLine, &["nki_source_location", "bir_debug_info_source_location"]),
            ],
            measures: &[
                (Measure::HardwareFlops, &["adjusted_flops", "raw_flops"]),
                (Measure::TransposeFlops, &["adjusted_flops_transpose", "flops_transpose"]),
            ],
            keep_row_map: true,
            ..spec(named, "start_ts", spans, Grouping::Engine("engine"))
        },
        "DmaPacket" => Spec {
            labels: &[(Name, &["queue_name"]), (Queue, &["queue_name"])],
            measures: &[(Measure::Bytes, &["transfer_bytes"])],
            ..spec(named, "start_ts", spans, Grouping::Numbered("DMA-E", "engine_idx"))
        },
        "DmaPacketAggregated" => Spec {
            labels: &[(Name, &["variable"]), (Queue, &["queue_name"])],
            measures: &[(Measure::Bytes, &["transfer_bytes"])],
            keep_row_map: true,
            ..spec(named, "start_ts", spans, Grouping::Queue("queue_name"))
        },
        "CcOp" => Spec {
            labels: &[(Name, &["operation"])],
            ..spec(named, "start_ts", spans, Grouping::Numbered("CC ops stream ", "stream_id"))
        },
        "CcInstruction" => Spec {
            labels: &[(Name, &["description"])],
            ..spec(named, "start_ts", spans, Grouping::Numbered("CC-core ", "core_idx"))
        },
        "CoreBarriers" => Spec {
            labels: &[(Name, &["compiler_opcode"])],
            ..spec(named, "start_ts", spans, Grouping::Text("Barrier ", "engine_name"))
        },
        "SemaphoreUpdate" => Spec {
            labels: &[(Name, &["update_operation_type"])],
            ..spec(named, "timestamp", None, Grouping::Text("", "id"))
        },
        "Error" => {
            Spec { labels: &[(Name, &["description"])], ..spec(named, "timestamp", None, Grouping::Whole("Errors")) }
        }
        "Throttle" => Spec {
            duration: Some("duration"),
            labels: &[(Name, &["type"])],
            ..spec(named, "timestamp", None, Grouping::Text("Throttle ", "type"))
        },
        "ExecutionInfo" => Spec {
            labels: &[(Name, &["neff_name"])],
            ..spec(named, "execution_start_ts", Some("execution_end_ts"), Grouping::Whole("Executions"))
        },
        "ActiveTime" if !has_instructions => {
            Spec { labels: &[(Name, &["engine"])], ..spec(named, "start_ts", spans, Grouping::Engine("engine")) }
        }
        "SystemProfileEvents" => {
            Spec { labels: &[(Name, &["name"])], ..spec(named, "start_ts", spans, Grouping::Process) }
        }
        known if KNOWN_WITHOUT_TRACK.contains(&known) => return None,
        // A table that this version does not know, but that has times: a track of its own.
        _ => {
            let start = table.first_of(&["start_ts", "timestamp"])?;
            let grouping = if name.contains("HostDevice") && table.has("engine_idx") {
                Grouping::Numbered("Host-device DMA-E", "engine_idx")
            } else {
                Grouping::Whole("")
            };
            Spec {
                duration: table.first_of(&["duration_ns", "duration"]),
                labels: &[(Name, &["name", "opcode", "operation", "description", "queue_name", "type"])],
                measures: &[(Measure::Bytes, &["transfer_bytes"])],
                ..spec(named, start, table.first_of(&["end_ts"]), grouping)
            }
        }
    })
}

/// Tables of the schema that have times and are drawn elsewhere or not as events.
const KNOWN_WITHOUT_TRACK: [&str; 18] = [
    "ActiveTime",
    "BirInstruction",
    "CpuUsage",
    "DmaUsage",
    "DmaUsageSummary",
    "FrameworkInstruction",
    "FrameworkNode",
    "HbmUsage",
    "HloInstruction",
    "HostMemUsage",
    "PendingDma",
    "PenguinInstruction",
    "PsumUsage",
    "SbufAllocation",
    "SbufUsage",
    "SystemProfileHbmUsage",
    "SystemProfileMetadata",
    "ThrottleSummary",
];

/// What several threads find out about a table while they read it.
pub(super) struct Shared<'a> {
    pub spec: &'a Spec,
    pub groups: Dictionary<GroupKey>,
    labels: Vec<(LabelKind, Option<&'static str>, Dictionary<String>)>,
    measures: Vec<(Measure, &'static str, Dictionary<u64>)>,
    undated: Mutex<u64>,
}

/// Reads the hot columns of a table of events.
///
/// Damaged rows are left out and end in `problems`; `partial` is called with what has been read so far, a few times.
pub fn read(
    table: &Table,
    spec: &Spec,
    opening: &Opening,
    steps: &Steps,
    problems: &Mutex<Vec<Problem>>,
    partial: Option<&(dyn Fn(TableInput) + Sync)>,
) -> Option<TableInput> {
    if !table.has(spec.start) {
        let (_, file) = table.parts.first()?;
        // The times of executions are optional; those of all others are not.
        if spec.table != "ExecutionInfo" {
            let message =
                format!("has no column {}, so its events have no place in time; it is only listed", spec.start);
            super::push(problems, Problem { path: file.path.clone(), message });
        }
        return None;
    }
    let shared = Shared {
        spec,
        groups: Dictionary::starting_with(GroupKey { core: None, engine: None, name: String::new() }),
        labels: spec
            .labels
            .iter()
            .map(|(kind, columns)| (*kind, table.first_of(columns), Dictionary::starting_with(String::new())))
            .filter(|(kind, column, _)| column.is_some() || *kind == LabelKind::Name)
            .collect(),
        measures: spec
            .measures
            .iter()
            .filter_map(|(measure, columns)| Some((*measure, table.first_of(columns)?, Dictionary::starting_with(0))))
            .collect(),
        undated: Mutex::new(0),
    };
    let mut jobs = Vec::new();
    for (before, file) in &table.parts {
        let mut row = *before;
        for span in file.spans(CHUNK_ROWS) {
            jobs.push((row, file, span));
            row += span.rows as u64;
        }
    }
    let mut chunks = Vec::with_capacity(jobs.len());
    // Early chunks are shown before the rest is read: first a few, then all the others.
    let early = if partial.is_some() && jobs.len() > 8 { 4 } else { 0 };
    for round in [&jobs[..early], &jobs[early..]] {
        // One by one, so that no thread is left with many at the end.
        let read = round.par_iter().with_max_len(1).filter_map(|&(first_row, file, span)| {
            if opening.cancelled() {
                return None;
            }
            let chunk = u32::try_from(first_row)
                .map_err(|_| too_many(file))
                .and_then(|first_row| read_chunk(file, span, first_row, &shared, problems));
            steps.done(span.rows as u64, &spec.table);
            chunk.map_err(|problem| super::push(problems, problem)).ok()
        });
        chunks.par_extend(read);
        if early > 0
            && chunks.len() < jobs.len()
            && let Some(partial) = partial
        {
            partial(shared.input(chunks.clone()));
        }
    }
    let undated = *shared.undated.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if undated > 0
        && let Some((_, file)) = table.parts.first()
    {
        let message = format!("{undated} rows have no time in {} and are left out", spec.start);
        super::push(problems, Problem { path: file.path.clone(), message });
    }
    Some(shared.input(chunks))
}

fn too_many(file: &TableFile) -> Problem {
    let message = "has more than 4 billion rows; the rest is left out: split the capture".into();
    Problem { path: file.path.clone(), message }
}

impl Shared<'_> {
    fn input(&self, chunks: Vec<Chunk>) -> TableInput {
        TableInput {
            name: self.spec.table.clone(),
            groups: self.groups.entries(),
            labels: self.labels.iter().map(|(kind, _, entries)| (*kind, entries.entries())).collect(),
            measures: self.measures.iter().map(|(measure, _, entries)| (*measure, entries.entries())).collect(),
            chunks,
            keep_row_map: self.spec.keep_row_map,
        }
    }
}

fn read_chunk(
    file: &TableFile,
    span: Span,
    first_row: u32,
    shared: &Shared,
    problems: &Mutex<Vec<Problem>>,
) -> Result<Chunk, Problem> {
    let spec = shared.spec;
    let mut columns = vec![spec.start, "pcore_idx", "tensor_instruction_type"];
    columns.extend(spec.end);
    columns.extend(spec.duration);
    columns.extend(match spec.grouping {
        Grouping::Engine(c) | Grouping::Numbered(_, c) | Grouping::Queue(c) | Grouping::Text(_, c) => Some(c),
        Grouping::Process | Grouping::Whole(_) => None,
    });
    if spec.grouping == Grouping::Process {
        columns.extend(PROCESS);
    }
    if matches!(spec.grouping, Grouping::Numbered(_, "engine_idx")) {
        columns.push("queue_name");
    }
    columns.extend(shared.labels.iter().filter_map(|(_, column, _)| *column));
    columns.extend(shared.measures.iter().map(|(_, column, _)| *column));
    if let (Some(end), Some(duration)) = (spec.end, spec.duration)
        && file.has(end)
    {
        columns.retain(|c| *c != duration);
    }
    let (batch, problem) = file.read(span, &columns)?;
    if let Some(problem) = problem {
        super::push(problems, problem);
    }
    let rows = batch.num_rows();
    let read_ints = |name: &str| column(&batch, name).and_then(|c| ints(c.as_ref()));

    let times = Timing {
        starts: read_ints(spec.start),
        ends: spec.end.and_then(read_ints),
        durations: spec.duration.and_then(read_ints),
    };
    let mut starts = Vec::with_capacity(rows);
    let mut lengths = Vec::with_capacity(rows);
    let mut flags = vec![if spec.end.is_none() && spec.duration.is_none() { flag::INSTANT } else { 0 }; rows];
    let mut range: Option<(i64, i64)> = None;
    let mut dated = vec![true; rows];
    let mut undated = 0;
    for row in 0..rows {
        match times.at(row) {
            Some((start, end, reversed)) => {
                let (start, end) = (start.saturating_sub(spec.origin), end.saturating_sub(spec.origin));
                range = Some(range.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
                starts.push(start);
                lengths.push(length(start, end));
                flags[row] |= if reversed { flag::REVERSED } else { 0 };
            }
            None => {
                starts.push(starts.last().copied().unwrap_or(0));
                lengths.push(0);
                dated[row] = false;
                undated += 1;
            }
        }
    }
    if undated > 0 {
        *shared.undated.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += undated;
    }
    let text = TextColumns::of(&batch);
    mark_classes(&text, &mut flags);
    let groups = group_keys(&text, rows, &dated, shared);
    let labels = shared
        .labels
        .iter()
        .map(|(kind, name, dictionary)| {
            let Some(text) = name.and_then(|n| text.get(n)) else { return Keys::pack(&vec![0; rows], 1) };
            let spelled = text.entries.iter().map(|t| match (kind, name) {
                (LabelKind::Name, Some("queue_name")) => queue::base_name(t).to_string(),
                (LabelKind::Track, _) => queue::without_core(t).to_string(),
                _ => t.clone(),
            });
            let keys = dictionary.keys(spelled);
            let keys: Vec<u32> = text.keys.iter().map(|k| k.map_or(0, |k| keys[k as usize])).collect();
            pack(&keys)
        })
        .collect();
    let measures = shared
        .measures
        .iter()
        .map(|(_, name, dictionary)| {
            let values = column(&batch, name).and_then(|c| floats_or_ints(c.as_ref()));
            values.map_or_else(|| Keys::pack(&vec![0; rows], 1), |values| pack(&number_keys(&values, dictionary)))
        })
        .collect();
    Ok(Chunk {
        first_row,
        starts: Times::pack(starts),
        lengths: Lengths::pack(lengths),
        flags: flags.into(),
        groups,
        labels,
        measures,
        range,
    })
}

/// The three columns that times may come from.
struct Timing {
    starts: Option<Ints>,
    ends: Option<Ints>,
    durations: Option<Ints>,
}

impl Timing {
    /// Start, end and whether the file has them the wrong way round.
    #[inline]
    fn at(&self, row: usize) -> Option<(i64, i64, bool)> {
        let start = self.starts.as_ref()?.time(row)?;
        let end = match (&self.ends, &self.durations) {
            (Some(ends), _) if let Some(end) = ends.time(row) => end,
            (_, Some(durations)) => durations.time(row).map_or(start, |d| end_of(start, u64::try_from(d).unwrap_or(0))),
            _ => start,
        };
        Some((start, end, end < start))
    }
}
