//! Each finding is provoked once; a sound capture gives none.

use neuron_scope::model::{Finding, Severity};
use neuron_scope::source::survey;

use crate::{Tree, idle, neff, ntff, sample};

fn check(tree: &Tree) -> Vec<Finding> {
    survey(tree.path()).unwrap().capture.check()
}

/// Severity, code and file of each.
fn codes(tree: &Tree) -> Vec<(Severity, &'static str, String)> {
    check(tree).iter().map(|f| (f.severity, f.code, tree.within(&f.path))).collect()
}

const P: &str = "i-0a_pid_3";

/// A capture of everything, of two cores.
fn sound() -> Tree {
    let mut tree = Tree::new()
        .with("i-0a_pid_3/neff_12.neff", neff(6, 1))
        .with("i-0a_pid_3/12_instid_0_vnc_0.ntff", ntff(6, 1))
        .with("i-0a_pid_3/12_instid_0_vnc_1.ntff", ntff(6, 1));
    for file in ["ntrace.pb", "trace_info.pb", "cpu_util.pb", "host_mem.pb", "trace.json"] {
        tree = tree.with(&format!("{P}/{file}"), "x");
    }
    tree
}

fn without(files: &[&str]) -> Tree {
    let tree = sound();
    for file in files {
        std::fs::remove_file(tree.at(P).join(file)).unwrap();
    }
    tree
}

fn one(tree: &Tree) -> (Severity, &'static str, String, String) {
    let mut found = check(tree);
    assert_eq!(found.len(), 1, "{found:?}");
    let finding = found.remove(0);
    let message = finding.message();
    (finding.severity, finding.code, tree.within(&finding.path), message)
}

fn assert_says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "{word:?} is missing in {message:?}");
    }
}

#[test]
fn a_sound_capture_gives_no_findings() {
    assert_eq!(codes(&sound()), []);
}

#[test]
fn missing_files_are_named_with_what_would_have_made_them() {
    let (severity, code, path, message) = one(&without(&["trace_info.pb"]));
    assert_eq!((severity, code, path.as_str()), (Severity::Failed, "no-trace-info", P));
    assert_says(&message, &["trace_info.pb", "ntrace.pb"]);
    let (severity, code, ..) = one(&without(&["ntrace.pb"]));
    assert_eq!((severity, code), (Severity::Failed, "no-system-trace"));
    let all = ["ntrace.pb", "trace_info.pb", "cpu_util.pb", "host_mem.pb", "trace.json"];
    let (severity, code, _, message) = one(&without(&all));
    assert_eq!((severity, code), (Severity::Note, "no-system-trace"));
    assert_says(&message, &["fine", "ProfileMode.RUNTIME", "NEURON_RT_INSPECT_ENABLE=1"]);
    let (severity, code, _, message) = one(&Tree::new().with("i-0a_pid_3/trace.json", "x"));
    assert_eq!((severity, code), (Severity::Warning, "nothing-captured"));
    assert_says(&message, &["neither", "NEURON_RT_INSPECT_ENABLE=1"]);
    let (severity, code, _, message) = one(&without(&["cpu_util.pb"]));
    assert_eq!((severity, code), (Severity::Note, "no-cpu-util"));
    assert_says(&message, &["ProfileMode.CPU_UTIL", "NEURON_RT_INSPECT_CPU_UTIL=1"]);
    let (severity, code, _, message) = one(&without(&["host_mem.pb"]));
    assert_eq!((severity, code), (Severity::Note, "no-host-memory"));
    assert_says(&message, &["ProfileMode.HOST_MEMORY", "NEURON_RT_INSPECT_HOST_MEMORY=1"]);
    let (severity, code, _, message) = one(&without(&["trace.json"]));
    assert_eq!((severity, code), (Severity::Note, "no-framework-trace"));
    assert_says(&message, &["export_trace"]);
    let device = ["neff_12.neff", "12_instid_0_vnc_0.ntff", "12_instid_0_vnc_1.ntff"];
    let (severity, code, _, message) = one(&without(&device));
    assert_eq!((severity, code), (Severity::Note, "no-device-trace"));
    assert_says(&message, &["ProfileMode.DEVICE", "NEURON_RT_INSPECT_DEVICE_PROFILE=1"]);
}

#[test]
fn a_lone_pair_is_no_capture_of_the_runtime_and_lacks_nothing() {
    let tree = Tree::new().with("a.neff", neff(5, 1)).with("a.ntff", ntff(5, 1));
    assert_eq!(codes(&tree), []);
}

#[test]
fn empty_files_fail_but_idle_cores_are_fine() {
    let (severity, code, path, message) = one(&sound().with("i-0a_pid_3/ntrace.pb", ""));
    assert_eq!((severity, code), (Severity::Failed, "empty-file"));
    assert_eq!(path, "i-0a_pid_3/ntrace.pb");
    assert_says(&message, &["system trace"]);
    for bytes in [vec![], idle(6)] {
        let tree = sound().with("i-0a_pid_3/12_instid_0_vnc_1.ntff", bytes);
        let (severity, code, _, message) = one(&tree);
        assert_eq!((severity, code), (Severity::Note, "idle-core"));
        assert_says(&message, &["1 of 2", "fine", "NEURON_RT_NUM_CORES"]);
    }
    let tree = sound().with("i-0a_pid_3/12_instid_0_vnc_0.ntff", "").with("i-0a_pid_3/12_instid_0_vnc_1.ntff", idle(6));
    let found = codes(&tree);
    assert_eq!(found[0], (Severity::Failed, "all-empty", P.to_owned()));
}

