//! Work off the UI thread. A job has a slot: a newer job of the same slot supersedes it. Answers are changes to the
//! App that are made on the UI thread, so that no state is shared.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::App;

/// A change to make on the UI thread.
pub type Answer = Box<dyn FnOnce(&mut App) + Send>;

type Work = Box<dyn FnOnce(&Reporter) + Send>;

/// Something to do off the UI thread.
pub struct Job {
    /// What it is for; at most one job of a slot runs.
    pub slot: &'static str,
    work: Work,
}

impl Job {
    /// A job that reports any number of answers while it works.
    pub fn new(slot: &'static str, work: impl FnOnce(&Reporter) + Send + 'static) -> Job {
        Job { slot, work: Box::new(work) }
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Job({})", self.slot)
    }
}

/// What a job has in hand while it works.
#[derive(Clone)]
pub struct Reporter {
    slot: &'static str,
    generation: u64,
    cancel: Arc<AtomicBool>,
    sender: UnboundedSender<Message>,
}

impl Reporter {
    /// Whether nobody waits for the answer any more; long jobs look often.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The flag behind [`Reporter::cancelled`], for code that takes one.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.cancel
    }

    /// Has `change` made on the UI thread, unless the job has been superseded by then.
    pub fn answer(&self, change: impl FnOnce(&mut App) + Send + 'static) {
        let message =
            Message { slot: self.slot, generation: self.generation, content: Content::Answer(Box::new(change)) };
        // Without a receiver the program is ending.
        let _ = self.sender.send(message);
    }
}

/// News from a job.
pub struct Message {
    slot: &'static str,
    generation: u64,
    content: Content,
}

enum Content {
    Answer(Answer),
    Finished {
        /// Whether it ended in the middle of its work.
        panicked: bool,
    },
}

struct Running {
    generation: u64,
    cancel: Arc<AtomicBool>,
    /// What to do when it has ended.
    next: Option<Job>,
}

/// The jobs at work.
pub struct Jobs {
    sender: UnboundedSender<Message>,
    running: FxHashMap<&'static str, Running>,
    generation: u64,
}

impl Jobs {
    /// No jobs yet, and where their news will arrive.
    #[must_use]
    pub fn new() -> (Jobs, UnboundedReceiver<Message>) {
        let (sender, receiver) = unbounded_channel();
        (Jobs { sender, running: FxHashMap::default(), generation: 0 }, receiver)
    }

    /// Starts a job. One of the same slot that is at work is told to stop, and the new one starts when it has; what
    /// the old one still reports is dropped.
    pub fn start(&mut self, job: Job) {
        if let Some(running) = self.running.get_mut(job.slot) {
            running.cancel.store(true, Ordering::Relaxed);
            running.next = Some(job);
            return;
        }
        self.generation += 1;
        let reporter = Reporter {
            slot: job.slot,
            generation: self.generation,
            cancel: Arc::new(AtomicBool::new(false)),
            sender: self.sender.clone(),
        };
        let running = Running { generation: self.generation, cancel: reporter.cancel.clone(), next: None };
        self.running.insert(job.slot, running);
        let work = job.work;
        let finished = Finish(reporter.clone());
        // A thread of its own: the pool may be busy with indexing, and an answer should not wait for that.
        let spawned = std::thread::Builder::new().name(job.slot.to_owned()).spawn(move || {
            let _finished = finished;
            work(&reporter);
        });
        if spawned.is_err() {
            self.running.remove(job.slot);
        }
    }

    /// Tells the job of a slot to stop; what it still reports is dropped.
    pub fn cancel(&mut self, slot: &str) {
        if let Some(running) = self.running.get_mut(slot) {
            running.cancel.store(true, Ordering::Relaxed);
            running.next = None;
        }
    }

    /// Tells all jobs to stop.
    pub fn cancel_all(&mut self) {
        for running in self.running.values_mut() {
            running.cancel.store(true, Ordering::Relaxed);
            running.next = None;
        }
    }

