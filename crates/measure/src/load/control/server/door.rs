//! Where senders knock: a thread of its own greets them, so that one more than the sink takes hears so at once,
//! whatever that does meanwhile.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Incoming, Link, Seat};
use crate::load::allow::{Allowed, Prefix};
use crate::load::control::line::{Lines, Writer, open};
use crate::load::control::protocol::{FromSink, Hello, VERSION, Why};
use crate::load::control::{ControlError, LINE_WITHIN};

/// Connections that may make up their minds at the same time.
const MOST_GREETED: usize = 32;
/// How many ports from the kernel to try: the other protocol may use the port.
const PORT_ATTEMPTS: u32 = 32;
/// So long the one before may take to be gone.
const PARTING: Duration = Duration::from_millis(100);
/// So long may one that is refused take to close; others wait behind it.
const REFUSED_LINGER: Duration = Duration::from_millis(250);
/// What the kernel lacks now (descriptors, memory) it may have then.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// The first line of a conversation.
pub trait Greeting: DeserializeOwned + Send + 'static {
    /// The word that it begins with.
    const SAYS: &'static str;
    const VERSION: u32;
}

impl Greeting for Hello {
    const SAYS: &'static str = "hello";
    const VERSION: u32 = VERSION;
}

/// Listens for senders. Lets in a limited number at a time; the others receive the reason.
#[derive(Debug)]
pub struct Listener<H = Hello> {
    address: SocketAddr,
    /// Behind a lock only so that threads may share the listener.
    arrivals: Mutex<Receiver<Incoming<H>>>,
    door: Arc<Door>,
    /// The listening socket, as what can be shut down.
    socket: TcpStream,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Door {
    /// The hosts that may send load; `None` for any.
    senders: Option<Allowed>,
    closing: AtomicBool,
    /// Senders that are served, and how many may be.
    served: Arc<AtomicU32>,
    most: u32,
    /// Connections without a hello so far, the oldest first.
    greeting: Mutex<VecDeque<Arc<TcpStream>>>,
    /// The key of a connection that is to come for the one who is served, and who takes it.
    expected: Mutex<Option<(u64, Sender<TcpStream>)>>,
}

impl Listener {
    /// Listens on an address; port 0 takes a free one.
    #[cfg(test)]
    pub fn bind(address: SocketAddr) -> Result<Self, ControlError> {
        Self::bind_with(address, None, 1, |_| Ok(())).map(|(listener, ())| listener)
    }
}

impl<H: Greeting> Listener<H> {
    /// A connection that shows this key in a line of its own comes to the receiver, and not among the others.
    pub fn expect(&self, key: u64) -> Receiver<TcpStream> {
        let (hand_over, expected) = channel();
        *self.door.expected.lock() = Some((key, hand_over));
        expected
    }

