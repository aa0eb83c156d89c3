//! Numbers as queries write them: `10`, `1.5us`, `64KiB`, `1e9`, `0x40`.

/// What a number is compared as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its exact value, where it is whole and fits.
    pub whole: Option<i128>,
    /// Its value.
    pub float: f64,
}

/// Units and what they multiply by; times become nanoseconds.
const UNITS: [(&str, i128); 25] = [
    ("", 1),
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
    ("ti", 1 << 40),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("%", 1),
];

/// Reads a number with an optional unit.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<Number, String> {
    let text = text.trim();
    let fail = || format!("{text:?} is no number; write one like 10, 1.5us or 64KiB");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let value = i128::from_str_radix(hex, 16).map_err(|_| fail())?;
        let value = if negative { -value } else { value };
        return Ok(Number { whole: Some(value), float: value as f64 });
    }
    let end = mantissa_end(digits);
    let (number, unit) = digits.split_at(end);
    let unit = unit.trim();
    let scale = UNITS.iter().find(|(name, _)| *name == unit || *name == unit.to_lowercase()).map(|(_, scale)| *scale);
    let Some(scale) = scale else {
        return Err(match number.is_empty() {
            true => fail(),
            false => format!("unknown unit {unit:?}; known are ns, us, ms, s, B, KiB, MiB, GiB, KB, MB, GB, K, M, G"),
        });
    };
    let number = number.replace('_', "");
    let float: f64 = number.parse().map_err(|_| fail())?;
    let sign = if negative { -1 } else { 1 };
    let whole = exact(&number, scale).map(|v| v * sign);
    Ok(Number { whole, float: whole.map_or(float * scale as f64 * f64::from(sign as i8), |v| v as f64) })
}

/// Where the number ends and its unit begins.
fn mantissa_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() && (bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b'_')) {
        end += 1;
    }
    // An exponent, not a unit that begins with an e.
    if end > 0 && end < bytes.len() && matches!(bytes[end], b'e' | b'E') {
        let mut exponent = end + 1;
        if exponent < bytes.len() && matches!(bytes[exponent], b'+' | b'-') {
            exponent += 1;
        }
        let digits = exponent;
        while exponent < bytes.len() && bytes[exponent].is_ascii_digit() {
            exponent += 1;
        }
        if exponent > digits {
            end = exponent;
        }
    }
    end
}

/// `number · scale`, where that is whole and fits.
fn exact(number: &str, scale: i128) -> Option<i128> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let decimals = decimals.trim_end_matches('0');
    let digits: i128 = format!("{whole}{decimals}").parse().ok()?;
    let value = digits.checked_mul(scale)?;
    let power = exponent.checked_sub(i32::try_from(decimals.len()).ok()?)?;
    let ten = 10i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        return value.checked_mul(ten);
    }
    (value % ten == 0).then(|| value / ten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_where_they_can_be() {
        let whole = |text: &str| parse(text).unwrap().whole;
        assert_eq!(whole("10"), Some(10));
        assert_eq!(whole("-3"), Some(-3));
        assert_eq!(whole("1us"), Some(1_000));
        assert_eq!(whole("1.5 us"), Some(1_500));
        assert_eq!(whole("0.0000000015s"), None);
        assert_eq!(whole("64KiB"), Some(65_536));
        assert_eq!(whole("64kib"), Some(65_536));
        assert_eq!(whole("1e9"), Some(1_000_000_000));
        assert_eq!(whole("25e-1us"), Some(2_500));
        assert_eq!(whole("0x40"), Some(64));
        assert_eq!(whole("9223372036854775809"), Some(9_223_372_036_854_775_809));
        assert_eq!(whole("50%"), Some(50));
        assert_eq!(parse("0.25").unwrap(), Number { whole: None, float: 0.25 });
        assert_eq!(parse("-0.5ns").unwrap().float, -0.5);
        for wrong in ["", "x", "1.2.3", "-", "0xzz", "us"] {
            assert!(parse(wrong).unwrap_err().contains("is no number"), "{wrong}");
        }
        assert!(parse("5 parsecs").unwrap_err().contains("unknown unit \"parsecs\""));
    }
}
