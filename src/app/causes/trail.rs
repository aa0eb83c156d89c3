//! The trail of causes walked along with `b` and `o`: it can be walked back, shown and copied.

use crate::app::scene::Selection;
use crate::model::Nanos;

/// A place on the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What is selected there.
    pub selection: Selection,
    /// What that is.
    pub name: String,
    /// When it starts.
    pub start: Nanos,
}

/// A step from a stop to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether it leads from a cause to what it caused.
    pub forward: bool,
    /// What links the two, in words.
    pub how: String,
    /// Where it leads.
    pub to: Stop,
}

/// A trail, with a place on it.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    first: Option<Stop>,
    steps: Vec<Step>,
    /// Steps walked; those behind were walked back.
    at: usize,
}

impl Trail {
    fn stop(&self, at: usize) -> Option<&Stop> {
        match at.checked_sub(1) {
            None => self.first.as_ref(),
            Some(step) => self.steps.get(step).map(|s| &s.to),
        }
    }

    /// Takes note of where one is now, if that lies on the trail.
    pub fn stand_at(&mut self, selection: &Selection) {
        if self.stop(self.at).is_some_and(|s| s.selection == *selection) {
            return;
        }
        if let Some(at) =
            (0..=self.steps.len()).rev().find(|&i| self.stop(i).is_some_and(|s| s.selection == *selection))
        {
            self.at = at;
        }
    }

    /// Walks a step; from elsewhere than where the trail stands, a new one begins.
    pub fn walk(&mut self, from: Stop, step: Step) {
        if self.stop(self.at).is_none_or(|s| s.selection != from.selection) {
            *self = Trail { first: Some(from), steps: Vec::new(), at: 0 };
        }
        self.steps.truncate(self.at);
        self.steps.push(step);
        self.at += 1;
    }

    /// Number of steps walked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.at
    }

    /// Whether no step has been walked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// The trail on one line, from where it began: `A ← B ← C`.
    #[must_use]
    pub fn line(&self) -> String {
        let first = self.first.as_ref().map_or("", |s| s.name.as_str()).to_owned();
        self.steps[..self.at].iter().fold(first, |line, step| {
            let arrow = if step.forward { "→" } else { "←" };
            format!("{line} {arrow} {}", step.to.name)
        })
    }

    /// The trail as text, a stop on each line, as it is copied.
    #[must_use]
    pub fn text(&self) -> String {
        let line = |stop: &Stop| format!("{} at {} ns\n", stop.name, stop.start);
        let first = self.first.as_ref().map(line).unwrap_or_default();
        self.steps[..self.at].iter().fold(first, |text, step| {
            let arrow = if step.forward { "→" } else { "←" };
            format!("{text}  {arrow} {}\n{}", step.how, line(&step.to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EventRef;

    fn stop(event: u32) -> Stop {
        let selection = Selection::Event(EventRef { table: 0, event });
        Stop { selection, name: format!("e{event}"), start: i64::from(event) * 10 }
    }

    fn step(event: u32, forward: bool) -> Step {
        Step { forward, how: "order".into(), to: stop(event) }
    }

    #[test]
    fn it_is_walked_back_and_forked() {
        let mut trail = Trail::default();
        trail.walk(stop(9), step(5, false));
        trail.walk(stop(5), step(1, false));
        assert_eq!(trail.line(), "e9 ← e5 ← e1");
        trail.stand_at(&stop(5).selection);
        assert_eq!((trail.line().as_str(), trail.len()), ("e9 ← e5", 1));
        trail.walk(stop(5), step(7, true));
        assert_eq!(trail.line(), "e9 ← e5 → e7");
        assert_eq!(trail.text(), "e9 at 90 ns\n  ← order\ne5 at 50 ns\n  → order\ne7 at 70 ns\n");
        trail.stand_at(&stop(3).selection);
        assert_eq!(trail.len(), 2, "elsewhere it stays as it is");
        trail.walk(stop(3), step(2, false));
        assert_eq!(trail.line(), "e3 ← e2", "from elsewhere a new one begins");
    }
}
