//! The program that the demo profile claims to have run: a three-layer Llama-like model, one attention head and a
//! slice of the MLP per core, an AllReduce after each half of a layer.
//!
//! Layer 1 holds a performance bug to be found: its KV-cache rows are scattered one token at a time by tiny
//! transfers on Scalar, so the store that Sync's reload waits for is issued late, and TensorMatrix stands idle.

use crate::demo::builder::{Builder, Move, Place};
use crate::demo::chip;
use crate::demo::kernels::{COLUMNS, CoreCode, ROW_BYTES, Tile, Work};
use crate::demo::ops::{self, LAYERS, Site};
use crate::demo::program::{Direction, Engine, Instr, Kind, Node, Program};

const HIDDEN_TILES: usize = 8; // hidden size 1024
const MLP_TILES: usize = 2; // 256 of the MLP's inner dimension per core
const QUERY_TILES: usize = 4;
/// The layer whose KV cache is paged, with its tiny transfers, and the number of those per core.
const PAGED_LAYER: usize = 1;
const PAGED_ROWS: [usize; chip::CORES] = [52, 60];

/// The whole program of one execution, for both cores.
pub(super) fn program() -> Program {
    let mut b = Builder::new();
    let mut cores: Vec<CoreCode> = (0..chip::CORES).map(|core| CoreCode::new(&mut b, core)).collect();
    for code in &mut cores {
        prologue(&mut b, code);
    }
    b.barrier(&vec![Vec::new(); chip::CORES]);
    for code in &mut cores {
        b.begin(Site::new(ops::EMBEDDING, 0));
        load_weights(&mut b, code, 0);
    }
    for layer in 0..LAYERS {
        let stores: Vec<_> = cores.iter_mut().map(|code| attention_half(&mut b, code, layer)).collect();
        let reduced = reduce(&mut b, &mut cores, &stores, Site::new(ops::ATTN_REDUCE, layer), "attn_partial", layer);
        for code in &mut cores {
            residual(&mut b, code, Site::new(ops::RESIDUAL, layer), reduced, layer == PAGED_LAYER);
        }
        let stores: Vec<_> = cores.iter_mut().map(|code| mlp_half(&mut b, code, layer)).collect();
        let reduced = reduce(&mut b, &mut cores, &stores, Site::new(ops::MLP_REDUCE, layer), "mlp_partial", layer);
        for code in &mut cores {
            residual(&mut b, code, Site::new(ops::MLP_RESIDUAL, layer), reduced, false);
        }
    }
    let stores: Vec<_> = cores.iter_mut().map(|code| head(&mut b, code)).collect();
    b.barrier(&stores);
    for core in 0..chip::CORES {
        for engine in chip::ENGINES {
            b.runtime(core, engine, "DRAIN", 80, "");
        }
        b.runtime(core, Engine::Sync, "NOTIFY", 64, "queue=completion value=0x1");
    }
    b.finish()
}

fn prologue(b: &mut Builder, code: &mut CoreCode) {
    let core = code.core;
    b.bring_up(core);
    b.runtime(core, Engine::Scalar, "TENSOR_LOAD", 1280, "table=exp_and_others");
    b.runtime(core, Engine::GpSimd, "MODIFY_POOL_CONFIG", 180, "mode=1");
    b.begin(Site::new(ops::EMBEDDING, 0));
    for (place, name) in [
        (code.identity, "identity"),
        (code.mask, "attention_mask"),
        (code.cosine, "rope_cos"),
        (code.sine, "rope_sin"),
        (code.epsilon, "norm_eps"),
    ] {
        let packet_bytes = b.size(place) * chip::PARTITIONS / 16;
        code.load(b, chip::INPUTS, Engine::Sync, place, (16, packet_bytes), name);
        b.keep(&[place]);
    }
    let ids = code.load(b, chip::GPSIMD_DYNAMIC, Engine::GpSimd, code.token_ids, (16, 128), "input_ids");
    let offsets = Instr { channels: 64, ..Instr::new(core, Engine::GpSimd, "TENSOR_SCALAR", 260) };
    let offsets = code.described(b, offsets, &[code.token_ids], code.offsets, 128, "op=mult imm=2048.000000");
    // Hardware generates the descriptors from the row addresses just computed.
    let m = Move {
        queue: chip::SYNC_DYNAMIC,
        engine: Engine::Sync,
        direction: Direction::Load,
        place: code.hidden[0],
        packets: 128,
        packet_bytes: 8192,
        variable: "embed_tokens.weight".to_owned(),
        transposed: false,
        extra: &[(ids, Kind::Flow), (Node::Instr(offsets), Kind::Flow)],
    };
    b.transfer(core, &m);
}

