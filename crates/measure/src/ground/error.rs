//! Why a run ended without a result, and what the ground itself can fail at.

use std::error::Error;
use std::net::SocketAddr;
use std::{fmt, io};

use netfathom_sys::counters::CountersError;
use netfathom_sys::cpu::CpuError;

use super::lab::LabError;

/// Why a measurement could not be made. Each has its own, which says what was tried, why it failed and what to do.
pub trait Failure: Error + Send + Sync + 'static {
    /// What the user named that cannot be used, if that is the reason.
    fn mistake(&self) -> Option<Mistake> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The processors, which the user may have left to us.
    Processors,
    /// Anything that only the user can have named.
    Named,
}

#[derive(Debug)]
pub enum RunError {
    Measure(Box<dyn Failure>),
    /// The observer could not keep what was measured.
    Observer(io::Error),
}

impl RunError {
    /// What the user named that cannot be used, if that is the reason.
    pub fn mistake(&self) -> Option<Mistake> {
        match self {
            Self::Measure(failure) => failure.mistake(),
            Self::Observer(_) => None,
        }
    }

    /// The reason, if it is of that type.
    pub fn reason<T: Error + 'static>(&self) -> Option<&T> {
        self.as_error().downcast_ref()
    }

    fn as_error(&self) -> &(dyn Error + 'static) {
        match self {
            Self::Measure(failure) => &**failure,
            Self::Observer(error) => error,
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_error(), f)
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.as_error().source()
    }
}

impl<F: Failure> From<F> for RunError {
    fn from(failure: F) -> Self {
        Self::Measure(Box::new(failure))
    }
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::Observer(error)
    }
}

/// Converts errors of lower layers into the variant of this error that wraps them.
macro_rules! pass_on {
    ($by:ident::$variant:ident: $($error:ty),*) => {$(
        impl From<$error> for $by {
            fn from(error: $error) -> Self {
                Self::$variant(error.into())
            }
        }
    )*};
}
pub(crate) use pass_on;

/// Why there are no hosts, sockets or threads to measure with.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    #[error("{0}{remedy}", remedy = without_root(.0))]
    Lab(#[from] LabError),
    #[error("no IPv6 in the lab: the kernel runs without it; leave --ipv6 out")]
    NoIpv6,
    #[error("cannot listen on {address}: {source}; choose another port, or 0 to take a free one")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("a socket failed: {0}{remedy}", remedy = socket_remedy(.0))]
    Socket(io::Error),
    #[error("no message gets from the sender to the reader: is a firewall in between? (nft list ruleset)")]
    NothingCrosses,
    #[error("{0}")]
    Counters(CountersError),
    #[error("{0}; choose others with --cpu")]
    Cpu(#[from] CpuError),
}

/// A command of the user's that failed does not fail for want of root.
fn without_root(error: &LabError) -> &'static str {
    if matches!(error, LabError::Setup(_)) {
        ""
    } else {
        "; without root `stack`, `load` and `capacity` can use --loopback"
    }
}

impl Failure for GroundError {
    fn mistake(&self) -> Option<Mistake> {
        matches!(self, Self::Cpu(_)).then_some(Mistake::Processors)
    }
}

fn socket_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => {
            "; is the loopback device up? (ip link set lo up)"
        }
        _ => "",
    }
}
