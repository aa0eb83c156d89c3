//! Why things started when they did: the index that the answers need, what the selection is linked to, the trail walked
//! along causes, and the reports on the screen.

pub mod blame;
mod copy;
mod idle;
mod line;
pub mod links;
pub mod report;
mod reports;
pub mod semaphore;
pub mod trail;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use super::App;
use super::action::Action;
use super::effect::Effect;
use super::jobs::Job;
use super::scene::Selection;
use crate::query::causes::{Actor, Asking};
use crate::query::emphasis::{Emphases, Emphasis};
use crate::query::gaps::{self, Gap};
use crate::query::index::CauseIndex;
use crate::query::locate;
use crate::query::tracks::Track;
use crate::store::{Problem, Store};

pub use copy::one as copy_one;
pub use line::segments;
pub use walk::{update, walk as walk_to};

use blame::Blames;
use links::Links;
use report::Report;
use trail::Trail;

/// Profiles with up to so many instructions are looked through as soon as they are read, larger ones when someone asks:
/// that takes a while and much memory, once, for what was found is kept beside the cache.
const UNASKED: usize = 300_000;

/// What is known of causes.
#[derive(Default)]
enum Known {
    /// Nothing yet.
    #[default]
    Nothing,
    /// It is being found out: how many hundredths are done.
    Soon(usize),
    /// All that is recorded.
    All(Arc<CauseIndex>),
    /// Why nothing can be known.
    Never(String),
}

/// The causes of a profile, as far as they have been asked for.
#[derive(Default)]
pub struct Causes {
    /// The profile that all of this is about.
    of: Option<Arc<Store>>,
    known: Known,
    /// Whether they were looked for beside the cache.
    sought: bool,
    /// Whether someone has asked about them.
    asked: bool,
    /// What was asked for meanwhile, to be done in order.
    waiting: Vec<Action>,
    /// By the key of a track, whose idle time is its own.
    idle: FxHashMap<String, Option<Track>>,
    /// What the selection is linked to.
    links: Option<(Selection, Links)>,
    /// The causes walked along.
    pub trail: Trail,
    /// What is listed in the Causes pane.
    pub report: Option<Report>,
    /// What idle time waited for, by track.
    pub blames: Blames,
}

impl Causes {
    /// Whether all of this is about `store`.
    fn are_of(&self, store: &Arc<Store>) -> bool {
        self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, store))
    }
}

