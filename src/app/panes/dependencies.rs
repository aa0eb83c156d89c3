//! Dependencies: what the selection waited for, and what waited for it. Where there is room they stand beside each other.

use std::cell::Cell as Memo;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Pane;
use crate::app::App;
use crate::app::action::Action;
use crate::app::causes::links::{Link, Links, signed};
use crate::app::causes::{copy_one, walk_to};
use crate::app::keymap::Context;
use crate::app::scene::Selection;
use crate::query::causes::{Actor, Asking};
use crate::store::LabelKind;
use crate::ui::lines::{self, Cell, Line};

/// From this width on, the two lists stand beside each other.
const BESIDE: u16 = 98;

/// The pane.
#[derive(Default)]
pub struct DependenciesPane {
    of: Option<Selection>,
    /// Position among all: what it waited for first, then what waited for it.
    selected: usize,
    /// Size as of the last drawing.
    size: Memo<(u16, u16)>,
    /// First line on the screen of each list.
    top: [Memo<usize>; 2],
}

/// A line of a list.
enum Shown {
    Heading(String),
    /// Position among all.
    Link(usize),
}

impl DependenciesPane {
    fn link<'a>(&self, links: &'a Links) -> Option<(&'a Link, bool)> {
        let before = links.before.get(self.selected).map(|l| (l, true));
        before.or_else(|| Some((links.after.get(self.selected - links.before.len())?, false)))
    }

    fn walk(&mut self, app: &App, by: i64) {
        let count = app.links().map_or(0, |l| l.before.len() + l.after.len());
        let last = count.saturating_sub(1) as i64;
        self.selected = (self.selected as i64).saturating_add(by).clamp(0, last) as usize;
    }

    /// To the same line of the other list, where the two stand beside each other.
    fn across(&mut self, app: &App, right: bool) {
        let Some(links) = app.links() else { return };
        let before = links.before.len();
        if self.size.get().0 < BESIDE || right == (self.selected >= before) {
            return;
        }
        let (line, count, from) =
            if right { (self.selected, links.after.len(), before) } else { (self.selected - before, before, 0) };
        if count > 0 {
            self.selected = from + line.min(count - 1);
        }
    }

    fn open(&self, app: &mut App) {
        let found = app.links().and_then(|l| self.link(l)).map(|(link, before)| (link.clone(), before));
        match found {
            Some((link, before)) => {
                let how = format!("{} {}", link.kinds, signed(link.gap));
                let name = app.asking().map_or_else(String::new, |a| a.name(link.actor));
                walk_to(app, link.actor, format!("{name}  {how}"), !before);
            }
            None => app.refuse("there is nothing to go to"),
        }
    }

    fn lines(links: &Links, side: usize) -> Vec<Shown> {
        let (list, from, left_out) = match side {
            0 => (&links.before, 0, links.left_out.0),
            _ => (&links.after, links.before.len(), links.left_out.1),
        };
        let more = if left_out > 0 { format!(", {left_out} more are not listed") } else { String::new() };
        let heading = match side {
            0 => format!("waited for ({}){more}", list.len()),
            _ => format!("waited for this ({}){more}", list.len()),
        };
        let mut lines = vec![Shown::Heading(heading)];
        lines.extend((0..list.len()).map(|i| Shown::Link(from + i)));
        lines
    }

    /// Draws the lists of `sides` into one area.
    fn draw_lists(&self, sides: &[usize], area: Rect, buffer: &mut Buffer, app: &App, focused: bool) {
        let (Some(links), Some(asking)) = (app.links(), app.asking()) else { return };
        let lines: Vec<Shown> = sides.iter().flat_map(|&side| Self::lines(links, side)).collect();
        let height = usize::from(area.height);
        let at = lines.iter().position(|l| matches!(l, Shown::Link(i) if *i == self.selected));
        let memo = &self.top[sides[0]];
        let mut top = memo.get().min(lines.len().saturating_sub(height));
        if let Some(at) = at {
            if at >= top + height {
                top = at + 1 - height.max(1);
            }
            // The heading comes along with the first line.
            top = top.min(if at == 1 { 0 } else { at });
        }
        memo.set(top);
        let theme = &app.look.theme;
        let shown = &lines[top..lines.len().min(top + height)];
        let cells: Vec<Line> = shown
            .iter()
            .map(|line| match line {
                Shown::Heading(text) => vec![Cell::new(text.clone(), Some(theme.title))],
                Shown::Link(i) => {
                    let before = *i < links.before.len();
                    let link = if before { &links.before[*i] } else { &links.after[*i - links.before.len()] };
                    link_line(app, &asking, link, before)
                }
            })
            .collect();
        let selected = at.filter(|_| focused).map(|at| at - top);
        lines::draw(&cells, selected, area, buffer, &app.look);
        super::draw_more(area, top + height, lines.len(), buffer, &app.look);
    }
}

