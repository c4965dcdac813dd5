//! Posts on their way out: queued, cut into pieces, ended.

use bytes::Bytes;

use super::{Batch, Outgoing, Refused};
use crate::{
    protocol::{MOST_POSTS, PostEnd, PostId, posting::Job},
    wire::{Header, Kind},
};

/// Pieces up to this size are copied behind what is staged if more pieces follow them: the copy
/// costs less than another write.
const COPIED_PIECE: usize = 8 << 10;
/// Pieces up to this size are copied in any case: that costs less than the system needs for one more
/// piece of memory.
const COPIED_LAST: usize = 2 << 10;

impl Outgoing {
    /// Queues a post, for when the peer has a buffer for it.
    ///
    /// # Errors
    /// [`Refused::Full`] if 1024 posts wait on the channel, and as messages are refused.
    pub fn post(&mut self, channel: u16, bytes: Bytes) -> Result<PostId, Refused> {
        let channels = self.peer.channels;
        let state = self.channels.get_mut(usize::from(channel));
        let lane = &mut state.ok_or(Refused::UnknownChannel { channel, channels })?.lane;
        if self.closing {
            return Err(Refused::Closed);
        }
        if lane.jobs.len() >= MOST_POSTS {
            return Err(Refused::Full);
        }
        self.posts += 1;
        let id = PostId(self.posts);
        let length = bytes.len();
        lane.jobs.push_back(Job { id, bytes, sent: 0, begun: false });
        self.enter_round(channel);
        if length <= COPIED_PIECE && self.channels[usize::from(channel)].lane.ready() {
            self.posted = (self.posted.0 + 1, self.posted.1 + length);
        }
        Ok(id)
    }

    pub(super) fn enter_round(&mut self, channel: u16) {
        let lane = &mut self.channels[usize::from(channel)].lane;
        if lane.ready() && !lane.queued {
            lane.queued = true;
            self.round.push_back(channel);
        }
    }

    pub(super) fn posts_done(&self) -> bool {
        self.channels.iter().all(|channel| channel.lane.jobs.is_empty())
    }

    /// Adds pieces of posts, channel by channel in turn, one chunk's worth of bytes at most.
    pub(super) fn add_pieces(&mut self, batch: &mut Batch) {
        let mut room = self.peer.max_chunk as usize;
        while let Some(channel) = self.round.pop_front() {
            let lane = &mut self.channels[usize::from(channel)].lane;
            lane.queued = false;
            let piece = lane.next(self.peer.max_chunk as usize, &mut self.ended);
            self.enter_round(channel);
            let Some(piece) = piece else { continue };
            let kind = if piece.last.is_some() { Kind::LastChunk } else { Kind::Chunk };
            Header { kind, channel, length: piece.bytes.len() as u32 }.put(&mut batch.bytes);
            batch.posts.extend(piece.last);
            room = room.saturating_sub(piece.bytes.len());
            let copied = if self.round.is_empty() { COPIED_LAST } else { COPIED_PIECE };
            if piece.bytes.len() > copied {
                batch.chunk = piece.bytes;
                return;
            }
            batch.bytes.extend_from_slice(&piece.bytes);
            if room < COPIED_PIECE {
                return;
            }
        }
    }

    /// Whether posts ended since they were last asked for.
    #[inline]
    pub fn any_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Posts that ended since this was last asked.
    #[inline]
    pub fn ended(&mut self) -> impl Iterator<Item = (PostId, PostEnd)> {
        self.ended.drain(..)
    }
}
