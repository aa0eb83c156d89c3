//! Text columns of pieces of tables, distinct texts apart from the rows that hold them, kept for the next query.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray};
use arrow::datatypes::{DataType, Int32Type};
use rustc_hash::FxHashMap;

use super::bits::Bits;
use super::predicate::Test;
use crate::store::{ColumnKind, Keys, Problem, Store, arrays};

/// A text column of neighbouring rows: the texts end to end, and which of them each row holds.
#[derive(Debug)]
pub struct TextColumn {
    texts: BinaryArray,
    /// The text of each row; `None` where text `i` is that of row `i`.
    keys: Option<Keys>,
}

/// Rows after which a column whose texts hardly repeat is left as it is.
const TRIAL: usize = 1 << 13;

impl TextColumn {
    /// The column, where it is text or can be spelled out. Nothing recorded becomes empty text.
    #[must_use]
    pub fn of(array: &dyn Array) -> Option<TextColumn> {
        match array.data_type() {
            DataType::Binary => {
                let plain = array.as_binary::<i32>();
                Some(coded(plain).unwrap_or_else(|| TextColumn { texts: plain.clone(), keys: None }))
            }
            DataType::Dictionary(_, _) => {
                let array = array.as_dictionary_opt::<Int32Type>()?;
                let texts = array.values().as_binary_opt::<i32>()?;
                let keys = array.keys();
                if keys.null_count() == 0 {
                    let keys = Keys::fill(texts.len(), keys.len(), keys.values().iter().map(|&k| k as u32));
                    return Some(TextColumn { texts: texts.clone(), keys: Some(keys) });
                }
                // One more text stands for nothing.
                let nothing = texts.len() as u32;
                let with: BinaryArray = texts.iter().map(|t| t.unwrap_or(b"")).chain([&b""[..]]).map(Some).collect();
                let at = |i: usize| if keys.is_valid(i) { keys.value(i) as u32 } else { nothing };
                let keys = Keys::fill(with.len(), keys.len(), (0..keys.len()).map(at));
                Some(TextColumn { texts: with, keys: Some(keys) })
            }
            _ => {
                let texts = arrays::texts(array)?;
                let nothing = texts.entries.len() as u32;
                let entries = texts.entries.iter().map(String::as_bytes).chain([&b""[..]]).map(Some);
                let keys = Keys::fill(
                    texts.entries.len() + 1,
                    texts.keys.len(),
                    texts.keys.iter().map(|k| k.unwrap_or(nothing)),
                );
                Some(TextColumn { texts: entries.collect(), keys: Some(keys) })
            }
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.keys.as_ref().map_or(self.texts.len(), Keys::len)
    }

    /// The distinct texts (some may repeat).
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.texts.len()).map(|i| self.texts.value(i))
    }

    /// Bytes that it takes up.
    #[must_use]
    pub fn size(&self) -> usize {
        let keys = match &self.keys {
            None => 0,
            Some(Keys::U8(k)) => k.len(),
            Some(Keys::U16(k)) => k.len() * 2,
            Some(Keys::U32(k)) => k.len() * 4,
        };
        self.texts.get_array_memory_size() + keys
    }

    /// Whether it is worth keeping: its texts repeat.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.keys.is_some() && self.texts.len() * 2 < self.rows()
    }

    /// The rows whose text passes.
    #[must_use]
    pub fn rows_where(&self, test: &Test) -> Bits {
        self.rows_of(&match test.literal() {
            Some(literal) => self.containing(literal),
            None => Bits::where_(self.texts.len(), |i| test.text(self.texts.value(i))),
        })
    }

    /// The rows whose text passes.
    #[must_use]
    pub fn rows_where_text(&self, holds: impl Fn(&[u8]) -> bool) -> Bits {
        self.rows_of(&Bits::where_(self.texts.len(), |i| holds(self.texts.value(i))))
    }

    fn rows_of(&self, texts: &Bits) -> Bits {
        let Some(keys) = &self.keys else { return texts.clone() };
        if texts.is_empty() {
            return Bits::none(keys.len());
        }
        let hits: Vec<bool> = (0..texts.len()).map(|i| texts.has(i)).collect();
        let hit = |key: usize| hits.get(key).copied().unwrap_or(false);
        match keys {
            Keys::U8(k) => Bits::where_(k.len(), |i| hit(k[i].into())),
            Keys::U16(k) => Bits::where_(k.len(), |i| hit(k[i].into())),
            Keys::U32(k) => Bits::where_(k.len(), |i| hit(k[i] as usize)),
        }
    }

    /// The texts that contain a literal, found in all of them at once.
    fn containing(&self, literal: &regex::bytes::Regex) -> Bits {
        let mut found = Bits::none(self.texts.len());
        let offsets = self.texts.value_offsets();
        let data = &self.texts.value_data()[..offsets.last().map_or(0, |&end| end as usize)];
        let mut from = offsets.first().map_or(0, |&start| start as usize);
        let mut text = 0;
        while let Some(hit) = literal.find_at(data, from) {
            while text < found.len() && offsets[text + 1] as usize <= hit.start() {
                text += 1;
            }
            if text == found.len() {
                break;
            }
            let end = offsets[text + 1] as usize;
            if hit.end() <= end {
                found.set(text);
                from = end;
            } else {
                // It runs over into the next text; another may begin within it.
                from = hit.start() + 1;
            }
        }
        found
    }
}

