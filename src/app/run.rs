//! The App in a terminal: input, background work and signals in, frames out.

use std::io;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream, KeyEventKind};
use futures::StreamExt as _;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc::UnboundedReceiver;

use super::effect::Effect;
use super::jobs::{Jobs, Message};
use super::{App, Start, log};
use crate::source::Found;
use crate::store::Problem;
use crate::term::answers;
use crate::term::clipboard::Clipboard;
use crate::term::color::{ColorMap, Depth};
use crate::term::screen::{Capabilities, Screen};
use crate::term::session::Session;
use crate::term::signals::{Signals, TermSignal, terminal_gone};
use crate::ui::theme::Theme;

/// Frames follow each other no faster.
const FRAME: Duration = Duration::from_millis(33);

/// What is opened first.
pub enum Begin {
    /// One of these: asked for where there are several.
    Found(Vec<Found>),
    /// One of the profiles opened before.
    Recent,
}

/// How the program is shown.
pub struct Setup {
    /// How the App begins.
    pub start: Start,
    /// What is opened first.
    pub begin: Begin,
    /// Colours of the terminal.
    pub depth: Depth,
    /// Whether the theme is chosen to suit the terminal's background.
    pub detect_background: bool,
    /// Where copied texts are written, besides the clipboard.
    pub clipboard_file: std::path::PathBuf,
}

/// How the program ended.
pub struct Outcome {
    /// Why nothing could be opened.
    pub failure: Option<Problem>,
    /// The exit code where a signal ended it.
    pub signal: Option<u8>,
}

/// Runs the explorer until it is left.
///
/// # Errors
/// The terminal cannot be used, or was lost.
pub fn run(setup: Setup) -> io::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(Runner::begin(setup)?.work());
    // Work that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    outcome
}

struct Runner {
    app: App,
    jobs: Jobs,
    news: UnboundedReceiver<Message>,
    session: Session,
    screen: Screen<std::fs::File>,
    colors: ColorMap,
    depth: Depth,
    ascii: bool,
    clipboard: Clipboard,
    begin: Instant,
    buffer: Buffer,
    dirty: bool,
    drawn: Option<Instant>,
    signal: Option<u8>,
}

