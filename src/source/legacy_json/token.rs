//! A pull tokenizer for JSON in a slice of bytes.
//!
//! It is made for files that other programs wrote by the gigabyte and that may end anywhere: values are handed out as
//! slices, nested ones are passed over without recursion, numbers stay text until somebody wants one (ids exceed what a
//! float can hold), and words that JSON does not know (`NaN`, `Infinity`) are values that hold nothing.

use std::borrow::Cow;

/// Why a value could not be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The bytes end within it.
    More,
    /// The byte at this position cannot stand there.
    Bad(usize),
}

/// A value, not yet interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Raw<'a> {
    /// `null`, or nothing at all.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// What stands between the quotes, escapes and all.
    Text(&'a [u8]),
    /// A number or a word.
    Word(&'a [u8]),
    /// A list, brackets included.
    List(&'a [u8]),
    /// An object, braces included.
    Object(&'a [u8]),
}

impl<'a> Raw<'a> {
    fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Raw::Text(bytes) | Raw::Word(bytes) => Some(bytes.trim_ascii()),
            _ => None,
        }
    }

    /// The integer that this is or spells: exact however many digits it has, a fraction rounded down.
    pub fn integer(self) -> Option<i128> {
        integer(self.bytes()?)
    }

    /// The 64-bit integer that this is or spells, at the end of the range where it lies beyond.
    pub fn clamped(self) -> Option<i64> {
        let bytes = self.bytes()?;
        if bytes.len() < 19 && bytes.iter().all(u8::is_ascii_digit) && !bytes.is_empty() {
            return Some(bytes.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')));
        }
        Some(integer(bytes)?.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// The finite number that this is or spells.
    pub fn number(self) -> Option<f64> {
        std::str::from_utf8(self.bytes()?).ok()?.parse().ok().filter(|v: &f64| v.is_finite())
    }

    /// The text that this is, or how its number is spelled; empty where it is neither.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            Raw::Text(bytes) => unescape(bytes),
            Raw::Word(bytes) => String::from_utf8_lossy(bytes),
            Raw::Bool(true) => "true".into(),
            Raw::Bool(false) => "false".into(),
            Raw::Null | Raw::List(_) | Raw::Object(_) => "".into(),
        }
    }
}

/// Position of the first byte at or after `i` that is no white space.
pub fn space(b: &[u8], mut i: usize) -> usize {
    while i < b.len() && matches!(b[i], b' ' | b'\n' | b'\r' | b'\t') {
        i += 1;
    }
    i
}

/// The value that begins at `i` (white space skipped), and the position after it.
pub fn value(b: &[u8], i: usize) -> Result<(Raw<'_>, usize), Stop> {
    let i = space(b, i);
    match b.get(i) {
        None => Err(Stop::More),
        Some(b'"') => {
            let end = string_end(b, i + 1)?;
            Ok((Raw::Text(&b[i + 1..end]), end + 1))
        }
        Some(b'[') => nested_end(b, i).map(|end| (Raw::List(&b[i..end]), end)),
        Some(b'{') => nested_end(b, i).map(|end| (Raw::Object(&b[i..end]), end)),
        Some(_) => {
            let mut end = i;
            while end < b.len() && (b[end].is_ascii_alphanumeric() || matches!(b[end], b'-' | b'+' | b'.' | b'_')) {
                end += 1;
            }
            match &b[i..end] {
                [] => Err(Stop::Bad(i)),
                _ if end == b.len() => Err(Stop::More),
                b"null" => Ok((Raw::Null, end)),
                b"true" => Ok((Raw::Bool(true), end)),
                b"false" => Ok((Raw::Bool(false), end)),
                word => Ok((Raw::Word(word), end)),
            }
        }
    }
}

/// Walks through the object that begins at `i`, and tells the position after it. Keys are handed out with their
/// escapes. Commas are not insisted on.
pub fn object<'a>(b: &'a [u8], i: usize, mut each: impl FnMut(&'a [u8], Raw<'a>)) -> Result<usize, Stop> {
    let mut i = space(b, i);
    match b.get(i) {
        None => return Err(Stop::More),
        Some(b'{') => i += 1,
        Some(_) => return Err(Stop::Bad(i)),
    }
    loop {
        i = space(b, i);
        match b.get(i) {
            None => return Err(Stop::More),
            Some(b'}') => return Ok(i + 1),
            Some(b',') => i += 1,
            Some(b'"') => {
                let end = string_end(b, i + 1)?;
                let key = &b[i + 1..end];
                i = space(b, end + 1);
                match b.get(i) {
                    None => return Err(Stop::More),
                    Some(b':') => i += 1,
                    Some(_) => return Err(Stop::Bad(i)),
                }
                let (found, after) = value(b, i)?;
                each(key, found);
                i = after;
            }
            Some(_) => return Err(Stop::Bad(i)),
        }
    }
}

/// The elements of a list (given with its brackets) up to the first that is not readable.
pub fn elements(list: &[u8]) -> impl Iterator<Item = Raw<'_>> {
    let mut i = 1;
    std::iter::from_fn(move || {
        i = space(list, i);
        while list.get(i) == Some(&b',') {
            i = space(list, i + 1);
        }
        if matches!(list.get(i), None | Some(b']')) {
            return None;
        }
        let (found, after) = value(list, i).ok()?;
        i = after;
        Some(found)
    })
}

