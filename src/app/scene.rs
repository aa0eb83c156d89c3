//! What is being looked at: the profile, its tracks, the window, the selection.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::area::Area;
use super::facts::Facts;
use super::places::Places;
use super::rows::{Arrangement, Row, scroll_to};
use super::view::View;
use crate::model::{Field, Nanos, Window};
use crate::query::tracks::{Node, NodeId, TrackCache, TrackOptions, Tree};
use crate::query::viewport;
use crate::store::{Builder, EventRef, LabelKind, Problem, ProfileInfo, ProfileKind, Rows, Store};

/// What is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// An event.
    Event(EventRef),
    /// A stretch in which the engine of a track did nothing.
    Gap {
        /// The key of the track.
        track: String,
        /// When.
        window: Window,
    },
}

/// A place that can be gone back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    window: Window,
    cursor: Nanos,
    row: String,
    selection: Option<Selection>,
}

/// Events of one name, all highlighted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Highlight {
    /// The table that the events are in.
    pub table: u16,
    /// The key of their name among the table's labels.
    pub key: u32,
    /// The name.
    pub name: String,
}

/// The profile on the screen and where one is in it.
pub struct Scene {
    /// The profile.
    pub store: Arc<Store>,
    /// What is derived from it for the tracks.
    pub cache: Arc<TrackCache>,
    /// All its tracks.
    pub tree: Arc<Tree>,
    /// Which tracks those are.
    pub options: TrackOptions,
    /// Tracks whose overlapping events are shown in rows of their own.
    pub spread: BTreeSet<String>,
    /// What was done to the list of tracks by hand.
    pub arrangement: Arrangement,
    /// The tracks that are shown, in order.
    pub rows: Vec<Row>,
    /// Position in [`Scene::rows`] of the current track.
    pub row: usize,
    /// Position in [`Scene::rows`] of the first one below the pinned ones that is on the screen.
    pub top: usize,
    /// Lines that the tracks have on the screen.
    pub lines: u16,
    /// The window of time.
    pub view: View,
    /// What is selected.
    pub selection: Option<Selection>,
    /// What is highlighted.
    pub highlight: Option<Highlight>,
    /// The area that is selected.
    pub area: Option<Area>,
    /// The places visited.
    pub places: Places<Spot>,
    /// Full rows read so far.
    pub facts: Facts,
}

/// The rows of a profile that is not there yet.
struct NoRows;

impl Rows for NoRows {
    fn row(&self, table: &str, _row: u32) -> Result<Vec<Field>, Problem> {
        Err(Problem { path: table.into(), message: "nothing has been read yet".into() })
    }

    fn ids(&self, _table: &str) -> Result<Option<crate::store::Ids>, Problem> {
        Ok(None)
    }
}

/// A profile with nothing in it, to start from.
#[must_use]
pub fn empty_store(name: &str) -> Store {
    let info = ProfileInfo {
        name: name.to_owned(),
        path: std::path::PathBuf::new(),
        kind: ProfileKind::Device,
        format: String::new(),
        origin_unix_ns: None,
    };
    Builder::new(info).finish(Arc::new(NoRows))
}

impl Scene {
    /// A scene without tracks.
    #[must_use]
    pub fn new(name: &str) -> Scene {
        let store = Arc::new(empty_store(name));
        let view = View::new(store.whole(), 80);
        Scene {
            store,
            cache: Arc::default(),
            tree: Arc::default(),
            options: TrackOptions::default(),
            spread: BTreeSet::new(),
            arrangement: Arrangement::default(),
            rows: Vec::new(),
            row: 0,
            top: 0,
            lines: 10,
            view,
            selection: None,
            highlight: None,
            area: None,
            places: Places::default(),
            facts: Facts::default(),
        }
    }

    /// Shows another state of the profile (more of it has been read), or other tracks of it.
    pub fn install(&mut self, store: Arc<Store>, cache: Arc<TrackCache>, tree: Tree) {
        let current = self.current_key();
        if !Arc::ptr_eq(&store, &self.store) {
            self.selection = self.selection.take().and_then(|s| carry_over(&self.store, &store, s));
            self.highlight = None;
            self.facts.clear();
            let first = self.store.range.is_none();
            if first {
                self.view = View::new(store.whole(), self.view.grid().columns());
            } else {
                self.view.set_whole(store.whole());
            }
            self.store = store;
            self.cache = cache;
        }
        self.options = tree.options;
        self.tree = Arc::new(tree);
        self.rearrange_to(current);
    }

    /// Lists the tracks anew after the arrangement changed; the current one stays current where it is still shown.
    pub fn rearrange(&mut self) {
        let current = self.current_key();
        self.rearrange_to(current);
    }

    fn rearrange_to(&mut self, current: Option<String>) {
        let at = self.row;
        self.rows = self.arrangement.rows(&self.tree);
        let kept = current.as_deref().and_then(|key| self.row_of(key));
        self.row = match kept {
            Some(row) => row,
            None if current.is_some() => at.min(self.rows.len().saturating_sub(1)),
            // At first: the first track that shows something of its own.
            None => self.rows.iter().position(|r| self.tree.node(r.node).is_leaf()).unwrap_or(0),
        };
        self.scroll();
    }

    /// Keeps the current track on the screen.
    pub fn scroll(&mut self) {
        self.top = scroll_to(&self.rows, self.row, self.top, self.lines);
    }

