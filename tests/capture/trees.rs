//! What lies in a tree, and which program each trace is of.

use neuron_scope::source::capture::{FileKind, Rule};
use neuron_scope::source::ntff::{Head, Ntff};
use neuron_scope::source::{Format, Survey, discover, survey};
use neuron_scope::store::ProfileKind;

use crate::{Tree, idle, neff, ntff};

fn look(tree: &Tree) -> Survey {
    survey(tree.path()).unwrap()
}

/// Name, format and program of each profile.
fn profiles(tree: &Tree) -> Vec<(String, Format, String)> {
    let neff = |path: &Option<std::path::PathBuf>| path.as_ref().map_or_else(String::new, |p| tree.within(p));
    look(tree).found.iter().map(|f| (f.name.clone(), f.format, neff(&f.neff))).collect()
}

#[test]
fn heads_say_what_whole_traces_say() {
    for version in 4..=6 {
        let bytes = ntff(version, 7);
        let head = Head::read(std::io::Cursor::new(&bytes), bytes.len() as u64).unwrap();
        let whole = Ntff::parse(bytes.clone()).unwrap();
        assert_eq!((head.version, &head.uuid, &head.neff_name), (version, &whole.uuid, &whole.neff_name));
        let cores: Vec<_> = head.cores.iter().map(|core| (core.name.as_str(), core.device, core.index)).collect();
        assert_eq!(cores, [("sg00", 0, 4)]);
        assert_eq!(head.executions.len(), usize::from(version == 6));
        assert_eq!((head.bytes, head.needed_bytes), (bytes.len() as u64, bytes.len() as u64), "version {version}");
        assert_eq!(head.instruction_bytes, 10 * 16);
        let bytes = idle(version);
        assert!(Head::read(std::io::Cursor::new(&bytes), bytes.len() as u64).unwrap().is_idle());
    }
}

#[test]
fn every_truncation_of_a_trace_is_an_error_or_noticed() {
    for version in 4..=6 {
        let bytes = ntff(version, 7);
        for cut in (0..bytes.len()).step_by(7) {
            let part = &bytes[..cut];
            let head = Head::read(std::io::Cursor::new(part), cut as u64);
            assert!(head.is_err() || head.is_ok_and(|h| h.needed_bytes > h.bytes), "version {version} cut at {cut}");
        }
    }
}

#[test]
fn a_capture_by_the_runtime_pairs_by_identity_and_hash() {
    let tree = Tree::new()
        .with("i-0a_pid_12/neff_395760.neff", neff(6, 1))
        .with("i-0a_pid_12/395760_instid_0_vnc_0.ntff", ntff(6, 1))
        .with("i-0a_pid_12/395760_instid_0_vnc_1.ntff", ntff(6, 1))
        .with("i-0a_pid_9/neff_395760.neff", neff(6, 2))
        .with("i-0a_pid_9/neff_4.neff", neff(6, 3))
        .with("i-0a_pid_9/395760_instid_0_vnc_0.ntff", ntff(6, 3));
    assert_eq!(
        profiles(&tree),
        [
            ("pid 9 / nc 0 / 395760".into(), Format::Raw, "i-0a_pid_9/neff_4.neff".into()),
            ("pid 12 / nc 0 / 395760".into(), Format::Raw, "i-0a_pid_12/neff_395760.neff".into()),
            ("pid 12 / nc 1 / 395760".into(), Format::Raw, "i-0a_pid_12/neff_395760.neff".into()),
        ]
    );
    let rules: Vec<_> = look(&tree).capture.traces.iter().map(|t| t.program.as_ref().unwrap().rule).collect();
    assert_eq!(rules, [Rule::Uuid; 3]);
}

