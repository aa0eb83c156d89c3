//! How fast raw captures are read. Targets: a trace at 300 MB/s per core, a program of 100 MB (compressed) within two
//! seconds beyond what inflating it takes.

#![allow(clippy::unwrap_used)]

#[path = "../tests/raw/writer.rs"]
#[allow(dead_code)]
mod writer;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use neuron_scope::source::neff::Neff;
use neuron_scope::source::ntff::Ntff;
use neuron_scope::source::raw::RawCapture;
use writer::{Core, Trace, Word, entry, level, neff};

const WORDS: u64 = 2000;

/// A trace of about 64 MB: a loop of 2000 words on each engine, packets on sixteen rings, semaphore updates.
fn trace() -> Vec<u8> {
    let mut core = Core { name: "sg00", index: 4, duration_ps: 1 << 50, ..Core::default() };
    for code in &mut core.code {
        *code = (0..WORDS).map(|_| Word::matmul(3, 0x200_0000)).collect();
    }
    core.queues = (64..80).map(|engine| (engine, 1, 2, "qSPDynamicHW", vec![])).collect();
    for step in 0..180_000_u64 {
        let start = 1_000_000 + step * 500_000;
        for engine in 0..5 {
            core.ran(engine, step % WORDS, start + engine as u64 * 1000, start + 400_000);
        }
        for engine in 0..4 {
            core.packet((step % 4) as u8 * 4 + engine, 1, 512, start);
        }
        core.semaphore((step % 200) as u8, step as u32, 1 + (step % 6) as u8, false, start);
    }
    let execution = Some((0, 1 << 50));
    Trace {
        version: 6,
        uuid: [1; 16],
        instance_type: "trn2.48xlarge",
        cores: vec![core],
        execution,
        ..Trace::default()
    }
    .bytes()
}

/// A program of 300,000 instructions with their debug levels, and weights of which nothing is kept.
fn program() -> Vec<u8> {
    let count = 300_000_u64;
    let code: Vec<u8> = (0..count).flat_map(|n| Word::matmul(3, 0x200_0000).set(20, &n.to_le_bytes()).0).collect();
    let asm = level((0..count).map(|n| entry(0, "", &[n], &[])));
    let bir = level((0..count).map(|n| entry(n, &format!("I-{n}-0"), &[n / 10], &[(n.saturating_sub(1), 4)])));
    let penguin = level((0..count / 10).map(|n| entry(n, &format!("float32<128 x 512> ${n}[i_{n}]"), &[n / 10], &[])));
    let mut seed = 1_u64;
    let weights: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    })
    .take(90 << 20)
    .collect();
    neff(
        [1; 16],
        &[
            ("kelf-0.json", br#"{"graphs":[{"name":"sg00"}],"target":"cayman"}"#.to_vec()),
            ("sg00/def.json", b"{}".to_vec()),
            ("sg00/PE.bin", code),
            ("sg00/debug_info_asm_PE.dbg", asm),
            ("sg00/debug_info_backend_PE.dbg", bir),
            ("debug_info/debug_info_penguin.dbg_sg000000", penguin),
            ("sg00/value_w.npy", weights),
        ],
    )
}

fn raw(criterion: &mut Criterion) {
    let bytes = trace();
    let mut group = criterion.benchmark_group("raw");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let ntff = Ntff::parse(bytes).unwrap();
    let core = &ntff.cores[0];
    group.bench_function("decode trace", |b| {
        b.iter(|| (ntff.instructions(core), ntff.dma_packets(core), ntff.sync_records(core)));
    });
    group.bench_function("join trace", |b| b.iter(|| RawCapture::join(&ntff, None)));
    let bytes = program();
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("inflate program", |b| {
        b.iter(|| std::io::copy(&mut flate2::read::GzDecoder::new(&bytes[1024..]), &mut std::io::sink()));
    });
    group.bench_function("read program", |b| b.iter(|| Neff::read(&bytes[..], bytes.len() as u64)));
    group.finish();
}

criterion_group!(benches, raw);
criterion_main!(benches);
