//! When a message that is to be sent is written.
//!
//! | strategy | a message leaves | good for |
//! |---|---|---|
//! | [`Adaptive`] | at once; in a burst together with its neighbours, 50 us late at most | everything, unless you know better |
//! | [`Inline`] | at once, in the caller's context, one system call each | requests and answers at low rates, least variance |
//! | [`Batch`] | when [`crate::Connection::flush`] is called or 64 KiB wait | a caller that knows where its bursts end |
//! | [`Thread`] | from another thread, one system call each | comparison with a sending thread as of 2002; a caller that must not make the call itself |
//!
//! None of them changes the order or loses anything: they only choose the moment. Whatever would
//! block is written by the connection's own thread, with every strategy.

mod adaptive;

pub use adaptive::Adaptive;

use std::time::Instant;

/// What a strategy is shown after each message was staged.
#[derive(Clone, Copy, Debug)]
pub struct Staged {
    /// Bytes of this message.
    pub length: usize,
    /// Bytes staged, this message included.
    pub bytes: usize,
    /// Messages staged, this one included.
    pub messages: u32,
    /// Whether a write is being made by another thread, or waits for the socket. What is staged is
    /// then written after it.
    pub in_flight: bool,
    /// Whether the caller has waited for the peer since its message before: so much time has passed
    /// that no clock is needed to see it.
    pub waited: bool,
}

/// What is to happen with what is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write it now, in the caller's context.
    Write,
    /// Leave it: another reason to write will come.
    Keep,
    /// Leave it, but write it then, from the connection's thread.
    Until(Instant),
    /// Have it written by the connection's thread, now.
    HandOver,
}

/// Why what was staged is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The strategy requested it.
    Asked,
    /// The moment of [`Step::Until`] came.
    Deadline,
    /// The caller is about to wait.
    Waiting,
    /// [`crate::Connection::flush`] was called, or the connection closes.
    Flush,
    /// The write before it is done.
    Behind,
}

/// Chooses when messages are written. Called with the connection's lock held: it must be quick,
/// and must not call the connection.
pub trait Strategy: Send + std::fmt::Debug {
    /// A word for it.
    fn name(&self) -> &'static str;

    /// A message was staged: what now?
    fn staged(&mut self, now: Staged) -> Step;

    /// The given number of messages is about to be written.
    fn writing(&mut self, _messages: u32, _cause: Cause) {}

    /// A write has returned, whichever way it went.
    fn written(&mut self) {}

    /// Whether what is staged leaves when the caller is about to wait for something to come.
    fn leaves_when_waiting(&self) -> bool {
        true
    }

    /// Whether each frame is written with a system call of its own.
    fn one_by_one(&self) -> bool {
        false
    }
}

/// Writes each message in the caller's context; only what would block is left to the connection's
/// thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

impl Strategy for Inline {
    fn name(&self) -> &'static str {
        "inline"
    }

    fn staged(&mut self, now: Staged) -> Step {
        if now.in_flight { Step::Keep } else { Step::Write }
    }
}

/// Writes at a flush, and when `limit` bytes are staged. A caller that forgets to flush
/// waits for an answer to something that was not sent.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Bytes from which on it writes unasked.
    pub limit: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self { limit: 64 << 10 }
    }
}

impl Strategy for Batch {
    fn name(&self) -> &'static str {
        "batch"
    }

    fn staged(&mut self, now: Staged) -> Step {
        if now.bytes >= self.limit && !now.in_flight { Step::Write } else { Step::Keep }
    }

    fn leaves_when_waiting(&self) -> bool {
        false
    }
}

/// Hands each message to the connection's thread, which makes one system call for each: the sending
/// thread of Lichota's library (2002), without its poll(2) before each send. Kept to be compared with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread;

impl Strategy for Thread {
    fn name(&self) -> &'static str {
        "thread"
    }

    fn staged(&mut self, _now: Staged) -> Step {
        Step::HandOver
    }

    fn leaves_when_waiting(&self) -> bool {
        false
    }

    fn one_by_one(&self) -> bool {
        true
    }
}

/// The strategies of this crate, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// [`Adaptive`].
    #[default]
    Adaptive,
    /// [`Inline`].
    Inline,
    /// [`Batch`].
    Batch,
    /// [`Thread`].
    Thread,
}

impl Choice {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Adaptive, Self::Inline, Self::Batch, Self::Thread];

    /// The strategy, as it is at the start.
    pub fn make(self) -> Box<dyn Strategy> {
        match self {
            Self::Adaptive => Box::new(Adaptive::default()),
            Self::Inline => Box::new(Inline),
            Self::Batch => Box::new(Batch::default()),
            Self::Thread => Box::new(Thread),
        }
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.make().name())
    }
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|choice| choice.to_string() == name);
        found.ok_or_else(|| format!("no strategy {name:?}; there are adaptive, inline, batch, thread"))
    }
}
