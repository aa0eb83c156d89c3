//! Causes: the list last asked for: binding chain, reach, critical path, what-if, a semaphore, what idle time waited for.

use std::cell::Cell as Memo;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use super::Pane;
use crate::app::App;
use crate::app::action::Action;
use crate::app::causes::report::{Entry, Report, Tone};
use crate::query::chain::PieceKind;
use crate::ui::lines::{self, Cell, Line};
use crate::ui::theme::Theme;

/// Lines from the top that are seen without scrolling.
const FIRST: usize = 6;

/// The pane.
#[derive(Default)]
pub struct CausesPane {
    /// The title of the list that the place belongs to.
    title: String,
    selected: usize,
    /// First line on the screen, and how many there are, as of the last drawing.
    top: Memo<usize>,
    height: Memo<usize>,
}

fn color(tone: Tone, theme: &Theme) -> Option<Color> {
    Some(match tone {
        Tone::Plain => return None,
        Tone::Dim => theme.dim,
        Tone::Heading => theme.title,
        Tone::Value => theme.value,
        Tone::Colored(color) => color,
        Tone::Piece(kind) => match kind {
            PieceKind::Compute => theme.flow,
            PieceKind::Transfer => theme.transfer,
            PieceKind::Queued => theme.anti,
            PieceKind::Dispatch => theme.ordered,
            PieceKind::Semaphore => theme.semaphore,
            PieceKind::Idle => theme.dim,
        },
    })
}

impl CausesPane {
    fn walk(&mut self, app: &App, by: i64) {
        let last = app.causes.report.as_ref().map_or(0, |r| r.entries.len()).saturating_sub(1);
        self.selected = (self.selected as i64).saturating_add(by).clamp(0, last as i64) as usize;
    }

    fn open(&self, app: &mut App) {
        let entry = app.causes.report.as_ref().and_then(|r| r.entries.get(self.selected));
        if let Some(cause) = entry.and_then(|entry| entry.cause.clone()) {
            app.show_only(&cause);
            return;
        }
        let target = entry.and_then(|entry| entry.target);
        let event = target.and_then(|actor| Some(app.asking()?.event(actor)));
        match event {
            Some(event) => crate::app::update::events::visit(app, event),
            None => app.refuse("this line leads nowhere"),
        }
    }
}

impl Pane for CausesPane {
    fn subtitle(&self, app: &App) -> String {
        app.causes.report.as_ref().map_or_else(String::new, |r| r.title.clone())
    }

    fn update(&mut self, action: &Action, app: &mut App) -> bool {
        let page = self.height.get().max(1) as i64;
        match action {
            Action::ScrollDown => self.walk(app, 1),
            Action::ScrollUp => self.walk(app, -1),
            Action::ScrollPageDown => self.walk(app, page),
            Action::ScrollPageUp => self.walk(app, -page),
            Action::ScrollTop => self.walk(app, i64::MIN / 2),
            Action::ScrollBottom => self.walk(app, i64::MAX / 2),
            Action::Enter => self.open(app),
            _ => return false,
        }
        true
    }

    fn refresh(&mut self, app: &mut App) {
        app.follow_blame_totals();
        let report = app.causes.report.as_ref();
        let about = |r: &Report| if r.of_window { String::from("window") } else { r.title.clone() };
        let title = report.map(about).unwrap_or_default();
        if title != self.title {
            // The first line that leads somewhere, where that is among the first; sums come before a long chain.
            let leads = |e: &Entry| e.target.is_some() || e.cause.is_some();
            let first = report.and_then(|r| r.entries.iter().take(FIRST).position(leads));
            self.selected = first.unwrap_or(0);
            self.title = title;
            self.top.set(0);
        }
        self.walk(app, 0);
    }

    fn click(&mut self, _column: u16, line: u16, app: &mut App) -> bool {
        let at = self.top.get() + usize::from(line);
        if app.causes.report.as_ref().is_none_or(|r| at >= r.entries.len()) {
            return false;
        }
        if std::mem::replace(&mut self.selected, at) == at {
            self.open(app);
        }
        true
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer, app: &App, focused: bool) {
        let height = usize::from(area.height);
        self.height.set(height);
        let theme = &app.look.theme;
        let Some(report) = &app.causes.report else {
            let key = |action: &Action| app.keymap.hint(crate::app::keymap::Context::Timeline, action);
            let known = [
                (Action::BindingChain, "binding chain of the selection"),
                (Action::Reach(None), "what it delays"),
                (Action::CriticalPath, "critical path"),
                (Action::WhatIf(None), "what if"),
                (Action::BlameTrack(None), "what idle time waited for"),
            ];
            let lines: Vec<Line> = known
                .iter()
                .filter_map(|(action, text)| {
                    Some(vec![Cell::new(key(action)?, Some(theme.key)), Cell::new(*text, Some(theme.dim))])
                })
                .collect();
            lines::draw(&lines, None, area, buffer, &app.look);
            return;
        };
        let count = report.entries.len();
        let mut top = self.top.get().min(count.saturating_sub(height));
        if self.selected >= top + height {
            top = self.selected + 1 - height.max(1);
        }
        top = top.min(self.selected);
        // A heading just above comes along.
        if top == self.selected && top > 0 && height > 1 && report.entries[top - 1].parts.len() == 1 {
            top -= 1;
        }
        self.top.set(top);
        let lines: Vec<Line> = report.entries[top..count.min(top + height)]
            .iter()
            .map(|entry| {
                let cells = entry.parts.iter().map(|part| Cell {
                    text: part.text.as_str().into(),
                    color: color(part.tone, theme),
                    right: part.right,
                });
                cells.collect()
            })
            .collect();
        lines::draw(&lines, focused.then(|| self.selected - top), area, buffer, &app.look);
        super::draw_more(area, top + height, count, buffer, &app.look);
    }
}
