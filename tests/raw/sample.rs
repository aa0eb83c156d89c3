//! A small program and its capture in each version, made by the fixture writer.

use crate::writer::{Core, Trace, Word, entry, level, message, neff, record};

pub const UUID: [u8; 16] = [7, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
/// The zero of time, in the capture's picoseconds.
pub const ZERO: u64 = 5_000_000_000;
/// Length of the execution.
pub const LENGTH: u64 = 90_000_000;

/// Where the author of the kernel wrote the multiplications.
const KERNEL: &str = r#"[{"info":[{"func":{"children":[{"iter":{"children":[{"func":{"children":[
    {"inst":{"line":8,"name":"I-2"}}],"file":"/src/tiles.py","line":5,"name":"tiles.multiply"}}],
    "line":31,"val":"4","var":"k"}}],"file":"/src/kernel.py","line":30,"name":"kernel.main"}}],"lnc":1}]"#;

const TENSOR: usize = 0;
const SYNC: usize = 4;

/// The program: Sync loads, Tensor waits for it and multiplies twice. From version 6 on the load is dynamic, before it
/// is a static block.
pub fn program(version: u8) -> Vec<u8> {
    neff(UUID, &members(version))
}

/// What the program's archive holds.
pub fn members(version: u8) -> Vec<(&'static str, Vec<u8>)> {
    let dynamic = version >= 6;
    let load = if dynamic { Word::direct2d(34).set(0, &[0xd4]) } else { Word::trigger("qSPIO0", 0) };
    let load = if dynamic { load.set(16, &variable(0, 2)).set(40, &variable(0x4000, 0)) } else { load };
    let code = |words: &[Word]| words.iter().flat_map(|word| word.0).collect::<Vec<u8>>();
    let tensor = [Word::matmul(1, 0x200_0000).waiting(34, 16), Word::matmul(2, 0x200_0000)];
    let queue = if dynamic { "qSPDynamicHW" } else { "qSPIO0" };
    let kind = if dynamic { "dynamic" } else { "in" };
    let definition = format!(
        r#"{{"var":{{"SB":{{"type":"state-buffer","var_id":0}},"x":{{"type":"input","size":32768,"var_id":2}}}},
            "dma_queue":{{"{queue}":{{"type":"{kind}","owner":"sp","num_queues":1,"semaphore_set":[34]}}}},
            "runtime_semaphore_count":3}}"#
    );
    let blocks = r##"{"dma":[{"#comment":"I-1-block","id":0,"queue":"qSPIO0","semaphore":34,"desc":[{"from":"x","to":"SB",
        "from_off":0,"to_off":16384,"from_sizes":[256,128],"to_sizes":[256,128],"from_steps":[1,256],
        "to_steps":[1,262144],"from_dtype":"float32","to_dtype":"float32","op":"copy"}]}]}"##;
    let source = |key: &str, value: &str| message().text(1, key).text(2, value);
    let line =
        entry(10, "I-1", &[5], &[]).message(7, source("kernel_file", "0")).message(7, source("kernel_line", "42"));
    let mut backend = level([entry(20, "I-2", &[6], &[(10, 4)])]);
    backend.extend(message().text(5, "unused").0);
    let mut sync_backend = level([line]);
    sync_backend.extend(message().text(5, "/src/kernel.py").0);
    vec![
        ("info.json", br#"{"tool_version":"2.99","name":"fixture"}"#.to_vec()),
        ("kelf-0.json", br#"{"graphs":[{"name":"sg00"}],"target":"cayman"}"#.to_vec()),
        ("sg00/def.json", definition.into_bytes()),
        ("sg00/tensor_map.json", br#"{"x":{"dtype":"float32","sim_shape":[128,64],"sim_format":"NC"}}"#.to_vec()),
        ("sg00/PE.bin", code(&tensor)),
        ("sg00/SP.bin", code(&[load])),
        ("sg00/SP.json", if dynamic { b"{}".to_vec() } else { blocks.as_bytes().to_vec() }),
        ("sg00/debug_info_asm_PE.dbg", level([entry(0, "", &[20], &[]), entry(0, "", &[20], &[])])),
        ("sg00/debug_info_asm_SP.dbg", level([entry(0, "", &[10], &[])])),
        ("sg00/debug_info_backend_PE.dbg", backend),
        ("sg00/debug_info_backend_SP.dbg", sync_backend),
        ("debug_info/debug_info_penguin.dbg_sg000000", level([entry(6, "float32<1> $6", &[3], &[])])),
        ("debug_info/debug_info_hlo.dbg_sg000000", level([entry(3, "dot.1", &[1], &[])])),
        ("debug_info/debug_info_pttf.dbg_sg000000", level([entry(1, "layer_1/dot", &[], &[])])),
        ("sg00/default_table.bin", vec![0; 500]),
        ("kernel_debug_info.json", KERNEL.as_bytes().to_vec()),
    ]
}

fn variable(offset: u32, id: u16) -> Vec<u8> {
    let mut bytes = offset.to_le_bytes().to_vec();
    bytes.extend(id.to_le_bytes());
    bytes.extend([0, 0x10]);
    bytes
}

/// The capture of the program.
pub fn trace(version: u8) -> Trace {
    let dynamic = version >= 6;
    // Version 4 counts in ticks of its own: 2 ps each, from 1000.
    let clock = (version == 4).then_some((1000, 1, 2));
    let at = |time: u64| match clock {
        Some((base, num, den)) => (ZERO + time) * num / den + base,
        None => ZERO + time,
    };
    let load = if dynamic { Word::direct2d(34) } else { Word::new(0xa5).set(12, &[4]) };
    let mut core = Core { name: "sg00", index: 4, clock, duration_ps: LENGTH, ..Core::default() };
    core.code[TENSOR] = vec![
        Word::notify(2),
        Word::matmul(1, 0x200_0000).waiting(34, 16),
        Word::matmul(2, 0x200_0000),
        Word::notify(3),
    ];
    core.patches[TENSOR] = vec![(0, 1, 0), (192, 1, 0)];
    core.code[SYNC] = vec![load, Word::new(0xcd)];
    core.patches[SYNC] = vec![(64, 1, 0)];
    // The start marker: 4 ns before the zero where that is not recorded.
    core.ran(
        TENSOR,
        0,
        at(0) - if dynamic { 9_166 } else { 4_000 / clock.map_or(1, |(_, num, den)| den / num) },
        at(1_000),
    );
    core.ran(SYNC, 0, at(2_000_000), at(2_500_600));
    core.ran(TENSOR, 1, at(9_000_400), at(9_500_200));
    core.ran(TENSOR, 2, at(9_600_000), at(9_999_999));
    core.ran(TENSOR, 3, at(LENGTH - 2_000), at(LENGTH + 2_000));
    let engine = if version == 4 { 0 } else { 64 };
    let queue = if dynamic { "qSPDynamicHW" } else { "qSPIO0" };
    core.queues = vec![(engine, 1, if dynamic { 2 } else { 3 }, queue, vec![(0, 9)])];
    for packet in 0..8 {
        core.packet(0, 1, 4096, at(3_000_000 + packet * 100_000));
    }
    core.packet(0, 1, 4, at(4_000_000));
    core.semaphore(34, 16, 6, false, at(4_300_000));
    core.semaphore(34, 20, 6, true, at(4_400_000));
    core.throttle.push(record([1, 0, 8, 0x9e, 4, 1, 0, 0], at(50_000_000)));
    Trace {
        version,
        uuid: UUID,
        neff_name: "",
        instance_id: "",
        instance_type: if version == 4 { "trn1.2xlarge" } else { "trn2.3xlarge" },
        cores: vec![core],
        execution: dynamic.then_some((ZERO, ZERO + LENGTH)),
        more_executions: vec![],
    }
}
