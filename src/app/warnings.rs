//! What makes figures untrustworthy or could not be read: warnings of the profile, problems met while reading it,
//! findings about the capture, complaints about configuration.

use super::App;
use super::overlays::Notice;
use crate::model::Severity;
use crate::store::Datum;
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

    /// All warnings, the profile's own first.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let store = &self.scene.store;
        let mut warnings = Vec::new();
        if let Some(records) = store.records("Warning") {
            for row in 0..records.rows.len() {
                let text = |column| records.get(row, column).and_then(Datum::text).unwrap_or_default().to_owned();
                let kind = text("category");
                let kind = if kind.is_empty() { "warning".to_owned() } else { kind };
                warnings.push(Warning { kind, text: text("message"), failed: false });
            }
        }
        for problem in &store.problems {
            let file = problem.path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            let text = format!("{file}: {}", problem.message);
            warnings.push(Warning { kind: "not read".into(), text, failed: true });
        }
        let findings = self.findings.iter();
        warnings.extend(findings.map(|f| Warning {
            kind: f.code.replace('-', " "),
            text: f.message(),
            failed: f.severity == Severity::Failed,
        }));
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
