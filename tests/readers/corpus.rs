//! Where the sample files are.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use neuron_scope::source::{Found, Opening, discover, open};
use neuron_scope::store::{Problem, Store};

/// The corpus, if there is one; says so when there is none.
pub fn corpus(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("NEURON_SCOPE_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from);
    let path = root.join(part);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no corpus at {} (set NEURON_SCOPE_CORPUS)", path.display());
    None
}

/// Opens what was found, with an optional cache.
pub fn read(found: &Found, cache: Option<&Path>) -> Result<Store, Problem> {
    open(found, &Opening { cancel: &AtomicBool::new(false), report: &|_| {}, cache })
}

/// Opens the only profile at `path`.
pub fn read_one(path: &Path) -> Store {
    let found = discover(path).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    read(&found[0], None).unwrap()
}

/// Every directory below `root` that has a truth beside it.
pub fn with_truth(root: &Path) -> Vec<(PathBuf, serde_json::Value)> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for path in std::fs::read_dir(&directory).unwrap().flatten().map(|e| e.path()).filter(|p| p.is_dir()) {
            let mut truth = path.as_os_str().to_owned();
            truth.push(".truth.json");
            match std::fs::read_to_string(&truth) {
                // Python writes what JSON does not have.
                Ok(text) => {
                    let json = text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
                    found.push((path, serde_json::from_str(&json).unwrap()));
                }
                Err(_) => pending.push(path),
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
