//! How much time is in the window.

use crate::app::App;
use crate::app::action::Action;
use crate::app::history::Purpose;
use crate::app::overlays::Prompt;
use crate::model::Window;
use crate::model::time::{TimeError, parse_range};

pub fn update(app: &mut App, action: &Action, held: bool) -> bool {
    match action {
        Action::ZoomIn => zoom(app, 1, held),
        Action::ZoomOut => zoom(app, -1, held),
        Action::ZoomAll => app.scene.view.zoom_all(),
        Action::ZoomUndo => {
            if !app.scene.view.undo() {
                app.refuse("there is no zoom to undo");
            }
        }
        Action::ZoomRedo => {
            if !app.scene.view.redo() {
                app.refuse("there is no zoom to redo");
            }
        }
        Action::Focus => focus(app),
        Action::ZoomArea => match app.scene.area.as_ref().map(|a| a.window()) {
            Some(window) => {
                app.scene.leave();
                app.scene.view.show(window);
                app.scene.area = None;
            }
            None => app.refuse("no area is selected"),
        },
        Action::ZoomMarks => super::marks::zoom(app),
        Action::ZoomRange(arg) => match arg {
            Some(range) => {
                if let Err(why) = show_range(app, range) {
                    app.refuse(why);
                }
            }
            None => {
                let now = app.scene.view.window();
                let text = format!("{}..{}", now.start, now.end);
                app.show(
                    Prompt::new(Purpose::Goto, "range: ", "from..to, such as 17.2us..19.9us", |text, app| {
                        show_range(app, text)
                    })
                    .proposing(&text),
                );
            }
        },
        _ => return false,
    }
    true
}

fn zoom(app: &mut App, steps: i64, held: bool) {
    let steps = app.hold.scaled(steps);
    let before = app.scene.view.grid();
    app.scene.view.zoom(steps as i32, held);
    if app.scene.view.grid() == before {
        let text = if steps > 0 { "a nanosecond is as close as it gets" } else { "this is the whole profile" };
        app.say(text);
    }
}

/// Centres the selection, or fits it where it is in the middle already; without one the cursor.
fn focus(app: &mut App) {
    let scene = &mut app.scene;
    let Some(window) = scene.selected_window() else {
        let cursor = scene.view.cursor();
        scene.view.center(cursor);
        app.say("nothing is selected: centred the time cursor");
        return;
    };
    let middle = window.start.saturating_add_unsigned(window.length() / 2);
    let grid = scene.view.grid();
    let centred = grid.column_of(middle).abs_diff(i64::from(grid.columns() / 2)) <= 1;
    if centred {
        scene.leave();
        scene.view.show_roomy(window);
    } else {
        scene.view.center(middle);
    }
    scene.view.set_cursor(window.start.max(scene.view.window().start));
}

fn show_range(app: &mut App, text: &str) -> Result<(), String> {
    let range = parse_range(text).map_err(|e| e.to_string())?;
    let whole = app.scene.view.whole();
    let origin = app.scene.store.info.origin_unix_ns;
    let bounds = (whole.start, whole.end);
    let (start, end) = range.resolve(origin, bounds).map_err(|e: TimeError| e.to_string())?;
    if end <= whole.start || start >= whole.end {
        return Err("this lies outside the profile".into());
    }
    app.scene.leave();
    app.scene.view.show(Window::new(start, end));
    Ok(())
}
