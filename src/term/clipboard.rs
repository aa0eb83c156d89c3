//! Copying text out of the terminal: OSC 52 for the clipboard of the person's own machine, also over ssh and through
//! tmux or GNU screen, and a file in any case.
//!
//! No terminal says whether it took the text, and many ask or refuse, so the file is always written.

use std::io::Write;
use std::path::PathBuf;

use base64::Engine as _;

use super::paths::write_private;
use super::text::escape;

/// The most bytes sent to a terminal's clipboard: their base64 form fills the 100 000 bytes that terminals take.
pub const MAX_BYTES: usize = 75_000;

/// What stands between this program and the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    Nothing,
    Tmux,
    Screen,
}

/// The way to a person's clipboard.
#[derive(Clone, Debug)]
pub struct Clipboard {
    through: Through,
    file: PathBuf,
}

impl Clipboard {
    /// Finds the way from the environment (`lookup` gives its variables); `file` gets a copy of everything.
    pub fn new(lookup: impl Fn(&str) -> Option<String>, file: PathBuf) -> Self {
        let set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
        let tmux = set("TMUX") || lookup("TERM").is_some_and(|term| term.starts_with("tmux"));
        let through = match () {
            () if tmux => Through::Tmux,
            () if set("STY") => Through::Screen,
            () => Through::Nothing,
        };
        Self { through, file }
    }

    /// Copies a text and says in one sentence, safe to show, what became of it.
    ///
    /// `out` is the terminal; the sequence draws nothing and moves nothing.
    pub fn copy(&self, text: &str, out: &mut impl Write) -> String {
        let file = escape(&self.file.to_string_lossy()).into_owned();
        let written = write_private(&self.file, text.as_bytes());
        let size = text.len();
        let sent = (size <= MAX_BYTES).then(|| out.write_all(&sequence(text, self.through)).and_then(|()| out.flush()));
        match (sent, written) {
            (Some(Ok(())), Ok(())) => format!("{size} bytes sent to the terminal's clipboard, and written to {file}"),
            (Some(Ok(())), Err(error)) => {
                format!("{size} bytes sent to the terminal's clipboard ({file} could not be written: {error})")
            }
            (None, Ok(())) => format!("{size} bytes are too many for a terminal's clipboard: written to {file}"),
            (Some(Err(_)), Ok(())) => format!("{size} bytes written to {file}"),
            (_, Err(error)) => format!("nothing was copied: {file} could not be written: {error}"),
        }
    }
}

/// The bytes that set the clipboard: OSC 52 as xterm documents it, wrapped for what is between.
fn sequence(text: &str, through: Through) -> Vec<u8> {
    let plain = format!("\x1b]52;c;{}\x07", base64::engine::general_purpose::STANDARD.encode(text));
    match through {
        Through::Nothing => plain.into_bytes(),
        // tmux takes the plain form where `set-clipboard` is on, and passes the wrapped one where
        // `allow-passthrough` is; whichever is set, one arrives.
        Through::Tmux => format!("{plain}\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")).into_bytes(),
        // screen passes strings of up to 256 bytes on.
        Through::Screen => plain.as_bytes().chunks(240).flat_map(|part| [b"\x1bP", part, b"\x1b\\"].concat()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn clipboard(vars: &[(&str, &str)], file: PathBuf) -> Clipboard {
        Clipboard::new(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()), file)
    }

    #[derive(Default)]
    struct Got(Vec<u8>);

    impl vt100::Callbacks for Got {
        fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, kind: &[u8], data: &[u8]) {
            assert_eq!(kind, b"c");
            self.0 = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        }
    }

    /// What a terminal takes from a sequence.
    fn taken(bytes: &[u8]) -> String {
        let size = std::num::NonZero::new(24).unwrap();
        let mut terminal = vt100::Parser::new_with_callbacks(size, size, 0, Got::default());
        terminal.process(bytes);
        String::from_utf8(std::mem::take(&mut terminal.callbacks_mut().0)).unwrap()
    }

    #[test]
    fn the_terminal_gets_the_text() {
        let text = "{\"name\": \"MATMUL µ\"}\n".repeat(300);
        assert_eq!(taken(&sequence(&text, Through::Nothing)), text);
    }

    #[test]
    fn tmux_gets_it_plain_and_wrapped() {
        let bytes = sequence("hi", Through::Tmux);
        assert_eq!(bytes, b"\x1b]52;c;aGk=\x07\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\");
    }

    #[test]
    fn screen_gets_it_in_pieces() {
        let text = "x".repeat(1000);
        let bytes = sequence(&text, Through::Screen);
        let strings: Vec<&[u8]> = bytes.split(|b| *b == 0x1b).collect();
        assert!(strings.iter().all(|s| s.len() < 256));
        let outside = String::from_utf8(bytes).unwrap().replace("\x1b\\", "").replace("\x1bP", "");
        assert_eq!(taken(outside.as_bytes()), text);
    }

    #[test]
    fn the_environment_tells_the_way() {
        let through = |vars: &[(&str, &str)]| clipboard(vars, PathBuf::new()).through;
        assert_eq!(through(&[("TERM", "xterm-256color")]), Through::Nothing);
        assert_eq!(through(&[("TERM", "screen"), ("TMUX", "/tmp/t")]), Through::Tmux);
        assert_eq!(through(&[("TERM", "tmux-256color")]), Through::Tmux, "ssh from within tmux");
        assert_eq!(through(&[("TERM", "screen"), ("STY", "1.pts")]), Through::Screen);
    }

    #[test]
    fn the_sentence_says_what_happened() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("clipboard.json");
        let good = clipboard(&[], file.clone());
        let mut out = Vec::new();
        let path = file.display();
        assert_eq!(
            good.copy("hello", &mut out),
            format!("5 bytes sent to the terminal's clipboard, and written to {path}")
        );
        assert_eq!(taken(&out), "hello");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello");

        let long = "x".repeat(MAX_BYTES + 1);
        out.clear();
        let said = good.copy(&long, &mut out);
        assert_eq!(said, format!("75001 bytes are too many for a terminal's clipboard: written to {path}"));
        assert!(out.is_empty());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), long);

        let gone = clipboard(&[], file.join("not/a/dir"));
        assert!(gone.copy("hello", &mut out).starts_with("5 bytes sent to the terminal's clipboard ("));
        assert!(gone.copy(&long, &mut out).starts_with("nothing was copied: "));
        assert_eq!(good.copy("hello", &mut Closed), format!("5 bytes written to {path}"));
    }

    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