/// Position after the list or object that begins at `i`. Only counts brackets: what is inside need not be right.
pub fn nested_end(b: &[u8], mut i: usize) -> Result<usize, Stop> {
    let mut depth = 0usize;
    while let Some(&byte) = b.get(i) {
        i += 1;
        match byte {
            b'"' => i = string_end(b, i)? + 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Ok(i);
                }
            }
            _ => {}
        }
    }
    Err(Stop::More)
}

/// Position of the quote that ends the string whose first character is at `i`.
fn string_end(b: &[u8], mut i: usize) -> Result<usize, Stop> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The lowest set bit marks the first zero byte of `v` (higher ones may be wrong).
    let zero = |v: u64| v.wrapping_sub(ONES) & !v & HIGH;
    while let Some(chunk) = b.get(i..).and_then(|rest| rest.first_chunk::<8>()) {
        let v = u64::from_le_bytes(*chunk);
        let hits = zero(v ^ (ONES * u64::from(b'"'))) | zero(v ^ (ONES * u64::from(b'\\')));
        if hits == 0 {
            i += 8;
            continue;
        }
        i += hits.trailing_zeros() as usize / 8;
        if b[i] == b'"' {
            return Ok(i);
        }
        i += 2;
    }
    while let Some(&byte) = b.get(i) {
        match byte {
            b'"' => return Ok(i),
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    Err(Stop::More)
}

/// Reads a decimal number exactly; a fraction is rounded down.
fn integer(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let (mantissa, exponent) = match digits.iter().position(|c| matches!(c, b'e' | b'E')) {
        Some(at) => (&digits[..at], std::str::from_utf8(&digits[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let mut found = 0i128;
    let mut any = false;
    let mut scale = exponent;
    let mut lost = false;
    let mut after_point = false;
    for &c in mantissa {
        match c {
            b'.' if !after_point => after_point = true,
            b'0'..=b'9' => {
                any = true;
                // Digits behind the point that the exponent does not bring before it are a fraction.
                if after_point && scale <= 0 {
                    lost |= c != b'0';
                    continue;
                }
                found = found.checked_mul(10)?.checked_add(i128::from(c - b'0'))?;
                scale -= i32::from(after_point);
            }
            _ => return None,
        }
    }
    if !any {
        return None;
    }
    while scale > 0 && found != 0 {
        found = found.checked_mul(10)?;
        scale -= 1;
    }
    // A negative exponent moves digits before the point behind it.
    if exponent < 0 {
        for _ in exponent.max(-50)..0 {
            lost |= found % 10 != 0;
            found /= 10;
        }
    }
    Some(if negative { -found - i128::from(lost) } else { found })
}

/// The text between two quotes. What is no UTF-8 and no character is replaced.
pub fn unescape(bytes: &[u8]) -> Cow<'_, str> {
    if !bytes.contains(&b'\\') {
        return String::from_utf8_lossy(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while let Some(&byte) = bytes.get(i) {
        i += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let escape = bytes.get(i).copied().unwrap_or(b'\\');
        i += 1;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let high = hex(bytes, i);
                i += 4;
                let low = if bytes.get(i..i + 2) == Some(b"\\u") { hex(bytes, i + 2) } else { None };
                let c = match (high, low) {
                    (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                        i += 6;
                        char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                    }
                    (Some(unit), _) => char::from_u32(unit),
                    _ => None,
                }
                .unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned().into()
}

fn hex(bytes: &[u8], i: usize) -> Option<u32> {
    let digits = bytes.get(i..i + 4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(text: &str) -> Result<Vec<(String, String)>, Stop> {
        let mut out = Vec::new();
        object(text.as_bytes(), 0, |key, value| out.push((unescape(key).into_owned(), value.text().into_owned())))?;
        Ok(out)
    }

    #[test]
    fn integers_are_exact() {
        let read = |text: &str| Raw::Word(text.as_bytes()).integer();
        assert_eq!(read("9223372036854775807"), Some(i128::from(i64::MAX)));
        assert_eq!(read("18446744073709551615"), Some(i128::from(u64::MAX)));
        assert_eq!(read("9.223372036854775807e18"), Some(i128::from(i64::MAX)));
        assert_eq!(read("12.0"), Some(12));
        assert_eq!(read("1.5"), Some(1));
        assert_eq!(read("-1.5"), Some(-2));
        assert_eq!(read("1.25e1"), Some(12));
        assert_eq!(read("1250e-2"), Some(12));
        assert_eq!(read("-1250e-2"), Some(-13));
        assert_eq!(read("1e400000"), None);
        for none in ["", "-", "NaN", "Infinity", "0x10", "1.2.3", ".", "12ab"] {
            assert_eq!(read(none), None, "{none}");
        }
        assert_eq!(Raw::Text(b" 42 ").clamped(), Some(42));
        assert_eq!(Raw::Word(b"99999999999999999999").clamped(), Some(i64::MAX));
        assert_eq!(Raw::Word(b"NaN").number(), None);
        assert_eq!(Raw::Word(b"-Infinity").number(), None);
    }

    #[test]
    fn escapes_are_undone_and_broken_ones_replaced() {
        let text = |bytes: &[u8]| unescape(bytes).into_owned();
        assert_eq!(text(br#"a\"b\\c\/d\n"#), "a\"b\\c/d\n");
        assert_eq!(text(br"\u00e4\ud83d\ude00"), "ä😀");
        assert_eq!(text(br"\ud83d!"), "\u{fffd}!");
        assert_eq!(text(br"\ud83d\u0041"), "\u{fffd}A");
        assert_eq!(text(br"\uzz"), "\u{fffd}");
        assert_eq!(text(b"\xff\\n"), "\u{fffd}\n");
    }

    #[test]
    fn words_that_json_does_not_know_are_values() {
        let found = fields(r#"{"a":NaN,"b":-Infinity,"c":[{"x":"]}"}, 1],"d":null,"e":true , "f" : "x" }"#).unwrap();
        let texts: Vec<_> = found.iter().map(|(_, v)| v.as_str()).collect();
        assert_eq!(texts, ["NaN", "-Infinity", "", "", "true", "x"]);
        assert!(matches!(fields(r#"{"a" 1}"#), Err(Stop::Bad(5))));
        assert!(matches!(fields(r#"{"a":;}"#), Err(Stop::Bad(5))));
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(nested_end(deep.as_bytes(), 0), Ok(2_000_000));
    }

    proptest! {
        #[test]
        fn strings_end_where_serde_json_ends_them(text in ".*", tail in ".*") {
            let json = serde_json::to_string(&text).unwrap();
            let bytes = format!("{json}{tail}").into_bytes();
            let end = string_end(&bytes, 1).unwrap();
            prop_assert_eq!(end + 1, json.len());
            prop_assert_eq!(unescape(&bytes[1..end]), text);
        }

        #[test]
        fn any_cut_of_an_object_wants_more(keys in prop::collection::vec((".*", any::<i64>()), 0..6), cut in 0.0f64..1.0) {
            let pairs: serde_json::Map<String, serde_json::Value> = keys.into_iter().map(|(k, v)| (k, v.into())).collect();
            let json = serde_json::to_string(&pairs).unwrap();
            prop_assert_eq!(fields(&json).unwrap().len(), pairs.len());
            let cut = (cut * json.len() as f64) as usize;
            prop_assert_eq!(object(&json.as_bytes()[..cut], 0, |_, _| ()), Err(Stop::More));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'}'), Just(b':'), Just(b','), Just(b'u'), any::<u8>()], 0..60)) {
            let _ = object(&bytes, 0, |key, value| {
                let _ = (unescape(key), value.text(), value.integer(), value.number());
            });
        }
    }
}
