//! What an NTFF says about itself, read without its records: the metadata is walked field by field in the file, so that
//! a directory of large traces is looked through in no time.

use std::io::{self, BufRead, BufReader, Seek};
use std::path::Path;

use super::VERSIONS;
use super::container::HEADER_BYTES;
use crate::source::neff::{Fault, hex};

/// Fields of the metadata that are looked at; the largest seen has some hundreds.
const MAX_FIELDS: u32 = 500_000;
/// Cores and executions that are kept.
const MAX_KEPT: usize = 4096;
/// Bytes of a text that is kept.
const MAX_TEXT: u64 = 4096;

/// Why a trace cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// Nothing is in it.
    Empty,
    /// It ends within the header, after so many bytes.
    Short(u64),
    /// Its version is not understood.
    Version(u8),
    /// Its metadata is so long, and so much of it is there.
    Cut {
        /// Bytes that there should be.
        length: u64,
        /// Bytes that there are.
        left: u64,
    },
    /// Its metadata makes no sense.
    Damaged(String),
    /// The file cannot be read.
    Unreadable(String),
}

impl Unusable {
    /// In plain words, with what to do.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let again = "the capture was cut off; copy it again, or capture again";
        match self {
            Unusable::Empty => {
                Fault::new("the file is empty", "the core did not run; if it should have, capture again")
            }
            Unusable::Short(bytes) => {
                Fault::new(format!("an NTFF starts with {HEADER_BYTES} bytes, but the file ends after {bytes}"), again)
            }
            Unusable::Version(version) => Fault::new(
                format!("NTFF version {version} is not understood (versions 4, 5 and 6 are)"),
                "convert it where Neuron is installed: neuron-scope convert DIR, or \
                 neuron-explorer view -d DIR --output-format parquet --output-file OUT",
            ),
            Unusable::Cut { length, left } => {
                let what = format!("the metadata that describes it takes {length} bytes, of which {left} are there");
                Fault::new(what, again)
            }
            Unusable::Damaged(problem) => Fault::new(format!("its metadata is damaged: {problem}"), again),
            Unusable::Unreadable(problem) => {
                Fault::new(format!("it cannot be read: {problem}"), "check the path and its permissions")
            }
        }
    }
}

/// One physical core, as the metadata names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreHead {
    /// The graph that it ran.
    pub name: String,
    /// Device number.
    pub device: u64,
    /// Core number.
    pub index: u64,
}

/// What a trace says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// Version of the format.
    pub version: u8,
    /// Name of the NEFF that ran.
    pub neff_name: String,
    /// Identity of the compilation, as [`super::Ntff::uuid`].
    pub uuid: String,
    /// The compilation that each measured execution was of (from version 6 on).
    pub executions: Vec<String>,
    /// The cores.
    pub cores: Vec<CoreHead>,
    /// Bytes of instruction records.
    pub instruction_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes that the file needs to hold all that the metadata describes.
    pub needed_bytes: u64,
}

impl Head {
    /// Reads it from a file.
    ///
    /// # Errors
    /// Says why the trace cannot be read at all.
    pub fn open(path: &Path) -> Result<Head, Unusable> {
        let unreadable = |problem: io::Error| Unusable::Unreadable(problem.to_string());
        let file = crate::files::open(path).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        Head::read(BufReader::new(file), bytes)
    }

    /// Reads it from the start of a stream of so many bytes.
    ///
    /// # Errors
    /// Says why the trace cannot be read at all.
    pub fn read(mut stream: impl BufRead + Seek, bytes: u64) -> Result<Head, Unusable> {
        let mut start = [0; HEADER_BYTES];
        let there = bytes.min(HEADER_BYTES as u64) as usize;
        stream.read_exact(&mut start[..there]).map_err(|problem| Unusable::Unreadable(problem.to_string()))?;
        let length = metadata_length(&start[..there], bytes)?;
        let mut head = Head { version: start[0], bytes, ..Head::default() };
        let mut scan = Scan { stream, at: 0, fields: MAX_FIELDS };
        let mut data = 0;
        scan.message(length, &mut |scan, field, value| top(scan, &mut head, &mut data, field, value))
            .map_err(|problem| Unusable::Damaged(problem.to_string()))?;
        head.needed_bytes = (HEADER_BYTES as u64).saturating_add(length).saturating_add(data);
        if let Some(first) = head.executions.first().filter(|uuid| uuid.len() == 32) {
            head.uuid.clone_from(first);
        }
        Ok(head)
    }

