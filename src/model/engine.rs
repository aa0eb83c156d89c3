//! The compute engines of a NeuronCore.

/// A compute engine of a NeuronCore, or one that this version does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Engine {
    /// Matrix multiplication (PE).
    Tensor,
    /// Vector operations (DVE).
    Vector,
    /// Activation functions (ACT).
    Scalar,
    /// General-purpose SIMD (Pool).
    GpSimd,
    /// Synchronisation and DMA triggers (SP).
    Sync,
}

impl Engine {
    /// All engines, in the order in which their tracks are shown.
    pub const ALL: [Engine; 5] = [Engine::Tensor, Engine::Vector, Engine::Scalar, Engine::GpSimd, Engine::Sync];

    /// The name that Neuron Explorer shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Engine::Tensor => "Tensor",
            Engine::Vector => "Vector",
            Engine::Scalar => "Scalar",
            Engine::GpSimd => "GpSimd",
            Engine::Sync => "Sync",
        }
    }

    /// Reads the names used by the schema (`tensor`), the viewer (`Tensor`) and the hardware (`PE`, `DVE`, …).
    #[must_use]
    pub fn parse(text: &str) -> Option<Engine> {
        Some(match text.to_ascii_lowercase().as_str() {
            "tensor" | "pe" | "tensore" => Engine::Tensor,
            "vector" | "dve" | "vectore" => Engine::Vector,
            "scalar" | "act" | "activation" | "scalare" => Engine::Scalar,
            "gpsimd" | "pool" | "gpsimde" => Engine::GpSimd,
            "sync" | "sp" | "synce" => Engine::Sync,
            _ => return None,
        })
    }
}
