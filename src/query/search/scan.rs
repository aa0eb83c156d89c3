//! Runs a query over the whole profile.
//!
//! Conditions on what the index holds are answered for all events at once. The others need columns of the source:
//! these are read piece by piece (mostly a row group) by several threads, each piece is decided for good, and what has
//! been found so far is reported now and then. Text is searched by its distinct values.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use rayon::prelude::*;
use regex::bytes::Regex;

use super::bits::Bits;
use super::matches::Matches;
use super::parse::Expr;
use super::plan::{Cold, Hot, Leaf, Part, Plan, TablePlan};
use super::predicate::Test;
use super::texts::{Loaded, TextCache, TextColumn};
use crate::model::{Value, queue};
use crate::query::banks;
use crate::query::event::track_name;
use crate::store::sequence::Picks;
use crate::store::{EventTable, LabelKind, Measure, Problem, Store, arrays};

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows searched so far.
    pub done: u64,
    /// Rows to search.
    pub total: u64,
}

/// The time after which what has been found is reported, unless something is found before; each later report takes
/// twice as long to come.
const FIRST_REPORT: Duration = Duration::from_millis(40);

/// Runs a query. `report` receives what has been found so far, a few times, from any thread; what it has seen stays
/// found. `None` when cancelled.
pub fn run(
    store: &Store,
    plan: &Plan,
    texts: &TextCache,
    cancel: &AtomicBool,
    report: &(dyn Fn(Matches, Progress) + Sync),
) -> Option<Matches> {
    let scans: Vec<TableScan> = plan.tables.par_iter().map(|plan| TableScan::new(store, plan, texts)).collect();
    let jobs: Vec<(&TableScan, Range<u32>)> =
        scans.iter().flat_map(|scan| scan.pieces.iter().map(move |piece| (scan, piece.clone()))).collect();
    let total = jobs.iter().map(|(_, rows)| rows.len() as u64).sum();
    let reports = Mutex::new((Instant::now(), FIRST_REPORT));
    let done = AtomicUsize::new(0);
    let next = AtomicUsize::new(0);
    let found = || Matches::new(store, scans.iter().map(|s| (s.plan.table, s.events())).collect(), problems(&scans));
    let work = || {
        while let Some((scan, rows)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            if cancel.load(Ordering::Relaxed) {
                return;
            }
            let hit = scan.search(rows.clone());
            let done = done.fetch_add(rows.len(), Ordering::Relaxed) + rows.len();
            if let Ok(mut due) = reports.try_lock()
                && (due.0.elapsed() >= due.1 || (hit && due.1 == FIRST_REPORT))
                && (done as u64) < total
            {
                report(found(), Progress { done: done as u64, total });
                *due = (Instant::now(), due.1 * 2);
            }
        }
    };
    if !jobs.is_empty() {
        // What the index alone can tell is there at once.
        if scans.iter().any(|scan| scan.pieces.is_empty()) {
            report(found(), Progress { done: 0, total });
        }
        rayon::scope(|scope| (0..rayon::current_num_threads().min(jobs.len())).for_each(|_| scope.spawn(|_| work())));
    }
    (!cancel.load(Ordering::Relaxed)).then(found)
}

fn problems(scans: &[TableScan]) -> Vec<Problem> {
    let mut problems: Vec<Problem> =
        scans.iter().flat_map(|s| s.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()).collect();
    problems.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
    problems.dedup();
    problems
}

/// A condition of a table, as far as it is decided.
enum Node {
    /// Decided for all rows.
    Known(Bits),
    /// To be decided for each piece.
    Column(Cold),
}

/// The search of one table.
struct TableScan<'a> {
    store: &'a Store,
    events: &'a EventTable,
    texts: &'a TextCache,
    plan: &'a TablePlan,
    /// The conditions, decided ones by row; not used where nothing has to be read.
    expr: Expr<Node>,
    /// What has to be read; none where the index says it all.
    pieces: Vec<Range<u32>>,
    /// Found so far: events where the index says it all, else rows.
    found: Mutex<Bits>,
    problems: Mutex<Vec<Problem>>,
}

