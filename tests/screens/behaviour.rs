//! What keys do, on the demo profile.

use neuron_scope::app::Start;
use neuron_scope::app::headless::{Headless, text};
use neuron_scope::app::panes::PaneKind;
use neuron_scope::source::discover;
use neuron_scope::term::color::Depth;

use super::{DEMO, demo, press};

const SIZE: (u16, u16) = (120, 40);

fn said(app: &Headless) -> String {
    app.app.message().map(|m| m.text.clone()).unwrap_or_default()
}

fn current(app: &Headless) -> String {
    app.app.scene.node().map(|n| n.full.clone()).unwrap_or_default()
}

fn start_of_selection(app: &Headless) -> i64 {
    app.app.scene.selected_window().unwrap().start
}

#[test]
fn escape_undoes_one_level_at_a_time() {
    let mut app = demo(SIZE);
    press(&mut app, "www.*vll<Tab>");
    assert_eq!(app.app.panes.focused(), Some(PaneKind::Details));
    press(&mut app, "<Esc>");
    assert!(app.app.scene.area.is_none() && app.app.scene.highlight.is_some());
    press(&mut app, "<Esc>");
    assert!(app.app.scene.highlight.is_none() && app.app.panes.focused().is_some());
    press(&mut app, "<Esc>");
    assert!(app.app.panes.focused().is_none() && app.app.scene.selection.is_some());
    press(&mut app, "<Esc>");
    assert!(app.app.scene.selection.is_none());
    press(&mut app, "<Esc><Esc>");
    assert!(!app.app.ended());
}

#[test]
fn q_closes_a_pane_and_quits_only_at_the_root() {
    let mut app = demo(SIZE);
    press(&mut app, "<Tab>q");
    assert!(app.app.panes.shown().is_empty() && !app.app.ended());
    press(&mut app, "q");
    assert!(app.app.ended());
}

#[test]
fn the_cursor_keeps_its_time_and_column_when_zooming() {
    let mut app = demo(SIZE);
    press(&mut app, "LLLLwww");
    let (time, column) = (app.app.scene.view.cursor(), app.app.scene.view.cursor_column());
    press(&mut app, "wws");
    assert_eq!((app.app.scene.view.cursor(), app.app.scene.view.cursor_column()), (time, column));
    press(&mut app, "0");
    assert!(app.app.scene.view.shows_all());
    press(&mut app, "u");
    assert_eq!(app.app.scene.view.cursor_column(), column);
}

#[test]
fn stepping_through_events_and_back() {
    let mut app = demo(SIZE);
    press(&mut app, "wwww.");
    let first = start_of_selection(&app);
    press(&mut app, "...");
    let fourth = start_of_selection(&app);
    assert!(fourth > first);
    press(&mut app, ",,,");
    assert_eq!(start_of_selection(&app), first);
    press(&mut app, ">");
    let name = |app: &Headless| {
        let event = app.app.scene.selected_event().unwrap();
        app.app.scene.store.table_of(event).event_name(event.event).to_owned()
    };
    let here = name(&app);
    press(&mut app, ">>");
    assert_eq!(name(&app), here);
}

#[test]
fn moving_between_tracks_skips_empty_ones_and_selects() {
    let mut app = demo(SIZE);
    press(&mut app, "LL");
    assert_eq!(current(&app), "TensorMatrix(nc0)");
    press(&mut app, "jj");
    assert_eq!(current(&app), "Vector(nc0)");
    let under = app.app.scene.under_cursor();
    assert_eq!(app.app.scene.selected_event(), under);
    press(&mut app, "kkkkk");
    assert_eq!(current(&app), "TensorMatrix(nc0)", "an unfolded group shows nothing of its own");
}

