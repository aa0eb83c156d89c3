//! Marks: set, measured between, kept; and events written to files.

use std::path::Path;
use std::time::Duration;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use neuron_scope::app::Start;
use neuron_scope::app::headless::{Headless, text};
use neuron_scope::app::panes::PaneKind;
use neuron_scope::source::discover;
use neuron_scope::term::color::Depth;
use neuron_scope::ui::look::Look;

use super::{demo, press};

const SIZE: (u16, u16) = (120, 40);

/// A copy of the demo profile, whose marks are kept beside it.
fn own(dir: &Path) -> Headless {
    let look = Look { plain: true, ..Look::default() };
    let start = Start { look, state_dir: Some(dir.join("state")), ..Start::default() };
    let mut app = Headless::new(start, SIZE, Depth::None);
    app.open(discover(&dir.join("profile")).unwrap());
    app
}

fn copied() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    neuron_scope::demo::write(&dir.path().join("profile")).unwrap();
    dir
}

fn said(app: &Headless) -> String {
    app.app.message().map(|m| m.text.clone()).unwrap_or_default()
}

fn names(app: &Headless) -> Vec<&str> {
    app.app.marking.all().iter().map(|m| m.name.as_str()).collect()
}

#[test]
fn what_marks_look_like() {
    let mut app = demo((80, 24));
    press(&mut app, "wwww.mLLm.M'");
    insta::assert_snapshot!("marks_80x24", text(app.buffer(), false));
    let mut app = demo((200, 60));
    press(&mut app, "wwww.mLLm.MLLLLm'j=jj");
    insta::assert_snapshot!("marks_200x60", text(app.buffer(), false));
    let mut app = demo((80, 24));
    press(&mut app, "e");
    insta::assert_snapshot!("export_80x24", text(app.buffer(), false));
}

#[test]
fn a_mark_snaps_to_an_edge_near_the_cursor() {
    let mut app = demo(SIZE);
    press(&mut app, "wwwwww.");
    let event = app.app.scene.selected_window().unwrap();
    press(&mut app, "lm");
    let time = app.app.marking.all()[0].start_ns;
    assert!(time == event.start || time == event.end, "{}", said(&app));
    press(&mut app, "M");
    let span = app.app.marking.all().iter().find(|m| m.end_ns.is_some()).unwrap();
    assert_eq!((span.start_ns, span.end_ns), (event.start, Some(event.end)));
}

#[test]
fn marks_are_visited_renamed_measured_moved_and_deleted() {
    let mut app = demo(SIZE);
    press(&mut app, "gt100us<Enter>:mark-here left<Enter>gt200us<Enter>:mark-here right<Enter>gg");
    assert_eq!(names(&app), ["left", "right"]);
    let times: Vec<i64> = app.app.marking.all().iter().map(|m| m.start_ns).collect();
    press(&mut app, ")");
    assert_eq!(app.app.scene.view.cursor(), times[0]);
    press(&mut app, ")");
    assert_eq!(app.app.scene.view.cursor(), times[1]);
    press(&mut app, ")");
    assert_eq!(said(&app), "no mark after this");
    press(&mut app, "(");
    assert_eq!(app.app.scene.view.cursor(), times[0]);
    press(&mut app, "Gmark:right<Enter>");
    assert_eq!(app.app.scene.view.cursor(), times[1]);
    // In the list: the first is measured from, and there is a stretch to the second.
    press(&mut app, "'<Home>=j");
    assert_eq!(app.app.panes.focused(), Some(PaneKind::Marks));
    press(&mut app, "gm");
    let window = app.app.scene.view.window();
    // The window begins at the edge of a column.
    let column = window.length() / u64::from(app.app.scene.view.grid().columns()) + 1;
    assert!(window.start.abs_diff(times[0]) <= column && window.end.abs_diff(times[1]) <= column, "{window:?}");
    press(&mut app, "E<C-u>end of it<Enter>");
    assert_eq!(names(&app), ["left", "end of it"]);
    press(&mut app, "<A-n>look here<Enter>");
    assert_eq!(app.app.marking.all()[1].note, "look here");
    press(&mut app, "<A-c>red<Enter>");
    assert_eq!(app.app.marking.all()[1].color, "red");
    press(&mut app, "<S-Left>");
    assert!(app.app.marking.all()[1].start_ns < times[1]);
    press(&mut app, "<Delete>");
    assert_eq!(names(&app), ["left"]);
}

#[test]
fn a_mark_is_found_whatever_else_its_name_reads_like() {
    let mut app = demo(SIZE);
    press(&mut app, "gt150us<Enter>:mark-here 7<Enter>gg");
    let seven = app.app.marking.all()[0].start_ns;
    press(&mut app, "Gmark:7<Enter>");
    assert_eq!(app.app.scene.view.cursor(), seven);
    press(&mut app, "Gmark:8<Enter>");
    assert!(text(app.buffer(), false).contains("there is no mark \"8\""), "{}", text(app.buffer(), false));
}

