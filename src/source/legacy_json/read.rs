//! Walks through the file once, and keeps going past what can be passed over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::gather::{Gathered, List};
use super::input::{Halt, Input, Window};
use super::token::{self, Stop};
use crate::source::parquet::io_message;
use crate::source::{OpenEvent, Opening, Progress};
use crate::store::{Problem, Store};

/// Bytes between two looks at whether to go on.
const LOOK: u64 = 2 << 20;
/// Damaged lists that are told about one by one.
const MOST_SAID: usize = 20;
/// Time to the first partial profile; to each next one it is twice as long, so that indexing the same rows again and
/// again costs little in the end.
const PARTIAL: Duration = Duration::from_millis(400);

/// Rows of a list that could not be read.
#[derive(Default)]
struct Damage {
    rows: u64,
    first: u64,
    /// Elements that are no objects.
    odd: u64,
}

/// What came of reading a file.
pub struct Read {
    /// What was read.
    pub gathered: Gathered,
    /// What was wrong, in words.
    pub problems: Vec<String>,
    /// Damaged rows by list.
    pub damaged: BTreeMap<String, u64>,
}

/// `1 row`, `2 rows`.
pub fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A key of the file in a message: short and without control characters.
fn shown(key: &str) -> String {
    let mut shown: String = key.chars().take(60).flat_map(char::escape_debug).collect();
    if key.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}

struct Reader<'a, 'b> {
    window: Window,
    gathered: Gathered,
    opening: &'a Opening<'b>,
    damage: BTreeMap<String, Damage>,
    length: u64,
    looked: u64,
    shown: Instant,
    wait: Duration,
    /// Builds what can be shown of what has been read.
    partial: &'a dyn Fn(&Gathered) -> Store,
}

/// Why reading ended early.
enum End {
    /// The file has no more; what was read is good.
    Early(String),
    /// Nobody waits any more, or nothing can be made of the file.
    Fatal(String),
}

/// Reads the file; `partial` builds a profile of what has been read so far.
///
/// # Errors
/// When the file is none of this format, or opening was cancelled.
pub fn read(input: Input, opening: &Opening, partial: &dyn Fn(&Gathered) -> Store) -> Result<Read, Problem> {
    let path = input.path.clone();
    let length = input.length;
    let mut problems: Vec<String> = input.damage.iter().cloned().collect();
    let mut reader = Reader {
        window: Window::new(input),
        gathered: Gathered::default(),
        opening,
        damage: BTreeMap::new(),
        length,
        looked: 0,
        shown: Instant::now(),
        wait: PARTIAL,
        partial,
    };
    match reader.top() {
        Ok(()) => {}
        Err(End::Early(message)) => problems.push(message),
        Err(End::Fatal(message)) => return Err(Problem { path, message }),
    }
    let mut damaged = BTreeMap::new();
    let unsaid = reader.damage.len().saturating_sub(MOST_SAID);
    for (i, (list, damage)) in reader.damage.into_iter().enumerate() {
        if damage.rows > 0 && i < MOST_SAID {
            let rows = count(damage.rows, "row");
            problems.push(format!(
                "{rows} of `{}` left out: damaged, the first at byte {}",
                shown(&list),
                damage.first
            ));
        }
        if damage.odd > 0 && i < MOST_SAID {
            problems.push(format!("{} of `{}` left out: no objects", count(damage.odd, "element"), shown(&list)));
        }
        damaged.insert(list, damage.rows);
    }
    if unsaid > 0 {
        problems.push(format!(
            "{} damaged rows",
            count(unsaid as u64, "more list") + if unsaid == 1 { " has" } else { " have" }
        ));
    }
    Ok(Read { gathered: reader.gathered, problems, damaged })
}

impl Reader<'_, '_> {
    /// The object at the top.
    fn top(&mut self) -> Result<(), End> {
        match self.window.peek() {
            Ok(0xef) => (0..3).for_each(|_| self.window.pass()), // a byte order mark
            Err(Halt::Failed(e)) => return Err(End::Fatal(io_message(&e))),
            _ => {}
        }
        match self.window.peek() {
            Ok(b'{') => self.window.pass(),
            Ok(b'[') => {
                return Err(End::Fatal(
                    "holds a list at its top, but a full profile is an object with the keys `instruction`, `dma` and so on; \
                     write it with `neuron-profile view --output-format json`"
                        .into(),
                ));
            }
            _ => return Err(End::Fatal("is not JSON, whatever its name says".into())),
        }
        loop {
            match self.peek("between two lists")? {
                b'}' => return Ok(()),
                b',' => self.window.pass(),
                b'"' => {
                    let key =
                        self.read("a key", |b| token::value(b, 0).map(|(raw, end)| (raw.text().into_owned(), end)))?;
                    match self.peek("after a key")? {
                        b':' => self.window.pass(),
                        _ => return Err(self.stopped(Halt::Bad(self.window.at()), "after a key")),
                    }
                    self.list(&key)?;
                }
                _ => return Err(self.stopped(Halt::Bad(self.window.at()), "between two lists")),
            }
        }
    }

