//! What a value must be for a term to hold.
//!
//! Case follows the writer: a word without capitals matches any case, one with capitals exactly.

use regex::bytes::{Regex, RegexBuilder};

use super::number::{self, Number};
use super::parse::{Op, QueryError, Text};

/// A condition on one value. Nothing recorded satisfies only [`Test::is_empty_text`].
#[derive(Clone, Debug)]
pub enum Test {
    /// The text contains this.
    Contains(Regex),
    /// The text is this, and a number has this value.
    Is {
        /// The whole text.
        text: Regex,
        /// The number that it spells.
        number: Option<Number>,
    },
    /// Empty, or nothing recorded.
    Empty,
    /// Something is recorded.
    Recorded,
    /// The expression matches somewhere.
    Matches(Regex),
    /// The number compares so.
    Compares(Op, Number),
    /// The letters occur in this order.
    Loose(Vec<char>),
}

/// Whether capitals matter: they do where there are any. In an expression, those of classes like `\S` do not count.
fn has_capitals(text: &str, expression: bool) -> bool {
    let mut escaped = false;
    text.chars().any(|c| {
        let class = expression && escaped;
        escaped = c == '\\' && !escaped;
        c.is_uppercase() && !class
    })
}

fn compile(pattern: &str, any_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(any_case).size_limit(1 << 20).build()
}

fn literal(text: &str, whole: bool) -> Result<Regex, regex::Error> {
    let escaped = regex::escape(text);
    let pattern = if whole { format!(r"\A(?:{escaped})\z") } else { escaped };
    compile(&pattern, !has_capitals(text, false))
}

impl Test {
    /// Part of the text.
    ///
    /// # Errors
    /// The text is far too long.
    pub fn contains(value: &Text) -> Result<Test, QueryError> {
        if value.text.is_empty() {
            return Ok(Test::Recorded);
        }
        literal(&value.text, false).map(Test::Contains).map_err(|_| value.error("this text is too long to search for"))
    }

    /// The letters of a word in their order, whatever lies between.
    #[must_use]
    pub fn loose(word: &str) -> Test {
        let any_case = !has_capitals(word, false);
        let letters = word.chars().filter(|c| !c.is_whitespace());
        Test::Loose(
            letters.flat_map(|c| if any_case { c.to_lowercase().collect::<Vec<_>>() } else { vec![c] }).collect(),
        )
    }

    /// The test of `op` with `value`; [`Op::IsNot`] and [`Op::MatchesNot`] give the test that must fail.
    ///
    /// # Errors
    /// The value is no number or no regular expression.
    pub fn new(op: Op, value: &Text) -> Result<Test, QueryError> {
        Ok(match op {
            Op::Has => Test::contains(value)?,
            Op::Is | Op::IsNot if value.text.is_empty() => Test::Empty,
            Op::Is | Op::IsNot => Test::Is {
                text: literal(&value.text, true).map_err(|_| value.error("this text is too long to search for"))?,
                number: number::parse(&value.text).ok(),
            },
            Op::Matches | Op::MatchesNot => {
                let any_case = !has_capitals(&value.text, true);
                Test::Matches(compile(&value.text, any_case).map_err(|e| value.error(reason(&e)))?)
            }
            Op::Less | Op::AtMost | Op::More | Op::AtLeast => {
                Test::Compares(op, number::parse(&value.text).map_err(|message| value.error(message))?)
            }
        })
    }

    /// Whether it holds for empty text and where nothing is recorded.
    #[must_use]
    pub fn is_empty_text(&self) -> bool {
        match self {
            Test::Empty => true,
            Test::Matches(regex) => regex.is_match(b""),
            _ => false,
        }
    }

