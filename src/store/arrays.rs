//! Arrow columns of whatever type a writer chose, as the types that an index or a query needs. Text comes as bytes
//! (`Binary`), plain or dictionary-coded, since files do not always keep to UTF-8.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{
    DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use rustc_hash::FxHashMap;

use crate::model::Value;

/// A column of integers. Rows that hold none read as `None`.
pub struct Ints {
    values: Vec<i64>,
    /// Which values are there; `None` when all are.
    present: Option<Vec<bool>>,
    /// Whether the bits are those of unsigned integers.
    pub unsigned: bool,
}

impl Ints {
    /// The value in `row`.
    #[inline]
    pub fn at(&self, row: usize) -> Option<i64> {
        match &self.present {
            Some(present) if !present[row] => None,
            _ => Some(self.values[row]),
        }
    }

    /// The value in `row` as a time: what lies beyond the range of `i64` counts as its end.
    #[inline]
    pub fn time(&self, row: usize) -> Option<i64> {
        self.at(row).map(|v| if self.unsigned && v < 0 { i64::MAX } else { v })
    }

    /// A column of `rows` rows that hold nothing.
    pub fn missing(rows: usize) -> Ints {
        from_options((0..rows).map(|_| None))
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values, meaningless where there is none.
    pub fn into_values(self) -> Vec<i64> {
        self.values
    }
}

/// The column called `name`.
pub fn column<'a>(batch: &'a RecordBatch, name: &str) -> Option<&'a ArrayRef> {
    batch.column_by_name(name)
}

macro_rules! integers {
    ($array:expr, $kind:ty) => {
        $array.as_primitive::<$kind>().values().iter().map(|&v| v as i64).collect()
    };
}

/// Reads integers from any numeric, time, boolean or text column; `None` where the type holds no numbers.
pub fn ints(array: &dyn Array) -> Option<Ints> {
    let mut unsigned = false;
    let values: Vec<i64> = match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().values().to_vec(),
        DataType::Int32 => integers!(array, Int32Type),
        DataType::Int16 => integers!(array, Int16Type),
        DataType::Int8 => integers!(array, Int8Type),
        DataType::UInt64 => {
            unsigned = true;
            integers!(array, UInt64Type)
        }
        DataType::UInt32 => integers!(array, UInt32Type),
        DataType::UInt16 => integers!(array, UInt16Type),
        DataType::UInt8 => integers!(array, UInt8Type),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values().to_vec(),
            TimeUnit::Microsecond => scaled(array.as_primitive::<TimestampMicrosecondType>().values(), 1_000),
            TimeUnit::Millisecond => scaled(array.as_primitive::<TimestampMillisecondType>().values(), 1_000_000),
            TimeUnit::Second => scaled(array.as_primitive::<TimestampSecondType>().values(), 1_000_000_000),
        },
        DataType::Float64 | DataType::Float32 | DataType::Float16 => {
            return Some(from_options(floats(array)?.into_iter().map(whole)));
        }
        DataType::Boolean => {
            let bools: &BooleanArray = array.as_boolean();
            (0..bools.len()).map(|i| i64::from(bools.value(i))).collect()
        }
        DataType::Binary | DataType::Dictionary(_, _) => {
            let text = texts(array)?;
            let parsed: Vec<Option<i64>> = text.entries.iter().map(|t| t.trim().parse().ok()).collect();
            return Some(from_options(text.keys.iter().map(|&k| k.and_then(|k| parsed[k as usize]))));
        }
        DataType::Null => return Some(from_options((0..array.len()).map(|_| None))),
        _ => return None,
    };
    let present = (array.null_count() > 0).then(|| (0..array.len()).map(|i| array.is_valid(i)).collect());
    Some(Ints { values, present, unsigned })
}

fn scaled(values: &[i64], factor: i64) -> Vec<i64> {
    values.iter().map(|v| v.saturating_mul(factor)).collect()
}

/// A float that holds a whole number in the range of `i64`.
fn whole(value: f64) -> Option<i64> {
    (value.is_finite() && value.abs() < 9.3e18).then_some(value as i64)
}

fn from_options(values: impl Iterator<Item = Option<i64>>) -> Ints {
    let (values, present): (Vec<i64>, Vec<bool>) = values.map(|v| (v.unwrap_or(0), v.is_some())).unzip();
    let all = present.iter().all(|&p| p);
    Ints { values, present: (!all).then_some(present), unsigned: false }
}

/// Reads numbers from any numeric or text column, NaN where a row holds none; `None` where the type holds no numbers.
pub fn floats(array: &dyn Array) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().values().to_vec(),
        DataType::Float32 => array.as_primitive::<Float32Type>().values().iter().map(|&v| f64::from(v)).collect(),
        DataType::Float16 => {
            array.as_primitive::<Float16Type>().values().iter().map(|v| f64::from(v.to_f32())).collect()
        }
        DataType::Binary | DataType::Dictionary(_, _) => {
            let text = texts(array)?;
            let parsed: Vec<f64> = text.entries.iter().map(|t| t.trim().parse().unwrap_or(f64::NAN)).collect();
            return Some(text.keys.iter().map(|k| k.map_or(f64::NAN, |k| parsed[k as usize])).collect());
        }
        _ => {
            let ints = ints(array)?;
            let float = |v: i64| if ints.unsigned { v as u64 as f64 } else { v as f64 };
            return Some((0..array.len()).map(|i| ints.at(i).map_or(f64::NAN, float)).collect());
        }
    };
    for (i, value) in values.iter_mut().enumerate() {
        if array.is_null(i) {
            *value = f64::NAN;
        }
    }
    Some(values)
}

