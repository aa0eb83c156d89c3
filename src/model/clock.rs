//! Points in time as text.

/// Reads `2025-12-18 15:35:56.592463782+00:00` and its like (`T` or a space in the middle; `Z`, an offset, ` +0000 UTC` or
/// nothing at the end; any number of decimals) as Unix time in nanoseconds. `None` for anything else, and beyond the years that
/// 64 bits of nanoseconds hold.
#[must_use]
pub fn unix_nanos(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches("UTC").trim_end();
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone);
    let (clock, decimals) = time.trim_end().split_once('.').unwrap_or((time.trim_end(), ""));
    let mut parts = clock.splitn(3, ':').map(digits);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if !in_range || !decimals.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let nanos = decimals.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |n, c| n * 10 + i64::from(c - b'0'));
    let offset = match zone.as_bytes() {
        [] | [b'Z' | b'z'] => 0,
        [sign, ..] => {
            let (hours, minutes) =
                zone[1..].split_once(':').unwrap_or_else(|| zone[1..].split_at(2.min(zone.len() - 1)));
            let seconds = digits(hours)? * 3600 + if minutes.is_empty() { 0 } else { digits(minutes)? * 60 };
            if *sign == b'-' { -seconds } else { seconds }
        }
    };
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

fn digits(text: &str) -> Option<i64> {
    let fine = !text.is_empty() && text.len() <= 4 && text.bytes().all(|c| c.is_ascii_digit());
    fine.then(|| text.parse().ok()).flatten()
}

/// Days from 1 January 1970 in the Gregorian calendar, counted in 400-year cycles of years that begin in March, so that
/// the leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let in_cycle = year.rem_euclid(400);
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    cycle * 146_097 + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + in_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_spellings() {
        assert_eq!(unix_nanos("1970-01-01T00:00:00.000102669Z"), Some(102_669));
        assert_eq!(unix_nanos("2000-02-29 12:00:00"), Some(951_825_600_000_000_000));
        assert_eq!(unix_nanos("2025-12-18 15:35:56.592463782+00:00"), Some(1_766_072_156_592_463_782));
        assert_eq!(unix_nanos("2025-12-18T17:35:56.5+02:00"), unix_nanos("2025-12-18T15:35:56.500Z"));
        assert_eq!(unix_nanos("2025-12-18 15:35:56.592459482 +0000 UTC"), Some(1_766_072_156_592_459_482));
        assert_eq!(unix_nanos("2025-12-18T10:05:56-0530"), unix_nanos("2025-12-18T15:35:56Z"));
        assert_eq!(unix_nanos("1969-12-31T23:59:59Z"), Some(-1_000_000_000));
        for none in ["", "yesterday", "2025-13-01T00:00:00Z", "2025-01-01", "9999-01-01T00:00:00Z", "2025-01-01Té:00"]
        {
            assert_eq!(unix_nanos(none), None, "{none}");
        }
    }
}
