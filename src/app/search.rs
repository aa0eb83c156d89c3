//! The search: what was asked for, what has been found, and which match one is at. Searching happens off the UI
//! thread; a newer query supersedes the one before.

use std::sync::{Arc, OnceLock};

use super::App;
use super::effect::Effect;
use super::jobs::Job;
use super::scene::Selection;
use super::update::events;
use crate::model::{Grid, Nanos};
use crate::query::search::{
    Catalog, Category, Completion, Matches, Options, Progress, Query, QueryError, TextCache, complete,
};
use crate::store::{EventRef, Store};

/// The slot of the job.
const SLOT: &str = "search";
/// Candidates that are offered for a word.
const CANDIDATES: usize = 40;

/// What searching a profile needs, made once for it.
pub struct Index {
    store: Arc<Store>,
    catalog: OnceLock<Catalog>,
    texts: TextCache,
}

impl Index {
    fn catalog(&self) -> &Catalog {
        self.catalog.get_or_init(|| Catalog::of(&self.store))
    }
}

/// All matches in some order.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// The generation of the search that they are of.
    pub generation: u64,
    /// What they are sorted by, as the list counts its orders, and whether the greatest come first.
    pub order: (usize, bool),
    /// The matches.
    pub events: Arc<[EventRef]>,
}

/// How far the search is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum State {
    /// Nothing is searched for.
    #[default]
    Idle,
    /// It is being done.
    Running(Option<Progress>),
    /// All of the profile was searched.
    Done,
    /// The query means nothing.
    Wrong(QueryError),
}

/// What was searched for and found.
#[derive(Clone, Default)]
pub struct Search {
    /// The query as typed.
    pub text: String,
    /// Which events, and how names match.
    pub options: Options,
    /// What has been found so far.
    pub found: Option<Arc<Matches>>,
    /// How far the search is.
    pub state: State,
    /// The match one is at.
    pub at: Option<EventRef>,
    /// Its place in order, from 0.
    pub position: Option<u64>,
    /// Whether other events are dimmed.
    pub dim: bool,
    /// Goes up whenever something else has been found.
    pub generation: u64,
    /// What can stand at the cursor of a text: the text, the cursor, the candidates.
    pub completion: Option<(String, usize, Completion)>,
    /// The matches in another order than that of time.
    pub sorted: Option<Sorted>,
    /// Rows that were listed, and what the columns that the index does not hold say of them.
    pub told: Option<(Vec<EventRef>, Vec<String>)>,
    /// Go to the first match as soon as it is known.
    going: bool,
    index: Option<Arc<Index>>,
    /// The columns of the overview that have matches, for the generation and the width.
    ticks: Option<(u64, u16, Arc<[Nanos]>)>,
}

impl Search {
    /// How many matches there are so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.found.as_ref().map_or(0, |f| f.total())
    }

    /// Whether something is searched for.
    #[must_use]
    pub fn active(&self) -> bool {
        !self.text.trim().is_empty()
    }

    /// Where one is among the matches: `3/56`.
    #[must_use]
    pub fn counter(&self) -> String {
        let total = crate::model::format::format_count(self.total());
        let more = if matches!(self.state, State::Running(_)) { "+" } else { "" };
        match self.position {
            Some(position) => format!("{}/{total}{more}", crate::model::format::format_count(position + 1)),
            None => format!("{total}{more} {}", if self.total() == 1 { "match" } else { "matches" }),
        }
    }

    /// The category, in the word of the action that chooses it.
    #[must_use]
    pub fn category(&self) -> &'static str {
        match self.options.category {
            None => "all",
            Some(Category::Operator) => "operator",
            Some(Category::Instruction) => "instruction",
            Some(Category::Dma) => "dma",
        }
    }

    /// How far the search is, in words.
    #[must_use]
    pub fn status(&self) -> String {
        match &self.state {
            State::Idle => String::new(),
            State::Running(Some(Progress { done, total })) if *total > 0 => {
                format!("{} so far, {} % searched", self.counter(), done.saturating_mul(100) / total)
            }
            State::Running(_) => "searching …".into(),
            State::Done => self.counter(),
            State::Wrong(fault) => fault.to_string(),
        }
    }
}