#[test]
fn a_core_without_even_an_empty_trace_was_not_captured() {
    let tree = sound().with("i-0a_pid_3/12_instid_0_vnc_4.ntff", ntff(6, 1));
    let (severity, code, path, message) = one(&tree);
    assert_eq!((severity, code, path.as_str()), (Severity::Warning, "core-not-captured", P));
    assert_says(&message, &["core 2 to 3", "capture_enabled_for_nc", "NEURON_RT_INSPECT_EVENT_FILTER_NC"]);
}

#[test]
fn another_compilation_fails_with_the_vendors_word_for_it() {
    let (severity, code, path, message) = one(&sound().with("i-0a_pid_3/12_instid_0_vnc_1.ntff", ntff(6, 2)));
    assert_eq!((severity, code), (Severity::Failed, "other-compilation"));
    assert_eq!(path, "i-0a_pid_3/12_instid_0_vnc_1.ntff");
    assert_says(&message, &["ERROR_PROCESS_INCOMPLETE", "neff_12.neff", "TORCH_NEURONX_NEFF_CACHE_DIR"]);
}

#[test]
fn a_trace_without_its_program_fails() {
    let tree = Tree::new().with("profile_nc_0_session_0.ntff", ntff(6, 1));
    let (severity, code, _, message) = one(&tree);
    assert_eq!((severity, code), (Severity::Failed, "no-program"));
    assert_says(&message, &["--neff-cache", "TORCH_NEURONX_NEFF_CACHE_DIR"]);
}

#[test]
fn unreadable_traces_and_programs_fail_each_in_its_own_way() {
    let with = |bytes: &[u8]| one(&Tree::new().with("a.neff", neff(6, 1)).with("a.ntff", bytes));
    let whole = ntff(6, 1);
    let mut other = whole.clone();
    other[0] = 9;
    let (severity, code, _, message) = with(&other);
    assert_eq!((severity, code), (Severity::Failed, "unknown-version"));
    assert_says(&message, &["version 9", "neuron-scope convert"]);
    for cut in [60, 140, whole.len() - 100] {
        let (severity, code, ..) = with(&whole[..cut]);
        assert_eq!((severity, code), (Severity::Failed, "cut-off"), "at {cut}");
    }
    let mut damaged = whole.clone();
    damaged[128] = 0x07;
    assert_eq!(with(&damaged).1, "damaged");
    let program = neff(6, 1);
    let with = |bytes: &[u8]| one(&Tree::new().with("a.neff", bytes).with("a.ntff", &whole)).1;
    assert_eq!(with(&program[..program.len() - 50]), "cut-off");
    assert_eq!(with(&program[..500]), "damaged-program");
}

#[test]
fn a_trace_of_several_programs_says_so() {
    let mut trace = sample::trace(6);
    let (start, end) = trace.execution.unwrap();
    let mut other = trace.uuid;
    other[0] = 9;
    trace.more_executions = vec![(other, end, end + (end - start))];
    let tree = Tree::new().with("s.ntff", trace.bytes()).with("a.neff", neff(6, 7));
    let (severity, code, _, message) = one(&tree);
    assert_eq!((severity, code), (Severity::Warning, "several-programs"));
    assert_says(&message, &["2 executions of 2 programs", "convert"]);

    trace.more_executions[0].0 = trace.uuid;
    let tree = Tree::new().with("s.ntff", trace.bytes()).with("a.neff", neff(6, 7));
    let (severity, code, _, message) = one(&tree);
    assert_eq!((severity, code), (Severity::Note, "several-executions"));
    assert_says(&message, &["2 executions of its program"]);
}

#[test]
fn programs_that_nothing_ran_are_noted_except_in_a_session() {
    let (severity, code, _, message) = one(&sound().with("i-0a_pid_3/neff_13.neff", neff(6, 5)));
    assert_eq!((severity, code), (Severity::Note, "program-without-trace"));
    assert_says(&message, &["1 of 2 programs"]);
    let session = Tree::new()
        .with("profile_nc_0_session_0.ntff", ntff(6, 1))
        .with("neff_12.neff", neff(6, 1))
        .with("neff_13.neff", neff(6, 5));
    assert_eq!(codes(&session), []);
}

/// What is known of a trace once it is read.
fn read(trace: &crate::writer::Trace, program: &[u8]) -> Vec<Finding> {
    let tree = Tree::new().with("s.ntff", trace.bytes()).with("s.neff", program);
    let found = neuron_scope::source::discover(tree.path()).unwrap();
    let opening = neuron_scope::source::Opening { cancel: &false.into(), report: &|_| {}, cache: None };
    let store = neuron_scope::source::open(&found[0], &opening).unwrap();
    neuron_scope::query::check::check(&store)
}

