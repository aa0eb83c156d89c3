//! What makes a profile doubtful, looked for in the background once it is shown.

use std::sync::Arc;

use super::App;
use super::effect::Effect;
use super::jobs::Job;
use crate::model::{Finding, Severity};
use crate::query::check::{beyond_warnings, check_warnings};
use crate::source::capture::{Program, names};
use crate::source::{self, Format, Found};

impl App {
    /// Has the profile checked that was just opened.
    pub(super) fn look_for_findings(&mut self) {
        self.findings.clear();
        let Some(found) = self.found.clone() else { return };
        let store = self.scene.store.clone();
        self.effects.push(Effect::Job(Job::new("check", move |reporter| {
            let mut findings = beyond_warnings(&store);
            if found.format == Format::Raw {
                findings.extend(of_capture(&found));
            }
            // What is fine needs no attention, and what the profile itself warns of is shown with it.
            let known = check_warnings(&store);
            let said = |finding: &Finding| known.iter().any(|known| known.code == finding.code);
            findings.retain(|finding| finding.severity < Severity::Note && !said(finding));
            findings.sort();
            reporter.answer(move |app| {
                if Arc::ptr_eq(&store, &app.scene.store) {
                    app.heed(findings);
                }
            });
        })));
    }

    fn heed(&mut self, findings: Vec<Finding>) {
        self.findings = findings;
        let Some(worst) = self.warnings().into_iter().next().filter(|warning| warning.failed) else { return };
        let key = self.keymap.hint(super::keymap::Context::Timeline, &super::action::Action::NextWarning);
        let key = key.map_or_else(String::new, |key| format!("{key}: "));
        self.refuse(format!("{key}{}", worst.text));
    }
}

/// What the files beside a trace tell of it: about itself, its program, and the directories that it is in, but for what is
/// missing there of a system profile.
fn of_capture(found: &Found) -> Vec<Finding> {
    let process = found.path.ancestors().skip(1).find(|directory| {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        names::process(&name).is_some()
    });
    let Ok(mut survey) = source::survey(process.unwrap_or(&found.path)) else { return vec![] };
    // The program may have been given by name.
    if let Some(neff) = &found.neff {
        let own = survey.capture.traces.iter_mut().filter(|trace| trace.path == found.path);
        own.filter(|trace| trace.program.as_ref().is_none_or(|program| program.path != *neff))
            .for_each(|trace| trace.program = Some(Program::given(neff)));
    }
    let concerns = |finding: &Finding| {
        let of_system = finding.code.starts_with("no-") && finding.path.is_dir();
        finding.path == found.path
            || found.neff.as_ref() == Some(&finding.path)
            || found.path.starts_with(&finding.path) && !of_system
    };
    survey.capture.check().into_iter().filter(concerns).collect()
}