impl App {
    /// Answers about causes, where what they need is there.
    #[must_use]
    pub fn asking(&self) -> Option<Asking<'_>> {
        match (&self.causes.known, &self.causes.of) {
            (Known::All(index), Some(of)) if Arc::ptr_eq(of, &self.scene.store) => {
                Some(Asking::new(&self.scene.store, index))
            }
            _ => None,
        }
    }

    /// The store and its index, for work off the UI thread.
    fn sources(&self) -> Option<(Arc<Store>, Arc<CauseIndex>)> {
        match &self.causes.known {
            Known::All(index) if self.asking().is_some() => Some((self.scene.store.clone(), index.clone())),
            _ => None,
        }
    }

    /// What to say in the place of an answer that is not there.
    #[must_use]
    pub fn causes_state(&self) -> String {
        match &self.causes.known {
            Known::Never(why) => why.clone(),
            _ if self.opening.is_some() => "what waited for what can be told once the whole profile is read".into(),
            Known::Soon(done) => format!("finding out what waited for what … {done}%"),
            _ => "finding out what waited for what …".into(),
        }
    }

    /// Whether causes can be told. If not yet, they will be, and then `action` is done; if never, that is said.
    pub(super) fn knows_causes(&mut self, action: Option<&Action>) -> bool {
        self.causes.asked |= action.is_some();
        if self.asking().is_some() {
            return true;
        }
        if matches!(self.causes.known, Known::Never(_)) || self.opening.is_some() {
            if action.is_some() {
                self.refuse(self.causes_state());
            }
            return false;
        }
        if let Some(action) = action {
            self.causes.waiting.push(action.clone());
            self.say(self.causes_state());
        }
        if matches!(self.causes.known, Known::Nothing) {
            self.find_causes();
        }
        false
    }

    fn find_causes(&mut self) {
        let (store, cache) = (self.scene.store.clone(), self.cache_dir.clone());
        self.causes.of = Some(store.clone());
        self.causes.known = Known::Soon(0);
        self.effects.push(Effect::Job(Job::new("causes", move |reporter| {
            let kept = || cache.as_deref().and_then(|directory| CauseIndex::load(&store, directory));
            if let Some(kept) = kept() {
                return reporter.answer(move |app| app.causes_are_known(&store, Ok(Arc::new(kept))));
            }
            let said = AtomicUsize::new(0);
            let built = CauseIndex::build_reporting(&store, reporter.flag(), &|done| {
                if said.fetch_max(done, Ordering::Relaxed) < done {
                    let store = store.clone();
                    reporter.answer(move |app| app.causes_are_found(&store, done));
                }
            });
            let built = built.map(Arc::new);
            let (of, known) = (store.clone(), built.clone());
            reporter.answer(move |app| app.causes_are_known(&of, known));
            let directory = cache.as_ref().filter(|_| store.worth_caching());
            let (Ok(built), Some(directory)) = (built, directory) else { return };
            let saved = built.save(&store, directory, reporter.flag());
            super::log::line(&format!("causes kept: {saved:?}"));
            // What lies in a file takes no memory of its own.
            if let Some(kept) = kept() {
                reporter.answer(move |app| {
                    if app.causes.are_of(&store) {
                        app.causes.known = Known::All(Arc::new(kept));
                    }
                });
            }
        })));
    }

    fn causes_are_known(&mut self, store: &Arc<Store>, index: Result<Arc<CauseIndex>, Problem>) {
        if !self.causes.are_of(store) {
            return;
        }
        self.causes.known = match index {
            Ok(index) => Known::All(index),
            Err(problem) => Known::Never(format!("{} {}", problem.path.display(), problem.message)),
        };
        let waiting = std::mem::take(&mut self.causes.waiting);
        if !waiting.is_empty() {
            self.message = None;
        }
        // What stands out and what panes show follows from it.
        self.seen = None;
        self.follow_causes();
        self.find_blames();
        for action in waiting {
            self.act(&action);
        }
    }

    /// Takes note of how far finding out is.
    fn causes_are_found(&mut self, store: &Arc<Store>, done: usize) {
        if let Known::Soon(before) = self.causes.known
            && self.causes.are_of(store)
        {
            self.causes.known = Known::Soon(done.max(before));
            if !self.causes.waiting.is_empty() {
                self.say(self.causes_state());
            }
        }
    }

    /// Has what is known follow the profile and the selection.
    pub(super) fn follow_causes(&mut self) {
        if self.causes.of.is_some() && !self.causes.are_of(&self.scene.store) {
            let (on, asked) = (self.causes.blames.on, self.causes.asked);
            self.causes = Causes { asked, ..Causes::default() };
            self.causes.blames.on = on;
            self.scene.arrangement.blamed.clear();
        }
        let selection = self.scene.selection.clone();
        if let Some(selection) = &selection {
            self.causes.trail.stand_at(selection);
        }
        if self.causes.links.as_ref().map(|(of, _)| of) == selection.as_ref() {
            return;
        }
        self.causes.links = None;
        let gap = selection.as_ref().and_then(|s| self.gap_of(s));
        if let (Some(selection), Some(asking)) = (selection, self.asking()) {
            let links = match (&selection, gap) {
                (Selection::Event(event), _) => Some(links::of_actor(&asking, asking.actor(*event))),
                (_, Some(gap)) => Some(links::of_gap(&asking, &gap)),
                _ => None,
            };
            self.causes.links = links.map(|links| (selection, links));
        }
    }

    /// Whether causes are to be found out once nothing moves: unasked where that takes little.
    pub(super) fn causes_unsettled(&self) -> bool {
        let instructions = self.instructions();
        let wanted = instructions <= UNASKED || self.causes.blames.on;
        let unknown = instructions > 0 && wanted && matches!(self.causes.known, Known::Nothing);
        self.opening.is_none() && (unknown || self.blames_unsettled())
    }

    fn instructions(&self) -> usize {
        self.scene.store.table("Instruction").map_or(0, |t| t.len())
    }

    /// Has causes found out that are wanted soon.
    pub(super) fn foresee_causes(&mut self) {
        if self.causes_unsettled() && self.knows_causes(None) {
            self.find_blames();
        }
    }

    /// Whether causes may lie beside the cache that have not been taken up.
    pub(super) fn causes_unprepared(&self) -> bool {
        let none = matches!(self.causes.known, Known::Nothing) && !self.causes.sought;
        none && self.opening.is_none() && self.cache_dir.is_some() && self.scene.store.cached
    }

    /// Takes up the causes that lie beside the cache, so that the first answer is there at once.
    pub(super) fn prepare_causes(&mut self) {
        let Some(directory) = self.cache_dir.clone().filter(|_| self.causes_unprepared()) else { return };
        let store = self.scene.store.clone();
        (self.causes.of, self.causes.sought) = (Some(store.clone()), true);
        self.effects.push(Effect::Job(Job::new("causes", move |reporter| {
            if let Some(kept) = CauseIndex::load(&store, &directory) {
                reporter.answer(move |app| app.causes_are_known(&store, Ok(Arc::new(kept))));
            }
        })));
    }

    /// Has causes found out, whatever that takes.
    pub(super) fn want_causes(&mut self) {
        self.causes.asked = true;
        self.knows_causes(None);
    }

    /// What the selection is linked to, where that is known.
    #[must_use]
    pub fn links(&self) -> Option<&Links> {
        self.causes.links.as_ref().filter(|(of, _)| self.scene.selection.as_ref() == Some(of)).map(|(_, links)| links)
    }

    /// Adds what stands out because of what is selected and listed.
    pub(super) fn add_causes(&self, emphases: &mut Emphases) {
        let Some(asking) = self.asking() else { return };
        if let Some(links) = self.links() {
            for link in links.before.iter().chain(&links.after) {
                if link.emphasis != Emphasis::None {
                    emphases.add(link.emphasis, asking.shown_as(link.actor));
                }
            }
            if let Some(own @ Actor::Transfer(_)) = links.actor {
                emphases.add(Emphasis::Transfer, asking.shown_as(own));
            }
        }
        if let Some(report) = &self.causes.report {
            emphases.add(Emphasis::Chain, report.events.iter().copied());
        }
    }

    /// The track whose idle time belongs to the track with this key.
    pub(super) fn idle_track(&mut self, key: &str) -> Option<Track> {
        if let Some(found) = self.causes.idle.get(key) {
            return found.clone();
        }
        let store = self.scene.store.clone();
        let own = self.scene.tree.find(key).and_then(|id| self.scene.tree.node(id).track().cloned());
        let found = own.and_then(|track| locate::idle_track(&store, &track));
        self.causes.of.get_or_insert(store);
        self.causes.idle.insert(key.to_owned(), found.clone());
        found
    }

    /// The idle gap of an engine that is selected.
    pub(super) fn gap_of(&mut self, selection: &Selection) -> Option<Gap> {
        let Selection::Gap { track, window } = selection else { return None };
        let track = self.idle_track(track)?;
        let store = &self.scene.store;
        gaps::gap_at(track.lane(store)?, store.whole(), window.start)
    }

    /// What is asked about: the selection, else what lies under the cursor.
    fn subject(&self) -> Option<Selection> {
        let selection = self.scene.selection.clone();
        selection.or_else(|| self.scene.under_cursor().map(Selection::Event))
    }

    /// What a question about the selection is about: an actor, and the gap that it ended where that is selected.
    fn held(&mut self) -> Result<(Actor, Option<Gap>), String> {
        let Some(subject) = self.subject() else {
            return Err("select an event or an idle gap first".into());
        };
        let gap = self.gap_of(&subject);
        let asking = self.asking().ok_or_else(|| self.causes_state())?;
        match (&subject, gap) {
            (Selection::Event(event), _) => Ok((asking.actor(*event), None)),
            (_, Some(gap)) => match gap.next {
                Some(next) => Ok((links::woken(&asking, &gap, Actor::Instruction(next)), Some(gap))),
                None => Err("nothing ended this gap: the engine had no more to do".into()),
            },
            _ => Err("only the idle time of engines can be explained".into()),
        }
    }
}