fn link_line(app: &App, asking: &Asking, link: &Link, before: bool) -> Line<'static> {
    let theme = &app.look.theme;
    let action = if before { Action::BlockedBy } else { Action::Unblocks };
    let key = link.bound.then(|| app.keymap.hint(Context::Timeline, &action)).flatten().unwrap_or_default();
    let event = asking.event(link.actor);
    let table = app.scene.store.table_of(event);
    let (name, place) = match link.actor {
        Actor::Instruction(e) => {
            let pc = asking.index.operands.pc(e).map_or_else(String::new, |pc| format!(" pc {pc}"));
            let own = table.text(LabelKind::Track, event.event);
            let place =
                if own.is_empty() { asking.engine_name(e) } else { asking.with_core(own, asking.core(link.actor)) };
            (format!("{}{pc}", table.event_name(event.event)), place)
        }
        Actor::Transfer(t) => {
            let bytes = crate::model::format::format_bytes(asking.index.transfers.get(t).bytes);
            (format!("DMA {bytes}"), asking.queue_name(t))
        }
        Actor::Other(_) => (table.event_name(event.event).to_owned(), asking.track_name(link.actor)),
    };
    let color = crate::ui::palette::Palette::new(theme, app.coloring).emphasis(link.emphasis);
    let basis = if link.recorded { "" } else { "  (derived)" };
    vec![
        Cell::new(key, Some(theme.key)),
        Cell::new(name, Some(theme.title)),
        Cell::new(place, None),
        Cell::number(signed(link.gap), Some(theme.value)),
        Cell::new(format!("{}{basis}", link.kinds), color),
    ]
}

impl Pane for DependenciesPane {
    fn subtitle(&self, app: &App) -> String {
        if !app.causes.trail.is_empty() {
            return app.causes.trail.line();
        }
        let actor = app.links().and_then(|l| l.actor);
        actor.and_then(|a| Some(app.asking()?.name(a))).unwrap_or_default()
    }

    fn update(&mut self, action: &Action, app: &mut App) -> bool {
        let page = i64::from(self.size.get().1).max(1);
        match action {
            Action::ScrollDown => self.walk(app, 1),
            Action::ScrollUp => self.walk(app, -1),
            Action::ScrollLeft => self.across(app, false),
            Action::ScrollRight => self.across(app, true),
            Action::ScrollPageDown => self.walk(app, page),
            Action::ScrollPageUp => self.walk(app, -page),
            Action::ScrollTop => self.walk(app, i64::MIN / 2),
            Action::ScrollBottom => self.walk(app, i64::MAX / 2),
            Action::Enter => self.open(app),
            Action::CopyJson => {
                let found = app.links().and_then(|l| self.link(l)).map(|(link, before)| (link.clone(), before));
                if let Some((link, before)) = found
                    && let Err(why) = copy_one(app, link, before)
                {
                    app.refuse(why);
                }
            }
            _ => return false,
        }
        true
    }

    fn refresh(&mut self, app: &mut App) {
        if self.of != app.scene.selection {
            self.of = app.scene.selection.clone();
            self.selected = 0;
            self.top.iter().for_each(|t| t.set(0));
        }
        if self.of.is_some() && app.asking().is_none() {
            app.want_causes();
        }
        self.walk(app, 0);
    }

    fn click(&mut self, column: u16, line: u16, app: &mut App) -> bool {
        let Some(links) = app.links() else { return false };
        let width = self.size.get().0;
        let side = usize::from(width >= BESIDE && column >= width / 2);
        let sides: &[usize] = if width >= BESIDE { &[side] } else { &[0, 1] };
        let lines: Vec<Shown> = sides.iter().flat_map(|&side| Self::lines(links, side)).collect();
        let Some(Shown::Link(i)) = lines.get(self.top[sides[0]].get() + usize::from(line)) else { return false };
        if std::mem::replace(&mut self.selected, *i) == *i {
            self.open(app);
        }
        true
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer, app: &App, focused: bool) {
        self.size.set((area.width, area.height));
        let say = |text: &str, buffer: &mut Buffer| {
            let line = vec![Cell::new(text.to_owned(), Some(app.look.theme.dim))];
            lines::draw(&[line], None, area, buffer, &app.look);
        };
        if app.scene.selection.is_none() {
            return say("select an event or an idle gap to see what it waited for", buffer);
        }
        if app.asking().is_none() {
            return say(&app.causes_state(), buffer);
        }
        if app.links().is_none_or(|l| l.before.is_empty() && l.after.is_empty()) {
            return say("nothing is recorded that this waited for, or that waited for it", buffer);
        }
        if area.width < BESIDE {
            self.draw_lists(&[0, 1], area, buffer, app, focused);
            return;
        }
        let half = area.width / 2;
        let left = Rect { width: half - 1, ..area };
        let right = Rect { x: area.x + half + 1, width: area.width - half - 1, ..area };
        self.draw_lists(&[0], left, buffer, app, focused);
        self.draw_lists(&[1], right, buffer, app, focused);
    }
}
