//! The panes below the timeline. A pane is a file here, a line in [`REGISTRY`], an action and a key.

mod causes;
mod dependencies;
mod details;
mod marks;
mod search;

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde::{Deserialize, Serialize};

use super::App;
use super::action::Action;

pub use causes::CausesPane;
pub use dependencies::DependenciesPane;
pub use details::{DetailsPane, event_choice};
pub use marks::MarksPane;
pub use search::SearchPane;

/// Which pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaneKind {
    /// Every column of the selected event.
    Details,
    /// The matches of the search.
    Search,
    /// What the selection waited for, and what waited for it.
    Dependencies,
    /// Lists about causes.
    Causes,
    /// The marks.
    Marks,
}

/// How a pane is opened and made.
pub struct PaneInfo {
    /// Which one.
    pub kind: PaneKind,
    /// Its name in the bar above the panes.
    pub title: &'static str,
    /// What opens it.
    pub action: Action,
    /// Whether it is a list to be walked through, and so takes the focus when it is opened.
    pub list: bool,
    /// A new one.
    pub make: fn() -> Box<dyn Pane>,
}

/// All panes, in the order of the bar.
pub const REGISTRY: &[PaneInfo] = &[
    PaneInfo {
        kind: PaneKind::Details,
        title: "Details",
        action: Action::PaneDetails,
        list: false,
        make: || Box::<DetailsPane>::default(),
    },
    PaneInfo {
        kind: PaneKind::Search,
        title: "Search",
        action: Action::PaneSearch,
        list: true,
        make: || Box::<SearchPane>::default(),
    },
    PaneInfo {
        kind: PaneKind::Dependencies,
        title: "Dependencies",
        action: Action::PaneDependencies,
        list: false,
        make: || Box::<DependenciesPane>::default(),
    },
    PaneInfo {
        kind: PaneKind::Causes,
        title: "Causes",
        action: Action::PaneCauses,
        list: true,
        make: || Box::<CausesPane>::default(),
    },
    PaneInfo {
        kind: PaneKind::Marks,
        title: "Marks",
        action: Action::PaneMarks,
        list: true,
        make: || Box::<MarksPane>::default(),
    },
];

/// A pane. While one of its methods that may change the App runs, it is not in [`Panes`].
pub trait Pane {
    /// What stands in the bar beside its name: of what it shows something.
    fn subtitle(&self, app: &App) -> String {
        let _ = app;
        String::new()
    }

    /// Takes an action while it has the focus; false where the action is not for it.
    fn update(&mut self, action: &Action, app: &mut App) -> bool;

    /// Takes note that the selection, the window or the area is another one.
    fn refresh(&mut self, app: &mut App) {
        let _ = app;
    }

    /// Takes a click at a place relative to its top left corner, on its content; false where nothing is there.
    fn click(&mut self, column: u16, line: u16, app: &mut App) -> bool {
        let _ = (column, line, app);
        false
    }

    /// Draws its content.
    fn draw(&self, area: Rect, buffer: &mut Buffer, app: &App, focused: bool);
}

/// The panes that are shown, and the state of the others.
pub struct Panes {
    made: BTreeMap<PaneKind, Box<dyn Pane>>,
    /// Those shown, left to right; at most two.
    shown: Vec<PaneKind>,
    /// Which of those shown has the focus; the timeline where none has.
    focus: Option<usize>,
    /// Whether two are shown side by side where there is room.
    pub beside: bool,
    /// Whether the panes have the whole screen.
    pub maximized: bool,
    /// Lines that they have, where set by hand.
    pub lines: Option<u16>,
}

impl Default for Panes {
    fn default() -> Panes {
        Panes {
            made: BTreeMap::new(),
            shown: vec![PaneKind::Details],
            focus: None,
            beside: false,
            maximized: false,
            lines: None,
        }
    }
}

impl Panes {
    /// The panes that are shown, left to right.
    #[must_use]
    pub fn shown(&self) -> &[PaneKind] {
        &self.shown
    }

    /// The pane that has the focus; `None` where the timeline has it.
    #[must_use]
    pub fn focused(&self) -> Option<PaneKind> {
        self.focus.and_then(|i| self.shown.get(i).copied())
    }

    /// Gives the focus to a pane that is shown, or to the timeline.
    pub fn set_focus(&mut self, kind: Option<PaneKind>) {
        self.focus = kind.and_then(|kind| self.shown.iter().position(|k| *k == kind));
    }

    /// Shows other panes.
    pub fn set_shown(&mut self, shown: Vec<PaneKind>) {
        self.shown = shown;
        self.shown.truncate(2);
        self.focus = None;
        self.maximized &= !self.shown.is_empty();
    }

