//! An event in the words of the command line: what every answer that names one shows of it.

use serde_json::{Map, Value as Json, json};

use crate::store::{EventRef, Group, LabelKind, Problem, Store};

/// What is shown of an event wherever it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its original id; its row number where its table has no ids.
    pub id: i128,
    /// The table that it is in.
    pub table: String,
    /// The track's name with the core where there are several: `Tensor(nc0)`.
    pub track: String,
    /// What is written inside the slice.
    pub name: String,
    /// Its start in nanoseconds from the origin.
    pub start: i64,
    /// Its end.
    pub end: i64,
    /// Its length in nanoseconds.
    pub duration: u64,
}

/// Describes an event of `store`.
#[must_use]
pub fn describe(store: &Store, event: EventRef) -> Described {
    let table = store.table_of(event);
    let e = event.event;
    Described {
        id: store.id_of(event),
        table: table.name.clone(),
        track: track_of(store, event),
        name: table.event_name(e).to_owned(),
        start: table.start(e),
        end: table.end(e),
        duration: table.lengths.at(e as usize),
    }
}

/// The name of an event's track, with the core where there are several.
#[must_use]
pub fn track_of(store: &Store, event: EventRef) -> String {
    let table = store.table_of(event);
    let label = table.text(LabelKind::Track, event.event);
    let several = store.cores() > 1;
    table.group_of(event.event).map_or_else(String::new, |group| track_name(group, label, several))
}

/// The name of the track of a group's events that have this track label; with the core where there are `several`.
#[must_use]
pub fn track_name(group: &Group, label: &str, several: bool) -> String {
    let name = if label.is_empty() { group.key.name.as_str() } else { label };
    match group.key.core {
        Some(core) if several => format!("{name}(nc{core})"),
        _ => name.to_owned(),
    }
}

/// An id as a JSON integer, every digit kept.
#[must_use]
pub fn id_json(id: i128) -> Json {
    i64::try_from(id).map(Json::from).or_else(|_| u64::try_from(id).map(Json::from)).unwrap_or(Json::Null)
}

impl Described {
    /// As JSON, under the names that other tools rely on.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Json> {
        let fields = [
            ("id", id_json(self.id)),
            ("table", json!(self.table)),
            ("track", json!(self.track)),
            ("name", json!(self.name)),
            ("start_ns", json!(self.start)),
            ("end_ns", json!(self.end)),
            ("duration_ns", json!(self.duration)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// An event as JSON, with all columns of its row under `fields` where `fields` is set.
///
/// # Errors
/// The row cannot be read.
pub fn event_json(store: &Store, event: EventRef, fields: bool) -> Result<Map<String, Json>, Problem> {
    let mut json = describe(store, event).to_json();
    if fields {
        let row = store.details(event)?;
        let row: Map<String, Json> = row.into_iter().map(|field| (field.name, field.value.to_json())).collect();
        json.insert("fields".to_owned(), row.into());
    }
    Ok(json)
}
