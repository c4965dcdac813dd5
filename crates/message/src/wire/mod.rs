//! What lies on the wire: a hello each way, then frames.
//!
//! A frame is a header and a body. The header has four bytes as long as the channel is below 256
//! and the body below 64 KiB, and eight otherwise:
//!
//! | bytes | short | wide |
//! |---|---|---|
//! | 0 | kind | kind, bit 7 set |
//! | 1 | channel | 0 |
//! | 2..4 | length of the body | channel |
//! | 4..8 | | length of the body |
//!
//! Numbers are little-endian. Bits 4 to 6 of the first byte are zero.

mod control;
mod header;
mod hello;

pub use control::Control;
pub use header::{Header, Kind, SHORT_HEADER, WIDE_HEADER};
pub use hello::{HELLO, Hello, VERSION};

use thiserror::Error;

/// What of the bytes themselves is wrong.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The first bytes are not a hello.
    #[error(
        "the peer does not speak this protocol: byte {at} of its first is {byte:#04x}; is this the right port?"
    )]
    NotThisProtocol {
        /// Where the first strange byte stands, from 0.
        at: usize,
        /// What it is.
        byte: u8,
    },
    /// The peer's version is one that was never given out.
    #[error("the peer speaks version {theirs} of the protocol, this library {VERSION}; update the older one")]
    Version {
        /// What the peer announced.
        theirs: u16,
    },
    /// A limit in the hello is outside what a peer may announce.
    #[error("the peer's hello has an impossible {field}: {value}")]
    BadHello {
        /// Which of its fields.
        field: &'static str,
        /// What it holds.
        value: u32,
    },
    /// A frame of no known kind.
    #[error("a frame of unknown kind {kind}; the stream is damaged or the peer is newer than its hello")]
    UnknownKind {
        /// The number of the kind.
        kind: u8,
    },
    /// Bits that must be zero are not.
    #[error("a frame header with reserved bits set: {byte:#04x}")]
    Reserved {
        /// The byte with the bits.
        byte: u8,
    },
    /// The body of a control frame has not the length of its kind.
    #[error("a {kind:?} frame with {length} bytes of body")]
    ControlLength {
        /// Its kind.
        kind: Kind,
        /// Bytes of body it claims.
        length: u32,
    },
}