    /// The compilations that ran, each once.
    #[must_use]
    pub fn compilations(&self) -> Vec<&str> {
        let mut seen = vec![];
        for uuid in self.executions.iter().chain([&self.uuid]).map(String::as_str) {
            if !uuid.is_empty() && !seen.contains(&uuid) {
                seen.push(uuid);
            }
        }
        seen
    }

    /// Whether no instruction was recorded.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.instruction_bytes == 0
    }
}

/// The length of the metadata, from the header of a file of so many bytes.
pub(super) fn metadata_length(start: &[u8], bytes: u64) -> Result<u64, Unusable> {
    match start {
        [] => return Err(Unusable::Empty),
        _ if start.len() < HEADER_BYTES => return Err(Unusable::Short(bytes)),
        [version, ..] if !VERSIONS.contains(version) => return Err(Unusable::Version(*version)),
        _ => {}
    }
    let length = start[1..8].iter().rev().fold(0_u64, |length, byte| length << 8 | u64::from(*byte));
    let left = bytes - HEADER_BYTES as u64;
    if length > left { Err(Unusable::Cut { length, left }) } else { Ok(length) }
}

/// Whether a trace with an identity is of the compilation with another, as far as the trace tells: up to version 5 its
/// identity ends before the first zero byte.
#[must_use]
pub fn is_run_of(trace: &str, neff: &str) -> bool {
    match neff.strip_prefix(trace) {
        Some("") => true,
        Some(rest) => rest.starts_with("00"),
        None => false,
    }
}

/// The value of a field: a number, or so many bytes that are still to be read.
#[derive(Clone, Copy)]
enum Value {
    Number(u64),
    Bytes(u64),
}

impl Value {
    fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Bytes(_) => 0,
        }
    }
}

struct Scan<R> {
    stream: R,
    /// Bytes from the start of the metadata.
    at: u64,
    fields: u32,
}

type Visit<'a, R> = dyn FnMut(&mut Scan<R>, u64, Value) -> io::Result<()> + 'a;

impl<R: BufRead + Seek> Scan<R> {
    /// Hands out the fields of a message of so many bytes. What is not read of a field is skipped.
    fn message(&mut self, length: u64, visit: &mut Visit<'_, R>) -> io::Result<()> {
        let end = self.at.saturating_add(length);
        while self.at < end {
            self.fields = self.fields.checked_sub(1).ok_or_else(|| io::Error::other("it has too many fields"))?;
            let tag = self.varint()?;
            let value = match tag & 7 {
                0 => Value::Number(self.varint()?),
                1 => Value::Bytes(8),
                2 => Value::Bytes(self.varint()?),
                5 => Value::Bytes(4),
                other => return Err(io::Error::other(format!("a field is of type {other}"))),
            };
            let after = match value {
                Value::Number(_) => self.at,
                Value::Bytes(length) => self.at.saturating_add(length),
            };
            if after > end {
                return Err(io::Error::other("a field is longer than what it is in"));
            }
            visit(self, tag >> 3, value)?;
            self.skip(after - self.at)?;
        }
        Ok(())
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.at += bytes;
        // Through the buffer where what follows is in it already.
        match usize::try_from(bytes) {
            Ok(bytes) if bytes <= self.stream.fill_buf()?.len() => self.stream.consume(bytes),
            _ => {
                self.stream.seek(io::SeekFrom::Current(i64::try_from(bytes).unwrap_or(i64::MAX)))?;
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(io::Error::other("a number is too long"))
    }

    /// The start of a field's bytes.
    fn bytes(&mut self, value: Value, most: u64) -> io::Result<Vec<u8>> {
        let Value::Bytes(length) = value else { return Ok(vec![]) };
        let mut bytes = vec![0; length.min(most).min(MAX_TEXT) as usize];
        self.stream.read_exact(&mut bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }

    fn text(&mut self, value: Value) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(value, MAX_TEXT)?).into_owned())
    }

