//! Columns that the index does not hold, read from where they are kept, some rows at a time.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field as ArrowField, Schema};

use super::{Problem, Rows, Store, arrays};
use crate::model::{Field, Value};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Text, or something that can only be spelled out.
    Text,
    /// Whole numbers, also times.
    Integer,
    /// Floating point numbers.
    Float,
    /// Truth values.
    Bool,
    /// Lists and other nested values.
    List,
}

/// A column of a table of the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnInfo {
    /// Its name in the schema.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
}

impl ColumnKind {
    /// The kind of values of an Arrow column.
    #[must_use]
    pub fn of(data_type: &DataType) -> ColumnKind {
        match data_type {
            t if t.is_floating() => ColumnKind::Float,
            t if t.is_integer() => ColumnKind::Integer,
            DataType::Timestamp(_, _) => ColumnKind::Integer,
            DataType::Boolean => ColumnKind::Bool,
            t if t.is_nested() => ColumnKind::List,
            _ => ColumnKind::Text,
        }
    }

    fn of_value(value: &Value) -> Option<ColumnKind> {
        match value {
            Value::Null => None,
            Value::Bool(_) => Some(ColumnKind::Bool),
            Value::Int(_) | Value::Uint(_) => Some(ColumnKind::Integer),
            Value::Float(_) => Some(ColumnKind::Float),
            Value::Text(_) => Some(ColumnKind::Text),
            Value::List(_) => Some(ColumnKind::List),
        }
    }
}

/// Rows that are read together where a source keeps them one by one.
const PIECE: u32 = 1 << 14;
/// Rows looked at to learn the columns of a source that does not declare them.
const SAMPLE: u32 = 64;

impl Store {
    fn row_count(&self, table: &str) -> u32 {
        let rows = self.tables.iter().find(|t| t.name == table).map_or(0, |t| t.rows);
        u32::try_from(rows).unwrap_or(u32::MAX)
    }

    /// The columns of a table of the source, in its order; none where there is no such table.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    pub fn columns(&self, table: &str) -> Result<Vec<ColumnInfo>, Problem> {
        if let Some(columns) = self.rows.columns(table)? {
            return Ok(columns);
        }
        let rows = self.row_count(table);
        let mut columns: Vec<(String, Option<ColumnKind>)> = Vec::new();
        for row in (0..rows).step_by((rows / SAMPLE).max(1) as usize) {
            for field in self.rows.row(table, row)? {
                let kind = ColumnKind::of_value(&field.value);
                match columns.iter_mut().find(|(name, _)| *name == field.name) {
                    Some((_, known)) => *known = known.or(kind),
                    None => columns.push((field.name, kind)),
                }
            }
        }
        let info =
            |(name, kind): (String, Option<ColumnKind>)| ColumnInfo { name, kind: kind.unwrap_or(ColumnKind::Text) };
        Ok(columns.into_iter().map(info).collect())
    }

    /// The rows of a table in pieces that are best read at once, in order.
    ///
    /// # Errors
    /// Says which file could not be read and what to do.
    pub fn pieces(&self, table: &str) -> Result<Vec<Range<u32>>, Problem> {
        let pieces = self.rows.pieces(table)?;
        if !pieces.is_empty() {
            return Ok(pieces);
        }
        let rows = self.row_count(table);
        let piece = |first: u32| first..rows.min(first.saturating_add(PIECE));
        Ok((0..rows).step_by(PIECE as usize).map(piece).collect())
    }

    /// Those of `columns` that the rows have, in the table's order: numbers as their own types, text as bytes
    /// (`Binary`), plain or dictionary-coded as the source has it at hand; see [`arrays`]. `rows` is one of
    /// [`Store::pieces`] or lies within one. Where some columns are damaged, the others come with the problem.
    ///
    /// # Errors
    /// Says which rows are damaged, where no column can be read.
    pub fn read(
        &self,
        table: &str,
        rows: Range<u32>,
        columns: &[&str],
    ) -> Result<(RecordBatch, Option<Problem>), Problem> {
        self.rows.read(table, rows, columns)
    }
}

/// [`Rows::read`] for sources that keep rows one by one.
///
/// # Errors
/// Says which row could not be read.
pub fn read_rows<R: Rows + ?Sized>(
    source: &R,
    table: &str,
    rows: Range<u32>,
    columns: &[&str],
) -> Result<(RecordBatch, Option<Problem>), Problem> {
    let rows = rows.map(|row| source.row(table, row)).collect::<Result<Vec<_>, _>>()?;
    Ok((batch_of(&rows, columns), None))
}

