//! The marks of the profile that is open, and which of them one is at.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::App;
use super::effect::Effect;
use super::jobs::Job;
use super::marks::{MarkBook, new_id, now_ms};
use crate::model::marks::{Edge, Mark, Marks};
use crate::model::{Grid, Nanos, Window};
use crate::query::marks::{Between, RecordedSpan, between as between_marks, recorded_spans};
use crate::store::{Problem, Store};
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
    /// Spans that the profile itself names, as marks that cannot be changed.
    recorded: Vec<Mark>,
    /// The profile that those are of.
    recorded_of: Option<Weak<Store>>,
    /// What happened in a stretch, as far as it is known.
    happened: Option<Arc<Between>>,
    /// The stretch of which that is being found out.
    asked: Option<Window>,
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

    /// The marks and the spans that the profile itself names.
    pub fn listed(&self) -> impl Iterator<Item = &Mark> {
        self.all().iter().chain(&self.recorded)
    }

    /// The spans that the profile itself names.
    #[must_use]
    pub fn recorded(&self) -> &[Mark] {
        &self.recorded
    }

    /// Whether a mark is a span that the profile itself names.
    #[must_use]
    pub fn is_recorded(&self, mark: &Mark) -> bool {
        self.recorded.iter().any(|m| m.id == mark.id)
    }

    fn get(&self, id: &str) -> Option<&Mark> {
        self.marks().get(id).or_else(|| self.recorded.iter().find(|m| m.id == id))
    }

    /// The mark one is at.
    #[must_use]
    pub fn at(&self) -> Option<&Mark> {
        self.current.as_deref().and_then(|id| self.get(id))
    }

    /// The mark that is measured from.
    #[must_use]
    pub fn base(&self) -> Option<&Mark> {
        self.compare.as_deref().and_then(|id| self.get(id))
    }

    /// What happened in a stretch, where that is known.
    #[must_use]
    pub fn happened(&self, window: Window) -> Option<&Between> {
        self.happened.as_deref().filter(|between| between.window == window)
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
    /// Has the figures of a stretch added up, off the UI thread, where that is not done.
    pub(crate) fn find_happened(&mut self, window: Window) {
        if self.opening.is_some() || self.marking.asked == Some(window) || self.marking.happened(window).is_some() {
            return;
        }
        self.marking.asked = Some(window);
        let store = self.scene.store.clone();
        self.effects.push(Effect::Job(Job::new("between", move |reporter| {
            let Some(found) = between_marks(&store, window, reporter.flag()) else { return };
            reporter.answer(move |app| {
                app.marking.asked = None;
                if Arc::ptr_eq(&store, &app.scene.store) {
                    app.marking.happened = Some(Arc::new(found));
                }
            });
        })));
    }

    /// Lists the spans that the profile itself names, where it is another one now.
    fn follow_recorded(&mut self) {
        let store = &self.scene.store;
        if self.marking.recorded_of.as_ref().is_some_and(|of| std::ptr::eq(of.as_ptr(), Arc::as_ptr(store))) {
            return;
        }
        let mark = |(n, span): (usize, RecordedSpan)| {
            let mut mark = Mark::new(format!("recorded:{n}"), span.start, Some(span.end), 0);
            (mark.name, mark.note) = (span.name, format!("from the profile ({})", span.table));
            mark
        };
        self.marking.recorded = recorded_spans(store).into_iter().enumerate().map(mark).collect();
        self.marking.recorded_of = Some(Arc::downgrade(store));
        (self.marking.happened, self.marking.asked) = (None, None);
        self.marking.generation += 1;
    }

    /// Opens the marks of the profile, where it is another one now.
    pub(super) fn follow_marks(&mut self) {
        self.follow_own_marks();
        self.follow_recorded();
    }

    fn follow_own_marks(&mut self) {
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

    /// Shows on the ruler where spans lie that the profile itself names.
    pub(super) fn draw_recorded(&self, grid: Grid, ruler: Rect, buffer: &mut Buffer) {
        let window = grid.window();
        let inside = |m: &&Mark| m.start_ns < window.end && m.end() > window.start;
        let style = match self.look.plain {
            true => Style::new().add_modifier(Modifier::UNDERLINED),
            false => Style::new().bg(self.look.theme.area),
        };
        for span in self.marking.recorded.iter().filter(inside) {
            let columns = i64::from(ruler.width);
            let from = grid.column_of(span.start_ns).clamp(0, columns) as u16;
            let to = (grid.column_of(span.end().saturating_sub(1)) + 1).clamp(0, columns) as u16;
            buffer.set_style(Rect { x: ruler.x + from, width: to.saturating_sub(from), ..ruler }, style);
        }
    }

    /// The mark that actions on a mark mean: the one that the list shows as selected, else the nearest to the cursor.
    pub(super) fn meant_mark(&self) -> Option<Mark> {
        let listed = self.panes.focused() == Some(super::panes::PaneKind::Marks);
        let current = self.marking.at().filter(|_| listed);
        current.or_else(|| self.marking.marks().nearest(self.scene.view.cursor())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Start;
    use crate::query::sketch::{self, Sketch};

    #[test]
    fn spans_of_the_profile_are_listed_and_drawn_but_never_changed() {
        let mut sketch = Sketch::default();
        let region = |name: &str, start, length| sketch::Mark {
            group: "regions".into(),
            name: name.into(),
            start,
            length,
            ..sketch::Mark::default()
        };
        sketch.event("NkiRegion", region("load", 20, 30)).event("NkiRegion", region("tile", 60, 40));
        let mut app = App::new(Start::default());
        app.scene.store = Arc::new(sketch.store());
        app.changed();
        app.set_mark(10, None, "own").unwrap();
        let names: Vec<&str> = app.marking.listed().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["own", "load", "tile"]);
        assert_eq!(app.marking.all().len(), 1, "they are not kept with the marks");

        // Measured between like marks.
        app.marking.compare = Some("recorded:0".into());
        app.marking.current = Some("recorded:1".into());
        assert_eq!(crate::app::update::marks::stretch(&app), Some(Window::new(50, 60)));
        assert!(app.marking.at().is_some_and(|m| app.marking.is_recorded(m)));

        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 1));
        app.draw_recorded(Grid::fit(Window::new(0, 100), 10), buffer.area, &mut buffer);
        let banded: Vec<u16> = (0..10).filter(|&x| buffer[(x, 0)].bg == app.look.theme.area).collect();
        assert_eq!(banded, [2, 3, 4, 6, 7, 8, 9]);
    }
}
