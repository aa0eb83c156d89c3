//! What a capture holds, as a tree: processes, their cores, what each executed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::kind::FileKind;
use super::names::{self, ProcessName};
use super::pair::{Neff, Trace, file_name, pair};
use crate::model::natural_cmp;

/// Device traces and programs of one tree that are looked at.
const MOST_FILES: usize = 20_000;

/// A file of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// Its size.
    pub bytes: u64,
}

/// All that was captured below a directory, or a single trace with its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Every file that is recognised, by path.
    pub files: Vec<CaptureFile>,
    /// The device traces with their programs, in the order of the tree.
    pub traces: Vec<Trace>,
    /// The programs.
    pub neffs: Vec<Neff>,
    /// Whether there may be further files of the same processes: a single trace was asked about.
    pub partial: bool,
}

/// A process of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process<'a> {
    /// The directory that is named after it, or else the one that its files are in.
    pub directory: PathBuf,
    /// What that name says.
    pub name: Option<ProcessName>,
    /// Its files.
    pub files: Vec<&'a CaptureFile>,
    /// Its traces by core.
    pub cores: BTreeMap<Option<u64>, Vec<&'a Trace>>,
}

impl Capture {
    /// Looks at the files of a capture: names and headers. Programs that are not among them are looked for in `cached`.
    #[must_use]
    pub fn of(mut files: Vec<CaptureFile>, cached: &dyn Fn() -> Vec<Neff>) -> Capture {
        let text = |file: &CaptureFile| file.path.to_string_lossy().into_owned();
        files.sort_by(|a, b| natural_cmp(&text(a), &text(b)));
        let of_kind = |kind| files.iter().filter(move |f| f.kind == kind).take(MOST_FILES);
        let neffs: Vec<Neff> = of_kind(FileKind::Neff).map(|f| Neff::look(&f.path)).collect();
        let mut traces: Vec<Trace> = of_kind(FileKind::Ntff).map(|f| Trace::look(&f.path)).collect();
        pair(&mut traces, &neffs, cached);
        let mut capture = Capture { files, traces, neffs, partial: false };
        capture.label();
        capture
    }

    /// The processes of the capture, in the order of their directories.
    #[must_use]
    pub fn processes(&self) -> Vec<Process<'_>> {
        let mut found: Vec<Process<'_>> = vec![];
        let mut by_directory = BTreeMap::new();
        for file in &self.files {
            let (directory, name) = process_of(&file.path);
            let at = *by_directory.entry(directory.clone()).or_insert_with(|| {
                found.push(Process { directory, name, files: vec![], cores: BTreeMap::new() });
                found.len() - 1
            });
            found[at].files.push(file);
        }
        for trace in &self.traces {
            if let Some(at) = by_directory.get(&process_of(&trace.path).0) {
                found[*at].cores.entry(trace.name.core).or_default().push(trace);
            }
        }
        found
    }

    /// The directories that the vendor's tool makes system profiles of: those that the directories of processes are in,
    /// but none above `root`.
    #[must_use]
    pub fn system_directories(&self, root: &Path) -> BTreeSet<PathBuf> {
        let traced = |p: &Process<'_>| p.files.iter().any(|file| file.kind == FileKind::SystemTrace);
        let processes = self.processes().into_iter().filter(traced);
        let above = processes.map(|process| match (process.name, process.directory.parent()) {
            (Some(_), Some(above)) => above.to_path_buf(),
            _ => process.directory,
        });
        above.map(|directory| if directory.starts_with(root) { directory } else { root.to_path_buf() }).collect()
    }

    /// Names the traces as they are called in the tree: by all that tells them apart, from process to execution.
    fn label(&mut self) {
        let common = [false, true].map(|with_session| self.common(with_session));
        let label_of =
            |trace: &Trace, with_session: bool| label_of(trace, with_session, common[usize::from(with_session)]);
        let short: Vec<String> = self.traces.iter().map(|trace| label_of(trace, false)).collect();
        let mut uses = BTreeMap::new();
        short.iter().for_each(|label| *uses.entry(label.clone()).or_insert(0) += 1);
        let label = |(trace, short): (&Trace, String)| match uses.get(&short) {
            Some(1) => short,
            // Several sessions of one process.
            _ => label_of(trace, true),
        };
        let labels: Vec<String> = self.traces.iter().zip(short).map(label).collect();
        self.traces.iter_mut().zip(labels).for_each(|(trace, label)| trace.label = label);
    }

    /// How many leading parts the directories of all traces have in common, which say nothing.
    fn common(&self, with_session: bool) -> usize {
        let mut directories = self.traces.iter().map(|trace| labelled(trace, with_session));
        let Some(first) = directories.next() else { return 0 };
        directories.fold(first.components().count(), |common, other| {
            common.min(first.components().zip(other.components()).take_while(|(a, b)| a == b).count())
        })
    }
}

/// The directory that a trace is called after: that of its process, or its own.
fn labelled(trace: &Trace, with_session: bool) -> PathBuf {
    match process_of(&trace.path) {
        (process, Some(_)) if !with_session => process,
        _ => trace.path.parent().map(Path::to_path_buf).unwrap_or_default(),
    }
}

