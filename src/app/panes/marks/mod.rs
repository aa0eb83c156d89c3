//! The list of marks, the time between them, and what happened between two of them.

mod stretch;

use std::cell::{Cell as Shared, RefCell};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Pane;
use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::marking::color;
use crate::app::update::marks;
use crate::model::marks::Mark;
use crate::model::time::{format_duration, format_time};
use crate::model::{Window, natural_cmp};
use crate::query::window::{Figures, figures};
use crate::ui::lines::{self, Cell, Line};
use crate::ui::table::{self, Column, Table};

const COLUMNS: [Column; 5] = [
    Column { title: "mark", width: 14, right: false },
    Column { title: "at", width: 16, right: true },
    Column { title: "length", width: 10, right: true },
    Column { title: "from the base", width: 14, right: true },
    Column { title: "note", width: 0, right: false },
];

/// What a list is sorted by: positions in [`COLUMNS`].
const ORDERS: [usize; 3] = [1, 2, 0];

/// Panes from this width on show the figures beside the list.
const BESIDE: u16 = 96;

/// The pane.
#[derive(Default)]
pub struct MarksPane {
    top: usize,
    /// Position in [`ORDERS`], and whether the greatest come first.
    order: (usize, bool),
    lines: Shared<u16>,
    /// The figures that were computed last, and the stretch that they are of.
    known: RefCell<Option<(Window, Figures)>>,
    /// The first line of what happened in it that is on the screen, and how many are, where that is not all.
    told_top: Shared<usize>,
    told_page: Shared<usize>,
}

