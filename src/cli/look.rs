//! The options of everything that is drawn: keys, colours, glyphs.

use std::path::PathBuf;

use crate::app::keymap;
use crate::store::cache;
use crate::term::color::{ColorChoice, Depth};
use crate::term::glyphs;
use crate::ui::look::Look;
use crate::ui::theme::{self, Theme};

/// Options of how the explorer looks.
#[derive(Clone, Debug, clap::Args)]
pub struct LookArgs {
    /// Keys: default, perfetto, vim, neuron-explorer, azerty, or a key file
    #[arg(long, value_name = "NAME|FILE")]
    pub keymap: Option<String>,
    /// Colours: auto, dark, light, the name of a theme in the configuration directory, or a theme file
    #[arg(long, value_name = "NAME|FILE", default_value = "auto")]
    pub theme: String,
    /// Colours of the terminal: auto, never, 16, 256 or true
    #[arg(long, value_name = "DEPTH", default_value = "auto")]
    pub color: ColorChoice,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Leave caches alone
    #[arg(long)]
    pub no_cache: bool,
}

/// What the options come to.
pub struct Chosen {
    /// The keys.
    pub keymap: keymap::Keymap,
    /// What was wrong with key and theme files.
    pub complaints: Vec<String>,
    /// Colours and glyphs.
    pub look: Look,
    /// Colours of the terminal.
    pub depth: Depth,
    /// Whether the theme is to suit the terminal's background.
    pub detect: bool,
}

/// The directory of user themes: `neuron-scope/themes` in the configuration directory.
fn themes_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("neuron-scope").join("themes"))
}

impl LookArgs {
    /// Where caches are kept.
    #[must_use]
    pub fn cache_dir(&self) -> Option<PathBuf> {
        if self.no_cache { None } else { cache::directory() }
    }

    /// Reads the files that the options name. With `user_files` also those in the configuration directory.
    #[must_use]
    pub fn choose(&self, user_files: bool) -> Chosen {
        let user = keymap::user_file().filter(|_| user_files);
        let loaded = keymap::load(self.keymap.as_deref(), user.as_deref());
        let mut complaints: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        let mut choices = vec![Theme::dark(), Theme::light()];
        if user_files {
            let entries = themes_dir().and_then(|dir| std::fs::read_dir(dir).ok());
            let mut files: Vec<PathBuf> = entries.into_iter().flatten().flatten().map(|e| e.path()).collect();
            files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
            files.sort();
            choices.extend(files.iter().filter_map(|f| read_theme(f, &mut complaints)));
        }
        let detect = self.theme == "auto";
        let theme = if detect {
            Theme::dark()
        } else if let Some(theme) = choices.iter().find(|t| t.name == self.theme) {
            theme.clone()
        } else {
            let path = PathBuf::from(&self.theme);
            if path.is_file() {
                let theme = read_theme(&path, &mut complaints).unwrap_or_else(Theme::dark);
                choices.push(theme.clone());
                theme
            } else {
                let names: Vec<&str> = choices.iter().map(|t| t.name.as_str()).collect();
                complaints.push(format!("--theme {}: there are auto, {}", self.theme, names.join(", ")));
                Theme::dark()
            }
        };
        let glyphs = glyphs::choose(self.ascii, super::env);
        let depth = Depth::detect(self.color, super::env);
        let look = Look { theme, glyphs, choices, plain: depth == Depth::None };
        Chosen { keymap: loaded.keymap, complaints, look, depth, detect }
    }
}

/// Reads a theme file; its name is that of the file where it gives none.
fn read_theme(path: &std::path::Path, complaints: &mut Vec<String>) -> Option<Theme> {
    let text = match crate::files::read_text(path, 1 << 20) {
        Ok(text) => text,
        Err(error) => {
            complaints.push(format!("{}: {error}", path.display()));
            return None;
        }
    };
    let (mut theme, errors) = theme::file::read(&text, &Theme::dark());
    complaints.extend(errors.iter().map(|e| format!("{}: {e}", path.display())));
    if theme.name == "dark" || theme.name == "light" {
        theme.name = path.file_stem().map_or_else(|| "mine".into(), |s| s.to_string_lossy().into_owned());
    }
    Some(theme)
}
