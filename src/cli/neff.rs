//! What a compiled program holds, for `info x.neff`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::model::Engine;
use crate::model::format::{format_bytes, format_count};
use crate::source::neff::isa::{NumberedEngine, Word, ui_queue_name};
use crate::source::neff::{BirEntry, Graph, KernelFile, Kernels, LevelEntry, Neff, Tensor};
use crate::store::Problem;
use crate::term::text::escape;

/// Lines of a list that the text shows; JSON has all.
const MOST_LINES: usize = 24;

/// A program that was read.
pub struct Program {
    path: PathBuf,
    neff: Neff,
}

/// How many entries each debug level has.
struct Levels {
    /// Instruction words that name their BIR instruction.
    asm: usize,
    bir: usize,
    penguin: usize,
    hlo: usize,
    framework: usize,
    /// Entries with a source line.
    lines: usize,
}

impl Program {
    /// Reads a file.
    ///
    /// # Errors
    /// Says what is wrong with it and what to do.
    pub fn read(path: &Path) -> Result<Program, Problem> {
        let neff = Neff::open(path).map_err(|fault| fault.problem(path))?;
        Ok(Program { path: path.to_path_buf(), neff })
    }

    /// Whether there is nothing but its header.
    pub fn is_unreadable(&self) -> bool {
        self.neff.members.is_empty()
    }

    /// What could not be read of it.
    pub fn problems(&self) -> impl Iterator<Item = Problem> + '_ {
        self.neff.problems.iter().map(|message| Problem { path: self.path.clone(), message: message.clone() })
    }

    fn levels(&self) -> Levels {
        let graphs = || self.neff.graphs.iter();
        let words = graphs().flat_map(|graph| &graph.programs).flat_map(|program| &program.bir_ids);
        let bir = || graphs().flat_map(|graph| graph.bir.values());
        let shared = &self.neff.levels;
        let has_line = |entry: &&LevelEntry| entry.source.is_some();
        let above = shared.penguin.values().chain(shared.hlo.values()).chain(shared.framework.values());
        Levels {
            asm: words.flatten().count(),
            bir: bir().filter(|entry: &&BirEntry| !entry.is_dma_block).count(),
            penguin: shared.penguin.len(),
            hlo: shared.hlo.len(),
            framework: shared.framework.len(),
            lines: bir().map(|entry| &entry.entry).chain(above).filter(has_line).count(),
        }
    }

    /// All of it.
    pub fn to_json(&self) -> Value {
        let (neff, header, levels) = (&self.neff, &self.neff.header, self.levels());
        json!({
            "path": self.path.to_string_lossy(),
            "name": neff.name,
            "header": {
                "network_name": header.network_name,
                "uuid": header.uuid,
                "hash": header.hash,
                "enabled_features": header.enabled_features(),
                "package_version": header.package_version,
                "major_version": header.major_version,
                "minor_version": header.minor_version,
                "build_version": header.build_version,
                "header_size": header.header_size,
                "data_size": header.data_size,
                "logical_neuroncore_count": header.logical_cores,
                "pcore_count_per_lnc": header.cores_per_logical_core,
            },
            "compiler_version": neff.compiler_version,
            "target": neff.target,
            "graphs": neff.graphs.iter().map(graph_json).collect::<Vec<_>>(),
            "debug": {
                "asm": levels.asm,
                "bir": levels.bir,
                "penguin": levels.penguin,
                "hlo": levels.hlo,
                "framework": levels.framework,
                "source_lines": levels.lines,
                "kernels": neff.levels.kernels,
                "kernel_debug_info": kernels_json(&neff.kernels),
            },
            "members": neff.members.iter().map(|m| json!({"name": m.name, "size": m.size})).collect::<Vec<_>>(),
        })
    }

    /// The same for people.
    pub fn to_text(&self) -> String {
        let (neff, header, levels) = (&self.neff, &self.neff.header, self.levels());
        let mut out = String::new();
        let _ = writeln!(out, "{}  (compiled program, neff)", escape(&header.network_name));
        let _ = writeln!(out, "  {}", escape(&self.path.to_string_lossy()));
        let mut fact = |name: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(out, "  {name}: {}", escape(value));
            }
        };
        fact("compiler_version", &neff.compiler_version);
        fact("compiled for", &target(&neff.target));
        fact("uuid", &header.uuid);
        fact("hash", &header.hash);
        fact("features", &header.enabled_features());
        fact(
            "version",
            &format!("{}.{}, package {}", header.major_version, header.minor_version, header.package_version),
        );
        fact("physical cores per logical core", &header.cores_per_logical_core.to_string());
        fact("size", &format!("{} packed, {} files", format_bytes(header.data_size), neff.members.len()));
        for problem in &neff.problems {
            let _ = writeln!(out, "  ! {}", escape(problem));
        }
        if self.is_unreadable() {
            let _ = writeln!(out, "  nothing but its header could be read");
            return out;
        }
        let _ = writeln!(out, "\n  debug information");
        let rows = [
            (levels.asm, "instruction words that name their BIR instruction"),
            (levels.bir, "BIR instructions"),
            (levels.penguin, "penguin (tensorizer) instructions"),
            (levels.hlo, "HLO instructions"),
            (levels.framework, "framework operations"),
            (levels.lines, "of all these with a source line"),
        ];
        for (count, what) in rows {
            let _ = writeln!(out, "  {:>14}  {what}", format_count(count as u64));
        }
        if levels.lines == 0 && neff.kernels.instructions.is_empty() && neff.problems.is_empty() {
            let _ = writeln!(out, "  {:>14}  no source line: compiled without debug information of the framework", "");
        }
        kernels_text(&neff.kernels, &mut out);
        if !neff.levels.kernels.is_empty() {
            let names: Vec<&str> = neff.levels.kernels.iter().map(String::as_str).collect();
            let _ = writeln!(out, "  kernels: {}", escape(&names.join(", ")));
        }
        neff.graphs.iter().for_each(|graph| graph_text(graph, &mut out));
        out
    }
}

