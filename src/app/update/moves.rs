//! Along the time axis and from track to track.

use super::goto;
use crate::app::App;
use crate::app::action::Action;
use crate::app::argument::{Step, parse_count, parse_step};
use crate::app::scene::{Scene, Selection};
use crate::model::Window;
use crate::query::viewport::{event_in, shows_anything};

/// The share of the window that a pan moves by.
const SHARE: u32 = 16;

pub fn update(app: &mut App, action: &Action) -> bool {
    let columns = i64::from(app.scene.view.grid().columns());
    match action {
        Action::PanLeft(arg) => pan(app, -step(arg.as_deref(), columns)),
        Action::PanRight(arg) => pan(app, step(arg.as_deref(), columns)),
        Action::PanWindowLeft => app.pan(-columns),
        Action::PanWindowRight => app.pan(columns),
        Action::CursorLeft(arg) => cursor(app, -count(arg.as_deref())),
        Action::CursorRight(arg) => cursor(app, count(arg.as_deref())),
        Action::CursorLeftTen => cursor(app, -10),
        Action::CursorRightTen => cursor(app, 10),
        Action::CursorCenter => {
            let time = app.scene.view.cursor();
            app.scene.view.center(time);
        }
        Action::TrackNext => next_track(app, false),
        Action::TrackPrev => next_track(app, true),
        Action::TrackPageDown => page(app, false),
        Action::TrackPageUp => page(app, true),
        Action::TrackFirst => to_track(app, 0),
        Action::TrackLast => {
            let last = app.scene.rows.len().saturating_sub(1);
            to_track(app, last);
        }
        Action::GotoStart => {
            app.scene.leave();
            app.scene.view.jump_to_start();
        }
        Action::GotoEnd => {
            app.scene.leave();
            app.scene.view.jump_to_end();
        }
        Action::GotoTime(arg) => goto::time(app, arg.as_deref()),
        Action::GotoPc(arg) => goto::pc(app, arg.as_deref()),
        Action::GotoId(arg) => goto::id(app, arg.as_deref()),
        Action::Goto(arg) => goto::place(app, arg.as_deref()),
        Action::Back => {
            let here = app.scene.spot();
            match app.scene.places.back(here) {
                Some(spot) => app.scene.return_to(spot),
                None => app.refuse("no place was visited before this one"),
            }
        }
        Action::Forth => {
            let here = app.scene.spot();
            match app.scene.places.forth(here) {
                Some(spot) => app.scene.return_to(spot),
                None => app.refuse("no place was visited after this one"),
            }
        }
        _ => return false,
    }
    true
}

fn step(arg: Option<&str>, columns: i64) -> i64 {
    let share = |n: i64| ((columns + n / 2) / n).max(1);
    match arg.map(parse_step) {
        Some(Ok(Step::Columns(n))) => i64::from(n),
        Some(Ok(Step::Percent(n))) => (columns * i64::from(n) / 100).max(1),
        _ => share(i64::from(SHARE)),
    }
}

fn count(arg: Option<&str>) -> i64 {
    arg.and_then(|a| parse_count(a).ok()).map_or(1, i64::from)
}

fn pan(app: &mut App, columns: i64) {
    let columns = app.hold.scaled(columns);
    app.pan(columns);
}

impl App {
    /// Moves the window by whole columns.
    pub(in crate::app) fn pan(&mut self, columns: i64) {
        self.dragged = self.scene.view.pan(columns);
    }
}

fn cursor(app: &mut App, columns: i64) {
    let columns = app.hold.scaled(columns);
    app.scene.view.move_cursor(columns);
}

/// Goes to the next track that shows anything in the window; the time stays, and what lies under the cursor is
/// selected. Groups that are unfolded show nothing of their own.
fn next_track(app: &mut App, back: bool) {
    let scene = &app.scene;
    let window = scene.view.window();
    let shows = |&i: &usize| {
        let row = &scene.rows[i];
        let node = scene.tree.node(row.node);
        (node.is_leaf() || row.folded) && shows_anything(&scene.store, node, window)
    };
    let next = if back {
        (0..scene.row.min(scene.rows.len())).rev().find(shows)
    } else {
        (scene.row + 1..scene.rows.len()).find(shows)
    };
    match next {
        Some(row) => to_track(app, row),
        None => {
            let way = if back { "above" } else { "below" };
            app.refuse(format!("no track {way} shows anything in this window"));
        }
    }
}

fn page(app: &mut App, back: bool) {
    let lines = usize::from(app.scene.lines).saturating_sub(1).max(1);
    let last = app.scene.rows.len().saturating_sub(1);
    let row = if back { app.scene.row.saturating_sub(lines) } else { (app.scene.row + lines).min(last) };
    to_track(app, row);
}

fn to_track(app: &mut App, row: usize) {
    if row < app.scene.rows.len() {
        app.scene.row = row;
        app.scene.scroll();
        select_under_cursor(&mut app.scene);
    }
}

/// Selects what lies under the cursor on the current track; nothing where nothing does.
pub fn select_under_cursor(scene: &mut Scene) {
    scene.selection = scene.under_cursor().map(Selection::Event);
}

/// Selects what runs at the cursor's very time on the current track; where nothing does, what its column shows.
pub fn select_at_cursor(scene: &mut Scene) {
    let time = scene.view.cursor();
    let moment = Window::new(time, time.saturating_add(1));
    let running = scene.node().and_then(|node| event_in(&scene.store, node, moment));
    scene.selection = running.or_else(|| scene.under_cursor()).map(Selection::Event);
}
