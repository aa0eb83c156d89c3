//! Writing events to files.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::App;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::jobs::Job;
use crate::app::overlays::ExportOverlay;
use crate::model::Window;
use crate::model::format::format_count;
use crate::query::export::{ExportError, Format, Request, export};
use crate::query::search::Matches;
use crate::query::tracks::{NodeId, Tree};
use crate::store::{EventRef, Store};

/// The slot of the job.
pub const SLOT: &str = "export";

pub fn update(app: &mut App, action: &Action) -> bool {
    let Action::Export(path) = action else { return false };
    if app.exporting {
        app.refuse("an export is being written; Esc cancels it");
        return true;
    }
    match path {
        Some(path) => {
            let what = What::offered(app)[0];
            let out = super::marks::expanded(path);
            start(app, Order { what, tables: Vec::new(), sampled: false, format: Format::Csv, out });
        }
        None => {
            let overlay = ExportOverlay::new(app);
            app.show(overlay);
        }
    }
    true
}

/// Which events are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Those of the selected area.
    Area,
    /// Those in the window, on all tracks.
    Window,
    /// Those that the search found.
    Found,
    /// All.
    All,
}

impl What {
    /// What can be exported now, the most likely first.
    #[must_use]
    pub fn offered(app: &App) -> Vec<What> {
        let area = app.scene.area.is_some().then_some(What::Area);
        let found = (app.search.total() > 0).then_some(What::Found);
        area.into_iter().chain(found).chain([What::Window, What::All]).collect()
    }

    /// In words.
    #[must_use]
    pub fn text(self, app: &App) -> String {
        match self {
            What::Area => "the selected area".into(),
            What::Window => "the window on the screen".into(),
            What::Found => format!("the {} matches of the search", format_count(app.search.total())),
            What::All => "the whole profile".into(),
        }
    }
}

/// What is to be written, and where.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which events.
    pub what: What,
    /// Names of tables; all tables of events where empty.
    pub tables: Vec<String>,
    /// Whether only one event per column of the screen is written.
    pub sampled: bool,
    /// How.
    pub format: Format,
    /// The directory.
    pub out: PathBuf,
}

/// The tracks of an area, what lies below folded ones included.
fn nodes(app: &App) -> Vec<NodeId> {
    let scene = &app.scene;
    let rows = scene.area.as_ref().and_then(|area| area.tracks(|key| scene.row_of(key)));
    let Some((first, last)) = rows else { return Vec::new() };
    let mut nodes = Vec::new();
    for row in scene.rows.iter().take(last + 1).skip(first) {
        let mut below = vec![row.node];
        while let Some(id) = below.pop() {
            nodes.push(id);
            if row.folded {
                below.extend(&scene.tree.node(id).children);
            }
        }
    }
    nodes
}

fn on_tracks(store: &Store, tree: &Tree, nodes: &[NodeId], event: EventRef) -> bool {
    nodes.iter().map(|&id| tree.node(id)).any(|node| {
        node.track().is_some_and(|t| t.table == event.table)
            && node.lane(store).is_some_and(|lane| lane.position(event.event).is_some())
    })
}

/// Writes the files off the UI thread.
pub fn start(app: &mut App, order: Order) {
    let (store, tree) = (app.scene.store.clone(), app.scene.tree.clone());
    let window: Option<Window> = match order.what {
        What::Area => app.scene.area.as_ref().map(|area| area.window()),
        What::Window => Some(app.scene.view.window()),
        What::Found | What::All => None,
    };
    let found: Option<Arc<Matches>> = app.search.found.clone().filter(|_| order.what == What::Found);
    let nodes = nodes(app);
    let columns = app.scene.view.grid().columns();
    app.exporting = true;
    app.say("exporting …  Esc cancels");
    app.effects.push(Effect::Job(Job::new(SLOT, move |reporter| {
        let keep = |event: EventRef| on_tracks(&store, &tree, &nodes, event);
        let keep: &(dyn Fn(EventRef) -> bool + Sync) = &keep;
        let request = Request {
            window,
            tables: order.tables,
            matches: found.as_deref(),
            keep: (order.what == What::Area).then_some(keep),
            sampled: order.sampled.then_some(columns),
            format: order.format,
            out: order.out.clone(),
            replace: false,
        };
        let progress = |done: u64, total: u64| {
            let share = u128::from(done.min(total)) * 100 / u128::from(total.max(1));
            reporter.answer(move |app| app.say(format!("exporting {share} %  Esc cancels")));
        };
        let result = export(&store, &request, reporter.flag(), &progress);
        let out = order.out;
        reporter.answer(move |app| {
            app.exporting = false;
            match result {
                Ok((written, damage)) => {
                    let rows: u64 = written.iter().map(|w| w.rows).sum();
                    let tables: Vec<&str> = written.iter().map(|w| w.table.as_str()).collect();
                    let text =
                        format!("{} rows of {} written to {}", format_count(rows), tables.join(", "), out.display());
                    match damage.first() {
                        None => app.say(text),
                        Some(p) => app.fail(format!("{text}; but {}: {}", p.path.display(), p.message)),
                    }
                }
                Err(ExportError::Failed(p)) => app.fail(format!("{}: {}", p.path.display(), p.message)),
                Err(ExportError::Cancelled) => app.refuse("the export was cancelled"),
            }
        });
    })));
}

/// Stops writing; true where something was being written.
pub fn cancel(app: &mut App) -> bool {
    let was = std::mem::take(&mut app.exporting);
    if was {
        app.effects.push(Effect::Cancel(SLOT));
        app.refuse("the export was cancelled; files written before it stay");
    }
    was
}
