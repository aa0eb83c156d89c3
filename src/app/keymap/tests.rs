use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyEventState, KeyModifiers};
use proptest::prelude::*;

use super::*;
use crate::app::action::Group;

fn event(text: &str) -> KeyEvent {
    Key::parse(text).unwrap().event()
}

/// What comes of the keys, the last one's answer.
fn feed(keymap: &Keymap, context: Context, keys: &str) -> Feed {
    let mut pending = Pending::default();
    let mut last = Feed::Ignored;
    for key in keys.split_whitespace() {
        last = keymap.feed(context, &mut pending, event(key));
    }
    last
}

fn problems(text: &str) -> Vec<String> {
    Keymap::from_toml("keys.toml", text).problems.iter().map(Problem::to_string).collect()
}

#[test]
fn every_preset_is_sound_and_leaves_no_action_without_a_key() {
    let bound = |name: &str| -> BTreeSet<String> {
        let loaded = Keymap::preset(name).unwrap();
        assert_eq!(loaded.problems, [], "{name}");
        let rows = loaded.keymap.help();
        rows.into_iter().filter(|row| !row.keys.is_empty()).map(|row| row.info.name.to_owned()).collect()
    };
    let default = bound("default");
    for (name, _) in PRESETS {
        let missing: Vec<_> = default.difference(&bound(name)).cloned().collect();
        assert_eq!(missing, [""; 0], "{name}");
    }
}

#[test]
fn the_default_preset_is_the_documented_table() {
    let keymap = Keymap::default();
    let expect = [
        ("a", "pan-left"),
        ("d", "pan-right"),
        ("Left", "pan-left"),
        ("Right", "pan-right"),
        ("A", "pan-window-left"),
        ("D", "pan-window-right"),
        ("w", "zoom-in"),
        ("s", "zoom-out"),
        ("+", "zoom-in"),
        ("-", "zoom-out"),
        ("0", "zoom-all"),
        ("u", "zoom-undo"),
        ("U", "zoom-redo"),
        ("h", "cursor-left"),
        ("l", "cursor-right"),
        ("H", "cursor-left-ten"),
        ("L", "cursor-right-ten"),
        ("j", "track-next"),
        ("k", "track-prev"),
        ("Down", "track-next"),
        ("Up", "track-prev"),
        (".", "event-next"),
        (",", "event-prev"),
        (">", "same-name-next"),
        ("<", "same-name-prev"),
        ("*", "highlight-same-name"),
        ("b", "blocked-by"),
        ("o", "unblocks"),
        ("[", "blocked-by"),
        ("]", "unblocks"),
        ("B", "blocked-by-choose"),
        ("O", "unblocks-choose"),
        ("Backspace", "back"),
        ("\\", "forth"),
        ("C-o", "back"),
        ("i", "idle-next"),
        ("I", "idle-longest"),
        ("Enter", "enter"),
        ("f", "focus"),
        ("/", "search"),
        ("n", "search-next"),
        ("N", "search-prev"),
        ("g g", "goto-start"),
        ("g e", "goto-end"),
        ("g t", "goto-time"),
        ("g p", "goto-pc"),
        ("g i", "goto-id"),
        ("m", "mark-here"),
        ("M", "mark-span"),
        ("(", "mark-prev"),
        (")", "mark-next"),
        ("'", "pane-marks"),
        ("v", "area-select"),
        ("p", "pin"),
        ("x", "hide"),
        ("X", "show-all"),
        ("z", "fold"),
        ("T", "track-find"),
        ("t d", "dma-grouping"),
        ("t s", "split-sequencer"),
        ("t g", "grouping"),
        ("t i", "idle-tracks"),
        ("t c", "core"),
        ("c", "color-next"),
        ("y", "copy-json"),
        ("e", "export"),
        ("!", "next-warning"),
        ("Space d", "pane-details"),
        ("Space p", "pane-dependencies"),
        ("Space s", "pane-search"),
        ("Space m", "pane-marks"),
        ("Tab", "pane-next"),
        ("Z", "pane-maximize"),
        (":", "palette"),
        ("?", "help"),
        ("Esc", "escape"),
        ("q", "quit"),
    ];
    for (keys, name) in expect {
        match feed(&keymap, Context::Timeline, keys) {
            Feed::Action(action) => assert_eq!(action.name(), name, "{keys}"),
            other => panic!("{keys}: {other:?}"),
        }
    }
}

