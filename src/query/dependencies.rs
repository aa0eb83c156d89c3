//! What an event depends on and what depends on it: the edges that the profile lists, and those that follow from
//! semaphores, transfers and PSUM banks.

use rustc_hash::FxHashMap;

use super::banks;
use super::causes::{Actor, Asking, How};
use super::index::SAME_BANK;
use super::sync::Condition;
use super::transfers::DERIVED_TRIGGER;
use crate::model::Nanos;

/// Neighbours that are listed on each side.
pub const MOST_LISTED: usize = 1_000;

/// Why two events are linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The later reads what the earlier wrote.
    Flow,
    /// The later overwrites what the earlier read.
    Anti,
    /// Both write the same place.
    Output,
    /// The later must be issued after the earlier.
    Ordered,
    /// Both use a PSUM bank, one bit each.
    SameBank(u8),
    /// An instruction started a transfer.
    DmaTrigger,
    /// An instruction waited for a transfer's semaphore.
    DmaWait(Option<Condition>),
    /// An instruction waited for another one's semaphore.
    Semaphore(Condition),
    /// One that this version does not know, by its own name.
    Other(String),
}

impl Kind {
    /// The kind of a recorded edge by its name; `None` stands for an instruction and the transfer that it triggered.
    #[must_use]
    pub fn of_name(name: &str, banks: u8) -> Kind {
        match name {
            "" => Kind::DmaTrigger,
            "FLOW_DEPENDENCE" => Kind::Flow,
            "ANTI_DEPENDENCE" => Kind::Anti,
            "OUTPUT_DEPENDENCE" => Kind::Output,
            "ORDERED" => Kind::Ordered,
            SAME_BANK => Kind::SameBank(banks),
            DERIVED_TRIGGER => Kind::DmaTrigger,
            "DMA_WAIT" => Kind::DmaWait(None),
            other => Kind::Other(other.to_owned()),
        }
    }

    /// The name in JSON: the schema's where it has one.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Kind::Flow => "FLOW_DEPENDENCE",
            Kind::Anti => "ANTI_DEPENDENCE",
            Kind::Output => "OUTPUT_DEPENDENCE",
            Kind::Ordered => "ORDERED",
            Kind::SameBank(_) => SAME_BANK,
            Kind::DmaTrigger => DERIVED_TRIGGER,
            Kind::DmaWait(_) => "DMA_WAIT",
            Kind::Semaphore(_) => "SEMAPHORE",
            Kind::Other(name) => name,
        }
    }

    /// In words, as short as a badge.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Kind::Flow => "flow".into(),
            Kind::Anti => "anti".into(),
            Kind::Output => "output".into(),
            Kind::Ordered => "ordered".into(),
            Kind::SameBank(0) => "same PSUM bank".into(),
            Kind::SameBank(banks) => {
                let numbers: Vec<String> = (0..8).filter(|b| banks >> b & 1 != 0).map(|b| b.to_string()).collect();
                format!("PSUM bank {}", numbers.join(", "))
            }
            Kind::DmaTrigger => "DMA trigger".into(),
            Kind::DmaWait(None) => "DMA wait".into(),
            Kind::DmaWait(Some(condition)) => format!("DMA wait {condition}"),
            Kind::Semaphore(condition) => format!("semaphore {condition}"),
            Kind::Other(name) => name.clone(),
        }
    }
}

/// The legend: names as in JSON, badges, and what each means. Unknown kinds come last, under their own names.
pub const LEGEND: [(&str, &str, &str); 8] = [
    ("FLOW_DEPENDENCE", "flow", "the later reads what the earlier wrote"),
    ("ANTI_DEPENDENCE", "anti", "the later overwrites what the earlier read"),
    ("OUTPUT_DEPENDENCE", "output", "both write the same place"),
    ("ORDERED", "ordered", "the later is issued after the earlier"),
    (SAME_BANK, "PSUM bank", "both use the bank, and nothing in between does"),
    ("DMA_TRIGGER", "DMA trigger", "the instruction started the transfer"),
    ("DMA_WAIT", "DMA wait", "the instruction waits for the transfer's semaphore"),
    ("SEMAPHORE", "semaphore", "the later waits for the earlier one's semaphore"),
];

/// Another event with all that links it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The other event.
    pub actor: Actor,
    /// Kinds that the profile lists, with the names it gives them; `None` where it gives none.
    pub recorded: Vec<(Kind, Option<String>)>,
    /// Kinds that follow from what else is recorded.
    pub derived: Vec<Kind>,
    /// From the end of the earlier to the start of the later in nanoseconds; negative where they overlap.
    pub gap: i64,
    /// Whether the earlier is what bound the start of the later, directly or through waits.
    pub bound: bool,
}

