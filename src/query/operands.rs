//! What the operands of all instructions say of semaphores and PSUM, in few bytes per instruction.
//!
//! Most instructions say one of a few things; what they wait for, though, counts up over the run and is rarely said
//! twice. So the one is kept once each, and the other by instruction.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow::buffer::ScalarBuffer;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::banks::{self, BankUse};
use super::pairs::{NONE, some};
use super::sync::{self, Condition, SyncUse};
use crate::store::{Batch, EventTable, Problem, Store, Want};

/// What the operands of an instruction say, apart from what it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spec {
    /// Semaphores and events.
    pub sync: SyncUse,
    /// PSUM banks.
    pub banks: BankUse,
}

/// Of an instruction that waits for something. Profiles have less than 2^31 instructions.
const WAITS: u32 = 1 << 31;

/// See the module.
#[derive(Default)]
pub struct Operands {
    /// Per event its position in `specs`, with [`WAITS`].
    pub(super) keys: ScalarBuffer<u32>,
    /// What is said; the first says nothing.
    pub(super) specs: Vec<Spec>,
    /// The events that wait, in order, once for each condition.
    pub(super) waiting: ScalarBuffer<u32>,
    /// What they wait for, as [`Condition::packed`].
    pub(super) conditions: ScalarBuffer<u64>,
    /// Per event its program counter, or [`NONE`].
    pub(super) pcs: ScalarBuffer<u32>,
}

impl Operands {
    /// Reads the operands of all instructions. `clears` tells of an event whether its opcode clears a range of
    /// semaphores; `report` is told how many rows have been read.
    ///
    /// # Errors
    /// Says which file could not be read.
    pub fn read(
        store: &Store,
        events: &EventTable,
        clears: &(dyn Fn(u32) -> bool + Sync),
        cancel: &AtomicBool,
        report: &(dyn Fn(usize) + Sync),
    ) -> Result<Operands, Problem> {
        let read = AtomicUsize::new(0);
        let keys: Vec<AtomicU32> = (0..events.len()).map(|_| AtomicU32::new(0)).collect();
        let pcs: Vec<AtomicU32> = (0..events.len()).map(|_| AtomicU32::new(NONE)).collect();
        let nothing = Spec::default();
        let known = Mutex::new((FxHashMap::from_iter([(nothing.clone(), 0)]), vec![nothing.clone()]));
        let waiting = Mutex::new(Vec::new());
        let columns = [
            ("operands", Want::Text),
            ("pc", Want::Integer),
            ("psum_read_banks", Want::Members),
            ("psum_write_banks", Want::Members),
        ];
        store.scan(&events.name, &columns, &|batch: Batch| {
            // Most of a batch is among what it said before, so that others rarely have to wait.
            let mut seen: FxHashMap<Spec, u32> = FxHashMap::default();
            let (mut waits, mut found) = (Vec::new(), Vec::new());
            for i in 0..batch.rows {
                let Some(event) = events.event_at_row(batch.first_row.saturating_add(i as u32)) else { continue };
                if let Some(pc) = batch.columns[1].integer(i).and_then(|pc| u32::try_from(pc).ok()) {
                    pcs[event as usize].store(pc, Ordering::Relaxed);
                }
                let banks = [2, 3].map(|c| batch.columns[c].integer(i).map(|bits| bits as u8));
                let spec = spec(batch.columns[0].text(i).unwrap_or(""), banks, clears(event), &mut waits);
                let mut key = match seen.get(&spec) {
                    _ if spec == nothing => 0,
                    Some(key) => *key,
                    None => {
                        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                        let (keys, specs) = &mut *known;
                        let key = *keys.entry(spec.clone()).or_insert_with_key(|spec| {
                            specs.push(spec.clone());
                            specs.len() as u32 - 1
                        });
                        *seen.entry(spec).or_insert(key)
                    }
                };
                if !waits.is_empty() {
                    key |= WAITS;
                    found.extend(waits.drain(..).map(|condition| (event, condition.packed())));
                }
                keys[event as usize].store(key, Ordering::Relaxed);
            }
            waiting.lock().unwrap_or_else(PoisonError::into_inner).append(&mut found);
            report(read.fetch_add(batch.rows, Ordering::Relaxed) + batch.rows);
            !cancel.load(Ordering::Relaxed)
        })?;
        let mut waiting: Vec<(u32, u64)> = waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Those of one event stay in the order of its operands.
        waiting.par_sort_by_key(|(event, _)| *event);
        let plain = |values: Vec<AtomicU32>| values.into_iter().map(AtomicU32::into_inner).collect::<Vec<_>>().into();
        Ok(Operands {
            keys: plain(keys),
            specs: known.into_inner().unwrap_or_else(PoisonError::into_inner).1,
            waiting: waiting.iter().map(|(event, _)| *event).collect(),
            conditions: waiting.iter().map(|(_, condition)| *condition).collect(),
            pcs: plain(pcs),
        })
    }

    fn key(&self, e: u32) -> u32 {
        self.keys.get(e as usize).copied().unwrap_or(0)
    }

    /// What the operands of an instruction say, apart from what it waits for.
    #[must_use]
    pub fn spec(&self, e: u32) -> &Spec {
        self.specs.get((self.key(e) & !WAITS) as usize).unwrap_or(&self.specs[0])
    }

    /// Whether the operands of an instruction say anything.
    #[must_use]
    pub fn any(&self, e: u32) -> bool {
        self.key(e) != 0
    }

    /// The conditions that hold before an instruction goes on.
    pub fn waits(&self, e: u32) -> impl Iterator<Item = Condition> + '_ {
        let first = match self.key(e) & WAITS {
            0 => self.waiting.len(),
            _ => self.waiting.partition_point(|&w| w < e),
        };
        let own = self.waiting[first..].iter().take_while(move |&&w| w == e).count();
        let packed = self.conditions.get(first..first + own).unwrap_or(&[]);
        packed.iter().filter_map(|&packed| Condition::unpacked(packed))
    }

    /// The program counter of an instruction, where recorded.
    #[must_use]
    pub fn pc(&self, e: u32) -> Option<u32> {
        self.pcs.get(e as usize).copied().and_then(some)
    }
}

/// What operands and the two columns of banks say together; the conditions are added to `waits`.
fn spec(operands: &str, [reads, writes]: [Option<u8>; 2], clears: bool, waits: &mut Vec<Condition>) -> Spec {
    let mut found = Spec { sync: sync::parse(operands, waits), banks: BankUse::default() };
    if clears {
        found.sync.clears = sync::parse_clear(operands);
    }
    let columns = reads.is_some() || writes.is_some();
    // With the columns, operands only tell of accumulations.
    if !columns || operands.contains("acc_flags=") {
        found.banks = banks::parse(operands);
    }
    if columns {
        (found.banks.reads, found.banks.writes) = (reads.unwrap_or(0), writes.unwrap_or(0));
    }
    // Addresses only matter to tell accumulations apart.
    if !found.banks.accumulates || found.banks.writes == 0 {
        found.banks.target = 0;
    }
    found
}
