//! The demo and generated profiles: every event in them has a true cause.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use neuron_scope::demo;
use neuron_scope::model::Window;
use neuron_scope::query::blame::{Blame, Blamed};
use neuron_scope::query::causes::{Actor, Asking, How};
use neuron_scope::query::dependencies::Kind;
use neuron_scope::query::gaps;
use neuron_scope::query::index::CauseIndex;
use neuron_scope::query::residual::Residual;
use neuron_scope::query::whatif::Changed;
use neuron_scope::store::Store;

use super::{corpus, open};

fn demo() -> (tempfile::TempDir, Store, CauseIndex) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = demo::write(dir.path()).expect("the demo");
    let (store, index) = open(&path);
    (dir, store, index)
}

#[test]
fn the_demo_tells_why_everything_waited() {
    let (_dir, store, index) = demo();
    assert!(index.notes.is_empty(), "{:?}", index.notes);
    let asking = Asking::new(&store, &index);
    let events = store.table("Instruction").expect("instructions");
    let executions = store.table("ExecutionInfo").map_or(1, |t| t.len());
    let (mut semaphores, mut unexplained) = (0, 0);
    for e in 0..events.len() as u32 {
        let actor = Actor::Instruction(e);
        let causes = asking.causes(actor);
        for cause in &causes.causes {
            assert!(cause.satisfied <= events.start(e));
            if let (How::Semaphore { .. }, Some(by)) = (cause.how, cause.actor) {
                semaphores += 1;
                assert!(asking.span(by).1 <= events.start(e), "{}", asking.name(actor));
            }
        }
        assert!(asking.blocker(actor).is_none_or(|(_, by)| !asking.passes(by)));
        // Nothing but the pause between executions is without a cause.
        if matches!(asking.start_residual(actor), Some((_, Residual::Unexplained))) {
            unexplained += 1;
        }
    }
    assert!(semaphores > 500, "{semaphores}");
    let engines = index.streams.len();
    assert!(unexplained <= engines * executions, "{unexplained} of {} starts", events.len());
    for group in &events.groups {
        let lane = group.sequence.of(events);
        let whole = store.whole();
        let blame = Blame::new(&asking, lane, whole);
        let idle: u64 = blame.shares(whole).iter().map(|s| s.ns).sum();
        assert_eq!(idle, whole.length() - lane.active(whole));
    }
}

#[test]
fn transfers_are_made_of_their_packets() {
    let (_dir, store, index) = demo();
    let asking = Asking::new(&store, &index);
    let mut packets = 0;
    for t in 0..index.transfers.list.len() as u32 {
        let transfer = index.transfers.get(t);
        let own = asking.packets_of(t);
        assert!(own.iter().all(|p| asking.actor(*p) == Actor::Transfer(t)));
        let spans: Vec<(i64, i64)> =
            own.iter().map(|p| (store.table_of(*p).start(p.event), store.table_of(*p).end(p.event))).collect();
        assert_eq!(spans.iter().map(|s| s.0).min(), Some(transfer.start));
        assert_eq!(spans.iter().map(|s| s.1).max(), Some(transfer.end));
        packets += own.len();
    }
    assert_eq!(packets, store.table("DmaPacket").expect("packets").len());
}

#[test]
fn the_demos_critical_path_leads_through_all_that_works() {
    let (_dir, store, index) = demo();
    let asking = Asking::new(&store, &index);
    let path = asking.critical_path().expect("something ran");
    assert_eq!(path.chain.total(), store.whole().length());
    let share = |kind: &str| {
        let ns = path.by_kind.iter().find(|(name, _)| name == kind).map_or(0, |(_, ns)| *ns);
        ns as f64 / path.chain.total() as f64
    };
    assert!(share("compute") > 0.3 && share("transfer") > 0.2 && share("dispatch") > 0.02, "{:?}", path.by_kind);
    assert!(share("semaphore") > 0.001 && share("idle") < 0.1, "{:?}", path.by_kind);
    // Through collective operations, and over barriers from core to core.
    assert!(path.by_track.iter().any(|(track, _)| track.starts_with("CC ops")), "{:?}", path.by_track);
    let cores: BTreeSet<Option<i64>> = path.chain.actors.iter().map(|a| asking.core(*a)).collect();
    assert!(cores.contains(&Some(0)) && cores.contains(&Some(1)), "{cores:?}");
    assert!(!path.chain.actors.iter().any(|a| asking.passes(*a)));

    let collectives = &index.collectives.list;
    assert!(!collectives.is_empty());
    for own in collectives {
        let actor = Actor::Other(own.event);
        let issuer = own.issuer.expect("an instruction started it");
        assert_eq!(store.table("Instruction").expect("a table").event_name(issuer), "WRITE");
        assert!(asking.unblocked(Actor::Instruction(issuer)).contains(&actor));
        assert_eq!(asking.blocker(actor).map(|(_, by)| by), Some(Actor::Instruction(issuer)));
        assert!(!asking.unblocked(actor).is_empty(), "the engines wait for it");
    }
}

