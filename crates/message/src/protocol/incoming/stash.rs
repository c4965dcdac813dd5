//! What came before it was wanted.

use super::{Event, Incoming, Parsed, Want};
use crate::wire::{Header, Kind};

impl Incoming {
    /// Something kept that is now wanted.
    pub(super) fn unstash(&mut self, want: Want) -> Option<Parsed> {
        let found = match want {
            Want::Nothing => None,
            Want::Message(channel) => self.unstash_message(channel),
            Want::Post(channel) => self.unstash_post(channel),
            Want::Any => (0..self.limits.channels)
                .find_map(|channel| self.unstash_message(channel).or_else(|| self.unstash_post(channel))),
        }?;
        self.stashed -= 1;
        Some(found)
    }

    fn unstash_message(&mut self, channel: u16) -> Option<Parsed> {
        let at = self.channels.get_mut(usize::from(channel))?.inbox.take()?;
        let header = Header { kind: Kind::Message, channel, length: at.len() as u32 };
        self.taken(channel, header.frame() as u32);
        Some(Parsed::Stashed { channel, at })
    }

    fn unstash_post(&mut self, channel: u16) -> Option<Parsed> {
        let received = self.channels.get_mut(usize::from(channel))?.done.pop_front()?;
        Some(Parsed::Whole(Event::Post(received)))
    }

    /// Messages and posts that came and were not wanted yet.
    pub fn stashed(&self) -> usize {
        self.stashed
    }

    /// Bytes of memory that what was not wanted yet takes.
    pub fn stash_memory(&self) -> usize {
        self.channels.iter().map(|channel| channel.inbox.memory()).sum()
    }
}
