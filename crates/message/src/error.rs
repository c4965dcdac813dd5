//! What can go wrong.

use std::{io, sync::Arc, time::Duration};

use thiserror::Error;

use crate::{
    protocol::{ProtocolError, Refused},
    wire::WireError,
};

/// What went wrong with a connection, or with one call. [`Error::is_refusal`] tells them apart:
/// after a refusal the connection is as it was, after anything else it is over, and every later
/// call says the same.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// This one cannot be sent, or not now. The connection goes on.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The time of a call is over. The connection goes on.
    #[error("nothing came of it in {0:?}")]
    TimedOut(Duration),
    /// A call that waits, from a handler of the same connection: no thread would be left to end
    /// the wait. The connection goes on.
    #[error("a call that waits, made from within a handler of the same connection, would never return")]
    InsideHandler,
    /// The limits asked for cannot be kept. No connection was made.
    #[error("these limits cannot be kept: {0}")]
    Limits(WireError),
    /// The hello did not come in time.
    #[error("the peer sent no hello in {0:?}; does it speak this protocol?")]
    Handshake(Duration),
    /// The peer did what the protocol does not allow.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The peer has closed in good order, and everything it sent was handed out.
    #[error("the peer has closed the connection, and all it sent has been taken")]
    PeerClosed,
    /// The peer is gone without a close. What it took of the last that was sent is not known.
    #[error("the peer is gone without having closed{}", if *inside_frame { ", in the middle of a frame" } else { "" })]
    PeerVanished {
        /// Whether a frame was begun and not complete.
        inside_frame: bool,
    },
    /// The peer ended the connection.
    #[error("the peer ended the connection with code {code:#x}{}", library(*code))]
    Aborted {
        /// Its reason: below 0x1_0000 the application's, above it this library's
        /// ([`ProtocolError::code`]).
        code: u32,
    },
    /// This side ended the connection.
    #[error("this side has ended the connection")]
    Ended,
    /// A strategy, or a callback of a post, panicked in the connection's own thread.
    #[error("a strategy or a callback of a post panicked in the connection's own thread")]
    Panicked,
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The error of the system.
        source: Arc<io::Error>,
    },
}

fn library(code: u32) -> &'static str {
    if code >= 0x1_0000 { ": it takes something this side sent for a breach of the protocol" } else { "" }
}

impl Error {
    /// Whether the connection goes on, and only this call came to nothing.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::TimedOut(_) | Self::InsideHandler)
    }

    /// Whether the same call may succeed later.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Refused(Refused::Full | Refused::NoCredit { .. }))
    }

    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source: Arc::new(source) }
    }
}
