//! Everything about one row: its columns in a useful order, with units, explanations and references.

use serde_json::{Map, Value as Json, json};

use super::place::track_name;
use super::related::{Reference, references};
use super::units::{formatted, raw, unit_of};
use crate::model::{Field, Value, queue};
use crate::store::{EventRef, Problem, Store, flag};

/// A column of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// The column's name.
    pub name: String,
    /// The value with its unit; empty where nothing is recorded.
    pub value: String,
    /// The value as recorded.
    pub raw: String,
    /// What the value means, where that is not plain to see.
    pub note: Option<String>,
    /// Rows of another table that it points at.
    pub reference: Option<Reference>,
}

/// A row of a table, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// The table.
    pub table: String,
    /// The row.
    pub row: u32,
    /// What it is, on one line.
    pub title: String,
    /// Its columns: what is recorded first, in a useful order, then what is not.
    pub fields: Vec<Detail>,
}

/// Columns that are looked at most, first.
const FIRST: [&str; 33] = [
    "opcode",
    "name",
    "operation",
    "description",
    "type",
    "duration_ns",
    "duration",
    "start_ts",
    "timestamp",
    "end_ts",
    "pc",
    "tensor_instruction_type",
    "transfer_bytes",
    "op",
    "symbolic_operands",
    "operands",
    "source",
    "dest",
    "variable",
    "queue_name",
    "queue_type",
    "layer",
    "hlo_name",
    "hlo_attrs",
    "nki_source_location",
    "bir_debug_info_source_location",
    "engine",
    "timeline_track",
    "pcore_idx",
    "id",
    "compiler_opcode",
    "compiler_operands",
    "compiler_pc",
];

/// Takes apart the row of an event; `fields` are its columns as read.
#[must_use]
pub fn of_event(store: &Store, event: EventRef, fields: &[Field]) -> Details {
    let table = store.table_of(event);
    let row = table.rows[event.event as usize];
    let mut details = of_fields(store, &table.name, row, fields);
    details.title = format!("{} {}", table.event_name(event.event), track_name(store, table, event.event));
    let flags = table.flags[event.event as usize];
    let facts = [
        (flag::TRANSPOSE, "a multiplication that only transposes or moves data"),
        (flag::REVERSED, "the file says that it ends before it starts: shown without a duration"),
        (flag::OUTSIDE, "outside the measured execution"),
    ];
    for (_, text) in facts.iter().filter(|(bit, _)| flags & bit != 0) {
        details.fields.insert(
            0,
            Detail { name: "note".into(), value: (*text).into(), raw: (*text).into(), note: None, reference: None },
        );
    }
    details
}

/// Reads any row and takes it apart. Reads a file: call it off the UI thread.
///
/// # Errors
/// Says which file could not be read and what to do.
pub fn of_row(store: &Store, table: &str, row: u32) -> Result<Details, Problem> {
    let fields = store.row(table, row)?;
    Ok(of_fields(store, table, row, &fields))
}

fn of_fields(store: &Store, table: &str, row: u32, fields: &[Field]) -> Details {
    let fractions = store.info.format == "json";
    let links = references(store, table, fields);
    let detail = |field: &Field| {
        let unit = unit_of(table, &field.name, fractions);
        Detail {
            name: field.name.clone(),
            value: formatted(&field.value, unit),
            raw: raw(&field.value),
            note: note(table, field),
            reference: links.iter().find(|l| l.column == field.name).cloned(),
        }
    };
    let mut details: Vec<Detail> = fields.iter().map(detail).collect();
    // One reference per line: further ones of the same column get lines of their own.
    for link in &links {
        if !details.iter().any(|d| d.reference.as_ref() == Some(link)) {
            details.push(Detail {
                name: link.column.clone(),
                value: link.value.to_string(),
                raw: link.value.to_string(),
                note: None,
                reference: Some(link.clone()),
            });
        }
    }
    let rank = |d: &Detail| {
        let known = FIRST.iter().position(|name| *name == d.name).unwrap_or(FIRST.len());
        (d.value.is_empty(), known)
    };
    details.sort_by_key(rank);
    Details { table: table.to_owned(), row, title: format!("{table} row {row}"), fields: details }
}

