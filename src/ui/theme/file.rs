//! A user's theme: a TOML file that changes roles of a built-in one.
//!
//! ```toml
//! name = "mine"
//! base = "light"                          # dark if not given
//! categories = ["#3c91fa", "#c48546"]     # fills for names
//!
//! [colors]
//! background = "default"                  # the terminal's own
//! cursor = "#ff0000"
//! warning = 214                           # of the 256-colour palette
//! error = "light-red"                     # one of the 16 the terminal chooses
//! ```
//!
//! What is wrong is reported with its line and column; the rest still counts.

use std::fmt;
use std::str::FromStr as _;

use ratatui::style::Color;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Theme;
use crate::term::text::escape;

/// Something wrong in a theme file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what to do, in plain words and safe to print.
    pub message: String,
}

impl fmt::Display for ThemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ThemeError {}

/// Reads a theme file. The theme is always usable; every mistake costs only what it is about.
///
/// The base is `dark` or `light` as the file says, else `fallback`.
pub fn read(source: &str, fallback: &Theme) -> (Theme, Vec<ThemeError>) {
    let (document, syntax) = DeTable::parse_recoverable(source);
    let mut reader = Reader { source, errors: Vec::new() };
    for error in syntax {
        let at = error.span().map_or(0, |span| span.start);
        reader.wrong(at, error.message().to_owned());
    }
    let theme = reader.theme(document.get_ref(), fallback);
    reader.errors.sort_by_key(|error| (error.line, error.column));
    (theme, reader.errors)
}

struct Reader<'a> {
    source: &'a str,
    errors: Vec<ThemeError>,
}

impl Reader<'_> {
    fn theme(&mut self, table: &DeTable<'_>, fallback: &Theme) -> Theme {
        let mut theme = match table.get("base") {
            None => fallback.clone(),
            Some(base) => match base.get_ref().as_str() {
                Some("dark") => Theme::dark(),
                Some("light") => Theme::light(),
                _ => {
                    self.wrong(base.span().start, "`base` is \"dark\" or \"light\"".to_owned());
                    fallback.clone()
                }
            },
        };
        for (key, value) in table {
            let at = value.span().start;
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("base", _) => {}
                ("name", DeValue::String(name)) => theme.name = escape(name).into_owned(),
                ("name", _) => self.wrong(at, "`name` is a text in quotes".to_owned()),
                ("categories", DeValue::Array(colors)) => {
                    let colors: Vec<_> = colors.iter().filter_map(|color| self.color(color)).collect();
                    if colors.is_empty() {
                        self.wrong(at, "`categories` needs at least one colour".to_owned());
                    } else {
                        theme.categories = colors;
                    }
                }
                ("categories", _) => self.wrong(at, "`categories` is a list of colours".to_owned()),
                ("colors", DeValue::Table(colors)) => self.colors(colors, &mut theme),
                ("colors", _) => self.wrong(at, "`colors` is a table: put roles below a line `[colors]`".to_owned()),
                (other, _) => {
                    let hint = if Theme::ROLES.contains(&other) { "; roles go below a line `[colors]`" } else { "" };
                    let message = format!(
                        "there is no `{}` in a theme, only name, base, categories and colors{hint}",
                        escape(other)
                    );
                    self.wrong(key.span().start, message);
                }
            }
        }
        theme
    }

    fn colors(&mut self, colors: &DeTable<'_>, theme: &mut Theme) {
        for (key, value) in colors {
            let role = key.get_ref().replace('-', "_");
            if theme.role(&role).is_none() {
                let hint = nearest_role(&role).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                self.wrong(key.span().start, format!("there is no role `{}`{hint}", escape(key.get_ref())));
            } else if let Some(color) = self.color(value) {
                theme.set_role(&role, color);
            }
        }
    }

    /// A colour: `"#rrggbb"`, `"default"`, a name of the 16, or an index of the 256.
    fn color(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Color> {
        let color = match value.get_ref() {
            DeValue::Integer(index) if index.radix() == 10 => index.as_str().parse::<u8>().ok().map(Color::Indexed),
            DeValue::String(name) if name.as_ref() == "default" => Some(Color::Reset),
            DeValue::String(name) => Color::from_str(name).ok(),
            _ => None,
        };
        if color.is_none() {
            let message =
                "a colour is \"#rrggbb\", \"default\", a name such as \"light-red\", or a number up to 255".to_owned();
            self.wrong(value.span().start, message);
        }
        color
    }

    fn wrong(&mut self, at: usize, message: String) {
        let before = self.source.get(..at).unwrap_or(self.source);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.errors.push(ThemeError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: escape(&message).into_owned(),
        });
    }
}

