//! The 1024 bytes at the start of a NEFF.

use std::io::Read;
use std::path::Path;

use super::Fault;

/// Bytes that every header has.
pub const HEADER_BYTES: usize = 1024;

/// What the header of a NEFF says. All numbers are little-endian in the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// Version of the packaging, 2 in every file seen.
    pub package_version: u64,
    /// Bytes before the payload, 1024 in every file seen.
    pub header_size: u64,
    /// Bytes of the payload, a gzip-compressed tar.
    pub data_size: u64,
    /// Major version of the contents.
    pub major_version: u64,
    /// Minor version of the contents.
    pub minor_version: u64,
    /// Build version, empty in every file seen.
    pub build_version: String,
    /// Cores the file asks for (a guess: it was 1 in every file).
    pub core_count: u32,
    /// Hash of the payload, in hexadecimal as the vendor prints it.
    pub hash: String,
    /// Identity of the compilation, in hexadecimal; a capture of it carries the same one.
    pub uuid: String,
    /// Name of the network.
    pub network_name: String,
    /// Logical cores (likely; it was 1 in every file).
    pub logical_cores: u32,
    /// Feature bits; see [`Header::enabled_features`].
    pub features: u64,
    /// Physical cores of one logical core.
    pub cores_per_logical_core: u32,
}

impl Header {
    /// Reads a header. Fails where fewer than 1024 bytes are there or where they cannot be a NEFF's.
    pub fn parse(bytes: &[u8]) -> Result<Header, Fault> {
        let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Fault::new(
                format!("the NEFF header is {HEADER_BYTES} bytes long, but the file ends after {}", bytes.len()),
                "copy or compile the file again",
            ));
        };
        let header = Header {
            package_version: u64_at(head, 0),
            header_size: u64_at(head, 8),
            data_size: u64_at(head, 0x10),
            major_version: u64_at(head, 0x18),
            minor_version: u64_at(head, 0x20),
            build_version: text(&head[0x28..0xa8]),
            core_count: u32_at(head, 0xa8),
            hash: hex(&head[0xac..0xbc]),
            uuid: hex(&head[0xcc..0xdc]),
            network_name: text(&head[0xdc..0x1dc]),
            logical_cores: u32_at(head, 0x1dc),
            features: u64_at(head, 0x220),
            cores_per_logical_core: u32_at(head, 0x228),
        };
        if !(HEADER_BYTES as u64..=1 << 20).contains(&header.header_size) {
            return Err(Fault::new(
                format!("this is no NEFF: its header claims to be {} bytes long", header.header_size),
                "name a file that the Neuron compiler wrote",
            ));
        }
        Ok(header)
    }

    /// Reads the header of a file, and nothing else of it. Returns the size of the file as well.
    ///
    /// # Errors
    /// Says why it cannot be read.
    pub fn of_file(path: &Path) -> Result<(Header, u64), Fault> {
        let failed = |problem: std::io::Error| {
            Fault::new(format!("it cannot be read: {problem}"), "check the path and its permissions")
        };
        let mut file = crate::files::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut head = Vec::with_capacity(HEADER_BYTES);
        (&mut file).take(HEADER_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
        Ok((Header::parse(&head)?, size))
    }

    /// The features in the vendor's words. Both names are known from files that have bits 10 and 11 set, so which is
    /// which is likely only; others are shown as their bit number.
    pub fn enabled_features(&self) -> String {
        let named = (0..64).filter(|bit| self.features >> bit & 1 != 0).map(|bit| match bit {
            10 => "virtual-core".to_owned(),
            11 => "v3-2x-4x-dve-perf-mode".to_owned(),
            other => format!("bit {other}"),
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    (0..8).rev().fold(0, |value, index| value << 8 | u64::from(bytes[at + index]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    (0..4).rev().fold(0, |value, index| value << 8 | u32::from(bytes[at + index]))
}

/// Text up to the first NUL.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
