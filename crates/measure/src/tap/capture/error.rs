//! Why nothing could be captured, or not all.

use std::io;
use std::path::PathBuf;

use netfathom_sys::link::LinkError;
use netfathom_sys::packet_ring::PacketRingError;

#[derive(Debug, thiserror::Error)]
pub enum CaptureTapError {
    /// The namespace of the device cannot be entered.
    #[error("cannot capture: {0}")]
    Place(String),
    /// There is no such device.
    #[error("cannot capture: {0}")]
    Link(#[from] LinkError),
    #[error("{0}")]
    Ring(#[from] PacketRingError),
    #[error("the capture at {device} failed: {source}; keep the device up while the trial runs")]
    Reading { device: String, source: io::Error },
    #[error("cannot write the capture {}: {source}{}", .file.display(), file_remedy(.source))]
    File { file: PathBuf, source: io::Error },
    #[error(
        "the capture at {device} did not come to its end: {missing} packets were not read in time; \
         give it a CPU of its own, or lower the rate"
    )]
    Unfinished { device: String, missing: u64 },
    #[error("cannot start the capture thread: {0}; raise the limit of processes (ulimit -u)")]
    NoThread(io::Error),
    #[error("the capture thread died: this is a bug in netfathom")]
    Thread,
    #[error(
        "cannot run {}: {source}; install Debian's tcpdump or leave --tcpdump out", .program.display()
    )]
    NoProgram { program: PathBuf, source: io::Error },
    #[error(
        "tcpdump cannot capture what goes out at lo: libpcap leaves it away, because everything comes in \
         there again; leave --tcpdump out or measure in the lab"
    )]
    OutAtLoopback,
    #[error("{} does not capture at {device}: {output}; try it by hand, or leave --tcpdump out", .program.display())]
    DoesNotBegin { program: PathBuf, device: String, output: String },
    #[error("{} ended without its counts: {output}; the trial has no capture", .program.display())]
    NoCounts { program: PathBuf, output: String },
    /// The program says that it captured more than is in the file: it does not look whether
    /// its writing succeeds. `why` it ends there, in parentheses, if its last packet is not whole.
    #[error(
        "{} holds {kept} of the {captured} packets that tcpdump captured{why}: is the disk full? \
         (df {})", .file.display(), .file.display()
    )]
    FileTooShort { file: PathBuf, kept: u64, captured: u64, why: String },
}

fn file_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room, or write elsewhere with --out"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose another place with --out"
        }
        _ => "",
    }
}
