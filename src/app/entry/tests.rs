use proptest::prelude::*;

use super::*;
use crate::app::keymap::parse_script;

fn entry(text: &str) -> Entry {
    Entry::new(Purpose::Search, "/", "opcode, name, field:text").with_text(text)
}

fn words(text: &str, cursor: usize) -> Completions {
    let start = text[..cursor].rfind(' ').map_or(0, |blank| blank + 1);
    let word = &text[start..cursor];
    let known = ["opcode", "operands", "duration"];
    Completions { start, candidates: known.into_iter().filter(|k| k.starts_with(word)).map(String::from).collect() }
}

fn play(entry: &mut Entry, history: &History, keys: &str) -> EntryEvent {
    let mut last = EntryEvent::Ignored;
    for event in parse_script(keys).unwrap() {
        last = entry.on_key(event, history, &words);
    }
    last
}

/// The text after the keys, with `|` where the cursor is.
fn typed(start: &str, keys: &str) -> String {
    let mut entry = entry(start);
    play(&mut entry, &History::default(), keys);
    let mut text = entry.text().to_owned();
    text.insert(entry.cursor(), '|');
    text
}

#[test]
fn editing_keys_are_those_of_shells() {
    let cases = [
        ("", "abc", "abc|"),
        ("abc", "<Left><Left>x", "ax|bc"),
        ("abc", "<Home>x<End>y", "xabcy|"),
        ("abc", "<C-a>x<C-e>y", "xabcy|"),
        ("abc", "<C-b><C-b><C-f>x", "abx|c"),
        ("one two", "<C-w>", "one |"),
        ("one two", "<A-Backspace>", "one |"),
        ("one two", "<A-b>x", "one x|two"),
        ("one two", "<Home><A-f>x", "one x|two"),
        ("one two", "<C-Left><C-Left><C-Right>x", "one x|two"),
        ("one two", "<Home><A-d>", "| two"),
        ("one two", "<C-u>", "|"),
        ("one two", "<A-b><C-u>", "|two"),
        ("one two", "<A-b><C-k>", "one |"),
        ("one two", "<C-w><C-y><C-y>", "one twotwo|"),
        ("abc", "<Backspace><C-h>", "a|"),
        ("abc", "<Home><Delete><C-d>", "|c"),
        ("abc", "<C-w><C-_>", "abc|"),
        ("abc", "<C-w><C-_><A-_>", "|"),
        ("", "d é界<Left>x", "d éx|界"),
        ("", "q?:/", "q?:/|"),
    ];
    for (start, keys, expected) in cases {
        assert_eq!(typed(start, keys), expected, "{start:?} {keys}");
    }
}

#[test]
fn keys_report_what_they_did() {
    let history = History::default();
    let mut entry = entry("ab");
    assert_eq!(play(&mut entry, &history, "c"), EntryEvent::Changed);
    assert_eq!(play(&mut entry, &history, "<Left>"), EntryEvent::Moved);
    assert_eq!(play(&mut entry, &history, "<C-k><C-k>"), EntryEvent::Moved, "nothing was left to cut");
    assert_eq!(play(&mut entry, &history, "<F5>"), EntryEvent::Ignored);
    assert_eq!(play(&mut entry, &history, "<A-x>"), EntryEvent::Ignored);
    assert_eq!(play(&mut entry, &history, "<Esc>"), EntryEvent::Cancel);
    assert_eq!(play(&mut entry, &history, "<C-c>"), EntryEvent::Cancel);
    assert_eq!(play(&mut entry, &history, "<Enter>"), EntryEvent::Submit("ab".into()));
}

#[test]
fn pastes_become_one_safe_line() {
    let mut entry = entry("a");
    assert_eq!(entry.on_paste("b\r\nc\td\u{1b}[31m\u{202e}e"), EntryEvent::Changed);
    assert_eq!(entry.text(), "ab  c d[31me");
    assert_eq!(entry.on_paste("\u{1b}"), EntryEvent::Moved);
    entry.on_paste(&"x".repeat(1 << 20));
    assert_eq!(entry.text().chars().count(), MAX_CHARS);
    play(&mut entry, &History::default(), "<C-_><C-_>");
    assert_eq!(entry.text(), "a");
}

#[test]
fn history_is_walked_by_what_was_typed() {
    let mut history = History::default();
    for text in ["opcode:MATMUL", "duration>1us", "opcode:ACTIVATE"] {
        history.push(Purpose::Search, text);
    }
    history.push(Purpose::Goto, "17us");
    let mut entry = entry("");
    play(&mut entry, &history, "<Up><Up>");
    assert_eq!(entry.text(), "duration>1us");
    play(&mut entry, &history, "<Up><Up><Up>");
    assert_eq!(entry.text(), "opcode:MATMUL", "the oldest stays");
    play(&mut entry, &history, "<Down>");
    assert_eq!(entry.text(), "duration>1us");
    play(&mut entry, &history, "<Down><Down><Down>");
    assert_eq!(entry.text(), "");
    play(&mut entry, &history, "op<Up><C-p>");
    assert_eq!(entry.text(), "opcode:MATMUL");
    play(&mut entry, &history, "<C-n><C-n>");
    assert_eq!(entry.text(), "op", "what was typed comes back");
    play(&mut entry, &history, "<Up>X<Up>");
    assert_eq!(entry.text(), "opcode:ACTIVATEX", "an edited text is a new one");
}

