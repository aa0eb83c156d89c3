//! The on-disk cache of an indexed profile: written after the profile is usable, mapped when it is opened again.
//!
//! One file per profile, named after the profile's path. It is written under a temporary name and renamed, and it is
//! used only if it was made by this very index version from files of these very names, sizes and times. Any doubt means
//! that the profile is read again.

mod archive;
mod parts;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow::error::ArrowError;
use serde::{Deserialize, Serialize};

pub(crate) use self::archive::Reader;
use self::archive::Writer;
use super::{Problem, ProfileInfo, Records, Rows, Store, TableInfo};

/// Changes whenever what is written here changes its meaning.
const INDEX_VERSION: u32 = 5;

/// Caches that nobody opened for this long are old.
pub const OLD: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a profile was read from: names, sizes and times of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    path: PathBuf,
    files: Vec<(String, u64, u64)>,
    /// Other files that were read, wherever they are.
    beside: Vec<PathBuf>,
}

impl Fingerprint {
    /// Looks at a file, or at the files of a directory; `None` where that is not possible.
    #[must_use]
    pub fn of(path: &Path) -> Option<Fingerprint> {
        Fingerprint::with(path, &[])
    }

    /// Looks at a file, or at the files of a directory, and at other files that belong to it; `None` where that is not
    /// possible.
    #[must_use]
    pub fn with(path: &Path, beside: &[&Path]) -> Option<Fingerprint> {
        let path = fs::canonicalize(path).ok()?;
        let beside: Vec<PathBuf> = beside.iter().map(fs::canonicalize).collect::<Result<_, _>>().ok()?;
        let entry = |path: &Path| {
            let meta = fs::metadata(path).ok()?;
            let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
            let name = path.file_name()?.to_string_lossy().into_owned();
            meta.is_file().then_some((name, meta.len(), modified))
        };
        let mut files: Vec<_> = if path.is_dir() {
            fs::read_dir(&path).ok()?.flatten().filter_map(|e| entry(&e.path())).collect()
        } else {
            entry(&path).into_iter().collect()
        };
        files.sort();
        for beside in &beside {
            files.push(entry(beside)?);
        }
        Some(Fingerprint { path, files, beside })
    }

    /// Whether the files are as they were.
    fn is_true(&self) -> bool {
        let beside: Vec<&Path> = self.beside.iter().map(PathBuf::as_path).collect();
        Fingerprint::with(&self.path, &beside).is_some_and(|now| now == *self)
    }

    /// The file that caches what is at this path.
    fn file(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}.arrow", self.name()))
    }

    /// The file of this name beside it.
    fn file_beside(&self, directory: &Path, name: &str) -> PathBuf {
        directory.join(format!("{}.{name}.arrow", self.name()))
    }

    fn name(&self) -> String {
        // FNV-1a: a name that stays the same from run to run. A clash costs only a rebuild.
        // Alone and together with others it is two profiles; with another program it is the same one.
        let others = self.beside.iter().filter(|_| self.beside.len() > 1);
        let hash = std::iter::once(&self.path)
            .chain(others)
            .flat_map(|path| path.as_os_str().as_encoded_bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
        format!("{hash:016x}")
    }
}

/// The part of a store that is written as JSON.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    fingerprint: Fingerprint,
    info: ProfileInfo,
    tables: Vec<TableInfo>,
    range: Option<(i64, i64)>,
    records: Vec<Records>,
    problems: Vec<Problem>,
    parts: parts::Shape,
}

/// What every file begins with: the fields of [`Header`] that tell whether it is true.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Seal {
    version: u32,
    fingerprint: Fingerprint,
}

impl Seal {
    fn of(reader: &Reader) -> Option<Seal> {
        serde_json::from_str(reader.texts("header")?.first()?).ok()
    }
}

/// The directory of the caches: `neuron-scope` in the user's cache directory.
#[must_use]
pub fn directory() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("neuron-scope"))
}

/// Writes the cache of a store that was just read from files as `fingerprint` says. Returns its size in bytes; `None`
/// where it was cancelled.
///
/// # Errors
/// Says which file could not be written and what to do.
pub fn save(
    store: &Store,
    fingerprint: &Fingerprint,
    directory: &Path,
    cancel: &AtomicBool,
) -> Result<Option<u64>, Problem> {
    put(fingerprint.file(directory), &|path| write(store, fingerprint, path, cancel))
}

/// Writes a file under a temporary name, and puts it in place where `write` says that it is complete.
fn put(target: PathBuf, write: &dyn Fn(&Path) -> Result<bool, ArrowError>) -> Result<Option<u64>, Problem> {
    let partial = target.with_extension(format!("{}.partial", std::process::id()));
    let fail = |message: String| Problem { path: target.clone(), message };
    let result = match write(&partial) {
        Ok(true) => fs::rename(&partial, &target)
            .and_then(|()| fs::metadata(&target))
            .map(|meta| Some(meta.len()))
            .map_err(|e| fail(format!("the cache could not be put in place: {e}"))),
        Ok(false) => Ok(None),
        Err(e) => Err(fail(format!("the cache could not be written ({e}); free some space, or use --no-cache"))),
    };
    if !matches!(result, Ok(Some(_))) {
        let _ = fs::remove_file(&partial);
    }
    result
}