#[test]
fn presets_bind_only_what_terminals_send() {
    for (name, _) in PRESETS {
        for keys in Keymap::preset(name).unwrap().keymap.help().into_iter().flat_map(|row| row.keys) {
            for key in keys.keys.split(' ') {
                // Esc [ and Esc O begin the codes of other keys.
                assert!(!matches!(key, "A-[" | "A-O"), "{name}: {key}");
                let shifted = key.strip_prefix("S-").unwrap_or("Left");
                assert!(matches!(shifted, "Left" | "Right" | "Up" | "Down" | "Tab"), "{name}: {key}");
            }
        }
    }
}

#[test]
fn a_file_may_be_called_like_its_preset() {
    let loaded = Keymap::from_toml("vim.toml", "preset = \"vim\"\n");
    assert_eq!(feed(&loaded.keymap, Context::Timeline, "w"), Feed::Action(Action::EventNext));
}

#[test]
fn help_lists_every_action_once() {
    let rows = Keymap::default().help();
    assert_eq!(rows.len(), Action::ALL.len());
    for (name, _) in PRESETS {
        let keymap = Keymap::preset(name).unwrap().keymap;
        let (text, markdown) = (keymap.help_text(), keymap.help_markdown());
        for info in Action::ALL {
            let line =
                |line: &&str| line.ends_with(&format!("  {}", info.text)) && line.contains(&format!(" {} ", info.name));
            assert_eq!(text.lines().filter(line).count(), 1, "{name}: {}", info.name);
            assert_eq!(markdown.matches(&format!(" | {} |\n", info.text)).count(), 1, "{name}: {}", info.name);
        }
        for document in [text, markdown] {
            for group in Group::ALL {
                assert_eq!(
                    document.lines().filter(|line| line.trim_start_matches('#').trim() == group.title()).count(),
                    1
                );
            }
        }
    }
}

#[test]
fn help_text() {
    insta::assert_snapshot!(Keymap::default().help_text());
}

#[test]
fn help_markdown_survives_awkward_keys() {
    let keymap = Keymap::from_toml("k", "[global]\n'|' = 'redraw'\n'`' = 'suspend'\n").keymap;
    let markdown = keymap.help_markdown();
    assert!(markdown.contains("| `C-l` `\\|` | `redraw` |"), "{markdown}");
    assert!(markdown.contains("| `C-z` `` ` `` | `suspend` |"), "{markdown}");
}

#[test]
fn sequences_wait_hint_and_can_be_given_up() {
    let keymap = Keymap::default();
    let mut pending = Pending::default();
    let Feed::Wait(hints) = keymap.feed(Context::Timeline, &mut pending, event("g")) else { panic!() };
    assert_eq!((hints[0].key.as_str(), hints[0].text.as_str()), ("g", "Go to the start of the profile"));
    assert_eq!(pending.text(), "g");
    assert_eq!(keymap.hints(Context::Timeline, &pending), hints);

    let mut release = event("g");
    release.kind = KeyEventKind::Release;
    assert_eq!(keymap.feed(Context::Timeline, &mut pending, release), Feed::Ignored);
    assert_eq!(pending.text(), "g", "a release is no key press");

    assert_eq!(keymap.feed(Context::Timeline, &mut pending, event("Esc")), Feed::Cancelled);
    assert!(pending.is_empty());
    assert_eq!(keymap.feed(Context::Timeline, &mut pending, event("Esc")), Feed::Action(Action::Escape));

    keymap.feed(Context::Timeline, &mut pending, event("g"));
    assert_eq!(keymap.feed(Context::Timeline, &mut pending, event("F9")), Feed::Unbound);
    assert_eq!(keymap.feed(Context::Timeline, &mut pending, event("a")), Feed::Action(Action::PanLeft(None)));
}

#[test]
fn a_repeated_key_counts_as_pressed() {
    let mut repeat = event("d");
    repeat.kind = KeyEventKind::Repeat;
    let feed = Keymap::default().feed(Context::Timeline, &mut Pending::default(), repeat);
    assert_eq!(feed, Feed::Action(Action::PanRight(None)));
}