fn kernels_json(kernels: &Kernels) -> Value {
    let file = |file: &KernelFile| json!({"name": file.name, "size": file.size, "outline": file.outline, "instructions": file.instructions});
    json!({
        "files": kernels.files.iter().map(file).collect::<Vec<_>>(),
        "instructions": kernels.instructions.len(),
        "stack_frames": kernels.frames.len(),
        "iteration_variables": kernels.iterations.len(),
        "sources": kernels.sources(),
    })
}

/// What kernels say of themselves.
fn kernels_text(kernels: &Kernels, out: &mut String) {
    if !kernels.instructions.is_empty() {
        let (count, calls) = (format_count(kernels.instructions.len() as u64), kernels.frames.len());
        let turns = kernels.iterations.len();
        let _ = writeln!(out, "  {count:>14}  instructions of kernels, in {calls} calls and {turns} turns of loops");
        list(kernels.sources().into_iter().map(|source| format!("{:>14}  {source}", "source")), out);
    }
    for file in kernels.files.iter().filter(|file| file.instructions == 0) {
        let _ = writeln!(
            out,
            "  {:>14}  {} ({}): {}; in no layout that is public, not read",
            "",
            escape(&file.name),
            format_bytes(file.size),
            escape(&file.outline)
        );
    }
}

/// The compiler's name for a chip, with the chip's where that is known.
fn target(name: &str) -> String {
    match name {
        "sunda" => "sunda (trn1)".to_owned(),
        "cayman" => "cayman (trn2)".to_owned(),
        other => other.to_owned(),
    }
}

/// How often each opcode is in an engine's program.
fn opcodes(graph: &Graph, engine: Engine) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for word in Word::all(&graph.programs[engine.number()].code) {
        *counts.entry(word.name().into_owned()).or_insert(0) += 1;
    }
    counts
}