impl<'a> TableScan<'a> {
    fn new(store: &'a Store, plan: &'a TablePlan, texts: &'a TextCache) -> TableScan<'a> {
        let events = &store.events[usize::from(plan.table)];
        let mut scan = TableScan {
            store,
            events,
            texts,
            plan,
            expr: Expr::And(Vec::new()),
            pieces: Vec::new(),
            found: Mutex::default(),
            problems: Mutex::default(),
        };
        if !has_cold(&plan.expr) {
            scan.found = Mutex::new(decide(&plan.expr, events.len(), &mut |leaf| match leaf {
                Leaf::Hot(hot) => by_event(store, plan.table, hot),
                Leaf::Cold(_) => Bits::none(events.len()),
            }));
            return scan;
        }
        scan.pieces = match store.pieces(&events.name) {
            Ok(pieces) => with_head(pieces),
            Err(problem) => {
                scan.problems = Mutex::new(vec![problem]);
                return scan;
            }
        };
        let rows = scan.pieces.last().map_or(0, |piece| piece.end as usize);
        scan.found = Mutex::new(Bits::none(rows));
        let node = |leaf: &Leaf| -> Result<Expr<Node>, std::convert::Infallible> {
            Ok(Expr::Leaf(match leaf {
                Leaf::Cold(cold) => Node::Column(cold.clone()),
                Leaf::Hot(hot) => {
                    let by_event = by_event(store, plan.table, hot);
                    let mut by_row = Bits::none(rows);
                    for (event, &row) in events.rows.iter().enumerate() {
                        if by_event.has(event) && (row as usize) < rows {
                            by_row.set(row as usize);
                        }
                    }
                    Node::Known(by_row)
                }
            }))
        };
        scan.expr = match plan.expr.map(&mut { node }) {
            Ok(expr) => expr,
            Err(never) => match never {},
        };
        scan
    }

    /// What has been found so far.
    fn events(&self) -> Bits {
        // Copied, since other threads go on.
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.pieces.is_empty() && !has_cold(&self.plan.expr) {
            return found;
        }
        if found.is_empty() {
            return Bits::none(self.events.len());
        }
        Bits::par_where(self.events.len(), |e| found.has(self.events.rows[e] as usize))
    }

    /// Searches the rows of a piece; whether it found any.
    fn search(&self, rows: Range<u32>) -> bool {
        let all = Bits::all(rows.len());
        let found = self.piece(&self.expr, &rows, &all);
        let any = !found.is_empty();
        if any {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).or_at(&found, rows.start as usize);
        }
        any
    }

    /// Which of the rows of a piece that are still `open` satisfy a condition.
    fn piece(&self, expr: &Expr<Node>, rows: &Range<u32>, open: &Bits) -> Bits {
        if open.is_empty() {
            return open.clone();
        }
        match expr {
            Expr::Leaf(Node::Known(by_row)) => {
                let mut found = by_row.slice(rows.start as usize..rows.end as usize);
                found.and(open);
                found
            }
            Expr::Leaf(Node::Column(cold)) => self.columns(cold, rows, open),
            Expr::Not(inner) => {
                let mut found = self.piece(inner, rows, open);
                found.invert();
                found.and(open);
                found
            }
            Expr::And(parts) => {
                let mut open = open.clone();
                // What is known already may leave nothing to read.
                let (known, others): (Vec<_>, Vec<_>) = parts.iter().partition(|p| !reads(p));
                for part in known.into_iter().chain(others) {
                    open = self.piece(part, rows, &open);
                }
                open
            }
            Expr::Or(parts) => {
                let mut found = Bits::none(open.len());
                let mut open = open.clone();
                let (known, others): (Vec<_>, Vec<_>) = parts.iter().partition(|p| !reads(p));
                for part in known.into_iter().chain(others) {
                    let more = self.piece(part, rows, &open);
                    found.or(&more);
                    let mut rest = more;
                    rest.invert();
                    open.and(&rest);
                }
                found
            }
        }
    }

