//! One client of a service: what it sends is thrown away, within what the service grants.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use netfathom_model::plan::{Service, TransferPlan};
use netfathom_model::record::{Checksum, TransferEnd, Way};
use netfathom_sys::{endpoint, tcp_info};

use super::account::{Meter, state};
use super::ends::End;
use super::incoming::touch;
use super::streams::Moved;
use super::wakeups::Wakeups;
use super::zero_copy::by_way;
use super::{Around, Broken, Buffer, checksum, closing};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientOutcome {
    Whole,
    Broken,
    TooLong,
}

pub(super) struct Client {
    pub moved: Moved,
    pub peer: Option<SocketAddr>,
    pub congestion: Option<String>,
    pub outcome: ClientOutcome,
}

/// Takes all that a client sends, to its end or until it is cut off.
pub(super) fn take(
    plan: &TransferPlan,
    service: &Service,
    around: Around<'_>,
    number: u64,
    end: &End,
) -> Client {
    let socket = end.socket.as_fd();
    let mut buffer = Buffer::new(plan);
    let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let mut meter: Meter<'_> = Meter::start(around.live, index, end);
    let received = guarded(service, socket)
        .and_then(|()| receive(plan, service, around, socket, buffer.bytes_mut(), &mut meter));
    let mut stream = meter.stop(0);
    stream.tcp = tcp_info::read(socket).ok().map(|info| state(&info));
    let ended = received.and_then(|sum| closing::release(socket).map(|()| sum));
    let outcome = match &ended {
        Ok(_) => ClientOutcome::Whole,
        Err(Broken::Network(e)) if e.kind() == ErrorKind::FileTooLarge => ClientOutcome::TooLong,
        Err(_) => ClientOutcome::Broken,
    };
    match ended {
        Ok(checksum) => stream.checksum = checksum,
        Err(broken) => stream.end = why(service, broken),
    }
    let way = if plan.discard { Way::Discarded } else { Way::Copied };
    stream.zero_copy = by_way(plan, way, end.peer, &stream);
    let congestion = endpoint::congestion(socket).ok();
    Client {
        moved: Moved { stream, way, buffer_address: buffer.address() },
        peer: end.peer,
        congestion,
        outcome,
    }
}

fn guarded(service: &Service, socket: BorrowedFd<'_>) -> Result<(), Broken> {
    closing::guard(socket)?;
    endpoint::set_receive_limit(socket, Duration::from_nanos(service.timeout_ns)).map_err(Broken::Network)
}

fn receive(
    plan: &TransferPlan,
    service: &Service,
    around: Around<'_>,
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    meter: &mut Meter<'_>,
) -> Result<Option<Checksum>, Broken> {
    if plan.checksum {
        return checksum::receive(plan, around, socket, buffer, meter).map(Some);
    }
    let most = service.most_bytes.unwrap_or(u64::MAX);
    let mut wakeups = Wakeups::of(plan, socket);
    loop {
        if around.stopped() {
            return Err(Broken::Interrupted);
        }
        let left = most - meter.bytes;
        match wakeups.call(buffer.len(), || some(plan, socket, buffer, left)) {
            Ok(0) => return Ok(None),
            Ok(bytes) => meter.moved(bytes),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(Broken::Network(e)),
        }
    }
}

/// One call, of no more than may still come; the byte after that is an error.
#[inline]
fn some(plan: &TransferPlan, socket: BorrowedFd<'_>, buffer: &mut [u8], left: u64) -> io::Result<usize> {
    if left == 0 {
        return match endpoint::receive(socket, &mut [0])? {
            0 => Ok(0),
            _ => Err(ErrorKind::FileTooLarge.into()),
        };
    }
    let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
    if plan.discard {
        return endpoint::discard(socket, most);
    }
    let bytes = endpoint::receive(socket, &mut buffer[..most])?;
    if plan.touch {
        touch(&buffer[..bytes]);
    }
    Ok(bytes)
}

/// The end of a client that was cut off, or cut its connection itself.
fn why(service: &Service, broken: Broken) -> TransferEnd {
    use netfathom_model::units::format_duration;
    let why = match &broken {
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
