//! What only the terminal itself can tell: its background colour, and whether it repeats characters.
//!
//! Questions are sent together, followed by one that every terminal answers (DA1): when that answer is in, no other will
//! come, so nothing is left in the input for the event loop to mistake for keys. Where there is no answer about the
//! background, `COLORFGBG` may tell.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

use super::color::lightness;

/// How long to wait for the terminal: terminals that answer do so within a round trip, so only those that never answer
/// take it all.
pub const PATIENCE: Duration = Duration::from_millis(1000);

/// A background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Whether it is lighter than the middle.
    pub light: bool,
    /// Its red, green and blue, if the terminal said.
    pub color: Option<(u8, u8, u8)>,
}

/// What a terminal said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Its background, if neither it nor the environment was silent.
    pub background: Option<Background>,
    /// Whether it repeats the last character (REP).
    pub repeats: bool,
}

/// Asks the terminal; what is on the screen is no longer known after it.
///
/// The terminal must be in raw mode, and nobody else may be reading from it. What is typed meanwhile is lost.
/// `lookup` gives environment variables.
pub fn ask(patience: Duration, lookup: impl Fn(&str) -> Option<String>) -> Answers {
    let term = lookup("TERM").unwrap_or_default();
    let answers = !matches!(term.as_str(), "" | "dumb" | "linux");
    let got = if answers { converse(patience).unwrap_or_default() } else { Vec::new() };
    let background =
        color_in(&got).map(of_color).or_else(|| lookup("COLORFGBG").and_then(|value| of_colorfgbg(&value)));
    Answers { background, repeats: column_in(&got) == Some(5) }
}

fn of_color(color: (u8, u8, u8)) -> Background {
    Background { light: lightness(color) > 0.6, color: Some(color) }
}

/// The background from rxvt's `COLORFGBG`: `foreground;background`, sometimes with something between, as indices of
/// the 16 colours.
fn of_colorfgbg(value: &str) -> Option<Background> {
    let light = match value.rsplit_once(';')?.1.parse::<u8>().ok()? {
        0..=6 | 8 => false,
        7 | 9..=15 => true,
        _ => return None,
    };
    Some(Background { light, color: None })
}

/// A character, which terminals that can then repeat three times; where the cursor is now (CPR); the background.
const QUESTIONS: &str = "\x1b[H█\x1b[3b\x1b[6n\x1b]11;?\x1b\\\x1b[c";

/// Asks all questions and returns what came in.
fn converse(patience: Duration) -> Option<Vec<u8>> {
    let mut tty = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    tty.write_all(QUESTIONS.as_bytes()).ok()?;
    let deadline = Instant::now() + patience;
    let mut got = Vec::new();
    // Byte by byte, so that nothing behind the last answer is taken.
    while let Some(byte) = read_byte(&mut tty, deadline) {
        got.push(byte);
        if fenced(&got) || got.len() > 4096 {
            return Some(got);
        }
    }
    // SAFETY: flushing input that is still underway, on a descriptor that is open.
    unsafe { libc::tcflush(tty.as_raw_fd(), libc::TCIFLUSH) };
    Some(got)
}

/// One byte of input, if it comes in time.
fn read_byte(tty: &mut File, deadline: Instant) -> Option<u8> {
    let left = deadline.saturating_duration_since(Instant::now());
    let mut poll = libc::pollfd { fd: tty.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd is passed, for a descriptor that stays open during the call.
    let ready = unsafe { libc::poll(&raw mut poll, 1, i32::try_from(left.as_millis()).unwrap_or(i32::MAX)) };
    if ready <= 0 || poll.revents & libc::POLLIN == 0 {
        return None;
    }
    let mut byte = [0];
    (tty.read(&mut byte).ok()? == 1).then_some(byte[0])
}

/// Whether the input ends with the answer to DA1: `ESC [ ? … c`.
fn fenced(input: &[u8]) -> bool {
    let Some((b'c', before)) = input.split_last() else {
        return false;
    };
    let parameters = before.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b';').count();
    before[..before.len() - parameters].ends_with(b"\x1b[?")
}

