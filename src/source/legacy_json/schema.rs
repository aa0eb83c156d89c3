//! Which table of the schema each list of the file is, and which column each key.

use super::token::{self, Raw};
use crate::model::{Field, Value};

/// How the value of a column comes from the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it stands.
    Same,
    /// An integer, also where it is written as text.
    Integer,
    /// A fraction of 1 that the schema gives in percent.
    Percent,
    /// A time or duration, in the file's unit.
    Time,
    /// `timestamp` plus `duration`.
    End,
    /// The physical core, from `sg00` and its like.
    Core,
    /// The number of an activity limit, which the schema calls `activity_0` and so on.
    Activity,
}

/// A column: key in the file, name in the schema, and how one becomes the other.
pub type Column = (&'static str, &'static str, How);

use How::{Activity, Core, End, Integer, Percent, Same, Time};

/// Columns of `Instruction`, in the schema's order, where their names or values differ or the order matters.
pub const INSTRUCTION: &[Column] = &[
    ("timestamp", "start_ts", Time),
    ("duration", "end_ts", End),
    ("duration", "duration_ns", Time),
    ("subgroup", "engine", Same),
    ("label", "timeline_track", Same),
    ("subgraph", "pcore_idx", Core),
    ("opcode", "opcode", Same),
    ("operands", "operands", Same),
    ("compiler_opcode", "compiler_opcode", Same),
    ("compiler_operands", "compiler_operands", Same),
    ("id", "id", Integer),
    ("pc", "pc", Integer),
    ("compiler_pc", "compiler_pc", Integer),
    ("penguin_id", "penguin_id", Same),
    ("raw_penguin_id", "raw_penguin_id", Same),
    ("bir_id", "bir_id", Same),
    ("raw_bir_id", "raw_bir_id", Same),
    ("bir_instruction_name", "bir_instruction_name", Same),
    ("crc_in", "crc_in", Same),
    ("crc_out", "crc_out", Same),
    // A 16-bit counter that wraps: shown as it is.
    ("evt_wait_time", "evt_wait_time_ns", Same),
    ("hlo_attrs", "hlo_attrs", Same),
    ("hlo_name", "hlo_name", Same),
    ("layer", "layer", Same),
    ("hbm_read_bytes", "hbm_read_bytes", Integer),
    ("hbm_write_bytes", "hbm_write_bytes", Integer),
    ("sbuf_read_bytes", "sbuf_read_bytes", Integer),
    ("sbuf_write_bytes", "sbuf_write_bytes", Integer),
    ("psum_read_bytes", "psum_read_bytes", Integer),
    ("psum_write_bytes", "psum_write_bytes", Integer),
    ("psum_read_sbuf_write_bytes", "psum_read_sbuf_write_bytes", Integer),
    ("instruction_type", "tensor_instruction_type", Same),
    ("elements", "tensor_elements", Integer),
    ("activation_fn", "scalar_activation_fn", Same),
];

/// Columns of `DmaPacket`; `queue_name` is put in by the reader, which knows the queues.
pub const DMA: &[Column] = &[
    ("timestamp", "start_ts", Time),
    ("duration", "end_ts", End),
    ("duration", "duration_ns", Time),
    ("subgraph", "pcore_idx", Core),
    ("id", "id", Integer),
    ("packet_idx", "packet_idx", Integer),
    ("packet_aggregation_id", "packet_aggregation_id", Integer),
    ("dma_engine", "engine_idx", Integer),
    ("read_size", "read_bytes", Integer),
    ("write_size", "write_bytes", Integer),
    ("transfer_size", "transfer_bytes", Integer),
    ("transfer_rate", "throughput", Same),
    ("queue_type", "queue_type", Same),
    ("variable", "variable", Same),
    ("queue_name", "queue_name", Same),
    ("dma_queue", "queue_idx", Integer),
    ("crc", "crc", Same),
];

/// Columns of `SemaphoreUpdate`.
pub const SEMAPHORE: &[Column] = &[
    ("timestamp", "timestamp", Time),
    ("id", "id", Same),
    ("value", "value", Integer),
    ("subgraph", "pcore_idx", Core),
];

/// Columns of `Throttle`.
pub const THROTTLE: &[Column] = &[
    ("duration", "duration", Time),
    ("k", "k", Integer),
    ("n", "n", Integer),
    ("timestamp", "timestamp", Time),
    ("type", "type", Activity),
    ("subgraph", "pcore_idx", Core),
];

/// Columns of `SbufUsage`.
pub const SBUF: &[Column] = &[
    ("timestamp", "timestamp", Time),
    ("usage_avg", "avg_util_percent", Percent),
    ("partition_0_usage", "partition_0_util_percent", Percent),
    ("partition_32_usage", "partition_32_util_percent", Percent),
    ("partition_64_usage", "partition_64_util_percent", Percent),
    ("partition_96_usage", "partition_96_util_percent", Percent),
    ("subgraph", "pcore_idx", Core),
];

