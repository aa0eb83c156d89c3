//! Writes the events of a range, an area or a search result to files, one per table: first the track, then the
//! table's own columns with their raw values.
//!
//! Rows keep the order of the source and are written piece by piece, so memory does not grow with the profile. A file
//! gets its name only when it is complete.

mod columns;
mod rows;
mod text;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;

pub use text::csv_cell;

use crate::model::Window;
use crate::model::nearest::nearest;
use crate::query::search::Matches;
use crate::store::{EventRef, Problem, Store};

/// The first column: the track's name with its core.
pub const TRACK_COLUMN: &str = "timeline_track";

/// How files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header; nothing between the commas where nothing is recorded.
    Csv,
    /// One JSON object a line.
    Json,
    /// Parquet.
    Parquet,
}

impl Format {
    /// The end of a file's name.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        }
    }
}

/// What to export.
pub struct Request<'a> {
    /// Events that overlap this window; all rows where `None`.
    pub window: Option<Window>,
    /// Names of tables; all tables of events (with a search: those that have matches) where empty.
    pub tables: Vec<String>,
    /// Only these events.
    pub matches: Option<&'a Matches>,
    /// Only events for which this holds: an area.
    pub keep: Option<&'a (dyn Fn(EventRef) -> bool + Sync)>,
    /// Of each track only the event that stands for each of so many columns of the window; all events where `None`.
    pub sampled: Option<u16>,
    /// How files are written.
    pub format: Format,
    /// The directory to write to; it is made as needed.
    pub out: PathBuf,
    /// Whether files that are there already are replaced.
    pub replace: bool,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The table.
    pub table: String,
    /// Where it is.
    pub path: PathBuf,
    /// Number of rows.
    pub rows: u64,
}

/// Why nothing more was written. Files written before stay; none is half-written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportError {
    /// It was cancelled.
    Cancelled,
    /// Something could not be read or written.
    Failed(Problem),
}

impl From<Problem> for ExportError {
    fn from(problem: Problem) -> ExportError {
        ExportError::Failed(problem)
    }
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            ExportError::Cancelled => write!(f, "the export was cancelled"),
            ExportError::Failed(problem) => write!(f, "{}: {}", problem.path.display(), problem.message),
        }
    }
}

impl std::error::Error for ExportError {}

/// Rows of a file that could not be read, besides what was written.
pub type Damage = Vec<Problem>;

