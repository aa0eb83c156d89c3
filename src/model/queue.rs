//! What the names of DMA queues say: `qSyncIO0-Q0-E64` is ring 0 on DMA engine 64 of a queue whose transfers the
//! Sync engine triggers, for inputs and outputs.

/// The queue without ring and DMA engine: `qSyncIO0` for `qSyncIO0-Q0-E64`; other text is returned as it is.
#[must_use]
pub fn base_name(name: &str) -> &str {
    let numbered = |part: &str, letter: char| {
        part.strip_prefix(letter).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let Some((rest, engine)) = name.rsplit_once('-') else { return name };
    if !numbered(engine, 'E') {
        return name;
    }
    match rest.rsplit_once('-') {
        Some((base, ring)) if numbered(ring, 'Q') => base,
        _ => rest,
    }
}

/// The DMA engine at the end of a queue's full name.
#[must_use]
pub fn engine_of(name: &str) -> Option<i64> {
    name.rsplit_once("-E")?.1.parse().ok()
}

/// A track's name without the core behind it: `Tensor` for `Tensor(nc0)`.
#[must_use]
pub fn without_core(name: &str) -> &str {
    match name.rsplit_once("(nc") {
        Some((base, core)) if core.strip_suffix(')').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) => base,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart() {
        assert_eq!(base_name("qSyncIO0-Q0-E64"), "qSyncIO0");
        assert_eq!(base_name("qSyncIO0"), "qSyncIO0");
        assert_eq!(base_name("Q0-E64"), "Q0");
        assert_eq!(base_name("odd-name"), "odd-name");
        assert_eq!(engine_of("qSyncIO0-Q0-E64"), Some(64));
        assert_eq!(engine_of("qSyncIO0"), None);
        assert_eq!(without_core("Tensor(nc0)"), "Tensor");
        assert_eq!(without_core("Tensor"), "Tensor");
        assert_eq!(without_core("odd(ncx)"), "odd(ncx)");
    }
}
