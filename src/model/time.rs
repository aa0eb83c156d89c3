//! Times as people write and read them, to and from whole nanoseconds. No floats: a time printed
//! to the nanosecond reads back as the same `i64`, whatever its size.

use std::fmt;

/// The units times are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    const ALL: [Unit; 4] = [Unit::Ns, Unit::Us, Unit::Ms, Unit::S];

    /// How many nanoseconds it has.
    pub const fn ns(self) -> u64 {
        match self {
            Unit::Ns => 1,
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
            Unit::S => 1_000_000_000,
        }
    }

    /// Its symbol, `µs` with the micro sign.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "µs",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }

    /// The largest unit in which `ns` nanoseconds are at least 1; nanoseconds for less.
    pub fn fitting(ns: u64) -> Unit {
        Unit::ALL.into_iter().rev().find(|unit| unit.ns() <= ns).unwrap_or(Unit::Ns)
    }

    fn parse(text: &str) -> Option<Unit> {
        match text {
            "ns" => Some(Unit::Ns),
            // The micro sign, the Greek letter, and what a keyboard has.
            "us" | "\u{b5}s" | "\u{3bc}s" => Some(Unit::Us),
            "ms" => Some(Unit::Ms),
            "s" => Some(Unit::S),
            _ => None,
        }
    }
}

/// A moment as written: from the profile's origin, or in Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Nanoseconds from the profile's origin.
    Origin(i64),
    /// Nanoseconds since 1970-01-01 UTC.
    Unix(i64),
}

impl Moment {
    /// The time in nanoseconds from the profile's origin, saturating at the limits of `i64`.
    ///
    /// # Errors
    /// A Unix time cannot be placed in a profile whose origin has none.
    pub fn resolve(self, origin_unix_ns: Option<i64>) -> Result<i64, TimeError> {
        match (self, origin_unix_ns) {
            (Moment::Origin(ns), _) => Ok(ns),
            (Moment::Unix(ns), Some(origin)) => Ok(ns.saturating_sub(origin)),
            (Moment::Unix(_), None) => Err(TimeError::NoUnixOrigin),
        }
    }
}

/// A range of time as written; an end that was left out is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// Where it starts; `None` is the profile's start.
    pub start: Option<Moment>,
    /// Where it ends; `None` is the profile's end.
    pub end: Option<Moment>,
}

impl TimeRange {
    /// Both ends in nanoseconds from the profile's origin, open ends replaced by `bounds`.
    ///
    /// # Errors
    /// Unix times without a Unix origin, and ranges that end before they start.
    pub fn resolve(self, origin_unix_ns: Option<i64>, bounds: (i64, i64)) -> Result<(i64, i64), TimeError> {
        let end = |moment: Option<Moment>, open: i64| moment.map_or(Ok(open), |moment| moment.resolve(origin_unix_ns));
        let (start, end) = (end(self.start, bounds.0)?, end(self.end, bounds.1)?);
        if end < start { Err(TimeError::Reversed) } else { Ok((start, end)) }
    }
}

/// Why a text is no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeError {
    /// It has not the form of a time.
    Malformed(String),
    /// The unit is none of those known.
    UnknownUnit(String),
    /// It has decimals but no unit, so it could mean anything.
    UnitMissing(String),
    /// It does not fit 64-bit nanoseconds.
    OutOfRange(String),
    /// There is no `..` in it.
    NoRange(String),
    /// The range ends before it starts.
    Reversed,
    /// A Unix time, but the profile does not say when it was recorded.
    NoUnixOrigin,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeError::Malformed(text) => {
                write!(
                    f,
                    "{text:?} is not a time; write nanoseconds (17200), a unit (17.2us) or Unix time (@1700000000s)"
                )
            }
            TimeError::UnknownUnit(unit) => write!(f, "unknown unit {unit:?}; use ns, us, ms or s"),
            TimeError::UnitMissing(text) => write!(f, "{text:?} has decimals but no unit; add ns, us, ms or s"),
            TimeError::OutOfRange(text) => {
                write!(f, "{text:?} is too far away: 64-bit nanoseconds reach 292 years either way")
            }
            TimeError::NoRange(text) => write!(f, "{text:?} is not a range; write FROM..TO, either may be left out"),
            TimeError::Reversed => write!(f, "the range ends before it starts"),
            TimeError::NoUnixOrigin => {
                write!(f, "this profile does not record its Unix time; give the time from its origin, without @")
            }
        }
    }
}

impl std::error::Error for TimeError {}

/// Reads a time: an integer is nanoseconds from the profile's origin, a unit (`ns`, `us`, `µs`,
/// `ms`, `s`) allows decimals, `@` before it makes it Unix time. Digits may be grouped as
/// [`TimeFormat`] writes them. What is finer than a nanosecond is rounded, halves away from zero.
///
/// # Errors
/// See [`TimeError`]; in particular decimals without a unit.
pub fn parse_time(text: &str) -> Result<Moment, TimeError> {
    parse_time_in(text, None)
}

