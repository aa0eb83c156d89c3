//! Rows as CSV and JSON.

use std::borrow::Cow;
use std::io::Write as _;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};

use crate::model::Value;
use crate::store::arrays;

/// A cell of CSV, quoted where it must be.
#[must_use]
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes the value of a row; nothing where nothing is recorded.
type Spell<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

macro_rules! numbers {
    ($array:expr, $kind:ty) => {{
        let values = $array.as_primitive::<$kind>();
        Box::new(move |row, out| {
            let _ = write!(out, "{}", values.value(row));
        })
    }};
}

/// How the values of a column are spelled: numbers with all digits that they need and no more, lists as JSON.
fn spell(array: &ArrayRef, quote: fn(&str, &mut Vec<u8>)) -> Spell<'_> {
    match array.data_type() {
        DataType::Int64 => numbers!(array, Int64Type),
        DataType::Int32 => numbers!(array, Int32Type),
        DataType::Int16 => numbers!(array, Int16Type),
        DataType::Int8 => numbers!(array, Int8Type),
        DataType::UInt64 => numbers!(array, UInt64Type),
        DataType::UInt32 => numbers!(array, UInt32Type),
        DataType::UInt16 => numbers!(array, UInt16Type),
        DataType::UInt8 => numbers!(array, UInt8Type),
        DataType::Float64 => numbers!(array, Float64Type),
        // With the digits of a wider number, so that it reads back the same whatever it is read as.
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            Box::new(move |row, out| {
                let _ = write!(out, "{}", f64::from(values.value(row)));
            })
        }
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            Box::new(move |row, out| quote(texts.value(row), out))
        }
        DataType::Dictionary(_, _) => match array.as_dictionary_opt::<Int32Type>() {
            Some(coded) if coded.values().data_type() == &DataType::Utf8 => {
                let texts = coded.values().as_string::<i32>();
                Box::new(move |row, out| quote(texts.value(coded.keys().value(row) as usize), out))
            }
            _ => other(array, quote),
        },
        _ => other(array, quote),
    }
}

fn other(array: &ArrayRef, quote: fn(&str, &mut Vec<u8>)) -> Spell<'_> {
    Box::new(move |row, out| match arrays::value(array.as_ref(), row) {
        Value::Null => {}
        Value::Bool(v) => out.extend(if v { &b"true"[..] } else { b"false" }),
        Value::Text(text) => quote(&text, out),
        number @ (Value::Int(_) | Value::Uint(_) | Value::Float(_)) => {
            let _ = write!(out, "{}", number.to_json());
        }
        list => quote(&list.to_json().to_string(), out),
    })
}

fn csv_text(text: &str, out: &mut Vec<u8>) {
    out.extend(csv_cell(text).as_bytes());
}

/// The rows of a batch as lines of CSV.
pub(super) fn csv_rows(batch: &RecordBatch) -> Vec<u8> {
    let columns: Vec<_> = batch.columns().iter().map(|array| (array, spell(array, csv_text))).collect();
    let mut out = Vec::new();
    for row in 0..batch.num_rows() {
        for (at, (array, spell)) in columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if array.is_valid(row) {
                spell(row, &mut out);
            }
        }
        out.push(b'\n');
    }
    out
}

fn json_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail, and text is always JSON.
    let _ = serde_json::to_writer(out, text);
}

/// The rows of a batch as JSON objects, one a line.
pub(super) fn json_rows(batch: &RecordBatch) -> Vec<u8> {
    let schema = batch.schema();
    let key = |name: &str| {
        let mut key = Vec::new();
        json_text(name, &mut key);
        key.push(b':');
        key
    };
    let keys: Vec<Vec<u8>> = schema.fields().iter().map(|f| key(f.name())).collect();
    let columns: Vec<_> = batch.columns().iter().map(|array| (array, spell(array, json_text))).collect();
    let mut out = Vec::new();
    for row in 0..batch.num_rows() {
        for (at, ((array, spell), key)) in columns.iter().zip(&keys).enumerate() {
            out.push(if at == 0 { b'{' } else { b',' });
            out.extend(key);
            let before = out.len();
            if array.is_valid(row) && is_json(array, row) {
                match array.data_type() {
                    t if t.is_nested() => {
                        let _ = write!(out, "{}", arrays::value(array.as_ref(), row).to_json());
                    }
                    _ => spell(row, &mut out),
                }
            }
            if out.len() == before {
                out.extend(b"null");
            }
        }
        out.extend(b"}\n");
    }
    out
}

/// What is not a finite number has no form in JSON.
fn is_json(array: &ArrayRef, row: usize) -> bool {
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).is_finite(),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).is_finite(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(csv_cell("plain text"), "plain text");
        assert_eq!(csv_cell("a,b"), "\"a,b\"");
        assert_eq!(csv_cell("say \"so\"\n"), "\"say \"\"so\"\"\n\"");
    }
}
