//! Idle gaps, selected like events.

use super::events::stepped;
use crate::app::App;
use crate::app::scene::Selection;
use crate::model::Window;
use crate::model::time::format_duration;
use crate::query::gaps;

/// Which idle gap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The next one that a column of the screen can show.
    Next,
    /// The one before that a column can show.
    Previous,
    /// The longest one in the window.
    Longest,
}

/// Selects an idle gap of the current track; of an engine the whole engine is idle then.
pub fn idle(app: &mut App, which: Which) {
    let Some(node) = stepped(app) else {
        app.refuse("this track has no events, and so no idle gaps");
        return;
    };
    let (key, own) = (node.key.clone(), node.track().cloned());
    let Some(track) = app.idle_track(&key).or(own) else { return };
    let from = app.scene.selected_window().map_or(app.scene.view.cursor(), |w| w.start);
    let window = app.scene.view.window();
    let store = app.scene.store.clone();
    let Some(lane) = track.lane(&store) else { return };
    let whole = store.whole();
    // What is narrower than a column cannot be seen, and there may be thousands.
    let least = app.scene.cursor_cell().length().max(1);
    let gap = match which {
        Which::Next => gaps::next(lane, whole, from, least),
        Which::Previous => gaps::previous(lane, whole, from, least),
        Which::Longest => gaps::longest(lane, whole, window),
    };
    match gap {
        Some(gap) => {
            app.scene.selection = Some(Selection::Gap { track: key, window: Window::new(gap.start, gap.end) });
            app.scene.view.jump(gap.start);
        }
        None => {
            let (wide, hint) = match least {
                1 => (String::new(), ""),
                _ => (format!(" of {}, a column, or more", format_duration(least)), "; zoom in for shorter ones"),
            };
            app.refuse(match which {
                Which::Next => format!("no idle gap{wide} after this{hint}"),
                Which::Previous => format!("no idle gap{wide} before this{hint}"),
                Which::Longest => "no idle gap in this window".into(),
            });
        }
    }
}
