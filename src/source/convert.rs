//! Has the vendor's tool convert what cannot be read here: system profiles, and device traces of other versions. What
//! it makes of them is kept in the cache directory, so that it is done once.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, UNIX_EPOCH};

use super::discover::MOST_LEVELS;
use super::ntff::Head;
use super::{Format, Found};
use crate::store::{Problem, ProfileKind, cache};

/// The vendor's tool.
const TOOL: &str = "neuron-explorer";
/// Where its package puts it.
const USUAL: &str = "/opt/aws/neuron/bin";
/// Bytes of a line of its messages that are kept.
const MOST_LINE: u64 = 4096;
/// Lines of its messages that are told when it fails.
const TOLD_LINES: usize = 8;
/// How often to see whether it has ended, or is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Files that make up the identity of what is converted.
const MOST_FILES: usize = 20_000;

/// What to convert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A capture directory.
    Directory(PathBuf),
    /// A device trace and its program.
    Trace {
        /// The NTFF.
        ntff: PathBuf,
        /// The NEFF.
        neff: PathBuf,
    },
}

impl Input {
    /// What there is to convert of something found.
    #[must_use]
    pub fn of(found: &Found) -> Input {
        match (&found.neff, found.kind) {
            (Some(neff), ProfileKind::Device) => Input::Trace { ntff: found.path.clone(), neff: neff.clone() },
            (None, ProfileKind::Device) => {
                Input::Directory(found.path.parent().map_or_else(|| found.path.clone(), Path::to_path_buf))
            }
            _ => Input::Directory(found.path.clone()),
        }
    }