impl MarksPane {
    /// The marks as they are listed.
    fn rows<'a>(&self, app: &'a App) -> Vec<&'a Mark> {
        let mut rows: Vec<&Mark> = app.marking.listed().collect();
        let length = |m: &Mark| m.end().abs_diff(m.start_ns);
        match ORDERS[self.order.0] {
            2 => rows.sort_by_key(|m| length(m)),
            0 => rows.sort_by(|a, b| natural_cmp(&a.name, &b.name)),
            _ => rows.sort_by_key(|m| (m.start_ns, m.end())),
        }
        if self.order.1 {
            rows.reverse();
        }
        rows
    }

    fn selected(&self, app: &App) -> usize {
        let current = app.marking.current.as_deref();
        self.rows(app).iter().position(|m| Some(m.id.as_str()) == current).unwrap_or(0)
    }

    fn go(&mut self, to: usize, app: &mut App) {
        let rows = self.rows(app);
        let to = to.min(rows.len().saturating_sub(1));
        let id = rows.get(to).map(|m| m.id.clone());
        app.marking.current = id;
        self.scroll(to);
    }

    fn scroll(&mut self, selected: usize) {
        let lines = usize::from(self.lines.get()).max(1);
        self.top = self.top.clamp((selected + 1).saturating_sub(lines), selected);
    }

    /// The first mark on the screen; no line stays empty that earlier ones could fill.
    fn top(&self, app: &App) -> usize {
        self.top.min(app.marking.listed().count().saturating_sub(usize::from(self.lines.get()).max(1)))
    }

    /// What is measured: the area, where one is selected, else the stretch between marks.
    fn measured(&self, app: &App) -> Option<Window> {
        app.scene.area.as_ref().map(|area| area.window()).or_else(|| marks::stretch(app)).filter(|w| w.length() > 0)
    }

    fn draw_list(&self, area: Rect, buffer: &mut Buffer, app: &App, focused: bool) {
        let theme = &app.look.theme;
        let marks = self.rows(app);
        let base = app.marking.base();
        let row = |at: usize, mark: &Mark| {
            let is_base = base.is_some_and(|b| b.id == mark.id);
            // Without a base the time since the mark above it.
            let from = base.or_else(|| at.checked_sub(1).and_then(|i| marks.get(i).copied()));
            let delta = match from {
                Some(from) if !is_base => {
                    let sign = if mark.start_ns < from.start_ns { "-" } else { "+" };
                    format!("{sign}{}", format_duration(mark.start_ns.abs_diff(from.start_ns)))
                }
                _ if is_base => "base".into(),
                _ => String::new(),
            };
            let length = mark.end_ns.map(|end| format_duration(end.abs_diff(mark.start_ns))).unwrap_or_default();
            vec![
                table::Cell::new(format!("{} {}", app.look.glyphs.mark, mark.name)).colored(color(theme, mark)),
                table::Cell::new(format_time(mark.start_ns, 1)),
                table::Cell::new(length).colored(theme.value),
                table::Cell::new(delta).colored(theme.title),
                table::Cell::new(mark.note.clone()).colored(theme.dim),
            ]
        };
        let lines = usize::from(area.height.saturating_sub(1));
        let top = self.top(app);
        let rows: Vec<Vec<table::Cell>> =
            marks.iter().enumerate().skip(top).take(lines).map(|(at, mark)| row(at, mark)).collect();
        let sorted = Some((ORDERS[self.order.0], self.order.1));
        let table = Table { columns: &COLUMNS, sorted, ground: theme.background };
        let selected = focused.then(|| self.selected(app).checked_sub(top)).flatten();
        table.draw(&rows, selected, area, buffer, &app.look);
    }

    /// What happened in a stretch: the figures of the window at once, the rest as soon as it is known.
    fn told(&self, window: Window, app: &App) -> Told {
        let mut known = self.known.borrow_mut();
        if known.as_ref().is_none_or(|(of, _)| *of != window) {
            *known = Some((window, figures(&app.scene.store, &app.scene.cache, window)));
        }
        let Some((_, figures)) = &*known else { return Told::default() };
        let summary = stretch::summary(window, figures, &app.look);
        match app.marking.happened(window) {
            Some(between) => Told { summary, tables: stretch::tables(between, &app.look) },
            None => {
                let soon = vec![Cell::new("adding up what moved and what worked …", Some(app.look.theme.dim))];
                Told { summary, tables: [vec![soon], Vec::new()] }
            }
        }
    }

    /// Draws what happened: the tables side by side where there is room.
    fn draw_told(&self, told: &Told, area: Rect, buffer: &mut Buffer, app: &App) {
        let look = &app.look;
        let head = told.summary.len() as u16;
        if area.height <= head {
            lines::draw(&told.summary, None, area, buffer, look);
            return;
        }
        let [moved, worked] = &told.tables;
        let below = Rect { y: area.y + head, height: area.height - head, ..area };
        let wide = |lines: &[Line]| lines::width(lines).saturating_add(2);
        let beside = wide(moved) + wide(worked) <= below.width;
        let all: Vec<Line> = if beside { Vec::new() } else { moved.iter().chain(worked).cloned().collect() };
        let count = if beside { moved.len().max(worked.len()) } else { all.len() };
        let top = self.told_top.get().min(count.saturating_sub(usize::from(below.height)));
        self.told_top.set(top);
        self.told_page.set(if count > usize::from(below.height) { usize::from(below.height) } else { 0 });
        lines::draw(&told.summary, None, Rect { height: head, ..area }, buffer, look);
        if beside {
            let left = Rect { width: wide(moved), ..below };
            let right = Rect { x: below.x + left.width, width: below.width - left.width, ..below };
            lines::draw(moved.get(top..).unwrap_or_default(), None, left, buffer, look);
            lines::draw(worked.get(top..).unwrap_or_default(), None, right, buffer, look);
        } else {
            // Each table keeps its columns.
            let cut = moved.len().saturating_sub(top);
            let first = Rect { height: below.height.min(cut as u16), ..below };
            let rest = Rect { y: below.y + first.height, height: below.height - first.height, ..below };
            lines::draw(moved.get(top..).unwrap_or_default(), None, first, buffer, look);
            lines::draw(worked.get(top.saturating_sub(moved.len())..).unwrap_or_default(), None, rest, buffer, look);
        }
        super::draw_more(below, top + usize::from(below.height), count, buffer, look);
    }

    /// Scrolls what happened by a page; false where all of it is on the screen.
    fn scroll_told(&self, back: bool) -> bool {
        let (top, page) = (self.told_top.get(), self.told_page.get());
        self.told_top.set(if back { top.saturating_sub(page) } else { top.saturating_add(page) });
        page > 0
    }
}

