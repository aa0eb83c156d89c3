//! Marks that people set: moments and spans with a name, a colour and a note.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Nanos;

/// The colours that marks can have, the first one by default. A theme decides how they look.
pub const COLORS: [&str; 8] = ["yellow", "orange", "red", "purple", "blue", "cyan", "green", "grey"];

/// A moment or a span that someone marked. Texts may come from a colleague's file: escape before showing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Tells it from all other marks, also those of other people.
    pub id: String,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// When it is, or where it begins, in nanoseconds from the profile's origin.
    pub start_ns: Nanos,
    /// Where a span ends; `None` for a moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<Nanos>,
    /// One of [`COLORS`]; others are kept and shown as the first.
    #[serde(default)]
    pub color: String,
    /// Anything worth saying.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When it was set: Unix time in milliseconds.
    #[serde(default)]
    pub created_ms: i64,
    /// When it was last changed: Unix time in milliseconds.
    #[serde(default)]
    pub changed_ms: i64,
    /// What a newer version wrote, kept as it is.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

impl Mark {
    /// A moment, or a span where `end` is given; the ends of a span may come in either order.
    #[must_use]
    pub fn new(id: String, start: Nanos, end: Option<Nanos>, now_ms: i64) -> Mark {
        let (start_ns, end_ns) = match end {
            Some(end) => (start.min(end), Some(start.max(end))),
            None => (start, None),
        };
        Mark {
            id,
            name: String::new(),
            start_ns,
            end_ns,
            color: COLORS[0].to_owned(),
            note: String::new(),
            created_ms: now_ms,
            changed_ms: now_ms,
            other: BTreeMap::new(),
        }
    }

    /// Where it ends; a moment ends where it begins.
    #[must_use]
    pub fn end(&self) -> Nanos {
        self.end_ns.unwrap_or(self.start_ns)
    }

    /// Its colour's place in [`COLORS`].
    #[must_use]
    pub fn color_index(&self) -> usize {
        COLORS.iter().position(|c| *c == self.color).unwrap_or(0)
    }
}

/// The end of a mark that is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// All of it; a span keeps its length.
    Whole,
    /// Where it begins.
    Start,
    /// Where it ends.
    End,
}

/// What came of merging marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Marks that were not there.
    pub added: usize,
    /// Marks that had been changed later.
    pub changed: usize,
}

/// The marks of a profile, in order of start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Marks {
    list: Vec<Mark>,
}

impl Marks {
    /// All marks, in order of start.
    #[must_use]
    pub fn all(&self) -> &[Mark] {
        &self.list
    }

