//! What a capture and its program say about themselves.

use super::chip::Chip;
use super::time::Timebase;
use super::{RawCapture, RawCore, RawMemoryUse, RawMetadata, RawTensor};
use crate::model::Engine;
use crate::source::neff::isa::{NumberedEngine, WORD_BYTES, Word, op};
use crate::source::neff::{Graph, Neff};
use crate::source::ntff::{Core, Ntff};

/// The program, where it is the one that ran or has the same instructions; otherwise why it is of no use, or of what use
/// it is although it is another.
pub(super) fn usable<'a>(ntff: &Ntff, neff: Option<&'a Neff>) -> (Option<&'a Neff>, Option<&'static str>) {
    let Some(program) = neff.filter(|neff| !ntff.is_run_of(&neff.header.uuid)) else { return (neff, None) };
    match ntff.cores.iter().all(|core| program.graph(&core.name).is_some_and(|graph| is_code_of(ntff, core, graph))) {
        true => (
            neff,
            Some(
                "the NEFF is of another compilation than the one that ran (their uuids differ), but of the same \
                 instructions: names hold, source lines may have moved",
            ),
        ),
        false => (
            None,
            Some(
                "the NEFF is not the one that ran (their uuids differ, and so do their instructions), so its names, \
                 dependencies and source lines are not used; name the NEFF of the same compilation",
            ),
        ),
    }
}

/// Whether a core ran the instructions of a graph: all that the compiler wrote are there again, but for those that the
/// runtime puts others in place of.
fn is_code_of(ntff: &Ntff, core: &Core, graph: &Graph) -> bool {
    Engine::NUMBERED.into_iter().all(|engine| {
        let compiled = &graph.programs[engine.number()].code;
        let loaded = core.programs[engine.number()].words();
        let mut common = 0_usize;
        let same = (0..u32::try_from(loaded).unwrap_or(u32::MAX)).all(|index| {
            let Some(at) = core.programs[engine.number()].compiler_pc(index) else { return true };
            let word = (at as usize).checked_mul(WORD_BYTES).and_then(|at| Word::new(compiled.get(at..)?));
            let Some((own, word)) = ntff.word(core, engine, index).zip(word) else { return false };
            common += 1;
            own.bytes() == word.bytes() || matches!(word.opcode(), op::PSEUDO_DMA_TRIGGER | op::PSEUDO_DMA_DIRECT2D)
        });
        same && (common > 0 || compiled.len() < WORD_BYTES || loaded == 0)
    })
}

impl RawCapture {
    pub(super) fn describe(ntff: &Ntff, neff: Option<&Neff>, time: &Timebase) -> RawCapture {
        let mut capture = RawCapture { private: ntff.private.clone(), zero_ps: time.zero_ps, ..RawCapture::default() };
        capture.problems.extend(ntff.problems.iter().cloned());
        capture.cores = ntff
            .cores
            .iter()
            .zip(&time.executions)
            .map(|(core, executions)| RawCore {
                name: core.name.clone(),
                neuron_device_idx: core.device,
                neuroncore_idx: core.index,
                executions: executions.clone(),
            })
            .collect();
        let ends = time.executions.iter().flatten().map(|execution| execution.end_ts());
        capture.metadata = RawMetadata {
            ntff_version: ntff.version,
            neff_name: ntff.neff_name.clone(),
            programs: ntff.executions.iter().map(|e| &e.uuid).collect::<std::collections::BTreeSet<_>>().len().max(1),
            num_physical_cores: ntff.physical_cores,
            vnc_enabled: ntff.cores.len() > 1,
            last_hw_timestamp: ends.max().unwrap_or(0),
            time_origin: time.origin,
            capture_unix_seconds: ntff.capture_unix_seconds,
            instance_type: ntff.instance_type.clone(),
            runtime_version: ntff.runtime_version.clone(),
            driver_version: ntff.driver_version.clone(),
            collectives_version: ntff.collectives_version.clone(),
            compiler_version: neff.map(|neff| neff.compiler_version.clone()).unwrap_or_default(),
            chip: Chip::of(&ntff.instance_type),
        };
        let memory = ntff.cores.iter().flat_map(|core| core.memory.iter().map(move |used| (core, used)));
        capture.memory = memory
            .filter(|(_, used)| used.bytes > 0)
            .map(|(core, used)| RawMemoryUse {
                neuron_device_idx: core.device,
                neuroncore_idx: core.index,
                usage_type: memory_name(&used.name).to_owned(),
                usage_bytes: used.bytes,
            })
            .collect();
        let names = |core: &RawCore| neff.and_then(|neff| Some(neff.graph(&core.name)?.semaphores.clone()));
        capture.semaphore_names = capture.cores.iter().map(|core| names(core).unwrap_or_default()).collect();
        let ran = neff.filter(|neff| ntff.is_run_of(&neff.header.uuid));
        capture.whole = ntff.problems.is_empty() && ran.is_some_and(|neff| neff.problems.is_empty());
        if let Some(neff) = neff {
            capture.program_problems.extend(neff.problems.iter().cloned());
            capture.neff_header = Some(neff.header.clone());
            capture.kernels = neff.kernels.clone();
            capture.tensors = tensors(neff);
        }
        capture
    }
}

/// The vendor's words for what device memory is used for.
fn memory_name(raw: &str) -> &str {
    match raw {
        "generic" => "Generic",
        "pe" | "pe code" => "Tensor Instructions",
        "act" | "act code" => "Scalar Instructions",
        "pool" | "pool code" => "GpSimd Instructions",
        "dve" | "dve code" => "Vector Instructions",
        "sp" | "sp code" => "Sync Instructions",
        "io" => "IO",
        "spill" => "DRAM Spill",
        "weight" => "Weights",
        "profiler buffers" => "Profiler Buffers",
        "act table" => "Scalar Table",
        "shared scratchpad" => "Shared Scratchpad",
        "tensor" => "Tensors",
        "ucode" => "Ucode lib",
        "pool stdio" => "GpSimd STDIO",
        "collectives" => "Collectives",
        "scratchpad" => "Scratchpad",
        "xt cc" => "XT CC (unused)",
        "dma rings runtime" => "DMA Rings Runtime",
        "dma rings spill" => "DMA Rings Spill",
        "dma rings io" => "DMA Rings IO",
        "dma rings collectives" => "DMA Rings Collectives",
        other => other,
    }
}

/// Inputs, outputs and weights, per graph.
fn tensors(neff: &Neff) -> Vec<RawTensor> {
    let all = neff.graphs.iter().zip(0..).flat_map(|(graph, core)| graph.tensors.iter().map(move |t| (core, t)));
    let listed = all.filter_map(|(pcore_idx, tensor)| {
        let kind = match tensor.kind.as_str() {
            "input" => "IN",
            "output" => "OUT",
            "file" => "WEIGHT",
            _ => return None,
        };
        let shape: Vec<_> = tensor.shape.iter().map(u64::to_string).collect();
        Some(RawTensor {
            pcore_idx,
            variable_name: tensor.name.clone(),
            kind: kind.to_owned(),
            format: tensor.format.clone(),
            shape: format!("[{}]", shape.join(" ")),
            dtype: tensor.dtype.clone(),
            size: tensor.bytes,
            ..RawTensor::default()
        })
    });
    listed.collect()
}
