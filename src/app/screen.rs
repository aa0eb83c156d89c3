//! Where everything stands on the screen, and its drawing.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier};

use super::action::Action;
use super::at_once::at_once;
use super::keymap::{Context, Hint};
use super::panes;
use super::regions::LEAST;
use super::{App, Weight, cursor_line};
use crate::model::{Grid, Nanos};
use crate::query::viewport;
use crate::query::window::figures;
use crate::store::Datum;
use crate::term::screen::ShiftHint;
use crate::term::text;
use crate::ui::bars::{self, Segment, Tab};
use crate::ui::header::Header;
use crate::ui::overview::Overview;
use crate::ui::timeline::{Line, Timeline};
use crate::ui::{popup, ruler};

/// What the last frame showed, to know what only moved since.
pub struct Drawn {
    grid: Grid,
    moved: Rect,
}

/// The answer behind the overview, which changes only with the profile and the width.
pub struct OverviewKept {
    columns: u16,
    shares: Arc<[f32]>,
}

/// What a frame needs besides its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Where the terminal's cursor belongs, while text is typed.
    pub cursor: Option<Position>,
    /// Which cells only moved sideways.
    pub hint: Option<ShiftHint>,
}

impl App {
    /// Draws the screen into a buffer, whose size it takes.
    pub fn draw(&mut self, buffer: &mut Buffer) -> Frame {
        self.screen = buffer.area;
        let screen = self.screen;
        popup::clear(screen, self.look.theme.base(), buffer);
        if screen.width < LEAST.0 || screen.height < LEAST.1 {
            self.drawn = None;
            too_small(screen, buffer, self);
            return Frame::default();
        }
        self.arrange();
        self.draw_header(buffer);
        if self.scene.rows.is_empty() {
            self.draw_opening(buffer);
        } else if !self.panes.maximized {
            self.draw_timeline(buffer);
        }
        self.draw_panes(buffer);
        self.draw_line(buffer);
        self.draw_footer(buffer);
        let hint = self.shift_hint();
        let mut cursor = None;
        for overlay in &self.overlays {
            cursor = overlay.draw(screen, buffer, self);
        }
        if self.overlays.is_empty() && !self.pending.is_empty() {
            self.draw_hints(buffer);
        }
        Frame { cursor, hint }
    }

    fn draw_header(&mut self, buffer: &mut Buffer) {
        if self.scene.store.range.is_none() {
            let name = format!(" neuron-scope  {}", text::escape(&self.scene.store.info.name));
            popup::clear(self.regions.header, self.look.on_bar(self.look.theme.title), buffer);
            let style = self.look.on_bar(self.look.theme.title).add_modifier(Modifier::BOLD);
            let area = self.regions.header;
            buffer.set_stringn(area.x, area.y, name, usize::from(area.width), style);
            return;
        }
        if self.shown.window.is_none() {
            self.update_figures();
        }
        let store = &self.scene.store;
        let progress = self.opening.as_ref().map(super::Opening::text);
        let header = Header {
            name: &store.info.name,
            instance: store.fact("Metadata", "instance_type").and_then(Datum::text),
            cores: store.cores(),
            whole: self.scene.view.whole(),
            window: self.scene.view.window(),
            warnings: self.warning_count(),
            progress: progress.as_deref(),
            figures: &self.shown.figures,
        };
        header.draw(self.regions.header, &self.look.theme, self.look.glyphs, buffer);
    }

    /// Computes the figures of the window anew.
    pub(super) fn update_figures(&mut self) {
        let window = self.scene.view.window();
        if self.shown.window != Some(window) {
            let (store, cache) = (&self.scene.store, &self.scene.cache);
            self.shown.figures = at_once(|| figures(store, cache, window));
            self.shown.window = Some(window);
            self.shown.labels.clear();
        }
    }

