//! What has been read so far.

use rustc_hash::FxHashMap;

use super::dma::{self, Packets};
use super::events::when;
use super::instruction::{self, Instructions};
use super::interner::Texts;
use super::plain::Plain;
use super::samples::{Limit, Samples};
use super::schema::{self, Column};
use super::token::{self, Raw, Stop};
use crate::store::{Datum, Records, flag};

/// Cells of a small table that are kept; what is larger is read when somebody asks.
const MOST_CELLS: usize = 1 << 20;

/// A list of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `instruction`
    Instruction,
    /// `dma`
    Dma,
    /// `semaphore_update`
    Semaphore,
    /// `ham`: throttling.
    Throttle,
    /// `instruction_usage`: SBUF and PSUM.
    Usage,
    /// `dma_throughput`
    Throughput,
    /// `pending_dma`
    Pending,
    /// `active_time`
    Active,
    /// Position in [`schema::SMALL`].
    Small(usize),
    /// Position in [`Gathered::others`].
    Other(usize),
}

/// Where the rows of a table are.
pub struct Listed {
    /// The schema's name of the table; the key in the file where the schema has none.
    pub name: String,
    /// How its columns are called.
    pub columns: &'static [Column],
    /// Position of each row in the file.
    pub offsets: Vec<u64>,
}

/// A small table as it is gathered.
#[derive(Default)]
struct Small {
    records: Records,
    /// Positions of its columns.
    columns: FxHashMap<String, usize>,
}

/// A list that this version does not know.
pub struct Other {
    /// Its rows as events, should they have times.
    pub events: Plain,
    /// Where its rows are.
    pub listed: usize,
}

/// Everything that was read.
#[derive(Default)]
pub struct Gathered {
    /// Names of subgraphs: `sg00`.
    pub subgraphs: Texts,
    /// Tables in order of appearance.
    pub listed: Vec<Listed>,
    by_name: FxHashMap<String, usize>,
    /// The `instruction` list.
    pub instructions: Instructions,
    /// The `dma` list.
    pub packets: Packets,
    /// Semaphore updates, by semaphore.
    pub semaphores: Plain,
    /// Throttling, as events.
    pub throttle: Plain,
    /// Throttling, as limits.
    pub limits: Vec<Limit>,
    /// When engines were active.
    pub active: Plain,
    /// All sampled counters.
    pub samples: Samples,
    /// Whether any sample says that it saw HBM traffic.
    pub uses_hbm: bool,
    /// Small tables, by position in [`schema::SMALL`].
    small: FxHashMap<usize, Small>,
    /// Lists that this version does not know.
    pub others: Vec<Other>,
    other_of: FxHashMap<String, usize>,
    /// Whether any list of a full profile was found.
    pub any_known: bool,
}

impl Gathered {
    /// Which list a key of the file stands for.
    pub fn list(&mut self, key: &str) -> List {
        match key {
            "instruction" => List::Instruction,
            "dma" => List::Dma,
            "semaphore_update" => List::Semaphore,
            "ham" => List::Throttle,
            "instruction_usage" => List::Usage,
            "dma_throughput" => List::Throughput,
            "pending_dma" => List::Pending,
            "active_time" => List::Active,
            _ => {
                if let Some(at) = schema::SMALL.iter().position(|small| small.key == key) {
                    return List::Small(at);
                }
                if let Some(&known) = self.other_of.get(key) {
                    return List::Other(known);
                }
                let listed = self.table(key, &[]);
                self.others.push(Other { events: Plain::default(), listed });
                self.other_of.insert(key.to_string(), self.others.len() - 1);
                List::Other(self.others.len() - 1)
            }
        }
    }

    fn table(&mut self, name: &str, columns: &'static [Column]) -> usize {
        if let Some(&at) = self.by_name.get(name) {
            return at;
        }
        self.listed.push(Listed { name: name.to_string(), columns, offsets: Vec::new() });
        self.by_name.insert(name.to_string(), self.listed.len() - 1);
        self.listed.len() - 1
    }

    fn list_row(&mut self, name: &'static str, columns: &'static [Column], at: u64) {
        let table = self.table(name, columns);
        self.listed[table].offsets.push(at);
    }