#[test]
fn each_rule_finds_a_program_where_those_before_it_do_not() {
    let by = |tree: &Tree| {
        let capture = look(tree).capture;
        let trace = &capture.traces[0];
        trace.program.as_ref().map(|p| (tree.within(&p.path), p.rule, trace.is_mismatched()))
    };
    let named = || Tree::new().with("p/12_instid_0_vnc_0.ntff", ntff(5, 1)).with("p/neff_12.neff", neff(5, 2));
    assert_eq!(by(&named()), Some(("p/neff_12.neff".into(), Rule::Name, true)));
    let tree = named().with("elsewhere/x.neff", neff(5, 1));
    assert_eq!(by(&tree), Some(("elsewhere/x.neff".into(), Rule::Uuid, false)));
    let tree = Tree::new().with("profile_nc_0_session_0.ntff", ntff(5, 1)).with("graph.neff", neff(5, 2));
    assert_eq!(by(&tree), Some(("graph.neff".into(), Rule::OnlyOne, true)));
    let tree = tree.with("graph2.neff", neff(5, 3));
    assert_eq!(by(&tree), None);
    let tree = tree.with("graph3.neff", neff(5, 1));
    assert_eq!(by(&tree), Some(("graph3.neff".into(), Rule::Uuid, false)));
}

#[test]
fn what_a_framework_writes_is_recognised_in_any_nesting() {
    let tree = Tree::new()
        .with("deep/er/i-0a_pid_3/20251218_153556/ntrace.pb", "x")
        .with("deep/er/i-0a_pid_3/20251218_153556/trace_info.pb", "x")
        .with("deep/er/i-0a_pid_3/20251218_153556/cpu_util.pb", "x")
        .with("deep/er/i-0a_pid_3/20251218_153556/host_mem.pb", "x")
        .with("deep/er/i-0a_pid_3/20251218_153556/trace.json", "{\"traceEvents\":[]}")
        .with("deep/er/i-0a_pid_3/20251218_153556/memory_snapshot_rank0.pickle", "x")
        .with("deep/er/i-0a_pid_3/20251218_153556/profile_nc_0_session_0.ntff", ntff(6, 1))
        .with("deep/er/i-0a_pid_3/20251218_153556/profile_nc_1_session_0.ntff", "")
        .with("deep/er/i-0a_pid_3/20251218_153556/neff_77_vnc_0.neff", neff(6, 1))
        .with("deep/er/notes.txt", "x");
    let survey = look(&tree);
    let kinds: Vec<_> = survey.capture.files.iter().map(|f| f.kind).collect();
    assert_eq!(
        kinds,
        [
            FileKind::CpuUtil,
            FileKind::HostMemory,
            FileKind::MemorySnapshot,
            FileKind::Neff,
            FileKind::SystemTrace,
            FileKind::Ntff,
            FileKind::Ntff,
            FileKind::FrameworkTrace,
            FileKind::TraceInfo,
        ]
    );
    let found: Vec<_> =
        survey.found.iter().map(|f| (f.name.as_str(), f.format, f.kind, tree.within(&f.path))).collect();
    let trace = "deep/er/i-0a_pid_3/20251218_153556/profile_nc_0_session_0.ntff".to_owned();
    assert_eq!(
        found,
        [
            ("er / system", Format::Vendor, ProfileKind::System, "deep/er".into()),
            ("nc 0 / session 0", Format::Raw, ProfileKind::Device, trace),
        ],
        "the idle core is no profile"
    );
    let processes = survey.capture.processes();
    assert_eq!(processes.len(), 1);
    assert_eq!(processes[0].cores.keys().copied().collect::<Vec<_>>(), [Some(0), Some(1)]);
}

#[test]
fn a_single_trace_finds_the_program_of_its_process() {
    let tree = Tree::new()
        .with("i-0a_pid_3/t/profile_exec_2.ntff", ntff(6, 1))
        .with("i-0a_pid_3/other/neff_77.neff", neff(6, 1))
        .with("i-0a_pid_3/t/stranger.neff", neff(6, 2));
    let found = discover(&tree.at("i-0a_pid_3/t/profile_exec_2.ntff")).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "profile / exec 2");
    assert_eq!(tree.within(found[0].neff.as_ref().unwrap()), "i-0a_pid_3/other/neff_77.neff");
}

#[test]
fn traces_of_other_versions_are_left_to_the_vendors_tool() {
    let mut other = ntff(6, 1);
    other[0] = 7;
    let tree = Tree::new().with("a.ntff", other).with("a.neff", neff(6, 1));
    assert_eq!(profiles(&tree), [("a".into(), Format::Vendor, "a.neff".into())]);
    let found = discover(tree.path()).unwrap();
    let opening = neuron_scope::source::Opening { cancel: &false.into(), report: &|_| {}, cache: None };
    let problem = neuron_scope::source::open(&found[0], &opening).err().unwrap();
    assert!(problem.message.contains("version") && problem.message.contains("neuron-explorer"), "{}", problem.message);
}

