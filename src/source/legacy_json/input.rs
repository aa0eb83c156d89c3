//! The bytes of a JSON file, plain or compressed: in order through a window that moves along, and from any place.
//!
//! Files are read with positioned reads rather than mapped, so that a file that shrinks while it is open ends early
//! instead of ending the program. A compressed file cannot be read from any place; it is unpacked once into a temporary
//! file without a name, which the system may write out under memory pressure and which is gone when the program is.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use super::token::Stop;
use crate::source::parquet::io_message;
use crate::store::Problem;

/// The longest single value that is read (a row of a real file has about 1 KB): bounds memory on hostile input.
const LONGEST: usize = 64 << 20;
/// Bytes read at once.
const STEP: usize = 2 << 20;
/// How many times larger than the compressed file the unpacked one may be. Real profiles have 10 to 20.
const MOST_GROWTH: u64 = 300;

/// A file that can be read from any place.
#[derive(Clone)]
pub struct Input {
    /// Its path, for messages.
    pub path: PathBuf,
    file: Arc<File>,
    /// Bytes of plain JSON.
    pub length: u64,
    /// What was wrong with the compression.
    pub damage: Option<String>,
}

impl Input {
    /// Opens a file; `unpacked` is told how many of how many compressed bytes are done and says whether to go on.
    ///
    /// # Errors
    /// Says why the file cannot be read or unpacked, and what to do.
    pub fn open(path: &Path, unpacked: impl FnMut(u64, u64) -> bool) -> Result<Input, Problem> {
        let fail = |message: String| Problem { path: path.to_path_buf(), message };
        let file = crate::files::open(path).map_err(|e| fail(io_message(&e)))?;
        let meta = file.metadata().map_err(|e| fail(io_message(&e)))?;
        let mut magic = [0; 2];
        let mut input = Input { path: path.to_path_buf(), length: meta.len(), file: Arc::new(file), damage: None };
        if input.read_at(&mut magic, 0).is_ok_and(|n| n == 2) && magic == [0x1f, 0x8b] {
            input.unpack(unpacked).map_err(fail)?;
        }
        Ok(input)
    }

    /// Reads up to `out.len()` bytes of plain JSON from `at` on; fewer only at the end.
    pub fn read_at(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            match self.file.read_at(&mut out[done..], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    fn unpack(&mut self, mut unpacked: impl FnMut(u64, u64) -> bool) -> Result<(), String> {
        let no_room = |e: io::Error| {
            format!(
                "has to be unpacked into {}, which failed ({e}); unpack it by hand (gunzip), or set TMPDIR to where there is room",
                std::env::temp_dir().display()
            )
        };
        let mut plain = nameless_file().map_err(no_room)?;
        let packed = self.length;
        let mut decoder = MultiGzDecoder::new(Sequential { file: self.file.clone(), at: 0 });
        let mut buffer = vec![0; 256 << 10];
        let mut length = 0u64;
        loop {
            match decoder.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    plain.write_all(&buffer[..n]).map_err(no_room)?;
                    length += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    let at = decoder.get_ref().at;
                    self.damage = Some(format!(
                        "the compressed data are cut off or damaged near byte {at} of {packed}: copy the file again; what could be unpacked before is shown"
                    ));
                    break;
                }
            }
            if length > packed.saturating_mul(MOST_GROWTH) + (16 << 20) {
                self.damage = Some(format!(
                    "unpacks to more than {MOST_GROWTH} times its size, which no profile does; only the first {length} bytes are read"
                ));
                break;
            }
            if !unpacked(decoder.get_ref().at.min(packed), packed) {
                return Err("opening was cancelled".into());
            }
        }
        self.file = Arc::new(plain);
        self.length = length;
        Ok(())
    }
}

/// The first bytes of plain JSON of a file, up to `most`: enough to say what it is.
///
/// # Errors
/// When the file is no regular one or cannot be opened or read.
pub fn head(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut file = crate::files::open(path)?;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(most as u64).read_to_end(&mut head)?;
    if head.starts_with(&[0x1f, 0x8b]) {
        let mut plain = vec![0; most];
        let mut done = 0;
        let mut decoder = MultiGzDecoder::new(io::Cursor::new(head).chain(file));
        // Whatever can be unpacked will do.
        while let Ok(n @ 1..) = decoder.read(&mut plain[done..]) {
            done += n;
        }
        plain.truncate(done);
        return Ok(plain);
    }
    Ok(head)
}

/// A new temporary file whose name is removed at once.
fn nameless_file() -> io::Result<File> {
    for attempt in 0..100 {
        let path = std::env::temp_dir().join(format!(".neuron-scope-{}-{attempt}", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Reads a shared file from its beginning.
struct Sequential {
    file: Arc<File>,
    at: u64,
}

impl Read for Sequential {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(out, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

/// Why the window could not show what was asked for.
#[derive(Debug)]
pub enum Halt {
    /// The file ends here.
    End,
    /// The byte at this position of the file cannot stand there.
    Bad(u64),
    /// The value that begins at this position is longer than any that is read.
    TooLong(u64),
    /// The file could not be read any further.
    Failed(io::Error),
}

/// A part of the file that moves along.
pub struct Window {
    input: Input,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are filled.
    filled: usize,
    /// Bytes of `buffer` that are done with.
    used: usize,
    /// Position in the file of the first byte of `buffer`.
    start: u64,
    ended: bool,
}

impl Window {
    /// A window at the beginning of the file.
    pub fn new(input: Input) -> Window {
        Window { input, buffer: Vec::new(), filled: 0, used: 0, start: 0, ended: false }
    }

    /// Position in the file of what is read next.
    pub fn at(&self) -> u64 {
        self.start + self.used as u64
    }

    /// Runs `parse` on what comes next; it is run again with more bytes for as long as it wants more and there are any.
    /// What it returns is kept, and as many bytes as it says are done with.
    pub fn read<T>(&mut self, mut parse: impl FnMut(&[u8]) -> Result<(T, usize), Stop>) -> Result<T, Halt> {
        loop {
            match parse(&self.buffer[self.used..self.filled]) {
                Ok((found, length)) => {
                    self.used += length;
                    return Ok(found);
                }
                Err(Stop::Bad(i)) => return Err(Halt::Bad(self.at() + i as u64)),
                Err(Stop::More) => self.grow()?,
            }
        }
    }

    /// The next byte that is no white space, without passing it.
    pub fn peek(&mut self) -> Result<u8, Halt> {
        self.read(|b| {
            let i = super::token::space(b, 0);
            b.get(i).map(|&byte| (byte, i)).ok_or(Stop::More)
        })
    }

    /// Passes one byte.
    pub fn pass(&mut self) {
        self.used = (self.used + 1).min(self.filled);
    }

    fn grow(&mut self) -> Result<(), Halt> {
        if self.ended {
            return Err(Halt::End);
        }
        let left = self.filled - self.used;
        if left > LONGEST {
            return Err(Halt::TooLong(self.at()));
        }
        self.buffer.copy_within(self.used..self.filled, 0);
        self.start += self.used as u64;
        (self.used, self.filled) = (0, left);
        // Twice as much each time, so that a long value is not looked at too often.
        let wanted = left + left.max(STEP);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let got = self.input.read_at(&mut self.buffer[left..wanted], self.start + left as u64).map_err(Halt::Failed)?;
        self.filled += got;
        self.ended = got == 0;
        if self.ended { Err(Halt::End) } else { Ok(()) }
    }
}
