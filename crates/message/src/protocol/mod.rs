//! The protocol without sockets and without a clock: bytes in, events out, and the other way.
//!
//! [`Incoming`] takes bytes in any pieces and returns what they mean; [`Outgoing`] takes what to
//! send and returns bytes to be written; [`KeepAlive`] takes the time. [`crate::Connection`]
//! joins the three to a socket; a test or a fuzzer joins them to anything else.
//!
//! ```
//! use netfathom_message::protocol::{Event, Incoming, Limits, Outgoing, Want};
//!
//! let limits = Limits::default();
//! let (mut out, mut into) = (Outgoing::new(&limits), Incoming::new(&limits));
//! # into.set_peer(limits.hello())?; out.set_peer(limits.hello());
//! out.message(3, b"hello")?;
//! let batch = out.take().expect("a message is staged");
//! for byte in batch.parts().concat() {
//!     into.feed(&[byte]); // in any pieces
//! }
//! let event = into.next(Want::Any)?;
//! assert!(matches!(event, Some(Event::Message { channel: 3, body: b"hello" })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod buffer;
mod inbox;
mod incoming;
mod keep_alive;
mod limits;
mod outgoing;
mod posting;

pub use batch::Batch;
pub use incoming::{Event, Incoming, Space, Want};
pub use keep_alive::{Beat, KeepAlive, KeepAliveStep};
pub use limits::Limits;
pub use outgoing::{Outgoing, Refused};
pub use posting::{PostEnd, PostId, Received};

use thiserror::Error;

use crate::wire::WireError;

/// Buffers that may wait for posts on one channel, and posts that may wait for buffers.
pub const MOST_POSTS: usize = 1024;

/// What the peer did that the protocol does not allow. The connection ends with it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Its bytes are no frames.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A frame on a channel that was not agreed on.
    #[error("the peer used channel {channel}, but {channels} were agreed on")]
    UnknownChannel {
        /// The channel.
        channel: u16,
        /// Channels there are.
        channels: u16,
    },
    /// A message longer than this side takes.
    #[error("the peer announces a message of {length} bytes, but may send at most {limit}")]
    MessageTooLong {
        /// Bytes it claims.
        length: u32,
        /// Bytes allowed.
        limit: u32,
    },
    /// A piece of a post longer than this side takes.
    #[error("the peer announces a chunk of {length} bytes, but may send at most {limit}")]
    ChunkTooLong {
        /// Bytes it claims.
        length: u32,
        /// Bytes allowed.
        limit: u32,
    },
    /// Messages beyond the credit of their channel.
    #[error("the peer sent {excess} bytes more on channel {channel} than it had credit for")]
    CreditExceeded {
        /// The channel.
        channel: u16,
        /// Bytes too many.
        excess: u32,
    },
    /// More credit than the window the peer announced.
    #[error("the peer gave more credit on channel {channel} than the window it announced")]
    CreditOverflow {
        /// The channel.
        channel: u16,
    },
    /// A post for which no buffer waits.
    #[error("the peer posts on channel {channel}, where no buffer waits")]
    PostWithoutBuffer {
        /// The channel.
        channel: u16,
    },
    /// A post longer than its buffer.
    #[error("the peer posts beyond the {capacity} bytes of the buffer on channel {channel}")]
    PostTooLong {
        /// The channel.
        channel: u16,
        /// Bytes the buffer takes.
        capacity: u64,
    },
    /// A piece of a post without bytes, which is not the last: work for nothing.
    #[error("the peer sent an empty chunk on channel {channel} that is not the last of its post")]
    EmptyChunk {
        /// The channel.
        channel: u16,
    },
    /// More buffers announced than may wait.
    #[error("the peer announces more than {MOST_POSTS} buffers on channel {channel}")]
    TooManyBuffers {
        /// The channel.
        channel: u16,
    },
    /// Data after the peer's own close.
    #[error("the peer sent data after it had closed")]
    AfterClose,
    /// An acknowledgment of a close that was not sent.
    #[error("the peer acknowledges a close that was never sent")]
    AckWithoutClose,
    /// A frame was begun and not completed in time.
    #[error("the peer began a frame and did not complete it in {ms} ms")]
    FrameTimeout {
        /// Milliseconds allowed.
        ms: u64,
    },
    /// Nothing came, not even an answer to a ping.
    #[error("nothing came from the peer for {ms} ms, no answer to a ping either: taken for gone")]
    Silent {
        /// Milliseconds allowed.
        ms: u64,
    },
}

impl ProtocolError {
    /// The code of the abort that tells the peer of this.
    pub fn code(&self) -> u32 {
        0x1_0000
            + match self {
                Self::Wire(_) => 1,
                Self::UnknownChannel { .. } => 2,
                Self::MessageTooLong { .. } => 3,
                Self::ChunkTooLong { .. } => 4,
                Self::CreditExceeded { .. } => 5,
                Self::CreditOverflow { .. } => 6,
                Self::PostWithoutBuffer { .. } => 7,
                Self::PostTooLong { .. } => 8,
                Self::EmptyChunk { .. } => 9,
                Self::TooManyBuffers { .. } => 10,
                Self::AfterClose => 11,
                Self::AckWithoutClose => 12,
                Self::FrameTimeout { .. } => 13,
                Self::Silent { .. } => 14,
            }
    }
}
