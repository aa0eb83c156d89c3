use proptest::prelude::*;

use super::*;
use crate::app::keymap::parse_script;

fn vocabulary() -> Vocabulary {
    let setting = |name: &str, value: &str, choices: &[&str]| Setting {
        name: name.into(),
        value: value.into(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        text: format!("The {name}"),
    };
    Vocabulary {
        settings: vec![setting("scroll-speed", "3", &[]), setting("labels", "short", &["short", "long"])],
        words: vec![(ArgKind::Name("theme"), vec!["dark".into(), "light".into(), "darker".into()])],
    }
}

fn palette(text: &str) -> Palette {
    Palette::new(&Keymap::default(), vocabulary(), &History::default(), text)
}

fn play(palette: &mut Palette, keys: &str) -> PaletteEvent {
    let mut last = PaletteEvent::Ignored;
    for event in parse_script(keys).unwrap() {
        last = palette.on_key(event, &History::default());
    }
    last
}

/// What is run after the keys, or the error.
fn run(keys: &str) -> String {
    let mut palette = palette("");
    match play(&mut palette, keys) {
        PaletteEvent::Run { action, line } => {
            assert_eq!(action.to_string(), line);
            line
        }
        event => format!("{event:?}: {}", palette.error().unwrap_or("no error")),
    }
}

#[test]
fn commands_are_found_by_what_is_typed() {
    let cases = [
        ("q<Enter>", "quit"),
        ("zoomin<Enter>", "zoom-in"),
        ("zoom undo<Enter>", "zoom-undo"),
        ("undo zoom<Enter>", "zoom-undo"),
        ("pl<Enter>", "pan-left"),
        ("goto<Enter>", "goto"),
        ("whole profile<Enter>", "zoom-all"),
        ("idle lon<Enter>", "idle-longest"),
        ("DETAILS<Enter>", "pane-details"),
    ];
    for (keys, line) in cases {
        assert_eq!(run(keys), line, "{keys}");
    }
}

#[test]
fn whole_lines_are_run_as_typed() {
    let cases = [
        ("goto 17.2us<Enter>", "goto 17.2us"),
        ("goto-time 17.2 µs<Enter>", "goto-time 17.2 µs"),
        ("grouping engine<Enter>", "grouping engine"),
        ("grouping en<Enter>", "grouping engine"),
        ("grouping <Down><Enter>", "grouping engine"),
        ("grouping <Enter>", "grouping"),
        ("theme dark<Enter>", "theme dark"),
        ("theme dkr<Enter>", "theme darker"),
        ("theme mine<Enter>", "theme mine"),
        ("set labels long<Enter>", "set labels long"),
        ("set labels lo<Enter>", "set labels long"),
        ("set scroll-speed 7<Enter>", "set scroll-speed 7"),
        ("set lab<Enter>lo<Enter>", "set labels long"),
        ("labels<Enter>lo<Enter>", "set labels long"),
        ("split<Tab>off<Enter>", "split-sequencer off"),
        ("17.2us<Enter>", "goto 17.2us"),
        ("pc:316@Tensor(nc0)<Enter>", "goto pc:316@Tensor(nc0)"),
        ("search opcode:MATMUL duration>1us<Enter>", "search opcode:MATMUL duration>1us"),
    ];
    for (keys, line) in cases {
        assert_eq!(run(keys), line, "{keys}");
    }
}

#[test]
fn what_cannot_be_run_says_why_and_stays_open() {
    assert_eq!(
        run("goto-time soon<Enter>"),
        "Open: goto-time: \"soon\" is not a time; write nanoseconds (17200), a unit (17.2us) or Unix time (@1700000000s)"
    );
    assert_eq!(run("grouping xyz<Enter>"), "Open: grouping: \"xyz\" is none of core, engine");
    assert_eq!(run("goto-tme 5<Enter>"), "Open: unknown action \"goto-tme\"; did you mean \"goto-time\"?");
    assert_eq!(run("zoom-in 5<Enter>"), "Open: zoom-in takes no argument, found \"5\"");
    assert_eq!(run("goto-time soon<Enter>x"), "Open: no error", "typing on clears the error");
    assert_eq!(run("pan<Esc>"), "Cancel: no error");
}

#[test]
fn rows_show_key_match_and_text() {
    let palette = palette("zi");
    let row = &palette.rows(5)[0];
    assert_eq!(row.label, "zoom-in");
    assert_eq!(row.matched, [0, 5]);
    assert_eq!(row.detail, "Zoom in about the time cursor");
    assert_eq!(row.key.as_deref(), Some("w"));
    assert!(row.selected);
    assert_eq!(self::palette("scroll-down").rows(1)[0].key.as_deref(), Some("j"), "keys of panes too");
    assert_eq!(self::palette("labels").rows(1)[0].detail, "The labels (now short)");
    assert_eq!(self::palette("set ").rows(9).len(), 2);
    assert_eq!(self::palette("set labels ").usage().as_deref(), Some("set labels <short|long>"));
    assert_eq!(self::palette("goto-time ").usage().as_deref(), Some("goto-time <time>"));
    assert_eq!(self::palette("goto-time").usage(), None);
}

#[test]
fn the_selection_stays_in_the_rows() {
    let mut palette = palette("");
    assert_eq!(palette.len(), Action::ALL.len() + 2);
    let shown = |palette: &Palette| palette.rows(7).iter().position(|row| row.selected);
    for keys in ["", "<Down>", "<PageDown>", "<PageDown>", "<Up>", "<PageUp>", "<PageUp><PageUp>", "<Up>", "<PageDown>"]
    {
        play(&mut palette, keys);
        assert_eq!(palette.rows(7).len(), 7);
        assert!(shown(&palette).is_some(), "{keys}");
    }
    assert_eq!(palette.selected(), Some(&Candidate::Setting(1)), "up from the first is the last");
    play(&mut palette, "<Down>");
    assert_eq!(palette.selected(), Some(&Candidate::Action(0)));
    assert_eq!(palette.rows(0), []);
}

#[test]
fn what_was_run_last_comes_first() {
    let mut history = History::default();
    history.push(Purpose::Command, "zoom-all");
    history.push(Purpose::Command, "goto 17us");
    let mut palette = Palette::new(&Keymap::default(), vocabulary(), &history, "");
    let labels: Vec<String> = palette.rows(2).into_iter().map(|row| row.label).collect();
    assert_eq!(labels, ["goto 17us", "zoom-all"]);
    assert_eq!(
        play(&mut palette, "<Enter>"),
        PaletteEvent::Run { action: Action::Goto(Some("17us".into())), line: "goto 17us".into() }
    );
}

#[test]
fn tab_takes_the_selection_over() {
    let mut palette = palette("");
    play(&mut palette, "goto-t<Tab>");
    assert_eq!(palette.entry().text(), "goto-time ");
    play(&mut palette, "<C-u>zoom-i<Tab>");
    assert_eq!(palette.entry().text(), "zoom-in");
    play(&mut palette, "<C-u>dma-g<Tab><Down><Down><Tab>");
    assert_eq!(palette.entry().text(), "dma-grouping transfer");
    palette.on_paste("\n");
    assert_eq!(palette.entry().text(), "dma-grouping transfer ");
}

proptest! {
    #[test]
    fn every_action_is_found_by_its_name(index in 0..Action::ALL.len()) {
        let palette = palette(Action::ALL[index].name);
        prop_assert_eq!(palette.selected(), Some(&Candidate::Action(index)));
    }

    #[test]
    fn no_keys_panic(keys in prop::collection::vec(prop::sample::select(vec![
        "s", "e", "t", " ", "l", "g", "<Tab>", "<S-Tab>", "<Enter>", "<Up>", "<Down>", "<PageUp>", "<PageDown>", "<C-u>", "<C-w>", "é",
    ]), 0..30), n in 0usize..9) {
        let mut palette = palette("");
        for key in keys {
            play(&mut palette, key);
            let rows = palette.rows(n);
            prop_assert!(rows.len() <= n);
            prop_assert_eq!(rows.iter().filter(|row| row.selected).count(), usize::from(n > 0 && !palette.is_empty()));
            for row in rows {
                prop_assert!(row.matched.iter().all(|&at| at < row.label.chars().count()));
            }
        }
    }
}
