//! From effects to causes and back: the keys of the group Causes.

use super::links::signed;
use super::trail::{Step, Stop};
use super::{copy, reports};
use crate::app::App;
use crate::app::action::Action;
use crate::app::overlays::{Choice, Pick};
use crate::app::scene::Selection;
use crate::app::update::events::visit;
use crate::model::length;
use crate::model::time::format_duration;
use crate::query::causes::{Actor, Asking};

/// Carries out an action; what needs the index waits for it.
pub fn update(app: &mut App, action: &Action) -> bool {
    if let Action::CopyTrail = action {
        copy_trail(app);
        return true;
    }
    let known = matches!(
        action,
        Action::BlockedBy
            | Action::Unblocks
            | Action::BlockedByChoose
            | Action::UnblocksChoose
            | Action::BindingChain
            | Action::Reach(_)
            | Action::CriticalPath
            | Action::WhatIf(_)
            | Action::CopyNeighborhood
    );
    if !known || !app.knows_causes(Some(action)) {
        return known;
    }
    let done = match action {
        Action::BlockedBy => blocked_by(app),
        Action::Unblocks => unblocks(app),
        Action::BlockedByChoose => choose_cause(app),
        Action::UnblocksChoose => choose_effect(app),
        Action::BindingChain => reports::chain(app),
        Action::Reach(depth) => reports::reach(app, depth.as_deref()),
        Action::CriticalPath => reports::critical_path(app),
        Action::WhatIf(text) => reports::what_if(app, text.as_deref()),
        _ => copy::neighborhood(app),
    };
    if let Err(why) = done {
        app.refuse(why);
    }
    true
}

/// Goes to what bound the start of the selected event, or ended the selected gap.
fn blocked_by(app: &mut App) -> Result<(), String> {
    let (actor, _) = app.held()?;
    let asking = app.asking().ok_or("")?;
    let why = asking.why(actor);
    let lag = signed(i64::try_from(why.lag).unwrap_or(i64::MAX));
    let Some(by) = why.by else {
        let note = asking.index.notes.first().map_or(String::new(), |n| format!(" ({n})"));
        return Err(format!("{}{note}", why.text));
    };
    let how = format!("{}  {lag}  {}", why.text, why.basis.name());
    walk(app, by, how, false);
    Ok(())
}

/// Goes to what the selected event unblocked first, or to what ended the selected gap.
fn unblocks(app: &mut App) -> Result<(), String> {
    let (actor, gap) = app.held()?;
    if let Some(gap) = gap {
        let actor = gap.next.map_or(actor, Actor::Instruction);
        walk(app, actor, format!("ended {} of idling", format_duration(gap.length())), true);
        return Ok(());
    }
    let asking = app.asking().ok_or("")?;
    let Some(next) = asking.unblocked(actor).first().copied() else {
        let others = asking.effects(actor).len();
        return Err(match others {
            0 => "nothing waited for this".into(),
            n => format!("nothing started because of this; {n} waited for it, but longer for something else"),
        });
    };
    let why = asking.why(next);
    let how = format!("{}  {}", asking.name(next), signed(asking.span(next).0.saturating_sub(asking.span(actor).1)));
    walk(app, next, format!("{how}  {}", why.basis.name()), true);
    Ok(())
}

/// Goes to `to`, and notes the step.
pub fn walk(app: &mut App, to: Actor, how: String, forward: bool) {
    let Some(subject) = app.subject() else { return };
    let Some(asking) = app.asking() else { return };
    let event = asking.event(to);
    let start = asking.span(to).0;
    let from = stop(&asking, app, subject);
    let step = Step {
        forward,
        how: how.clone(),
        to: Stop { selection: Selection::Event(event), name: asking.name(to), start },
    };
    app.causes.trail.walk(from, step);
    if app.scene.tree.track_of(&app.scene.store, event).is_some() {
        app.scene.leave();
        let window = app.scene.view.window();
        // Near by, the window moves no further than it must.
        if length(start, window.start).max(length(window.end, start)) < window.length() {
            app.scene.view.set_cursor(start);
        }
        app.scene.go_to(event);
    } else {
        visit(app, event);
    }
    let arrow = if forward { "→" } else { "←" };
    let steps = app.causes.trail.len();
    let step = if steps > 1 { format!("step {steps}  ") } else { String::new() };
    app.say(format!("{step}{arrow} {how}"));
}

fn stop(asking: &Asking, app: &App, selection: Selection) -> Stop {
    match &selection {
        Selection::Event(event) => {
            let actor = asking.actor(*event);
            Stop { name: asking.name(actor), start: asking.span(actor).0, selection }
        }
        Selection::Gap { track, window } => {
            let node = app.scene.tree.find(track).map(|id| app.scene.tree.node(id).full.clone());
            let name = format!("gap of {} on {}", format_duration(window.length()), node.unwrap_or_default());
            Stop { name, start: window.start, selection }
        }
    }
}

/// Has one of all that the selection waited for chosen.
fn choose_cause(app: &mut App) -> Result<(), String> {
    let (actor, _) = app.held()?;
    let asking = app.asking().ok_or("")?;
    let found = asking.choices(actor);
    let choices: Vec<Choice> = found
        .iter()
        .map(|choice| {
            let how = asking.how_text(&choice.cause.how);
            let through = choice.through.map_or(String::new(), |w| format!(" through {}", asking.name(w)));
            let slack = match choice.slack {
                0 => "bound the start".to_owned(),
                slack => format!("could have been {} later", format_duration(slack)),
            };
            let label = choice.actor.map_or_else(|| how.clone(), |by| asking.name(by));
            let detail = format!("{how}{through}  {slack}  {}", choice.cause.basis.name());
            let by = choice.actor;
            let text = format!("{how} ← {label}  {slack}");
            Choice::new(label, detail, move |app| match by {
                Some(by) => walk(app, by, text, false),
                None => app.refuse("what changed this is not recorded"),
            })
        })
        .collect();
    let title = format!("what {} waited for", asking.name(actor));
    if choices.is_empty() {
        return Err(asking.why(actor).text);
    }
    app.show(Pick::new(title, choices));
    Ok(())
}

/// Has one of all that waited for the selection chosen.
fn choose_effect(app: &mut App) -> Result<(), String> {
    let (actor, gap) = app.held()?;
    if gap.is_some() {
        return unblocks(app);
    }
    let asking = app.asking().ok_or("")?;
    let end = asking.span(actor).1;
    let choices: Vec<Choice> = asking
        .effects(actor)
        .into_iter()
        .map(|effect| {
            let label = asking.name(effect.actor);
            let gap = signed(asking.span(effect.actor).0.saturating_sub(end));
            let bound = match (effect.bound, effect.slack) {
                (true, _) => "started because of this".to_owned(),
                (false, slack) => format!("waited {} longer for something else", format_duration(slack)),
            };
            let text = format!("{label}  {gap}");
            Choice::new(label, format!("{gap}  {bound}"), move |app| walk(app, effect.actor, text, true))
        })
        .collect();
    if choices.is_empty() {
        return Err("nothing waited for this".into());
    }
    let title = format!("what waited for {}", asking.name(actor));
    app.show(Pick::new(title, choices));
    Ok(())
}

fn copy_trail(app: &mut App) {
    if app.causes.trail.is_empty() {
        app.refuse("no cause has been followed yet");
        return;
    }
    let text = app.causes.trail.text();
    app.effects.push(crate::app::effect::Effect::Copy(text));
}
