//! What tracks are called.

use super::SHORT;

/// The name with the core as Neuron Explorer writes it, where there are several: `Tensor(nc0)`.
pub(super) fn full(name: &str, core: Option<i64>, several: bool) -> String {
    match core {
        Some(core) if several && name != format!("nc{core}") => format!("{name}(nc{core})"),
        _ => name.to_owned(),
    }
}

/// Words that are too long for the narrow layout.
const SHORTER: [(&str, &str); 15] = [
    ("TensorMatrix", "TensMat"),
    (" sequencer", "/sq"),
    (" compute", "/cp"),
    ("Throttle", "Throttl"),
    ("Semaphores", "Semaph"),
    ("Barriers", "Barrier"),
    ("Pending DMA", "PendDMA"),
    ("DMA rate", "DMA/s"),
    ("HBM rate", "HBM/s"),
    ("Host DMA/s", "Host/s"),
    ("Host-device DMA-E", "Host-E"),
    ("Host-device DMA", "HostDMA"),
    ("Executions", "Exec."),
    ("cumulative", "cumul."),
    ("partition", "par"),
];

/// The name in at most [`SHORT`] columns, with the core where there are several: `TensMat·0`.
pub(super) fn short(name: &str, core: Option<i64>, several: bool) -> String {
    let suffix = match core {
        Some(core) if several && name != format!("nc{core}") => format!("·{core}"),
        _ => String::new(),
    };
    let room = SHORT.saturating_sub(suffix.chars().count());
    let long = |name: &str| name.chars().count() > room;
    let mut name = name.to_owned();
    for (word, shorter) in SHORTER {
        if long(&name) {
            name = name.replace(word, shorter);
        }
    }
    if long(&name) {
        // `S[16] (qSyncIO0)` is semaphore 16, ring and engine tell `qSyncIO0-Q0-E64` from all others, and the first
        // letters the engines.
        if let Some((semaphore, _)) = name.split_once(" (") {
            name = semaphore.to_owned();
        } else if let Some(at) = name.find("-Q") {
            name = name[at + 1..].to_owned();
        } else if let Some((engine, part)) = name.rsplit_once('/') {
            name = format!("{}/{part}", engine.chars().take(4).collect::<String>());
        } else if let Some(queue) = name.strip_prefix('q') {
            name = queue.to_owned();
        }
    }
    if long(&name) && room > 4 {
        let chars: Vec<char> = name.chars().collect();
        let tail = (room - 1) / 2;
        name = chars[..room - 1 - tail].iter().chain(['…'].iter()).chain(&chars[chars.len() - tail..]).collect();
    }
    name + &suffix
}

/// What a column of SbufUsage or PsumUsage is called: `partition_32_util_percent` is `partition 32`.
pub(super) fn column(column: &str) -> String {
    column.trim_end_matches("_util_percent").replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_named_where_there_are_several() {
        assert_eq!(full("Tensor", Some(1), true), "Tensor(nc1)");
        assert_eq!(full("Tensor", Some(0), false), "Tensor");
        assert_eq!(column("partition_32_util_percent"), "partition 32");
    }

    #[test]
    fn short_names_fit_and_stay_distinct() {
        let cases = [
            ("TensorMatrix", "TensMat·0"),
            ("Tensor compute", "Tens/cp·0"),
            ("GpSimd sequencer", "GpSi/sq·0"),
            ("DMA-E79", "DMA-E79·0"),
            ("qSyncIO0-Q0-E64", "Q0-E64·0"),
            ("qSyncIO0", "SyncIO0·0"),
            ("qScalarDynamicHW", "Sca…cHW·0"),
            ("S[19] (qVectorSpillReload0)", "S[19]·0"),
            ("partition 32", "par 32·0"),
            ("Host DMA rate", "Host/s·0"),
            ("nc0", "nc0"),
        ];
        for (name, expected) in cases {
            assert_eq!(short(name, Some(0), true), expected);
        }
    }
}
