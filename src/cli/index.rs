//! `index PATH`: build the cache now.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::program::ProgramArg;
use crate::model::format::{format_bytes, format_count};
use crate::query::index::CauseIndex;
use crate::query::tracks::{TrackCache, TrackOptions, prepare};
use crate::source::{OpenEvent, Opening, Progress, convert, open};
use crate::store::{Problem, Store, cache};
use crate::term::text::escape;

/// Arguments of `index`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Profile directories, data paths or files
    #[arg(required_unless_present = "prune")]
    pub paths: Vec<PathBuf>,
    /// The program of a raw capture
    #[command(flatten)]
    pub program: ProgramArg,
    /// Remove caches that are old, or whose profile is gone or changed
    #[arg(long)]
    pub prune: bool,
}

/// Builds or prunes caches. Returns the exit status: 0, or 2 where something could not be done. Of a tree in which some
/// profiles can be read, the others are left, which is said.
pub fn run(args: &Args, directory: Option<&Path>) -> u8 {
    let Some(directory) = directory else {
        super::complain("no directory for caches: set HOME or XDG_CACHE_HOME");
        return super::UNUSABLE;
    };
    let mut failed = false;
    let mut fail = |problem: &Problem| {
        super::complain_of(problem);
        failed = true;
    };
    if args.prune {
        match cache::prune(directory) {
            Ok((files, bytes)) => {
                super::print(&format!("removed {} caches, {}\n", format_count(files as u64), format_bytes(bytes)));
            }
            Err(problem) => fail(&problem),
        }
        match convert::prune(directory, cache::OLD) {
            Ok(0) => {}
            Ok(removed) => {
                super::print(&format!("removed {} conversions\n", format_count(removed as u64)));
            }
            Err(problem) => fail(&problem),
        }
    }
    for path in &args.paths {
        match args.program.discover_one(path) {
            Ok(found) => {
                let left: Vec<Problem> = found.iter().filter_map(|f| index(f, directory).err()).collect();
                if left.len() == found.len() {
                    left.iter().for_each(&mut fail);
                } else if !left.is_empty() {
                    left.iter().for_each(super::complain_of);
                    let (left, all) = (format_count(left.len() as u64), format_count(found.len() as u64));
                    super::complain(&format!("{}: {left} of {all} profiles were left", path.display()));
                }
            }
            Err(problem) => fail(&problem),
        }
    }
    if failed { super::UNUSABLE } else { 0 }
}

fn index(found: &crate::source::Found, directory: &Path) -> Result<(), Problem> {
    let cancel = AtomicBool::new(false);
    let bar = Bar::new();
    let began = Instant::now();
    let report = |event: OpenEvent| {
        if let OpenEvent::Progress(progress) = event {
            bar.show(&progress);
        }
    };
    let store = open(found, &Opening { cancel: &cancel, report: &report, cache: Some(directory) });
    bar.clear();
    let store = store?;
    let read = began.elapsed();
    let name = escape(&store.info.name).into_owned();
    if store.cached || store.origin.is_none() {
        super::print(&format!("{name}: indexed already\n"));
        return keep_causes(&store, directory, &bar);
    }
    bar.show(&Progress { step: "writing the cache".into(), done: 1, total: 1 });
    // What the first screen needs is derived now, and cached with the rest.
    prepare(&store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
    let bytes = store.save_cache(directory, &cancel);
    bar.clear();
    let events: usize = store.events.iter().map(crate::store::EventTable::len).sum();
    super::print(&format!(
        "{name}: {} events read in {:.1} s, cache of {} written in {:.1} s\n",
        format_count(events as u64),
        read.as_secs_f64(),
        format_bytes(bytes?.unwrap_or(0)),
        (began.elapsed() - read).as_secs_f64()
    ));
    // The one that was read takes memory; the one in the cache hardly any.
    drop(store);
    let store = open(found, &Opening { cancel: &cancel, report: &|_| {}, cache: Some(directory) })?;
    keep_causes(&store, directory, &bar)
}

/// Finds out what waited for what and keeps it beside the cache, where there are instructions and that was not done yet.
fn keep_causes(store: &Store, directory: &Path, bar: &Bar) -> Result<(), Problem> {
    let any = store.table("Instruction").is_some_and(|t| !t.is_empty());
    if !store.cached || !any || CauseIndex::load(store, directory).is_some() {
        return Ok(());
    }
    let cancel = AtomicBool::new(false);
    let began = Instant::now();
    let report =
        |done| bar.show(&Progress { step: "finding out what waited for what".into(), done: done as u64, total: 100 });
    let index = CauseIndex::build_reporting(store, &cancel, &report);
    bar.clear();
    let found = began.elapsed();
    let bytes = index?.save(store, directory, &cancel)?;
    super::print(&format!(
        "{}: causes found in {:.1} s, {} written in {:.1} s\n",
        escape(&store.info.name),
        found.as_secs_f64(),
        format_bytes(bytes.unwrap_or(0)),
        (began.elapsed() - found).as_secs_f64()
    ));
    Ok(())
}

/// A progress bar on standard error, where that is a terminal.
struct Bar {
    last: Mutex<Option<Instant>>,
    shown: bool,
}

impl Bar {
    fn new() -> Bar {
        Bar { last: Mutex::new(None), shown: std::io::stderr().is_terminal() }
    }

    fn show(&self, progress: &Progress) {
        const WIDTH: u64 = 40;
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !self.shown || last.is_some_and(|l| l.elapsed() < Duration::from_millis(50)) {
            return;
        }
        *last = Some(Instant::now());
        let filled = (progress.done.min(progress.total) * WIDTH / progress.total.max(1)) as usize;
        let (done, rest) = ("#".repeat(filled), ".".repeat(WIDTH as usize - filled));
        super::tell(&format!("\r\x1b[K[{done}{rest}] {}", escape(&progress.step)));
    }

    fn clear(&self) {
        if self.shown {
            super::tell("\r\x1b[K");
        }
    }
}