    /// Which of the rows that are still `open` have a value that passes in one of the columns.
    fn columns(&self, cold: &Cold, rows: &Range<u32>, open: &Bits) -> Bits {
        let names: Vec<&str> = cold.columns.iter().map(String::as_str).collect();
        let loaded = self.texts.load(self.store, &self.events.name, &names, rows.clone()).unwrap_or_else(|problem| {
            self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
            Vec::new()
        });
        let mut found = Bits::none(rows.len());
        let mut any = false;
        for column in loaded.into_iter().flatten() {
            let hits = match column {
                Loaded::Text(text) => Some(text_rows(&text, cold)),
                Loaded::Values(array) => values(array.as_ref(), cold),
            };
            let Some(hits) = hits else { continue };
            any = true;
            found.or(&hits);
            if found.is_full() {
                break;
            }
        }
        if !any && cold.test.is_empty_text() {
            // These rows lack the columns, or they are damaged here.
            return open.clone();
        }
        found.and(open);
        found
    }
}

/// The pieces with a short one to begin with, so that the first results come at once.
fn with_head(mut pieces: Vec<Range<u32>>) -> Vec<Range<u32>> {
    const HEAD: u32 = 1 << 13;
    if let Some(first) = pieces.first_mut().filter(|first| first.len() as u32 > 2 * HEAD) {
        let head = first.start..first.start + HEAD;
        first.start = head.end;
        pieces.insert(0, head);
    }
    pieces
}

fn has_cold(expr: &Expr<Leaf>) -> bool {
    match expr {
        Expr::Leaf(leaf) => matches!(leaf, Leaf::Cold(_)),
        Expr::Not(inner) => has_cold(inner),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().any(has_cold),
    }
}

fn reads(expr: &Expr<Node>) -> bool {
    match expr {
        Expr::Leaf(node) => matches!(node, Node::Column(_)),
        Expr::Not(inner) => reads(inner),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().any(reads),
    }
}

/// The set for which an expression holds.
fn decide<T>(expr: &Expr<T>, len: usize, leaf: &mut impl FnMut(&T) -> Bits) -> Bits {
    match expr {
        Expr::Leaf(t) => leaf(t),
        Expr::Not(inner) => {
            let mut bits = decide(inner, len, leaf);
            bits.invert();
            bits
        }
        Expr::And(parts) => parts.iter().fold(Bits::all(len), |mut bits, part| {
            bits.and(&decide(part, len, leaf));
            bits
        }),
        Expr::Or(parts) => parts.iter().fold(Bits::none(len), |mut bits, part| {
            bits.or(&decide(part, len, leaf));
            bits
        }),
    }
}

/// The events that satisfy a condition on what the index holds.
fn by_event(store: &Store, table: u16, hot: &Hot) -> Bits {
    let events = &store.events[usize::from(table)];
    let len = events.len();
    let numbers = |test: &Test, value: &(dyn Fn(usize) -> i128 + Sync)| match test.bounds() {
        Some((lo, hi)) => Bits::par_where(len, |e| (lo..=hi).contains(&value(e))),
        None => Bits::par_where(len, |e| test.whole(value(e))),
    };
    let label = |kind: LabelKind, holds: &dyn Fn(&str) -> bool| match events.label(kind) {
        Some(labels) => {
            let hits: Vec<bool> = labels.entries.iter().map(|text| holds(text)).collect();
            if !hits.contains(&true) {
                return Bits::none(len);
            }
            Bits::par_where(len, |e| hits[labels.key(e) as usize])
        }
        None if holds("") => Bits::all(len),
        None => Bits::none(len),
    };
    match hot {
        Hot::Label(kind, test) => label(*kind, &|text| test.text(text.as_bytes())),
        Hot::Purpose(test) => label(LabelKind::Queue, &|name| purpose(name, test)),
        Hot::Track(test) => tracks(store, events, test),
        Hot::Start(test) => numbers(test, &|e| events.starts.at(e).into()),
        Hot::End(test) => numbers(test, &|e| events.end(e as u32).into()),
        Hot::Duration(test) => numbers(test, &|e| events.lengths.at(e).into()),
        Hot::Id(test) => {
            let ids = store.ids(table);
            numbers(test, &|e| {
                let row = events.rows[e];
                ids.and_then(|ids| ids.get(row)).unwrap_or_else(|| row.into())
            })
        }
        Hot::Measure(measure, test) => match measure_of(events, *measure) {
            Some(values) => {
                let hits: Vec<bool> = values.entries.iter().map(|&v| test.whole(v.into())).collect();
                Bits::par_where(len, |e| hits[values.key(e) as usize])
            }
            None => Bits::none(len),
        },
        Hot::Core(test) => {
            let mut bits = Bits::none(len);
            for group in &events.groups {
                let holds = group.key.core.map_or_else(|| test.is_empty_text(), |core| test.whole(core.into()));
                if let Picks::Range(range) = group.sequence.picks()
                    && holds
                {
                    bits.set_range(range.start as usize..range.end as usize);
                }
            }
            bits
        }
    }
}

