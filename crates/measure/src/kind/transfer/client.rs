//! One client of a service: what it sends is thrown away, within what the service grants.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use netfathom_model::plan::{Service, TransferPlan};
use netfathom_model::record::TransferEnd;
use netfathom_sys::endpoint;

use super::ends::End;
use super::streams::Moved;
use super::timing::Untimed;
use super::{Around, Broken, tcp};

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
    let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let (mut moved, ended) = tcp::taken::<Untimed>(plan, around, index, end);
    let outcome = match &ended {
        Ok(()) => ClientOutcome::Whole,
        Err(Broken::Network(e)) if e.kind() == ErrorKind::FileTooLarge => ClientOutcome::TooLong,
        Err(_) => ClientOutcome::Broken,
    };
    if let Err(broken) = ended {
        moved.stream.end = why(service, broken);
    }
    let congestion = endpoint::congestion(end.socket.as_fd()).ok();
    Client { moved, peer: end.peer, congestion, outcome }
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
