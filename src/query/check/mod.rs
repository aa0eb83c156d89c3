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
    let mut findings = warnings::of(store);
    findings.extend(
        store.problems.iter().map(|problem| {
            Finding::new(Severity::Failed, "not-read", problem.path.clone(), problem.message.clone(), "")
        }),
    );
    match store.info.kind {
        ProfileKind::Device => device::add(store, &mut findings),
        ProfileKind::System => system::add(store, &mut findings),
        ProfileKind::Framework | ProfileKind::Memory => {}
    }
    findings.sort();
    findings.dedup();
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
