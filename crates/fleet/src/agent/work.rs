//! What an agent does, each task in a thread of its own.

use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_measure::kind::load::sink::{self, SinkEvent, SinkPlan};
use netfathom_measure::kind::transfer::{self, Around, Live, Standard, TransferEvent};
use netfathom_measure::kind::watch::Incoming;
use netfathom_measure::kind::{capacity, load, stack};
use netfathom_measure::load::allow::Allowed;
use netfathom_model::accounting::Fate;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{
    CapacityPlan, Family, FleetTest, LoadPlan, Place, Role, Spin, StackPlan, TransferPlan, Transport,
};
use netfathom_model::profile::Profile;
use netfathom_model::record::{Measurement, TransferEnd, TransferResult};
use netfathom_model::verdict::{Level, Verdict};
use netfathom_results::quantity::{self, Better};
use netfathom_stats::middle_of;
use netfathom_sys::clock::{monotonic_ns, realtime_ahead_ns, realtime_ns, sleep_until_ns, wait_punctually};
use netfathom_sys::cpu::RunDelay;
use tokio::sync::oneshot;

use super::limits::Limits;
use crate::clock;
use crate::wire::{Alone, Figure, Loaded, Outcome, Service, Task, Transferred, plain};

/// A write of a transfer: enough that the calls are not what is measured.
const BUFFER_BYTES: u64 = 128 << 10;
/// What is under way when the time is over has so long to arrive.
const IDLE_NS: u64 = 2_000_000_000;
/// Before its start a thread spins, since sleep ends late by a wake-up.
const SPIN_NS: u64 = 200_000;
/// Trials of a measurement that a host makes by itself.
pub const TRIALS: u32 = 5;
const MOST_FIGURES: usize = 400;

pub struct Work {
    pub address: IpAddr,
    pub limits: Limits,
}

type Ready = oneshot::Sender<Option<u16>>;

/// What is done, in words.
pub fn named(task: &Task) -> String {
    match task {
        Task::Serve { what: Service::Clock, .. } => "answers comparisons of clocks".into(),
        Task::Serve { what: Service::Transfer { .. }, .. } => "receives a transfer".into(),
        Task::Serve { what: Service::Load { .. }, .. } => "receives messages".into(),
        Task::Compare { with } => format!("compares its clock with {}", with.ip()),
        Task::Transfer { to, .. } => format!("sends a transfer to {}", to.ip()),
        Task::Load { to, .. } => format!("sends messages to {}", to.ip()),
        Task::Alone { what: Alone::Stack, .. } => "measures stack time".into(),
        Task::Alone { what: Alone::Capacity, .. } => "measures capacity".into(),
        Task::Rest => "rests".into(),
    }
}

impl Work {
    pub fn perform(&self, task: &Task, stop: &AtomicBool, ready: Ready) -> Outcome {
        let served = |outcome: Result<Outcome, String>| {
            outcome.unwrap_or_else(|why| Outcome::Failed { why: plain(&why) })
        };
        match *task {
            Task::Serve { what: Service::Clock, .. } => served(self.serve_clock(stop, ready)),
            Task::Serve { what: Service::Transfer { streams, explain }, .. } => {
                served(self.receive(streams, explain, stop, ready))
            }
            Task::Serve { what: Service::Load { test, rate_per_s, stages }, most_ns } => {
                let most_echo_per_s = if test == FleetTest::Latency { rate_per_s } else { 0.0 };
                served(self.sink((most_ns, most_echo_per_s, stages), stop, ready))
            }
            _ => {
                let _ = ready.send(None);
                served(self.active(task, stop))
            }
        }
    }

    fn active(&self, task: &Task, stop: &AtomicBool) -> Result<Outcome, String> {
        match *task {
            Task::Compare { with } => {
                let clock = clock::compare(with, stop).map_err(|e| e.to_string())?;
                Ok(Outcome::Clock { offset_ns: clock.offset_ns, bound_ns: clock.bound_ns })
            }
            Task::Transfer { to, start_utc_ns, time_ns, streams, explain } => {
                self.send(to, start_utc_ns, (time_ns, streams, explain), stop)
            }
            Task::Load { test, to, start_utc_ns, time_ns, rate_per_s, size_bytes } => {
                let profile = Profile::Constant { rate_per_s, duration_ns: time_ns };
                let mut plan = LoadPlan::one_trial(profile);
                (plan.place, plan.family) = (Place::To(to), family(to.ip()));
                (plan.size_bytes, plan.spin) = (size_bytes, Spin::Auto);
                plan.echo = test == FleetTest::Latency;
                plan.allow = self.limits.allow.iter().map(ToString::to_string).collect();
                self.load(&plan, start_utc_ns, stop)
            }
            Task::Alone { what, time_ns, rate_per_s, size_bytes } => {
                alone(what, time_ns, rate_per_s, size_bytes, stop)
            }
            Task::Rest | Task::Serve { .. } => Ok(Outcome::Served),
        }
    }