    /// Whether it holds for a text.
    #[must_use]
    pub fn text(&self, text: &[u8]) -> bool {
        if text.is_empty() {
            return self.is_empty_text();
        }
        match self {
            Test::Contains(regex) | Test::Matches(regex) => regex.is_match(text),
            Test::Is { text: regex, number } => {
                regex.is_match(text) || number.is_some_and(|n| spelled(text).is_some_and(|s| compare(Op::Is, s, n)))
            }
            Test::Empty => false,
            Test::Recorded => true,
            Test::Compares(op, number) => spelled(text).is_some_and(|s| compare(*op, s, *number)),
            Test::Loose(letters) => loose(letters, &String::from_utf8_lossy(text)),
        }
    }

    /// Whether it holds for a whole number.
    #[must_use]
    pub fn whole(&self, value: i128) -> bool {
        match self {
            Test::Is { number, .. } => {
                number.is_some_and(|n| compare(Op::Is, Number { whole: Some(value), float: value as f64 }, n))
            }
            Test::Compares(op, number) => compare(*op, Number { whole: Some(value), float: value as f64 }, *number),
            Test::Empty => false,
            Test::Recorded => true,
            _ => self.text(value.to_string().as_bytes()),
        }
    }

    /// The least and greatest whole number for which it holds, where those between them are all that do.
    #[must_use]
    pub fn bounds(&self) -> Option<(i128, i128)> {
        // Far beyond 64 bits, so that nothing saturates.
        const MOST: i128 = 1 << 100;
        let (op, number) = match self {
            Test::Is { number, .. } => (Op::Is, (*number)?),
            Test::Compares(op, number) => (*op, *number),
            _ => return None,
        };
        let floor = number.whole.unwrap_or(number.float.floor() as i128).clamp(-MOST, MOST);
        let ceil = number.whole.unwrap_or(number.float.ceil() as i128).clamp(-MOST, MOST);
        Some(match op {
            Op::Less => (-MOST, ceil - 1),
            Op::AtMost => (-MOST, floor),
            Op::More => (floor + 1, MOST),
            Op::AtLeast => (ceil, MOST),
            _ if floor != ceil => (1, 0),
            _ => (floor, ceil),
        })
    }

    /// Whether it holds for a floating point number; none for what is not a number.
    #[must_use]
    pub fn float(&self, value: f64) -> bool {
        if value.is_nan() {
            return self.is_empty_text();
        }
        match self {
            Test::Is { number, .. } => number.is_some_and(|n| compare(Op::Is, Number { whole: None, float: value }, n)),
            Test::Compares(op, number) => compare(*op, Number { whole: None, float: value }, *number),
            Test::Empty => false,
            Test::Recorded => true,
            _ => self.text(value.to_string().as_bytes()),
        }
    }

    /// What can be searched for in many texts laid end to end, if it is plain text.
    #[must_use]
    pub fn literal(&self) -> Option<&Regex> {
        match self {
            Test::Contains(regex) => Some(regex),
            _ => None,
        }
    }
}

/// The last line of what is wrong with an expression, which says it in words.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    format!("this regular expression cannot be used: {}", last.strip_prefix("error: ").unwrap_or(last))
}

/// The number that a text spells.
fn spelled(text: &[u8]) -> Option<Number> {
    let text = std::str::from_utf8(text).ok()?.trim();
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.').then(|| number::parse(text).ok()).flatten()
}

fn compare(op: Op, a: Number, b: Number) -> bool {
    let order = match (a.whole, b.whole) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.float.partial_cmp(&b.float),
    };
    let Some(order) = order else { return false };
    match op {
        Op::Less => order.is_lt(),
        Op::AtMost => order.is_le(),
        Op::More => order.is_gt(),
        Op::AtLeast => order.is_ge(),
        _ => order.is_eq(),
    }
}

