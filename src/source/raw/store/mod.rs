//! A raw capture as a profile: what processing it would have made tables of, under the same names.

mod columns;
mod counters;
mod events;
mod rows;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::rows::Node;
use super::{EdgeKind, Merged, RawCapture, RawSemaphoreUpdate, WORTH_SPLITTING};
use crate::source::capture::names;
use crate::source::neff::Neff;
use crate::source::ntff::Ntff;
use crate::source::{Found, OpenEvent, Opening, Progress};
use crate::store::builder::TableInput;
use crate::store::{Builder, Datum, Graph, Problem, ProfileInfo, Records, Rows, Store, TableInfo};
use columns::TABLES;
use rows::{LaterRows, RawRows};

/// Steps of an opening.
const STEPS: u64 = 4;

/// Reads and indexes a capture.
///
/// # Errors
/// Says what is wrong with the NTFF and what to do where it cannot be read at all; a NEFF that cannot be read costs what
/// it would have told, and is listed in [`Store::problems`]. A cancelled opening also ends with an error.
pub fn open(found: &Found, opening: &Opening) -> Result<Store, Problem> {
    let step = |done: u64, step: &str| {
        (opening.report)(OpenEvent::Progress(Progress { step: step.into(), done, total: STEPS }));
        let problem = || Problem { path: found.path.clone(), message: "opening was cancelled".into() };
        if opening.cancelled() { Err(problem()) } else { Ok(()) }
    };
    let (capture, problems) = read(found, &step)?;
    step(3, "indexing")?;
    let store = assemble(found, capture, problems);
    step(STEPS, "indexing")?;
    Ok(store)
}

