//! The loop of a run. Each tick has four parts: it marks new sockets, shows what there is, waits, and saves the record
//! where that is due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_bpf::run_time::Counting;
use netfathom_bpf::watch::Watch;
use netfathom_model::path::Direction;
use netfathom_model::plan::{WatchPlan, WatchTarget};
use netfathom_model::record::WatchResult;
use netfathom_model::verdict::{Level, Verdict};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::{is_udp_port, listening_ports};

use super::budget::Budget;
use super::findings::faults::{self, Faults};
use super::process::{self, Watched};
use super::{WatchRunError, counted, findings, look_at_user, read, seen, slow, unread};
use crate::ground::error::RunError;
use crate::ground::observer::{Live, Observer, Progressed, Step};

/// How often new sockets are sought and clocks are read.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// For how much of that the kernel counts what the programs take.
const COUNTED: Duration = Duration::from_millis(50);
/// For so long a run of the whole host goes on before it shows what the programs took. A sample within a budget fits in.
const WEIGHED: Duration = Duration::from_millis(250);
/// Single sockets in the record, at most, and names of processes.
const MOST_SOCKETS: usize = 20;

/// A run, from when its programs are attached.
pub(super) struct Run<'a, O> {
    pub plan: &'a WatchPlan,
    pub watch: Watch,
    pub budget: Option<Budget>,
    pub process: Option<Watched>,
    pub progressed: Progressed<WatchResult>,
    pub observer: &'a mut O,
    pub stop: &'a AtomicBool,
    pub started: Instant,
    /// How long messages had been followed when the sums were shown last.
    pub shown_ns: Option<u64>,
    /// Of all processes, when it began.
    pub faults: Faults,
}

