//! Screens of the demo profile, as they were looked at and found good.

#![allow(clippy::unwrap_used)] // Tests may.

mod behaviour;
mod bytes;
mod causes;
mod marks;
mod search;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use neuron_scope::app::Start;
use neuron_scope::app::headless::{Headless, text};
use neuron_scope::app::keymap::parse_script;
use neuron_scope::source::discover;
use neuron_scope::term::color::Depth;
use neuron_scope::term::glyphs::ASCII;
use neuron_scope::ui::look::Look;

/// The demo profile, in a directory that is the current one, so that its path looks the same everywhere.
static DEMO: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screens");
    let path = neuron_scope::demo::write(&dir).unwrap();
    std::env::set_current_dir(&dir).unwrap();
    path.strip_prefix(&dir).unwrap().to_owned()
});

fn demo(size: (u16, u16)) -> Headless {
    demo_with(size, Look { plain: true, ..Look::default() })
}

fn demo_with(size: (u16, u16), look: Look) -> Headless {
    let mut app = Headless::new(Start { look, ..Start::default() }, size, Depth::None);
    app.open(discover(&DEMO).unwrap());
    app
}

fn press(app: &mut Headless, keys: &str) {
    for key in parse_script(keys).unwrap() {
        app.press(key);
    }
}

fn screen(size: (u16, u16), keys: &str) -> String {
    let mut app = demo(size);
    press(&mut app, keys);
    text(app.buffer(), false)
}

#[test]
fn first_screens() {
    insta::assert_snapshot!("first_80x24", screen((80, 24), ""));
    insta::assert_snapshot!("first_120x40", screen((120, 40), ""));
    insta::assert_snapshot!("first_200x60", screen((200, 60), ""));
}

#[test]
fn an_event_in_all_its_detail() {
    insta::assert_snapshot!("event_80x24", screen((80, 24), "wwww...<Tab>jj"));
    insta::assert_snapshot!("event_120x40", screen((120, 40), "wwwww.f"));
}

#[test]
fn what_lies_over_the_screen() {
    insta::assert_snapshot!("help_80x24", screen((80, 24), "?"));
    insta::assert_snapshot!("palette_120x40", screen((120, 40), ":zoom"));
    insta::assert_snapshot!("pending_80x24", screen((80, 24), "g"));
    insta::assert_snapshot!("warning_80x24", screen((80, 24), "!"));
    insta::assert_snapshot!("tracks_80x24", screen((80, 24), "T"));
}

#[test]
fn without_unicode() {
    let look = Look { glyphs: &ASCII, plain: true, ..Look::default() };
    let mut app = demo_with((80, 24), look);
    press(&mut app, "www.");
    let shown = text(app.buffer(), false);
    assert!(shown.is_ascii(), "{shown}");
    insta::assert_snapshot!("ascii_80x24", shown);
}

#[test]
fn small_terminals_are_told_what_is_needed() {
    insta::assert_snapshot!("small_40x10", screen((40, 10), ""));
}
