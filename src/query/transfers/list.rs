//! Transfers in few bytes each, which may lie in a mapped file.

use arrow::buffer::ScalarBuffer;

use super::Transfer;
use crate::query::pairs::{NONE, some};
use crate::query::sync::SyncId;
use crate::store::EventRef;

/// Numbers per transfer: event and issuer, start, end, bytes, queue and semaphore, amount and whether it is derived.
const WORDS: usize = 6;

/// Transfers in order of start; their events are of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    words: ScalarBuffer<u64>,
    table: u16,
}

impl Default for List {
    fn default() -> List {
        List { words: Vec::new().into(), table: 0 }
    }
}

impl List {
    /// The list of these transfers, whose events are of the table at this position.
    pub(super) fn new(transfers: impl IntoIterator<Item = Transfer>, table: u16) -> List {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let words = transfers.into_iter().flat_map(|t| {
            [
                pair(t.event.event, t.issuer.unwrap_or(NONE)),
                t.start.cast_unsigned(),
                t.end.cast_unsigned(),
                t.bytes,
                pair(t.queue, t.sync.map_or(NONE, SyncId::packed)),
                pair(t.by.cast_unsigned(), u32::from(t.derived)),
            ]
        });
        List { words: words.collect::<Vec<u64>>().into(), table }
    }

    /// Restores a list from [`List::words`]; `None` where they are no whole transfers.
    pub(super) fn from_words(words: ScalarBuffer<u64>, table: u16) -> Option<List> {
        words.len().is_multiple_of(WORDS).then_some(List { words, table })
    }

    /// All numbers, for the cache.
    pub(super) fn words(&self) -> &ScalarBuffer<u64> {
        &self.words
    }

    /// Number of transfers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len() / WORDS
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The transfer at `t`. Panics when there is none.
    #[must_use]
    pub fn get(&self, t: usize) -> Transfer {
        let words = &self.words[t * WORDS..][..WORDS];
        let (high, low) = (|word: u64| (word >> 32) as u32, |word: u64| word as u32);
        Transfer {
            event: EventRef { table: self.table, event: high(words[0]) },
            issuer: some(low(words[0])),
            start: words[1].cast_signed(),
            end: words[2].cast_signed(),
            bytes: words[3],
            queue: high(words[4]),
            sync: some(low(words[4])).and_then(SyncId::unpacked),
            by: high(words[5]).cast_signed(),
            derived: low(words[5]) != 0,
        }
    }

    /// All transfers, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Transfer> + ExactSizeIterator + '_ {
        (0..self.len()).map(|t| self.get(t))
    }

    /// How many transfers, being the first ones, `is` holds for.
    pub fn partition_point(&self, is: impl Fn(&Transfer) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is(&self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn transfers_come_back_as_they_were(
            numbers in prop::collection::vec(
                (any::<u32>(), prop::option::of(0..u32::MAX), any::<(i64, i64, u64)>(), any::<u32>(), prop::option::of(any::<(u16, bool)>()), any::<(i32, bool)>()),
                0..9,
            ),
        ) {
            let transfers: Vec<Transfer> = numbers.into_iter().map(|(event, issuer, (start, end, bytes), queue, sync, (by, derived))| {
                let sync = sync.map(|(number, event)| SyncId { number, event });
                Transfer { event: EventRef { table: 3, event }, derived, issuer, start, end, bytes, queue, sync, by }
            }).collect();
            let list = List::new(transfers.iter().copied(), 3);
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), transfers);
            let again = List::from_words(list.words().clone(), 3);
            prop_assert_eq!(again, Some(list));
        }
    }
}
