//! `netfathom watch`: where the messages of a running application spend their time, from the link layer to its read, and
//! from its call that sends to the device.
//!
//! [`run`] is the map: the kernel programs (`netfathom_bpf::watch`) follow sockets and sum; meanwhile this only finds
//! the sockets of a process, and keeps the two clocks together.
//!
//! `follow` is the loop. `process` marks sockets, `members` and `container` have the processes of a target. `budget` attaches
//! the programs in samples, `slow` sets the bound of single messages. `unread` finds sockets that no thread reads. `judge` makes
//! the verdict, `findings` the remedies.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use netfathom_bpf::SetError;
use netfathom_bpf::run_time::Counting;
use netfathom_bpf::watch::{Detail, Selection, Watch, WatchError};
use netfathom_model::path::Direction;
use netfathom_model::plan::{WatchPlan, WatchTarget};
use netfathom_model::record::{
    CpuWaits, FleetReceived, WatchAccount, WatchPrograms, WatchResult, WatchSampling, WatchSend, WatchSpread,
    WatchStage, WatchUser, WatchedStage,
};
use netfathom_model::verdict::Level;
use netfathom_stats as stats;

use crate::ground::environment;
use crate::ground::error::{Failure, Mistake, RunError};
use crate::ground::observer::{Observer, Progressed};

mod budget;
mod container;
mod findings;
mod follow;
mod judge;
mod members;
mod process;
mod slow;
mod unread;

use budget::Budget;
use follow::Run;
use process::Watched;

/// Why an application cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchRunError {
    #[error("{0}")]
    Programs(#[from] WatchError),
    #[error("cannot watch process {pid}: {source}{}", remedy(.source))]
    Process { pid: u32, source: io::Error },
    #[error("cannot read /proc/self: {0}; is /proc mounted?")]
    Proc(io::Error),
    #[error(
        "cannot look up processes: /proc is that of another PID namespace; run netfathom in that one, or mount its own (unshare --mount-proc)"
    )]
    OtherProc,
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
        io::ErrorKind::NotFound => "; `ps -eo pid,comm` lists processes",
        io::ErrorKind::PermissionDenied => "; its sockets need CAP_SYS_PTRACE; --port needs no process",
        _ => "",
    }
}

impl Failure for WatchRunError {
    fn mistake(&self) -> Option<Mistake> {
        let named = match self {
            Self::Programs(_) | Self::Proc(_) | Self::OtherProc | Self::Budget(_) => false,
            Self::Process { source, .. } => source.kind() == io::ErrorKind::NotFound,
            Self::Target { .. } => true,
        };
        named.then_some(Mistake::Named)
    }
}

