//! Posts, sent and awaited.

use std::time::Duration;

use bytes::Bytes;

use super::{PostCallback, Shared};
use crate::{
    Error,
    strategy::{Cause, Step},
};

/// Offers that no caller waits behind are announced twice this late at most. The caller almost always goes on to
/// send or to wait, and takes them along: waking the connection's thread for each would
/// cost more than the post.
const OFFERS_LATE: Duration = Duration::from_millis(4);

impl Shared {
    /// Queues a post and writes what can be; `hand_over` as in [`Shared::send_once`].
    pub fn post(&self, channel: u16, bytes: Bytes, done: PostCallback, hand_over: bool) -> Result<(), Error> {
        self.alive()?;
        let mut sending = self.sending.lock();
        if !sending.bulk {
            sending.bulk = true;
            self.transport.expect_bulk(self.config.unsent);
        }
        let (length, before) = (bytes.len(), sending.out.messages());
        let id = sending.out.post(channel, bytes)?;
        sending.posts.push_back((id, done));
        if sending.out.messages() > before {
            // Short, and a buffer waits: it leaves as a message does.
            return match sending.step(length, false) {
                Step::Write => self.write_out(sending, Cause::Asked, hand_over).map(drop),
                step => {
                    self.later(&mut sending, step);
                    Ok(())
                }
            };
        }
        if sending.in_flight() || !sending.out.has_work() {
            return Ok(());
        }
        self.write_out(sending, Cause::Behind, hand_over).map(drop)
    }

    pub fn offer(&self, channel: u16, buffer: Vec<u8>) -> Result<(), Error> {
        self.alive()?;
        let mut sending = self.sending.lock();
        sending.out.grant(channel, buffer.len() as u64)?;
        // Before the grant can be written, hence before the peer can post.
        let awaited = self.add_offer(channel, buffer);
        if !sending.out.presses() {
            return Ok(());
        }
        if awaited {
            return self.write_out(sending, Cause::Waiting, true).map(drop);
        }
        // Perhaps no caller is about to wait: several offers in a row are sent together.
        self.look_soon(&mut sending, OFFERS_LATE);
        Ok(())
    }
}
