//! What is on disk: discovery, and one module per format that turns bytes into rows.

pub mod capture;
pub mod convert;
mod discover;
pub mod legacy_json;
mod lenient;
pub mod neff;
pub mod ntff;
pub mod parquet;
pub mod raw;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::cache::{self, Fingerprint};
use crate::store::{Problem, ProfileKind, Rows, Store};

/// What a path turned out to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A directory of Parquet tables.
    Parquet,
    /// The full-profile JSON of `--output-format json`.
    LegacyJson,
    /// A raw capture: an NTFF and, where it is known, the NEFF that ran.
    Raw,
    /// Something that only the vendor's tool can read, to be converted.
    Vendor,
}

impl Format {
    /// The name used in JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::LegacyJson => "json",
            Format::Raw => "ntff",
            Format::Vendor => "vendor",
        }
    }
}

/// A profile that was found on disk and not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name, as shown.
    pub name: String,
    /// The directory or file.
    pub path: PathBuf,
    /// How it is stored.
    pub format: Format,
    /// What it describes, as far as its files tell without reading them.
    pub kind: ProfileKind,
    /// The program that ran, for a raw capture that has it beside it or was given it.
    pub neff: Option<PathBuf>,
    /// Why it cannot be read, where its first bytes tell.
    pub broken: Option<String>,
    /// The raw captures that are shown together on one time axis, this one first; none where it is shown alone.
    pub together: Vec<Together>,
}

/// One of several raw captures that are shown together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// What tells it from the others, such as `rank 1`.
    pub label: String,
    /// The NTFF.
    pub path: PathBuf,
    /// The program that ran.
    pub neff: Option<PathBuf>,
}

/// How far the opening of a profile is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done: `reading Instruction`.
    pub step: String,
    /// Work done so far, in units of the source's own.
    pub done: u64,
    /// All work, in the same units; at least `done`.
    pub total: u64,
}

/// What happens while a profile is opened.
pub enum OpenEvent {
    /// Some work was done.
    Progress(Progress),
    /// A part of the profile can be shown already: tracks read so far. Each is more complete than the one before.
    Partial(Arc<Store>),
}

/// How a source reports while it reads, and learns that it need not go on.
pub struct Opening<'a> {
    /// Set when nobody waits for the result any more; readers look at it often.
    pub cancel: &'a AtomicBool,
    /// Receives what happens; called from several threads.
    pub report: &'a (dyn Fn(OpenEvent) + Sync),
    /// Where caches are kept; `None` to use none.
    pub cache: Option<&'a Path>,
}

impl Opening<'_> {
    /// Whether to give up.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

pub use discover::{Survey, discover, merged, survey, with_program};

/// Reads and indexes a profile, from its cache where that is still true.
///
/// # Errors
/// Says what was wrong where nothing at all could be read; anything less is listed in [`Store::problems`].
/// A cancelled opening also ends with an error.
pub fn open(found: &Found, opening: &Opening) -> Result<Store, Problem> {
    // Taken before reading: a file that changes meanwhile makes the cache untrue.
    let others =
        found.together.iter().flat_map(|one| std::iter::once(&one.path).chain(&one.neff)).map(PathBuf::as_path);
    let beside: Vec<&Path> = found.neff.as_deref().into_iter().chain(others).collect();
    let fingerprint = Fingerprint::with(&found.path, &beside);
    let cached_rows = || -> Option<Arc<dyn Rows>> {
        match found.format {
            Format::Parquet => Some(parquet::rows_of(&found.path)),
            Format::Raw => Some(raw::store::rows_of(found)),
            Format::LegacyJson | Format::Vendor => None,
        }
    };
    let cacheable = matches!(found.format, Format::Parquet | Format::Raw);
    if let (Some(directory), Some(fingerprint)) = (opening.cache, &fingerprint)
        && let Some(rows) = cached_rows()
        && let Some(store) = cache::load(fingerprint, directory, rows)
    {
        return Ok(store);
    }
    let mut store = match found.format {
        Format::Parquet => parquet::open(found, opening)?,
        Format::LegacyJson => legacy_json::open(&found.path, opening)?,
        Format::Raw => raw::store::open(found, opening)?,
        Format::Vendor => return Err(convert::needed(found)),
    };
    store.origin = fingerprint.filter(|_| cacheable);
    Ok(store)
}
