//! What the selection is linked to, as JSON for the clipboard.

use serde_json::{Value, json};

use super::links::{self, Link};
use crate::app::App;
use crate::app::effect::Effect;
use crate::app::jobs::Job;
use crate::query::causes::{Actor, Asking};
use crate::query::details::event_json;

/// An event as JSON, with what is known of its cause.
fn event(asking: &Asking, actor: Actor) -> serde_json::Map<String, Value> {
    let mut out = event_json(asking.store, asking.event(actor));
    if let Actor::Instruction(e) = actor
        && let Some(pc) = asking.index.operands.pc(e)
    {
        out.insert("pc".into(), json!(pc));
    }
    out
}

/// A dependency as JSON.
fn dependency(asking: &Asking, link: &Link) -> Value {
    json!({
        "event": event(asking, link.actor),
        "kinds": link.kinds,
        "gap_ns": link.gap,
        "bound": link.bound,
        "basis": if link.recorded { "recorded" } else { "derived" },
    })
}

/// Copies the selection with all that it is linked to.
pub fn neighborhood(app: &mut App) -> Result<(), String> {
    let (actor, _) = app.held()?;
    in_background(app, move |asking| {
        let found = links::of_actor(asking, actor);
        let list = |links: &[Link]| links.iter().map(|l| dependency(asking, l)).collect::<Vec<_>>();
        json!({
            "event": event(asking, actor),
            "why": found.why.as_ref().map(|w| json!({
                "text": w.text, "lag_ns": w.lag, "basis": w.basis.name(),
                "by": w.by.map(|by| event(asking, by)),
            })),
            "predecessors": list(&found.before),
            "successors": list(&found.after),
            "left_out": { "predecessors": found.left_out.0, "successors": found.left_out.1 },
        })
    });
    Ok(())
}

/// Copies one dependency of the selection.
pub fn one(app: &mut App, link: Link, before: bool) -> Result<(), String> {
    let (actor, _) = app.held()?;
    in_background(app, move |asking| {
        let other = dependency(asking, &link);
        let own = event(asking, actor);
        if before { json!({ "predecessor": other, "event": own }) } else { json!({ "event": own, "successor": other }) }
    });
    Ok(())
}

/// Ids are read from files, so this is done off the UI thread.
fn in_background(app: &mut App, make: impl FnOnce(&Asking) -> Value + Send + 'static) {
    let Some((store, index)) = app.sources() else { return };
    app.effects.push(Effect::Job(Job::new("copy", move |reporter| {
        let json = make(&Asking::new(&store, &index));
        reporter.answer(move |app| app.effects.push(Effect::Copy(format!("{json:#}"))));
    })));
}
