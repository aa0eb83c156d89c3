//! What is kept between sessions: per profile where one was and how it was arranged, named layouts, recent profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::App;
use super::atomic::write_atomically;
use super::panes::PaneKind;
use super::rows::Arrangement;
use super::scene::Selection;
use super::settings::KNOBS;
use crate::model::Window;
use crate::store::EventRef;

/// A larger file is no state.
const MOST_BYTES: u64 = 4 << 20;
/// How many recent profiles are remembered.
const MOST_RECENT: usize = 30;

/// How the screen is arranged, whatever the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    /// Settings by name.
    pub settings: BTreeMap<String, String>,
    /// The list of tracks.
    pub tracks: Arrangement,
    /// Tracks whose overlapping events have rows of their own.
    pub spread: BTreeSet<String>,
    /// The panes that are shown; those that this version does not know are left out.
    #[serde(deserialize_with = "known")]
    pub panes: Vec<PaneKind>,
    /// Lines that they have, where set by hand.
    pub pane_lines: Option<u16>,
}

/// The entries of a list that can be read.
fn known<'a, D: Deserializer<'a>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let all = Vec::<serde_json::Value>::deserialize(from)?;
    Ok(all.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}

/// What is kept of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Where the profile is.
    pub path: PathBuf,
    /// How the screen was arranged.
    pub layout: Layout,
    /// The window, in nanoseconds.
    pub window: Option<(i64, i64)>,
    /// The time cursor.
    pub cursor: Option<i64>,
    /// The key of the current track.
    pub track: Option<String>,
    /// The table and row of the selected event.
    pub selected: Option<(String, u32)>,
}

/// A profile opened before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recent {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&crate::files::read(path, MOST_BYTES).ok()?).ok()
}

/// The file of a profile's state: its name has a hash of where the profile is.
fn file_of(state_dir: &Path, profile: &Path) -> PathBuf {
    let real = std::fs::canonicalize(profile).unwrap_or_else(|_| profile.to_path_buf());
    let hash = crate::ui::theme::name_hash(&real.to_string_lossy());
    state_dir.join("profiles").join(format!("{hash:016x}.json"))
}

/// What was kept of a profile.
#[must_use]
pub fn load(state_dir: &Path, profile: &Path) -> Option<Kept> {
    read(&file_of(state_dir, profile))
}

/// The profiles opened before, the last one first.
fn all_recent(state_dir: &Path) -> Vec<Recent> {
    read(&state_dir.join("recent.json")).unwrap_or_default()
}

/// The profiles opened before that are still there, the last one first.
#[must_use]
pub fn recent(state_dir: &Path) -> Vec<Recent> {
    all_recent(state_dir).into_iter().filter(|r| r.path.exists()).collect()
}

/// The directory of named layouts: `neuron-scope/layouts` in the configuration directory.
fn layouts_dir() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("neuron-scope").join("layouts"))
}

/// A layout's name as a file name; `None` where it cannot be one.
fn layout_file(dir: &Path, name: &str) -> Option<PathBuf> {
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.');
    let name = name.trim();
    (!name.is_empty() && name.len() <= 80 && !name.starts_with('.') && name.chars().all(fine))
        .then(|| dir.join(format!("{name}.json")))
}

impl App {
    fn layout(&self) -> Layout {
        let settings = KNOBS.iter().filter(|k| k.kept);
        Layout {
            settings: settings.filter_map(|k| Some((k.name.to_owned(), self.setting(k.name)?))).collect(),
            tracks: self.scene.arrangement.clone(),
            spread: self.scene.spread.clone(),
            panes: self.panes.shown().to_vec(),
            pane_lines: self.panes.lines,
        }
    }

    fn restore_layout(&mut self, layout: &Layout) {
        // Some settings are part of the arrangement, so that comes first.
        self.scene.arrangement = layout.tracks.clone();
        self.scene.spread = layout.spread.clone();
        self.panes.set_shown(layout.panes.clone());
        self.panes.lines = layout.pane_lines;
        for (name, value) in &layout.settings {
            self.restore_setting(name, value);
        }
        self.panes.set_shown(layout.panes.clone());
        self.scene.rearrange();
    }

    /// Arranges the screen as it was when the profile was left.
    pub(super) fn restore_arrangement(&mut self, kept: &Kept) {
        self.restore_layout(&kept.layout);
    }

    /// Goes to where one was when the profile was left.
    pub(super) fn restore_place(&mut self, kept: &Kept) {
        let scene = &mut self.scene;
        if let Some(id) = kept.track.as_deref().and_then(|key| scene.tree.find(key)) {
            scene.show_track(id);
        }
        let window = kept.window.map(|(a, b)| Window::new(a, b)).filter(|w| {
            let whole = scene.view.whole();
            w.start < whole.end && w.end > whole.start && *w != scene.view.window()
        });
        let window = window.unwrap_or_else(|| scene.view.window());
        scene.view.restore(window, kept.cursor.unwrap_or_else(|| scene.view.cursor()));
        let selected = kept.selected.as_ref().and_then(|(table, row)| {
            let table = scene.store.table_index(table)?;
            let event = scene.store.events[usize::from(table)].event_at_row(*row)?;
            Some(EventRef { table, event })
        });
        scene.selection = selected.map(Selection::Event);
    }

