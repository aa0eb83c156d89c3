//! NEFF, the compiled program: header, members, and per graph the tensors, DMA queues and blocks, instruction words and
//! debug levels.

mod archive;
mod debug;
mod graph;
mod header;
pub mod isa;
mod kernels;

pub use archive::Member;
pub use debug::{BirEntry, DependencyType, LevelEntry, Levels, SourceLine};
pub use graph::{Descriptor, DmaBlock, Graph, Program, Queue, Tensor};
pub use header::{HEADER_BYTES, Header};
pub use kernels::{KernelFile, KernelFrame, KernelInstruction, KernelIteration, Kernels};

pub(crate) use header::hex;

use std::collections::BTreeSet;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use crate::store::Problem;

/// Why a file could not be read at all, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub what: String,
    /// What a person can do.
    pub remedy: String,
}

impl Fault {
    /// A fault in plain words.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault { what: what.into(), remedy: remedy.into() }
    }

    /// The same, saying which file it is about.
    pub fn about(self, path: &Path) -> Fault {
        Fault { what: format!("{}: {}", path.display(), self.what), ..self }
    }

    /// The same as a problem of the file, which it then need not name itself.
    #[must_use]
    pub fn problem(&self, path: &Path) -> Problem {
        let named = format!("{}: ", path.display());
        let what = self.what.strip_prefix(&named).unwrap_or(&self.what);
        Problem { path: path.to_path_buf(), message: format!("{what}; {}", self.remedy) }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for Fault {}

/// A NEFF.
#[derive(Debug, Default)]
pub struct Neff {
    /// The header.
    pub header: Header,
    /// Every member of the archive.
    pub members: Vec<Member>,
    /// Version of the compiler.
    pub compiler_version: String,
    /// Name of the network.
    pub name: String,
    /// The compiler's name for the chip: `sunda` is trn1, `cayman` is trn2.
    pub target: String,
    /// The graphs, one per physical core.
    pub graphs: Vec<Graph>,
    /// The debug levels that the graphs share.
    pub levels: Levels,
    /// Source lines, calls and loops of NKI kernels.
    pub kernels: Arc<Kernels>,
    /// What could not be read, in plain words.
    pub problems: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InfoFile {
    tool_version: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct KelfFile {
    graphs: Vec<KelfGraph>,
    target: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct KelfGraph {
    name: String,
}

impl Neff {
    /// Opens and reads a file. Fails where it has no header; damage further in is among the problems.
    pub fn open(path: &Path) -> Result<Neff, Fault> {
        let failed = |problem: std::io::Error| {
            Fault::new(format!("cannot read {}: {problem}", path.display()), "check the path and its permissions")
        };
        let file = crate::files::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        Neff::read(BufReader::with_capacity(1 << 17, file), size).map_err(|fault| fault.about(path))
    }

    /// Reads a NEFF of `size` bytes from a stream.
    pub fn read(mut stream: impl Read, size: u64) -> Result<Neff, Fault> {
        let mut head = Vec::with_capacity(HEADER_BYTES);
        let read = (&mut stream).take(HEADER_BYTES as u64).read_to_end(&mut head);
        read.map_err(|problem| Fault::new(format!("reading stopped: {problem}"), "try again"))?;
        let header = Header::parse(&head)?;
        let mut problems = vec![];
        let payload = size.saturating_sub(header.header_size);
        if payload != header.data_size {
            problems.push(format!(
                "the header announces {} bytes of contents, but {payload} are there; the file is not complete",
                header.data_size
            ));
        }
        let skipped =
            std::io::copy(&mut (&mut stream).take(header.header_size - HEADER_BYTES as u64), &mut std::io::sink());
        if skipped.is_err() {
            problems.push("the file ends inside its header".to_owned());
        }
        let mut archive = archive::read(stream, payload, graph::is_wanted);
        problems.append(&mut archive.problems);

        let info: InfoFile = graph::json(&archive, "info.json", &mut problems);
        let kelf: KelfFile = graph::json(&archive, "kelf-0.json", &mut problems);
        let levels = debug::read_levels(&archive, &mut problems);
        let names = graph_names(&kelf, &archive);
        let graphs = names.iter().map(|name| graph::read(&archive, name, &mut problems)).collect();
        Ok(Neff {
            header,
            kernels: Arc::new(kernels::read(&archive, &mut problems)),
            members: archive.members,
            compiler_version: info.tool_version,
            name: info.name,
            target: kelf.target,
            graphs,
            levels,
            problems,
        })
    }

    /// The place of a graph among the others.
    pub fn graph_index(&self, name: &str) -> Option<u16> {
        u16::try_from(self.graphs.iter().position(|graph| graph.name == name)?).ok()
    }

    /// The graph with a name.
    pub fn graph(&self, name: &str) -> Option<&Graph> {
        self.graphs.iter().find(|graph| graph.name == name)
    }
}

/// The graphs that the file lists, or else the folders that look like graphs.
fn graph_names(kelf: &KelfFile, archive: &archive::Archive) -> Vec<String> {
    if !kelf.graphs.is_empty() {
        let mut seen = BTreeSet::new();
        return kelf.graphs.iter().map(|g| g.name.clone()).filter(|name| seen.insert(name.clone())).collect();
    }
    let folders = archive.contents.keys().filter_map(|name| name.split_once('/')).map(|(folder, _)| folder);
    let graphs: BTreeSet<_> = folders.filter(|folder| folder.starts_with("sg")).map(str::to_owned).collect();
    graphs.into_iter().collect()
}
