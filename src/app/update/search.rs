//! Finding events by what they say.

use crate::app::App;
use crate::app::action::Action;
use crate::app::history::Purpose;
use crate::app::overlays::SearchOverlay;

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::Search(Some(text)) => {
            app.history.push(Purpose::Search, text);
            app.search_for(text);
            app.go_to_first_match();
        }
        Action::Search(None) => {
            let overlay = SearchOverlay::new(app);
            app.show(overlay);
        }
        Action::SearchNext => app.next_match(false),
        Action::SearchPrev => app.next_match(true),
        Action::SearchClear => {
            if app.search.active() {
                app.search_for("");
            } else {
                app.refuse("nothing is searched for");
            }
        }
        Action::SearchDim(arg) => app.change("search-dim", arg.as_deref()),
        Action::SearchFuzzy(arg) => app.change("search-fuzzy", arg.as_deref()),
        Action::SearchCategory(arg) => app.change("search-category", arg.as_deref()),
        _ => return false,
    }
    true
}