impl<O: Observer<WatchResult>> Run<'_, O> {
    /// Until the time is up, no process is left, there are enough slow messages or `stop` is set. True if no process was left
    /// before the time was up.
    pub fn follow(&mut self) -> Result<bool, RunError> {
        let end = self.plan.time_ns.and_then(|ns| Instant::now().checked_add(Duration::from_nanos(ns)));
        let (live, mut written) = (Arc::new(Live::default()), slow::Written::default());
        if self.plan.target == WatchTarget::All {
            self.weigh()?;
        }
        let are_gone = loop {
            let lives = self.mark()?;
            self.show(&live)?;
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let ended = self.wait(left.unwrap_or(TICK).min(TICK))?;
            self.take()?;
            let time_is_up = left.is_some_and(|left| left <= TICK);
            let is_enough = slow::is_enough(self.plan, self.progressed.result.slow.as_ref());
            if ended || !lives || time_is_up || is_enough || self.stop.load(Relaxed) {
                break (ended || !lives) && !is_enough;
            }
            self.save(&mut written)?;
        };
        let is_cut = !self.stop.load(Relaxed) && end.is_none_or(|end| Instant::now() < end);
        if let Some(budget) = &mut self.budget {
            budget.pass(&mut self.progressed.result);
        }
        // Without the time that it takes to detach the programs.
        self.pass();
        Ok(are_gone && is_cut)
    }

    /// Has what the programs take counted, and shows it. What they see meanwhile is a part of the run.
    fn weigh(&mut self) -> Result<(), RunError> {
        let limit = self.plan.time_ns.map_or(WEIGHED, Duration::from_nanos);
        self.mark()?;
        self.look()?;
        self.wait(WEIGHED.min(limit))?;
        self.observer.costs(&self.progressed.result);
        Ok(())
    }

    /// Marks new sockets, and sets the bound of slow messages. False if no process is left.
    fn mark(&mut self) -> Result<bool, WatchRunError> {
        let lives = self.process.as_mut().map_or(Ok(true), |process| process.mark(&mut self.watch))?;
        if let Some(why) = self.process.as_mut().and_then(Watched::warning) {
            self.observer.warns(why);
        }
        let result = &mut self.progressed.result;
        result.reader = result.reader.take().or_else(|| self.process.as_ref().and_then(Watched::first));
        if !self.watch.has_datagrams() && has_udp(self.plan, &self.watch) {
            // What it sends is seen from the first message on. A server of TCP that has gone leaves none of UDP.
            let is_late = self.started.elapsed() > TICK && self.plan.watches(Direction::Rx);
            result.late = u64::from(is_late && is_target_udp(self.plan));
            result.late_looks = result.late;
            self.watch.follow_datagrams()?;
        }
        if let Some(process) = &mut self.process {
            (result.unmarked, result.late) = (process.unmarked, process.late);
            result.late_looks = process.late_looks;
            result.found = Some(process.found());
            result.same_host = process.stays_here();
        }
        if let Some(slow) = &mut result.slow {
            slow::set(&self.watch, self.plan, slow)?;
        }
        Ok(lives)
    }

    /// Shows how many messages were seen and, if anyone looks, the sums.
    fn show(&mut self, live: &Arc<Live>) -> Result<(), WatchRunError> {
        let seen = seen(&self.watch)?;
        self.observer.begins(Step { name: format!("{seen} messages"), number: 1, of: 1 }, live);
        self.look()
    }

    /// The run went on until now.
    fn pass(&mut self) {
        self.progressed.result.watched_ns = self.started.elapsed().as_nanos() as u64;
    }

    fn look(&mut self) -> Result<(), WatchRunError> {
        self.pass();
        self.look_at_sums()
    }

    /// Reads the sums, if anyone looks and they may have changed.
    pub fn look_at_sums(&mut self) -> Result<(), WatchRunError> {
        let result = &mut self.progressed.result;
        let followed_ns = Some(result.followed_ns());
        if (self.plan.sums_sockets() || self.observer.looks()) && self.shown_ns != followed_ns {
            self.shown_ns = followed_ns;
            read(&mut self.watch, result)?;
            self.observer.shows(result);
        }
        Ok(())
    }

    /// Waits for so long, and has what the programs take counted meanwhile. True if the process has ended.
    fn wait(&mut self, tick: Duration) -> Result<bool, RunError> {
        let result = &mut self.progressed.result;
        let wait = |time| process::wait(self.process.as_ref(), time, self.stop);
        if let Some(budget) = &mut self.budget {
            return budget.tick(&mut self.watch, result, tick, wait);
        }
        let counting = is_counted(&self.watch, result).then(Counting::start).and_then(Result::ok);
        let Some(counting) = counting else { return Ok(wait(tick)?) };
        let first = COUNTED.min(tick);
        let (ended, programs) = counted(&self.watch, &counting, || wait(first))?;
        drop(counting);
        result.programs.get_or_insert_default().add(&programs);
        Ok(ended || wait(tick - first)?)
    }

    /// Takes how far the clocks moved since the last tick, who used a socket, and the slow messages that ended.
    fn take(&mut self) -> Result<(), WatchRunError> {
        let result = &mut self.progressed.result;
        let moved = self.watch.set_clock().unsigned_abs();
        result.clock_moved_ns = result.clock_moved_ns.max(moved);
        look_at_user(&self.watch, result);
        if let Some(slow) = &mut result.slow {
            slow::take(&self.watch, slow)?;
        }
        Ok(())
    }

    /// Saves the record if it has other slow messages, or if anyone asks.
    fn save(&mut self, written: &mut slow::Written) -> Result<(), WatchRunError> {
        let is_due = written.is_due(self.progressed.result.slow.as_ref(), Instant::now());
        if is_due | self.observer.is_asked() {
            self.pass();
            self.conclude()?;
            self.progressed.verdict = unfinished();
            // What cannot be written now may be at the end, which fails otherwise.
            let _ = self.observer.keep(&self.progressed);
        }
        Ok(())
    }

    /// All that the programs summed, and the findings.
    pub fn conclude(&mut self) -> Result<(), WatchRunError> {
        let result = &mut self.progressed.result;
        read(&mut self.watch, result)?;
        result.keep_most(MOST_SOCKETS);
        result.datagrams = self.watch.follows_datagrams();
        if self.plan.watches(Direction::Rx) && result.sampling.is_none() {
            let pids = self.process.as_ref().map(Watched::pids);
            let began_ns = monotonic_ns().saturating_sub(self.started.elapsed().as_nanos() as u64);
            result.unread = unread::find(&self.watch, pids, began_ns.saturating_add(result.watched_ns));
            unread::name(result);
        }
        let receiver = self.process.as_ref().and_then(Watched::receiver);
        self.progressed.findings = findings::findings(result, receiver);
        self.progressed.findings.extend(faults::faults(result, &self.faults));
        let denied = self.process.as_ref().and_then(|process| process.denied.as_ref());
        self.progressed.findings.extend(denied.map(findings::denied));
        Ok(())
    }
}

fn has_udp(plan: &WatchPlan, watch: &Watch) -> bool {
    // Without a server here it may be one of another network namespace.
    let is_elsewhere =
        || matches!(plan.target, WatchTarget::Port(port) if !listening_ports("self").contains(&port));
    is_target_udp(plan) || watch.sees_datagram_calls().is_some() || is_elsewhere()
}

fn is_target_udp(plan: &WatchPlan) -> bool {
    match plan.target {
        WatchTarget::All => true,
        WatchTarget::Port(port) => is_udp_port(port),
        WatchTarget::Flow { local, .. } => is_udp_port(local.port()),
        _ => false,
    }
}

/// While messages end, sums that are read one after the other do not add up: the rules of a whole run are not for them.
fn unfinished() -> Verdict {
    let mut verdict = Verdict::default();
    let why = "written during the run: messages that ended meanwhile are in some of the sums alone";
    verdict.lower(Level::Degraded, why);
    verdict
}

/// The kernel changes its own code to begin and to end it, on all CPUs, which makes messages slow: where those are sought,
/// once with messages is enough.
fn is_counted(watch: &Watch, result: &WatchResult) -> bool {
    result.slow.is_none()
        || result.programs.as_ref().is_none_or(|programs| programs.messages == 0)
            && seen(watch).is_ok_and(|seen| seen > 0)
}