/// Like [`parse_time`], but decimals without a unit are of `unit`: the one of the ruler a number
/// was copied from.
///
/// # Errors
/// See [`TimeError`].
pub fn parse_time_in(text: &str, unit: Option<Unit>) -> Result<Moment, TimeError> {
    let text = text.trim();
    let (unix, number) = match text.strip_prefix('@') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, text),
    };
    let ns = Decimal::parse(number)
        .map_err(|error| error.or_else_malformed(text))
        .and_then(|decimal| decimal.nanoseconds(text, unit))?;
    Ok(if unix { Moment::Unix(ns) } else { Moment::Origin(ns) })
}

/// Reads `A..B` where either end may be left out; `A–B` with a dash or hyphen as the header prints it
/// works too, and then an `A` without a unit has the unit of `B`.
///
/// # Errors
/// See [`TimeError`]; a range known to end before it starts is refused.
pub fn parse_range(text: &str) -> Result<TimeRange, TimeError> {
    let text = text.trim();
    let halves = text.split_once("..").map(|halves| (halves, false));
    // A hyphen stands for the dash on screens without one; at the start it is a minus.
    let dash =
        || text.split_once('\u{2013}').or_else(|| text.get(1..)?.find('-').map(|at| (&text[..=at], &text[at + 2..])));
    let Some(((from, to), dashed)) = halves.or_else(|| dash().map(|halves| (halves, true))) else {
        return Err(TimeError::NoRange(text.to_owned()));
    };
    let (from, to) = (from.trim(), to.trim());
    let unit = Decimal::parse(to.trim_start_matches('@')).ok().and_then(|decimal| decimal.unit);
    let from_unitless = Decimal::parse(from.trim_start_matches('@')).is_ok_and(|decimal| decimal.unit.is_none());
    let start = match (from, unit) {
        ("", _) => None,
        (_, Some(unit)) if dashed && from_unitless => Some(parse_time(&format!("{from} {}", unit.symbol()))?),
        _ => Some(parse_time_in(from, unit)?),
    };
    let end = if to.is_empty() { None } else { Some(parse_time(to)?) };
    match (start, end) {
        (Some(Moment::Origin(a)), Some(Moment::Origin(b))) | (Some(Moment::Unix(a)), Some(Moment::Unix(b)))
            if b < a =>
        {
            Err(TimeError::Reversed)
        }
        _ => Ok(TimeRange { start, end }),
    }
}

/// A number with its unit, not yet multiplied out: `magnitude / 10^decimals`.
struct Decimal {
    negative: bool,
    magnitude: u128,
    decimals: u32,
    pointed: bool,
    unit: Option<Unit>,
}

enum DecimalError {
    Malformed,
    TooLarge,
    Unit(String),
}

impl DecimalError {
    fn or_else_malformed(self, text: &str) -> TimeError {
        match self {
            DecimalError::Malformed => TimeError::Malformed(text.to_owned()),
            DecimalError::TooLarge => TimeError::OutOfRange(text.to_owned()),
            DecimalError::Unit(unit) => TimeError::UnknownUnit(unit),
        }
    }
}

/// More decimals than this cannot change a nanosecond of a time in seconds.
const MAX_DECIMALS: u32 = 18;

impl Decimal {
    fn parse(text: &str) -> Result<Decimal, DecimalError> {
        let unsigned = text.trim_start_matches(['-', '+', '\u{2212}']);
        let negative = match &text[..text.len() - unsigned.len()] {
            "" | "+" => false,
            "-" | "\u{2212}" => true,
            _ => return Err(DecimalError::Malformed),
        };
        let end = unsigned.find(|c: char| c.is_alphabetic()).unwrap_or(unsigned.len());
        let (number, unit) = (unsigned[..end].trim_end(), &unsigned[end..]);
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (number, None),
        };
        let (mut magnitude, mut decimals) = (0u128, 0);
        for digit in ungrouped(whole, true)? {
            magnitude = magnitude
                .checked_mul(10)
                .map(|value| value + u128::from(digit))
                .filter(|&value| value <= u128::from(u64::MAX))
                .ok_or(DecimalError::TooLarge)?;
        }
        for digit in fraction.map_or(Ok(Vec::new()), |fraction| ungrouped(fraction, false))? {
            if decimals < MAX_DECIMALS {
                // At most 2^64 * 10^18, far below 2^128.
                magnitude = magnitude * 10 + u128::from(digit);
                decimals += 1;
            }
        }
        let unit = match unit {
            "" => None,
            unit => Some(Unit::parse(unit).ok_or_else(|| DecimalError::Unit(unit.to_owned()))?),
        };
        Ok(Decimal { negative, magnitude, decimals, pointed: fraction.is_some(), unit })
    }

    fn nanoseconds(&self, text: &str, unit: Option<Unit>) -> Result<i64, TimeError> {
        let unit = match (self.unit, unit) {
            (Some(unit), _) => unit,
            (None, _) if !self.pointed => Unit::Ns,
            (None, Some(unit)) => unit,
            (None, None) => return Err(TimeError::UnitMissing(text.to_owned())),
        };
        // At most 2^64 * 10^18 * 10^9 < 2^154 would not fit, so the scale is reduced first.
        let (scale, per_unit) = (10u128.pow(self.decimals), u128::from(unit.ns()));
        let whole = self.magnitude / scale * per_unit;
        let part = (self.magnitude % scale * per_unit + scale / 2) / scale;
        let ns = i128::try_from(whole + part).map(|ns| if self.negative { -ns } else { ns });
        ns.ok().and_then(|ns| i64::try_from(ns).ok()).ok_or_else(|| TimeError::OutOfRange(text.to_owned()))
    }
}

