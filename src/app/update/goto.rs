//! Going to a time, a pc or an id.

use std::sync::Arc;

use super::events::visit;
use crate::app::App;
use crate::app::effect::Effect;
use crate::app::history::Purpose;
use crate::app::jobs::Job;
use crate::app::overlays::{Choice, Pick, Prompt};
use crate::app::panes::event_choice;
use crate::model::time::{Moment, format_duration, format_time, parse_time};
use crate::query::place::{Occurrence, PcQuery, Place, find_id, find_pc, parse_pc, parse_place};
use crate::store::Problem;

/// How many events a list offers at most.
const MOST: usize = 5000;

pub fn time(app: &mut App, text: Option<&str>) {
    ask(app, text, "time: ", "17.2 µs, 18172 (ns), +5us (from the cursor), @1700000000000000us", |text| {
        parse_time(text).map(Place::Time).map_err(|e| e.to_string())
    });
}

/// `+5us`: so much after the cursor, as a time from the origin.
fn from_cursor(app: &App, text: &str) -> Option<String> {
    match parse_time(text.trim().strip_prefix('+')?).ok()? {
        Moment::Origin(time) => Some(app.scene.view.cursor().saturating_add(time).to_string()),
        Moment::Unix(_) => None,
    }
}

pub fn pc(app: &mut App, text: Option<&str>) {
    ask(app, text, "pc: ", "316, 316@Tensor(nc0), 316@Tensor(nc0)#3", |text| parse_pc(text).map(Place::Pc));
}

pub fn id(app: &mut App, text: Option<&str>) {
    ask(app, text, "id: ", "an id, or Table:id", |text| parse_place(text, true));
}

pub fn place(app: &mut App, text: Option<&str>) {
    let words = app.marking.all().iter().map(|m| m.name.clone()).collect();
    let go_or_mark = |text: &str, app: &mut App| {
        let absolute = from_cursor(app, text);
        let text = absolute.as_deref().unwrap_or(text);
        // A mark's name counts where the text is nothing else; `mark:1` always means the mark.
        let (name, named) = text.trim().strip_prefix("mark:").map_or((text, false), |name| (name, true));
        let mark = app.marking.all().iter().find(|m| m.name == name).cloned();
        match (parse_place(text, false), mark) {
            (place, Some(mark)) if named || place.is_err() => {
                super::marks::go_to(app, &mark);
                Ok(())
            }
            (_, None) if named => Err(format!("there is no mark {name:?}")),
            (place, _) => place.and_then(|place| go(app, place)),
        }
    };
    match text {
        Some(text) => {
            if let Err(why) = go_or_mark(text, app) {
                app.refuse(why);
            }
        }
        None => {
            let hint = "a time, pc:N, id:N, at:TIME@TRACK or mark:NAME";
            app.show(Prompt::new(Purpose::Goto, "go to: ", hint, go_or_mark).with_words(words));
        }
    }
}

fn ask(app: &mut App, text: Option<&str>, prompt: &str, placeholder: &str, parse: fn(&str) -> Result<Place, String>) {
    match text {
        Some(text) => {
            if let Err(why) = read(app, text, parse).and_then(|place| go(app, place)) {
                app.refuse(why);
            }
        }
        None => app.show(Prompt::new(Purpose::Goto, prompt, placeholder, move |text, app| {
            read(app, text, parse).and_then(|place| go(app, place))
        })),
    }
}

/// Says that there is no such track, and which are called nearly so.
fn no_track(app: &App, track: &str) -> String {
    let wanted = track.to_lowercase();
    let like = app.scene.tree.nodes.iter().map(|n| n.full.as_str()).filter(|n| n.to_lowercase().contains(&wanted));
    let like: Vec<&str> = like.take(4).collect();
    let hint = if like.is_empty() { String::new() } else { format!("; there is {}", like.join(", ")) };
    format!("there is no track {track:?}{hint}")
}

fn read(app: &App, text: &str, parse: fn(&str) -> Result<Place, String>) -> Result<Place, String> {
    parse(from_cursor(app, text).as_deref().unwrap_or(text))
}

/// Goes to a place; what must be looked up is gone to once it has been found.
fn go(app: &mut App, place: Place) -> Result<(), String> {
    match place {
        Place::Time(moment) => {
            let time = resolve(app, moment)?;
            let whole = app.scene.view.whole();
            if time < whole.start || time > whole.end {
                let (start, end) = (format_time(whole.start, 1), format_time(whole.end, 1));
                return Err(format!("the profile lasts from {start} to {end}"));
            }
            app.scene.leave();
            app.scene.view.jump(time);
            super::moves::select_at_cursor(&mut app.scene);
        }
        Place::At { time, track } => {
            let time = resolve(app, time)?;
            let tree = &app.scene.tree;
            let named = (0..tree.nodes.len() as u32).find(|&id| tree.node(id).full.eq_ignore_ascii_case(&track));
            let id = named.ok_or_else(|| no_track(app, &track))?;
            app.scene.leave();
            app.scene.show_track(id);
            app.scene.view.jump(time);
            super::moves::select_at_cursor(&mut app.scene);
        }
        Place::Id { table, id } => {
            let store = app.scene.store.clone();
            app.say(format!("looking for id {id} …"));
            app.effects.push(Effect::Job(Job::new("goto", move |reporter| {
                let found = find_id(&store, table.as_deref(), id);
                reporter.answer(move |app| {
                    if !Arc::ptr_eq(&store, &app.scene.store) {
                        return;
                    }
                    app.message = None;
                    match found.as_deref() {
                        Err(why) => app.refuse(why.clone()),
                        Ok([]) => app.refuse(format!("no event has the id {id}")),
                        Ok([event]) => visit(app, *event),
                        Ok(events) => {
                            let choices = events.iter().take(MOST).map(|&e| event_choice(app, e)).collect();
                            app.show(Pick::new(format!("{} events have the id {id}", events.len()), choices));
                        }
                    }
                });
            })));
        }
        Place::Pc(query) => {
            let store = app.scene.store.clone();
            app.say(format!("looking for pc {} …", query.pc));
            app.effects.push(Effect::Job(Job::new("goto", move |reporter| {
                let found = find_pc(&store, &query);
                reporter.answer(move |app| {
                    if Arc::ptr_eq(&store, &app.scene.store) {
                        app.message = None;
                        arrive(app, &query, found);
                    }
                });
            })));
        }
    }
    Ok(())
}

fn resolve(app: &App, moment: Moment) -> Result<i64, String> {
    moment.resolve(app.scene.store.info.origin_unix_ns).map_err(|e| e.to_string())
}

/// A pc is unique only per core, engine and occurrence: asks which.
fn arrive(app: &mut App, query: &PcQuery, found: Result<Vec<Occurrence>, Problem>) {
    match found.as_deref() {
        Err(problem) => app.fail(format!("{}: {}", problem.path.display(), problem.message)),
        Ok([]) => app.refuse(format!("no instruction has the pc {}", query.pc)),
        Ok([one]) => visit(app, one.event),
        Ok(found) => {
            let store = &app.scene.store;
            let choices = found.iter().take(MOST).map(|o| {
                let table = store.table_of(o.event);
                let label = format!("{} #{}", o.track, o.nth);
                let length = format_duration(table.lengths.at(o.event.event as usize));
                let detail = format!("{}  {}  {length}", format_time(o.start, 1), table.event_name(o.event.event));
                let event = o.event;
                Choice::new(label, detail, move |app| visit(app, event))
            });
            let title = format!("pc {}: which of {} executions?", query.pc, found.len());
            app.show(Pick::new(title, choices.collect()));
        }
    }
}