/// What is told of a stretch.
#[derive(Default)]
struct Told {
    summary: Vec<Line<'static>>,
    /// What moved, what worked.
    tables: [Vec<Line<'static>>; 2],
}

impl Pane for MarksPane {
    fn subtitle(&self, app: &App) -> String {
        match app.marking.book() {
            Some(book) if !app.marking.all().is_empty() => book.path().display().to_string(),
            Some(_) => String::new(),
            None => "not kept in this session".into(),
        }
    }

    fn update(&mut self, action: &Action, app: &mut App) -> bool {
        let page = usize::from(self.lines.get()).max(1);
        let selected = self.selected(app);
        match action {
            Action::ScrollDown => self.go(selected.saturating_add(1), app),
            Action::ScrollUp => self.go(selected.saturating_sub(1), app),
            Action::ScrollPageDown if self.scroll_told(false) => {}
            Action::ScrollPageUp if self.scroll_told(true) => {}
            Action::ScrollPageDown => self.go(selected.saturating_add(page), app),
            Action::ScrollPageUp => self.go(selected.saturating_sub(page), app),
            Action::ScrollTop => self.go(0, app),
            Action::ScrollBottom => self.go(usize::MAX, app),
            Action::SortNext => self.order.0 = (self.order.0 + 1) % ORDERS.len(),
            Action::SortPrev => self.order.0 = (self.order.0 + ORDERS.len() - 1) % ORDERS.len(),
            Action::SortReverse => self.order.1 = !self.order.1,
            Action::Enter => match self.rows(app).get(selected).map(|mark| (*mark).clone()) {
                Some(mark) => marks::go_to(app, &mark),
                None => app.refuse("there are no marks yet"),
            },
            Action::MarkDelete => {
                let next = self
                    .rows(app)
                    .get(selected + 1)
                    .or(self.rows(app).get(selected.wrapping_sub(1)))
                    .map(|m| m.id.clone());
                marks::update(app, action);
                app.marking.current = next;
            }
            _ => return false,
        }
        true
    }

    fn refresh(&mut self, app: &mut App) {
        if app.marking.at().is_none() {
            self.go(0, app);
        }
        let selected = self.selected(app);
        self.scroll(selected);
        if let Some(window) = self.measured(app) {
            app.find_happened(window);
        }
    }

    fn click(&mut self, _column: u16, line: u16, app: &mut App) -> bool {
        let Some(line) = line.checked_sub(1) else { return false };
        let row = self.top(app) + usize::from(line);
        if row >= app.marking.listed().count() {
            return false;
        }
        let again = self.selected(app) == row;
        self.go(row, app);
        if again {
            self.update(&Action::Enter, app);
        }
        true
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer, app: &App, focused: bool) {
        let look = &app.look;
        let told = self.measured(app).map(|window| self.told(window, app));
        if app.marking.listed().next().is_none() {
            if let Some(told) = &told {
                self.draw_told(told, area, buffer, app);
                return;
            }
            let key = |action| app.keymap.hint(Context::Timeline, &action).unwrap_or_else(|| "?".into());
            let text = format!(
                "no marks yet: {} marks the time cursor, {} the selected event or area",
                key(Action::MarkHere(None)),
                key(Action::MarkSpan(None))
            );
            buffer.set_stringn(area.x, area.y, text, usize::from(area.width), look.on_background(look.theme.dim));
            return;
        }
        let (list, place) = if area.width >= BESIDE && told.is_some() {
            let half = area.width * 2 / 5;
            let place = Rect { x: area.x + half + 2, width: area.width - half - 2, ..area };
            (Rect { width: half, ..area }, place)
        } else {
            // As many lines as the list leaves; what counts most comes first.
            let wanted = (app.marking.listed().count().min(usize::from(u16::MAX)) as u16).saturating_add(1).max(3);
            let list = wanted.min(area.height.saturating_sub(2).max(2)).min(area.height);
            let place = Rect { y: area.y + list, height: area.height - list, ..area };
            (if told.is_none() { area } else { Rect { height: list, ..area } }, place)
        };
        self.lines.set(list.height.saturating_sub(1));
        self.draw_list(list, buffer, app, focused);
        if let Some(told) = &told {
            self.draw_told(told, place, buffer, app);
        }
    }
}
