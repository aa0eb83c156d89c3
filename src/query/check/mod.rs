//! Was what is in a profile captured soundly? What a person should know before trusting its figures.

mod device;
mod system;
mod warnings;

#[cfg(test)]
mod tests;

use crate::model::{Finding, Severity};
use crate::store::{ProfileKind, Store};

/// All findings about a profile, the gravest first. Slow on system profiles: call it off the UI thread.
#[must_use]
pub fn check(store: &Store) -> Vec<Finding> {
    let mut findings = check_warnings(store);
    findings.append(&mut beyond_warnings(store));
    findings.sort();
    findings.dedup();
    findings
}

/// What the profile's own warnings, and what could not be read of it, mean.
#[must_use]
pub fn check_warnings(store: &Store) -> Vec<Finding> {
    warnings::of(store).into_iter().chain(store.problems.iter().map(warnings::of_problem)).collect()
}

/// What follows from the profile itself: neither from its `Warning` table nor from what could not be read.
#[must_use]
pub fn beyond_warnings(store: &Store) -> Vec<Finding> {
    let mut findings = vec![];
    match store.info.kind {
        ProfileKind::Device => device::add(store, &mut findings),
        ProfileKind::System => system::add(store, &mut findings),
        ProfileKind::Framework | ProfileKind::Memory => {}
    }
    findings.sort();
    findings
}

/// A finding about the profile as a whole.
fn about(
    store: &Store,
    severity: Severity,
    code: &'static str,
    text: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding::new(severity, code, store.info.path.clone(), text, remedy)
}