    /// Whether nothing is being done.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Takes news; gives the change to make, if there is one.
    pub fn take(&mut self, message: Message) -> Option<Answer> {
        let running = self.running.get(message.slot)?;
        if running.generation != message.generation {
            return None;
        }
        match message.content {
            Content::Answer(answer) => (!running.cancel.load(Ordering::Relaxed)).then_some(answer),
            Content::Finished { panicked } => {
                let slot = message.slot;
                if let Some(next) = self.running.remove(slot).and_then(|r| r.next) {
                    self.start(next);
                    return None;
                }
                panicked.then(|| -> Answer { Box::new(move |app| app.job_failed(slot)) })
            }
        }
    }
}

/// Says that a job has ended, also when it panicked.
struct Finish(Reporter);

impl Drop for Finish {
    fn drop(&mut self) {
        let Reporter { slot, generation, sender, .. } = &self.0;
        let content = Content::Finished { panicked: std::thread::panicking() };
        let _ = sender.send(Message { slot, generation: *generation, content });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Start;
    use std::sync::mpsc;

    /// Takes news until all jobs have ended.
    fn finish(jobs: &mut Jobs, news: &mut UnboundedReceiver<Message>, app: &mut App) {
        while !jobs.idle() {
            let message = news.blocking_recv().unwrap();
            if let Some(answer) = jobs.take(message) {
                answer(app);
            }
        }
    }

    fn said(app: &App) -> Option<&str> {
        app.message().map(|m| m.text.as_str())
    }

    #[test]
    fn a_newer_job_supersedes_the_one_at_work() {
        let (mut jobs, mut news) = Jobs::new();
        let mut app = App::new(Start::default());
        let (begun, wait) = mpsc::channel();
        jobs.start(Job::new("slot", move |reporter| {
            begun.send(()).unwrap();
            while !reporter.cancelled() {
                std::thread::yield_now();
            }
            reporter.answer(|app| app.say("too late"));
        }));
        wait.recv().unwrap();
        jobs.start(Job::new("slot", |reporter| reporter.answer(|app| app.say("never begun"))));
        jobs.start(Job::new("slot", |reporter| reporter.answer(|app| app.say("the last one"))));
        finish(&mut jobs, &mut news, &mut app);
        assert_eq!(said(&app), Some("the last one"));
    }

    #[test]
    fn jobs_of_other_slots_go_on_and_a_panic_ends_only_its_own() {
        let (mut jobs, mut news) = Jobs::new();
        let mut app = App::new(Start::default());
        jobs.start(Job::new("one", |_| std::panic::resume_unwind(Box::new("on purpose"))));
        let (go, wait) = mpsc::channel::<()>();
        jobs.start(Job::new("two", move |reporter| {
            wait.recv().unwrap();
            reporter.answer(|app| app.say("two"));
        }));
        jobs.cancel("three");
        // The other goes on only once the end of the first has been told.
        let ended = news.blocking_recv().and_then(|message| jobs.take(message)).unwrap();
        ended(&mut app);
        assert!(said(&app).is_some_and(|said| said.contains("\"one\"")), "{:?}", said(&app));
        go.send(()).unwrap();
        finish(&mut jobs, &mut news, &mut app);
        assert_eq!(said(&app), Some("two"));
    }

    #[test]
    fn what_a_cancelled_job_reports_is_dropped() {
        let (mut jobs, mut news) = Jobs::new();
        let mut app = App::new(Start::default());
        let (go, wait) = mpsc::channel::<()>();
        jobs.start(Job::new("slot", move |reporter| {
            wait.recv().unwrap();
            reporter.answer(|app| app.say("unwanted"));
        }));
        jobs.cancel_all();
        go.send(()).unwrap();
        finish(&mut jobs, &mut news, &mut app);
        assert_eq!(said(&app), None);
    }
}
