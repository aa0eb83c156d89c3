//! The `dma` list: packets, and the transfers that they add up to.

use rustc_hash::FxHashMap;

use super::events::{EventRows, From, IdColumn, When, id_bits, when};
use super::interner::{Texts, Values};
use super::token::Raw;
use crate::model::{Field, Value, queue};
use crate::store::builder::TableInput;
use crate::store::{GroupKey, LabelKind, Measure, Records};

/// What is read of a row.
#[derive(Default)]
pub struct Row<'a> {
    start: Raw<'a>,
    duration: Raw<'a>,
    end: Raw<'a>,
    id: Raw<'a>,
    subgraph: Raw<'a>,
    aggregation: Raw<'a>,
    transferred: Raw<'a>,
    read: Raw<'a>,
    written: Raw<'a>,
    lane: [Raw<'a>; 5],
}

impl<'a> Row<'a> {
    /// Takes up one key of the row.
    pub fn set(&mut self, key: &[u8], value: Raw<'a>) {
        let field = match key {
            b"timestamp" | b"start_ts" => &mut self.start,
            b"duration" | b"duration_ns" => &mut self.duration,
            b"end_ts" => &mut self.end,
            b"id" => &mut self.id,
            b"subgraph" => &mut self.subgraph,
            b"packet_aggregation_id" => &mut self.aggregation,
            b"transfer_size" => &mut self.transferred,
            b"read_size" => &mut self.read,
            b"write_size" => &mut self.written,
            b"dma_engine" => &mut self.lane[0],
            b"dma_queue" => &mut self.lane[1],
            b"queue_type" => &mut self.lane[2],
            b"subgroup" => &mut self.lane[3],
            b"queue_name" => &mut self.lane[4],
            _ => return,
        };
        *field = value;
    }
}

/// Where a packet ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Key of the subgraph.
    pub subgraph: u32,
    /// `dma_engine`: `64`.
    pub engine: String,
    /// `dma_queue`: `2`.
    pub queue: String,
    /// `queue_type`: `hardware_dynamic`.
    pub queue_type: String,
    /// `subgroup`: `Q2-E64`.
    pub subgroup: String,
    /// The queue's own name, where the row has one.
    pub name: String,
}

impl Lane {
    /// Whether it moves data between the host and the device, outside of the cores' own queues.
    fn is_host(&self) -> bool {
        [&self.subgroup, &self.queue_type, &self.name].iter().any(|t| {
            let t = t.to_ascii_lowercase();
            t.starts_with("host") || t.contains("h2d") || t.contains("d2h")
        })
    }

    /// The engine's number, or what stands in its place.
    fn engine(&self) -> &str {
        match self.subgroup.rsplit_once("-E") {
            Some((_, number)) if self.engine.is_empty() => number,
            _ => &self.engine,
        }
    }

    /// The track of the engine.
    fn track(&self) -> String {
        let track = match self.engine() {
            "" => "DMA".to_string(),
            engine => format!("DMA-E{engine}"),
        };
        if self.is_host() { format!("Host-device {track}") } else { track }
    }
}

/// Names of queues, from `dma_queues_info`.
///
/// That list names one engine per queue although a queue has rings on many, so a packet's queue is looked up by core,
/// engine and index first and by core and index next, where only one queue has them. Packets that fetch instructions
/// (`instruction`) share the index of queues that load tables, and are only looked up the first way.
#[derive(Clone, Default)]
pub struct Queues {
    exact: FxHashMap<(Option<i64>, i64, i64), String>,
    by_index: FxHashMap<(Option<i64>, i64), Option<String>>,
}

impl Queues {
    /// Takes the names from the table that the list has become.
    pub fn new(info: Option<&Records>) -> Queues {
        let mut queues = Queues::default();
        let Some(info) = info else { return queues };
        for row in 0..info.rows.len() {
            let integer = |column: &str| info.get(row, column).and_then(|d| d.integer());
            let name = info.get(row, "name").and_then(|d| d.text()).unwrap_or("");
            let Some(index) = integer("idx").filter(|_| !name.is_empty()) else { continue };
            let core = integer("pcore_idx");
            if let Some(engine) = integer("engine_idx") {
                queues.exact.insert((core, index, engine), name.to_string());
            }
            queues
                .by_index
                .entry((core, index))
                .and_modify(|known| {
                    if known.as_deref() != Some(name) {
                        *known = None;
                    }
                })
                .or_insert_with(|| Some(name.to_string()));
        }
        queues
    }

