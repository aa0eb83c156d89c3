//! How an instruction waits for semaphores and events, and what it does to them.
//!
//! Bytes 4 to 7 hold wait mode, wait id, update mode and update id, and bytes 8 to 11 the value waited for.
//! `EVENT_SEMAPHORE` has a second block at 32.

use super::{Word, op};

/// A condition that must hold before the instruction issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Number of the semaphore or event.
    pub id: u8,
    /// 1 `==`, 4 `>` (likely), 5 `>=`, 7 event set (and then cleared).
    pub mode: u8,
    /// Value compared with; unused for events.
    pub value: u32,
}

/// What happens to a semaphore or event when the instruction completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// Number of the semaphore or event.
    pub id: u8,
    /// 0x11 set event, 0x13 `++`, 0x14 `--`, 0x15 `+=`, 0x19 `=`.
    pub mode: u8,
    /// Value added or assigned; 1 where the mode implies it.
    pub value: u32,
}

/// The semaphore and event use of one instruction. At most two of each exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncUse {
    /// Conditions, in the order of the word.
    pub waits: Vec<Wait>,
    /// Effects, in the order of the word.
    pub updates: Vec<Update>,
}

/// The names that a graph gives to semaphore numbers, shown beside them as in `S[5] (Tensor)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SemaphoreNames(std::collections::BTreeMap<u8, String>);

impl SemaphoreNames {
    /// Names a semaphore; a later name replaces an earlier one.
    pub fn set(&mut self, id: u8, name: String) {
        self.0.insert(id, name);
    }

    /// The name of a semaphore, if the graph gives it one.
    pub fn get(&self, id: u8) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }

    /// All names with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &str)> {
        self.0.iter().map(|(id, name)| (*id, name.as_str()))
    }

    /// The vendor's notation, such as `S[34] (qSyncDynamicHW)`.
    pub fn label(&self, id: u8) -> String {
        match self.get(id) {
            Some(name) => format!("S[{id}] ({name})"),
            None => format!("S[{id}]"),
        }
    }
}

impl Word<'_> {
    /// The word's waits and updates.
    pub fn sync(self) -> SyncUse {
        let mut found = SyncUse::default();
        let mut block = |at: usize, value: u32, added: u32| {
            if self.u8(at) != 0 {
                found.waits.push(Wait { mode: self.u8(at), id: self.u8(at + 1), value });
            }
            if self.u8(at + 2) != 0 {
                found.updates.push(Update { mode: self.u8(at + 2), id: self.u8(at + 3), value: added });
            }
        };
        block(4, self.u32(8), 1);
        if self.opcode() == op::EVENT_SEMAPHORE {
            block(32, self.u32(36), self.u32(40));
        }
        found
    }

    /// Whether the instruction waits for anything: only then does its wait counter mean something.
    pub fn waits(self) -> bool {
        self.u8(4) != 0 || self.opcode() == op::EVENT_SEMAPHORE && self.u8(32) != 0
    }
}

/// A wait in the vendor's notation. Barriers that the runtime puts in are printed as `$S[n]`, without a name.
pub(super) fn wait_text(wait: Wait, names: &SemaphoreNames, plain: bool) -> String {
    let (id, value) = (wait.id, wait.value);
    let semaphore = if plain { format!("$S[{id}]") } else { names.label(id) };
    match wait.mode {
        1 => format!("{semaphore}=={value}"),
        4 => format!("{semaphore}>{value}"),
        5 => format!("{semaphore}>={value}"),
        7 => format!("$E[{id}]==1-"),
        mode => format!("{semaphore} wait{mode} {value}"),
    }
}

/// An update in the vendor's notation.
pub(super) fn update_text(update: Update, names: &SemaphoreNames, plain: bool) -> String {
    let (id, value) = (update.id, update.value);
    let semaphore = if plain { format!("$S[{id}]") } else { names.label(id) };
    match update.mode {
        0x11 => format!("$E[{id}]+@complete"),
        0x13 => format!("{semaphore}++@complete"),
        0x14 => format!("{semaphore}--@complete"),
        0x15 => format!("{semaphore}+={value}@complete"),
        0x19 => format!("{semaphore}={value}@complete"),
        mode => format!("{semaphore} update0x{mode:02x} {value}"),
    }
}
