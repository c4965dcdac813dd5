//! Bytes in, events out.

mod pieces;
mod space;
mod stash;

use std::{collections::VecDeque, ops::Range};

use space::Guess;
pub use space::Space;

use super::{Limits, ProtocolError, Received, buffer::Buffer, inbox::Inbox, posting::Waiting};
use crate::wire::{Control, Header, Hello, Kind, WIDE_HEADER, WireError};

const SMALLEST_BUFFER: usize = 128 << 10;

/// What the application waits for. Everything else is kept for later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Whatever comes first.
    Any,
    /// A message of this channel.
    Message(u16),
    /// A post of this channel.
    Post(u16),
    /// Nothing: only the connection's own affairs.
    Nothing,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message. Its bytes lie in the connection's own buffer, or in the channel's inbox.
    Message {
        /// The channel.
        channel: u16,
        /// The message.
        body: &'a [u8],
    },
    /// A post has filled a buffer.
    Post(Received),
    /// A frame for the connection itself: to be passed to [`super::Outgoing::control`].
    Control(Control),
    /// The limits of the peer.
    Hello(Hello),
}

#[derive(Debug, Default)]
struct Channel {
    /// Bytes the peer may still send.
    allowance: u32,
    /// Bytes the application took that were not yet granted to the peer.
    taken: u32,
    inbox: Inbox,
    waiting: VecDeque<Waiting>,
    done: VecDeque<Received>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    channel: u16,
    length: usize,
    left: usize,
    last: bool,
}

/// An event, or where the message of one lies.
enum Parsed {
    Message { channel: u16, at: Range<usize> },
    Stashed { channel: u16, at: Range<usize> },
    Whole(Event<'static>),
}

/// The receiving half of the protocol.
#[derive(Debug)]
pub struct Incoming {
    limits: Limits,
    greeted: bool,
    closed: bool,
    buffer: Buffer,
    channels: Vec<Channel>,
    /// Messages and posts kept because they were not asked for.
    stashed: usize,
    piece: Option<Piece>,
    /// The last frame was of a post, so the next one may well be like it.
    expected: Option<Guess>,
    /// The space that was given last is for this guess.
    guessed: Option<Guess>,
    frames: u64,
    replies: Vec<Control>,
}

impl Incoming {
    /// A half that takes what `limits` allow, and waits for the peer's hello first.
    pub fn new(limits: &Limits) -> Self {
        let frame = limits.max_message as usize + WIDE_HEADER;
        Self {
            limits: limits.clone(),
            greeted: false,
            closed: false,
            buffer: Buffer::new(SMALLEST_BUFFER.max(2 * frame)),
            channels: Vec::new(),
            stashed: 0,
            piece: None,
            expected: None,
            guessed: None,
            frames: 0,
            replies: Vec::new(),
        }
    }

    /// Takes note of the peer's hello. [`Incoming::next`] does so by itself when it comes.
    ///
    /// # Errors
    /// [`WireError`] if its limits cannot be kept.
    pub fn set_peer(&mut self, hello: Hello) -> Result<(), WireError> {
        hello.check()?;
        self.limits.channels = self.limits.channels.min(hello.channels);
        let window = self.limits.window;
        let channel = || Channel { allowance: window, ..Channel::default() };
        self.channels = (0..self.limits.channels).map(|_| channel()).collect();
        self.greeted = true;
        Ok(())
    }

    /// What came next of what is wanted, or of the connection's own; `None` if more bytes are
    /// needed. What is not wanted is kept, in order, within the window of its channel.
    ///
    /// # Errors
    /// [`ProtocolError`]: the stream is of no use any more.
    #[inline]
    pub fn next(&mut self, want: Want) -> Result<Option<Event<'_>>, ProtocolError> {
        Ok(match self.find(want)? {
            None => None,
            Some(Parsed::Message { channel, at }) => {
                Some(Event::Message { channel, body: self.buffer.at(at) })
            }
            Some(Parsed::Stashed { channel, at }) => {
                Some(Event::Message { channel, body: self.channels[usize::from(channel)].inbox.at(at) })
            }
            Some(Parsed::Whole(event)) => Some(event),
        })
    }

