//! A line on the terminal while a run goes on: trial, rate, lag, time left.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use netfathom_measure::load::sender::Live;
use netfathom_measure::observer::Step;

/// Seldom, since drawing takes a processor that the measurement may want.
const REDRAW: Duration = Duration::from_millis(500);

/// The trial that runs.
struct Current {
    label: String,
    live: Arc<Live>,
    sent: u64,
    at: Instant,
}

/// Draws until it is dropped; nothing where standard error is no terminal.
pub struct Progress {
    current: Arc<Mutex<Option<Current>>>,
    ended: Arc<AtomicBool>,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// `expected` is how long the whole run takes.
    pub fn new(quiet: bool, expected: Duration) -> Self {
        let current = Arc::new(Mutex::new(None));
        let ended = Arc::new(AtomicBool::new(false));
        let started = Instant::now();
        let draws = !quiet && io::stderr().is_terminal();
        let drawn = (Arc::clone(&current), Arc::clone(&ended));
        let drawing = move || draw(&drawn.0, &drawn.1, started, expected);
        // A machine that has no thread to spare goes without the line.
        let drawer =
            draws.then(|| thread::Builder::new().name("progress".into()).spawn(drawing).ok()).flatten();
        Self { current, ended, drawer }
    }

    /// A step begins.
    pub fn begins(&self, step: Step, live: &Arc<Live>) {
        let current = Current { label: step.name, live: Arc::clone(live), sent: 0, at: Instant::now() };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
        if let Some(drawer) = self.drawer.take() {
            drawer.thread().unpark();
            // A drawer that panicked has nothing more to tell.
            let _ = drawer.join();
        }
    }
}

fn draw(current: &Mutex<Option<Current>>, ended: &AtomicBool, started: Instant, expected: Duration) {
    let bar = ProgressBar::with_draw_target(Some(expected.as_millis() as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {msg}") {
        bar.set_style(style.progress_chars("━╸ "));
    }
    while !ended.load(Relaxed) {
        if let Some(trial) = current.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            let left = expected.saturating_sub(started.elapsed()).as_secs();
            bar.set_position(started.elapsed().as_millis().min(expected.as_millis()) as u64);
            bar.set_message(format!("{}, {left} s left", trial.line()));
        }
        thread::park_timeout(REDRAW);
    }
    bar.finish_and_clear();
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
        let lag_us = self.live.lag_ns.load(Relaxed) as f64 / 1e3;
        format!("{}: {:.1}k/s, lag {lag_us:.1} µs", self.label, rate / 1e3)
    }
}
