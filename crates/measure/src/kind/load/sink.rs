//! `netfathom load sink`: takes what another host sends, tells it what arrived, and counts
//! whatever else comes.
//!
//! One thread reads the socket all the time; who its messages belong to is looked up for
//! each. The conversation with each sender has a thread of its own.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_bpf::sink::{SinkFlow, XdpSink};
use netfathom_bpf::xdp::Mode;
use netfathom_capture::log::Columns;
use netfathom_model::engine::Receive;
use netfathom_model::message::HEADER_BYTES;
use netfathom_model::units::format_duration;
use netfathom_sys::counters::{self, Counters};
use netfathom_sys::{link, route};
use parking_lot::Mutex;

use crate::ground::error::GroundError;
use crate::load::allow::{Allowed, Prefix};
use crate::load::control::protocol::{self, Hello, MOST_COUNTED, Why};
use crate::load::control::{ControlError, Incoming, Listener, TOOL, draw_flow};
use crate::load::error::FlightError;
use crate::load::flight::spawn;
use crate::load::message_log::MessageLog;
use crate::load::tally::Read;

mod desk;

use desk::Desk;

/// How long the door is listened at before it is looked whether to end.
const PATIENCE: Duration = Duration::from_millis(100);
/// Senders of one load; each takes some memory.
const MOST_LANES: u32 = 256;
/// The most that a datagram over IPv4 carries: 65,535 bytes less the headers of IP and UDP (RFC 768).
const MOST_BYTES: usize = 65_507;
/// A load of a longer trial is refused, unless the sink is to take longer ones: its sender has a place that others may want.
pub const MOST_NS: u64 = 600 * 1_000_000_000;

#[derive(Clone, Debug)]
pub struct SinkPlan {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    pub receive: Receive,
    /// From where loads are taken, besides private networks.
    pub allow: Vec<Prefix>,
    pub most_ns: u64,
    /// Messages a second that are sent back where a load asks for it.
    pub most_echo_per_s: f64,
    /// Senders that are served at the same time.
    pub most_senders: u32,
    /// Ends after this many loads; `None` continues until it is stopped.
    pub most_loads: Option<u32>,
    /// Where it writes down what it received, message by message: not where the driver counts
    /// them.
    pub log: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub enum SinkEvent {
    /// Messages come to that socket.
    Listening { at: SocketAddr, socket: Arc<UdpSocket> },
    /// A sender has announced its load.
    Begins { peer: SocketAddr, hello: Hello },
    Ended {
        peer: SocketAddr,
        sent: protocol::SendTotals,
        read: Read,
        /// From its first message to its last; zero where the driver has counted them.
        took: Duration,
    },
    /// A sender was lost, or went back on its word.
    Lost {
        peer: SocketAddr,
        why: String,
        /// What had arrived until then.
        read: Read,
    },
    /// What came without having been announced: of one flow, or what is no message at all.
    Strays {
        /// The flow; `None` of what has none.
        flow: Option<u32>,
        from: Option<SocketAddr>,
        read: Read,
        /// From the first to the last.
        took: Duration,
    },
}

pub fn serve(
    plan: &SinkPlan,
    notify: &mut (dyn FnMut(SinkEvent) + Send),
    stop: &AtomicBool,
) -> Result<(), FlightError> {
    let senders = Some(Allowed::new(&plan.allow));
    let (listener, socket) = Listener::bind_with(plan.listen, senders, plan.most_senders, UdpSocket::bind)?;
    let address = listener.local_addr();
    let desk = Desk::new(&socket, plan.most_echo_per_s).map_err(GroundError::Socket)?;
    let log = plan.log.as_deref().map(|path| MessageLog::create(path, Columns::RECEIVED)).transpose()?;
    let shared = Arc::new(socket.try_clone().map_err(GroundError::Socket)?);
    notify(SinkEvent::Listening { at: address, socket: shared });
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = spawn(scope, "sink", || desk.read(plan.receive, address, &over, stop))?;
        let at = Attended { plan, listener: &listener, desk: &desk, log: log.as_ref() };
        let served = at.attend(notify, stop, || reader.is_finished());
        over.store(true, Relaxed);
        let read = reader.join().unwrap_or(Err(FlightError::Thread("sink")));
        desk.strays(Duration::ZERO).into_iter().for_each(notify);
        read.and(served)
    })?;
    log.map_or(Ok(()), MessageLog::finish)
}

