//! Readers against files that other programs wrote. The files are no part of the repository; see `corpus`.

// A test that cannot read its input has failed.
#![allow(clippy::unwrap_used)]

mod legacy_json;

use std::path::PathBuf;

/// A directory of the corpus: below `NEURON_SCOPE_CORPUS`, or `../shared/corpus` beside the repository. `None`, with a
/// message, where there is no corpus.
fn corpus(directory: &str) -> Option<PathBuf> {
    let root = std::env::var_os("NEURON_SCOPE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from);
    let path = root.join(directory);
    if !path.is_dir() {
        eprintln!("skipped: {} is not there; set NEURON_SCOPE_CORPUS", path.display());
        return None;
    }
    Some(path)
}
