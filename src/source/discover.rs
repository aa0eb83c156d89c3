//! Says which profiles a path holds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::legacy_json::{Kind, sniff_file};
use super::parquet::files;
use super::{Format, Found};
use crate::store::{Problem, ProfileKind};

/// How deep below the given path profiles are looked for: a data path has them at `profiles/global/NAME@latest`.
const MOST_LEVELS: usize = 6;
/// How many directories are looked into before giving up.
const MOST_DIRECTORIES: usize = 20_000;

/// Finds the profiles that `path` holds: at least one, in order of name.
///
/// # Errors
/// Says what was looked for where nothing was found, or why the path could not be read.
pub fn discover(path: &Path) -> Result<Vec<Found>, Problem> {
    let fail = |message: String| Problem { path: path.to_path_buf(), message };
    let meta = fs::metadata(path).map_err(|e| fail(super::parquet::io_message(&e)))?;
    if meta.is_file() {
        return file(path).map(|f| vec![f]);
    }
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    let mut pending = vec![(path.to_path_buf(), 0)];
    let mut seen = BTreeSet::new();
    while let Some((directory, level)) = pending.pop() {
        // The real path tells loops of symbolic links.
        let real = fs::canonicalize(&directory).unwrap_or_else(|_| directory.clone());
        if !seen.insert(real) || seen.len() > MOST_DIRECTORIES {
            continue;
        }
        match look_into(&directory) {
            Ok(Some(profile)) => {
                found.push(profile);
                continue;
            }
            Ok(None) => found.extend(file_profiles(&directory)),
            Err(problem) => unreadable.push(problem),
        }
        if level < MOST_LEVELS {
            pending.extend(directories(&directory).map(|d| (d, level + 1)));
        }
    }
    if found.is_empty() {
        return Err(unreadable.pop().unwrap_or_else(|| {
            fail(
                "holds no profile. Looked for: a directory with Parquet tables (Instruction.parquet, DmaPacket.parquet, \
                 SystemProfileEvents.parquet, …), profiles/global/NAME@latest below it, a raw capture (.ntff), and a \
                 full-profile .json. \
                 Name the directory that `neuron-explorer view --output-format parquet` wrote"
                    .into(),
            )
        }));
    }
    found.sort_by(|a, b| crate::model::natural_cmp(&a.name, &b.name).then_with(|| a.path.cmp(&b.path)));
    Ok(found)
}

/// The profile that a directory itself is, if it is one.
fn look_into(directory: &Path) -> Result<Option<Found>, Problem> {
    let tables = files::list(directory)?;
    if tables.is_empty() {
        return Ok(None);
    }
    let kind =
        if tables.keys().any(|t| t.starts_with("SystemProfile")) { ProfileKind::System } else { ProfileKind::Device };
    let (name, path) = (name_of(directory), directory.to_path_buf());
    Ok(Some(Found { name, path, format: Format::Parquet, kind, neff: None }))
}

fn is_json(name: &str) -> bool {
    name.ends_with(".json") || name.ends_with(".json.gz")
}

/// The full-profile JSON at `path`, if it is one.
fn json_profile(path: &Path) -> Option<Found> {
    matches!(sniff_file(path), Some(Kind::FullProfile)).then(|| Found {
        name: file_name(path),
        path: path.to_path_buf(),
        format: Format::LegacyJson,
        kind: ProfileKind::Device,
        neff: None,
    })
}

/// Gives the raw capture among `found` the program that ran.
///
/// # Errors
/// Says so where there is no capture, or more than one, that could be meant.
pub fn with_program(mut found: Vec<Found>, neff: &Path) -> Result<Vec<Found>, Problem> {
    let fail = |message: String| Problem { path: neff.to_path_buf(), message };
    if !neff.is_file() {
        return Err(fail("is no file; name the NEFF that ran".into()));
    }
    let mut captures: Vec<&mut Found> = found.iter_mut().filter(|f| f.format == Format::Raw).collect();
    match captures.as_mut_slice() {
        [one] => one.neff = Some(neff.to_path_buf()),
        [] => return Err(fail("belongs to a raw capture, but none is named; name the .ntff".into())),
        several => return Err(fail(format!("belongs to one of {} captures; name that .ntff", several.len()))),
    }
    Ok(found)
}

/// The raw capture at `path`, with the NEFF that lies beside it.
fn raw_capture(path: &Path) -> Found {
    Found {
        name: path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        path: path.to_path_buf(),
        format: Format::Raw,
        kind: ProfileKind::Device,
        neff: neff_beside(path),
    }
}

/// The NEFF beside an NTFF: the only one, or the one whose name the NTFF's begins with.
fn neff_beside(ntff: &Path) -> Option<PathBuf> {
    let stem = ntff.file_stem()?.to_string_lossy().into_owned();
    let mut beside: Vec<PathBuf> = files_in(ntff.parent()?).filter(|p| has_extension(p, "neff")).collect();
    if beside.len() > 1 {
        let named = |path: &PathBuf| path.file_stem().is_some_and(|s| stem.starts_with(&*s.to_string_lossy()));
        beside.retain(named);
        beside.sort_by_key(|path| path.as_os_str().len());
    }
    beside.pop()
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

fn files_in(directory: &Path) -> impl Iterator<Item = PathBuf> {
    // The directory of a bare file name is an empty path.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).filter(|p| p.is_file())
}

/// The profiles among the files of a directory.
fn file_profiles(directory: &Path) -> Vec<Found> {
    let profile = |path: PathBuf| match path {
        ntff if has_extension(&ntff, "ntff") => Some(raw_capture(&ntff)),
        json if is_json(&json.to_string_lossy()) => json_profile(&json),
        _ => None,
    };
    files_in(directory).filter_map(profile).collect()
}

fn directories(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let mut below: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    below.sort();
    below.into_iter().rev()
}

/// `llama` for `…/llama@latest`.
fn name_of(path: &Path) -> String {
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let name = absolute.file_name().map_or_else(|| path.to_string_lossy(), |n| n.to_string_lossy()).into_owned();
    name.strip_suffix("@latest").map(str::to_string).unwrap_or(name)
}

fn file(path: &Path) -> Result<Found, Problem> {
    let name = file_name(path);
    if has_extension(path, "ntff") {
        return Ok(raw_capture(path));
    }
    if has_extension(path, "neff") {
        let message = "is a compiled program, which has no timeline. Name the .ntff that was captured when it ran; \
                       `neuron-scope info` describes the program"
            .into();
        return Err(Problem { path: path.to_path_buf(), message });
    }
    if name.ends_with(".parquet") {
        let message = "is one table of a profile; name its directory instead".into();
        return Err(Problem { path: path.to_path_buf(), message });
    }
    if is_json(&name) {
        return json_profile(path).ok_or_else(|| {
            let message = match sniff_file(path) {
                Some(kind) => format!("is {}; a full profile is needed (--output-format json)", kind.words()),
                None => "is JSON, but no profile; name what `neuron-profile view --output-format json` wrote".into(),
            };
            Problem { path: path.to_path_buf(), message }
        });
    }
    let message = "is of a kind that cannot be opened. Name a directory of Parquet tables, a raw capture (.ntff) or a \
                   full-profile .json"
        .into();
    Err(Problem { path: path.to_path_buf(), message })
}