    /// The mark with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Mark> {
        self.list.iter().find(|m| m.id == id)
    }

    fn sort(&mut self) {
        self.list.sort_by(|a, b| (a.start_ns, a.end(), &a.id).cmp(&(b.start_ns, b.end(), &b.id)));
    }

    /// Adds a mark; one without a name gets the least number that no other has. One with the same id is replaced.
    pub fn add(&mut self, mut mark: Mark) {
        self.remove(&mark.id);
        if mark.name.trim().is_empty() {
            let taken = |n: &usize| self.list.iter().any(|m| m.name == n.to_string());
            mark.name = (1..).find(|n| !taken(n)).unwrap_or(0).to_string();
        }
        self.list.push(mark);
        self.sort();
    }

    /// Removes a mark.
    pub fn remove(&mut self, id: &str) -> Option<Mark> {
        let at = self.list.iter().position(|m| m.id == id)?;
        Some(self.list.remove(at))
    }

    /// Changes a mark; false where there is none with this id.
    pub fn change(&mut self, id: &str, now_ms: i64, change: impl FnOnce(&mut Mark)) -> bool {
        let Some(mark) = self.list.iter_mut().find(|m| m.id == id) else { return false };
        change(mark);
        mark.changed_ms = now_ms;
        self.sort();
        true
    }

    /// Moves a mark, or one end of a span, to `time`. An end that passes the other becomes the other.
    pub fn move_to(&mut self, id: &str, edge: Edge, time: Nanos, now_ms: i64) -> bool {
        self.change(id, now_ms, |mark| {
            let (start, end) = (mark.start_ns, mark.end_ns);
            let (start, end) = match (edge, end) {
                (Edge::End, Some(_)) => (start, Some(time)),
                (Edge::Start, end) => (time, end),
                // Both ends move by as much as they can move together.
                (_, Some(end)) => {
                    let most = i128::from(i64::MAX) - (i128::from(end) - i128::from(start));
                    let start_moved = i128::from(time).min(most) as i64;
                    (start_moved, Some((i128::from(start_moved) + i128::from(end) - i128::from(start)) as i64))
                }
                (_, None) => (time, None),
            };
            mark.start_ns = end.map_or(start, |end| start.min(end));
            mark.end_ns = end.map(|end| start.max(end));
        })
    }

    /// The first mark that starts after `time`.
    #[must_use]
    pub fn next(&self, time: Nanos) -> Option<&Mark> {
        self.list.iter().find(|m| m.start_ns > time)
    }

    /// The last mark that starts before `time`.
    #[must_use]
    pub fn previous(&self, time: Nanos) -> Option<&Mark> {
        self.list.iter().rfind(|m| m.start_ns < time)
    }

    /// The mark with an edge nearest to `time`.
    #[must_use]
    pub fn nearest(&self, time: Nanos) -> Option<&Mark> {
        let distance = |m: &&Mark| m.start_ns.abs_diff(time).min(m.end().abs_diff(time));
        self.list.iter().min_by_key(distance)
    }

    /// Takes over marks of others: new ones, and those with a known id that were changed later.
    pub fn merge(&mut self, others: impl IntoIterator<Item = Mark>) -> Merged {
        let mut merged = Merged::default();
        for mark in others {
            match self.get(&mark.id) {
                None => merged.added += 1,
                Some(known) if known.changed_ms < mark.changed_ms => merged.changed += 1,
                Some(_) => continue,
            }
            self.add(mark);
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(times: &[(i64, Option<i64>)]) -> Marks {
        let mut marks = Marks::default();
        for (i, &(start, end)) in times.iter().enumerate() {
            marks.add(Mark::new(format!("m{i}"), start, end, 100));
        }
        marks
    }

    fn starts(marks: &Marks) -> Vec<(i64, i64)> {
        marks.all().iter().map(|m| (m.start_ns, m.end())).collect()
    }

    #[test]
    fn marks_are_kept_in_order_and_numbered() {
        let mut marks = marks(&[(50, None), (10, Some(5)), (30, None)]);
        assert_eq!(starts(&marks), [(5, 10), (30, 30), (50, 50)]);
        assert_eq!(marks.get("m0").unwrap().name, "1");
        marks.remove("m1");
        marks.add(Mark::new("m3".into(), 1, None, 0));
        assert_eq!(marks.get("m3").unwrap().name, "2", "the number that became free");
        assert_eq!(marks.next(1).unwrap().start_ns, 30);
        assert_eq!(marks.previous(30).unwrap().start_ns, 1);
        assert!(marks.next(50).is_none() && marks.previous(1).is_none());
        assert_eq!(marks.nearest(44).unwrap().start_ns, 50);
    }

    #[test]
    fn moving_keeps_spans_in_order_and_within_time() {
        let mut marks = marks(&[(10, Some(30)), (5, None)]);
        assert!(marks.move_to("m0", Edge::Whole, 100, 1));
        assert_eq!(starts(&marks), [(5, 5), (100, 120)]);
        marks.move_to("m0", Edge::End, 90, 2);
        assert_eq!(starts(&marks), [(5, 5), (90, 100)]);
        marks.move_to("m0", Edge::Whole, i64::MAX, 2);
        assert_eq!(starts(&marks)[1], (i64::MAX - 10, i64::MAX));
        marks.move_to("m1", Edge::End, 7, 3);
        assert_eq!(starts(&marks)[0], (7, 7));
        assert_eq!(marks.get("m1").unwrap().changed_ms, 3);
        assert!(!marks.move_to("none", Edge::Whole, 0, 0));
    }

    #[test]
    fn merging_keeps_what_was_changed_last() {
        let mut mine = marks(&[(10, None), (20, None)]);
        let mut theirs = marks(&[(11, None), (22, None), (33, None)]);
        mine.change("m0", 300, |m| m.note = "mine".into());
        theirs.change("m1", 200, |m| m.note = "theirs".into());
        let merged = mine.merge(theirs.all().to_vec());
        assert_eq!(merged, Merged { added: 1, changed: 1 });
        assert_eq!(starts(&mine), [(10, 10), (22, 22), (33, 33)]);
        assert_eq!(mine.merge(theirs.all().to_vec()), Merged::default());
    }

    #[test]
    fn what_newer_versions_write_is_kept() {
        let text = r#"{"id":"a","start_ns":5,"color":"pink","shape":"star"}"#;
        let mark: Mark = serde_json::from_str(text).unwrap();
        assert_eq!((mark.color_index(), mark.end()), (0, 5));
        let back = serde_json::to_value(&mark).unwrap();
        assert_eq!((back["shape"].as_str(), back["color"].as_str()), (Some("star"), Some("pink")));
    }
}
