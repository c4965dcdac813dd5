//! `netfathom reverse serve`: the far end for a measurement on another host. It takes the load of that host, and sends
//! towards it, but to no other, and no more than it is allowed to.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::message::{HEADER_BYTES, Header};
use netfathom_model::plan::{ReversePlan, Variant};
use netfathom_model::units::{format_duration, format_rate};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu;
use netfathom_sys::socket::{drops, set_receive_buffer};

use super::error::ReverseError;
use super::far_end::{FarEnd, inbound_flow};
use super::hosts::{MEET_WITHIN, PATIENCE, greeting};
use super::inbound::left;
use super::phases::Phases;
use super::protocol::{ControlMessage, Hello, Trial, TrialReport};
use super::sockets::{READ_BYTES, UNREAD_BYTES, any_port};
use super::trial::{cloned, joined, on};
use crate::ground::error::GroundError;
use crate::load::allow::Prefix;
use crate::load::control::{ControlError, Listener, Pulse, ServeEvent, Talk, report, serve_each};
use crate::load::error::FlightError;
use crate::load::flight::spawn;
use crate::load::window::Windows;

/// What the other host may do between two trials, or before one, until others get its place.
const BETWEEN_TRIALS: Duration = Duration::from_secs(30);
/// Signs of life that were not read when a trial was over.
const MOST_SIGNS: u32 = 100;
/// A trial begins within this time, or not.
const BEGINS_WITHIN: Duration = Duration::from_secs(5);
/// What a trial may take beyond its length.
const OVERDUE: Duration = Duration::from_secs(10);
/// Greetings: some may be lost.
const GREETINGS: usize = 4;
/// The load before a trial has come when none of it came for so long,
const QUIET_FOR: Duration = Duration::from_millis(50);
/// and the trial begins after this time, whatever comes.
const QUIET_WITHIN: Duration = Duration::from_secs(2);
const STOPPED: &str = "the counterpart was stopped";

#[derive(Clone, Debug)]
pub struct ServePlan {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The processor of the far end.
    pub cpu: Option<usize>,
    /// From where hosts are taken, and where messages may be sent, besides private networks.
    pub allow: Vec<Prefix>,
    /// Messages a second that are sent at most, and for how long; an echo sends one for each that comes.
    pub most_per_s: f64,
    pub most_ns: u64,
    /// Ends after this many hosts; `None` continues until it is stopped.
    pub most_hosts: Option<u32>,
}

pub fn serve(
    plan: &ServePlan,
    notify: &mut dyn FnMut(ServeEvent),
    stop: &AtomicBool,
) -> Result<(), ReverseError> {
    // Not the last one: a sender on the same host has that.
    let usual = |all: Vec<usize>| all.iter().rev().nth(1).or(all.last()).copied().unwrap_or(0);
    let cpu = plan.cpu.map_or_else(|| cpu::allowed().map(usual), Ok)?;
    // Known before anybody is served; the thread that listens stays where it is.
    thread::scope(|scope| joined(spawn(scope, "far end", || on(cpu, || Ok(()))), "far end"))?;
    let serve =
        |_: &Arc<Listener<Hello>>, talk, trials: &mut u32| Session { plan, talk, cpu, stop }.serve(trials);
    let served = serve_each((plan.listen, cpu), &plan.allow, plan.most_hosts, stop, notify, serve);
    // That it cannot listen is no loss of a host.
    Ok(served.map_err(FlightError::from)?)
}

/// One host, from its welcome to its end.
struct Session<'a> {
    plan: &'a ServePlan,
    talk: Talk,
    cpu: usize,
    stop: &'a AtomicBool,
}

/// The sockets of a trial.
struct Met {
    /// Where the load comes to.
    far: UdpSocket,
    generator: UdpSocket,
}

