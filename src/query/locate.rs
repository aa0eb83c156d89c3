//! What a question is about, as the command line and the goto entry name it: an event (see [`super::place`]), an idle
//! gap (`gap@TIME@TRACK`), or a range (`A..B`).

use std::collections::BTreeSet;

use super::gaps::{self, Gap};
use super::place::{self, Place};
use super::tracks::{self, Source, Track, TrackCache, TrackOptions};
use crate::model::nearest::nearest;
use crate::model::opcode::is_matmul;
use crate::model::time::{Moment, TimeRange, parse_range, parse_time};
use crate::model::{Engine, Nanos, Window};
use crate::store::{EventRef, Store};

/// A name of what a question is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Name {
    /// An event, or a moment on a track.
    Place(Place),
    /// The idle gap of a track at a moment.
    Gap(Moment, String),
    /// A range of time.
    Range(TimeRange),
}

/// What a question is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// An event.
    Event(EventRef),
    /// An idle gap of a track.
    Gap(OnTrack, Gap),
    /// A range of time.
    Range(Nanos, Nanos),
}

/// A track of the default grouping with its name.
#[derive(Clone, Debug)]
pub struct OnTrack {
    /// What Neuron Explorer calls it, with the core where there are several: `TensorMatrix(nc0)`.
    pub name: String,
    /// Its events.
    pub track: Track,
}

/// Reads a name; a bare integer is an id.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<Name, String> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("gap@") {
        let (time, track) = rest
            .split_once('@')
            .filter(|(_, t)| !t.is_empty())
            .ok_or_else(|| format!("{text:?} should be gap@TIME@TRACK"))?;
        let time = parse_time(time).map_err(|e| e.to_string())?;
        return Ok(Name::Gap(time, track.trim().to_owned()));
    }
    if text.contains("..") {
        return parse_range(text).map(Name::Range).map_err(|e| e.to_string());
    }
    place::parse_place(text, true).map(Name::Place)
}

/// The tracks of the default grouping that hold events, with their names.
#[must_use]
pub fn all_tracks(store: &Store) -> Vec<OnTrack> {
    let tree = tracks::tree(store, &TrackCache::default(), &TrackOptions::default(), &BTreeSet::new());
    let named = |node: &tracks::Node| Some(OnTrack { name: node.full.clone(), track: node.track()?.clone() });
    tree.nodes.iter().filter_map(named).collect()
}

