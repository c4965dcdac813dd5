//! The ends of a transfer: sockets with their options, made in the order that matters.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netfathom_model::plan::{Protocol, Role, TransferPlan};
use netfathom_sys::endpoint::{self, Buffer, Kind};
use netfathom_sys::splice::{Leads, leads};
use netfathom_sys::stdio;

use super::{Around, Standard, TransferError};

/// What happens before bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The buffer was made.
    Buffer {
        /// Where it begins in memory.
        address: u64,
    },
    /// A socket was made.
    Socket,
    /// Its buffer was set.
    SocketBuffer {
        /// The send buffer, or the receive buffer.
        sends: bool,
        /// As asked for.
        asked_bytes: u32,
        /// As the kernel granted it, in the same measure.
        granted_bytes: u32,
    },
    /// TCP_NODELAY was set.
    NoDelay,
    /// SO_DEBUG was set.
    Debug,
    /// It has its own address, and whoever connects now gets through.
    Listening(SocketAddr),
    /// It is connected.
    Connect(SocketAddr),
    /// A sender has connected.
    Accept(SocketAddr),
}

/// A socket that is ready.
pub(super) struct End {
    pub socket: OwnedFd,
    pub local: SocketAddr,
    pub granted_bytes: Option<u32>,
}

/// Checks that there is something to read, and somewhere to write to.
pub(super) fn check_standard(plan: &TransferPlan, standard: Standard<'_>) -> Result<(), TransferError> {
    if plan.made_up {
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
                remedy: "say where to write, or add -s to throw it away",
            })
        }
        Role::Transmit if leads(standard.input).is_ok_and(|to| to == Leads::Directory) => {
            Err(TransferError::Directory)
        }
        _ => Ok(()),
    }
}

fn kind(plan: &TransferPlan) -> Kind {
    match plan.protocol {
        Protocol::Tcp => Kind::Stream,
        Protocol::Udp => Kind::Datagram,
    }
}

/// Connects to the host of the plan: to the first of its addresses that answers.
pub(super) fn connect(
    plan: &TransferPlan,
    around: Around<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<(End, SocketAddr), TransferError> {
    let host = plan.host.as_deref().unwrap_or_default();
    let mut failed = TransferError::NoAddress(host.into());
    for (nth, to) in resolve(host, plan.port)?.into_iter().enumerate() {
        // A host of many addresses is told of once.
        let silent = &mut |_| {};
        let tell: &mut dyn FnMut(Event) = if nth == 0 { tell } else { silent };
        match connect_to(plan, to, around, tell) {
            Ok(end) => return Ok((end, to)),
            Err(error @ TransferError::Connect { .. }) => failed = error,
            Err(error) => return Err(error),
        }
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

fn connect_to(
    plan: &TransferPlan,
    to: SocketAddr,
    around: Around<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<End, TransferError> {
    let refused = |source| TransferError::Connect { address: to, source };
    let socket = endpoint::open(kind(plan), to).map_err(refused)?;
    tell(Event::Socket);
    let granted_bytes = set_options(plan, socket.as_fd(), tell)?;
    let mut attempt = endpoint::connect(socket.as_fd(), to);
    while attempt.as_ref().is_err_and(|e| e.kind() == ErrorKind::Interrupted) {
        if around.stopped() {
            return Err(TransferError::Interrupted);
        }
        attempt = endpoint::connected(socket.as_fd());
    }
    attempt.map_err(refused)?;
    let local = local(socket.as_fd())?;
    tell(Event::Connect(to));
    Ok(End { socket, local, granted_bytes })
}

/// Makes a socket that others can send to: of the address in the plan, or of all there are.
pub(super) fn listen(plan: &TransferPlan, tell: &mut dyn FnMut(Event)) -> Result<End, TransferError> {
    let at = match &plan.host {
        Some(host) => {
            *resolve(host, plan.port)?.first().ok_or_else(|| TransferError::NoAddress(host.clone()))?
        }
        None => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), plan.port),
    };
    let opened = match endpoint::open(kind(plan), at) {
        Ok(socket) => (socket, at),
        // A kernel without IPv6: then all there are is what IPv4 has.
        Err(_) if plan.host.is_none() => {
            let at = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), plan.port);
            (
                endpoint::open(kind(plan), at)
                    .map_err(|source| TransferError::Bind { address: at, source })?,
                at,
            )
        }
        Err(source) => return Err(TransferError::Bind { address: at, source }),
    };
    bind(plan, opened, tell)
}

fn bind(
    plan: &TransferPlan,
    (socket, at): (OwnedFd, SocketAddr),
    tell: &mut dyn FnMut(Event),
) -> Result<End, TransferError> {
    tell(Event::Socket);
    let fd = socket.as_fd();
    let refused = |source| TransferError::Bind { address: at, source };
    let granted_bytes = set_options(plan, fd, tell)?;
    if at.is_ipv6() && plan.host.is_none() {
        endpoint::set_both_families(fd).map_err(refused)?;
    }
    if plan.protocol == Protocol::Tcp {
        // Two receivers of UDP at one port would share its datagrams: there it stays off.
        endpoint::set_address_reuse(fd).map_err(refused)?;
    }
    endpoint::bind(fd, at).map_err(refused)?;
    if plan.protocol == Protocol::Tcp {
        endpoint::listen(fd, 1).map_err(refused)?;
    }
    let local = local(fd)?;
    tell(Event::Listening(local));
    Ok(End { socket, local, granted_bytes })
}

/// Waits for a sender. The door is shut behind it: a second one is refused at once, instead of
/// waiting for a turn that never comes.
pub(super) fn accept(
    listening: End,
    around: Around<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<(End, SocketAddr), TransferError> {
    loop {
        match endpoint::accept(listening.socket.as_fd()) {
            Ok((socket, from)) => {
                tell(Event::Accept(from));
                let local = local(socket.as_fd())?;
                return Ok((End { socket, local, granted_bytes: listening.granted_bytes }, from));
            }
            Err(_) if around.stopped() => return Err(TransferError::Interrupted),
            // A sender that was gone before it was its turn is none.
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
            Err(source) => return Err(TransferError::Socket { action: "take a connection", source }),
        }
    }
}

fn local(socket: BorrowedFd<'_>) -> Result<SocketAddr, TransferError> {
    let failed = |source| TransferError::Socket { action: "read the own address of the socket", source };
    endpoint::local_address(socket).map_err(failed)
}

/// Sets what the plan asks for; what the buffer was granted.
fn set_options(
    plan: &TransferPlan,
    socket: BorrowedFd<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<Option<u32>, TransferError> {
    let refused = |option| move |source| TransferError::Option { option, source };
    let mut granted = None;
    if let Some(asked_bytes) = plan.socket_buffer_bytes {
        let sends = plan.role == Role::Transmit;
        let which = if sends { Buffer::Send } else { Buffer::Receive };
        let granted_bytes =
            endpoint::set_buffer(socket, which, asked_bytes).map_err(refused("--socket-buffer"))?;
        tell(Event::SocketBuffer { sends, asked_bytes, granted_bytes });
        granted = Some(granted_bytes);
    }
    if plan.debug {
        endpoint::set_debug(socket).map_err(refused("--debug"))?;
        tell(Event::Debug);
    }
    if plan.no_delay {
        endpoint::set_no_delay(socket).map_err(refused("--no-delay"))?;
        tell(Event::NoDelay);
    }
    Ok(granted)
}