#[test]
fn reading_a_trace_tells_more() {
    let codes = |trace: &crate::writer::Trace, program: &[u8]| {
        read(trace, program).iter().map(|f| (f.severity, f.code)).collect::<Vec<_>>()
    };
    let plain = sample::trace(6);
    let records_lost = (Severity::Warning, "records-lost");
    let old_driver = (Severity::Note, "no-host-dma");
    assert_eq!(codes(&plain, &neff(6, 7)), [records_lost, old_driver], "the sample loses a record on purpose");

    let mut several = plain.clone();
    let (start, end) = several.execution.unwrap();
    several.more_executions = vec![([9; 16], end, end + (end - start))];
    assert!(codes(&several, &neff(6, 7)).contains(&(Severity::Warning, "several-programs")));

    let mut unfinished = plain.clone();
    unfinished.cores[0].instructions.retain(|record| record[8..16] != (sample::ZERO + 9_500_200).to_le_bytes());
    unfinished.cores[0].instructions.retain(|record| record[8..16] != (sample::ZERO + 9_999_999).to_le_bytes());
    assert!(codes(&unfinished, &neff(6, 7)).contains(&(Severity::Warning, "execution-not-ended")));

    // Without the table of the program, nothing says which tensor the dynamic transfer moves.
    let mut members = sample::members(6);
    members.retain(|(name, _)| !name.ends_with("def.json"));
    let unnamed = crate::writer::neff(sample::UUID, &members);
    assert!(codes(&plain, &unnamed).contains(&(Severity::Warning, "dma-without-names")));

    // Debug information of kernels that is in another layout, or of other kernels, is said to be of no use.
    for (text, why) in [("{}", "an object"), (r#"[{"inst":{"line":1,"name":"other"}}]"#, "none of the 1 instructions")]
    {
        let mut members = sample::members(6);
        members.retain(|(name, _)| !name.contains("kernel_debug_info"));
        members.push(("sg00/kernel_debug_info.json", text.as_bytes().to_vec()));
        let found = read(&plain, &crate::writer::neff(sample::UUID, &members));
        let told = |f: &&Finding| f.code == "warned" && f.text.contains("kernel_debug_info.json");
        assert!(found.iter().find(told).is_some_and(|f| f.text.contains(why)), "{found:?}");
    }
    assert!(!read(&plain, &neff(6, 7)).iter().any(|f| f.text.contains("kernel_debug_info.json")));

    let mut members = sample::members(6);
    members.retain(|(name, _)| !name.contains("debug_info"));
    let bare = crate::writer::neff(sample::UUID, &members);
    let found = read(&plain, &bare);
    let finding = found.iter().find(|f| f.code == "no-debug-information").unwrap();
    assert_says(&finding.message(), &["neither operators nor source lines", "NEURON_FRAMEWORK_DEBUG=1"]);
}

#[test]
fn the_frameworks_trace_is_looked_through_packed_or_not() {
    let compiling = r#"{"ph":"X","cat":"python_function","name":"torch/_inductor/compile_fx.py(1): compile_fx"}"#;
    let event = |category: &str, id: u64| {
        format!(r#"{{"ph":"X","cat":"privateuse1_{category}","name":"aten::mul","args":{{"nrt_sequence_id":{id}}}}}"#)
    };
    let events = [compiling.to_owned(), event("runtime", 1), event("driver", 1), event("runtime", 2)].join(",");
    let trace = format!(r#"{{"traceEvents":[{events}],"displayTimeUnit":"ms"}}"#);
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, trace.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    for (name, bytes) in [("trace.json", trace.into_bytes()), ("trace.json.gz", packed)] {
        let tree = without(&["trace.json"]).with(&format!("{P}/{name}"), bytes);
        let found = survey(tree.path()).unwrap().capture.check_framework();
        let codes: Vec<_> = found.iter().map(|f| (f.severity, f.code, tree.within(&f.path))).collect();
        let path = format!("{P}/{name}");
        assert_eq!(
            codes,
            [(Severity::Warning, "compilation", path.clone()), (Severity::Failed, "launches-without-execution", path),]
        );
        let home = Tree::new();
        let output = crate::run(home.path(), &["check", tree.path().to_str().unwrap()], None);
        assert_eq!(output.status.code(), Some(1));
        assert_says(crate::text(&output.stdout), &["compile_fx", "1 of 2 launches", "torch.neuron.synchronize()"]);
    }
}

#[test]
fn the_traces_of_the_corpus_are_sound() {
    let corpus = std::env::var_os("NEURON_SCOPE_CORPUS").map(std::path::PathBuf::from);
    let Some(capture) = corpus.map(|corpus| corpus.join("bundle/capture")).filter(|path| path.is_dir()) else {
        return println!("skipped: the corpus is not there");
    };
    let capture = survey(&capture).unwrap().capture;
    assert!(capture.files.iter().filter(|file| file.path.ends_with("trace.json")).count() >= 4);
    assert_eq!(capture.check_framework(), []);
}
