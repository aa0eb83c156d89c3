//! Says which profiles a path holds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::capture::{Capture, CaptureFile, FileKind, Program, Trace, cached, names};
use super::legacy_json::{Kind, sniff_file};
use super::ntff::Unusable;
use super::parquet::files;
use super::{Format, Found, Together, convert};
use crate::model::natural_cmp;
use crate::store::{Problem, ProfileKind};

/// How deep below the given path profiles are looked for: a data path has them at `profiles/global/NAME@latest`.
pub(super) const MOST_LEVELS: usize = 12;
/// How many directories are looked into before giving up.
const MOST_DIRECTORIES: usize = 20_000;

/// What lies at a path.
#[derive(Debug, Default)]
pub struct Survey {
    /// The profiles, in order of name.
    pub found: Vec<Found>,
    /// The files of captures, which the profiles among [`Survey::found`] of the formats `Raw` and `Vendor` are from.
    pub capture: Capture,
    /// What could not be looked into.
    pub problems: Vec<Problem>,
}

/// Finds the profiles that `path` holds: at least one, in order of name.
///
/// # Errors
/// Says what was looked for where nothing was found, or why the path could not be read.
pub fn discover(path: &Path) -> Result<Vec<Found>, Problem> {
    let survey = survey(path)?;
    if survey.found.is_empty() { Err(survey.nothing(path)) } else { Ok(survey.found) }
}

/// Looks at all that lies at `path`, be it something that can be opened or not.
///
/// # Errors
/// Says why the path could not be read, or why a single file is of no use.
pub fn survey(path: &Path) -> Result<Survey, Problem> {
    let fail = |message: String| Problem { path: path.to_path_buf(), message };
    let meta = fs::metadata(path).map_err(|e| fail(super::parquet::io_message(&e)))?;
    if meta.is_file() {
        return file(path, meta.len());
    }
    if !meta.is_dir() {
        return Err(fail("is neither a file nor a directory; name a device trace (.ntff) or a directory".into()));
    }
    let mut survey = Survey::default();
    let mut files = vec![];
    let mut pending = vec![(path.to_path_buf(), 0)];
    let mut seen = BTreeSet::new();
    while let Some((directory, level)) = pending.pop() {
        // The real path tells loops of symbolic links.
        let real = fs::canonicalize(&directory).unwrap_or_else(|_| directory.clone());
        if !seen.insert(real) || seen.len() > MOST_DIRECTORIES {
            continue;
        }
        match look_into(&directory) {
            Ok(Some(profile)) => survey.found.push(profile),
            Ok(None) => {
                let below = survey.files_of(&directory, &mut files);
                if level < MOST_LEVELS {
                    pending.extend(below.into_iter().map(|d| (d, level + 1)));
                } else if let Some(deeper) = below.into_iter().next_back() {
                    let message =
                        format!("was not looked into, being {MOST_LEVELS} directories down; name it by itself");
                    survey.problems.push(Problem { path: deeper, message });
                }
            }
            Err(problem) => survey.problems.push(problem),
        }
    }
    survey.add_capture(path, files);
    survey.found.sort_by(|a, b| natural_cmp(&a.name, &b.name).then_with(|| a.path.cmp(&b.path)));
    Ok(survey)
}

impl Survey {
    /// Why there is nothing to open.
    #[must_use]
    pub fn nothing(mut self, path: &Path) -> Problem {
        if let Some(problem) = self.problems.pop() {
            return problem;
        }
        let about = |path: &Path, message: String| Problem { path: path.to_path_buf(), message };
        let nothing = self.capture.nothing_captured(path);
        if let Some(finding) = nothing.or_else(|| self.capture.check().into_iter().next()) {
            let message = finding.message();
            return about(&finding.path, message);
        }
        let inside = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let misnamed = std::iter::once(path.to_path_buf()).chain(inside).filter(|path| path.is_dir());
        let kind = |path: &PathBuf| FileKind::of(&file_name(path));
        if let Some((path, kind)) = misnamed.into_iter().find_map(|path| kind(&path).map(|kind| (path, kind))) {
            let words = kind.words();
            return about(&path, format!("is a directory, though it is named as a {words} is; name the file"));
        }
        about(
            path,
            "holds no profile. Looked for: a directory with Parquet tables (Instruction.parquet, DmaPacket.parquet, \
             SystemProfileEvents.parquet, …), profiles/global/NAME@latest below it, the output of a capture (.ntff, \
             ntrace.pb), and a full-profile .json. \
             Name the directory that `neuron-explorer view --output-format parquet` wrote"
                .into(),
        )
    }

