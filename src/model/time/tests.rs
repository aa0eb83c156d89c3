use proptest::prelude::*;

use super::*;

fn ns(text: &str) -> i64 {
    match parse_time(text) {
        Ok(Moment::Origin(ns)) => ns,
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn times_as_the_command_line_has_them() {
    let cases = [
        ("0", 0),
        ("17200", 17_200),
        ("-5", -5),
        ("\u{2212}5 ns", -5),
        ("+5", 5),
        ("17.2us", 17_200),
        ("17.2 µs", 17_200),
        ("17.2\u{3bc}s", 17_200),
        (" 1.5ms ", 1_500_000),
        ("2s", 2_000_000_000),
        ("18.172 014 ms", 18_172_014),
        ("18.172\u{2009}014 ms", 18_172_014),
        ("1 234 567", 1_234_567),
        ("1_234_567ns", 1_234_567),
        ("0.0004us", 0),
        ("0.0005us", 1),
        ("-0.0005us", -1),
        ("9223372036.854775807s", i64::MAX),
        ("-9223372036.854775808s", i64::MIN),
        ("9223372036854775807", i64::MAX),
        ("1.0000000000000000000000000000000000000001s", 1_000_000_000),
    ];
    for (text, expected) in cases {
        assert_eq!(ns(text), expected, "{text:?}");
    }
    assert_eq!(parse_time("@1700000000000000us"), Ok(Moment::Unix(1_700_000_000_000_000_000)));
    assert_eq!(parse_time("@ 1700000000s"), Ok(Moment::Unix(1_700_000_000_000_000_000)));
}

#[test]
fn what_is_no_time_is_refused_in_words() {
    for text in ["", "@", "us", "-", "--5", "1.2.3us", "1 2", "1  234", "1,5us", ".5us", "5.us", "soon", "1e9", "٣us"]
    {
        let error = parse_time(text).unwrap_err();
        assert!(matches!(error, TimeError::Malformed(_) | TimeError::UnknownUnit(_)), "{text:?} gave {error:?}");
    }
    assert_eq!(parse_time("5 min"), Err(TimeError::UnknownUnit("min".into())));
    assert_eq!(parse_time("17.2"), Err(TimeError::UnitMissing("17.2".into())));
    for text in
        ["9223372036854775808", "-9223372036854775809", "9223372037s", "99999999999999999999999999999999999999999"]
    {
        assert_eq!(parse_time(text), Err(TimeError::OutOfRange(text.into())), "{text}");
    }
}

#[test]
fn a_number_copied_from_a_ruler_has_the_rulers_unit() {
    assert_eq!(parse_time_in("18.172 014", Some(Unit::Ms)), Ok(Moment::Origin(18_172_014)));
    assert_eq!(parse_time_in("18", Some(Unit::Ms)), Ok(Moment::Origin(18)), "an integer is nanoseconds everywhere");
    assert_eq!(parse_time_in("18 us", Some(Unit::Ms)), Ok(Moment::Origin(18_000)));
}

#[test]
fn ranges_may_be_open() {
    let range = |start: Option<i64>, end: Option<i64>| {
        Ok(TimeRange { start: start.map(Moment::Origin), end: end.map(Moment::Origin) })
    };
    assert_eq!(parse_range(".."), range(None, None));
    assert_eq!(parse_range("17us.."), range(Some(17_000), None));
    assert_eq!(parse_range("..1.5us"), range(None, Some(1_500)));
    assert_eq!(parse_range("1.25us..1.5us"), range(Some(1_250), Some(1_500)));
    assert_eq!(parse_range("17 .. 19us"), range(Some(17), Some(19_000)));
    assert_eq!(parse_range("17.2..19.9us"), range(Some(17_200), Some(19_900)));
    assert_eq!(parse_range("17.2–19.9 µs"), range(Some(17_200), Some(19_900)));
    assert_eq!(parse_range("17–19 µs"), range(Some(17_000), Some(19_000)));
    assert_eq!(parse_range("17.2-19.9 us"), range(Some(17_200), Some(19_900)));
    assert_eq!(parse_range("-5 - -3 us"), range(Some(-5_000), Some(-3_000)));
    assert_eq!(parse_range("-5"), Err(TimeError::NoRange("-5".into())));
    assert!(parse_range("é-3").is_err());
    assert_eq!(parse_range("-5..-3"), range(Some(-5), Some(-3)));
    assert_eq!(parse_range("5..3"), Err(TimeError::Reversed));
    assert_eq!(parse_range("5"), Err(TimeError::NoRange("5".into())));
    assert!(parse_range("1...2").is_err());
    let mixed = parse_range("@100..50").unwrap();
    assert_eq!(mixed.resolve(Some(60), (0, 1000)), Ok((40, 50)));
    assert_eq!(mixed.resolve(Some(10), (0, 1000)), Err(TimeError::Reversed));
    assert_eq!(mixed.resolve(None, (0, 1000)), Err(TimeError::NoUnixOrigin));
    assert_eq!(parse_range("..").unwrap().resolve(None, (-7, 9)), Ok((-7, 9)));
}

#[test]
fn unix_times_saturate() {
    assert_eq!(Moment::Unix(i64::MIN).resolve(Some(5)), Ok(i64::MIN));
    assert_eq!(Moment::Unix(5).resolve(Some(i64::MIN)), Ok(i64::MAX));
}

#[test]
fn times_as_the_screen_has_them() {
    let cases: [(i64, u64, &str); 12] = [
        (0, 1, "0 ns"),
        (999, 1, "999 ns"),
        (17_200, 100, "17.2 µs"),
        (17_249, 100, "17.2 µs"),
        (17_250, 100, "17.3 µs"),
        (-17_250, 100, "-17.3 µs"),
        (17_200, 50, "17.20 µs"),
        (17_200, 1_000, "17 µs"),
        (18_172_014, 1, "18.172\u{2009}014 ms"),
        (12_345_000_000_000, 1_000_000_000, "12\u{2009}345 s"),
        (-1, 1_000, "-1 ns"),
        (i64::MIN, 1, "-9\u{2009}223\u{2009}372\u{2009}036.854\u{2009}775\u{2009}808 s"),
    ];
    for (time, resolution, text) in cases {
        assert_eq!(format_time(time, resolution), text, "{time} at {resolution}");
    }
    let ruler = TimeFormat::new(19_500, 500);
    assert_eq!(ruler.text(17_500), "17.5 µs");
    assert_eq!(ruler.number(18_000), "18.0");
    assert_eq!(ruler.number(-10), "0.0", "no minus before a zero");
}

#[test]
fn durations_have_four_digits() {
    let cases = [
        (0, "0 ns"),
        (272, "272 ns"),
        (1_000, "1 µs"),
        (2_700, "2.7 µs"),
        (2_718, "2.718 µs"),
        (66_200, "66.2 µs"),
        (66_218, "66.22 µs"),
        (999_940, "999.9 µs"),
        (999_950, "1 ms"),
        (999_999_999, "1 s"),
        (1_234_000_000, "1.234 s"),
        (61_000_000_000, "61 s"),
        (u64::MAX, "18\u{2009}446\u{2009}744\u{2009}074 s"),
    ];
    for (duration, text) in cases {
        assert_eq!(format_duration(duration), text, "{duration}");
    }
}

proptest! {
    #[test]
    fn to_the_nanosecond_and_back(time in prop_oneof![
        any::<i64>(), -2_000_000i64..2_000_000, Just(i64::MIN), Just(i64::MAX),
        // As many small as large ones.
        (any::<i64>(), 0u32..63).prop_map(|(time, shift)| time >> shift),
    ]) {
        prop_assert_eq!(parse_time(&format_time(time, 1)), Ok(Moment::Origin(time)));
        prop_assert_eq!(parse_time(&time.to_string()), Ok(Moment::Origin(time)));
        prop_assert_eq!(parse_time(&format!("@{time}ns")), Ok(Moment::Unix(time)));
    }

    #[test]
    fn rounded_times_are_off_by_half_the_last_digit(time in any::<i64>(), resolution in 1u64..2_000_000_000) {
        let format = TimeFormat::new(time.unsigned_abs(), resolution);
        let step = i128::from(format.unit.ns()) / 10i128.pow(u32::from(format.decimals));
        prop_assert!(step <= i128::from(resolution) || format.decimals == 0);
        match parse_time(&format.text(time)) {
            Ok(Moment::Origin(read)) => prop_assert!((i128::from(read) - i128::from(time)).abs() * 2 <= step),
            // Rounding away from zero can leave the range only at its very end.
            Err(TimeError::OutOfRange(_)) => prop_assert!(i64::MAX as u64 - (time.unsigned_abs() - 1) <= 2_000_000_000),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn times_apart_look_apart(time in -1_000_000_000_000i64..1_000_000_000_000, resolution in 1u64..1_000_000) {
        let format = TimeFormat::new(1_000_000_000_000, resolution);
        prop_assert_ne!(format.number(time), format.number(time + resolution as i64));
    }

    #[test]
    fn durations_are_right_to_four_digits(duration in (any::<u64>(), 0u32..63).prop_map(|(d, shift)| d >> shift)) {
        let read = match parse_time(&format_duration(duration)) {
            Ok(Moment::Origin(read)) => i128::from(read),
            // Larger than a time can be, as a duration may be.
            Err(TimeError::OutOfRange(_)) if duration > i64::MAX as u64 - 1_000_000_000 => return Ok(()),
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        prop_assert!((read - i128::from(duration)).unsigned_abs() * 1000 <= u128::from(duration));
    }

    #[test]
    fn no_text_panics(text in "\\PC*", unit in prop_oneof![Just(None), Just(Some(Unit::S))]) {
        let _ = parse_time_in(&text, unit);
        let _ = parse_range(&text);
    }

    #[test]
    fn nothing_near_a_time_panics(text in "[@+-]{0,2}[0-9 ._\u{2009}]{0,50}(ns|us|ms|s|\u{2013}|\\.\\.)?[0-9]{0,30}(s|us)?") {
        let _ = parse_time(&text);
        let _ = parse_range(&text);
    }
}
