//! `netfathom watch`: where the messages of a running application spend their time, from the link layer to its read, and
//! from its call that sends to the device.
//!
//! [`run`] is the map: the kernel programs (`netfathom_bpf::watch`) follow sockets and sum; meanwhile this only finds
//! the sockets of a process, and keeps the two clocks together.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_bpf::SetError;
use netfathom_bpf::run_time::Counting;
use netfathom_bpf::watch::{Detail, Selection, Watch, WatchError};
use netfathom_model::path::Direction;
use netfathom_model::plan::{WatchPlan, WatchTarget};
use netfathom_model::record::{
    CpuWaits, Distribution, FleetReceived, WatchAccount, WatchPrograms, WatchResult, WatchSend, WatchStage,
    WatchedStage,
};
use netfathom_model::verdict::{Level, Verdict};
use netfathom_stats as stats;
use netfathom_sys::socket::is_udp_port;

use crate::ground::environment;
use crate::ground::error::{Failure, Mistake, RunError};
use crate::ground::observer::{Live, Observer, Progressed, Step};

mod budget;
mod container;
mod findings;
mod host;
mod judge;
mod members;
mod process;
mod slow;

use budget::Budget;
pub use host::HostCost;
use process::Watched;

/// How often new sockets are sought and clocks are read.
const TICK: Duration = Duration::from_secs(1);
/// For how much of that the kernel counts what the programs take.
const COUNTED: Duration = Duration::from_millis(50);
/// Single sockets in the record, at most.
const MOST_SOCKETS: usize = 20;

/// Holders of the CPU in the record, at most.
const MOST_HOLDERS: usize = 16;

/// Why an application cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchRunError {
    #[error("{0}")]
    Programs(#[from] WatchError),
    #[error("cannot watch process {pid}: {source}{}", remedy(.source))]
    Process { pid: u32, source: io::Error },
    #[error("cannot watch {what}: {why}")]
    Target { what: String, why: String },
    #[error(
        "cannot keep to a budget: the kernel does not count what programs take: {0}; run as root, or give the program CAP_SYS_ADMIN"
    )]
    Budget(io::Error),
}

impl From<SetError> for WatchRunError {
    fn from(error: SetError) -> Self {
        WatchError::from(error).into()
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; `ss -tlpn` lists the processes that listen",
        io::ErrorKind::PermissionDenied => "; its sockets need CAP_SYS_PTRACE; --port needs no process",
        _ => "",
    }
}

impl Failure for WatchRunError {
    fn mistake(&self) -> Option<Mistake> {
        let named = match self {
            Self::Programs(_) | Self::Budget(_) => false,
            Self::Process { source, .. } => source.kind() == io::ErrorKind::NotFound,
            Self::Target { .. } => true,
        };
        named.then_some(Mistake::Named)
    }
}

/// Watches until the time is up, the process has ended or `stop` is set.
///
/// # Errors
/// If there is no such process, or the kernel refuses its programs.
pub fn run(
    plan: &WatchPlan,
    observer: &mut impl Observer<WatchResult>,
    stop: &AtomicBool,
) -> Result<Progressed<WatchResult>, RunError> {
    let mut process = Watched::open(&plan.target)?;
    let mut progressed =
        Progressed::new(environment::read(Vec::new(), Vec::new(), None), nothing(plan, process.as_ref()));
    // What is left of a run that is killed before it is written again.
    progressed.verdict.lower(Level::Void, "written before messages were watched");
    observer.keep(&progressed)?;
    let budget = plan.budget.map(Budget::new).transpose()?;
    let detail = Detail {
        by_socket: plan.by_socket,
        slow: plan.slow.is_some(),
        samples: budget.is_some(),
        unix: plan.follows_unix(),
    };
    let mut watch = Watch::attach(selection(plan), &plan.directions, detail).map_err(WatchRunError::from)?;
    let started = Instant::now();
    progressed.result.slow = slow::nothing(plan);
    look_on(&mut watch, budget, process.as_mut(), &mut progressed, (observer, stop))?;
    watch.detach();
    progressed.result.watched_ns = started.elapsed().as_nanos() as u64;
    sum_up(&mut watch, process.as_ref(), &mut progressed).map_err(WatchRunError::from)?;
    progressed.verdict = judge::verdict(&progressed.result);
    observer.keep(&progressed)?;
    Ok(progressed)
}

/// As far as `stack` allows it.
const MOST_MOVED_NS: u64 = 1000;

/// What comes to a UDP port of this host, seen as a part of another measurement.
pub struct Incoming(Watch);

