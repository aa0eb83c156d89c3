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
