//! Queries over a small profile whose every answer is known.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::bits::Bits;
use super::*;
use crate::model::{Engine, Field, Value, Window};
use crate::query::sketch::{Mark, Sketch};
use crate::store::{EventRef, Ids, LabelKind, Problem, Rows, TableInfo};

/// Rows that are written down.
struct Written(Vec<(String, Vec<Vec<Field>>)>);

impl Written {
    fn table(&self, table: &str) -> &[Vec<Field>] {
        self.0.iter().find(|(name, _)| name == table).map_or(&[], |(_, rows)| rows)
    }
}

impl Rows for Written {
    fn row(&self, table: &str, row: u32) -> Result<Vec<Field>, Problem> {
        Ok(self.table(table)[row as usize].clone())
    }

    fn ids(&self, table: &str) -> Result<Option<Ids>, Problem> {
        let id = |row: &Vec<Field>| row.iter().find(|f| f.name == "id").and_then(|f| f.value.as_i64());
        let ids: Option<Vec<i64>> = self.table(table).iter().map(id).collect();
        Ok(ids.map(|ids| Ids::new(ids, false)))
    }
}

fn field(name: &str, value: impl Into<Value>) -> Field {
    Field { name: name.into(), value: value.into() }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

/// Eight events: instructions with the ids 10 to 15, transfers with 20 and 21.
fn profile() -> Store {
    let mut sketch = Sketch::default();
    let rows = [
        // id, core, engine, opcode, start, length, operands, layer, source
        (
            13,
            0,
            Engine::Tensor,
            "MATMUL",
            0,
            1500,
            "src=S[18] (qSyncIO0)>=320 dst=0x2001000",
            "model/mlp/dot",
            "a/llama.py:43",
        ),
        (12, 0, Engine::Tensor, "LDWEIGHTS", 0, 20, "src=bf16@0x1c000", "model/mlp/dot", "a/llama.py:143"),
        (11, 1, Engine::Vector, "TENSOR_REDUCE", 100, 1000, "", "model/norm", ""),
        (10, 1, Engine::Vector, "matmul_like", 100, 1001, "S[7]++ bank=6", "", ""),
        (15, 0, Engine::Sync, "DMA_DIRECT2D", 300, 5, "semaphore=18 sem_increment=16", "", ""),
        (14, 0, Engine::Sync, "EVENT_SEMAPHORE", 400, 50, "S[118] (x)>=1", "", ""),
    ];
    let mut instructions = Vec::new();
    for (id, core, engine, opcode, start, length, operands, layer, source) in rows {
        sketch.event(
            "Instruction",
            Mark {
                core: Some(core),
                engine: Some(engine),
                group: engine.name().into(),
                start,
                length,
                name: opcode.into(),
                operator: layer.into(),
                ..Mark::default()
            },
        );
        instructions.push(vec![
            field("id", id),
            field("opcode", opcode),
            field("operands", operands),
            field("layer", layer),
            field("nki_source_location", source),
            field("pc", id * 100),
            field("psum_read_banks", Value::List(vec![Value::Int(id % 8)])),
        ]);
    }
    let mut transfers = Vec::new();
    for (id, start, queue, bytes) in [(20, 100, "qVectorSpillReload0", 65_536), (21, 50, "qSyncIO0", 512)] {
        let (name, queue_name) = (queue.to_owned(), queue.to_owned());
        let core = Some(0);
        sketch.event(
            "DmaPacketAggregated",
            Mark { core, group: queue.into(), start, length: 30, name, queue: queue_name, bytes, ..Mark::default() },
        );
        transfers.push(vec![field("id", id), field("queue_name", queue), field("semaphore_id", "S[18] (qSyncIO0)")]);
    }
    sketch.instruction(0, Engine::Scalar, "IGNORED", 0, 1);
    instructions.push(vec![field("id", 99), field("opcode", "IGNORED")]);
    let mut store = sketch.store();
    store.tables = vec![
        TableInfo { name: "Instruction".into(), rows: instructions.len() as u64 },
        TableInfo { name: "DmaPacketAggregated".into(), rows: transfers.len() as u64 },
    ];
    store.rows =
        Arc::new(Written(vec![("Instruction".into(), instructions), ("DmaPacketAggregated".into(), transfers)]));
    store
}

fn find_with(store: &Store, text: &str, options: Options) -> Result<Matches, QueryError> {
    let catalog = Catalog::of(store);
    let query = Query::new(text, options, &catalog, store)?;
    Ok(query.run(store, &TextCache::default(), &AtomicBool::new(false), &|_, _| {}).unwrap())
}

fn ids_of(store: &Store, matches: &Matches) -> Vec<i128> {
    let page = matches.page(store, 0, 100);
    assert_eq!(page.len() as u64, matches.total());
    page.into_iter().map(|e| store.id_of(e)).collect()
}

fn find(text: &str) -> Vec<i128> {
    let store = profile();
    ids_of(&store, &find_with(&store, text, Options::default()).unwrap())
}

#[test]
fn words_match_any_text_field_in_order_of_start_then_id() {
    assert_eq!(find("matmul"), [13, 10]);
    assert_eq!(find("MATMUL"), [13]);
    assert_eq!(find("0x"), [12, 13]);
    assert_eq!(find("0x -ldw"), [13]);
    assert_eq!(find("mlp | norm"), [12, 13, 11]);
    assert_eq!(find("qSyncIO0"), [13, 21, 20], "also the semaphores of transfers");
    assert_eq!(find("\"qSyncIO0)>=\""), [13]);
    assert_eq!(find("").len(), 9);
    assert!(find("nothing of the kind").is_empty());
}

#[test]
fn fields_are_compared() {
    assert_eq!(find("opcode=matmul"), [13]);
    assert_eq!(find("opcode:matmul"), [13, 10]);
    assert_eq!(find("opcode~^(ten|ldw)"), [12, 11]);
    assert_eq!(find("name:MATMUL | name:SpillReload"), [13, 20]);
    assert_eq!(find("OPCODE=MATMUL"), [13], "fields whatever their case");
    assert_eq!(find("duration>1us"), [13, 10]);
    assert_eq!(find("duration>=1us core=1"), [10, 11]);
    assert_eq!(find("bytes>=64KiB"), [20]);
    assert_eq!(find("pc=1300"), [13]);
    assert_eq!(find("pc>1300 pc<=1500"), [15, 14]);
    assert_eq!(find("id=21"), [21]);
    assert_eq!(find("start>=300ns end<400"), [15]);
    assert_eq!(find("layer=\"\" table:Instruction"), [99, 10, 15, 14]);
    assert_eq!(find("opcode!=MATMUL duration>1us"), [10]);
    assert_eq!(find("opcode!~MAT start<100 core=0"), [12, 99]);
    assert_eq!(find("-opcode:a table=DmaPacketAggregated"), [21, 20]);
}

#[test]
fn derived_fields_are_found_out() {
    assert_eq!(find("track:nc1"), [10, 11]);
    assert_eq!(find("track=Tensor(nc0)"), [12, 13]);
    assert_eq!(find("purpose:spill"), [20]);
    assert_eq!(find("purpose=io"), [21]);
    assert_eq!(find("semaphore=18"), [13, 21, 20, 15], "not S[118]");
    assert_eq!(find("semaphore=7"), [10]);
    assert_eq!(find("semaphore:qsyncio table:Instruction"), [13]);
    assert_eq!(find("bank=5"), [13]);
    assert_eq!(find("line=43"), [13]);
    assert_eq!(find("source:llama.py:143"), [12]);
    assert_eq!(find("table:dma"), [21, 20]);
    assert_eq!(find("category=dma bytes<1KiB"), [21]);
    assert_eq!(find("category=operator duration>500"), [13, 11]);
}

#[test]
fn options_narrow_and_loosen() {
    let store = profile();
    let with = |text: &str, options| ids_of(&store, &find_with(&store, text, options).unwrap());
    let category = |category| Options { category: Some(category), fuzzy: false };
    assert_eq!(with("", category(Category::Dma)), [21, 20]);
    assert_eq!(with("s", category(Category::Operator)), Vec::<i128>::new(), "operands do not count");
    assert_eq!(with("llama", category(Category::Operator)), [12, 13]);
    let fuzzy = Options { category: None, fuzzy: true };
    assert_eq!(with("tnsrd", fuzzy), [11]);
    assert_eq!(with("\"tnsrd\"", fuzzy), Vec::<i128>::new());
}

#[test]
fn unknown_fields_are_said_with_what_was_meant() {
    let store = profile();
    let fault = |text: &str| find_with(&store, text, Options::default()).unwrap_err();
    let wrong = fault("MATMUL opcod:x");
    assert_eq!((wrong.column, wrong.length), (7, 5));
    assert!(wrong.message.contains("did you mean opcode?"), "{}", wrong.message);
    assert!(fault("qqq=1").message.contains("known are name, track"), "{}", fault("qqq=1"));
    assert_eq!(fault("duration>soon").column, 9);
    assert_eq!(fault("opcode~(").column, 7);
}

#[test]
fn a_cancelled_search_has_no_answer() {
    let store = profile();
    let query = Query::new("x", Options::default(), &Catalog::of(&store), &store).unwrap();
    assert!(query.run(&store, &TextCache::default(), &AtomicBool::new(true), &|_, _| {}).is_none());
}

#[test]
fn completion_offers_fields_and_values() {
    let store = profile();
    let catalog = Catalog::of(&store);
    let offer = |text: &str| {
        let found = complete(text, text.len(), &catalog, &store, &TextCache::default(), 3);
        (found.start, found.candidates)
    };
    assert_eq!(offer("x opc"), (2, vec!["opcode:".into()]));
    assert_eq!(offer("-opcode:m"), (8, vec!["MATMUL".into(), "matmul_like".into(), "DMA_DIRECT2D".into()]));
    assert_eq!(offer("operands=semaphore"), (9, vec!["\"semaphore=18 sem_increment=16\"".into()]));
    assert_eq!(offer("track:tens"), (6, vec!["\"Tensor(nc0)\"".into()]));
    assert_eq!(offer("table:D"), (6, vec!["DmaPacketAggregated".into()]));
    assert_eq!(offer("purpose:sp"), (8, vec!["spill".into()]));
    assert_eq!(offer("nofield:x").1, Vec::<String>::new());
    assert_eq!(offer("\"opc").1, Vec::<String>::new());
}

#[test]
fn lists_have_columns_and_other_orders() {
    let store = profile();
    let matches = find_with(&store, "table:Instruction", Options::default()).unwrap();
    let page = matches.page(&store, 1, 2);
    let columns = columns_of(&store, &page, &["pc", "none", "opcode"]);
    assert_eq!(columns[0], [Value::Int(1300), Value::Null, "MATMUL".into()]);
    assert_eq!(columns[1][2], "IGNORED".into());
    let sort = |key, descending| -> Vec<i128> {
        let order = sorted(&store, &matches, &key, descending, &AtomicBool::new(false)).unwrap();
        order.into_iter().map(|e| store.id_of(e)).collect()
    };
    assert_eq!(sort(SortKey::Duration, true), [13, 10, 11, 14, 12, 15, 99]);
    assert_eq!(sort(SortKey::Column("pc".into()), false), [10, 11, 12, 13, 14, 15, 99]);
    assert_eq!(sort(SortKey::Column("pc".into()), true), [15, 14, 13, 12, 11, 10, 99], "nothing comes last");
    assert_eq!(sort(SortKey::Name, false)[..2], [15, 14]);
}

proptest! {
    #[test]
    fn order_and_counts_agree_with_sorting(
        events in prop::collection::vec((0usize..3, 0i64..12, 0u64..5, any::<bool>(), 0i64..4), 1..60),
        extreme in any::<bool>(),
        from in 0u64..60,
        count in 0usize..9,
        time in -1i64..13,
    ) {
        let mut sketch = Sketch::default();
        let mut rows = Vec::new();
        for (i, &(group, start, length, wanted, id)) in events.iter().enumerate() {
            let start = match (extreme, start) {
                (true, 0) => i64::MIN,
                (true, 11) => i64::MAX,
                _ => start,
            };
            let name = if wanted { "yes" } else { "no" };
            sketch.event("Instruction", Mark { group: format!("g{group}"), start, length, name: name.into(), ..Mark::default() });
            rows.push(vec![field("id", id * 100 + i as i64)]);
        }
        let mut store = sketch.store();
        store.rows = Arc::new(Written(vec![("Instruction".into(), rows)]));
        let table = &store.events[0];
        let bits = Bits::where_(table.len(), |e| table.text(LabelKind::Name, e as u32) == "yes");
        let matches = Matches::new(&store, vec![(0, bits)], Vec::new());
        let mut all: Vec<EventRef> = (0..table.len() as u32).map(|event| EventRef { table: 0, event }).collect();
        let key = |e: &EventRef| (table.start(e.event), store.id_of(*e));
        all.sort_by_key(key);
        let wanted: Vec<EventRef> = all.iter().copied().filter(|e| matches.contains(*e)).collect();
        prop_assert!(wanted.iter().all(|e| table.event_name(e.event) == "yes"));
        prop_assert_eq!(matches.total() as usize, wanted.len());
        let page: Vec<EventRef> = wanted.iter().copied().skip(from as usize).take(count).collect();
        prop_assert_eq!(matches.page(&store, from, count), page);
        prop_assert_eq!(matches.next(&store, time, None), wanted.iter().copied().find(|e| key(e).0 >= time));
        prop_assert_eq!(matches.previous(&store, time, None), wanted.iter().copied().rfind(|e| key(e).0 < time));
        for event in &all {
            let next = wanted.iter().copied().find(|e| key(e) > key(event));
            let previous = wanted.iter().copied().rfind(|e| key(e) < key(event));
            prop_assert_eq!(matches.next(&store, 0, Some(*event)), next);
            prop_assert_eq!(matches.previous(&store, 0, Some(*event)), previous);
            let position = wanted.iter().position(|e| e == event).map(|p| p as u64);
            prop_assert_eq!(matches.position(&store, *event), position);
        }
        let cells: Vec<Window> = (0..6).map(|i| Window::new(i * 2, i * 2 + 2)).collect();
        let expected: Vec<u64> =
            cells.iter().map(|c| wanted.iter().filter(|e| (c.start..c.end).contains(&key(e).0)).count() as u64).collect();
        prop_assert_eq!(matches.counts(&store, &cells), expected);
        for group in &table.groups {
            let picked = match group.sequence.picks() {
                crate::store::sequence::Picks::Range(range) => table.pick(range.clone(), |e| e % 2 == 0),
                _ => unreachable!(),
            };
            for lane in [group.sequence.of(table), picked.of(table)] {
                let inside = wanted.iter().filter(|e| lane.position(e.event).is_some());
                let expected = inside.filter(|e| (2..9).contains(&key(e).0)).count() as u64;
                prop_assert_eq!(matches.in_lane(0, lane, Window::new(2, 9)), expected);
            }
        }
    }
}