impl App {
    fn search_index(&mut self) -> Arc<Index> {
        let store = &self.scene.store;
        match &self.search.index {
            Some(index) if Arc::ptr_eq(&index.store, store) => index.clone(),
            _ => {
                let texts = TextCache::default();
                let index = Arc::new(Index { store: store.clone(), catalog: OnceLock::new(), texts });
                self.search.index = Some(index.clone());
                index
            }
        }
    }

    /// Searches for something; blank text ends the search.
    pub fn search_for(&mut self, text: &str) {
        self.search.text = text.to_owned();
        self.search.at = None;
        self.search.position = None;
        self.search_again();
    }

    /// Searches anew: for the same text in another way, or in another state of the profile.
    pub(super) fn search_again(&mut self) {
        let index = self.search_index();
        if !self.search.active() {
            self.search.found = None;
            self.search.state = State::Idle;
            self.search.generation += 1;
            self.effects.push(Effect::Cancel(SLOT));
            return;
        }
        self.search.state = State::Running(None);
        let (text, options) = (self.search.text.clone(), self.search.options);
        self.effects.push(Effect::Job(Job::new(SLOT, move |reporter| {
            let query = match Query::new(&text, options, index.catalog(), &index.store) {
                Ok(query) => query,
                Err(fault) => {
                    reporter.answer(move |app| {
                        app.search.state = State::Wrong(fault);
                        app.search.found = None;
                        app.search.generation += 1;
                    });
                    return;
                }
            };
            let report = |matches: Matches, progress| {
                let matches = Arc::new(matches);
                reporter.answer(move |app| app.found(matches, State::Running(Some(progress))));
            };
            if let Some(matches) = query.run(&index.store, &index.texts, reporter.flag(), &report) {
                let matches = Arc::new(matches);
                reporter.answer(move |app| app.found(matches, State::Done));
            }
        })));
    }

    /// Takes what has been found so far.
    fn found(&mut self, matches: Arc<Matches>, state: State) {
        let done = state == State::Done;
        self.search.position = self.search.at.and_then(|at| matches.position(&self.scene.store, at));
        if self.search.position.is_none() {
            self.search.at = None;
        }
        self.search.found = Some(matches);
        self.search.state = state;
        self.search.generation += 1;
        // The first match is known for certain only when all has been searched.
        if self.search.going && done {
            self.search.going = false;
            self.next_match(false);
        }
        if done {
            self.tell_unread();
        }
    }

    /// Says what could not be searched, if anything: what was found is not all then, and neither is nothing.
    fn tell_unread(&mut self) {
        if let Some(problem) = self.search.found.as_ref().and_then(|found| found.problems.first()) {
            let text = format!("not all could be searched: {}: {}", problem.path.display(), problem.message);
            self.fail(text);
        }
    }

    /// Goes to the first match from where one is as soon as there is one.
    pub fn go_to_first_match(&mut self) {
        match &self.search.state {
            State::Done => {
                self.next_match(false);
                self.tell_unread();
            }
            State::Running(_) => self.search.going = true,
            State::Wrong(fault) => {
                let fault = fault.to_string();
                self.refuse(fault);
            }
            State::Idle => {}
        }
    }

