//! Walking from what waited to what it waited for, on the demo profile and on a real capture.

use std::path::PathBuf;

use neuron_scope::app::Start;
use neuron_scope::app::causes::Causes;
use neuron_scope::app::headless::{Headless, text};
use neuron_scope::app::panes::PaneKind;
use neuron_scope::app::scene::Selection;
use neuron_scope::query::emphasis::Emphasis;
use neuron_scope::source::discover;
use neuron_scope::term::color::Depth;

use super::{demo, press, screen};

const SIZE: (u16, u16) = (120, 40);

fn said(app: &Headless) -> String {
    app.app.message().map(|m| m.text.clone()).unwrap_or_default()
}

/// The name of what is selected.
fn selected(app: &Headless) -> String {
    let asking = app.app.asking().unwrap();
    asking.name(asking.actor(app.app.scene.selected_event().unwrap()))
}

#[test]
fn screens_of_causes() {
    insta::assert_snapshot!("dependencies_80x24", screen((80, 24), "www...<Space>p"));
    insta::assert_snapshot!("dependencies_200x60", screen((200, 60), "www...<Space>p"));
    insta::assert_snapshot!("trail_80x24", screen((80, 24), "www...<Space>pbb"));
    insta::assert_snapshot!("chain_120x40", screen((120, 40), "www...r"));
    insta::assert_snapshot!("gap_80x24", screen((80, 24), "wwwI"));
    insta::assert_snapshot!("blame_120x40", screen((120, 40), "tb"));
    insta::assert_snapshot!("semaphore_120x40", screen((120, 40), "www...gs"));
    insta::assert_snapshot!("causes_to_choose_80x24", screen((80, 24), "www...B"));
}

#[test]
fn stepping_through_idle_gaps_passes_over_what_no_column_shows() {
    let mut app = demo(SIZE);
    let gaps = |app: &mut Headless| {
        let column = app.app.scene.cursor_cell().length();
        let mut found = 0;
        press(app, "gg<Esc><Esc>i");
        while !said(app).contains("no idle gap") {
            let gap = app.app.scene.selected_window().unwrap();
            assert!(gap.length() >= column, "{gap:?} is no column of {column} ns");
            found += 1;
            press(app, "i");
        }
        assert_eq!(said(app).contains("zoom in for shorter ones"), column > 1);
        found
    };
    let wide = gaps(&mut app);
    press(&mut app, "wwwwww");
    assert!(gaps(&mut app) > wide);
}

#[test]
fn a_key_pressed_before_causes_are_known_is_answered() {
    let mut app = demo(SIZE);
    assert!(app.app.asking().is_some(), "a small profile is looked through unasked");
    app.app.causes = Causes::default();
    assert!(app.app.asking().is_none());
    press(&mut app, "<C-Home>P");
    assert!(app.app.causes.report.as_ref().is_some_and(|r| r.title.starts_with("critical path")));
    assert_eq!(app.app.panes.focused(), Some(PaneKind::Causes));
}

#[test]
fn there_and_back_along_causes() {
    let mut app = demo(SIZE);
    press(&mut app, "www...");
    let (first, window) = (app.app.scene.selected_event().unwrap(), app.app.scene.view.window());
    let by = {
        let asking = app.app.asking().unwrap();
        asking.event(asking.why(asking.actor(first)).by.unwrap())
    };
    press(&mut app, "b");
    assert_eq!(app.app.scene.selected_event(), Some(by));
    assert_eq!(app.app.scene.view.window(), window, "what is in view is gone to without moving it");
    assert!(said(&app).starts_with("← ") && said(&app).contains("ns"), "{}", said(&app));
    press(&mut app, "b");
    assert_eq!(app.app.causes.trail.len(), 2);
    press(&mut app, "<Backspace>");
    assert_eq!((app.app.scene.selected_event(), app.app.causes.trail.len()), (Some(by), 1));
    press(&mut app, "Y");
    let copied = app.app.causes.trail.text();
    assert_eq!(said(&app), format!("{} bytes copied", copied.len()));
    press(&mut app, "<Backspace>");
    assert_eq!(app.app.scene.selected_event(), Some(first));
    press(&mut app, "Y");
    assert_eq!(said(&app), "no cause has been followed yet");
}

#[test]
fn what_an_event_unblocked_was_blocked_by_it() {
    let mut app = demo(SIZE);
    press(&mut app, "www...");
    let from = app.app.scene.selected_event().unwrap();
    press(&mut app, "o");
    let asking = app.app.asking().unwrap();
    let to = app.app.scene.selected_event().unwrap();
    assert_ne!(to, from);
    assert_eq!(asking.why(asking.actor(to)).by.map(|by| asking.event(by)), Some(from));
    assert!(said(&app).starts_with("→ "), "{}", said(&app));
}

#[test]
fn dependencies_are_walked_and_stand_out() {
    let mut app = demo(SIZE);
    press(&mut app, "www...<Space>p<Tab>");
    assert_eq!(app.app.panes.focused(), Some(PaneKind::Dependencies));
    let links = app.app.links().unwrap().clone();
    assert!(links.before.iter().any(|l| l.emphasis == Emphasis::Flow), "{links:?}");
    assert!(links.before[0].bound && links.before.len() > 1);
    let second = app.app.asking().unwrap().event(links.before[1].actor);
    press(&mut app, "j<Enter>");
    assert_eq!(app.app.scene.selected_event(), Some(second));
    assert_eq!(app.app.causes.trail.len(), 1);
    press(&mut app, "y");
    assert!(said(&app).ends_with("bytes copied"), "{}", said(&app));
    press(&mut app, "<A-y>");
    assert!(said(&app).ends_with("bytes copied"), "{}", said(&app));
}

