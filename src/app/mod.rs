//! The state of the explorer: actions, keymap, panes, background jobs and the event loop.
//!
//! [`App`] is the state. [`App::key`], [`App::mouse`] and [`App::act`] change it and leave [`Effect`]s for what it
//! cannot do itself; [`App::draw`] shows it. [`run`] puts a terminal around it, [`headless`] does without one.

pub mod action;
mod area;
pub mod argument;
mod at_once;
pub mod atomic;
pub mod causes;
mod converting;
mod cursor_line;
pub mod effect;
pub mod entry;
mod facts;
mod findings;
pub mod fuzzy;
pub mod headless;
pub mod history;
mod hold;
pub mod jobs;
pub mod keymap;
pub mod log;
pub mod marking;
pub mod marks;
mod mouse;
mod opening;
pub mod overlays;
pub mod palette;
pub mod panes;
mod places;
mod reading;
mod regions;
mod rows;
pub mod run;
pub mod scene;
mod screen;
pub mod search;
mod settings;
pub mod state;
mod update;
mod view;
mod warnings;

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;

use crate::model::Window;
use crate::query::viewport::Figure;
use crate::query::window::Figures;
use crate::store::EventRef;
use crate::ui::look::Look;
use crate::ui::timeline::Coloring;

use action::Action;
use effect::Effect;
use history::History;
use hold::Hold;
use keymap::{Context, Feed, Keymap, Pending};
use opening::Opening;
use overlays::Overlay;
use panes::Panes;
use regions::Regions;
use scene::Scene;
use screen::Drawn;

/// How important a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Something was done.
    Info,
    /// Something could not be done.
    Warning,
    /// Something failed.
    Error,
}

/// A line said to the person; it stays until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What is said.
    pub text: String,
    /// How important it is.
    pub weight: Weight,
}

/// How the App begins.
pub struct Start {
    /// The keys.
    pub keymap: Keymap,
    /// What was wrong with the key files, theme files and the like, to be told once.
    pub complaints: Vec<String>,
    /// Colours and glyphs.
    pub look: Look,
    /// Where state and histories are kept; `None` keeps none.
    pub state_dir: Option<PathBuf>,
    /// Where indexes are cached; `None` caches none.
    pub cache_dir: Option<PathBuf>,
    /// Whether to leave the state kept of a profile alone.
    pub fresh: bool,
    /// Whether the mouse is used.
    pub mouse: bool,
}

impl Default for Start {
    /// The default keys and colours; nothing is kept or cached.
    fn default() -> Start {
        Start {
            keymap: keymap::load(Some("default"), None).keymap,
            complaints: Vec::new(),
            look: Look::default(),
            state_dir: None,
            cache_dir: None,
            fresh: true,
            mouse: false,
        }
    }
}

/// Figures of the window that they were computed for; they stay while the window moves and are computed anew when it
/// rests.
#[derive(Default)]
struct Shown {
    window: Option<Window>,
    figures: Figures,
    /// By the key of the track.
    labels: rustc_hash::FxHashMap<String, Option<Figure>>,
}

/// The whole state of the explorer.
pub struct App {
    /// The profile and where one is in it.
    pub scene: Scene,
    /// The panes.
    pub panes: Panes,
    /// Colours and glyphs.
    pub look: Look,
    /// What colours tell apart.
    pub coloring: Coloring,
    /// The live keymap.
    pub keymap: Keymap,
    /// What was typed before.
    pub history: History,
    /// What the App asks of the program around it, in order.
    pub effects: Vec<Effect>,
    /// The marks of the profile.
    pub marking: marking::Marking,
    /// What was searched for and found.
    pub search: search::Search,
    /// Whether values are shown as recorded.
    pub raw_values: bool,
    /// The screen as of the last drawing.
    pub(crate) screen: Rect,
    overlays: Vec<Box<dyn Overlay>>,
    pending: Pending,
    hold: Hold,
    message: Option<Message>,
    opening: Option<Opening>,
    /// Whether a profile has been opened completely, this one or one before.
    opened: bool,
    /// What the profile that is open was found as.
    found: Option<crate::source::Found>,
    regions: Regions,
    drawn: Option<Drawn>,
    shown: Shown,
    overview: Option<screen::OverviewKept>,
    /// Why things started when they did.
    pub causes: causes::Causes,
    /// What stands out.
    emphases: crate::query::emphasis::Emphases,
    /// The event under the mouse pointer.
    pointer: Option<EventRef>,
    drag: Option<mouse::Drag>,
    /// Whether the cursor is being taken along at the edge of the window.
    dragged: bool,
    /// Whether an export is being written.
    pub(crate) exporting: bool,
    mouse: bool,
    /// Which warning was shown last.
    warning: Option<usize>,
    complaints: Vec<String>,
    /// What makes the profile doubtful.
    findings: Vec<crate::model::Finding>,
    state_dir: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
    fresh: bool,
    /// A row of another table that the Details pane is to show.
    visiting: Option<Result<crate::query::details::Details, crate::store::Problem>>,
    /// When the cursor and the window count as resting.
    rest: Option<Duration>,
    /// Which events' rows are being read: of the selected one, of the one under the cursor.
    reading: [Option<EventRef>; 2],
    pub(crate) now: Duration,
    /// Where one is, as of the last change that the panes know of.
    seen: Option<reading::Seen>,
    /// An event to go to as soon as the tracks that hold it are there.
    wanted: Option<EventRef>,
    quit: bool,
    /// Why nothing could be opened.
    failure: Option<crate::store::Problem>,
}

