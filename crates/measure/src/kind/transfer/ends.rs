//! The ends of a transfer: sockets with their options, made in the order that matters.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use netfathom_model::plan::{Role, TransferPlan, Transport};
use netfathom_sys::endpoint::{self, SocketBuffer, SocketKind};
use netfathom_sys::splice::{Leads, leads};
use netfathom_sys::{stdio, zero_copy};

use super::serve::Left;
use super::socket_states::Step;
use super::{Around, Standard, TransferError};

/// Senders that may wait to be taken by a service; the kernel has a limit of its own.
const MOST_KNOCKING: i32 = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferEvent {
    Socket,
    SocketBuffer {
        /// The send buffer, or the receive buffer.
        sends: bool,
        asked_bytes: u32,
        /// As the kernel granted it, in the same measure.
        granted_bytes: u32,
    },
    /// TCP_NODELAY was set.
    NoDelay,
    Debug,
    /// It has its own address, and whoever connects now gets through.
    Listening(SocketAddr),
    Connect(SocketAddr),
    Accept(SocketAddr),
    /// A client of a service has ended.
    Left(Left),
    /// A service has as many clients as it may have, or no thread or descriptor for another one.
    TurnedAway {
        turned_away: u64,
        most_clients: u32,
    },
    Interval(Step),
}

pub(super) struct End {
    /// Whoever looks at a stream from another thread may hold it open for a moment.
    pub socket: Arc<OwnedFd>,
    pub local: SocketAddr,
    pub peer: Option<SocketAddr>,
    pub granted_bytes: Option<u32>,
}

/// Checks that there is something to read, and somewhere to write to.
pub(super) fn check_standard(plan: &TransferPlan, standard: Standard<'_>) -> Result<(), TransferError> {
    if plan.generated {
        return Ok(());
    }
    let is = |fd: BorrowedFd<'_>, number: BorrowedFd<'_>| {
        use std::os::fd::AsRawFd;
        fd.as_raw_fd() == number.as_raw_fd()
    };
    match plan.role {
        Role::Transmit if is(standard.input, io::stdin().as_fd()) && stdio::was_closed(0) => {
            Err(TransferError::Closed {
                which: "input",
                remedy: "give it what to send, or add -s to make data up",
            })
        }
        Role::Receive if is(standard.output, io::stdout().as_fd()) && stdio::was_closed(1) => {
            Err(TransferError::Closed {
                which: "output",
                remedy: "name where to write, or add -s to discard it",
            })
        }
        Role::Transmit if leads(standard.input).is_ok_and(|to| to == Leads::Directory) => {
            Err(TransferError::Directory)
        }
        _ => Ok(()),
    }
}

fn kind(plan: &TransferPlan) -> SocketKind {
    match plan.protocol {
        Transport::Tcp => SocketKind::Stream,
        Transport::Udp => SocketKind::Datagram,
    }
}

/// Connects all streams of the plan to the host: to the first of its addresses that answers.
pub(super) fn connect(plan: &TransferPlan, around: Around<'_>) -> Result<Vec<End>, TransferError> {
    let first = connect_to_any(plan, around)?;
    let to = first.peer;
    let mut ends = vec![first];
    for _ in 1..plan.streams {
        // An error that all streams share is reported once.
        match to.map(|to| connect_to(plan, to, around.silent())).transpose() {
            Ok(end) => ends.extend(end),
            Err(error) => {
                // Those that are there end as what they are: streams that came to nothing.
                ends.iter().for_each(|end| drop(endpoint::cut_on_close(end.socket.as_fd(), true)));
                return Err(fewer(plan, ends.len(), error));
            }
        }
    }
    Ok(ends)
}

/// A receiver that took some streams and refuses another one wants no more. It resets one that comes as it shuts its door.
fn fewer(plan: &TransferPlan, taken: usize, error: TransferError) -> TransferError {
    const SHUT: [ErrorKind; 2] = [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset];
    match error {
        TransferError::Connect { address, source } if SHUT.contains(&source.kind()) => {
            TransferError::FewerStreams { address, taken, streams: plan.streams, source }
        }
        error => error,
    }
}

fn connect_to_any(plan: &TransferPlan, around: Around<'_>) -> Result<End, TransferError> {
    let host = plan.host.as_deref().unwrap_or_default();
    let mut failed = TransferError::NoAddress(host.into());
    let mut around = around;
    for to in resolve(host, plan.port)? {
        match connect_to(plan, to, around) {
            Err(error @ TransferError::Connect { .. }) => failed = error,
            outcome => return outcome,
        }
        around = around.silent();
    }
    Err(failed)
}

fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, TransferError> {
    // A resolver gives one entry a kind of socket on some systems: each address once.
    let found = (host, port).to_socket_addrs();
    let mut all: Vec<SocketAddr> =
        found.map_err(|source| TransferError::UnknownHost { host: host.into(), source })?.collect();
    all.dedup();
    Ok(all)
}

