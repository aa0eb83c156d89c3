use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.profile()).unwrap();
        place
    }

    fn profile(&self) -> PathBuf {
        self.folder.path().join("data/run@latest")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn open(&self) -> MarkBook {
        let (book, problems) = MarkBook::open(&self.profile(), "run", &self.state());
        assert_eq!(problems, []);
        book
    }
}

fn names(book: &MarkBook) -> Vec<&str> {
    book.marks().all().iter().map(|m| m.name.as_str()).collect()
}

#[test]
fn marks_are_there_again_in_a_readable_file() {
    let place = Place::new();
    let mut book = place.open();
    assert_eq!(book.path(), fs::canonicalize(place.profile()).unwrap().with_file_name("run@latest.neuron-scope.json"));
    assert!(!book.path().exists(), "looking writes nothing");
    let id = book.add(500, None, "here").unwrap();
    book.add(900, Some(700), "").unwrap();
    book.change(|marks| marks.change(&id, 7, |m| m.note = "why \"so\"".into())).unwrap();
    let text = fs::read_to_string(book.path()).unwrap();
    assert!(text.starts_with("{\n  \"neuron_scope_marks\": 1,\n  \"profile\": \"run\","), "{text}");
    let again = place.open();
    assert_eq!(again.marks(), book.marks());
    assert_eq!(names(&again), ["here", "1"]);
    book.change(|marks| marks.remove(&id)).unwrap();
    assert_eq!(names(&place.open()), ["1"]);
}

#[test]
fn two_sessions_keep_each_others_marks() {
    let place = Place::new();
    let mut first = place.open();
    let old = first.add(1, None, "old").unwrap();
    let gone = first.add(2, None, "gone").unwrap();
    let mut second = place.open();
    first.add(3, None, "first").unwrap();
    first.change(|marks| marks.remove(&gone)).unwrap();
    second.change(|marks| marks.change(&old, now_ms() + 1000, |m| m.name = "renamed".into())).unwrap();
    assert_eq!(names(&second), ["renamed", "first"]);
    second.change(|marks| marks.remove(&old)).unwrap();
    first.add(4, None, "last").unwrap();
    assert_eq!(names(&first), ["first", "last"]);
    assert_eq!(names(&place.open()), ["first", "last"]);
}

#[test]
fn beside_a_read_only_profile_marks_go_to_the_state_directory() {
    let place = Place::new();
    let shared = {
        let mut book = place.open();
        book.add(1, None, "shared").unwrap();
        book.add(2, None, "other").unwrap()
    };
    // Root may write anywhere, so the place is taken by a folder instead of being protected.
    let beside = beside(&place.profile());
    let mut book = place.open();
    book.moved = true;
    book.last = None;
    book.add(3, None, "mine").unwrap();
    book.change(|marks| marks.remove(&shared)).unwrap();
    assert!(book.path().starts_with(place.state()), "{:?}", book.path());
    assert_eq!(names(&place.open()), ["shared", "mine"], "what was deleted here stays deleted");
    assert!(fs::read_to_string(beside).unwrap().contains("other"), "and the shared file is as it was");
}

#[test]
fn files_that_are_no_marks_are_never_overwritten() {
    for text in ["{ half", r#"{"neuron_scope_marks": 99, "marks": []}"#] {
        let place = Place::new();
        let path = beside(&place.profile());
        fs::write(&path, text).unwrap();
        let (mut book, problems) = MarkBook::open(&place.profile(), "run", &place.state());
        assert_eq!(problems.len(), 1, "{problems:?}");
        book.add(1, None, "kept").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(names(&MarkBook::open(&place.profile(), "run", &place.state()).0), ["kept"]);
    }
}

#[test]
fn marks_are_shared_by_files() {
    let place = Place::new();
    let mut book = place.open();
    book.add(5, Some(9), "a, \"b\"").unwrap();
    let json = place.folder.path().join("out/shared.json");
    book.export(&json, MarksFormat::of(&json)).unwrap();
    let table = place.folder.path().join("out/shared.CSV");
    book.export(&table, MarksFormat::of(&table)).unwrap();
    let csv = fs::read_to_string(table).unwrap();
    let line = csv.lines().nth(1).unwrap();
    assert!(line.contains(r#","a, ""b""",5,9,4,yellow,,"#), "{line}");
    let other = Place::new();
    let mut theirs = other.open();
    assert_eq!(theirs.load(&json).unwrap(), Merged { added: 1, changed: 0 });
    assert_eq!(theirs.load(&json).unwrap(), Merged::default());
    assert_eq!(other.open().marks(), book.marks());
    assert!(theirs.load(&place.folder.path().join("none.json")).unwrap_err().message.contains("does not exist"));
}

const CHILD: &str = "NEURON_SCOPE_TEST_MARKS_CHILD";

/// Sets marks for ever, and says each once it is safe. Only does so in the process that the next test starts.
fn set_marks(profile: &Path) {
    let state = profile.with_file_name("state");
    let (mut book, _) = MarkBook::open(profile, "run", &state);
    for i in book.marks().all().len().. {
        book.add(i as i64, None, &format!("mark {i}")).unwrap();
        println!("set {i}");
    }
}

#[test]
fn a_killed_session_loses_no_confirmed_mark() {
    if let Some(profile) = std::env::var_os(CHILD) {
        return set_marks(Path::new(&profile));
    }
    let place = Place::new();
    let mut confirmed = 0;
    for round in 0..12u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "app::marks::tests::a_killed_session_loses_no_confirmed_mark", "--nocapture"])
            .env(CHILD, place.profile())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = lines.by_ref().map_while(Result::ok).filter(|l| l.starts_with("set "));
        assert!(said.next().is_some(), "the child sets marks");
        // Somewhere in the middle of whatever it is doing.
        std::thread::sleep(std::time::Duration::from_micros(300 * round * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = said.last().or_else(|| Some(format!("set {confirmed}")));
        let last: usize = said.unwrap()[4..].parse().unwrap();
        let (book, problems) = MarkBook::open(&place.profile(), "run", &place.profile().with_file_name("state"));
        assert_eq!(problems, []);
        let names = names(&book);
        assert!(names.len() > last, "round {round}: {} of {last} confirmed marks are left", names.len());
        assert!(names.iter().enumerate().all(|(i, name)| *name == format!("mark {i}")));
        confirmed = names.len();
    }
    let mut book = place.open();
    book.add(0, None, "end").unwrap();
    let folder = book.path().parent().unwrap();
    let left = fs::read_dir(folder).unwrap().flatten().filter(|e| e.file_name().to_string_lossy().ends_with(".tmp"));
    assert_eq!(left.count(), 0, "what was half-written is cleared away");
}
