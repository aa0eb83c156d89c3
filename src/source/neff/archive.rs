//! The payload of a NEFF: a gzip-compressed tar, read as a stream and never unpacked to disk.
//!
//! Everything is bounded, because the file may be damaged or hostile: how many members, how many bytes of each are
//! kept, how far the stream may inflate, how long a name is. What exceeds a bound ends the reading with a problem, and
//! what came before it is kept.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};

use flate2::read::MultiGzDecoder;

use crate::model::format::format_bytes;

/// Members that a NEFF may have.
const MAX_MEMBERS: usize = 200_000;
/// Bytes of one member that is kept.
const MAX_MEMBER: u64 = 2 << 30;
/// Bytes of all members that are kept.
const MAX_KEPT: u64 = 6 << 30;
/// And so many times the compressed size, plus [`KEPT_BASE`]: what is kept of real programs is up to seven times as large.
const MAX_KEPT_RATIO: u64 = 40;
const KEPT_BASE: u64 = 64 << 20;
/// Bytes of a member's name.
const MAX_NAME: u64 = 4096;
/// The stream may inflate to this many times its compressed size, plus [`INFLATION_BASE`].
const MAX_INFLATION: u64 = 200;
/// Bytes that any stream may inflate to.
const INFLATION_BASE: u64 = 256 << 20;

/// One file of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Path inside the archive.
    pub name: String,
    /// Bytes, uncompressed.
    pub size: u64,
}

/// What the archive holds.
#[derive(Debug, Default)]
pub struct Archive {
    /// Every member in the archive's order, also those whose contents are of no use here.
    pub members: Vec<Member>,
    /// The contents of the members that are.
    pub contents: BTreeMap<String, Vec<u8>>,
    /// What went wrong.
    pub problems: Vec<String>,
}

/// Reads an archive of `compressed` bytes, keeping the contents of the members that `wanted` accepts. Damage ends the
/// reading and is reported among the problems.
pub fn read(stream: impl Read, compressed: u64, wanted: impl Fn(&str) -> bool) -> Archive {
    let mut archive = Archive::default();
    let limit = compressed.saturating_mul(MAX_INFLATION).saturating_add(INFLATION_BASE);
    let inflated = Bounded { inner: MultiGzDecoder::new(stream), left: limit };
    let mut tar = tar::Archive::new(inflated);
    let most = MAX_KEPT.min(compressed.saturating_mul(MAX_KEPT_RATIO).saturating_add(KEPT_BASE));
    if let Err(problem) = read_members(&mut tar, &mut archive, most, wanted) {
        let why = match problem.kind() {
            ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => "its compressed contents are damaged".to_owned(),
            _ => problem.to_string(),
        };
        archive.problems.push(format!("its contents cannot be read to their end: {why}"));
    }
    archive
}

fn read_members<R: Read>(
    tar: &mut tar::Archive<R>,
    archive: &mut Archive,
    most: u64,
    wanted: impl Fn(&str) -> bool,
) -> std::io::Result<()> {
    let mut kept = 0;
    let mut long_name = None;
    // Raw: the tar crate would otherwise read names of any length into memory.
    for entry in tar.entries()?.raw(true) {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            let mut name = vec![];
            (&mut entry).take(MAX_NAME).read_to_end(&mut name)?;
            name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
            long_name = Some(name);
            continue;
        }
        if kind.is_pax_local_extensions() {
            let mut records = vec![];
            (&mut entry).take(MAX_NAME * 4).read_to_end(&mut records)?;
            long_name = pax_path(&records).or(long_name);
            continue;
        }
        let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
        if !kind.is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&name).into_owned();
        let Some(name) = contained(&name) else {
            archive.problems.push(format!("a member named {name:?} would lie outside the archive and is left out"));
            continue;
        };
        if archive.members.len() == MAX_MEMBERS {
            return Err(std::io::Error::other(format!("it has more than {MAX_MEMBERS} members")));
        }
        let size = entry.size();
        archive.members.push(Member { name: name.clone(), size });
        if !wanted(&name) {
            continue;
        }
        if size > MAX_MEMBER || kept + size > most {
            let size = format_bytes(size);
            archive
                .problems
                .push(format!("{name} takes {size}, far more than in any program of this size; it is left out"));
            continue;
        }
        let mut bytes = Vec::with_capacity(size.min(1 << 20) as usize);
        (&mut entry).take(size).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < size {
            archive.problems.push(format!("{name} is cut off: {} of {size} bytes are there", bytes.len()));
        }
        kept += bytes.len() as u64;
        if archive.contents.insert(name.clone(), bytes).is_some() {
            archive.problems.push(format!("{name} is there more than once; the last one is used"));
        }
    }
    Ok(())
}

