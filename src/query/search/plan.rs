//! What a query means for each table of a profile.

use super::fields::{Catalog, Category, DERIVED, OPERATOR_COLUMNS, TableFields};
use super::parse::{Expr, Op, QueryError, Term, Text};
use super::predicate::Test;
use crate::store::{EventTable, LabelKind, Measure, Store};

/// How a search is done, apart from its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Only these events.
    pub category: Option<Category>,
    /// Whether unquoted words match names loosely: their letters in order.
    pub fuzzy: bool,
}

/// A condition that the index answers.
#[derive(Clone, Debug)]
pub(super) enum Hot {
    Label(LabelKind, Test),
    Track(Test),
    Start(Test),
    End(Test),
    Duration(Test),
    Core(Test),
    Id(Test),
    Measure(Measure, Test),
    Purpose(Test),
}

/// What of a column's text is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    Semaphores,
    Banks,
    Addresses,
    Line,
}

/// A condition that some columns of the source answer: one of them must pass.
#[derive(Clone, Debug)]
pub(super) struct Cold {
    pub columns: Vec<String>,
    pub part: Part,
    pub test: Test,
}

#[derive(Clone, Debug)]
pub(super) enum Leaf {
    Hot(Hot),
    Cold(Cold),
}

/// What a query means for one table.
#[derive(Clone, Debug)]
pub(super) struct TablePlan {
    pub table: u16,
    pub expr: Expr<Leaf>,
}

/// A query that can be run on one profile.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) tables: Vec<TablePlan>,
}

/// Holds for nothing, and for everything.
const fn never<T>() -> Expr<T> {
    Expr::Or(Vec::new())
}

const fn always<T>() -> Expr<T> {
    Expr::And(Vec::new())
}

fn constant<T>(holds: bool) -> Expr<T> {
    if holds { always() } else { never() }
}

impl Plan {
    /// Decides what a query means.
    ///
    /// # Errors
    /// Unknown fields, with the one that was probably meant; values that are no numbers or expressions.
    pub fn new(query: &Expr<Term>, options: Options, catalog: &Catalog, store: &Store) -> Result<Plan, QueryError> {
        check(query, catalog)?;
        let mut tables = Vec::new();
        for fields in &catalog.tables {
            let Some(events) = store.events.get(usize::from(fields.table)) else { continue };
            let target = Target { fields, events, options, catalog };
            let expr = query.map(&mut |term| target.term(term))?;
            let expr = simplify(Expr::And(vec![target.scope(), expr]));
            if !matches!(&expr, Expr::Or(parts) if parts.is_empty()) {
                tables.push(TablePlan { table: fields.table, expr });
            }
        }
        Ok(Plan { tables })
    }
}

/// That every field exists, and every value can be used, whatever tables the profile has.
fn check(query: &Expr<Term>, catalog: &Catalog) -> Result<(), QueryError> {
    let mut visit = |term: &Term| -> Result<Expr<()>, QueryError> {
        if let Term::Field { field, op, value } = term {
            if !catalog.has(&field.text) {
                return Err(unknown(field, catalog));
            }
            Test::new(*op, value)?;
        }
        Ok(always())
    };
    query.map(&mut visit).map(drop)
}

fn unknown(field: &Text, catalog: &Catalog) -> QueryError {
    let name = &field.text;
    let meant = match catalog.nearest(name) {
        Some(near) => format!("did you mean {near}? "),
        None => {
            let known: Vec<&str> = DERIVED.iter().map(|(n, _)| *n).collect();
            format!("known are {} and the columns of the tables. ", known.join(", "))
        }
    };
    field.error(format!("there is no field called {name}: {meant}To search for the text itself, put it in quotes"))
}

/// A table that terms are applied to.
struct Target<'a> {
    fields: &'a TableFields,
    events: &'a EventTable,
    options: Options,
    catalog: &'a Catalog,
}

fn hot(hot: Hot) -> Expr<Leaf> {
    Expr::Leaf(Leaf::Hot(hot))
}