/// Columns of `PsumUsage`.
pub const PSUM: &[Column] = &[
    ("timestamp", "timestamp", Time),
    ("usage_avg", "avg_util_percent", Percent),
    ("bank_0_usage", "bank_0_util_percent", Percent),
    ("bank_1_usage", "bank_1_util_percent", Percent),
    ("bank_2_usage", "bank_2_util_percent", Percent),
    ("bank_3_usage", "bank_3_util_percent", Percent),
    ("bank_4_usage", "bank_4_util_percent", Percent),
    ("bank_5_usage", "bank_5_util_percent", Percent),
    ("bank_6_usage", "bank_6_util_percent", Percent),
    ("bank_7_usage", "bank_7_util_percent", Percent),
    ("subgraph", "pcore_idx", Core),
];

/// Columns of `DmaUsage`.
pub const DMA_USAGE: &[Column] = &[
    ("timestamp", "timestamp", Time),
    ("transfer_rate", "current_throughput", Same),
    ("total_transfer_bytes", "total_transfer_bytes", Same),
    ("subgraph", "pcore_idx", Core),
];

/// Columns of `HbmUsage`, which shares its rows with `DmaUsage`.
pub const HBM_USAGE: &[Column] = &[
    ("timestamp", "timestamp", Time),
    ("hbm_transfer_rate", "current_throughput", Same),
    ("hbm_total_transfer_bytes", "total_transfer_bytes", Same),
    ("subgraph", "pcore_idx", Core),
];

/// Columns of `PendingDma`.
pub const PENDING: &[Column] =
    &[("timestamp", "timestamp", Time), ("value", "value", Integer), ("subgraph", "pcore_idx", Core)];

/// Columns of `ActiveTime`.
pub const ACTIVE: &[Column] = &[
    ("start_ts", "start_ts", Time),
    ("end_ts", "end_ts", Time),
    ("engine", "engine", Same),
    ("pcore_idx", "pcore_idx", Integer),
    ("duration_ns", "duration_ns", Time),
];

/// A list that is kept whole.
pub struct Small {
    /// Its key in the file.
    pub key: &'static str,
    /// The schema's name; its own where the schema has none.
    pub name: &'static str,
    /// Columns whose names or values differ.
    pub columns: &'static [Column],
}

/// The lists that are kept whole. Ratios that end in `_percent` stay the fractions of 1 that they are, in `Summary` as in
/// the rest: so do the vendor's processed profiles write them (schema 7.4 says `percent` of both these and the usage
/// columns, which really are percent).
pub const SMALL: &[Small] = &[
    Small {
        key: "warnings",
        name: "Warning",
        columns: &[("message", "message", Same), ("category", "category", Same)],
    },
    Small {
        key: "metadata",
        name: "Metadata",
        columns: &[
            ("ntff_version", "ntff_version", Integer),
            ("num_physical_cores", "num_physical_cores", Integer),
            ("vnc_enabled", "vnc_enabled", Same),
            ("first_hw_timestamp", "first_hw_timestamp", Integer),
            ("last_hw_timestamp", "last_hw_timestamp", Integer),
            ("first_ts", "first_ts", Same),
            ("last_ts", "last_ts", Same),
            ("dma_ddr_bandwidth", "dma_ddr_bandwidth", Same),
            ("hbm_ddr_bandwidth", "hbm_ddr_bandwidth", Same),
            ("pe_num_rows", "tensor_engine_num_rows", Integer),
            ("pe_num_cols", "tensor_engine_num_cols", Integer),
            ("pe_clock_freq", "tensor_engine_clock_freq", Same),
            // Summary's cycle counts are total_time at this clock.
            ("pe_clock_others", "neuroncore_clock_freq", Same),
            ("ticks_per_nanosec", "ticks_per_nanosec", Integer),
            ("is_simulation", "is_simulation", Same),
        ],
    },
    Small {
        key: "neff_header",
        name: "NeffHeader",
        columns: &[
            ("network_name", "network_name", Same),
            ("uuid", "uuid", Same),
            ("hash", "hash", Same),
            ("enabled_features", "enabled_features", Same),
            ("header_size", "header_size", Integer),
            ("data_size", "data_size", Integer),
            ("major_version", "major_version", Integer),
            ("minor_version", "minor_version", Integer),
            ("package_version", "package_version", Same),
            ("build_version", "build_version", Same),
            ("number_of_logical_neuroncores", "logical_neuroncore_count", Integer),
            ("number_of_neuroncores_per_lnc", "pcore_count_per_lnc", Integer),
        ],
    },
    Small {
        key: "neff_node",
        name: "TensorInfo",
        columns: &[
            ("variable_name", "variable_name", Same),
            ("type", "type", Same),
            ("format", "format", Same),
            ("shape", "shape", Same),
            ("size", "size", Integer),
            ("node", "node", Integer),
            ("sg_name", "pcore_idx", Core),
        ],
    },
    Small { key: "summary", name: "Summary", columns: &[] },
    Small {
        key: "dma_queues_info",
        name: "DmaQueuesInfo",
        columns: &[
            ("q_name", "name", Same),
            ("q_type", "type", Same),
            ("subgraph", "pcore_idx", Core),
            ("q_idx", "idx", Integer),
            ("q_eng_idx", "engine_idx", Integer),
            ("q_axi_port", "axi_port", Integer),
            ("q_dram_channel", "dram_channel", Integer),
        ],
    },
    Small { key: "profile_info", name: "profile_info", columns: &[] },
    Small { key: "model_info", name: "model_info", columns: &[("sg_name", "pcore_idx", Core)] },
    Small { key: "layer_summary", name: "layer_summary", columns: &[] },
    Small { key: "terminology", name: "terminology", columns: &[] },
    Small { key: "nc_mem_usage", name: "nc_mem_usage", columns: &[] },
];

