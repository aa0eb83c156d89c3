//! What tracks are called.

use super::SHORT;

/// The name with the core as Neuron Explorer writes it, where there are several: `Tensor(nc0)`.
pub(super) fn full(name: &str, core: Option<i64>, several: bool) -> String {
    match core {
        Some(core) if several => format!("{name}(nc{core})"),
        _ => name.to_owned(),
    }
}

/// Names that are too long for the narrow layout.
const SHORTER: [(&str, &str); 15] = [
    ("TensorMatrix", "TensMat"),
    ("Throttle", "Throttl"),
    ("Semaphores", "Semaph"),
    ("Core barriers", "Barrier"),
    ("Pending DMA", "PendDMA"),
    ("DMA rate", "DMA/s"),
    ("HBM rate", "HBM/s"),
    ("Host DMA rate", "Host/s"),
    ("Host-device DMA-E", "Host-E"),
    ("Host-device DMA", "HostDMA"),
    ("CC ops stream ", "CC "),
    ("Executions", "Exec."),
    ("cumulative", "cumul."),
    ("sequencer", "sequ."),
    ("compute", "comp."),
];

/// The name in at most [`SHORT`] columns, with the core where there are several: `TensMat·0`.
pub(super) fn short(name: &str, core: Option<i64>, several: bool) -> String {
    let suffix = match core {
        Some(core) if several => format!("·{core}"),
        _ => String::new(),
    };
    let room = SHORT.saturating_sub(suffix.chars().count());
    let mut name = name.to_owned();
    for (long, short) in SHORTER {
        if name.chars().count() > room && name.contains(long) {
            name = name.replace(long, short);
        }
    }
    let chars: Vec<char> = name.chars().collect();
    if chars.len() > room && room > 4 {
        // Queues and engines differ at the end of their names.
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
        let names = ["TensorMatrix", "Tensor", "qSyncIO0-Q0-E64", "qSyncIO0-Q0-E65", "qSyncIO1-Q0-E65", "DMA-E79"];
        let mut shorts: Vec<String> = names.iter().map(|n| short(n, Some(0), true)).collect();
        assert_eq!(shorts[0], "TensMat·0");
        assert_eq!(shorts[5], "DMA-E79·0");
        assert!(shorts.iter().all(|s| s.chars().count() <= SHORT), "{shorts:?}");
        shorts.dedup();
        assert!(shorts.len() >= 5);
    }
}
