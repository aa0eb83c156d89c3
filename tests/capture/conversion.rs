//! Conversion by the vendor's tool, played by a shell script.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use neuron_scope::app::Start;
use neuron_scope::app::headless::Headless;
use neuron_scope::source::convert::{Input, convert, result_of};
use neuron_scope::source::discover;

use crate::{Tree, neff, ntff, run, text};

/// A capture with a system trace.
fn capture() -> Tree {
    Tree::new().with("i-0a_pid_3/ntrace.pb", "x").with("i-0a_pid_3/trace_info.pb", "x")
}

/// A directory with a `neuron-explorer` that says what it was asked to do, and makes a profile of what lies at `from`.
fn tool(from: &Path, last: &str) -> Tree {
    let script = format!(
        "#!/bin/sh\n\
         echo \"asked: $*\" >&2\n\
         echo once >> \"$0.runs\"\n\
         while [ $# -gt 1 ]; do [ \"$1\" = --output-file ] && out=$2; shift; done\n\
         printf 'progress 10%%\\rprogress 100%%\\n'\n\
         /bin/mkdir -p \"$out/made@latest\"\n\
         /bin/cp '{}'/* \"$out/made@latest/\"\n\
         {last}\n",
        from.display()
    );
    let tool = Tree::new().with("neuron-explorer", script);
    std::fs::set_permissions(tool.at("neuron-explorer"), std::fs::Permissions::from_mode(0o755)).unwrap();
    tool
}

fn runs(tool: &Tree) -> usize {
    std::fs::read_to_string(tool.at("neuron-explorer.runs")).map_or(0, |runs| runs.lines().count())
}

fn convert_with(tool: &Tree, input: &Input, cache: &Path) -> (Result<std::path::PathBuf, String>, Vec<String>) {
    let said = Mutex::new(vec![]);
    let hear = |line: &str| said.lock().unwrap().push(line.to_owned());
    let result = convert(input, &tool.at("neuron-explorer"), cache, &AtomicBool::new(false), &hear);
    (result.map_err(|problem| problem.message), said.into_inner().unwrap())
}

fn profile(home: &Tree) -> std::path::PathBuf {
    neuron_scope::demo::write(home.path()).unwrap()
}

#[test]
fn a_capture_is_converted_once() {
    let home = Tree::new();
    let (capture, tool) = (capture(), tool(&profile(&home), ""));
    let input = Input::Directory(capture.path().into());
    assert_eq!(result_of(&input, home.path()), None);
    let (made, said) = convert_with(&tool, &input, home.path());
    let made = made.unwrap();
    let asked = said.iter().find(|line| line.starts_with("asked: ")).unwrap();
    assert!(
        asked.starts_with(&format!(
            "asked: view -d {} --output-format parquet --output-file ",
            capture.path().display()
        )),
        "{asked}"
    );
    assert!(said.contains(&"progress 100%".to_owned()), "{said:?}");
    assert_eq!(discover(&made).unwrap()[0].name, "made");
    let (again, said) = convert_with(&tool, &input, home.path());
    assert_eq!((again.unwrap(), said.len(), runs(&tool)), (made.clone(), 0, 1));
    // What is found in the capture from now on is what was made of it.
    assert_eq!(result_of(&input, home.path()), Some(made));
    // Another capture in its place is converted anew.
    std::fs::write(capture.at("i-0a_pid_3/ntrace.pb"), "longer").unwrap();
    assert!(convert_with(&tool, &input, home.path()).0.is_ok());
    assert_eq!(runs(&tool), 2);
}

#[test]
fn a_single_trace_is_converted_with_its_program() {
    let home = Tree::new();
    let mut other = ntff(6, 1);
    other[0] = 8;
    let tree = Tree::new().with("a b.ntff", other).with("a b.neff", neff(6, 1));
    let found = discover(tree.path()).unwrap();
    let input = Input::of(&found[0]);
    let tool = tool(&profile(&home), "");
    let (made, said) = convert_with(&tool, &input, home.path());
    assert!(made.is_ok());
    let (n, s) = (tree.at("a b.neff"), tree.at("a b.ntff"));
    assert!(
        said.iter().any(|l| l.starts_with(&format!("asked: view -n {} -s {}", n.display(), s.display()))),
        "{said:?}"
    );
    assert!(input.command(Path::new("OUT")).starts_with(&format!("neuron-explorer view -n '{}'", n.display())));
}

