//! Who sees a run while it goes on, beside what keeps it.

use std::cell::LazyCell;
use std::error::Error;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_measure::ground::observer::{self, Observer, Progressed, Step};
use netfathom_model::print;
use netfathom_model::record::{Measurement, WatchPrograms, WatchResult};
use netfathom_model::verdict::Verdict;
use netfathom_results::story;
use netfathom_sys::capability;
use netfathom_sys::directory::Directory;

use super::counts::Counts;
use super::exporter::Exporter;
use super::lines;
use super::live::Live;
use super::second::Seconds;
use crate::keep::Keeper;
use crate::output;

/// What a run needs once its programs are attached: its maps, and hooks that are attached later; the sockets of other
/// users' processes, and the lists of them; and to have the kernel count what the programs take.
const NEEDED: [&str; 5] =
    ["CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN"];

/// How a run is shown.
pub enum Medium {
    /// By a line of progress, if at all.
    Progress,
    Terminal(Live),
    /// An object a second; what was counted up to the last one.
    Lines(Counts),
}

pub struct Shown<'a, 'b> {
    pub keeper: &'a mut Keeper<'b>,
    pub medium: Medium,
    /// Lines for who waits until the programs are attached, as a script does.
    pub begun: Vec<String>,
    pub has_begun: bool,
    /// Whether there is a line for what it takes to watch the whole host.
    pub shows_cost: bool,
    pub exporter: Option<Exporter>,
    pub seconds: Seconds,
    pub stop: Arc<AtomicBool>,
    /// The record is to be written now.
    pub asked: Arc<AtomicBool>,
    /// Why what was seen could not be written.
    pub failed: Option<io::Error>,
}

impl Observer<WatchResult> for Shown<'_, '_> {
    fn directory(&self) -> Option<&Directory> {
        Observer::<WatchResult>::directory(self.keeper)
    }

    fn costs(&mut self, so_far: &WatchResult) {
        if let Some(programs) = so_far.programs.filter(|_| self.shows_cost) {
            output::aside(&cost(&programs, so_far.plan.budget));
        }
    }

    fn warns(&mut self, why: &dyn Error) {
        // It would be drawn over the view; the tables at the end have it.
        if !matches!(self.medium, Medium::Terminal(_)) {
            let text = format!("netfathom: {why}; the run goes on without the sockets that it has now");
            self.keeper.progress.aside(&text);
        }
    }

    fn begins(&mut self, step: Step, live: &Arc<observer::Live>) {
        if !mem::replace(&mut self.has_begun, true)
            && let Err(error) = capability::keep_only(&NEEDED)
        {
            output::complain(&error.into());
        }
        mem::take(&mut self.begun).iter().for_each(|line| output::aside(line));
        // A line of progress would be drawn over the view.
        if matches!(self.medium, Medium::Progress) {
            Observer::<WatchResult>::begins(self.keeper, step, live);
        }
    }

    fn keep(&mut self, so_far: &Progressed<WatchResult>) -> io::Result<()> {
        self.keeper.keep(so_far)?;
        self.failed.take().map_or(Ok(()), Err)
    }

    fn is_asked(&mut self) -> bool {
        self.asked.swap(false, Relaxed)
    }

    fn looks(&self) -> bool {
        self.exporter.is_some() || !matches!(self.medium, Medium::Progress)
    }

    fn shows(&mut self, so_far: &WatchResult) {
        let whole = LazyCell::new(|| Arc::new(Measurement::from(so_far.clone())));
        if let Some(exporter) = &self.exporter {
            exporter.set(Arc::clone(&whole));
        }
        match &mut self.medium {
            Medium::Progress => {}
            Medium::Terminal(live) => {
                if let Some(second) = self.seconds.next(so_far) {
                    live.add(second, story::answer(&whole, &Verdict::default()));
                }
            }
            Medium::Lines(counts) => {
                if let Some(second) = self.seconds.next(so_far) {
                    let line = lines::line(&second, &counts.next(so_far));
                    self.write(&line);
                }
            }
        }
    }
}

impl Shown<'_, '_> {
    fn write(&mut self, line: &str) {
        let mut out = io::stdout().lock();
        if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
            self.stop.store(true, Relaxed);
            // Whoever read them has had enough.
            let is_lost = error.kind() != io::ErrorKind::BrokenPipe;
            let why = format!("cannot write to standard output: {error}");
            self.failed = is_lost.then(|| io::Error::new(error.kind(), why));
        }
    }
}

/// Of the whole host.
fn cost(programs: &WatchPrograms, budget: Option<f64>) -> String {
    let runs = programs.runs as f64 * 1e9 / programs.sampled_ns.max(1) as f64;
    let remedy = if budget.is_some() { "" } else { "; --budget limits it" };
    format!(
        "watching the whole host takes at least {} of one CPU: in a sample of {} its BPF programs ran {} times a second{remedy}",
        print::percent(programs.share()),
        print::time(programs.sampled_ns as f64),
        print::count(runs as u64),
    )
}
