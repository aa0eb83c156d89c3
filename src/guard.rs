//! Keeps a library's panic on damaged input from taking anything else down.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is inside [`catch`], so that a panic hook need not report anything.
#[must_use]
pub fn guarded() -> bool {
    GUARDED.with(|g| g.get() > 0)
}

/// Runs `work`; a panic inside becomes `None` and prints nothing.
pub fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !guarded() {
                before(info);
            }
        }));
    });
    GUARDED.with(|g| g.set(g.get() + 1));
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.with(|g| g.set(g.get() - 1));
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_nothing() {
        assert_eq!(catch(|| 1), Some(1));
        assert_eq!(catch(|| Vec::<u8>::new()[1]), None);
        assert!(!guarded());
    }
}
