//! "Did you mean …?": the known word nearest to a mistyped one.

/// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from
/// `word`, if it is near enough to have been meant: at most a third of the longer word's letters.
/// The first one wins a tie.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(LONGEST).collect();
    candidates
        .into_iter()
        .map(|candidate| {
            let letters: Vec<char> = candidate.chars().take(LONGEST).collect();
            (distance(&word, &letters), word.len().max(letters.len()), candidate)
        })
        .filter(|&(edits, letters, _)| edits * 3 <= letters)
        .min_by_key(|&(edits, _, _)| edits)
        .map(|(_, _, candidate)| candidate)
}

/// Words come from files; the table of edits grows with their square.
const LONGEST: usize = 64;

/// Optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        let d = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("abc", ""), 3);
        assert_eq!(d("abc", "acb"), 1);
        assert_eq!(d("kitten", "sitting"), 3);
    }

    #[test]
    fn only_near_words_are_suggested() {
        let words = ["pan-left", "pan-right", "zoom-in"];
        assert_eq!(nearest("pan-lfet", words), Some("pan-left"));
        assert_eq!(nearest("panleft", words), Some("pan-left"));
        assert_eq!(nearest("quux", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest(&"x".repeat(1 << 20), words), None);
    }
}