#[test]
fn a_quicker_demo_is_estimated_over_barriers_and_collective_operations() {
    let (_dir, store, index) = demo();
    let asking = Asking::new(&store, &index);
    let path = asking.critical_path().expect("something ran");
    let estimate = |name: &str| asking.what_if(&Changed::Name(name.into()), 0.5, &AtomicBool::new(false)).expect(name);
    let on_path = |name: &str| path.by_opcode.iter().find(|(own, _)| own == name).map_or(0, |(_, ns)| *ns);
    for name in ["MATMUL", "ACTIVATE", "TENSOR_TENSOR_REDUCE"] {
        let found = estimate(name);
        assert!(found.error.abs() < 0.01, "{name}: {found:?}");
        // What is saved is part of what it had on the critical path, though others may take its place there.
        let saved = found.recorded - found.estimate;
        assert!(saved > 0 && saved <= on_path(name), "{name}: {saved} of {}", on_path(name));
    }
    assert!(estimate("MATMUL").estimate * 100 < store.whole().length() * 95);
}

#[test]
fn the_demos_transfers_have_whole_lives() {
    let (_dir, store, index) = demo();
    let asking = Asking::new(&store, &index);
    let rows = store.table("DmaPacketAggregated").expect("transfers").len();
    assert_eq!(index.transfers.list.len(), rows);
    let mut woke = 0;
    for t in 0..rows as u32 {
        let life = asking.life(t);
        let (_, issued) = life.issued.expect("an instruction started it");
        let completed = life.completed.expect("its semaphore rose");
        assert!(issued <= life.started && life.ended <= completed, "{life:?}");
        assert!(life.woke.iter().all(|(e, _)| store.table("Instruction").expect("a table").end(*e) >= completed));
        woke += usize::from(!life.woke.is_empty());
        let stages = life.stages(Actor::Transfer(t));
        assert!(stages.windows(2).all(|w| w[0].end == w[1].start));
        let issuer = asking.neighbours(Actor::Transfer(t)).predecessors;
        let trigger =
            issuer.iter().find(|d| d.recorded.iter().any(|(kind, name)| *kind == Kind::DmaTrigger && name.is_none()));
        assert_eq!(trigger.map(|d| d.actor), life.issued.map(|(e, _)| Actor::Instruction(e)));
    }
    // Outputs and what is spilled for good wake nobody.
    assert!(woke * 3 > rows, "{woke} of {rows} wake someone");
}

#[test]
fn what_blocked_an_event_unblocked_it() {
    let (_dir, store, index) = demo();
    let asking = Asking::new(&store, &index);
    let events = store.table("Instruction").expect("instructions");
    let (mut found, mut all) = (0, 0);
    for e in (0..events.len() as u32).step_by(5) {
        let actor = Actor::Instruction(e);
        if asking.passes(actor) {
            continue;
        }
        let Some((_, by)) = asking.blocker(actor) else { continue };
        all += 1;
        found += usize::from(asking.unblocked(by).contains(&actor));
    }
    assert!(all > 500 && found * 100 >= all * 99, "{found} of {all}");
}

#[test]
fn banks_are_derived_where_flow_does_not_link_them() {
    let Some(old) = corpus("parquet/schema_7_4/llama_tp8_nc0@latest") else { return };
    let Some(new) = corpus("parquet/base/llama_tp8_nc0@latest") else { return };
    let edges = |path: &std::path::Path, recorded: bool| {
        let (store, index) = open(path);
        let asking = Asking::new(&store, &index);
        let id = |actor| store.id_of(asking.event(actor));
        let mut found = BTreeSet::new();
        for e in 0..store.table("Instruction").expect("instructions").len() as u32 {
            let actor = Actor::Instruction(e);
            for dependency in asking.neighbours(actor).predecessors {
                let mut kinds: Vec<&Kind> = dependency.derived.iter().collect();
                if recorded {
                    kinds = dependency.recorded.iter().map(|(kind, _)| kind).collect();
                }
                for kind in kinds {
                    if let Kind::SameBank(banks) = kind {
                        assert!(*banks != 0, "the bank is known");
                        found.insert((id(dependency.actor), id(actor), *banks));
                    }
                }
            }
        }
        found
    };
    let (derived, recorded) = (edges(&old, false), edges(&new, true));
    assert!(recorded.len() > 100);
    let only =
        |a: &BTreeSet<(i128, i128, u8)>, b: &BTreeSet<(i128, i128, u8)>| a.difference(b).copied().collect::<Vec<_>>();
    assert_eq!((only(&derived, &recorded), only(&recorded, &derived)), (Vec::new(), Vec::new()), "derived, recorded");
}

