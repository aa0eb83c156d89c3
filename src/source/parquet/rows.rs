//! Full rows, read from the files when someone opens an event.

use std::ops::Range;

use arrow::array::RecordBatch;
use rayon::prelude::*;

use super::file::{Span, TableFile};
use super::files::Table;
use crate::model::Field;
use crate::store::arrays::{column, ints, value};
use crate::store::{ColumnInfo, ColumnKind, Ids, Problem, Rows};

/// The tables of a profile, open for reading.
pub struct ParquetRows {
    /// All tables.
    pub tables: Vec<Table>,
}

impl ParquetRows {
    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// The file that holds a row, and where in it.
    fn place(&self, table: &str, row: u32) -> Result<(&TableFile, Span), Problem> {
        let missing = || Problem { path: table.into(), message: format!("has no row {row}") };
        let table = self.table(table).ok_or_else(missing)?;
        let (before, file) =
            table.parts.iter().rev().find(|(before, _)| *before <= u64::from(row)).ok_or_else(missing)?;
        Ok((file, file.span_of_row(u64::from(row) - before).ok_or_else(missing)?))
    }
}

/// Columns decoded together: enough to keep two threads busy.
const COLUMNS_AT_ONCE: usize = 8;

/// Most rows of a piece; row groups are mostly smaller.
const PIECE_ROWS: usize = 1 << 18;

impl Rows for ParquetRows {
    fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
        let (file, span) = self.place(table, row)?;
        let names: Vec<&str> = file.columns().collect();
        let read = |names: &[&str]| match file.read_plain(span, Some(names)) {
            Some(batch) => fields(&batch),
            // One damaged column costs only itself.
            None => names
                .iter()
                .flat_map(|name| match file.read_plain(span, Some(&[name])) {
                    Some(batch) => fields(&batch),
                    None => {
                        let value = crate::model::Value::Text("(damaged in the file)".into());
                        vec![Field { name: (*name).to_string(), value }]
                    }
                })
                .collect(),
        };
        Ok(names.par_chunks(COLUMNS_AT_ONCE).flat_map(read).collect())
    }

    fn ids(&self, table: &str) -> Result<Option<Ids>, Problem> {
        let Some(table) = self.table(table).filter(|t| t.has("id")) else { return Ok(None) };
        let spans: Vec<_> =
            table.parts.iter().flat_map(|(_, file)| file.spans(1 << 18).into_iter().map(move |s| (file, s))).collect();
        let pieces: Vec<Option<(Vec<i64>, bool)>> = spans
            .par_iter()
            .map(|(file, span)| {
                let lost = || Some((vec![-1; span.rows], false));
                let Ok((batch, _)) = file.read(*span, &["id"]) else { return lost() };
                // Ids that are no numbers (a semaphore's name) cannot be looked up by number.
                let Some(ids) = column(&batch, "id").and_then(|c| ints(c.as_ref())) else { return lost() };
                if span.rows > 0 && (0..span.rows).all(|i| ids.at(i).is_none()) {
                    return None;
                }
                let unsigned = ids.unsigned;
                Some((ids.into_values(), unsigned))
            })
            .collect();
        if pieces.iter().any(Option::is_none) {
            return Ok(None);
        }
        let unsigned = pieces.iter().flatten().any(|(_, unsigned)| *unsigned);
        Ok(Some(Ids::new(pieces.into_iter().flatten().flat_map(|(ids, _)| ids).collect(), unsigned)))
    }

    fn columns(&self, table: &str) -> Result<Option<Vec<ColumnInfo>>, Problem> {
        let mut columns: Vec<ColumnInfo> = Vec::new();
        for (_, file) in self.table(table).into_iter().flat_map(|t| &t.parts) {
            for (name, data_type) in file.types() {
                if !columns.iter().any(|c| c.name == name) {
                    columns.push(ColumnInfo { name: name.to_string(), kind: ColumnKind::of(data_type) });
                }
            }
        }
        Ok(Some(columns))
    }

    fn pieces(&self, table: &str) -> Result<Vec<Range<u32>>, Problem> {
        let mut pieces = Vec::new();
        for (before, file) in self.table(table).into_iter().flat_map(|t| &t.parts) {
            let mut row = *before;
            for span in file.spans(PIECE_ROWS) {
                let next = row + span.rows as u64;
                if let (Ok(from), Ok(to)) = (u32::try_from(row), u32::try_from(next)) {
                    pieces.push(from..to);
                }
                row = next;
            }
        }
        Ok(pieces)
    }

    fn read(&self, table: &str, rows: Range<u32>, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        let (file, mut span) = self.place(table, rows.start)?;
        span.rows = rows.len();
        file.read_stored(span, columns)
    }
}

fn fields(batch: &arrow::array::RecordBatch) -> Vec<Field> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    columns.map(|(field, column)| Field { name: field.name().clone(), value: value(column.as_ref(), 0) }).collect()
}
