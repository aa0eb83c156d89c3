//! DMA transfers with what started them and what they raise: as recorded, or put together from packets where a profile
//! has no whole transfers.
//!
//! Each ring of a queue works in order and ends its share of a transfer with a 4-byte write to the semaphore, so the
//! n-th share of every ring belongs to the n-th instruction that started a transfer on the queue. A queue whose rings do
//! not agree with its instructions in number is left alone.

mod list;

use arrow::buffer::ScalarBuffer;
use rustc_hash::FxHashMap;

pub use list::List;

use super::pairs::Pairs;
use super::sync::SyncId;
use crate::model::queue::base_name;
use crate::model::{Nanos, length};
use crate::store::cache::{Columns, Reader, Written};
use crate::store::{EventRef, EventTable, Graph, LabelKind, Measure, Store};

/// The kind of edges from an instruction to the transfer it started where the source put transfers together itself. (In
/// Flow such an edge has no kind.)
pub const DERIVED_TRIGGER: &str = "DMA_TRIGGER";

/// Bytes of the write that ends a ring's share.
const SEMAPHORE_WRITE: u64 = 4;

/// A DMA transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its row of DmaPacketAggregated; else its packet that ended last.
    pub event: EventRef,
    /// Whether it was put together from packets, here or by the reader of a raw capture.
    pub derived: bool,
    /// The instruction that started it, as an event of Instruction.
    pub issuer: Option<u32>,
    /// Start of its first packet.
    pub start: Nanos,
    /// End of its last packet.
    pub end: Nanos,
    /// Bytes moved.
    pub bytes: u64,
    /// Position in [`Transfers::queues`].
    pub queue: u32,
    /// The semaphore it raises.
    pub sync: Option<SyncId>,
    /// By how much in all; 1 where that cannot be told.
    pub by: i32,
}

/// A queue of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name, without ring and engine.
    pub name: String,
    /// The physical core, where recorded.
    pub core: Option<i64>,
    /// Its transfers in order of start.
    pub order: ScalarBuffer<u32>,
    /// The least time from an instruction's start to its transfer's: what generating the descriptors and fetching them
    /// takes when nothing is in the way.
    pub launch: u64,
}

/// All transfers, in order of start.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// The transfers.
    pub list: List,
    /// The queues.
    pub queues: Vec<Queue>,
    /// Instructions with the transfers that they started, in order.
    of_issuer: Pairs,
    /// Events of packets or rows with the transfer that they belong to, in order.
    of_event: Pairs,
    /// The table of those events.
    pub(super) table: Option<u16>,
}

/// An instruction that starts a transfer.
#[derive(Clone, Debug)]
pub(super) struct Issue {
    /// The instruction.
    pub event: u32,
    /// Its core.
    pub core: Option<i64>,
    /// The name of the queue, which is that of the semaphore's owner.
    pub queue: String,
    /// The semaphore that the transfer raises.
    pub sync: SyncId,
    /// By how much.
    pub by: i32,
}

impl Transfers {
    /// A transfer. Panics when there is none at `t`.
    #[must_use]
    pub fn get(&self, t: u32) -> Transfer {
        self.list.get(t as usize)
    }

    /// The queue of a transfer. Panics when there is no such transfer.
    #[must_use]
    pub fn queue_of(&self, t: u32) -> &Queue {
        &self.queues[self.get(t).queue as usize]
    }

