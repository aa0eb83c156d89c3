//! What a person should know before trusting a capture.

use std::path::PathBuf;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Something is wrong or lost: figures cannot be trusted, or a file cannot be used.
    Failed,
    /// Something is missing that another capture would have.
    Warning,
    /// Something that looks odd and is fine, or that is good to know.
    Note,
}

impl Severity {
    /// The name used in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Failed => "failed",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What kind of finding it is: a word that scripts may rely on.
    pub code: &'static str,
    /// The file or directory that it is about.
    pub path: PathBuf,
    /// What was found and what it means.
    pub text: String,
    /// What to do, where anything is to be done.
    pub remedy: String,
}

impl Finding {
    /// A finding.
    pub fn new(
        severity: Severity,
        code: &'static str,
        path: impl Into<PathBuf>,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { severity, code, path: path.into(), text: text.into(), remedy: remedy.into() }
    }

    /// What it means and what to do, in one text.
    #[must_use]
    pub fn message(&self) -> String {
        match self.remedy.as_str() {
            "" => self.text.clone(),
            remedy => format!("{}. {remedy}", self.text.trim_end_matches('.')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_is_wrong_and_what_to_do() {
        let finding = |text, remedy| Finding::new(Severity::Note, "x", "/p", text, remedy).message();
        assert_eq!(finding("It is cut off.", "Copy it again"), "It is cut off. Copy it again");
        assert_eq!(finding("It is fine", ""), "It is fine");
    }

    #[test]
    fn what_failed_comes_first() {
        assert!(Severity::Failed < Severity::Warning && Severity::Warning < Severity::Note);
    }
}
