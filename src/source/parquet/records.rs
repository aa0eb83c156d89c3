//! Small tables that are kept whole.

use std::sync::Mutex;

use super::files::Table;
use crate::store::arrays::value;
use crate::store::{Problem, Records};

/// Tables of facts, kept whole.
pub const TABLES: [&str; 13] = [
    "CcStream",
    "DeviceProfileList",
    "DmaQueuesInfo",
    "ExecutionInfo",
    "HbmUsageSummaryByType",
    "Metadata",
    "NeffHeader",
    "OpcodeSummary",
    "Summary",
    "SystemProfileMetadata",
    "TensorInfo",
    "ThrottleSummary",
    "Warning",
];

/// More rows than this are not kept: such a table is no longer a table of facts.
const MOST_ROWS: u64 = 200_000;

/// Reads a small table.
pub fn read(table: &Table, problems: &Mutex<Vec<Problem>>) -> Records {
    let mut records = Records { name: table.name.clone(), ..Records::default() };
    for (before, file) in &table.parts {
        if *before > MOST_ROWS {
            let message = format!("has more than {MOST_ROWS} rows; the rest of {} is left out", table.name);
            super::push(problems, Problem { path: file.path.clone(), message });
            break;
        }
        for span in file.spans(1 << 16) {
            let Some(batch) = file.read_plain(span, None) else {
                let message = "is damaged; copy the file again or process the capture again".into();
                super::push(problems, Problem { path: file.path.clone(), message });
                continue;
            };
            let schema = batch.schema();
            for field in schema.fields() {
                if !records.columns.contains(field.name()) {
                    records.columns.push(field.name().clone());
                }
            }
            let columns: Vec<Option<usize>> = records.columns.iter().map(|c| schema.index_of(c).ok()).collect();
            for row in 0..batch.num_rows() {
                let cells = columns
                    .iter()
                    .map(|c| c.map_or(crate::store::Datum::Null, |c| value(batch.column(c).as_ref(), row).into()));
                records.rows.push(cells.collect());
            }
        }
    }
    // A later part may have brought new columns.
    let width = records.columns.len();
    for row in &mut records.rows {
        row.resize(width, crate::store::Datum::Null);
    }
    records
}