#[test]
fn a_pc_is_not_unique() {
    let mut app = demo(SIZE);
    press(&mut app, "gp6<Enter>");
    assert!(text(app.buffer(), false).contains("pc 6: which of"));
    press(&mut app, "vector nc1<Enter>");
    assert_eq!(current(&app), "Vector(nc1)");
    let there = start_of_selection(&app);
    press(&mut app, "gp6@Vector(nc1)#1<Enter>");
    assert_eq!(start_of_selection(&app), there);
    press(&mut app, "gp123456789<Enter>");
    assert_eq!(said(&app), "no instruction has the pc 123456789");
    press(&mut app, "gpx<Enter>");
    assert!(text(app.buffer(), false).contains("\"x\" is no pc"), "the entry stays and says what is wrong");
    press(&mut app, "<Esc><Backspace>");
    assert_ne!(current(&app), "Vector(nc1)", "back to where it was gone from");
    press(&mut app, "\\");
    assert_eq!(current(&app), "Vector(nc1)");
}

#[test]
fn ids_and_times_lead_to_their_events() {
    let mut app = demo(SIZE);
    press(&mut app, "www..");
    let event = app.app.scene.selected_event().unwrap();
    let id = app.app.scene.store.id_of(event);
    press(&mut app, &format!("<Esc>ggjjjgi{id}<Enter>"));
    assert_eq!(app.app.scene.selected_event(), Some(event));
    let packets = app.app.scene.store.table_index("DmaPacketAggregated").unwrap();
    let transfer = neuron_scope::store::EventRef { table: packets, event: 3 };
    let id = app.app.scene.store.id_of(transfer);
    press(&mut app, &format!("giDmaPacketAggregated:{id}<Enter>"));
    assert_eq!(app.app.scene.selected_event(), Some(transfer), "{}", said(&app));
    assert_eq!(app.app.setting("dma-grouping").as_deref(), Some("transfer"));
    press(&mut app, "gt100us<Enter>");
    assert_eq!(app.app.scene.view.cursor(), 100_000);
    press(&mut app, "gt9s<Enter>");
    assert!(text(app.buffer(), false).contains("the profile lasts from"));
}

#[test]
fn going_to_a_time_selects_what_runs_then_whatever_is_longer_near_by() {
    let mut app = demo(SIZE);
    press(&mut app, "jjj");
    assert_eq!(current(&app), "Scalar(nc0)");
    for time in [127_900, 30_000, 250_000] {
        press(&mut app, &format!("gt{time}ns<Enter>"));
        let store = app.app.scene.store.clone();
        let table = store.table("Instruction").unwrap();
        let group = table.groups.iter().find(|g| g.key.name == "Scalar" && g.key.core == Some(0)).unwrap();
        let events = group.sequence.first_event()..group.sequence.first_event() + group.sequence.len() as u32;
        let runs = |e: &u32| table.start(*e) <= time && table.end(*e) > time;
        let running: Vec<u32> = events.filter(runs).collect();
        let selected = app.app.scene.selected_event().map(|e| e.event);
        assert!(
            running.is_empty() || selected.is_some_and(|e| running.contains(&e)),
            "{time}: {selected:?} {running:?}"
        );
        assert!(time != 127_900 || !running.is_empty(), "something runs there");
    }
}

#[test]
fn tracks_are_folded_pinned_and_hidden() {
    let mut app = demo(SIZE);
    press(&mut app, "jjp");
    assert!(app.app.scene.rows[0].pinned && current(&app) == "Vector(nc0)");
    press(&mut app, "p");
    assert!(!app.app.scene.rows[0].pinned);
    press(&mut app, "x");
    let shown = |app: &Headless| {
        let scene = &app.app.scene;
        scene.rows.iter().any(|row| scene.tree.node(row.node).full == "Vector(nc0)")
    };
    assert!(!shown(&app), "{}", said(&app));
    press(&mut app, "XTvector nc0<Enter>");
    assert_eq!(current(&app), "Vector(nc0)");
    press(&mut app, "z");
    assert_eq!(current(&app), "nc0");
    press(&mut app, "Tscalar nc1<Enter>");
    assert_eq!(current(&app), "Scalar(nc1)", "a folded group opens for the track that is gone to");
}

#[test]
fn details_lead_to_the_rows_they_point_at() {
    let mut app = demo((200, 60));
    press(&mut app, "www.<Tab>");
    let other_row = |app: &Headless| {
        ["Bir", "Penguin", "Hlo", "Framework"]
            .iter()
            .any(|kind| text(app.buffer(), false).contains(&format!("{kind}Instruction row")))
    };
    for _ in 0..60 {
        if other_row(&app) {
            break;
        }
        press(&mut app, "l<Enter>");
    }
    assert!(other_row(&app) && text(app.buffer(), false).contains("raw_hlo_id"));
    press(&mut app, "<Esc>");
    assert!(!other_row(&app));
}