    fn kept(&self) -> Option<Kept> {
        let found = self.found.as_ref()?;
        let scene = &self.scene;
        let window = (!scene.view.shows_all()).then(|| scene.view.window());
        Some(Kept {
            path: found.path.clone(),
            layout: self.layout(),
            window: window.map(|w| (w.start, w.end)),
            cursor: Some(scene.view.cursor()),
            track: scene.node().map(|n| n.key.clone()),
            selected: scene.selected_event().map(|e| {
                let table = scene.store.table_of(e);
                (table.name.clone(), table.rows[e.event as usize])
            }),
        })
    }

    /// Keeps the state of the profile and what was typed. Whatever cannot be written is not kept.
    pub fn save_state(&mut self) {
        let Some(dir) = self.state_dir.clone() else { return };
        let _ = self.history.save(&dir.join("history.jsonl"));
        // Of a profile that was never read completely nothing is known that is worth keeping.
        if self.opening.is_some() || self.scene.store.range.is_none() {
            return;
        }
        if let Some(kept) = self.kept()
            && let Ok(bytes) = serde_json::to_vec_pretty(&kept)
        {
            let _ = write_atomically(&file_of(&dir, &kept.path), &bytes);
        }
    }

    /// Puts the profile at the head of the recent ones.
    pub(super) fn remember_recent(&mut self) {
        let (Some(dir), Some(found)) = (self.state_dir.clone(), &self.found) else { return };
        let path = std::fs::canonicalize(&found.path).unwrap_or_else(|_| found.path.clone());
        let mut all = all_recent(&dir);
        all.retain(|r| r.path != path);
        all.insert(0, Recent { name: found.name.clone(), path });
        all.truncate(MOST_RECENT);
        if let Ok(bytes) = serde_json::to_vec_pretty(&all) {
            let _ = write_atomically(&dir.join("recent.json"), &bytes);
        }
    }

    /// The profiles opened before, the last one first.
    #[must_use]
    pub fn recent(&self) -> Vec<Recent> {
        self.state_dir.as_deref().map(recent).unwrap_or_default()
    }

    /// The names of the layouts that are kept.
    #[must_use]
    pub fn layouts(&self) -> Vec<String> {
        if self.state_dir.is_none() {
            return Vec::new();
        }
        let entries = layouts_dir().and_then(|dir| std::fs::read_dir(dir).ok());
        let names = entries.into_iter().flatten().flatten().filter_map(|e| {
            let path = e.path();
            let json = path.extension().is_some_and(|x| x == "json");
            json.then(|| path.file_stem().map(|s| s.to_string_lossy().into_owned())).flatten()
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Keeps the arrangement of the screen under a name.
    ///
    /// # Errors
    /// Says why it cannot be kept.
    pub fn save_layout(&mut self, name: &str) -> Result<(), String> {
        let dir = layouts_dir().ok_or("there is no home directory to keep layouts in")?;
        let file = layout_file(&dir, name).ok_or_else(|| format!("{name:?} cannot be the name of a file"))?;
        let bytes = serde_json::to_vec_pretty(&self.layout()).map_err(|e| e.to_string())?;
        write_atomically(&file, &bytes).map_err(|e| format!("{}: {e}", file.display()))?;
        self.say(format!("layout kept as {}", file.display()));
        Ok(())
    }

    /// Arranges the screen as it was kept under a name.
    ///
    /// # Errors
    /// Says why it cannot be done.
    pub fn load_layout(&mut self, name: &str) -> Result<(), String> {
        let dir = layouts_dir().ok_or("there is no home directory to keep layouts in")?;
        let file = layout_file(&dir, name).ok_or_else(|| format!("there is no layout {name:?}"))?;
        let layout: Layout = read(&file).ok_or_else(|| format!("{} is no layout", file.display()))?;
        self.restore_layout(&layout);
        let options = self.scene.options;
        self.retrack(options, |_| ());
        self.say(format!("layout {name}"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_names_that_are_files() {
        let dir = Path::new("/x");
        assert_eq!(layout_file(dir, " dma view "), Some(PathBuf::from("/x/dma view.json")));
        for bad in ["", "a/b", "..", ".hidden", "a\nb", &"x".repeat(90)] {
            assert_eq!(layout_file(dir, bad), None, "{bad:?}");
        }
    }

    #[test]
    fn state_of_other_versions_is_read_as_far_as_it_goes() {
        let kept: Kept =
            serde_json::from_str(r#"{"cursor":5,"new":true,"layout":{"panes":["later","details"]}}"#).unwrap();
        assert_eq!((kept.cursor, kept.layout.panes.as_slice()), (Some(5), &[PaneKind::Details][..]));
        let back: Kept = serde_json::from_slice(&serde_json::to_vec(&kept).unwrap()).unwrap();
        assert_eq!(back, kept);
    }
}