/// Sends a layer's weights on their way; each waits until its buffer's last use two layers ago is over.
fn load_weights(b: &mut Builder, code: &mut CoreCode, layer: usize) {
    let set = code.weights[layer % 2];
    for (op, place) in ops_of_weights(layer).into_iter().zip(set.all()) {
        b.begin(op.0);
        let packet_bytes = b.size(place) * chip::PARTITIONS / 32;
        code.load(b, chip::WEIGHTS, Engine::Sync, place, (32, packet_bytes), &op.1);
    }
}

fn ops_of_weights(layer: usize) -> Vec<(Site, String)> {
    [
        (ops::Q_PROJ, "self_attn.q_proj"),
        (ops::K_PROJ, "self_attn.k_proj"),
        (ops::V_PROJ, "self_attn.v_proj"),
        (ops::O_PROJ, "self_attn.o_proj"),
        (ops::GATE_PROJ, "mlp.gate_proj"),
        (ops::UP_PROJ, "mlp.up_proj"),
        (ops::DOWN_PROJ, "mlp.down_proj"),
    ]
    .into_iter()
    .map(|(op, name)| (Site::new(op, layer), format!("layers.{layer}.{name}.weight")))
    .collect()
}

/// RMS norm of the hidden states into the tiles that the projections read.
fn norm(b: &mut Builder, code: &mut CoreCode, sites: [Site; 3]) {
    let [square, rsqrt, scale] = sites;
    let hidden = code.hidden[0];
    b.begin(square);
    let zero = Instr { channels: chip::PARTITIONS, ..Instr::new(code.core, Engine::GpSimd, "MEMSET", 90) };
    code.described(b, zero, &[], code.sums, 32, "value=0");
    for part in 0..HIDDEN_TILES / 2 {
        let site = Tile::at(hidden, 2 * part as i64 * ROW_BYTES);
        let text = "op=mult reduce=add";
        code.vector(b, Work::of("TENSOR_TENSOR_REDUCE", 2 * COLUMNS).fast().with(text), &[site], (code.sums, part > 0));
    }
    b.begin(rsqrt);
    code.activate(b, "RSQRT", &[code.sums, code.epsilon], (code.scale, false), 16);
    b.begin(scale);
    for k in 0..HIDDEN_TILES {
        let site = Tile::at(hidden, k as i64 * ROW_BYTES);
        let factor = Tile::whole(code.scale);
        code.vector(
            b,
            Work::of("TENSOR_SCALAR", COLUMNS).fast().with("op=mult"),
            &[site, factor],
            (code.normed[k], false),
        );
    }
}

/// `normed x weights`, accumulated over the hidden dimension in one PSUM bank.
fn project(b: &mut Builder, code: &mut CoreCode, weights: Place, first_column: usize) -> Place {
    let bank = code.next_bank();
    for k in 0..HIDDEN_TILES {
        let stationary = Tile::at(weights, ((first_column + k) * 256) as i64);
        let moving = Tile::whole(code.normed[k]);
        code.multiply(b, stationary, moving, bank, COLUMNS, (k == 0, k == HIDDEN_TILES - 1));
    }
    bank
}

