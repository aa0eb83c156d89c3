//! The full profile that older tools write as JSON: `neuron-profile view --output-format json`.
//!
//! The file is one object; each of its keys holds a list of rows. Nothing about it is certain: lists come in any order,
//! rows in any order of time, keys of a row in any order; numbers may be text and text numbers; a large one has a
//! gigabyte per 250,000 instructions and may have been cut off. So it is read in one pass through a window that moves
//! along (`input`), by a tokenizer that interprets only what is needed (`token`), into columns (`gather`); those
//! become tables under the schema's names (`assemble`), and every row's place is kept, so that `rows` can show all of
//! it when a person asks.
//!
//! Times are the file's own, from its own zero, in nanoseconds. Only if the metadata show them to be picoseconds are they
//! divided; see `unit` in `assemble`.

mod assemble;
mod dma;
mod events;
mod gather;
mod input;
mod instruction;
mod interner;
mod plain;
mod read;
mod rows;
mod samples;
mod schema;
mod sniff;
#[cfg(test)]
mod tests;
mod token;

use std::collections::BTreeMap;
use std::path::Path;

use self::gather::Gathered;
use self::input::Input;
use self::read::Read;
pub use self::sniff::{Kind, sniff, sniff_file};

use super::{OpenEvent, Opening, Progress};
use crate::store::{Problem, Store};

/// Reads and indexes a full profile, plain or compressed with gzip.
///
/// # Errors
/// Says what the file is and what to do where it is no full profile at all; anything less is listed in
/// [`Store::problems`]. A cancelled opening also ends with an error.
pub fn open(path: &Path, opening: &Opening) -> Result<Store, Problem> {
    let (input, read) = gathered(path, opening)?;
    let step = "indexing".to_string();
    (opening.report)(OpenEvent::Progress(Progress { step, done: input.length, total: input.length }));
    let store = assemble::assemble(&read.gathered, &input, &read.problems, &read.damaged);
    if opening.cancelled() { Err(problem(path, "opening was cancelled")) } else { Ok(store) }
}

fn problem(path: &Path, message: &str) -> Problem {
    Problem { path: path.to_path_buf(), message: message.to_string() }
}

/// Reads the file into columns.
fn gathered(path: &Path, opening: &Opening) -> Result<(Input, Read), Problem> {
    // Before anything is unpacked: the first bytes tell.
    let other = sniff_file(path).filter(|kind| *kind != Kind::FullProfile);
    if let Some(kind) = other {
        let advice = match kind {
            Kind::Summary => "write the full profile with `neuron-profile view --output-format json`",
            _ => "it is not opened as a profile of one NeuronCore",
        };
        return Err(problem(path, &format!("holds {}: {advice}", kind.words())));
    }
    let input = Input::open(path, |done, total| {
        let step = "unpacking".to_string();
        (opening.report)(OpenEvent::Progress(Progress { step, done, total }));
        !opening.cancelled()
    })?;
    if input.length == 0 && input.damage.is_none() {
        return Err(problem(path, "is empty (0 bytes): the writer stopped before it began; write it again"));
    }
    let partial = |gathered: &Gathered| assemble::assemble(gathered, &input, &[], &BTreeMap::new());
    let read = read::read(input.clone(), opening, &partial)?;
    if !read.gathered.any_known {
        let why = read.problems.first().map_or(String::new(), |p| format!(" ({p})"));
        let message = format!(
            "holds none of the lists of a full profile: looked for `instruction`, `dma`, `semaphore_update` and their like{why}"
        );
        return Err(problem(path, &message));
    }
    Ok((input, read))
}