    /// Listens on an address and has the sockets of the load bound to the same one: of port 0
    /// a port that is free for both. Senders elsewhere than in these networks are refused.
    pub fn bind_with<T>(
        address: SocketAddr,
        senders: Option<Allowed>,
        most: u32,
        mut others: impl FnMut(SocketAddr) -> io::Result<T>,
    ) -> Result<(Self, T), ControlError> {
        let failed = |source| ControlError::Listen { address, source };
        let mut attempts = if address.port() == 0 { PORT_ATTEMPTS } else { 1 };
        loop {
            let listener = TcpListener::bind(address).map_err(failed)?;
            attempts -= 1;
            match others(listener.local_addr().map_err(failed)?) {
                Ok(bound) => return Ok((Self::start(listener, senders, most).map_err(failed)?, bound)),
                Err(e) if e.kind() == ErrorKind::AddrInUse && attempts > 0 => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }

    fn start(listener: TcpListener, senders: Option<Allowed>, most: u32) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let socket = TcpStream::from(OwnedFd::from(listener.try_clone()?));
        let (sender, arrivals) = channel();
        let door = Arc::new(Door { senders, most, ..Door::default() });
        let greeting = Arc::clone(&door);
        let greet = move || greeting.greet_all(&listener, &sender);
        let thread = thread::Builder::new().name("nf-door".to_owned()).spawn(greet)?;
        Ok(Self { address, arrivals: Mutex::new(arrivals), door, socket, thread: Some(thread) })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The next sender; `None` if none comes in time.
    pub fn accept(&self, within: Duration) -> Result<Option<Incoming<H>>, ControlError> {
        let arrivals = self.arrivals.lock();
        match arrivals.recv_timeout(within) {
            Ok(incoming) => Ok(Some(incoming)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let source = io::Error::other("its thread has died");
                Err(ControlError::Listen { address: self.address, source })
            }
        }
    }
}

impl<H> Drop for Listener<H> {
    fn drop(&mut self) {
        self.door.closing.store(true, Relaxed);
        // Linux wakes accept(2) with EINVAL when its socket is shut down (inet_shutdown).
        let _ = self.socket.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Door {
    /// Each connection has a thread of its own, so that a silent one blocks no other. A sender sends
    /// its hello at once: beyond a limit, the connection that has been silent longest is closed.
    fn greet_all<H: Greeting>(self: &Arc<Self>, listener: &TcpListener, arrivals: &Sender<Incoming<H>>) {
        loop {
            let accepted = listener.accept();
            if self.closing.load(Relaxed) {
                return;
            }
            match accepted {
                Ok((stream, peer)) => {
                    let Ok(knock) = stream.try_clone().map(Arc::new) else { continue };
                    self.wait(&knock);
                    let (door, arrivals, served) = (Arc::clone(self), arrivals.clone(), Arc::clone(&knock));
                    let greet = move || {
                        // A program that is not netfathom gets no answer, and causes no error here: the
                        // port is open to all.
                        if let Ok(Some(incoming)) = door.greet(stream, peer) {
                            // The receiver is gone: the connection closes with the door.
                            let _ = arrivals.send(incoming);
                        }
                        door.forget(&served);
                    };
                    if thread::Builder::new().name("nf-greeting".to_owned()).spawn(greet).is_err() {
                        self.forget(&knock);
                    }
                }
                Err(_) => thread::sleep(ACCEPT_AGAIN),
            }
        }
    }

    fn wait(&self, knock: &Arc<TcpStream>) {
        let mut greeting = self.greeting.lock();
        if greeting.len() >= MOST_GREETED
            && let Some(oldest) = greeting.pop_front()
        {
            // It may be gone already.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        greeting.push_back(Arc::clone(knock));
    }

    fn forget(&self, knock: &Arc<TcpStream>) {
        let mut greeting = self.greeting.lock();
        greeting.retain(|other| !Arc::ptr_eq(other, knock));
    }

    /// A sender of several trials comes back at once: that its last conversation is over may
    /// be known there some moments before it is here.
    fn claim(&self) -> Option<Seat> {
        let deadline = Instant::now() + PARTING;
        loop {
            let seat = Seat::claim(&self.served, self.most);
            if seat.is_some() || Instant::now() >= deadline {
                return seat;
            }
            thread::sleep(PARTING / 20);
        }
    }

    /// Gives a connection with the right key to who waits for it; whether it was one.
    fn hands_over(&self, key: u64, lines: &Lines) -> bool {
        let expected = self.expected.lock().take_if(|(expected, _)| *expected == key);
        expected
            .zip(lines.stream_alone())
            .is_some_and(|((_, receiver), stream)| receiver.send(stream).is_ok())
    }

    fn greet<H: Greeting>(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<Option<Incoming<H>>, ControlError> {
        let (mut lines, mut writer) = open(stream, peer)?;
        let awaited = "a hello";
        let message: Value = lines.next(LINE_WITHIN, awaited)?;
        if let Some(key) = message.get("key").and_then(Value::as_u64)
            && self.hands_over(key, &lines)
        {
            return Ok(None);
        }
        // Before it can take a place.
        if let Some(why) = self.senders.as_ref().and_then(|senders| stranger(senders, peer.ip())) {
            return refuse(&mut lines, &mut writer, why);
        }
        // Of another version nothing but this can be relied on.
        let version = message.get("version").and_then(Value::as_u64);
        if version.is_some_and(|version| version != u64::from(H::VERSION)) {
            return refuse(&mut lines, &mut writer, Why::Version { speaks: H::VERSION });
        }
        let says = version.is_some() && message.get("say").is_some_and(|word| word == H::SAYS);
        let Some(hello) = says.then(|| serde_json::from_value(message).ok()).flatten() else {
            return Err(lines.garbage(awaited, "another word came".to_owned()));
        };
        let Some(seat) = self.claim() else {
            return refuse(&mut lines, &mut writer, Why::Busy);
        };
        Ok(Some(Incoming { link: Link { lines, writer, hello, seat } }))
    }
}

/// Why a sender may not come from there, if it may not.
fn stranger(senders: &Allowed, peer: IpAddr) -> Option<Why> {
    let peer = peer.to_canonical();
    let text = || {
        format!(
            "your address {peer} is not in a private, link-local or test network, and it takes load from no other: \
             start it with --allow {}",
            Prefix::host(peer)
        )
    };
    (!senders.holds(peer)).then(|| Why::Limit { text: text() })
}

fn refuse<H>(lines: &mut Lines, writer: &mut Writer, why: Why) -> Result<Option<Incoming<H>>, ControlError> {
    writer.say(&FromSink::Refused { why })?;
    writer.finish();
    lines.linger(REFUSED_LINGER);
    Ok(None)
}
