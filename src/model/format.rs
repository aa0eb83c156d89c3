//! Numbers as people read them: bytes, rates and counts.

use super::time::grouped;

/// Bytes in binary units to three digits: `512 B`, `64 KiB`, `1.5 MiB`.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut power = (bytes.max(1).ilog2() / 10) as usize;
    loop {
        let unit = 1u128 << (10 * power);
        let (hundredths, decimals) = to_three_digits(u128::from(bytes), unit);
        // What rounds up to 1024 is one of the next unit.
        if power + 1 < UNITS.len() && hundredths >= 102_400 {
            power += 1;
            continue;
        }
        return format!("{} {}", decimal(hundredths, decimals), UNITS[power]);
    }
}

/// Bytes per second in decimal units to three digits, as bandwidths are quoted: `18 GB/s`.
/// What is not a finite number from 0 is `n/a`.
pub fn format_rate(bytes_per_second: f64) -> String {
    const UNITS: [&str; 7] = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s"];
    if !bytes_per_second.is_finite() || bytes_per_second < 0.0 {
        return "n/a".to_owned();
    }
    // Saturates; no bandwidth comes near.
    scaled(bytes_per_second.round() as u64, &UNITS, " ")
}

/// A count in full, digits grouped in threes: `1 234 567`.
pub fn format_count(count: u64) -> String {
    grouped(&count.to_string(), true)
}

/// A count to three digits for narrow places: `950`, `12.3k`, `10M`.
pub fn format_count_short(count: u64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    scaled(count, &UNITS, "")
}

fn scaled(value: u64, units: &[&str; 7], gap: &str) -> String {
    let mut power = (value.max(1).ilog10() / 3) as usize;
    loop {
        let unit = 1000u128.pow(power as u32);
        let (hundredths, decimals) = to_three_digits(u128::from(value), unit);
        if power + 1 < units.len() && hundredths >= 100_000 {
            power += 1;
            continue;
        }
        return format!("{}{gap}{}", decimal(hundredths, decimals), units[power]);
    }
}

/// `value / unit` in hundredths, rounded to three digits (halves up), and the decimals that leaves.
fn to_three_digits(value: u128, unit: u128) -> (u128, usize) {
    let (place, decimals) = match value / unit {
        0..10 => (1, 2),
        10..100 => (10, 1),
        _ => (100, 0),
    };
    ((value * 100 + unit * place / 2) / (unit * place) * place, decimals)
}

/// Hundredths as a decimal number with at most `decimals` digits after the point, no trailing zeros.
fn decimal(hundredths: u128, decimals: usize) -> String {
    let (whole, fraction) = (hundredths / 100, format!("{:02}", hundredths % 100));
    let fraction = fraction[..decimals].trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}", grouped(&whole.to_string(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_binary() {
        let cases = [
            (0, "0 B"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1536, "1.5 KiB"),
            (64 << 10, "64 KiB"),
            ((1 << 20) - 1, "1 MiB"),
            ((24 << 20) + (1 << 19), "24.5 MiB"),
            (24 << 30, "24 GiB"),
            (u64::MAX, "16 EiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(format_bytes(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn rates_are_decimal() {
        let cases = [
            (0.0, "0 B/s"),
            (18e9, "18 GB/s"),
            (18.44e9, "18.4 GB/s"),
            (999_999.0, "1 MB/s"),
            (1.234e12, "1.23 TB/s"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
            (-1.0, "n/a"),
        ];
        for (rate, text) in cases {
            assert_eq!(format_rate(rate), text, "{rate}");
        }
        assert_eq!(format_rate(1e300), "18.4 EB/s");
    }

    #[test]
    fn counts_in_full_and_short() {
        assert_eq!(format_count(9999), "9999");
        assert_eq!(format_count(10_000), "10\u{2009}000");
        assert_eq!(format_count(1_234_567), "1\u{2009}234\u{2009}567");
        let cases = [(0, "0"), (950, "950"), (12_345, "12.3k"), (999_500, "1M"), (10_000_000, "10M")];
        for (count, text) in cases {
            assert_eq!(format_count_short(count), text, "{count}");
        }
        assert_eq!(format_count_short(u64::MAX), "18.4E");
    }
}
