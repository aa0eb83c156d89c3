//! The panes below the timeline.

use crate::app::App;
use crate::app::action::Action;
use crate::app::panes::REGISTRY;

pub fn update(app: &mut App, action: &Action) -> bool {
    if let Some(info) = REGISTRY.iter().find(|info| info.action == *action) {
        app.panes.open(info);
        return true;
    }
    match action {
        Action::PaneNext => app.panes.cycle(false),
        Action::PanePrev => app.panes.cycle(true),
        Action::PaneMaximize => {
            if app.panes.shown().is_empty() {
                app.refuse("no pane is open");
                return true;
            }
            app.panes.maximized = !app.panes.maximized;
            if app.panes.maximized && app.panes.focused().is_none() {
                app.panes.cycle(false);
            }
        }
        Action::PaneBeside => app.change("panes-beside", None),
        Action::PaneGrow => resize(app, 1),
        Action::PaneShrink => resize(app, -1),
        Action::PaneClose => {
            if !app.panes.close() {
                app.refuse("no pane is open");
            }
        }
        // In the timeline, scrolling is that of the tracks.
        Action::ScrollDown => app.scene.scroll_by(1),
        Action::ScrollUp => app.scene.scroll_by(-1),
        _ => return false,
    }
    true
}

fn resize(app: &mut App, by: i32) {
    let now = app.regions.pane_lines();
    let most = app.screen.height.saturating_sub(8).max(3);
    app.panes.lines = Some(now.saturating_add_signed(by as i16).clamp(3, most));
}