/// The track called `name`: with or without the core, in any case; an engine's name in any spelling. Of several, the
/// first, which is the lowest core's.
///
/// # Errors
/// Says that there is none, and which are like it.
pub fn track(store: &Store, name: &str) -> Result<OnTrack, String> {
    let all = all_tracks(store);
    let plain = |s: &str| s.replace(' ', "").to_ascii_lowercase();
    let bare = |s: &str| plain(s).split('(').next().unwrap_or_default().to_owned();
    let core = |s: &str| s.split_once('(').map(|(_, c)| plain(c));
    let wanted = (plain(name), bare(name), core(name));
    let engine = Engine::parse(&wanted.1);
    let fits = |t: &&OnTrack| {
        let same = bare(&t.name) == wanted.1 || (engine.is_some() && Engine::parse(&bare(&t.name)) == engine);
        same && wanted.2.as_ref().is_none_or(|c| core(&t.name).as_ref() == Some(c))
    };
    if let Some(found) = all.iter().find(|t| plain(&t.name) == wanted.0).or_else(|| all.iter().find(fits)) {
        return Ok(found.clone());
    }
    let names: Vec<&str> = all.iter().map(|t| t.name.as_str()).collect();
    let near = nearest(&wanted.1, all.iter().map(|t| bare(&t.name)).collect::<Vec<_>>().iter().map(String::as_str))
        .and_then(|near| names.iter().find(|n| bare(n) == near));
    let hint = near.map_or_else(
        || format!("there are {}", names.iter().take(12).copied().collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean {near}?"),
    );
    Err(format!("there is no track {name:?}; {hint}"))
}

/// Finds what a name means in a profile. A moment on a track at which nothing runs means the gap there.
///
/// # Errors
/// Says what was not found, or of which of several it is not clear which one is meant.
pub fn resolve(store: &Store, name: &Name) -> Result<Subject, String> {
    let origin = store.info.origin_unix_ns;
    let moment = |time: Moment| time.resolve(origin).map_err(|e| e.to_string());
    match name {
        Name::Range(range) => {
            let whole = store.whole();
            let (from, to) = range.resolve(origin, (whole.start, whole.end)).map_err(|e| e.to_string())?;
            if from >= to { Err("the range is empty".into()) } else { Ok(Subject::Range(from, to)) }
        }
        Name::Gap(time, name) => {
            let (time, on) = (moment(*time)?, track(store, name)?);
            gap(store, on, time)
        }
        Name::Place(Place::At { time, track: name }) => {
            let (time, on) = (moment(*time)?, track(store, name)?);
            match running(store, &on, time) {
                Some(event) => Ok(Subject::Event(event)),
                None => gap(store, on, time),
            }
        }
        Name::Place(Place::Time(_)) => Err("a moment alone names no event: add the track, at:TIME@TRACK".into()),
        Name::Place(Place::Id { table, id }) => {
            let found = place::find_id(store, table.as_deref(), *id)?;
            found.first().copied().map(Subject::Event).ok_or_else(|| format!("no event has the id {id}"))
        }
        Name::Place(Place::Pc(query)) => {
            let found = place::find_pc(store, query).map_err(|p| format!("{}: {}", p.path.display(), p.message))?;
            match found.as_slice() {
                [] => Err(format!("no instruction has the pc {}", query.pc)),
                [one] => Ok(Subject::Event(one.event)),
                several => {
                    let names: Vec<String> =
                        several.iter().take(8).map(|o| format!("pc:{}@{}#{}", query.pc, o.track, o.nth)).collect();
                    let more = if several.len() > names.len() { ", …" } else { "" };
                    Err(format!("{} instructions have the pc {}: {}{more}", several.len(), query.pc, names.join(", ")))
                }
            }
        }
    }
}

/// The event that runs on a track at `time`: the work that began last, else a wait.
fn running(store: &Store, on: &OnTrack, time: Nanos) -> Option<EventRef> {
    let lane = on.track.lane(store)?;
    let table = lane.table();
    let mut found: Option<(bool, Nanos, u32)> = None;
    lane.visit(Window::new(time, time.saturating_add(1)), |e| {
        let key = (table.is_work(e), table.start(e), e);
        if table.start(e) <= time && found.is_none_or(|f| key > f) {
            found = Some(key);
        }
        true
    });
    found.map(|(_, _, event)| EventRef { table: on.track.table, event })
}

/// The track whose idle time belongs to `track`: an engine is idle when none of its instructions runs, whichever of its
/// tracks is looked at; only the matrix multiplications of the Tensor Engine stand by themselves. `None` for what is no
/// engine.
#[must_use]
pub fn idle_track(store: &Store, on: &Track) -> Option<Track> {
    let lane = on.lane(store)?;
    let table = lane.table();
    let first = lane.event(0).filter(|_| table.name == "Instruction")?;
    let matrix = (0..lane.len()).filter_map(|i| lane.event(i)).all(|e| is_matmul(table.event_name(e)));
    if matrix {
        return Some(on.clone());
    }
    let group = table.groups.partition_point(|g| g.sequence.first_event() <= first).checked_sub(1)?;
    Some(Track { table: on.table, source: Source::Group(group as u32) })
}

fn gap(store: &Store, on: OnTrack, time: Nanos) -> Result<Subject, String> {
    let idle = idle_track(store, &on.track)
        .ok_or_else(|| format!("{} is no engine: only the idle time of engines can be explained", on.name))?;
    let on = OnTrack { track: idle, ..on };
    let Some(lane) = on.track.lane(store) else { return Err(format!("{} holds no events", on.name)) };
    let whole = store.whole();
    match gaps::gap_at(lane, whole, time) {
        Some(gap) => Ok(Subject::Gap(on, gap)),
        None if (whole.start..whole.end).contains(&time) => {
            Err(format!("{} is not idle at {time} ns: name the instruction, or at:{time}@{}", on.name, on.name))
        }
        None => Err(format!("{time} ns lies outside of the profile, which is {} to {} ns", whole.start, whole.end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::sketch::Sketch;

    #[test]
    fn names_are_read() {
        assert_eq!(
            parse("gap@50us@TensorMatrix(nc0)"),
            Ok(Name::Gap(Moment::Origin(50_000), "TensorMatrix(nc0)".into()))
        );
        assert_eq!(parse("42"), Ok(Name::Place(Place::Id { table: None, id: 42 })));
        assert!(matches!(parse("1us..2us"), Ok(Name::Range(_))));
        assert!(matches!(parse("..2us"), Ok(Name::Range(_))));
        for bad in ["gap@", "gap@5us", "gap@5us@", "gap@x@Tensor", "1us..x"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn subjects_are_found() {
        let mut sketch = Sketch::default();
        for core in [0, 1] {
            sketch
                .instruction(core, Engine::Tensor, "MATMUL", 0, 50)
                .instruction(core, Engine::Tensor, "EVENT_SEMAPHORE", 60, 30)
                .instruction(core, Engine::Tensor, "LDWEIGHTS", 100, 10)
                .instruction(core, Engine::Vector, "COPY", 20, 10);
        }
        let store = sketch.store();
        let find = |text: &str| resolve(&store, &parse(text)?);
        let Ok(Subject::Gap(on, found)) = find("gap@55@tensor(nc1)") else { panic!("a gap") };
        assert_eq!((on.name.as_str(), found.start, found.end), ("Tensor(nc1)", 50, 100));
        let Ok(Subject::Gap(on, found)) = find("gap@105@TensorMatrix") else { panic!("a gap") };
        assert_eq!((on.name.as_str(), found.start, found.end), ("TensorMatrix(nc0)", 50, 110));
        let Ok(Subject::Event(event)) = find("at:25@dve(nc0)") else { panic!("an event") };
        assert_eq!(store.table_of(event).event_name(event.event), "COPY");
        assert!(matches!(find("at:40@Vector"), Ok(Subject::Gap(..))), "nothing runs there");
        assert!(matches!(find("0..60"), Ok(Subject::Range(0, 60))));
        for (text, said) in [
            ("gap@25@Vector", "not idle"),
            ("gap@9000@Vector", "outside"),
            ("gap@5@Vectr", "did you mean Vector"),
            ("9..9", "empty"),
            ("123456", "no event"),
        ] {
            let error = find(text).err().unwrap_or_default();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