    /// Gives the one raw capture the program that ran.
    ///
    /// # Errors
    /// As [`with_program`].
    pub fn with_program(mut self, neff: &Path) -> Result<Survey, Problem> {
        self.found = with_program(self.found, neff)?;
        let given = |trace: &&mut Trace| {
            self.found.iter().any(|found| found.path == trace.path && found.neff.as_deref() == Some(neff))
        };
        for trace in self.capture.traces.iter_mut().filter(given) {
            trace.program = Some(Program::given(neff));
        }
        Ok(self)
    }

    /// Looks at the files of a directory; returns the directories below it, the last one first.
    fn files_of(&mut self, directory: &Path, files: &mut Vec<CaptureFile>) -> Vec<PathBuf> {
        let mut below = vec![];
        for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()) {
            // What the entry leads to, not the link.
            let Ok(meta) = fs::metadata(&path) else {
                if FileKind::of(&file_name(&path)).is_some() {
                    let message = "leads nowhere: what it is a link to is not there or cannot be read".into();
                    self.problems.push(Problem { path, message });
                }
                continue;
            };
            if meta.is_dir() {
                below.push(path);
                continue;
            }
            if !meta.is_file() {
                continue;
            }
            let name = file_name(&path);
            match FileKind::of(&name) {
                Some(kind) => files.push(CaptureFile { path, kind, bytes: meta.len() }),
                None if is_json(&name) => self.found.extend(json_profile(&path)),
                None => {}
            }
        }
        below.sort();
        below.reverse();
        below
    }

    /// Adds what was captured below `root`.
    fn add_capture(&mut self, root: &Path, files: Vec<CaptureFile>) {
        self.capture = Capture::of(files, &|| cached::neffs(&cached::directories()));
        let ran = |trace: &&Trace| match &trace.head {
            Ok(head) => !head.is_idle(),
            Err(why) => *why != Unusable::Empty,
        };
        let traces = self.capture.traces.iter().filter(ran);
        self.found.extend(traces.map(raw));
        for directory in self.capture.system_directories(root) {
            self.found.extend(system(&directory));
        }
    }
}

/// A device trace as something to open.
fn raw(trace: &Trace) -> Found {
    let format = match trace.head {
        Err(Unusable::Version(_)) => Format::Vendor,
        _ => Format::Raw,
    };
    let neff = trace.program.as_ref().map(|program| program.path.clone());
    Found {
        name: trace.label.clone(),
        path: trace.path.clone(),
        format,
        kind: ProfileKind::Device,
        neff,
        broken: trace.head.as_ref().err().map(|why| why.fault().what),
        together: vec![],
    }
}

/// The system profile of a capture directory: what was made of it before, or else what there is to convert.
fn system(directory: &Path) -> Vec<Found> {
    if let Some(converted) = convert::existing(directory)
        && let Ok(survey) = survey(&converted)
        && !survey.found.is_empty()
    {
        let named = |found: Found| Found { name: format!("{} (converted)", found.name), ..found };
        return survey.found.into_iter().map(named).collect();
    }
    let name = format!("{} / system", name_of(directory));
    let path = directory.to_path_buf();
    vec![Found {
        name,
        path,
        format: Format::Vendor,
        kind: ProfileKind::System,
        neff: None,
        broken: None,
        together: vec![],
    }]
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

/// The raw captures among `found` as one, in the order in which they are there.
///
/// # Errors
/// Says so where there are not at least two.
pub fn merged(found: Vec<Found>, root: &Path) -> Result<Found, Problem> {
    let captures: Vec<Found> = found.into_iter().filter(|found| found.format == Format::Raw).collect();
    let [first, _, ..] = captures.as_slice() else {
        return Err(match captures.into_iter().next() {
            None => {
                let message = "holds no raw capture (.ntff) to show together with others".into();
                Problem { path: root.to_path_buf(), message }
            }
            Some(only) => {
                let message = "is the only raw capture; name those that are to be shown together".into();
                Problem { path: only.path, message }
            }
        });
    };
    let labels = differences(&captures.iter().map(|found| found.name.as_str()).collect::<Vec<_>>());
    let together = captures.iter().zip(labels).map(|(found, label)| Together {
        label,
        path: found.path.clone(),
        neff: found.neff.clone(),
    });
    let name = format!("{} and {} more", first.name, captures.len() - 1);
    Ok(Found { name, together: together.collect(), ..first.clone() })
}

/// What tells names apart: their parts without those that all have in common. `rank 0` of `profile / rank 0 / exec 2`.
fn differences(names: &[&str]) -> Vec<String> {
    let parts = |name: &str| name.split(" / ").map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = names.iter().map(|name| parts(name)).collect();
    let told = all.iter().map(|own| {
        let differs = |part: &&String| !all.iter().all(|other| other.contains(part));
        own.iter().filter(differs).cloned().collect::<Vec<_>>().join(" ")
    });
    told.zip(names).map(|(told, name)| if told.is_empty() { (*name).to_owned() } else { told }).collect()
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
    Ok(Some(Found { name, path, format: Format::Parquet, kind, neff: None, broken: None, together: vec![] }))
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
        broken: None,
        together: vec![],
    })
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// `llama` for `…/llama@latest`.
fn name_of(path: &Path) -> String {
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let name = absolute.file_name().map_or_else(|| path.to_string_lossy(), |n| n.to_string_lossy()).into_owned();
    name.strip_suffix("@latest").map(str::to_string).unwrap_or(name)
}

