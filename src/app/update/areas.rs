//! The area selection. (Marks come with their pane.)

use crate::app::App;
use crate::app::action::Action;
use crate::app::area::Area;
use crate::app::keymap::Context;
use crate::app::panes::PaneKind;
use crate::app::rows::Row;

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::AreaSelect => {
            let cursor = app.scene.view.cursor();
            let track = app.scene.node().map(|n| n.key.clone());
            match (&mut app.scene.area, track) {
                (Some(area), _) if area.growing => {
                    area.growing = false;
                    let key = app.keymap.hint(Context::Timeline, &Action::AreaMetrics);
                    app.say(format!(
                        "the area stays: {} measures it, Esc clears it",
                        key.as_deref().unwrap_or("area-metrics")
                    ));
                }
                (_, Some(track)) => {
                    app.scene.area = Some(Area::begin(cursor, track));
                    app.say("move the cursor to the other corner; v again ends it");
                }
                (_, None) => app.refuse("there is no track to begin an area on"),
            }
        }
        Action::AreaMetrics => metrics(app),
        _ => return false,
    }
    true
}

/// Shows what happened in the area; without one, the whole window becomes it.
fn metrics(app: &mut App) {
    if app.scene.area.is_none() {
        let window = app.scene.view.window();
        let key = |row: Option<&Row>| row.map(|r| app.scene.tree.node(r.node).key.clone());
        let (Some(first), Some(last)) = (key(app.scene.rows.first()), key(app.scene.rows.last())) else {
            app.refuse("there is no track to select");
            return;
        };
        app.scene.area = Some(Area { from: (window.start, first), to: (window.end - 1, last), growing: false });
    }
    if !app.panes.shown().contains(&PaneKind::Marks) {
        app.act(&Action::PaneMarks);
    }
    app.say("the metrics of the area are in the pane of marks; Esc clears the area");
}
