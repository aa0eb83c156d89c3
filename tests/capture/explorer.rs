//! Captures in the explorer: the list to choose from, what is said on opening.

use neuron_scope::app::Start;
use neuron_scope::app::headless::{Headless, text};
use neuron_scope::app::keymap::parse_script;
use neuron_scope::source::discover;
use neuron_scope::term::color::Depth;
use neuron_scope::ui::look::Look;

use crate::{Tree, neff, ntff};

fn open(tree: &Tree, keys: &str) -> Headless {
    let look = Look { plain: true, ..Look::default() };
    let mut app = Headless::new(Start { look, ..Start::default() }, (80, 24), Depth::None);
    app.open(discover(tree.path()).unwrap());
    for key in parse_script(keys).unwrap() {
        app.press(key);
    }
    app
}

fn screen(app: &Headless) -> String {
    text(app.buffer(), false)
}

fn said(app: &Headless) -> String {
    app.app.message().map(|m| m.text.clone()).unwrap_or_default()
}

fn capture() -> Tree {
    Tree::new()
        .with("i-0a_pid_3/t/neff_12.neff", neff(6, 1))
        .with("i-0a_pid_3/t/12_instid_0_vnc_0.ntff", ntff(6, 1))
        .with("i-0a_pid_3/t/12_instid_0_vnc_1.ntff", ntff(6, 2))
        .with("i-0a_pid_4/t/profile_rank_2_exec_5.ntff", ntff(6, 3))
}

#[test]
fn the_tree_is_there_to_choose_from() {
    let shown = screen(&open(&capture(), ""));
    for line in ["pid 3 / nc 0 / 12 ", "pid 3 / nc 1 / 12 ", "pid 4 / profile / rank 2 / exec 5 "] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.contains("of neff_12.neff") && shown.contains("program not found"), "{shown}");
}

#[test]
fn what_cannot_be_read_is_told_before_it_is_chosen() {
    let tree = capture().with("i-0a_pid_5/t/13_instid_0_vnc_0.ntff", &ntff(6, 1)[..100]);
    let shown = screen(&open(&tree, ""));
    let line = shown.lines().find(|line| line.contains("pid 5 ")).unwrap();
    assert!(line.contains("cannot be read"), "{line}");
}

#[test]
fn what_is_missing_of_a_system_profile_is_no_matter_of_a_device_trace() {
    let tree = Tree::new()
        .with("i-0a_pid_3/t/neff_12.neff", neff(6, 1))
        .with("i-0a_pid_3/t/12_instid_0_vnc_0.ntff", ntff(6, 1))
        .with("i-0a_pid_3/t/12_instid_0_vnc_2.ntff", ntff(6, 1))
        .with("i-0a_pid_3/t/ntrace.pb", "x");
    // The system profile is listed first.
    let opened = open(&tree, "<Down><Enter>");
    assert!(screen(&opened).contains("nc 0 / 12"));
    let told: Vec<String> = opened.app.warnings().into_iter().map(|warning| warning.text).collect();
    assert!(!told.iter().any(|text| text.contains("trace_info.pb")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("no trace of core 1")), "{told:?}");
}

#[test]
fn what_failed_is_said_on_opening() {
    let sound = open(&capture(), "<Enter>");
    assert_eq!(said(&sound), "");
    assert!(screen(&sound).contains("pid 3 / nc 0 / 12"));
    let other = open(&capture(), "<Down><Enter>");
    assert!(
        said(&other).starts_with("!: ") && said(&other).contains("of another compilation than the one that ran"),
        "{}",
        said(&other)
    );
    let first = &other.app.warnings()[0];
    assert!(first.failed && first.text.contains("ERROR_PROCESS_INCOMPLETE"), "{first:?}");
    let without = open(&capture(), "<Down><Down><Enter>");
    assert!(said(&without).contains("not found"), "{}", said(&without));
}

#[test]
fn all_can_be_chosen_together() {
    let tree = Tree::new()
        .with("run_rank_0.ntff", ntff(6, 1))
        .with("run_rank_1.ntff", ntff(6, 1))
        .with("run.neff", neff(6, 1));
    let list = screen(&open(&tree, ""));
    assert!(list.contains("all 2 device traces together") && list.contains("2 profiles"), "{list}");
    let app = open(&tree, "<Down><Down><Enter>");
    assert_eq!(app.app.scene.store.cores(), 2);
    assert!(screen(&app).contains("run / rank 0 and 1 more"), "{}", screen(&app));
}

#[test]
fn a_core_that_was_not_captured_is_told_with_the_others() {
    let tree = capture().with("i-0a_pid_3/t/12_instid_0_vnc_4.ntff", ntff(6, 1));
    let app = open(&tree, "<Enter>");
    let kinds: Vec<String> = app.app.warnings().into_iter().map(|warning| warning.kind).collect();
    assert!(kinds.contains(&"core not captured".to_owned()), "{kinds:?}");
}