fn loose(letters: &[char], text: &str) -> bool {
    let any_case = !letters.iter().any(|c| c.is_uppercase());
    let mut wanted = letters.iter().peekable();
    for c in text.chars() {
        let Some(&&next) = wanted.peek() else { break };
        let same = c == next || (any_case && c.to_lowercase().eq(std::iter::once(next)));
        if same {
            wanted.next();
        }
    }
    wanted.peek().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Text {
        Text { text: text.into(), column: 0, length: text.chars().count(), quoted: false }
    }

    fn test(op: Op, text: &str) -> Test {
        Test::new(op, &value(text)).unwrap()
    }

    #[test]
    fn case_follows_the_writer() {
        let has = |text: &str, of: &str| test(Op::Has, text).text(of.as_bytes());
        assert!(has("matmul", "MATMUL") && has("MATMUL", "xMATMULx") && !has("MATMUL", "matmul"));
        assert!(has("größe", "GRÖSSE GRÖßE") && !has("größe", "grösse"));
        assert!(has("S[18]", "S[18]>=3") && !has("S[18]", "s[18]>=3") && has("s[18]", "S[18]"));
        let is = |text: &str, of: &str| test(Op::Is, text).text(of.as_bytes());
        assert!(is("matmul", "MATMUL") && !is("matmul", "MATMULS") && !is("a.c", "abc"));
        let matches = |text: &str, of: &str| test(Op::Matches, text).text(of.as_bytes());
        assert!(matches(r"^mat\S+$", "MATMUL") && !matches("^Mat", "MATMUL") && matches("(?-i)^m", "matmul"));
        assert!(!matches("(?-i)matmul", "MATMUL"));
    }

    #[test]
    fn numbers_compare_by_value() {
        assert!(test(Op::More, "1us").whole(1001) && !test(Op::More, "1us").whole(1000));
        assert!(test(Op::AtLeast, "64KiB").whole(65_536));
        assert!(test(Op::Is, "316").whole(316) && test(Op::Is, "0x13c").whole(316) && !test(Op::Is, "x").whole(316));
        let id = (1i128 << 53) + 1;
        assert!(test(Op::Is, &id.to_string()).whole(id) && !test(Op::Is, &(id - 1).to_string()).whole(id));
        assert!(test(Op::Has, "31").whole(4316) && test(Op::Matches, "^43").whole(4316));
        assert!(test(Op::Less, "0.5").float(0.25) && !test(Op::Less, "0.5").float(f64::NAN));
        assert!(test(Op::More, "5").text(b"6") && !test(Op::More, "5").text(b"Z6") && test(Op::Is, "5").text(b"5.0"));
        let wrong = Test::new(Op::More, &value("soon")).unwrap_err();
        assert_eq!((wrong.column, wrong.length), (0, 4));
    }

    #[test]
    fn bounds_agree_with_comparing() {
        for op in [Op::Less, Op::AtMost, Op::More, Op::AtLeast, Op::Is] {
            for text in ["5", "-5", "4.5", "-4.5", "0"] {
                let test = test(op, text);
                let (lo, hi) = test.bounds().unwrap();
                for value in -7..8 {
                    assert_eq!((lo..=hi).contains(&value), test.whole(value), "{value} {op:?} {text}");
                }
            }
        }
        assert!(test(Op::Is, "word").bounds().is_none() && test(Op::Has, "5").bounds().is_none());
    }

    #[test]
    fn nothing_recorded_is_empty_text() {
        assert!(test(Op::Is, "").text(b"") && !test(Op::Is, "").text(b"x") && !test(Op::Is, "").whole(0));
        assert!(!test(Op::Has, "").text(b"") && test(Op::Has, "").text(b"x"));
        assert!(!test(Op::Has, "x").text(b"") && test(Op::Matches, "^$").text(b""));
        assert!(Test::new(Op::Matches, &value("(")).unwrap_err().message.contains("unclosed group"));
    }

    #[test]
    fn loose_words_match_letters_in_order() {
        assert!(Test::loose("tmx").text(b"TensorMatrix") && !Test::loose("xmt").text(b"TensorMatrix"));
        assert!(Test::loose("TM").text(b"TensorMatrix") && !Test::loose("Tm").text(b"TensorMatrix"));
        assert!(Test::loose("").text(b"a"));
    }
}