fn label_of(trace: &Trace, with_session: bool, common: usize) -> String {
    let own = labelled(trace, with_session);
    let mut parts: Vec<String> =
        own.components().skip(common).map(|part| directory_label(&part.as_os_str().to_string_lossy())).collect();
    let name = &trace.name;
    // The runtime calls all of a session `profile`.
    let given = name.hash.is_none() && !name.stem.is_empty() && (name.session.is_none() || name.stem != "profile");
    parts.extend(given.then(|| name.stem.clone()));
    let numbered = [("rank", name.rank), ("nc", name.core), ("session", name.session)];
    parts.extend(numbered.iter().filter_map(|(word, number)| Some(format!("{word} {}", (*number)?))));
    parts.extend(name.hash.clone());
    parts.extend(name.execution.map(|number| format!("exec {number}")));
    match parts.is_empty() {
        true => file_name(&trace.path),
        false => parts.join(" / "),
    }
}

fn directory_label(name: &str) -> String {
    names::process(name).map_or_else(|| name.to_owned(), |process| format!("pid {}", process.pid))
}

/// The process that a file belongs to: that of the nearest directory named after one.
fn process_of(path: &Path) -> (PathBuf, Option<ProcessName>) {
    let named = path.ancestors().skip(1).find_map(|dir| Some((dir.to_path_buf(), names::process(&file_name(dir))?)));
    match named {
        Some((directory, name)) => (directory, Some(name)),
        None => (path.parent().map(Path::to_path_buf).unwrap_or_default(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ntff::Unusable;

    fn capture(paths: &[&str]) -> Capture {
        let file = |path: &&str| {
            let kind = FileKind::of(&file_name(Path::new(path))).unwrap();
            CaptureFile { path: path.into(), kind, bytes: 1 }
        };
        Capture::of(paths.iter().map(file).collect(), &Vec::new)
    }

    fn labels(paths: &[&str]) -> Vec<String> {
        let capture = capture(paths);
        capture.traces.into_iter().map(|trace| trace.label).collect()
    }

    #[test]
    fn names_lead_from_process_to_execution() {
        assert_eq!(
            labels(&[
                "/o/i-0a_pid_20/3957_instid_0_vnc_0.ntff",
                "/o/i-0a_pid_3/20251218_1535/profile_nc_10_session_0.ntff",
                "/o/i-0a_pid_3/20251218_1535/profile_nc_9_session_0.ntff",
            ]),
            ["pid 3 / nc 9 / session 0", "pid 3 / nc 10 / session 0", "pid 20 / nc 0 / 3957"]
        );
        assert_eq!(
            labels(&[
                "/o/i-0a_pid_3/20251218/profile_nc_9_session_0.ntff",
                "/o/i-0a_pid_3/20251219/profile_nc_9_session_0.ntff"
            ]),
            ["20251218 / nc 9 / session 0", "20251219 / nc 9 / session 0"],
            "two sessions of one process"
        );
        assert_eq!(
            labels(&["/o/profile_rank_1_exec_2.ntff", "/o/profile_rank_0_exec_2.ntff", "/o/other.ntff"]),
            ["other", "profile / rank 0 / exec 2", "profile / rank 1 / exec 2"]
        );
        assert_eq!(labels(&["/o/i-0a_pid_20/fused_exec_2.ntff"]), ["fused / exec 2"], "alone it needs no process");
        assert_eq!(labels(&["/o/a/x.ntff", "/o/b/x.ntff"]), ["a / x", "b / x"]);
        assert_eq!(labels(&["/o/.ntff"]), [".ntff"]);
    }

    #[test]
    fn the_tree_is_processes_cores_executions() {
        let capture = capture(&[
            "/o/i-0a_pid_3/t/ntrace.pb",
            "/o/i-0a_pid_3/t/neff_1.neff",
            "/o/i-0a_pid_3/t/1_instid_0_vnc_1.ntff",
            "/o/i-0a_pid_3/t/2_instid_0_vnc_1.ntff",
            "/o/i-0a_pid_3/t/1_instid_0_vnc_0.ntff",
            "/o/i-0b_pid_4/trace.json",
            "/o/loose.ntff",
        ]);
        let tree: Vec<_> = capture
            .processes()
            .iter()
            .map(|p| {
                let cores: Vec<_> = p.cores.iter().map(|(core, traces)| (*core, traces.len())).collect();
                (p.directory.to_string_lossy().into_owned(), p.name.as_ref().map(|n| n.pid), p.files.len(), cores)
            })
            .collect();
        assert_eq!(
            tree,
            [
                ("/o/i-0a_pid_3".to_owned(), Some(3), 5, vec![(Some(0), 1), (Some(1), 2)]),
                ("/o/i-0b_pid_4".to_owned(), Some(4), 1, vec![]),
                ("/o".to_owned(), None, 1, vec![(None, 1)]),
            ]
        );
        // Nothing is there in truth.
        assert!(matches!(capture.traces[0].head, Err(Unusable::Unreadable(_))));
    }
}
