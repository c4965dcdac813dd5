//! A receiver that takes sender after sender, several at once, until its user ends it.
//!
//! Its resources are bounded however many clients come: a thread and a buffer for each client up to the
//! limit, and the last of the ended streams. A client beyond the limit is cut off at once, which costs
//! a call or two and blocks no other client.

use std::collections::VecDeque;
use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use netfathom_model::plan::{Service, TransferPlan};
use netfathom_model::record::{Served, TransferEnd, TransferResult, TransferStream, Way};
use netfathom_sys::endpoint;
use parking_lot::Mutex;

use super::ends::{self, End, TransferEvent};
use super::{Around, TransferError, client};

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
    let house = House::default();
    let listening = ends::listen(plan, around)?;
    let mut porter = Porter { service, around, house: &house, came: 0, reported: None, spare: spare() };
    thread::scope(|scope| {
        while !around.stopped() {
            let next = porter.next(&listening).inspect_err(|_| around.end());
            let Some(end) = next? else { continue };
            if !house.enter(service.most_clients) {
                porter.turn_away(&end);
                continue;
            }
            porter.came += 1;
            let (number, house) = (porter.came, &house);
            let end = Arc::new(end);
            let theirs = Arc::clone(&end);
            let work =
                move || house.leave(around, number, client::take(plan, service, around, number, &theirs));
            if Builder::new().name(format!("client {number}")).spawn_scoped(scope, work).is_err() {
                house.had_no_thread();
                porter.turn_away(&end);
            }
        }
        Ok::<_, TransferError>(())
    })?;
    Ok(house.result(plan, &listening))
}

struct Porter<'a> {
    service: &'a Service,
    around: Around<'a>,
    house: &'a House,
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

impl Porter<'_> {
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
        let turned_away = self.house.turned_away();
        if self.reported.is_none_or(|reported| reported.elapsed() >= TELL) {
            self.reported = Some(Instant::now());
            let most_clients = self.service.most_clients;
            self.around.tell(TransferEvent::TurnedAway { turned_away, most_clients });
        }
    }
}

#[derive(Debug, Default)]
struct House(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    inside: u32,
    served: Served,
    last: VecDeque<TransferStream>,
    way: Option<Way>,
    buffer_address: u64,
    congestion: Option<String>,
}

impl House {
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

    /// A client has ended: it is counted before it is reported, because the observer may look at the counts.
    fn leave(&self, around: Around<'_>, number: u64, client: client::Client) {
        let stream = &client.moved.stream;
        let (bytes, duration_ns, end) = (stream.bytes, stream.duration_ns, stream.end.clone());
        let left = Left { number, peer: client.peer, bytes, duration_ns, end };
        self.book(client);
        around.tell(TransferEvent::Left(left));
    }

    fn book(&self, client: client::Client) {
        let mut counts = self.0.lock();
        counts.inside -= 1;
        counts.served.bytes += client.moved.stream.bytes;
        let count = match client.outcome {
            client::ClientOutcome::Whole => &mut counts.served.whole,
            client::ClientOutcome::Broken => &mut counts.served.broken,
            client::ClientOutcome::TooLong => &mut counts.served.too_long,
        };
        *count += 1;
        counts.way.get_or_insert(client.moved.way);
        counts.buffer_address = client.moved.buffer_address;
        counts.congestion = client.congestion.or(counts.congestion.take());
        if counts.last.len() == MOST_KEPT {
            counts.last.pop_front();
        }
        counts.last.push_back(client.moved.stream);
    }

    fn result(self, plan: &TransferPlan, listening: &End) -> TransferResult {
        let counts = self.0.into_inner();
        TransferResult {
            plan: plan.clone(),
            local: listening.local.to_string(),
            peer: counts.last.front().and_then(|stream| stream.peer.clone()),
            buffer_address: counts.buffer_address,
            granted_buffer_bytes: listening.granted_bytes,
            way: counts.way.unwrap_or(if plan.discard { Way::Discarded } else { Way::Copied }),
            end: TransferEnd::Stopped,
            streams: counts.last.into(),
            congestion: counts.congestion,
            served: Some(counts.served),
            cost: None,
            explanation: None,
            packets: None,
        }
    }
}
