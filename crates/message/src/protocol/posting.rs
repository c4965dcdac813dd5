//! Posts: bulk, which goes where the receiver says.

use std::collections::VecDeque;

use bytes::Bytes;

/// One post of this side, as [`super::Outgoing`] numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PostId(pub u64);

/// What became of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostEnd {
    /// All of it was handed to the system.
    Written,
    /// Nothing of it was sent: the buffer that the peer had waiting is too small.
    TooLong {
        /// Bytes of the buffer, which waits on.
        capacity: u64,
    },
}

/// A buffer that a post has filled.
#[derive(Debug, PartialEq, Eq)]
pub struct Received {
    /// The channel.
    pub channel: u16,
    /// The buffer, as it was given, filled from its front.
    pub buffer: Vec<u8>,
    /// Bytes of the post.
    pub length: usize,
}

impl Received {
    /// The bytes of the post.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

/// A buffer that waits for a post, or is being filled.
#[derive(Debug)]
pub(super) struct Waiting {
    pub buffer: Vec<u8>,
    pub filled: usize,
}

/// A post that waits for a buffer, or is being sent.
#[derive(Debug)]
pub(super) struct Job {
    pub id: PostId,
    pub bytes: Bytes,
    pub sent: usize,
    pub begun: bool,
}

/// The posts of one channel, and the buffers the peer has for them.
#[derive(Debug, Default)]
pub(super) struct ChannelPosts {
    pub jobs: VecDeque<Job>,
    pub grants: VecDeque<u64>,
    /// Whether the channel stands in the round of those with something to send.
    pub queued: bool,
}

/// A piece of a post, ready to be sent.
#[derive(Debug)]
pub(super) struct Piece {
    pub bytes: Bytes,
    pub last: Option<PostId>,
}

impl ChannelPosts {
    pub fn ready(&self) -> bool {
        self.jobs.front().is_some_and(|job| job.begun || !self.grants.is_empty())
    }

    /// The next piece, of at most `chunk` bytes; posts that do not fit the buffer in turn end in
    /// `ended`, and the buffer is left for the one behind them.
    pub fn next(&mut self, chunk: usize, ended: &mut Vec<(PostId, PostEnd)>) -> Option<Piece> {
        loop {
            let job = self.jobs.front_mut()?;
            if !job.begun {
                let capacity = *self.grants.front()?;
                if job.bytes.len() as u64 > capacity {
                    ended.push((job.id, PostEnd::TooLong { capacity }));
                    self.jobs.pop_front();
                    continue;
                }
                self.grants.pop_front();
                job.begun = true;
            }
            let end = job.bytes.len().min(job.sent + chunk);
            let bytes = job.bytes.slice(job.sent..end);
            job.sent = end;
            let last = (end == job.bytes.len()).then_some(job.id);
            if last.is_some() {
                self.jobs.pop_front();
            }
            return Some(Piece { bytes, last });
        }
    }
}
