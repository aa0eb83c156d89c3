//! Reads single rows again when a person opens an event.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use rustc_hash::FxHashMap;

use super::dma::{Lane, Queues};
use super::events::IdColumn;
use super::input::Input;
use super::schema::{self, Column, core_of};
use super::token::{self, Raw, Stop};
use crate::model::{Field, Value};
use crate::source::parquet::io_message;
use crate::store::{Ids, Problem, Rows, cold};

/// Where the rows of a table are, and how its columns are called.
pub struct Source {
    /// How its columns are called.
    pub columns: &'static [Column],
    /// Position of each row in the file.
    pub offsets: Arc<Vec<u64>>,
}

/// The rows of a file.
pub struct JsonRows {
    /// The file.
    pub input: Input,
    /// Tables that are in the file, by name.
    pub tables: FxHashMap<String, Source>,
    /// Rows of the derived transfers.
    pub transfers: Vec<Vec<Field>>,
    /// Ids by table.
    pub ids: FxHashMap<&'static str, IdColumn>,
    /// Names of queues.
    pub queues: Queues,
    /// Number of the file's time units in a nanosecond.
    pub unit: i64,
}

impl JsonRows {
    fn problem(&self, message: String) -> Problem {
        Problem { path: self.input.path.clone(), message }
    }

    /// The bytes of the object that begins at `at`.
    fn object(&self, at: u64) -> Result<Vec<u8>, Problem> {
        // Nearly all rows are below this; longer ones take another read or two.
        let mut size = 4 << 10;
        loop {
            let mut bytes = vec![0; size];
            let got = self.input.read_at(&mut bytes, at).map_err(|e| self.problem(io_message(&e)))?;
            bytes.truncate(got);
            match token::nested_end(&bytes, 0) {
                Ok(end) => {
                    bytes.truncate(end);
                    return Ok(bytes);
                }
                Err(Stop::More) if got == size && size < 128 << 20 => size *= 4,
                Err(_) => {
                    return Err(self.problem(format!(
                        "ends within the row at byte {at}; it has changed since it was opened: open it again"
                    )));
                }
            }
        }
    }
}

impl Rows for JsonRows {
    fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
        let missing = || self.problem(format!("has no row {row} of {table}"));
        if table == "DmaPacketAggregated" && !self.tables.contains_key(table) {
            return self.transfers.get(row as usize).cloned().ok_or_else(missing);
        }
        let source = self.tables.get(table).ok_or_else(missing)?;
        let at = *source.offsets.get(row as usize).ok_or_else(missing)?;
        let bytes = self.object(at)?;
        let mut fields = schema::fields(&bytes, source.columns, self.unit);
        if table == "DmaPacket" {
            self.name_queue(&bytes, &mut fields);
        }
        Ok(fields)
    }

    fn ids(&self, table: &str) -> Result<Option<Ids>, Problem> {
        let ids = self.ids.get(table).filter(|ids| ids.any);
        Ok(ids.map(|ids| Ids::new(ids.bits.clone(), ids.unsigned)))
    }

    fn read(&self, table: &str, rows: Range<u32>, columns: &[&str]) -> Result<(RecordBatch, Option<Problem>), Problem> {
        // The name of a packet's queue is not in its row.
        let source = self.tables.get(table).filter(|_| table != "DmaPacket" || !columns.contains(&"queue_name"));
        let Some(source) = source else { return cold::read_rows(self, table, rows, columns) };
        let mut window = Vec::new();
        let mut at = 0;
        let mut values = Vec::with_capacity(rows.len());
        for row in rows {
            let missing = || self.problem(format!("has no row {row} of {table}"));
            let offset = *source.offsets.get(row as usize).ok_or_else(missing)?;
            let bytes = self.near(offset, &mut window, &mut at)?;
            values.push(schema::pick(bytes, source.columns, columns, self.unit));
        }
        Ok((cold::batch_of_values(columns, &values), None))
    }
}

/// Bytes that are read together.
const NEAR_BYTES: usize = 1 << 20;

impl JsonRows {
    /// The bytes from `offset` on, up to the end of the object that begins there or further; rows are mostly near each
    /// other, so `window`, which begins at `at`, is moved only when the next one lies beyond it.
    fn near<'w>(&self, offset: u64, window: &'w mut Vec<u8>, at: &mut u64) -> Result<&'w [u8], Problem> {
        let within = |window: &[u8], at: u64| {
            let from = usize::try_from(offset.checked_sub(at)?).ok().filter(|from| *from < window.len())?;
            token::nested_end(&window[from..], 0).ok().map(|_| from)
        };
        if let Some(from) = within(window, *at) {
            return Ok(&window[from..]);
        }
        window.resize(NEAR_BYTES, 0);
        let got = self.input.read_at(window, offset).map_err(|e| self.problem(io_message(&e)))?;
        window.truncate(got);
        *at = offset;
        if within(window, offset).is_none() {
            *window = self.object(offset)?;
        }
        Ok(window)
    }

    /// Puts the name of a packet's queue in, which the row itself does not have.
    fn name_queue(&self, row: &[u8], fields: &mut Vec<Field>) {
        let mut lane = Lane::default();
        let mut subgraph = Raw::Null;
        let walked = token::object(row, 0, |key, value| {
            let text = match key {
                b"dma_engine" => &mut lane.engine,
                b"dma_queue" => &mut lane.queue,
                b"queue_type" => &mut lane.queue_type,
                b"subgroup" => &mut lane.subgroup,
                b"queue_name" => &mut lane.name,
                b"subgraph" => {
                    subgraph = value;
                    return;
                }
                _ => return,
            };
            *text = value.text().into_owned();
        });
        if walked.is_err() || !lane.name.is_empty() {
            return;
        }
        let name = Value::Text(self.queues.ring(&lane, core_of(&subgraph.text())));
        let place = fields.iter().position(|f| f.name == "queue_idx").unwrap_or(fields.len());
        fields.insert(place, Field { name: "queue_name".into(), value: name });
    }
}
