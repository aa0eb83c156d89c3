//! What goes over the line: panning sends little, nothing new sends nothing, many keys at once make one frame.

use neuron_scope::app::Start;
use neuron_scope::app::headless::Headless;
use neuron_scope::app::keymap::{Keymap, Loaded, load, parse_script};
use neuron_scope::source::discover;
use neuron_scope::term::color::Depth;

use super::{DEMO, press};

fn keymap(extra: &str) -> Keymap {
    let Loaded { keymap, problems } = Keymap::from_toml("test", &format!("preset = \"default\"\n[global]\n{extra}"));
    assert_eq!(problems, []);
    keymap
}

fn colored(keymap: Keymap) -> Headless {
    let mut app = Headless::new(Start { keymap, ..Start::default() }, (200, 60), Depth::TrueColor);
    app.open(discover(&DEMO).unwrap());
    app
}

#[test]
fn panning_lets_the_terminal_move_the_lines() {
    for (columns, most) in [(4u64, 4096), (15, 1024 + 90 * 60), (60, 1024 + 90 * 60)] {
        let mut app = colored(keymap(&format!("\"d\" = \"pan-right {columns}\"")));
        press(&mut app, "llllllllllwwwwwww");
        let before = app.stats().bytes().len();
        for _ in 0..20 {
            app.hold(parse_script("d").unwrap()[0]);
        }
        let panned = &app.stats().bytes()[before..];
        assert_eq!(panned.len(), 20);
        assert!(panned.iter().all(|&bytes| bytes <= most), "{columns} columns: {panned:?}");
    }
}

#[test]
fn zooming_and_jumping_stay_below_sixty_kilobytes() {
    let mut app = colored(load(Some("default"), None).keymap);
    press(&mut app, "wwwwsswwjjj...gegg0u");
    let bytes = app.stats().bytes();
    assert!(bytes.iter().all(|&b| b <= 60 * 1024), "{bytes:?}");
}

#[test]
fn what_changes_nothing_sends_nothing() {
    let mut app = colored(load(Some("default"), None).keymap);
    press(&mut app, "<Esc>");
    let before = app.stats().bytes().len();
    press(&mut app, "<Esc><Esc><Esc>");
    assert_eq!(app.stats().bytes().len(), before);
}

#[test]
fn keys_that_come_at_once_make_one_frame_and_the_same_screen() {
    let keys = "d".repeat(90) + &"w".repeat(20) + &"h".repeat(30) + &"j".repeat(10) + &".".repeat(50);
    let keys = parse_script(&keys).unwrap();
    let mut burst = colored(load(Some("default"), None).keymap);
    burst.burst(&keys);
    // One for the keys, one for what was put off while they came.
    assert!(burst.stats().bytes().len() <= 2, "{:?}", burst.stats().bytes());
    let mut single = colored(load(Some("default"), None).keymap);
    keys.iter().for_each(|key| single.press(*key));
    assert_eq!(burst.buffer(), single.buffer());
}
