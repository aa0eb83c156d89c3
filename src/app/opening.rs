//! Opening a profile: off the UI thread, with progress, parts shown as they arrive.

use std::path::PathBuf;
use std::sync::Arc;

use super::App;
use super::effect::Effect;
use super::jobs::{Job, Reporter};
use super::overlays::{Choice, Pick};
use super::state::{self, Kept};
use crate::query::tracks::{TrackCache, TrackOptions, Tree, outline, tree};
use crate::source::{self, Format, Found, OpenEvent};
use crate::store::{Problem, Store};

/// The slot of the job.
pub(super) const SLOT: &str = "open";

/// A profile that is being opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Its name.
    pub name: String,
    /// What is being done, and how far that is, where known: 0 to 1.
    pub step: String,
    /// How much of it is done.
    pub share: Option<f64>,
}

impl Opening {
    /// What is being done, on one line.
    #[must_use]
    pub fn text(&self) -> String {
        match self.share {
            Some(share) => format!("{} {:.0} %", self.step, (share * 100.0).floor()),
            None => self.step.clone(),
        }
    }
}

impl App {
    /// What is being opened, if anything is.
    #[must_use]
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// Whether a profile, or a part of one, is on the screen.
    #[must_use]
    pub fn has_profile(&self) -> bool {
        !self.scene.rows.is_empty() || self.scene.store.range.is_some()
    }

    /// Opens what a path holds: a profile, or a list to choose one from.
    pub fn open_path(&mut self, path: PathBuf) {
        self.opening = Some(Opening { name: path.display().to_string(), step: "looking".into(), share: None });
        self.effects.push(Effect::Job(Job::new(SLOT, move |reporter| {
            let found = source::discover(&path);
            reporter.answer(move |app| {
                app.opening = None;
                match found {
                    Ok(found) => app.open_one_of(found),
                    Err(problem) => app.cannot_open(problem),
                }
            });
        })));
    }

    /// Opens the one profile found, or asks which.
    pub fn open_one_of(&mut self, mut found: Vec<Found>) {
        if found.len() == 1
            && let Some(one) = found.pop()
        {
            self.open_found(one);
            return;
        }
        let title = format!("{} profiles", found.len());
        let together = source::merged(found.clone(), std::path::Path::new("")).ok();
        let choice = |found: Found| {
            let detail = detail(&found);
            Choice::new(found.name.clone(), detail, move |app: &mut App| app.open_found(found))
        };
        let mut choices: Vec<Choice> = found.into_iter().map(choice).collect();
        choices.extend(together.map(|found| {
            let label = format!("all {} device traces together", found.together.len());
            Choice::new(label, "on one time axis", move |app: &mut App| app.open_found(found))
        }));
        let pick = Pick::new(title, choices);
        self.show(pick.or_else(App::end_if_empty));
    }

    /// Opens a profile.
    pub fn open_found(&mut self, found: Found) {
        if found.format == Format::Vendor {
            self.offer_conversion(found);
            return;
        }
        self.save_state();
        self.opening = Some(Opening { name: found.name.clone(), step: "opening".into(), share: None });
        let cache_dir = self.cache_dir.clone();
        let kept =
            if self.fresh { None } else { self.state_dir.as_deref().and_then(|dir| state::load(dir, &found.path)) };
        let same = self.found.as_ref().is_some_and(|f| f.path == found.path);
        if !same {
            self.scene = super::scene::Scene::new(&found.name);
            self.overview = None;
            self.shown = super::Shown::default();
        }
        if let Some(kept) = &kept {
            self.restore_arrangement(kept);
        }
        let options = self.scene.options;
        let spread = self.scene.spread.clone();
        self.found = Some(found.clone());
        self.effects.push(Effect::Job(Job::new(SLOT, move |reporter| {
            let partial = |event: OpenEvent| match event {
                OpenEvent::Progress(progress) => {
                    let share = (progress.total > 0).then(|| progress.done as f64 / progress.total as f64);
                    reporter.answer(move |app| {
                        if let Some(opening) = &mut app.opening {
                            opening.step = progress.step;
                            opening.share = share;
                        }
                    });
                }
                OpenEvent::Partial(store) => {
                    let cache = Arc::new(TrackCache::default());
                    let tree = tree(&store, &cache, &options, &spread);
                    reporter.answer(move |app| app.install(store, cache, tree));
                }
            };
            let opening = source::Opening { cancel: reporter.flag(), report: &partial, cache: cache_dir.as_deref() };
            match source::open(&found, &opening) {
                Err(problem) => reporter.answer(move |app| {
                    app.opening = None;
                    app.cannot_open(problem);
                }),
                Ok(store) => finish(reporter, Arc::new(store), &options, &spread, kept),
            }
        })));
    }

