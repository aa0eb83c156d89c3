//! Settings, layouts and the program itself.

use std::path::PathBuf;

use crate::app::App;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::history::Purpose;
use crate::app::overlays::{Choice, HelpOverlay, PaletteOverlay, Pick, Prompt};

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::ColorNext => app.change("color-by", None),
        Action::ColorBy(arg) => choose(app, "color-by", arg.as_deref()),
        Action::Theme(arg) => choose(app, "theme", arg.as_deref()),
        Action::Set(arg) => app.set(arg.as_deref()),
        Action::LayoutSave(arg) => layout_save(app, arg.as_deref()),
        Action::LayoutLoad(arg) => layout_load(app, arg.as_deref()),
        Action::Mouse(arg) => app.change("mouse", arg.as_deref()),
        Action::Redraw => app.effects.push(Effect::Repaint),
        Action::Palette(arg) => {
            let palette = PaletteOverlay::new(app, arg.as_deref().unwrap_or(""));
            app.show(palette);
        }
        Action::Help => {
            let help = HelpOverlay::new(app);
            app.show(help);
        }
        Action::Escape => escape(app),
        Action::Quit => {
            if app.opening().is_some() {
                app.cancel_opening();
            } else if app.panes.focused().is_some() {
                app.panes.close();
            } else {
                app.end();
            }
        }
        Action::QuitNow => app.end(),
        Action::Open(arg) => open(app, arg.as_deref()),
        Action::Suspend => app.effects.push(Effect::Suspend),
        _ => return false,
    }
    true
}

/// Undoes one level, in a fixed order: what is said, the area, the highlight, the focus of a pane, the selection,
/// the opening. (Pop-ups take Esc themselves.)
fn escape(app: &mut App) {
    if super::export::cancel(app) {
        return;
    }
    let scene = &mut app.scene;
    if scene.area.take().is_some() || scene.highlight.take().is_some() {
        return;
    }
    if app.panes.maximized {
        app.panes.maximized = false;
    } else if app.panes.focused().is_some() {
        app.panes.set_focus(None);
    } else if scene.selection.take().is_none() && app.opening().is_some() {
        app.cancel_opening();
    }
}

/// Sets a setting, or has its value chosen from a list.
fn choose(app: &mut App, name: &'static str, value: Option<&str>) {
    if value.is_some() {
        app.change(name, value);
        return;
    }
    let vocabulary = app.vocabulary();
    let Some(setting) = vocabulary.settings.into_iter().find(|s| s.name == name) else { return };
    let at = setting.choices.iter().position(|c| *c == setting.value).unwrap_or(0);
    let choices = setting
        .choices
        .into_iter()
        .map(|value| Choice::new(value.clone(), "", move |app| app.change(name, Some(&value))));
    app.show(Pick::new(setting.text, choices.collect()).at(at));
}

fn layout_save(app: &mut App, name: Option<&str>) {
    match name {
        Some(name) => {
            if let Err(why) = app.save_layout(name) {
                app.fail(why);
            }
        }
        None => {
            let words = app.layouts();
            let prompt = Prompt::new(Purpose::Name, "keep layout as: ", "a name", |name, app| app.save_layout(name));
            app.show(prompt.with_words(words));
        }
    }
}

fn layout_load(app: &mut App, name: Option<&str>) {
    match name {
        Some(name) => {
            if let Err(why) = app.load_layout(name) {
                app.fail(why);
            }
        }
        None => {
            let choices = app.layouts().into_iter().map(|name| {
                Choice::new(name.clone(), "", move |app| {
                    if let Err(why) = app.load_layout(&name) {
                        app.fail(why);
                    }
                })
            });
            let choices: Vec<Choice> = choices.collect();
            if choices.is_empty() {
                app.refuse("no layout has been kept yet");
            } else {
                app.show(Pick::new("Layouts", choices));
            }
        }
    }
}

/// Opens a path; without one, one of the recent profiles.
fn open(app: &mut App, path: Option<&str>) {
    if let Some(path) = path {
        app.open_path(PathBuf::from(path));
        return;
    }
    let recent = app.recent();
    let choices = recent.into_iter().map(|recent| {
        Choice::new(recent.name, recent.path.display().to_string(), move |app| app.open_path(recent.path))
    });
    let mut choices: Vec<Choice> = choices.collect();
    choices.push(Choice::new("another path …", "", |app| {
        app.show(Prompt::new(Purpose::Path, "open: ", "a directory or file", |path, app| {
            if path.is_empty() {
                return Err("a path is needed".into());
            }
            app.open_path(PathBuf::from(path));
            Ok(())
        }));
    }));
    app.show(Pick::new("Open", choices));
}
