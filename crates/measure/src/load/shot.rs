//! One flight with the engine and the receiver of choice, and everything that is known of it
//! afterwards. What all measurements of the load are made of.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use netfathom_model::accounting::Accounting;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{Place, Spin, Transport};
use netfathom_sys::socket::set_receive_buffer;
use netfathom_sys::{offload, route};

use super::accounting::{Ways, account};
use super::answers::{self, Answers, Asked};
use super::contention::Contention;
use super::engine;
use super::flight::{Departures, FarEnd, Flight, Generator, Landed, Sender, await_count, spawn};
use super::frame::{Frame, FrameAddresses};
use super::message_log::{MessageLog, SenderLog};
use super::receive::{Receiver, Streams};
use super::sent::Sent;
use super::streamed::Streamed;
use super::tally::{Read, Tally};
use super::window::Windows;
use crate::ground::error::GroundError;
use crate::ground::lab::Role;
use crate::ground::observer::Live;
use crate::ground::processors::Cpus;
use crate::ground::rig::Rig;
use crate::load::error::FlightError;

mod far_end;

/// Routers between hosts, and one more; in the lab there is none.
const HOPS: u8 = 64;
const ANSWERS_BYTES: i32 = 4 << 20;

#[derive(Clone, Copy)]
pub struct Shot<'a> {
    pub rig: &'a Rig,
    pub engine: Engine,
    /// Over TCP both ends are on this machine, and the engine is one call a message.
    pub transport: Transport,
    /// How they are taken, where that is on this machine.
    pub receive: Receive,
    /// CPUs of the senders, one each, and of the receiver.
    pub cpus: &'a Cpus,
    /// UDP payload.
    pub size: usize,
    /// UDP port of the receiver; 0 takes a free one.
    pub port: u16,
    pub spin: Spin,
    pub echo: bool,
    pub flow: u32,
    pub stop: &'a AtomicBool,
    pub live: &'a Live,
    pub log: Option<&'a MessageLog>,
    /// Where it is observed who has the processors.
    pub contention: Option<&'a Contention>,
}

pub struct ShotOutcome {
    pub windows: Windows,
    pub senders: Vec<Sent>,
    pub sent: Sent,
    pub read: Read,
    /// Whether a thread of this host read it.
    pub receiver_is_here: bool,
    /// How they left and how they were taken.
    pub ways: Ways,
    pub accounting: Accounting,
    /// Whether buffers of several messages left the sender's device in one piece.
    pub unsplit: bool,
    pub answers: Option<Answers>,
}

impl ShotOutcome {
    /// How often the receiver's thread slept, per message that arrived; `None` where it is not a thread of
    /// this host.
    pub fn receiver_sleeps(&self) -> Option<f64> {
        let here = self.receiver_is_here && self.ways.receive.is_some_and(|way| way != Receive::Xdp);
        here.then(|| self.read.sleeps as f64 / self.read.delivered.max(1) as f64)
    }

    /// Messages that did not arrive, of those that left, 0 to 1.
    pub fn lost(&self) -> f64 {
        1.0 - self.read.delivered as f64 / self.sent.accepted.max(1) as f64
    }
}