#[test]
fn contexts_come_before_global_keys() {
    let keymap = Keymap::default();
    assert_eq!(feed(&keymap, Context::Timeline, "j"), Feed::Action(Action::TrackNext));
    assert_eq!(feed(&keymap, Context::Pane, "j"), Feed::Action(Action::ScrollDown));
    assert_eq!(feed(&keymap, Context::Global, "j"), Feed::Unbound);
    assert_eq!(feed(&keymap, Context::Pane, "d"), Feed::Action(Action::PanRight(None)));
    assert_eq!(feed(&keymap, Context::Global, "q"), Feed::Action(Action::Quit));
}

#[test]
fn footer_hints_are_the_shortest_keys() {
    let keymap = Keymap::default();
    assert_eq!(keymap.hint(Context::Timeline, &Action::PanLeft(None)).as_deref(), Some("a"));
    assert_eq!(keymap.hint(Context::Timeline, &Action::PaneMarks).as_deref(), Some("'"));
    assert_eq!(keymap.hint(Context::Timeline, &Action::GotoTime(None)).as_deref(), Some("g t"));
    assert_eq!(keymap.hint(Context::Timeline, &Action::ScrollDown), None);
    assert_eq!(keymap.hint(Context::Pane, &Action::ScrollDown).as_deref(), Some("j"));
    assert_eq!(keymap.keys_for(&Action::PaneMarks), ["'", "Space m"]);
    assert_eq!(keymap.keys_for(&Action::PanLeft(None)), ["a", "Left"]);
    assert_eq!(keymap.keys_for(&Action::Back), ["Backspace", "C-o"]);
}

#[test]
fn keys_are_brought_to_one_form() {
    let key = |code, mods| Key::new(code, mods).map(|key| key.to_string());
    let (none, shift, ctrl, alt) = (KeyModifiers::NONE, KeyModifiers::SHIFT, KeyModifiers::CONTROL, KeyModifiers::ALT);
    let cases = [
        (KeyCode::Char('A'), shift, "A"),
        (KeyCode::Char('a'), shift, "A"),
        (KeyCode::Char('A'), none, "A"),
        (KeyCode::Char('?'), shift, "?"),
        (KeyCode::Char(' '), shift, "Space"),
        (KeyCode::Char('ß'), shift, "ß"),
        (KeyCode::Char('i'), ctrl, "Tab"),
        (KeyCode::Char('m'), ctrl, "Enter"),
        (KeyCode::Char('['), ctrl, "Esc"),
        (KeyCode::Char('O'), ctrl | shift, "C-o"),
        (KeyCode::Char('4'), ctrl, "C-\\"),
        (KeyCode::Char('7'), ctrl, "C-_"),
        (KeyCode::Char('/'), ctrl, "C-_"),
        (KeyCode::Null, none, "C-Space"),
        (KeyCode::BackTab, shift, "S-Tab"),
        (KeyCode::BackTab, none, "S-Tab"),
        (KeyCode::Tab, shift, "S-Tab"),
        (KeyCode::Left, shift, "S-Left"),
        (KeyCode::Char('x'), alt, "A-x"),
        (KeyCode::Char('x'), KeyModifiers::META, "A-x"),
        (KeyCode::Char('-'), ctrl, "C--"),
        (KeyCode::F(12), ctrl | alt | shift, "C-A-S-F12"),
    ];
    for (code, mods, text) in cases {
        assert_eq!(key(code, mods).as_deref(), Some(text), "{code:?} {mods:?}");
        assert_eq!(Key::parse(text).unwrap(), Key::new(code, mods).unwrap(), "{text}");
    }
    assert_eq!(key(KeyCode::CapsLock, none), None);
    // Lock keys are state, not modifiers.
    let locked = KeyEvent { state: KeyEventState::CAPS_LOCK, ..event("a") };
    assert_eq!(Key::from_event(locked), Key::parse("a").ok());
    assert_ne!(Key::new(KeyCode::Char('q'), KeyModifiers::SUPER), Key::parse("q").ok());
}

