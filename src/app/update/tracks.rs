//! Which rows are shown, and how.

use crate::app::App;
use crate::app::action::Action;
use crate::app::fuzzy::rank;
use crate::app::overlays::{Choice, Pick};
use crate::query::tracks::{Node, NodeId};

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::Fold => fold(app),
        Action::FoldAll => fold_all(app, true),
        Action::UnfoldAll => fold_all(app, false),
        Action::Pin => with_node(app, |app, id| {
            let tree = app.scene.tree.clone();
            app.scene.arrangement.toggle_pin(tree.node(id));
            app.scene.rearrange();
        }),
        Action::Hide => with_node(app, |app, id| {
            let node = app.scene.tree.node(id);
            let (key, name) = (node.key.clone(), node.full.clone());
            app.scene.arrangement.hidden.insert(key);
            app.scene.rearrange();
            app.say(format!("{name} is hidden{}", key_hint(app, &Action::ShowAll, "shows all again")));
        }),
        Action::ShowOnly => with_node(app, |app, id| {
            let key = app.scene.tree.node(id).key.clone();
            let only = &mut app.scene.arrangement.only;
            *only = if only.as_ref() == Some(&key) { None } else { Some(key) };
            let shown = only.is_some();
            app.scene.rearrange();
            if shown {
                app.say(format!("only this is shown{}", key_hint(app, &Action::ShowAll, "shows all again")));
            }
        }),
        Action::ShowAll => {
            let arrangement = &mut app.scene.arrangement;
            arrangement.hidden.clear();
            arrangement.only = None;
            arrangement.without_idle = false;
            arrangement.core = None;
            app.scene.rearrange();
            app.say("all tracks are shown");
        }
        Action::TrackFind(arg) => find(app, arg.as_deref()),
        Action::TrackMoveUp => shift(app, false),
        Action::TrackMoveDown => shift(app, true),
        Action::Taller => grow(app, 1),
        Action::Shorter => grow(app, -1),
        Action::DmaGrouping(arg) => app.change("dma-grouping", arg.as_deref()),
        Action::SplitSequencer(arg) => app.change("split-sequencer", arg.as_deref()),
        Action::Grouping(arg) => app.change("grouping", arg.as_deref()),
        Action::IdleTracks(arg) => app.change("idle-tracks", arg.as_deref()),
        Action::Core(arg) => app.change("core", arg.as_deref()),
        Action::BlameTrack(arg) => app.change("blame-track", arg.as_deref()),
        Action::FollowSemaphore(arg) => crate::app::causes::semaphore::follow(app, arg.as_deref()),
        _ => return false,
    }
    true
}

/// `; X does this`, where a key is bound to it.
fn key_hint(app: &App, action: &Action, what: &str) -> String {
    let key = app.keymap.hint(crate::app::keymap::Context::Timeline, action);
    key.map_or_else(String::new, |key| format!("; {key} {what}"))
}

fn with_node(app: &mut App, work: impl FnOnce(&mut App, NodeId)) {
    match app.scene.node_id() {
        Some(id) => work(app, id),
        None => app.refuse("there is no track here"),
    }
}

/// Folds a group or unfolds it; on a track folds the group that it lies in.
fn fold(app: &mut App) {
    with_node(app, |app, id| {
        let tree = app.scene.tree.clone();
        let node = tree.node(id);
        let group = if node.children.is_empty() { node.parent } else { Some(id) };
        let Some(group) = group else {
            app.refuse("this track lies in no group");
            return;
        };
        let node = tree.node(group);
        let folded = app.scene.arrangement.is_folded(node);
        app.scene.arrangement.folded.insert(node.key.clone(), !folded);
        app.scene.rearrange();
        app.scene.show_track(group);
    });
}

fn fold_all(app: &mut App, fold: bool) {
    let tree = app.scene.tree.clone();
    // Of the current track, the outermost group stays in view.
    let mut top = app.scene.node_id();
    while let Some(parent) = top.and_then(|id| tree.node(id).parent) {
        top = Some(parent);
    }
    for node in tree.nodes.iter().filter(|n| !n.children.is_empty()) {
        app.scene.arrangement.folded.insert(node.key.clone(), fold);
    }
    app.scene.rearrange();
    if let Some(top) = top.filter(|_| fold) {
        app.scene.show_track(top);
    }
}

fn shift(app: &mut App, down: bool) {
    with_node(app, |app, id| {
        let tree = app.scene.tree.clone();
        if app.scene.arrangement.shift(&tree, id, down) {
            app.scene.rearrange();
        } else {
            app.refuse("the track is at the end of its group already");
        }
    });
}

/// A track of events gets rows of their own for events that overlap; others are drawn higher.
fn grow(app: &mut App, by: i32) {
    with_node(app, |app, id| {
        let tree = app.scene.tree.clone();
        let node = tree.node(id);
        let spreads = node.track().is_some() && node.kind == crate::query::tracks::Kind::Slices;
        if !spreads {
            app.scene.arrangement.grow(node, by);
            app.scene.rearrange();
            return;
        }
        let key = node.key.clone();
        let changed = if by > 0 { app.scene.spread.insert(key) } else { app.scene.spread.remove(&node.key) };
        if changed {
            let options = app.scene.options;
            app.retrack(options, |_| ());
        } else {
            app.say(if by > 0 {
                "events that overlap have rows of their own already"
            } else {
                "the track is one row high"
            });
        }
    });
}

/// Where a node lies, for lists: the names above it.
fn path(app: &App, node: &Node) -> String {
    let mut names = Vec::new();
    let mut above = node.parent;
    while let Some(id) = above {
        let node = app.scene.tree.node(id);
        names.push(node.label.clone());
        above = node.parent;
    }
    names.reverse();
    names.join(" / ")
}

fn find(app: &mut App, name: Option<&str>) {
    let tree = app.scene.tree.clone();
    if let Some(name) = name {
        let names = tree.nodes.iter().map(|n| (n.full.as_str(), n.label.as_str()));
        match rank(name, names).first() {
            Some((index, _)) => go(app, *index as NodeId),
            None => app.refuse(format!("no track is called {name:?}")),
        }
        return;
    }
    let choices = (0..tree.nodes.len() as NodeId).map(|id| {
        let node = tree.node(id);
        Choice::new(node.full.clone(), path(app, node), move |app| go(app, id))
    });
    let choices: Vec<Choice> = choices.collect();
    let current = app.scene.node_id().unwrap_or(0) as usize;
    app.show(Pick::new(format!("{} tracks", choices.len()), choices).at(current));
}

fn go(app: &mut App, id: NodeId) {
    app.scene.leave();
    app.scene.show_track(id);
    super::moves::select_under_cursor(&mut app.scene);
}
