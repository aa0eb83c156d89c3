//! What is exported is what the files hold, row for row.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use arrow::array::{Array, RecordBatch};
use neuron_scope::model::Value;
use neuron_scope::query::export::{Format, Request, export};
use neuron_scope::store::{Store, arrays};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::corpus::{corpus, read_one};

/// Rows of a Parquet file as values, by the names of its columns.
fn rows(path: &Path) -> (Vec<String>, Vec<Vec<Value>>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    for batch in reader {
        let batch: RecordBatch = batch.unwrap();
        names = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
        let value = |array: &dyn Array, row| arrays::value(array, row);
        rows.extend((0..batch.num_rows()).map(|row| batch.columns().iter().map(|c| value(c.as_ref(), row)).collect()));
    }
    (names, rows)
}

fn write(store: &Store, table: &str, format: Format, out: &Path) -> std::path::PathBuf {
    let tables = vec![table.to_string()];
    let request = Request {
        window: None,
        tables,
        matches: None,
        keep: None,
        sampled: None,
        format,
        out: out.to_path_buf(),
        replace: true,
    };
    let (mut written, damage) = export(store, &request, &AtomicBool::new(false), &|_, _| {}).unwrap();
    assert_eq!((written.len(), damage.len()), (1, 0), "{table}");
    written.remove(0).path
}

/// Cells of a line of CSV after another; quotes may hold line ends.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.push(chars.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => line.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            c => cell.push(c),
        }
    }
    assert!(line.is_empty() && cell.is_empty(), "the last line ends");
    lines
}

fn agrees(cell: &str, value: &Value) -> bool {
    match value {
        Value::Null => cell.is_empty(),
        Value::Float(v) => cell.parse::<f64>().is_ok_and(|c| c == *v || (c.is_nan() && v.is_nan())),
        Value::Text(text) => cell == text,
        other => {
            let spelled = other.to_json().to_string();
            cell == spelled
        }
    }
}

#[test]
fn exports_equal_the_tables_row_for_row() {
    let cases = ["base/llama_tp8_nc0", "base/llama_train", "lnc1/llama_tp8_nc0", "polars_default/llama_tp8_nc0"];
    let mut compared = 0;
    for case in cases {
        let Some(root) = corpus("parquet") else { return };
        let path = root.join(format!("{case}@latest"));
        let path = if path.is_dir() { path } else { only_directory(&root.join(case.split('/').next().unwrap())) };
        let store = read_one(&path);
        let out = tempfile::tempdir().unwrap();
        for table in store.tables.iter().map(|t| t.name.clone()) {
            let (names, expected) = rows(&path.join(format!("{table}.parquet")));
            let csv = std::fs::read_to_string(write(&store, &table, Format::Csv, out.path())).unwrap();
            let lines = parse_csv(&csv);
            assert_eq!(lines[0][0], "timeline_track");
            if !expected.is_empty() {
                assert_eq!(lines[0][1..], names, "{case} {table}");
            }
            assert_eq!(lines.len() - 1, expected.len(), "{case} {table}");
            for (row, (line, values)) in lines[1..].iter().zip(&expected).enumerate() {
                let wrong = line[1..].iter().zip(values).position(|(cell, value)| !agrees(cell, value));
                assert_eq!(wrong, None, "{case} {table} row {row}: {line:?} {values:?}");
            }
            let (again, copied) = rows(&write(&store, &table, Format::Parquet, out.path()));
            let own = |name: &String| names.iter().position(|n| n == name);
            assert_eq!(copied.len(), expected.len(), "{case} {table}");
            for (row, (copy, values)) in copied.iter().zip(&expected).enumerate() {
                for (name, value) in again.iter().zip(copy).skip(1) {
                    let original = &values[own(name).unwrap()];
                    // NaN is like no number, not even itself.
                    let same = value == original || format!("{value:?}") == format!("{original:?}");
                    assert!(same, "{case} {table} row {row} {name}: {value:?} {original:?}");
                }
            }
            compared += expected.len();
        }
    }
    println!("{compared} rows compared");
    assert!(compared > 50_000, "only {compared} rows were compared");
}

fn only_directory(root: &Path) -> std::path::PathBuf {
    let mut found: Vec<_> =
        std::fs::read_dir(root).unwrap().flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    found.sort();
    found.remove(0)
}

#[test]
fn tracks_are_those_of_info() {
    let Some(root) = corpus("parquet/base") else { return };
    let store = read_one(&root.join("llama_tp8_nc0@latest"));
    let truth = std::fs::read_to_string(root.join("llama_tp8_nc0@latest.truth.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_str(&truth).unwrap();
    let out = tempfile::tempdir().unwrap();
    for (table, tracks) in [("Instruction", "instructions"), ("DmaPacket", "dma_by_engine")] {
        let csv = std::fs::read_to_string(write(&store, table, Format::Csv, out.path())).unwrap();
        let mut counts = serde_json::Map::new();
        for line in &parse_csv(&csv)[1..] {
            let count = counts.entry(line[0].clone()).or_insert(0.into());
            *count = (count.as_u64().unwrap() + 1).into();
        }
        assert_eq!(&serde_json::Value::Object(counts), &truth["tracks"][tracks], "{table}");
    }
}
