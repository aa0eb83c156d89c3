//! Marks: set, gone to, changed, shared.

use std::path::{Path, PathBuf};

use crate::app::App;
use crate::app::action::Action;
use crate::app::history::Purpose;
use crate::app::marking::between;
use crate::app::marks::{MarksFormat, now_ms};
use crate::app::overlays::{Choice, Pick, Prompt};
use crate::model::marks::{COLORS, Edge, Mark};
use crate::model::time::{format_duration, format_time};
use crate::model::{Nanos, Window};
use crate::query::marks::nearest_edge;

/// Columns within which a mark snaps to an edge.
const NEAR: i64 = 2;

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::MarkHere(name) => here(app, name.as_deref().unwrap_or("")),
        Action::MarkSpan(name) => span(app, name.as_deref().unwrap_or("")),
        Action::MarkNext => step(app, false),
        Action::MarkPrev => step(app, true),
        Action::MarkRename(text) => rename(app, text.as_deref()),
        Action::MarkNote(text) => note(app, text.as_deref()),
        Action::MarkColor(text) => recolor(app, text.as_deref()),
        Action::MarkMoveLeft => shift(app, -1),
        Action::MarkMoveRight => shift(app, 1),
        Action::MarkCompare => compare(app),
        Action::MarkDelete => delete(app),
        Action::MarksLoad(path) => with_path(app, path.as_deref(), "merge marks from: ", load),
        Action::MarksExport(path) => with_path(app, path.as_deref(), "write marks to: ", export),
        _ => return false,
    }
    true
}

/// The edge of an event of the current track that is nearest to the cursor, within two columns; else the cursor.
fn snapped(app: &App) -> Nanos {
    let scene = &app.scene;
    let (grid, cursor) = (scene.view.grid(), scene.view.cursor());
    let Some(lane) = scene.node().and_then(|node| node.lane(&scene.store)) else { return cursor };
    let column = i64::from(scene.view.cursor_column());
    let near = Window::new(grid.cell(column - NEAR).start, grid.cell(column + NEAR).end);
    let tolerance = cursor.abs_diff(near.start).max(cursor.abs_diff(near.end));
    nearest_edge([lane], cursor, tolerance).filter(|edge| (near.start..=near.end).contains(edge)).unwrap_or(cursor)
}

fn here(app: &mut App, name: &str) {
    let time = snapped(app);
    if let Some(mark) = app.set_mark(time, None, name) {
        app.say(format!("mark {} at {}", mark.name, format_time(mark.start_ns, 1)));
    }
}

fn span(app: &mut App, name: &str) {
    let area = app.scene.area.as_ref().map(|area| area.window());
    let Some(window) = area.or_else(|| app.scene.selected_window()) else {
        app.refuse("neither an area nor an event is selected");
        return;
    };
    if let Some(mark) = app.set_mark(window.start, Some(window.end), name) {
        app.scene.area = None;
        app.say(format!("span {} of {}", mark.name, format_duration(window.length())));
    }
}

/// Goes to a mark.
pub fn go_to(app: &mut App, mark: &Mark) {
    app.scene.leave();
    app.scene.view.jump(mark.start_ns);
    app.marking.current = Some(mark.id.clone());
    let mut parts = vec![format!("mark {}", mark.name), format_time(mark.start_ns, 1)];
    parts.extend(mark.end_ns.map(|end| format_duration(end.abs_diff(mark.start_ns))));
    parts.extend((!mark.note.is_empty()).then(|| mark.note.clone()));
    app.say(parts.join("  "));
}

fn step(app: &mut App, back: bool) {
    let cursor = app.scene.view.cursor();
    let marks = app.marking.marks();
    let found = if back { marks.previous(cursor) } else { marks.next(cursor) };
    match found.cloned() {
        Some(mark) => go_to(app, &mark),
        None if marks.all().is_empty() => app.refuse("there are no marks yet"),
        None => app.refuse(if back { "no mark before this" } else { "no mark after this" }),
    }
}

fn meant(app: &mut App) -> Option<Mark> {
    let mark = app.meant_mark();
    match &mark {
        None => app.refuse("there are no marks yet"),
        Some(mark) if app.marking.is_recorded(mark) => {
            app.refuse(format!("{} is part of the profile and cannot be changed", mark.name));
            return None;
        }
        Some(_) => {}
    }
    mark
}

fn rename(app: &mut App, text: Option<&str>) {
    let Some(mark) = meant(app) else { return };
    let id = mark.id.clone();
    let set = move |text: &str, app: &mut App| {
        if text.is_empty() {
            return Err("a name is needed".to_owned());
        }
        app.change_marks(|marks| marks.change(&id, now_ms(), |mark| mark.name = text.to_owned()));
        Ok(())
    };
    ask(app, text, "name of the mark: ", &mark.name, set);
}

fn note(app: &mut App, text: Option<&str>) {
    let Some(mark) = meant(app) else { return };
    let id = mark.id.clone();
    let set = move |text: &str, app: &mut App| {
        app.change_marks(|marks| marks.change(&id, now_ms(), |mark| mark.note = text.to_owned()));
        Ok(())
    };
    ask(app, text, &format!("note on {}: ", mark.name), &mark.note, set);
}