    /// The value of a key of the top: normally a list of rows.
    fn list(&mut self, key: &str) -> Result<(), End> {
        match self.peek("before a value")? {
            b'{' => {
                let list = self.gathered.list(key);
                self.row(list, key)
            }
            b'[' => {
                self.window.pass();
                let list = self.gathered.list(key);
                self.gathered.found(list);
                self.rows(list, key)?;
                self.show(list);
                Ok(())
            }
            _ => self.skip(key),
        }
    }

    fn rows(&mut self, list: List, key: &str) -> Result<(), End> {
        loop {
            match self.peek(key)? {
                b']' => {
                    self.window.pass();
                    return Ok(());
                }
                b',' => self.window.pass(),
                b'{' => self.row(list, key)?,
                _ => {
                    self.skip(key)?;
                    self.damage.entry(key.to_string()).or_default().odd += 1;
                }
            }
        }
    }

    fn row(&mut self, list: List, key: &str) -> Result<(), End> {
        let at = self.window.at();
        self.look(list, key, at)?;
        let gathered = &mut self.gathered;
        let found = self.window.read(|b| gathered.row(list, b, at));
        match found {
            Ok(None) => {}
            Ok(Some(bad)) => {
                let damage = self.damage.entry(key.to_string()).or_default();
                if damage.rows == 0 {
                    damage.first = at + bad as u64;
                }
                damage.rows += 1;
            }
            Err(halt) => return Err(self.stopped(halt, key)),
        }
        Ok(())
    }

    fn skip(&mut self, key: &str) -> Result<(), End> {
        self.read(key, |b| token::value(b, 0).map(|(_, end)| ((), end)))
    }

    /// Shows what has been read, if it is time to and it is worth it.
    fn show(&mut self, list: List) {
        if matches!(list, List::Instruction | List::Dma) && self.shown.elapsed() > self.wait {
            (self.opening.report)(OpenEvent::Partial((self.partial)(&self.gathered).into()));
            self.shown = Instant::now();
            self.wait *= 2;
        }
    }

    /// Reports progress, and learns whether to go on.
    fn look(&mut self, list: List, key: &str, at: u64) -> Result<(), End> {
        if at < self.looked {
            return Ok(());
        }
        self.looked = at + LOOK;
        if self.opening.cancelled() {
            return Err(End::Fatal("opening was cancelled".into()));
        }
        let step = format!("reading {}", shown(key));
        (self.opening.report)(OpenEvent::Progress(Progress { step, done: at, total: self.length.max(at) }));
        self.show(list);
        Ok(())
    }

    fn peek(&mut self, within: &str) -> Result<u8, End> {
        self.window.peek().map_err(|halt| self.stopped(halt, within))
    }

    fn read<T>(&mut self, within: &str, parse: impl FnMut(&[u8]) -> Result<(T, usize), Stop>) -> Result<T, End> {
        self.window.read(parse).map_err(|halt| self.stopped(halt, within))
    }

    /// Says where and why reading ended.
    fn stopped(&self, halt: Halt, within: &str) -> End {
        let within = shown(within);
        End::Early(match halt {
            Halt::End => format!(
                "ends at byte {} in the middle of {within}: it was cut off while being written or copied. What was read before \
                 is shown; write or copy it again for the rest",
                self.length
            ),
            Halt::Bad(at) => format!(
                "byte {at} ({within}) cannot stand there in JSON: what was read before is shown; write the file again for the rest"
            ),
            Halt::TooLong(at) => format!(
                "the value that begins at byte {at} ({within}) is longer than 64 MiB, which no profile holds: what was read \
                 before is shown"
            ),
            Halt::Failed(e) => {
                format!("byte {} ({within}) {}: what was read before is shown", self.window.at(), io_message(&e))
            }
        })
    }
}