/// The role whose name is most like a wrong one, if any is.
fn nearest_role(wrong: &str) -> Option<&'static str> {
    let nearest = Theme::ROLES.iter().map(|role| (edits(wrong, role), *role)).min()?;
    (nearest.0 <= 1.max(wrong.chars().count() / 3)).then_some(nearest.1)
}

/// The least number of inserted, deleted and replaced characters between two words (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_changed_and_the_rest_stays() {
        let source = r##"
name = "mine"
base = "light"
categories = ["#010203", 214]
[colors]
background = "default"
current-match = "#ff0001"
warning = 214
error = "light-red"
"##;
        let (theme, errors) = read(source, &Theme::dark());
        assert_eq!(errors, []);
        let mut wanted = Theme::light();
        wanted.name = "mine".to_owned();
        wanted.categories = vec![Color::Rgb(1, 2, 3), Color::Indexed(214)];
        wanted.background = Color::Reset;
        wanted.current_match = Color::Rgb(255, 0, 1);
        wanted.warning = Color::Indexed(214);
        wanted.error = Color::LightRed;
        assert_eq!(theme, wanted);
    }

    #[test]
    fn an_empty_file_is_the_fall_back() {
        assert_eq!(read("", &Theme::light()), (Theme::light(), vec![]));
    }

    #[test]
    fn mistakes_say_where_and_cost_only_themselves() {
        let source = "name = 3\n\
                      base = \"blue\"\n\
                      text = \"#ffffff\"\n\
                      categories = []\n\
                      [colors]\n\
                      curser = \"#ffffff\"\n\
                      key = \"#ff00\"\n\
                      warning = 256\n\
                      error = \"#00ff00\"\n\
                      \"b\\u001b\" = 1\n";
        let (theme, errors) = read(source, &Theme::dark());
        assert_eq!(theme, Theme { error: Color::Rgb(0, 255, 0), ..Theme::dark() });
        let shown: Vec<_> = errors.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(shown.join("\n"), @r##"
        line 1, column 8: `name` is a text in quotes
        line 2, column 8: `base` is "dark" or "light"
        line 3, column 1: there is no `text` in a theme, only name, base, categories and colors; roles go below a line `[colors]`
        line 4, column 14: `categories` needs at least one colour
        line 6, column 1: there is no role `curser`; did you mean `cursor`?
        line 7, column 7: a colour is "#rrggbb", "default", a name such as "light-red", or a number up to 255
        line 8, column 11: a colour is "#rrggbb", "default", a name such as "light-red", or a number up to 255
        line 10, column 1: there is no role `b\x1b`
        "##);
    }

    #[test]
    fn broken_toml_still_gives_a_theme() {
        let (theme, errors) = read("[colors]\ntext = \"#ffffff\"\ncursor = \"#12\nkey = \"#00ff00\"\n", &Theme::dark());
        assert_eq!(theme.text, Color::Rgb(255, 255, 255));
        assert_eq!((errors[0].line, errors[0].column), (3, 10), "{errors:?}");
    }

    #[test]
    fn the_built_in_roles_read_back() {
        let theme = Theme::light();
        let lines = Theme::ROLES.iter().map(|role| format!("{role} = \"{}\"\n", theme.role(role).unwrap()));
        let source = format!("base = \"dark\"\n[colors]\n{}", lines.collect::<String>());
        let (read, errors) = read(&source, &Theme::dark());
        assert_eq!(errors, []);
        for role in Theme::ROLES {
            assert_eq!(read.role(role), theme.role(role), "{role}");
        }
    }
}