#[test]
fn keys_as_people_write_them() {
    let same = [
        ("<lt>", "<"),
        ("lt", "<"),
        ("<gt>", ">"),
        ("<Enter>", "Enter"),
        ("return", "Enter"),
        ("ESC", "Esc"),
        ("<C-o>", "C-o"),
        ("c-O", "C-o"),
        ("S-a", "A"),
        ("M-x", "A-x"),
        ("S-A-x", "A-X"),
        ("BackTab", "S-Tab"),
        ("pgdn", "PageDown"),
        ("f5", "F5"),
        ("-", "-"),
        ("C--", "C--"),
        ("C-i", "Tab"),
    ];
    for (written, text) in same {
        assert_eq!(Key::parse(written).unwrap().to_string(), text, "{written}");
    }
    for bad in ["", "gg", "C-", "C-C-x", "F0", "F25", "Foo", "\u{7}", "<>", "<Enter"] {
        assert!(Key::parse(bad).is_err(), "{bad:?}");
    }
    assert!(Key::parse("gg").unwrap_err().contains("\"g g\""));
    assert!(Key::parse_sequence(" ").is_err());
    assert!(Key::parse_sequence("a b c d e f g h i").is_err());
}

#[test]
fn a_users_file_replaces_adds_and_unbinds() {
    let loaded = Keymap::from_toml(
        "keys.toml",
        r#"
        preset = "vim"
        unbind = ["C-w"]
        [timeline]
        "w" = "zoom-in"
        "g x" = "goto-time 17.2 µs"
        "Up" = false
        [global]
        "C-w" = "quit"
        "#,
    );
    assert_eq!(loaded.problems, []);
    let keymap = loaded.keymap;
    assert_eq!(feed(&keymap, Context::Timeline, "w"), Feed::Action(Action::ZoomIn));
    assert_eq!(feed(&keymap, Context::Pane, "w"), Feed::Action(Action::EventNext));
    assert_eq!(feed(&keymap, Context::Timeline, "g x"), Feed::Action(Action::GotoTime(Some("17.2 µs".into()))));
    assert_eq!(feed(&keymap, Context::Timeline, "g g"), Feed::Action(Action::GotoStart));
    assert_eq!(feed(&keymap, Context::Timeline, "C-w"), Feed::Action(Action::Quit));
    assert_eq!(feed(&keymap, Context::Timeline, "Up"), Feed::Unbound);
    assert_eq!(feed(&keymap, Context::Timeline, "k"), Feed::Action(Action::TrackPrev));
    assert_eq!(
        keymap.help()[Action::ALL.iter().position(|info| info.name == "goto-time").unwrap()].keys_text(),
        "g t  g x (17.2 µs)"
    );
}

#[test]
fn problems_have_their_place_and_the_rest_still_works() {
    let text = r#"preset = "wim"
colour = "red"
unbind = ["F9", 3, "nokey"]

[global]
"a" = "pan-lfet"
"b" = "goto-time soon"
"c" = 7
"gg" = "goto-start"
"d" = "pin"
"S-d" = "hide"
"D" = "fold"
é = "redraw"
"#;
    insta::assert_snapshot!(problems(text).join("\n"));
    let keymap = Keymap::from_toml("keys.toml", text).keymap;
    assert_eq!(feed(&keymap, Context::Timeline, "d"), Feed::Action(Action::Pin));
    assert_eq!(feed(&keymap, Context::Timeline, "D"), Feed::Action(Action::Hide), "the first of two counts");
    assert_eq!(feed(&keymap, Context::Timeline, "a"), Feed::Action(Action::PanLeft(None)), "the preset's stays");
}

