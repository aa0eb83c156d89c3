//! `check PATH`: was the capture sound.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::program::ProgramArg;
use crate::model::{Finding, Severity};
use crate::query::check::check;
use crate::source::{Format, Opening, Survey, open};
use crate::store::Problem;
use crate::term::text::escape;

/// Arguments of `check`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Capture directories, device traces, processed profiles
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// The program of a raw capture
    #[command(flatten)]
    pub program: ProgramArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What was looked at and found.
#[derive(Default)]
pub struct Report {
    /// Profiles that were opened.
    pub profiles: usize,
    /// Files of captures.
    pub files: usize,
    /// The findings, the gravest first.
    pub findings: Vec<Finding>,
    /// What could not be looked at.
    pub problems: Vec<Problem>,
}

/// Checks `paths`.
#[must_use]
pub fn gather(paths: &[PathBuf], program: &ProgramArg, cache: Option<&Path>) -> Report {
    let mut report = Report::default();
    for path in paths {
        match program.survey(path) {
            Ok(survey) if survey.found.is_empty() && survey.capture.files.is_empty() => {
                report.problems.push(survey.nothing(path));
            }
            Ok(survey) => report.add(survey, path, cache),
            Err(problem) => report.problems.push(problem),
        }
    }
    report.findings.sort();
    // What a file's name and its contents tell alike is told once, and what follows from it not at all.
    let mut told = BTreeSet::new();
    let root_causes = ["cut-off", "other-compilation"];
    let explained: BTreeSet<PathBuf> =
        report.findings.iter().filter(|f| root_causes.contains(&f.code)).map(|f| f.path.clone()).collect();
    report.findings.retain(|finding| match finding.code {
        "no-program" | "other-compilation" | "several-programs" => told.insert((finding.code, finding.path.clone())),
        "not-read" => !explained.contains(&finding.path),
        _ => true,
    });
    report.findings.dedup();
    report
}

impl Report {
    fn add(&mut self, survey: Survey, path: &Path, cache: Option<&Path>) {
        self.files += survey.capture.files.len();
        let mut found = survey.capture.check();
        // Beside profiles that can be opened, nothing need have been captured.
        if let (true, Some(nothing)) = (survey.found.is_empty(), survey.capture.nothing_captured(path)) {
            found.retain(|finding| finding.code != nothing.code);
            found.push(nothing);
        }
        let cancel = AtomicBool::new(false);
        let broken = survey.capture.traces.iter().filter(|trace| trace.head.is_err());
        let broken: BTreeSet<&Path> = broken.map(|trace| trace.path.as_path()).collect();
        for profile in survey.found.iter().filter(|p| p.format != Format::Vendor) {
            // Why a file cannot be read was found already.
            if profile.format == Format::Raw && broken.contains(profile.path.as_path()) {
                continue;
            }
            match open(profile, &Opening { cancel: &cancel, report: &|_| {}, cache }) {
                Ok(store) => {
                    self.profiles += 1;
                    self.findings.extend(check(&store));
                }
                Err(problem) => {
                    let finding = Finding::new(Severity::Failed, "not-read", problem.path, problem.message, "");
                    self.findings.push(finding);
                }
            }
        }
        self.findings.extend(found);
        self.findings.extend(survey.capture.check_framework());
        let unread = survey.problems.into_iter();
        self.findings.extend(
            unread.map(|problem| Finding::new(Severity::Failed, "not-read", problem.path, problem.message, "")),
        );
    }

    /// The exit status: 0 where nothing failed, 1 where something did, 2 where nothing could be looked at.
    #[must_use]
    pub fn status(&self) -> u8 {
        if !self.problems.is_empty() {
            super::UNUSABLE
        } else if self.findings.iter().any(|f| f.severity == Severity::Failed) {
            super::FAILED
        } else {
            0
        }
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let finding = |f: &Finding| {
            json!({
                "severity": f.severity.name(),
                "code": f.code,
                "path": f.path.to_string_lossy(),
                "text": f.text,
                "remedy": f.remedy,
            })
        };
        let problem = |p: &Problem| json!({"path": p.path.to_string_lossy(), "message": p.message});
        json!({
            "sound": self.status() == 0,
            "profiles": self.profiles,
            "files": self.files,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "problems": self.problems.iter().map(problem).collect::<Vec<_>>(),
        })
    }

