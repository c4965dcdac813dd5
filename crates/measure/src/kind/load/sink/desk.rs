//! Assigns each datagram that comes to a sink to one of the senders that are being served, or to none.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_model::engine::Receive;
use netfathom_model::message::Header;
use netfathom_model::plan::Spin;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::thread_time_ns;
use netfathom_sys::link;
use netfathom_sys::socket::{ReceivedDatagram, drops, set_receive_buffer};
use parking_lot::Mutex;

use super::SinkEvent;
use crate::ground::error::GroundError;
use crate::load::control::Welcomed;
use crate::load::control::protocol::Hello;
use crate::load::error::FlightError;
use crate::load::message_log::SenderLog;
use crate::load::receive::{AfXdp, Echo, Socket, Source};
use crate::load::tally::{Read, Tally};

const RECEIVE_BUFFER_BYTES: i32 = 8 << 20;
/// Unannounced flows with their own counts; the rest is counted together.
const MOST_STRAY_FLOWS: usize = 16;
/// A stray flow may have any number of messages.
const ANY_NUMBER: u64 = u64::MAX >> 1;

pub struct Desk {
    socket: UdpSocket,
    state: Mutex<DeskState>,
}

#[derive(Default)]
struct DeskState {
    /// By their flows.
    served: BTreeMap<u32, Served>,
    strays: BTreeMap<Option<u32>, Stray>,
    echoes: Echoes,
}

/// What may be sent back: a number of messages a second, and at once as many as in [`Self::BURST`].
#[derive(Default)]
struct Echoes {
    most_per_s: f64,
    left: f64,
    at_ns: u64,
}

impl Echoes {
    /// Seconds: a host that was busy gets what came meanwhile at once.
    const BURST: f64 = 0.5;

    fn new(most_per_s: f64) -> Self {
        Self { most_per_s, left: Self::most(most_per_s), at_ns: monotonic_ns() }
    }

    fn most(most_per_s: f64) -> f64 {
        (Self::BURST * most_per_s).max(2.0 * most_per_s.min(16.0))
    }

    fn may(&mut self, clock_ns: impl FnOnce() -> u64) -> bool {
        if self.most_per_s.is_infinite() {
            return true;
        }
        let now_ns = clock_ns();
        let since_s = now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        (self.left, self.at_ns) =
            ((self.left + since_s * self.most_per_s).min(Self::most(self.most_per_s)), now_ns);
        let may = self.left >= 1.0;
        self.left -= f64::from(u8::from(may));
        may
    }
}

struct Served {
    peer: IpAddr,
    tally: Tally,
    echo: Option<Echo>,
    log: Option<SenderLog>,
    /// Of the socket, which all have in common.
    drops_before: u32,
    cpu_ns: u64,
    /// Datagrams of the last receive call.
    batch: u32,
    /// Whether one of these was a message that had not come before.
    has_new: bool,
    /// When the first messages came, and the last, without duplicates.
    came: Option<(Instant, Instant)>,
}

struct Stray {
    tally: Tally,
    from: Option<SocketAddr>,
    first: Instant,
    last: Instant,
}

impl Desk {
    /// At most `most_echo_per_s` messages a second are sent back, of all senders together.
    pub fn new(socket: &UdpSocket, most_echo_per_s: f64) -> io::Result<Self> {
        set_receive_buffer(socket, RECEIVE_BUFFER_BYTES)?;
        let state = DeskState { echoes: Echoes::new(most_echo_per_s), ..DeskState::default() };
        Ok(Self { socket: socket.try_clone()?, state: Mutex::new(state) })
    }

    /// Reads until it is over. Whatever comes is counted as what it is.
    pub fn read(
        &self,
        receive: Receive,
        address: SocketAddr,
        over: &AtomicBool,
        stop: &AtomicBool,
    ) -> Result<(), FlightError> {
        // Dropped after the source: it leads the frames there.
        let mut _redirect = None;
        let own = || Socket::new(self.socket.try_clone()?, receive, Spin::Auto);
        let mut source: Box<dyn Source> = match receive {
            Receive::AfXdp => {
                let device = link::with_address(address.ip())?;
                let index = device.ok_or(FlightError::NoOwnDevice(address.ip()))?.index;
                let (redirect, source) = AfXdp::attach(index, address.port(), Spin::Auto)?;
                _redirect = Some(redirect);
                Box::new(source)
            }
            _ => Box::new(own().map_err(GroundError::Socket)?),
        };
        while !over.load(Relaxed) && !stop.load(Relaxed) {
            let cpu_ns = thread_time_ns();
            let mut state = None;
            let received = source.receive(&mut |datagram| {
                // Taken at the first datagram: waiting for one blocks no other thread.
                state.get_or_insert_with(|| self.state.lock()).take(&datagram);
            });
            received.map_err(FlightError::Receive)?;
            if let Some(state) = &mut state {
                state.charge(thread_time_ns() - cpu_ns);
            }
        }
        Ok(())
    }

    /// From now on a sender's messages are its own.
    pub fn expect(
        &self,
        sender: &Welcomed,
        peer: IpAddr,
        hello: &Hello,
        log: Option<SenderLog>,
    ) -> io::Result<()> {
        let echo = hello.echo.then(|| self.socket.try_clone()).transpose()?;
        let served = Served {
            peer,
            tally: Tally::new(sender.flow, hello.lanes, hello.planned),
            echo: echo.map(|socket| Echo { socket, to: peer }),
            log,
            drops_before: drops(&self.socket)?,
            cpu_ns: 0,
            batch: 0,
            has_new: false,
            came: None,
        };
        self.state.lock().served.insert(sender.flow, served);
        Ok(())
    }

