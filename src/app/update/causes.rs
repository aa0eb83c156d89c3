//! Why something started when it did, and what the colours of the answers mean.

use crate::app::App;
use crate::app::action::Action;
use crate::app::overlays::Notice;
use crate::app::settings::color_word;
use crate::ui::popup::{Paragraph, Tone};

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::Legend(_) => legend(app),
        _ => return crate::app::causes::update(app, action),
    }
    true
}

/// What glyphs and colours mean.
fn legend(app: &mut App) {
    let (theme, glyphs) = (&app.look.theme, app.look.glyphs);
    let heading = |text: &str| Paragraph::new(text, Tone::Heading);
    let plain = |text: String| Paragraph::new(text, Tone::Plain);
    let sample = |color, text: &str| Paragraph::new(text, Tone::Sample(color));
    let blank = || Paragraph::new("", Tone::Plain);
    let [light, medium, dark] = glyphs.shades;
    let text = vec![
        heading("Engine tracks"),
        plain(format!("{}{}{}  working: one event", glyphs.slice_left, glyphs.full, glyphs.slice_right)),
        plain(format!("{light}{medium}{dark}  working: many events, the more the darker")),
        plain(format!("{0}{0}{0}  transposing only", glyphs.transposing)),
        plain(format!("{0}{0}{0}  waiting for a semaphore", glyphs.wait)),
        plain("     idle: nothing was issued".into()),
        plain(format!("{}    an event without a duration", glyphs.instant)),
        blank(),
        heading(&format!("Colours of events: by {}", color_word(app.coloring))),
        sample(theme.selection, "the selected event"),
        sample(theme.highlight, "events of the same name"),
        sample(theme.matched, "matches of the search"),
        sample(theme.current_match, "the match one is at"),
        blank(),
        heading("What is linked to the selected event"),
        sample(theme.dma_starter, "the instruction that started the transfer"),
        sample(theme.transfer, "transfers of the instruction"),
        sample(theme.flow, "flow: reads what the other wrote"),
        sample(theme.anti, "anti: overwrites what the other read"),
        sample(theme.output, "output: overwrites what the other wrote"),
        sample(theme.ordered, "ordered: issued after the other"),
        sample(theme.psum_bank, "used the same PSUM bank"),
        sample(theme.window, "part of the chain or list of causes that is shown"),
    ];
    app.show(Notice::new("Legend", text));
}