    fn draw_timeline(&mut self, buffer: &mut Buffer) {
        let columns = self.regions.timed(self.regions.overview).width;
        let matched = self.search_ticks(columns);
        let marks = self.mark_lines();
        let (theme, glyphs) = (&self.look.theme, self.look.glyphs);
        let scene = &self.scene;
        let grid = scene.view.grid();
        if self.regions.overview.height > 0 {
            if self.overview.as_ref().is_none_or(|o| o.columns != columns) {
                let (store, tree) = (&scene.store, &scene.tree);
                let shares = at_once(|| viewport::overview(store, tree, columns)).into();
                self.overview = Some(OverviewKept { columns, shares });
            }
            let shares = self.overview.as_ref().map_or_else(|| Arc::from([]), |o| o.shares.clone());
            let matched = matched.iter().map(|&time| (time, theme.matched));
            let ticks: Vec<(Nanos, Color)> = matched.chain(marks.iter().copied()).collect();
            let overview =
                Overview { shares: &shares, whole: scene.view.whole(), window: scene.view.window(), ticks: &ticks };
            overview.draw(self.regions.overview, theme, glyphs, buffer);
        }
        let ruled = self.regions.timed(self.regions.ruler);
        ruler::draw(ruled, grid, &marks, theme, glyphs, buffer);
        self.draw_recorded(grid, ruled, buffer);

        let nodes: Vec<_> = self.regions.rows.iter().map(|(row, _)| scene.rows[*row].node).collect();
        let (store, tree, emphases) = (&scene.store, &scene.tree, &self.emphases);
        let mut rows = at_once(|| viewport::rows(store, tree, &nodes, grid, emphases));
        // While the window moves, the figures beside the labels stay.
        let fresh = self.shown.window == Some(scene.view.window());
        for (row, &id) in rows.iter_mut().zip(&nodes) {
            let key = &scene.tree.node(id).key;
            match self.shown.labels.get(key) {
                Some(kept) if !fresh => row.figure = *kept,
                Some(_) => {}
                None => {
                    self.shown.labels.insert(key.clone(), row.figure);
                }
            }
            if fresh {
                self.shown.labels.insert(key.clone(), row.figure);
            }
        }
        let lines: Vec<Line> = self
            .regions
            .rows
            .iter()
            .zip(&rows)
            .map(|((at, area), row)| {
                let shown = &scene.rows[*at];
                let node = scene.tree.node(shown.node);
                let idle = self.causes.blames.of(&node.key);
                Line { node, row, height: area.height, folded: shown.folded, pinned: shown.pinned, idle }
            })
            .collect();
        let on_screen = |row: usize| self.regions.rows.iter().position(|(at, _)| *at == row);
        let area = scene.area.as_ref().and_then(|area| {
            let (first, last) = area.tracks(|key| scene.row_of(key))?;
            let mut within = self.regions.rows.iter().enumerate().filter(|(_, (at, _))| (first..=last).contains(at));
            let first = within.next()?.0;
            let last = within.next_back().map_or(first, |(i, _)| i);
            Some((area.window(), first..last + 1))
        });
        let timeline = Timeline {
            store: &scene.store,
            grid,
            lines: &lines,
            current: on_screen(scene.row),
            // A cursor taken along at the edge would have to be drawn anew in every row of every frame.
            cursor: (fresh || !self.dragged).then(|| scene.view.cursor()),
            area,
            marks: &marks,
            coloring: self.coloring,
            dim_others: self.search.dim && self.search.total() > 0,
            plain: self.look.plain,
            theme,
            glyphs,
        };
        timeline.draw(self.regions.tracks, buffer);
        self.draw_idle(grid, buffer);
    }

    fn draw_opening(&self, buffer: &mut Buffer) {
        let area = self.regions.tracks;
        let theme = &self.look.theme;
        let middle = area.y + area.height / 3;
        let mut put = |line: u16, content: &str, color| {
            let shown = text::truncate(content, usize::from(area.width.saturating_sub(4)));
            let x = area.x + (area.width.saturating_sub(text::width(&shown) as u16)) / 2;
            if middle + line < area.bottom() {
                buffer.set_string(x, middle + line, shown, self.look.on_background(color));
            }
        };
        let Some(opening) = &self.opening else {
            let text = if self.scene.store.range.is_some() || self.found.is_some() {
                "no track is shown"
            } else {
                "nothing is open"
            };
            put(0, text, theme.dim);
            return;
        };
        put(0, &format!("opening {}", opening.name), theme.title);
        put(2, &opening.text(), theme.text);
        if let Some(share) = opening.share {
            let room = usize::from(area.width).min(60);
            let done = ((share.clamp(0.0, 1.0) * room as f64) as usize).min(room);
            let bar =
                format!("{}{}", self.look.glyphs.full.repeat(done), self.look.glyphs.shades[0].repeat(room - done));
            put(3, &bar, theme.counter);
        }
        let key = self.keymap.hint(Context::Timeline, &Action::Escape).unwrap_or_else(|| "Esc".into());
        put(5, &format!("{key} cancels"), theme.dim);
    }