    /// What it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Input::Directory(path) | Input::Trace { ntff: path, .. } => path,
        }
    }

    fn arguments(&self, out: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["view".into()];
        match self {
            Input::Directory(path) => arguments.extend(["-d".into(), path.into()]),
            Input::Trace { ntff, neff } => {
                arguments.extend(["-n".into(), neff.into(), "-s".into(), ntff.into()]);
            }
        }
        arguments.extend(["--output-format".into(), "parquet".into(), "--output-file".into(), out.into()]);
        arguments
    }

    /// The command that converts it, as one types it.
    #[must_use]
    pub fn command(&self, out: &Path) -> String {
        let words = self.arguments(out).into_iter().map(|word| quoted(&word.to_string_lossy()));
        std::iter::once(TOOL.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Where in a cache directory the result is: a name made of the path, and the names, sizes and times of all files.
    fn place(&self, cache: &Path) -> Option<PathBuf> {
        let mut files = vec![];
        match self {
            Input::Directory(path) => {
                let mut pending = vec![(fs::canonicalize(path).ok()?, 0)];
                while let Some((directory, level)) = pending.pop() {
                    for entry in fs::read_dir(&directory).ok()?.flatten() {
                        let kind = entry.file_type().ok()?;
                        if kind.is_dir() && level < MOST_LEVELS {
                            pending.push((entry.path(), level + 1));
                        } else if kind.is_file() {
                            files.push(entry.path());
                        }
                    }
                    if files.len() > MOST_FILES {
                        return None;
                    }
                }
            }
            Input::Trace { ntff, neff } => files.extend([fs::canonicalize(ntff).ok()?, fs::canonicalize(neff).ok()?]),
        }
        files.sort();
        let mut identity = String::new();
        for file in files {
            let meta = fs::metadata(&file).ok()?;
            let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
            identity.push_str(&format!("{}\n{}\n{modified}\n", file.display(), meta.len()));
        }
        // FNV-1a: a name that stays the same from run to run.
        let hash = identity
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Some(cache.join("converted").join(format!("{hash:016x}")))
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:@+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Where the vendor's tool is: on the path, or where its package puts it.
#[must_use]
pub fn tool() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain([PathBuf::from(USUAL)]).map(|dir| dir.join(TOOL)).find(|file| is_program(file))
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    let may_run = |meta: &fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = |_: &fs::Metadata| true;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && may_run(&meta))
}

/// What was made of a capture directory before, where that is still true.
#[must_use]
pub fn existing(directory: &Path) -> Option<PathBuf> {
    result_of(&Input::Directory(directory.to_path_buf()), &cache::directory()?)
}

/// What was made of `input` before, where that is still true.
#[must_use]
pub fn result_of(input: &Input, cache: &Path) -> Option<PathBuf> {
    input.place(cache).filter(|place| place.is_dir())
}

/// Says that something must be converted, and how.
#[must_use]
pub fn needed(found: &Found) -> Problem {
    let input = Input::of(found);
    let what = match (found.kind, Head::open(&found.path)) {
        (ProfileKind::Device, Err(why)) => why.fault().what,
        _ => "system traces are in the vendor's own format".to_owned(),
    };
    let message = match tool() {
        Some(_) => format!("{what}; convert it: neuron-scope convert {}", quoted(&input.path().to_string_lossy())),
        None => {
            format!("{what}, and {TOOL} is not installed here. Where it is, run: {}", input.command(Path::new("OUT")))
        }
    };
    Problem { path: found.path.clone(), message }
}

/// Converts `input` with `tool`, or finds what was made of it before. Its messages are given to `report` line by line.
/// Returns the directory of the result.
///
/// # Errors
/// Says what the tool said where it failed; a cancelled conversion also ends with an error. Nothing is left of either.
pub fn convert(
    input: &Input,
    tool: &Path,
    cache: &Path,
    cancel: &AtomicBool,
    report: &dyn Fn(&str),
) -> Result<PathBuf, Problem> {
    let fail = |message: String| Problem { path: input.path().to_path_buf(), message };
    let place = input.place(cache).ok_or_else(|| fail("cannot be read; check the path and its permissions".into()))?;
    if place.is_dir() {
        return Ok(place);
    }
    let partial = place.with_extension(format!("{}.partial", std::process::id()));
    let made = fs::create_dir_all(&partial);
    made.map_err(|e| fail(format!("{} cannot be made ({e}); free some space", partial.display())))?;
    let result = run(input, tool, &partial, cancel, report).and_then(|()| {
        if !holds_something(&partial) {
            return Err(format!("{TOOL} ended well but wrote nothing; see whether the capture is complete"));
        }
        fs::rename(&partial, &place).map_err(|e| format!("the result could not be put in place: {e}"))
    });
    if result.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    result.map(|()| place).map_err(fail)
}

fn holds_something(directory: &Path) -> bool {
    super::survey(directory).is_ok_and(|survey| survey.found.iter().any(|found| found.format == Format::Parquet))
}

fn run(input: &Input, tool: &Path, out: &Path, cancel: &AtomicBool, report: &dyn Fn(&str)) -> Result<(), String> {
    let child = Command::new(tool)
        .args(input.arguments(out))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|e| format!("{} cannot be run: {e}", tool.display()))?;
    // Not joined: what the tool has started may hold its output open after it has ended.
    let (sender, receiver) = mpsc::channel();
    for stream in [child.stdout.take().map(boxed), child.stderr.take().map(boxed)].into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || lines(stream, &sender));
    }
    drop(sender);
    let mut said = VecDeque::new();
    let mut hear = |line: String| {
        report(&line);
        if said.len() == TOLD_LINES {
            said.pop_front();
        }
        said.push_back(line);
    };
    let unwaited = |e: std::io::Error| format!("{TOOL} cannot be waited for: {e}");
    let status = loop {
        let heard = receiver.recv_timeout(LOOK);
        let ended = child.try_wait().map_err(unwaited)?;
        match heard {
            Ok(line) => hear(line),
            Err(mpsc::RecvTimeoutError::Disconnected) if ended.is_none() => std::thread::sleep(LOOK),
            // Nothing more is to come of one that has ended.
            Err(_) => {
                if let Some(status) = ended {
                    break status;
                }
            }
        }
        if cancel.load(Ordering::Relaxed) {
            child.kill().and_then(|()| child.wait()).map_err(unwaited)?;
            return Err("the conversion was cancelled".into());
        }
    };
    if status.success() {
        return Ok(());
    }
    let said: Vec<_> = said.into_iter().collect();
    Err(format!("{TOOL} failed ({status}). It said:\n{}", said.join("\n")))
}

fn boxed(stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(stream)
}

/// Sends the lines of a stream, however long and of whatever bytes.
fn lines(stream: impl Read, to: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream);
    let mut line = vec![];
    loop {
        line.clear();
        match (&mut reader).take(MOST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                // A progress bar draws over itself.
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']).rsplit('\r').next().unwrap_or_default().trim_end();
                if !text.is_empty() && to.send(text.to_owned()).is_err() {
                    return;
                }
            }
        }
    }
}

/// Removes conversions that were made more than `age` ago, and what interrupted ones left. Returns how many.
///
/// # Errors
/// Says which could not be removed.
pub fn prune(cache: &Path, age: Duration) -> Result<usize, Problem> {
    let mut removed = 0;
    for path in fs::read_dir(cache.join("converted")).into_iter().flatten().flatten().map(|e| e.path()) {
        let made = fs::metadata(&path).and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        // One that goes on is younger than this, and whoever does it is there.
        let partial = path.extension().is_some();
        let most = if partial { Duration::from_secs(24 * 3600) } else { age };
        if made.is_some_and(|made| made > most) || partial && cache::is_abandoned(&path) {
            fs::remove_dir_all(&path)
                .map_err(|e| Problem { path: path.clone(), message: format!("cannot be removed: {e}") })?;
            removed += 1;
        }
    }
    Ok(removed)
}
