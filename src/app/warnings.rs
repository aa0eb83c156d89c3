//! What makes figures untrustworthy or could not be read: warnings of the profile, problems met while reading it,
//! findings about the capture, complaints about configuration.

use super::App;
use super::overlays::Notice;
use crate::model::Severity;
use crate::query::check::check_warnings;
use crate::ui::popup::{Paragraph, Tone};

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What kind of warning, in a word or two.
    pub kind: String,
    /// What is wrong and what to do.
    pub text: String,
    /// Whether something could not be read, rather than being doubtful.
    pub failed: bool,
}

impl App {
    /// How many warnings there are.
    #[must_use]
    pub fn warning_count(&self) -> usize {
        let store = &self.scene.store;
        store.records("Warning").map_or(0, |r| r.rows.len())
            + store.problems.len()
            + self.findings.len()
            + self.complaints.len()
    }

    /// All warnings: what failed, then the profile's own, then the others.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let store = &self.scene.store;
        let known = check_warnings(store);
        let own = store.records("Warning").map_or(0, |records| records.rows.len());
        let category = |row| store.records("Warning")?.get(row, "category")?.text().filter(|text| !text.is_empty());
        let mut warnings: Vec<Warning> = known
            .iter()
            .chain(&self.findings)
            .enumerate()
            .map(|(at, finding)| {
                let words = finding.code.replace('-', " ");
                let kind = match finding.code {
                    "warned" => category(at).unwrap_or("warning").to_owned(),
                    _ => words,
                };
                // Of several files of a profile, one has to be named.
                let of_file = at >= own && at < known.len();
                let file = finding.path.file_name().filter(|_| of_file);
                let file = file.map_or_else(String::new, |name| format!("{}: ", name.to_string_lossy()));
                let failed = finding.severity == Severity::Failed;
                Warning { kind, text: format!("{file}{}", finding.message()), failed }
            })
            .collect();
        warnings.sort_by_key(|warning| !warning.failed);
        let complaints = self.complaints.iter();
        warnings.extend(complaints.map(|c| Warning { kind: "settings".into(), text: c.clone(), failed: false }));
        warnings
    }

    /// Shows the next warning; after the last one none.
    pub(super) fn next_warning(&mut self) {
        let warnings = self.warnings();
        let next = self.warning.map_or(0, |i| i + 1);
        let Some(warning) = warnings.get(next) else {
            self.warning = None;
            let text = if warnings.is_empty() { "the profile has no warnings" } else { "that was the last warning" };
            self.say(text);
            return;
        };
        self.warning = Some(next);
        let title = format!("Warning {} of {}: {}", next + 1, warnings.len(), warning.kind);
        let key = self.keymap.hint(super::keymap::Context::Timeline, &super::action::Action::NextWarning);
        let hint = match (next + 1 < warnings.len(), key) {
            (true, Some(key)) => format!("{key}: the next one   Esc: close"),
            _ => "Esc: close".to_owned(),
        };
        let text = vec![
            Paragraph::new(&warning.text, Tone::Plain),
            Paragraph::new("", Tone::Plain),
            Paragraph::new(hint, Tone::Dim),
        ];
        self.show(Notice::new(title, text));
    }
}
