//! The demo profile, read back from its files, must be consistent in itself: nothing here uses the writer's own sums.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use arrow::array::{Array, AsArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Float32Type, Int32Type, Int64Type};
use arrow::record_batch::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

use super::*;

/// A table read back from its file.
struct Rows(RecordBatch);

impl Rows {
    fn read(profile: &Path, table: &str) -> Self {
        let file = File::open(profile.join(format!("{table}.parquet"))).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        Self(concat_batches(&schema, &batches).unwrap())
    }

    fn len(&self) -> usize {
        self.0.num_rows()
    }

    fn column(&self, name: &str) -> &dyn Array {
        self.0.column_by_name(name).unwrap_or_else(|| panic!("column {name}"))
    }

    fn ints(&self, name: &str) -> Vec<i64> {
        let column = self.column(name);
        match column.as_primitive_opt::<Int64Type>() {
            Some(values) => (0..values.len()).map(|n| if values.is_null(n) { -1 } else { values.value(n) }).collect(),
            None => column.as_primitive::<Int32Type>().values().iter().map(|v| i64::from(*v)).collect(),
        }
    }

    /// Texts, empty where null.
    fn texts(&self, name: &str) -> Vec<String> {
        let values = self.column(name).as_string::<i32>();
        (0..values.len()).map(|n| if values.is_null(n) { String::new() } else { values.value(n).to_owned() }).collect()
    }

    fn spans(&self) -> Vec<(i64, i64)> {
        self.ints("start_ts").into_iter().zip(self.ints("end_ts")).collect()
    }

    /// The one value of a figure, whatever its type.
    fn figure(&self, name: &str) -> f64 {
        let column = self.column(name);
        match column.as_primitive_opt::<Float32Type>() {
            Some(values) => f64::from(values.value(0)),
            None => column.as_primitive::<Int64Type>().value(0) as f64,
        }
    }
}

fn demo() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let profile = write(dir.path()).unwrap();
    (dir, profile)
}

/// The instructions as the file has them.
struct Instructions {
    span: Vec<(i64, i64)>,
    id: Vec<i64>,
    pc: Vec<i64>,
    core: Vec<i64>,
    engine: Vec<String>,
    track: Vec<String>,
    opcode: Vec<String>,
    operands: Vec<String>,
    execution: Vec<usize>,
}

impl Instructions {
    fn read(profile: &Path) -> Self {
        let rows = Rows::read(profile, "Instruction");
        let starts = Rows::read(profile, "ExecutionInfo").ints("execution_start_ts");
        let span = rows.spans();
        let execution = span.iter().map(|s| starts.iter().rposition(|t| *t <= s.0).unwrap()).collect();
        Self {
            span,
            id: rows.ints("id"),
            pc: rows.ints("pc"),
            core: rows.ints("pcore_idx"),
            engine: rows.texts("engine"),
            track: rows.texts("timeline_track"),
            opcode: rows.texts("opcode"),
            operands: rows.texts("operands"),
            execution,
        }
    }

    fn len(&self) -> usize {
        self.id.len()
    }

    /// `S[34] (qSyncDynamicHW)` and 16, of an instruction that waits for it.
    fn condition(&self, n: usize) -> Option<(&str, i64)> {
        // The runtime's semaphore 2 has no owner.
        if let Some((_, rest)) = self.operands[n].split_once("$S[2]==") {
            return Some(("2", rest[..1].parse().ok()?));
        }
        let (semaphore, rest) = self.operands[n].split_once(">=")?;
        let digits = rest.split_once(' ').map_or(rest, |(digits, _)| digits);
        Some((semaphore, digits.parse().ok()?))
    }
}

/// When each semaphore of a core reached each value, per execution.
fn reached(profile: &Path) -> BTreeMap<(usize, i64, String), Vec<(i64, i64)>> {
    let rows = Rows::read(profile, "SemaphoreUpdate");
    let starts = Rows::read(profile, "ExecutionInfo").ints("execution_start_ts");
    let mut found: BTreeMap<_, Vec<(i64, i64)>> = BTreeMap::new();
    let (at, value, core) = (rows.ints("timestamp"), rows.ints("value"), rows.ints("pcore_idx"));
    for (n, id) in rows.texts("id").into_iter().enumerate() {
        let execution = starts.iter().rposition(|t| *t <= at[n]).unwrap();
        found.entry((execution, core[n], id)).or_default().push((at[n], value[n]));
    }
    found
}