fn ask(
    app: &mut App,
    text: Option<&str>,
    prompt: &str,
    now: &str,
    mut set: impl FnMut(&str, &mut App) -> Result<(), String> + 'static,
) {
    match text {
        Some(text) => {
            if let Err(why) = set(text, app) {
                app.refuse(why);
            }
        }
        None => app.show(Prompt::new(Purpose::Name, prompt, "", set).proposing(now)),
    }
}

fn recolor(app: &mut App, color: Option<&str>) {
    let Some(mark) = meant(app) else { return };
    let id = mark.id;
    let set = move |app: &mut App, color: &str| {
        app.change_marks(|marks| marks.change(&id, now_ms(), |mark| mark.color = color.to_owned()));
    };
    match color {
        Some(color) if COLORS.contains(&color) => set(app, color),
        Some(color) => app.refuse(format!("{color:?} is none of {}", COLORS.join(", "))),
        None => {
            let choice = |color: &'static str| {
                let set = set.clone();
                Choice::new(color, "", move |app| set(app, color))
            };
            let choices = COLORS.into_iter().map(choice).collect();
            app.show(Pick::new(format!("Colour of {}", mark.name), choices).at(mark_color(&mark.color)));
        }
    }
}

fn mark_color(color: &str) -> usize {
    COLORS.iter().position(|c| *c == color).unwrap_or(0)
}

/// Moves a mark by columns.
fn shift(app: &mut App, columns: i64) {
    let Some(mark) = meant(app) else { return };
    let grid = app.scene.view.grid();
    let time = grid.edge(grid.column_of(mark.start_ns).saturating_add(columns));
    // Columns may be narrower than a nanosecond.
    let time = if columns < 0 { time.min(mark.start_ns.saturating_sub(1)) } else { time.max(mark.start_ns + 1) };
    if app.change_marks(|marks| marks.move_to(&mark.id, Edge::Whole, time, now_ms())).is_some() {
        app.scene.view.jump(time);
        app.say(format!("mark {} at {}", mark.name, format_time(time, 1)));
    }
}

fn compare(app: &mut App) {
    let Some(mark) = app.meant_mark() else {
        app.refuse("there are no marks yet");
        return;
    };
    if app.marking.compare.as_ref() == Some(&mark.id) {
        app.marking.compare = None;
        app.say("times are measured from nothing");
    } else {
        app.say(format!("measured from mark {}", mark.name));
        app.marking.compare = Some(mark.id);
    }
    app.marking.generation += 1;
}

fn delete(app: &mut App) {
    let Some(mark) = meant(app) else { return };
    if app.change_marks(|marks| marks.remove(&mark.id)).is_some() {
        app.say(format!("mark {} deleted", mark.name));
    }
}

/// The stretch that is between marks: of two those that are chosen, of a span its own, else between the marks around
/// the cursor.
pub fn stretch(app: &App) -> Option<Window> {
    let marking = &app.marking;
    if let (Some(a), Some(b)) = (marking.base(), marking.at())
        && a.id != b.id
    {
        return Some(between(a, b));
    }
    if let Some(Mark { start_ns, end_ns: Some(end), .. }) = marking.at() {
        return Some(Window::new(*start_ns, *end));
    }
    let cursor = app.scene.view.cursor();
    let times = || marking.all().iter().flat_map(|m| [m.start_ns, m.end()]);
    let (before, after) = (times().filter(|&t| t <= cursor).max()?, times().filter(|&t| t > cursor).min()?);
    Some(Window::new(before, after))
}

/// Zooms to the stretch between two marks.
pub fn zoom(app: &mut App) {
    match stretch(app) {
        Some(window) if window.length() > 0 => {
            app.scene.leave();
            app.scene.view.show(window);
        }
        _ => app.refuse("the cursor is not between two marks; or choose two in the list of marks"),
    }
}

/// The file that a path means: `~` is the home directory.
fn with_path(app: &mut App, path: Option<&str>, prompt: &str, run: fn(&mut App, &Path) -> Result<(), String>) {
    match path {
        Some(path) => {
            if let Err(why) = run(app, &expanded(path)) {
                app.fail(why);
            }
        }
        None => {
            app.show(Prompt::new(Purpose::Path, prompt, "a file, .json or .csv", move |path, app| {
                if path.is_empty() {
                    return Err("a path is needed".into());
                }
                run(app, &expanded(path))
            }));
        }
    }
}

/// A path as typed, `~/` standing for the home directory.
pub fn expanded(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

fn load(app: &mut App, path: &Path) -> Result<(), String> {
    let Some(book) = app.marking.book_mut() else { return Err("marks are not kept in this session".into()) };
    let merged = book.load(path).map_err(|p| format!("{}: {}", p.path.display(), p.message))?;
    app.say(format!("{} marks added, {} changed, from {}", merged.added, merged.changed, path.display()));
    Ok(())
}

fn export(app: &mut App, path: &Path) -> Result<(), String> {
    let Some(book) = app.marking.book() else { return Err("marks are not kept in this session".into()) };
    book.export(path, MarksFormat::of(path)).map_err(|p| format!("{}: {}", p.path.display(), p.message))?;
    let count = book.marks().all().len();
    app.say(format!("{count} marks written to {}", path.display()));
    Ok(())
}
