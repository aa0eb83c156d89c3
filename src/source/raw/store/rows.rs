//! Full rows, made when they are asked for.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use arrow::array::RecordBatch;

use super::columns::{Column, TABLES, Table};
use crate::model::{Field, Value};
use crate::source::Found;
use crate::source::raw::RawCapture;
use crate::store::{ColumnInfo, Datum, Ids, Problem, Records, Rows, cold};

/// The rows of a capture.
pub(super) struct RawRows {
    pub path: PathBuf,
    pub capture: RawCapture,
}

fn find(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

impl RawRows {
    /// The table and one past its last row.
    fn table(&self, name: &str, last: u32) -> Result<&'static Table, Problem> {
        find(name)
            .filter(|table| (last as usize) < (table.rows)(&self.capture))
            .ok_or_else(|| Problem { path: self.path.clone(), message: format!("has no row {last} of {name}") })
    }
}

impl Rows for RawRows {
    fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
        let columns = self.table(table, row)?.columns_of(!self.capture.merged.is_empty());
        let value = |column: &Column| (column.value)(&self.capture, row as usize);
        Ok(columns.map(|column| Field { name: column.name.to_owned(), value: value(column) }).collect())
    }

    fn ids(&self, table: &str) -> Result<Option<Ids>, Problem> {
        let capture = &self.capture;
        let id: fn(&RawCapture, u32) -> i64 = match table {
            "Instruction" => RawCapture::instruction_id,
            "DmaPacket" => RawCapture::packet_id,
            "DmaPacketAggregated" => RawCapture::transfer_id,
            _ => return Ok(None),
        };
        let rows = find(table).map_or(0, |table| (table.rows)(capture));
        Ok(Some(Ids::new((0..rows as u32).map(|row| id(capture, row)).collect(), false)))
    }

    fn columns(&self, table: &str) -> Result<Option<Vec<ColumnInfo>>, Problem> {
        Ok(columns_of(table, !self.capture.merged.is_empty()))
    }

    fn read(&self, table: &str, rows: Range<u32>, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        let Some(last) = rows.end.checked_sub(1).filter(|_| !rows.is_empty()) else {
            return Ok((cold::batch_of_values(&[], &[]), None));
        };
        let known = self.table(table, last)?.columns.iter().filter(|column| columns.contains(&column.name));
        let known: Vec<&Column> = known.collect();
        let names: Vec<&str> = known.iter().map(|column| column.name).collect();
        let values: Vec<Vec<Option<Value>>> = rows
            .map(|row| known.iter().map(|column| Some((column.value)(&self.capture, row as usize))).collect())
            .collect();
        Ok((cold::batch_of_values(&names, &values), None))
    }
}

/// The rows of a capture that is read when they are first asked for. What its tables are is known without.
pub(super) struct LaterRows {
    pub found: Found,
    pub rows: OnceLock<Result<RawRows, Problem>>,
}

impl LaterRows {
    fn get(&self) -> Result<&RawRows, Problem> {
        let read = || {
            let (capture, _) = super::read(&self.found, &|_, _| Ok(()))?;
            Ok(RawRows { path: self.found.path.clone(), capture })
        };
        self.rows.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

impl Rows for LaterRows {
    fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
        self.get()?.row(table, row)
    }

    fn ids(&self, table: &str) -> Result<Option<Ids>, Problem> {
        self.get()?.ids(table)
    }

    fn columns(&self, table: &str) -> Result<Option<Vec<ColumnInfo>>, Problem> {
        Ok(columns_of(table, !self.found.together.is_empty()))
    }

    fn read(&self, table: &str, rows: Range<u32>, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        self.get()?.read(table, rows, columns)
    }
}

fn columns_of(table: &str, merged: bool) -> Option<Vec<ColumnInfo>> {
    let info = |column: &Column| ColumnInfo { name: column.name.to_owned(), kind: column.kind };
    find(table).map(|table| table.columns_of(merged).map(info).collect())
}

/// The tables that are kept whole.
pub(super) fn records(capture: &RawCapture) -> Vec<Records> {
    let small = TABLES.iter().filter(|table| table.small && (table.rows)(capture) > 0);
    small
        .map(|table| {
            let row = |row| table.columns.iter().map(|column| Datum::from((column.value)(capture, row))).collect();
            Records {
                name: table.name.to_owned(),
                columns: table.columns.iter().map(|column| column.name.to_owned()).collect(),
                rows: (0..(table.rows)(capture)).map(row).collect(),
            }
        })
        .collect()
}
