//! What the names of DMA queues say: `qSyncIO0-Q0-E64` is ring 0 on DMA engine 64 of a queue whose transfers the
//! Sync engine triggers, for inputs and outputs.

use super::Engine;

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

/// What a queue's transfers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// What does not fit in SBUF, to HBM and back.
    SpillReload,
    /// Transfers whose descriptors hardware generates at run time.
    HardwareDynamic,
    /// Transfers whose descriptors software generates at run time.
    SoftwareDynamic,
    /// Weights and other parameters, written by programmed I/O.
    ProgrammedParameters,
    /// Programmed I/O.
    Programmed,
    /// Inputs and outputs of the model.
    InputOutput,
    /// Weights.
    Weights,
    /// Parameters.
    Parameters,
    /// Look-up tables of an engine.
    Tables,
    /// Collective communication.
    Collectives,
    /// Embedding look-ups.
    Embeddings,
    /// Gathers.
    Gathers,
    /// Instructions on their way to an engine.
    Instructions,
}

impl Purpose {
    /// In words, after "for".
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Purpose::SpillReload => "spills of SBUF to HBM and reloads",
            Purpose::HardwareDynamic => "transfers whose descriptors the hardware generates (DGE)",
            Purpose::SoftwareDynamic => "transfers whose descriptors software generates",
            Purpose::ProgrammedParameters => "parameters written by programmed I/O",
            Purpose::Programmed => "programmed I/O",
            Purpose::InputOutput => "inputs and outputs",
            Purpose::Weights => "weights",
            Purpose::Parameters => "parameters",
            Purpose::Tables => "look-up tables of the engine",
            Purpose::Collectives => "collectives",
            Purpose::Embeddings => "embedding look-ups",
            Purpose::Gathers => "gathers",
            Purpose::Instructions => "instruction fetch",
        }
    }
}

/// How the compiler and the hardware write the engine that triggers a queue's transfers.
const TRIGGERS: [(&str, Engine); 12] = [
    ("GpSimd", Engine::GpSimd),
    ("Pool", Engine::GpSimd),
    ("Scalar", Engine::Scalar),
    ("Act", Engine::Scalar),
    ("Vector", Engine::Vector),
    ("Dve", Engine::Vector),
    ("DVE", Engine::Vector),
    ("Tensor", Engine::Tensor),
    ("PE", Engine::Tensor),
    ("Pe", Engine::Tensor),
    ("Sync", Engine::Sync),
    ("SP", Engine::Sync),
];

/// How purposes begin, longer words before those that they begin with.
const PURPOSES: [(&str, Purpose); 14] = [
    ("SpillReload", Purpose::SpillReload),
    ("DynamicHW", Purpose::HardwareDynamic),
    ("DynamicSW", Purpose::SoftwareDynamic),
    ("Dynamic", Purpose::SoftwareDynamic),
    ("PIOParam", Purpose::ProgrammedParameters),
    ("PIO", Purpose::Programmed),
    ("IO", Purpose::InputOutput),
    ("Weight", Purpose::Weights),
    ("Param", Purpose::Parameters),
    ("Table", Purpose::Tables),
    ("CC", Purpose::Collectives),
    ("Embedding", Purpose::Embeddings),
    ("Gather", Purpose::Gathers),
    ("Instr", Purpose::Instructions),
];

/// The engine that triggers a queue's transfers, and what they are for, as the compiler puts them into its name
/// (Device Trace Viewer documentation, "DMA tracks"): `qVectorSpillReload0` is Vector's, for spills and reloads. Ring
/// and DMA engine may follow. `None` for what the name does not say.
#[must_use]
pub fn meaning(name: &str) -> (Option<Engine>, Option<Purpose>) {
    let Some(name) = base_name(name).strip_prefix('q') else { return (None, None) };
    let trigger = TRIGGERS.iter().find_map(|(start, engine)| Some((*engine, name.strip_prefix(start)?)));
    let rest = trigger.map_or(name, |(_, rest)| rest);
    let purpose = PURPOSES.iter().find(|(start, _)| rest.starts_with(start)).map(|(_, purpose)| *purpose);
    (trigger.map(|(engine, _)| engine), purpose)
}

/// A queue's name in words: `triggered by Sync, for inputs and outputs; ring 0 of DMA engine 64`; `None` where nothing is
/// known of it.
#[must_use]
pub fn explain(name: &str) -> Option<String> {
    let mut text = match meaning(name) {
        (Some(engine), Some(purpose)) => format!("triggered by {}, for {}", engine.name(), purpose.text()),
        (Some(engine), None) => format!("triggered by {}", engine.name()),
        (None, Some(purpose)) => format!("for {}", purpose.text()),
        (None, None) => return None,
    };
    let ring = name.strip_prefix(base_name(name)).and_then(|rest| rest.strip_prefix("-Q")?.split('-').next());
    match (ring, engine_of(name)) {
        (Some(ring), Some(engine)) => text += &format!("; ring {ring} of DMA engine {engine}"),
        (None, Some(engine)) => text += &format!("; on DMA engine {engine}"),
        _ => {}
    }
    Some(text)
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
