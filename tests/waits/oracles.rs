//! The real captures, as older tools wrote them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use neuron_scope::model::Window;
use neuron_scope::query::blame::{Blame, Blamed};
use neuron_scope::query::causes::{Actor, Asking, Basis, How};
use neuron_scope::query::chain::{Chain, PieceKind};
use neuron_scope::query::gaps;
use neuron_scope::query::locate::{self, Subject};
use neuron_scope::query::residual::{ORDINARY, Residual};
use neuron_scope::store::Store;

use super::{corpus, open, worked_example};

fn oracles() -> Vec<PathBuf> {
    files(|file| file.ends_with("oracle.json"))
}

/// The raw captures, of all versions.
fn raw() -> Vec<PathBuf> {
    files(|file| file.extension().is_some_and(|e| e == "ntff"))
}

fn files(wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Some(root) = corpus("neuron") else { return Vec::new() };
    let list = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = list(&root).flat_map(|case| list(&case)).filter(|file| wanted(file)).collect();
    found.sort();
    found
}

fn subject(store: &Store, name: &str) -> Subject {
    locate::parse(name).and_then(|name| locate::resolve(store, &name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Pieces lie end to end from `end` back to `from`.
fn assert_end_to_end(chain: &Chain, end: i64) {
    let mut at = end;
    for piece in &chain.pieces {
        assert_eq!(piece.end, at, "{piece:?}");
        assert!(piece.start < piece.end, "{piece:?}");
        at = piece.start;
    }
    assert_eq!(at, chain.from);
}

#[test]
fn the_worked_example_is_explained() {
    worked_example().iter().for_each(|path| explain_worked_example(path));
}

fn explain_worked_example(path: &Path) {
    let (store, index) = open(path);
    let asking = Asking::new(&store, &index);
    let Subject::Gap(track, gap) = subject(&store, "gap@50us@TensorMatrix(nc0)") else { panic!("no gap") };
    assert_eq!(track.name, "TensorMatrix(nc0)");
    assert_eq!(gap.end, 69_474);
    assert_eq!(gap.length(), 44_797);
    let chain = asking.gap_chain(&gap);
    assert_end_to_end(&chain, gap.end);
    assert_eq!(chain.total(), gap.length());

    // S[34] reached 16 at 69,338 ns, raised by a transfer that Sync's DMA_DIRECT2D pc 61 issued at 65,642 ns, which
    // waited for S[50].
    let piece = |kind, start: i64| {
        let found = chain.pieces.iter().find(|p| p.kind == kind && p.start == start);
        found.unwrap_or_else(|| panic!("no {kind:?} from {start}"))
    };
    let let_go = piece(PieceKind::Dispatch, 69_338);
    let text = asking.piece_text(let_go);
    assert_eq!(text, "EVENT_SEMAPHORE pc 110 on Tensor(nc0) let go by S[34] (qSyncDynamicHW)>=16");
    let transfer = piece(PieceKind::Transfer, 67_024);
    let text = asking.piece_text(transfer);
    assert!(text.starts_with("transfer on qSyncDynamicHW(nc0) from pc 61, 512 KiB"), "{text}");
    // The capture itself records that it was a transfer that raised the semaphore.
    let basis = if path.ends_with("oracle.json") { Basis::Derived } else { Basis::Recorded };
    assert_eq!((transfer.end, transfer.basis), (68_968, basis));
    let issue = piece(PieceKind::Dispatch, 65_642);
    assert_eq!(asking.piece_text(issue), "issued by DMA_DIRECT2D pc 61 on Sync(nc0)");
    let waited = piece(PieceKind::Dispatch, 65_625);
    assert_eq!(
        asking.piece_text(waited),
        "DMA_DIRECT2D pc 61 on Sync(nc0) started by S[50] (qScalarDynamicHW)>=16; Sync(nc0) had issued nothing since 39045 ns"
    );

    // The footer's line, and a step by keys: what blocked, and what that unblocked.
    let matmul = gap.next.expect("an instruction ends it");
    let weights = asking.blocker(Actor::Instruction(matmul)).expect("a cause").1;
    assert_eq!(asking.name(weights), "LDWEIGHTS pc 111 on Tensor(nc0)");
    let why = asking.why(weights);
    assert_eq!(why.text, "S[34] (qSyncDynamicHW)>=16 ← transfer on qSyncDynamicHW(nc0) from pc 61");
    assert_eq!((why.lag, why.basis, why.residual), (69_443 - 69_338, basis, Residual::Ordinary));
    let dma = why.by.expect("a transfer");
    assert!(asking.unblocked(dma).contains(&weights));
    let sync = asking.blocker(dma).expect("an instruction").1;
    assert_eq!(asking.name(sync), "DMA_DIRECT2D pc 61 on Sync(nc0)");
    assert!(asking.unblocked(sync).contains(&dma), "among others it unblocked Sync's next instruction");

    // Its life.
    let Actor::Transfer(t) = dma else { panic!("{dma:?}") };
    let life = asking.life(t);
    assert_eq!((life.issued.map(|i| i.1), life.started, life.ended), (Some(65_642), 67_024, 68_968));
    assert_eq!((life.completed, life.woke.first().map(|w| w.1)), (Some(69_338), Some(69_366)));
    assert_eq!(life.bytes, 128 * 4096 + 16 * 4, "and a write to the semaphore per engine");
    let stages = life.stages(dma);
    assert!(stages.windows(2).all(|w| w[0].end == w[1].start));
    assert_eq!((stages[0].start, stages[stages.len() - 1].end), (65_642, 69_366));
}

/// Reductions whose start follows the change of a semaphore by 23 or 24 ns each time, while their engine had taken in
/// the data of the one ahead some 10 ns before, now more, now less: the semaphore bound them.
#[test]
fn a_semaphore_that_changed_just_before_the_start_bound_it() {
    let Some(path) = corpus("neuron/v6_attention_baseline_bf16_s1024/oracle.json") else { return };
    let (store, index) = open(&path);
    let asking = Asking::new(&store, &index);
    for pc in 94..=108 {
        let Subject::Event(event) = subject(&store, &format!("pc:{pc}@Vector(nc0)")) else { panic!("no event") };
        let why = asking.why(asking.actor(event));
        let by = why.by.map(|by| asking.name(by)).unwrap_or_default();
        assert_eq!(why.text, format!("S[4] (Scalar)>={} ← {by}", pc - 84));
        assert!(by.contains(" on Scalar") && (23..=24).contains(&why.lag), "{pc}: {why:?}");
    }
}

#[test]
fn every_idle_nanosecond_has_one_cause() {
    for path in oracles().into_iter().chain(raw()) {
        let (store, index) = open(&path);
        let asking = Asking::new(&store, &index);
        let whole = store.whole();
        let events = store.table("Instruction").expect("instructions");
        for group in &events.groups {
            let lane = group.sequence.of(events);
            let blame = Blame::new(&asking, lane, whole);
            let mut at = whole.start;
            let mut idle = 0;
            for gap in gaps::gaps(lane, whole, whole) {
                assert!(gap.start >= at);
                at = gap.end;
                let spans: Vec<_> = blame.spans().iter().filter(|s| s.end > gap.start && s.start < gap.end).collect();
                assert_eq!((spans[0].start, spans[spans.len() - 1].end), (gap.start, gap.end));
                assert!(spans.windows(2).all(|w| w[0].end == w[1].start), "{}: {gap:?}", path.display());
                idle += gap.length();
            }
            assert_eq!(idle, whole.length() - lane.active(whole), "{} {:?}", path.display(), group.key);
            // Any window adds up.
            for window in [whole, Window::new(whole.start + 7_000, whole.end.min(whole.start + 31_337))] {
                let shares = blame.shares(window);
                let sum: u64 = shares.iter().map(|s| s.ns).sum();
                assert_eq!(sum, window.length() - lane.active(window), "{} {:?}", path.display(), group.key);
                let parts: f64 = shares.iter().map(|s| s.share).sum();
                assert!(shares.is_empty() || (parts - 1.0).abs() < 1e-9);
            }
            for piece in gaps::gaps(lane, whole, whole).flat_map(|gap| asking.gap_chain(&gap).pieces) {
                let wait = piece.actor.is_some_and(|a| asking.passes(a));
                let blamed = asking.blamed(&piece);
                let of_dispatch = matches!(blamed, Blamed::Dispatch | Blamed::Unrecorded(_) | Blamed::Nothing);
                assert!(!wait || of_dispatch, "a wait is blamed: {piece:?}");
            }
        }
    }
}

#[test]
fn starts_have_causes_and_what_is_left_has_a_name() {
    starts_have_causes(&oracles());
    // Version 6 only: up to version 5 semaphore records are lost.
    let recent: Vec<PathBuf> = raw().into_iter().filter(|p| p.to_string_lossy().contains("/v6_")).collect();
    starts_have_causes(&recent);
}

fn starts_have_causes(paths: &[PathBuf]) {
    let mut by_cause: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut by_residual: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut first = 0;
    for path in paths {
        let (store, index) = open(path);
        assert!(index.notes.is_empty(), "{:?}", index.notes);
        let asking = Asking::new(&store, &index);
        let events = store.table("Instruction").expect("instructions");
        for e in 0..events.len() as u32 {
            let actor = Actor::Instruction(e);
            let causes = asking.causes(actor);
            let start = events.start(e);
            for cause in &causes.causes {
                assert!(cause.satisfied <= start);
                let ended = !matches!(cause.how, How::Issue | How::Occupied | How::Dependency(_));
                if let (true, Some(by)) = (ended, cause.actor) {
                    // An EVENT_SEMAPHORE changes its semaphore up to 100 ns before it ends.
                    let early = if asking.passes(by) { 100 } else { 10 };
                    assert!(asking.span(by).1 <= start + early, "{} {}", path.display(), asking.name(actor));
                }
            }
            if let Some((_, by)) = asking.blocker(actor) {
                assert!(!asking.passes(by), "a wait is the answer");
            }
            let Some(binding) = causes.binding() else {
                first += 1;
                continue;
            };
            let how = match binding.how {
                How::Order => "engine order",
                How::Issue => "issue order (pipelined)",
                How::Occupied => "engine occupied (inferred)",
                How::Semaphore { .. } => "semaphore or event",
                How::Dependency(_) => "declared dependency",
                How::Trigger | How::Queued => panic!("of a transfer"),
            };
            let lag = (start - binding.satisfied) as u64;
            by_cause.entry(how).or_default().push(lag);
            let residual = asking.residual(actor, &causes, lag);
            if residual != Residual::Ordinary {
                let name = format!("{residual:?}").split('(').next().unwrap_or_default().to_owned();
                by_residual.entry(name).or_default().push(lag);
            }
        }
    }
    let all: Vec<u64> = by_cause.values().flatten().copied().collect();
    if all.is_empty() {
        return;
    }
    let within = |most: u64| all.iter().filter(|l| **l <= most).count() as f64 / all.len() as f64;
    println!("{} starts, {first} the first of their engine", all.len());
    println!("within 100 ns {:.1} %, within 300 ns {:.1} %", 100.0 * within(100), 100.0 * within(ORDINARY));
    let line = |name: &str, lags: &mut Vec<u64>| {
        lags.sort_unstable();
        let share = 100.0 * lags.len() as f64 / all.len() as f64;
        let at = |part: usize| lags[(lags.len() - 1) * part / 100];
        println!(
            "{name:<28}{:>6} {share:>5.1} %  median {:>5}  90 % {:>5}  max {:>5} ns",
            lags.len(),
            at(50),
            at(90),
            at(100)
        );
    };
    by_cause.iter_mut().for_each(|(name, lags)| line(name, lags));
    println!("above {ORDINARY} ns:");
    by_residual.iter_mut().for_each(|(name, lags)| line(name, lags));
    assert!(within(ORDINARY) >= 0.95);
    let named = ["Descriptors", "Fixed", "Occupied", "Unrecorded"];
    assert!(by_residual.keys().all(|k| named.contains(&k.as_str())), "{:?}", by_residual.keys());
}

#[test]
fn chains_lead_to_the_beginning() {
    for path in oracles().into_iter().chain(raw()) {
        let (store, index) = open(&path);
        let asking = Asking::new(&store, &index);
        let events = store.table("Instruction").expect("instructions");
        for e in (0..events.len() as u32).step_by(7) {
            let chain = asking.chain(Actor::Instruction(e), i64::MIN, 100_000);
            assert_end_to_end(&chain, events.start(e));
            assert_eq!(chain.total(), (events.start(e) - chain.from) as u64);
            assert!(chain.actors.iter().skip(1).all(|a| !asking.passes(*a)));
        }
        let path_of = asking.critical_path().expect("something ran");
        let whole = store.whole();
        assert_end_to_end(&path_of.chain, whole.end);
        assert_eq!(path_of.chain.from, whole.start);
        for totals in [&path_of.by_track, &path_of.by_opcode, &path_of.by_layer, &path_of.by_line, &path_of.by_kind] {
            assert_eq!(totals.iter().map(|t| t.1).sum::<u64>(), whole.length());
        }
    }
}

#[test]
fn replaying_the_same_run_comes_out_near_it() {
    use neuron_scope::query::whatif::Changed;
    let cancel = std::sync::atomic::AtomicBool::new(false);
    for path in oracles() {
        let (store, index) = open(&path);
        let asking = Asking::new(&store, &index);
        let estimate = |share| asking.what_if(&Changed::Name("MATMUL".into()), share, &cancel).expect("MATMULs ran");
        let (same, half, none) = (estimate(1.0), estimate(0.5), estimate(0.0));
        println!(
            "{}: error {:+.2} %, MATMUL at half {} of {} ns",
            path.display(),
            100.0 * same.error,
            half.estimate,
            half.recorded
        );
        assert_eq!((same.changed, same.estimate), (same.replayed, same.recorded));
        assert!(same.error.abs() < 0.05, "{}: {}", path.display(), same.error);
        let whole = store.whole().length();
        assert!(same.recorded.abs_diff(whole) <= whole / 20, "{}: {} of {whole} ns", path.display(), same.recorded);
        assert!(half.estimate < same.estimate && none.estimate <= half.estimate, "{half:?}");
        assert!(asking.what_if(&Changed::Layer("no such layer".into()), 0.5, &cancel).is_none());
    }
}
