//! Profiles that the vendor's tool has to convert first.

use std::path::PathBuf;

use super::App;
use super::effect::Effect;
use super::jobs::Job;
use super::opening::{Opening, SLOT};
use super::overlays::{Choice, Pick};
use crate::source::convert::{self, Input};
use crate::source::{self, Found};
use crate::store::Problem;

impl App {
    /// Asks whether to convert what was found; says how to do it elsewhere where the tool is not installed.
    pub(super) fn offer_conversion(&mut self, found: Found) {
        let input = Input::of(&found);
        let cache = self.cache_dir.clone().or_else(crate::store::cache::directory);
        let (Some(cache), Some(tool)) = (cache, convert::tool()) else {
            self.cannot_open(convert::needed(&found));
            return;
        };
        if let Some(converted) = convert::result_of(&input, &cache) {
            self.open_path(converted);
            return;
        }
        let title = format!("{} has to be converted by neuron-explorer first", found.name);
        let command = input.command(&PathBuf::from("…"));
        let now = Choice::new("convert it now", command, move |app: &mut App| app.convert(found, input, tool, cache));
        let not = Choice::new("leave it", "", App::end_if_empty);
        self.show(Pick::new(title, vec![now, not]).or_else(App::end_if_empty));
    }

    fn convert(&mut self, found: Found, input: Input, tool: PathBuf, cache: PathBuf) {
        self.opening = Some(Opening { name: found.name, step: "converting".into(), share: None });
        self.effects.push(Effect::Job(Job::new(SLOT, move |reporter| {
            let said = |line: &str| {
                let step = format!("neuron-explorer: {line}");
                reporter.answer(move |app| {
                    if let Some(opening) = &mut app.opening {
                        opening.step = step;
                    }
                });
            };
            let result = convert::convert(&input, &tool, &cache, reporter.flag(), &said).and_then(|directory| {
                let fail = |message: &str| Problem { path: directory.clone(), message: message.into() };
                let found = source::survey(&directory)?.found;
                if found.is_empty() { Err(fail("holds no profile")) } else { Ok(found) }
            });
            reporter.answer(move |app| {
                app.opening = None;
                match result {
                    Ok(found) => app.open_one_of(found),
                    Err(problem) => app.cannot_open(problem),
                }
            });
        })));
    }

    /// Ends the program where nothing is open.
    pub(super) fn end_if_empty(&mut self) {
        if !self.opened && !self.has_profile() {
            self.end();
        }
    }
}
