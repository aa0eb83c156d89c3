//! Where the program keeps what belongs to a person, not to a profile: reports, the copied text, saved state.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

/// The directory for state: `$XDG_STATE_HOME/neuron-scope`, in general `~/.local/state/neuron-scope`; without a home
/// directory one for this user below the temporary directory. It need not exist yet.
pub fn state_dir() -> PathBuf {
    etcetera::choose_base_strategy()
        .ok()
        .and_then(|base| base.state_dir().or_else(|| Some(base.data_dir())))
        .map_or_else(|| std::env::temp_dir().join(format!("neuron-scope-{}", user())), |dir| dir.join("neuron-scope"))
}

/// Writes a file only its owner can read, with the directories above it, by way of a temporary name, so that it is
/// never seen half-written.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = create_private(&temporary).and_then(|mut file| file.write_all(bytes));
    let done = written.and_then(|()| fs::rename(&temporary, path));
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    done
}

fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn user() -> u32 {
    // SAFETY: getuid has no preconditions and cannot fail.
    unsafe { libc::getuid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn private_files_are_whole_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/state.json");
        write_private(&path, b"one").unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
        assert!(write_private(&path.join("below/a/file"), b"x").is_err());
    }
}