/// The number in the name of a subgraph (`sg01`), which is that of the physical core when there are two.
pub fn core_of(subgraph: &str) -> Option<i64> {
    let digits = subgraph.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.parse().ok().filter(|_| !digits.is_empty())
}

/// The fields of the object at the start of `row` under the schema's names, the schema's columns first, then what else it
/// holds in order of name. `unit` is the number of the file's time units in a nanosecond.
///
/// Returns what could be read where the object is damaged.
pub fn fields(row: &[u8], columns: &[Column], unit: i64) -> Vec<Field> {
    let mut found: Vec<(String, Raw)> = Vec::new();
    // Damage ends the walk; what came before it is what can be shown.
    let _ = token::object(row, 0, |key, value| found.push((token::unescape(key).into_owned(), value)));
    let get = |key: &str| found.iter().rev().find(|(k, _)| k == key).map(|(_, raw)| *raw);
    let mut out: Vec<Field> = Vec::with_capacity(found.len() + 2);
    let mut taken: Vec<&str> = Vec::new();
    for &(key, name, how) in columns {
        let Some(value) = get(key).and_then(|raw| converted(how, raw, || get("timestamp"), unit)) else { continue };
        taken.push(key);
        out.push(Field { name: name.to_string(), value });
    }
    let mut rest: Vec<_> = found
        .iter()
        .filter(|(key, _)| !taken.contains(&key.as_str()) && !out.iter().any(|field| field.name == *key))
        .collect();
    rest.sort_by(|a, b| a.0.cmp(&b.0));
    let rest: Vec<Field> =
        rest.into_iter().map(|(key, raw)| Field { name: key.clone(), value: value_of(*raw) }).collect();
    out.extend(rest);
    out
}

/// The values of the columns `names` of the object at the start of `row`, by the same rules as [`fields`], without
/// looking at the rest of it.
pub fn pick(row: &[u8], columns: &[Column], names: &[&str], unit: i64) -> Vec<Option<Value>> {
    let wanted: Vec<(&str, How)> = names
        .iter()
        .map(|name| {
            let known = columns.iter().find(|(_, column, _)| column == name);
            known.map_or((*name, How::Same), |(key, _, how)| (*key, *how))
        })
        .collect();
    let mut found = vec![None; names.len()];
    let mut start = None;
    let _ = token::object(row, 0, |key, value| {
        if key == b"timestamp" {
            start = Some(value);
        }
        for ((wanted, _), found) in wanted.iter().zip(&mut found) {
            if wanted.as_bytes() == key {
                *found = Some(value);
            }
        }
    });
    let value = |((_, how), raw): (&(&str, How), Option<Raw>)| converted(*how, raw?, || start, unit);
    wanted.iter().zip(found).map(value).collect()
}

/// What a column shows of `raw`; `start` is the row's `timestamp`. `None` where it shows nothing.
fn converted<'a>(how: How, raw: Raw<'a>, start: impl FnOnce() -> Option<Raw<'a>>, unit: i64) -> Option<Value> {
    Some(match how {
        How::Same => value_of(raw),
        How::Integer => integer_or_same(raw),
        How::Percent => raw.number().map_or(Value::Null, |v| Value::Float(v * 100.0)),
        How::Time => raw.clamped().map_or_else(|| value_of(raw), |v| Value::Int(v.div_euclid(unit))),
        How::End => {
            let (start, length) = start().and_then(Raw::clamped).zip(raw.clamped())?;
            Value::Int(start.saturating_add(length).div_euclid(unit))
        }
        How::Core => Value::Int(core_of(&raw.text())?),
        How::Activity => match raw.integer() {
            Some(number) => Value::Text(format!("activity_{number}")),
            None => value_of(raw),
        },
    })
}

