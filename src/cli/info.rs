//! `info PATH`: what is there.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::neff::Program;
use super::program::ProgramArg;
use crate::model::format::format_count;
use crate::model::length;
use crate::model::time::format_duration;
use crate::query::tracks::{Kind, leaves};
use crate::source::capture::Capture;
use crate::source::{Format, Found, Opening, open};
use crate::store::{Problem, ProfileKind, Store, flag};
use crate::term::text::escape;

/// Arguments of `info`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Profile directories, data paths or files
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// The program of a raw capture
    #[command(flatten)]
    pub program: ProgramArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// All that `info` says of some paths.
#[derive(Default)]
pub struct Info {
    /// The profiles that could be read.
    pub stores: Vec<Store>,
    /// The compiled programs that could be read.
    programs: Vec<Program>,
    /// What could not.
    pub problems: Vec<Problem>,
    /// The files of captures.
    pub captures: Vec<Capture>,
}

/// Looks at the profiles that `paths` hold.
#[must_use]
pub fn gather(paths: &[PathBuf], program: &ProgramArg, cache: Option<&Path>) -> Info {
    let mut info = Info::default();
    let cancel = AtomicBool::new(false);
    for path in paths {
        let survey = match program.survey(path) {
            Ok(survey) if survey.found.is_empty() && survey.capture.files.is_empty() => {
                info.problems.push(survey.nothing(path));
                continue;
            }
            Ok(survey) => survey,
            Err(problem) => {
                info.problems.push(problem);
                continue;
            }
        };
        info.problems.extend(survey.problems);
        // Files of the system profile are listed as what they are.
        let unconverted = |found: &&Found| found.format == Format::Vendor && found.kind == ProfileKind::System;
        for found in survey.found.iter().filter(|found| !unconverted(found)) {
            match open(found, &Opening { cancel: &cancel, report: &|_| {}, cache }) {
                Ok(store) => info.stores.push(store),
                Err(problem) => info.problems.push(problem),
            }
        }
        if path.is_dir() && !survey.capture.files.is_empty() {
            info.captures.push(survey.capture);
        }
    }
    info
}

/// Looks at compiled programs, which hold no profile.
fn add_programs(info: &mut Info, paths: &[PathBuf]) {
    for path in paths {
        match Program::read(path) {
            Ok(program) => info.programs.push(program),
            Err(problem) => info.problems.push(problem),
        }
    }
}

/// Prints what `paths` hold. Returns the exit status: 0, or 2 where nothing could be read.
pub fn run(args: &Args, cache: Option<&Path>) -> u8 {
    let is_program = |path: &PathBuf| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("neff"));
    let (programs, profiles): (Vec<PathBuf>, Vec<PathBuf>) = args.paths.iter().cloned().partition(is_program);
    let mut info = gather(&profiles, &args.program, cache);
    add_programs(&mut info, &programs);
    let text = if args.json { super::json_line(&info.to_json()) } else { info.to_text() };
    let status = super::print(&text);
    info.problems.iter().for_each(super::complain_of);
    let nothing =
        info.stores.is_empty() && info.programs.iter().all(Program::is_unreadable) && info.captures.is_empty();
    if nothing { super::UNUSABLE } else { status }
}

fn kind_name(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Device => "device",
        ProfileKind::System => "system",
        ProfileKind::Framework => "framework",
        ProfileKind::Memory => "memory",
    }
}

fn track_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Slices => "slices",
        Kind::Counter => "counter",
        Kind::Instants => "instants",
        Kind::Map => "map",
    }
}

/// Warnings that the profile's writer left, then what was wrong with its files.
fn warnings(store: &Store) -> Vec<String> {
    let Some(records) = store.records("Warning") else { return Vec::new() };
    let text = |row, column| records.get(row, column).and_then(|d| d.text()).unwrap_or_default();
    (0..records.rows.len()).map(|row| format!("{}: {}", text(row, "category"), text(row, "message"))).collect()
}

impl Info {
    /// The JSON of CLI.md: profiles with tables, tracks and warnings, and problems.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let problem = |p: &Problem| json!({"path": p.path.to_string_lossy(), "message": p.message});
        let of_files = self.stores.iter().flat_map(|s| s.problems.clone());
        let of_programs = self.programs.iter().flat_map(Program::problems);
        let problems = self.problems.iter().cloned().chain(of_files).chain(of_programs);
        json!({
            "profiles": self.stores.iter().map(profile_json).collect::<Vec<_>>(),
            "programs": self.programs.iter().map(Program::to_json).collect::<Vec<_>>(),
            "problems": problems.map(|p| problem(&p)).collect::<Vec<_>>(),
            "processes": self.captures.iter().flat_map(super::files::tree_json).collect::<Vec<_>>(),
            "files": self.captures.iter().flat_map(super::files::files_json).collect::<Vec<_>>(),
        })
    }

    /// The same for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let profiles = self.stores.iter().map(profile_text);
        let captures = self.captures.iter().map(super::files::text);
        profiles.chain(self.programs.iter().map(Program::to_text)).chain(captures).collect::<Vec<_>>().join("\n")
    }
}

