//! The mouse: everything that it does the keyboard does too.

use std::time::Duration;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::App;
use super::action::Action;
use super::area::Area;
use super::marking::Dragged;
use super::marks::now_ms;
use super::overlays::{Choice, Flow, Pick};
use super::scene::Selection;
use crate::model::Nanos;
use crate::model::marks::{Edge, Mark};
use crate::model::time::format_time;
use crate::query::viewport::event_in;

/// Rows that a turn of the wheel scrolls by.
const LINES: i64 = 3;

/// What is being dragged.
#[derive(Clone, Debug)]
pub enum Drag {
    /// The ruler, from this column: pans.
    Ruler(u16),
    /// The tracks, from this time and track: an area once the pointer has moved.
    Tracks {
        /// Where it began.
        at: Position,
        /// The corner of the area.
        from: (Nanos, String),
    },
    /// A mark, on the ruler.
    Mark,
    /// The window on the overview.
    Overview,
}

impl App {
    /// Takes what the mouse did at `now`.
    pub fn mouse(&mut self, event: MouseEvent, now: Duration) {
        self.now = now;
        let at = Position::new(event.column, event.row);
        if !self.overlays.is_empty() {
            match event.kind {
                MouseEventKind::Down(MouseButton::Left) => {
                    self.with_overlay(|overlay, app| overlay.click(at, app));
                }
                MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
                    let lines = if event.kind == MouseEventKind::ScrollDown { 3 } else { -3 };
                    self.with_overlay(|overlay, app| {
                        overlay.scroll(lines, app);
                        Flow::Stay
                    });
                }
                _ => {}
            }
            self.changed();
            return;
        }
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => self.press(at),
            MouseEventKind::Drag(MouseButton::Left) => self.dragged(at),
            MouseEventKind::Up(MouseButton::Left) => {
                self.drag = None;
                self.drop_mark();
            }
            MouseEventKind::Down(MouseButton::Right) => self.menu(at),
            MouseEventKind::ScrollDown => self.wheel(at, 1, event.modifiers),
            MouseEventKind::ScrollUp => self.wheel(at, -1, event.modifiers),
            MouseEventKind::ScrollRight => self.pan(self.share()),
            MouseEventKind::ScrollLeft => self.pan(-self.share()),
            _ => return,
        }
        self.changed();
    }

    fn share(&self) -> i64 {
        i64::from(self.scene.view.grid().columns() / 16).max(1)
    }

    /// The column of time at a place, also of one in the labels.
    fn column(&self, at: Position) -> u16 {
        let timed = self.regions.timed(self.regions.tracks);
        at.x.saturating_sub(timed.x).min(timed.width.saturating_sub(1))
    }

    fn time_at(&self, at: Position) -> Nanos {
        self.scene.view.grid().edge(i64::from(self.column(at)))
    }

    fn row_at(&self, at: Position) -> Option<usize> {
        self.regions.rows.iter().find(|(_, area)| area.contains(at)).map(|(row, _)| *row)
    }

    fn key_at(&self, at: Position) -> Option<String> {
        self.row_at(at).map(|row| self.scene.tree.node(self.scene.rows[row].node).key.clone())
    }

    fn press(&mut self, at: Position) {
        self.message = None;
        let regions = self.regions.clone();
        if regions.tracks.contains(at) {
            self.panes.set_focus(None);
            let Some(row) = self.row_at(at) else { return };
            self.scene.row = row;
            if at.x < regions.tracks.x + regions.labels {
                if !self.scene.tree.node(self.scene.rows[row].node).children.is_empty() {
                    self.act(&Action::Fold);
                }
                return;
            }
            self.scene.view.set_cursor(self.time_at(at));
            let event = self.scene.under_cursor();
            self.pointer = event;
            self.scene.selection = event.map(Selection::Event);
            if let Some(key) = self.key_at(at) {
                self.drag = Some(Drag::Tracks { at, from: (self.scene.view.cursor(), key) });
            }
        } else if regions.ruler.contains(at) {
            self.scene.view.set_cursor(self.time_at(at));
            self.drag = Some(self.grab_mark(at).unwrap_or(Drag::Ruler(at.x)));
        } else if regions.overview.contains(at) {
            self.drag = Some(Drag::Overview);
            self.overview_to(at);
        } else if regions.header.contains(at) && at.y == regions.header.y {
            self.next_warning();
        } else if let Some((kind, area)) = regions.panes.iter().find(|(_, area)| area.contains(at)) {
            self.panes.set_focus(Some(*kind));
            let (x, y) = (at.x.saturating_sub(area.x + 1), at.y - area.y);
            self.with_pane(*kind, |pane, app| pane.click(x, y, app));
        }
    }

    /// Takes hold of the mark in a column of the ruler.
    fn grab_mark(&mut self, at: Position) -> Option<Drag> {
        let (grid, column) = (self.scene.view.grid(), self.column(at));
        let here = |time: Nanos| grid.visible_column(time) == Some(column);
        let held = |mark: &Mark| match mark.end_ns {
            Some(_) if here(mark.start_ns) => Some(Edge::Start),
            Some(end) if here(end) => Some(Edge::End),
            None if here(mark.start_ns) => Some(Edge::Whole),
            _ => None,
        };
        let (id, edge) = self.marking.all().iter().find_map(|m| Some((m.id.clone(), held(m)?)))?;
        self.marking.current = Some(id.clone());
        self.marking.dragged = Some(Dragged { id, edge, time: self.time_at(at) });
        Some(Drag::Mark)
    }

    /// Leaves a mark where it was dragged to.
    fn drop_mark(&mut self) {
        let Some(Dragged { id, edge, time }) = self.marking.dragged.take() else { return };
        let grid = self.scene.view.grid();
        let known = self.marking.marks().get(&id);
        let before = known.map(|m| if edge == Edge::End { m.end() } else { m.start_ns });
        // A click that moved nothing leaves the exact time.
        if before.is_some_and(|before| grid.column_of(before) != grid.column_of(time)) {
            let name = known.map(|m| m.name.clone()).unwrap_or_default();
            if self.change_marks(|marks| marks.move_to(&id, edge, time, now_ms())).is_some() {
                self.say(format!("mark {name} at {}", format_time(time, 1)));
            }
        }
    }

    /// Centres the window on a place of the overview.
    fn overview_to(&mut self, at: Position) {
        let strip = self.regions.timed(self.regions.overview);
        let whole = self.scene.view.whole();
        let column = at.x.saturating_sub(strip.x).min(strip.width.saturating_sub(1));
        let share = u128::from(whole.length()) * u128::from(2 * column + 1) / u128::from(2 * strip.width.max(1));
        let time = whole.start.saturating_add_unsigned(share as u64);
        self.scene.view.center(time);
    }

    fn dragged(&mut self, at: Position) {
        match self.drag.clone() {
            Some(Drag::Ruler(from)) => {
                self.pan(i64::from(from) - i64::from(at.x));
                self.drag = Some(Drag::Ruler(at.x));
            }
            Some(Drag::Overview) => self.overview_to(at),
            Some(Drag::Mark) => {
                let time = self.time_at(at);
                if let Some(dragged) = &mut self.marking.dragged {
                    dragged.time = time;
                }
            }
            Some(Drag::Tracks { at: began, from }) if at != began => {
                let track = self.key_at(at).unwrap_or_else(|| from.1.clone());
                let to = (self.time_at(at), track);
                self.scene.area = Some(Area { from, to, growing: false });
            }
            _ => {}
        }
    }

    fn wheel(&mut self, at: Position, by: i64, modifiers: KeyModifiers) {
        let zooms = modifiers.contains(KeyModifiers::CONTROL)
            || self.regions.ruler.contains(at)
            || self.regions.overview.contains(at);
        let pane = self.regions.panes.iter().find(|(_, area)| area.contains(at)).map(|(kind, _)| *kind);
        if let Some(kind) = pane {
            let action = if by > 0 { Action::ScrollDown } else { Action::ScrollUp };
            self.with_pane(kind, |pane, app| pane.update(&action, app));
        } else if modifiers.contains(KeyModifiers::SHIFT) {
            self.pan(by * self.share());
        } else if zooms {
            let column = self.column(at);
            let time = self.scene.view.grid().edge(i64::from(column));
            self.scene.view.zoom_about(time, column, -by as i32, false);
        } else {
            self.scene.scroll_by(by * LINES);
        }
    }

    /// A small menu for what lies under the pointer.
    fn menu(&mut self, at: Position) {
        if !self.regions.tracks.contains(at) {
            return;
        }
        let Some(row) = self.row_at(at) else { return };
        self.scene.row = row;
        let on_label = at.x < self.regions.tracks.x + self.regions.labels;
        let mut actions = Vec::new();
        if !on_label {
            self.scene.view.set_cursor(self.time_at(at));
            let cell = self.scene.cursor_cell();
            let event = self.scene.node().and_then(|n| event_in(&self.scene.store, n, cell));
            self.scene.selection = event.map(Selection::Event);
            if event.is_some() {
                actions.extend([Action::Focus, Action::HighlightSameName, Action::CopyJson, Action::PaneDetails]);
            }
        }
        actions.extend([
            Action::Pin,
            Action::Hide,
            Action::ShowOnly,
            Action::ShowAll,
            Action::Fold,
            Action::TrackMoveUp,
            Action::TrackMoveDown,
        ]);
        let name = self.scene.node().map(|n| n.full.clone()).unwrap_or_default();
        let choices = actions.into_iter().map(|action| {
            let text = action.info().text;
            Choice::new(text, "", move |app| app.act(&action))
        });
        let pick = Pick::new(name, choices.collect());
        self.show(pick);
    }
}
