//! Where marks are kept: a readable JSON file beside the profile, or in the state directory where that is read-only.
//!
//! Every change is written at once, to a temporary name and then renamed. What others wrote meanwhile is taken over
//! first, so that two sessions on one profile lose nothing of each other.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::atomic::write_atomically;
use crate::model::marks::{Mark, Marks, Merged};
use crate::store::Problem;

/// The version of the file's form that this program writes; newer ones are not overwritten.
const VERSION: u32 = 1;

/// A larger file holds no marks.
const MOST_BYTES: u64 = 64 << 20;

/// The file as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    neuron_scope_marks: u32,
    /// The profile's name, for people who look into the file.
    #[serde(default)]
    profile: String,
    marks: Vec<Mark>,
    /// Marks of the file beside a read-only profile that were deleted here.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    deleted: BTreeSet<String>,
}

/// How a file of marks is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarksFormat {
    /// The form that [`MarkBook::load`] reads.
    Json,
    /// One line per mark.
    Csv,
}

impl MarksFormat {
    /// By the end of a file's name; JSON unless it is `.csv`.
    #[must_use]
    pub fn of(path: &Path) -> MarksFormat {
        let csv = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        if csv { MarksFormat::Csv } else { MarksFormat::Json }
    }
}

/// The marks of a profile and the file that they are kept in.
#[derive(Debug)]
pub struct MarkBook {
    marks: Marks,
    profile: String,
    /// The file beside the profile.
    beside: PathBuf,
    /// The file in the state directory, used where the other cannot be written.
    elsewhere: PathBuf,
    /// Whether the one elsewhere is in use.
    moved: bool,
    /// Deleted in this session, or before beside a read-only profile.
    deleted: BTreeSet<String>,
    /// The text that the file had when it was last read or written.
    last: Option<Vec<u8>>,
}

fn problem(path: &Path, message: impl Into<String>) -> Problem {
    Problem { path: path.to_path_buf(), message: message.into() }
}

/// Unix time in milliseconds.
#[must_use]
pub fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

/// An id that no other mark has, whoever sets it.
#[must_use]
pub fn new_id() -> String {
    use std::hash::{BuildHasher, Hasher};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // The state of a new hasher is random, and differs between processes.
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
    format!("{:011x}-{:016x}", now_ms(), hasher.finish())
}

/// The file of marks beside a profile: `<profile>.neuron-scope.json`.
#[must_use]
pub fn beside(profile: &Path) -> PathBuf {
    let real = fs::canonicalize(profile).unwrap_or_else(|_| profile.to_path_buf());
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(".neuron-scope.json");
    real.with_file_name(name)
}

/// The file of marks in the state directory for the one that would be beside the profile.
fn elsewhere(beside: &Path, state: &Path) -> PathBuf {
    // FNV-1a: the same name for the same path in every version.
    let bytes = beside.as_os_str().as_encoded_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3));
    let name = beside.file_name().unwrap_or_default().to_string_lossy();
    let short: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "@-_.".contains(*c)).take(80).collect();
    state.join("marks").join(format!("{hash:016x}-{short}"))
}

/// Reads a file of marks; `None` where there is none.
fn read(path: &Path) -> Result<Option<(Saved, Vec<u8>)>, Problem> {
    let bytes = match crate::files::read(path, MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(problem(path, format!("the marks cannot be read: {e}; move it away to begin anew"))),
    };
    let saved: Saved = serde_json::from_slice(&bytes)
        .map_err(|e| problem(path, format!("is no file of marks: {e}; move it away to begin anew")))?;
    if saved.neuron_scope_marks > VERSION {
        let message = "holds marks of a newer version of neuron-scope; update it to change them";
        return Err(problem(path, message));
    }
    Ok(Some((saved, bytes)))
}

impl MarkBook {
    /// The marks of `profile`. A file that cannot be understood is told and never overwritten: marks then live in the
    /// state directory.
    #[must_use]
    pub fn open(profile: &Path, name: &str, state: &Path) -> (MarkBook, Vec<Problem>) {
        let beside = beside(profile);
        let elsewhere = elsewhere(&beside, state);
        let mut book = MarkBook {
            marks: Marks::default(),
            profile: name.to_owned(),
            beside,
            elsewhere,
            moved: false,
            deleted: BTreeSet::new(),
            last: None,
        };
        let mut problems = Vec::new();
        match read(&book.elsewhere) {
            Ok(Some((saved, bytes))) => {
                book.marks.merge(saved.marks);
                book.deleted = saved.deleted;
                book.last = Some(bytes);
                book.moved = true;
            }
            Ok(None) => {}
            Err(p) => problems.push(p),
        }
        match read(&book.beside) {
            Ok(Some((saved, bytes))) => {
                let deleted = &book.deleted;
                let kept = saved.marks.into_iter().filter(|m| !deleted.contains(&m.id)).collect::<Vec<_>>();
                book.marks.merge(kept);
                if !book.moved {
                    book.last = Some(bytes);
                }
            }
            Ok(None) => {}
            Err(p) => {
                book.moved = true;
                problems.push(p);
            }
        }
        (book, problems)
    }

    /// The marks.
    #[must_use]
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// The file that they are kept in.
    #[must_use]
    pub fn path(&self) -> &Path {
        if self.moved { &self.elsewhere } else { &self.beside }
    }