/// A column of text as a dictionary. Bytes that are no UTF-8 are replaced.
pub struct Texts {
    /// The distinct texts (some may repeat).
    pub entries: Vec<String>,
    /// The entry of each row; `None` where there is none.
    pub keys: Vec<Option<u32>>,
}

/// Reads text from a text column, or spells out the values of any other.
pub fn texts(array: &dyn Array) -> Option<Texts> {
    if let DataType::Dictionary(_, _) = array.data_type() {
        let coded = array.as_dictionary_opt::<Int32Type>()?;
        let entries = coded.values().as_binary_opt::<i32>()?;
        let entries = (0..entries.len()).map(|i| lossy(entries.value(i)).into_owned()).collect();
        let keys = coded.keys();
        let keys = if keys.null_count() == 0 {
            keys.values().iter().map(|&k| Some(k as u32)).collect()
        } else {
            (0..keys.len()).map(|i| keys.is_valid(i).then(|| keys.value(i) as u32)).collect()
        };
        return Some(Texts { entries, keys });
    }
    if let Some(plain) = array.as_binary_opt::<i32>() {
        let mut known: FxHashMap<&[u8], u32> = FxHashMap::default();
        let mut entries = Vec::new();
        let keys = plain.iter().map(|text| {
            let text = text?;
            Some(*known.entry(text).or_insert_with(|| {
                entries.push(lossy(text).into_owned());
                entries.len() as u32 - 1
            }))
        });
        let keys = keys.collect();
        return Some(Texts { entries, keys });
    }
    let mut known: FxHashMap<String, u32> = FxHashMap::default();
    let mut entries = Vec::new();
    let keys = (0..array.len())
        .map(|i| {
            let text = match value(array, i) {
                Value::Null => return None,
                value => spelled(&value),
            };
            Some(*known.entry(text).or_insert_with_key(|text| {
                entries.push(text.clone());
                entries.len() as u32 - 1
            }))
        })
        .collect();
    Some(Texts { entries, keys })
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The value of one row of any column.
pub fn value(array: &dyn Array, row: usize) -> Value {
    if row >= array.len() || array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Binary => Value::Text(lossy(array.as_binary::<i32>().value(row)).into_owned()),
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::UInt64 => {
            let bits = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(bits).map_or(Value::Uint(bits), Value::Int)
        }
        DataType::Float64 | DataType::Float32 | DataType::Float16 => {
            floats(array.slice(row, 1).as_ref()).map_or(Value::Null, |v| Value::Float(v[0]))
        }
        DataType::List(_) => list(array.as_list::<i32>().value(row).as_ref()),
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row).as_ref()),
        DataType::Map(_, _) => list(&array.as_map().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct();
            let pairs = fields.iter().zip(columns.columns()).map(|(field, column)| {
                Value::List(vec![Value::Text(field.name().clone()), value(column.as_ref(), row)])
            });
            Value::List(pairs.collect())
        }
        DataType::Dictionary(_, _) => match texts(array.slice(row, 1).as_ref()) {
            Some(text) => text.keys[0].map_or(Value::Null, |k| Value::Text(text.entries[k as usize].clone())),
            None => Value::Null,
        },
        _ => match ints(array.slice(row, 1).as_ref()) {
            Some(one) => one.at(0).map_or(Value::Null, Value::Int),
            None => Value::Text(
                arrow::util::display::array_value_to_string(array, row).unwrap_or_else(|_| "(not readable)".into()),
            ),
        },
    }
}

fn list(items: &dyn Array) -> Value {
    Value::List((0..items.len()).map(|i| value(items, i)).collect())
}

/// A value as text.
pub fn spelled(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_json().to_string(),
    }
}

/// Which numbers from 0 to 62 each row lists, one bit each, from lists of integers or from text like `[6]` or `6,7`;
/// `None` where the type holds neither.
pub fn members(array: &dyn Array) -> Option<Vec<Option<i64>>> {
    let bit = |number: i64| if (0..63).contains(&number) { 1i64 << number } else { 0 };
    if let Some(lists) = array.as_list_opt::<i32>() {
        let numbers = ints(lists.values().as_ref())?;
        let bits = |ends: &[i32]| (ends[0] as usize..ends[1] as usize).fold(0, |m, i| m | numbers.at(i).map_or(0, bit));
        let rows = lists.value_offsets().windows(2).enumerate();
        return Some(rows.map(|(row, ends)| lists.is_valid(row).then(|| bits(ends))).collect());
    }
    let texts = texts(array)?;
    let bits = |text: &String| {
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok());
        numbers.fold(0, |mask, number| mask | bit(number))
    };
    let entries: Vec<i64> = texts.entries.iter().map(bits).collect();
    Some(texts.keys.iter().map(|key| key.map(|k| entries[k as usize])).collect())
}