/// Watches until the time is up, the process has ended or `stop` is set.
///
/// # Errors
/// If there is no such process and the plan does not await one, or the kernel refuses its programs.
pub fn run(
    plan: &WatchPlan,
    observer: &mut impl Observer<WatchResult>,
    stop: &AtomicBool,
) -> Result<Progressed<WatchResult>, RunError> {
    let process = Watched::open(plan)?;
    let mut progressed =
        Progressed::new(environment::read(Vec::new(), Vec::new(), None), empty(plan, process.as_ref()));
    // What is left of a run that is killed before it is written again.
    progressed.verdict.lower(Level::Void, "written before messages were watched");
    observer.keep(&progressed)?;
    let budget = plan.budget.map(Budget::new).transpose()?;
    let detail = Detail {
        by_socket: plan.sums_sockets(),
        slow: plan.slow.is_some(),
        samples: budget.is_some(),
        unix: plan.follows_unix(),
    };
    let faults = findings::faults::counted(|_| true);
    let watch = Watch::attach(selection(plan), &plan.directions, detail).map_err(WatchRunError::from)?;
    let (started, shown_ns) = (Instant::now(), None);
    let mut run = Run { plan, watch, budget, process, progressed, observer, stop, started, shown_ns, faults };
    run.progressed.result.slow = slow::empty(plan);
    // Before the first sample nothing was followed.
    run.progressed.result.sampling = run.budget.as_ref().map(|_| WatchSampling::default());
    let are_gone = run.follow()?;
    run.watch.detach();
    // What ends while the programs are detached is in the record: the last part of a second has it too.
    run.look_at_sums()?;
    run.conclude()?;
    if are_gone {
        run.progressed.findings.insert(0, findings::ended(&run.progressed.result));
    }
    run.progressed.verdict = judge::verdict(&run.progressed.result);
    run.observer.keep(&run.progressed)?;
    Ok(run.progressed)
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
            let (total, stages) = ((&self.0.total()?).into(), stages(&self.0, Direction::Rx)?);
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

fn empty(plan: &WatchPlan, process: Option<&Watched>) -> WatchResult {
    WatchResult {
        plan: plan.clone(),
        reader: process.and_then(Watched::first),
        watched_ns: 0,
        total: (&stats::Distribution::new(netfathom_bpf::stack::GRAIN)).into(),
        stages: Vec::new(),
        application: None,
        answer: None,
        waits: CpuWaits::default(),
        account: WatchAccount::default(),
        send: None,
        datagrams: false,
        sockets: Vec::new(),
        other_sockets: None,
        processes: Vec::new(),
        slow: None,
        clock_moved_ns: 0,
        programs: None,
        sampling: None,
        users: Vec::new(),
        unmarked: 0,
        late: 0,
        late_looks: 0,
        found: None,
        same_host: matches!(plan.target, WatchTarget::Flow { local, peer } if process::is_here(local, peer)),
        drops: Vec::new(),
        unread: Vec::new(),
    }
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
    let (took, messages) = (after - before, seen - seen_before);
    let programs = WatchPrograms {
        sampled_ns: since.elapsed().as_nanos() as u64,
        messages,
        runs: took.runs,
        ns: took.ns,
        spread: WatchSpread::of(took.ns, messages),
    };
    Ok((ended, programs))
}

fn seen(watch: &Watch) -> Result<u64, WatchError> {
    Ok(watch.account()?.seen + watch.send_account()?.seen)
}

/// Who used a watched socket since the last look. The first of all may have ended at once.
fn look_at_user(watch: &Watch, result: &mut WatchResult) {
    let Some(process) = watch.reader() else { return };
    WatchUser::add(&mut result.users, process);
    result.reader = result.users.first().map(|of| of.process.clone());
}

/// What the programs summed.
fn read(watch: &mut Watch, result: &mut WatchResult) -> Result<(), WatchError> {
    look_at_user(watch, result);
    if let Some(slow) = &mut result.slow {
        slow::take(watch, slow)?;
    }
    if result.plan.sums_sockets() {
        let sockets = watch.sockets()?;
        result.processes = sockets.processes;
        (result.sockets, result.other_sockets) = (sockets.each, Some(sockets.others));
    }
    if result.plan.watches(Direction::Tx) {
        result.send = Some(WatchSend {
            total: (&watch.send_total()?).into(),
            stages: stages(watch, Direction::Tx)?,
            acknowledged: (&watch.acknowledged()?).into(),
            account: watch.send_account()?,
            datagram_calls: watch.sees_datagram_calls(),
        });
    }
    if result.plan.watches(Direction::Rx) {
        result.stages = stages(watch, Direction::Rx)?;
        result.total = (&watch.total()?).into();
        result.application = watch.application()?.as_ref().map(Into::into);
        result.answer = watch.answer()?.as_ref().map(Into::into);
        result.account = watch.account()?;
        result.waits = watch.waits()?;
    }
    result.account.missed_events = watch.missed_events()?;
    result.drops = watch.drops()?;
    Ok(())
}

fn stages(watch: &Watch, direction: Direction) -> Result<Vec<WatchedStage>, WatchError> {
    let stage = |&stage| Ok(WatchedStage { stage, times: (&watch.stage(stage)?).into() });
    WatchStage::of(direction).iter().map(stage).collect()
}
