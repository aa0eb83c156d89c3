//! Files that are cut off, damaged, hostile or something else altogether.

use std::io::Write;

use super::{Fixture, failure, fixture, messages, profile, read, store};
use crate::model::{Engine, Value};
use crate::store::flag;

#[test]
fn a_file_cut_anywhere_keeps_what_came_before() {
    let whole = profile();
    let (complete, _file) = store(&whole);
    let complete = complete.table("DmaPacket").unwrap().len();
    let mut rows_before = 0;
    for cut in (12..whole.len()).filter(|&i| whole.is_char_boundary(i)).step_by(7) {
        let cut_off = fixture("p.json", &whole.as_bytes()[..cut]);
        match read(&cut_off) {
            Ok(store) => {
                let expected = format!("ends at byte {cut} ");
                assert!(messages(&store).iter().any(|m| m.contains(&expected)), "{cut}: {:?}", messages(&store));
                let rows = store.table("DmaPacket").map_or(0, |t| t.len());
                assert!(rows >= rows_before, "rows are only ever added");
                rows_before = rows;
            }
            Err(problem) => panic!("{cut}: {}", problem.message),
        }
    }
    assert_eq!(rows_before, complete);
}

#[test]
fn damaged_rows_and_odd_elements_cost_only_themselves() {
    let json = r#"{"instruction":[
        {"id":1,"timestamp":1,"duration":1,"opcode":"A"},
        {"id":2,"timestamp":2 "pc":5,"duration";1,"opcode":"B"},
        7, "text", null, [1,{"x":2}],
        {"id":3,"timestamp":3,"duration":1,"opcode":"C"},,
        {"id":4,"timestamp":-5,"duration":-3,"opcode":"D"},
    ],"semaphore_update":[{"id":1,"timestamp":5,"value":"3"}]}"#;
    let (store, _file) = store(json);
    let table = store.table("Instruction").unwrap();
    let names: Vec<_> = (0..3).map(|e| (table.event_name(e), table.rows[e as usize])).collect();
    assert_eq!(names, [("D", 3), ("A", 0), ("C", 2)]);
    assert_eq!(table.flags[0] & flag::REVERSED, flag::REVERSED);
    assert_eq!(table.groups[0].key.name, "engine not recorded");
    let at = json.find(';').unwrap();
    assert_eq!(
        messages(&store),
        [
            format!("1 row of `instruction` left out: damaged, the first at byte {at}"),
            "4 elements of `instruction` left out: no objects".to_string(),
        ]
    );
    // What can be read of the damaged row can still be seen.
    assert_eq!(store.row("Instruction", 1).unwrap()[0].value, Value::Int(2));
    assert_eq!(store.row("Instruction", 2).unwrap()[0].value, Value::Int(3));
    assert_eq!(store.table("SemaphoreUpdate").unwrap().groups[0].key.name, "S[1]");
}

#[test]
fn garbage_between_lists_ends_the_reading_with_its_place() {
    let json = r#"{"instruction":[{"timestamp":1,"duration":1}] ; "dma":[]}"#;
    let (store, _file) = store(json);
    assert_eq!(store.table("Instruction").unwrap().len(), 1);
    let at = json.find(';').unwrap();
    assert!(messages(&store)[0].starts_with(&format!("byte {at} ")), "{:?}", messages(&store));
}

#[test]
fn what_is_no_full_profile_is_called_what_it_is() {
    let cases: [(&str, &[u8], &str); 10] = [
        ("p.json", b"", "is empty (0 bytes)"),
        ("p.json", b"[]", "holds a list at its top"),
        ("p.json", b"[{\"ph\":\"X\",\"ts\":1}]", "a trace in Chrome's format"),
        ("p.json", b"{\"traceEvents\":[]}", "a trace in Chrome's format"),
        ("p.json", b"{\"model\":{\"total_time\":1,\"event_count\":2}}", "the metrics of a profile's summary"),
        ("p.json", b"{\"trace_events\":[],\"mem_usage\":[]}", "a system profile"),
        ("p.json", b"PAR1", "is not JSON"),
        ("p.json", b"  ", "is not JSON"),
        ("p.json", b"{}", "holds none of the lists"),
        ("p.json", b"{\"x\":[{}],\"y\":1", "holds none of the lists"),
    ];
    for (name, bytes, expected) in cases {
        let message = failure(name, bytes);
        assert!(message.contains(expected), "{}: {message}", String::from_utf8_lossy(bytes));
    }
    let missing = fixture("p.json", b"{}");
    let gone = Fixture { path: missing.directory.path().join("gone.json"), ..missing };
    assert!(read(&gone).err().unwrap().message.contains("does not exist"));
    let directory = fixture("p.json", b"{}");
    let directory = Fixture { path: directory.directory.path().to_path_buf(), ..directory };
    assert!(read(&directory).err().unwrap().message.contains("is not a regular file"));
}

