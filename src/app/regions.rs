//! Where everything stands on the screen.

use ratatui::layout::Rect;

use super::App;
use super::panes::PaneKind;
use crate::ui::labels;

/// The least screen that everything can be shown on.
pub const LEAST: (u16, u16) = (50, 14);

/// Screens from this width on show two panes side by side.
const BESIDE: u16 = 100;

/// Where the parts of the screen are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    /// The lines at the top.
    pub header: Rect,
    /// The whole profile in one line.
    pub overview: Rect,
    /// The ruler, labels included.
    pub ruler: Rect,
    /// The tracks, labels included.
    pub tracks: Rect,
    /// Columns of the labels.
    pub labels: u16,
    /// The bar above the panes.
    pub bar: Rect,
    /// The panes.
    pub panes: Vec<(PaneKind, Rect)>,
    /// The line that says what is under the cursor.
    pub line: Rect,
    /// The keys that are useful now.
    pub footer: Rect,
    /// The rows on the screen: position in the list, and the lines they take.
    pub rows: Vec<(usize, Rect)>,
}

impl Regions {
    /// Lines that the panes take, the bar included.
    #[must_use]
    pub fn pane_lines(&self) -> u16 {
        self.bar.height + self.panes.first().map_or(0, |(_, area)| area.height)
    }

    /// The columns of time of a region that has labels.
    #[must_use]
    pub fn timed(&self, area: Rect) -> Rect {
        let labels = self.labels.min(area.width);
        Rect { x: area.x + labels, width: area.width - labels, ..area }
    }
}

impl App {
    /// Lays the screen out, and has the window and the list of tracks follow.
    pub(super) fn arrange(&mut self) {
        let screen = self.screen;
        let mut regions = Regions { labels: labels::width(screen.width), ..Regions::default() };
        let mut y = screen.y;
        let mut take = |height: u16| {
            let area = Rect { y, height, ..screen };
            y += height;
            area
        };
        let tall = screen.height >= 18;
        let fixed = if tall { 6 } else { 4 };
        let free = screen.height - fixed;
        let shown = self.shown_panes();
        let usual = match screen.height {
            0..18 => 5,
            18..30 => 7,
            height => (height * 3 / 10).min(20),
        };
        // Lines that the tracks leave empty are the pane's, up to half of the screen.
        let tracks = self.scene.rows.iter().fold(0u16, |lines, row| lines.saturating_add(row.height));
        let spare = if tracks == 0 { 0 } else { free.saturating_sub(tracks).min(screen.height / 2) };
        let wanted = self.panes.lines.unwrap_or(spare.max(usual));
        let most = free.saturating_sub(3);
        let pane = if shown.is_empty() || most < 3 { 0 } else { wanted.clamp(3, most) };
        regions.header = take(if tall { 2 } else { 1 });
        if self.panes.maximized && pane > 0 {
            regions.bar = take(1);
            let height = screen.height - regions.header.height - 3;
            regions.panes = side_by_side(&shown, take(height));
        } else {
            regions.overview = take(if tall { 1 } else { 0 });
            regions.ruler = take(1);
            regions.tracks = take(free - pane);
            if pane > 0 {
                regions.bar = take(1);
                regions.panes = side_by_side(&shown, take(pane - 1));
            }
        }
        regions.line = take(1);
        regions.footer = take(1);
        if regions.tracks.height > 0 {
            self.scene.view.resize(regions.timed(regions.tracks).width);
            if self.scene.lines != regions.tracks.height {
                self.scene.lines = regions.tracks.height;
                self.scene.scroll();
            }
            let mut y = regions.tracks.y;
            for row in self.scene.visible_rows() {
                let height = self.scene.rows[row].height.min(regions.tracks.bottom().saturating_sub(y));
                regions.rows.push((row, Rect { y, height, ..regions.tracks }));
                y += height;
            }
        }
        self.regions = regions;
    }

    /// The panes for which there is room.
    fn shown_panes(&self) -> Vec<PaneKind> {
        let shown = self.panes.shown();
        let both = self.panes.beside && !self.panes.maximized && self.screen.width >= BESIDE;
        match (shown.len() > 1 && !both, self.panes.focused().or(shown.last().copied())) {
            (true, Some(one)) => vec![one],
            _ => shown.to_vec(),
        }
    }
}

fn side_by_side(shown: &[PaneKind], area: Rect) -> Vec<(PaneKind, Rect)> {
    match shown {
        [one] => vec![(*one, area)],
        [left, right, ..] => {
            let half = area.width / 2;
            vec![
                (*left, Rect { width: half, ..area }),
                (*right, Rect { x: area.x + half, width: area.width - half, ..area }),
            ]
        }
        [] => Vec::new(),
    }
}