    fn serve_clock(&self, stop: &AtomicBool, ready: Ready) -> Result<Outcome, String> {
        let socket =
            UdpSocket::bind((self.address, 0)).map_err(|e| format!("no socket at {}: {e}", self.address))?;
        let _ = ready.send(socket.local_addr().ok().map(|at| at.port()));
        clock::serve(&socket, &Allowed::new(&self.limits.allow), stop)
            .map(|()| Outcome::Served)
            .map_err(|e| e.to_string())
    }

    fn receive(
        &self,
        streams: u16,
        explain: bool,
        stop: &AtomicBool,
        ready: Ready,
    ) -> Result<Outcome, String> {
        let mut plan = TransferPlan::classic(Role::Receive);
        (plan.host, plan.port) = (Some(self.address.to_string()), 0);
        (plan.streams, plan.explain) = (streams, explain);
        let ready = Mutex::new(Some(ready));
        let tell = |event: TransferEvent| {
            if let TransferEvent::Listening(at) = event {
                let ready = ready.lock().ok().and_then(|mut ready| ready.take());
                ready.map(|ready| ready.send(Some(at.port())));
            }
        };
        transferred(plan, stop, &tell).map(|result| Outcome::Transferred(Box::new(moved(&result))))
    }

    fn send(
        &self,
        to: SocketAddr,
        start_utc_ns: u64,
        (time_ns, streams, explain): (u64, u16, bool),
        stop: &AtomicBool,
    ) -> Result<Outcome, String> {
        let mut plan = TransferPlan::classic(Role::Transmit);
        (plan.host, plan.port) = (Some(to.ip().to_string()), to.port());
        (plan.time_ns, plan.idle_ns) = (Some(time_ns), IDLE_NS);
        (plan.streams, plan.explain) = (streams, explain);
        plan.pace_bits_per_s = self.limits.most_bits_per_s.map(|bits| bits / u64::from(streams.max(1)));
        let start_waited_ns = arm(start_utc_ns, stop)?;
        let started_utc_ns = realtime_ns();
        let done = transferred(plan, stop, &|_| {}).map(|result| moved(&result))?;
        Ok(Outcome::Transferred(Box::new(Transferred { started_utc_ns, start_waited_ns, ..done })))
    }

    fn sink(
        &self,
        (most_ns, most_echo_per_s, stages): (u64, f64, bool),
        stop: &AtomicBool,
        ready: Ready,
    ) -> Result<Outcome, String> {
        let plan = SinkPlan {
            listen: SocketAddr::new(self.address, 0),
            receive: Receive::Recvmmsg,
            allow: self.limits.allow.clone(),
            most_ns: most_ns.min(self.limits.most_time_ns),
            most_echo_per_s,
            most_senders: 1,
            most_loads: Some(1),
            log: None,
        };
        let (mut ready, mut outcome) = (Some(ready), Err("no sender came".to_owned()));
        let mut seen = None;
        let mut tell = |event| match event {
            SinkEvent::Listening { at, socket } => {
                // Before anything can come.
                seen = stages.then(|| Incoming::watch(&socket));
                let _ = ready.take().map(|ready| ready.send(Some(at.port())));
            }
            SinkEvent::Ended { .. } => outcome = Ok(Outcome::Served),
            SinkEvent::Lost { why, .. } => outcome = Err(why),
            SinkEvent::Begins { .. } | SinkEvent::Strays { .. } => {}
        };
        sink::serve(&plan, &mut tell, stop).map_err(|e| e.to_string())?;
        outcome.map(|served| {
            let received = |seen: Result<Incoming, String>| seen?.received();
            seen.map_or(served, |seen| {
                Outcome::Received(received(seen).map(Box::new).map_err(|why| plain(&why)))
            })
        })
    }

    fn load(&self, plan: &LoadPlan, start_utc_ns: u64, stop: &AtomicBool) -> Result<Outcome, String> {
        let ahead_ns = realtime_ahead_ns();
        let start_ns = start_utc_ns.saturating_add_signed(-ahead_ns);
        let load::Part { trial, first_ns, start_waited_ns } =
            load::part(plan, start_ns, stop).map_err(|e| e.to_string())?;
        if first_ns == 0 {
            return Err("it sent nothing within its time: its CPUs were busy".into());
        }
        let accounting = &trial.accounting;
        Ok(Outcome::Loaded(Box::new(Loaded {
            started_utc_ns: first_ns.saturating_add_signed(ahead_ns),
            start_waited_ns,
            planned: trial.load.planned,
            sent: trial.load.sent,
            delivered: accounting.count(&Fate::Delivered),
            lag_p99_ns: trial.load.lag.p99_ns,
            round_trip: trial.echo.map(|echo| echo.service),
        })))
    }
}