#[test]
fn a_key_cannot_be_an_action_and_begin_a_sequence() {
    assert_eq!(
        problems("[global]\n\"F9\" = \"pin\"\n  \"F9 x\" = \"hide\"\n"),
        [r#"keys.toml:3:3: "F9" is bound to pin in line 2, so no sequence such as "F9 x" can begin with it"#]
    );
    assert_eq!(
        problems("[global]\n\"F9 x\" = \"hide\"\n\"F9\" = \"pin\"\n"),
        [r#"keys.toml:3:1: "F9" cannot be an action and also begin "F9 x" (hide) in line 2"#]
    );
    assert_eq!(
        problems("[global]\n\"z x\" = \"hide\"\n"),
        [
            r#"keys.toml:2:1: "z x" takes the place of "z" (fold), which is no longer bound; `unbind` it first if that is meant"#
        ]
    );
    assert_eq!(problems("[global]\nunbind = [\"z\"]\n\"z x\" = \"hide\"\n"), [""; 0]);
    let taken = problems("[global]\n\"g\" = \"hide\"\n");
    assert!(taken[0].starts_with(r#"keys.toml:2:1: "g" takes the place of "g g" (goto-start), "g e" (goto-end)"#));
}

#[test]
fn a_global_key_under_a_contexts_key_is_reported() {
    assert_eq!(
        problems("\n[global]\n\"h\" = \"help\"\n"),
        [
            r#"keys.toml:3:1: "h" has no effect in [timeline], where "h" is bound to cursor-left; bind it under [timeline] too, or unbind it there"#,
            r#"keys.toml:3:1: "h" has no effect in [pane], where "h" is bound to scroll-left; bind it under [pane] too, or unbind it there"#,
        ]
    );
    assert_eq!(problems("unbind = [\"h\"]\n[global]\n\"h\" = \"help\"\n"), [""; 0]);
}

#[test]
fn broken_toml_costs_only_the_broken_lines() {
    let loaded = Keymap::from_toml(
        "keys.toml",
        "[global]\n\"F9\" = \"pin\"\nthis is not toml\n\"F10\" = \"hide\"\n\"F9\" = \"fold\"\n",
    );
    let places: Vec<_> = loaded.problems.iter().filter_map(|problem| problem.place).map(|(line, _)| line).collect();
    assert!(places.contains(&3) && places.contains(&5), "{:?}", loaded.problems);
    assert_eq!(feed(&loaded.keymap, Context::Timeline, "F9"), Feed::Action(Action::Pin));
    assert_eq!(feed(&loaded.keymap, Context::Timeline, "F10"), Feed::Action(Action::Hide));
    assert_eq!(feed(&loaded.keymap, Context::Timeline, "w"), Feed::Action(Action::ZoomIn));
}

#[test]
fn what_is_never_closed_costs_only_itself() {
    for open in ["\"F10\" = \"\"\"hide\n", "\"F10\" = [\n\n", "[[[", "\"F10"] {
        let loaded = Keymap::from_toml("keys.toml", &format!("[global]\n\"F9\" = \"pin\"\n{open}"));
        assert_eq!(loaded.problems.len(), 1, "{open:?}: {:?}", loaded.problems);
        assert_eq!(feed(&loaded.keymap, Context::Timeline, "F9"), Feed::Action(Action::Pin), "{open:?}");
    }
    let noise = Keymap::from_toml("keys.toml", &"?\n".repeat(10_000));
    assert_eq!(noise.problems.len(), 50);
}

#[test]
fn keymaps_are_chosen_by_name_or_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keymap.toml");
    let name = file.display().to_string();

    assert_eq!(load(None, Some(&file)).problems, [], "a file that does not exist is no problem");
    std::fs::write(&file, "[global]\n\"q\" = \"suspend\"\n").unwrap();
    let q = |loaded: &Loaded| feed(&loaded.keymap, Context::Timeline, "q");
    assert_eq!(q(&load(None, Some(&file))), Feed::Action(Action::Suspend));
    assert_eq!(q(&load(Some(&name), None)), Feed::Action(Action::Suspend));
    assert_eq!(q(&load(Some("default"), Some(&file))), Feed::Action(Action::Quit));
    assert_eq!(q(&load(Some("azerty"), Some(&file))), Feed::Action(Action::PanLeft(None)));

    let unknown = load(Some("perfeto"), Some(&file));
    assert_eq!(q(&unknown), Feed::Action(Action::Quit));
    assert_eq!(
        unknown.problems[0].to_string(),
        "--keymap: unknown preset \"perfeto\" (did you mean \"perfetto\"?), and no file has this name; \
         the presets are default, perfetto, vim, neuron-explorer, azerty. The default one is used"
    );

    std::fs::write(&file, [0xff, 0xfe, b'\n']).unwrap();
    let unreadable = load(None, Some(&file));
    assert_eq!((unreadable.problems.len(), q(&unreadable)), (1, Feed::Action(Action::Quit)));
    let missing = load(Some("./no/such.toml"), None);
    assert_eq!(missing.problems.len(), 1);
    assert!(missing.problems[0].message.starts_with("cannot be read"));
}

#[test]
fn scripts_are_played_key_by_key() {
    let keys = |text: &str| -> Vec<String> {
        parse_script(text).unwrap().into_iter().map(|event| Key::from_event(event).unwrap().to_string()).collect()
    };
    assert_eq!(keys("dd/MATMUL<Enter>]"), ["d", "d", "/", "M", "A", "T", "M", "U", "L", "Enter", "]"]);
    assert_eq!(
        keys("<lt><Esc><Space> <Tab><C-o><S-Left><PageDown><Backspace><F1>>é"),
        ["<", "Esc", "Space", "Space", "Tab", "C-o", "S-Left", "PageDown", "Backspace", "F1", ">", "é"]
    );
    for (bad, column) in [("a<", 2), ("é<Foo>", 2), ("<lt><x>", 5), ("a\u{1b}", 2), ("<>", 1)] {
        assert_eq!(parse_script(bad).unwrap_err().column, column, "{bad:?}");
    }
}

fn any_key() -> impl Strategy<Value = Key> {
    let code = prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        prop::char::range('!', '~').prop_map(KeyCode::Char),
        (1u8..=24).prop_map(KeyCode::F),
        prop::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::BackTab,
            KeyCode::Backspace,
            KeyCode::Delete,
            KeyCode::Insert,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::Null,
        ]),
    ];
    (code, 0u8..8).prop_filter_map("a key that can be written", |(code, mods)| {
        if matches!(code, KeyCode::Char(c) if c.is_control() || c.is_whitespace()) {
            return None;
        }
        Key::new(code, KeyModifiers::from_bits_truncate(mods))
    })
}

