//! What a connection is opened with.

use std::{borrow::Cow, thread, time::Duration};

use crate::{protocol::Limits, strategy::Choice};

/// What a connection is opened with. The defaults suit most.
///
/// ```
/// use netfathom_message::{Config, strategy::Choice};
/// let config = Config { strategy: Choice::Inline, ..Config::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// What the connection's own threads are called by: `NAME-mover`, and `NAME-listener` of
    /// [`crate::Connection::listen`]. The system shows 15 bytes; of a name too long for that the
    /// end is left out, so that the thread's part is seen: 9 bytes stay beside `mover`.
    pub name: Cow<'static, str>,
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
            name: "message".into(),
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

/// Bytes of a thread's name that the system keeps.
const SHOWN: usize = 15;

impl Config {
    /// A thread of the connection, not yet started.
    pub(crate) fn thread(&self, part: &str) -> thread::Builder {
        thread::Builder::new().name(thread_name(&self.name, part))
    }
}

fn thread_name(name: &str, part: &str) -> String {
    let most = SHOWN.saturating_sub(part.len() + 1);
    let end = name.char_indices().map(|(at, letter)| at + letter.len_utf8()).take_while(|end| *end <= most);
    // A thread's name may hold no zero byte.
    let name = name[..end.last().unwrap_or(0)].replace('\0', "");
    format!("{name}-{part}")
}

#[cfg(test)]
mod tests {
    use super::thread_name;

    #[test]
    fn names_of_threads_keep_their_part_and_fit() {
        assert_eq!(thread_name("message", "mover"), "message-mover");
        assert_eq!(thread_name("message", "listener"), "messag-listener");
        assert_eq!(thread_name("twelve-bytes", "mover"), "twelve-by-mover");
        assert_eq!(thread_name("zürich-höfe", "listener"), "züric-listener");
        assert_eq!(thread_name("a\0b", "mover"), "ab-mover");
        assert_eq!(thread_name("", "mover"), "-mover");
    }
}