    /// The name of a lane's queue without ring and engine: `qSyncDynamicHW`; `Q2` where no list names it. `core` is that
    /// of the lane's subgraph.
    pub fn queue(&self, lane: &Lane, core: Option<i64>) -> String {
        match self.named(lane, core) {
            Some(name) => name.to_string(),
            None if !lane.subgroup.is_empty() => queue::base_name(&lane.subgroup).to_string(),
            None if lane.queue.is_empty() => "queue not recorded".to_string(),
            None => format!("Q{}", lane.queue),
        }
    }

    /// The name of a lane's queue as the schema spells it: `qSyncDynamicHW-Q2-E64`; `Q2-E64` where no list names it.
    pub fn ring(&self, lane: &Lane, core: Option<i64>) -> String {
        if !lane.name.is_empty() {
            return lane.name.clone();
        }
        match self.named(lane, core) {
            Some(name) => format!("{name}-Q{}-E{}", lane.queue, lane.engine()),
            None if lane.subgroup.is_empty() => format!("Q{}-E{}", lane.queue, lane.engine()),
            None => lane.subgroup.clone(),
        }
    }

    fn named<'a>(&'a self, lane: &'a Lane, core: Option<i64>) -> Option<&'a str> {
        if !lane.name.is_empty() {
            return Some(queue::base_name(&lane.name));
        }
        let index: i64 = lane.queue.parse().ok()?;
        let exact = lane.engine().parse().ok().and_then(|engine| self.exact.get(&(core, index, engine)));
        match exact {
            Some(name) => Some(name),
            None if lane.queue_type == "instruction" => None,
            None => self.by_index.get(&(core, index))?.as_deref(),
        }
    }
}

/// Packets with the same `packet_aggregation_id`. The list itself has no whole transfers: this is derived.
#[derive(Clone)]
pub struct Transfer {
    /// Bits of the aggregation id.
    pub id: i64,
    lane: u32,
    start: i64,
    end: i64,
    packets: u64,
    read: u64,
    written: u64,
    bytes: u64,
}

/// All packets.
pub struct Packets {
    /// Times and codes of the rows.
    pub rows: EventRows,
    /// Their ids.
    pub ids: IdColumn,
    /// What they add up to.
    pub transfers: Vec<Transfer>,
    transfer_of: FxHashMap<(i64, u32), u32>,
    last_transfer: Option<((i64, u32), u32)>,
    /// Where they ran; the key is one more than the position.
    pub lanes: Vec<Lane>,
    lane_of: FxHashMap<[u32; 6], u32>,
    texts: Texts,
    bytes: Values<u64>,
}

impl Default for Packets {
    fn default() -> Packets {
        Packets {
            rows: EventRows::with_columns(1),
            ids: IdColumn::default(),
            transfers: Vec::new(),
            transfer_of: FxHashMap::default(),
            last_transfer: None,
            lanes: Vec::new(),
            lane_of: FxHashMap::default(),
            texts: Texts::default(),
            bytes: Values::starting_with(0),
        }
    }
}

impl Packets {
    /// Adds a row; `subgraphs` is shared by all tables.
    pub fn push(&mut self, row: &Row, subgraphs: &mut Texts) {
        let size = |raw: Raw| raw.clamped().and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let bytes = size(row.transferred);
        let when = when(row.start, row.duration, row.end);
        let lane = self.lane(subgraphs.key(row.subgraph), &row.lane);
        if let Some((when, (id, _))) = when.zip(id_bits(row.aggregation)).filter(|(_, (id, _))| !matches!(id, 0 | -1)) {
            self.add_to_transfer(id, lane, when, [size(row.read), size(row.written), bytes]);
        }
        self.ids.push(row.id);
        let bytes = self.bytes.key(bytes);
        self.rows.push(when, 0, lane, &[bytes]);
    }

