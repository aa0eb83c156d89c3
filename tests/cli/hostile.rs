//! What must not happen, whatever is asked for and wherever the answer goes.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{demo, run, text};

fn copy_of_demo(dir: &tempfile::TempDir) -> PathBuf {
    let copy = dir.path().join("copy@latest");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(demo()).unwrap().flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    copy
}

fn pipe(path: &std::path::Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn an_export_writes_over_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let profile = copy_of_demo(&dir);
    let before = fs::read(profile.join("Instruction.parquet")).unwrap();
    let (path, out) = (profile.to_str().unwrap(), dir.path().join("out"));
    let export = |out: &str, more: &[&str]| {
        let arguments = ["export", path, "--tables", "Instruction", "--format", "parquet", "--out", out];
        run(&[&arguments, more].concat())
    };
    for more in [&[][..], &["--force"]] {
        let output = export(path, more);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("where the profile itself is"), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(profile.join("Instruction.parquet")).unwrap(), before);
    let out = out.to_str().unwrap();
    assert_eq!(export(out, &[]).status.code(), Some(0));
    let output = export(out, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there already"), "{}", text(&output.stderr));
    assert_eq!(export(out, &["--force"]).status.code(), Some(0));
}

#[test]
fn pipes_and_devices_are_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let profile = copy_of_demo(&dir);
    let path = profile.to_str().unwrap();
    fs::remove_file(profile.join("Throttle.parquet")).unwrap();
    pipe(&profile.join("Throttle.parquet"));
    let output = run(&["info", path]);
    let said = [text(&output.stdout), text(&output.stderr)].concat();
    assert!(output.status.success() && said.contains("is not a regular file"), "{said}");
    fs::remove_file(profile.join("Throttle.parquet")).unwrap();
    let keys = dir.path().join("keys.toml");
    pipe(&keys);
    let keymap = keys.to_str().unwrap();
    assert!(text(&run(&["keys", "--keymap", keymap]).stderr).contains("not a regular file"));
    let marks = dir.path().join("copy@latest.neuron-scope.json");
    std::os::unix::fs::symlink("/dev/zero", &marks).unwrap();
    assert_eq!(run(&["render", path]).status.code(), Some(0));
}

#[test]
fn json_holds_nothing_that_a_terminal_obeys() {
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join("odd\u{9b}31m\u{202e}name@latest");
    fs::rename(copy_of_demo(&dir), &odd).unwrap();
    let output = run(&["info", odd.to_str().unwrap(), "--json"]);
    let json = text(&output.stdout);
    assert!(json.contains("odd\\u009b31m\\u202ename"), "{}", &json[..200]);
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(value["profiles"][0]["name"], "odd\u{9b}31m\u{202e}name");
}

#[test]
fn nobody_listening_is_no_reason_to_panic() {
    for arguments in [&["info", "/no/such/path"][..], &["search", demo(), "("], &["--no-such-option"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status = Command::new(env!("CARGO_BIN_EXE_neuron-scope"))
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(full)
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_query_has_an_end() {
    let output = run(&["search", demo(), &"a|".repeat(60_000)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("at most 1024 bytes"));
}
