//! What a connection is opened with.

use std::time::Duration;

use crate::{protocol::Limits, strategy::Choice};

/// What a connection is opened with. The defaults suit most.
///
/// ```
/// use netfathom_message::{Config, strategy::Choice};
/// let config = Config { strategy: Choice::Inline, ..Config::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// The bounds of this side; each side keeps to those of the other.
    pub limits: Limits,
    /// When messages leave.
    pub strategy: Choice,
    /// Bytes that may lie in the system unsent once posts were sent (over TCP): a message waits for
    /// these and for one chunk. Less lets messages pass sooner, and lets bulk pause whenever this
    /// side is woken too late to refill it.
    pub unsent: usize,
    /// How long the peer may take for its hello.
    pub handshake: Duration,
    /// Silence after which the peer is asked whether it is there; `None` never asks, and never
    /// gives up.
    pub ping_after: Option<Duration>,
    /// Silence after which the peer is taken for gone.
    pub silent_after: Duration,
    /// How long a frame may take from its first byte to its last.
    pub frame_within: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            strategy: Choice::default(),
            unsent: 512 << 10,
            handshake: Duration::from_secs(5),
            ping_after: Some(Duration::from_secs(10)),
            silent_after: Duration::from_secs(30),
            frame_within: Duration::from_secs(30),
        }
    }
}
