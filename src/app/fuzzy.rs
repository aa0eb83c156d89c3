//! Loose matching of names as people type them.

use std::sync::LazyLock;

use fuzzy_matcher::FuzzyMatcher;
use fuzzy_matcher::skim::SkimMatcherV2;

/// How well a query matches a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Higher is better.
    pub score: i64,
    /// The characters of the name that matched, ascending, each once.
    pub chars: Vec<usize>,
}

static MATCHER: LazyLock<SkimMatcherV2> = LazyLock::new(|| SkimMatcherV2::default().ignore_case());

/// A word that begins the name counts as much as many scattered letters.
const PREFIX: i64 = 100;

/// Nothing comes before the name itself.
const EXACT: i64 = 10_000;

/// Matches every blank-separated word of `query` against `name`: its letters in order, whatever
/// lies between, capitals or not. A word that does not match there may stand in `text` as it is,
/// which counts less. `None` if a word matches neither; an empty query matches everything.
pub fn fuzzy_match(query: &str, name: &str, text: &str) -> Option<Match> {
    let mut found = Match::default();
    let lower = text.to_lowercase();
    for word in query.split_whitespace() {
        match MATCHER.fuzzy_indices(name, word) {
            Some((score, chars)) => {
                found.score += score;
                if starts_with(name, word) {
                    found.score += PREFIX;
                }
                found.chars.extend(chars);
            }
            None if lower.contains(&word.to_lowercase()) => found.score += 1,
            None => return None,
        }
    }
    if name.eq_ignore_ascii_case(query.trim()) {
        found.score += EXACT;
    }
    found.chars.sort_unstable();
    found.chars.dedup();
    Some(found)
}

/// The names that match, the best first, each by its index; equally good ones keep their order.
pub fn rank<'a>(query: &str, names: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(usize, Match)> {
    let mut matches: Vec<(usize, Match)> = names
        .into_iter()
        .enumerate()
        .filter_map(|(index, (name, text))| Some((index, fuzzy_match(query, name, text)?)))
        .collect();
    matches.sort_by_key(|(_, found)| std::cmp::Reverse(found.score));
    matches
}

fn starts_with(name: &str, word: &str) -> bool {
    name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(query: &str, names: &'a [&'a str]) -> Vec<&'a str> {
        rank(query, names.iter().map(|name| (*name, ""))).into_iter().map(|(index, _)| names[index]).collect()
    }

    #[test]
    fn words_match_in_any_order() {
        let tracks = ["nc0/Tensor", "nc0/TensorMatrix", "nc1/Tensor", "nc1/TensorMatrix", "nc0/DMA-E0"];
        assert_eq!(names("mat nc1", &tracks), ["nc1/TensorMatrix"]);
        assert_eq!(names("DMAE0", &tracks), ["nc0/DMA-E0"]);
        assert_eq!(names("zzz", &tracks), [""; 0]);
        assert_eq!(names("  ", &tracks), tracks);
    }

    #[test]
    fn the_name_itself_and_beginnings_come_first() {
        assert_eq!(names("core", &["score", "core-view", "core"])[..2], ["core", "core-view"]);
        assert_eq!(names("Q", &["unique", "quit"]), ["quit", "unique"]);
    }

    #[test]
    fn matched_characters_are_told() {
        let found = fuzzy_match("zi", "zoom-in", "").unwrap();
        assert_eq!(found.chars, [0, 5]);
        let both = fuzzy_match("in zoom", "zoom-in", "").unwrap();
        assert_eq!(both.chars, [0, 1, 2, 3, 5, 6]);
        assert_eq!(fuzzy_match("whole", "zoom-all", "Show the whole profile").unwrap().chars, Vec::<usize>::new());
        assert_eq!(fuzzy_match("wle", "zoom-all", "Show the whole profile"), None, "texts match as they are");
        assert_eq!(fuzzy_match("é", "zoomé", "").unwrap().chars, [4], "characters, not bytes");
    }
}
