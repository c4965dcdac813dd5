//! Why a measurement could not be made: what was tried, why it failed, what to do.

use std::io;
use std::net::SocketAddr;

use netfathom_bpf::delay::DelayError;
use netfathom_bpf::stack::LoadError;
use netfathom_sys::counters::CountersError;
use netfathom_sys::cpu::CpuError;

use crate::lab::LabError;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// There can be no lab here.
    #[error("{0}; without root choose --loopback")]
    Lab(#[from] LabError),
    /// The kernel runs without IPv6.
    #[error("no IPv6 in the lab: the kernel runs without it; leave --ipv6 out")]
    NoIpv6,
    /// The reader's port is taken.
    #[error("cannot listen on {address}: {source}; choose another --port, or none to take a free one")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// A socket call failed.
    #[error("a socket failed: {0}{remedy}", remedy = socket_remedy(.0))]
    Socket(io::Error),
    /// The reader failed.
    #[error("the reader failed while receiving: {0}; the trial is lost")]
    Receive(io::Error),
    /// No message gets from one end to the other.
    #[error("no message gets from the sender to the reader: is a firewall in between? (nft list ruleset)")]
    NothingCrosses,
    /// The system's own counters could not be read.
    #[error("{0}")]
    Counters(CountersError),
    /// A thread could not be bound to its processor.
    #[error("{0}; choose others with --cpu SENDER,READER")]
    Cpu(#[from] CpuError),
    /// The machine has no thread left for us.
    #[error("cannot start the {name} thread: {source}; raise the limit of processes (ulimit -u)")]
    NoThread {
        /// Which.
        name: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A thread of ours panicked.
    #[error("the {0} thread died: this is a bug in netfathom")]
    Thread(&'static str),
    /// The tap that was asked for does not work here.
    #[error("the bpf tap does not work here: {reason}; {remedy}")]
    NoBpf {
        /// Why.
        reason: String,
        /// What would help.
        remedy: String,
    },
    /// The delay that was to be found could not be inserted.
    #[error("{0}")]
    Delay(#[from] DelayError),
    /// The tap failed in the middle of a run.
    #[error("the bpf tap failed: {0}")]
    Bpf(#[from] LoadError),
}

/// Too many open files (errno(3)).
const EMFILE: i32 = 24;

/// What helps against the failures that users meet.
fn socket_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => {
            "; is the loopback device up? (ip link set lo up)"
        }
        _ if error.raw_os_error() == Some(EMFILE) => "; raise the limit of open files (ulimit -n)",
        _ => "",
    }
}

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The measurement failed.
    #[error(transparent)]
    Measure(#[from] StackError),
    /// The observer could not keep what was measured.
    #[error(transparent)]
    Observer(#[from] io::Error),
}