fn integer_or_same(raw: Raw) -> Value {
    match raw {
        Raw::Text(b"") => Value::Null,
        _ => raw.integer().and_then(integer_value).unwrap_or_else(|| value_of(raw)),
    }
}

fn integer_value(number: i128) -> Option<Value> {
    i64::try_from(number).map(Value::Int).or_else(|_| u64::try_from(number).map(Value::Uint)).ok()
}

/// A value as it stands. Objects become lists of pairs; what is nested absurdly deep stays text.
pub fn value_of(raw: Raw) -> Value {
    nested(raw, 16)
}

fn nested(raw: Raw, depth: u32) -> Value {
    match raw {
        Raw::Null => Value::Null,
        Raw::Bool(b) => Value::Bool(b),
        Raw::Text(_) => Value::Text(raw.text().into_owned()),
        Raw::Word(word) => {
            let whole = !word.iter().any(|c| matches!(c, b'.' | b'e' | b'E'));
            match raw.integer().filter(|_| whole) {
                // An integer of more than 64 bits keeps its digits as text.
                Some(number) => integer_value(number).unwrap_or_else(|| Value::Text(raw.text().into_owned())),
                None => match std::str::from_utf8(word).ok().and_then(|w| w.parse().ok()) {
                    Some(number) => Value::Float(number),
                    None => Value::Text(raw.text().into_owned()),
                },
            }
        }
        Raw::List(bytes) | Raw::Object(bytes) if depth == 0 => {
            let shown = &bytes[..bytes.len().min(1000)];
            Value::Text(String::from_utf8_lossy(shown).into_owned())
        }
        Raw::List(bytes) => Value::List(token::elements(bytes).map(|raw| nested(raw, depth - 1)).collect()),
        Raw::Object(bytes) => {
            let mut pairs = Vec::new();
            let _ = token::object(bytes, 0, |key, raw| {
                pairs.push(Value::List(vec![Value::Text(token::unescape(key).into_owned()), nested(raw, depth - 1)]));
            });
            Value::List(pairs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_read_from_subgraph_names() {
        assert_eq!(core_of("sg00"), Some(0));
        assert_eq!(core_of("sg01"), Some(1));
        assert_eq!(core_of("/sg12"), Some(12));
        for none in ["", "sg", "main", "sg1x", "99999999999999999999"] {
            assert_eq!(core_of(none), None, "{none}");
        }
    }

    #[test]
    fn a_row_gets_the_names_of_the_schema() {
        let row = br#"{"zebra":[[1,"x"],{"k":NaN}],"subgraph":"sg01","id":9223372036854775807,"timestamp":"100",
            "duration":7,"label":"TensorMatrix","subgroup":"Tensor","opcode":5,"elements":"64","pc":"","layer":null}"#;
        let found = fields(row, INSTRUCTION, 1);
        let shown: Vec<String> = found.iter().map(|f| format!("{}={}", f.name, f.value.to_json())).collect();
        assert_eq!(
            shown,
            [
                "start_ts=100",
                "end_ts=107",
                "duration_ns=7",
                "engine=\"Tensor\"",
                "timeline_track=\"TensorMatrix\"",
                "pcore_idx=1",
                "opcode=5",
                "id=9223372036854775807",
                "pc=null",
                "layer=null",
                "tensor_elements=64",
                "zebra=[[1,\"x\"],[[\"k\",null]]]",
            ]
        );
    }

    #[test]
    fn rows_that_two_tables_share_show_their_own_columns() {
        let row = br#"{"hbm_transfer_rate":5,"transfer_rate":9,"total_transfer_bytes":20,"hbm_total_transfer_bytes":10,
            "timestamp":3}"#;
        let found = fields(row, HBM_USAGE, 1);
        let of = |name: &str| found.iter().filter(|f| f.name == name).map(|f| f.value.as_i64()).collect::<Vec<_>>();
        assert_eq!(of("current_throughput"), [Some(5)]);
        assert_eq!(of("total_transfer_bytes"), [Some(10)]);
        assert_eq!(of("transfer_rate"), [Some(9)]);
    }

    #[test]
    fn damage_and_depth_are_survived() {
        let found = fields(br#"{"id":1,"x":}"#, INSTRUCTION, 1);
        assert_eq!(found.len(), 1);
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(fields(deep.as_bytes(), &[], 1).len(), 1);
    }
}
