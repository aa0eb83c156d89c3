//! Why things waited: on real captures as older tools wrote them, on generated profiles, and on the demo.

mod cli;
mod generated;
mod oracles;
mod saved;
mod truth;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use neuron_scope::query::index::CauseIndex;
use neuron_scope::source::{self, Opening};
use neuron_scope::store::Store;

/// Where the corpus is; says that it is not there.
fn corpus(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("NEURON_SCOPE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from);
    let path = root.join(part);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

/// Both forms of the capture that WAITS.md works out: what the vendor's tool printed, and the capture itself.
fn worked_example() -> Vec<PathBuf> {
    let folder = corpus("neuron/v6_attention_baseline_bf16_s1024").into_iter();
    folder.flat_map(|folder| [folder.join("oracle.json"), folder.join("baseline_exec_2.ntff")]).collect()
}

/// A profile with its index.
fn open(path: &std::path::Path) -> (Store, CauseIndex) {
    let cancel = AtomicBool::new(false);
    let opening = Opening { cancel: &cancel, report: &|_| {}, cache: None };
    let found = source::discover(path).unwrap_or_else(|p| panic!("{}: {}", p.path.display(), p.message));
    let store = source::open(&found[0], &opening).unwrap_or_else(|p| panic!("{}: {}", p.path.display(), p.message));
    let index = CauseIndex::build(&store, &cancel).unwrap_or_else(|p| panic!("{}: {}", p.path.display(), p.message));
    (store, index)
}