    /// Scrolls the tracks by lines without changing the current one, as long as that stays on the screen.
    pub fn scroll_by(&mut self, by: i64) {
        let pinned = self.pinned();
        let top = (self.top.max(pinned) as i64).saturating_add(by).max(pinned as i64) as usize;
        let last = scroll_to(&self.rows, self.rows.len().saturating_sub(1), pinned, self.lines);
        self.top = top.min(last);
        let shown = self.visible_rows();
        if let (Some(first), Some(end)) = (shown.iter().find(|&&i| i >= pinned), shown.last())
            && self.row >= pinned
        {
            self.row = self.row.clamp(*first, *end);
        }
    }

    fn pinned(&self) -> usize {
        self.rows.iter().take_while(|r| r.pinned).count()
    }

    /// Positions of the rows that are on the screen, in order from its top.
    #[must_use]
    pub fn visible_rows(&self) -> Vec<usize> {
        let pinned = self.pinned();
        let mut left = self.lines;
        let mut shown = Vec::new();
        for i in (0..pinned).chain(self.top.max(pinned)..self.rows.len()) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(self.rows[i].height);
            shown.push(i);
        }
        shown
    }

    /// The row of the track with this key, where it is shown.
    #[must_use]
    pub fn row_of(&self, key: &str) -> Option<usize> {
        self.rows.iter().position(|r| self.tree.node(r.node).key == key)
    }

    /// The current track.
    #[must_use]
    pub fn node(&self) -> Option<&Node> {
        self.node_id().map(|id| self.tree.node(id))
    }

    /// Position of the current track in the tree.
    #[must_use]
    pub fn node_id(&self) -> Option<NodeId> {
        self.rows.get(self.row).map(|r| r.node)
    }

    fn current_key(&self) -> Option<String> {
        self.node().map(|n| n.key.clone())
    }

    /// The cell of time that the cursor is in.
    #[must_use]
    pub fn cursor_cell(&self) -> Window {
        let cell = self.view.grid().cell(i64::from(self.view.cursor_column()));
        // Of several columns within a nanosecond each shows that nanosecond.
        Window::new(cell.start, cell.end)
    }

    /// The event under the cursor on the current track.
    #[must_use]
    pub fn under_cursor(&self) -> Option<EventRef> {
        viewport::event_in(&self.store, self.node()?, self.cursor_cell())
    }

    /// Whether the current track holds an event.
    #[must_use]
    pub fn holds(&self, event: EventRef) -> bool {
        self.node().is_some_and(|node| {
            node.track().is_some_and(|t| t.table == event.table)
                && node.lane(&self.store).is_some_and(|lane| lane.position(event.event).is_some())
        })
    }

    /// The selected event.
    #[must_use]
    pub fn selected_event(&self) -> Option<EventRef> {
        match self.selection {
            Some(Selection::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// The time that is selected.
    #[must_use]
    pub fn selected_window(&self) -> Option<Window> {
        match self.selection.as_ref()? {
            Selection::Event(event) => {
                let table = self.store.table_of(*event);
                Some(Window::new(table.start(event.event), table.end(event.event)))
            }
            Selection::Gap { window, .. } => Some(*window),
        }
    }

    /// Where one is.
    #[must_use]
    pub fn spot(&self) -> Spot {
        Spot {
            window: self.view.window(),
            cursor: self.view.cursor(),
            row: self.current_key().unwrap_or_default(),
            selection: self.selection.clone(),
        }
    }

    /// Notes that the present place is about to be left.
    pub fn leave(&mut self) {
        let here = self.spot();
        self.places.leave(here);
    }

    /// Goes to a place that was left; the track is shown even if it has been folded away meanwhile.
    pub fn return_to(&mut self, spot: Spot) {
        self.view.restore(spot.window, spot.cursor);
        if let Some(id) = self.tree.find(&spot.row) {
            self.show_track(id);
        }
        self.selection = spot.selection;
    }

    /// Makes a track current, and visible if it is not.
    pub fn show_track(&mut self, id: NodeId) {
        let key = self.tree.node(id).key.clone();
        if self.row_of(&key).is_none() {
            self.arrangement.reveal(&self.tree, id);
            self.rows = self.arrangement.rows(&self.tree);
        }
        if let Some(row) = self.row_of(&key) {
            self.row = row;
        }
        self.scroll();
    }

    /// Selects an event and brings it on the screen. False where none of the present tracks holds it.
    pub fn go_to(&mut self, event: EventRef) -> bool {
        // Where the current track holds it, one stays there, even if another does too.
        if !self.holds(event) {
            let Some(id) = self.tree.track_of(&self.store, event) else { return false };
            self.show_track(id);
        }
        self.scroll();
        self.selection = Some(Selection::Event(event));
        self.view.jump(self.store.table_of(event).start(event.event));
        true
    }

    /// Highlights all events of the same name as `event`.
    pub fn highlight_name_of(&mut self, event: EventRef) {
        let table = self.store.table_of(event);
        let Some(labels) = table.label(LabelKind::Name) else { return };
        let key = labels.key(event.event as usize);
        let name = labels.entries[key as usize].clone();
        self.highlight = Some(Highlight { table: event.table, key, name });
    }
}

/// The same selection in another state of the profile: by table and row.
fn carry_over(from: &Store, to: &Store, selection: Selection) -> Option<Selection> {
    let Selection::Event(event) = selection else { return Some(selection) };
    let table = from.table_of(event);
    let row = table.rows[event.event as usize];
    let index = to.table_index(&table.name)?;
    let event = to.events[usize::from(index)].event_at_row(row)?;
    Some(Selection::Event(EventRef { table: index, event }))
}
