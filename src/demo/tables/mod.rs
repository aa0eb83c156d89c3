//! The tables of a processed profile, each computed from the program and its runs.

mod collectives;
mod dependencies;
mod dma;
mod hierarchy;
mod instruction;
mod kernels;
mod reference;
mod summary;
mod usage;

use crate::demo::profile::Profile;
use crate::demo::table::Table;

/// All tables of the demo profile.
pub(super) fn all(p: &Profile) -> Vec<Table> {
    let frames = kernels::Frames::new();
    let mut tables = vec![instruction::instruction(p, &frames)];
    tables.extend(dma::tables(p));
    tables.extend(dependencies::tables(p));
    tables.extend(collectives::tables(p));
    tables.extend(usage::tables(p));
    tables.extend(hierarchy::tables(p));
    tables.extend(frames.tables());
    tables.extend(kernels::tables(p));
    tables.extend(reference::tables(p));
    tables.extend(summary::tables(p));
    let rows = |wanted: &dyn Fn(&str) -> bool| -> i64 {
        tables.iter().filter(|t| wanted(t.name())).map(|t| t.rows() as i64).sum()
    };
    let summary = summary::summary(p, rows(&|_| true), rows(&|name| name == "SemaphoreUpdate"));
    tables.push(summary);
    tables
}