fn connect_to(plan: &TransferPlan, to: SocketAddr, around: Around<'_>) -> Result<End, TransferError> {
    let refused = |source| TransferError::Connect { address: to, source };
    let socket = endpoint::open(kind(plan), to).map_err(refused)?;
    around.tell(TransferEvent::Socket);
    let granted_bytes = set_options(plan, socket.as_fd(), around)?;
    let mut attempt = endpoint::connect(socket.as_fd(), to);
    while attempt.as_ref().is_err_and(|e| e.kind() == ErrorKind::Interrupted) {
        if around.stopped() {
            return Err(TransferError::Interrupted);
        }
        attempt = endpoint::connected(socket.as_fd());
    }
    attempt.map_err(refused)?;
    let local = local(socket.as_fd())?;
    around.tell(TransferEvent::Connect(to));
    Ok(End { socket: Arc::new(socket), local, peer: Some(to), granted_bytes })
}

/// Makes a socket that others can send to: of the address in the plan, or of all there are.
pub(super) fn listen(plan: &TransferPlan, around: Around<'_>) -> Result<End, TransferError> {
    let at = match &plan.host {
        Some(host) => {
            *resolve(host, plan.port)?.first().ok_or_else(|| TransferError::NoAddress(host.clone()))?
        }
        None => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), plan.port),
    };
    let open = |address| match endpoint::open(kind(plan), address) {
        Ok(socket) => Ok((socket, address)),
        Err(source) => Err(TransferError::Bind { address, source }),
    };
    let opened = open(at).or_else(|error| match plan.host {
        // A kernel without IPv6: then all there are is what IPv4 has.
        None => open(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), plan.port)),
        Some(_) => Err(error),
    });
    bind(plan, opened?, around)
}

fn bind(
    plan: &TransferPlan,
    (socket, at): (OwnedFd, SocketAddr),
    around: Around<'_>,
) -> Result<End, TransferError> {
    around.tell(TransferEvent::Socket);
    let fd = socket.as_fd();
    let refused = |source| TransferError::Bind { address: at, source };
    let granted_bytes = set_options(plan, fd, around)?;
    if at.is_ipv6() && plan.host.is_none() {
        endpoint::set_both_families(fd).map_err(refused)?;
    }
    if plan.protocol == Transport::Tcp {
        // Two receivers of UDP at one port would share its datagrams: there it stays off.
        endpoint::set_address_reuse(fd).map_err(refused)?;
    }
    endpoint::bind(fd, at).map_err(refused)?;
    if plan.protocol == Transport::Tcp {
        // How many senders may knock at once.
        let backlog = if plan.serve.is_some() { MOST_KNOCKING } else { i32::from(plan.streams) };
        endpoint::listen(fd, backlog).map_err(refused)?;
    }
    let local = local(fd)?;
    around.tell(TransferEvent::Listening(local));
    Ok(End { socket: Arc::new(socket), local, peer: None, granted_bytes })
}

pub(super) fn local(socket: BorrowedFd<'_>) -> Result<SocketAddr, TransferError> {
    let failed = |source| TransferError::Socket { action: "read the own address of the socket", source };
    endpoint::local_address(socket).map_err(failed)
}

/// Sets what the plan asks for; what the buffer was granted.
fn set_options(
    plan: &TransferPlan,
    socket: BorrowedFd<'_>,
    around: Around<'_>,
) -> Result<Option<u32>, TransferError> {
    let refused = |option| move |source| TransferError::Option { option, source };
    let mut granted = None;
    if let Some(asked_bytes) = plan.socket_buffer_bytes {
        let sends = plan.role == Role::Transmit;
        let which = if sends { SocketBuffer::Send } else { SocketBuffer::Receive };
        let granted_bytes =
            endpoint::set_buffer(socket, which, asked_bytes).map_err(refused("--socket-buffer"))?;
        around.tell(TransferEvent::SocketBuffer { sends, asked_bytes, granted_bytes });
        granted = Some(granted_bytes);
    }
    if plan.debug {
        endpoint::set_debug(socket).map_err(refused("--debug"))?;
        around.tell(TransferEvent::Debug);
    }
    if plan.no_delay {
        endpoint::set_no_delay(socket).map_err(refused("--no-delay"))?;
        around.tell(TransferEvent::NoDelay);
    }
    if plan.protocol == Transport::Tcp {
        set_flow(plan, socket)?;
    }
    Ok(granted)
}

/// Sets what decides how fast TCP sends; it is inherited by what a listening socket takes.
fn set_flow(plan: &TransferPlan, socket: BorrowedFd<'_>) -> Result<(), TransferError> {
    if let Some(name) = &plan.congestion {
        endpoint::set_congestion(socket, name).map_err(|source| TransferError::Congestion {
            name: name.clone(),
            available: endpoint::available_congestion_controls().unwrap_or_default().join(", "),
            source,
        })?;
    }
    if let Some(bits_per_s) = plan.pace_bits_per_s {
        let set = endpoint::set_pacing(socket, bits_per_s / 8);
        set.map_err(|source| TransferError::Option { option: "--pace", source })?;
    }
    if plan.zero_copy && plan.generated && plan.role == Role::Transmit {
        let set = zero_copy::enable(socket);
        set.map_err(|source| TransferError::Option { option: "--zero-copy", source })?;
    }
    Ok(())
}
