//! The columns of an exported file.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, DictionaryArray, Int32Array, RecordBatch, RecordBatchOptions, StringArray,
    UInt32Array, new_null_array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};

use super::rows::Rows;
use super::{Format, TRACK_COLUMN};
use crate::store::{ColumnInfo, ColumnKind, Problem, Store, arrays};

/// The columns, the track first.
pub(super) struct Layout {
    fields: Vec<Field>,
    /// The names in the table of all but the first.
    names: Vec<String>,
}

impl Layout {
    /// The columns of a table, with the types of the first rows that have them.
    pub fn of(store: &Store, table: &str, format: Format) -> Result<Layout, Problem> {
        let mut columns: Vec<ColumnInfo> = store.columns(table)?;
        if format != Format::Csv {
            // A name can be there only once; what the table calls so is part of what comes first.
            columns.retain(|c| c.name != TRACK_COLUMN);
        }
        let mut types: Vec<Option<DataType>> = vec![None; columns.len()];
        for piece in store.pieces(table)? {
            let missing: Vec<&str> =
                columns.iter().zip(&types).filter(|(_, t)| t.is_none()).map(|(c, _)| c.name.as_str()).collect();
            if missing.is_empty() || piece.is_empty() {
                break;
            }
            let Ok((batch, _)) = store.read(table, piece.start..piece.start + 1, &missing) else { continue };
            for (column, slot) in columns.iter().zip(&mut types) {
                if let Some(array) = batch.column_by_name(&column.name) {
                    *slot = slot.take().or_else(|| Some(written_as(array.data_type())));
                }
            }
        }
        let track = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let mut fields = vec![Field::new(TRACK_COLUMN, track, true)];
        for (column, data_type) in columns.iter().zip(types) {
            let data_type = data_type.unwrap_or(match column.kind {
                ColumnKind::Integer => DataType::Int64,
                ColumnKind::Float => DataType::Float64,
                ColumnKind::Bool => DataType::Boolean,
                ColumnKind::Text | ColumnKind::List => DataType::Utf8,
            });
            fields.push(Field::new(&column.name, data_type, true));
        }
        Ok(Layout { fields, names: columns.into_iter().map(|c| c.name).collect() })
    }

    /// The names of the table's columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The names of all columns.
    pub fn header(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|f| f.name().as_str())
    }

    /// The columns as Arrow has them.
    pub fn schema(&self) -> Schema {
        Schema::new(self.fields.clone())
    }

    /// The `wanted` rows of a batch that begins at row `first`, in these columns; nothing where the batch has none.
    pub fn fill(&self, batch: &RecordBatch, wanted: &[u32], rows: &Rows, first: u32) -> RecordBatch {
        let all = wanted.len() == batch.num_rows();
        let indices = UInt32Array::from(wanted.to_vec());
        let keys: Int32Array = wanted.iter().map(|row| Some(i32::from(rows.track(first + row)))).collect();
        let names: StringArray = rows.tracks.iter().map(|name| Some(name.as_str())).collect();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(names)))];
        for (field, name) in self.fields.iter().skip(1).zip(&self.names) {
            let array = batch.column_by_name(name);
            let picked =
                array.and_then(|array| if all { Some(array.clone()) } else { take(array, &indices, None).ok() });
            let column = picked.and_then(|array| with_type(&array, field.data_type()));
            columns.push(column.unwrap_or_else(|| new_null_array(field.data_type(), wanted.len())));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(wanted.len()));
        let schema = Arc::new(self.schema());
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .unwrap_or_else(|_| RecordBatch::new_empty(schema))
    }
}

/// Text is written as text, whatever it was read as.
fn written_as(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Binary | DataType::Dictionary(_, _) => DataType::Utf8,
        other => other.clone(),
    }
}

/// The column as another type, where files of one table differ.
fn with_type(array: &ArrayRef, data_type: &DataType) -> Option<ArrayRef> {
    match (array.data_type(), data_type) {
        (a, b) if a == b => Some(array.clone()),
        (DataType::Binary, DataType::Utf8) => Some(Arc::new(text(array.as_binary::<i32>()))),
        (DataType::Dictionary(_, _), DataType::Utf8) => {
            let coded = array.as_dictionary_opt::<Int32Type>()?;
            let entries = text(coded.values().as_binary_opt::<i32>()?);
            let entry = |key: Option<i32>| key.map(|k| entries.value(k as usize));
            Some(Arc::new(coded.keys().iter().map(entry).collect::<StringArray>()))
        }
        (_, DataType::Utf8) => {
            let texts = arrays::texts(array.as_ref())?;
            let entry = |key: &Option<u32>| key.map(|k| texts.entries[k as usize].as_str());
            Some(Arc::new(texts.keys.iter().map(entry).collect::<StringArray>()))
        }
        _ => cast(array, data_type).ok(),
    }
}

/// Bytes that are no UTF-8 are replaced.
fn text(bytes: &BinaryArray) -> StringArray {
    bytes.iter().map(|b| b.map(String::from_utf8_lossy)).collect()
}