fn file(path: &Path, bytes: u64) -> Result<Survey, Problem> {
    let name = file_name(path);
    let fail = |message: String| Err(Problem { path: path.to_path_buf(), message });
    match FileKind::of(&name) {
        Some(FileKind::Ntff) => return Ok(trace(path, bytes)),
        Some(FileKind::Neff) => {
            return fail(
                "is a compiled program, which has no timeline. Name the .ntff that was captured when it ran; \
                 `neuron-scope info` describes the program"
                    .into(),
            );
        }
        Some(kind) if kind.is_system() => {
            return fail(format!(
                "is one file of a system profile ({}); name the directory that it is in",
                kind.words()
            ));
        }
        Some(FileKind::MemorySnapshot) => return fail("is a memory snapshot, which has no view yet".into()),
        _ => {}
    }
    if name.ends_with(".parquet") {
        return fail("is one table of a profile; name its directory instead".into());
    }
    if is_json(&name) {
        return match (json_profile(path), sniff_file(path)) {
            (Some(found), _) => Ok(Survey { found: vec![found], ..Survey::default() }),
            (None, Some(kind)) => fail(format!("is {}; a full profile is needed (--output-format json)", kind.words())),
            (None, None) => {
                fail("is JSON, but no profile; name what `neuron-profile view --output-format json` wrote".into())
            }
        };
    }
    fail(
        "is of a kind that cannot be opened. Name a directory of Parquet tables, a raw capture (.ntff) or its \
         directory, or a full-profile .json"
            .into(),
    )
}

/// A single trace, with the programs beside it and those of its process.
fn trace(path: &Path, bytes: u64) -> Survey {
    // The directory of a bare file name is an empty path.
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let process = directory.ancestors().find(|dir| names::process(&file_name(dir)).is_some());
    let mut files = vec![CaptureFile { path: path.to_path_buf(), kind: FileKind::Ntff, bytes }];
    let beside = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    for neff in beside.filter(|path| FileKind::of(&file_name(path)) == Some(FileKind::Neff)) {
        let bytes = fs::metadata(&neff).map_or(0, |meta| meta.len());
        files.push(CaptureFile { path: neff, kind: FileKind::Neff, bytes });
    }
    let others = || {
        let process = process.and_then(|dir| survey(dir).ok()).map(|survey| survey.capture.neffs);
        process.into_iter().flatten().chain(cached::neffs(&cached::directories())).collect()
    };
    let mut capture = Capture::of(files, &others);
    // What else lies beside it is not what was asked about.
    let used = |path: &Path| capture.traces.iter().any(|t| t.program.as_ref().is_some_and(|p| p.path == path));
    let (files, neffs) = (std::mem::take(&mut capture.files), std::mem::take(&mut capture.neffs));
    let files = files.into_iter().filter(|file| file.kind == FileKind::Ntff || used(&file.path)).collect();
    let neffs = neffs.into_iter().filter(|neff| used(&neff.path)).collect();
    (capture.files, capture.neffs, capture.partial) = (files, neffs, true);
    // One that is named is opened whatever is in it, so that it says what is wrong.
    let found = capture.traces.iter().map(raw).collect();
    Survey { found, capture, problems: vec![] }
}
