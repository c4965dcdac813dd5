//! Pieces of posts, into the buffers that wait for them.

use super::{Event, Guess, Incoming, Parsed, Piece, Want};
use crate::{
    protocol::{ProtocolError, Received, posting::Waiting},
    wire::{Header, Kind},
};

impl Incoming {
    pub(super) fn begin_piece(&mut self, header: Header, size: usize) -> Result<(), ProtocolError> {
        let Header { channel, length, kind } = header;
        let limit = self.limits.chunk;
        if length > limit {
            return Err(ProtocolError::ChunkTooLong { length, limit });
        }
        if self.closed {
            return Err(ProtocolError::AfterClose);
        }
        let channels = self.limits.channels;
        let state = self.channels.get(usize::from(channel));
        let state = state.ok_or(ProtocolError::UnknownChannel { channel, channels })?;
        let waiting = state.waiting.front().ok_or(ProtocolError::PostWithoutBuffer { channel })?;
        if length as usize > waiting.buffer.len() - waiting.filled {
            let capacity = waiting.buffer.len() as u64;
            return Err(ProtocolError::PostTooLong { channel, capacity });
        }
        if length == 0 && kind == Kind::Chunk {
            return Err(ProtocolError::EmptyChunk { channel });
        }
        self.buffer.take(size);
        let length = length as usize;
        self.piece = Some(Piece { channel, length, left: length, last: kind == Kind::LastChunk });
        Ok(())
    }

    /// Moves what a read brought along into the waiting buffer, and ends the piece, and the post,
    /// if that was all.
    pub(super) fn fill_piece(&mut self, want: Want) -> Option<Parsed> {
        let mut piece = self.piece?;
        let state = &mut self.channels[usize::from(piece.channel)];
        let waiting = state.waiting.front_mut()?;
        let here = self.buffer.filled().len().min(piece.left);
        let at = self.buffer.take(here);
        waiting.buffer[waiting.filled..waiting.filled + here].copy_from_slice(self.buffer.at(at));
        waiting.filled += here;
        piece.left -= here;
        if piece.left > 0 {
            self.piece = Some(piece);
            return None;
        }
        self.piece = None;
        self.expected = Some(Guess::like(piece));
        self.frames += 1;
        if !piece.last {
            return None;
        }
        let waiting = state.waiting.pop_front()?;
        let received = Received { channel: piece.channel, buffer: waiting.buffer, length: waiting.filled };
        if want == Want::Any || want == Want::Post(piece.channel) {
            return Some(Parsed::Whole(Event::Post(received)));
        }
        state.done.push_back(received);
        self.stashed += 1;
        None
    }

    /// Assigns the buffer to the next post on the channel that has none yet. The peer posts
    /// once it has the grant, through [`crate::protocol::Outgoing::grant`].
    pub fn wait_with(&mut self, channel: u16, buffer: Vec<u8>) {
        if let Some(state) = self.channels.get_mut(usize::from(channel)) {
            state.waiting.push_back(Waiting { buffer, filled: 0 });
        }
    }
}