/// What a value means, where its name and unit do not say.
fn note(table: &str, field: &Field) -> Option<String> {
    let text = field.value.as_str();
    match field.name.as_str() {
        "queue_name" | "dma_queue_name" | "queue" => text.and_then(queue::explain),
        "name" if table == "DmaQueuesInfo" => text.and_then(queue::explain),
        "queue_type" => Some(
            match text? {
                "instruction" => "instruction fetch",
                "input" => "inputs of the model",
                "output" => "outputs of the model",
                "data" => "data moved by pre-computed descriptors",
                "software_dynamic" => "descriptors generated by software while running",
                "hardware_dynamic" => "descriptors generated by hardware while running (DGE)",
                _ => return None,
            }
            .to_owned(),
        ),
        "evt_wait_time_ns" | "evt_wait_time" => {
            (field.value.as_i64()? != 0).then(|| "a 16-bit counter that wraps: no measure of waiting".to_owned())
        }
        _ => None,
    }
}

/// A row as JSON: all its columns under their own names, ids in full.
#[must_use]
pub fn fields_json(fields: &[Field]) -> Json {
    Json::Object(fields.iter().map(|f| (f.name.clone(), f.value.to_json())).collect::<Map<_, _>>())
}

/// An event as JSON: `{"id","table","track","name","start_ns","end_ns","duration_ns"}`. The id is read from the file
/// when first asked for.
#[must_use]
pub fn event_json(store: &Store, event: EventRef) -> Map<String, Json> {
    let table = store.table_of(event);
    let e = event.event;
    let mut out = Map::new();
    out.insert("id".into(), integer(store.id_of(event)));
    out.insert("table".into(), json!(table.name));
    out.insert("track".into(), json!(track_name(store, table, e)));
    out.insert("name".into(), json!(table.event_name(e)));
    out.insert("start_ns".into(), json!(table.start(e)));
    out.insert("end_ns".into(), json!(table.end(e)));
    out.insert("duration_ns".into(), json!(table.lengths.at(e as usize)));
    out
}

/// An id as a JSON integer.
fn integer(id: i128) -> Json {
    match (i64::try_from(id), u64::try_from(id)) {
        (Ok(id), _) => json!(id),
        (_, Ok(id)) => json!(id),
        _ => Json::Null,
    }
}

/// An event with its row as JSON. Reads a file: call it off the UI thread.
///
/// # Errors
/// Says which file could not be read and what to do.
pub fn event_with_fields(store: &Store, event: EventRef) -> Result<Json, Problem> {
    let mut out = event_json(store, event);
    out.insert("fields".into(), fields_json(&store.details(event)?));
    Ok(Json::Object(out))
}

/// The text of a column of a row, where it is recorded.
#[must_use]
pub fn text_of<'a>(fields: &'a [Field], names: &[&str]) -> Option<std::borrow::Cow<'a, str>> {
    names.iter().find_map(|name| {
        let field = fields.iter().find(|f| f.name == *name)?;
        match &field.value {
            Value::Null => None,
            Value::Text(t) if t.trim().is_empty() => None,
            Value::Text(t) => Some(t.trim().into()),
            other => Some(raw(other).into()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_skip_what_is_not_recorded() {
        let field = |name: &str, value| Field { name: name.into(), value };
        let fields =
            [field("a", Value::Null), field("b", Value::Text("  ".into())), field("c", Value::Text(" x ".into()))];
        assert_eq!(text_of(&fields, &["a", "b", "missing", "c"]).as_deref(), Some("x"));
        assert_eq!(text_of(&fields, &["a"]), None);
    }

    #[test]
    fn queue_types_and_counters_are_explained() {
        let of = |name: &str, value| note("DmaPacket", &Field { name: name.into(), value });
        assert_eq!(
            of("queue_name", Value::Text("qSyncIO0".into())).unwrap(),
            "triggered by Sync, for inputs and outputs"
        );
        assert!(of("queue_type", Value::Text("hardware_dynamic".into())).unwrap().contains("DGE"));
        assert_eq!(of("evt_wait_time_ns", Value::Int(0)), None);
        assert!(of("evt_wait_time_ns", Value::Int(5)).is_some());
    }
}
