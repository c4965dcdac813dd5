//! One flight of messages: senders in their threads, the far end in its own, and the wait
//! for the last message between them.

use std::net::UdpSocket;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use netfathom_model::plan::Spin;
use netfathom_model::profile::Profile;
use netfathom_model::record::LoadThread;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu;
use netfathom_sys::socket::end_receiving;

use super::contention::Contention;
use super::engine::Engine;
use super::instance::Instance;
use super::reader::EndSignal;
use super::sender::{SenderPlan, SenderTask, send_all};
use super::sent::Sent;
use super::tally::Read;
use super::tap::SendTap;
use super::window::Windows;
use crate::ground::observer::Live;
use crate::load::error::FlightError;

/// Between the start of the threads and the first departure.
pub const LEAD_IN_NS: u64 = 10_000_000;
/// What a sender that fell behind may overrun the plan, at least.
const LEAST_OVERRUN_NS: u64 = 100_000_000;
/// What is still missing is given up on when nothing has come for so long after the last departure.
const SILENCE: Duration = Duration::from_millis(200);
/// A reader that idles after each message may have thousands of them queued.
const LONGEST_DRAIN: Duration = Duration::from_secs(5);
/// No machine sends more in one flight without pauses.
const FLAT_OUT_MESSAGES: u64 = 1 << 32;

#[derive(Clone, Copy)]
pub enum Departures<'a> {
    /// As a profile wants it; the seed is that of its chance.
    Planned(&'a Profile, u64),
    /// Always due, until the time is over.
    FlatOut,
}

impl Departures<'_> {
    /// The mean time between two messages of one of `lanes` senders, if that is all that the plan
    /// states: the next interval of a Poisson process is no measure of lateness.
    pub fn mean_interval_ns(&self, lanes: u32) -> Option<i64> {
        match self {
            Self::Planned(Profile::Poisson { rate_per_s, .. }, _) => {
                Some((1e9 * f64::from(lanes) / rate_per_s) as i64)
            }
            _ => None,
        }
    }

    /// Who has the processors meanwhile, of a load with a plan: a burst without pauses shall be as fast as it can. `kept` is
    /// what the last one has left there.
    pub fn observed(&self, kept: &mut Option<Contention>) -> Option<Contention> {
        let is_planned = matches!(self, Self::Planned(..));
        is_planned.then(|| kept.take().map_or_else(Contention::begin, Contention::again))?
    }

    /// Messages, at most.
    pub fn messages(&self) -> u64 {
        match self {
            Self::Planned(profile, _) => profile.messages(),
            Self::FlatOut => FLAT_OUT_MESSAGES,
        }
    }
}

/// The departures of [`Departures::FlatOut`]: all due from the start on.
pub fn flat_out() -> impl ExactSizeIterator<Item = u64> {
    std::iter::repeat_n(0, FLAT_OUT_MESSAGES as usize)
}

pub struct Flight<'a> {
    /// The trial's number among the messages.
    pub flow: u32,
    pub duration_ns: u64,
    pub departures: Departures<'a>,
    pub spin: Spin,
    /// Where its windows lie; they begin with the flight.
    pub windows: Windows,
    pub stop: &'a AtomicBool,
    pub live: &'a Live,
    /// Where it is observed who has the processors.
    pub contention: Option<&'a Contention>,
}

/// What sends.
pub enum Generator<'a> {
    /// The sender's thread, through an engine.
    Engine(Box<dyn Engine + 'a>),
    /// A process of its own. The sender's end of the tap does not see its messages.
    Process(Instance),
}

/// One sender: what sends, its processor, its end of the tap.
pub struct Sender<'a, S> {
    pub generator: Generator<'a>,
    pub cpu: usize,
    pub tap: S,
}

pub trait FarEnd: Send {
    /// The socket of a blocked receive call that ends when the flight is over; `None` for a far end
    /// that never sleeps for long.
    fn sleeps_on(&self) -> Result<Option<UdpSocket>, FlightError> {
        Ok(None)
    }

    /// Agrees on when the first message is to leave, CLOCK_MONOTONIC: everything else is ready.
    fn begin(&mut self) -> Result<u64, FlightError> {
        Ok(monotonic_ns() + LEAD_IN_NS)
    }