    /// Goes to the next match after where one is, or the one before; past the last one on from the first.
    pub fn next_match(&mut self, back: bool) {
        let Some(found) = self.search.found.clone().filter(|f| f.total() > 0) else {
            match (&self.search.state, self.search.active()) {
                (State::Running(_), _) => self.say("searching …"),
                (State::Wrong(fault), _) => {
                    let fault = fault.to_string();
                    self.refuse(fault);
                }
                (_, true) => self.refuse(format!("nothing matches {}", self.search.text)),
                (_, false) => self.refuse("nothing is searched for"),
            }
            return;
        };
        let scene = &self.scene;
        let (store, cursor) = (&scene.store, scene.view.cursor());
        let begins_here = |e: &EventRef| store.table_of(*e).start(e.event) == cursor;
        let here = self.search.at.filter(begins_here).or_else(|| scene.selected_event().filter(begins_here));
        let (next, wrapped) = if back {
            let found_one = found.previous(store, cursor, here);
            (found_one.or_else(|| found.nth(store, found.total() - 1)), found_one.is_none())
        } else {
            let found_one = found.next(store, cursor, here);
            (found_one.or_else(|| found.nth(store, 0)), found_one.is_none())
        };
        let Some(next) = next else { return };
        self.go_to_match(next);
        if wrapped && self.message.is_none() {
            let text = if back {
                "before the first match: on from the last"
            } else {
                "after the last match: on from the first"
            };
            self.say(format!("{}  {text}", self.search.counter()));
        }
    }

    /// Goes to a match: centres it, unfolds its track, selects it.
    pub fn go_to_match(&mut self, event: EventRef) {
        // All matches looked at one after another are one place to come back to.
        if self.search.at.is_none() || self.search.at != self.scene.selected_event() {
            self.scene.leave();
        }
        let start = self.scene.store.table_of(event).start(event.event);
        events::arrive(self, event);
        self.scene.selection = Some(Selection::Event(event));
        self.scene.view.jump(start);
        // In the middle half it stays where it is: what moves with every step is hard to follow.
        let columns = self.scene.view.grid().columns();
        let column = self.scene.view.grid().visible_column(start);
        let central = column.is_some_and(|c| (columns / 4..=columns - columns / 4).contains(&c));
        if !central && !self.scene.view.shows_all() {
            self.scene.view.center(start);
        }
        self.search.at = Some(event);
        self.search.position = self.search.found.as_ref().and_then(|f| f.position(&self.scene.store, event));
    }

    /// Has the candidates for the word at the cursor of a query looked up.
    pub(super) fn complete_query(&mut self, text: &str, cursor: usize) {
        let index = self.search_index();
        let text = text.to_owned();
        self.effects.push(Effect::Job(Job::new("complete", move |reporter| {
            let found = complete(&text, cursor, index.catalog(), &index.store, &index.texts, CANDIDATES);
            reporter.answer(move |app| app.search.completion = Some((text, cursor, found)));
        })));
    }

    /// Takes up a search again as it was.
    pub(super) fn restore_search(&mut self, before: Search) {
        self.effects.push(Effect::Cancel(SLOT));
        let generation = self.search.generation + 1;
        let unfinished = matches!(before.state, State::Running(_));
        self.search = Search { generation, ..before };
        if unfinished {
            self.search_again();
        }
    }

    /// Searches anew where the profile is another one now, or more of it has been read.
    pub(super) fn follow_search(&mut self) {
        let stale = self.search.index.as_ref().is_some_and(|i| !Arc::ptr_eq(&i.store, &self.scene.store));
        if stale {
            self.search.at = None;
            self.search.position = None;
            self.search.found = None;
            self.search.index = None;
            self.search.generation += 1;
            if self.search.active() {
                self.search_again();
            }
        }
    }

    /// The times of the columns of an overview that have matches.
    pub(super) fn search_ticks(&mut self, columns: u16) -> Arc<[Nanos]> {
        let Some(found) = &self.search.found else { return Arc::from([]) };
        if let Some((generation, width, ticks)) = &self.search.ticks
            && (*generation, *width) == (self.search.generation, columns)
        {
            return ticks.clone();
        }
        let grid = Grid::fit(self.scene.view.whole(), columns);
        let cells: Vec<_> = (0..i64::from(columns)).map(|k| grid.cell(k)).collect();
        let counts = found.counts(&self.scene.store, &cells);
        let ticks = cells.iter().zip(counts).filter(|(_, count)| *count > 0).map(|(cell, _)| cell.start);
        let ticks: Arc<[Nanos]> = ticks.collect();
        self.search.ticks = Some((self.search.generation, columns, ticks.clone()));
        ticks
    }
}