#[cfg(unix)]
#[test]
fn loops_and_locked_directories_cost_only_themselves() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let tree = Tree::new().with("a/x.ntff", ntff(6, 1)).with("a/x.neff", neff(6, 1)).with("locked/y.ntff", "x");
    symlink(tree.path(), tree.at("a/loop")).unwrap();
    symlink(tree.at("nowhere"), tree.at("a/dangling.ntff")).unwrap();
    let mode = |bits| std::fs::set_permissions(tree.at("locked"), std::fs::Permissions::from_mode(bits)).unwrap();
    mode(0o000);
    // Root may read anything.
    let locked = std::fs::read_dir(tree.at("locked")).is_err();
    let survey = look(&tree);
    mode(0o755);
    let names: Vec<_> = survey.found.iter().map(|f| f.name.as_str()).collect();
    if locked {
        assert_eq!(names, ["x"]);
        assert_eq!(survey.problems.len(), 1);
        assert!(survey.problems[0].path.ends_with("locked"));
    } else {
        println!("skipped in part: every directory can be read");
        assert_eq!(names, ["a / x", "locked / y"]);
    }
}

#[test]
fn what_holds_nothing_says_what_was_looked_for() {
    let tree = Tree::new().with("notes.txt", "x");
    let problem = discover(tree.path()).unwrap_err();
    assert!(
        problem.message.contains(".ntff") && problem.message.contains("Instruction.parquet"),
        "{}",
        problem.message
    );
    let tree = Tree::new().with("i-0a_pid_3/profile_nc_0_session_0.ntff", "");
    let problem = discover(tree.path()).unwrap_err();
    assert!(problem.message.contains("none of the 1 device traces"), "{}", problem.message);
    for (name, said) in [("g.neff", "compiled program"), ("ntrace.pb", "name the directory"), ("m.pickle", "snapshot")]
    {
        let tree = Tree::new().with(name, "x");
        let problem = discover(&tree.at(name)).unwrap_err();
        assert!(problem.message.contains(said), "{name}: {}", problem.message);
    }
}

proptest::proptest! {
    #[test]
    fn damaged_heads_are_errors_or_bounded(
        version in 4_u8..=6,
        damage in proptest::collection::vec((128_usize..2000, proptest::prelude::any::<u8>()), 1..20),
    ) {
        let mut bytes = ntff(version, 7);
        for (at, byte) in damage {
            if let Some(old) = bytes.get_mut(at) {
                *old = byte;
            }
        }
        if let Ok(head) = Head::read(std::io::Cursor::new(&bytes), bytes.len() as u64) {
            proptest::prop_assert!(head.cores.len() <= 4096 && head.neff_name.len() <= 3 * 4096);
        }
    }
}

#[test]
fn heads_of_the_corpus_say_what_whole_traces_say() {
    let corpus = std::env::var("NEURON_SCOPE_CORPUS").unwrap_or_else(|_| "../shared/corpus".into());
    let Ok(survey) = survey(&std::path::Path::new(&corpus).join("neuron")) else {
        println!("skipped: there is no corpus");
        return;
    };
    assert!(survey.capture.traces.len() >= 13);
    for trace in &survey.capture.traces {
        let head = trace.head.as_ref().unwrap();
        let whole = Ntff::open(&trace.path).unwrap();
        assert_eq!((head.version, &head.uuid, &head.neff_name), (whole.version, &whole.uuid, &whole.neff_name));
        let cores: Vec<_> = head.cores.iter().map(|core| (&core.name, core.device, core.index)).collect();
        let expected: Vec<_> = whole.cores.iter().map(|core| (&core.name, core.device, core.index)).collect();
        assert_eq!(cores, expected, "{}", trace.path.display());
        assert_eq!(head.bytes, head.needed_bytes, "{}: the data area is tiled", trace.path.display());
        let program = trace.program.as_ref().unwrap();
        assert_eq!(program.rule, Rule::Uuid, "{}", trace.path.display());
    }
    let checked = survey.capture.check();
    assert!(checked.is_empty(), "{checked:?}");
}
