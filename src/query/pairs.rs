//! Small numbers in columns: which belong to a number, as one sorted column, and numbers that may be missing.

use arrow::buffer::ScalarBuffer;

/// What stands in a column for a number that is missing.
pub(super) const NONE: u32 = u32::MAX;

/// A number of a column, where it is not missing.
pub(super) fn some(number: u32) -> Option<u32> {
    Some(number).filter(|n| *n != NONE)
}

/// Pairs of a key and what belongs to it, in order.
#[derive(Clone, Debug)]
pub(super) struct Pairs(pub ScalarBuffer<u64>);

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs(Vec::new().into())
    }
}

impl Pairs {
    pub fn new(pairs: impl IntoIterator<Item = (u32, u32)>) -> Pairs {
        let mut packed: Vec<u64> = pairs.into_iter().map(|(key, own)| u64::from(key) << 32 | u64::from(own)).collect();
        packed.sort_unstable();
        Pairs(packed.into())
    }

    /// What belongs to `key`, in order.
    pub fn of(&self, key: u32) -> impl Iterator<Item = u32> + '_ {
        let from = self.0.partition_point(|&pair| pair < u64::from(key) << 32);
        self.all_from(from).take_while(move |(own, _)| *own == key).map(|(_, own)| own)
    }

    /// All pairs, in order.
    pub fn all(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.all_from(0)
    }

    fn all_from(&self, from: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0[from..].iter().map(|&pair| ((pair >> 32) as u32, pair as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_key_is_found() {
        let pairs = Pairs::new([(9, 1), (u32::MAX, 7), (9, 0), (0, u32::MAX)]);
        let of = |key| pairs.of(key).collect::<Vec<_>>();
        assert_eq!(of(9), [0, 1]);
        assert_eq!(of(0), [u32::MAX]);
        assert_eq!(of(u32::MAX), [7]);
        assert!(of(1).is_empty());
        assert_eq!(pairs.all().next(), Some((0, u32::MAX)));
    }
}
