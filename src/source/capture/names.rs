//! What the names of captured files and directories say.

use std::path::{Path, PathBuf};

/// A process, as its directory is named: `<instance-id>_pid_<pid>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessName {
    /// The machine.
    pub instance: String,
    /// The process on it.
    pub pid: u64,
}

/// Reads the name of a process's directory.
#[must_use]
pub fn process(directory: &str) -> Option<ProcessName> {
    let (instance, pid) = directory.rsplit_once("_pid_")?;
    let pid = number(pid)?;
    (!instance.is_empty()).then(|| ProcessName { instance: instance.to_owned(), pid })
}

/// What the name of a device trace says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceName {
    /// The hash that names the NEFF as well.
    pub hash: Option<String>,
    /// The instance of the model.
    pub instance: Option<u64>,
    /// The core: a logical one (`vnc`) or that of a session (`nc`).
    pub core: Option<u64>,
    /// The session of device profiling.
    pub session: Option<u64>,
    /// The rank among the workers of a capture.
    pub rank: Option<u64>,
    /// Which execution was captured.
    pub execution: Option<u64>,
    /// What is left of the name: that which `-s` gave.
    pub stem: String,
}

/// Reads the name of a device trace: `<hash>_instid_0_vnc_0.ntff`, `profile_nc_0_session_0.ntff`, or one that `-s` gave
/// with `_rank_N` and `_exec_N` after it.
#[must_use]
pub fn trace(file: &str) -> TraceName {
    let mut name = TraceName::default();
    let mut rest = file.strip_suffix(".ntff").unwrap_or(file);
    while let Some((before, key, value)) = last_pair(rest) {
        let slot = match key {
            "instid" => &mut name.instance,
            "vnc" | "nc" => &mut name.core,
            "session" => &mut name.session,
            "rank" => &mut name.rank,
            "exec" => &mut name.execution,
            _ => break,
        };
        if slot.is_some() {
            break;
        }
        *slot = Some(value);
        rest = before;
    }
    // Of captures by the runtime, the rest is the hash; before `profile_nc_…` there is none.
    name.hash = (name.instance.is_some() && is_hash(rest)).then(|| rest.to_owned());
    name.stem = rest.to_owned();
    name
}

/// The core that a trace is of, as far as its name and those of its directories tell: traces with the same answer are of
/// executions one after another.
#[must_use]
pub fn core_of(path: &Path) -> (PathBuf, String) {
    let own = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let named = trace(&own(path));
    let within = path.ancestors().skip(1).find(|directory| process(&own(directory)).is_some());
    let directory = within.or_else(|| path.parent()).unwrap_or(Path::new("")).to_path_buf();
    let core = match (named.rank, named.core) {
        (None, None) => named.stem,
        (rank, core) => format!("{rank:?} {core:?}"),
    };
    (directory, core)
}

impl TraceName {
    /// Whether a NEFF of that name is the program of this trace.
    #[must_use]
    pub fn is_of(&self, neff: &NeffName) -> bool {
        match (&self.hash, &neff.hash) {
            (Some(a), Some(b)) => a == b && (neff.core.is_none() || self.core.is_none() || neff.core == self.core),
            _ => !self.stem.is_empty() && self.stem == neff.stem,
        }
    }
}

/// What the name of a NEFF says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeffName {
    /// The hash that names its traces as well.
    pub hash: Option<String>,
    /// The logical core that it was made for.
    pub core: Option<u64>,
    /// The name without the ending.
    pub stem: String,
}

/// Reads the name of a NEFF: `neff_<hash>.neff`, `neff_<hash>_vnc_0.neff`, or any other.
#[must_use]
pub fn neff(file: &str) -> NeffName {
    let stem = file.strip_suffix(".neff").unwrap_or(file);
    let mut name = NeffName { stem: stem.to_owned(), ..NeffName::default() };
    if let Some(mut rest) = stem.strip_prefix("neff_") {
        if let Some((before, "vnc" | "nc", core)) = last_pair(rest) {
            (rest, name.core) = (before, Some(core));
        }
        name.hash = is_hash(rest).then(|| rest.to_owned());
    }
    name
}

/// The rank in the name of a memory snapshot or of a framework trace: `memory_snapshot_rank3.pickle`.
#[must_use]
pub fn rank(file: &str) -> Option<u64> {
    let after = file.rsplit_once("rank")?.1.trim_start_matches('_');
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    number(&after[..digits])
}