    fn lane(&mut self, subgraph: u32, parts: &[Raw; 5]) -> u32 {
        let [engine, queue, queue_type, subgroup, name] = parts.map(|raw| self.texts.key(raw));
        let key = [subgraph, engine, queue, queue_type, subgroup, name];
        *self.lane_of.entry(key).or_insert_with(|| {
            let text = |key: u32| self.texts.get(key).to_string();
            self.lanes.push(Lane {
                subgraph,
                engine: text(engine),
                queue: text(queue),
                queue_type: text(queue_type),
                subgroup: text(subgroup),
                name: text(name),
            });
            self.lanes.len() as u32
        })
    }

    fn add_to_transfer(&mut self, id: i64, lane: u32, when: When, [read, written, bytes]: [u64; 3]) {
        let end = when.start.saturating_add_unsigned(when.length);
        let key = (id, self.lanes[lane as usize - 1].subgraph);
        let at = match self.last_transfer {
            Some((last, at)) if last == key => at,
            _ => *self.transfer_of.entry(key).or_insert_with(|| {
                let start = when.start;
                self.transfers.push(Transfer { id, lane, start, end, packets: 0, read: 0, written: 0, bytes: 0 });
                self.transfers.len() as u32 - 1
            }),
        };
        self.last_transfer = Some((key, at));
        let transfer = &mut self.transfers[at as usize];
        transfer.start = transfer.start.min(when.start);
        transfer.end = transfer.end.max(end);
        transfer.packets += 1;
        transfer.read = transfer.read.saturating_add(read);
        transfer.written = transfer.written.saturating_add(written);
        transfer.bytes = transfer.bytes.saturating_add(bytes);
    }

    /// Per lane (0 being none) what `of` says of it.
    fn per_lane<T: Default>(&self, of: impl Fn(&Lane) -> T) -> Vec<T> {
        std::iter::once(T::default()).chain(self.lanes.iter().map(of)).collect()
    }

    /// The table of packets. `core` tells the core to show for a subgraph, `number` the core that its name says.
    pub fn table(
        &self,
        unit: i64,
        queues: &Queues,
        core: impl Fn(u32) -> Option<i64>,
        number: impl Fn(u32) -> Option<i64>,
        keep_row_map: bool,
    ) -> TableInput {
        let groups = self.per_lane(|lane| Some(group(core(lane.subgraph), lane.track())));
        let groups = groups.into_iter().map(|g| g.unwrap_or_else(|| group(None, String::new()))).collect();
        let rings = self.per_lane(|lane| queues.ring(lane, number(lane.subgraph)));
        let bare = self.per_lane(|lane| queues.queue(lane, number(lane.subgraph)));
        let labels = vec![(LabelKind::Name, From::Lane, bare), (LabelKind::Queue, From::Lane, rings)];
        let measures = vec![(Measure::Bytes, 0, self.bytes.entries().to_vec())];
        self.rows.table("DmaPacket", unit, groups, labels, measures, keep_row_map)
    }

    /// The table of transfers; see [`Packets::table`].
    pub fn transfers(
        &self,
        unit: i64,
        queues: &Queues,
        core: impl Fn(u32) -> Option<i64>,
        number: impl Fn(u32) -> Option<i64>,
    ) -> TableInput {
        let mut rows = EventRows::with_columns(1);
        let mut bytes = Values::starting_with(0);
        for transfer in &self.transfers {
            let when = When { start: transfer.start, length: transfer.end.abs_diff(transfer.start), flags: 0 };
            rows.push(Some(when), 0, transfer.lane, &[bytes.key(transfer.bytes)]);
        }
        let names = self.per_lane(|lane| queues.queue(lane, number(lane.subgraph)));
        let groups = names.iter().enumerate().map(|(i, name)| {
            let core = i.checked_sub(1).and_then(|i| core(self.lanes[i].subgraph));
            group(core, name.clone())
        });
        let groups = groups.collect();
        let labels = vec![(LabelKind::Name, From::Lane, names.clone()), (LabelKind::Queue, From::Lane, names)];
        let measures = vec![(Measure::Bytes, 0, bytes.entries().to_vec())];
        rows.table("DmaPacketAggregated", unit, groups, labels, measures, true)
    }