fn graph_json(graph: &Graph) -> Value {
    let tensor = |t: &Tensor| {
        json!({"name": t.name, "kind": t.kind, "id": t.id, "dtype": t.dtype, "shape": t.shape, "format": t.format,
               "bytes": t.bytes})
    };
    let queues = graph.queues.iter().map(|queue| {
        let blocks = || graph.blocks.iter().filter(|block| block.queue == queue.name);
        let sum = |bytes: u64, more: u64| bytes.saturating_add(more);
        json!({
            "name": ui_queue_name(&queue.name), "raw_name": queue.name, "kind": queue.kind, "owner": queue.owner,
            "rings": queue.rings, "semaphores": queue.semaphores,
            "blocks": blocks().count(),
            "read_bytes": blocks().map(|b| b.read_bytes()).fold(0, sum),
            "write_bytes": blocks().map(|b| b.write_bytes()).fold(0, sum),
        })
    });
    let engines = Engine::ALL.into_iter().map(|engine| {
        let opcodes = opcodes(graph, engine);
        json!({"engine": engine.name(), "instructions": opcodes.values().sum::<u64>(), "opcodes": opcodes})
    });
    json!({
        "name": graph.name,
        "tensors": graph.tensors.iter().map(tensor).collect::<Vec<_>>(),
        "queues": queues.collect::<Vec<_>>(),
        "engines": engines.collect::<Vec<_>>(),
    })
}

fn graph_text(graph: &Graph, out: &mut String) {
    let _ = writeln!(out, "\n  {}", escape(&graph.name));
    for engine in Engine::ALL {
        let counts = opcodes(graph, engine);
        let mut ranked: Vec<(&String, &u64)> = counts.iter().collect();
        ranked.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let listed: Vec<String> = ranked.iter().take(5).map(|(name, count)| format!("{name} {count}")).collect();
        let more = if ranked.len() > 5 { ", …" } else { "" };
        let total = format_count(counts.values().sum());
        let _ = writeln!(out, "  {total:>14}  {:<7} {}{more}", engine.name(), escape(&listed.join(", ")));
    }
    // Memory on the chip and the like has no shape; what is moved in and out is of interest.
    let told = |tensor: &&Tensor| matches!(tensor.kind.as_str(), "input" | "output" | "file");
    let tensors = graph.tensors.iter().filter(told).map(|tensor| {
        let kind = if tensor.kind == "file" { "weight" } else { &tensor.kind };
        let bytes = tensor.bytes.map_or_else(String::new, format_bytes);
        format!("{bytes:>14}  {kind:<7} {} {} {:?} {}", tensor.name, tensor.dtype, tensor.shape, tensor.format)
    });
    list(tensors, out);
    let queues = graph.queues.iter().map(|queue| {
        let blocks = graph.blocks.iter().filter(|block| block.queue == queue.name).count();
        let name = ui_queue_name(&queue.name);
        let blocks = if blocks > 0 { format!(", {blocks} static blocks") } else { String::new() };
        let (rings, owner) = (format!("{} rings", queue.rings), owner(&queue.owner));
        format!("{rings:>14}  queue   {name} ({}) of {owner}{blocks}", queue.kind)
    });
    list(queues, out);
}

/// The engine that starts the transfers of a queue, as it is called elsewhere.
fn owner(name: &str) -> &str {
    match name {
        "pe" => Engine::Tensor.name(),
        "act" => Engine::Scalar.name(),
        "pool" => Engine::GpSimd.name(),
        "dve" => Engine::Vector.name(),
        "sp" => Engine::Sync.name(),
        other => other,
    }
}

/// The first lines, and how many more there are.
fn list(lines: impl Iterator<Item = String>, out: &mut String) {
    let mut left_out = 0_u64;
    for (number, line) in lines.enumerate() {
        if number < MOST_LINES {
            let _ = writeln!(out, "  {}", escape(line.trim_end()));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "  {:>14}  more (--json lists all)", format_count(left_out));
    }
}