#[test]
fn semaphores_can_be_followed() {
    let (_dir, store, index) = demo();
    let asking = Asking::new(&store, &index);
    let whole = store.whole();
    let (mut met, mut raised, mut changes) = (0, 0, 0);
    for key in asking.semaphores() {
        let followed = asking.follow(key, whole, usize::MAX);
        assert_eq!((followed.before, followed.left_out), (None, 0));
        for step in &followed.steps {
            changes += 1;
            if let Some(by) = step.by {
                raised += 1;
                assert!(asking.span(by).1 <= step.time + 100, "{step:?}");
            }
            for &waiter in &step.met {
                met += 1;
                let (waits, _) = asking.semaphores_of(waiter);
                assert!(waits.iter().any(|(k, c)| *k == key && c.is_met(step.value)), "{step:?}");
            }
        }
        let half = Window::new(whole.start, whole.start + whole.length() as i64 / 2);
        let first = asking.follow(key, half, 3);
        let all = followed.steps.iter().filter(|s| s.time < half.end).count();
        assert_eq!(first.steps[..], followed.steps[..all.min(3)]);
        assert_eq!(first.left_out, all - all.min(3));
    }
    assert!(met > 500 && raised * 10 > changes * 8, "{met} met, {raised} of {changes} raised by something known");
}

#[test]
fn generated_profiles_wait_as_spans_and_are_explained_all_the_same() {
    let Some(path) = corpus("parquet/lnc1/llama_tp8_nc0@latest") else { return };
    let (store, index) = open(&path);
    let asking = Asking::new(&store, &index);
    let events = store.table("Instruction").expect("instructions");
    let mut blamed: BTreeSet<&str> = BTreeSet::new();
    for group in &events.groups {
        let lane = group.sequence.of(events);
        for gap in gaps::gaps(lane, store.whole(), store.whole()) {
            let chain = asking.gap_chain(&gap);
            assert_eq!(chain.total(), gap.length());
            for piece in &chain.pieces {
                blamed.insert(match asking.blamed(piece) {
                    Blamed::Engine(_) => "engine",
                    Blamed::Queue(_) | Blamed::Group(..) => "queue",
                    Blamed::Bank(..) => "bank",
                    Blamed::Semaphore(_) => "semaphore",
                    Blamed::Unrecorded(_) => "unrecorded",
                    Blamed::Dispatch => "dispatch",
                    Blamed::Nothing => "nothing",
                });
            }
        }
    }
    for kind in ["engine", "queue", "semaphore", "dispatch"] {
        assert!(blamed.contains(kind), "{blamed:?}");
    }
}

#[test]
fn damaged_and_hostile_profiles_are_asked_without_harm() {
    use neuron_scope::source::{Opening, discover, open};

    let Some(root) = corpus("parquet") else { return };
    let cancel = AtomicBool::new(false);
    let mut asked = 0;
    for case in std::fs::read_dir(root).into_iter().flatten().flatten() {
        for found in discover(&case.path()).into_iter().flatten() {
            let Ok(store) = open(&found, &Opening { cancel: &cancel, report: &|_| {}, cache: None }) else { continue };
            let Ok(index) = CauseIndex::build(&store, &cancel) else { continue };
            let asking = Asking::new(&store, &index);
            let whole = store.whole();
            let range = asking.range_chain(whole.start, whole.end);
            assert_eq!(range.total(), whole.length(), "{}", found.path.display());
            let events = store.table("Instruction").expect("it has an index");
            for e in (0..events.len() as u32).step_by(397) {
                let actor = Actor::Instruction(e);
                let chain = asking.chain(actor, i64::MIN, 1_000);
                assert_eq!(chain.total(), events.start(e).abs_diff(chain.from), "{}", found.path.display());
                chain.pieces.iter().for_each(|p| drop(asking.piece_text(p)));
                drop((asking.why(actor), asking.neighbours(actor), asking.effects(actor), asking.choices(actor)));
            }
            for t in (0..index.transfers.list.len() as u32).step_by(31) {
                drop((asking.life(t), asking.why(Actor::Transfer(t)), asking.reach(Actor::Transfer(t), 3, 100)));
            }
            for group in &events.groups {
                let lane = group.sequence.of(events);
                let idle: u64 = Blame::new(&asking, lane, whole).shares(whole).iter().map(|s| s.ns).sum();
                assert_eq!(idle, whole.length() - lane.active(whole), "{}", found.path.display());
            }
            // Slow in a test build, and only times can harm it.
            let name = found.path.to_string_lossy();
            if ["times_", "end_before", "all_at_once"].iter().any(|case| name.contains(case)) {
                let changed = Changed::Name("MATMUL".into());
                assert!(asking.what_if(&changed, 0.5, &cancel).is_some(), "{name}");
            }
            asked += 1;
        }
    }
    assert!(asked > 40, "{asked}");
}