#[test]
fn a_failure_tells_what_the_tool_said_and_leaves_nothing() {
    let home = Tree::new();
    let (capture, failing) = (capture(), tool(&profile(&home), "echo no metadata found >&2; exit 3"));
    let input = Input::Directory(capture.path().into());
    let message = convert_with(&failing, &input, home.path()).0.unwrap_err();
    assert!(message.contains("no metadata found") && message.contains('3'), "{message}");
    let left = || std::fs::read_dir(home.at("converted")).map_or(0, |dir| dir.count());
    assert_eq!(left(), 0);
    let nothing = tool(&capture.at("i-0a_pid_3"), "");
    assert!(convert_with(&nothing, &input, home.path()).0.unwrap_err().contains("wrote nothing"));
    assert_eq!(left(), 0);
    let cancel = AtomicBool::new(false);
    let slow = tool(&profile(&home), "exec /bin/sleep 60");
    let stop = |_: &str| cancel.store(true, Ordering::Relaxed);
    let result = convert(&input, &slow.at("neuron-explorer"), home.path(), &cancel, &stop);
    assert!(result.unwrap_err().message.contains("cancelled"));
    assert_eq!(left(), 0);
}

#[test]
fn the_command_converts_prints_and_says_where_to_go() {
    let home = Tree::new();
    let capture = capture();
    let dir = capture.path().to_str().unwrap();
    let absent = run(home.path(), &["convert", dir], None);
    assert_eq!(absent.status.code(), Some(1));
    let command = format!("neuron-explorer view -d {dir} --output-format parquet --output-file OUT\n");
    assert_eq!(text(&absent.stdout), command);
    assert!(text(&absent.stderr).contains("/opt/aws/neuron/bin"));
    let printed = run(home.path(), &["convert", "--print", dir], None);
    assert_eq!((printed.status.code(), text(&printed.stdout)), (Some(0), command.as_str()));

    let tool = tool(&profile(&home), "");
    let done = run(home.path(), &["convert", dir], Some(tool.path()));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("progress 100%"), "its messages are shown");
    let made = Path::new(text(&done.stdout).trim_end());
    assert!(made.join("made@latest").is_dir());
    // The capture shows what was made of it.
    let info = run(home.path(), &["info", dir, "--json"], None);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["profiles"][0]["name"], "made (converted)");

    let again = run(home.path(), &["convert", dir], Some(tool.path()));
    assert_eq!(text(&again.stdout), text(&done.stdout));
    assert_eq!(runs(&tool), 1);
    assert!(text(&again.stderr).contains("converted already"), "{}", text(&again.stderr));

    let nothing = Tree::new().with("notes.txt", "x");
    let output = run(home.path(), &["convert", nothing.path().to_str().unwrap()], Some(tool.path()));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn without_the_tool_the_explorer_says_the_command() {
    let capture = capture();
    let mut app = Headless::new(Start::default(), (100, 30), neuron_scope::term::color::Depth::None);
    if neuron_scope::source::convert::tool().is_some() {
        println!("skipped: neuron-explorer is installed here");
        return;
    }
    app.open(discover(capture.path()).unwrap());
    let failure = app.app.failure().unwrap();
    assert!(failure.message.contains("neuron-explorer view -d"), "{}", failure.message);
}

#[test]
fn the_explorer_offers_to_convert_and_opens_the_result() {
    let home = Tree::new();
    let (capture, tool) = (capture(), tool(&profile(&home), ""));
    let dir = capture.path().to_str().unwrap();
    let render = |keys: &str| {
        let output = run(home.path(), &["render", dir, "--size", "80x24", "--keys", keys], Some(tool.path()));
        (output.status.code(), text(&output.stdout).to_owned())
    };
    let (status, offer) = render("");
    assert_eq!(status, Some(0));
    assert!(offer.contains("has to be converted by neuron-explorer first"), "{offer}");
    assert!(offer.contains("convert it now") && offer.contains("neuron-explorer view -d"), "{offer}");
    assert_eq!(runs(&tool), 0, "only when asked to");
    let (_, opened) = render("<Enter>");
    assert!(opened.contains(" made ") && opened.contains("TensMat"), "{opened}");
    let (_, again) = render("");
    assert!(again.contains("TensMat"), "what was made of it is opened at once: {again}");
    assert_eq!(runs(&tool), 1);
}
