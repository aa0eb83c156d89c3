//! What the operands of an instruction say about semaphores and events: `S[34] (qSyncDynamicHW)>=16`, `$S[2]==8`,
//! `$E[4]==1-` are conditions that it waits for; `S[5] (Tensor)++@complete`, `$S[2]+=1@complete`, `$S[2]=0@complete`
//! and `$E[1]+@complete` are what it does when it completes; `semaphore=34 sem_increment=16` is raised by the transfer
//! that it starts. The notation is that of `neuron-profile` and Neuron Explorer.

use serde::{Deserialize, Serialize};

/// A semaphore or event of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SyncId {
    /// Its number.
    pub number: u16,
    /// Whether it is an event, which is set or not, rather than a semaphore, which counts.
    pub event: bool,
}

impl SyncId {
    /// A semaphore.
    #[must_use]
    pub fn semaphore(number: u16) -> SyncId {
        SyncId { number, event: false }
    }

    /// As one number of 17 bits, for columns.
    #[must_use]
    pub fn packed(self) -> u32 {
        u32::from(self.number) << 1 | u32::from(self.event)
    }

    /// What was packed so; `None` for other numbers.
    #[must_use]
    pub fn unpacked(packed: u32) -> Option<SyncId> {
        Some(SyncId { number: u16::try_from(packed >> 1).ok()?, event: packed & 1 == 1 })
    }

    /// An event.
    #[must_use]
    pub fn event(number: u16) -> SyncId {
        SyncId { number, event: true }
    }
}

impl std::fmt::Display for SyncId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", if self.event { 'E' } else { 'S' }, self.number)
    }
}

/// How a value is compared with the one waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Equal.
    Equal,
    /// Not equal.
    Unequal,
    /// At least.
    AtLeast,
    /// Greater.
    Above,
    /// At most.
    AtMost,
    /// Less.
    Below,
}

/// A condition that an instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    /// What it looks at.
    pub sync: SyncId,
    /// How it compares.
    pub test: Test,
    /// What it compares with.
    pub value: i32,
}

/// All tests, each at its own number.
const TESTS: [Test; 6] = [Test::Equal, Test::Unequal, Test::AtLeast, Test::Above, Test::AtMost, Test::Below];

impl Condition {
    /// As one number, for columns: value, then test, then what it looks at.
    #[must_use]
    pub fn packed(&self) -> u64 {
        let what = u64::from(self.sync.packed()) << 3 | self.test as u64;
        what << 32 | u64::from(self.value.cast_unsigned())
    }

    /// The condition that was packed so; `None` for other numbers.
    #[must_use]
    pub fn unpacked(packed: u64) -> Option<Condition> {
        let what = (packed >> 32) as u32;
        let (sync, test) = (SyncId::unpacked(what >> 3)?, *TESTS.get(what as usize & 7)?);
        Some(Condition { sync, test, value: (packed as u32).cast_signed() })
    }

    /// Whether `value` meets it.
    #[must_use]
    pub fn is_met(&self, value: i32) -> bool {
        match self.test {
            Test::Equal => value == self.value,
            Test::Unequal => value != self.value,
            Test::AtLeast => value >= self.value,
            Test::Above => value > self.value,
            Test::AtMost => value <= self.value,
            Test::Below => value < self.value,
        }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let test = match self.test {
            Test::Equal => "==",
            Test::Unequal => "!=",
            Test::AtLeast => ">=",
            Test::Above => ">",
            Test::AtMost => "<=",
            Test::Below => "<",
        };
        write!(f, "{}{test}{}", self.sync, self.value)
    }
}

/// What an instruction does to a semaphore or event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Update {
    /// What it changes.
    pub sync: SyncId,
    /// How.
    pub change: Change,
}

/// A change of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Change {
    /// Added, negative where taken away.
    Add(i32),
    /// Assigned.
    Set(i32),
}

/// The use of semaphores and events by one instruction, apart from what it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SyncUse {
    /// Done when it completes.
    pub updates: Vec<Update>,
    /// The semaphore that the transfer it starts raises, and by how much in all.
    pub transfer: Option<(SyncId, i32)>,
    /// Semaphores it sets to 0, first and last.
    pub clears: Option<(u16, u16)>,
}

