//! The fields of one full row, as the Details pane and JSON show them.

/// One column of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The column's name in the schema.
    pub name: String,
    /// What the row holds there.
    pub value: Value,
}

/// A value of a row. Strings are as the file has them: escape before showing.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing recorded.
    Null,
    /// A truth value.
    Bool(bool),
    /// Any signed integer; ids keep every digit.
    Int(i64),
    /// An unsigned integer above `i64::MAX`.
    Uint(u64),
    /// A floating point number, possibly not finite.
    Float(f64),
    /// Text.
    Text(String),
    /// A list of values.
    List(Vec<Value>),
}

impl Value {
    /// The value as an integer, where it is one (or text that spells one).
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(v) => Some(*v),
            Value::Uint(v) => i64::try_from(*v).ok(),
            Value::Text(t) => t.trim().parse().ok(),
            _ => None,
        }
    }

    /// The value as text, where it is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(t) => Some(t),
            _ => None,
        }
    }

    /// JSON form: integers keep all digits, NaN and infinities become null.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(b) => (*b).into(),
            Value::Int(v) => (*v).into(),
            Value::Uint(v) => (*v).into(),
            Value::Float(v) => serde_json::Number::from_f64(*v).map_or(serde_json::Value::Null, Into::into),
            Value::Text(t) => t.as_str().into(),
            Value::List(items) => items.iter().map(Value::to_json).collect(),
        }
    }
}
