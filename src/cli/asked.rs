//! What `deps` and `explain` have in common: the profile, its index of causes, and what is asked about.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value, json};

use super::program::ProgramArg;
use super::{FAILED, UNUSABLE, complain, complain_of};
use crate::query::causes::{Actor, Asking};
use crate::query::event::event_json;
use crate::query::index::CauseIndex;
use crate::query::locate::{self, Subject};
use crate::source::{Opening, open};
use crate::store::{Problem, ProfileKind, Store};

/// A profile with its index, and what is asked about it.
pub(super) struct Asked {
    pub store: Store,
    pub index: CauseIndex,
    pub subject: Subject,
}

/// Opens the profile at `path` that has what `name` names; complaints are printed.
///
/// # Errors
/// The exit status: 2 where the name means nothing or nothing can be read, 1 where it is in no profile.
pub(super) fn ask(path: &Path, program: &ProgramArg, name: &str, cache: Option<&Path>) -> Result<Asked, u8> {
    let name = locate::parse(name).map_err(|error| {
        complain(&error);
        UNUSABLE
    })?;
    let unusable = |problem: Problem| {
        complain_of(&problem);
        UNUSABLE
    };
    let cancel = AtomicBool::new(false);
    let (mut missing, mut failed) = (None, None);
    let mut found = program.discover_one(path).map_err(unusable)?;
    found.retain(|f| f.kind == ProfileKind::Device);
    let profiles = found.len();
    for found in found {
        let store = match open(&found, &Opening { cancel: &cancel, report: &|_| {}, cache }) {
            Ok(store) => store,
            Err(problem) => {
                failed = Some(problem);
                continue;
            }
        };
        match locate::resolve(&store, &name) {
            Ok(subject) => match CauseIndex::open(&store, cache, &cancel) {
                Ok(index) => {
                    if profiles > 1 {
                        let name = &store.info.name;
                        complain(&format!("of {profiles} profiles, this is about {name:?} ({})", found.path.display()));
                    }
                    return Ok(Asked { store, index, subject });
                }
                Err(problem) => failed = Some(problem),
            },
            Err(error) => missing = Some(error),
        }
    }
    match (missing, failed) {
        (Some(error), _) => {
            complain(&error);
            Err(FAILED)
        }
        (None, Some(problem)) => Err(unusable(problem)),
        (None, None) => {
            complain(&format!("{}: holds no profile of a device", path.display()));
            Err(UNUSABLE)
        }
    }
}

/// An actor as JSON: its event, and what the index knows of it.
pub(super) fn actor_json(asking: &Asking<'_>, actor: Actor) -> Map<String, Value> {
    // Without the row's own fields nothing is read.
    let mut event = event_json(asking.store, asking.event(actor), false).unwrap_or_default();
    match actor {
        Actor::Instruction(e) => {
            event.insert("pc".into(), json!(asking.index.operands.pc(e)));
        }
        Actor::Transfer(t) => {
            let transfer = asking.index.transfers.get(t);
            let facts = json!({
                "queue": asking.queue_name(t),
                "start_ns": transfer.start,
                "end_ns": transfer.end,
                "bytes": transfer.bytes,
                "derived": transfer.derived,
            });
            event.insert("transfer".into(), facts);
        }
        Actor::Other(_) => {}
    }
    event
}