    pub fn delivered(&self, flow: u32) -> u64 {
        self.state.lock().served.get(&flow).map_or(0, |s| s.tally.read.delivered)
    }

    /// The sender goes; what arrived of it, and from the first of it to the last.
    pub fn dismiss(&self, flow: u32) -> (Read, Duration) {
        let Some(served) = self.state.lock().served.remove(&flow) else { return Default::default() };
        let took = served.came.map_or(Duration::ZERO, |(first, last)| last - first);
        let dropped = drops(&self.socket).map_or(0, |now| now.wrapping_sub(served.drops_before));
        (Read { dropped: dropped.into(), cpu_ns: served.cpu_ns, ..served.tally.read }, took)
    }

    /// Strays that nothing has been added to for so long; they are forgotten then.
    pub fn strays(&self, quiet: Duration) -> Vec<SinkEvent> {
        let (mut state, now) = (self.state.lock(), Instant::now());
        let event = |(flow, Stray { tally, from, first, last })| SinkEvent::Strays {
            flow,
            from,
            read: tally.read,
            took: last - first,
        };
        state.strays.extract_if(.., |_, s| now.duration_since(s.last) >= quiet).map(event).collect()
    }
}

impl DeskState {
    /// Puts the time of a receive call to those whom it had datagrams of.
    fn charge(&mut self, cpu_ns: u64) {
        let now = Instant::now();
        let all = u64::from(self.served.values().map(|served| served.batch).sum::<u32>());
        for served in self.served.values_mut().filter(|served| served.batch > 0) {
            served.cpu_ns += cpu_ns * u64::from(std::mem::take(&mut served.batch)) / all;
            if std::mem::take(&mut served.has_new) {
                served.came = Some((served.came.map_or(now, |came| came.0), now));
            }
        }
    }

    #[inline]
    fn take(&mut self, datagram: &ReceivedDatagram<'_>) {
        let header = Header::read(datagram.payload);
        let flow = header.map(|h| h.flow);
        // Sources that do not tell who sent a datagram leave it to the cookie alone.
        let is_from = |peer| datagram.from.is_none_or(|from| from.ip().to_canonical() == peer);
        let owner = match flow {
            Some(flow) => self.served.get_mut(&flow).filter(|served| is_from(served.peer)),
            // What is no message is the sender's that is there, if there is one only.
            None => {
                let mut all = self.served.values_mut().filter(|served| is_from(served.peer));
                all.next().filter(|_| all.next().is_none())
            }
        };
        if let Some(served) = owner {
            served.batch += 1;
            let new = served.tally.take(datagram.payload, datagram.truncated);
            served.has_new |= new.is_some();
            if let (Some(_), Some(echo), Some(from)) = (new, &served.echo, datagram.from)
                && self.echoes.may(monotonic_ns)
            {
                echo.answer(datagram.payload, from);
            }
            if let (Some(new), Some(log)) = (new, served.log.as_mut()) {
                log.message(&new.header, monotonic_ns());
            }
            return;
        }
        self.served.values_mut().for_each(|served| served.tally.read.foreign += 1);
        self.stray(flow, datagram);
    }

    fn stray(&mut self, flow: Option<u32>, datagram: &ReceivedDatagram<'_>) {
        let known = self.strays.contains_key(&flow);
        let key = if known || self.strays.len() < MOST_STRAY_FLOWS { flow } else { None };
        let now = Instant::now();
        let stray = self.strays.entry(key).or_insert_with(|| Stray {
            tally: Tally::new(key.unwrap_or(0), 1, ANY_NUMBER),
            from: datagram.from,
            first: now,
            last: now,
        });
        stray.last = now;
        stray.tally.take(datagram.payload, datagram.truncated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_sent_back_than_is_allowed() {
        let mut echoes = Echoes::new(1000.0);
        let mut sent = |at_ns| (0..5000).filter(|_| echoes.may(|| at_ns)).count();
        let begin_ns = monotonic_ns() + 10_000_000_000;
        // A burst, and from then on the rate.
        assert_eq!(sent(begin_ns), 500);
        assert_eq!(sent(begin_ns + 100_000_000), 100);
        assert_eq!(sent(begin_ns + 60_000_000_000), 500);
        let mut none = Echoes::new(0.0);
        assert_eq!((0..100).filter(|_| none.may(|| begin_ns)).count(), 0);
    }

    #[test]
    fn a_duplicate_is_not_the_last_message() {
        let served = Served {
            peer: [127, 0, 0, 1].into(),
            tally: Tally::new(5, 1, 10),
            echo: None,
            log: None,
            drops_before: 0,
            cpu_ns: 0,
            batch: 0,
            has_new: false,
            came: None,
        };
        let mut state = DeskState { served: BTreeMap::from([(5, served)]), ..DeskState::default() };
        let mut came_with = |sequence| {
            let mut payload = [0; 64];
            Header { flow: 5, sequence, intended_ns: 1, sent_ns: 2 }.write(&mut payload);
            state.take(&ReceivedDatagram { payload: &payload, truncated: false, from: None });
            state.charge(0);
            state.served[&5].came
        };
        let last = came_with(1);
        assert_eq!(came_with(1), last);
        assert_ne!(came_with(0), last);
    }
}
