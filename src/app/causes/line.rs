//! Why the selected event started when it did, in the line under the cursor.

use super::links::{Link, signed};
use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::scene::Selection;
use crate::model::time::format_duration;
use crate::query::causes::Actor;
use crate::query::residual::ORDINARY;
use crate::ui::bars::Segment;

/// The parts that tell of the causes of `selection`; none where it is not the one selected, or nothing is known yet.
#[must_use]
pub fn segments(app: &App, selection: &Selection) -> Vec<Segment> {
    let (Some(asking), Some(links)) = (app.asking(), app.links()) else { return Vec::new() };
    let Some(why) = links.why.as_ref().filter(|_| app.scene.selection.as_ref() == Some(selection)) else {
        return Vec::new();
    };
    let theme = &app.look.theme;
    let key = |action: &Action| app.keymap.hint(Context::Timeline, action).map_or(String::new(), |k| format!(" {k}"));
    let mut parts = Vec::new();
    if matches!(selection, Selection::Gap { .. }) {
        parts.push(Segment::new(format!("idle {}:", format_duration(links.late))).colored(theme.title));
    } else if links.late > ORDINARY {
        let text = format!("started {} late:", format_duration(links.late));
        parts.push(Segment::new(text).colored(theme.warning));
    }
    let bound = links.before.iter().find(|l| l.bound);
    match why.by {
        Some(by) => {
            let kinds = bound.map_or("", |l| l.kinds.as_str());
            let text = format!("←{} {}", key(&Action::BlockedBy), asking.name(by));
            parts.push(Segment::new(text).colored(theme.key));
            parts.push(Segment::new(kinds).colored(theme.semaphore).elastic());
            parts.push(Segment::new(signed(i64::try_from(why.lag).unwrap_or(i64::MAX))));
            parts.push(Segment::new(why.basis.name()).colored(theme.dim));
        }
        None => parts.push(Segment::new(format!("← {}", why.text)).colored(theme.dim).elastic()),
    }
    if let Some(Link { actor, gap, .. }) = links.after.iter().find(|l| l.bound) {
        let name = match actor {
            Actor::Instruction(_) | Actor::Transfer(_) | Actor::Other(_) => asking.name(*actor),
        };
        let text = format!("→{} {name} {}", key(&Action::Unblocks), signed(*gap));
        parts.push(Segment::new(text).colored(theme.key));
    }
    parts
}
