//! Threads for what a person waits for.

use std::sync::LazyLock;

/// Answers a question in threads that are kept for that: those of the common pool may be busy with indexing for
/// seconds, and a frame must not wait for them.
pub fn at_once<T: Send>(question: impl FnOnce() -> T + Send) -> T {
    static POOL: LazyLock<Option<rayon::ThreadPool>> = LazyLock::new(|| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from).min(4);
        rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("draw-{i}")).build().ok()
    });
    match &*POOL {
        Some(pool) => pool.install(question),
        None => question(),
    }
}