/// Reads a capture, or several that are shown together, and says what could not be read of it. `step` is told what is
/// done, and may give up.
fn read(found: &Found, step: Step) -> Result<(RawCapture, Vec<Problem>), Problem> {
    let mut problems = vec![];
    if found.together.is_empty() {
        let capture = read_one(&found.path, found.neff.as_deref(), step, &mut problems)??;
        return Ok((capture, problems));
    }
    let mut all: Option<RawCapture> = None;
    let mut cores = BTreeSet::new();
    for one in &found.together {
        let capture = match read_one(&one.path, one.neff.as_deref(), step, &mut problems)? {
            Ok(capture) => capture,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let again = !cores.insert(names::core_of(&one.path));
        let merged = |first_core, kept_distance| Merged {
            label: one.label.clone(),
            path: one.path.clone(),
            neff_name: capture.metadata.neff_name.clone(),
            first_core,
            kept_distance,
        };
        match &mut all {
            None => {
                let merged = merged(0, true);
                all.insert(capture).merged.push(merged);
            }
            // What ran on one core ran one after another, and must not be laid over each other.
            Some(all) if again && !all.knows_distance_to(&capture) => {
                let message =
                    "is of a core that another capture shown here is of, and when it ran is not known; it is left \
                               out: open it by itself"
                        .into();
                problems.push(Problem { path: one.path.clone(), message });
            }
            Some(all) => {
                let merged = merged(all.cores.len(), all.knows_distance_to(&capture));
                all.append(capture);
                all.merged.push(merged);
            }
        }
    }
    let nothing =
        || problems.first().cloned().unwrap_or_else(|| Problem { path: found.path.clone(), message: String::new() });
    let capture = all.ok_or_else(nothing)?;
    Ok((capture, problems))
}

/// Is told how far the reading is; fails where nobody waits for it any more.
type Step<'a> = &'a dyn Fn(u64, &str) -> Result<(), Problem>;

/// Reads one capture: that fails where `step` does, and what comes out is a problem where the trace cannot be read.
fn read_one(
    path: &Path,
    program: Option<&Path>,
    step: Step,
    problems: &mut Vec<Problem>,
) -> Result<Result<RawCapture, Problem>, Problem> {
    step(0, "reading the capture")?;
    let ntff = match Ntff::open(path) {
        Ok(ntff) => ntff,
        Err(fault) => return Ok(Err(fault.problem(path))),
    };
    step(1, "reading the program")?;
    let neff = program.and_then(|path| {
        let read = Neff::open(path).map_err(|fault| fault.problem(path));
        read.map_err(|problem| problems.push(problem)).ok()
    });
    step(2, "joining the two")?;
    let mut capture = RawCapture::join_owned(ntff, neff.as_ref());
    let own = std::mem::take(&mut capture.problems).into_iter();
    problems.extend(own.map(|message| Problem { path: path.to_path_buf(), message }));
    if let Some(path) = program {
        let own = std::mem::take(&mut capture.program_problems).into_iter();
        problems.extend(own.map(|message| Problem { path: path.to_path_buf(), message }));
    }
    Ok(Ok(capture))
}

/// Rows of a capture whose index comes from the cache: it is read once the first row is asked for.
#[must_use]
pub fn rows_of(found: &Found) -> Arc<dyn Rows> {
    Arc::new(LaterRows { found: found.clone(), rows: OnceLock::new() })
}

fn assemble(found: &Found, capture: RawCapture, problems: Vec<Problem>) -> Store {
    let mut builder = Builder::new(ProfileInfo {
        name: found.name.clone(),
        path: found.path.clone(),
        kind: found.kind,
        format: found.format.name().into(),
        // The device counts from when it was powered on.
        origin_unix_ns: None,
    });
    builder.problems = problems;
    let filled = TABLES.iter().map(|table| (table, (table.rows)(&capture) as u64)).filter(|(_, rows)| *rows > 0);
    builder.tables = filled.map(|(table, rows)| TableInfo { name: table.name.into(), rows }).collect();
    let tables: [fn(&RawCapture) -> TableInput; 6] =
        [events::instructions, events::packets, events::transfers, events::semaphores, events::throttles, events::gaps];
    let counters = || counters::all(&capture);
    let made = || tables.iter().map(|table| table(&capture)).collect::<Vec<_>>();
    let rows: usize = capture.instructions.len().saturating_add(capture.dma_packets.len());
    // Waking another thread takes longer than a small capture does.
    let (made, counters) = if rows < WORTH_SPLITTING { (made(), counters()) } else { rayon::join(made, counters) };
    made.into_iter().for_each(|table| builder.events(table));
    builder.counters = counters;
    // A single one is the whole profile.
    if capture.cores.iter().any(|core| core.executions.len() > 1) {
        builder.events(events::executions(&capture));
    }
    builder.events.retain(|table| !table.is_empty());
    builder.graph = graph(&capture);
    builder.records = rows::records(&capture);
    builder.records.extend(warnings(found, &capture));
    builder.finish(Arc::new(RawRows { path: found.path.clone(), capture }))
}

/// The links that the compiler recorded, and those between transfers and the instructions that started them. What
/// follows from semaphores and PSUM banks is derived for all profiles alike where it is asked for.
fn graph(capture: &RawCapture) -> Option<Graph> {
    let instructions = u32::try_from(capture.instructions.len()).ok()?;
    let transfers = u32::try_from(capture.dma_transfers.len()).ok()?;
    let node = |node: Node| match node {
        Node::Instruction(index) => index,
        Node::Transfer(index) => instructions.saturating_add(index),
    };
    let mut kinds: Vec<Cow<'_, str>> = vec![];
    let (mut from, mut to, mut edge_kinds) = (vec![], vec![], vec![]);
    for edge in &capture.edges {
        let name = match edge.kind {
            EdgeKind::Compiler(_) | EdgeKind::DmaTrigger => edge.kind.dependency_type(),
            EdgeKind::SamePsumBank(_) | EdgeKind::DmaWait => continue,
        };
        let kind = kinds.iter().position(|known| *known == name).unwrap_or_else(|| {
            kinds.push(name);
            kinds.len() - 1
        });
        from.push(node(edge.predecessor));
        to.push(node(edge.successor));
        edge_kinds.push(u8::try_from(kind).unwrap_or(u8::MAX));
    }
    if from.is_empty() {
        return None;
    }
    let tables = vec![("Instruction".to_owned(), instructions), ("DmaPacketAggregated".to_owned(), transfers)];
    Some(Graph::build(tables, kinds.into_iter().map(Cow::into_owned).collect(), &from, &to, &edge_kinds))
}

/// What a person should know before trusting the profile.
fn warnings(found: &Found, capture: &RawCapture) -> Option<Records> {
    let mut doubts = capture.doubts();
    if found.neff.is_none() {
        let name = if capture.metadata.neff_name.is_empty() { "the NEFF" } else { &capture.metadata.neff_name };
        let message = format!(
            "{name} that ran was not found beside the capture: dependencies, tensors, layers and source lines are \
             missing; give it with --neff FILE"
        );
        doubts.insert(0, (message, "Missing Data"));
    }
    let row = |(message, category): (String, &str)| vec![Datum::Text(message), Datum::Text(category.into())];
    let rows: Vec<_> = doubts.into_iter().map(row).collect();
    let columns = ["message", "category"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| Records { name: "Warning".into(), columns, rows })
}

/// The track of a semaphore or event: `S[34] (qSyncDynamicHW)`, `S[2]`, `E[4]`.
fn semaphore_track(capture: &RawCapture, row: &RawSemaphoreUpdate) -> String {
    let label = capture.semaphore_label(row);
    if label.starts_with(['S', 'E']) { label } else { format!("S[{label}]") }
}