/// The next event if it is there already. (Polled with the task's own waker: the stream keeps the first one it gets.)
async fn ready(events: &mut EventStream) -> Option<Option<io::Result<Event>>> {
    std::future::poll_fn(|context| match events.poll_next_unpin(context) {
        Poll::Ready(event) => Poll::Ready(Some(event)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

impl Runner {
    fn begin(setup: Setup) -> io::Result<Runner> {
        let session = Session::enter(setup.start.mouse)?;
        let lookup = |name: &str| std::env::var(name).ok();
        let writer = session.writer()?;
        let ascii = setup.start.look.glyphs.ascii;
        let mut app = App::new(setup.start);
        match setup.begin {
            Begin::Found(found) => app.open_one_of(found),
            Begin::Recent => app.act(&super::action::Action::Open(None)),
        }
        let (jobs, news) = Jobs::new();
        let mut runner = Runner {
            colors: ColorMap::new(setup.depth, app.look.theme.background),
            app,
            jobs,
            news,
            session,
            screen: Screen::new(writer, Capabilities::default()),
            depth: setup.depth,
            ascii,
            clipboard: Clipboard::new(lookup, setup.clipboard_file),
            begin: Instant::now(),
            buffer: Buffer::empty(Rect::default()),
            dirty: true,
            drawn: None,
            signal: None,
        };
        // The profile is being read while the terminal thinks about its answers.
        runner.carry_out()?;
        let answers = answers::ask(answers::PATIENCE, lookup);
        runner.screen.set_repeat(answers.repeats);
        if setup.detect_background {
            runner.app.look.theme = Theme::for_terminal(answers.background);
        }
        runner.repaint();
        Ok(runner)
    }

    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    async fn work(mut self) -> io::Result<Outcome> {
        let mut signals = Signals::listen()?;
        let mut events = EventStream::new();
        let mut gone = terminal_gone();
        let (width, height) = crossterm::terminal::size()?;
        self.app.resize(width, height);
        loop {
            self.carry_out()?;
            if self.app.ended() {
                break;
            }
            // All input that is there comes before the frame: only the last one counts.
            while let Some(event) = ready(&mut events).await {
                let Some(event) = event else { return self.end() };
                self.event(event?);
            }
            self.carry_out()?;
            if self.app.ended() {
                break;
            }
            let due = self.drawn.map_or_else(Instant::now, |at| at + FRAME);
            if self.dirty && due <= Instant::now() {
                self.draw()?;
            }
            let wake = [self.dirty.then_some(due), self.app.deadline().map(|at| self.begin + at)];
            let wake = wake.into_iter().flatten().min();
            let sleep = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                signal = signals.next() => {
                    if self.signal(signal)? {
                        break;
                    }
                }
                Ok(()) = &mut gone => {
                    self.signal(TermSignal::Hangup)?;
                    break;
                }
                event = events.next() => match event {
                    Some(event) => self.event(event?),
                    None => break,
                },
                Some(news) = self.news.recv() => {
                    self.news(news);
                    while let Ok(news) = self.news.try_recv() {
                        self.news(news);
                    }
                }
                () = sleep => {
                    let now = self.now();
                    self.dirty |= self.app.tick(now);
                }
            }
        }
        self.end()
    }

    fn end(mut self) -> io::Result<Outcome> {
        self.jobs.cancel_all();
        self.app.save_state();
        Ok(Outcome { failure: self.app.failure().cloned(), signal: self.signal })
    }

    fn news(&mut self, news: Message) {
        if let Some(answer) = self.jobs.take(news) {
            answer(&mut self.app);
            self.app.changed();
            self.dirty = true;
        }
    }

    fn event(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.app.key(key, now),
            Event::Mouse(mouse) => self.app.mouse(mouse, now),
            Event::Paste(text) => self.app.paste(&text),
            Event::Resize(width, height) => self.app.resize(width, height),
            Event::Key(_) | Event::FocusGained | Event::FocusLost => return,
        }
        self.dirty = true;
    }

    /// Does what a signal asks for; true where that is to end.
    fn signal(&mut self, signal: TermSignal) -> io::Result<bool> {
        log::line(&format!("signal {signal:?}"));
        match signal {
            TermSignal::Terminate | TermSignal::Hangup => {
                self.signal = Some(signal.exit_code());
                return Ok(true);
            }
            TermSignal::Suspend => self.suspend()?,
            TermSignal::Resumed => {
                self.session.resume()?;
                self.repaint();
            }
            TermSignal::Resized => {
                let (width, height) = crossterm::terminal::size()?;
                self.app.resize(width, height);
                self.dirty = true;
            }
        }
        Ok(false)
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.app.save_state();
        self.session.suspend()?;
        let (width, height) = crossterm::terminal::size()?;
        self.app.resize(width, height);
        self.repaint();
        Ok(())
    }

    fn repaint(&mut self) {
        self.screen.invalidate();
        self.colors = ColorMap::new(self.depth, self.app.look.theme.background);
        self.dirty = true;
    }

    /// Does what the App asks for.
    fn carry_out(&mut self) -> io::Result<()> {
        for effect in self.app.take_effects() {
            match effect {
                Effect::Quit => {}
                Effect::Suspend => self.suspend()?,
                Effect::Repaint => self.repaint(),
                Effect::Job(job) => {
                    log::line(&format!("job {}", job.slot));
                    self.jobs.start(job);
                }
                Effect::Cancel(slot) => self.jobs.cancel(slot),
                Effect::Copy(text) => {
                    let said = self.clipboard.copy(&text, self.screen.get_mut());
                    self.app.say(said);
                    self.dirty = true;
                }
                Effect::Mouse(on) => self.session.set_mouse(on)?,
                Effect::Write { path, bytes } => {
                    match super::atomic::write_atomically(&path, &bytes) {
                        Ok(()) => self.app.say(format!("written to {}", path.display())),
                        Err(error) => self.app.fail(format!("{}: {error}", path.display())),
                    }
                    self.dirty = true;
                }
            }
        }
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        self.buffer.resize(self.app.screen);
        let frame = self.app.draw(&mut self.buffer);
        if self.ascii {
            crate::term::glyphs::to_ascii(&mut self.buffer);
        }
        self.colors.apply(&mut self.buffer);
        self.screen.draw(&self.buffer, frame.cursor, frame.hint)?;
        self.drawn = Some(Instant::now());
        self.dirty = false;
        Ok(())
    }
}