fn write(store: &Store, fingerprint: &Fingerprint, path: &Path, cancel: &AtomicBool) -> Result<bool, ArrowError> {
    let mut out = create(path)?;
    let mut go_on = || !cancel.load(Ordering::Relaxed);
    let Some(shape) = parts::write(store, &mut out, &mut go_on)? else { return Ok(false) };
    let header = Header {
        version: INDEX_VERSION,
        fingerprint: fingerprint.clone(),
        info: store.info.clone(),
        tables: store.tables.clone(),
        range: store.range,
        records: store.records.clone(),
        problems: store.problems.clone(),
        parts: shape,
    };
    let json = serde_json::to_string(&header).map_err(|e| ArrowError::ExternalError(Box::new(e)))?;
    out.texts("header", &[json])?;
    out.finish()?;
    Ok(true)
}

fn create(path: &Path) -> Result<Columns, ArrowError> {
    let other = |e: io::Error| ArrowError::IoError(e.to_string(), e);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(other)?;
    }
    Writer::new(fs::File::create(path).map_err(other)?)
}

/// Columns that are written to a file of their own.
pub(crate) type Columns = Writer<fs::File>;
/// Whether that went well.
pub(crate) type Written = Result<(), ArrowError>;

/// Writes more about a profile to a file beside its cache, called `name`. Returns its size in bytes; `None` where it was
/// cancelled.
///
/// # Errors
/// Says which file could not be written and what to do.
pub(crate) fn save_beside(
    fingerprint: &Fingerprint,
    directory: &Path,
    name: &str,
    cancel: &AtomicBool,
    write: &dyn Fn(&mut Columns) -> Written,
) -> Result<Option<u64>, Problem> {
    put(fingerprint.file_beside(directory, name), &|path| {
        let mut out = create(path)?;
        let seal = Seal { version: INDEX_VERSION, fingerprint: fingerprint.clone() };
        let json = serde_json::to_string(&seal).map_err(|e| ArrowError::ExternalError(Box::new(e)))?;
        out.texts("header", &[json])?;
        write(&mut out)?;
        out.finish()?;
        Ok(!cancel.load(Ordering::Relaxed))
    })
}

/// What was written beside the cache of a profile under `name`; `None` where there is none or it is not true any more.
#[must_use]
pub(crate) fn load_beside(fingerprint: &Fingerprint, directory: &Path, name: &str) -> Option<Reader> {
    let path = fingerprint.file_beside(directory, name);
    let reader = Reader::open(&path)?;
    (Seal::of(&reader)? == Seal { version: INDEX_VERSION, fingerprint: fingerprint.clone() }).then_some(reader)
}

/// Opens the cache of the files that `fingerprint` describes; `None` where there is none or it is not true any more.
/// Full rows are read by `rows`, which is asked only when needed.
#[must_use]
pub fn load(fingerprint: &Fingerprint, directory: &Path, rows: Arc<dyn Rows>) -> Option<Store> {
    let path = fingerprint.file(directory);
    let reader = Reader::open(&path)?;
    let header: Header = serde_json::from_str(reader.texts("header")?.first()?).ok()?;
    if header.version != INDEX_VERSION || header.fingerprint != *fingerprint {
        return None;
    }
    let parts = parts::read(&reader, &header.parts)?;
    // The time of last use, for pruning.
    if let Ok(file) = fs::File::options().append(true).open(&path) {
        let _ = file.set_modified(SystemTime::now());
    }
    let ids = parts.events.iter().map(|_| OnceLock::new()).collect();
    Some(Store {
        info: header.info,
        tables: header.tables,
        range: header.range,
        events: parts.events,
        counters: parts.counters,
        graph: parts.graph,
        records: header.records,
        problems: header.problems,
        origin: Some(fingerprint.clone()),
        cached: true,
        derived: parts.derived,
        rows,
        ids,
    })
}

/// Removes caches that are of another version, whose profile is gone or changed, that nobody opened for a month, and
/// what an interrupted writing left. Returns how many files went and their bytes.
///
/// # Errors
/// Says why the directory could not be read.
pub fn prune(directory: &Path) -> Result<(usize, u64), Problem> {
    let mut removed = (0, 0);
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(removed),
        Err(e) => {
            return Err(Problem { path: directory.into(), message: format!("the caches cannot be listed: {e}") });
        }
    };
    for path in entries.flatten().map(|e| e.path()) {
        let Ok(meta) = fs::metadata(&path) else { continue };
        let age = meta.modified().ok().and_then(|m| m.elapsed().ok()).unwrap_or_default();
        let old = match path.extension().and_then(|e| e.to_str()) {
            Some("arrow") => age > OLD || !is_true(&path),
            // A writing that goes on is younger than this, and whoever does it is there.
            Some("partial") => age > Duration::from_secs(3600) || is_abandoned(&path),
            _ => false,
        };
        if old && fs::remove_file(&path).is_ok() {
            removed = (removed.0 + 1, removed.1 + meta.len());
        }
    }
    Ok(removed)
}

/// Whether the process that was writing `NAME.PID.partial` is gone; where processes cannot be looked at, none is.
#[must_use]
pub fn is_abandoned(partial: &Path) -> bool {
    let name = partial.file_stem().unwrap_or_default().to_string_lossy();
    let pid = name.rsplit_once('.').and_then(|(_, pid)| pid.parse::<u32>().ok());
    let processes = Path::new("/proc");
    processes.join("self").exists() && pid.is_some_and(|pid| !processes.join(pid.to_string()).exists())
}

fn is_true(path: &Path) -> bool {
    let seal = Reader::open(path).and_then(|reader| Seal::of(&reader));
    seal.is_some_and(|seal| seal.version == INDEX_VERSION && seal.fingerprint.is_true())
}
