//! Files that are opened for reading only where they are files: a pipe would be waited for, a device never ends.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a regular file.
///
/// # Errors
/// Those of opening it; `InvalidInput` where it is anything but a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Pipes without a writer are opened at once; files are not affected.
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(file)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// Those of [`open`] and of reading; `InvalidData` where it is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(size.min(most) as usize);
    if size > most || file.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `most` bytes of text.
///
/// # Errors
/// Those of [`read`]; `InvalidData` where it is no UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read_and_only_so_far() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(read(&file, 3).unwrap(), b"abc");
        assert_eq!(read(&file, 2).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read(dir.path(), 9).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(read(Path::new("/dev/zero"), 9).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let pipe = dir.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: a path that ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(read(&pipe, 9).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        std::fs::write(&file, [0xff]).unwrap();
        assert_eq!(read_text(&file, 9).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
