//! Carries out actions: one file per chapter of the help.

mod areas;
mod causes;
pub mod events;
pub mod export;
mod gaps;
mod goto;
pub mod marks;
mod moves;
mod pane;
mod program;
mod search;
mod tracks;
mod zoom;

use super::App;
use super::action::{Action, Group};

/// Carries out an action; `held` says that its key is being held down.
pub fn update(app: &mut App, action: &Action, held: bool) {
    let known = match action.info().group {
        Group::Move => moves::update(app, action),
        Group::Zoom => zoom::update(app, action, held),
        Group::Tracks => tracks::update(app, action),
        Group::Events => events::update(app, action),
        Group::Marks => marks::update(app, action) || export::update(app, action) || areas::update(app, action),
        Group::Panes => pane::update(app, action),
        Group::View | Group::Program => program::update(app, action),
        Group::Causes => causes::update(app, action),
        Group::Search => search::update(app, action),
    };
    if !known {
        app.refuse(format!("{} is not available here", action.name()));
    }
}
