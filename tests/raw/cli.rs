//! What the command line answers about raw captures.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::corpus::captures;
use crate::store::Folder;

fn run(arguments: &[&str]) -> Output {
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_neuron-scope"));
    command.args(arguments).env("XDG_CACHE_HOME", cache.path()).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_program_is_described() {
    let folder = Folder::new(5);
    let info = json(&["info", name(&folder.at("model.neff")), "--json"]);
    assert_eq!((&info["profiles"], &info["problems"]), (&serde_json::json!([]), &serde_json::json!([])));
    let program = &info["programs"][0];
    assert_eq!(program["header"]["network_name"], "fixture.neff");
    assert_eq!(program["target"], "cayman");
    let debug = &program["debug"];
    let levels = ["asm", "bir", "penguin", "hlo", "framework"].map(|level| debug[level].as_u64().unwrap());
    assert_eq!(levels, [3, 2, 1, 1, 1]);
    assert!(debug["source_lines"].as_u64().unwrap() >= 1);
    let graph = &program["graphs"][0];
    assert_eq!((&graph["name"], &graph["engines"][0]["engine"]), (&"sg00".into(), &"Tensor".into()));
    assert_eq!(graph["engines"][0]["opcodes"]["MATMUL"], 2);
    let tensor = graph["tensors"].as_array().unwrap().iter().find(|t| t["name"] == "x").unwrap();
    assert_eq!((&tensor["shape"], &tensor["dtype"]), (&serde_json::json!([128, 64]), &"float32".into()));
    let queue = &graph["queues"][0];
    assert_eq!(
        (&queue["name"], &queue["blocks"], &queue["write_bytes"]),
        (&"qSyncIO0".into(), &1.into(), &32_768.into())
    );
    let kernels = &debug["kernel_debug_info"];
    assert_eq!((&kernels["instructions"], &kernels["files"][0]["name"]), (&1.into(), &"kernel_debug_info.json".into()));
    assert_eq!(kernels["sources"], serde_json::json!(["/src/kernel.py", "/src/tiles.py"]));
    assert!(program["members"].as_array().unwrap().iter().any(|m| m["name"] == "sg00/PE.bin"));

    let text = String::from_utf8(run(&["info", name(&folder.at("model.neff"))]).stdout).unwrap();
    for part in [
        "1  instructions of kernels, in 2 calls",
        "source  /src/tiles.py",
        "cayman (trn2)",
        "MATMUL 2",
        "input",
        "float32 [128, 64] NC",
        "qSyncIO0",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    // A damaged one is described as far as it goes; what is no program is refused.
    let bytes = std::fs::read(folder.at("model.neff")).unwrap();
    std::fs::write(folder.at("cut.neff"), &bytes[..bytes.len() - 50]).unwrap();
    let cut = json(&["info", name(&folder.at("cut.neff")), "--json"]);
    assert!(cut["problems"][0]["path"].as_str().unwrap().ends_with("cut.neff"), "{}", cut["problems"]);
    std::fs::write(folder.at("no.neff"), b"\x1b[31mtext").unwrap();
    let refused = run(&["info", name(&folder.at("no.neff"))]);
    let complaint = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(complaint.contains("no.neff") && complaint.contains("again") && !complaint.contains('\x1b'), "{complaint}");
}

#[test]
fn questions_about_a_capture_are_answered() {
    let folder = Folder::new(6);
    let run_file = folder.at("run.ntff");
    let capture = name(&run_file);
    let info = json(&["info", capture, "--json"]);
    let profile = &info["profiles"][0];
    assert_eq!((&profile["format"], &profile["kind"]), (&"ntff".into(), &"device".into()));
    assert_eq!((&profile["start_ns"], &profile["end_ns"]), (&2000.into(), &9999.into()));
    assert_eq!((&profile["tables"]["Instruction"], &profile["outside"]["Instruction"]), (&5.into(), &2.into()));

    assert_eq!(json(&["search", capture, "kernel_call_stack:tiles.multiply", "--json"])["total"], 2);
    let found = json(&["search", capture, "opcode=MATMUL duration>400ns", "--json", "--fields"]);
    assert_eq!(found["total"], 1);
    assert_eq!((&found["matches"][0]["id"], &found["matches"][0]["fields"]["pc"]), (&3.into(), &1.into()));
    assert_eq!(json(&["search", capture, "queue:qSyncDynamicHW bytes>=32KiB", "--json"])["total"], 1);

    let deps = json(&["deps", capture, "3", "--json"]);
    assert_eq!(deps["predecessors"][0]["types"], serde_json::json!(["FLOW_DEPENDENCE"]));
    let derived = deps["derived"]["predecessors"].as_array().unwrap();
    assert!(derived.iter().any(|d| d["types"] == serde_json::json!(["DMA_WAIT"])), "{derived:?}");
    // Who started the transfer is worked out, not recorded.
    let transfer = json(&["deps", capture, "DmaPacketAggregated:15", "--json"]);
    assert_eq!(transfer["predecessors"], serde_json::json!([]));
    assert_eq!(transfer["derived"]["predecessors"][0]["types"], serde_json::json!(["DMA_TRIGGER"]));

    let why = json(&["explain", capture, "pc:1@Tensor", "--json"]);
    assert_eq!(why["subject"]["pc"], 1);
    // Between the change that let it go and its start records were lost, so that it may have been another one.
    let causes = why["causes"].as_array().unwrap();
    let semaphore = causes.iter().find(|cause| cause.to_string().contains("S[34]")).unwrap();
    assert_eq!(semaphore["basis"], "inferred", "{semaphore}");

    let out = folder.at("out");
    let arguments = ["export", capture, "--range", "0..10us", "--tables", "Instruction", "--format", "csv", "--out"];
    assert!(run(&[&arguments[..], &[name(&out)]].concat()).status.success());
    let csv = std::fs::read_to_string(out.join("Instruction.csv")).unwrap();
    let header = csv.lines().next().unwrap();
    assert!(header.starts_with("timeline_track,start_ts,end_ts,duration_ns,engine,"), "{header}");
    assert!(csv.lines().nth(1).is_some_and(|line| line.contains("DMA_DIRECT2D")), "{csv}");
}

#[test]
fn the_program_can_be_named() {
    let (folder, other) = (Folder::new(6), tempfile::tempdir().unwrap());
    let elsewhere = other.path().join("model.neff");
    std::fs::rename(folder.at("model.neff"), &elsewhere).unwrap();
    let run_file = folder.at("run.ntff");
    let (capture, neff) = (name(&run_file), name(&elsewhere));
    let matches = |arguments: &[&str]| {
        let all = [&["search", capture, "hlo_name=dot.1", "--json"], arguments].concat();
        let output = run(&all);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["total"].clone()
    };
    assert_eq!((matches(&[]), matches(&["--neff", neff]), matches(&["-n", neff])), (0.into(), 2.into(), 2.into()));
    let screen = run(&["render", capture, "-n", neff, "--size", "100x30", "--no-cache"]);
    let screen = String::from_utf8(screen.stdout).unwrap();
    assert!(screen.contains("TensorMatrix") && !screen.contains("--neff"), "{screen}");
    // As the explorer itself is asked for it.
    let same = run(&["render", "-n", neff, "-s", capture, "--size", "100x30", "--no-cache"]);
    assert_eq!(String::from_utf8(same.stdout).unwrap(), screen);
    for arguments in
        [vec!["-n", neff], vec!["info", "-n", neff, name(other.path())], vec!["info", "-n", "/nowhere.neff", capture]]
    {
        assert_eq!(run(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn captures_that_cannot_be_read_are_said_so() {
    let folder = Folder::new(6);
    let whole = std::fs::read(folder.at("run.ntff")).unwrap();
    for (bytes, what) in [(&whole[..64], "copy it again"), (&[9; 400][..], "neuron-explorer view")] {
        std::fs::write(folder.at("run.ntff"), bytes).unwrap();
        for command in ["info", "render"] {
            let output = run(&[command, name(&folder.at("run.ntff"))]);
            let complaint = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2));
            assert!(complaint.contains("run.ntff") && complaint.contains(what), "{complaint}");
        }
    }
}

#[test]
fn captures_of_all_versions_are_shown() {
    let all = ["v4", "v5", "v6"].into_iter().flat_map(captures);
    for (case, _, ntff) in all {
        let info = json(&["info", name(&ntff), "--json"]);
        let profile = &info["profiles"][0];
        assert_eq!(info["problems"], serde_json::json!([]), "{case}");
        assert!(profile["dependencies"].as_u64().unwrap() > 0, "{case}");
        for table in ["Instruction", "DmaPacket", "DmaPacketAggregated", "SemaphoreUpdate", "TensorInfo"] {
            assert!(profile["tables"][table].as_u64().unwrap() > 0, "{case} {table}");
        }
        let tracks: Vec<&str> =
            profile["tracks"].as_array().unwrap().iter().map(|t| t["path"].as_str().unwrap()).collect();
        for engine in ["Tensor", "Vector", "Scalar", "GpSimd", "Sync"] {
            assert!(
                tracks.iter().any(|t| t.trim_end_matches("(nc0)").ends_with(engine)),
                "{case} {engine}: {tracks:?}"
            );
        }
        let seconds = profile["end_ns"].as_f64().unwrap() * 1e-9;
        let summary = ntff.with_file_name("oracle-summary.txt");
        if let Some(total) = total_time(&summary) {
            assert!(seconds <= total && seconds > 0.98 * total, "{case}: {seconds} of {total}");
        }
        let screen = String::from_utf8(run(&["render", name(&ntff), "--size", "120x40", "--no-cache"]).stdout).unwrap();
        assert!(screen.contains("TensorE") && screen.contains("Semaphores"), "{case}\n{screen}");
    }
}

/// The vendor's total time of a capture, in seconds.
fn total_time(path: &PathBuf) -> Option<f64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.split_whitespace().next() == Some("total_time"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn many_tracks_of_one_group_are_one_line() {
    let folder = Folder::new(6);
    let mut busy = crate::sample::trace(6);
    for id in 40..80 {
        busy.cores[0].semaphore(id, 1, 1, false, crate::sample::ZERO + 5_000_000 + u64::from(id));
    }
    std::fs::write(folder.at("run.ntff"), busy.bytes()).unwrap();
    let file = folder.at("run.ntff");
    let text = String::from_utf8(run(&["info", name(&file)]).stdout).unwrap();
    let semaphores: Vec<&str> = text.lines().filter(|line| line.contains("Semaphores/")).collect();
    assert!(semaphores.len() <= 2 && semaphores.iter().any(|line| line.contains("tracks; --json")), "{semaphores:?}");
    let all = json(&["info", name(&file), "--json"]);
    let tracks = all["profiles"][0]["tracks"].as_array().unwrap();
    assert!(tracks.iter().filter(|t| t["path"].as_str().unwrap().contains("Semaphores/")).count() >= 40);
}