#[test]
fn where_one_was_is_kept_unless_told_otherwise() {
    let kept = tempfile::tempdir().unwrap();
    let open = |fresh: bool| {
        let start = Start { state_dir: Some(kept.path().to_owned()), fresh, ..Start::default() };
        let mut app = Headless::new(start, SIZE, Depth::None);
        app.open(discover(&DEMO).unwrap());
        app
    };
    let mut app = open(false);
    press(&mut app, "LLwwwwjjj.cxtd");
    app.app.save_state();
    let (window, row) = (app.app.scene.view.window(), current(&app));
    let selected = start_of_selection(&app);
    let again = open(false);
    assert_eq!((again.app.scene.view.window(), current(&again)), (window, row));
    assert_eq!(start_of_selection(&again), selected);
    assert_eq!(again.app.setting("color-by").as_deref(), Some("opcode"));
    assert_eq!(again.app.setting("dma-grouping").as_deref(), Some("queue"));
    assert!(open(true).app.scene.view.shows_all());
}

#[test]
fn opening_can_be_cancelled() {
    let mut app = neuron_scope::app::App::new(Start::default());
    app.open_one_of(discover(&DEMO).unwrap());
    assert!(app.opening().is_some());
    for key in neuron_scope::app::keymap::parse_script("<Esc>").unwrap() {
        app.key(key, std::time::Duration::ZERO);
    }
    assert!(app.ended() && app.failure().is_none(), "nothing was on the screen yet");
}

#[test]
fn what_cannot_be_opened_says_why() {
    let mut found = discover(&DEMO).unwrap();
    found[0].path = "gone".into();
    let mut app = Headless::new(Start::default(), SIZE, Depth::None);
    app.open(found);
    assert!(app.app.ended());
    assert!(app.app.failure().is_some_and(|problem| problem.path.ends_with("gone")));
}

#[test]
fn settings_change_by_key_by_command_and_by_list() {
    let mut app = demo(SIZE);
    press(&mut app, "c");
    assert_eq!(said(&app), "color-by: opcode");
    press(&mut app, ":set color-by layer<Enter>");
    assert_eq!(said(&app), "color-by: layer");
    press(&mut app, "Cengine<Enter>");
    assert_eq!(said(&app), "color-by: engine");
    press(&mut app, "ts");
    assert_eq!(app.app.setting("split-sequencer").as_deref(), Some("on"));
    assert!(app.app.scene.tree.nodes.iter().any(|n| n.full.contains("sequencer")));
    press(&mut app, ":core 1<Enter>");
    assert!(app.app.scene.rows.iter().all(|r| app.app.scene.tree.node(r.node).core != Some(0)));
}

#[test]
fn the_mouse_does_what_the_keys_do() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut app = demo(SIZE);
    let mut mouse = |kind, column, row| {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        app.app.mouse(event, std::time::Duration::ZERO);
    };
    let left = MouseButton::Left;
    mouse(MouseEventKind::Down(left), 60, 7);
    mouse(MouseEventKind::Drag(left), 80, 9);
    mouse(MouseEventKind::Up(left), 80, 9);
    mouse(MouseEventKind::ScrollUp, 60, 3);
    mouse(MouseEventKind::ScrollUp, 60, 3);
    let scene = &app.app.scene;
    let area = scene.area.clone().unwrap();
    assert_eq!(area.tracks(|key| scene.row_of(key)).map(|(a, b)| b - a), Some(2));
    assert!(!scene.view.shows_all() && !area.growing);
    press(&mut app, "ga");
    let (shown, wanted) = (app.app.scene.view.window(), area.window());
    assert!(shown.contains(wanted.start) && shown.length() <= wanted.length(), "{shown:?} for {wanted:?}");
}

