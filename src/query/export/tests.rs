//! Exports of a small profile.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::model::{Engine, Field, Value};
use crate::query::sketch::{Mark, Sketch};
use crate::store::{Ids, Rows, TableInfo};

/// Rows that are written down: each has a `n` that counts, and an `opcode`.
struct Counted;

impl Rows for Counted {
    fn row(&self, _: &str, row: u32) -> Result<Vec<Field>, Problem> {
        let n = if row == 3 { Value::Null } else { Value::Int(i64::from(row) * 10) };
        let opcode = Value::Text(format!("op,{row}"));
        Ok(vec![Field { name: "n".into(), value: n }, Field { name: "opcode".into(), value: opcode }])
    }

    fn ids(&self, _: &str) -> Result<Option<Ids>, Problem> {
        Ok(None)
    }
}

/// Tensor events of ten nanoseconds at 0, 10, … 50 (every other on TensorMatrix), and one of Vector over all of it.
fn profile() -> Store {
    let mut sketch = Sketch::default();
    for i in 0..6i64 {
        let track = if i % 2 == 0 { "TensorMatrix" } else { "Tensor" };
        let mark = Mark {
            core: Some(0),
            engine: Some(Engine::Tensor),
            group: "Tensor".into(),
            track: track.into(),
            start: i * 10,
            length: 10,
            ..Mark::default()
        };
        sketch.event("Instruction", mark);
    }
    sketch.instruction(1, Engine::Vector, "NOP", 0, 60);
    let mut store = sketch.store();
    store.tables = vec![TableInfo { name: "Instruction".into(), rows: 7 }, TableInfo { name: "Other".into(), rows: 2 }];
    store.rows = Arc::new(Counted);
    store
}

fn request(out: &Path) -> Request<'static> {
    Request {
        window: None,
        tables: Vec::new(),
        matches: None,
        keep: None,
        sampled: None,
        format: Format::Csv,
        out: out.into(),
        replace: true,
    }
}

fn text(store: &Store, request: &Request) -> String {
    let (written, damage) = export(store, request, &AtomicBool::new(false), &|_, _| {}).unwrap();
    assert_eq!((written.len(), damage.len()), (1, 0));
    let text = fs::read_to_string(&written[0].path).unwrap();
    let rows = if request.format == Format::Csv { text.lines().count() - 1 } else { text.lines().count() };
    assert_eq!(rows as u64, written[0].rows);
    text
}

fn lines(store: &Store, request: &Request) -> Vec<String> {
    text(store, request).lines().skip(1).map(|l| l.split(',').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn all_rows_are_written_with_their_tracks() {
    let folder = tempfile::tempdir().unwrap();
    let store = profile();
    let csv = text(&store, &request(folder.path()));
    let expected = "timeline_track,n,opcode\n\
        TensorMatrix(nc0),0,\"op,0\"\nTensor(nc0),10,\"op,1\"\nTensorMatrix(nc0),20,\"op,2\"\nTensor(nc0),,\"op,3\"\n\
        TensorMatrix(nc0),40,\"op,4\"\nTensor(nc0),50,\"op,5\"\nVector(nc1),60,\"op,6\"\n";
    assert_eq!(csv, expected);
    let json = text(&store, &Request { format: Format::Json, ..request(folder.path()) });
    assert_eq!(json.lines().nth(3).unwrap(), r#"{"timeline_track":"Tensor(nc0)","n":null,"opcode":"op,3"}"#);
    let other = text(&store, &Request { tables: vec!["other".into()], ..request(folder.path()) });
    assert_eq!(other, "timeline_track,n,opcode\n,0,\"op,0\"\n,10,\"op,1\"\n");
}

#[test]
fn ranges_areas_and_screens_leave_rows_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = profile();
    let base = || request(folder.path());
    assert_eq!(lines(&store, &Request { window: Some(Window::new(15, 30)), ..base() }), ["10", "20", "60"]);
    assert_eq!(lines(&store, &Request { window: Some(Window::new(60, 70)), ..base() }), Vec::<String>::new());
    let vector = |event: EventRef| event.event == 6;
    assert_eq!(lines(&store, &Request { keep: Some(&vector), ..base() }), ["60"]);
    // Two columns of 30 ns: the first longest of each track.
    let sampled = Request { window: Some(Window::new(0, 60)), sampled: Some(2), ..base() };
    assert_eq!(lines(&store, &sampled), ["0", "10", "", "40", "60"]);
}

#[test]
fn a_cancelled_or_failed_export_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = profile();
    let cancelled = export(&store, &request(folder.path()), &AtomicBool::new(true), &|_, _| {});
    assert_eq!(cancelled.unwrap_err(), ExportError::Cancelled);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let file = folder.path().join("taken");
    fs::write(&file, "").unwrap();
    let failed = export(&store, &request(&file), &AtomicBool::new(false), &|_, _| {});
    assert!(matches!(failed, Err(ExportError::Failed(p)) if p.path == file));
    let unknown = Request { tables: vec!["Instructoin".into()], ..request(folder.path()) };
    let unknown = export(&store, &unknown, &AtomicBool::new(false), &|_, _| {}).unwrap_err().to_string();
    assert!(unknown.contains("did you mean Instruction?"), "{unknown}");
}

#[test]
fn progress_reaches_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let done = AtomicUsize::new(0);
    let progress = |now: u64, total: u64| {
        assert!(now <= total && total == 7);
        done.store(now as usize, Ordering::Relaxed);
    };
    export(&profile(), &request(folder.path()), &AtomicBool::new(false), &progress).unwrap();
    assert_eq!(done.into_inner(), 7);
}