    /// Notes that a list is there, even if it has no rows.
    pub fn found(&mut self, list: List) {
        let (name, columns) = match list {
            List::Instruction => ("Instruction", schema::INSTRUCTION),
            List::Dma => ("DmaPacket", schema::DMA),
            List::Semaphore => ("SemaphoreUpdate", schema::SEMAPHORE),
            List::Throttle => ("Throttle", schema::THROTTLE),
            List::Throughput => ("DmaUsage", schema::DMA_USAGE),
            List::Pending => ("PendingDma", schema::PENDING),
            List::Active => ("ActiveTime", schema::ACTIVE),
            List::Small(at) => (schema::SMALL[at].name, schema::SMALL[at].columns),
            List::Usage => {
                self.any_known = true;
                return;
            }
            List::Other(_) => return,
        };
        self.any_known = true;
        self.table(name, columns);
    }

    /// Takes up the row at the start of `bytes`, which is `at` bytes into the file. Says how long it is, and where it is
    /// damaged: such a row keeps its number and is left out.
    ///
    /// # Errors
    /// When `bytes` end within the row; nothing has been taken up then.
    pub fn row(&mut self, list: List, bytes: &[u8], at: u64) -> Result<(Option<usize>, usize), Stop> {
        match list {
            List::Instruction => {
                let (row, length, bad) = read::<instruction::Row>(bytes, instruction::Row::set)?;
                self.list_row("Instruction", schema::INSTRUCTION, at);
                self.instructions.push(&row, &mut self.subgraphs);
                Ok((bad, length))
            }
            List::Dma => {
                let (row, length, bad) = read::<dma::Row>(bytes, dma::Row::set)?;
                self.list_row("DmaPacket", schema::DMA, at);
                self.packets.push(&row, &mut self.subgraphs);
                Ok((bad, length))
            }
            List::Small(small) => self.small_row(small, bytes, at),
            _ => {
                let (fields, length, bad) = read::<Vec<(&[u8], Raw)>>(bytes, |fields, key, value| {
                    fields.push((key, value));
                })?;
                self.other_row(list, &fields, at);
                Ok((bad, length))
            }
        }
    }

    fn small_row(&mut self, small: usize, bytes: &[u8], at: u64) -> Result<(Option<usize>, usize), Stop> {
        let ((), length, bad) = read::<()>(bytes, |(), _, _| ())?;
        let schema::Small { name, columns, .. } = schema::SMALL[small];
        self.list_row(name, columns, at);
        let Small { records, columns: known } = self.small.entry(small).or_default();
        if records.rows.len().saturating_mul(records.columns.len()) < MOST_CELLS {
            let mut row = Vec::with_capacity(records.columns.len());
            for field in schema::fields(&bytes[..length], columns, 1).into_iter().take(MOST_CELLS) {
                let column = *known.entry(field.name).or_insert_with_key(|name| {
                    records.columns.push(name.clone());
                    records.columns.len() - 1
                });
                row.resize(records.columns.len(), Datum::Null);
                row[column] = field.value.into();
            }
            records.rows.push(row);
        }
        Ok((bad, length))
    }

    /// The small tables.
    pub fn records(&self) -> Vec<Records> {
        let filled = |(&at, small): (&usize, &Small)| {
            let mut records = Records { name: schema::SMALL[at].name.to_string(), ..small.records.clone() };
            // Rows that came before a column was first seen have nothing in it.
            records.rows.iter_mut().for_each(|row| row.resize(records.columns.len(), Datum::Null));
            records
        };
        self.small.iter().map(filled).collect()
    }

