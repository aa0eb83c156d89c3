//! `info` and `check` on captures.

use serde_json::Value;

use crate::{Tree, neff, ntff, run, text};

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn pair() -> Tree {
    Tree::new().with("i-0a_pid_3/neff_12.neff", neff(6, 1)).with("i-0a_pid_3/12_instid_0_vnc_0.ntff", ntff(6, 1))
}

#[test]
fn check_says_whether_a_capture_is_sound() {
    let home = Tree::new();
    let tree = pair();
    let dir = tree.path().to_str().unwrap();
    let sound = run(home.path(), &["check", dir, "--json"], None);
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound.stderr));
    let report = json(&sound.stdout);
    assert_eq!((&report["sound"], &report["profiles"], &report["files"]), (&true.into(), &1.into(), &2.into()));
    for finding in report["findings"].as_array().unwrap() {
        assert_ne!(finding["severity"], "failed");
        for field in ["severity", "code", "path", "text", "remedy"] {
            assert!(finding[field].is_string(), "{field}: {finding}");
        }
    }
    let tree = pair().with("i-0a_pid_3/12_instid_0_vnc_0.ntff", ntff(6, 2));
    let dir = tree.path().to_str().unwrap();
    let other = run(home.path(), &["check", dir], None);
    assert_eq!(other.status.code(), Some(1));
    let said = text(&other.stdout);
    assert!(said.starts_with("FAILED   other-compilation"), "{said}");
    assert!(said.contains("ERROR_PROCESS_INCOMPLETE") && said.contains("\nnot sound: 1 failed"), "{said}");
    let report = json(&run(home.path(), &["check", dir, "--json"], None).stdout);
    let of_other = |f: &&Value| f["code"] == "other-compilation";
    assert_eq!(report["findings"].as_array().unwrap().iter().filter(of_other).count(), 1, "told once");
}

#[test]
fn check_cannot_look_at_what_is_not_there() {
    let home = Tree::new();
    let missing = run(home.path(), &["check", "/no/such/path"], None);
    assert_eq!(missing.status.code(), Some(2));
    assert!(missing.stdout.is_empty() && text(&missing.stderr).contains("does not exist"));
    let tree = Tree::new().with("notes.txt", "x");
    let nothing = run(home.path(), &["check", tree.path().to_str().unwrap(), "--json"], None);
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(json(&nothing.stdout)["problems"].as_array().unwrap().len(), 1);
}

#[test]
fn check_says_the_same_of_many_files_once() {
    let home = Tree::new();
    let mut tree = Tree::new();
    for core in 0..5 {
        tree = tree.with(&format!("i-0a_pid_3/12_instid_0_vnc_{core}.ntff"), ntff(6, 1));
    }
    let output = run(home.path(), &["check", tree.path().to_str().unwrap()], None);
    let said = text(&output.stdout);
    assert_eq!(said.matches("no-program").count(), 1, "{said}");
    assert!(said.contains("and 4 more"), "{said}");
}

#[test]
fn check_of_one_file_says_nothing_of_its_neighbours() {
    let home = Tree::new();
    let tree = pair().with("i-0a_pid_3/neff_99.neff", neff(6, 9)).with("i-0a_pid_3/9_instid_0_vnc_0.ntff", "x");
    let file = tree.at("i-0a_pid_3/12_instid_0_vnc_0.ntff");
    let output = run(home.path(), &["check", file.to_str().unwrap(), "--json"], None);
    assert_eq!(output.status.code(), Some(0));
    let report = json(&output.stdout);
    assert_eq!(report["files"], 2, "the trace and its program");
    let paths = report["findings"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap().to_owned());
    assert!(
        paths.clone().all(|p| !p.contains("neff_99") && !p.contains("9_instid")),
        "{:?}",
        paths.collect::<Vec<_>>()
    );
}

#[test]
fn check_of_an_empty_trace_fails() {
    let home = Tree::new();
    for (bytes, code) in [(vec![], "empty-file"), (crate::idle(6), "no-instructions")] {
        let tree = Tree::new().with("a.ntff", bytes);
        let output = run(home.path(), &["check", tree.at("a.ntff").to_str().unwrap(), "--json"], None);
        assert_eq!(output.status.code(), Some(1), "{code}");
        assert_eq!(json(&output.stdout)["findings"][0]["code"], code);
    }
}