fn family(ip: IpAddr) -> Family {
    if ip.is_ipv6() { Family::Ipv6 } else { Family::Ipv4 }
}

/// Waits for an instant of CLOCK_REALTIME, on the one clock, so that a clock that is set meanwhile moves nothing. Returns
/// for how long of the last wait the thread was ready and had no CPU, if this kernel counts it.
fn arm(start_utc_ns: u64, stop: &AtomicBool) -> Result<Option<u64>, String> {
    wait_punctually();
    let delay = RunDelay::of_this_thread().ok();
    let delay_ns = || delay.as_ref()?.read_ns().ok();
    let mut before_ns = delay_ns();
    let start_ns = start_utc_ns.saturating_add_signed(-realtime_ahead_ns());
    while monotonic_ns() + SPIN_NS < start_ns {
        if stop.load(Relaxed) {
            return Err("it was ended before its start".into());
        }
        before_ns = delay_ns();
        sleep_until_ns((start_ns - SPIN_NS).min(monotonic_ns() + 50_000_000));
    }
    while monotonic_ns() < start_ns {
        std::hint::spin_loop();
    }
    Ok(delay_ns().zip(before_ns).map(|(now_ns, before_ns)| now_ns - before_ns))
}

fn transferred(
    plan: TransferPlan,
    stop: &AtomicBool,
    tell: &(dyn Fn(TransferEvent) + Sync),
) -> Result<TransferResult, String> {
    let mut plan = TransferPlan { generated: true, buffer_bytes: BUFFER_BYTES, buffer_named: true, ..plan };
    plan.align = 4096;
    let null =
        File::options().read(true).write(true).open("/dev/null").map_err(|e| format!("/dev/null: {e}"))?;
    let standard = Standard { input: null.as_fd(), output: null.as_fd() };
    let live = Live::default();
    let done = transfer::part(&plan, Around { standard, live: &live, stop, tell });
    done.map(|progressed| progressed.result).map_err(|e| e.to_string())
}

fn moved(result: &TransferResult) -> Transferred {
    let tcp = || result.streams.iter().filter_map(|stream| stream.tcp);
    let broken = result.streams.iter().find_map(|stream| match &stream.end {
        TransferEnd::Broken { why } => Some(plain(why)),
        TransferEnd::Interrupted => Some("it was ended before its time".into()),
        _ => None,
    });
    Transferred {
        started_utc_ns: 0,
        start_waited_ns: None,
        peer: result.streams.first().and_then(|stream| stream.peer.clone()).or_else(|| result.peer.clone()),
        bytes: result.bytes(),
        duration_ns: result.duration_ns(),
        retransmits: tcp().map(|tcp| tcp.retransmits).reduce(|a, b| a + b),
        rtt_us: tcp().map(|tcp| tcp.rtt_us).max(),
        cause: result.explanation.as_ref().map(|e| (e.cause, plain(&e.text))),
        broken,
    }
}

/// A measurement between two network namespaces, or over loopback, that no other host takes part in.
fn alone(
    what: Alone,
    time_ns: u64,
    rate_per_s: f64,
    size_bytes: usize,
    stop: &AtomicBool,
) -> Result<Outcome, String> {
    let (measurement, verdict): (Measurement, Verdict) = match what {
        Alone::Stack => {
            let profile = Profile::Constant { rate_per_s, duration_ns: time_ns };
            let plan = StackPlan { trials: TRIALS, size_bytes, ..StackPlan::one_trial(profile) };
            let plan = plan.validated().map_err(|e| e.to_string())?;
            let done = stack::run(&plan, &mut (), stop).map_err(|e| e.to_string())?;
            (done.result.into(), done.verdict)
        }
        Alone::Capacity => {
            let plan = CapacityPlan {
                place: Place::Lab,
                family: Family::Ipv4,
                engines: vec![Engine::Send],
                workers: vec![1],
                transport: Transport::Udp,
                hold_ns: time_ns,
                trials: 1,
                size_bytes,
                cpus: Vec::new(),
                allow: Vec::new(),
            };
            let plan = plan.validated().map_err(|e| e.to_string())?;
            let done = capacity::run(&plan, &mut (), stop).map_err(|e| e.to_string())?;
            (done.result.into(), done.verdict)
        }
    };
    if stop.load(Relaxed) {
        return Err("it was ended before its time".into());
    }
    let figure = |q: &quantity::Quantity| {
        Some(Figure {
            name: q.name.clone(),
            title: q.title.clone(),
            unit: q.unit.short().into(),
            less: q.better == Better::Less,
            main: q.main,
            value: middle_of(q.trials.iter().copied())?,
        })
    };
    let all = quantity::of(&measurement);
    let vouched = all.iter().filter(|q| quantity::level(&measurement, &verdict, &q.name) < Level::Void);
    Ok(Outcome::Figures { figures: vouched.filter_map(figure).take(MOST_FIGURES).collect(), verdict })
}