    /// Takes messages until the senders are done and nothing is left; runs in a thread of its own.
    fn take(&mut self, end: &EndSignal<'_>) -> Result<Read, FlightError>;
}

pub struct Landed<S> {
    /// What each sender did, and its tap.
    pub sent: Vec<(Sent, S)>,
    pub read: Read,
}

impl Flight<'_> {
    /// Runs it. The far end's thread is there before the first message leaves.
    pub fn run<S: SendTap + Send>(
        &self,
        senders: Vec<Sender<'_, S>>,
        far: &mut dyn FarEnd,
        far_cpu: Option<usize>,
    ) -> Result<Landed<S>, FlightError> {
        let end = EndSignal::new(self.stop);
        let sleeping = far.sleeps_on()?;
        thread::scope(|scope| {
            let reader = spawn(scope, "reader", || {
                let read = far_cpu.map_or(Ok(()), cpu::pin).map_err(Into::into).and_then(|()| {
                    let observed = self.contention.zip(far_cpu).and_then(|(c, cpu)| c.observe(cpu));
                    let read = far.take(&end)?;
                    Ok(Read { contention: observed.and_then(|o| o.account(LoadThread::Reader)), ..read })
                });
                // Without a receiver there is nothing to send for.
                end.gone.fetch_or(read.is_err(), Relaxed);
                read
            })?;
            let sent = self.send(scope, senders, &end);
            if let Ok(sent) = &sent {
                end.tried.store(sent.iter().map(|s| s.0.tried()).sum(), Relaxed);
                let total = sent.iter().map(|s| s.0.accepted).sum();
                end.accepted.store(total, Relaxed);
                let deadline = Instant::now() + LONGEST_DRAIN;
                // Then the reader idles no more and takes what is left at once.
                await_count(&end.received, total, || {
                    reader.is_finished()
                        || self.stop.load(Relaxed)
                        || end.gone.load(Relaxed)
                        || Instant::now() >= deadline
                });
            }
            // What was stored before is seen by who sees this.
            end.senders_done.store(true, Release);
            sleeping.iter().for_each(end_receiving);
            let read = reader.join().unwrap_or(Err(FlightError::Thread("reader")));
            Ok(Landed { sent: sent?, read: read? })
        })
    }

    fn send<'scope, 'env: 'scope, S: SendTap + Send + 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, 'env>,
        senders: Vec<Sender<'scope, S>>,
        end: &'scope EndSignal<'scope>,
    ) -> Result<Vec<(Sent, S)>, FlightError> {
        let lanes = senders.len() as u32;
        let threads: Vec<_> = senders
            .into_iter()
            .zip(0..)
            .map(|(sender, lane)| spawn(scope, "sender", move || self.send_lane(sender, lane, lanes, end)))
            .collect();
        // Those that run are waited for even if one could not be started.
        let joined: Vec<_> = threads
            .into_iter()
            .map(|t| t.and_then(|t| t.join().unwrap_or(Err(FlightError::Thread("sender")))))
            .collect();
        joined.into_iter().collect()
    }

    fn send_lane<S: SendTap>(
        &self,
        mut sender: Sender<'_, S>,
        lane: u32,
        lanes: u32,
        end: &EndSignal<'_>,
    ) -> Result<(Sent, S), FlightError> {
        cpu::pin(sender.cpu)?;
        let observed = self.contention.and_then(|c| c.observe(sender.cpu));
        let overrun_ns = match self.departures {
            Departures::Planned(..) => (self.duration_ns / 10).max(LEAST_OVERRUN_NS),
            Departures::FlatOut => 0,
        };
        let plan = SenderPlan {
            flow: self.flow,
            lane,
            lanes,
            mean_interval_ns: self.departures.mean_interval_ns(lanes),
            windows: self.windows,
            deadline_ns: self.windows.start_ns + self.duration_ns + overrun_ns,
            spin: self.spin,
        };
        let task = SenderTask { plan, stop: self.stop, gone: &end.gone, live: self.live };
        let (first, step) = (u64::from(lane), u64::from(lanes));
        let mut sent = match (&mut sender.generator, self.departures) {
            (Generator::Engine(engine), Departures::Planned(profile, seed)) => {
                let departures = profile.schedule(seed).lane(first, step);
                send_all(&task, departures, &mut **engine, &mut sender.tap)
            }
            (Generator::Engine(engine), Departures::FlatOut) => {
                send_all(&task, flat_out(), &mut **engine, &mut sender.tap)
            }
            (Generator::Process(instance), Departures::Planned(profile, seed)) => {
                instance.send(&task, profile, seed, sender.cpu).map_err(FlightError::Instance)?
            }
            (Generator::Process(_), Departures::FlatOut) => {
                unreachable!("instances are made for a plan")
            }
        };
        sent.contention.extend(observed.and_then(|o| o.account(LoadThread::Sender)));
        Ok((sent, sender.tap))
    }
}

/// A thread by name. If the machine has no more threads to give, that is an error, not a panic.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    work: impl FnOnce() -> Result<T, FlightError> + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Result<T, FlightError>>, FlightError> {
    let spawned = thread::Builder::new().name(name.into()).spawn_scoped(scope, work);
    spawned.map_err(|source| FlightError::NoThread { name, source })
}

/// Waits until the wanted number has come, nothing comes any more, or it is over.
pub fn await_count(count: &AtomicU64, wanted: u64, over: impl Fn() -> bool) {
    let (mut last, mut since) = (0, Instant::now());
    while count.load(Relaxed) < wanted && !over() {
        thread::sleep(Duration::from_millis(1));
        let now = count.load(Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > SILENCE {
            break;
        }
    }
}

/// Windows that begin shortly from now, over so long a time.
pub fn windows_from_now(duration_ns: u64) -> Windows {
    Windows { start_ns: monotonic_ns() + LEAD_IN_NS, shift: Windows::shift_for(duration_ns) }
}