impl Incoming {
    /// Watches a socket of UDP from now on, which a thread reads that this process makes later.
    ///
    /// # Errors
    /// Why it cannot be seen, such as a missing privilege or an old kernel.
    pub fn watch(socket: &impl AsFd) -> Result<Self, String> {
        let attached = Watch::attach(Selection::Marked, &[Direction::Rx], Detail::default());
        let mut watch = attached.map_err(|e| e.to_string())?;
        watch.follow_own_threads();
        watch.mark_datagrams(socket).map_err(|e| e.to_string())?;
        if !watch.follows_datagrams() {
            return Err("the kernel does not show messages over UDP: Linux 6.3".into());
        }
        watch.set_clock();
        Ok(Self(watch))
    }

    /// What came since.
    ///
    /// # Errors
    /// What the kernel refused; that the clocks of packets and programs moved apart meanwhile, and the times with them.
    pub fn received(&self) -> Result<FleetReceived, String> {
        let moved_ns = self.0.set_clock().unsigned_abs();
        if moved_ns > MOST_MOVED_NS {
            return Err(format!("the wall clock moved by {moved_ns} ns meanwhile, and so did the times"));
        }
        let read = || {
            let account = self.0.account()?;
            let (seen, timed) = (account.seen, account.timed);
            let (total, stages) = (distribution(&self.0.total()?), stages(&self.0, Direction::Rx)?);
            Ok(FleetReceived { total, stages, seen, timed, account: Some(account) })
        };
        read().map_err(|e: WatchError| e.to_string())
    }
}

fn selection(plan: &WatchPlan) -> Selection {
    match plan.target {
        WatchTarget::All => Selection::All,
        WatchTarget::Port(port) => Selection::Port(port),
        WatchTarget::Flow { local, peer } => Selection::Flow(local, peer),
        _ => Selection::Marked,
    }
}

fn port(plan: &WatchPlan) -> Option<u16> {
    match selection(plan) {
        Selection::Marked | Selection::All => None,
        Selection::Port(port) => Some(port),
        Selection::Flow(local, _) => Some(local.port()),
    }
}

fn nothing(plan: &WatchPlan, process: Option<&Watched>) -> WatchResult {
    WatchResult {
        plan: plan.clone(),
        reader: process.map(Watched::first),
        watched_ns: 0,
        total: distribution(&stats::Distribution::new(netfathom_bpf::stack::GRAIN)),
        stages: Vec::new(),
        application: None,
        answer: None,
        waits: CpuWaits::default(),
        account: WatchAccount::default(),
        send: None,
        datagrams: false,
        sockets: Vec::new(),
        other_sockets: None,
        slow: None,
        clock_moved_ns: 0,
        programs: None,
        sampling: None,
        unmarked: 0,
        late: 0,
        drops: Vec::new(),
    }
}

fn distribution(times: &stats::Distribution) -> Distribution {
    times.into()
}

