//! The index of causes on disk, beside the cache of its profile: its columns are mapped, so that the next session has
//! its first answer at once.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use arrow::buffer::ScalarBuffer;
use serde::{Deserialize, Serialize};

use super::collectives::Collectives;
use super::index::{CauseIndex, Stream};
use super::operands::{Operands, Spec};
use super::packets::Packets;
use super::semaphores::{SyncKey, SyncTrack};
use super::transfers::{Queue, Transfers};
use crate::model::Engine;
use crate::store::cache::{self, Columns, Reader, Written};
use crate::store::{Problem, Store};

/// The uses of a PSUM bank, by core and bank.
type BankUses<'a> = (&'a (Option<i64>, u8), &'a ScalarBuffer<u32>);

/// What the file is called, behind the name of the profile's cache.
const NAME: &str = "causes";

/// All that is no column.
#[derive(Serialize, Deserialize)]
struct Shape {
    specs: Vec<Spec>,
    streams: Vec<StreamShape>,
    syncs: Vec<SyncShape>,
    sources: Vec<String>,
    queues: Vec<QueueShape>,
    transfers: Option<u16>,
    packets: u16,
    collectives: Vec<SyncKey>,
    banks: Vec<(Option<i64>, u8, usize)>,
    has_updates: bool,
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StreamShape {
    group: u32,
    first: u32,
    end: u32,
    core: Option<i64>,
    engine: Option<String>,
    overlap: u64,
}

#[derive(Serialize, Deserialize)]
struct SyncShape {
    key: SyncKey,
    owner: String,
    changes: usize,
    runs: usize,
    raisers: usize,
    transfers: usize,
    waiters: usize,
}

#[derive(Serialize, Deserialize)]
struct QueueShape {
    name: String,
    core: Option<i64>,
    launch: u64,
    transfers: usize,
}

impl CauseIndex {
    /// The index of `store` from `cache`, else built and kept there.
    ///
    /// # Errors
    /// As [`CauseIndex::build`]. That it cannot be kept costs only time.
    pub fn open(store: &Store, cache: Option<&Path>, cancel: &AtomicBool) -> Result<CauseIndex, Problem> {
        if let Some(kept) = cache.and_then(|directory| CauseIndex::load(store, directory)) {
            return Ok(kept);
        }
        let built = CauseIndex::build(store, cancel)?;
        if let Some(directory) = cache.filter(|_| store.worth_caching()) {
            let _ = built.save(store, directory, cancel);
        }
        Ok(built)
    }

    /// Keeps the index in `directory`, beside the cache of the profile. Returns its size in bytes; `None` where it was
    /// cancelled, or the profile is none that is cached.
    ///
    /// # Errors
    /// Says which file could not be written and what to do.
    pub fn save(&self, store: &Store, directory: &Path, cancel: &AtomicBool) -> Result<Option<u64>, Problem> {
        let Some(origin) = &store.origin else { return Ok(None) };
        let shape = serde_json::to_string(&self.shape()).map_err(|e| Problem {
            path: store.info.path.clone(),
            message: format!("its causes cannot be cached: {e}"),
        })?;
        cache::save_beside(origin, directory, NAME, cancel, &|out| {
            out.texts("shape", std::slice::from_ref(&shape))?;
            self.write(out)
        })
    }

    /// The index of `store` as it was kept in `directory`; `None` where there is none that is true.
    #[must_use]
    pub fn load(store: &Store, directory: &Path) -> Option<CauseIndex> {
        let file = cache::load_beside(store.origin.as_ref()?, directory, NAME)?;
        let shape: Shape = serde_json::from_str(file.texts("shape")?.first()?).ok()?;
        CauseIndex::read(store, &file, shape)
    }

    fn shape(&self) -> Shape {
        let streams = self.streams.iter().map(|s| StreamShape {
            group: s.group,
            first: s.first,
            end: s.end,
            core: s.core,
            engine: s.engine.map(|e| e.name().to_owned()),
            overlap: s.overlap,
        });
        let syncs = self.syncs_in_order().into_iter().map(|(key, track)| SyncShape {
            key: *key,
            owner: track.owner.clone(),
            changes: track.len(),
            runs: track.runs.len(),
            raisers: track.raisers.len(),
            transfers: track.transfers.len(),
            waiters: track.waiters.len(),
        });
        let queues = self.transfers.queues.iter();
        let queues = queues.map(|q| QueueShape {
            name: q.name.clone(),
            core: q.core,
            launch: q.launch,
            transfers: q.order.len(),
        });
        Shape {
            specs: self.operands.specs.clone(),
            streams: streams.collect(),
            syncs: syncs.collect(),
            sources: self.sources.clone(),
            queues: queues.collect(),
            transfers: self.transfers.table,
            packets: self.packets.table,
            collectives: self.collectives.syncs.clone(),
            banks: self.banks_in_order().into_iter().map(|((core, bank), uses)| (*core, *bank, uses.len())).collect(),
            has_updates: self.has_updates,
            notes: self.notes.clone(),
        }
    }

    fn syncs_in_order(&self) -> Vec<(&SyncKey, &SyncTrack)> {
        let mut syncs: Vec<_> = self.syncs.iter().collect();
        syncs.sort_by_key(|(key, _)| **key);
        syncs
    }

    fn banks_in_order(&self) -> Vec<BankUses<'_>> {
        let mut banks: Vec<_> = self.bank_uses.iter().collect();
        banks.sort_by_key(|(key, _)| **key);
        banks
    }