    fn draw_panes(&self, buffer: &mut Buffer) {
        let regions = &self.regions;
        if regions.bar.height == 0 {
            return;
        }
        let focused = self.panes.focused();
        let keys: Vec<Option<String>> =
            panes::REGISTRY.iter().map(|info| self.keymap.hint(Context::Timeline, &info.action)).collect();
        // What all keys begin with is said once.
        let prefix = keys.iter().flatten().filter_map(|k| k.rsplit_once(' ').map(|(first, _)| first)).next();
        let prefix = prefix.unwrap_or_default().to_owned();
        let short: Vec<String> = keys
            .iter()
            .map(|key| match key {
                Some(key) => key.strip_prefix(&prefix).unwrap_or(key).trim().to_owned(),
                None => String::new(),
            })
            .collect();
        let tabs: Vec<Tab> = panes::REGISTRY
            .iter()
            .zip(&short)
            .map(|(info, key)| Tab {
                key,
                title: info.title,
                shown: regions.panes.iter().any(|(kind, _)| *kind == info.kind),
                focused: focused == Some(info.kind),
            })
            .collect();
        let shown = focused.or(regions.panes.first().map(|(kind, _)| *kind));
        let subtitle = shown.and_then(|kind| self.panes.get(kind)).map(|p| p.subtitle(self)).unwrap_or_default();
        let before = if prefix.is_empty() { String::new() } else { format!("{prefix}+") };
        bars::tabs(&before, &tabs, &subtitle, focused.is_some(), regions.bar, buffer, &self.look);
        for (kind, area) in &regions.panes {
            if let Some(pane) = self.panes.get(*kind) {
                let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..*area };
                pane.draw(inside, buffer, self, focused == Some(*kind));
            }
        }
        if let [(_, left), _] = regions.panes.as_slice() {
            for y in left.top()..left.bottom() {
                let line = self.look.on_background(self.look.theme.border);
                buffer.set_string(left.right() - 1, y, self.look.glyphs.pane.vertical, line);
            }
        }
    }

    fn draw_line(&self, buffer: &mut Buffer) {
        let theme = &self.look.theme;
        let parts = match &self.message {
            Some(message) => {
                let color = match message.weight {
                    Weight::Info => theme.info,
                    Weight::Warning => theme.warning,
                    Weight::Error => theme.error,
                };
                vec![Segment::new(message.text.clone()).colored(color).elastic()]
            }
            None => cursor_line::parts(self),
        };
        bars::segments(&parts, self.regions.line, theme.background, buffer, &self.look);
    }

    fn draw_footer(&self, buffer: &mut Buffer) {
        let context = self.context();
        let hint = |actions: &[Action], what: &'static str| {
            let keys: Vec<String> = actions.iter().filter_map(|a| self.keymap.hint(context, a)).collect();
            (keys.len() == actions.len()).then(|| (keys.join("/"), what))
        };
        let useful: Vec<Option<(String, &str)>> = if self.opening.is_some() && !self.has_profile() {
            vec![hint(&[Action::Escape], "cancel")]
        } else if self.panes.focused() == Some(panes::PaneKind::Marks) {
            vec![
                hint(&[Action::Enter], "go there"),
                hint(&[Action::MarkCompare], "measure from it"),
                hint(&[Action::MarkRename(None)], "rename"),
                hint(&[Action::MarkNote(None)], "note"),
                hint(&[Action::MarkColor(None)], "colour"),
                hint(&[Action::MarkDelete], "delete"),
                hint(&[Action::ZoomMarks], "zoom between"),
                hint(&[Action::Escape], "back"),
            ]
        } else if context == Context::Pane {
            vec![
                hint(&[Action::ScrollDown, Action::ScrollUp], "line"),
                hint(&[Action::Enter], "open"),
                hint(&[Action::PaneNext], "next pane"),
                hint(&[Action::PaneMaximize], "maximise"),
                hint(&[Action::Escape], "back to the tracks"),
                hint(&[Action::Quit], "close"),
            ]
        } else if self.scene.area.is_some() {
            vec![
                hint(&[Action::ZoomArea], "zoom to the area"),
                hint(&[Action::AreaSelect], "end it"),
                hint(&[Action::Escape], "clear it"),
            ]
        } else if self.search.active() {
            vec![
                hint(&[Action::SearchNext, Action::SearchPrev], "match"),
                hint(&[Action::PaneSearch], "list"),
                hint(&[Action::SearchDim(None)], "dim others"),
                hint(&[Action::SearchClear], "clear the search"),
                hint(&[Action::PanLeft(None), Action::PanRight(None)], "pan"),
                hint(&[Action::ZoomIn, Action::ZoomOut], "zoom"),
                hint(&[Action::Focus], "fit"),
            ]
        } else {
            vec![
                hint(&[Action::PanLeft(None), Action::PanRight(None)], "pan"),
                hint(&[Action::ZoomIn, Action::ZoomOut], "zoom"),
                hint(&[Action::CursorLeft(None), Action::CursorRight(None)], "cursor"),
                hint(&[Action::EventNext, Action::EventPrev], "event"),
                hint(&[Action::BlockedBy, Action::Unblocks], "cause"),
                hint(&[Action::TrackNext, Action::TrackPrev], "track"),
                hint(&[Action::Fold], "fold"),
                hint(&[Action::Focus], "fit"),
                hint(&[Action::IdleNext], "idle gap"),
                hint(&[Action::Search(None)], "search"),
                hint(&[Action::Goto(None)], "go to"),
                hint(&[Action::ColorNext], "colours"),
                hint(&[Action::CopyJson], "copy"),
            ]
        };
        let last = [hint(&[Action::Palette(None)], "commands"), hint(&[Action::Help], "help")];
        let flat = |keys: Vec<Option<(String, &'static str)>>| keys.into_iter().flatten().collect::<Vec<_>>();
        let useful: Vec<(String, &str)> = useful.into_iter().flatten().collect();
        bars::keys(&useful, &flat(last.to_vec()), self.regions.footer, buffer, &self.look);
    }

    fn draw_hints(&self, buffer: &mut Buffer) {
        let hints = self.keymap.hints(self.context(), &self.pending);
        let hints: Vec<(String, String)> = hints.into_iter().map(|Hint { key, text, .. }| (key, text)).collect();
        popup::hints(&format!("{} …", self.pending.text()), &hints, self.screen, buffer, &self.look);
    }

    /// Says which cells only moved since the last frame.
    fn shift_hint(&mut self) -> Option<ShiftHint> {
        let (regions, grid) = (&self.regions, self.scene.view.grid());
        if regions.tracks.height == 0 || self.scene.rows.is_empty() {
            self.drawn = None;
            return None;
        }
        let timed = regions.timed(regions.tracks);
        let moved = Rect { y: regions.ruler.y, height: regions.ruler.height + timed.height, ..timed };
        let before = self.drawn.replace(Drawn { grid, moved })?;
        let same = before.moved == moved && before.grid.same_columns(grid) && before.grid.columns() == grid.columns();
        let columns = i16::try_from(before.grid.first() - grid.first()).ok()?;
        (same && columns != 0).then_some(ShiftHint { area: moved, columns })
    }
}

fn too_small(screen: Rect, buffer: &mut Buffer, app: &App) {
    let (columns, lines) = LEAST;
    let text = format!(
        "neuron-scope needs {columns} columns and {lines} lines to show a profile; this terminal has {} and {}. \
         Make it larger, or the font smaller; q quits.",
        screen.width, screen.height
    );
    let style = app.look.on_background(app.look.theme.text).add_modifier(Modifier::empty());
    let wrapped = popup::wrapped(&text, usize::from(screen.width.saturating_sub(2)).max(1));
    for (line, y) in wrapped.iter().zip(screen.top()..screen.bottom()) {
        buffer.set_stringn(screen.x + u16::from(screen.width > 2), y, line, usize::from(screen.width), style);
    }
}
