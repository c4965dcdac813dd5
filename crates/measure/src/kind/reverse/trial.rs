//! One trial: full load out, and in the middle of it load in.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_bpf::stack::{Hooks, StackTap, Target, TxResult};
use netfathom_model::path::Direction;
use netfathom_model::plan::{ReversePlan, Spin, Variant};
use netfathom_model::record::{self, LoadThread};
use netfathom_sys::cpu;
use netfathom_sys::socket::drops;

use super::edges::{Edge, WatchedSender};
use super::inbound::{Draining, Echo, WindowCounts, read};
use super::phases::{self, Phases};
use super::run_in;
use super::sockets::Sockets;
use crate::ground::error::GroundError;
use crate::ground::lab::Lab;
use crate::ground::observer::Live;
use crate::ground::rig::{Rig, SideCounters};
use crate::load::contention::Contention;
use crate::load::engine::{Send, Sendmmsg};
use crate::load::error::FlightError;
use crate::load::flight::{spawn, windows_from_now};
use crate::load::sender::{self, send_all};
use crate::load::sent::Sent;
use crate::load::window::Windows;
use crate::tap::error::TapError;

/// More than any sender sends in one trial.
pub const FLAT_OUT_MESSAGES: usize = 1 << 32;
/// The sender's thread stays until the last edge was read, but no longer than this.
const STAY: Duration = Duration::from_secs(1);
/// What a processor still has to take through the protocols when the last message has left.
const SETTLE: Duration = Duration::from_millis(20);

pub struct ReverseTask<'a> {
    pub plan: &'a ReversePlan,
    pub rig: &'a Rig,
    pub lab: &'a Lab,
    pub variant: Variant,
    /// The processors of the sender and of the far end.
    pub cpus: (usize, usize),
    pub tapped: bool,
    /// The number of the outgoing messages; the next one is that of the incoming.
    pub flow: u32,
    pub stop: &'a AtomicBool,
    pub live: &'a Live,
    pub contention: Option<&'a Contention>,
}

/// The outcome of a trial, before it is judged.
pub struct ReverseOutcome {
    pub phases: Phases,
    pub sent: Sent,
    /// Who had the sender's processor.
    pub contention: Option<record::Contention>,
    pub inbound: Inbound,
    /// What an application of this host read; `None` without a reader.
    pub read: Option<WindowCounts>,
    /// Messages that the socket on this host had no room for.
    pub overflowed: u64,
    /// What was counted at the edges of the parts; all of them, unless the trial was stopped.
    pub edges: Vec<Edge>,
    /// Stack times, where they were taken.
    pub stack: Option<TxResult>,
    pub counted: SideCounters,
}

pub struct Inbound {
    pub sent: u64,
    /// Those that the plan wants; `None` of answers, which nothing plans.
    pub planned: Option<u64>,
    /// Departures by window; `None` of answers.
    pub windows: Option<Vec<u64>>,
}

/// What the threads of a trial tell each other.
#[derive(Default)]
struct Signals {
    /// The sender's thread, once it runs.
    thread: AtomicU32,
    watched: AtomicBool,
    ended: AtomicBool,
    /// Nothing here makes senders give up early but the user.
    gone: AtomicBool,
}

struct Flight<'a> {
    task: &'a ReverseTask<'a>,
    sockets: &'a Sockets,
    phases: Phases,
    signals: Signals,
}

impl ReverseTask<'_> {
    fn inbound_flow(&self) -> u32 {
        self.flow.wrapping_add(1)
    }

    pub fn run(&self) -> Result<ReverseOutcome, TapError> {
        let sockets = Sockets::open(self.rig, self.lab, self.plan, self.variant)?;
        let duration_ns = self.plan.duration_ns;
        let shift = Windows::shift_for(duration_ns);
        let target = Target { flow: self.flow, reader_cookie: 0, window_shift: shift, stream: None };
        let tap =
            self.tapped.then(|| StackTap::load(Hooks::Tracepoints, &[Direction::Tx], target)).transpose()?;
        run_in::run(self, &sockets)?;
        let before = self.rig.counters()?;
        let dropped_before = drops(&sockets.inbound).map_err(GroundError::Socket)?;
        let windows = windows_from_now(duration_ns);
        tap.iter().for_each(|tap| tap.start(windows.start_ns));
        let phases = Phases { duration_ns, windows };
        let flight = Flight { task: self, sockets: &sockets, phases, signals: Signals::default() };
        let flown = flight.run()?;
        thread::sleep(SETTLE);
        let dropped = drops(&sockets.inbound).map_err(GroundError::Socket)?;
        Ok(ReverseOutcome {
            phases,
            sent: flown.sent,
            contention: flown.contention,
            inbound: flown.inbound,
            read: flown.read,
            overflowed: dropped.wrapping_sub(dropped_before).into(),
            edges: flown.edges,
            stack: tap.map(|tap| tap.tx_sums()).transpose()?,
            counted: self.rig.counted_since(&before)?,
        })
    }
}

struct Flown {
    sent: Sent,
    contention: Option<record::Contention>,
    inbound: Inbound,
    read: Option<WindowCounts>,
    edges: Vec<Edge>,
}

/// What the sender did, what it read, and who had its processor.
type Sending = (Sent, Option<WindowCounts>, Option<record::Contention>);