#[test]
fn tab_cycles_through_completions() {
    let history = History::default();
    let mut entry = entry("x op y");
    play(&mut entry, &history, "<Left><Left><Tab>");
    assert_eq!(entry.text(), "x opcode y");
    assert_eq!(entry.completions().map(|(all, shown)| (all.len(), shown)), Some((2, 0)));
    play(&mut entry, &history, "<Tab>");
    assert_eq!(entry.text(), "x operands y");
    play(&mut entry, &history, "<Tab>");
    assert_eq!(entry.text(), "x opcode y");
    play(&mut entry, &history, "<S-Tab>");
    assert_eq!(entry.text(), "x operands y");
    play(&mut entry, &history, ":");
    assert_eq!((entry.text(), entry.completions()), ("x operands: y", None));
    assert_eq!(play(&mut entry, &history, "zz<Tab>"), EntryEvent::Moved, "nothing to propose");
    let hostile = |_: &str, _: usize| Completions { start: 99, candidates: vec!["x".into()] };
    entry.on_key(parse_script("<Tab>").unwrap()[0], &history, &hostile);
    assert_eq!(entry.text(), "x operands:zz y");
}

fn screen(entry: &Entry, columns: u16) -> (String, u16) {
    let area = Rect::new(0, 0, columns, 1);
    let mut buffer = Buffer::empty(area);
    entry.render(area, &mut buffer, &EntryStyle::default());
    // A wide character's second cell is empty.
    let text: String = (0..columns).map(|x| buffer[(x, 0)].symbol()).collect();
    (text, entry.cursor_position(area).x)
}

#[test]
fn long_texts_follow_the_cursor() {
    assert_eq!(screen(&entry(""), 12), ("/opcode, nam".into(), 1));
    assert_eq!(screen(&entry("abc"), 8), ("/abc    ".into(), 4));
    assert_eq!(screen(&entry("abcdef"), 8), ("/…cdef  ".into(), 6));
    let mut long = entry("abcdefghij");
    play(&mut long, &History::default(), "<Home>");
    assert_eq!(screen(&long, 8), ("/abcdef…".into(), 1));
    play(&mut long, &History::default(), "<Right><Right><Right><Right><Right><Right>");
    assert_eq!(screen(&long, 8), ("/…cdefg…".into(), 6));
}

#[test]
fn tiny_areas_do_no_harm() {
    for columns in 0..5 {
        let area = Rect::new(0, 0, columns, 1);
        let mut buffer = Buffer::empty(area);
        entry("abc界").render(area, &mut buffer, &EntryStyle::default());
        entry("abc界").render(Rect::new(3, 5, 9, 9), &mut buffer, &EntryStyle::default());
        assert!(entry("abc界").cursor_position(area).x <= columns);
    }
}

proptest! {
    /// Whatever is typed and pasted, the text is safe, the cursor inside, and the cursor's cell in view.
    #[test]
    fn any_keys_leave_a_sound_entry(
        keys in prop::collection::vec(prop_oneof![
            prop::sample::select(vec!["a", " ", "é", "界", "<Left>", "<Right>", "<C-w>", "<C-u>", "<A-b>", "<A-f>", "<Home>",
                "<C-_>", "<A-_>", "<Tab>", "<S-Tab>", "<Up>", "<Down>", "<C-y>", "<C-k>", "<Backspace>", "<Delete>", "<A-d>"])
                .prop_map(|key| (true, key.to_owned())),
            "\\PC{0,6}|[\n\t\u{1b}\u{301}]{0,3}".prop_map(|paste| (false, paste)),
        ], 0..40),
        columns in 4u16..20,
    ) {
        let mut history = History::default();
        history.push(Purpose::Search, "opcode:é界");
        let mut entry = entry("");
        for (is_key, text) in keys {
            if is_key { play(&mut entry, &history, &text); } else { entry.on_paste(&text); }
            prop_assert!(!entry.text().contains(is_unsafe) && entry.area.lines().len() == 1);
            prop_assert!(entry.text().is_char_boundary(entry.cursor()));
            let area = Rect::new(3, 0, columns, 1);
            let at = entry.cursor_position(area);
            prop_assert!(area.contains(at));
            let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
            entry.render(area, &mut buffer, &EntryStyle::default());
            prop_assert_eq!(buffer[(2, 0)].symbol(), " ");
            prop_assert_eq!(buffer[(3 + columns, 0)].symbol(), " ");
        }
    }
}

#[test]
fn a_proposed_text_gives_way_to_what_is_typed() {
    let cases = [
        ("5us", "5us|"),
        ("<Left>0", "0..60|0"),
        ("<End>0", "0..600|"),
        ("<Backspace>", "|"),
        ("7<C-_><C-_>", "0..60|"),
        ("<C-w>", "0..|"),
    ];
    for (keys, text) in cases {
        let mut entry = Entry::new(Purpose::Goto, "range: ", "").proposing("0..60");
        play(&mut entry, &History::default(), keys);
        let mut found = entry.text().to_owned();
        found.insert(entry.cursor(), '|');
        assert_eq!(found, text, "{keys}");
    }
    let mut entry = Entry::new(Purpose::Goto, "", "").proposing("0..60");
    entry.on_paste("1..2");
    assert_eq!(entry.text(), "1..2");
}