    /// The transfers that an instruction started.
    pub fn started_by(&self, instruction: u32) -> impl Iterator<Item = u32> + '_ {
        self.of_issuer.of(instruction)
    }

    /// The transfer that an event is, or belongs to.
    #[must_use]
    pub fn of_event(&self, event: EventRef) -> Option<u32> {
        if self.table != Some(event.table) {
            return None;
        }
        self.of_event.of(event.event).next()
    }

    /// Events of packets or rows with the transfer that they belong to.
    pub(super) fn members(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.of_event.all()
    }

    /// The transfer before `t` on its queue.
    #[must_use]
    pub fn before(&self, t: u32) -> Option<u32> {
        let order = &self.queue_of(t).order;
        let at = order.partition_point(|&o| o < t);
        Some(order[at.checked_sub(1)?])
    }

    /// The transfer after `t` on its queue.
    #[must_use]
    pub fn after(&self, t: u32) -> Option<u32> {
        let order = &self.queue_of(t).order;
        order.get(order.partition_point(|&o| o <= t)).copied()
    }

    /// A transfer on another queue of the same core that kept the DMA engines busy during `[from, to)`: the one that
    /// did so longest, and for how long.
    #[must_use]
    pub fn in_the_way(&self, t: u32, from: Nanos, to: Nanos) -> Option<(u32, u64)> {
        let (own, core) = (self.get(t).queue, self.queue_of(t).core);
        let after = self.list.partition_point(|x| x.start < to);
        // Transfers that started long before rarely still run.
        let near = (0..after).rev().take(256).map(|i| (i, self.list.get(i)));
        near.filter(|(_, x)| x.queue != own && self.queues[x.queue as usize].core == core)
            .map(|(i, x)| (i as u32, length(x.start.max(from), x.end.min(to))))
            .max_by_key(|(_, shared)| *shared)
            .filter(|(_, shared)| *shared > 0)
    }

    /// Puts the transfers in order and finds what belongs to what. `members` are the packets of each transfer where they
    /// are derived, in the order of `list`; `start_of` tells the start of an instruction.
    fn index(
        list: Vec<Transfer>,
        mut queues: Vec<Queue>,
        members: Option<Vec<Vec<u32>>>,
        table: u16,
        start_of: impl Fn(u32) -> Nanos,
    ) -> Transfers {
        let mut order: Vec<u32> = (0..list.len() as u32).collect();
        order.sort_by_key(|&t| list[t as usize].start);
        let mut of_event: Vec<(u32, u32)> = Vec::new();
        for (now, &before) in order.iter().enumerate() {
            match &members {
                Some(members) => of_event.extend(members[before as usize].iter().map(|&e| (e, now as u32))),
                None => of_event.push((list[before as usize].event.event, now as u32)),
            }
        }
        let list = List::new(order.iter().map(|&t| list[t as usize]), table);
        let of_issuer = Pairs::new(list.iter().enumerate().filter_map(|(t, x)| Some((x.issuer?, t as u32))));
        let mut launches: Vec<Option<u64>> = vec![None; queues.len()];
        let mut orders: Vec<Vec<u32>> = vec![Vec::new(); queues.len()];
        for (t, x) in list.iter().enumerate() {
            orders[x.queue as usize].push(t as u32);
            let Some(issued) = x.issuer.map(&start_of).filter(|&issued| issued <= x.start) else { continue };
            let least = &mut launches[x.queue as usize];
            let took = length(issued, x.start);
            *least = Some(least.map_or(took, |l| l.min(took)));
        }
        for (queue, (launch, order)) in queues.iter_mut().zip(launches.into_iter().zip(orders)) {
            (queue.launch, queue.order) = (launch.unwrap_or(0), order.into());
        }
        Transfers { list, queues, of_issuer, of_event: Pairs::new(of_event), table: Some(table) }
    }

    /// Has each transfer raise its semaphore by what `by` makes of it and of what it raised it by so far.
    pub(super) fn set_by(&mut self, by: impl Fn(u32, &Transfer) -> i32) {
        let table = self.table.unwrap_or(0);
        self.list = List::new((0..).zip(self.list.iter()).map(|(t, x)| Transfer { by: by(t, &x), ..x }), table);
    }

    /// Writes all but the queues and the table.
    pub(super) fn write(&self, out: &mut Columns) -> Written {
        out.u64s("transfers", self.list.words())?;
        out.u64s("transfers.of_issuer", &self.of_issuer.0)?;
        out.u64s("transfers.of_event", &self.of_event.0)
    }

    /// Reads what was written so; `None` where it does not fit together.
    pub(super) fn read(file: &Reader, queues: Vec<Queue>, table: Option<u16>) -> Option<Transfers> {
        let list = List::from_words(file.u64s("transfers")?, table.unwrap_or(0))?;
        let pairs = |name: &str| Some(Pairs(file.u64s(name)?));
        let (of_issuer, of_event) = (pairs("transfers.of_issuer")?, pairs("transfers.of_event")?);
        Some(Transfers { list, queues, of_issuer, of_event, table })
    }
}

/// Numbers the queues that it is asked for.
#[derive(Default)]
struct QueueNames {
    known: FxHashMap<(Option<i64>, String), u32>,
    queues: Vec<Queue>,
}

impl QueueNames {
    fn number(&mut self, core: Option<i64>, name: &str) -> u32 {
        if let Some(&number) = self.known.get(&(core, name.to_owned())) {
            return number;
        }
        let number = self.queues.len() as u32;
        self.known.insert((core, name.to_owned()), number);
        self.queues.push(Queue { name: name.to_owned(), core, order: Vec::new().into(), launch: 0 });
        number
    }
}

/// The transfers that the profile has as rows. `sync_of_row` are the semaphores that the rows name.
pub(super) fn recorded(store: &Store, table: u16, sync_of_row: &[Option<SyncId>]) -> Transfers {
    let events = &store.events[usize::from(table)];
    let instructions = store.table("Instruction");
    let bytes = events.measure_index(Measure::Bytes);
    let mut names = QueueNames::default();
    let mut list = Vec::with_capacity(events.len());
    for group in &events.groups {
        let queue = names.number(group.key.core, &group.key.name);
        let picks = group.sequence.picks();
        for event in (0..picks.len()).map(|i| picks.at(i)) {
            let row = events.rows[event as usize];
            let graph = store.graph.as_ref().zip(instructions);
            let issued = graph.and_then(|(graph, i)| issuer(graph, &events.name, row, i));
            list.push(Transfer {
                event: EventRef { table, event },
                derived: issued.is_some_and(|(_, derived)| derived),
                issuer: issued.map(|(issuer, _)| issuer),
                start: events.start(event),
                end: events.end(event),
                bytes: bytes.map_or(0, |m| *events.measures[m].1.at(event as usize)),
                queue,
                sync: sync_of_row.get(row as usize).copied().flatten(),
                by: 1,
            });
        }
    }
    let start_of = |e: u32| instructions.map_or(Nanos::MAX, |i| i.start(e));
    Transfers::index(list, names.queues, None, table, start_of)
}