    #[inline]
    fn find(&mut self, want: Want) -> Result<Option<Parsed>, ProtocolError> {
        if self.stashed > 0
            && let Some(found) = self.unstash(want)
        {
            return Ok(Some(found));
        }
        loop {
            if self.piece.is_some() {
                let Some(found) = self.fill_piece(want) else {
                    if self.piece.is_some() {
                        return Ok(None);
                    }
                    continue;
                };
                return Ok(Some(found));
            }
            if !self.greeted {
                return self.greeting();
            }
            let Some((header, size)) = Header::read(self.buffer.filled())? else { return Ok(None) };
            if header.kind == Kind::Message {
                match self.message(header, size, want)? {
                    Intake::Not => return Ok(None),
                    Intake::Stashed => {}
                    Intake::Wanted(found) => return Ok(Some(found)),
                }
            } else if header.kind.body().is_none() {
                self.begin_piece(header, size)?;
            } else {
                return Ok(self.control(header, size)?.map(|control| Parsed::Whole(Event::Control(control))));
            }
        }
    }

    #[inline]
    fn message(&mut self, header: Header, size: usize, want: Want) -> Result<Intake, ProtocolError> {
        let Header { channel, length, .. } = header;
        if length > self.limits.max_message {
            return Err(ProtocolError::MessageTooLong { length, limit: self.limits.max_message });
        }
        if self.closed {
            return Err(ProtocolError::AfterClose);
        }
        let limit = self.limits.channels;
        let Some(state) = self.channels.get_mut(usize::from(channel)) else {
            return Err(ProtocolError::UnknownChannel { channel, channels: limit });
        };
        let frame = size as u32 + length;
        if frame > state.allowance {
            return Err(ProtocolError::CreditExceeded { channel, excess: frame - state.allowance });
        }
        if self.buffer.filled().len() < frame as usize {
            return Ok(Intake::Not);
        }
        state.allowance -= frame;
        self.frames += 1;
        self.expected = None;
        let at = self.buffer.take(frame as usize);
        let at = at.start + size..at.end;
        if want == Want::Any || want == Want::Message(channel) {
            self.taken(channel, frame);
            return Ok(Intake::Wanted(Parsed::Message { channel, at }));
        }
        state.inbox.put(self.buffer.at(at));
        self.stashed += 1;
        Ok(Intake::Stashed)
    }

    /// Books a message as taken by the application. Credit is granted in units of half a window.
    #[inline]
    fn taken(&mut self, channel: u16, bytes: u32) {
        let state = &mut self.channels[usize::from(channel)];
        state.taken += bytes;
        if state.taken >= self.limits.window / 2 && !self.closed {
            state.allowance += state.taken;
            self.replies.push(Control::Credit { channel, bytes: state.taken });
            state.taken = 0;
        }
    }

    fn greeting(&mut self) -> Result<Option<Parsed>, ProtocolError> {
        let Some(hello) = Hello::decode(self.buffer.filled())? else { return Ok(None) };
        self.buffer.take(crate::wire::HELLO);
        self.set_peer(hello)?;
        Ok(Some(Parsed::Whole(Event::Hello(hello))))
    }

    /// Credit or a buffer of the peer, if that is what comes next and all of it is here.
    #[inline]
    pub fn allowance_at_hand(&mut self) -> Option<Control> {
        if self.piece.is_some() || !self.greeted {
            return None;
        }
        match Header::read(self.buffer.filled()) {
            Ok(Some((header, size))) if matches!(header.kind, Kind::Credit | Kind::Grant) => {
                // Neither of them can be wrong by itself.
                self.control(header, size).ok()?
            }
            _ => None,
        }
    }

    fn control(&mut self, header: Header, size: usize) -> Result<Option<Control>, ProtocolError> {
        let frame = size + header.length as usize;
        let Some(body) = self.buffer.filled().get(size..frame) else { return Ok(None) };
        let Some(control) = Control::read(header, body) else { return Ok(None) };
        self.buffer.take(frame);
        self.frames += 1;
        if control == Control::Close {
            if self.closed {
                return Err(ProtocolError::AfterClose);
            }
            self.closed = true;
        }
        Ok(Some(control))
    }

    /// Credit to be granted to the peer through [`super::Outgoing::reply`].
    #[inline]
    pub fn replies(&mut self) -> Option<Control> {
        self.replies.pop()
    }

    /// Frames completed so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Whether [`Incoming::next`] can have nothing, whatever is wanted, until more was read.
    #[inline]
    pub fn has_nothing(&self) -> bool {
        self.buffer.is_empty() && self.piece.is_none() && self.stashed == 0 && self.replies.is_empty()
    }

    /// Whether a frame is begun and not complete.
    pub fn inside_frame(&self) -> bool {
        self.piece.is_some() || !self.buffer.is_empty()
    }

    /// Whether the peer has closed.
    pub fn closed(&self) -> bool {
        self.closed
    }
}

enum Intake {
    Not,
    Stashed,
    Wanted(Parsed),
}