impl Target<'_> {
    fn is_dma(&self) -> bool {
        self.fields.name.starts_with("DmaPacket")
    }

    /// Which events the category lets through.
    fn scope(&self) -> Expr<Leaf> {
        match self.options.category {
            None => always(),
            Some(Category::Instruction) => constant(self.fields.name == "Instruction"),
            Some(Category::Dma) => constant(self.is_dma()),
            Some(Category::Operator) => self.operators(),
        }
    }

    fn operators(&self) -> Expr<Leaf> {
        if self.fields.name != "Instruction" || self.events.label(LabelKind::Operator).is_none() {
            return never();
        }
        hot(Hot::Label(LabelKind::Operator, Test::Recorded))
    }

    fn term(&self, term: &Term) -> Result<Expr<Leaf>, QueryError> {
        match term {
            Term::Word(word) if self.options.fuzzy && !word.quoted => Ok(self.labels(&Test::loose(&word.text))),
            Term::Word(word) => {
                let test = Test::contains(word)?;
                let operators = self.options.category == Some(Category::Operator);
                let wanted = |name: &&str| !operators || OPERATOR_COLUMNS.contains(name);
                let columns: Vec<String> = self.fields.texts().filter(wanted).map(str::to_string).collect();
                Ok(if columns.is_empty() { self.labels(&test) } else { cold(columns, Part::Whole, test) })
            }
            Term::Field { field, op, value } => {
                let test = Test::new(*op, value)?;
                let found = self.field(&field.text.to_lowercase(), *op, value, &test);
                Ok(match (op, found) {
                    (_, None) => never(),
                    (Op::IsNot | Op::MatchesNot, Some(same)) => Expr::Not(Box::new(same)),
                    (_, Some(found)) => found,
                })
            }
        }
    }

    /// The names that the index holds.
    fn labels(&self, test: &Test) -> Expr<Leaf> {
        let kinds = [LabelKind::Name, LabelKind::Operator, LabelKind::Queue];
        let known = kinds.iter().filter(|kind| self.events.label(**kind).is_some());
        Expr::Or(known.map(|kind| hot(Hot::Label(*kind, test.clone()))).collect())
    }

    /// The condition on a field; `None` where events of this table have no such field.
    fn field(&self, name: &str, op: Op, value: &Text, test: &Test) -> Option<Expr<Leaf>> {
        let test = test.clone();
        Some(match name {
            "name" => hot(Hot::Label(LabelKind::Name, test)),
            "track" => hot(Hot::Track(test)),
            "start" => hot(Hot::Start(test)),
            "end" => hot(Hot::End(test)),
            "duration" => hot(Hot::Duration(test)),
            "id" => hot(Hot::Id(test)),
            "table" => {
                let named = |t: &TableFields| t.name.eq_ignore_ascii_case(&value.text);
                // Part of a name, unless it is the name of another table.
                let exact = op == Op::Has && self.catalog.tables.iter().any(named);
                constant(if exact { named(self.fields) } else { test.text(self.fields.name.as_bytes()) })
            }
            "category" => self.category(&test),
            _ => match self.fields.column(name) {
                Some(column) => cold(vec![column.name.clone()], Part::Whole, test),
                None => self.derived(name, test)?,
            },
        })
    }

    fn category(&self, test: &Test) -> Expr<Leaf> {
        let name = match self.fields.name.as_str() {
            "Instruction" => "instruction",
            _ if self.is_dma() => "dma",
            "CcOp" | "CcInstruction" => "collective",
            _ => "system",
        };
        let operators = ["operator", "framework operator"].iter().any(|name| test.text(name.as_bytes()));
        Expr::Or(vec![constant(test.text(name.as_bytes())), if operators { self.operators() } else { never() }])
    }

    /// Fields that stand for others.
    fn derived(&self, name: &str, test: Test) -> Option<Expr<Leaf>> {
        let existing = |names: &[&str]| -> Vec<String> {
            names.iter().filter_map(|n| self.fields.column(n)).map(|c| c.name.clone()).collect()
        };
        let label = |kind: LabelKind, test: Test| self.events.label(kind).map(|_| hot(Hot::Label(kind, test)));
        match name {
            "core" => Some(hot(Hot::Core(test))),
            "bytes" => self.events.measure_index(Measure::Bytes).map(|_| hot(Hot::Measure(Measure::Bytes, test))),
            "layer" => label(LabelKind::Operator, test),
            "queue" => match existing(&["queue_name"]) {
                columns if columns.is_empty() => label(LabelKind::Queue, test),
                columns => Some(cold(columns, Part::Whole, test)),
            },
            "purpose" => self.events.label(LabelKind::Queue).map(|_| hot(Hot::Purpose(test))),
            "source" | "line" => {
                let part = if name == "line" { Part::Line } else { Part::Whole };
                match existing(&["nki_source_location", "bir_debug_info_source_location"]) {
                    columns if columns.is_empty() => {
                        (part == Part::Whole).then(|| label(LabelKind::SourceLine, test))?
                    }
                    columns => Some(cold(columns, part, test)),
                }
            }
            "bank" => {
                let named = [
                    (Part::Banks, existing(&["psum_read_banks", "psum_write_banks"])),
                    (Part::Banks, existing(&["symbolic_operands"])),
                    (Part::Addresses, existing(&["operands"])),
                ];
                let (part, columns) = named.into_iter().find(|(_, columns)| !columns.is_empty())?;
                Some(cold(columns, part, test))
            }
            "semaphore" => {
                let mut columns = existing(&["operands", "compiler_operands"]);
                // The same instruction written twice.
                columns.truncate(1);
                columns.extend(existing(&["semaphore_id"]));
                (!columns.is_empty()).then(|| cold(columns, Part::Semaphores, test))
            }
            _ => None,
        }
    }
}

fn cold(columns: Vec<String>, part: Part, test: Test) -> Expr<Leaf> {
    Expr::Leaf(Leaf::Cold(Cold { columns, part, test }))
}

/// The same without parts that are constant.
fn simplify(expr: Expr<Leaf>) -> Expr<Leaf> {
    let is_never = |e: &Expr<Leaf>| matches!(e, Expr::Or(parts) if parts.is_empty());
    let is_always = |e: &Expr<Leaf>| matches!(e, Expr::And(parts) if parts.is_empty());
    match expr {
        Expr::Leaf(_) => expr,
        Expr::Not(inner) => match simplify(*inner) {
            e if is_never(&e) => always(),
            e if is_always(&e) => never(),
            e => Expr::Not(Box::new(e)),
        },
        Expr::And(parts) => {
            let mut parts: Vec<_> = parts.into_iter().map(simplify).filter(|e| !is_always(e)).collect();
            match parts.len() {
                _ if parts.iter().any(is_never) => never(),
                1 => parts.remove(0),
                _ => Expr::And(parts),
            }
        }
        Expr::Or(parts) => {
            let mut parts: Vec<_> = parts.into_iter().map(simplify).filter(|e| !is_never(e)).collect();
            match parts.len() {
                _ if parts.iter().any(is_always) => always(),
                1 => parts.remove(0),
                _ => Expr::Or(parts),
            }
        }
    }
}