    fn other_row(&mut self, list: List, fields: &[(&[u8], Raw)], at: u64) {
        let first = |keys: &[&str]| {
            let found = |key: &&str| fields.iter().rev().find(|(k, _)| *k == key.as_bytes()).map(|(_, value)| *value);
            keys.iter().find_map(found).unwrap_or_default()
        };
        let subgraph = self.subgraphs.key(first(&["subgraph"]));
        let start = first(&["timestamp", "start_ts", "start"]);
        let when = when(start, first(&["duration", "duration_ns"]), first(&["end_ts", "end"]));
        let time = start.clamped();
        match list {
            List::Semaphore => {
                self.list_row("SemaphoreUpdate", schema::SEMAPHORE, at);
                let id = first(&["id"]);
                if let Some(time) = time {
                    self.samples.push("SemaphoreUpdate", id, subgraph, time, first(&["value"]));
                }
                self.semaphores.push(when, flag::INSTANT, subgraph, id, Raw::Null);
            }
            List::Throttle => {
                self.list_row("Throttle", schema::THROTTLE, at);
                self.throttle.push(when, 0, subgraph, first(&["type"]), Raw::Null);
                let share = first(&["k"]).number().zip(first(&["n"]).number()).filter(|(_, n)| *n > 0.0);
                if let Some((when, (k, n))) = when.zip(share) {
                    let end = when.start.saturating_add_unsigned(when.length);
                    let percent = (100.0 * k / n).clamp(0.0, 100.0);
                    self.limits.push(Limit { subgraph, start: when.start, end, percent });
                }
            }
            List::Usage => self.usage(fields, subgraph, time, at),
            List::Throughput => {
                self.list_row("DmaUsage", schema::DMA_USAGE, at);
                self.uses_hbm |= first(&["uses_hbm"]).text().eq_ignore_ascii_case("true");
                self.sample("DmaUsage", schema::DMA_USAGE, fields, subgraph, time);
                self.sample("HbmUsage", schema::HBM_USAGE, fields, subgraph, time);
            }
            List::Pending => {
                self.list_row("PendingDma", schema::PENDING, at);
                self.sample("PendingDma", schema::PENDING, fields, subgraph, time);
            }
            List::Active => {
                self.list_row("ActiveTime", schema::ACTIVE, at);
                self.active.push(when, 0, subgraph, first(&["engine"]), Raw::Null);
            }
            List::Other(other) => {
                let group = first(&["label", "subgroup", "engine", "engine_name", "queue_name", "type"]);
                let name = first(&["opcode", "name", "operation", "op", "type", "label"]);
                let other = &mut self.others[other];
                other.events.push(when, 0, subgraph, group, name);
                self.listed[other.listed].offsets.push(at);
            }
            List::Instruction | List::Dma | List::Small(_) => {}
        }
    }

    fn usage(&mut self, fields: &[(&[u8], Raw)], subgraph: u32, time: Option<i64>, at: u64) {
        let kind = fields.iter().find(|(key, _)| *key == b"type").map(|(_, value)| value.text());
        let psum = match kind.as_deref() {
            Some("psum") => true,
            Some("sb" | "sbuf") => false,
            _ => fields.iter().any(|(key, _)| key.starts_with(b"bank_")),
        };
        let (name, columns) = if psum { ("PsumUsage", schema::PSUM) } else { ("SbufUsage", schema::SBUF) };
        self.list_row(name, columns, at);
        self.sample(name, columns, fields, subgraph, time);
    }

    /// Adds a sample for each column of numbers that the row has.
    fn sample(
        &mut self,
        table: &'static str,
        columns: &[Column],
        fields: &[(&[u8], Raw)],
        subgraph: u32,
        time: Option<i64>,
    ) {
        let Some(time) = time else { return };
        for &(key, value) in fields {
            let column = columns.iter().find(|(k, _, _)| k.as_bytes() == key);
            if let Some((_, name, schema::How::Same | schema::How::Percent | schema::How::Integer)) = column {
                self.samples.push(table, Raw::Text(name.as_bytes()), subgraph, time, value);
            }
        }
    }
}

/// Reads the object at the start of `bytes` with `set`. A damaged one yields nothing but its length, as far as brackets
/// tell it, and where the damage is.
fn read<'a, T: Default>(
    bytes: &'a [u8],
    mut set: impl FnMut(&mut T, &'a [u8], Raw<'a>),
) -> Result<(T, usize, Option<usize>), Stop> {
    let mut found = T::default();
    match token::object(bytes, 0, |key, value| set(&mut found, key, value)) {
        Ok(end) => Ok((found, end, None)),
        Err(Stop::Bad(i)) => Ok((T::default(), token::nested_end(bytes, 0)?, Some(i))),
        Err(Stop::More) => Err(Stop::More),
    }
}
