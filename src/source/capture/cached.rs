//! Programs in the caches of the compiler, for traces whose own is not beside them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::pair::Neff;

/// The variable that names the cache.
pub const VARIABLE: &str = "TORCH_NEURONX_NEFF_CACHE_DIR";
/// Where the cache is where nothing else is said.
const USUAL: &str = "/tmp/neff_cache";
/// How deep, into how many directories and at how many programs is looked.
const MOST_LEVELS: usize = 6;
const MOST_DIRECTORIES: usize = 5_000;
const MOST_NEFFS: usize = 10_000;

static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Names another directory to look in: the one that the command line gives. Only the first call counts.
pub fn name(directory: PathBuf) {
    let _ = NAMED.set(directory);
}

/// The directories that are looked in: the one named, that of the variable, the usual one.
#[must_use]
pub fn directories() -> Vec<PathBuf> {
    let variable = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from);
    NAMED.get().cloned().into_iter().chain(variable).chain([PathBuf::from(USUAL)]).collect()
}

/// The programs below some directories. What cannot be read is passed over: it is no part of the capture.
#[must_use]
pub fn neffs(directories: &[PathBuf]) -> Vec<Neff> {
    let mut found = vec![];
    let mut seen = BTreeSet::new();
    let mut pending: Vec<(PathBuf, usize)> = directories.iter().rev().map(|d| (d.clone(), 0)).collect();
    while let Some((directory, level)) = pending.pop() {
        let real = fs::canonicalize(&directory).unwrap_or_else(|_| directory.clone());
        if !seen.insert(real) || seen.len() > MOST_DIRECTORIES {
            continue;
        }
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&directory).into_iter().flatten().flatten().map(|e| e.path()).collect();
        entries.sort();
        for entry in entries {
            if entry.is_dir() && level < MOST_LEVELS {
                pending.push((entry, level + 1));
            } else if is_neff(&entry) && found.len() < MOST_NEFFS {
                found.push(Neff::look(&entry));
            }
        }
    }
    found
}

fn is_neff(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "neff") && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_searched_to_a_bounded_depth_and_loops_end() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("x.neff"), b"short").unwrap();
        fs::write(dir.path().join("y.neff"), b"").unwrap();
        fs::write(dir.path().join("z.ntff"), b"").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path(), deep.join("again")).unwrap();
        let mut names: Vec<_> = neffs(&[dir.path().into(), dir.path().join("none")])
            .into_iter()
            .map(|n| (n.name.stem, n.header.is_err()))
            .collect();
        names.sort();
        assert_eq!(names, [("x".to_owned(), true), ("y".to_owned(), true)]);
    }
}
