//! A line on the terminal while a run goes on.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use netfathom_measure::ground::observer::{Live, Step};
use netfathom_model::print;

use crate::output;

/// Seldom, since drawing takes a processor that the measurement may want.
const REDRAW: Duration = Duration::from_millis(500);

/// A bar of a width of its own: one that takes what the text leaves shrinks as the text grows, and so seems to go back.
fn styled(bar: ProgressBar) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template("{bar:12} {wide_msg}") {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

struct Current {
    label: String,
    live: Arc<Live>,
    sent: u64,
    at: Instant,
}

/// How long a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    About(Duration),
    /// It ends as soon as it knows enough.
    AtMost(Duration),
    /// Until the user ends it.
    Endless,
}

impl Expected {
    fn time(self) -> Option<Duration> {
        match self {
            Self::About(time) | Self::AtMost(time) => Some(time),
            Self::Endless => None,
        }
    }

    /// What is left; what was expected is an estimate, and a run that takes longer says so.
    fn left(self, elapsed: Duration) -> String {
        let Some(expected) = self.time() else { return "until Ctrl-C".into() };
        match (self, expected.checked_sub(elapsed)) {
            (Self::AtMost(_), Some(left)) => format!("at most {} s left", left.as_secs()),
            (_, Some(left)) => format!("{} s left", left.as_secs()),
            (_, None) => format!("{} s longer than estimated", (elapsed - expected).as_secs()),
        }
    }
}

/// Draws trial, rate, lag and time left until it is dropped; nothing where standard error is no terminal.
pub struct Progress {
    current: Arc<Mutex<Option<Current>>>,
    drawer: Option<(ProgressBar, Drawer)>,
}

impl Progress {
    pub fn new(quiet: bool, expected: Expected) -> Self {
        let current = Arc::new(Mutex::new(None::<Current>));
        let started = Instant::now();
        let drawn = Arc::clone(&current);
        let drawer = (!quiet).then(|| {
            let target = ProgressDrawTarget::stderr();
            let time = expected.time();
            let bar = styled(ProgressBar::with_draw_target(time.map(|time| time.as_millis() as u64), target));
            let shown = bar.clone();
            let drawer = Drawer::start(move |has_ended| {
                if has_ended {
                    bar.finish_and_clear();
                } else if let Some(trial) = drawn.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                    let elapsed = started.elapsed();
                    bar.set_position(elapsed.min(time.unwrap_or_default()).as_millis() as u64);
                    bar.set_message(format!("{}, {}", expected.left(elapsed), trial.line()));
                }
            });
            Some((shown, drawer?))
        });
        Self { current, drawer: drawer.flatten() }
    }

    /// Text on standard error that stays, above the line of progress.
    pub fn aside(&self, text: &str) {
        match &self.drawer {
            Some((bar, _)) => bar.suspend(|| output::aside(text)),
            None => output::aside(text),
        }
    }

    pub fn begins(&self, step: Step, live: &Arc<Live>) {
        let current = Current { label: step.name, live: Arc::clone(live), sent: 0, at: Instant::now() };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
    }
}

/// A thread that draws until this is dropped.
pub struct Drawer {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drawer {
    /// Calls `draw` now and then, and with `true` at the end. `None` where standard error is no terminal, or there is no
    /// thread to spare.
    pub fn start(mut draw: impl FnMut(bool) + Send + 'static) -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let drawing = move || {
            thread::park_timeout(REDRAW);
            while !until.load(Relaxed) {
                draw(false);
                thread::park_timeout(REDRAW);
            }
            draw(true);
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(drawing).ok()?;
        Some(Self { ended, thread: Some(thread) })
    }
}

impl Drop for Drawer {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // One that panicked has nothing more to draw.
            let _ = thread.join();
        }
    }
}

impl Current {
    fn line(&mut self) -> String {
        let (sent, now) = (self.live.sent.load(Relaxed), Instant::now());
        let rate =
            sent.saturating_sub(self.sent) as f64 / now.duration_since(self.at).as_secs_f64().max(1e-3);
        (self.sent, self.at) = (sent, now);
        if sent == 0 {
            // Nothing is sent message by message.
            return self.label.clone();
        }
        let lag_ns = self.live.lag_ns.load(Relaxed) as f64;
        format!("{}: {}, lag {}", self.label, print::rate(rate), print::time(lag_ns))
    }
}

#[cfg(test)]
mod tests {
    use indicatif::TermLike;

    use super::*;

    #[test]
    fn a_run_that_takes_longer_says_so() {
        let about = Expected::About(Duration::from_secs(10));
        let at = |s| about.left(Duration::from_secs(s));
        assert_eq!([at(4), at(10), at(13)], ["6 s left", "0 s left", "3 s longer than estimated"]);
        let at_most = Expected::AtMost(Duration::from_secs(10));
        assert_eq!(at_most.left(Duration::from_secs(4)), "at most 6 s left");
    }

    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().unwrap().clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_bar_does_not_shrink_as_its_text_grows() {
        let paper = Paper::default();
        let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
        let bar = styled(ProgressBar::with_draw_target(Some(10), target));
        bar.set_position(5);
        let filled = |text: &'static str| {
            bar.set_message(text);
            paper.0.lock().unwrap().clear();
            bar.tick();
            paper.0.lock().unwrap().matches('━').count()
        };
        let short = filled("trial 1");
        assert!(short > 5, "{short}");
        assert_eq!(short, filled("trial 10: 100k/s, lag 1.23 ms, 10 s left"));
    }
}
