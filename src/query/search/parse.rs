//! The query language: text in, terms out. What the terms mean for a profile is decided by [`super::plan`].
//!
//! ```text
//! query  = { either }                    all must hold
//! either = factor { "|" factor }         one must hold
//! factor = "-" factor | "(" query ")" | term
//! term   = word | field operator value   operator: : = != ~ !~ < <= > >=
//! ```
//!
//! Values and words end at a blank, or are quoted: `"two words"`, with `\"` and `\\` inside. Unquoted words also end
//! at `|`, except the expression after `~`.

/// Why a query means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The character at which the fault begins, from 0.
    pub column: usize,
    /// How many characters it covers; 0 where something is missing.
    pub length: usize,
    /// What is wrong and what to do, in words.
    pub message: String,
}

impl std::fmt::Display for QueryError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "column {}: {}", self.column + 1, self.message)
    }
}

impl std::error::Error for QueryError {}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `:` part of it.
    Has,
    /// `=` all of it.
    Is,
    /// `!=` something else.
    IsNot,
    /// `~` a regular expression.
    Matches,
    /// `!~` no match of a regular expression.
    MatchesNot,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

/// The longer ones first.
const OPS: [(&str, Op); 10] = [
    ("!=", Op::IsNot),
    ("!~", Op::MatchesNot),
    ("<=", Op::AtMost),
    (">=", Op::AtLeast),
    ("==", Op::Is),
    (":", Op::Has),
    ("=", Op::Is),
    ("~", Op::Matches),
    ("<", Op::Less),
    (">", Op::More),
];

/// A piece of the query with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What it says, without quotes.
    pub text: String,
    /// The character at which it begins, from 0.
    pub column: usize,
    /// Characters that it takes up, quotes included.
    pub length: usize,
    /// Whether it was quoted.
    pub quoted: bool,
}

impl Text {
    /// A fault in this piece.
    #[must_use]
    pub fn error(&self, message: impl Into<String>) -> QueryError {
        QueryError { column: self.column, length: self.length, message: message.into() }
    }
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// In any text field.
    Word(Text),
    /// In one field.
    Field {
        /// Its name as written.
        field: Text,
        /// How it is compared.
        op: Op,
        /// With what.
        value: Text,
    },
}

/// Conditions joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr<T> {
    /// A condition.
    Leaf(T),
    /// The opposite.
    Not(Box<Expr<T>>),
    /// All of them; an empty query holds for everything.
    And(Vec<Expr<T>>),
    /// One of them.
    Or(Vec<Expr<T>>),
}

impl<T> Expr<T> {
    /// The same with other leaves.
    ///
    /// # Errors
    /// What `leaf` fails with.
    pub fn map<U, E>(&self, leaf: &mut impl FnMut(&T) -> Result<Expr<U>, E>) -> Result<Expr<U>, E> {
        Ok(match self {
            Expr::Leaf(t) => leaf(t)?,
            Expr::Not(inner) => Expr::Not(Box::new(inner.map(leaf)?)),
            Expr::And(parts) => Expr::And(parts.iter().map(|p| p.map(leaf)).collect::<Result<_, E>>()?),
            Expr::Or(parts) => Expr::Or(parts.iter().map(|p| p.map(leaf)).collect::<Result<_, E>>()?),
        })
    }
}

/// Deeper nesting is a mistake.
const DEEPEST: usize = 64;