#[test]
fn check_opens_processed_profiles_as_well() {
    let home = Tree::new();
    let profile = neuron_scope::demo::write(home.path()).unwrap();
    let output = run(home.path(), &["check", profile.to_str().unwrap(), "--json"], None);
    let report = json(&output.stdout);
    assert_eq!((&report["profiles"], &report["files"]), (&1.into(), &0.into()));
    let codes: Vec<&str> = report["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["warned", "warned", "profiler-memory"]);
}

#[test]
fn info_lists_every_profile_and_every_file_of_a_capture() {
    let home = Tree::new();
    let tree = pair()
        .with("i-0a_pid_3/ntrace.pb", "12345")
        .with("i-0a_pid_3/12_instid_0_vnc_1.ntff", "")
        .with("i-0a_pid_3/memory_snapshot_rank0.pickle", "x")
        .with("i-0a_pid_4/13_instid_0_vnc_0.ntff", &ntff(6, 1)[..100]);
    let dir = tree.path().to_str().unwrap();
    let output = run(home.path(), &["info", dir, "--json"], None);
    assert_eq!(output.status.code(), Some(0));
    let info = json(&output.stdout);
    let profiles = info["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 1);
    assert_eq!((&profiles[0]["name"], &profiles[0]["format"]), (&"pid 3 / nc 0 / 12".into(), &"ntff".into()));
    let problems = info["problems"].as_array().unwrap();
    assert!(problems.iter().any(|p| p["path"].as_str().unwrap().ends_with("13_instid_0_vnc_0.ntff")), "{problems:?}");
    let files: Vec<_> = info["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["kind"].as_str().unwrap(), f["bytes"].as_u64().unwrap(), f["view"].as_bool().unwrap()))
        .collect();
    assert_eq!(files.len(), 6);
    assert!(files.contains(&("system-trace", 5, false)) && files.contains(&("memory-snapshot", 1, false)), "{files:?}");
    let ranks: Vec<_> = info["files"].as_array().unwrap().iter().filter_map(|f| f["rank"].as_u64()).collect();
    assert_eq!(ranks, [0], "that of the snapshot");
    let processes = info["processes"].as_array().unwrap();
    assert_eq!(processes.iter().map(|p| p["pid"].as_u64().unwrap()).collect::<Vec<_>>(), [3, 4]);
    let first = &processes[0]["cores"][0];
    assert_eq!(first["core"], 0);
    let execution = &first["executions"][0];
    assert_eq!((&execution["paired"], &execution["hash"]), (&"by uuid".into(), &"12".into()));
    assert!(execution["neff"].as_str().unwrap().ends_with("neff_12.neff"));
    assert_eq!(processes[0]["cores"][1]["executions"][0]["idle"], true);

    let said = run(home.path(), &["info", dir], None);
    let said = text(&said.stdout);
    for line in ["process 3  ", "system trace of the runtime", "ran neff_12.neff (by uuid)", "(no view yet)", "convert"]
    {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn info_recognises_what_it_cannot_show() {
    let home = Tree::new();
    let tree = Tree::new().with("i-0a_pid_3/ntrace.pb", "x").with("i-0a_pid_3/trace_info.pb", "x");
    let output = run(home.path(), &["info", tree.path().to_str().unwrap()], None);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("ntrace.pb"));
}

#[test]
fn programs_are_found_in_the_caches() {
    let home = Tree::new();
    let cache = Tree::new().with("deep/MODULE_1/graph.neff", neff(6, 1));
    let tree = Tree::new().with("a.ntff", ntff(6, 1));
    let dir = tree.path().to_str().unwrap();
    let neff_of = |output: &std::process::Output| {
        json(&output.stdout)["processes"][0]["cores"][0]["executions"][0]["neff"].as_str().map(str::to_owned)
    };
    assert_eq!(neff_of(&run(home.path(), &["info", dir, "--json"], None)), None);
    let named = run(home.path(), &["info", dir, "--json", "--neff-cache", cache.path().to_str().unwrap()], None);
    assert!(neff_of(&named).unwrap().ends_with("deep/MODULE_1/graph.neff"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_neuron-scope"));
    command.args(["info", dir, "--json"]).env("HOME", home.path()).env("TORCH_NEURONX_NEFF_CACHE_DIR", cache.path());
    assert!(neff_of(&command.output().unwrap()).unwrap().ends_with("graph.neff"));
}

#[test]
fn check_of_what_captured_nothing_fails_and_says_what_would_have() {
    let home = Tree::new();
    let program = Tree::new().with("fused.neff", neff(6, 1));
    let framework =
        Tree::new().with("i-0a_pid_3/trace.json", "[]").with("i-0a_pid_4/memory_snapshot_rank0.pickle", "x");
    for tree in [&program, &framework] {
        let dir = tree.path().to_str().unwrap();
        let output = run(home.path(), &["check", dir, "--json"], None);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let report = json(&output.stdout);
        let found = report["findings"].as_array().unwrap();
        assert_eq!(found[0]["code"], "nothing-captured", "{found:?}");
        let remedy = found[0]["remedy"].as_str().unwrap();
        assert!(
            remedy.contains("ProfileMode.DEVICE") && remedy.contains("NEURON_RT_INSPECT_DEVICE_PROFILE"),
            "{remedy}"
        );
        assert_eq!(found.iter().filter(|f| f["code"] == "nothing-captured").count(), 1, "{found:?}");
        // Who opens it is told the same.
        let opened = run(home.path(), &["render", dir], None);
        assert_eq!(opened.status.code(), Some(2));
        assert!(text(&opened.stderr).contains("ProfileMode.DEVICE"), "{}", text(&opened.stderr));
    }
    // Beside a profile, a program alone is nothing to complain of.
    let beside = Tree::new().with("fused.neff", neff(6, 1));
    neuron_scope::demo::write(beside.path()).unwrap();
    let output = run(home.path(), &["check", beside.path().to_str().unwrap(), "--json"], None);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn damage_is_told_of_the_file_that_is_damaged_and_explains_what_is_missing() {
    let home = Tree::new();
    let (whole, program) = (ntff(6, 1), neff(6, 1));
    let cases = [
        ("run.neff", whole.clone(), program[..program.len() - 60].to_vec()),
        ("run.ntff", whole[..whole.len() - 100].to_vec(), program.clone()),
    ];
    for (damaged, trace, program) in cases {
        let tree = Tree::new().with("run.ntff", trace).with("run.neff", program);
        let output = run(home.path(), &["check", tree.path().to_str().unwrap(), "--json"], None);
        assert_eq!(output.status.code(), Some(1));
        let report = json(&output.stdout);
        let found = report["findings"].as_array().unwrap();
        let failed: Vec<_> = found.iter().filter(|f| f["severity"] == "failed").collect();
        assert!(
            !failed.is_empty() && failed.iter().all(|f| f["path"].as_str().unwrap().ends_with(damaged)),
            "{failed:?}"
        );
        // What is missing for that reason says nothing about how it was captured or compiled.
        let blamed: Vec<_> = found.iter().map(|f| f["code"].as_str().unwrap()).collect();
        assert!(!blamed.contains(&"dma-without-names") && !blamed.contains(&"no-debug-information"), "{blamed:?}");
        assert!(!output.stdout.windows(7).any(|bytes| bytes == b"deflate"));
    }
    // Without the program, that is what to see to.
    let tree = Tree::new().with("run.ntff", whole);
    let report = json(&run(home.path(), &["check", tree.path().to_str().unwrap(), "--json"], None).stdout);
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert_eq!(codes.first(), Some(&"no-program"));
    assert!(!codes.contains(&"dma-without-names"), "{codes:?}");
}

#[test]
fn a_program_of_which_nothing_can_be_read_is_refused() {
    let home = Tree::new();
    let tree = Tree::new().with("x.neff", &neff(6, 1)[..1024]);
    let output = run(home.path(), &["info", tree.at("x.neff").to_str().unwrap()], None);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stdout);
    assert!(said.contains("nothing but its header") && !said.contains("compiled without"), "{said}");
}

#[test]
fn index_takes_what_can_be_read_and_says_what_was_left() {
    let home = Tree::new();
    let tree = pair().with("i-0a_pid_3/ntrace.pb", "1").with("i-0a_pid_3/trace_info.pb", "1");
    let index = |tree: &Tree| run(home.path(), &["index", tree.path().to_str().unwrap()], None);
    let some = index(&tree);
    assert_eq!(some.status.code(), Some(0), "{}", text(&some.stderr));
    assert!(text(&some.stdout).contains("events read"), "{}", text(&some.stdout));
    let said = text(&some.stderr);
    assert!(said.contains("vendor's own format") && said.contains("1 of 2 profiles were left"), "{said}");
    // Nothing at all is another matter.
    let none = index(&Tree::new().with("i-0a_pid_3/ntrace.pb", "1").with("i-0a_pid_3/trace_info.pb", "1"));
    assert_eq!(none.status.code(), Some(2));
    assert_eq!(index(&Tree::new()).status.code(), Some(2));
}

#[test]
fn odd_files_and_links_are_said_to_be_what_they_are() {
    let home = Tree::new();
    let device = run(home.path(), &["render", "/dev/null"], None);
    assert_eq!(device.status.code(), Some(2));
    assert!(text(&device.stderr).contains("neither a file nor a directory"), "{}", text(&device.stderr));
    let named = Tree::new().with("x.ntff/readme", "x");
    for path in [named.at(""), named.at("x.ntff")] {
        let output = run(home.path(), &["render", path.to_str().unwrap()], None);
        let said = text(&output.stderr);
        assert!(said.contains("is a directory, though it is named as a device trace"), "{said}");
    }
    let tree = Tree::new();
    std::os::unix::fs::symlink("/nowhere/x.ntff", tree.at("x.ntff")).unwrap();
    let dangling = run(home.path(), &["render", tree.path().to_str().unwrap()], None);
    let said = text(&dangling.stderr);
    assert!(said.contains("x.ntff") && said.contains("leads nowhere"), "{said}");
}

#[test]
fn only_the_bytes_that_a_trace_names_are_read() {
    let home = Tree::new();
    let tree = Tree::new().with("run.ntff", ntff(6, 1)).with("run.neff", neff(6, 1));
    let file = tree.at("run.ntff");
    let info = |path: &std::path::Path| {
        json(&run(home.path(), &["info", path.to_str().unwrap(), "--json"], None).stdout)["profiles"][0]["tables"]
            .clone()
    };
    let before = info(&file);
    // More than any machine has memory for; on disk it takes nothing.
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(1 << 42).unwrap();
    assert_eq!(info(&file), before);
    // Where the trace itself claims that much, it is refused.
    let mut claims = crate::sample::trace(6);
    claims.cores[0].dma.clear();
    let bytes = claims.bytes();
    std::fs::write(&file, [&bytes[..1], &(1_u64 << 41).to_le_bytes()[..7], &bytes[8..]].concat()).unwrap();
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(1 << 42).unwrap();
    let refused = run(home.path(), &["render", file.to_str().unwrap()], None);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("damaged"), "{}", text(&refused.stderr));
}

#[test]
fn what_an_interrupted_writing_left_goes_at_once() {
    let home = Tree::new();
    let caches = home.at("XDG_CACHE_HOME/neuron-scope");
    let own = std::process::id();
    std::fs::create_dir_all(caches.join("converted").join("b.4000000000.partial")).unwrap();
    std::fs::create_dir_all(caches.join("converted").join(format!("b.{own}.partial"))).unwrap();
    for name in ["a.4000000000.partial".to_owned(), format!("a.{own}.partial")] {
        std::fs::write(caches.join(name), "x").unwrap();
    }
    let pruned = run(home.path(), &["index", "--prune"], None);
    assert_eq!(pruned.status.code(), Some(0));
    let said = text(&pruned.stdout);
    assert!(said.contains("removed 1 caches") && said.contains("removed 1 conversions"), "{said}");
    assert!(caches.join(format!("a.{own}.partial")).exists(), "that of a process that lives is left");
}

#[test]
fn directories_that_are_not_there_or_too_deep_are_said_to_be() {
    let home = Tree::new();
    let tree = pair();
    let dir = tree.path().to_str().unwrap();
    let output = run(home.path(), &["--neff-cache", "/no/such/place", "info", dir], None);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/no/such/place"), "{}", text(&output.stderr));
    let deep = |levels: usize| {
        let tree = Tree::new().with(&format!("{}a.ntff", "d/".repeat(levels)), ntff(6, 1));
        let output = run(home.path(), &["info", tree.path().to_str().unwrap()], None);
        (output.status.code(), text(&output.stderr).contains("was not looked into"))
    };
    assert_eq!(deep(12), (Some(0), false));
    assert_eq!(deep(13), (Some(2), true));
}

#[test]
fn a_program_that_was_named_is_not_said_to_have_run_nothing() {
    let home = Tree::new();
    let tree = Tree::new().with("a/run.ntff", ntff(6, 1)).with("b/other.neff", neff(6, 2));
    let (trace, program) = (tree.at("a/run.ntff"), tree.at("b/other.neff"));
    let arguments = ["check", trace.to_str().unwrap(), "--neff", program.to_str().unwrap(), "--json"];
    let report = json(&run(home.path(), &arguments, None).stdout);
    let codes: Vec<_> = report["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"other-compilation") && !codes.contains(&"program-without-trace"), "{codes:?}");
}
