//! Searching: results while typing, and all of them one after another.

use std::collections::BTreeSet;

use neuron_scope::app::headless::{Headless, text};
use neuron_scope::app::panes::PaneKind;
use neuron_scope::query::search::{Catalog, Options, Query, TextCache};
use neuron_scope::store::EventRef;

use super::{demo, press, screen};

const SIZE: (u16, u16) = (120, 40);

/// What a query finds, in order, by the query itself.
fn found(app: &Headless, query: &str) -> Vec<EventRef> {
    let store = &app.app.scene.store;
    let query = Query::new(query, Options::default(), &Catalog::of(store), store).unwrap();
    let matches = query.run(store, &TextCache::default(), &false.into(), &|_, _| {}).unwrap();
    matches.page(store, 0, usize::MAX)
}

fn last_lines(app: &Headless, n: usize) -> String {
    let shown = text(app.buffer(), false);
    let lines: Vec<&str> = shown.lines().collect();
    lines[lines.len() - n..].join("\n")
}

#[test]
fn what_a_search_looks_like() {
    insta::assert_snapshot!("search_typing_80x24", screen((80, 24), "/opcode:MATMUL duration>279"));
    insta::assert_snapshot!("search_match_80x24", screen((80, 24), "/purpose:spill<Enter>nn"));
    insta::assert_snapshot!("search_list_120x40", screen(SIZE, "/opcode=ACTIVATE<Enter><Space>sjj>"));
    insta::assert_snapshot!("search_wrong_80x24", screen((80, 24), "/durtion>1us"));
}

#[test]
fn all_matches_are_visited_in_order_and_then_again() {
    let query = "duration>8us";
    let mut app = demo(SIZE);
    let all = found(&app, query);
    assert!((3..60).contains(&all.len()), "{}", all.len());
    press(&mut app, &format!("wwww/{query}<Enter>"));
    let mut visited = Vec::new();
    for n in 0..all.len() {
        let event = app.app.scene.selected_event().unwrap();
        assert_eq!(app.app.search.counter(), format!("{}/{}", n + 1, all.len()));
        assert!(app.app.scene.holds(event), "its track is the current one");
        let start = app.app.scene.store.table_of(event).start(event.event);
        assert!(app.app.scene.view.grid().visible_column(start).is_some());
        visited.push(event);
        press(&mut app, "n");
    }
    assert_eq!(visited, all);
    assert_eq!(app.app.scene.selected_event(), Some(all[0]), "after the last one the first");
    press(&mut app, "N");
    assert_eq!(app.app.scene.selected_event(), all.last().copied());
    press(&mut app, "NN");
    assert_eq!(app.app.scene.selected_event(), Some(all[all.len() - 3]));
    // From where one is, not from the match one was at.
    press(&mut app, "<Esc>gg");
    press(&mut app, "n");
    assert_eq!(app.app.scene.selected_event(), Some(all[0]));
    press(&mut app, "F");
    assert!(!app.app.search.active() && app.app.search.found.is_none());
}

#[test]
fn matches_of_several_tables_are_all_shown() {
    let mut app = demo(SIZE);
    let query = "(table=DmaPacketAggregated start<16us) | (table=CcOp duration>4us)";
    press(&mut app, &format!("/{}<Enter>", query.replace('<', "<lt>")));
    let total = app.app.search.total();
    let tables: BTreeSet<u16> = (0..total)
        .filter_map(|_| {
            let event = app.app.scene.selected_event()?;
            press(&mut app, "n");
            Some(event.table)
        })
        .collect();
    let expected: BTreeSet<u16> = found(&app, query).iter().map(|e| e.table).collect();
    assert_eq!(tables, expected);
}

#[test]
fn a_query_that_means_nothing_says_why_and_leaving_brings_the_last_one_back() {
    let mut app = demo(SIZE);
    press(&mut app, "/opcode=MATMUL<Enter>");
    let total = app.app.search.total();
    press(&mut app, "/opcod:x");
    let shown = last_lines(&app, 15);
    assert!(shown.contains("opcode"), "{shown}");
    press(&mut app, "<Esc>");
    assert_eq!((app.app.search.text.as_str(), app.app.search.total()), ("opcode=MATMUL", total));
    press(&mut app, "/nosuchthinganywhere<Enter>");
    assert_eq!(app.app.message().map(|m| m.text.as_str()), Some("nothing matches nosuchthinganywhere"));
}

#[test]
fn names_and_values_are_completed() {
    let mut app = demo(SIZE);
    press(&mut app, "/opc<Tab>ACTI<Tab><Enter>");
    assert_eq!(app.app.search.text, "opcode:ACTIVATE");
    assert!(app.app.search.total() > 0);
    press(&mut app, "F/<Up>");
    assert!(last_lines(&app, 1).contains("/opcode:ACTIVATE"), "the history has it");
}

#[test]
fn the_list_is_sorted_and_leads_to_its_events() {
    let mut app = demo(SIZE);
    press(&mut app, "/opcode=ACTIVATE<Enter><Space>s");
    assert_eq!(app.app.panes.focused(), Some(PaneKind::Search));
    // By duration, the longest first.
    press(&mut app, ">S<Enter>");
    let store = app.app.scene.store.clone();
    let longest = found(&app, "opcode=ACTIVATE").into_iter().map(|e| store.table_of(e).lengths.at(e.event as usize));
    let event = app.app.scene.selected_event().unwrap();
    assert_eq!(Some(store.table_of(event).lengths.at(event.event as usize)), longest.max());
}

#[test]
fn categories_narrow_a_search() {
    let mut app = demo(SIZE);
    press(&mut app, "/q<Enter>");
    let all = app.app.search.total();
    press(&mut app, "/q<C-t><C-t><C-t><Enter>");
    assert_eq!(app.app.search.category(), "dma");
    let dma = app.app.search.total();
    assert!(dma > 0 && dma < all, "{dma} of {all}");
}

#[test]
fn what_could_not_be_searched_is_said_however_slowly_one_types() {
    let dir = tempfile::tempdir().unwrap();
    let path = neuron_scope::demo::write(dir.path()).unwrap();
    let mut app = Headless::new(Default::default(), SIZE, neuron_scope::term::color::Depth::None);
    app.open(neuron_scope::source::discover(&path).unwrap());
    std::fs::write(path.join("Instruction.parquet"), b"cut off").unwrap();
    press(&mut app, "/pc=99999999<Enter>");
    let shown = last_lines(&app, 3);
    assert!(shown.contains("not all could be searched"), "{shown}");
}
