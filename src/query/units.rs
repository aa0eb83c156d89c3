//! What the columns of the tables are measured in, and their values as a person reads them.
//!
//! Units follow the profile schema reference (version 7.4); most follow from the column's name, which is used so that
//! columns of newer versions get theirs too.

use crate::model::Value;
use crate::model::format::{format_bytes, format_count, format_rate};
use crate::model::time::format_time;

/// What a column is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing: a name, an id, a number without a unit.
    Plain,
    /// A moment in nanoseconds.
    Moment,
    /// A length of time in nanoseconds.
    Nanoseconds,
    /// A length of time in seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// An address in bytes.
    Address,
    /// Bytes per second.
    Rate,
    /// Hundredths.
    Percent,
    /// Hundredths, written as a fraction of 1.
    Fraction,
    /// Clock cycles.
    Cycles,
    /// Floating point operations.
    Flops,
    /// A frequency in gigahertz.
    Gigahertz,
    /// A number of things.
    Count,
}

/// Columns whose unit does not follow from their name.
const EXCEPTIONS: [(&str, Unit); 14] = [
    ("timestamp", Unit::Moment),
    ("time_us", Unit::Plain),
    ("duration", Unit::Nanoseconds),
    ("gap_time", Unit::Nanoseconds),
    ("cc_trigger_start_delay", Unit::Nanoseconds),
    ("evt_wait_time", Unit::Nanoseconds),
    ("first_hw_timestamp", Unit::Nanoseconds),
    ("last_hw_timestamp", Unit::Nanoseconds),
    ("hfu", Unit::Percent),
    ("mfu", Unit::Percent),
    ("throughput", Unit::Rate),
    ("size", Unit::Bytes),
    ("tensor_elements", Unit::Count),
    ("tensor_elements_transpose", Unit::Count),
];

/// The unit of a table's column. `fractions` says that the source writes percentages as fractions of 1
/// (the full-profile JSON).
#[must_use]
pub fn unit_of(table: &str, column: &str, fractions: bool) -> Unit {
    if let Some((_, unit)) = EXCEPTIONS.iter().find(|(name, _)| *name == column) {
        return *unit;
    }
    let ends = |suffixes: &[&str]| suffixes.iter().any(|s| column.ends_with(s));
    match () {
        () if column.ends_with("_per_interval") || column.ends_with("_ids") => Unit::Plain,
        () if table == "Summary" && ends(&["_time"]) => Unit::Seconds,
        () if table.ends_with("Metadata") && ends(&["_ts"]) => Unit::Plain,
        () if ends(&["_ts"]) => Unit::Moment,
        () if ends(&["_ns"]) && !ends(&["first_ts_ns", "last_ts_ns"]) => Unit::Nanoseconds,
        () if column.starts_with("total_time_") => Unit::Nanoseconds,
        () if ends(&["_percent"]) => {
            if fractions {
                Unit::Fraction
            } else {
                Unit::Percent
            }
        }
        () if ends(&["_throughput", "_bandwidth"]) => Unit::Rate,
        () if ends(&["_address"]) => Unit::Address,
        () if ends(&["_bytes", "_size"]) => Unit::Bytes,
        () if ends(&["_clock_freq"]) => Unit::Gigahertz,
        () if ends(&["_cycles", "cycle_count"]) => Unit::Cycles,
        () if ends(&["flops", "flops_transpose"]) => Unit::Flops,
        () if ends(&["_count", "num_elements"]) => Unit::Count,
        () => Unit::Plain,
    }
}

/// A value as it is recorded, on one line; not yet safe for a terminal.
#[must_use]
pub fn raw(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(b) => b.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Uint(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Text(t) => t.clone(),
        Value::List(items) => format!("[{}]", items.iter().map(raw).collect::<Vec<_>>().join(", ")),
    }
}

