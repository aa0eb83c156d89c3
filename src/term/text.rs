//! The one place that makes strings from a profile safe and fits them into columns.
//!
//! Nothing that came from a file goes to a widget without [`escape`]: control characters, direction
//! overrides and invisible joiners turn into forms a person can see, such as `\n`, `\x1b` or `\u{202e}`.
//! Widths are in terminal columns, as ratatui counts them for its cells.

use std::borrow::Cow;
use std::fmt::Write as _;

use ratatui::buffer::CellWidth as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// What stands at the cut of a shortened text, one column wide.
pub const ELLIPSIS: &str = "…";

/// Whether a character may not reach the terminal as it is: it would act on the terminal (controls), reorder
/// the line (bidirectional controls), hide itself, or make terminals disagree about a width (joiners,
/// variation selectors, tags).
pub fn is_unsafe(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    matches!(u32::from(c),
        0x80..=0x9f
            | 0xad                      // soft hyphen
            | 0x34f                     // combining grapheme joiner
            | 0x61c                     // Arabic letter mark
            | 0x115f..=0x1160           // Hangul fillers
            | 0x17b4..=0x17b5           // Khmer inherent vowels
            | 0x180b..=0x180f           // Mongolian selectors
            | 0x200b..=0x200f           // zero width space and joiners, direction marks
            | 0x2028..=0x202e           // line and paragraph separators, direction embeddings and overrides
            | 0x2060..=0x206f           // word joiner, invisible operators, direction isolates
            | 0x3164 | 0xffa0           // more Hangul fillers
            | 0xfe00..=0xfe0f           // variation selectors
            | 0xfeff                    // byte order mark
            | 0xfff0..=0xfffb           // interlinear annotations
            | 0x1bca0..=0x1bca3         // shorthand controls
            | 0x1d173..=0x1d17a         // musical controls
            | 0xe0000..=0xe0fff         // tags, variation selectors supplement
    )
}

/// The text with everything [unsafe](is_unsafe) in a visible form; borrowed when nothing had to change.
///
/// `\n`, `\t` and `\r` for these three, `\x1b` for other controls below U+00A0, `\u{202e}` for the rest.
pub fn escape(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_unsafe) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if !is_unsafe(c) => out.push(c),
            c if u32::from(c) < 0xa0 => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(out)
}

/// The beginning of a text, of at most so many bytes, cut between characters: for texts of any size, before they are
/// measured.
pub fn clip(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The columns a text takes, of any size.
///
/// A text that was not [escaped](escape) is counted as if it were, so a width never lies about what is drawn.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.len();
    }
    escape(text).graphemes(true).map(|g| usize::from(g.cell_width())).sum()
}

/// The text, safe and at most `columns` wide, cut between graphemes with [`ELLIPSIS`] at its end.
pub fn truncate(text: &str, columns: usize) -> Cow<'_, str> {
    shorten(text, columns, |text, room| format!("{}{ELLIPSIS}", &text[..fitting(text.graphemes(true), room)]))
}

/// The text, safe and at most `columns` wide, cut at its start: what matters of a path is its end.
pub fn truncate_start(text: &str, columns: usize) -> Cow<'_, str> {
    shorten(text, columns, |text, room| {
        let kept = fitting(text.graphemes(true).rev(), room);
        format!("{ELLIPSIS}{}", &text[text.len() - kept..])
    })
}

/// The text, safe and at most `columns` wide, cut in its middle: numbered names differ in what stands at their end.
pub fn truncate_middle(text: &str, columns: usize) -> Cow<'_, str> {
    shorten(text, columns, |text, room| {
        let end = &text[text.len() - fitting(text.graphemes(true).rev(), room * 2 / 5)..];
        let start = &text[..fitting(text.graphemes(true), room - width(end))];
        format!("{start}{ELLIPSIS}{end}")
    })
}

/// The text made safe; where it is too wide, what `cut` makes of it and of the columns beside the ellipsis.
fn shorten(text: &str, columns: usize, cut: impl FnOnce(&str, usize) -> String) -> Cow<'_, str> {
    let text = escape(text);
    match columns.checked_sub(1) {
        _ if width(&text) <= columns => text,
        Some(room) => Cow::Owned(cut(&text, room)),
        None => Cow::Borrowed(""),
    }
}

/// The text, safe and exactly `columns` wide: shortened, or filled with spaces on the right.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = truncate(text, columns).into_owned();
    let missing = columns.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// The text, safe and exactly `columns` wide: shortened, or filled with spaces on the left (for figures).
pub fn pad_start(text: &str, columns: usize) -> String {
    let text = truncate(text, columns);
    let missing = columns.saturating_sub(width(&text));
    format!("{}{text}", " ".repeat(missing))
}