    fn write(&self, out: &mut Columns) -> Written {
        let operands = &self.operands;
        out.u32s("keys", &operands.keys)?;
        out.u32s("pcs", &operands.pcs)?;
        out.u32s("waiting", &operands.waiting)?;
        out.u64s("conditions", &operands.conditions)?;
        let tracks: Vec<&SyncTrack> = self.syncs_in_order().into_iter().map(|(_, track)| track).collect();
        out.i64s("sync.times", &joined(&tracks, |t| &t.times))?;
        out.u32s("sync.values", &unsigned(&joined(&tracks, |t| &t.values)))?;
        out.u8s("sync.sources", &joined(&tracks, |t| &t.sources))?;
        out.u32s("sync.events", &joined(&tracks, |t| &t.events))?;
        out.u32s("sync.runs", &joined(&tracks, |t| &t.runs))?;
        out.u32s("sync.raisers", &joined(&tracks, |t| &t.raisers))?;
        out.u32s("sync.transfers", &joined(&tracks, |t| &t.transfers))?;
        out.u32s("sync.waiters", &joined(&tracks, |t| &t.waiters))?;
        self.transfers.write(out)?;
        out.u32s("queues", &joined(&self.transfers.queues, |q| &q.order))?;
        out.u32s("packets", &self.packets.transfers)?;
        self.collectives.write(out)?;
        out.u32s("banks", &joined(&self.banks_in_order(), |(_, uses)| uses))
    }

    fn read(store: &Store, file: &Reader, shape: Shape) -> Option<CauseIndex> {
        let mut index = CauseIndex::empty(store).ok()?;
        let events = index.events(store).len();
        index.operands = Operands {
            keys: file.u32s("keys").filter(|keys| keys.len() == events)?,
            specs: Some(shape.specs).filter(|specs| !specs.is_empty())?,
            waiting: file.u32s("waiting")?,
            conditions: file.u64s("conditions")?,
            pcs: file.u32s("pcs")?,
        };
        index.streams = shape
            .streams
            .into_iter()
            .map(|s| Stream {
                group: s.group,
                first: s.first,
                end: s.end,
                core: s.core,
                engine: s.engine.as_deref().and_then(Engine::parse),
                overlap: s.overlap,
            })
            .collect();
        let mut times = Parts(file.i64s("sync.times")?);
        let mut values = Parts(signed(&file.u32s("sync.values")?));
        let mut sources = Parts(file.u8s("sync.sources")?);
        let mut updates = Parts(file.u32s("sync.events")?);
        let mut runs = Parts(file.u32s("sync.runs")?);
        let mut raisers = Parts(file.u32s("sync.raisers")?);
        let mut transfers = Parts(file.u32s("sync.transfers")?);
        let mut waiters = Parts(file.u32s("sync.waiters")?);
        for sync in shape.syncs {
            let track = SyncTrack {
                owner: sync.owner,
                times: times.next(sync.changes)?,
                values: values.next(sync.changes)?,
                sources: sources.next(sync.changes)?,
                events: updates.next(sync.changes)?,
                runs: runs.next(sync.runs)?,
                raisers: raisers.next(sync.raisers)?,
                transfers: transfers.next(sync.transfers)?,
                waiters: waiters.next(sync.waiters)?,
            };
            index.syncs.insert(sync.key, track);
        }
        let mut orders = Parts(file.u32s("queues")?);
        let queues = shape.queues.into_iter();
        let queues = queues
            .map(|q| Some(Queue { name: q.name, core: q.core, order: orders.next(q.transfers)?, launch: q.launch }));
        index.transfers = Transfers::read(file, queues.collect::<Option<_>>()?, shape.transfers)?;
        index.packets = Packets { table: shape.packets, transfers: file.u32s("packets")? };
        index.collectives = Collectives::read(store, file, shape.collectives)?;
        let mut banks = Parts(file.u32s("banks")?);
        for (core, bank, uses) in shape.banks {
            index.bank_uses.insert((core, bank), banks.next(uses)?);
        }
        (index.sources, index.has_updates, index.notes) = (shape.sources, shape.has_updates, shape.notes);
        Some(index)
    }
}

fn joined<I, T: arrow::datatypes::ArrowNativeType>(
    of: &[I],
    column: impl Fn(&I) -> &ScalarBuffer<T>,
) -> ScalarBuffer<T> {
    of.iter().flat_map(|one| column(one).iter().copied()).collect()
}

/// A column that is handed out piece by piece.
struct Parts<T: arrow::datatypes::ArrowNativeType>(ScalarBuffer<T>);

impl<T: arrow::datatypes::ArrowNativeType> Parts<T> {
    /// The next `count` numbers; `None` where there are not as many.
    fn next(&mut self, count: usize) -> Option<ScalarBuffer<T>> {
        let rest = self.0.len().checked_sub(count)?;
        let part = self.0.slice(0, count);
        self.0 = self.0.slice(count, rest);
        Some(part)
    }
}

fn unsigned(values: &ScalarBuffer<i32>) -> ScalarBuffer<u32> {
    ScalarBuffer::new(values.inner().clone(), 0, values.len())
}

fn signed(values: &ScalarBuffer<u32>) -> ScalarBuffer<i32> {
    ScalarBuffer::new(values.inner().clone(), 0, values.len())
}