/// The path of a pax header, whose records are `LENGTH KEY=VALUE\n`.
fn pax_path(mut records: &[u8]) -> Option<Vec<u8>> {
    while let Some(space) = records.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&records[..space]).ok()?.parse().ok()?;
        let record = records.get(space + 1..length.checked_sub(1)?)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            return Some(path.to_vec());
        }
        records = records.get(length..)?;
    }
    None
}

/// A member's path without leading `./`; `None` where it is empty or leads out of the archive.
fn contained(name: &str) -> Option<String> {
    let parts: Vec<_> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let escapes = name.starts_with('/') || parts.contains(&"..") || name.contains('\0');
    (!escapes && !parts.is_empty()).then(|| parts.join("/"))
}

/// A reader that fails, rather than ends, at its limit.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            std::io::Error::other("it inflates to far more than a NEFF of this size can hold; the rest is not read")
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(tar: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        encoder.write_all(tar).unwrap();
        encoder.finish().unwrap()
    }

    fn tar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(vec![]);
        for (name, bytes) in members {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len().min(100)]
                .copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            if name.len() > 100 {
                builder.append_data(&mut header, name, *bytes).unwrap();
            } else {
                builder.append(&header, *bytes).unwrap();
            }
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn members_are_listed_and_only_wanted_ones_kept() {
        let long = format!("{}/PE.bin", "d".repeat(150));
        let packed = gzip(&tar_of(&[("./sg00/def.json", b"{}"), ("w.npy", &[7; 4000]), (&long, b"code")]));
        let archive = read(&packed[..], packed.len() as u64, |name| !name.ends_with(".npy"));
        let names: Vec<_> = archive.members.iter().map(|m| (m.name.as_str(), m.size)).collect();
        assert_eq!(names, [("sg00/def.json", 2), ("w.npy", 4000), (long.as_str(), 4)]);
        assert_eq!(archive.contents.keys().collect::<Vec<_>>(), [long.as_str(), "sg00/def.json"]);
        assert_eq!(archive.problems, [""; 0]);
    }

    #[test]
    fn members_outside_the_archive_are_left_out() {
        let packed = gzip(&tar_of(&[("../../etc/passwd", b"x"), ("/abs", b"x"), ("ok.json", b"{}")]));
        let archive = read(&packed[..], packed.len() as u64, |_| true);
        assert_eq!(archive.members.len(), 1);
        assert_eq!(archive.problems.len(), 2);
    }

    #[test]
    fn a_stream_that_inflates_without_end_is_stopped() {
        let mut tar = tar_of(&[("a.json", b"{}")]);
        tar.truncate(1024);
        let mut header = tar::Header::new_gnu();
        header.set_path("zeros.npy").unwrap();
        header.set_size(1 << 30);
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.resize(tar.len() + (300 << 20), 0);
        let packed = gzip(&tar);
        let mut bounded = Bounded { inner: MultiGzDecoder::new(&packed[..]), left: 1 << 20 };
        assert!(std::io::copy(&mut bounded, &mut std::io::sink()).is_err());
    }

    #[test]
    fn a_small_file_does_not_take_much_memory() {
        let size = (KEPT_BASE + (1 << 20)) as usize;
        let packed = gzip(&tar_of(&[("a.json", b"{}"), ("sg00/PE.bin", &vec![0; size]), ("b.json", b"{}")]));
        let archive = read(&packed[..], 1000, |_| true);
        assert_eq!(archive.contents.keys().collect::<Vec<_>>(), ["a.json", "b.json"]);
        assert_eq!((archive.members.len(), archive.problems.len()), (3, 1));
        assert!(archive.problems[0].contains("sg00/PE.bin takes 65"), "{:?}", archive.problems);
    }

    #[test]
    fn every_truncation_keeps_what_came_before() {
        let packed = gzip(&tar_of(&[("a.json", b"{}"), ("b.json", &[b'x'; 3000])]));
        for cut in 0..packed.len() {
            let archive = read(&packed[..cut], packed.len() as u64, |_| true);
            assert!(archive.members.len() <= 2);
        }
    }
}
