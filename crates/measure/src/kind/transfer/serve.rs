//! A receiver that takes sender after sender, several at once, until its user ends it.
//!
//! Its resources are bounded however many clients come: a thread and a buffer for each client up to the
//! limit, and the last of the ended streams. A client beyond the limit is cut off at once, which costs
//! a call or two and blocks no other client.

use std::collections::VecDeque;
use std::fs::File;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use netfathom_model::plan::{Service, TransferPlan};
use netfathom_model::record::{Served, TransferEnd, TransferMethod, TransferResult, TransferStream};
use netfathom_model::units::format_duration;
use netfathom_sys::endpoint;
use parking_lot::Mutex;

use super::ends::{self, End, TransferEvent};
use super::streams::{self, Moved};
use super::timing::Untimed;
use super::{Around, Broken, TransferError, tcp};

/// Streams that a record keeps, the last ones.
const MOST_KEPT: usize = 1000;
/// Before another attempt to take a connection that there is no memory for.
const PAUSE: Duration = Duration::from_millis(50);
/// How often rejected senders are reported: a flood of them is one message.
const TELL: Duration = Duration::from_secs(1);

/// A client that has ended, as it is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The first is 1.
    pub number: u64,
    pub peer: Option<SocketAddr>,
    pub bytes: u64,
    /// From its connection to its last byte.
    pub duration_ns: u64,
    pub end: TransferEnd,
}

/// Serves until the user ends it.
pub(super) fn serve(
    plan: &TransferPlan,
    service: &Service,
    around: Around<'_>,
) -> Result<TransferResult, TransferError> {
    let clients = Clients::default();
    let listening = ends::listen(plan, around)?;
    let mut acceptor =
        Acceptor { service, around, clients: &clients, came: 0, reported: None, spare: spare() };
    thread::scope(|scope| {
        while !around.stopped() {
            let next = acceptor.next(&listening).inspect_err(|_| around.end());
            let Some(end) = next? else { continue };
            if !clients.enter(service.most_clients) {
                acceptor.turn_away(&end);
                continue;
            }
            acceptor.came += 1;
            let (number, clients) = (acceptor.came, &clients);
            let end = Arc::new(end);
            let theirs = Arc::clone(&end);
            let work = move || clients.take(plan, service, around, number, &theirs);
            if Builder::new().name(format!("client {number}")).spawn_scoped(scope, work).is_err() {
                clients.had_no_thread();
                acceptor.turn_away(&end);
            }
        }
        Ok::<_, TransferError>(())
    })?;
    Ok(clients.result(plan, &listening))
}

struct Acceptor<'a> {
    service: &'a Service,
    around: Around<'a>,
    clients: &'a Clients,
    came: u64,
    /// When a rejected sender was last reported.
    reported: Option<Instant>,
    /// A descriptor to give up where there is no other: then a sender can still be cut off.
    spare: Option<File>,
}

/// What the listening socket was granted, the connection has too.
fn end(listening: &End, (socket, peer): (OwnedFd, SocketAddr)) -> End {
    let (local, granted_bytes) = (listening.local, listening.granted_bytes);
    End { socket: Arc::new(socket), local, peer: Some(peer), granted_bytes }
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

impl Acceptor<'_> {
    /// Whoever comes next; `None` where there is only something to look at.
    fn next(&mut self, listening: &End) -> Result<Option<End>, TransferError> {
        match endpoint::accept(listening.socket.as_fd()) {
            Ok(accepted) => Ok(Some(end(listening, accepted))),
            Err(error) if endpoint::befell_the_sender(&error) => Ok(None),
            Err(error) if endpoint::is_shortage(&error) => {
                self.without_descriptors(listening);
                Ok(None)
            }
            Err(source) => Err(TransferError::Socket { action: "take a connection", source }),
        }
    }

    /// The one that waits would else be found waiting again and again, and cost a processor.
    fn without_descriptors(&mut self, listening: &End) {
        if self.spare.take().is_none() {
            thread::sleep(PAUSE);
        } else if let Ok(accepted) = endpoint::accept(listening.socket.as_fd()) {
            self.turn_away(&end(listening, accepted));
        }
        self.spare = spare();
    }

    /// The kernel cuts the connection when the caller drops it.
    fn turn_away(&mut self, end: &End) {
        let _ = endpoint::cut_on_close(end.socket.as_fd(), true);
        let turned_away = self.clients.turned_away();
        if self.reported.is_none_or(|reported| reported.elapsed() >= TELL) {
            self.reported = Some(Instant::now());
            let most_clients = self.service.most_clients;
            self.around.tell(TransferEvent::TurnedAway { turned_away, most_clients });
        }
    }
}