impl App {
    /// An App with nothing open.
    #[must_use]
    pub fn new(start: Start) -> App {
        let history = start.state_dir.as_ref().map(|dir| History::load(&dir.join("history.jsonl")));
        let mut app = App {
            scene: Scene::new(""),
            panes: Panes::default(),
            look: start.look,
            coloring: Coloring::default(),
            keymap: start.keymap,
            history: history.and_then(Result::ok).unwrap_or_default(),
            effects: Vec::new(),
            marking: marking::Marking::default(),
            search: search::Search::default(),
            exporting: false,
            raw_values: false,
            screen: Rect::new(0, 0, 80, 24),
            overlays: Vec::new(),
            pending: Pending::default(),
            hold: Hold::default(),
            message: None,
            opening: None,
            opened: false,
            found: None,
            regions: Regions::default(),
            drawn: None,
            shown: Shown::default(),
            overview: None,
            causes: causes::Causes::default(),
            emphases: crate::query::emphasis::Emphases::default(),
            pointer: None,
            drag: None,
            dragged: false,
            mouse: start.mouse,
            warning: None,
            complaints: start.complaints,
            findings: Vec::new(),
            state_dir: start.state_dir,
            cache_dir: start.cache_dir,
            fresh: start.fresh,
            visiting: None,
            rest: None,
            reading: [None; 2],
            now: Duration::ZERO,
            seen: None,
            wanted: None,
            quit: false,
            failure: None,
        };
        if let Some(first) = app.complaints.first() {
            let more = app.complaints.len() - 1;
            let more = if more > 0 { format!(" (and {more} more: press ! to read them)") } else { String::new() };
            app.message = Some(Message { text: format!("{first}{more}"), weight: Weight::Warning });
        }
        app
    }

    /// What the App asks of the program around it since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether the program is to end.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.quit
    }

    /// Why nothing could be opened, if that is why the program ends.
    #[must_use]
    pub fn failure(&self) -> Option<&crate::store::Problem> {
        self.failure.as_ref()
    }

    /// Ends the program.
    pub fn end(&mut self) {
        self.quit = true;
        self.effects.push(Effect::Quit);
    }

    /// The line last said to the person.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    /// Says a line to the person.
    pub fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), weight: Weight::Info });
    }

    /// Says why something could not be done.
    pub fn refuse(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), weight: Weight::Warning });
    }

    /// Says that something failed.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.message = Some(Message { text: text.into(), weight: Weight::Error });
    }

    /// Where the focus is.
    #[must_use]
    pub fn context(&self) -> Context {
        if self.panes.focused().is_some() { Context::Pane } else { Context::Timeline }
    }

    /// Takes a key at `now` (since some moment that stays the same).
    pub fn key(&mut self, key: KeyEvent, now: Duration) {
        self.now = now;
        if !self.overlays.is_empty() {
            if key.kind != crossterm::event::KeyEventKind::Release {
                self.with_overlay(|overlay, app| overlay.key(key, app));
            }
            self.changed();
            return;
        }
        match self.keymap.feed(self.context(), &mut self.pending, key) {
            Feed::Action(action) => {
                self.message = None;
                self.pointer = None;
                self.act(&action);
            }
            Feed::Unbound => {
                let keys = self.keymap.hint(Context::Timeline, &Action::Help);
                let help = keys.map_or_else(String::new, |key| format!("; {key} shows all keys"));
                self.refuse(format!("this key does nothing here{help}"));
            }
            Feed::Cancelled => self.message = None,
            Feed::Wait(_) | Feed::Ignored => {}
        }
        self.changed();
    }

    /// Takes a pasted text.
    pub fn paste(&mut self, text: &str) {
        if self.overlays.is_empty() {
            // A place copied from elsewhere is gone to.
            self.act(&Action::Goto(None));
        }
        self.with_overlay(|overlay, app| {
            overlay.paste(text, app);
            overlays::Flow::Stay
        });
        self.changed();
    }

    /// Carries out an action.
    pub fn act(&mut self, action: &Action) {
        let held = self.hold.note(action, self.now);
        if let Some(kind) = self.panes.focused()
            && self.with_pane(kind, |pane, app| pane.update(action, app))
        {
            return;
        }
        update::update(self, action, held);
    }

    /// Takes note that something may have changed: has rows read and panes told.
    pub(crate) fn changed(&mut self) {
        self.follow();
    }

    /// Takes note of the screen's size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.screen = Rect::new(0, 0, width, height);
        self.drawn = None;
    }
}
