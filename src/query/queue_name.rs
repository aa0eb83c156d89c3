//! What a DMA queue's name says: which engine triggers its transfers, and for what.
//!
//! Names come from the compiler: `q`, the engine, the purpose, a number; in packet tables followed by the ring and the
//! DMA engine: `qScalarSpillReload0-Q1-E64` (Device Trace Viewer documentation, "DMA tracks"). Raw captures use the
//! hardware's names of the engines (`qSP…`, `qPool…`, `qAct…`).

use crate::model::Engine;

/// The parts of a queue's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueName {
    /// The engine that triggers the transfers.
    pub engine: Option<Engine>,
    /// What they are for, in words; `None` where the name says nothing known.
    pub purpose: Option<&'static str>,
    /// The ring on the DMA engine.
    pub ring: Option<u32>,
    /// The DMA engine.
    pub dma_engine: Option<u32>,
}

/// Beginnings of the engine part, longest first where one begins another.
const ENGINES: [(&str, Engine); 10] = [
    ("GpSimd", Engine::GpSimd),
    ("Pool", Engine::GpSimd),
    ("Scalar", Engine::Scalar),
    ("Act", Engine::Scalar),
    ("Vector", Engine::Vector),
    ("Dve", Engine::Vector),
    ("DVE", Engine::Vector),
    ("Tensor", Engine::Tensor),
    ("Sync", Engine::Sync),
    ("SP", Engine::Sync),
];

const PURPOSES: [(&str, &str); 14] = [
    ("SpillReload", "spills of SBUF to HBM and reloads"),
    ("DynamicHW", "transfers whose descriptors the hardware generates (DGE)"),
    ("DynamicSW", "transfers whose descriptors software generates"),
    ("Dynamic", "transfers whose descriptors software generates"),
    ("PIOParam", "parameters written by programmed I/O"),
    ("PIO", "programmed I/O"),
    ("IO", "inputs and outputs"),
    ("Weight", "weights"),
    ("Table", "look-up tables of the engine"),
    ("CC", "collectives"),
    ("Embedding", "embedding look-ups"),
    ("Gather", "gathers"),
    ("Instr", "instruction fetch"),
    ("Param", "parameters"),
];

/// Takes a queue's name apart; `None` where it is not of the compiler's form.
#[must_use]
pub fn parse(name: &str) -> Option<QueueName> {
    let mut parts = name.split('-');
    let rest = parts.next()?.strip_prefix('q')?;
    let known = ENGINES.iter().find_map(|(word, engine)| Some((rest.strip_prefix(word)?, *engine)));
    let (engine, rest) = match known {
        Some((rest, engine)) => (Some(engine), rest),
        None => (None, rest),
    };
    let purpose = PURPOSES.iter().find(|(word, _)| rest.starts_with(word)).map(|(_, text)| *text);
    if engine.is_none() && purpose.is_none() {
        return None;
    }
    let mut queue = QueueName { engine, purpose, ring: None, dma_engine: None };
    for part in parts {
        if let Some(n) = part.strip_prefix('Q').and_then(|n| n.parse().ok()) {
            queue.ring = Some(n);
        } else if let Some(n) = part.strip_prefix('E').and_then(|n| n.parse().ok()) {
            queue.dma_engine = Some(n);
        }
    }
    Some(queue)
}

/// A queue's name in words: `triggered by Sync, for inputs and outputs`; `None` where nothing is known of it.
#[must_use]
pub fn explain(name: &str) -> Option<String> {
    let queue = parse(name)?;
    let mut text = match (queue.engine, queue.purpose) {
        (Some(engine), Some(purpose)) => format!("triggered by {}, for {purpose}", engine.name()),
        (Some(engine), None) => format!("triggered by {}", engine.name()),
        (None, Some(purpose)) => format!("for {purpose}"),
        (None, None) => return None,
    };
    if let Some(ring) = queue.ring {
        text.push_str(&format!("; ring {ring}"));
    }
    if let Some(engine) = queue.dma_engine {
        text.push_str(&format!("{} DMA engine {engine}", if queue.ring.is_some() { " of" } else { "; on" }));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_engine_and_purpose() {
        let cases = [
            ("qSyncIO0", "triggered by Sync, for inputs and outputs"),
            ("qVectorSpillReload0", "triggered by Vector, for spills of SBUF to HBM and reloads"),
            (
                "qScalarSpillReload0-Q1-E64",
                "triggered by Scalar, for spills of SBUF to HBM and reloads; ring 1 of DMA engine 64",
            ),
            ("qSyncDynamicHW", "triggered by Sync, for transfers whose descriptors the hardware generates (DGE)"),
            ("qPoolDynamic", "triggered by GpSimd, for transfers whose descriptors software generates"),
            ("qGpSimdCC0", "triggered by GpSimd, for collectives"),
            ("qDveTable", "triggered by Vector, for look-up tables of the engine"),
            ("qSyncPIOParam0", "triggered by Sync, for parameters written by programmed I/O"),
            ("qActSomething", "triggered by Scalar"),
        ];
        for (name, text) in cases {
            assert_eq!(explain(name).as_deref(), Some(text), "{name}");
        }
        for name in ["qTrack7", "", "q", "queue", "DMA"] {
            assert_eq!(explain(name), None, "{name}");
        }
    }
}