#[derive(Debug, Default)]
struct Clients(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    inside: u32,
    served: Served,
    last: VecDeque<TransferStream>,
    way: Option<TransferMethod>,
    buffer_address: u64,
    congestion: Option<String>,
}

impl Clients {
    /// Whether there was room for one more.
    fn enter(&self, most: u32) -> bool {
        let mut counts = self.0.lock();
        if counts.inside >= most {
            return false;
        }
        counts.inside += 1;
        counts.served.most_at_once = counts.served.most_at_once.max(counts.inside);
        true
    }

    fn had_no_thread(&self) {
        self.0.lock().inside -= 1;
    }

    fn turned_away(&self) -> u64 {
        let mut counts = self.0.lock();
        counts.served.turned_away += 1;
        counts.served.turned_away
    }

    /// Takes all that a client sends, to its end or until it is cut off. It is counted before it is reported, because
    /// the observer may look at the counts.
    fn take(&self, plan: &TransferPlan, service: &Service, around: Around<'_>, number: u64, client: &End) {
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        let (mut moved, ended) = tcp::taken::<Untimed>(plan, around, index, client);
        if let Err(broken) = &ended {
            moved.stream.end = why(service, broken);
        }
        let (bytes, duration_ns, end) =
            (moved.stream.bytes, moved.stream.duration_ns, moved.stream.end.clone());
        self.book(moved, &ended, endpoint::congestion(client.socket.as_fd()).ok());
        around.tell(TransferEvent::Left(Left { number, peer: client.peer, bytes, duration_ns, end }));
    }

    fn book(&self, moved: Moved, ended: &Result<(), Broken>, congestion: Option<String>) {
        let mut counts = self.0.lock();
        counts.inside -= 1;
        counts.served.bytes += moved.stream.bytes;
        let count = match ended {
            Ok(()) => &mut counts.served.whole,
            Err(Broken::Network(e)) if e.kind() == ErrorKind::FileTooLarge => &mut counts.served.too_long,
            Err(_) => &mut counts.served.broken,
        };
        *count += 1;
        counts.way.get_or_insert(moved.way);
        counts.buffer_address = moved.buffer_address;
        counts.congestion = congestion.or(counts.congestion.take());
        if counts.last.len() == MOST_KEPT {
            counts.last.pop_front();
        }
        counts.last.push_back(moved.stream);
    }

    fn result(self, plan: &TransferPlan, listening: &End) -> TransferResult {
        let counts = self.0.into_inner();
        TransferResult {
            peer: counts.last.front().and_then(|stream| stream.peer.clone()),
            buffer_address: counts.buffer_address,
            way: counts.way.unwrap_or(if plan.discard {
                TransferMethod::Discarded
            } else {
                TransferMethod::Copied
            }),
            end: TransferEnd::Stopped,
            streams: counts.last.into(),
            congestion: counts.congestion,
            served: Some(counts.served),
            ..streams::result(plan, listening.local.to_string(), listening.granted_bytes, Vec::new())
        }
    }
}

/// The end of a client that was cut off, or cut its connection itself.
fn why(service: &Service, broken: &Broken) -> TransferEnd {
    let why = match broken {
        Broken::Interrupted => "it was still sending when the service was ended".into(),
        Broken::Network(e) if e.kind() == ErrorKind::WouldBlock => {
            format!("it sent nothing for {} (--timeout)", format_duration(service.timeout_ns))
        }
        Broken::Network(e) if e.kind() == ErrorKind::FileTooLarge => {
            format!("it sent more than {} bytes (--max-bytes)", service.most_bytes.unwrap_or(u64::MAX))
        }
        _ => return broken.end(),
    };
    TransferEnd::Broken { why }
}
