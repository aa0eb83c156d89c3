//! Processed profile directories: Parquet tables, as Neuron Explorer writes them.

mod events;
mod file;
pub use file::io_message;
pub mod files;
mod flow;
mod keys;
mod records;
mod rows;
mod samples;
mod steps;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::RecordBatch;
use rayon::prelude::*;

use self::events::spec_of;
use self::file::{Span, TableFile};
use self::files::Table;
use self::rows::ParquetRows;
pub(super) use self::samples::value_columns;
use self::steps::Steps;
use super::{Found, OpenEvent, Opening};
use crate::model::Field;
use crate::store::builder::{TableInput, build_table};
use crate::store::counter::Numbers;
use crate::store::{
    Builder, ColumnInfo, Counter, CounterKey, EventTable, Ids, Problem, ProfileInfo, Records, Rows, Store, TableInfo,
    Times,
};

fn push(problems: &Mutex<Vec<Problem>>, problem: Problem) {
    problems.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
}

/// Columns of some rows; what is damaged becomes a problem and is left out.
fn read_or_note(file: &TableFile, span: Span, columns: &[&str], problems: &Mutex<Vec<Problem>>) -> Option<RecordBatch> {
    match file.read(span, columns) {
        Ok((batch, problem)) => {
            if let Some(problem) = problem {
                push(problems, problem);
            }
            Some(batch)
        }
        Err(problem) => {
            push(problems, problem);
            None
        }
    }
}

fn cancelled(path: &Path) -> Problem {
    Problem { path: path.to_path_buf(), message: "opening was cancelled".into() }
}

/// Rows of a partial profile: they can be read once it is complete.
struct NotYet;

impl Rows for NotYet {
    fn row(&self, table: &str, _row: u32) -> Result<Vec<Field>, Problem> {
        Err(Problem { path: table.into(), message: "is still being read".into() })
    }

    fn ids(&self, _table: &str) -> Result<Option<Ids>, Problem> {
        Ok(None)
    }
}

/// Rows of a profile whose index comes from the cache: its files are opened when the first row is asked for.
pub fn rows_of(directory: &Path) -> Arc<dyn Rows> {
    Arc::new(LaterRows { directory: directory.to_path_buf(), rows: OnceLock::new() })
}

struct LaterRows {
    directory: PathBuf,
    rows: OnceLock<Result<ParquetRows, Problem>>,
}

impl LaterRows {
    fn get(&self) -> Result<&ParquetRows, Problem> {
        let open = || {
            let cancel = AtomicBool::new(false);
            let opening = Opening { cancel: &cancel, report: &|_| {}, cache: None };
            files::open(&self.directory, &opening, &mut Vec::new()).map(|tables| ParquetRows { tables })
        };
        self.rows.get_or_init(open).as_ref().map_err(Clone::clone)
    }
}

impl Rows for LaterRows {
    fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
        self.get()?.row(table, row)
    }

    fn ids(&self, table: &str) -> Result<Option<Ids>, Problem> {
        self.get()?.ids(table)
    }

    fn columns(&self, table: &str) -> Result<Option<Vec<ColumnInfo>>, Problem> {
        self.get()?.columns(table)
    }

    fn pieces(&self, table: &str) -> Result<Vec<Range<u32>>, Problem> {
        self.get()?.pieces(table)
    }

    fn read(&self, table: &str, rows: Range<u32>, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        self.get()?.read(table, rows, columns)
    }
}

/// Reads and indexes a profile directory.
///
/// # Errors
/// Says what is wrong where no table can be read at all, or that the opening was cancelled.
pub fn open(found: &Found, opening: &Opening) -> Result<Store, Problem> {
    let mut problems = Vec::new();
    let tables = files::open(&found.path, opening, &mut problems)?;
    if tables.is_empty() {
        return Err(problems.pop().unwrap_or_else(|| Problem {
            path: found.path.clone(),
            message: "holds no Parquet tables: looked for Instruction.parquet, DmaPacket.parquet and their like".into(),
        }));
    }
    let info = ProfileInfo {
        name: found.name.clone(),
        path: found.path.clone(),
        kind: found.kind,
        format: found.format.name().into(),
        origin_unix_ns: None,
    };
    let mut builder = Builder::new(info.clone());
    builder.problems = problems;
    builder.tables = tables.iter().map(|t| TableInfo { name: t.name.clone(), rows: t.rows() }).collect();
    let problems = Mutex::new(Vec::new());
    let reading = Reading { info, tables: &tables, opening, problems: &problems };
    reading.fill(&mut builder);
    if opening.cancelled() {
        return Err(cancelled(&found.path));
    }
    let mut new = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
    new.sort_by(|a, b| a.path.cmp(&b.path));
    new.dedup();
    builder.problems.extend(new);
    Ok(builder.finish(Arc::new(ParquetRows { tables })))
}

/// One opening of a directory.
struct Reading<'a> {
    info: ProfileInfo,
    tables: &'a [Table],
    opening: &'a Opening<'a>,
    problems: &'a Mutex<Vec<Problem>>,
}

type Indexed = (EventTable, Option<(i64, i64)>);