/// The digits of a number whose groups of three may be set apart by a blank, counted from the
/// decimal point: outwards, so only the outermost group may be shorter.
fn ungrouped(text: &str, whole: bool) -> Result<Vec<u8>, DecimalError> {
    let groups: Vec<&str> = text.split([' ', THIN_SPACE, '\u{202f}', '\u{a0}', '_']).collect();
    let outermost = if whole { 0 } else { groups.len() - 1 };
    let mut digits = Vec::with_capacity(text.len());
    for (i, group) in groups.iter().enumerate() {
        let fits = groups.len() == 1 || group.len() == 3 || (i == outermost && group.len() < 3);
        if group.is_empty() || !fits || !group.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(DecimalError::Malformed);
        }
        digits.extend(group.bytes().map(|byte| byte - b'0'));
    }
    Ok(digits)
}

/// Sets groups of digits apart.
pub(super) const THIN_SPACE: char = '\u{2009}';

/// `digits` with its groups of three set apart, from the right (whole numbers of more than four
/// digits) or from the left (decimals of more than three).
pub(super) fn grouped(digits: &str, whole: bool) -> String {
    if digits.len() <= if whole { 4 } else { 3 } {
        return digits.to_owned();
    }
    let offset = if whole { (3 - digits.len() % 3) % 3 } else { 0 };
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (i + offset) % 3 == 0 {
            out.push(THIN_SPACE);
        }
        out.push(digit);
    }
    out
}

/// How a set of times is written alike: labels of one ruler share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeFormat {
    /// The unit all are given in.
    pub unit: Unit,
    /// Digits after the point, 0 to 9.
    pub decimals: u8,
}

impl TimeFormat {
    /// The format for times up to `largest` nanoseconds from zero in which two times
    /// `resolution` nanoseconds apart look different. A resolution of 0 counts as 1.
    pub fn new(largest: u64, resolution: u64) -> TimeFormat {
        let unit = Unit::fitting(largest);
        let (mut decimals, mut place) = (0, unit.ns());
        while place > resolution.max(1) {
            place /= 10;
            decimals += 1;
        }
        TimeFormat { unit, decimals }
    }

    /// The number without its unit, rounded (halves away from zero), digits grouped in threes.
    pub fn number(self, ns: i64) -> String {
        let place = 10u128.pow(u32::from(self.decimals.min(9)));
        let unit = u128::from(self.unit.ns());
        // At most 2^63 * 10^9: fits easily.
        let rounded = (u128::from(ns.unsigned_abs()) * place + unit / 2) / unit;
        let sign = if ns < 0 && rounded > 0 { "-" } else { "" };
        let whole = grouped(&(rounded / place).to_string(), true);
        if self.decimals == 0 {
            return format!("{sign}{whole}");
        }
        let width = usize::from(self.decimals.min(9));
        let fraction = grouped(&format!("{:0width$}", rounded % place), false);
        format!("{sign}{whole}.{fraction}")
    }

    /// The number with its unit, `17.2 µs`.
    pub fn text(self, ns: i64) -> String {
        format!("{} {}", self.number(ns), self.unit.symbol())
    }
}

/// A time in the unit that suits its size, with so many decimals that times `resolution`
/// nanoseconds apart look different: `17.2 µs`, at resolution 1 `18.172 014 ms`, which
/// [`parse_time`] reads back exactly.
pub fn format_time(ns: i64, resolution: u64) -> String {
    TimeFormat::new(ns.unsigned_abs(), resolution).text(ns)
}

/// A length of time to four digits, without trailing zeros: `272 ns`, `2.7 µs`, `1.234 s`.
pub fn format_duration(ns: u64) -> String {
    let mut unit = Unit::fitting(ns);
    loop {
        let decimals = match ns / unit.ns() {
            _ if unit == Unit::Ns => 0,
            0..10 => 3,
            10..100 => 2,
            100..1000 => 1,
            _ => 0,
        };
        let place = 10u128.pow(decimals);
        let per_unit = u128::from(unit.ns());
        let rounded = (u128::from(ns) * place + per_unit / 2) / per_unit;
        // 999.96 µs is 1 ms when rounded.
        if rounded >= 1000 * place && unit != Unit::S {
            unit = Unit::ALL[unit as usize + 1];
            continue;
        }
        let whole = grouped(&(rounded / place).to_string(), true);
        let fraction = format!("{:0width$}", rounded % place, width = decimals as usize);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        return format!("{whole}{point}{fraction} {}", unit.symbol());
    }
}

#[cfg(test)]
mod tests;
