//! Names of events and moments, as the command line and the goto entry take them.
//!
//! `[Table:]id`, `pc:N[@TRACK][#N]` (a pc is unique only per core, engine and occurrence) and `at:TIME@TRACK`.

use super::related::rows_with;
use crate::model::time::{Moment, TimeError, parse_time};
use crate::model::{Engine, Nanos};
use crate::store::{EventRef, EventTable, LabelKind, Problem, Store};

/// Something that can be gone to.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A moment.
    Time(Moment),
    /// The event with this id.
    Id {
        /// The table it is in, where given.
        table: Option<String>,
        /// The id.
        id: i128,
    },
    /// Instructions by program counter.
    Pc(PcQuery),
    /// What runs on a track at a moment.
    At {
        /// The moment.
        time: Moment,
        /// The track's name.
        track: String,
    },
}

/// Instructions by program counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcQuery {
    /// The program counter.
    pub pc: i64,
    /// The track or engine, with or without the core: `Tensor(nc0)`.
    pub track: Option<String>,
    /// Which of those, from 1.
    pub occurrence: Option<usize>,
}

/// Reads a place. A bare integer is an id where `ids` is set, a time otherwise.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse_place(text: &str, ids: bool) -> Result<Place, String> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("pc:").or_else(|| text.strip_prefix("pc ")) {
        return parse_pc(rest).map(Place::Pc);
    }
    if let Some(rest) = text.strip_prefix("at:") {
        let (time, track) = rest
            .rsplit_once('@')
            .filter(|(time, _)| !time.is_empty())
            .ok_or_else(|| format!("{text:?} should be at:TIME@TRACK"))?;
        let time = parse_time(time).map_err(|e| e.to_string())?;
        return Ok(Place::At { time, track: track.trim().to_owned() });
    }
    if let Some(rest) = text.strip_prefix("id:") {
        return parse_id(rest);
    }
    if ids {
        return parse_id(text);
    }
    match parse_time(text) {
        Ok(time) => Ok(Place::Time(time)),
        // Ids may be larger than any time.
        Err(TimeError::OutOfRange(_)) if text.bytes().all(|b| b.is_ascii_digit()) => parse_id(text),
        Err(e) => parse_id(text).map_err(|_| e.to_string()),
    }
}

fn parse_id(text: &str) -> Result<Place, String> {
    let text = text.trim();
    let (table, id) = match text.rsplit_once(':') {
        Some((table, id)) => (Some(table.trim().to_owned()), id.trim()),
        None => (None, text),
    };
    let id = id.parse().map_err(|_| format!("{text:?} is no id: expected [Table:]number"))?;
    Ok(Place::Id { table, id })
}

/// Reads `N[@TRACK][#N]`.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse_pc(text: &str) -> Result<PcQuery, String> {
    let bad =
        || format!("{text:?} is no pc: expected a number, with @TRACK or #OCCURRENCE if need be: 316@Tensor(nc0)#3");
    let (rest, occurrence) = match text.split_once('#') {
        Some((rest, n)) => (rest, Some(n.trim().parse().ok().filter(|&n| n > 0).ok_or_else(bad)?)),
        None => (text, None),
    };
    let (pc, track) = match rest.split_once('@') {
        Some((pc, track)) => (pc, Some(track.trim().to_owned()).filter(|t| !t.is_empty())),
        None => (rest, None),
    };
    let pc = pc.trim().parse().map_err(|_| bad())?;
    Ok(PcQuery { pc, track, occurrence })
}

/// The name of an instruction's track: `TensorMatrix(nc1)`, without the core where there is but one.
#[must_use]
pub fn track_name(store: &Store, table: &EventTable, event: u32) -> String {
    let group = table.group_of(event);
    let own = table.text(LabelKind::Track, event);
    let name = if own.is_empty() { group.map_or("", |g| g.key.name.as_str()) } else { own };
    match group.and_then(|g| g.key.core) {
        Some(core) if store.cores() > 1 => format!("{name}(nc{core})"),
        _ => name.to_owned(),
    }
}

/// Whether `wanted` names the track `name`, or the engine that it belongs to: with or without the core, any case.
fn names_track(wanted: &str, name: &str, engine: Option<Engine>) -> bool {
    let wanted = wanted.replace(' ', "");
    let bare = |s: &str| s.split('(').next().unwrap_or(s).to_owned();
    if wanted.eq_ignore_ascii_case(name) || wanted.eq_ignore_ascii_case(&bare(name)) {
        return true;
    }
    let core_fits = match (wanted.split_once('('), name.split_once('(')) {
        (Some((_, a)), Some((_, b))) => a == b,
        (Some(_), None) => false,
        (None, _) => true,
    };
    core_fits && engine.is_some() && Engine::parse(&bare(&wanted)) == engine
}