/// Reads the operands of an instruction. What is not understood is left out. The conditions, all of which hold before it
/// goes on, are added to `waits`.
#[must_use]
pub fn parse(operands: &str, waits: &mut Vec<Condition>) -> SyncUse {
    let mut found = SyncUse::default();
    let mut rest = operands;
    while let Some(at) = rest.find('[') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        rest = after;
        if let Some((clause, next)) = clause(before, after) {
            match clause {
                Clause::Wait(condition) => waits.push(condition),
                Clause::Update(update) => found.updates.push(update),
            }
            rest = next;
        }
    }
    if operands.contains("sem_increment=") {
        let number = |name: &str| word(operands, name)?.parse().ok();
        if let (Some(semaphore), Some(by)) = (number("semaphore"), number("sem_increment")) {
            found.transfer = u16::try_from(semaphore).ok().map(|s| (SyncId::semaphore(s), by));
        }
    }
    found
}

/// Reads the operands of EVENT_SEMAPHORE_RANGE_CLEAR: `mode=SEMAPHORE_ZERO first=207 last=255`, `first=0 count=64`.
#[must_use]
pub fn parse_clear(operands: &str) -> Option<(u16, u16)> {
    if word(operands, "mode").is_some_and(|mode| !mode.contains("SEMAPHORE")) {
        return None;
    }
    let number = |name: &str| word(operands, name)?.parse::<u16>().ok();
    let first = number("first")?;
    let last = number("last").or_else(|| number("count")?.checked_sub(1)?.checked_add(first))?;
    (first <= last).then_some((first, last))
}

/// The value of `name=value` among words.
#[must_use]
pub fn word<'a>(operands: &'a str, name: &str) -> Option<&'a str> {
    operands.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// The semaphore that the `id` of a SemaphoreUpdate names, with the owner's name where it has one: `S[5] (Tensor)`,
/// `S[2]`, `E[4]`, or just the number.
#[must_use]
pub fn parse_id(text: &str) -> Option<(SyncId, &str)> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some((SyncId::semaphore(number), ""));
    }
    let text = text.strip_prefix('$').unwrap_or(text);
    let event = text.starts_with('E');
    let (number, rest) = text.strip_prefix(['S', 'E'])?.strip_prefix('[')?.split_once(']')?;
    let name = rest.trim().strip_prefix('(').and_then(|r| r.strip_suffix(')')).unwrap_or("");
    Some((SyncId { number: number.parse().ok()?, event }, name))
}

enum Clause {
    Wait(Condition),
    Update(Update),
}

