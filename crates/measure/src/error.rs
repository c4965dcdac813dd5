//! Why a measurement could not be made: what was tried, why it failed, what to do.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use netfathom_bpf::delay::DelayError;
use netfathom_bpf::stack::LoadError;
use netfathom_sys::counters::CountersError;
use netfathom_sys::cpu::CpuError;

use crate::ground::lab::LabError;
use crate::ground::lab::wire::WireError;
use crate::kind::transfer::TransferError;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// There can be no lab here.
    #[error("{0}; without root `stack`, `load` and `capacity` can use --loopback")]
    Lab(#[from] LabError),
    /// There can be no lab for a sweep here.
    #[error("{0}; without root a sweep can use --here loopback")]
    NoSweepLab(#[from] WireError),
    /// Messages could not be measured.
    #[error("{0}")]
    Message(#[from] crate::kind::message::MessageError),
    /// A cost could not be measured.
    #[error("{0}")]
    Cost(#[from] crate::kind::cost::error::CostError),
    /// A transfer could not be made.
    #[error("{source}{remedy}")]
    Transfer {
        /// Why not.
        source: TransferError,
        /// What to do, where the transfer itself does not know.
        remedy: &'static str,
    },
    /// The kernel runs without IPv6.
    #[error("no IPv6 in the lab: the kernel runs without it; leave --ipv6 out")]
    NoIpv6,
    /// The reader's port is taken.
    #[error("cannot listen on {address}: {source}; choose another port, or 0 to take a free one")]
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
    #[error("{0}; choose others with --cpu")]
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
    #[error("the {what} does not work here: {reason}; {remedy}")]
    NoTap {
        /// Which.
        what: String,
        /// Why.
        reason: String,
        /// What would help.
        remedy: String,
    },
    /// The delay that was to be found could not be inserted.
    #[error("{0}")]
    Delay(#[from] DelayError),
    /// The path has no device that is known here.
    #[error("cannot find the device that leads to {0}: is there a route? (ip route get {0})")]
    NoDevice(std::net::IpAddr),
    /// Frames can be taken only from a device that is named by its address.
    #[error("no device has the address {0}: listen on the address that the messages come to")]
    NoOwnDevice(std::net::IpAddr),
    /// Packets could not be captured.
    #[error("{0}")]
    Capture(#[from] crate::tap::capture::CaptureTapError),
    /// What was captured or logged cannot be read back.
    #[error("cannot read {path} back: {source}; was it changed while the trial ran?", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: netfathom_capture::error::CaptureError,
    },
    /// What was captured cannot stay.
    #[error("cannot keep the capture as {path}: {source}", path = .path.display())]
    NotKept {
        /// Its name.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no device known that could be captured at.
    #[error("cannot tell at which device to capture: name the address of one with --listen, or use the lab")]
    NoCaptureDevice,
    /// A device could not be read or changed.
    #[error("{0}")]
    Link(#[from] netfathom_sys::link::LinkError),
    /// An offload of a device could not be changed.
    #[error("{0}")]
    Offload(#[from] netfathom_sys::offload::OffloadError),
    /// The way to another host is not known.
    #[error("{0}")]
    Route(#[from] netfathom_sys::route::RouteError),
    /// An AF_XDP socket could not be had.
    #[error("{0}")]
    Xsk(#[from] netfathom_sys::xsk::XskError),
    /// The program that writes frames could not be had.
    #[error("{0}")]
    Generator(#[from] netfathom_bpf::generator::GeneratorError),
    /// The program that takes messages from the driver could not be had.
    #[error("{0}")]
    Sink(#[from] netfathom_bpf::sink::SinkError),
    /// The conversation with another host did not come about.
    #[error("{0}")]
    Control(#[from] crate::load::control::ControlError),
    /// The other host is there no more.
    #[error("the sink was lost while the load ran, which has stopped: {0}")]
    PeerLost(crate::load::control::ControlError),
    /// The other host, which sends, is there no more.
    #[error("the sender was lost before its trial was over: {0}")]
    SenderLost(String),
    /// It is not one of those that may be sent to.
    #[error("{0}")]
    NotAllowed(#[from] crate::load::allow::Refusal),
    /// What was sent and received could not be written down.
    #[error("{0}")]
    Log(#[from] crate::load::message_log::LogError),
    /// There is nothing to join.
    #[error("{0}")]
    Join(#[from] crate::kind::join::JoinError),
    /// The tap failed in the middle of a run.
    #[error("the bpf tap failed: {0}")]
    Bpf(#[from] LoadError),
}

/// What helps against the failures that users meet.
fn socket_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => {
            "; is the loopback device up? (ip link set lo up)"
        }
        _ => "",
    }
}

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The measurement failed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The observer could not keep what was measured.
    #[error(transparent)]
    Observer(#[from] io::Error),
}
