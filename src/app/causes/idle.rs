//! Idle time on the timeline: the gap that is selected, and the lines of what idle time waited for.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::app::App;
use crate::app::scene::Selection;
use crate::model::{Grid, Window};
use crate::query::blame::{Blamed, Share};
use crate::term::text;
use crate::ui::blame;

impl App {
    /// Draws over the tracks what is idle.
    pub(in crate::app) fn draw_idle(&self, grid: Grid, buffer: &mut Buffer) {
        let scene = &self.scene;
        for (row, area) in &self.regions.rows {
            let key = &scene.tree.node(scene.rows[*row].node).key;
            if let Some(Selection::Gap { track, window }) = &scene.selection
                && track == key
            {
                self.draw_gap(*window, grid, self.regions.timed(*area), buffer);
            }
            if scene.arrangement.blamed.contains(key)
                && area.height > 1
                && let Some(found) = self.causes.blames.of(key)
            {
                let line = Rect { y: area.bottom() - 1, height: 1, ..*area };
                let names = Rect { width: self.regions.labels, ..line };
                let ground = buffer[(line.x, area.y)].bg;
                crate::ui::popup::clear(line, Style::new().bg(ground), buffer);
                let shares = found.shares(grid.window());
                // What it waited for says more than that nothing was issued.
                let waits = |s: &&Share| found.blamed.get(usize::from(s.blamed)) != Some(&Blamed::Nothing);
                let only = self.causes.blames.legend().only;
                let is_only = |s: &&Share| found.texts.get(usize::from(s.blamed)).map(String::as_str) == only;
                let most = match only {
                    Some(_) => shares.iter().find(is_only),
                    None => shares.iter().find(waits).or(shares.first()),
                };
                if let Some(most) = most {
                    let name = found.texts.get(usize::from(most.blamed)).map_or("", String::as_str);
                    let percent = format!(" {:.0}%", most.share * 100.0);
                    let room = usize::from(names.width.saturating_sub(4)).saturating_sub(percent.len());
                    let name = text::pad(&text::truncate(name, room), room);
                    let style = Style::new().fg(self.look.theme.dim).bg(ground);
                    buffer.set_string(names.x + 3, names.y, format!("{name}{percent}"), style);
                }
                blame::draw(found, self.causes.blames.legend(), grid, self.regions.timed(line), buffer, &self.look);
            }
        }
    }

    /// A selected gap stands out where its track is blank.
    fn draw_gap(&self, window: Window, grid: Grid, row: Rect, buffer: &mut Buffer) {
        let last = i64::from(row.width) - 1;
        let from = grid.column_of(window.start).max(0);
        let to = grid.column_of(window.end.saturating_sub(1)).min(last);
        for column in from..=to {
            let Some(cell) = buffer.cell_mut((row.x + column as u16, row.y)) else { continue };
            let (blank, waits) = (cell.symbol() == " ", cell.symbol() == self.look.glyphs.wait);
            cell.set_bg(self.look.theme.idle);
            if (blank || waits) && self.look.plain {
                cell.modifier.insert(Modifier::REVERSED);
                if blank {
                    cell.set_symbol(self.look.glyphs.dot);
                }
            }
        }
    }
}
