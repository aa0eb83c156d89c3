//! Small tables that are kept whole: Metadata, Summary, Warning and their like.

use serde::{Deserialize, Serialize};

use crate::model::Value;

/// A cell of a small table, in the form that the cache can write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Datum {
    /// Nothing recorded (also NaN and infinities).
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer above `i64::MAX`.
    Uint(u64),
    /// A finite floating point number.
    Float(f64),
    /// Text, or anything else as text.
    Text(String),
}

impl Datum {
    /// The number it holds or spells.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Datum::Int(v) => Some(*v as f64),
            Datum::Uint(v) => Some(*v as f64),
            Datum::Float(v) => Some(*v),
            Datum::Text(t) => t.trim().parse().ok().filter(|v: &f64| v.is_finite()),
            _ => None,
        }
    }

    /// The integer it holds or spells.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Datum::Int(v) => Some(*v),
            Datum::Float(v) if v.fract() == 0.0 && v.abs() < 9.0e15 => Some(*v as i64),
            Datum::Text(t) => t.trim().parse().ok(),
            _ => None,
        }
    }

    /// The text it holds.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Datum::Text(t) => Some(t),
            _ => None,
        }
    }
}

impl From<Value> for Datum {
    fn from(value: Value) -> Datum {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(b) => Datum::Bool(b),
            Value::Int(v) => Datum::Int(v),
            Value::Uint(v) => Datum::Uint(v),
            Value::Float(v) if v.is_finite() => Datum::Float(v),
            Value::Float(_) => Datum::Null,
            Value::Text(text) => Datum::Text(text),
            list @ Value::List(_) => Datum::Text(list.to_json().to_string()),
        }
    }
}

/// A small table, kept whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    /// The schema's name of the table.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Its rows, each with one datum per column.
    pub rows: Vec<Vec<Datum>>,
}

impl Records {
    /// The datum in `row` and `column`; `None` where either is missing.
    #[must_use]
    pub fn get(&self, row: usize, column: &str) -> Option<&Datum> {
        let index = self.columns.iter().position(|c| c == column)?;
        self.rows.get(row)?.get(index)
    }
}
