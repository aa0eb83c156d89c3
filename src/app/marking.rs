//! The marks of the profile that is open, and which of them one is at.

use std::path::PathBuf;

use ratatui::style::Color;

use super::App;
use super::marks::{MarkBook, new_id, now_ms};
use crate::model::marks::{Edge, Mark, Marks};
use crate::model::{Nanos, Window};
use crate::store::Problem;
use crate::ui::theme::Theme;

/// A mark that is being dragged, which end of it, and to where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dragged {
    /// The mark's id.
    pub id: String,
    /// What of it moves.
    pub edge: Edge,
    /// Where to.
    pub time: Nanos,
}

/// The marks, and what is being done with them.
#[derive(Debug, Default)]
pub struct Marking {
    /// The profile that the marks are of.
    profile: Option<PathBuf>,
    /// Where they are kept; nothing is kept where there is no directory for state.
    book: Option<MarkBook>,
    /// The marks where nothing is kept.
    loose: Marks,
    /// The id of the mark one is at.
    pub current: Option<String>,
    /// The id of the mark that times and metrics are measured from.
    pub compare: Option<String>,
    /// The mark under the mouse button.
    pub dragged: Option<Dragged>,
    /// Goes up with every change.
    pub generation: u64,
}

impl Marking {
    /// The marks in order of start.
    #[must_use]
    pub fn all(&self) -> &[Mark] {
        self.marks().all()
    }

    /// The marks.
    #[must_use]
    pub fn marks(&self) -> &Marks {
        self.book.as_ref().map_or(&self.loose, MarkBook::marks)
    }

    /// The book that they are kept in.
    #[must_use]
    pub fn book(&self) -> Option<&MarkBook> {
        self.book.as_ref()
    }

    /// The same, to read files into it.
    pub fn book_mut(&mut self) -> Option<&mut MarkBook> {
        self.generation += 1;
        self.book.as_mut()
    }

    /// The mark one is at.
    #[must_use]
    pub fn at(&self) -> Option<&Mark> {
        self.current.as_deref().and_then(|id| self.marks().get(id))
    }

    /// The mark that is measured from.
    #[must_use]
    pub fn base(&self) -> Option<&Mark> {
        self.compare.as_deref().and_then(|id| self.marks().get(id))
    }

    /// Changes the marks; when this returns without an error, what was changed is on disk.
    ///
    /// # Errors
    /// They could not be written; they are changed in memory all the same.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Marks) -> T) -> Result<T, Problem> {
        self.generation += 1;
        match &mut self.book {
            Some(book) => book.change(change),
            None => Ok(change(&mut self.loose)),
        }
    }
}

/// The stretch between two marks: from the end of the earlier to the start of the later one, and where one lies in the
/// other, between their starts.
#[must_use]
pub fn between(a: &Mark, b: &Mark) -> Window {
    let (first, second) = if (a.start_ns, a.end()) <= (b.start_ns, b.end()) { (a, b) } else { (b, a) };
    let from = if first.end() <= second.start_ns { first.end() } else { first.start_ns };
    Window::new(from.min(second.start_ns), second.start_ns.max(from))
}

/// A mark's colour in a theme.
#[must_use]
pub fn color(theme: &Theme, mark: &Mark) -> Color {
    match mark.color_index() {
        1 => theme.throttle,
        2 => theme.error,
        3 => theme.wait,
        4 => theme.info,
        5 => theme.current_match,
        6 => theme.good,
        7 => theme.dim,
        _ => theme.mark,
    }
}

impl App {
    /// Opens the marks of the profile, where it is another one now.
    pub(super) fn follow_marks(&mut self) {
        let Some(found) = &self.found else { return };
        if self.marking.profile.as_ref() == Some(&found.path) {
            return;
        }
        self.marking = Marking { profile: Some(found.path.clone()), ..Marking::default() };
        let Some(state) = &self.state_dir else { return };
        let (book, problems) = MarkBook::open(&found.path, &found.name, state);
        self.marking.book = Some(book);
        if let Some(problem) = problems.first() {
            self.fail(format!("{}: {}", problem.path.display(), problem.message));
        }
    }

    /// Changes the marks, and says so where they cannot be kept.
    pub(super) fn change_marks<T>(&mut self, change: impl FnOnce(&mut Marks) -> T) -> Option<T> {
        match self.marking.change(change) {
            Ok(done) => Some(done),
            Err(problem) => {
                self.fail(format!("{}: {}", problem.path.display(), problem.message));
                None
            }
        }
    }

    /// Sets a mark; what is said appears when it is on disk.
    pub(super) fn set_mark(&mut self, start: Nanos, end: Option<Nanos>, name: &str) -> Option<Mark> {
        let mut mark = Mark::new(new_id(), start, end, now_ms());
        mark.name = name.trim().to_owned();
        let id = mark.id.clone();
        self.change_marks(|marks| marks.add(mark))?;
        self.marking.current = Some(id.clone());
        self.marking.marks().get(&id).cloned()
    }

    /// The times of marks to be drawn, with their colours; of spans both ends. One that is dragged is drawn where it
    /// is dragged to.
    #[must_use]
    pub(super) fn mark_lines(&self) -> Vec<(Nanos, Color)> {
        let mut lines = Vec::new();
        for mark in self.marking.all() {
            let color = color(&self.look.theme, mark);
            let dragged = self.marking.dragged.as_ref().filter(|d| d.id == mark.id);
            let (start, end) = match dragged {
                Some(Dragged { edge: Edge::End, time, .. }) => (mark.start_ns, Some(*time)),
                Some(Dragged { edge: Edge::Start, time, .. }) => (*time, mark.end_ns),
                Some(Dragged { time, .. }) => {
                    (*time, mark.end_ns.map(|end| time.saturating_add_unsigned(end.abs_diff(mark.start_ns))))
                }
                None => (mark.start_ns, mark.end_ns),
            };
            lines.push((start, color));
            lines.extend(end.map(|end| (end, color)));
        }
        lines
    }

    /// The mark that actions on a mark mean: the one that the list shows as selected, else the nearest to the cursor.
    pub(super) fn meant_mark(&self) -> Option<Mark> {
        let listed = self.panes.focused() == Some(super::panes::PaneKind::Marks);
        let current = self.marking.at().filter(|_| listed);
        current.or_else(|| self.marking.marks().nearest(self.scene.view.cursor())).cloned()
    }
}