impl Session<'_> {
    fn serve(&self, trials: &mut u32) -> Result<(), ReverseError> {
        self.talk.welcome(self.cpu)?;
        while let Some(trial) = self.next_trial()? {
            match self.make(&trial) {
                Ok(outcome) => self.talk.say(&ControlMessage::Ended(Box::new(outcome)))?,
                // By its user, before the trial began.
                Err(ReverseError::Lost(ControlError::Stopped)) => return Ok(()),
                Err(error) => {
                    // It may be gone.
                    let _ = self.talk.say(&ControlMessage::Failed { text: error.to_string() });
                    self.talk.part(Pulse::EVERY);
                    return Err(error);
                }
            }
            *trials += 1;
        }
        Ok(())
    }

    /// The next trial; `None` if there are no more.
    fn next_trial(&self) -> Result<Option<Trial>, ReverseError> {
        match self.word("a trial", Instant::now())? {
            ControlMessage::Trial(trial) => Ok(Some(*trial)),
            ControlMessage::Bye => Ok(None),
            _ => Err(self.talk.out_of_turn("a trial").into()),
        }
    }

    /// The next word that is no sign of life, between two trials; all of them within a time from this one.
    fn word(&self, awaited: &'static str, since: Instant) -> Result<ControlMessage, ReverseError> {
        let mut signs = 0;
        while since.elapsed() < BETWEEN_TRIALS {
            match self.poll(PATIENCE, awaited)? {
                Some(ControlMessage::Alive) if signs < MOST_SIGNS => signs += 1,
                Some(ControlMessage::Alive) => return Err(self.talk.out_of_turn(awaited).into()),
                Some(word) => return Ok(word),
                None => {}
            }
        }
        Err(self.talk.silent(awaited, BETWEEN_TRIALS).into())
    }

    fn poll(&self, within: Duration, awaited: &'static str) -> Result<Option<ControlMessage>, ReverseError> {
        if self.stop.load(Relaxed) {
            let _ = self.talk.say(&ControlMessage::Failed { text: STOPPED.into() });
            return Err(ReverseError::Unfit(STOPPED.into()));
        }
        match self.talk.poll(within, awaited)? {
            Some(ControlMessage::Failed { text }) => {
                Err(ReverseError::Reported { peer: self.talk.peer(), text: report(&text) })
            }
            word => Ok(word),
        }
    }

    fn make(&self, trial: &Trial) -> Result<TrialReport, ReverseError> {
        let trial = &Trial { plan: self.accepted(trial)?, ..trial.clone() };
        let met = self.meet(trial)?;
        let (after, dropped_before) = self.await_begin(&met)?;
        let duration_ns = trial.plan.duration_ns;
        let start_ns = monotonic_ns() + after.as_nanos() as u64;
        let windows = Windows { start_ns, shift: Windows::shift_for(duration_ns) };
        let [gone, ended] = [const { AtomicBool::new(false) }; 2];
        let far_end = FarEnd {
            plan: &trial.plan,
            variant: trial.variant,
            flow: trial.flow,
            phases: Phases { duration_ns, windows },
            socket: &met.generator,
            stop: self.stop,
            gone: &gone,
            ended: &ended,
        };
        let inbound = thread::scope(|scope| {
            let far = spawn(scope, "far end", || on(self.cpu, || far_end.run()));
            let followed = self.follow(after + Duration::from_nanos(duration_ns) + OVERDUE);
            gone.store(followed.is_err(), Relaxed);
            ended.store(true, Relaxed);
            let inbound = joined(far, "far end");
            followed.and_then(|()| Ok(inbound?))
        })?;
        let unread = if trial.takes { left(&met.far, trial.flow) } else { 0 };
        let dropped = drops(&met.far).map_err(GroundError::Socket)?.wrapping_sub(dropped_before);
        let arrived = if trial.takes { inbound.read + unread + u64::from(dropped) } else { 0 };
        Ok(TrialReport { inbound_sent: inbound.sent, windows: inbound.windows, arrived })
    }

    /// The plan, if it asks for no more than this host may do.
    fn accepted(&self, trial: &Trial) -> Result<ReversePlan, ReverseError> {
        let ServePlan { most_per_s, most_ns, .. } = *self.plan;
        let plan = trial.plan.clone().validated().map_err(|e| ReverseError::Unfit(e.to_string()))?;
        if trial.variant != Variant::Echo && plan.inbound_peak_per_s > most_per_s {
            return Err(ReverseError::Unfit(format!(
                "it sends at most {} messages a second: lower the peak of --inbound, or start it with a higher --max-rate",
                format_rate(most_per_s)
            )));
        }
        if plan.duration_ns > most_ns {
            return Err(ReverseError::Unfit(format!(
                "it takes part in trials of at most {}: shorten --time, or start it with a longer --max-time",
                format_duration(most_ns)
            )));
        }
        Ok(plan)
    }

    /// Makes the sockets, and learns those of the other host from datagrams with the number of the trial: it has proved
    /// its address by TCP, and a port by these.
    fn meet(&self, trial: &Trial) -> Result<Met, ReverseError> {
        let local = self.talk.local_addr().map_err(GroundError::Socket)?;
        let bind = |address: SocketAddr| {
            UdpSocket::bind(address).map_err(|source| GroundError::Bind { address, source })
        };
        let far = bind(local)?;
        let echo = trial.variant == Variant::Echo;
        let generator = if echo { cloned(&far)? } else { bind(any_port(local))? };
        let port = generator.local_addr().map_err(GroundError::Socket)?.port();
        self.talk.say(&ControlMessage::Bound { port })?;
        let (mut sender, mut inbound) = (None, None);
        far.set_read_timeout(Some(PATIENCE)).map_err(GroundError::Socket)?;
        let until = Instant::now() + MEET_WITHIN;
        let mut payload = [0; HEADER_BYTES];
        let (awaited, mut pulse) = ("a datagram of it", Pulse::begin());
        while trial.takes && sender.is_none() || !echo && inbound.is_none() {
            match self.poll(Duration::ZERO, awaited)? {
                None if Instant::now() > until => {
                    return Err(ReverseError::Unfit("no datagram of your host came".into()));
                }
                None => {}
                Some(ControlMessage::Bye) => return Err(ControlError::Stopped.into()),
                Some(_) => return Err(self.talk.out_of_turn(awaited).into()),
            }
            pulse.speak(&self.talk, &ControlMessage::Alive)?;
            let Ok((length, from)) = far.recv_from(&mut payload) else { continue };
            let header = Header::read(&payload[..length]).filter(|_| from.ip() == self.talk.peer().ip());
            match header.map(|header| header.flow) {
                Some(flow) if flow == trial.flow => sender = Some(from),
                Some(flow) if flow == inbound_flow(trial.flow) => inbound = Some(from),
                _ => {}
            }
        }
        let connect = |socket: &UdpSocket, to: Option<SocketAddr>| match to {
            Some(to) => socket.connect(to).map_err(GroundError::Socket),
            None => Ok(()),
        };
        connect(&far, sender)?;
        if !echo {
            connect(&generator, inbound)?;
        }
        set_receive_buffer(&far, if echo { READ_BYTES } else { UNREAD_BYTES })
            .map_err(GroundError::Socket)?;
        self.talk.say(&ControlMessage::Met)?;
        for _ in 0..GREETINGS {
            // A first one may find no socket, which is no failure.
            let _ = generator.send(&greeting(inbound_flow(trial.flow)));
        }
        Ok(Met { far, generator })
    }

    /// Waits until the trial is about to begin: so long from now; and what the socket had dropped by then.
    fn await_begin(&self, met: &Met) -> Result<(Duration, u32), ReverseError> {
        let awaited = "that the trial begins";
        let (since, mut dropped) = (Instant::now(), None);
        loop {
            match self.word(awaited, since)? {
                ControlMessage::Ready => {
                    if dropped.is_none() {
                        self.quiet(&met.far)?;
                    }
                    self.talk.say(&ControlMessage::Ready)?;
                    // None of the trial's own.
                    left(&met.far, 0);
                    dropped = Some(drops(&met.far).map_err(GroundError::Socket)?);
                }
                ControlMessage::Bye => return Err(ControlError::Stopped.into()),
                ControlMessage::Begin { after_ns } if Duration::from_nanos(after_ns) <= BEGINS_WITHIN => {
                    return Ok((Duration::from_nanos(after_ns), dropped.unwrap_or(0)));
                }
                _ => return Err(self.talk.out_of_turn(awaited).into()),
            }
        }
    }

    /// Waits until nothing more comes of the load before the trial, which may still be in a queue on the way.
    fn quiet(&self, far: &UdpSocket) -> Result<(), ReverseError> {
        let (begin, mut last) = (Instant::now(), Instant::now());
        let mut dropped = drops(far).map_err(GroundError::Socket)?;
        while last.elapsed() < QUIET_FOR && begin.elapsed() < QUIET_WITHIN && !self.stop.load(Relaxed) {
            thread::sleep(Duration::from_millis(1));
            let now = drops(far).map_err(GroundError::Socket)?;
            if left(far, 0) > 0 || now != dropped {
                (last, dropped) = (Instant::now(), now);
            }
        }
        Ok(())
    }

    /// Waits until the load is over, and hears that the other host lives.
    fn follow(&self, within: Duration) -> Result<(), ReverseError> {
        let awaited = "a sign of life";
        let (begin, mut pulse) = (Instant::now(), Pulse::begin());
        loop {
            match self.poll(PATIENCE, awaited)? {
                Some(ControlMessage::Alive) => pulse.heard(),
                Some(ControlMessage::Over) => return Ok(()),
                Some(ControlMessage::Bye) => {
                    return Err(ControlError::Closed { peer: self.talk.peer(), awaited }.into());
                }
                Some(_) => return Err(self.talk.out_of_turn(awaited).into()),
                None => {}
            }
            if begin.elapsed() > within {
                return Err(ControlError::Overdue { peer: self.talk.peer() }.into());
            }
            pulse.go_on(&self.talk, &ControlMessage::Alive)?;
        }
    }
}