#[test]
fn deep_nesting_and_a_byte_order_mark_are_no_problem() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let json = format!("\u{feff}{{\"x\":{deep},\"instruction\":[{{\"timestamp\":1,\"duration\":2,\"y\":{deep}}}]}}");
    let (store, _file) = store(&json);
    assert_eq!(store.table("Instruction").unwrap().len(), 1);
    assert_eq!(store.row("Instruction", 0).unwrap().len(), 4);
}

#[test]
fn hostile_and_extreme_values_are_kept_as_they_are() {
    let json = r#"{"instruction":[
        {"timestamp":-9223372036854775808,"duration":18446744073709551615,"opcode":"\u001b[31mred\ud83d","subgroup":"Sc\u0061lar"},
        {"timestamp":99999999999999999999999,"duration":99999999999999999999999,"opcode":5,"subgroup":true},
        {"timestamp":"","duration":1}]}"#;
    let (store, _file) = store(json);
    let table = store.table("Instruction").unwrap();
    assert_eq!((table.start(0), table.end(0)), (i64::MIN, i64::MAX));
    assert_eq!(table.event_name(0), "\u{1b}[31mred\u{fffd}");
    assert_eq!(table.groups[0].key.engine, Some(Engine::Scalar));
    assert_eq!((table.start(1), table.end(1), table.event_name(1)), (i64::MAX, i64::MAX, "5"));
    assert_eq!(table.groups[1].key.name, "true");
    assert_eq!(table.len(), 2);
}

#[test]
fn compressed_files_are_read_too_and_cut_ones_as_far_as_they_go() {
    let pack = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let packed = pack(profile().as_bytes());
    let whole = fixture("p.json.gz", &packed);
    let store = read(&whole).unwrap();
    assert_eq!(store.table("Instruction").unwrap().len(), 3);
    assert_eq!(store.info.name, "p");
    assert!(store.row("Instruction", 0).unwrap().iter().any(|f| f.name == "hlo_name"));
    // Two members, one after the other, are one file.
    let text = profile();
    let (a, b) = text.split_at(500);
    let both = fixture("p.json.gz", &[pack(a.as_bytes()), pack(b.as_bytes())].concat());
    assert_eq!(read(&both).unwrap().table("Instruction").unwrap().len(), 3);

    let rows: Vec<String> =
        (0..20_000).map(|i| format!(r#"{{"timestamp":{i},"duration":{}}}"#, i * 7919 % 1000)).collect();
    let packed = pack(format!(r#"{{"instruction":[{}]}}"#, rows.join(",")).as_bytes());
    let cut = read(&fixture("p.json.gz", &packed[..packed.len() / 2])).unwrap();
    let found = cut.table("Instruction").unwrap().len();
    assert!(found > 1000 && found < 20_000, "{found}");
    assert!(messages(&cut)[0].contains("compressed data are cut off"), "{:?}", messages(&cut));
    assert!(messages(&cut)[1].contains("ends at byte"), "{:?}", messages(&cut));
}

#[test]
fn a_bomb_is_not_unpacked_to_its_end() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(br#"{"instruction":[{"timestamp":1,"duration":1}"#).unwrap();
    for _ in 0..64 {
        encoder.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let store = read(&fixture("p.json.gz", &encoder.finish().unwrap())).unwrap();
    assert_eq!(store.table("Instruction").unwrap().len(), 1);
    assert!(messages(&store)[0].contains("unpacks to more than"), "{:?}", messages(&store));
}

#[test]
fn thousands_of_lists_and_columns_cost_no_more_than_their_number() {
    let lists: Vec<String> = (0..5_000).map(|i| format!(r#""list \u001b{i}":[{{"timestamp":{i}}},1]"#)).collect();
    let columns: Vec<String> = (0..50_000).map(|i| format!(r#""m{i}":{i}"#)).collect();
    let json = format!(r#"{{{},"summary":[{{{}}}],"dma":[]}}"#, lists.join(","), columns.join(","));
    let (store, _file) = store(&json);
    assert_eq!(store.number("Summary", "m49999"), Some(49_999.0));
    assert_eq!(store.tables.len(), 5_002);
    assert!(messages(&store).iter().all(|m| !m.contains('\u{1b}')), "no control characters in messages");
    assert_eq!(messages(&store).len(), 21);
    assert_eq!(messages(&store)[20], "4980 more lists have damaged rows");
}

#[test]
fn a_file_that_changes_while_it_is_open_is_noticed() {
    let (store, file) = store(&profile());
    std::fs::write(&file.path, b"{}").unwrap();
    let message = store.row("Instruction", 0).err().unwrap().message;
    assert!(message.contains("has changed since it was opened"), "{message}");
}