/// Writes the files. `progress` receives the rows done and all rows, now and then.
///
/// # Errors
/// A table that the profile does not have; a directory that is the profile's own; files that are there already; what
/// could not be written; or that it was cancelled.
pub fn export(
    store: &Store,
    request: &Request,
    cancel: &AtomicBool,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<(Vec<Written>, Damage), ExportError> {
    let tables = tables_of(store, request)?;
    let rows_in = |name: &str| store.tables.iter().find(|t| t.name == name).map_or(0, |t| t.rows);
    let total = tables.iter().map(|t| rows_in(t)).sum();
    fs::create_dir_all(&request.out).map_err(|e| cannot_write(&request.out, &e))?;
    let path_of = |table: &str| request.out.join(format!("{table}.{}", request.format.extension()));
    protect(store, request, tables.iter().map(|table| path_of(table)))?;
    let (mut written, mut damage) = (Vec::new(), Vec::new());
    let mut before = 0;
    for table in tables {
        let path = path_of(&table);
        let report = |done: u64| progress(before + done, total);
        let rows = TableExport { store, request, table: &table, cancel }.write(&path, &report, &mut damage)?;
        before += rows_in(&table);
        progress(before, total);
        written.push(Written { table, path, rows });
    }
    Ok((written, damage))
}

/// Refuses to write over what the profile was read from, and over other files without being told to.
fn protect(store: &Store, request: &Request, paths: impl Iterator<Item = PathBuf>) -> Result<(), Problem> {
    let problem = |path: &Path, message: &str| Problem { path: path.to_path_buf(), message: message.into() };
    let real = |path: &Path| fs::canonicalize(path).ok();
    if let (Some(out), Some(source)) = (real(&request.out), real(&store.info.path))
        && out.starts_with(&source)
    {
        return Err(problem(&request.out, "is where the profile itself is; name another directory"));
    }
    for path in paths.filter(|path| path.exists()) {
        if real(&path) == real(&store.info.path) {
            return Err(problem(&path, "is the profile itself; name another directory"));
        }
        if !request.replace {
            return Err(problem(&path, "is there already; name another directory, or say --force to replace it"));
        }
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &io::Error) -> Problem {
    Problem { path: path.to_path_buf(), message: format!("cannot be written: {error}") }
}

/// The names of the tables to write.
fn tables_of(store: &Store, request: &Request) -> Result<Vec<String>, Problem> {
    if request.tables.is_empty() {
        let found: Option<BTreeSet<u16>> = request.matches.map(|m| m.per_table().map(|(table, _)| table).collect());
        let wanted = (0u16..).zip(&store.events).filter(|(at, table)| match &found {
            Some(found) => found.contains(at),
            None => !table.is_empty() || table_exists(store, &table.name),
        });
        let names = wanted.map(|(_, table)| table.name.clone());
        return Ok(names.filter(|name| table_exists(store, name)).collect());
    }
    let mut tables: Vec<String> = Vec::new();
    for asked in &request.tables {
        let known = || store.tables.iter().map(|t| t.name.as_str());
        let name = known().find(|n| n == asked).or_else(|| known().find(|n| n.eq_ignore_ascii_case(asked)));
        let Some(name) = name else {
            let meant = nearest(asked, known()).map_or_else(
                || format!("it has {}", known().collect::<Vec<_>>().join(", ")),
                |near| format!("did you mean {near}?"),
            );
            let message = format!("the profile has no table {asked}; {meant}");
            return Err(Problem { path: store.info.path.clone(), message });
        };
        if !tables.iter().any(|t| t == name) {
            tables.push(name.to_owned());
        }
    }
    Ok(tables)
}

fn table_exists(store: &Store, name: &str) -> bool {
    store.tables.iter().any(|t| t.name == name)
}

/// The export of one table.
struct TableExport<'a> {
    store: &'a Store,
    request: &'a Request<'a>,
    table: &'a str,
    cancel: &'a AtomicBool,
}

/// Rows that are spelled out together.
const CHUNK: usize = 4096;

impl TableExport<'_> {
    fn write(&self, path: &Path, report: &dyn Fn(u64), damage: &mut Damage) -> Result<u64, ExportError> {
        let (unfinished, file) = Unfinished::create(path).map_err(|e| cannot_write(path, &e))?;
        let rows = rows::Rows::new(self.store, self.request, self.table);
        let layout = columns::Layout::of(self.store, self.table, self.request.format)?;
        let mut sink = Sink::new(file, &layout, self.request.format).map_err(|e| cannot_write(path, &e))?;
        let names: Vec<&str> = layout.names().collect();
        let mut count = 0;
        for piece in self.store.pieces(self.table)? {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(ExportError::Cancelled);
            }
            let end = piece.end;
            // Rows beyond a piece's first and last wanted ones need not be read.
            if let Some(span) = rows.span(piece) {
                match self.store.read(self.table, span.clone(), &names) {
                    Ok((batch, problem)) => {
                        damage.extend(problem);
                        let wanted = rows.of_batch(&batch, span.start);
                        let batch = layout.fill(&batch, &wanted, &rows, span.start);
                        count += wanted.len() as u64;
                        sink.write(&batch, self.cancel).map_err(|e| cannot_write(path, &e))?;
                    }
                    Err(problem) => damage.push(problem),
                }
            }
            report(u64::from(end));
        }
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ExportError::Cancelled);
        }
        sink.finish().map_err(|e| cannot_write(path, &e))?;
        unfinished.finish().map_err(|e| cannot_write(path, &e))?;
        Ok(count)
    }
}

/// Where rows go.
enum Sink {
    Text(BufWriter<File>, Format),
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
}

impl Sink {
    fn new(file: File, layout: &columns::Layout, format: Format) -> io::Result<Sink> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        if format == Format::Parquet {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = ArrowWriter::try_new(file, Arc::new(layout.schema()), Some(properties))?;
            return Ok(Sink::Parquet(Box::new(writer)));
        }
        if format == Format::Csv {
            let header: Vec<_> = layout.header().map(csv_cell).collect();
            file.write_all(header.join(",").as_bytes())?;
            file.write_all(b"\n")?;
        }
        Ok(Sink::Text(file, format))
    }

    fn write(&mut self, batch: &arrow::array::RecordBatch, cancel: &AtomicBool) -> io::Result<()> {
        use rayon::prelude::*;
        match self {
            Sink::Parquet(writer) => {
                writer.write(batch)?;
                // One row group per piece keeps memory bounded.
                writer.flush()?;
            }
            Sink::Text(file, format) => {
                let starts: Vec<usize> = (0..batch.num_rows()).step_by(CHUNK).collect();
                // A few chunks at a time: as many texts as there are threads.
                for starts in starts.chunks(rayon::current_num_threads() * 2) {
                    if cancel.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    let spell = |&start: &usize| {
                        let rows = batch.slice(start, CHUNK.min(batch.num_rows() - start));
                        if *format == Format::Csv { text::csv_rows(&rows) } else { text::json_rows(&rows) }
                    };
                    let chunks: Vec<Vec<u8>> = starts.par_iter().map(spell).collect();
                    for chunk in chunks {
                        file.write_all(&chunk)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Sink::Parquet(writer) => {
                let mut file = writer.into_inner()?;
                file.flush()
            }
            Sink::Text(mut file, _) => file.flush(),
        }
    }
}

/// A file under a temporary name, removed unless it is finished.
struct Unfinished {
    temporary: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl Unfinished {
    fn create(path: &Path) -> io::Result<(Unfinished, File)> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary)?;
        Ok((Unfinished { temporary, path: path.to_path_buf(), finished: false }, file))
    }

    fn finish(mut self) -> io::Result<()> {
        File::open(&self.temporary)?.sync_all()?;
        fs::rename(&self.temporary, &self.path)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests;
