//! Messages and posts in, bytes out.

mod control;
mod posts;

use std::collections::VecDeque;

use thiserror::Error;

use super::{Batch, Limits, PostEnd, PostId, posting::ChannelPosts};
use crate::wire::{Control, Header, Hello, Kind};

/// Why something cannot be sent. The connection is as it was before.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// As much waits to be written as may; try again when some of it is gone.
    #[error("the send queue is full; try again later, or send less")]
    Full,
    /// The peer has not taken what was sent on this channel before.
    #[error("the peer has not yet taken what was sent on channel {channel}; try again later")]
    NoCredit {
        /// The channel.
        channel: u16,
    },
    /// The peer takes no message as long as this one.
    #[error("a message of {length} bytes, but the peer takes at most {limit}; post it instead")]
    TooLong {
        /// Its bytes.
        length: usize,
        /// Bytes the peer takes.
        limit: u32,
    },
    /// The channel was not agreed on.
    #[error("channel {channel} does not exist: {channels} were agreed on, counted from 0")]
    UnknownChannel {
        /// The channel.
        channel: u16,
        /// Channels there are.
        channels: u16,
    },
    /// This side has closed.
    #[error("this side has closed the connection; open another")]
    Closed,
}

#[derive(Debug, Default)]
struct Channel {
    /// Bytes of messages the peer still takes.
    credit: u32,
    /// Credit for the peer which is not yet written.
    owed: u32,
    /// Buffers announced to the peer and not filled yet.
    offered: usize,
    /// Those of them that are not yet announced to the peer.
    unannounced: usize,
    lane: ChannelPosts,
}

impl Channel {
    /// Whether the peer knows of fewer buffers than it might: half of them it need not know of,
    /// since it fills the others first.
    fn starving(&self) -> bool {
        self.unannounced > self.offered / 2
    }
}

/// The sending half of the protocol.
#[derive(Debug)]
pub struct Outgoing {
    ours: Hello,
    peer: Hello,
    queue: usize,
    stage: Vec<u8>,
    spare: Vec<u8>,
    spare_posts: Vec<PostId>,
    messages: u32,
    /// Short posts that may leave, and their bytes: strategies see them as messages.
    posted: (u32, usize),
    flying: usize,
    channels: Vec<Channel>,
    round: VecDeque<u16>,
    ended: Vec<(PostId, PostEnd)>,
    posts: u64,
    owing: Vec<u16>,
    replies: Vec<Control>,
    pressing: bool,
    ping: bool,
    pong: bool,
    ack: bool,
    closing: bool,
    close_sent: bool,
    acked: bool,
}

impl Outgoing {
    /// A half that sends nothing but its hello until [`Outgoing::set_peer`].
    pub fn new(limits: &Limits) -> Self {
        Self {
            ours: limits.hello(),
            peer: limits.hello(),
            queue: limits.send_queue,
            stage: Vec::new(),
            spare: Vec::new(),
            spare_posts: Vec::new(),
            messages: 0,
            posted: (0, 0),
            flying: 0,
            channels: Vec::new(),
            round: VecDeque::new(),
            ended: Vec::new(),
            posts: 0,
            owing: Vec::new(),
            replies: Vec::new(),
            pressing: false,
            ping: false,
            pong: false,
            ack: false,
            closing: false,
            close_sent: false,
            acked: false,
        }
    }

    /// Takes note of what the peer is ready to take.
    pub fn set_peer(&mut self, hello: Hello) {
        self.peer = self.ours.agreed(&hello);
        let credit = self.peer.window;
        let channel = || Channel { credit, ..Channel::default() };
        self.channels = (0..self.peer.channels).map(|_| channel()).collect();
    }

    /// What is kept to towards the peer.
    pub fn peer(&self) -> Hello {
        self.peer
    }

    /// Stages a message.
    ///
    /// # Errors
    /// [`Refused`]; nothing was staged.
    #[inline]
    pub fn message(&mut self, channel: u16, body: &[u8]) -> Result<(), Refused> {
        self.header(channel, body.len())?;
        self.stage.extend_from_slice(body);
        Ok(())
    }