#[test]
fn frames_do_not_wait_for_indexing() {
    use std::sync::mpsc;
    let mut app = demo(SIZE);
    // All threads of the common pool are busy, as they are while a profile is being read.
    let (begun, all) = mpsc::channel();
    let gate = std::sync::Arc::new(std::sync::RwLock::new(()));
    let closed = gate.write().unwrap();
    for _ in 0..rayon::current_num_threads() {
        let (begun, gate) = (begun.clone(), gate.clone());
        rayon::spawn(move || {
            begun.send(()).unwrap();
            drop(gate.read());
        });
    }
    for _ in 0..rayon::current_num_threads() {
        all.recv().unwrap();
    }
    press(&mut app, "wwlj.d");
    assert!(app.app.scene.selection.is_some());
    drop(closed);
}

#[test]
fn another_profile_can_be_opened_and_a_bad_one_costs_nothing() {
    let other = tempfile::tempdir().unwrap();
    let empty = other.path().join("other@latest");
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(empty.join("Instruction.parquet"), b"no table at all").unwrap();
    let mut app = demo(SIZE);
    press(&mut app, &format!(":open {}<Enter>", other.path().join("gone").display()));
    assert!(said(&app).contains("does not exist") && app.app.has_profile());
    press(&mut app, &format!(":open {}<Enter>", empty.display()));
    assert!(!app.app.ended() && text(app.buffer(), false).contains("other"), "{}", text(app.buffer(), false));
    press(&mut app, &format!(":open {}<Enter>", DEMO.display()));
    assert_eq!(current(&app), "TensorMatrix(nc0)");
}

#[test]
fn panes_stand_side_by_side_where_there_is_room_and_one_can_have_it_all() {
    let mut app = demo(SIZE);
    press(&mut app, "www.<Space>b");
    assert_eq!(app.app.panes.shown().len(), 2);
    let halves =
        |app: &Headless| text(app.buffer(), false).lines().nth(34).is_some_and(|l| l.chars().nth(59) == Some('│'));
    assert!(halves(&app));
    press(&mut app, "Z");
    let shown = text(app.buffer(), false);
    assert!(!halves(&app) && !shown.contains("overview"), "{shown}");
    press(&mut app, "<Esc>");
    assert!(halves(&app) && text(app.buffer(), false).contains("overview"));
    press(&mut app, "<Space>b");
    assert_eq!(app.app.panes.shown().len(), 1);
}

#[test]
fn what_is_asked_for_is_shown_exactly_and_nothing_beyond_the_profile() {
    for size in [(80, 24), (150, 40), (200, 60)] {
        let mut app = demo(size);
        press(&mut app, "gr125us..127us<Enter>");
        let window = app.app.scene.view.window();
        assert_eq!((window.start, window.end), (125_000, 127_000), "{size:?}");
        press(&mut app, "0");
        let (shown, whole) = (app.app.scene.view.window(), app.app.scene.view.whole());
        assert_eq!((shown.start, shown.end), (whole.start, whole.end + 1), "{size:?}");
    }
    let mut app = demo(SIZE);
    press(&mut app, "gr100us..200us<Enter>ge");
    let (shown, whole) = (app.app.scene.view.window(), app.app.scene.view.whole());
    assert!(shown.contains(whole.end) && shown.end - whole.end < 2000, "{shown:?}");
    press(&mut app, "gg");
    assert!(app.app.scene.view.window().contains(whole.start));
    // Beyond the end no counter goes on.
    press(&mut app, "geDDDD");
    let screen = text(app.buffer(), false);
    let row = screen.lines().find(|line| line.contains("Throttle")).unwrap();
    assert!(row.trim_end().chars().count() < 100, "{row}");
}

#[test]
fn a_time_can_be_given_from_the_cursor_or_as_a_command() {
    let mut app = demo(SIZE);
    press(&mut app, "gt100us<Enter>");
    assert_eq!(app.app.scene.view.cursor(), 100_000);
    press(&mut app, "gt+5us<Enter>");
    assert_eq!(app.app.scene.view.cursor(), 105_000);
    press(&mut app, ":50us<Enter>");
    assert_eq!(app.app.scene.view.cursor(), 50_000);
    press(&mut app, "Gat:150us@Tensor<Enter>");
    let screen = text(app.buffer(), false);
    assert!(screen.contains("there is TensorMatrix(nc0)"), "{screen}");
}
