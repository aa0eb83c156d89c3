//! Which files a capture is made of.

use super::names;

/// What a captured file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// A compiled program.
    Neff,
    /// A device trace.
    Ntff,
    /// The runtime's own trace.
    SystemTrace,
    /// What the runtime says about its trace.
    TraceInfo,
    /// How busy the host's processors were.
    CpuUtil,
    /// How full the host's memory was.
    HostMemory,
    /// What the framework did.
    FrameworkTrace,
    /// What the framework's allocator did.
    MemorySnapshot,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [FileKind; 8] = [
        FileKind::Neff,
        FileKind::Ntff,
        FileKind::SystemTrace,
        FileKind::TraceInfo,
        FileKind::CpuUtil,
        FileKind::HostMemory,
        FileKind::FrameworkTrace,
        FileKind::MemorySnapshot,
    ];

    /// What a file is, by its name.
    #[must_use]
    pub fn of(file: &str) -> Option<FileKind> {
        Some(match file {
            "ntrace.pb" => FileKind::SystemTrace,
            "trace_info.pb" => FileKind::TraceInfo,
            "cpu_util.pb" => FileKind::CpuUtil,
            "host_mem.pb" => FileKind::HostMemory,
            "trace.json" | "trace.json.gz" => FileKind::FrameworkTrace,
            _ if file.ends_with(".neff") => FileKind::Neff,
            _ if file.ends_with(".ntff") => FileKind::Ntff,
            _ if file.ends_with(".pickle") => FileKind::MemorySnapshot,
            _ if file.starts_with("neuron_framework_trace") && file.ends_with(".json") => FileKind::FrameworkTrace,
            _ => return None,
        })
    }

    /// The name used in JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Neff => "neff",
            FileKind::Ntff => "ntff",
            FileKind::SystemTrace => "system-trace",
            FileKind::TraceInfo => "trace-info",
            FileKind::CpuUtil => "cpu-util",
            FileKind::HostMemory => "host-memory",
            FileKind::FrameworkTrace => "framework-trace",
            FileKind::MemorySnapshot => "memory-snapshot",
        }
    }

    /// What it is, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            FileKind::Neff => "compiled program",
            FileKind::Ntff => "device trace",
            FileKind::SystemTrace => "system trace of the runtime",
            FileKind::TraceInfo => "about the system trace",
            FileKind::CpuUtil => "use of the host's processors",
            FileKind::HostMemory => "use of the host's memory",
            FileKind::FrameworkTrace => "trace of the framework",
            FileKind::MemorySnapshot => "snapshot of the framework's allocator",
        }
    }

    /// Whether it belongs to a system profile, which only the vendor's tool can read.
    #[must_use]
    pub fn is_system(self) -> bool {
        matches!(self, FileKind::SystemTrace | FileKind::TraceInfo | FileKind::CpuUtil | FileKind::HostMemory)
    }

    /// Whether there is a view of it.
    #[must_use]
    pub fn has_view(self) -> bool {
        matches!(self, FileKind::Neff | FileKind::Ntff)
    }
}

/// Whether a name belongs to a rank, and to which.
#[must_use]
pub fn rank_of(kind: FileKind, file: &str) -> Option<u64> {
    match kind {
        FileKind::Ntff => names::trace(file).rank,
        FileKind::FrameworkTrace | FileKind::MemorySnapshot => names::rank(file),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_names() {
        let cases = [
            ("neff_1_vnc_0.neff", Some(FileKind::Neff)),
            ("profile_nc_0_session_0.ntff", Some(FileKind::Ntff)),
            ("ntrace.pb", Some(FileKind::SystemTrace)),
            ("trace_info.pb", Some(FileKind::TraceInfo)),
            ("cpu_util.pb", Some(FileKind::CpuUtil)),
            ("host_mem.pb", Some(FileKind::HostMemory)),
            ("trace.json", Some(FileKind::FrameworkTrace)),
            ("neuron_framework_trace_rank_3.json", Some(FileKind::FrameworkTrace)),
            ("memory_snapshot_rank0.pickle", Some(FileKind::MemorySnapshot)),
            ("memory_snapshot_rank0.truth.json", None),
            ("other.pb", None),
            ("RAW_FILES_ABSENT.txt", None),
        ];
        for (name, kind) in cases {
            assert_eq!(FileKind::of(name), kind, "{name}");
        }
    }

    #[test]
    fn ranks_are_told_by_names() {
        let cases = [
            ("profile_rank_3_exec_2.ntff", Some(3)),
            ("profile_nc_0_session_0.ntff", None),
            ("memory_snapshot_rank12.pickle", Some(12)),
            ("neuron_framework_trace_rank_3.json", Some(3)),
            ("neff_1.neff", None),
        ];
        for (name, rank) in cases {
            assert_eq!(rank_of(FileKind::of(name).unwrap(), name), rank, "{name}");
        }
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names: Vec<_> = FileKind::ALL.iter().map(|k| k.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FileKind::ALL.len());
    }
}