    /// Stages the header of a message; its body is written behind the next batch by other means.
    ///
    /// # Errors
    /// [`Refused`]; nothing was staged.
    #[inline]
    pub fn header(&mut self, channel: u16, length: usize) -> Result<(), Refused> {
        let Some(state) = self.channels.get_mut(usize::from(channel)) else {
            return Err(Refused::UnknownChannel { channel, channels: self.peer.channels });
        };
        let limit = self.peer.max_message;
        if length > limit as usize {
            return Err(Refused::TooLong { length, limit });
        }
        let header = Header { kind: Kind::Message, channel, length: length as u32 };
        let frame = header.frame();
        // One message always has room, whatever its size.
        let queued = self.stage.len() + self.flying;
        if self.closing {
            return Err(Refused::Closed);
        } else if queued > 0 && queued + frame > self.queue {
            return Err(Refused::Full);
        } else if frame as u32 > state.credit {
            return Err(Refused::NoCredit { channel });
        }
        state.credit -= frame as u32;
        header.put(&mut self.stage);
        self.messages += 1;
        Ok(())
    }

    /// Stages the body of the header that was staged last, after all.
    pub fn body(&mut self, body: &[u8]) {
        self.stage.extend_from_slice(body);
    }

    /// Whether the peer would take a message of this length, or never will.
    pub fn has_credit(&self, channel: u16, length: usize) -> bool {
        let frame = Header { kind: Kind::Message, channel, length: length as u32 }.frame();
        self.channels.get(usize::from(channel)).is_none_or(|state| state.credit as usize >= frame)
    }

    /// Refuses messages and posts from now on, and sends a close behind those it has.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Drops all that is staged, and sends nothing but this abort.
    pub fn abort(&mut self, code: u32) {
        self.stage.clear();
        (self.messages, self.ping, self.pong, self.ack) = (0, false, false, false);
        self.round.clear();
        self.owing.clear();
        self.replies.clear();
        (self.closing, self.close_sent) = (true, true);
        Control::Abort { code }.put(&mut self.stage);
    }

    /// Whether the peer has read everything up to this side's close.
    pub fn acked(&self) -> bool {
        self.acked
    }

    /// Bytes of messages staged, and of short posts that may leave.
    #[inline]
    pub fn staged(&self) -> usize {
        self.stage.len() + self.posted.1
    }

    /// Messages staged, and short posts that may leave.
    #[inline]
    pub fn messages(&self) -> u32 {
        self.messages + self.posted.0
    }

    /// Bytes of messages staged and in the batch that was taken: what the send queue's bound is of.
    pub fn queued(&self) -> usize {
        self.stage.len() + self.flying
    }

    /// Whether there is anything to write.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.stage.is_empty()
            || !self.round.is_empty()
            || self.has_control()
            || (self.closing && !self.close_sent && self.posts_done())
    }

    /// Everything staged and the next piece of a post, to be written. `None` if there is nothing.
    #[inline]
    pub fn take(&mut self) -> Option<Batch> {
        if self.round.is_empty() && !self.has_control() && !self.closing {
            // Messages only, the common case.
            return (!self.stage.is_empty()).then(|| self.take_staged());
        }
        if self.has_work() { Some(self.take_all()) } else { None }
    }

    fn take_all(&mut self) -> Batch {
        self.put_control();
        // Those that one batch does not hold leave with the next, which follows at once.
        self.posted = (0, 0);
        let mut batch = self.swap();
        batch.posts = std::mem::take(&mut self.spare_posts);
        self.add_pieces(&mut batch);
        if self.closing && !self.close_sent && self.posts_done() && batch.chunk.is_empty() {
            Control::Close.put(&mut batch.bytes);
            self.close_sent = true;
        }
        self.flying = batch.bytes.len();
        batch
    }

    /// What is staged, for a body that follows its header: no piece of a post is added.
    #[inline]
    pub fn take_staged(&mut self) -> Batch {
        let batch = self.swap();
        self.flying = batch.bytes.len();
        batch
    }

    #[inline]
    fn swap(&mut self) -> Batch {
        self.messages = 0;
        Batch::new(std::mem::replace(&mut self.stage, std::mem::take(&mut self.spare)))
    }

    /// Takes a batch back that was written to its end.
    #[inline]
    pub fn give_back(&mut self, mut batch: Batch) {
        self.flying = 0;
        self.ended.extend(batch.posts.drain(..).map(|id| (id, PostEnd::Written)));
        if batch.posts.capacity() > 0 {
            self.spare_posts = std::mem::take(&mut batch.posts);
        }
        let memory = batch.emptied();
        // Memory beyond the bound comes of one overlong message.
        if memory.capacity() <= 2 * self.queue {
            self.spare = memory;
        }
    }

    /// Takes note that a batch was written only in part; it is kept by the caller.
    pub fn hold(&mut self, batch: &Batch) {
        self.flying = batch.parts()[0].len();
    }
}