fn attention_half(b: &mut Builder, code: &mut CoreCode, layer: usize) -> Vec<(Node, Kind)> {
    let at = |op| Site::new(op, layer);
    norm(b, code, [at(ops::NORM_SQUARE), at(ops::NORM_RSQRT), at(ops::NORM_SCALE)]);
    let weights = code.weights[layer % 2];
    b.begin(at(ops::V_PROJ));
    let bank = project(b, code, weights.v, 0);
    code.activate(b, "COPY", &[bank], (code.value, false), COLUMNS);
    b.begin(at(ops::K_PROJ));
    let bank = project(b, code, weights.k, 0);
    code.vector(b, Work::of("COPY", COLUMNS), &[Tile::whole(bank)], (code.key, false));
    b.begin(at(ops::Q_PROJ));
    let bank = project(b, code, weights.q, 0);
    code.activate(b, "COPY", &[bank], (code.query, false), COLUMNS);
    let paged = layer == PAGED_LAYER;
    if paged {
        code.spill(b, code.hidden[0], &format!("spill_layers.{layer}.hidden"), Direction::Store);
    } else {
        turn_values(b, code, layer);
    }
    rotate(b, code, code.query, at(ops::ROPE));
    rotate(b, code, code.key, at(ops::ROPE));
    // Two query tiles are in flight: the scores of one are issued before the values of the one before.
    let mut waiting = None;
    for tile in 0..=QUERY_TILES {
        let weights = (tile < QUERY_TILES).then(|| code.scores(b, layer, tile));
        if paged && tile == 0 {
            scatter_rows(b, code, layer);
            turn_values(b, code, layer);
        }
        if let Some(weights) = waiting.replace(weights).flatten() {
            code.mix(b, layer, tile - 1, weights);
        }
    }
    output(b, code, at(ops::O_PROJ), (weights.o, 1), &[code.mixed], &format!("layers.{layer}.attn_partial"))
}

/// The tiny transfers: one row of the paged KV cache each.
fn scatter_rows(b: &mut Builder, code: &mut CoreCode, layer: usize) {
    b.begin(Site::new(ops::KV_CACHE, layer));
    for row in 0..PAGED_ROWS[code.core] {
        let m = Move {
            queue: chip::SCALAR_DYNAMIC,
            engine: Engine::Scalar,
            direction: Direction::Store,
            place: if row % 2 == 0 { code.key } else { code.value },
            packets: 1,
            packet_bytes: [256, 128, 384, 64][row % 4],
            variable: format!("layers.{layer}.kv_cache"),
            transposed: false,
            extra: &[],
        };
        b.transfer(code.core, &m);
    }
}

/// Brings the values into token order: out to HBM through Scalar's queue, back transposed through Sync's.
fn turn_values(b: &mut Builder, code: &mut CoreCode, layer: usize) {
    b.begin(Site::new(ops::KV_CACHE, layer));
    let variable = format!("layers.{layer}.v_cache");
    let stored = code.store(b, chip::SCALAR_DYNAMIC, Engine::Scalar, code.value, (128, 1024), &variable);
    let m = Move {
        queue: chip::SYNC_DYNAMIC,
        engine: Engine::Sync,
        direction: Direction::Load,
        place: code.turned_value,
        packets: 128,
        packet_bytes: 1024,
        variable,
        transposed: true,
        extra: &[(stored, Kind::Flow)],
    };
    b.transfer(code.core, &m);
    if layer + 1 < LAYERS {
        load_weights(b, code, layer + 1);
    }
}

fn rotate(b: &mut Builder, code: &mut CoreCode, place: Place, site: Site) {
    b.begin(site);
    code.vector(
        b,
        Work::of("TENSOR_TENSOR", COLUMNS).fast().with("op=mult"),
        &[Tile::whole(place), Tile::whole(code.cosine)],
        (code.turn_a, false),
    );
    let half = Instr { channels: chip::PARTITIONS, ..Instr::new(code.core, Engine::GpSimd, "TENSOR_TENSOR", 425) };
    code.described(b, half, &[place, code.sine], code.turn_b, 256, "op=mult");
    code.vector(
        b,
        Work::of("TENSOR_TENSOR", COLUMNS).fast().with("op=add"),
        &[Tile::whole(code.turn_a), Tile::whole(code.turn_b)],
        (place, false),
    );
}

/// The partial sums over this core's share, tile by tile into the output buffer, and their stores.
fn output(
    b: &mut Builder,
    code: &mut CoreCode,
    site: Site,
    (weights, steps): (Place, usize),
    moving: &[Place],
    variable: &str,
) -> Vec<(Node, Kind)> {
    b.begin(site);
    let mut stores = Vec::new();
    for m in 0..HIDDEN_TILES {
        let bank = code.next_bank();
        for (k, place) in moving.iter().enumerate() {
            let stationary = Tile::at(weights, ((m * steps + k) * 256) as i64);
            code.multiply(b, stationary, Tile::whole(*place), bank, COLUMNS, (k == 0, k == steps - 1));
        }
        let (half, appends) = (code.partial[m / 4], m % 4 > 0);
        if m % 2 == 0 {
            code.activate(b, "COPY", &[bank], (half, appends), COLUMNS);
        } else {
            code.vector(b, Work::of("COPY", COLUMNS), &[Tile::whole(bank)], (half, appends));
        }
        if m % 4 == 3 {
            let node = code.store(b, chip::SYNC_DYNAMIC, Engine::Sync, half, (128, 4096), variable);
            stores.push((node, Kind::Flow));
        }
    }
    stores
}