    /// Changes the marks and writes them. When this returns, a killed process loses nothing of it.
    ///
    /// # Errors
    /// They could be written nowhere; they are changed in memory all the same.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Marks) -> T) -> Result<T, Problem> {
        let before: BTreeSet<String> = self.marks.all().iter().map(|m| m.id.clone()).collect();
        let result = change(&mut self.marks);
        for id in &before {
            if self.marks.get(id).is_none() {
                self.deleted.insert(id.clone());
            }
        }
        for mark in self.marks.all() {
            self.deleted.remove(&mark.id);
        }
        self.save().map(|()| result)
    }

    /// Sets a mark, and writes it. Returns its id.
    ///
    /// # Errors
    /// It could be written nowhere; it is there all the same.
    pub fn add(&mut self, start: i64, end: Option<i64>, name: &str) -> Result<String, Problem> {
        let mut mark = Mark::new(new_id(), start, end, now_ms());
        mark.name = name.to_owned();
        let id = mark.id.clone();
        self.change(|marks| marks.add(mark)).map(|()| id)
    }

    /// Writes the marks where they can be written.
    fn save(&mut self) -> Result<(), Problem> {
        if !self.moved {
            match self.write(&self.beside.clone()) {
                Ok(()) => return Ok(()),
                Err(e) if is_read_only(&e) => {
                    self.moved = true;
                    self.last = None;
                }
                Err(e) => return Err(problem(&self.beside, format!("the marks cannot be written: {e}"))),
            }
        }
        self.write(&self.elsewhere.clone())
            .map_err(|e| problem(&self.elsewhere, format!("the marks cannot be written: {e}; they are kept in memory")))
    }

    fn write(&mut self, path: &Path) -> io::Result<()> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Other sessions wait; where a file system knows no locks, the renaming still keeps the file whole.
        let lock = File::open(folder).ok();
        let _ = lock.as_ref().map(File::lock);
        self.take_over(path)?;
        remove_leftovers(path);
        let saved = Saved {
            neuron_scope_marks: VERSION,
            profile: self.profile.clone(),
            marks: self.marks.all().to_vec(),
            deleted: if self.moved { self.deleted.clone() } else { BTreeSet::new() },
        };
        let mut text = serde_json::to_vec_pretty(&saved)?;
        text.push(b'\n');
        write_atomically(path, &text)?;
        self.last = Some(text);
        Ok(())
    }

    /// Takes over what another session wrote since the file was last read.
    fn take_over(&mut self, path: &Path) -> io::Result<()> {
        let Ok(bytes) = crate::files::read(path, MOST_BYTES) else { return Ok(()) };
        if self.last.as_ref() == Some(&bytes) {
            return Ok(());
        }
        let theirs: Saved = serde_json::from_slice(&bytes).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, "the file was replaced by something that holds no marks")
        })?;
        if theirs.neuron_scope_marks > VERSION {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a newer version of neuron-scope wrote the file"));
        }
        let known: Option<Saved> = self.last.as_ref().and_then(|last| serde_json::from_slice(last).ok());
        let theirs_has = |id: &str| theirs.marks.iter().any(|m| m.id == id);
        // What they deleted and nobody changed here goes too.
        for old in known.iter().flat_map(|saved| &saved.marks) {
            if !theirs_has(&old.id) && self.marks.get(&old.id) == Some(old) {
                self.marks.remove(&old.id);
            }
        }
        self.marks.merge(theirs.marks.into_iter().filter(|m| !self.deleted.contains(&m.id)).collect::<Vec<_>>());
        Ok(())
    }

    /// Takes over the marks of a file.
    ///
    /// # Errors
    /// The file cannot be read or holds no marks, or the result could not be written.
    pub fn load(&mut self, path: &Path) -> Result<Merged, Problem> {
        let (saved, _) = read(path)?.ok_or_else(|| problem(path, "does not exist; check the path"))?;
        self.change(|marks| marks.merge(saved.marks))
    }

    /// Writes a copy of the marks for others.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn export(&self, path: &Path, format: MarksFormat) -> Result<(), Problem> {
        let text = match format {
            MarksFormat::Csv => csv(&self.marks),
            MarksFormat::Json => {
                let marks = self.marks.all().to_vec();
                let profile = self.profile.clone();
                let saved = Saved { neuron_scope_marks: VERSION, profile, marks, deleted: BTreeSet::new() };
                serde_json::to_string_pretty(&saved).map_err(|e| problem(path, e.to_string()))? + "\n"
            }
        };
        write_atomically(path, text.as_bytes()).map_err(|e| problem(path, format!("cannot be written: {e}")))
    }
}

/// Whether the place is read-only rather than broken or full.
fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotFound
    )
}

/// Removes what a killed session left half-written; called under the lock.
fn remove_leftovers(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str())) else { return };
    let start = format!(".{name}.");
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name();
        if file.to_str().is_some_and(|f| f.starts_with(&start) && f.ends_with(".tmp")) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The marks as a table.
#[must_use]
pub fn csv(marks: &Marks) -> String {
    let mut out = String::from("id,name,start_ns,end_ns,duration_ns,color,note,created_ms,changed_ms\n");
    for mark in marks.all() {
        let duration = mark.end_ns.map(|end| end.abs_diff(mark.start_ns).to_string()).unwrap_or_default();
        let cells = [
            mark.id.clone(),
            mark.name.clone(),
            mark.start_ns.to_string(),
            mark.end_ns.map(|end| end.to_string()).unwrap_or_default(),
            duration,
            mark.color.clone(),
            mark.note.clone(),
            mark.created_ms.to_string(),
            mark.changed_ms.to_string(),
        ];
        out += &cells.map(|cell| crate::query::export::csv_cell(&cell).into_owned()).join(",");
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