impl Shot<'_> {
    /// Makes the flight to a far end on this machine.
    pub fn fly(&self, duration_ns: u64, departures: Departures<'_>) -> Result<ShotOutcome, FlightError> {
        if self.transport == Transport::Tcp {
            return self.fly_connected(duration_ns, departures);
        }
        let reader = self.rig.reader_socket(self.port)?;
        let to = reader.local_addr().map_err(GroundError::Socket)?;
        let sockets = self.sockets(to)?;
        // An engine may need a later kernel than its receiver, and is the one to say so.
        let senders = self.senders(&sockets, to)?;
        let mut far = self.far_end(reader, departures.messages())?;
        let ways = Ways { engine: self.engine, receive: Some(self.receive), transport: Transport::Udp };
        self.fly_from(&sockets, senders, &mut *far.end, ways, duration_ns, departures)
    }

    /// Over connections.
    fn fly_connected(
        &self,
        duration_ns: u64,
        departures: Departures<'_>,
    ) -> Result<ShotOutcome, FlightError> {
        let connections = self.rig.connections(self.port, self.lanes())?;
        let (senders, readers): (Vec<_>, Vec<_>) = connections.into_iter().unzip();
        let own = readers.iter().map(UdpSocket::try_clone).collect::<Result<_, _>>();
        let source =
            own.and_then(|own| Streams::new(own, self.size, self.receive == Receive::Recv, self.spin));
        let source = Box::new(source.map_err(GroundError::Socket)?);
        let tally = Tally::new(self.flow, self.lanes(), departures.messages());
        let mut far = Receiver { source, tally, echo: None };
        let ways = Ways { engine: self.engine, receive: Some(self.receive), transport: self.transport };
        let streamed = Streamed::begin(&senders, &readers)?;
        let to = senders[0].peer_addr().map_err(GroundError::Socket)?;
        let workers = self.senders(&senders, to)?;
        let mut outcome = self.fly_from(&senders, workers, &mut far, ways, duration_ns, departures)?;
        let bytes = |messages: u64| messages * self.size as u64;
        let (checks, retransmitted) =
            streamed.end(bytes(outcome.sent.accepted), bytes(outcome.read.delivered))?;
        outcome.accounting.counters.extend(checks);
        outcome.accounting.retransmitted = retransmitted;
        Ok(outcome)
    }

    pub fn fly_to(
        &self,
        to: SocketAddr,
        far: &mut dyn FarEnd,
        ways: Ways,
        duration_ns: u64,
        departures: Departures<'_>,
    ) -> Result<ShotOutcome, FlightError> {
        let sockets = self.sockets(to)?;
        let senders = self.senders(&sockets, to)?;
        self.fly_from(&sockets, senders, far, ways, duration_ns, departures)
    }

    fn sockets(&self, to: SocketAddr) -> Result<Vec<UdpSocket>, GroundError> {
        (0..self.lanes()).map(|_| self.rig.sender_socket(to)).collect()
    }

    fn fly_from(
        &self,
        sockets: &[UdpSocket],
        senders: Vec<Sender<'static, Option<SenderLog>>>,
        far: &mut dyn FarEnd,
        ways: Ways,
        duration_ns: u64,
        departures: Departures<'_>,
    ) -> Result<ShotOutcome, FlightError> {
        let answered = if self.echo { sockets } else { &[] };
        for socket in answered {
            set_receive_buffer(socket, ANSWERS_BYTES).map_err(GroundError::Socket)?;
        }
        let before = self.rig.counters()?;
        // Last: some engines take longer to load than the first message is away.
        let windows = Windows { start_ns: far.begin()?, shift: Windows::shift_for(duration_ns) };
        let flight = Flight {
            flow: self.flow,
            duration_ns,
            departures,
            spin: self.spin,
            windows,
            stop: self.stop,
            live: self.live,
            contention: self.contention,
        };
        let far_cpu = (!matches!(self.rig.place, Place::To(_))).then_some(self.cpus.reader);
        let asked = Asked {
            flow: self.flow,
            lanes: self.lanes(),
            planned: departures.messages(),
            start_ns: windows.start_ns,
        };
        let fly = || flight.run(senders, far, far_cpu);
        let (landed, answers) = self.with_answers(answered, asked, fly)?;
        let senders: Vec<Sent> = landed.sent.into_iter().map(|(sent, _)| sent).collect();
        let sent = Sent::merged(senders.iter().cloned(), windows);
        let accounting = account(self.rig, &before, &sent, &landed.read, None, ways)?;
        let answers = self.echo.then_some(answers);
        let unsplit = self.unsplit(&sent);
        let receiver_is_here = far_cpu.is_some();
        let read = landed.read;
        Ok(ShotOutcome { windows, senders, sent, read, receiver_is_here, ways, accounting, unsplit, answers })
    }

    /// Messages that left at the same nanosecond were in one buffer. Whether it was split the device says:
    /// the counters that others share hide a few that were not.
    fn unsplit(&self, sent: &Sent) -> bool {
        let joined = self.engine == Engine::Gso && sent.intervals.moments.min == 0;
        let (device, _) = self.rig.device_names();
        let whole = |name: String| {
            let asked = self.rig.at(Role::Sender, || offload::leaves_buffers_whole(&name));
            asked.is_ok_and(|answer| answer.unwrap_or(false))
        };
        joined && sent.intervals.moments.n > 0 && device.is_some_and(whole)
    }

    pub fn lanes(&self) -> u32 {
        self.cpus.senders.len() as u32
    }

    /// Reads the answers on these sockets while the messages fly, and until as many have come as
    /// messages arrived, or none comes any more.
    fn with_answers<S>(
        &self,
        sockets: &[UdpSocket],
        asked: Asked,
        fly: impl FnOnce() -> Result<Landed<S>, FlightError>,
    ) -> Result<(Landed<S>, Answers), FlightError> {
        let (over, count) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            let read = |socket| {
                let (over, count) = (&over, &count);
                spawn(scope, "answers", move || answers::read(socket, asked, count, over))
            };
            let readers = sockets.iter().map(read).collect::<Result<Vec<_>, _>>();
            let landed = fly();
            if let (Ok(landed), false) = (&landed, sockets.is_empty()) {
                await_count(&count, landed.read.delivered, || self.stop.load(Relaxed));
            }
            over.store(true, Relaxed);
            let mut all = Answers::default();
            for reader in readers? {
                all.merge(&reader.join().unwrap_or(Err(FlightError::Thread("answers")))?);
            }
            Ok((landed?, all))
        })
    }

    fn senders(
        &self,
        sockets: &[UdpSocket],
        to: SocketAddr,
    ) -> Result<Vec<Sender<'static, Option<SenderLog>>>, FlightError> {
        let sender = |(lane, (socket, &cpu)): (u32, (&UdpSocket, &usize))| {
            let tap = self.log.map(|log| log.lane(self.flow, self.lanes()));
            Ok(Sender { generator: Generator::Engine(self.engine(lane, socket, to)?), cpu, tap })
        };
        (0..).zip(sockets.iter().zip(&self.cpus.senders)).map(sender).collect()
    }

    /// The engine of one worker, over its socket or in its name.
    pub fn engine(
        &self,
        lane: u32,
        socket: &UdpSocket,
        to: SocketAddr,
    ) -> Result<Box<dyn engine::Engine>, FlightError> {
        let own = || socket.try_clone().map_err(GroundError::Socket);
        Ok(match self.engine {
            Engine::Send if self.transport == Transport::Tcp => {
                Box::new(engine::Stream::new(own()?, self.size, None))
            }
            Engine::Send => Box::new(engine::Send::new(own()?, self.size)),
            Engine::Sendmmsg => Box::new(engine::Sendmmsg::new(own()?, self.size)),
            Engine::Gso => {
                self.split_in_lab()?;
                Box::new(engine::Gso::new(own()?, self.size).map_err(GroundError::Socket)?)
            }
            Engine::AfXdp => {
                let (index, frame) = self.frame(socket, to)?;
                Box::new(self.rig.at(Role::Sender, || engine::AfXdp::open(index, lane, frame))??)
            }
            Engine::Xdp => {
                let (index, frame) = self.frame(socket, to)?;
                Box::new(self.rig.at(Role::Sender, || engine::Xdp::load(frame.bytes(), index))??)
            }
        })
    }

    /// The lab's devices must not leave buffers whole that are to be split: a veth never
    /// does it, and counts a buffer as one packet.
    fn split_in_lab(&self) -> Result<(), FlightError> {
        let Some(lab) = self.rig.lab() else { return Ok(()) };
        let name = &lab.link(Role::Sender).name;
        Ok(self.rig.at(Role::Sender, || offload::set_feature(name, offload::SPLITS_BUFFERS, false))??)
    }

    /// The device of the sender, and a message as a whole frame from its socket to there.
    fn frame(&self, socket: &UdpSocket, to: SocketAddr) -> Result<(u32, Frame), FlightError> {
        let source = socket.local_addr().map_err(GroundError::Socket)?;
        let (index, source_mac, destination_mac, source, hop_limit) = match self.rig.lab() {
            Some(lab) => {
                let (near, far) = (lab.link(Role::Sender), lab.link(Role::Reader));
                (near.index, near.mac, far.mac, source, 1)
            }
            None => {
                let way = route::to(to.ip())?;
                let source = SocketAddr::new(way.source, source.port());
                (way.index, way.source_mac, way.destination_mac, source, HOPS)
            }
        };
        let ends = FrameAddresses { source_mac, destination_mac, source, destination: to, hop_limit };
        Ok((index, Frame::new(&ends, self.flow, self.size)))
    }
}