fn measure_of(events: &EventTable, measure: Measure) -> Option<&crate::store::Coded<u64>> {
    events.measure_index(measure).map(|i| &events.measures[i].1)
}

/// A queue's purpose, in words and in short.
fn purpose(queue: &str, test: &Test) -> bool {
    use queue::Purpose;
    if queue.is_empty() {
        return test.is_empty_text();
    }
    let Some(purpose) = queue::meaning(queue).1 else { return test.text(b"other") };
    let short: &[&str] = match purpose {
        Purpose::InputOutput => &["io", "input", "output"],
        Purpose::Parameters | Purpose::ProgrammedParameters | Purpose::Weights => &["parameters", "weights"],
        Purpose::SpillReload => &["spill", "reload"],
        Purpose::SoftwareDynamic => &["dynamic", "software"],
        Purpose::HardwareDynamic => &["dynamic", "hardware"],
        Purpose::Instructions => &["instructions"],
        _ => &[],
    };
    std::iter::once(purpose.text()).chain(short.iter().copied()).any(|text| test.text(text.as_bytes()))
}

/// By the names of tracks, which are told apart by group and, for the Tensor Engine, by label.
fn tracks(store: &Store, events: &EventTable, test: &Test) -> Bits {
    let mut bits = Bits::none(events.len());
    let labels = events.label(LabelKind::Track);
    let several = store.cores() > 1;
    for group in &events.groups {
        let Picks::Range(range) = group.sequence.picks() else { continue };
        let range = range.start as usize..range.end as usize;
        let holds = |label: &str| test.text(track_name(group, label, several).as_bytes());
        match labels {
            None if holds("") => bits.set_range(range),
            None => {}
            Some(labels) => {
                let hits: Vec<bool> = labels.entries.iter().map(|label| holds(label)).collect();
                if hits.contains(&true) {
                    range.filter(|&e| hits[labels.key(e) as usize]).for_each(|e| bits.set(e));
                }
            }
        }
    }
    bits
}

fn text_rows(text: &TextColumn, cold: &Cold) -> Bits {
    match cold.part {
        Part::Whole => text.rows_where(&cold.test),
        part => text.rows_where_text(|text| part_holds(part, text, &cold.test)),
    }
}

/// `S[34] (qSyncIO0)`, as operands and transfers have it, and `semaphore=34`, as instructions that start transfers.
static SEMAPHORE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"S\[(\d+)\](?: \(([^)]*)\))?|\bsemaphore=(\d+)").ok());

fn part_holds(part: Part, text: &[u8], test: &Test) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    match part {
        Part::Whole => test.text(text),
        Part::Line => {
            let after = text.iter().rposition(|&b| b == b':').map_or(text.len(), |at| at + 1);
            test.text(&text[after..])
        }
        // Of operands by the addresses, see `banks`; those that were read and written alike.
        Part::Addresses => {
            let used = std::str::from_utf8(text).map_or(0, |text| banks::parse(text).all());
            let mut numbers = (0..8u8).filter(|bank| used >> bank & 1 == 1);
            if used == 0 { test.is_empty_text() } else { numbers.any(|bank| test.whole(bank.into())) }
        }
        Part::Banks => {
            let lists = text.first() == Some(&b'[');
            let mut rest = text;
            let mut any = false;
            while let Some(at) = rest.iter().position(u8::is_ascii_digit) {
                let number = &rest[at..at + digits(&rest[at..])];
                if lists || rest[..at].ends_with(b"bank=") {
                    any = true;
                    if test.text(number) {
                        return true;
                    }
                }
                rest = &rest[at + number.len()..];
            }
            !any && test.is_empty_text()
        }
        Part::Semaphores => {
            let Some(pattern) = SEMAPHORE.as_ref() else { return false };
            let mut any = false;
            for found in pattern.captures_iter(text) {
                any = true;
                if found.iter().flatten().any(|group| test.text(group.as_bytes())) {
                    return true;
                }
            }
            !any && test.is_empty_text()
        }
    }
}