/// The neighbours of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// What it depends on, the last to end first.
    pub predecessors: Vec<Dependency>,
    /// What depends on it, the first to start first.
    pub successors: Vec<Dependency>,
    /// How many predecessors and successors are left out.
    pub left_out: (usize, usize),
}

/// Neighbours on one side that are being gathered.
#[derive(Default)]
struct Side {
    list: Vec<Dependency>,
    place: FxHashMap<Actor, usize>,
}

impl Side {
    fn of(&mut self, actor: Actor) -> &mut Dependency {
        let next = self.list.len();
        let place = *self.place.entry(actor).or_insert(next);
        if place == next {
            self.list.push(Dependency { actor, recorded: Vec::new(), derived: Vec::new(), gap: 0, bound: false });
        }
        &mut self.list[place]
    }

    fn derive(&mut self, actor: Actor, kind: Kind) {
        let found = self.of(actor);
        let known = found.recorded.iter().any(|(k, _)| k.name() == kind.name()) || found.derived.contains(&kind);
        if !known {
            found.derived.push(kind);
        }
    }
}

impl Asking<'_> {
    /// The neighbours of an event in the dependency graph, both ways.
    #[must_use]
    pub fn neighbours(&self, actor: Actor) -> Neighbours {
        let (mut before, mut after) = (Side::default(), Side::default());
        self.add_recorded(actor, true, &mut before);
        self.add_recorded(actor, false, &mut after);
        self.add_transfers(actor, &mut before, &mut after);
        self.add_semaphores(actor, &mut before, &mut after);
        self.add_banks(actor, &mut before, &mut after);
        let bound_by = self.bound_by(actor);
        let (start, end) = self.span(actor);
        let mut found = Neighbours { predecessors: before.list, successors: after.list, left_out: (0, 0) };
        for dependency in &mut found.predecessors {
            dependency.gap = distance(self.span(dependency.actor).1, start);
            dependency.bound = bound_by.contains(&Some(dependency.actor));
        }
        found.predecessors.sort_by_key(|d| (std::cmp::Reverse(self.span(d.actor).1), d.actor));
        found.successors.sort_by_key(|d| (self.span(d.actor).0, d.actor));
        found.left_out.0 = found.predecessors.len().saturating_sub(MOST_LISTED);
        found.left_out.1 = found.successors.len().saturating_sub(MOST_LISTED);
        found.predecessors.truncate(MOST_LISTED);
        found.successors.truncate(MOST_LISTED);
        for dependency in &mut found.successors {
            dependency.gap = distance(end, self.span(dependency.actor).0);
            dependency.bound = self.bound_by(dependency.actor).contains(&Some(actor));
        }
        found
    }

    /// What bound the start of an actor: as found, and with waits looked through.
    fn bound_by(&self, actor: Actor) -> [Option<Actor>; 2] {
        let direct = self.causes(actor).binding().and_then(|c| c.actor);
        [direct, self.blocker(actor).map(|(_, by)| by)]
    }

    fn add_recorded(&self, actor: Actor, before: bool, side: &mut Side) {
        let Some(graph) = &self.store.graph else { return };
        for (node, kind) in self.edges(actor, before) {
            let Some(other) = self.actor_of_node(node) else { continue };
            let name = graph.kinds.get(usize::from(kind)).map_or("", String::as_str);
            if name == DERIVED_TRIGGER {
                side.derive(other, Kind::DmaTrigger);
                continue;
            }
            let banks = if name == SAME_BANK { self.shared_banks(actor, other) } else { 0 };
            let named = (!name.is_empty()).then(|| name.to_owned());
            side.of(other).recorded.push((Kind::of_name(name, banks), named));
        }
    }

    fn shared_banks(&self, a: Actor, b: Actor) -> u8 {
        match (a, b) {
            (Actor::Instruction(a), Actor::Instruction(b)) => {
                let (first, second) = (self.index.operands.spec(a).banks, self.index.operands.spec(b).banks);
                first.all() & second.all() & (first.writes | second.writes)
            }
            _ => 0,
        }
    }

    /// What started a transfer, and what a transfer was started by.
    fn add_transfers(&self, actor: Actor, before: &mut Side, after: &mut Side) {
        let transfers = &self.index.transfers;
        match actor {
            Actor::Instruction(e) => {
                for t in transfers.started_by(e) {
                    after.derive(Actor::Transfer(t), Kind::DmaTrigger);
                }
            }
            Actor::Transfer(t) => {
                if let Some(issuer) = transfers.get(t).issuer {
                    before.derive(Actor::Instruction(issuer), Kind::DmaTrigger);
                }
            }
            Actor::Other(_) => {}
        }
    }

    fn add_semaphores(&self, actor: Actor, before: &mut Side, after: &mut Side) {
        let kind = |by: Actor, condition: Condition| match by {
            Actor::Transfer(_) => Kind::DmaWait(Some(condition)),
            Actor::Instruction(_) | Actor::Other(_) => Kind::Semaphore(condition),
        };
        if let Actor::Instruction(e) = actor {
            let (start, end) = (self.events.start(e), self.events.end(e));
            let core = self.index.stream_of(e).core;
            for condition in self.index.operands.waits(e) {
                let met = self.met(core, &condition, start).or_else(|| {
                    let causes = self.release(e, end).causes;
                    causes.into_iter().find(|c| matches!(c.how, How::Semaphore { condition: c, .. } if c == condition))
                });
                if let Some(by) = met.and_then(|cause| cause.actor).filter(|by| *by != actor) {
                    before.derive(by, kind(by, condition));
                }
            }
        }
        for (key, i) in self.changes_by(actor) {
            for waiter in self.met_by(key, i) {
                let waits = self.index.operands.waits(waiter);
                if let Some(condition) = waits.into_iter().find(|c| c.sync == key.sync)
                    && Actor::Instruction(waiter) != actor
                {
                    after.derive(Actor::Instruction(waiter), kind(actor, condition));
                }
            }
        }
    }

    /// The uses of the same PSUM bank just before and after, where Flow does not list them.
    fn add_banks(&self, actor: Actor, before: &mut Side, after: &mut Side) {
        let Actor::Instruction(e) = actor else { return };
        if self.index.bank_uses.is_empty() {
            return;
        }
        let own = self.index.operands.spec(e).banks;
        let core = self.index.stream_of(e).core;
        let mut linked: [FxHashMap<u32, u8>; 2] = Default::default();
        for bank in (0..8).filter(|bank| own.all() >> bank & 1 != 0) {
            let Some(uses) = self.index.bank_uses.get(&(core, bank)) else { continue };
            let key = |e: u32| (self.events.start(e), self.events.rows[e as usize]);
            let at = uses.partition_point(|&u| key(u) < key(e));
            // Nothing is left of a run when the next begins.
            let run = |e: u32| self.index.execution(self.events.start(e));
            let near = |i: usize| uses.get(i).copied().filter(|&u| run(u) == run(e));
            let (earlier, later) = (at.checked_sub(1).and_then(near), near(at + 1));
            for (side, pair) in [(0, earlier.map(|b| (b, b, e))), (1, later.map(|a| (a, e, a)))] {
                let Some((other, first, second)) = pair else { continue };
                let banks =
                    banks::linked(&self.index.operands.spec(first).banks, &self.index.operands.spec(second).banks);
                if banks >> bank & 1 != 0 {
                    *linked[side].entry(other).or_default() |= 1 << bank;
                }
            }
        }
        let [earlier, later] = linked;
        for (other, banks) in earlier {
            before.derive(Actor::Instruction(other), Kind::SameBank(banks));
        }
        for (other, banks) in later {
            after.derive(Actor::Instruction(other), Kind::SameBank(banks));
        }
    }

    /// Back from an event to the predecessor that ended last, and so on to one that has none: what truth files call a
    /// chain. Only edges that the profile lists count. Of those that end at once the one with the least id is taken, and
    /// of equal ids a transfer before an instruction.
    #[must_use]
    pub fn latest_end_chain(&self, actor: Actor) -> Vec<Actor> {
        let mut chain = vec![actor];
        let mut seen = rustc_hash::FxHashSet::from_iter([actor]);
        let mut at = actor;
        loop {
            let before = self.edges(at, true).into_iter().filter_map(|(node, _)| self.actor_of_node(node));
            let key = |a: &Actor| {
                let id = self.store.id_of(self.event(*a));
                (self.span(*a).1, std::cmp::Reverse((id, matches!(a, Actor::Instruction(_)))))
            };
            match before.max_by_key(key) {
                Some(next) if seen.insert(next) => {
                    chain.push(next);
                    at = next;
                }
                _ => return chain,
            }
        }
    }
}

/// `b - a`, saturating.
fn distance(a: Nanos, b: Nanos) -> i64 {
    b.saturating_sub(a)
}
