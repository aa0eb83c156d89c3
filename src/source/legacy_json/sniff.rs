//! What a JSON file is, from its first bytes.

use std::path::Path;

use super::input::head;
use super::token::{self, Raw};

/// Bytes that are looked at.
const LOOK: usize = 256 << 10;

/// A kind of JSON file that people have beside their profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The full profile of one NeuronCore: `--output-format json`.
    FullProfile,
    /// Only the summary's metrics: `--output-format summary-json`.
    Summary,
    /// A system profile: `system_profile.json`.
    SystemProfile,
    /// A trace in Chrome's format, as the PyTorch profiler writes it.
    ChromeTrace,
}

impl Kind {
    /// What it is, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Kind::FullProfile => "the full profile of one NeuronCore, as JSON",
            Kind::Summary => "the metrics of a profile's summary, as JSON, without its events",
            Kind::SystemProfile => "a system profile, as JSON",
            Kind::ChromeTrace => "a trace in Chrome's format",
        }
    }
}

/// Lists that only a full profile has.
const FULL: &[&str] = &[
    "instruction",
    "dma",
    "instruction_usage",
    "neff_header",
    "neff_node",
    "summary_group_order",
    "summary_groups",
    "dma_queues_info",
    "terminology",
    "profile_info",
    "layer_summary",
    "model_info",
    "nc_mem_usage",
    "semaphore_update",
    "dma_throughput",
    "pending_dma",
    "ham",
    "active_time",
];
/// Keys that only a system profile has.
const SYSTEM: &[&str] = &["trace_events", "trace_event", "mem_usage", "cpu_util", "device_profile_list"];
/// Keys that only a trace has.
const TRACE: &[&str] =
    &["traceEvents", "displayTimeUnit", "deviceProperties", "baseTimeNanoseconds", "distributedInfo"];
/// Metrics that every summary has some of.
const METRICS: &[&str] = &[
    "total_time",
    "neuroncore_cycle_count",
    "hfu_estimated_percent",
    "mfu_estimated_percent",
    "event_count",
    "trace_count",
    "tensor_engine_active_time",
    "dma_active_time",
];
/// Columns of the first row of a list whose own name says too little.
const COLUMNS: &[(&str, &[&str])] = &[
    ("metadata", &["num_physical_cores", "pe_clock_freq", "ntff_version", "ticks_per_nanosec"]),
    ("summary", METRICS),
    ("warnings", &["message", "category"]),
];

/// Says what a JSON file is whose first bytes (not compressed) are `bytes`; they may end anywhere. `None` where it is none
/// of the kinds known, or not JSON.
#[must_use]
pub fn sniff(bytes: &[u8]) -> Option<Kind> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = token::space(bytes, 0);
    match bytes.get(start)? {
        b'[' => {
            let first = inner_keys(&bytes[start..]);
            first.iter().any(|key| key == "ph").then_some(Kind::ChromeTrace)
        }
        b'{' => top_keys(&bytes[start..]).into_iter().find_map(|(key, value)| kind_of(&key, value)),
        _ => None,
    }
}

/// Says what a file is, unpacking the beginning of a compressed one. `None` also where it cannot be read.
#[must_use]
pub fn sniff_file(path: &Path) -> Option<Kind> {
    sniff(&head(path, LOOK).ok()?)
}

/// What one key of the top and the beginning of its value tell.
fn kind_of(key: &str, value: &[u8]) -> Option<Kind> {
    let list = value.first() == Some(&b'[');
    if list && FULL.contains(&key) {
        return Some(Kind::FullProfile);
    }
    if SYSTEM.contains(&key) {
        return Some(Kind::SystemProfile);
    }
    if TRACE.contains(&key) {
        return Some(Kind::ChromeTrace);
    }
    let inner = inner_keys(value);
    let has = |columns: &[&str]| inner.iter().any(|key| columns.contains(&key.as_str()));
    if list && COLUMNS.iter().any(|(table, columns)| *table == key && has(columns)) {
        return Some(Kind::FullProfile);
    }
    (!list && inner.iter().filter(|key| METRICS.contains(&key.as_str())).count() >= 2).then_some(Kind::Summary)
}

/// The keys of the object at the start of `bytes`, each with all bytes from its value on.
fn top_keys(bytes: &[u8]) -> Vec<(String, &[u8])> {
    let mut keys = Vec::new();
    let mut i = 1;
    loop {
        i = token::space(bytes, i);
        match bytes.get(i) {
            Some(b',') => i += 1,
            Some(b'"') => {
                let Ok((key @ Raw::Text(_), end)) = token::value(bytes, i) else { return keys };
                i = token::space(bytes, end);
                if bytes.get(i) != Some(&b':') {
                    return keys;
                }
                i = token::space(bytes, i + 1);
                keys.push((key.text().into_owned(), bytes.get(i..).unwrap_or_default()));
                match token::value(bytes, i) {
                    Ok((_, end)) => i = end,
                    Err(_) => return keys,
                }
            }
            _ => return keys,
        }
    }
}

/// The keys of the object at the start of `bytes`, or of the first one in the list there.
fn inner_keys(bytes: &[u8]) -> Vec<String> {
    let start = match bytes.first() {
        Some(b'[') => token::space(bytes, 1),
        _ => 0,
    };
    let mut keys = Vec::new();
    if bytes.get(start) == Some(&b'{') {
        // The object may well be cut off: the keys before that do.
        let _ = token::object(bytes, start, |key, _| keys.push(token::unescape(key).into_owned()));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_first_bytes() {
        let cases: [(&str, Option<Kind>); 14] = [
            (r#"{"warnings":[{"message":"x","category":"y"}],"inst"#, Some(Kind::FullProfile)),
            (r#"{"metadata":[{"first_ts":"1970","pe_clock_freq":2.4"#, None),
            (r#"{"metadata":[{"first_ts":"1970","pe_clock_freq":2.4,"#, Some(Kind::FullProfile)),
            (r#" {"dma":[{"dest"#, Some(Kind::FullProfile)),
            (r#"{"new_list":[1,2],"instruction":[]}"#, Some(Kind::FullProfile)),
            ("\u{feff}{\"summary\":[{\"total_time\":1}]}", Some(Kind::FullProfile)),
            (r#"{"instruction":{"total_time":1,"event_count":4}}"#, Some(Kind::Summary)),
            (r#"{"n_6a9f":{"driver_version":"","hfu_estimated_percent":0,"total_time":1.0e-5}}"#, Some(Kind::Summary)),
            (r#"{"trace_events":[{"name":"x","#, Some(Kind::SystemProfile)),
            (r#"{"schemaVersion":1,"deviceProperties":[],"traceEvents":[]}"#, Some(Kind::ChromeTrace)),
            (r#"[{"name":"a","ph":"X","ts":1}]"#, Some(Kind::ChromeTrace)),
            (r#"{"metadata":{"a":1}}"#, None),
            ("[1,2,3]", None),
            ("PK\u{3}\u{4}", None),
        ];
        for (text, kind) in cases {
            assert_eq!(sniff(text.as_bytes()), kind, "{text}");
        }
    }
}