    /// Opens a pane. One that is shown already gets the focus, or gives it back.
    pub fn open(&mut self, info: &PaneInfo) {
        if let Some(at) = self.shown.iter().position(|k| *k == info.kind) {
            self.focus = if self.focus == Some(at) { None } else { Some(at) };
            return;
        }
        let at = match self.shown.len() {
            0 => {
                self.shown.push(info.kind);
                0
            }
            1 if self.beside => {
                self.shown.push(info.kind);
                1
            }
            n => {
                let at = self.focus.unwrap_or(n - 1);
                self.shown[at] = info.kind;
                at
            }
        };
        // Only what is to be walked through takes the focus; otherwise it stays where it is.
        if info.list {
            self.focus = Some(at);
        }
    }

    /// Closes the pane with the focus, or the last one; false where none is open.
    pub fn close(&mut self) -> bool {
        let Some(last) = self.shown.len().checked_sub(1) else { return false };
        self.shown.remove(self.focus.unwrap_or(last));
        self.focus = None;
        self.maximized = false;
        true
    }

    /// Keeps a second pane beside the first, or only one.
    pub fn toggle_beside(&mut self) {
        self.beside = !self.beside;
        if !self.beside && self.shown.len() > 1 {
            let kept = self.focus.unwrap_or(0);
            self.shown = vec![self.shown[kept]];
            self.focus = self.focus.map(|_| 0);
        } else if self.beside
            && let Some(other) = REGISTRY.iter().find(|info| !self.shown.contains(&info.kind))
        {
            self.shown.push(other.kind);
        }
    }

    /// Gives the focus to the next pane, after the last one to the timeline.
    pub fn cycle(&mut self, back: bool) {
        // The timeline counts as a place of its own, before the first pane.
        let places = self.shown.len() + 1;
        let at = self.focus.map_or(0, |i| i + 1);
        let next = if back { (at + places - 1) % places } else { (at + 1) % places };
        self.focus = next.checked_sub(1);
        if self.focus.is_none() {
            self.maximized = false;
        }
    }

    /// A pane, if it has been made.
    #[must_use]
    pub fn get(&self, kind: PaneKind) -> Option<&dyn Pane> {
        self.made.get(&kind).map(|pane| &**pane)
    }

    fn take(&mut self, kind: PaneKind) -> Box<dyn Pane> {
        self.made.remove(&kind).unwrap_or_else(|| (info(kind).make)())
    }
}

/// The registry's line of a pane.
#[must_use]
pub fn info(kind: PaneKind) -> &'static PaneInfo {
    REGISTRY.iter().find(|info| info.kind == kind).unwrap_or(&REGISTRY[0])
}

impl App {
    /// Has a pane do something with the App.
    pub fn with_pane<T>(&mut self, kind: PaneKind, work: impl FnOnce(&mut dyn Pane, &mut App) -> T) -> T {
        let mut pane = self.panes.take(kind);
        let out = work(&mut *pane, self);
        self.panes.made.insert(kind, pane);
        out
    }

    /// Tells the panes on the screen that what they show may be another thing now.
    pub fn refresh_panes(&mut self) {
        for kind in self.panes.shown.clone() {
            self.with_pane(kind, |pane, app| pane.refresh(app));
        }
    }
}

/// Tells at the bottom right how many lines lie below the last one shown.
fn draw_more(area: Rect, shown: usize, count: usize, buffer: &mut Buffer, look: &crate::ui::look::Look) {
    let below = count.saturating_sub(shown);
    if below > 0 && area.height > 0 {
        // What it covers is cut off for all to see, and no number runs into this one.
        let text = format!("{} {below} {}", look.glyphs.ellipsis, look.glyphs.down);
        let width = crate::term::text::width(&text) as u16;
        let style = look.on_background(look.theme.key);
        buffer.set_string(area.right().saturating_sub(width), area.bottom() - 1, text, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_does_not_steal_the_focus() {
        let mut panes = Panes::default();
        assert_eq!((panes.shown(), panes.focused()), (&[PaneKind::Details][..], None));
        panes.open(info(PaneKind::Details));
        assert_eq!(panes.focused(), Some(PaneKind::Details), "what is shown already gets it");
        panes.open(info(PaneKind::Details));
        assert_eq!(panes.focused(), None);
        assert!(panes.close() && !panes.close());
        panes.open(info(PaneKind::Details));
        assert_eq!(panes.focused(), None);
        panes.cycle(false);
        assert_eq!(panes.focused(), Some(PaneKind::Details));
        panes.cycle(false);
        assert_eq!(panes.focused(), None);
        panes.cycle(true);
        assert_eq!(panes.focused(), Some(PaneKind::Details));
    }
}