struct Attended<'a> {
    plan: &'a SinkPlan,
    listener: &'a Listener,
    desk: &'a Desk,
    log: Option<&'a MessageLog>,
}

impl Attended<'_> {
    fn attend(
        &self,
        notify: &mut (dyn FnMut(SinkEvent) + Send),
        stop: &AtomicBool,
        reader_died: impl Fn() -> bool,
    ) -> Result<(), FlightError> {
        let (notify, [begun, ended]) = (Mutex::new(notify), [const { AtomicU32::new(0) }; 2]);
        let tell = |event| notify.lock()(event);
        thread::scope(|scope| {
            while !stop.load(Relaxed)
                && !reader_died()
                && self.plan.most_loads.is_none_or(|most| ended.load(Relaxed) < most)
            {
                self.desk.strays(Duration::from_secs(1)).into_iter().for_each(tell);
                // Those under way may be the last.
                if self.plan.most_loads.is_some_and(|most| begun.load(Relaxed) >= most) {
                    thread::sleep(PATIENCE);
                    continue;
                }
                let Some(incoming) = self.listener.accept(PATIENCE)? else { continue };
                begun.fetch_add(1, Relaxed);
                let (begun, ended, tell) = (&begun, &ended, &tell);
                spawn(scope, "load", move || {
                    if self.serve(incoming, tell, stop) {
                        ended.fetch_add(1, Relaxed);
                    } else {
                        begun.fetch_sub(1, Relaxed);
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// One load; whether it was one. Whoever was sent away does not count.
    fn serve(&self, incoming: Incoming, tell: &(dyn Fn(SinkEvent) + Sync), stop: &AtomicBool) -> bool {
        let peer = plain(incoming.peer());
        let ended = draw_flow().map_err(FlightError::from).and_then(|flow| {
            self.load(incoming, flow, tell, stop).inspect_err(|e| {
                let read = self.desk.dismiss(flow).0;
                tell(SinkEvent::Lost { peer, why: e.to_string(), read });
            })
        });
        let refused = matches!(ended, Err(FlightError::Control(ControlError::Refused { .. })));
        ended.into_iter().for_each(tell);
        !refused
    }

    /// One load, from its announcement to its tally.
    fn load(
        &self,
        incoming: Incoming,
        flow: u32,
        tell: &(dyn Fn(SinkEvent) + Sync),
        stop: &AtomicBool,
    ) -> Result<SinkEvent, FlightError> {
        let Self { plan, desk, .. } = self;
        let address = self.listener.local_addr();
        let (peer, hello) = (plain(incoming.peer()), incoming.hello().clone());
        if let Some(text) = refusal(plan, &hello) {
            let why = Why::Limit { text };
            incoming.refuse(why.clone())?;
            return Err(ControlError::Refused { peer, why }.into());
        }
        tell(SinkEvent::Begins { peer, hello: hello.clone() });
        let kernel =
            (plan.receive == Receive::Xdp).then(|| count(address, peer.ip(), flow, &hello)).transpose();
        let kernel = match kernel {
            Ok(kernel) => kernel,
            Err(e) => {
                // The sender receives the reason, not only a closed connection.
                incoming.refuse(Why::Limit { text: e.to_string() })?;
                return Err(e);
            }
        };
        let welcomed = incoming.welcome(flow, plan.receive, TOOL)?;
        let log = self.log.map(|log| log.lane(flow, 1));
        desk.expect(&welcomed, peer.ip(), &hello, log).map_err(GroundError::Socket)?;
        let begun = welcomed.await_begin(stop)?;
        let before = counters::read().map_err(GroundError::Counters)?;
        let running = begun.ready()?.held_to(Duration::from_nanos(hello.duration_ns));
        let delivered = || match &kernel {
            // What comes in by another device passes the program, and is the desk's.
            Some(sink) => sink.counts().map_or(0, |c| c.delivered) + desk.delivered(flow),
            None => desk.delivered(flow),
        };
        let mut ended = running.watch(delivered, stop)?;
        ended.drain(delivered)?;
        let sent = ended.sent;
        let (mut read, took) = desk.dismiss(flow);
        if let Some(sink) = &kernel {
            read.merge(&crate::load::receive::kernel_read(&sink.counts()?));
        }
        let counted = counters::read().and_then(|now| now.since(&before)).map_err(GroundError::Counters)?;
        ended.tally(tally(&read, &counted, peer.ip()))?;
        Ok(SinkEvent::Ended { peer, sent, read, took })
    }
}

/// Why this sink does not take such a load on.
fn refusal(plan: &SinkPlan, hello: &Hello) -> Option<String> {
    if hello.echo && !matches!(plan.receive, Receive::Recv | Receive::Recvmmsg) {
        return Some(format!(
            "it takes messages by {}, which cannot answer them: start it with --receive recvmmsg",
            plan.receive.name()
        ));
    }
    let rate_per_s = hello.planned as f64 * 1e9 / hello.duration_ns.max(1) as f64;
    // A planned load is a message more or less than its rate.
    if hello.echo && rate_per_s > plan.most_echo_per_s * 1.01 + 2e9 / hello.duration_ns.max(1) as f64 {
        return Some(format!("it sends at most {} messages/s back", plan.most_echo_per_s));
    }
    if !(1..=MOST_LANES).contains(&hello.lanes) {
        return Some(format!("it takes the load of 1 to {MOST_LANES} senders at the same time"));
    }
    if !(HEADER_BYTES..=MOST_BYTES).contains(&hello.size_bytes) {
        return Some(format!(
            "it takes messages of {HEADER_BYTES} to {MOST_BYTES} bytes, which is what UDP carries"
        ));
    }
    if hello.planned > MOST_COUNTED {
        return Some(format!("it takes loads of at most {MOST_COUNTED} messages"));
    }
    (hello.duration_ns > plan.most_ns).then(|| {
        let most = format_duration(plan.most_ns);
        format!("it takes loads of at most {most}: send a shorter one, or start it with a longer --max-time")
    })
}

/// Has a program in the driver count the messages of a flow.
fn count(address: SocketAddr, peer: IpAddr, flow: u32, hello: &Hello) -> Result<XdpSink, FlightError> {
    let sink = XdpSink::attach(device_to(peer)?, address.port(), Mode::Native)?;
    sink.begin(SinkFlow { flow, lanes: hello.lanes, planned: hello.planned })?;
    Ok(sink)
}

/// An IPv4 address that a socket for both protocols wraps (RFC 4291, 2.5.5.2), as what it is.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The device that leads to a host, and so the one that its messages come in by.
fn device_to(peer: IpAddr) -> Result<u32, FlightError> {
    Ok(link::read(&route::device_to(peer)?)?.index)
}

fn tally(read: &Read, counted: &Counters, peer: IpAddr) -> protocol::Tally {
    let device = route::device_to(peer).ok().and_then(|name| counted.devices.get(&name).copied());
    let udp = if peer.is_ipv6() { counted.udp6 } else { Some(counted.udp4) };
    let read = Read { corrupted: udp.map_or(0, |u| u.in_csum_errors), ..read.clone() };
    protocol::Tally {
        device_packets: device.map(|d| d.rx_packets),
        udp_in: udp.map(|u| u.in_datagrams),
        read,
    }
}