/// The rows of a column of numbers or lists whose value passes; `None` for text.
fn values(array: &dyn Array, cold: &Cold) -> Option<Bits> {
    let (test, len) = (&cold.test, array.len());
    let nothing = test.is_empty_text();
    match array.data_type() {
        t if t.is_floating() => {
            let floats = arrays::floats(array)?;
            Some(Bits::where_(len, |i| test.float(floats[i])))
        }
        t if t.is_integer() || matches!(t, DataType::Timestamp(_, _)) => {
            let ints = arrays::ints(array)?;
            let whole = |v: i64| if ints.unsigned { i128::from(v as u64) } else { i128::from(v) };
            Some(match test.bounds() {
                Some((lo, hi)) => Bits::where_(len, |i| ints.at(i).is_some_and(|v| (lo..=hi).contains(&whole(v)))),
                None => Bits::where_(len, |i| ints.at(i).map_or(nothing, |v| test.whole(whole(v)))),
            })
        }
        DataType::Boolean => {
            let array = array.as_boolean();
            let text = |v: bool| if v { "true" } else { "false" };
            let holds = |i: usize| if array.is_valid(i) { test.text(text(array.value(i)).as_bytes()) } else { nothing };
            Some(Bits::where_(len, holds))
        }
        t if t.is_nested() => Some(Bits::where_(len, |i| element(&arrays::value(array, i), test))),
        _ => None,
    }
}

/// Whether a value, or one of its elements, passes.
fn element(value: &Value, test: &Test) -> bool {
    match value {
        Value::Null => test.is_empty_text(),
        Value::Bool(v) => test.text(v.to_string().as_bytes()),
        Value::Int(v) => test.whole((*v).into()),
        Value::Uint(v) => test.whole((*v).into()),
        Value::Float(v) => test.float(*v),
        Value::Text(text) => test.text(text.as_bytes()),
        Value::List(items) if items.is_empty() => test.is_empty_text(),
        Value::List(items) => items.iter().any(|item| element(item, test)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Op, Text};
    use super::*;

    #[test]
    fn parts_of_texts_are_tested_each() {
        let holds = |part, text: &str, op, value: &str| {
            let value = Text { text: value.into(), column: 0, length: 0, quoted: false };
            part_holds(part, text.as_bytes(), &Test::new(op, &value).unwrap())
        };
        let operands = "$S[18]>=320 S[7] (Vector)++@complete dst=0x2003000[1,0,0][512,1,1] semaphore=34";
        for (value, found) in [("18", true), ("7", true), ("34", true), ("320", false), ("8", false)] {
            assert_eq!(holds(Part::Semaphores, operands, Op::Is, value), found, "{value}");
        }
        assert!(
            holds(Part::Semaphores, operands, Op::Is, "vector") && holds(Part::Semaphores, operands, Op::More, "33")
        );
        assert!(holds(Part::Addresses, operands, Op::Is, "6") && !holds(Part::Addresses, operands, Op::Is, "2"));
        assert!(holds(Part::Banks, "src=PSUM(partition=0,bank=6,offset=4)", Op::Is, "6"));
        assert!(!holds(Part::Banks, "src=PSUM(partition=0,bank=6,offset=4)", Op::Is, "4"));
        assert!(holds(Part::Banks, "[1, 5]", Op::AtLeast, "5") && !holds(Part::Banks, "[]", Op::AtLeast, "0"));
        assert!(holds(Part::Line, "a:3/llama.py:43", Op::Is, "43") && !holds(Part::Line, "llama.py:143", Op::Is, "43"));
        assert!(!holds(Part::Line, "llama.py", Op::AtLeast, "0") && holds(Part::Line, "", Op::Is, ""));
    }
}
