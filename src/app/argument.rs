//! What may follow an action's name.

use crate::model::time;

/// The form of an action's argument. Arguments are kept as text and checked when a key file or a
/// command line is read; who carries the action out reads the text with the same functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A moment as [`time::parse_time`] reads it.
    Time,
    /// A range `A..B` as [`time::parse_range`] reads it.
    Range,
    /// How far to pan: columns (`4`) or a share of the window (`25%`); see [`parse_step`].
    Step,
    /// A whole number from 1.
    Count,
    /// `on` or `off`; without it the setting is toggled. See [`parse_switch`].
    Switch,
    /// One of these words; without it the next one is taken.
    Choice(&'static [&'static str]),
    /// A program counter, with or without `@engine` and `#occurrence`.
    Pc,
    /// An event's id, `[Table:]id`.
    Id,
    /// A time, `pc:N`, `id:N` or the name of a mark.
    Place,
    /// A search query.
    Query,
    /// Part of a track's name.
    Track,
    /// A core's number, or `all`.
    Core,
    /// A semaphore's number or name.
    Semaphore,
    /// A setting and its value.
    Setting,
    /// The name of something kept in the configuration, such as a theme.
    Name(&'static str),
    /// A path on disk.
    Path,
    /// Free text.
    Text,
}

/// How far to pan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many columns.
    Columns(u32),
    /// So many hundredths of the window.
    Percent(u32),
}

impl ArgKind {
    /// The word that stands for the argument in help and prompts.
    pub fn label(self) -> String {
        match self {
            ArgKind::Time => "time",
            ArgKind::Range => "from..to",
            ArgKind::Step => "columns|share%",
            ArgKind::Count => "n",
            ArgKind::Switch => "on|off",
            ArgKind::Choice(words) => return words.join("|"),
            ArgKind::Pc => "pc",
            ArgKind::Id => "id",
            ArgKind::Place => "time|pc:N|id:N|mark",
            ArgKind::Query => "query",
            ArgKind::Track => "track",
            ArgKind::Core => "core|all",
            ArgKind::Semaphore => "semaphore",
            ArgKind::Setting => "setting value",
            ArgKind::Name(what) => what,
            ArgKind::Path => "path",
            ArgKind::Text => "text",
        }
        .to_owned()
    }

    /// The words that can complete it, where they are known beforehand.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            ArgKind::Choice(words) => words,
            ArgKind::Switch => &["on", "off"],
            ArgKind::Core => &["all"],
            _ => &[],
        }
    }

    /// Whether `text` has the form.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn check(self, text: &str) -> Result<(), String> {
        match self {
            ArgKind::Time => time::parse_time(text).map(drop).map_err(|error| error.to_string()),
            ArgKind::Range => time::parse_range(text).map(drop).map_err(|error| error.to_string()),
            ArgKind::Step => parse_step(text).map(drop),
            ArgKind::Count => parse_count(text).map(drop),
            ArgKind::Switch => parse_switch(text).map(drop),
            ArgKind::Choice(words) if !words.contains(&text) => {
                Err(format!("{text:?} is none of {}", words.join(", ")))
            }
            ArgKind::Core if text != "all" && text.parse::<u32>().is_err() => {
                Err(format!("{text:?} is neither a core's number nor `all`"))
            }
            _ => Ok(()),
        }
    }
}

/// Reads `4` (columns) or `25%` (of the window).
///
/// # Errors
/// What is wrong, in words: not a whole number, or zero.
pub fn parse_step(text: &str) -> Result<Step, String> {
    let bad = || format!("{text:?} is neither a number of columns such as 4 nor a share such as 25%");
    let (digits, percent) = match text.strip_suffix('%') {
        Some(digits) => (digits.trim_end(), true),
        None => (text, false),
    };
    match digits.parse::<u32>() {
        Ok(n) if n > 0 => Ok(if percent { Step::Percent(n) } else { Step::Columns(n) }),
        _ => Err(bad()),
    }
}

/// Reads a whole number from 1.
///
/// # Errors
/// What is wrong, in words.
pub fn parse_count(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err(format!("{text:?} is not a whole number from 1")),
    }
}

/// Reads `on` or `off`.
///
/// # Errors
/// What is wrong, in words.
pub fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "yes" => Ok(true),
        "off" | "false" | "no" => Ok(false),
        _ => Err(format!("{text:?} is neither on nor off")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_columns_or_shares() {
        assert_eq!(parse_step("4"), Ok(Step::Columns(4)));
        assert_eq!(parse_step("25%"), Ok(Step::Percent(25)));
        for bad in ["0", "0%", "-1", "", "%", "4 columns", "99999999999"] {
            assert!(parse_step(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn times_read_back_from_any_screen() {
        for ns in [17_200, 18_172_014, -1, i64::MIN, i64::MAX] {
            let shown = time::format_time(ns, 1);
            for text in [shown.as_str(), &crate::term::glyphs::ascii_fallback(&shown)] {
                assert_eq!(time::parse_time(text), Ok(time::Moment::Origin(ns)), "{text:?}");
            }
        }
    }

    #[test]
    fn arguments_are_checked_by_kind() {
        assert!(ArgKind::Choice(&["core", "engine"]).check("engine").is_ok());
        assert_eq!(
            ArgKind::Choice(&["core", "engine"]).check("queue").unwrap_err(),
            "\"queue\" is none of core, engine"
        );
        assert!(ArgKind::Core.check("all").is_ok() && ArgKind::Core.check("1").is_ok());
        assert!(ArgKind::Core.check("-1").is_err());
        assert!(ArgKind::Switch.check("on").is_ok() && ArgKind::Switch.check("maybe").is_err());
        assert!(ArgKind::Time.check("17.2us").is_ok() && ArgKind::Time.check("soon").is_err());
        assert!(ArgKind::Range.check("..1ms").is_ok() && ArgKind::Range.check("1ms").is_err());
        assert!(ArgKind::Count.check("0").is_err());
        assert!(ArgKind::Text.check("anything").is_ok());
    }
}
