//! One trial: full load out, and in the middle of it load in.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_bpf::stack::{Hooks, StackTap, Target, TxResult};
use netfathom_model::path::Direction;
use netfathom_model::plan::{ReversePlan, Spin, Variant};
use netfathom_model::record::{self, LoadThread};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu;
use netfathom_sys::socket::drops;
use parking_lot::Mutex;

use super::edges::Edge;
use super::error::ReverseError;
use super::far_end::{FarEnd, Inbound, inbound_flow};
use super::hosts::{Host, SETTLE};
use super::inbound::{Draining, Until, WindowCounts, left, read};
use super::phases::Phases;
use super::protocol;
use super::sockets::Sockets;
use crate::ground::error::GroundError;
use crate::ground::lab::Lab;
use crate::ground::observer::Live;
use crate::ground::rig::{Rig, SideCounters};
use crate::load::contention::Contention;
use crate::load::engine::Send;
use crate::load::error::FlightError;
use crate::load::flight::{flat_out, spawn, windows_from_now};
use crate::load::sender::{SenderPlan, SenderTask, send_all};
use crate::load::sent::Sent;
use crate::load::window::Windows;
use crate::tap::error::TapError;

/// Length of the load before a trial: enough for the scheduler to move other programs from the sender's processor.
const RUN_IN_NS: u64 = 200_000_000;
/// The sender's thread stays until the last edge was read, but no longer than this.
const STAY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy)]
pub struct Bench<'a> {
    pub plan: &'a ReversePlan,
    pub rig: &'a Rig,
    pub far: Far<'a>,
    /// The processors of the sender and of the far end.
    pub cpus: (usize, usize),
    pub tapped: bool,
    /// Whether incoming packets are handled on the sender's processor.
    pub steered: bool,
    pub stop: &'a AtomicBool,
}

impl Bench<'_> {
    /// Whether both ends have work on one processor.
    pub fn shares_processor(&self, variant: Variant) -> bool {
        let reads_here = matches!(variant, Variant::OtherThread | Variant::Echo);
        self.cpus.0 == self.cpus.1 && (matches!(self.far, Far::Lab(_)) || reads_here)
    }
}

pub struct ReverseTask<'a> {
    pub bench: Bench<'a>,
    pub variant: Variant,
    /// The number of the outgoing messages; the next one is that of the incoming.
    pub flow: u32,
    pub live: &'a Live,
    pub contention: Option<&'a Contention>,
}

#[derive(Clone, Copy)]
pub enum Far<'a> {
    Lab(&'a Lab),
    Hosts(&'a [Host<'a>]),
}

/// The outcome of a trial, before it is judged.
pub struct ReverseOutcome {
    pub phases: Phases,
    pub sent: Sent,
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
    /// Who had the processors of the threads.
    pub contention: Vec<record::Contention>,
    /// Of hosts.
    pub between: Option<Between>,
}

/// What is known of messages between hosts that was not counted at the far end.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    /// Inbound messages that no thread of this host read.
    pub left: u64,
    pub round_trip: Duration,
}

#[derive(Default)]
pub struct Signals {
    /// The sender's thread, once it runs.
    pub thread: AtomicU32,
    watched: AtomicBool,
    /// The sender is gone, whatever the time is.
    pub ended: AtomicBool,
    /// The far end has ended too.
    landed: AtomicBool,
    /// Messages that were sent, once the load is over.
    sent: AtomicU64,
    /// The far end was lost: nothing else makes senders give up early but the user.
    gone: AtomicBool,
}

pub struct Flight<'a> {
    pub task: &'a ReverseTask<'a>,
    sockets: &'a Sockets,
    /// What each of the other hosts does.
    trials: &'a [protocol::Trial],
    pub phases: Phases,
    pub signals: Signals,
    contention: Mutex<Vec<record::Contention>>,
}

