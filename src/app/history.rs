//! What was typed into entries before, kept between sessions as one JSON object a line.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::atomic::write_atomically;

/// What an entry is for; each has a history of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Search queries.
    Search,
    /// Lines of the command palette.
    Command,
    /// Times, pcs and ids to go to.
    Goto,
    /// Names and notes of marks, names of layouts.
    Name,
    /// Paths on disk.
    Path,
    /// Directories that events are exported to.
    Directory,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    purpose: Purpose,
    text: String,
}

/// At most so many lines are kept for each purpose.
const CAP: usize = 500;

/// Longer texts are used but not remembered.
const MAX_BYTES: usize = 4096;

/// A larger file is no history.
const MAX_FILE: u64 = 16 << 20;

/// The history of all entries, oldest first, each text once per purpose.
#[derive(Clone, Debug, Default)]
pub struct History {
    lines: Vec<Line>,
    /// What this session added, to be merged with what others wrote meanwhile.
    added: Vec<Line>,
}

impl History {
    /// Reads a history. Lines that cannot be understood are left out; a file that does not exist
    /// is an empty history.
    ///
    /// # Errors
    /// The file cannot be read, or is far too large.
    pub fn load(path: &Path) -> io::Result<History> {
        let text = match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(History::default()),
            Ok(_) => crate::files::read(path, MAX_FILE)?,
            Err(error) => return Err(error),
        };
        let mut history = History::default();
        for line in text.split(|&byte| byte == b'\n') {
            if let Ok(line) = serde_json::from_slice::<Line>(line) {
                history.insert(line);
            }
        }
        Ok(history)
    }

    /// Adds what was entered in this session to the file, keeping what other sessions added
    /// meanwhile. The file is replaced as a whole or not at all. Without additions nothing is written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&mut self, path: &Path) -> io::Result<()> {
        if self.added.is_empty() {
            return Ok(());
        }
        // One that cannot be read is replaced.
        let mut merged = History::load(path).unwrap_or_default();
        for line in &self.added {
            merged.insert(line.clone());
        }
        let mut bytes = Vec::new();
        for line in &merged.lines {
            serde_json::to_writer(&mut bytes, line)?;
            bytes.push(b'\n');
        }
        write_atomically(path, &bytes)?;
        self.lines = merged.lines;
        self.added.clear();
        Ok(())
    }

    /// Remembers a text; one that is there already becomes the latest. Blank texts, texts that begin
    /// with a blank (as in shells) and very long ones are not remembered.
    pub fn push(&mut self, purpose: Purpose, text: &str) {
        if text.trim().is_empty() || text.starts_with(' ') || text.len() > MAX_BYTES {
            return;
        }
        let line = Line { purpose, text: text.to_owned() };
        self.added.retain(|old| *old != line);
        self.added.push(line.clone());
        self.insert(line);
    }

    fn insert(&mut self, line: Line) {
        self.lines.retain(|old| *old != line);
        let purpose = line.purpose;
        self.lines.push(line);
        if self.lines.iter().filter(|old| old.purpose == purpose).count() > CAP
            && let Some(oldest) = self.lines.iter().position(|old| old.purpose == purpose)
        {
            self.lines.remove(oldest);
        }
    }

    /// The texts of a purpose, the latest first.
    pub fn of(&self, purpose: Purpose) -> impl Iterator<Item = &str> {
        self.lines.iter().rev().filter(move |line| line.purpose == purpose).map(|line| line.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(history: &History, purpose: Purpose) -> Vec<&str> {
        history.of(purpose).collect()
    }

    #[test]
    fn latest_first_each_once_by_purpose() {
        let mut history = History::default();
        for text in ["a", "b", "a", "", "  ", " hidden", &"x".repeat(MAX_BYTES + 1)] {
            history.push(Purpose::Search, text);
        }
        history.push(Purpose::Goto, "17us");
        assert_eq!(texts(&history, Purpose::Search), ["a", "b"]);
        assert_eq!(texts(&history, Purpose::Goto), ["17us"]);
        for n in 0..CAP + 5 {
            history.push(Purpose::Search, &n.to_string());
        }
        assert_eq!(history.of(Purpose::Search).count(), CAP);
        assert_eq!(history.of(Purpose::Search).last(), Some("5"));
        assert_eq!(texts(&history, Purpose::Goto), ["17us"], "other purposes are not pushed out");
    }

    #[test]
    fn sessions_do_not_lose_each_others_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/history.jsonl");
        let mut first = History::load(&path).unwrap();
        let mut second = History::load(&path).unwrap();
        first.push(Purpose::Command, "zoom-in \"µ\"\n");
        second.push(Purpose::Command, "goto 5");
        first.save(&path).unwrap();
        second.save(&path).unwrap();
        let read = History::load(&path).unwrap();
        assert_eq!(texts(&read, Purpose::Command), ["goto 5", "zoom-in \"µ\"\n"]);
        assert_eq!(texts(&second, Purpose::Command), texts(&read, Purpose::Command));
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "{\"purpose\":\"command\",\"text\":\"zoom-in \\\"µ\\\"\\n\"}\n{\"purpose\":\"command\",\"text\":\"goto 5\"}\n"
        );
    }

    #[test]
    fn bad_lines_cost_only_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        std::fs::write(&path, b"{\"purpose\":\"goto\",\"text\":\"1\"}\nnot json\n\xff\n{\"purpose\":\"other\",\"text\":\"2\"}\n{\"purpose\":\"goto\",\"text\":\"3\"}").unwrap();
        let history = History::load(&path).unwrap();
        assert_eq!(texts(&history, Purpose::Goto), ["3", "1"]);
        let folder_itself = History::load(folder.path());
        assert!(folder_itself.is_err());
    }
}
