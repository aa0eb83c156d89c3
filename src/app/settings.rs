//! Settings: what can be changed with `set`, with keys of their own, and is kept per profile and in layouts.

use super::App;
use super::action::Action;
use super::argument::ArgKind;
use super::effect::Effect;
use super::palette::{Setting, Vocabulary};
use crate::query::search::Category;
use crate::query::tracks::{DmaGrouping, GroupBy};
use crate::ui::theme::Theme;
use crate::ui::timeline::Coloring;

/// A setting: how it is read and changed.
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub text: &'static str,
    /// Whether a layout and the state of a profile keep it.
    pub kept: bool,
    choices: fn(&App) -> Vec<String>,
    get: fn(&App) -> String,
    set: fn(&mut App, &str),
}

const ON_OFF: [&str; 2] = ["on", "off"];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

fn switch(on: bool) -> String {
    (if on { "on" } else { "off" }).to_owned()
}

/// All settings.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "color-by",
        text: "What colours tell apart",
        kept: true,
        choices: |_| words(&["operator", "opcode", "engine", "layer", "line"]),
        get: |app| color_word(app.coloring).to_owned(),
        set: |app, value| {
            app.coloring = match value {
                "opcode" => Coloring::Opcode,
                "engine" => Coloring::Engine,
                "layer" => Coloring::Layer,
                "line" => Coloring::SourceLine,
                _ => Coloring::Operator,
            };
        },
    },
    Knob {
        name: "dma-grouping",
        text: "How transfers are grouped into tracks",
        kept: true,
        choices: |_| words(&["engine", "queue", "transfer"]),
        get: |app| {
            match app.scene.options.dma {
                DmaGrouping::Engine => "engine",
                DmaGrouping::QueueOnEngine => "queue",
                DmaGrouping::Queue => "transfer",
            }
            .to_owned()
        },
        set: |app, value| {
            let dma = match value {
                "queue" => DmaGrouping::QueueOnEngine,
                "transfer" => DmaGrouping::Queue,
                _ => DmaGrouping::Engine,
            };
            let options = crate::query::tracks::TrackOptions { dma, ..app.scene.options };
            app.retrack(options, |_| ());
        },
    },
    Knob {
        name: "split-sequencer",
        text: "Whether engine tracks are split into sequencer and compute",
        kept: true,
        choices: |_| words(&ON_OFF),
        get: |app| switch(app.scene.options.split_sequencer),
        set: |app, value| {
            let options = crate::query::tracks::TrackOptions { split_sequencer: value == "on", ..app.scene.options };
            app.retrack(options, |_| ());
        },
    },
    Knob {
        name: "grouping",
        text: "Whether tracks are grouped by core or by engine",
        kept: true,
        choices: |_| words(&["core", "engine"]),
        get: |app| (if app.scene.options.by == GroupBy::Core { "core" } else { "engine" }).to_owned(),
        set: |app, value| {
            let by = if value == "engine" { GroupBy::Engine } else { GroupBy::Core };
            let options = crate::query::tracks::TrackOptions { by, ..app.scene.options };
            app.retrack(options, |_| ());
        },
    },
    Knob {
        name: "idle-tracks",
        text: "Whether tracks without events are shown",
        kept: true,
        choices: |_| words(&ON_OFF),
        get: |app| switch(!app.scene.arrangement.without_idle),
        set: |app, value| {
            app.scene.arrangement.without_idle = value == "off";
            app.scene.rearrange();
        },
    },
    Knob {
        name: "core",
        text: "The core that is shown, or all",
        kept: true,
        choices: |app| {
            let mut cores: Vec<i64> = app.scene.tree.nodes.iter().filter_map(|n| n.core).collect();
            cores.sort_unstable();
            cores.dedup();
            let mut choices = words(&["all"]);
            if cores.len() > 1 {
                choices.extend(cores.iter().map(i64::to_string));
            }
            choices
        },
        get: |app| app.scene.arrangement.core.map_or_else(|| "all".to_owned(), |core| core.to_string()),
        set: |app, value| {
            app.scene.arrangement.core = value.parse().ok();
            app.scene.rearrange();
        },
    },
    Knob {
        name: "blame-track",
        text: "Whether a line below each engine shows what its idle time waited for",
        kept: true,
        choices: |_| words(&ON_OFF),
        get: |app| switch(app.causes.blames.on),
        set: |app, value| app.set_blame(value == "on"),
    },
    Knob {
        name: "raw-values",
        text: "Whether Details shows values as recorded",
        kept: true,
        choices: |_| words(&ON_OFF),
        get: |app| switch(app.raw_values),
        set: |app, value| app.raw_values = value == "on",
    },
    Knob {
        name: "panes-beside",
        text: "Whether two panes are shown side by side",
        kept: true,
        choices: |_| words(&ON_OFF),
        get: |app| switch(app.panes.beside),
        set: |app, value| {
            if app.panes.beside != (value == "on") {
                app.panes.toggle_beside();
            }
        },
    },
    Knob {
        name: "search-category",
        text: "Which events are searched",
        kept: false,
        choices: |_| words(&["all", "operator", "instruction", "dma"]),
        get: |app| app.search.category().to_owned(),
        set: |app, value| {
            app.search.options.category = match value {
                "operator" => Some(Category::Operator),
                "instruction" => Some(Category::Instruction),
                "dma" => Some(Category::Dma),
                _ => None,
            };
            app.search_again();
        },
    },
    Knob {
        name: "search-fuzzy",
        text: "Whether a search matches names loosely: the letters of each word in order",
        kept: false,
        choices: |_| words(&ON_OFF),
        get: |app| switch(app.search.options.fuzzy),
        set: |app, value| {
            app.search.options.fuzzy = value == "on";
            app.search_again();
        },
    },
    Knob {
        name: "search-dim",
        text: "Whether what a search does not match is dimmed",
        kept: true,
        choices: |_| words(&ON_OFF),
        get: |app| switch(app.search.dim),
        set: |app, value| app.search.dim = value == "on",
    },
    Knob {
        name: "theme",
        text: "The colours",
        kept: false,
        choices: |app| app.look.themes().into_iter().map(|t| t.name).collect(),
        get: |app| app.look.theme.name.clone(),
        set: |app, value| {
            if let Some(theme) = app.look.themes().into_iter().find(|t| t.name == value) {
                app.set_theme(theme);
            }
        },
    },
    Knob {
        name: "mouse",
        text: "Whether the mouse is used here, rather than left to the terminal",
        kept: false,
        choices: |_| words(&ON_OFF),
        get: |app| switch(app.mouse),
        set: |app, value| {
            app.mouse = value == "on";
            app.effects.push(Effect::Mouse(app.mouse));
        },
    },
];