/// Reads the clause around a bracket; `after` begins behind it. Also returns what follows the clause.
fn clause<'a>(before: &str, after: &'a str) -> Option<(Clause, &'a str)> {
    let kind = before.chars().next_back().filter(|c| matches!(c, 'S' | 'E'))?;
    // `$S` and a bare `S` at the start of a word, but not `dst_S[…]`.
    let ahead = before[..before.len() - 1].chars().next_back();
    if ahead.is_some_and(|c| c != '$' && !c.is_whitespace()) {
        return None;
    }
    let (number, mut rest) = after.split_once(']')?;
    let sync = SyncId { number: number.parse().ok()?, event: kind == 'E' };
    if let Some(named) = rest.strip_prefix(" (") {
        rest = named.split_once(')')?.1;
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (text, next) = rest.split_at(end);
    let clause = match text.split_once('@') {
        Some((change, _)) => Clause::Update(Update { sync, change: change_of(change)? }),
        None => Clause::Wait(condition_of(sync, text)?),
    };
    Some((clause, next))
}

fn change_of(text: &str) -> Option<Change> {
    Some(match text {
        "++" => Change::Add(1),
        "--" => Change::Add(-1),
        "+" => Change::Set(1),
        "-" => Change::Set(0),
        _ => match text.strip_prefix("+=").or_else(|| text.strip_prefix("-=")) {
            Some(number) => {
                let by: i32 = number.parse().ok()?;
                Change::Add(if text.starts_with('-') { by.checked_neg()? } else { by })
            }
            None => Change::Set(text.strip_prefix('=')?.parse().ok()?),
        },
    })
}

fn condition_of(sync: SyncId, text: &str) -> Option<Condition> {
    const SIGNS: [(&str, Test); 6] = [
        ("==", Test::Equal),
        ("!=", Test::Unequal),
        (">=", Test::AtLeast),
        ("<=", Test::AtMost),
        (">", Test::Above),
        ("<", Test::Below),
    ];
    let (test, number) = SIGNS.iter().find_map(|(sign, test)| Some((*test, text.strip_prefix(sign)?)))?;
    // A sign behind the value says what becomes of it: an event is cleared.
    let value = number.trim_end_matches(['-', '+']).parse().ok()?;
    Some(Condition { sync, test, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(operands: &str) -> String {
        let mut waits = Vec::new();
        let found = parse(operands, &mut waits);
        let waits = waits.iter().map(Condition::to_string);
        let updates = found.updates.iter().map(|u| format!("{}{:?}", u.sync, u.change));
        let transfer = found.transfer.map(|(sync, by)| format!("{sync} by {by}"));
        waits.chain(updates).chain(transfer).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn every_form_is_read() {
        let cases = [
            ("S[34] (qSyncDynamicHW)>=16 setter=0 ", "S[34]>=16"),
            (" setter=0 $S[2]==8 $S[2]=0@complete ", "S[2]==8, S[2]Set(0)"),
            (" setter=0  $S[2]+=1@complete ", "S[2]Add(1)"),
            ("$E[4]==1- cycle=1 ", "E[4]==1"),
            ("$E[1]+@complete cycle=1", "E[1]Set(1)"),
            ("$S[1]>=1 $S[1]--@complete", "S[1]>=1, S[1]Add(-1)"),
            (
                "S[6] (Vector)>=1 S[5] (Tensor)++@complete acc_flags=3 src=bfloat16@0x373f8[1,0,0][512,1,1] dst=0x2000000[1,0,0][512,1,1] 128*128",
                "S[6]>=1, S[5]Add(1)",
            ),
            ("S[24] (qSyncDynamicHW)>=16 setter=0 S[10] (qGpSimdDynamic)>=16", "S[24]>=16, S[10]>=16"),
            (
                "S[50] (qScalarDynamicHW)>=16 semaphore=34 sem_increment=16  src_elem_size=4096 src_pattern=[4096,1][128,1]",
                "S[50]>=16, S[34] by 16",
            ),
            ("$S[45]>=16 $S[8]++@complete semaphore=9 id=0", "S[45]>=16, S[8]Add(1)"),
            ("S[3]>7 S[4] (a b)<2 $S[5]<=1 S[6]!=0 S[7]-=2@complete", "S[3]>7, S[4]<2, S[5]<=1, S[6]!=0, S[7]Add(-2)"),
            ("S[2] wait9 4 S[3] update0x44 1 S[x]>=1 S[70000]>=1 S[1 S[1]>= S[1]>=99999999999", ""),
            ("dst_S[3]>=4 AS[4]>=1", ""),
            ("", ""),
        ];
        for (operands, expected) in cases {
            assert_eq!(shown(operands), expected, "{operands}");
        }
    }

    #[test]
    fn ids_and_ranges_are_read() {
        assert_eq!(parse_id("S[5] (Tensor)"), Some((SyncId::semaphore(5), "Tensor")));
        assert_eq!(parse_id("S[2]"), Some((SyncId::semaphore(2), "")));
        assert_eq!(parse_id("207"), Some((SyncId::semaphore(207), "")));
        assert_eq!(parse_id("E[4]"), Some((SyncId::event(4), "")));
        assert_eq!(parse_id("TODO"), None);
        assert_eq!(parse_clear(" mode=SEMAPHORE_ZERO first=207 last=255 "), Some((207, 255)));
        assert_eq!(parse_clear("first=0 count=64"), Some((0, 63)));
        assert_eq!(parse_clear("mode=EVENT_ZERO first=0 last=9"), None);
        assert_eq!(parse_clear("first=9 last=3"), None);
        assert_eq!(parse_clear("first=65535 count=9"), None);
    }

    #[test]
    fn conditions_compare() {
        let is_met = |test, value| Condition { sync: SyncId::semaphore(1), test, value: 8 }.is_met(value);
        let met = TESTS.map(|test| [7, 8, 9].map(|value| u8::from(is_met(test, value))));
        assert_eq!(met, [[0, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0]]);
    }

    #[test]
    fn conditions_fit_into_a_number() {
        for (number, event, value) in [(0, false, 0), (1, true, -1), (u16::MAX, false, i32::MIN), (207, true, i32::MAX)]
        {
            for test in TESTS {
                let condition = Condition { sync: SyncId { number, event }, test, value };
                assert_eq!(Condition::unpacked(condition.packed()), Some(condition));
            }
        }
        assert_eq!(Condition::unpacked(6 << 32), None, "no such test");
        assert_eq!(Condition::unpacked(u64::MAX), None);
    }
}