#[test]
fn packets_of_a_selected_instructions_transfers_stand_out() {
    let mut app = demo((120, 60));
    press(&mut app, ":goto at:10.3us@Sync(nc0)<Enter>");
    assert!(selected(&app).starts_with("DMA_DIRECT2D"), "{}", selected(&app));
    let lit = |app: &Headless| {
        let rows = text(app.buffer(), false);
        rows.lines().filter(|line| line.trim_start().starts_with("DMA-E") && line.contains('{')).count()
    };
    assert_eq!(lit(&app), 0, "they are folded");
    press(&mut app, "TDMA<Enter>z");
    assert_eq!(lit(&app), 0, "another track, another selection");
    press(&mut app, ":goto at:10.3us@Sync(nc0)<Enter>wwwwwwwwwwwwww");
    assert!(lit(&app) > 8, "{}", text(app.buffer(), false));
}

#[test]
fn gaps_are_explained_piece_by_piece() {
    let mut app = demo(SIZE);
    press(&mut app, "wwwI");
    let Some(Selection::Gap { window, .. }) = app.app.scene.selection.clone() else { panic!("no gap") };
    let links = app.app.links().unwrap();
    assert!(!links.pieces.is_empty() && links.late == window.length());
    press(&mut app, "r");
    let report = app.app.causes.report.clone().unwrap();
    assert!(report.title.starts_with("idle for"), "{}", report.title);
    press(&mut app, "<Esc>o");
    assert_eq!(app.app.scene.selected_window().unwrap().start, window.end, "what ended the gap");
    press(&mut app, "<Backspace>b");
    assert!(selected(&app).contains(" on "), "{}", selected(&app));
}

#[test]
fn blame_follows_the_window_and_goes_away() {
    let mut app = demo(SIZE);
    let rows = |app: &Headless| app.app.scene.rows.iter().filter(|r| r.height > 1).count();
    press(&mut app, "tb");
    assert!(rows(&app) >= 6, "{}", rows(&app));
    let whole = app.app.causes.report.clone().unwrap();
    assert!(whole.of_window && app.app.panes.focused().is_none());
    press(&mut app, "wwww");
    assert_ne!(app.app.causes.report.as_ref().unwrap().entries, whole.entries);
    // One cause alone, and all again.
    press(&mut app, "<Space>r<Enter>");
    assert!(said(&app).starts_with("only ") && said(&app).ends_with(" is shown below the engines"), "{}", said(&app));
    assert!(app.app.causes.report.as_ref().unwrap().title.contains("; shown is "));
    press(&mut app, "<Enter>");
    assert_eq!(said(&app), "all causes are shown");
    press(&mut app, "<Esc>tb");
    assert_eq!(rows(&app), 0);
    assert!(app.app.causes.report.is_none());
}

#[test]
fn reach_and_what_if_are_listed() {
    let mut app = demo(SIZE);
    press(&mut app, "www...R");
    let report = app.app.causes.report.clone().unwrap();
    assert!(report.title.contains("delays") && !report.marked.is_empty(), "{}", report.title);
    press(&mut app, "<Esc>WMATMUL 1<Enter>");
    let report = app.app.causes.report.clone().unwrap();
    let cell = |name: &str| {
        let line = report.entries.iter().find(|e| e.parts[0].text == name);
        line.map(|e| e.parts[1].text.clone()).unwrap_or_default()
    };
    assert_eq!(cell("estimate"), cell("recorded"), "the same run takes the same time: {report:?}");
    press(&mut app, "<Esc>Wnothing<Enter>");
    assert!(app.app.causes.report.as_ref().is_some_and(|r| r.title == report.title), "refused in words, asked again");
}

/// The capture of the worked example, where the corpus is.
fn worked_example() -> Option<Headless> {
    let root = std::env::var_os("NEURON_SCOPE_CORPUS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from);
    let path = root.join("neuron/v6_attention_baseline_bf16_s1024/oracle.json");
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    let mut app = Headless::new(Start::default(), SIZE, Depth::None);
    app.open(discover(&path).unwrap());
    Some(app)
}

#[test]
fn enter_opens_the_gap_that_is_selected_and_leaves_it_selected() {
    let mut app = demo(SIZE);
    press(&mut app, "wwwI");
    let gap = app.app.scene.selection.clone();
    assert!(matches!(gap, Some(neuron_scope::app::scene::Selection::Gap { .. })), "{gap:?}");
    press(&mut app, "<Enter>");
    assert_eq!(app.app.scene.selection, gap);
    assert_eq!(app.app.panes.focused(), Some(neuron_scope::app::panes::PaneKind::Details));
}

#[test]
fn the_worked_example_is_walked_to_its_root() {
    let Some(mut app) = worked_example() else { return };
    press(&mut app, ":goto at:50us@TensorMatrix<Enter>I");
    let window = app.app.scene.selected_window().unwrap();
    let screen = text(app.buffer(), false);
    assert!((44_000..46_000).contains(&window.length()), "{window:?}\n{screen}");
    press(&mut app, "b");
    assert!(said(&app).contains("S[34] (qSyncDynamicHW)>=16"), "{}", said(&app));
    assert!(selected(&app).contains("transfer on qSyncDynamicHW"), "{}", selected(&app));
    press(&mut app, "b");
    assert!(selected(&app).contains("DMA_DIRECT2D pc 61 on Sync"), "{}", selected(&app));
    press(&mut app, "b");
    assert!(said(&app).contains("S[50] (qScalarDynamicHW)>=16"), "{}", said(&app));
    assert_eq!(app.app.causes.trail.len(), 3);
}