/// Barrier, then an AllReduce of what the cores stored.
fn reduce(
    b: &mut Builder,
    cores: &mut [CoreCode],
    stores: &[Vec<(Node, Kind)>],
    site: Site,
    name: &str,
    layer: usize,
) -> Node {
    b.barrier(stores);
    b.begin(site);
    b.all_reduce(1 << 20, cores[0].scratch, &format!("layers.{layer}.{name}"))
}

/// Loads the reduced sums and adds them to the hidden states, reloading those first if they were spilled.
fn residual(b: &mut Builder, code: &mut CoreCode, site: Site, reduced: Node, spilled: bool) {
    b.begin(site);
    if spilled {
        code.spill(b, code.hidden[1], "spill_layers.1.hidden", Direction::Load);
    }
    let m = Move {
        queue: chip::SYNC_DYNAMIC,
        engine: Engine::Sync,
        direction: Direction::Load,
        place: code.reduced,
        packets: 128,
        packet_bytes: 8192,
        variable: "all_reduce_out".to_owned(),
        transposed: false,
        extra: &[(reduced, Kind::Flow)],
    };
    b.transfer(code.core, &m);
    let (from, to) = (code.hidden[usize::from(spilled)], code.hidden[usize::from(!spilled)]);
    for k in 0..HIDDEN_TILES {
        let offset = k as i64 * ROW_BYTES;
        let sources = [Tile::at(from, offset), Tile::at(code.reduced, offset)];
        code.vector(b, Work::of("TENSOR_TENSOR", COLUMNS).fast().with("op=add"), &sources, (to, k > 0));
    }
    // The hidden states now live in `to`; the reloaded copy comes back to the usual place.
    if !spilled {
        code.hidden.swap(0, 1);
    }
}

fn mlp_half(b: &mut Builder, code: &mut CoreCode, layer: usize) -> Vec<(Node, Kind)> {
    let at = |op| Site::new(op, layer);
    norm(b, code, [at(ops::POST_SQUARE), at(ops::POST_RSQRT), at(ops::POST_SCALE)]);
    let weights = code.weights[layer % 2];
    for tile in 0..MLP_TILES {
        b.begin(at(ops::GATE_PROJ));
        let gate = project(b, code, weights.gate, tile * HIDDEN_TILES);
        b.begin(at(ops::SILU));
        code.activate(b, "SILU", &[gate], (code.gate[tile], false), COLUMNS);
        b.begin(at(ops::UP_PROJ));
        let up = project(b, code, weights.up, tile * HIDDEN_TILES);
        b.begin(at(ops::GATE_MUL));
        let sources = [Tile::whole(code.gate[tile]), Tile::whole(up)];
        code.vector(b, Work::of("TENSOR_TENSOR", COLUMNS).with("op=mult"), &sources, (code.inner[tile], false));
    }
    let inner = code.inner;
    let variable = format!("layers.{layer}.mlp_partial");
    output(b, code, at(ops::DOWN_PROJ), (weights.down, MLP_TILES), &inner, &variable)
}

fn head(b: &mut Builder, code: &mut CoreCode) -> Vec<(Node, Kind)> {
    let at = |op| Site::new(op, LAYERS);
    norm(b, code, [at(ops::FINAL_SQUARE), at(ops::FINAL_RSQRT), at(ops::FINAL_SCALE)]);
    b.begin(at(ops::LM_HEAD));
    let weights = code.weights[LAYERS % 2].gate;
    code.load(b, chip::WEIGHTS, Engine::Sync, weights, (32, b.size(weights) * chip::PARTITIONS / 32), "lm_head.weight");
    let mut stores = Vec::new();
    for tile in 0..2 {
        let bank = project(b, code, weights, tile * HIDDEN_TILES);
        code.activate(b, "COPY", &[bank], (code.logits[tile], false), COLUMNS);
        let node = code.store(b, chip::OUTPUTS, Engine::Sync, code.logits[tile], (16, 8192), "logits");
        stores.push((node, Kind::Flow));
    }
    stores
}
