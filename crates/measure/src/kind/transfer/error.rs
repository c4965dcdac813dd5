//! What can go wrong with a transfer, what it means, and what to do.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use netfathom_model::record::TransferEnd;
use netfathom_sys::endpoint;

/// Why a transfer could not begin.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("cannot find the host `{host}`: {source}; check its spelling, or give its address")]
    UnknownHost { host: String, source: io::Error },
    #[error("the host `{0}` has no address; give one")]
    NoAddress(String),
    #[error("cannot connect to {address}: {source}{}", connect_remedy(.source, .address))]
    Connect { address: SocketAddr, source: io::Error },
    #[error(
        "{address} took {taken} of {streams} streams and no more: {source}; give the receiver -P {streams} too, or \
         --serve, which takes any number"
    )]
    FewerStreams { address: SocketAddr, taken: usize, streams: u16, source: io::Error },
    #[error("cannot listen on {address}: {source}{}", bind_remedy(.source))]
    Bind { address: SocketAddr, source: io::Error },
    #[error("cannot set {option}: {source}{}", option_remedy(.source))]
    Option { option: &'static str, source: io::Error },
    #[error("cannot use the congestion control `{name}`: {source}; there is: {available}{}", congestion_remedy(.source, .name))]
    Congestion { name: String, available: String, source: io::Error },
    #[error("cannot {action}: {source}")]
    Socket { action: &'static str, source: io::Error },
    #[error("cannot show packets: {0}; leave --packets out")]
    Packets(String),
    #[error("standard {which} is closed: {remedy}")]
    Closed {
        /// `input` or `output`.
        which: &'static str,
        remedy: &'static str,
    },
    #[error(
        "standard input is a directory, which has no bytes to send: pack it first: tar cf - DIR | netfathom ttcp -t \
         HOST"
    )]
    Directory,
    #[error("ended before a sender came: nothing was transferred")]
    Interrupted,
    #[error("cannot take a signal for ending the transfer: {0}")]
    Signals(io::Error),
    #[error("cannot start a thread: {0}; raise the limit of processes (ulimit -u)")]
    NoThread(io::Error),
}

fn connect_remedy(error: &io::Error, address: &SocketAddr) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => format!(
            "; start the receiver there first: netfathom ttcp -r -p {}, with the same -s and -P",
            address.port()
        ),
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
            format!("; is there a route, and the host up? (ip route get {})", address.ip())
        }
        ErrorKind::TimedOut => "; nothing answers: is the host up, or a firewall in between?".into(),
        _ => String::new(),
    }
}

fn bind_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => "; another program has the port (ss -lp): choose another one with -p",
        ErrorKind::PermissionDenied => "; ports below 1024 need root: choose another one with -p",
        ErrorKind::AddrNotAvailable => {
            "; a receiver listens on an address of its own host: leave it out for all"
        }
        _ => "",
    }
}

fn congestion_remedy(error: &io::Error, name: &str) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("; if it is a module: modprobe tcp_{name}, as root"),
        ErrorKind::PermissionDenied => {
            "; without CAP_NET_ADMIN only those of sysctl net.ipv4.tcp_allowed_congestion_control: add it there, or \
             run as root"
                .into()
        }
        _ => String::new(),
    }
}

fn option_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => "; it needs CAP_NET_ADMIN: run as root, or leave it out",
        _ => "",
    }
}

/// Why a transfer that had begun did not come to its end.
#[derive(Debug)]
pub(super) enum Broken {
    Interrupted,
    Network(io::Error),
    Input(io::Error),
    Output(io::Error),
    /// The data is not what the other end has, or it does not say so.
    Checksum(&'static str),
    /// The other end cut one of several streams: perhaps it does not accept this many.
    OneOf(u16, io::Error),
    /// The other end cut a stream before any data came: perhaps it sends more of them than were accepted.
    Empty(io::Error),
}

impl Broken {
    pub fn end(&self) -> TransferEnd {
        match self {
            Self::Interrupted => TransferEnd::Interrupted,
            Self::Network(e) => TransferEnd::Broken { why: network(e) },
            Self::Input(e) => TransferEnd::Broken { why: format!("cannot read standard input: {e}") },
            Self::Checksum(why) => TransferEnd::Broken { why: (*why).into() },
            Self::Output(e) => TransferEnd::Broken { why: output(e) },
            Self::OneOf(streams, e) => TransferEnd::Broken {
                why: format!(
                    "{}; if it took fewer than {streams} streams, give it -P {streams} too, or --serve",
                    network(e)
                ),
            },
            Self::Empty(e) => TransferEnd::Broken {
                why: format!(
                    "{}; if it sends several streams (-P N), give -P N here too, or --serve",
                    network(e)
                ),
            },
        }
    }

    /// The same of a stream that was received, `bytes` until then.
    pub fn after(self, bytes: u64) -> Self {
        match self {
            Self::Network(e) if bytes == 0 && e.kind() == ErrorKind::ConnectionReset => Self::Empty(e),
            broken => broken,
        }
    }

    /// The same of a stream that was sent beside others.
    pub fn beside(self, streams: u16) -> Self {
        match self {
            Self::Network(e)
                if streams > 1 && matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) =>
            {
                Self::OneOf(streams, e)
            }
            broken => broken,
        }
    }
}

fn network(error: &io::Error) -> String {
    let what = match error.kind() {
        ErrorKind::ConnectionReset => {
            "the other end cut the connection: its program was ended, or could not go on; look there"
        }
        ErrorKind::BrokenPipe => "the other end is gone: its program has ended; look there",
        ErrorKind::TimedOut => "the other end answers no more: is its host up, and the way to it?",
        ErrorKind::ConnectionRefused => {
            "no receiver is there (any more): start it first: netfathom ttcp -r -u"
        }
        _ if endpoint::is_too_long(error) => {
            "a datagram does not fit: choose a smaller --buffer-size (65507 at most over IPv4)"
        }
        _ => return format!("the network failed: {error}"),
    };
    format!("{what} ({error})")
}

fn output(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::BrokenPipe => {
            format!("the program that reads standard output has ended; see why it did ({error})")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!(
            "cannot write to standard output: {error}; free some space, what is there is not the whole"
        ),
        _ => format!("cannot write to standard output: {error}"),
    }
}
