//! What the idle time of each engine waited for: a line below its track, and totals for the window.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::report::{Part, Report, Tone};
use super::reports;
use crate::app::App;
use crate::app::effect::Effect;
use crate::app::jobs::Job;
use crate::app::panes::PaneKind;
use crate::model::Window;
use crate::model::time::format_duration;
use crate::query::blame::Blame;
use crate::query::causes::Asking;
use crate::query::locate::idle_track;

/// The idle time of a track with its causes in words.
pub struct TrackBlame {
    /// The name of the track.
    pub name: String,
    /// Its idle time, explained.
    pub blame: Blame,
    /// What is blamed, in words, in the order of [`Blame::blamed`].
    pub texts: Vec<String>,
}

/// The idle time of all engines.
#[derive(Default)]
pub struct Blames {
    /// Whether it is shown.
    pub on: bool,
    /// By the key of the track; empty until it has been found out.
    pub tracks: BTreeMap<String, Arc<TrackBlame>>,
    soon: bool,
}

impl App {
    /// Shows below each engine what its idle time waited for, or no longer.
    pub(crate) fn set_blame(&mut self, on: bool) {
        self.causes.blames.on = on;
        if !on {
            self.scene.arrangement.blamed.clear();
            self.scene.rearrange();
            if self.causes.report.as_ref().is_some_and(|r| r.of_window) {
                self.causes.report = None;
                self.seen = None;
            }
        } else if self.scene.store.range.is_some() && self.knows_causes(None) {
            self.find_blames();
        }
    }

    /// Has the idle time of all engines explained, off the UI thread, where that is wanted and not done.
    pub(super) fn find_blames(&mut self) {
        let blames = &mut self.causes.blames;
        if !blames.on || blames.soon {
            return;
        }
        if !blames.tracks.is_empty() {
            if self.scene.arrangement.blamed.is_empty() {
                self.show_blames();
            }
            return;
        }
        let Some((store, index)) = self.sources() else { return };
        self.causes.blames.soon = true;
        let tree = self.scene.tree.clone();
        self.effects.push(Effect::Job(Job::new("blame", move |reporter| {
            let asking = Asking::new(&store, &index);
            let mut tracks = BTreeMap::new();
            for node in tree.nodes.iter().filter(|n| n.children.is_empty()) {
                if reporter.cancelled() {
                    return;
                }
                let Some(track) = node.track().and_then(|track| idle_track(&store, track)) else { continue };
                let Some(lane) = track.lane(&store) else { continue };
                let blame = Blame::new(&asking, lane, store.whole());
                let texts = blame.blamed.iter().map(|b| asking.blamed_text(b)).collect();
                tracks.insert(node.key.clone(), Arc::new(TrackBlame { name: node.full.clone(), blame, texts }));
            }
            reporter.answer(move |app| {
                app.causes.blames.soon = false;
                if Arc::ptr_eq(&store, &app.scene.store) {
                    app.causes.blames.tracks = tracks;
                    app.show_blames();
                }
            });
        })));
    }

    fn show_blames(&mut self) {
        if !self.causes.blames.on {
            return;
        }
        self.scene.arrangement.blamed = self.causes.blames.tracks.keys().cloned().collect();
        self.scene.rearrange();
        let focus = self.panes.focused();
        let totals = self.blame_totals();
        reports::show(self, totals);
        // A switch takes the focus from nothing.
        self.panes.set_focus(focus);
    }

    /// Has the totals follow the window.
    pub(crate) fn follow_blame_totals(&mut self) {
        if self.causes.report.as_ref().is_some_and(|r| r.of_window) && self.panes.shown().contains(&PaneKind::Causes) {
            self.causes.report = Some(self.blame_totals());
        }
    }

    /// What the idle time of each engine in the window is blamed on.
    fn blame_totals(&self) -> Report {
        let window = self.scene.view.window();
        let mut report = Report::new(format!("what idle time waited for, in {}", format_duration(window.length())));
        report.of_window = true;
        let shown = self.scene.rows.iter().map(|r| &self.scene.tree.node(r.node).key);
        for found in shown.filter_map(|key| self.causes.blames.tracks.get(key)) {
            add_shares(&mut report, found, window);
        }
        report
    }
}

fn add_shares(report: &mut Report, found: &TrackBlame, window: Window) {
    let shares = found.blame.shares(window);
    let idle: u64 = shares.iter().map(|s| s.ns).sum();
    let part = idle as f64 * 100.0 / window.length().max(1) as f64;
    report.heading(format!("{}: idle {} ({part:.0}% of the window)", found.name, format_duration(idle)));
    for share in shares {
        let text = found.texts.get(usize::from(share.blamed)).map_or("", String::as_str);
        let parts = vec![
            Part::number(format_duration(share.ns), Tone::Value),
            Part::number(format!("{:.1}%", share.share * 100.0), Tone::Dim),
            Part::new(text, Tone::Plain),
        ];
        report.line(None, parts);
    }
}