    /// The rows of the derived transfers, as the Details pane shows them.
    pub fn transfer_fields(&self, unit: i64, queues: &Queues, number: impl Fn(u32) -> Option<i64>) -> Vec<Vec<Field>> {
        let fields = |transfer: &Transfer| {
            let lane = &self.lanes[transfer.lane as usize - 1];
            let core = number(lane.subgraph);
            let int = |v: u64| i64::try_from(v).map_or(Value::Uint(v), Value::Int);
            let (start, end) = (transfer.start.div_euclid(unit), transfer.end.div_euclid(unit));
            let length = end.abs_diff(start);
            // Bytes per second, as the schema's.
            let rate = if length == 0 { f64::NAN } else { transfer.bytes as f64 * 1e9 / length as f64 };
            let pairs = [
                ("start_ts", Value::Int(start)),
                ("end_ts", Value::Int(end)),
                ("duration_ns", int(length)),
                ("id", if self.ids.unsigned { int(transfer.id as u64) } else { Value::Int(transfer.id) }),
                ("pcore_idx", core.map_or(Value::Null, Value::Int)),
                ("queue_idx", lane.queue.parse().map_or_else(|_| Value::Text(lane.queue.clone()), Value::Int)),
                ("queue_name", Value::Text(queues.queue(lane, core))),
                ("queue_type", Value::Text(lane.queue_type.clone())),
                ("read_bytes", int(transfer.read)),
                ("write_bytes", int(transfer.written)),
                ("transfer_bytes", int(transfer.bytes)),
                ("throughput", Value::Float(rate)),
                ("packets", int(transfer.packets)),
                ("derived_from", Value::Text("packets with this packet_aggregation_id".into())),
            ];
            pairs.into_iter().map(|(name, value)| Field { name: name.to_string(), value }).collect()
        };
        self.transfers.iter().map(fields).collect()
    }
}

fn group(core: Option<i64>, name: String) -> GroupKey {
    GroupKey { core, engine: None, name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Datum;

    fn lane(engine: &str, queue: &str, queue_type: &str) -> Lane {
        Lane {
            engine: engine.into(),
            queue: queue.into(),
            queue_type: queue_type.into(),
            subgroup: format!("Q{queue}-E{engine}"),
            ..Lane::default()
        }
    }

    #[test]
    fn queues_are_named_as_far_as_the_list_tells() {
        let row = |name: &str, core: i64, index: i64, engine: i64| {
            vec![Datum::Text(name.into()), Datum::Int(core), Datum::Int(index), Datum::Int(engine)]
        };
        let info = Records {
            name: "DmaQueuesInfo".into(),
            columns: ["name", "pcore_idx", "idx", "engine_idx"].map(String::from).to_vec(),
            rows: vec![
                row("qScalarTable", 0, 14, 73),
                row("qDveTable", 0, 14, 74),
                row("qSyncDynamicHW", 0, 2, 79),
                row("qDveTable", 1, 14, 90),
            ],
        };
        let queues = Queues::new(Some(&info));
        let name = |lane: Lane, core| (queues.queue(&lane, Some(core)), queues.ring(&lane, Some(core)));
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(name(lane("64", "2", "hardware_dynamic"), 0), pair("qSyncDynamicHW", "qSyncDynamicHW-Q2-E64"));
        assert_eq!(name(lane("64", "2", "hardware_dynamic"), 1), pair("Q2", "Q2-E64"));
        assert_eq!(name(lane("73", "14", "unknown"), 0), pair("qScalarTable", "qScalarTable-Q14-E73"));
        assert_eq!(name(lane("67", "14", "instruction"), 0), pair("Q14", "Q14-E67"));
        assert_eq!(name(lane("81", "14", "instruction"), 1), pair("Q14", "Q14-E81"));
        let own = Lane { name: "qSyncIO0-Q0-E5".into(), ..lane("5", "0", "input") };
        assert_eq!(name(own, 0), pair("qSyncIO0", "qSyncIO0-Q0-E5"));
    }

    #[test]
    fn engines_have_tracks() {
        assert_eq!(lane("64", "2", "x").track(), "DMA-E64");
        assert_eq!(lane("3", "0", "host_to_device").track(), "Host-device DMA-E3");
        assert_eq!(Lane { subgroup: "Q2-E64".into(), ..Lane::default() }.track(), "DMA-E64");
        assert_eq!(Lane::default().track(), "DMA");
    }
}
