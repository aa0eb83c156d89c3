//! `export PATH`: the events of a range or a search, one file per table.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::info::gather;
use super::program::ProgramArg;
use super::search::{find, pointed};
use super::{FAILED, UNUSABLE, complain, complain_of, print};
use crate::model::Window;
use crate::model::format::format_count;
use crate::model::time::parse_range;
use crate::query::export::{ExportError, Format, Request, Written, export};
use crate::query::search::Options;
use crate::store::Store;
use crate::term::text::escape;

/// Arguments of `export`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Profile directory, data path or file
    pub path: PathBuf,
    /// The program of a raw capture
    #[command(flatten)]
    pub program: ProgramArg,
    /// Only events of this stretch: 17.2us..19.9us; either end may be left out
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub range: Option<String>,
    /// Only these tables; all tables of events if none is named
    #[arg(long, value_name = "T,…", value_delimiter = ',')]
    pub tables: Vec<String>,
    /// How files are written; json is one object a line
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "csv")]
    pub format: FormatArg,
    /// The directory to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace files that are there already
    #[arg(long)]
    pub force: bool,
    /// Only events that a search finds; see `search --help`
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub query: Option<String>,
    /// Of each track only what a screen of so many columns would show of the range
    #[arg(long, value_name = "COLS")]
    pub sampled: Option<u16>,
}

/// The formats by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FormatArg {
    /// Comma-separated values
    Csv,
    /// One JSON object a line
    Json,
    /// Parquet
    Parquet,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Csv => Format::Csv,
            FormatArg::Json => Format::Json,
            FormatArg::Parquet => Format::Parquet,
        }
    }
}

/// Exports, and prints which files were written. Returns the exit status: 0, 1 where a search finds nothing, 2 where
/// something cannot be read or written.
#[must_use]
pub fn run(args: &Args, cache: Option<&Path>) -> u8 {
    let info = gather(std::slice::from_ref(&args.path), &args.program, cache);
    info.problems.iter().for_each(complain_of);
    if info.stores.is_empty() {
        return UNUSABLE;
    }
    let mut status = 0;
    for store in &info.stores {
        // What could not be read is not exported.
        store.problems.iter().for_each(complain_of);
        // Tables of several profiles have the same names.
        let out = if info.stores.len() > 1 { args.out.join(folder(&store.info.name)) } else { args.out.clone() };
        status = status.max(one(store, args, out));
    }
    status
}

/// A profile's name as that of a folder.
fn folder(name: &str) -> String {
    let safe: String = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    if safe.starts_with('.') { format!("_{safe}") } else { safe }
}

fn one(store: &Store, args: &Args, out: PathBuf) -> u8 {
    let window = match window(store, args.range.as_deref()) {
        Ok(window) => window,
        Err(message) => {
            complain(&format!("--range: {message}"));
            return UNUSABLE;
        }
    };
    let matches = match args.query.as_deref().map(|query| (query, find(store, query, Options::default()))) {
        None => None,
        Some((_, Ok(matches))) if matches.total() == 0 => {
            complain("no event matches; nothing is written");
            return FAILED;
        }
        Some((_, Ok(matches))) => Some(matches),
        Some((query, Err(fault))) => {
            complain(&pointed(query, &fault));
            return UNUSABLE;
        }
    };
    let request = Request {
        window,
        tables: args.tables.iter().map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect(),
        matches: matches.as_ref(),
        keep: None,
        sampled: args.sampled,
        format: args.format.into(),
        out,
        replace: args.force,
    };
    let bar = Bar::default();
    let result = export(store, &request, &AtomicBool::new(false), &|done, total| bar.show(done, total));
    bar.clear();
    match result {
        Ok((written, damage)) => {
            damage.iter().for_each(complain_of);
            print(&written.iter().map(line).collect::<String>())
        }
        Err(ExportError::Failed(problem)) => {
            complain_of(&problem);
            UNUSABLE
        }
        Err(cancelled) => {
            complain(&cancelled.to_string());
            UNUSABLE
        }
    }
}

fn line(written: &Written) -> String {
    let rows = if written.rows == 1 { "row" } else { "rows" };
    format!("{}  {} {rows}\n", escape(&written.path.to_string_lossy()), format_count(written.rows))
}

/// The stretch that was asked for; `None` for everything.
fn window(store: &Store, range: Option<&str>) -> Result<Option<Window>, String> {
    let Some(text) = range else { return Ok(None) };
    let range = parse_range(text).map_err(|e| e.to_string())?;
    if range.start.is_none() && range.end.is_none() {
        return Ok(None);
    }
    let (start, end) = range.resolve(store.info.origin_unix_ns, (i64::MIN, i64::MAX)).map_err(|e| e.to_string())?;
    Ok(Some(Window::new(start, end)))
}

/// Progress on a terminal.
#[derive(Default)]
struct Bar(Mutex<Option<Instant>>);

impl Bar {
    fn show(&self, done: u64, total: u64) {
        let mut err = std::io::stderr();
        let Ok(mut last) = self.0.lock() else { return };
        let due = last.is_none_or(|last| last.elapsed() > Duration::from_millis(100));
        if due && total > 0 && err.is_terminal() {
            let _ = write!(err, "\rexporting {:3} %", u128::from(done.min(total)) * 100 / u128::from(total));
            let _ = err.flush();
            *last = Some(Instant::now());
        }
    }

    fn clear(&self) {
        if self.0.lock().is_ok_and(|last| last.is_some()) {
            let _ = write!(std::io::stderr(), "\r               \r");
        }
    }
}
