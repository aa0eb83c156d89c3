//! Idle gaps, selected like events.

use super::events::stepped;
use crate::app::App;
use crate::app::scene::Selection;
use crate::model::Window;
use crate::query::gaps;

/// Which idle gap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The next one.
    Next,
    /// The one before.
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
    let gap = match which {
        Which::Next => gaps::next(lane, whole, from, 1),
        Which::Previous => gaps::previous(lane, whole, from, 1),
        Which::Longest => gaps::longest(lane, whole, window),
    };
    match gap {
        Some(gap) => {
            app.scene.selection = Some(Selection::Gap { track: key, window: Window::new(gap.start, gap.end) });
            app.scene.view.jump(gap.start);
        }
        None => app.refuse(match which {
            Which::Next => "no idle gap after this",
            Which::Previous => "no idle gap before this",
            Which::Longest => "no idle gap in this window",
        }),
    }
}