/// `("a_b", "vnc", 0)` of `a_b_vnc_0`, `("", "nc", 0)` of `nc_0`.
fn last_pair(text: &str) -> Option<(&str, &str, u64)> {
    let (before, value) = text.rsplit_once('_')?;
    let value = number(value)?;
    Some(match before.rsplit_once('_') {
        Some((rest, key)) => (rest, key, value),
        None => ("", before, value),
    })
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Hashes are decimal in every file seen; hexadecimal is not unlikely.
fn is_hash(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit()) && text.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_one_core_are_told_by_their_names() {
        let same = |a: &str, b: &str| core_of(Path::new(a)) == core_of(Path::new(b));
        assert!(same("/o/p_rank_0_exec_2.ntff", "/o/p_rank_0_exec_3.ntff"));
        assert!(same("/o/i-0a_pid_3/t1/profile_nc_0_session_0.ntff", "/o/i-0a_pid_3/t2/profile_nc_0_session_0.ntff"));
        assert!(same("/o/i-0a_pid_3/1_instid_0_vnc_0.ntff", "/o/i-0a_pid_3/2_instid_0_vnc_0.ntff"));
        assert!(same("/o/fused_exec_2.ntff", "/o/fused.ntff"));
        assert!(!same("/o/p_rank_0.ntff", "/o/p_rank_1.ntff"));
        assert!(!same("/o/i-0a_pid_3/1_instid_0_vnc_0.ntff", "/o/i-0a_pid_4/1_instid_0_vnc_0.ntff"));
        assert!(!same("/o/a.ntff", "/o/b.ntff"));
    }

    #[test]
    fn directories_name_processes() {
        let read = |name| process(name).map(|p| (p.instance, p.pid));
        assert_eq!(read("i-0ade06f040a13f2bf_pid_210229"), Some(("i-0ade06f040a13f2bf".into(), 210_229)));
        assert_eq!(read("host_pid_1_pid_2"), Some(("host_pid_1".into(), 2)));
        for other in ["20251218_153556", "_pid_3", "i-1_pid_", "i-1_pid_x", "i-1_pid_99999999999999999999", "pid_4"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn traces_say_hash_core_rank_and_execution() {
        let read = |name| {
            let t = trace(name);
            (t.hash.unwrap_or_default(), t.instance, t.core, t.session, t.rank, t.execution, t.stem)
        };
        let hash = "395760075800974".to_owned();
        assert_eq!(
            read("395760075800974_instid_0_vnc_1.ntff"),
            (hash.clone(), Some(0), Some(1), None, None, None, hash)
        );
        let session = (String::new(), None, Some(3), Some(0), None, None, "profile".into());
        assert_eq!(read("profile_nc_3_session_0.ntff"), session);
        let named = |rank, execution| (String::new(), None, None, None, rank, execution, "profile".to_owned());
        assert_eq!(read("profile.ntff"), named(None, None));
        assert_eq!(read("profile_exec_2.ntff"), named(None, Some(2)));
        assert_eq!(read("profile_rank_3.ntff"), named(Some(3), None));
        assert_eq!(read("profile_rank_3_exec_12.ntff"), named(Some(3), Some(12)));
        // A stem that looks like a pair of its own stays whole.
        assert_eq!(trace("conv2d_2_float16.ntff").stem, "conv2d_2_float16");
        assert_eq!(trace("a_exec_1_exec_2.ntff").stem, "a_exec_1");
        assert_eq!(trace(".ntff"), TraceName::default());
        assert_eq!(trace("nc_0.ntff").core, Some(0));
    }

    #[test]
    fn neffs_say_hash_and_core() {
        let read = |name| {
            let n = neff(name);
            (n.hash.unwrap_or_default(), n.core)
        };
        assert_eq!(read("neff_395760075800974.neff"), ("395760075800974".into(), None));
        assert_eq!(read("neff_395760075800974_vnc_0.neff"), ("395760075800974".into(), Some(0)));
        assert_eq!(read("neff_4f00ab_vnc_12.neff"), ("4f00ab".into(), Some(12)));
        assert_eq!(read("graph.neff"), (String::new(), None));
        assert_eq!(neff("graph.neff").stem, "graph");
    }

    #[test]
    fn names_pair_by_hash_and_core_or_by_what_the_person_called_them() {
        let cases = [
            ("12_instid_0_vnc_0.ntff", "neff_12.neff", true),
            ("12_instid_0_vnc_1.ntff", "neff_12_vnc_1.neff", true),
            ("12_instid_0_vnc_1.ntff", "neff_12_vnc_0.neff", false),
            ("12_instid_0_vnc_1.ntff", "neff_13.neff", false),
            ("fused_exec_2.ntff", "fused.neff", true),
            ("fused_rank_0_exec_2.ntff", "fused.neff", true),
            ("fused.ntff", "baseline.neff", false),
            ("profile_nc_0_session_0.ntff", "neff_12.neff", false),
        ];
        for (ntff, name, expected) in cases {
            assert_eq!(trace(ntff).is_of(&neff(name)), expected, "{ntff} {name}");
        }
    }

    #[test]
    fn snapshots_and_framework_traces_say_their_rank() {
        assert_eq!(rank("memory_snapshot_rank3.pickle"), Some(3));
        assert_eq!(rank("neuron_framework_trace_rank_12.json"), Some(12));
        assert_eq!(rank("trace.json"), None);
        assert_eq!(rank("rank.pickle"), None);
    }
}
