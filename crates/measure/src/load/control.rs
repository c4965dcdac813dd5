//! The conversation between a sender and a sink on another host: who is there, how it
//! receives, that it still lives, and what it counted.
//!
//! It runs over TCP, on the same port number as the UDP load: TCP's handshake proves that the
//! sender's address is its own, and its packets have a queue of their own, which the load
//! cannot fill. Each side writes lines of JSON ([`protocol`]):
//!
//! | sender | sink | |
//! |---|---|---|
//! | `hello` | `welcome` or `refused` | what is to come, and with which flow number |
//! | `begin` | `ready` | the sink receives |
//! | `alive` | `seen` | every 200 ms, until the sender ends |
//! | `end` | `tally` | what was sent, and what arrived |
//!
//! A line has at most 4 KiB and a time to come in, so a peer that is silent, slow or no
//! netfathom at all costs neither memory nor more than that time.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

mod client;
mod introduction;
mod line;
pub mod protocol;
mod server;
mod serving;
mod talk;

pub use client::{Peer, Session};
pub use introduction::{Identity, Introduction, report, short};
pub use line::printable;
pub use server::{Begun, Conversation, Ended, Greeting, Incoming, Listener, Welcomed, draw_flow};
pub use serving::{ServeEvent, serve_each};
pub use talk::{Pulse, Talk, connect};

use protocol::Why;

/// Name and version of this program, as the other host is shown them.
pub const TOOL: &str = concat!("netfathom ", env!("CARGO_PKG_VERSION"));
/// A sink or its sender without a sign of life for so long is lost: no load goes on for long without its sink.
pub const LOST_AFTER: Duration = Duration::from_secs(1);
/// After the sender's end the sink waits so long for another message.
pub const QUIET_FOR: Duration = Duration::from_millis(200);
/// And no longer than this, however many come.
pub const DRAIN_MOST: Duration = Duration::from_secs(5);

pub const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// How long an answer may take for which the peer has to make sockets or load programs.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long a line may take that the peer had ready.
const LINE_WITHIN: Duration = Duration::from_secs(1);
/// How long the sender may take between its welcome and its begin: it makes its sockets, and
/// meanwhile has a place that others may want.
pub const BEGIN_WITHIN: Duration = Duration::from_secs(5);

/// Why a conversation did not come about, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("cannot listen on {address}: {source}; choose another port, or an address of this host")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "cannot reach a sink at {address} (TCP): {source}; start `netfathom load sink` there, or have `load send` go on \
         without one by --one-way"
    )]
    Connect { address: SocketAddr, source: io::Error },
    #[error("the sink at {peer} refuses: {why}")]
    Refused { peer: SocketAddr, why: Why },
    #[error("{peer} was silent for {}, where {awaited} was due: it has ended, is cut off or is overloaded, \
        or the round trip is longer",
        netfathom_model::units::format_duration(.within.as_nanos() as u64))]
    Silent { peer: SocketAddr, awaited: &'static str, within: Duration },
    #[error("{peer} has not ended its load in the time that it announced: it is let go")]
    Overdue { peer: SocketAddr },
    #[error("{peer} has closed the connection where {awaited} was due: see its own output")]
    Closed { peer: SocketAddr, awaited: &'static str },
    #[error(
        "cannot read what {peer} sent: {awaited} was due, but {what}; use the same netfathom on both hosts"
    )]
    Garbage { peer: SocketAddr, awaited: &'static str, what: String },
    #[error(
        "{peer} reports what cannot be: {what}; its numbers are of no use, so use the same netfathom on both hosts"
    )]
    Implausible { peer: SocketAddr, what: String },
    #[error("the connection with {peer} failed: {source}")]
    Connection { peer: SocketAddr, source: io::Error },
    #[error("cannot {action}: {source}")]
    Here { action: &'static str, source: io::Error },
    #[error("stopped")]
    Stopped,
}

#[cfg(test)]
mod tests;