impl Flight<'_> {
    /// Runs all threads: the sender on its processor, everything else on the other.
    fn run(&self) -> Result<Flown, FlightError> {
        let (here, there) = self.task.cpus;
        let reads = matches!(self.task.variant, Variant::OtherThread | Variant::Echo);
        thread::scope(|scope| {
            let far = spawn(scope, "far end", || on(there, || self.far_end()));
            let reader = reads.then(|| spawn(scope, "reader", || on(there, || self.read())));
            let watch = spawn(scope, "watch", || {
                let edges = on(there, || self.watch());
                self.signals.watched.store(true, Relaxed);
                edges
            });
            let sender = spawn(scope, "sender", || {
                let sent = on(here, || self.send());
                self.signals.ended.store(true, Relaxed);
                sent
            });
            let sent = joined(sender, "sender");
            // Also when it could not even be started.
            self.signals.ended.store(true, Relaxed);
            let (inbound, edges) = (joined(far, "far end"), joined(watch, "watch"));
            let by_reader = reader.map(|reader| joined(reader, "reader")).transpose();
            let (sent, by_sender, contention) = sent?;
            Ok(Flown { sent, contention, inbound: inbound?, read: by_sender.or(by_reader?), edges: edges? })
        })
    }

    /// The load: as fast as one thread sends. Returns what it read as well, if it is to.
    fn send(&self) -> Result<Sending, FlightError> {
        self.signals.thread.store(cpu::thread_id(), Relaxed);
        let end_ns = self.phases.windows.start_ns + self.phases.duration_ns;
        let task = self.sending(self.task.flow, end_ns, Spin::Auto, self.task.live);
        let engine = Send::new(cloned(&self.sockets.sender)?, self.task.plan.size_bytes);
        let departures = std::iter::repeat_n(0, FLAT_OUT_MESSAGES);
        let observed = self.task.contention.and_then(|contention| contention.observe(self.task.cpus.0));
        let (sent, read) = if self.task.variant == Variant::SameThread {
            let mut engine = Draining::new(engine, &self.sockets.inbound, self.counts());
            (send_all(&task, departures, &mut engine, &mut ()), Some(engine.counts))
        } else {
            let mut engine = engine;
            (send_all(&task, departures, &mut engine, &mut ()), None)
        };
        let contention = observed.as_ref().and_then(|observed| observed.account(LoadThread::Sender));
        self.stay();
        Ok((sent, read, contention))
    }

    /// What the scheduler knows of a thread is gone with it.
    fn stay(&self) {
        let since = std::time::Instant::now();
        while !self.signals.watched.load(Relaxed) && since.elapsed() < STAY {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn far_end(&self) -> Result<Inbound, FlightError> {
        if self.task.variant == Variant::Echo { self.echo() } else { self.generate() }
    }

    /// Sends what the plan wants, however it fares, and nothing after the end of the peak. It
    /// does not spin: its processor is also that of the reader.
    fn generate(&self) -> Result<Inbound, FlightError> {
        let profile = phases::inbound(self.task.plan);
        let on = self.phases.inbound_ns();
        let live = Live::default();
        let task = self.sending(self.task.inbound_flow(), on.end, Spin::Never, &live);
        let from_start_ns = on.start - self.phases.windows.start_ns;
        let departures = profile.schedule(0).map(|due_ns| from_start_ns + due_ns);
        let mut engine = Sendmmsg::new(cloned(&self.sockets.generator)?, self.task.plan.size_bytes);
        let sent = send_all(&task, departures, &mut engine, &mut ());
        let windows = sent.lag.windows.iter().map(|window| window.n).collect();
        Ok(Inbound { sent: sent.accepted, planned: Some(profile.messages()), windows: Some(windows) })
    }

    fn echo(&self) -> Result<Inbound, FlightError> {
        let echo = Echo {
            socket: &self.sockets.generator,
            flow: self.task.flow,
            answer_flow: self.task.inbound_flow(),
            size: self.task.plan.size_bytes,
            phases: self.phases,
        };
        let sent = echo.answer(&self.signals.ended).map_err(FlightError::Receive)?;
        Ok(Inbound { sent, planned: None, windows: None })
    }

    fn read(&self) -> Result<WindowCounts, FlightError> {
        read(&self.sockets.inbound, self.counts(), &self.signals.ended).map_err(FlightError::Receive)
    }

    fn watch(&self) -> Result<Vec<Edge>, FlightError> {
        let Self { task, phases, signals, .. } = self;
        let watch = WatchedSender {
            rig: task.rig,
            cpu: task.cpus.0,
            thread: &signals.thread,
            phases: *phases,
            ended: &signals.ended,
        };
        watch.edges()
    }

    fn counts(&self) -> WindowCounts {
        WindowCounts::new(self.phases, self.task.inbound_flow())
    }

    fn sending<'t>(
        &'t self,
        flow: u32,
        deadline_ns: u64,
        spin: Spin,
        live: &'t Live,
    ) -> sender::SenderTask<'t> {
        sender::SenderTask {
            mean_interval_ns: None,
            flow,
            lane: 0,
            lanes: 1,
            windows: self.phases.windows,
            deadline_ns,
            spin,
            stop: self.task.stop,
            gone: &self.signals.gone,
            live,
        }
    }
}

pub fn cloned(socket: &UdpSocket) -> Result<UdpSocket, GroundError> {
    socket.try_clone().map_err(GroundError::Socket)
}

/// Runs `work` on a processor.
pub fn on<T>(cpu: usize, work: impl FnOnce() -> Result<T, FlightError>) -> Result<T, FlightError> {
    cpu::pin(cpu)?;
    work()
}

pub fn joined<T>(
    thread: Result<thread::ScopedJoinHandle<'_, Result<T, FlightError>>, FlightError>,
    name: &'static str,
) -> Result<T, FlightError> {
    thread?.join().unwrap_or(Err(FlightError::Thread(name)))
}