/// How many bytes of these graphemes fit into so many columns.
fn fitting<'a>(graphemes: impl Iterator<Item = &'a str>, columns: usize) -> usize {
    let mut used = 0;
    let mut bytes = 0;
    for grapheme in graphemes {
        used += usize::from(grapheme.cell_width());
        if used > columns {
            break;
        }
        bytes += grapheme.len();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn harmless_text_is_borrowed() {
        for text in ["", "MATMUL", "layers.3/attn µs Δ", "行列", "e\u{301}", r"C:\dir"] {
            assert!(matches!(escape(text), Cow::Borrowed(t) if t == text), "{text:?}");
        }
    }

    #[test]
    fn hostile_text_becomes_visible() {
        assert_eq!(escape("a\nb\tc\rd"), r"a\nb\tc\rd");
        assert_eq!(escape("\x1b]0;owned\x07"), r"\x1b]0;owned\x07");
        assert_eq!(escape("\u{9b}31m\x7f\0"), r"\x9b31m\x7f\x00");
        assert_eq!(escape("user\u{202e}cod\u{2066}\u{200b}"), r"user\u{202e}cod\u{2066}\u{200b}");
        assert_eq!(escape("👩\u{200d}🚀⚠\u{fe0f}"), r"👩\u{200d}🚀⚠\u{fe0f}");
        assert_eq!(escape("a\u{2028}b\u{feff}\u{e0041}"), r"a\u{2028}b\u{feff}\u{e0041}");
    }

    #[test]
    fn widths_are_columns() {
        assert_eq!(width("MATMUL"), 6);
        assert_eq!(width("行列"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("🚀"), 2);
        assert_eq!(width("\u{1f1e9}\u{1f1ea}"), 2);
        assert_eq!(width("a\nb"), 4, "as it will be drawn");
        assert_eq!(width("שלום"), 4);
    }

    #[test]
    fn shortens_between_graphemes() {
        assert_eq!(truncate("TensorMatrix", 20), "TensorMatrix");
        assert_eq!(truncate("TensorMatrix", 12), "TensorMatrix");
        assert_eq!(truncate("TensorMatrix", 7), "Tensor…");
        assert_eq!(truncate("行列積", 4), "行…");
        assert_eq!(truncate("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(truncate("abc", 1), "…");
        assert_eq!(truncate("abc", 0), "");
        assert_eq!(truncate_start("layers.3/attn/dot.8", 10), "…ttn/dot.8");
        assert_eq!(truncate_start("行列積", 4), "…積");
        assert_eq!(truncate_middle("qGpSimdCC0-Q11-E64", 9), "qGpSi…E64");
        assert_eq!(truncate_middle("bank 10", 9), "bank 10");
        assert_eq!(truncate_middle("行列積", 5), "行列…");
        assert_eq!(pad("行列積", 4), "行… ");
        assert_eq!(pad("ab", 4), "ab  ");
        assert_eq!(pad_start("62", 4), "  62");
    }

    /// Strings that mix plain, wide, combining, right-to-left, emoji and hostile characters.
    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[ -~]{0,4}",
            2 => prop::sample::select(vec!["行", "列", "ｶﾞ", "한", "각"]).prop_map(String::from),
            2 => prop::sample::select(vec!["\u{301}", "e\u{308}", "क्ष", "நி", "กำ"]).prop_map(String::from),
            2 => prop::sample::select(vec!["שלום", "مرحبا", "\u{202e}", "\u{200f}", "\u{2067}"]).prop_map(String::from),
            2 => prop::sample::select(vec!["🚀", "👩\u{200d}🚀", "👍🏽", "\u{1f1e9}\u{1f1ea}", "⚠\u{fe0f}"]).prop_map(String::from),
            2 => any::<char>().prop_map(String::from),
            1 => "\\p{C}{0,3}",
        ];
        prop::collection::vec(piece, 0..12).prop_map(|v| v.concat())
    }

    proptest! {
        #[test]
        fn escaped_text_is_safe_and_stable(text in any_text()) {
            let escaped = escape(&text).into_owned();
            prop_assert!(!escaped.chars().any(|c| c.is_control() || is_unsafe(c)), "{escaped:?}");
            prop_assert_eq!(escape(&escaped), escaped.as_str());
            prop_assert_eq!(width(&text), width(&escaped));
        }

        #[test]
        fn fitted_text_respects_its_columns(text in any_text(), columns in 0usize..40) {
            for cut in [truncate(&text, columns), truncate_start(&text, columns), truncate_middle(&text, columns)] {
                prop_assert!(width(&cut) <= columns, "{cut:?}");
                prop_assert!(!cut.chars().any(is_unsafe));
                if width(&text) <= columns {
                    prop_assert_eq!(cut, escape(&text));
                } else if columns > 0 {
                    prop_assert!(cut.contains(ELLIPSIS));
                    prop_assert!(width(&cut) + 4 > columns, "too much was cut: {cut:?}");
                }
            }
            prop_assert_eq!(width(&pad(&text, columns)), columns);
            prop_assert_eq!(width(&pad_start(&text, columns)), columns);
        }
    }
}