    /// The fields of a message within a field.
    fn inner(&mut self, value: Value, visit: &mut Visit<'_, R>) -> io::Result<()> {
        match value {
            Value::Bytes(length) => self.message(length, visit),
            Value::Number(_) => Ok(()),
        }
    }
}

fn top<R: BufRead + Seek>(
    scan: &mut Scan<R>,
    head: &mut Head,
    data: &mut u64,
    field: u64,
    value: Value,
) -> io::Result<()> {
    match field {
        1 => head.neff_name = scan.text(value)?,
        2 => head.uuid = hex(&scan.bytes(value, 16)?),
        4 => scan.inner(value, &mut |scan, field, node| match field {
            4 => scan.inner(node, &mut |scan, field, inner| match field {
                1 => core(scan, head, data, inner),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })?,
        15 => {
            let mut uuid = String::new();
            scan.inner(value, &mut |scan, field, inner| {
                if field == 1 {
                    uuid = hex(&scan.bytes(inner, 16)?);
                }
                Ok(())
            })?;
            if head.executions.len() < MAX_KEPT {
                head.executions.push(uuid);
            }
        }
        16 => section(scan, head, data, value)?,
        _ => {}
    }
    Ok(())
}

fn core<R: BufRead + Seek>(scan: &mut Scan<R>, head: &mut Head, data: &mut u64, value: Value) -> io::Result<()> {
    let mut found = CoreHead::default();
    scan.inner(value, &mut |scan, field, inner| {
        match field {
            1 => found.name = scan.text(inner)?,
            2 => found.device = inner.number(),
            3 => found.index = inner.number(),
            4 => {
                let (mut offset, mut size) = (0, 0_u64);
                scan.inner(inner, &mut |_, field, number| {
                    match field {
                        7 => offset = number.number(),
                        8 => size = number.number(),
                        _ => {}
                    }
                    Ok(())
                })?;
                *data = (*data).max(size.saturating_add(offset));
            }
            6 => section(scan, head, data, inner)?,
            _ => {}
        }
        Ok(())
    })?;
    if head.cores.len() < MAX_KEPT {
        head.cores.push(found);
    }
    Ok(())
}

fn section<R: BufRead + Seek>(scan: &mut Scan<R>, head: &mut Head, data: &mut u64, value: Value) -> io::Result<()> {
    let (mut kind, mut offset, mut size) = (0, 0_u64, 0);
    scan.inner(value, &mut |_, field, number| {
        match field {
            1 => kind = number.number(),
            5 => offset = number.number(),
            6 => size = number.number(),
            _ => {}
        }
        Ok(())
    })?;
    if kind == 0 {
        head.instruction_bytes = head.instruction_bytes.saturating_add(size);
    }
    *data = (*data).max(offset.saturating_add(size));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Head, Unusable> {
        Head::read(io::Cursor::new(bytes), bytes.len() as u64)
    }

    #[test]
    fn what_is_no_trace_says_why() {
        assert_eq!(read(&[]), Err(Unusable::Empty));
        assert_eq!(read(&[5; 100]), Err(Unusable::Short(100)));
        let mut file = vec![0; 200];
        file[0] = 9;
        assert_eq!(read(&file), Err(Unusable::Version(9)));
        assert!(Unusable::Version(9).fault().what.contains("version 9"));
        file[0] = 5;
        file[1] = 100;
        assert_eq!(read(&file), Err(Unusable::Cut { length: 100, left: 72 }));
        file[1] = 10;
        file[128] = 0x07;
        assert!(matches!(read(&file), Err(Unusable::Damaged(_))));
    }

    #[test]
    fn identities_may_end_before_a_zero_byte() {
        assert!(is_run_of("0102", "0102"));
        assert!(is_run_of("0102", "01020003"));
        assert!(!is_run_of("0102", "01020304"));
        assert!(!is_run_of("0102", "0103"));
        assert!(is_run_of("", "0001"));
        assert!(!is_run_of("", "0100"));
    }
}