impl ReverseTask<'_> {
    pub fn run(&self) -> Result<ReverseOutcome, ReverseError> {
        let trials = self.trials();
        let sockets = match self.bench.far {
            Far::Lab(lab) => Sockets::in_lab(self.bench.rig, lab, self.bench.plan, self.variant)?,
            Far::Hosts(hosts) => Sockets::between(self.bench.rig, hosts, &trials)?,
        };
        let duration_ns = self.bench.plan.duration_ns;
        let shift = Windows::shift_for(duration_ns);
        let target = Target { flow: self.flow, reader_cookie: 0, window_shift: shift, stream: None };
        let tap = self
            .bench
            .tapped
            .then(|| StackTap::load(Hooks::Tracepoints, &[Direction::Tx], target))
            .transpose()
            .map_err(TapError::from)?;
        self.run_in(&sockets)?;
        let round_trip = self.ready(&sockets)?;
        let before = self.bench.rig.counters()?;
        let dropped_before = drops(&sockets.inbound).map_err(GroundError::Socket)?;
        let mut windows = windows_from_now(duration_ns);
        if let Far::Hosts(hosts) = self.bench.far {
            windows.start_ns += 2 * round_trip.as_nanos() as u64;
            for host in hosts {
                let after_ns = windows.start_ns.saturating_sub(monotonic_ns());
                host.begin(Duration::from_nanos(after_ns).saturating_sub(round_trip / 2))?;
            }
        }
        tap.iter().for_each(|tap| tap.start(windows.start_ns));
        let phases = Phases { duration_ns, windows };
        let signals = Signals::default();
        let contention = Mutex::default();
        let flight = Flight { task: self, sockets: &sockets, trials: &trials, phases, signals, contention };
        let (sent, inbound, read, edges) = flight.run()?;
        thread::sleep(SETTLE);
        let between = sockets
            .far
            .is_none()
            .then(|| Between { left: left(&sockets.inbound, inbound_flow(self.flow)), round_trip });
        let dropped = drops(&sockets.inbound).map_err(GroundError::Socket)?;
        Ok(ReverseOutcome {
            phases,
            sent,
            inbound,
            read,
            overflowed: dropped.wrapping_sub(dropped_before).into(),
            edges,
            stack: tap.map(|tap| tap.tx_sums()).transpose().map_err(TapError::from)?,
            counted: self.bench.rig.counted_since(&before)?,
            contention: flight.contention(),
            between,
        })
    }

    /// Sends for a while without anything beside it, and keeps nothing of it: what the first
    /// moments of a load set going would otherwise be taken for a part of the trial, and lie in
    /// that which all others are compared with.
    fn run_in(&self, sockets: &Sockets) -> Result<(), FlightError> {
        let bench = self.bench;
        let mut engine = Send::new(cloned(&sockets.sender)?, bench.plan.size_bytes);
        let windows = windows_from_now(RUN_IN_NS);
        // Of no trial, by its flow: neither timed nor answered.
        let plan = SenderPlan::single(0, windows, windows.start_ns + RUN_IN_NS, Spin::Auto);
        let (gone, live) = (&AtomicBool::new(false), &Live::default());
        let sending = SenderTask { plan, stop: bench.stop, gone, live };
        thread::scope(|scope| {
            let send = || on(bench.cpus.0, || Ok(send_all(&sending, flat_out(), &mut engine, &mut ())));
            joined(spawn(scope, "run-in", send), "run-in")
        })?;
        Ok(())
    }

    /// What each of the other hosts is to do.
    fn trials(&self) -> Vec<protocol::Trial> {
        let Far::Hosts(hosts) = self.bench.far else { return Vec::new() };
        let plan = self.bench.plan.part();
        let trial =
            |n| protocol::Trial { plan: plan.clone(), variant: self.variant, flow: self.flow, takes: n == 0 };
        (0..hosts.len()).map(trial).collect()
    }

    /// Has all hosts forget what came before the trial; the longest of their round trips.
    fn ready(&self, sockets: &Sockets) -> Result<Duration, ReverseError> {
        let Far::Hosts(hosts) = self.bench.far else { return Ok(Duration::ZERO) };
        thread::sleep(SETTLE);
        let mut longest = Duration::ZERO;
        for host in hosts {
            longest = longest.max(host.ready()?);
        }
        left(&sockets.inbound, 0);
        Ok(longest)
    }
}