/// A value with its unit, as a person reads it; not yet safe for a terminal.
#[must_use]
pub fn formatted(value: &Value, unit: Unit) -> String {
    let (int, float) = match value {
        Value::Int(v) => (Some(*v), Some(*v as f64)),
        Value::Uint(v) => (None, Some(*v as f64)),
        Value::Float(v) if v.is_finite() => (exact(*v), Some(*v)),
        Value::Text(t) if unit != Unit::Plain => match t.trim().parse::<i64>() {
            Ok(v) => (Some(v), Some(v as f64)),
            Err(_) => (None, None),
        },
        _ => (None, None),
    };
    let natural = int.and_then(|v| u64::try_from(v).ok());
    let text = match unit {
        Unit::Moment | Unit::Nanoseconds => int.map(|v| format_time(v, 1)),
        Unit::Seconds => float.map(|v| format_time((v * 1e9).round() as i64, 1)),
        Unit::Bytes => natural.map(|v| match format_bytes(v) {
            text if v < 1024 => text,
            text => format!("{text} ({} B)", format_count(v)),
        }),
        Unit::Address => natural.map(|v| format!("{v:#x}")),
        Unit::Rate => float.map(format_rate),
        Unit::Percent => float.map(|v| format!("{} %", significant(v))),
        Unit::Fraction => float.map(|v| format!("{} %", significant(v * 100.0))),
        Unit::Cycles => natural.map(|v| format!("{} cycles", format_count(v))),
        Unit::Flops => float.map(|v| format!("{}FLOP", scaled(v))),
        Unit::Gigahertz => float.map(|v| format!("{} GHz", significant(v))),
        Unit::Count => natural.map(format_count),
        Unit::Plain => None,
    };
    text.unwrap_or_else(|| raw(value))
}

/// A whole number that a float holds exactly.
fn exact(v: f64) -> Option<i64> {
    (v.fract() == 0.0 && v.abs() < 9.0e15).then_some(v as i64)
}

/// A number to four digits, without trailing zeros.
fn significant(v: f64) -> String {
    let decimals = if v == 0.0 { 0 } else { (3 - v.abs().log10().floor() as i32).clamp(0, 6) as usize };
    let text = format!("{v:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A number with a decimal prefix before its unit: `33.6 M`.
fn scaled(v: f64) -> String {
    let prefixes = ["", "k", "M", "G", "T", "P", "E"];
    let mut power = 0;
    let mut rest = v;
    while rest.abs() >= 1000.0 && power + 1 < prefixes.len() {
        rest /= 1000.0;
        power += 1;
    }
    format!("{} {}", significant(rest), prefixes[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_names() {
        let cases = [
            ("Instruction", "start_ts", Unit::Moment),
            ("Instruction", "dma_wait_time_ns", Unit::Nanoseconds),
            ("Instruction", "id", Unit::Plain),
            ("Instruction", "stack_frame_ids", Unit::Plain),
            ("Instruction", "psum_read_bytes", Unit::Bytes),
            ("Instruction", "adjusted_flops", Unit::Flops),
            ("Throttle", "duration", Unit::Nanoseconds),
            ("DmaUsage", "current_throughput", Unit::Rate),
            ("Summary", "tensor_engine_active_time", Unit::Seconds),
            ("Summary", "mfu_estimated_percent", Unit::Percent),
            ("Summary", "neuroncore_cycle_count", Unit::Cycles),
            ("Summary", "peak_flops_bandwidth_ratio", Unit::Plain),
            ("Metadata", "first_ts", Unit::Plain),
            ("Metadata", "tensor_engine_clock_freq", Unit::Gigahertz),
            ("SystemProfileMetadata", "first_ts_ns", Unit::Plain),
            ("SbufAllocation", "start_address", Unit::Address),
            ("HloInstruction", "hbm_transfer_size_per_interval", Unit::Plain),
        ];
        for (table, column, unit) in cases {
            assert_eq!(unit_of(table, column, false), unit, "{table}.{column}");
        }
        assert_eq!(unit_of("Summary", "mfu_estimated_percent", true), Unit::Fraction);
    }

    #[test]
    fn values_are_exact_and_readable() {
        let cases = [
            (Value::Int(18_172), Unit::Moment, "18.172 µs"),
            (Value::Int(272), Unit::Nanoseconds, "272 ns"),
            (Value::Float(1.5e-6), Unit::Seconds, "1.500 µs"),
            (Value::Int(65_536), Unit::Bytes, "64 KiB (65\u{2009}536 B)"),
            (Value::Int(-1), Unit::Bytes, "-1"),
            (Value::Float(f64::NAN), Unit::Percent, "NaN"),
            (Value::Float(4.437_21), Unit::Percent, "4.437 %"),
            (Value::Float(0.045), Unit::Fraction, "4.5 %"),
            (Value::Int(33_554_432), Unit::Flops, "33.55 MFLOP"),
            (Value::Int(0x2000), Unit::Address, "0x2000"),
            (Value::Int(9_223_372_036_854_775_807), Unit::Plain, "9223372036854775807"),
            (Value::Uint(u64::MAX), Unit::Plain, "18446744073709551615"),
            (Value::Null, Unit::Bytes, ""),
            (Value::Text("17".into()), Unit::Moment, "17 ns"),
            (Value::Text("17".into()), Unit::Plain, "17"),
            (Value::List(vec![Value::Int(1), Value::Text("a".into())]), Unit::Plain, "[1, a]"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(formatted(&value, unit), text, "{value:?}");
        }
    }
}
