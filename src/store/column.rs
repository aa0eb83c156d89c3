//! Narrow columns: what an index keeps per event, in as few bytes as the values need.
//!
//! All are made of [`ScalarBuffer`]s, which are either owned or lie in a memory-mapped cache file.

use arrow::buffer::ScalarBuffer;

use crate::model::Nanos;

/// Times: 4 bytes each where the range allows, else 8.
#[derive(Clone, Debug)]
pub enum Times {
    /// `base + value`.
    Narrow {
        /// The least time.
        base: Nanos,
        /// Distance of each time from `base` in nanoseconds.
        offsets: ScalarBuffer<u32>,
    },
    /// The times themselves.
    Wide(ScalarBuffer<i64>),
}

impl Times {
    /// Packs `times`.
    #[must_use]
    pub fn pack(times: Vec<i64>) -> Times {
        let (min, max) = times.iter().fold((i64::MAX, i64::MIN), |(lo, hi), &t| (lo.min(t), hi.max(t)));
        Times::fill(min, max, times.len(), times)
    }

    /// Packs `count` times that are known to lie within `min..=max`.
    pub(crate) fn fill(min: i64, max: i64, count: usize, times: impl IntoIterator<Item = i64>) -> Times {
        if count == 0 || max.abs_diff(min) <= u64::from(u32::MAX) {
            let mut offsets = Vec::with_capacity(count);
            offsets.extend(times.into_iter().map(|t| t.abs_diff(min) as u32));
            Times::Narrow { base: min, offsets: offsets.into() }
        } else {
            let mut wide = Vec::with_capacity(count);
            wide.extend(times);
            Times::Wide(wide.into())
        }
    }

    /// Number of times.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Times::Narrow { offsets, .. } => offsets.len(),
            Times::Wide(times) => times.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `i`-th time. Panics when `i` is out of range.
    #[must_use]
    #[inline]
    pub fn at(&self, i: usize) -> Nanos {
        match self {
            Times::Narrow { base, offsets } => base.wrapping_add(i64::from(offsets[i])),
            Times::Wide(times) => times[i],
        }
    }
}

/// Non-negative whole numbers: 4 bytes each where they fit, else 8.
#[derive(Clone, Debug)]
pub enum Lengths {
    /// All below 2^32.
    Narrow(ScalarBuffer<u32>),
    /// Any.
    Wide(ScalarBuffer<u64>),
}

impl Lengths {
    /// Packs `values`.
    #[must_use]
    pub fn pack(values: Vec<u64>) -> Lengths {
        if values.iter().all(|&v| u32::try_from(v).is_ok()) {
            Lengths::Narrow(values.into_iter().map(|v| v as u32).collect())
        } else {
            Lengths::Wide(values.into())
        }
    }

    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Lengths::Narrow(v) => v.len(),
            Lengths::Wide(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `i`-th value. Panics when `i` is out of range.
    #[must_use]
    #[inline]
    pub fn at(&self, i: usize) -> u64 {
        match self {
            Lengths::Narrow(v) => u64::from(v[i]),
            Lengths::Wide(v) => v[i],
        }
    }
}

/// Keys into a dictionary: 1, 2 or 4 bytes each, as its size needs.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Up to 256 entries.
    U8(ScalarBuffer<u8>),
    /// Up to 65,536 entries.
    U16(ScalarBuffer<u16>),
    /// Any number of entries.
    U32(ScalarBuffer<u32>),
}

impl Keys {
    /// Packs `keys`, which are all below `entries`.
    #[must_use]
    pub fn pack(keys: &[u32], entries: usize) -> Keys {
        Keys::fill(entries, keys.len(), keys.iter().copied())
    }

    /// Packs `count` keys, which are all below `entries`.
    pub(crate) fn fill(entries: usize, count: usize, keys: impl IntoIterator<Item = u32>) -> Keys {
        fn gather<T>(count: usize, keys: impl Iterator<Item = T>) -> Vec<T> {
            let mut out = Vec::with_capacity(count);
            out.extend(keys);
            out
        }
        let keys = keys.into_iter();
        match entries {
            0..=0x100 => Keys::U8(gather(count, keys.map(|k| k as u8)).into()),
            0x101..=0x1_0000 => Keys::U16(gather(count, keys.map(|k| k as u16)).into()),
            _ => Keys::U32(gather(count, keys).into()),
        }
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Keys::U8(k) => k.len(),
            Keys::U16(k) => k.len(),
            Keys::U32(k) => k.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `i`-th key. Panics when `i` is out of range.
    #[must_use]
    #[inline]
    pub fn at(&self, i: usize) -> u32 {
        match self {
            Keys::U8(k) => u32::from(k[i]),
            Keys::U16(k) => u32::from(k[i]),
            Keys::U32(k) => k[i],
        }
    }
}

/// A dictionary-coded column of text (or of numbers, see [`Coded`]). Entry 0 of a text column is the empty string,
/// which stands for "not recorded".
pub type Labels = Coded<String>;

/// A dictionary-coded column.
#[derive(Clone, Debug)]
pub struct Coded<T> {
    /// One key per event.
    pub keys: Keys,
    /// What the keys stand for.
    pub entries: Vec<T>,
}

impl<T> Coded<T> {
    /// The value of event `i`. Panics when `i` is out of range.
    #[must_use]
    #[inline]
    pub fn at(&self, i: usize) -> &T {
        &self.entries[self.keys.at(i) as usize]
    }

    /// The key of event `i`. Panics when `i` is out of range.
    #[must_use]
    #[inline]
    pub fn key(&self, i: usize) -> u32 {
        self.keys.at(i)
    }
}
