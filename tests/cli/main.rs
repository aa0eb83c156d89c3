//! The command line: what is printed where, and with which exit status.

#![allow(clippy::unwrap_used)] // Tests may.

mod hostile;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

static DEMO: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli");
    neuron_scope::demo::write(&dir).unwrap()
});

/// Runs the program with nothing of the person's own configuration.
fn run(arguments: &[&str]) -> Output {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-home");
    let mut command = Command::new(env!("CARGO_BIN_EXE_neuron-scope"));
    command.args(arguments).env("HOME", &home).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env(name, home.join(name));
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn demo() -> &'static str {
    DEMO.to_str().unwrap()
}

#[test]
fn bad_usage_and_unreadable_input_are_status_two() {
    let cases: [(&[&str], &str); 7] = [
        (&["--no-such-option"], "unexpected argument"),
        (&["render"], "required"),
        (&["render", "/no/such/path"], "does not exist"),
        (&["render", demo(), "--keys", "<Foo>"], "keys, character 1"),
        (&["render", demo(), "--size", "80"], "expected columns and lines"),
        (&[demo()], "not a terminal"),
        (&["/no/such/path"], "does not exist"),
    ];
    for (arguments, said) in cases {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn render_prints_the_screen_and_its_figures() {
    let output = run(&["render", demo(), "--size", "90x20", "--keys", "wwl.d", "--stats", "--no-cache"]);
    assert_eq!(output.status.code(), Some(0));
    let screen = text(&output.stdout);
    assert_eq!(screen.lines().count(), 20);
    assert!(screen.contains("TensMat") && !screen.contains('\x1b'));
    let stats: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert!(stats["frames"].as_u64().unwrap() >= 5);
    for field in ["build_us", "draw_us", "frame_us", "bytes_per_frame"] {
        for figure in ["p50", "p99", "max"] {
            assert!(stats[field][figure].is_u64(), "{field} {figure}: {stats}");
        }
    }
    let open = &stats["open_ms"];
    assert!(open["first_frame"].as_f64().unwrap() <= open["complete"].as_f64().unwrap());
    assert!(stats["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
}

#[test]
fn render_shows_colours_and_ascii_on_request() {
    let colored = run(&["render", demo(), "--size", "80x24", "--color", "256", "--no-cache"]);
    assert!(text(&colored.stdout).contains("\x1b[0;") && text(&colored.stdout).contains("38;5;"));
    let ascii = run(&["render", demo(), "--size", "80x24", "--ascii", "--no-cache"]);
    assert!(ascii.stdout.is_ascii());
}

#[test]
fn render_is_the_same_each_time() {
    let once = || run(&["render", demo(), "--size", "100x30", "--keys", "wwljj...<Tab>j", "--no-cache"]).stdout;
    assert_eq!(text(&once()), text(&once()));
}

#[test]
fn the_demo_is_written_where_asked() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(&["demo", "--no-open", "--dir", dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    let path = PathBuf::from(text(&output.stdout).trim_end());
    assert!(path.starts_with(dir.path()) && path.join("Instruction.parquet").is_file());
}

#[test]
fn keys_are_listed_and_mistakes_told() {
    let vim = run(&["keys", "--keymap", "vim", "--json"]);
    assert_eq!(vim.status.code(), Some(0));
    let rows: serde_json::Value = serde_json::from_slice(&vim.stdout).unwrap();
    let row = |name: &str| rows.as_array().unwrap().iter().find(|r| r["action"] == name).unwrap().clone();
    assert!(!row("zoom-in")["keys"].as_array().unwrap().is_empty());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("keys.toml");
    std::fs::write(&file, "preset = \"default\"\n[global]\n\"F5\" = \"zoom-inn\"\n\"F6\" = \"zoom-all\"\n").unwrap();
    let mine = run(&["keys", "--keymap", file.to_str().unwrap()]);
    assert_eq!(mine.status.code(), Some(1));
    assert!(text(&mine.stderr).contains("keys.toml:3:"), "{}", text(&mine.stderr));
    assert!(text(&mine.stdout).contains("F6"), "the rest still works");
}

#[test]
fn completions_and_the_manual_are_complete() {
    let bash = run(&["completions", "bash"]);
    assert!(text(&bash.stdout).contains("neuron-scope") && text(&bash.stdout).contains("render"));
    let man = run(&["man"]);
    let page = text(&man.stdout);
    for option in ["keymap", "theme", "keys", "burst"] {
        assert!(page.contains(&format!("\\-\\-{option}")), "{option}");
    }
}

#[test]
fn the_longest_matches_come_first_where_asked() {
    let search = |more: &[&str]| {
        let output = run(&[&["search", demo(), "table:Instruction", "--json"], more].concat());
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let matches = json["matches"].as_array().unwrap().clone();
        matches.iter().map(|event| event["duration_ns"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let longest = search(&["--longest", "--limit", "20"]);
    let all = search(&["--limit", "1000000"]);
    let mut sorted = all.clone();
    sorted.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
    assert_eq!(longest[..], sorted[..20]);
    assert_ne!(search(&["--limit", "20"]), longest, "the first in time");
}

#[test]
fn deps_names_what_bound_the_start_even_where_that_is_no_dependency() {
    let ask = |command: &str| {
        let output = run(&[command, demo(), "pc:10@Vector(nc0)#1"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).lines().nth(1).unwrap().to_owned()
    };
    let why = ask("explain");
    assert!(why.contains('←'), "{why}");
    assert_eq!(ask("deps"), why);
}

#[test]
fn what_could_not_be_read_is_told_where_it_is_missing_from_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let profile = neuron_scope::demo::write(dir.path()).unwrap();
    std::fs::write(profile.join("Instruction.parquet"), b"").unwrap();
    let (profile, out) = (profile.to_str().unwrap(), dir.path().join("out"));
    for arguments in [vec!["search", profile, "ACTIVATE"], vec!["export", profile, "--out", out.to_str().unwrap()]] {
        let output = run(&arguments);
        let said = text(&output.stderr);
        assert!(said.contains("Instruction.parquet") && said.contains("empty"), "{arguments:?}: {said}");
    }
}