impl Reading<'_> {
    fn fill(&self, builder: &mut Builder) {
        let named = |name: &str| self.tables.iter().find(|t| t.name == name);
        let has_instructions = named("Instruction").is_some_and(|t| t.rows() > 0);
        let samples: Vec<_> = self.tables.iter().filter_map(|t| Some((t, samples::columns_of(&t.name)?))).collect();
        builder.records = records::TABLES
            .iter()
            .filter_map(|name| named(name))
            .map(|table| records::read(table, self.problems))
            .collect();
        builder.info.origin_unix_ns = origin(&builder.records);
        let specs: Vec<_> =
            self.tables.iter().filter_map(|t| Some((t, self.spec(t, builder, has_instructions)?))).collect();
        let flow_rows = named("Flow").map_or(0, Table::rows);
        let total = specs.iter().map(|(t, _)| t.rows()).sum::<u64>()
            + samples.iter().map(|(t, _)| t.rows()).sum::<u64>()
            + flow_rows;
        let steps = Steps::new(self.opening, total);
        steps.step("reading the footers");

        builder.counters.extend(throttle_limits(named("Throttle"), self.problems));

        // The largest first: instructions are what people look for.
        let (main, others): (Vec<_>, Vec<_>) = specs.iter().partition(|(t, _)| t.name == "Instruction");
        for (table, spec) in main {
            let show = |input: TableInput| self.show(builder, input);
            let input = events::read(table, spec, self.opening, &steps, self.problems, Some(&show));
            if let Some((table, range)) = input.map(index) {
                builder.indexed(table, range);
            }
        }
        if self.opening.cancelled() {
            return;
        }
        if !builder.events.is_empty() {
            self.show_all(builder);
        }
        let (graph, (indexed, counters)) = rayon::join(
            || flow::read(self.tables, self.opening, &steps, self.problems),
            || {
                let indexed: Vec<Indexed> = others
                    .iter()
                    .filter_map(|(t, spec)| events::read(t, spec, self.opening, &steps, self.problems, None).map(index))
                    .collect();
                let counters: Vec<Counter> = samples
                    .par_iter()
                    .flat_map(|(t, columns)| samples::read(t, columns, self.opening, &steps, self.problems))
                    .collect();
                (indexed, counters)
            },
        );
        builder.graph = graph;
        for (table, range) in indexed {
            builder.indexed(table, range);
        }
        builder.counters.extend(counters);
    }

    fn spec(&self, table: &Table, builder: &mut Builder, has_instructions: bool) -> Option<events::Spec> {
        let mut spec = spec_of(&table.name, table, has_instructions)?;
        if table.name == "SystemProfileEvents" {
            // Stored times are Unix times; without a recorded start of the trace they stay so.
            spec.origin = *builder.info.origin_unix_ns.get_or_insert(0);
        }
        Some(spec)
    }

    /// Shows the first instructions before the rest is read.
    fn show(&self, so_far: &Builder, input: TableInput) {
        let mut partial = self.copy(so_far);
        partial.events(input);
        self.report(partial);
    }

    fn show_all(&self, so_far: &Builder) {
        self.report(self.copy(so_far));
    }

    fn copy(&self, so_far: &Builder) -> Builder {
        let mut partial = Builder::new(self.info.clone());
        partial.tables = so_far.tables.clone();
        partial.records = so_far.records.clone();
        partial.counters = so_far.counters.clone();
        for table in &so_far.events {
            partial.indexed(table.clone(), span_of(table));
        }
        partial
    }

    fn report(&self, partial: Builder) {
        (self.opening.report)(OpenEvent::Partial(Arc::new(partial.finish(Arc::new(NotYet)))));
    }
}

fn index(input: TableInput) -> Indexed {
    let range = input.chunks.iter().filter_map(|c| c.range).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    (build_table(input), range)
}

fn span_of(table: &EventTable) -> Option<(i64, i64)> {
    let spans = table.groups.iter().filter_map(|g| g.sequence.of(table).span());
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Unix time of the origin: `first_ts` minus `first_hw_timestamp`, where both are real; for system profiles
/// `first_ts_ns` itself.
fn origin(records: &[Records]) -> Option<i64> {
    let find = |name: &str| records.iter().find(|r| r.name == name);
    if let Some(system) = find("SystemProfileMetadata") {
        return system.get(0, "first_ts_ns")?.integer();
    }
    let metadata = find("Metadata")?;
    let first = crate::model::clock::unix_nanos(metadata.get(0, "first_ts")?.text()?)?;
    let hardware = metadata.get(0, "first_hw_timestamp")?.integer()?;
    // An epoch near 1970 is how writers say that they do not know.
    (first > 1_000_000_000).then(|| first.checked_sub(hardware)).flatten()
}

/// The throttling limit as a counter per core: `100 * k / n` percent while a row lasts, 100 otherwise.
fn throttle_limits(table: Option<&Table>, problems: &Mutex<Vec<Problem>>) -> Vec<Counter> {
    let Some(table) = table else { return Vec::new() };
    let records = records::read(table, problems);
    let mut rows: Vec<(Option<i64>, i64, i64, f64)> = (0..records.rows.len())
        .filter_map(|row| {
            let whole = |name: &str| records.get(row, name).and_then(crate::store::Datum::integer);
            let number = |name: &str| records.get(row, name).and_then(crate::store::Datum::number);
            let limit = 100.0 * number("k")? / number("n").filter(|n| *n > 0.0)?;
            let start = whole("timestamp")?;
            Some((whole("pcore_idx"), start, start.saturating_add(whole("duration")?.max(0)), limit))
        })
        .collect();
    rows.sort_by_key(|r| (r.0, r.1));
    let mut counters = Vec::new();
    for rows in rows.chunk_by(|a, b| a.0 == b.0) {
        let (mut times, mut limits) = (Vec::new(), Vec::new());
        for (i, &(_, start, end, limit)) in rows.iter().enumerate() {
            times.push(start);
            limits.push(limit);
            if rows.get(i + 1).is_none_or(|next| next.1 > end) {
                times.push(end);
                limits.push(100.0);
            }
        }
        let key = CounterKey { table: "Throttle".into(), column: "limit_percent".into(), core: rows[0].0 };
        counters.push(Counter::new(key, Times::pack(times), Numbers::pack(limits)));
    }
    counters
}