#[test]
fn two_writes_are_the_same_files() {
    let ((a, _), (b, _)) = (demo(), demo());
    let files = |dir: &TempDir| {
        let mut found = BTreeMap::new();
        for sub in [NAME, "src"] {
            for entry in fs::read_dir(dir.path().join(sub)).unwrap() {
                let path = entry.unwrap().path();
                found.insert(path.strip_prefix(dir.path()).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
        found
    };
    let (a, b) = (files(&a), files(&b));
    assert!(a.len() > 40, "{} files", a.len());
    for (path, bytes) in &a {
        assert!(b.get(path) == Some(bytes), "{} differs", path.display());
    }
}

#[test]
fn predecessors_end_first() {
    let (_dir, profile) = demo();
    let instr = Instructions::read(&profile);
    let transfers = Rows::read(&profile, "DmaPacketAggregated");
    let mut spans = BTreeMap::new();
    for n in 0..instr.len() {
        spans.insert(("instruction".to_owned(), instr.id[n]), (instr.span[n], instr.opcode[n].as_str()));
    }
    for (id, span) in transfers.ints("id").into_iter().zip(transfers.spans()) {
        spans.insert(("dma_block".to_owned(), id), (span, ""));
    }
    assert_eq!(spans.len(), instr.len() + transfers.len(), "ids are unique");
    let flow = Rows::read(&profile, "Flow");
    let ends = |side: &str| {
        let keys: Vec<_> =
            flow.texts(&format!("{side}_table")).into_iter().zip(flow.ints(&format!("{side}_id"))).collect();
        keys.into_iter().map(|key| spans[&key]).collect::<Vec<_>>()
    };
    let (kinds, gaps) = (flow.texts("dependency_type"), flow.ints("gap_time"));
    let mut seen = BTreeSet::new();
    for (n, (from, to)) in ends("in").into_iter().zip(ends("out")).enumerate() {
        let ((_, end), (start, finish)) = (from.0, to.0);
        assert_eq!(gaps[n], start - end);
        let waits = to.1 == "EVENT_SEMAPHORE" && end <= finish;
        let generates = kinds[n].is_empty() && from.1 == "DMA_DIRECT2D" && start >= from.0.0;
        assert!(end <= start || waits || generates, "{} edge {n}: {from:?} -> {to:?}", kinds[n]);
        seen.insert(kinds[n].clone());
    }
    let all = ["", "ANTI_DEPENDENCE", "FLOW_DEPENDENCE", "OUTPUT_DEPENDENCE", "SAME_PSUM_BANK"];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[test]
fn every_condition_is_met_by_an_update_before_it_lets_go() {
    let (_dir, profile) = demo();
    let instr = Instructions::read(&profile);
    let reached = reached(&profile);
    for updates in reached.values() {
        assert!(updates.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1), "values rise: {updates:?}");
    }
    let (mut waits, mut blank, mut spanning) = (0, 0, 0);
    for n in 0..instr.len() {
        let Some((semaphore, value)) = instr.condition(n) else { continue };
        let updates = &reached[&(instr.execution[n], instr.core[n], semaphore.to_owned())];
        let met = updates.iter().find(|(_, v)| *v >= value).unwrap().0;
        let (start, end) = instr.span[n];
        if instr.opcode[n] == "EVENT_SEMAPHORE" && (instr.engine[n] == "GpSimd" || semaphore == "2") {
            assert!(met < end, "{}: met at {met}, left at {end}", instr.operands[n]);
            spanning += i64::from(met > start);
        } else {
            assert!(met < start, "{}: met at {met}, started at {start}", instr.operands[n]);
            blank += i64::from(instr.opcode[n] == "EVENT_SEMAPHORE");
        }
        waits += 1;
    }
    assert!(waits > 1_000 && blank > 150 && spanning > 30, "{waits} waits, {blank} after a blank, {spanning} spans");
    let updated = (0..instr.len()).filter(|n| instr.operands[*n].contains(")++@complete")).count();
    let from_engines = reached
        .iter()
        .filter(|(k, _)| ["Tensor)", "Vector)", "Scalar)", "GpSimd)", "Sync)"].iter().any(|e| k.2.ends_with(e)));
    assert_eq!(updated, from_engines.map(|(_, u)| u.iter().filter(|(_, value)| *value > 0).count()).sum::<usize>());
}

#[test]
fn engines_issue_in_order_and_matrix_multiplications_overlap() {
    let (_dir, profile) = demo();
    let instr = Instructions::read(&profile);
    let mut streams = BTreeMap::<_, Vec<(i64, i64)>>::new();
    for n in 0..instr.len() {
        let key = (instr.execution[n], instr.core[n], instr.engine[n].as_str());
        streams.entry(key).or_default().push((instr.pc[n], instr.span[n].0));
    }
    assert_eq!(streams.len(), 20);
    for stream in streams.values_mut() {
        stream.sort_unstable();
        assert!(stream.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
    }
    let matmuls: Vec<usize> = (0..instr.len()).filter(|n| instr.track[*n] == "TensorMatrix").collect();
    let overlapping = matmuls.windows(2).filter(|w| instr.span[w[1]].0 < instr.span[w[0]].1).count();
    assert!(overlapping * 2 > matmuls.len(), "{overlapping} of {}", matmuls.len());
}

#[test]
fn packets_add_up_to_transfers_and_engines_take_turns() {
    let (_dir, profile) = demo();
    let packets = Rows::read(&profile, "DmaPacket");
    let transfers = Rows::read(&profile, "DmaPacketAggregated");
    let mut sums: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
    let (owner, bytes, spans) =
        (packets.ints("packet_aggregation_id"), packets.ints("transfer_bytes"), packets.spans());
    for n in 0..packets.len() {
        let sum = sums.entry(owner[n]).or_insert((0, i64::MAX, 0));
        *sum = (sum.0 + bytes[n], sum.1.min(spans[n].0), sum.2.max(spans[n].1));
    }
    assert_eq!(sums.len(), transfers.len());
    let whole = transfers.ints("transfer_bytes");
    for (n, id) in transfers.ints("id").into_iter().enumerate() {
        assert_eq!(sums[&id], (whole[n], transfers.spans()[n].0, transfers.spans()[n].1));
    }
    let (engine, core) = (packets.ints("engine_idx"), packets.ints("pcore_idx"));
    let mut by_engine: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for n in 0..packets.len() {
        assert_eq!(core[n], (engine[n] - 64) / 16, "E64..E79 belong to core 0, E80..E95 to core 1");
        by_engine.entry(engine[n]).or_default().push(spans[n]);
    }
    assert_eq!(by_engine.len(), 32);
    for spans in by_engine.values_mut() {
        spans.sort_unstable();
        assert!(spans.windows(2).all(|w| w[0].1 <= w[1].0));
    }
}

#[test]
fn summary_agrees_with_a_count_of_every_nanosecond() {
    let (_dir, profile) = demo();
    let summary = Rows::read(&profile, "Summary");
    let instr = Instructions::read(&profile);
    let executions = Rows::read(&profile, "ExecutionInfo");
    let first = executions.ints("execution_start_ts")[0];
    let last = *executions.ints("execution_end_ts").last().unwrap();
    let near = |name: &str, expected: f64| {
        let found = summary.figure(name);
        assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{name}: {found}, not {expected}");
    };
    // Naive on purpose: one flag per nanosecond.
    let covered = |spans: &mut dyn Iterator<Item = (i64, i64)>| {
        let mut busy = vec![false; (last - first) as usize];
        for (start, end) in spans {
            busy[(start - first) as usize..(end - first) as usize].fill(true);
        }
        busy.into_iter().filter(|b| *b).count() as f64
    };
    near("total_time", (last - first) as f64 * 1e-9);
    for engine in ["Tensor", "Vector", "Scalar", "GpSimd", "Sync"] {
        let mine: Vec<usize> = (0..instr.len()).filter(|n| instr.engine[*n] == engine).collect();
        let name = engine.to_lowercase();
        near(&format!("{name}_engine_instruction_count"), mine.len() as f64);
        let active =
            covered(&mut mine.iter().filter(|n| instr.opcode[**n] != "EVENT_SEMAPHORE").map(|n| instr.span[*n]));
        near(&format!("{name}_engine_active_time"), active * 1e-9);
        near(&format!("{name}_engine_active_time_percent"), active / (last - first) as f64);
    }
    let packets = Rows::read(&profile, "DmaPacket");
    near("dma_active_time", covered(&mut packets.spans().into_iter()) * 1e-9);
    near("cc_op_active_time", covered(&mut Rows::read(&profile, "CcOp").spans().into_iter()) * 1e-9);
    let rows = Rows::read(&profile, "Instruction");
    let sum = |name: &str| rows.ints(name).into_iter().sum::<i64>() as f64;
    for (figure, column) in [
        ("hardware_flops", "raw_flops"),
        ("transpose_flops", "flops_transpose"),
        ("spill_save_bytes", "spill_save_bytes"),
        ("spill_reload_bytes", "spill_reload_bytes"),
        ("sbuf_read_bytes", "sbuf_read_bytes"),
        ("psum_write_bytes", "psum_write_bytes"),
        ("weight_queue_bytes", "weight_queue_bytes"),
    ] {
        near(figure, sum(column));
        assert!(sum(column) > 0.0, "{column} occurs");
    }
    let peak = 2.0 * 2.0 * 128.0 * 128.0 * 2.4e9;
    near("hfu_estimated_percent", sum("raw_flops") / peak / ((last - first) as f64 * 1e-9));
}

#[test]
fn the_longest_gap_of_the_matrix_track_leads_to_the_tiny_transfers() {
    let (_dir, profile) = demo();
    let instr = Instructions::read(&profile);
    let on = |track: &str, n: &usize| instr.track[*n] == track && instr.core[*n] == 0 && instr.execution[*n] == 0;
    let matmuls: Vec<usize> = (0..instr.len()).filter(|n| on("TensorMatrix", n)).collect();
    let gap = matmuls.windows(2).max_by_key(|w| instr.span[w[1]].0 - instr.span[w[0]].1).unwrap();
    let (from, to) = (instr.span[gap[0]].1, instr.span[gap[1]].0);
    assert!((20_000..50_000).contains(&(to - from)), "{} ns", to - from);
    // On Tensor, the first thing after the gap is a short wait for Sync's queue.
    let within = |n: &usize| (from..to).contains(&instr.span[*n].0);
    let wait =
        (0..instr.len()).find(|n| on("Tensor", n) && within(n) && instr.opcode[*n] == "EVENT_SEMAPHORE").unwrap();
    let (semaphore, _) = instr.condition(wait).unwrap();
    assert_eq!(semaphore, "S[34] (qSyncDynamicHW)");
    assert!(instr.span[wait].0 - from > 20_000 && instr.span[wait].1 - instr.span[wait].0 < 60);
    // Sync issued that transfer late, after waiting for Scalar's queue.
    let issue = (0..instr.len())
        .rfind(|n| {
            on("Sync", n) && instr.span[*n].0 < instr.span[wait].0 && instr.operands[*n].contains("semaphore=34 ")
        })
        .unwrap();
    let before = (0..instr.len()).find(|n| on("Sync", n) && instr.pc[*n] == instr.pc[issue] - 1).unwrap();
    assert!(instr.condition(before).unwrap().0.ends_with("(qScalarDynamicHW)"), "{}", instr.operands[before]);
    // And Scalar spent the gap on transfers of less than 512 bytes.
    let tiny: Vec<usize> = (0..instr.len())
        .filter(|n| on("Scalar", n) && within(n) && instr.operands[*n].contains("[1,1] src_addr_imm"))
        .filter(|n| bytes_of(&instr.operands[*n]) < 512)
        .collect();
    assert!(tiny.len() >= 20, "{} tiny transfers", tiny.len());
    let spent: i64 = tiny.iter().map(|n| instr.span[*n].1 - instr.span[*n].0).sum();
    assert!(spent * 10 > (to - from) * 8, "{spent} of {}", to - from);
}

/// Bytes of a transfer of one descriptor.
fn bytes_of(operands: &str) -> i64 {
    let (_, rest) = operands.split_once("src_elem_size=").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn throttling_slows_matrix_multiplications() {
    let (_dir, profile) = demo();
    let instr = Instructions::read(&profile);
    let throttle = Rows::read(&profile, "Throttle");
    let (at, length, k, n) =
        (throttle.ints("timestamp"), throttle.ints("duration"), throttle.ints("k"), throttle.ints("n"));
    let limited: Vec<usize> = (0..throttle.len()).filter(|i| k[*i] < n[*i]).collect();
    assert_eq!(limited.len(), 2, "one stretch per core");
    let (start, end) = (at[limited[0]], at[limited[0]] + length[limited[0]]);
    let mean = |inside: bool| {
        let full = |i: &usize| instr.track[*i] == "TensorMatrix" && instr.operands[*i].ends_with("128*512");
        let mine: Vec<i64> = (0..instr.len())
            .filter(|i| full(i) && (start..end).contains(&instr.span[*i].0) == inside)
            .map(|i| instr.span[i].1 - instr.span[i].0)
            .collect();
        assert!(mine.len() > 40, "{} multiplications", mine.len());
        mine.iter().sum::<i64>() as f64 / mine.len() as f64
    };
    let ratio = mean(true) / mean(false);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn source_lines_exist_and_carry_their_mark() {
    let (dir, profile) = demo();
    let rows = Rows::read(&profile, "Instruction");
    let places: BTreeSet<String> = rows.texts("bir_debug_info_source_location").into_iter().collect();
    assert!(places.len() > 20, "{places:?}");
    for place in places.iter().filter(|p| !p.is_empty()) {
        let (file, line) = place.rsplit_once(':').unwrap();
        let text = fs::read_to_string(dir.path().join(file)).unwrap();
        assert!(text.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap().contains("# @"), "{place}");
    }
    let kernel: BTreeSet<String> = rows.texts("nki_source_location").into_iter().filter(|p| !p.is_empty()).collect();
    assert!(kernel.len() >= 7 && kernel.iter().all(|p| p.starts_with("src/attention_kernel.py:")), "{kernel:?}");
}

#[test]
fn a_table_with_uneven_columns_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let table = table::Table::new("Odd").col("a", [1_i64, 2]).col("b", ["x"]);
    let message = table.write(dir.path()).unwrap_err().to_string();
    assert!(message.contains("Odd.parquet"), "{message}");
}
