//! From the instructions as the runtime laid them out back to the compiler's.

/// What the runtime did at one place of an engine's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patch {
    /// Index of the word, in the runtime's layout.
    pub at: usize,
    /// How many words.
    pub count: u64,
    /// Whether compiled words were taken out here, rather than runtime words put in.
    pub removed: bool,
}

/// No compiled instruction: the runtime put the word in.
pub(super) const NONE: u32 = u32::MAX;

/// The compiled index of each of `length` runtime words, [`NONE`] for those that the runtime put in.
pub(super) fn compiled_indices(mut patches: Vec<Patch>, length: usize) -> Vec<u32> {
    patches.retain(|patch| patch.at < length);
    patches.sort_by_key(|patch| (patch.at, !patch.removed));
    let mut indices = Vec::with_capacity(length);
    let mut compiled: u64 = 0;
    let mut patches = patches.into_iter().peekable();
    while indices.len() < length {
        let at = indices.len();
        let mut inserted = 0;
        while let Some(patch) = patches.next_if(|patch| patch.at <= at) {
            // A patch inside words that were put in has nothing to say about compiled ones.
            if patch.at < at {
                continue;
            }
            if patch.removed {
                compiled = compiled.saturating_add(patch.count);
            } else {
                inserted += patch.count;
            }
        }
        if inserted > 0 {
            let end = usize::try_from(inserted).unwrap_or(length).min(length - at) + at;
            indices.resize(end, NONE);
            continue;
        }
        indices.push(u32::try_from(compiled).unwrap_or(NONE));
        compiled = compiled.saturating_add(1);
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(at: usize, count: u64, removed: bool) -> Patch {
        Patch { at, count, removed }
    }

    #[test]
    fn words_that_the_runtime_put_in_have_no_compiled_index() {
        let indices = compiled_indices(vec![patch(2, 3, false), patch(6, 1, true), patch(0, 1, false)], 9);
        assert_eq!(indices, [NONE, 0, NONE, NONE, NONE, 1, 3, 4, 5]);
    }

    #[test]
    fn counts_are_bounded_by_the_code() {
        assert_eq!(compiled_indices(vec![patch(1, u64::MAX, false)], 4), [0, NONE, NONE, NONE]);
        assert_eq!(compiled_indices(vec![patch(0, u64::MAX, true), patch(9, 1, false)], 2), [NONE, NONE]);
        assert_eq!(compiled_indices(vec![], 0), [0; 0]);
    }
}
