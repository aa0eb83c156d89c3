//! The original 64-bit ids of a table's rows.

use std::sync::OnceLock;

/// Ids by row. They are neither dense nor sorted nor always unique.
#[derive(Debug, Default)]
pub struct Ids {
    bits: Vec<i64>,
    unsigned: bool,
    by_id: OnceLock<Vec<u32>>,
}

impl Ids {
    /// Ids from the bits of a 64-bit column; `unsigned` says how to read them.
    #[must_use]
    pub fn new(bits: Vec<i64>, unsigned: bool) -> Ids {
        Ids { bits, unsigned, by_id: OnceLock::new() }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// The id of `row`.
    #[must_use]
    pub fn get(&self, row: u32) -> Option<i128> {
        let bits = *self.bits.get(row as usize)?;
        Some(if self.unsigned { i128::from(bits as u64) } else { i128::from(bits) })
    }

    /// The rows with this id, in order. The first call sorts the ids; later ones cost O(log n).
    #[must_use]
    pub fn rows_of(&self, id: i128) -> Vec<u32> {
        let wanted = if self.unsigned { u64::try_from(id).map(|v| v as i64).ok() } else { i64::try_from(id).ok() };
        let Some(wanted) = wanted else { return Vec::new() };
        let by_id = self.by_id.get_or_init(|| {
            use rayon::slice::ParallelSliceMut;
            let mut order: Vec<u32> = (0..self.bits.len() as u32).collect();
            order.par_sort_unstable_by_key(|&row| (self.bits[row as usize], row));
            order
        });
        let from = by_id.partition_point(|&row| self.bits[row as usize] < wanted);
        by_id[from..].iter().copied().take_while(|&row| self.bits[row as usize] == wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_extreme_ids_are_found() {
        let ids = Ids::new(vec![7, -1, i64::MAX, 7, i64::MIN], false);
        assert_eq!(ids.rows_of(7), [0, 3]);
        assert_eq!(ids.rows_of(i128::from(i64::MIN)), [4]);
        assert!(ids.rows_of(8).is_empty());
        let ids = Ids::new(vec![-1, 5], true);
        assert_eq!(ids.rows_of(i128::from(u64::MAX)), [0]);
        assert_eq!(ids.get(0), Some(i128::from(u64::MAX)));
        assert!(ids.rows_of(-1).is_empty());
    }
}
