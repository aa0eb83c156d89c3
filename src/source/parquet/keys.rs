//! Keys for the rows of an event table: of their groups, texts and numbers.

use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use arrow::array::RecordBatch;
use rustc_hash::FxHashMap;

use super::events::{Grouping, Shared};
use crate::model::{Engine, queue};
use crate::store::arrays::{Texts, column, floats, ints, texts};
use crate::store::builder::Dictionary;
use crate::store::{GroupKey, Keys, flag};

/// The columns that [`Grouping::Process`] looks at.
pub(super) const PROCESS: [&str; 7] =
    ["instance_id", "process_id", "trace_event_source", "framework_stream_id", "thread_id", "nc_idx", "pcore_idx"];

/// The text columns of some rows, each made out once, however often it is asked for.
pub(super) struct TextColumns<'a> {
    batch: &'a RecordBatch,
    read: RefCell<FxHashMap<&'static str, Option<Rc<Texts>>>>,
}

impl<'a> TextColumns<'a> {
    /// The columns of `batch`.
    pub fn of(batch: &'a RecordBatch) -> TextColumns<'a> {
        TextColumns { batch, read: RefCell::default() }
    }

    /// The column called `name`.
    pub fn get(&self, name: &'static str) -> Option<Rc<Texts>> {
        let read = || Some(Rc::new(texts(column(self.batch, name)?.as_ref())?));
        self.read.borrow_mut().entry(name).or_insert_with(read).clone()
    }
}

/// Keys as narrow as they can be.
pub(super) fn pack(keys: &[u32]) -> Keys {
    Keys::pack(keys, keys.iter().max().map_or(1, |&most| most as usize + 1))
}

/// Whole numbers that are not negative, from any column of numbers.
pub(super) fn floats_or_ints(array: &dyn arrow::array::Array) -> Option<Vec<u64>> {
    if let Some(ints) = ints(array) {
        return Some((0..array.len()).map(|i| ints.at(i).map_or(0, |v| u64::try_from(v).unwrap_or(0))).collect());
    }
    Some(floats(array)?.into_iter().map(|v| v.max(0.0) as u64).collect())
}

/// The keys of some numbers in `dictionary`.
pub(super) fn number_keys(values: &[u64], dictionary: &Dictionary<u64>) -> Vec<u32> {
    let mut known = Memo::default();
    let mut distinct = Vec::new();
    let key = |&value: &u64| {
        known.key(value, value, || {
            distinct.push(value);
            distinct.len() as u32 - 1
        })
    };
    let local: Vec<u32> = values.iter().map(key).collect();
    let global = dictionary.keys(distinct);
    local.into_iter().map(|k| global[k as usize]).collect()
}

/// Keys of values of which most came up a moment ago, so that few need to be hashed.
struct Memo<T> {
    recent: [Option<(T, u32)>; 64],
    known: FxHashMap<T, u32>,
}

impl<T: Copy> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo { recent: [None; 64], known: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> Memo<T> {
    /// The key of `value`, which `new` gives the first time; values that come up together should differ in `near`.
    #[inline]
    fn key(&mut self, value: T, near: u64, new: impl FnOnce() -> u32) -> u32 {
        let recent = &mut self.recent[(near.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize];
        match *recent {
            Some((same, key)) if same == value => key,
            _ => {
                let key = *self.known.entry(value).or_insert_with(new);
                *recent = Some((value, key));
                key
            }
        }
    }
}

/// Marks waits, sequencer work and transposes, from opcode and tensor_instruction_type.
pub(super) fn mark_classes(columns: &TextColumns, flags: &mut [u8]) {
    let mut mark = |name: &'static str, flags_of: &dyn Fn(&str) -> u8| {
        let Some(text) = columns.get(name) else { return };
        let of_entry: Vec<u8> = text.entries.iter().map(|t| flags_of(t)).collect();
        for (flags, key) in flags.iter_mut().zip(&text.keys) {
            *flags |= key.map_or(0, |k| of_entry[k as usize]);
        }
    };
    mark("opcode", &flag::of_opcode);
    mark("tensor_instruction_type", &|t| if t.eq_ignore_ascii_case("TRANSPOSE") { flag::TRANSPOSE } else { 0 });
}

/// The key of each row's group; of rows that are not `dated` 0.
pub(super) fn group_keys(columns: &TextColumns, rows: usize, dated: &[bool], shared: &Shared) -> Keys {
    let batch = columns.batch;
    if shared.spec.grouping == Grouping::Process {
        return process_keys(batch, rows, dated, shared);
    }
    let cores = column(batch, "pcore_idx").and_then(|c| ints(c.as_ref()));
    let core = |row: usize| cores.as_ref().and_then(|c| c.at(row));
    let text_of = |name| columns.get(name);
    // A number for what groups each row besides the core, and the name that it stands for.
    let mut known = Memo::default();
    let mut keys_by = |of_row: &dyn Fn(usize) -> Option<i64>,
                       name_of: &dyn Fn(Option<i64>) -> (Option<Engine>, String)| {
        let keys: Vec<u32> = (0..rows)
            .map(|row| {
                if !dated[row] {
                    return 0;
                }
                let by = (core(row), of_row(row));
                let near = by.0.unwrap_or(-1).wrapping_mul(1000).wrapping_add(by.1.unwrap_or(-1));
                known.key(by, near as u64, || {
                    let (engine, name) = name_of(by.1);
                    shared.groups.key(GroupKey { core: by.0, engine, name })
                })
            })
            .collect();
        pack(&keys)
    };
    match shared.spec.grouping {
        Grouping::Process => Keys::pack(&vec![0; rows], 1),
        Grouping::Whole(name) => {
            let name = if name.is_empty() { &shared.spec.table } else { name };
            keys_by(&|_| None, &|_| (None, name.to_string()))
        }
        Grouping::Numbered(prefix, column_name) => {
            let numbers = column(batch, column_name).and_then(|c| ints(c.as_ref()));
            let queues = text_of("queue_name");
            let from_queue = |row: usize| {
                let queues = queues.as_ref()?;
                queue::engine_of(&queues.entries[queues.keys[row]? as usize])
            };
            let number = |row: usize| numbers.as_ref().and_then(|n| n.at(row)).or_else(|| from_queue(row));
            keys_by(&number, &|n| (None, n.map_or(format!("{prefix}?"), |n| format!("{prefix}{n}"))))
        }
        Grouping::Engine(name) => {
            let text = text_of(name);
            let engine = |key: Option<i64>| match key.and_then(|k| text.as_ref()?.entries.get(k as usize)) {
                Some(text) => {
                    let engine = Engine::parse(text);
                    (engine, engine.map_or_else(|| text.clone(), |e| e.name().to_string()))
                }
                None => (None, "engine not recorded".to_string()),
            };
            keys_by(&|row| text.as_ref()?.keys[row].map(i64::from), &engine)
        }
        Grouping::Queue(name) | Grouping::Text(_, name) => {
            let text = text_of(name);
            let prefix = if let Grouping::Text(prefix, _) = shared.spec.grouping { prefix } else { "" };
            let named = |key: Option<i64>| {
                let text = key.and_then(|k| text.as_ref()?.entries.get(k as usize)).map_or("", String::as_str);
                let text =
                    if matches!(shared.spec.grouping, Grouping::Queue(_)) { queue::base_name(text) } else { text };
                let text = if text.is_empty() { "not recorded" } else { text };
                (None, format!("{prefix}{text}"))
            };
            keys_by(&|row| text.as_ref()?.keys[row].map(i64::from), &named)
        }
    }
}

/// Groups of system events: instance, process, source, and what runs in it.
fn process_keys(batch: &RecordBatch, rows: usize, dated: &[bool], shared: &Shared) -> Keys {
    let columns = PROCESS.map(|name| column(batch, name).and_then(|c| texts(c.as_ref())));
    let mut known: FxHashMap<[Option<u32>; 7], u32> = FxHashMap::default();
    let keys: Vec<u32> = (0..rows)
        .map(|row| {
            if !dated[row] {
                return 0;
            }
            let by = std::array::from_fn(|i| columns[i].as_ref().and_then(|c| c.keys[row]));
            *known.entry(by).or_insert_with(|| {
                let text = |i: usize| match (&columns[i], by[i]) {
                    (Some(column), Some(key)) => Some(column.entries[key as usize].as_str()),
                    _ => None,
                };
                let or = |i: usize| text(i).unwrap_or("?");
                let within = match (text(2), text(3)) {
                    (Some("framework"), Some(stream)) => format!("Stream:{stream}"),
                    (Some("framework"), None) => format!("TID:{}", or(4)),
                    (Some("neuron_rt"), _) => format!("NC:{}", or(5)),
                    (Some("neuron_hw"), _) => format!("NC{}:{}", or(5), or(6)),
                    _ => format!("TID:{}", or(4)),
                };
                let name = format!("{}/PID:{}/{}/{within}", or(0), or(1), or(2));
                shared.groups.key(GroupKey { core: None, engine: None, name })
            })
        })
        .collect();
    pack(&keys)
}
