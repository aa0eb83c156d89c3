//! Searches find what was found without this program: totals, and the first ids in order.

use std::path::Path;

use neuron_scope::cli::search::{find, to_json};
use neuron_scope::query::search::Options;
use neuron_scope::store::Store;
use serde_json::Value;

use crate::corpus::{corpus, read_one, with_truth};

#[test]
fn searches_agree_with_the_truth() {
    let mut cases = 0;
    for root in ["parquet", "bundle"].into_iter().filter_map(corpus) {
        for (path, truth) in with_truth(&root) {
            let Some(searches) = truth["searches"].as_array().filter(|s| !s.is_empty()) else { continue };
            let store = read_one(&path);
            for search in searches {
                compare(&path, &store, search);
                cases += 1;
            }
        }
    }
    println!("{cases} searches compared");
    assert!(cases == 0 || cases > 1000, "only {cases} searches were compared");
}

fn compare(path: &Path, store: &Store, search: &Value) {
    let text = search["text"].as_str().unwrap();
    let query = match (search["column"].as_str(), search["ignore_case"].as_bool()) {
        (None, _) => format!("table:SystemProfileEvents name~(?-i){}", pattern(text)),
        (Some(column), Some(true)) => format!("table:Instruction {column}:{}", quoted(&text.to_lowercase())),
        (Some(column), _) if text.contains(char::is_uppercase) => {
            format!("table:Instruction {column}:{}", quoted(text))
        }
        // Without capitals any case would match.
        (Some(column), _) => format!("table:Instruction {column}~{}", quoted(&format!("(?-i){}", regex::escape(text)))),
    };
    let at = format!("{}: {query}", path.display());
    let matches = find(store, &query, Options::default()).unwrap_or_else(|fault| panic!("{at}: {fault}"));
    let json = to_json(&[(store, matches)], 5, false, false).unwrap();
    assert_eq!(json["total"], search["count"], "{at}");
    let ids: Vec<&Value> = json["matches"].as_array().unwrap().iter().map(|event| &event["id"]).collect();
    assert_eq!(ids, search["first_ids"].as_array().unwrap().iter().collect::<Vec<_>>(), "{at}");
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// As the value of an unquoted expression.
fn pattern(text: &str) -> String {
    regex::escape(text).replace(' ', r"\x20")
}