    /// For people: what is the same of many files is said once. Below `root`, paths are given from there.
    #[must_use]
    pub fn to_text(&self, root: Option<&Path>) -> String {
        use std::fmt::Write;
        let within = |path: &Path| {
            let rest = root.and_then(|root| path.strip_prefix(root).ok()).filter(|rest| !rest.as_os_str().is_empty());
            escape(&rest.unwrap_or(path).to_string_lossy()).into_owned()
        };
        let mut out = String::new();
        let mut groups: Vec<(&Finding, usize)> = vec![];
        for finding in &self.findings {
            let same = |f: &Finding| (f.code, &f.text, &f.remedy) == (finding.code, &finding.text, &finding.remedy);
            match groups.iter_mut().find(|(first, _)| same(first)) {
                Some((_, count)) => *count += 1,
                None => groups.push((finding, 1)),
            }
        }
        for (finding, count) in groups {
            let word = match finding.severity {
                Severity::Failed => "FAILED",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let more = if count > 1 { format!("  and {} more", count - 1) } else { String::new() };
            let _ = writeln!(out, "{word:<8} {}  {}{more}", finding.code, within(&finding.path));
            for line in wrapped(&finding.text, 90) {
                let _ = writeln!(out, "         {}", escape(&line));
            }
            for (at, line) in wrapped(&finding.remedy, 87).iter().enumerate() {
                let _ = writeln!(out, "         {}{}", if at == 0 { "-> " } else { "   " }, escape(line));
            }
        }
        let count = |severity| self.findings.iter().filter(|f| f.severity == severity).count();
        let (failed, warnings, notes) = (count(Severity::Failed), count(Severity::Warning), count(Severity::Note));
        let verdict = if failed > 0 { "not sound" } else { "sound" };
        let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        let _ = writeln!(
            out,
            "{verdict}: {failed} failed, {}, {} ({} opened, {} of captures looked at)",
            plural(warnings, "warning"),
            plural(notes, "note"),
            plural(self.profiles, "profile"),
            plural(self.files, "file"),
        );
        out
    }
}

/// Lines of at most so many characters, broken between words.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Prints what was found. Returns the exit status: 0 sound, 1 something failed, 2 nothing could be looked at.
pub fn run(args: &Args, cache: Option<&Path>) -> u8 {
    let report = gather(&args.paths, &args.program, cache);
    report.problems.iter().for_each(super::complain_of);
    let status = if args.json {
        super::print(&super::json_line(&report.to_json()))
    } else if report.profiles + report.files > 0 {
        let root = match args.paths.as_slice() {
            [one] => Some(one.as_path()),
            _ => None,
        };
        super::print(&report.to_text(root))
    } else {
        0
    };
    status.max(report.status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable", 3), ["unbreakable"]);
        assert!(wrapped("", 3).is_empty());
    }

    #[test]
    fn the_status_is_that_of_the_gravest() {
        let finding = |severity| Finding::new(severity, "x", "/p", "t", "");
        let with = |severities: &[Severity]| {
            Report { findings: severities.iter().copied().map(finding).collect(), ..Report::default() }.status()
        };
        assert_eq!(with(&[]), 0);
        assert_eq!(with(&[Severity::Note, Severity::Warning]), 0);
        assert_eq!(with(&[Severity::Note, Severity::Failed]), super::super::FAILED);
        let unread = Report { problems: vec![Problem { path: "/p".into(), message: "m".into() }], ..Report::default() };
        assert_eq!(unread.status(), super::super::UNUSABLE);
    }
}