/// While the programs work.
fn look_on(
    watch: &mut Watch,
    mut budget: Option<Budget>,
    mut process: Option<&mut Watched>,
    progressed: &mut Progressed<WatchResult>,
    (observer, stop): (&mut impl Observer<WatchResult>, &AtomicBool),
) -> Result<(), RunError> {
    let plan = &progressed.result.plan.clone();
    let (mut shown_ns, mut written) = (None, slow::Written::default());
    let end = plan.time_ns.and_then(|ns| Instant::now().checked_add(Duration::from_nanos(ns)));
    let (live, started) = (Arc::new(Live::default()), Instant::now());
    loop {
        let result = &mut progressed.result;
        let live_on = process.as_deref_mut().map(|process| process.mark(watch)).transpose()?;
        let has_udp = || plan.target == WatchTarget::All || port(plan).is_some_and(is_udp_port);
        if !watch.has_datagrams() && has_udp() {
            // What it sends is seen from the first message on.
            result.late = u64::from(started.elapsed() > TICK && plan.watches(Direction::Rx));
            watch.follow_datagrams().map_err(WatchRunError::from)?;
        }
        if let Some(slow) = &mut result.slow {
            slow::set(watch, plan, slow).map_err(WatchRunError::from)?;
        }
        let seen = seen(watch).map_err(WatchRunError::from)?;
        observer.begins(Step { name: format!("{seen} messages"), number: 1, of: 1 }, &live);
        result.watched_ns = started.elapsed().as_nanos() as u64;
        let followed_ns = Some(result.followed_ns());
        if (plan.by_socket || observer.looks()) && shown_ns != followed_ns {
            shown_ns = followed_ns;
            read(watch, result).map_err(WatchRunError::from)?;
            observer.shows(result);
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let tick = left.unwrap_or(TICK).min(TICK);
        let wait = |time| process::wait(process.as_deref(), time, stop);
        let ended = if let Some(budget) = &mut budget {
            budget.tick(watch, result, tick, wait)?
        } else if let Some(counting) = is_counted(watch, result).then(Counting::start).and_then(Result::ok) {
            let first = COUNTED.min(tick);
            let (ended, programs) = counted(watch, &counting, || wait(first))?;
            drop(counting);
            result.programs.get_or_insert_default().add(&programs);
            ended || wait(tick - first)?
        } else {
            wait(tick)?
        };
        let moved = watch.set_clock().unsigned_abs();
        result.clock_moved_ns = result.clock_moved_ns.max(moved);
        let time_is_up = left.is_some_and(|left| left <= TICK);
        if let Some(slow) = &mut result.slow {
            slow::take(watch, slow).map_err(WatchRunError::from)?;
        }
        let is_enough = slow::is_enough(plan, result.slow.as_ref());
        if ended || live_on == Some(false) || time_is_up || is_enough || stop.load(Relaxed) {
            if let Some(budget) = &mut budget {
                budget.pass(result);
            }
            return Ok(());
        }
        if written.is_due(result.slow.as_ref(), Instant::now()) | observer.is_asked() {
            result.watched_ns = started.elapsed().as_nanos() as u64;
            sum_up(watch, process.as_deref(), progressed).map_err(WatchRunError::from)?;
            progressed.verdict = unfinished();
            // What cannot be written now may be at the end, which fails otherwise.
            let _ = observer.keep(progressed);
        }
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

/// Whether the process ended in a wait, and what the programs took meanwhile.
fn counted(
    watch: &Watch,
    _counting: &Counting,
    wait: impl FnOnce() -> io::Result<bool>,
) -> Result<(bool, WatchPrograms), RunError> {
    let now = || Ok::<_, RunError>((watch.run_time()?, seen(watch).map_err(WatchRunError::from)?));
    let (since, (before, seen_before)) = (Instant::now(), now()?);
    let ended = wait()?;
    let (after, seen) = now()?;
    let took = after - before;
    let programs = WatchPrograms {
        sampled_ns: since.elapsed().as_nanos() as u64,
        messages: seen - seen_before,
        runs: took.runs,
        ns: took.ns,
    };
    Ok((ended, programs))
}

fn seen(watch: &Watch) -> Result<u64, WatchError> {
    Ok(watch.account()?.seen + watch.send_account()?.seen)
}

/// All that there is, and what it shows.
fn sum_up(
    watch: &mut Watch,
    process: Option<&Watched>,
    progressed: &mut Progressed<WatchResult>,
) -> Result<(), WatchError> {
    let result = &mut progressed.result;
    read(watch, result)?;
    result.keep_sockets(MOST_SOCKETS);
    result.datagrams = watch.follows_datagrams();
    if let Some(process) = process {
        (result.unmarked, result.late) = (process.unmarked, process.late);
    }
    progressed.findings = findings::findings(result, process.and_then(Watched::receiver));
    Ok(())
}

/// What the programs summed.
fn read(watch: &mut Watch, result: &mut WatchResult) -> Result<(), WatchError> {
    result.reader = watch.reader().or(result.reader.take());
    if let Some(slow) = &mut result.slow {
        slow::take(watch, slow)?;
    }
    if result.plan.by_socket {
        let sockets = watch.sockets()?;
        (result.sockets, result.other_sockets) = (sockets.each, Some(sockets.others));
    }
    if result.plan.watches(Direction::Tx) {
        result.send = Some(WatchSend {
            total: distribution(&watch.send_total()?),
            stages: stages(watch, Direction::Tx)?,
            acknowledged: distribution(&watch.acknowledged()?),
            account: watch.send_account()?,
            datagram_calls: watch.sees_datagram_calls(),
        });
    }
    if result.plan.watches(Direction::Rx) {
        result.stages = stages(watch, Direction::Rx)?;
        result.total = distribution(&watch.total()?);
        result.application = watch.application()?.as_ref().map(distribution);
        result.answer = watch.answer()?.as_ref().map(distribution);
        result.account = watch.account()?;
        result.waits = watch.waits()?;
        result.waits.keep(MOST_HOLDERS);
    }
    result.drops = watch.drops()?;
    Ok(())
}

fn stages(watch: &Watch, direction: Direction) -> Result<Vec<WatchedStage>, WatchError> {
    let stage = |&stage| Ok(WatchedStage { stage, times: distribution(&watch.stage(stage)?) });
    WatchStage::of(direction).iter().map(stage).collect()
}
