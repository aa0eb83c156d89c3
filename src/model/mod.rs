//! The vocabulary: plain types with no I/O and no dependency on other rooms.

pub mod clock;
pub mod compilation;
pub mod engine;
pub mod finding;
pub mod format;
pub mod grid;
pub mod marks;
pub mod nearest;
pub mod opcode;
pub mod queue;
pub mod time;
pub mod value;

pub use engine::Engine;
pub use finding::{Finding, Severity};
pub use grid::{Grid, Window};
pub use value::{Field, Value};

/// A time in nanoseconds from the profile's origin.
pub type Nanos = i64;

/// Length of `[start, end)` in nanoseconds; 0 where `end` lies before `start`.
/// A `u64` holds even the distance from `i64::MIN` to `i64::MAX`.
#[must_use]
pub fn length(start: Nanos, end: Nanos) -> u64 {
    if end > start { end.abs_diff(start) } else { 0 }
}

/// `start + duration`, saturating at `i64::MAX`.
#[must_use]
pub fn end_of(start: Nanos, duration: u64) -> Nanos {
    start.saturating_add_unsigned(duration)
}

/// Compares names as people do: runs of digits by their value, the rest by character.
#[must_use]
pub fn natural_cmp(a: &str, b: &str) -> std::cmp::Ordering {
    use std::cmp::Ordering;
    let (mut a, mut b) = (a, b);
    let split = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    loop {
        let (digits_a, digits_b) = (split(a), split(b));
        if digits_a > 0 && digits_b > 0 {
            let (x, y) = (a[..digits_a].trim_start_matches('0'), b[..digits_b].trim_start_matches('0'));
            match x.len().cmp(&y.len()).then_with(|| x.cmp(y)) {
                Ordering::Equal => (a, b) = (&a[digits_a..], &b[digits_b..]),
                unequal => return unequal,
            }
            continue;
        }
        match (a.chars().next(), b.chars().next()) {
            (Some(x), Some(y)) if x == y => (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]),
            (x, y) => return x.cmp(&y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_sort_by_value() {
        let mut names = ["DMA-E10", "DMA-E9", "DMA-E100", "DMA", "qSyncIO0", "DMA-E09x"];
        names.sort_by(|a, b| natural_cmp(a, b));
        assert_eq!(names, ["DMA", "DMA-E9", "DMA-E09x", "DMA-E10", "DMA-E100", "qSyncIO0"]);
    }

    #[test]
    fn lengths_never_overflow() {
        assert_eq!(length(i64::MIN, i64::MAX), u64::MAX);
        assert_eq!(length(5, 3), 0);
        assert_eq!(end_of(i64::MAX - 1, 10), i64::MAX);
    }
}