/// The texts with each only once, where they repeat enough.
fn coded(plain: &BinaryArray) -> Option<TextColumn> {
    let mut known: FxHashMap<&[u8], u32> = FxHashMap::default();
    let mut texts: Vec<&[u8]> = Vec::new();
    let mut keys = Vec::with_capacity(plain.len());
    let mut last: Option<(&[u8], u32)> = None;
    for i in 0..plain.len() {
        let text: &[u8] = if plain.is_null(i) { b"" } else { plain.value(i) };
        let key = match last {
            Some((same, key)) if same == text => key,
            _ => *known.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() as u32 - 1
            }),
        };
        last = Some((text, key));
        keys.push(key);
        if i == TRIAL && texts.len() * 2 > TRIAL {
            return None;
        }
    }
    let keys = Keys::pack(&keys, texts.len());
    Some(TextColumn { texts: BinaryArray::from_vec(texts), keys: Some(keys) })
}

/// A column of a piece.
pub enum Loaded {
    /// Text.
    Text(Arc<TextColumn>),
    /// Numbers, truth values or lists.
    Values(ArrayRef),
}

/// A column of a piece: table, column, rows.
type Key = (String, String, Range<u32>);

/// Text columns read before, up to a number of bytes; what does not fit is read again each time.
#[derive(Debug)]
pub struct TextCache {
    kept: Mutex<FxHashMap<Key, Arc<TextColumn>>>,
    used: AtomicUsize,
    most: usize,
}

impl Default for TextCache {
    fn default() -> TextCache {
        TextCache::with_capacity(512 << 20)
    }
}

impl TextCache {
    /// A cache that holds up to `most` bytes.
    #[must_use]
    pub fn with_capacity(most: usize) -> TextCache {
        TextCache { kept: Mutex::default(), used: AtomicUsize::new(0), most }
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Columns of a piece, in the order asked for: kept text, or read now. `None` for those that these rows do not
    /// have.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn load(
        &self,
        store: &Store,
        table: &str,
        columns: &[&str],
        rows: Range<u32>,
    ) -> Result<Vec<Option<Loaded>>, Problem> {
        let mut loaded: Vec<Option<Loaded>> =
            columns.iter().map(|column| self.get(table, column, &rows).map(Loaded::Text)).collect();
        let missing: Vec<&str> =
            columns.iter().zip(&loaded).filter(|(_, found)| found.is_none()).map(|(column, _)| *column).collect();
        if missing.is_empty() {
            return Ok(loaded);
        }
        // All at once, since some sources walk through whole rows to find a column.
        let (batch, _) = store.read(table, rows.clone(), &missing)?;
        for (column, slot) in columns.iter().zip(&mut loaded) {
            if let (None, Some(array)) = (&slot, batch.column_by_name(column)) {
                *slot = self.of_array(table, column, &rows, array);
            }
        }
        Ok(loaded)
    }