/// Reads a query.
///
/// # Errors
/// What cannot be understood, and where.
pub fn parse(text: &str) -> Result<Expr<Term>, QueryError> {
    let mut parser = Parser { chars: text.chars().collect(), at: 0 };
    let query = parser.query(0)?;
    if parser.peek() == Some(')') {
        return Err(parser.error(1, "there is no ( that this ) could close; quote it to search for it"));
    }
    Ok(query)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn error(&self, length: usize, message: impl Into<String>) -> QueryError {
        QueryError { column: self.at, length, message: message.into() }
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn query(&mut self, depth: usize) -> Result<Expr<Term>, QueryError> {
        if depth > DEEPEST {
            return Err(self.error(0, "brackets are nested too deeply"));
        }
        let mut parts = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(')') => break,
                Some('|') => return Err(self.error(1, "| needs a term on both sides; quote it to search for it")),
                Some(_) => parts.push(self.either(depth)?),
            }
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::And(parts) })
    }

    fn either(&mut self, depth: usize) -> Result<Expr<Term>, QueryError> {
        let mut parts = vec![self.factor(depth)?];
        loop {
            self.blanks();
            if self.peek() != Some('|') {
                break;
            }
            let bar = self.at;
            self.at += 1;
            self.blanks();
            if matches!(self.peek(), None | Some(')' | '|')) {
                self.at = bar;
                return Err(self.error(1, "| needs a term on both sides; quote it to search for it"));
            }
            parts.push(self.factor(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::Or(parts) })
    }

    fn factor(&mut self, depth: usize) -> Result<Expr<Term>, QueryError> {
        if depth > DEEPEST {
            return Err(self.error(0, "exclusions are nested too deeply"));
        }
        match self.peek() {
            Some('-') => {
                self.at += 1;
                if self.peek().is_none_or(|c| c.is_whitespace() || c == '|' || c == ')') {
                    self.at -= 1;
                    return Err(self.error(1, "- needs a term right behind it to exclude; quote it to search for it"));
                }
                Ok(Expr::Not(Box::new(self.factor(depth + 1)?)))
            }
            Some('(') => {
                let open = self.at;
                self.at += 1;
                let inner = self.query(depth + 1)?;
                if self.peek() != Some(')') {
                    self.at = open;
                    return Err(self.error(1, "this ( is never closed; quote it to search for it"));
                }
                self.at += 1;
                Ok(inner)
            }
            _ => self.term().map(Expr::Leaf),
        }
    }

    fn term(&mut self) -> Result<Term, QueryError> {
        if self.peek() == Some('"') {
            return self.quoted().map(Term::Word);
        }
        let Some((name, op)) = self.field() else { return Ok(Term::Word(self.word(true))) };
        let value = match self.peek() {
            Some('"') => self.quoted()?,
            _ => self.word(!matches!(op, Op::Matches | Op::MatchesNot)),
        };
        if value.text.is_empty() && !value.quoted {
            let name = &name.text;
            let message =
                format!("what should {name} be compared with? Write a value right behind it; \"\" is empty text");
            return Err(QueryError { column: value.column, length: 0, message });
        }
        Ok(Term::Field { field: name, op, value })
    }

    /// A field's name and operator, if such come next. `aten::linear` has none: what begins with two colons is text.
    fn field(&mut self) -> Option<(Text, Op)> {
        let start = self.at;
        let letter = |c: &char| c.is_alphabetic() || *c == '_';
        let mut end = start;
        while self.chars.get(end).is_some_and(|c| letter(c) || (end > start && c.is_ascii_digit())) {
            end += 1;
        }
        if end == start {
            return None;
        }
        let begins = |op: &str| op.chars().enumerate().all(|(i, c)| self.chars.get(end + i) == Some(&c));
        let (sign, op) = OPS.iter().find(|(sign, _)| begins(sign))?;
        if *op == Op::Has && self.chars.get(end + 1) == Some(&':') {
            return None;
        }
        let text = self.chars[start..end].iter().collect();
        self.at = end + sign.len();
        Some((Text { text, column: start, length: end - start, quoted: false }, *op))
    }

    fn quoted(&mut self) -> Result<Text, QueryError> {
        let start = self.at;
        let mut text = String::new();
        self.at += 1;
        loop {
            match self.peek() {
                None => {
                    self.at = start;
                    return Err(self.error(self.chars.len() - start, "this quote is never closed"));
                }
                Some('"') => break,
                Some('\\') if matches!(self.chars.get(self.at + 1), Some('"' | '\\')) => {
                    text.push(self.chars[self.at + 1]);
                    self.at += 2;
                }
                Some(c) => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Ok(Text { text, column: start, length: self.at - start, quoted: true })
    }

    /// Characters up to a blank, a `)` that closes nothing within the word, or (where `bars` end words) a `|`.
    fn word(&mut self, bars: bool) -> Text {
        let start = self.at;
        let mut open = 0;
        while let Some(c) = self.peek() {
            match c {
                c if c.is_whitespace() => break,
                '|' if bars => break,
                '(' => open += 1,
                ')' if open == 0 => break,
                ')' => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
        let text = self.chars[start..self.at].iter().collect();
        Text { text, column: start, length: self.at - start, quoted: false }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A query written out with every bracket.
    fn spelled(expr: &Expr<Term>) -> String {
        let join = |parts: &[Expr<Term>], sign: &str| {
            format!("({})", parts.iter().map(spelled).collect::<Vec<_>>().join(sign))
        };
        match expr {
            Expr::Leaf(Term::Word(word)) => format!("{:?}", word.text),
            Expr::Leaf(Term::Field { field, op, value }) => format!("{} {op:?} {:?}", field.text, value.text),
            Expr::Not(inner) => format!("!{}", spelled(inner)),
            Expr::And(parts) => join(parts, " & "),
            Expr::Or(parts) => join(parts, " | "),
        }
    }

    fn read(text: &str) -> String {
        parse(text).map_or_else(|e| e.to_string(), |e| spelled(&e))
    }

    #[test]
    fn terms_are_joined() {
        assert_eq!(read(""), "()");
        assert_eq!(read("matmul"), r#""matmul""#);
        assert_eq!(
            read("track:Tensor MATMUL | LDWEIGHTS -dot.7"),
            r#"(track Has "Tensor" & ("MATMUL" | "LDWEIGHTS") & !"dot.7")"#
        );
        assert_eq!(read("a|b|c"), r#"("a" | "b" | "c")"#);
        assert_eq!(read("(a b) | -(c d)"), r#"(("a" & "b") | !("c" & "d"))"#);
        assert_eq!(read("--a"), r#"!!"a""#);
    }

    #[test]
    fn fields_have_operators() {
        assert_eq!(read("duration>1us"), r#"duration More "1us""#);
        assert_eq!(read("bytes>=64KiB pc<=-3"), r#"(bytes AtLeast "64KiB" & pc AtMost "-3")"#);
        assert_eq!(
            read(r#"name="two words" layer:"a \"b\" \\ \n""#),
            r#"(name Is "two words" & layer Has "a \"b\" \\ \\n")"#
        );
        assert_eq!(
            read("opcode!=NOP opcode!~^DMA|NOP opcode==X"),
            r#"(opcode IsNot "NOP" & opcode MatchesNot "^DMA|NOP" & opcode Is "X")"#
        );
        assert_eq!(read("opcode~(MAT|LDW).* x"), r#"(opcode Matches "(MAT|LDW).*" & "x")"#);
        assert_eq!(read(r#"layer="""#), r#"layer Is """#);
    }

    #[test]
    fn text_that_only_looks_like_a_field_is_text() {
        for text in ["aten::linear", "aten::", "S[18]>=320", "dot.7=x", "0x2000:1", "q-b:1", "Tensor(nc0)", "a-b"] {
            assert_eq!(read(text), format!("{text:?}"));
        }
        assert_eq!(read("track:Tensor(nc0)"), r#"track Has "Tensor(nc0)""#);
        assert_eq!(read("(track:Tensor(nc0) b)"), r#"(track Has "Tensor(nc0)" & "b")"#);
        assert_eq!(read(r#""name:x""#), r#""name:x""#);
    }

    #[test]
    fn faults_have_a_place() {
        let place = |text: &str| parse(text).map_err(|e| (e.column, e.length)).unwrap_err();
        assert_eq!(place("a |"), (2, 1));
        assert_eq!(place("| a"), (0, 1));
        assert_eq!(place("a || b"), (2, 1));
        assert_eq!(place("a - b"), (2, 1));
        assert_eq!(place("µ \"b"), (2, 2));
        assert_eq!(place("a (b"), (2, 1));
        assert_eq!(place("a) b"), (1, 1));
        assert_eq!(place("name: b"), (5, 0));
        assert!(read("name=").starts_with("column 6: what should name be compared with?"), "{}", read("name="));
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"-".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_within_its_bounds(text in r#"[a-c:=~<>!|()" \\-]{0,24}|\PC{0,12}"#) {
            if let Err(e) = parse(&text) {
                prop_assert!(e.column + e.length <= text.chars().count(), "{e:?}");
            }
        }
    }
}