/// How many events of each table lie outside the measured execution, where any do.
fn outside(store: &Store) -> impl Iterator<Item = (String, Value)> + '_ {
    let counts = store.events.iter().map(|table| {
        let count = table.flags.iter().filter(|flags| **flags & flag::OUTSIDE != 0).count();
        (table.name.clone(), count)
    });
    counts.filter(|(_, count)| *count > 0).map(|(name, count)| (name, count.into()))
}

fn profile_json(store: &Store) -> Value {
    let tables: serde_json::Map<String, Value> = store.tables.iter().map(|t| (t.name.clone(), t.rows.into())).collect();
    let tracks = leaves(store)
        .into_iter()
        .map(|(path, kind, events)| json!({"path": path, "kind": track_kind(kind), "events": events}));
    json!({
        "name": store.info.name,
        "path": store.info.path.to_string_lossy(),
        "kind": kind_name(store.info.kind),
        "format": store.info.format,
        "origin_unix_ns": store.info.origin_unix_ns,
        "start_ns": store.range.map(|r| r.0),
        "end_ns": store.range.map(|r| r.1),
        "tables": tables,
        "outside": outside(store).collect::<serde_json::Map<String, Value>>(),
        "tracks": tracks.collect::<Vec<_>>(),
        "dependencies": store.graph.as_ref().map(crate::store::Graph::edges),
        "warnings": warnings(store),
    })
}

/// Tracks of one group that are listed one by one.
const MOST_ALIKE: usize = 16;

/// The tracks, those of a group with many of them in one line.
fn folded(tracks: Vec<(String, Kind, u64)>) -> Vec<(u64, Kind, String)> {
    let group = |path: &str| path.rsplit_once('/').map(|(group, _)| group.to_owned());
    let alike = |a: &(String, Kind, u64), b: &(String, Kind, u64)| group(&a.0) == group(&b.0);
    let lines = tracks.chunk_by(alike).flat_map(|tracks| match (group(&tracks[0].0), tracks.len()) {
        (Some(group), count) if count > MOST_ALIKE => {
            let events = tracks.iter().fold(0_u64, |sum, track| sum.saturating_add(track.2));
            vec![(events, tracks[0].1, format!("{group}/…  ({count} tracks; --json lists all)"))]
        }
        _ => tracks.iter().map(|(path, kind, events)| (*events, *kind, path.clone())).collect(),
    });
    lines.collect()
}

fn profile_text(store: &Store) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let info = &store.info;
    let _ = writeln!(out, "{}  ({} profile, {})", escape(&info.name), kind_name(info.kind), info.format);
    let _ = writeln!(out, "  {}", escape(&info.path.to_string_lossy()));
    if let Some((start, end)) = store.range {
        let _ = writeln!(out, "  {} ns to {} ns, {}", start, end, format_duration(length(start, end)));
    }
    if let Some(origin) = info.origin_unix_ns {
        let _ = writeln!(out, "  time 0 is Unix time {origin} ns");
    }
    for column in ["instance_type", "compiler_version", "runtime_version", "driver_version", "explorer_version"] {
        if let Some(text) = store.fact("Metadata", column).and_then(|d| d.text()) {
            let _ = writeln!(out, "  {column}: {}", escape(text));
        }
    }
    for warning in warnings(store) {
        let _ = writeln!(out, "  ! {}", escape(&warning));
    }
    for problem in &store.problems {
        let file = problem.path.file_name().unwrap_or(problem.path.as_os_str()).to_string_lossy();
        let _ = writeln!(out, "  ! {}: {}", escape(&file), escape(&problem.message));
    }
    let outside: serde_json::Map<String, Value> = outside(store).collect();
    let _ = writeln!(out, "\n  tables");
    for table in &store.tables {
        let beyond = outside.get(&table.name).and_then(Value::as_u64).map(format_count);
        let note = beyond.map_or_else(String::new, |n| format!("  ({n} outside the measured execution)"));
        let _ = writeln!(out, "  {:>14}  {}{note}", format_count(table.rows), escape(&table.name));
    }
    if let Some(graph) = &store.graph {
        let _ = writeln!(out, "  {:>14}  dependencies between events", format_count(graph.edges() as u64));
    }
    let _ = writeln!(out, "\n  tracks");
    for (events, kind, path) in folded(leaves(store)) {
        let _ = writeln!(out, "  {:>14}  {:<9} {}", format_count(events), track_kind(kind), escape(&path));
    }
    out
}