proptest! {
    #[test]
    fn keys_read_back_as_written(keys in prop::collection::vec(any_key(), 1..5)) {
        prop_assert_eq!(Key::parse_sequence(&Key::format_sequence(&keys)), Ok(keys.clone()));
        for key in keys {
            prop_assert_eq!(Key::from_event(key.event()), Some(key), "the normal form stays as it is");
        }
    }

    #[test]
    fn no_file_panics(text in "((\\[(global|pane|x)\\]|unbind = |\"?[a-g<>C-]{0,3}\"?|=|\"(pin|hide|go)\"|false|[\\[\\]{},.'\"]|\\PC)[ \n]?){0,30}") {
        let _ = Keymap::from_toml("keys.toml", &text);
        let _ = parse_script(&text);
    }

    /// Keys bound in a user's file do what the file says, in whatever order, and problems lie inside the file.
    #[test]
    fn what_is_bound_without_a_problem_works(
        bindings in prop::collection::vec((prop::collection::vec(0u8..3, 1..4), 0..Action::ALL.len()), 0..12)
    ) {
        let keys = |keys: &[u8]| keys.iter().map(|k| format!("F{}", k + 20)).collect::<Vec<_>>().join(" ");
        let mut text = "[timeline]\n".to_owned();
        for (sequence, action) in &bindings {
            text += &format!("{:?} = {:?}\n", keys(sequence), Action::ALL[*action].name);
        }
        let loaded = Keymap::from_toml("keys.toml", &text);
        let troubled: BTreeSet<usize> = loaded.problems.iter().filter_map(|problem| problem.place).map(|(line, _)| line).collect();
        for (index, (sequence, action)) in bindings.iter().enumerate() {
            let clashes = bindings[..index].iter().any(|(other, _)| other.starts_with(sequence) || sequence.starts_with(other));
            if !troubled.contains(&(index + 2)) {
                prop_assert_eq!(feed(&loaded.keymap, Context::Timeline, &keys(sequence)), Feed::Action(Action::ALL[*action].action()));
            } else {
                prop_assert!(clashes, "line {} of {}", index + 2, text);
            }
        }
    }
}