    /// Stops opening. What is on the screen already stays; without anything the program ends.
    pub(super) fn cancel_opening(&mut self) {
        self.opening = None;
        self.effects.push(Effect::Cancel(SLOT));
        if self.has_profile() {
            self.refuse("opening was cancelled: this is only the part of the profile that had been read");
        } else if self.opened {
            self.refuse("opening was cancelled");
        } else {
            self.end();
        }
    }

    /// Tells of work that ended in the middle: a fault of this program's own.
    pub(super) fn job_failed(&mut self, slot: &str) {
        let report = crate::term::report::last_report();
        let report = report.map_or_else(String::new, |file| format!("; please send {}", file.display()));
        let message = format!("an internal error ended the work on {slot:?}{report}");
        self.exporting &= slot != super::update::export::SLOT;
        match (slot == SLOT, self.found.as_ref().map(|f| f.path.clone())) {
            (true, Some(path)) => {
                self.opening = None;
                let message = format!("{message}; if it is opened from the cache, try --no-cache");
                self.cannot_open(Problem { path, message });
            }
            // What lies in a damaged cache is taken at its word.
            _ if self.scene.store.cached => {
                self.fail(format!("{message}; if the cache is damaged, --no-cache helps"));
            }
            _ => self.fail(message),
        }
    }

    pub(super) fn cannot_open(&mut self, problem: Problem) {
        let text = format!("{}: {}", problem.path.display(), problem.message);
        if self.opened || self.has_profile() {
            self.fail(text);
        } else {
            self.failure = Some(problem);
            self.end();
        }
    }

    /// Writes the index to the cache, where it did not come from there.
    fn write_cache(&mut self) {
        let store = self.scene.store.clone();
        let Some(dir) =
            self.cache_dir.clone().filter(|_| store.origin.is_some() && !store.cached && store.worth_caching())
        else {
            return;
        };
        self.effects.push(Effect::Job(Job::new("cache", move |reporter| {
            // A cache that cannot be written costs only time at the next opening.
            let outcome = match store.save_cache(&dir, reporter.flag()) {
                Ok(Some(bytes)) => format!("cache of {bytes} bytes written"),
                Ok(None) => "cache not written".into(),
                Err(problem) => format!("cache not written: {}: {}", problem.path.display(), problem.message),
            };
            super::log::line(&outcome);
        })));
    }

    fn install(&mut self, store: Arc<Store>, cache: Arc<TrackCache>, tree: Tree) {
        self.scene.install(store, cache, tree);
        self.overview = None;
        self.shown.window = None;
    }

    /// Has other tracks of the same profile made; `then` is done when they are there.
    pub(super) fn retrack(&mut self, options: TrackOptions, then: impl FnOnce(&mut App) + Send + 'static) {
        let (store, cache) = (self.scene.store.clone(), self.scene.cache.clone());
        let spread = self.scene.spread.clone();
        // What is wanted counts at once, so that several changes add up.
        self.scene.options = options;
        if store.range.is_none() {
            return;
        }
        self.effects.push(Effect::Job(Job::new("tracks", move |reporter| {
            let tree = tree(&store, &cache, &options, &spread);
            reporter.answer(move |app| {
                if Arc::ptr_eq(&store, &app.scene.store) {
                    app.install(store, cache, tree);
                    then(app);
                }
            });
        })));
    }
}

/// What the list of profiles says of one besides its name.
fn detail(found: &Found) -> String {
    let name = |path: &std::path::Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match (found.format, &found.neff) {
        (Format::Raw, _) if found.broken.is_some() => {
            format!("ntff  cannot be read: {}", found.broken.as_deref().unwrap_or_default())
        }
        (Format::Raw, Some(neff)) => format!("ntff  of {}", name(neff)),
        (Format::Raw, None) => "ntff  program not found".to_owned(),
        (Format::Vendor, _) => "needs neuron-explorer".to_owned(),
        _ => format!("{}  {}", found.format.name(), found.path.display()),
    }
}

fn finish(
    reporter: &Reporter,
    store: Arc<Store>,
    options: &TrackOptions,
    spread: &std::collections::BTreeSet<String>,
    kept: Option<Kept>,
) {
    let cache = Arc::new(TrackCache::default());
    // Something to look at while tracks are derived.
    let (first, known, derived) = (outline(&store, &cache, options, spread), store.clone(), cache.clone());
    reporter.answer(move |app| {
        if !app.has_profile() {
            app.install(known, derived, first);
        }
    });
    let tree = tree(&store, &cache, options, spread);
    reporter.answer(move |app| {
        app.opening = None;
        // Someone who has begun to look around is not taken elsewhere.
        let untouched = app.scene.view.shows_all() && app.scene.selection.is_none();
        // Tracks may have been asked for otherwise while the file was read.
        let asked = app.scene.options;
        app.install(store, cache, tree);
        if asked != app.scene.options {
            app.retrack(asked, |_| ());
        }
        if let Some(kept) = kept.filter(|_| untouched) {
            app.restore_place(&kept);
        }
        app.opened = true;
        app.remember_recent();
        app.look_for_findings();
        app.write_cache();
    });
}