/// The colour in an answer to OSC 11: `ESC ] 11 ; rgb:RRRR/GGGG/BBBB`, each of one to four hexadecimal digits (XParseColor).
fn color_in(input: &[u8]) -> Option<(u8, u8, u8)> {
    let input = String::from_utf8_lossy(input);
    let answer = input.split("\x1b]11;").nth(1)?.split(['\x07', '\x1b']).next()?;
    let parts = answer.strip_prefix("rgb:").or_else(|| answer.strip_prefix("rgba:"))?;
    let mut parts = parts.split('/').map(|digits| {
        let most = 16u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| (1..=4).contains(&digits.len()))?;
        u8::try_from(value * 255 / most).ok()
    });
    Some((parts.next()??, parts.next()??, parts.next()??))
}

/// The column in an answer to CPR: `ESC [ row ; column R`.
fn column_in(input: &[u8]) -> Option<u16> {
    let end = input.iter().position(|&b| b == b'R')?;
    let start = input[..end].windows(2).rposition(|pair| pair == b"\x1b[")? + 2;
    let (row, column) = std::str::from_utf8(&input[start..end]).ok()?.split_once(';')?;
    row.parse::<u16>().ok()?;
    column.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        assert_eq!(color_in(b"\x1b]11;rgb:ffff/8080/0000\x1b\\\x1b[?62;22c"), Some((255, 128, 0)));
        assert_eq!(color_in(b"typed\x1b]11;rgb:1/ff/fff\x07"), Some((17, 255, 255)));
        assert_eq!(color_in(b"\x1b]11;rgba:0000/0000/0000/ffff\x07"), Some((0, 0, 0)));
        for bad in
            [&b""[..], b"\x1b]11;", b"\x1b]11;rgb:", b"\x1b]11;rgb:1/2", b"\x1b]11;rgb:12345/0/0", b"\x1b]11;rgb:g/0/0"]
        {
            assert_eq!(color_in(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_column_tells_whether_characters_were_repeated() {
        assert_eq!(column_in(b"\x1b[1;5R\x1b]11;rgb:0/0/0\x1b\\\x1b[?6c"), Some(5));
        assert_eq!(column_in(b"typed\x1b[1;2R\x1b[?6c"), Some(2));
        for bad in [&b""[..], b"R", b"\x1b[R", b"\x1b[;R", b"\x1b[1R", b"\x1b[1;x5R", b"\x1b[?6c", b"\x1b[1;5"] {
            assert_eq!(column_in(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_fence_is_seen_only_when_whole() {
        assert!(fenced(b"\x1b]11;rgb:0/0/0\x1b\\\x1b[?1;2c"));
        assert!(fenced(b"\x1b[?6c"));
        assert!(!fenced(b"\x1b[?6"));
        assert!(!fenced(b"abc"));
        assert!(!fenced(b"\x1b[6c"));
        assert!(!fenced(b""));
    }

    #[test]
    fn light_and_dark() {
        assert_eq!(of_color((253, 246, 227)), Background { light: true, color: Some((253, 246, 227)) });
        assert_eq!(of_color((0, 43, 54)), Background { light: false, color: Some((0, 43, 54)) });
        assert_eq!(of_colorfgbg("0;15"), Some(Background { light: true, color: None }));
        assert_eq!(of_colorfgbg("15;default;0"), Some(Background { light: false, color: None }));
        assert_eq!(of_colorfgbg("15;default"), None);
        assert_eq!(of_colorfgbg(""), None);
    }

    #[test]
    fn terminals_that_never_answer_are_not_asked() {
        let vars = |name: &str| match name {
            "TERM" => Some("dumb".to_owned()),
            "COLORFGBG" => Some("0;7".to_owned()),
            _ => None,
        };
        let background = Some(Background { light: true, color: None });
        assert_eq!(ask(Duration::from_secs(3600), vars), Answers { background, repeats: false });
    }
}