impl Flight<'_> {
    /// Runs all threads: the sender on its processor, everything else on the other.
    fn run(&self) -> Result<(Sent, Inbound, Option<WindowCounts>, Vec<Edge>), ReverseError> {
        let (here, there) = self.task.bench.cpus;
        let reads = matches!(self.task.variant, Variant::OtherThread | Variant::Echo);
        thread::scope(|scope| {
            let far: Vec<_> = match self.task.bench.far {
                Far::Lab(_) => vec![spawn(scope, "far end", || {
                    on(there, || Ok(self.observed(LoadThread::FarEnd, there, || self.far_end())))
                })],
                Far::Hosts(hosts) => hosts
                    .iter()
                    .zip(self.trials)
                    .map(|(host, trial)| {
                        spawn(scope, "far end", move || on(there, || Ok(self.follow(host, trial))))
                    })
                    .collect(),
            };
            let reader = reads.then(|| {
                spawn(scope, "reader", || {
                    on(there, || self.observed(LoadThread::Reader, there, || self.read()))
                })
            });
            let watch = spawn(scope, "watch", || {
                let edges = on(there, || self.edges());
                self.signals.watched.store(true, Relaxed);
                edges
            });
            let sender = spawn(scope, "sender", || {
                let sent = on(here, || self.send());
                let accepted = sent.as_ref().map_or(0, |(sent, _)| sent.accepted);
                self.signals.sent.store(accepted, Relaxed);
                self.signals.ended.store(true, Relaxed);
                sent
            });
            let sent = joined(sender, "sender");
            // Also when it could not even be started.
            self.signals.ended.store(true, Relaxed);
            // Those that run are waited for, whatever became of the others.
            let inbound: Vec<_> = far.into_iter().map(|far| joined(far, "far end")).collect();
            self.signals.landed.store(true, Relaxed);
            let edges = joined(watch, "watch");
            let by_reader = reader.map(|reader| joined(reader, "reader")).transpose();
            let (sent, by_sender) = sent?;
            let mut all = Inbound::default();
            for inbound in inbound {
                all.add(inbound??);
            }
            Ok((sent, all, by_sender.or(by_reader?), edges?))
        })
    }

    /// The load: as fast as one thread sends. Returns what it read as well, if it is to.
    fn send(&self) -> Result<(Sent, Option<WindowCounts>), FlightError> {
        self.signals.thread.store(cpu::thread_id(), Relaxed);
        let Phases { duration_ns, windows } = self.phases;
        let ReverseTask { bench, flow, live, .. } = *self.task;
        let plan = SenderPlan::single(flow, windows, windows.start_ns + duration_ns, Spin::Auto);
        let task = SenderTask { plan, stop: bench.stop, gone: &self.signals.gone, live };
        let engine = Send::new(cloned(&self.sockets.sender)?, bench.plan.size_bytes);
        let (sent, read) = self.observed(LoadThread::Sender, bench.cpus.0, || {
            if self.task.variant == Variant::SameThread {
                let mut engine = Draining::new(engine, &self.sockets.inbound, self.counts());
                (send_all(&task, flat_out(), &mut engine, &mut ()), Some(engine.counts))
            } else {
                let mut engine = engine;
                (send_all(&task, flat_out(), &mut engine, &mut ()), None)
            }
        });
        self.stay();
        Ok((sent, read))
    }

    /// Does the work of a thread, and sees who has its processor meanwhile.
    fn observed<T>(&self, thread: LoadThread, cpu: usize, work: impl FnOnce() -> T) -> T {
        let observed = self.task.contention.and_then(|contention| contention.observe(cpu));
        let done = work();
        let account = observed.and_then(|observed| observed.account(thread));
        self.contention.lock().extend(account);
        done
    }

    /// The accounts of all threads, the sender's first.
    fn contention(self) -> Vec<record::Contention> {
        let mut all = self.contention.into_inner();
        all.sort_by_key(|of| of.thread as u8);
        all
    }

    /// What the scheduler knows of a thread is gone with it.
    fn stay(&self) {
        let since = std::time::Instant::now();
        while !self.signals.watched.load(Relaxed) && since.elapsed() < STAY {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The far end on this machine.
    fn far_end(&self) -> Result<Inbound, ReverseError> {
        let Some(far) = &self.sockets.far else { return Ok(Inbound::default()) };
        let far_end = FarEnd {
            plan: self.task.bench.plan,
            variant: self.task.variant,
            flow: self.task.flow,
            phases: self.phases,
            socket: &far.generator,
            stop: self.task.bench.stop,
            gone: &self.signals.gone,
            ended: &self.signals.ended,
        };
        Ok(far_end.run()?)
    }

    /// The far end on another host.
    fn follow(&self, host: &Host<'_>, trial: &protocol::Trial) -> Result<Inbound, ReverseError> {
        let signals = &self.signals;
        let followed = host.follow(trial, &signals.ended, || signals.sent.load(Relaxed));
        signals.gone.fetch_or(followed.is_err(), Relaxed);
        followed
    }

    fn read(&self) -> Result<WindowCounts, FlightError> {
        let until = Until { ended: &self.signals.landed, cut: [self.task.bench.stop, &self.signals.gone] };
        read(&self.sockets.inbound, self.counts(), until).map_err(FlightError::Receive)
    }

    fn counts(&self) -> WindowCounts {
        WindowCounts::new(self.phases, inbound_flow(self.task.flow))
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