    fn of_array(&self, table: &str, column: &str, rows: &Range<u32>, array: &ArrayRef) -> Option<Loaded> {
        let coded = matches!(array.data_type(), DataType::Dictionary(_, _));
        if !coded && ColumnKind::of(array.data_type()) != ColumnKind::Text {
            return Some(Loaded::Values(array.clone()));
        }
        let text = TextColumn::of(array.as_ref()).map(Arc::new)?;
        self.keep(table, column, rows, &text);
        Some(Loaded::Text(text))
    }

    /// The column of a piece, if it is kept.
    #[must_use]
    fn get(&self, table: &str, column: &str, rows: &Range<u32>) -> Option<Arc<TextColumn>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(table.to_string(), column.to_string(), rows.clone())).cloned()
    }

    /// Keeps a column where it is worth it and there is room.
    fn keep(&self, table: &str, column: &str, rows: &Range<u32>, text: &Arc<TextColumn>) {
        let size = text.size();
        if !text.repeats() || self.used().saturating_add(size) > self.most {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.insert((table.to_string(), column.to_string(), rows.clone()), text.clone()).is_none() {
            self.used.fetch_add(size, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::DictionaryArray;
    use proptest::prelude::*;

    use super::super::parse::{Op, Text};
    use super::*;

    fn has(text: &str) -> Test {
        let value = Text { text: text.into(), column: 0, length: 0, quoted: false };
        Test::new(Op::Has, &value).unwrap()
    }

    proptest! {
        #[test]
        fn finding_in_all_texts_at_once_agrees_with_one_by_one(
            rows in prop::collection::vec(prop::option::of("[abA]{0,5}"), 0..60),
            needle in "[abA]{1,3}",
            repeat in 0usize..2,
        ) {
            let rows = if repeat == 1 { [rows.clone(), rows].concat() } else { rows };
            let test = has(&needle);
            let expected = Bits::where_(rows.len(), |i| rows[i].as_ref().is_some_and(|t| test.text(t.as_bytes())));
            let plain: BinaryArray = rows.iter().map(|r| r.as_ref().map(String::as_bytes)).collect();
            let as_they_are = TextColumn { texts: plain.clone(), keys: None };
            prop_assert_eq!(as_they_are.containing(test.literal().unwrap()), expected.clone());
            prop_assert_eq!(TextColumn::of(&plain).unwrap().rows_where(&test), expected.clone());
            let mut entries: Vec<&[u8]> = rows.iter().flatten().map(|t| t.as_bytes()).collect();
            entries.sort_unstable();
            entries.dedup();
            let key = |t: &String| entries.binary_search(&t.as_bytes()).unwrap() as i32;
            let keys = rows.iter().map(|r| r.as_ref().map(key)).collect::<arrow::array::Int32Array>();
            let coded = DictionaryArray::new(keys, Arc::new(BinaryArray::from_vec(entries.clone())));
            prop_assert_eq!(TextColumn::of(&coded).unwrap().rows_where(&test), expected);
        }
    }

    #[test]
    fn only_what_repeats_is_kept_and_only_while_there_is_room() {
        let rows = 0..20_000;
        let column = |text: &dyn Fn(usize) -> String| {
            let texts: Vec<String> = (0..20_000).map(text).collect();
            let array = BinaryArray::from_vec(texts.iter().map(String::as_bytes).collect());
            Arc::new(TextColumn::of(&array).unwrap())
        };
        let few = column(&|i| (i % 3).to_string());
        let cache = TextCache::with_capacity(few.size() * 3 / 2);
        let distinct = column(&|i| i.to_string());
        assert!(distinct.keys.is_none());
        cache.keep("T", "a", &rows, &distinct);
        assert!(cache.get("T", "a", &rows).is_none());
        cache.keep("T", "b", &rows, &few);
        assert_eq!(cache.get("T", "b", &rows).unwrap().rows(), 20_000);
        cache.keep("T", "c", &rows, &few);
        assert!(cache.get("T", "c", &rows).is_none(), "it is full");
    }
}