/// The instruction that started the transfer in `row`, and whether that is derived: of Flow, the edge without a kind, or
/// one that says so.
fn issuer(graph: &Graph, table: &str, row: u32, instructions: &EventTable) -> Option<(u32, bool)> {
    let edges = graph.predecessors(graph.node(table, row)?).filter_map(|(node, kind)| {
        let name = graph.kinds.get(usize::from(kind)).map_or("", String::as_str);
        let starts = name.is_empty() || name.contains("TRIGGER");
        starts.then_some((graph.row(node)?, name == DERIVED_TRIGGER))
    });
    edges
        .filter(|((table, _), _)| *table == instructions.name)
        .find_map(|((_, row), derived)| Some((instructions.event_at_row(row)?, derived)))
}

/// Puts transfers together from packets; `issues` are in order of their starts. Also says of each queue that could not
/// be put together why.
pub(super) fn derived(store: &Store, table: u16, issues: &[Issue]) -> (Transfers, Vec<String>) {
    let events = &store.events[usize::from(table)];
    let mut names = QueueNames::default();
    let mut by_queue: FxHashMap<(Option<i64>, &str), Vec<&Issue>> = FxHashMap::default();
    for issue in issues {
        by_queue.entry((issue.core, issue.queue.as_str())).or_default().push(issue);
    }
    let rings = shares(events);
    let (mut list, mut members, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let mut order: Vec<_> = by_queue.into_iter().collect();
    order.sort_by(|a, b| a.0.cmp(&b.0));
    for ((core, name), issues) in order {
        let own: Vec<&Vec<Share>> =
            rings.iter().filter(|r| r.core == core && r.queue == name).map(|r| &r.shares).collect();
        if own.is_empty() || own.iter().any(|shares| shares.len() != issues.len()) {
            problems
                .push(format!("the packets of {name} do not add up to the {} transfers started on it", issues.len()));
            continue;
        }
        let queue = names.number(core, name);
        for (n, issue) in issues.iter().enumerate() {
            let packets: Vec<u32> = own.iter().flat_map(|shares| shares[n].0.iter().copied()).collect();
            let start = packets.iter().map(|&p| events.start(p)).min().unwrap_or(0);
            let Some(last) = packets.iter().copied().max_by_key(|&p| (events.end(p), p)) else { continue };
            list.push(Transfer {
                event: EventRef { table, event: last },
                derived: true,
                issuer: Some(issue.event),
                start,
                end: events.end(last),
                bytes: own.iter().map(|shares| shares[n].1).sum(),
                queue,
                sync: Some(issue.sync),
                by: issue.by.max(1),
            });
            members.push(packets);
        }
    }
    let start_of = |e: u32| store.table("Instruction").map_or(Nanos::MAX, |i| i.start(e));
    (Transfers::index(list, names.queues, Some(members), table, start_of), problems)
}

/// Packets of one ring that belong to one transfer, and their bytes.
type Share = (Vec<u32>, u64);

struct Ring {
    core: Option<i64>,
    queue: String,
    shares: Vec<Share>,
}

/// The packets of each ring, cut after each write to a semaphore.
fn shares(events: &EventTable) -> Vec<Ring> {
    let (Some(queues), Some(bytes)) = (events.label(LabelKind::Queue), events.measure_index(Measure::Bytes)) else {
        return Vec::new();
    };
    let bytes = &events.measures[bytes].1;
    let mut rings = Vec::new();
    for group in &events.groups {
        let mut open: FxHashMap<u32, (Vec<Share>, Share)> = FxHashMap::default();
        let picks = group.sequence.picks();
        for event in (0..picks.len()).map(|i| picks.at(i)) {
            let (done, share) = open.entry(queues.key(event as usize)).or_default();
            let moved = *bytes.at(event as usize);
            share.0.push(event);
            share.1 = share.1.saturating_add(moved);
            if moved == SEMAPHORE_WRITE {
                done.push(std::mem::take(share));
            }
        }
        for (queue, (mut done, rest)) in open {
            if !rest.0.is_empty() {
                // Cut off by the end of the capture: then the shares and the instructions differ in number.
                done.push(rest);
            }
            let queue = base_name(&queues.entries[queue as usize]).to_owned();
            rings.push(Ring { core: group.key.core, queue, shares: done });
        }
    }
    rings
}