/// One of the instructions that a program counter stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The instruction.
    pub event: EventRef,
    /// Its track.
    pub track: String,
    /// When it starts.
    pub start: Nanos,
    /// Which of the executions of this pc on its engine it is, from 1.
    pub nth: usize,
}

/// All executions of a program counter, by track, then by time.
///
/// # Errors
/// Says which file could not be read.
pub fn find_pc(store: &Store, query: &PcQuery) -> Result<Vec<Occurrence>, Problem> {
    let Some(table) = store.table_index("Instruction") else { return Ok(Vec::new()) };
    let events = &store.events[usize::from(table)];
    let mut found: Vec<EventRef> = rows_with(store, "Instruction", "pc", query.pc)?
        .into_iter()
        .filter_map(|row| events.event_at_row(row))
        .map(|event| EventRef { table, event })
        .collect();
    // The table's order is by group, then by time.
    found.sort_unstable();
    let mut out: Vec<Occurrence> = Vec::new();
    let mut group = None;
    let mut nth = 0;
    for event in found {
        let key = events.group_of(event.event).map(|g| &g.key);
        let engine = key.and_then(|k| k.engine);
        let place = key.map(|k| (k.core, k.engine, if engine.is_none() { k.name.as_str() } else { "" }));
        if place != group {
            (group, nth) = (place, 0);
        }
        nth += 1;
        let track = track_name(store, events, event.event);
        let fits = query.track.as_deref().is_none_or(|wanted| names_track(wanted, &track, engine));
        if fits && query.occurrence.is_none_or(|n| n == nth) {
            out.push(Occurrence { event, track, start: events.start(event.event), nth });
        }
    }
    Ok(out)
}

/// The tables that ids without a table are looked up in, in this order.
pub const ID_TABLES: [&str; 4] = ["Instruction", "DmaPacketAggregated", "DmaPacket", "SystemProfileEvents"];

/// The events with this id: in `table`, or in the first table that has any.
///
/// # Errors
/// Says that there is no such table.
pub fn find_id(store: &Store, table: Option<&str>, id: i128) -> Result<Vec<EventRef>, String> {
    match table {
        Some(name) => {
            // What Flow calls transfers.
            let name = if name == "dma_block" { "DmaPacketAggregated" } else { name };
            let known = store.events.iter().position(|t| t.name.eq_ignore_ascii_case(name));
            let Some(index) = known else {
                let names: Vec<&str> = store.events.iter().map(|t| t.name.as_str()).collect();
                return Err(format!("there is no event table {name:?}; there are {}", names.join(", ")));
            };
            Ok(store.find_id(index as u16, id))
        }
        None => {
            let tables = ID_TABLES.iter().filter_map(|name| store.table_index(name));
            Ok(tables.map(|table| store.find_id(table, id)).find(|found| !found.is_empty()).unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let pc = |pc, track: Option<&str>, occurrence| {
            Ok(Place::Pc(PcQuery { pc, track: track.map(str::to_owned), occurrence }))
        };
        assert_eq!(parse_place("pc:316", true), pc(316, None, None));
        assert_eq!(parse_place("pc:316@Tensor(nc0)#3", true), pc(316, Some("Tensor(nc0)"), Some(3)));
        assert_eq!(parse_place("pc: 7 # 2", true), pc(7, None, Some(2)));
        let id = |table: Option<&str>, id| Ok(Place::Id { table: table.map(str::to_owned), id });
        assert_eq!(parse_place("42", true), id(None, 42));
        assert_eq!(parse_place("42", false), Ok(Place::Time(Moment::Origin(42))));
        assert_eq!(parse_place("DmaPacket:42", false), id(Some("DmaPacket"), 42));
        assert_eq!(parse_place("18446744073709551615", false), id(None, i128::from(u64::MAX)));
        assert_eq!(parse_place("17.2us", false), Ok(Place::Time(Moment::Origin(17_200))));
        let at = Place::At { time: Moment::Origin(5_000), track: "Vector(nc1)".into() };
        assert_eq!(parse_place("at:5us@Vector(nc1)", true), Ok(at));
        for bad in ["pc:", "pc:x", "pc:3#0", "at:5us", "soon", ""] {
            assert!(parse_place(bad, false).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn engines_name_their_tracks() {
        let tensor = Some(Engine::Tensor);
        assert!(names_track("Tensor(nc0)", "TensorMatrix(nc0)", tensor));
        assert!(names_track("pe", "TensorMatrix(nc0)", tensor));
        assert!(names_track("tensormatrix", "TensorMatrix(nc0)", tensor));
        assert!(!names_track("Tensor(nc1)", "TensorMatrix(nc0)", tensor));
        assert!(!names_track("Vector", "TensorMatrix(nc0)", tensor));
        assert!(!names_track("Tensor(nc0)", "TensorMatrix", tensor), "there is no such core");
    }
}