/// Rows as columns: those of `columns` that some row has, in the order in which they are first met.
#[must_use]
pub fn batch_of(rows: &[Vec<Field>], columns: &[&str]) -> RecordBatch {
    let mut names: Vec<&str> = Vec::new();
    for field in rows.iter().flatten() {
        if columns.contains(&field.name.as_str()) && !names.contains(&field.name.as_str()) {
            names.push(&field.name);
        }
    }
    let arrays = names.iter().map(|name| {
        let values: Vec<&Value> = rows
            .iter()
            .map(|row| row.iter().find(|f| f.name == *name).map_or(&Value::Null, |field| &field.value))
            .collect();
        array_of(&values)
    });
    batch(names.iter().map(|n| (*n).to_string()).zip(arrays), rows.len())
}

/// Columns from the values of rows, in the order of `names`: those that some row has.
#[must_use]
pub fn batch_of_values(names: &[&str], rows: &[Vec<Option<Value>>]) -> RecordBatch {
    let column = |(at, name): (usize, &&str)| {
        let values = || rows.iter().map(move |row| row.get(at).and_then(Option::as_ref));
        values().any(|v| v.is_some()).then(|| {
            let values: Vec<&Value> = values().map(|v| v.unwrap_or(&Value::Null)).collect();
            ((*name).to_string(), array_of(&values))
        })
    };
    batch(names.iter().enumerate().filter_map(column), rows.len())
}

/// A batch of equally long columns, possibly none.
pub(crate) fn batch(columns: impl IntoIterator<Item = (String, ArrayRef)>, rows: usize) -> RecordBatch {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .filter(|(_, array)| array.len() == rows)
        .map(|(name, array)| (ArrowField::new(name, array.data_type().clone(), true), array))
        .unzip();
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
        .unwrap_or_else(|_| RecordBatch::new_empty(schema))
}

/// Integers, floats and truth values as such where all values are of one kind; anything else spelled out.
fn array_of(values: &[&Value]) -> ArrayRef {
    let all = |kind: ColumnKind| values.iter().all(|v| ColumnKind::of_value(v).is_none_or(|k| k == kind));
    let whole = |v: &&Value| match v {
        Value::Int(v) => Some(*v),
        _ => None,
    };
    if all(ColumnKind::Integer) && !values.iter().any(|v| matches!(v, Value::Uint(_))) {
        return Arc::new(values.iter().map(whole).collect::<Int64Array>());
    }
    let number = |v: &&Value| match v {
        Value::Float(v) => Some(*v),
        Value::Int(v) => Some(*v as f64),
        _ => None,
    };
    let numeric = |v: &Value| matches!(v, Value::Null | Value::Float(_) | Value::Int(_));
    if values.iter().all(|v| numeric(v)) && values.iter().any(|v| matches!(v, Value::Float(_))) {
        return Arc::new(values.iter().map(number).collect::<Float64Array>());
    }
    if all(ColumnKind::Bool) {
        let truth = |v: &&Value| match v {
            Value::Bool(v) => Some(*v),
            _ => None,
        };
        return Arc::new(values.iter().map(truth).collect::<BooleanArray>());
    }
    let text = |v: &&Value| match v {
        Value::Null => None,
        value => Some(arrays::spelled(value).into_bytes()),
    };
    Arc::new(values.iter().map(text).collect::<BinaryArray>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: &[(&str, Value)]) -> Vec<Field> {
        fields.iter().map(|(name, value)| Field { name: (*name).into(), value: value.clone() }).collect()
    }

    #[test]
    fn rows_become_columns() {
        let rows = [
            row(&[("id", Value::Int(7)), ("name", Value::Text("a".into())), ("rate", Value::Int(1))]),
            row(&[("id", Value::Null), ("rate", Value::Float(0.5)), ("odd", Value::Uint(u64::MAX))]),
        ];
        let batch = batch_of(&rows, &["rate", "name", "id", "odd", "none"]);
        let schema = batch.schema();
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(names, ["id", "name", "rate", "odd"]);
        let at = |name: &str, row| arrays::value(batch.column_by_name(name).unwrap().as_ref(), row);
        assert_eq!((at("id", 0), at("id", 1)), (Value::Int(7), Value::Null));
        assert_eq!((at("rate", 0), at("rate", 1)), (Value::Float(1.0), Value::Float(0.5)));
        assert_eq!((at("name", 0), at("name", 1)), (Value::Text("a".into()), Value::Null));
        assert_eq!(at("odd", 1), Value::Text(u64::MAX.to_string()));
        assert_eq!(batch_of(&rows, &["none"]).num_rows(), 2);
    }
}