/// The word for what colours tell apart.
#[must_use]
pub fn color_word(coloring: Coloring) -> &'static str {
    match coloring {
        Coloring::Operator => "operator",
        Coloring::Opcode => "opcode",
        Coloring::Engine => "engine",
        Coloring::Layer => "layer",
        Coloring::SourceLine => "line",
    }
}

fn knob(name: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|k| k.name == name)
}

impl App {
    /// The present value of a setting.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<String> {
        knob(name).map(|k| (k.get)(self))
    }

    /// Changes a setting: to `value`, or to the next one. Says so.
    pub fn change(&mut self, name: &str, value: Option<&str>) {
        let Some(knob) = knob(name) else {
            self.refuse(format!("there is no setting {name:?}"));
            return;
        };
        let choices = (knob.choices)(self);
        let value = match value {
            Some(value) => value.to_owned(),
            None => {
                let now = (knob.get)(self);
                let at = choices.iter().position(|c| *c == now).map_or(0, |i| i + 1);
                choices.get(at % choices.len().max(1)).cloned().unwrap_or(now)
            }
        };
        // A switch may be written in several ways.
        let value = match super::argument::parse_switch(&value) {
            Ok(on) if choices.iter().any(|c| c == "on") => switch(on),
            _ => value,
        };
        if !choices.contains(&value) {
            self.refuse(format!("{value:?} is none of {}", choices.join(", ")));
            return;
        }
        (knob.set)(self, &value);
        self.say(format!("{name}: {value}"));
    }

    /// Sets a setting that was kept; nothing is said.
    pub(super) fn restore_setting(&mut self, name: &str, value: &str) {
        if let Some(knob) = knob(name).filter(|k| k.kept) {
            (knob.set)(self, value);
        }
    }

    /// Draws with another theme.
    pub fn set_theme(&mut self, theme: Theme) {
        self.look.theme = theme;
        self.effects.push(Effect::Repaint);
    }

    /// What the palette is to know of settings, tracks and layouts.
    #[must_use]
    pub fn vocabulary(&self) -> Vocabulary {
        let setting = |knob: &Knob| Setting {
            name: knob.name.to_owned(),
            value: (knob.get)(self),
            choices: (knob.choices)(self),
            text: knob.text.to_owned(),
        };
        let tracks = self.scene.tree.nodes.iter().map(|n| n.full.clone()).collect();
        let themes = self.look.themes().into_iter().map(|t| t.name).collect();
        let layouts = self.layouts();
        Vocabulary {
            settings: KNOBS.iter().map(setting).collect(),
            words: vec![(ArgKind::Track, tracks), (ArgKind::Name("theme"), themes), (ArgKind::Name("layout"), layouts)],
        }
    }

    /// Carries out `set NAME VALUE`, or asks for both.
    pub(super) fn set(&mut self, arg: Option<&str>) {
        match arg.and_then(|a| a.trim().split_once(' ')) {
            Some((name, value)) => self.change(name, Some(value.trim())),
            None => match arg {
                Some(name) if knob(name).is_some() => self.change(name, None),
                _ => {
                    let palette = super::overlays::PaletteOverlay::new(self, &format!("{} ", Action::Set(None).name()));
                    self.show(palette);
                }
            },
        }
    }
}
