//! The 16 bytes of a record: eight of content, then a counter.
//!
//! Byte 3 always has bit 7 set; of the rest of it, bits 2 to 5 are the source and bits 0 and 1 the kind, except for DMA,
//! where it is the engine.

/// Bytes of one record.
pub(super) const RECORD_BYTES: usize = 16;

/// One record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a>(pub &'a [u8; RECORD_BYTES]);

impl<'a> Record<'a> {
    /// The records of a section; an odd tail is left out.
    pub fn all(section: &'a [u8]) -> impl ExactSizeIterator<Item = Record<'a>> {
        section.as_chunks().0.iter().map(Record)
    }

    /// Whether this can be a record at all.
    pub fn is_valid(self) -> bool {
        self.0[3] & 0x80 != 0
    }

    /// Byte `at` of the content.
    pub fn byte(self, at: usize) -> u8 {
        self.0[at]
    }

    /// Two bytes of the content.
    pub fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    /// Four bytes of the content.
    pub fn u32(self, at: usize) -> u32 {
        u32::from(self.u16(at)) | u32::from(self.u16(at + 2)) << 16
    }

    /// The three bytes at the start of the content.
    pub fn u24(self) -> u32 {
        self.u32(0) & 0xff_ffff
    }

    /// The source: engine number plus one, or 6 for what comes from outside the engines.
    pub fn source(self) -> u8 {
        self.0[3] >> 2 & 15
    }

    /// The kind: 0 start, 1 end, 2 throttle, 3 semaphore or event.
    pub fn kind(self) -> u8 {
        self.0[3] & 3
    }

    /// The counter.
    pub fn counter(self) -> u64 {
        u64::from(self.u32(8)) | u64::from(self.u32(12)) << 32
    }
}