#[test]
fn what_happened_between_two_marks_is_told() {
    let mut app = demo((80, 24));
    press(&mut app, "gt100us<Enter>:mark-here left<Enter>gt200us<Enter>:mark-here right<Enter>'<Home>=jZ");
    let screen = text(app.buffer(), false);
    insta::assert_snapshot!("between_marks_80x24", screen);
    press(&mut app, "<PageDown>");
    let below = text(app.buffer(), false);
    assert!(below.contains("Sync·1") && !screen.contains("Sync·1"), "{below}");
    assert_eq!(app.app.marking.at().map(|m| m.name.as_str()), Some("right"), "the list stays");
}

#[test]
fn a_mark_is_dragged_with_the_mouse() {
    let mut app = demo(SIZE);
    press(&mut app, "gt100us<Enter>:mark-here here<Enter>gt200us<Enter>");
    let grid = app.app.scene.view.grid();
    let before = app.app.marking.all()[0].start_ns;
    let column = grid.visible_column(before).unwrap();
    let mut mouse = |kind, column: u16| {
        // On the ruler, which is below the header and the overview.
        let (column, row) = (SIZE.0 - grid.columns() + column, 3);
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        app.app.mouse(event, Duration::ZERO);
    };
    mouse(MouseEventKind::Down(MouseButton::Left), column);
    mouse(MouseEventKind::Drag(MouseButton::Left), column + 3);
    mouse(MouseEventKind::Drag(MouseButton::Left), column + 7);
    mouse(MouseEventKind::Up(MouseButton::Left), column + 7);
    let after = app.app.marking.all()[0].start_ns;
    assert!(grid.column_of(after).abs_diff(i64::from(column) + 7) <= 1, "{before} {after}: {}", said(&app));
    assert!(said(&app).contains("here"), "{}", said(&app));
}

#[test]
fn marks_are_there_again_and_can_be_shared() {
    let dir = copied();
    let mut app = own(dir.path());
    press(&mut app, "gt100us<Enter>:mark-here kept<Enter>");
    // Nothing but setting it is needed: the program may be killed now.
    let again = own(dir.path());
    assert_eq!(names(&again), ["kept"]);
    let (json, csv) = (dir.path().join("shared.json"), dir.path().join("shared.csv"));
    press(&mut app, &format!(":marks-export {}<Enter>", json.display()));
    press(&mut app, &format!(":marks-export {}<Enter>", csv.display()));
    assert!(said(&app).starts_with("1 marks written"), "{}", said(&app));
    assert!(std::fs::read_to_string(&csv).unwrap().lines().nth(1).unwrap().contains("kept"));
    let other = copied();
    let mut app = own(other.path());
    press(&mut app, &format!("LLm:marks-load {}<Enter>", json.display()));
    assert_eq!(names(&app).len(), 2, "{}", said(&app));
    press(&mut app, &format!(":marks-load {}<Enter>", dir.path().join("none.json").display()));
    assert!(said(&app).contains("does not exist"), "{}", said(&app));
    assert_eq!(names(&own(other.path())).len(), 2);
}

#[test]
fn the_matches_of_a_search_are_exported() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("files");
    let mut app = demo(SIZE);
    press(&mut app, "/opcode=ACTIVATE<Enter>");
    let total = app.app.search.total();
    // Matches are the first choice; the last line is the directory, where typing replaces what is proposed.
    press(&mut app, &format!("e<Up>{}<Enter>", out.display()));
    assert!(said(&app).contains("rows of Instruction written to"), "{}", said(&app));
    let text = std::fs::read_to_string(out.join("Instruction.csv")).unwrap();
    assert_eq!(text.lines().count() as u64, total + 1);
    assert!(text.lines().next().unwrap().starts_with("timeline_track,"));
    assert!(text.lines().skip(1).all(|line| line.starts_with("Scalar(nc")), "only what was found");
}

#[test]
fn an_area_is_exported_with_its_tracks_only() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("files");
    let mut app = demo(SIZE);
    press(&mut app, "jjvLLLv");
    let window = app.app.scene.area.as_ref().unwrap().window();
    press(&mut app, &format!("e<Down>Instruction<Up><Up><C-u>{}<Enter>", out.display()));
    let text = std::fs::read_to_string(out.join("Instruction.csv")).unwrap();
    let store = &app.app.scene.store;
    let table = store.table("Instruction").unwrap();
    let lane = app.app.scene.node().unwrap().lane(store).unwrap();
    let mut inside = 0;
    lane.visit(window, |_| {
        inside += 1;
        true
    });
    assert!(inside > 0 && inside < table.len());
    assert_eq!(text.lines().count(), inside + 1, "{}", said(&app));
    press(&mut app, "enosuchtable");
    press(&mut app, "<Esc>e<Down>NoSuchTable<Enter>");
    assert!(said(&app).contains("no table NoSuchTable"), "{}", said(&app));
}

#[test]
fn an_area_is_measured_like_a_stretch_between_marks() {
    let mut app = demo(SIZE);
    press(&mut app, "gt100us<Enter>v");
    press(&mut app, "gt200us<Enter>v<Space>a");
    let area = text(app.buffer(), false);
    let mut app = demo(SIZE);
    press(&mut app, "gr100us..200.001us<Enter><Space>a");
    let window = text(app.buffer(), false);
    for screen in [&area, &window] {
        assert!(screen.contains("100.000 µs to 200.001 µs"), "{screen}");
        assert!(screen.contains("DMA transfers"), "{screen}");
    }
}
