//! The connection's own frames: those of the peer, and those sent to it.

use super::{Channel, Outgoing, Refused};
use crate::{
    protocol::{MOST_POSTS, ProtocolError},
    wire::Control,
};

impl Outgoing {
    /// Takes note of a control frame of the peer.
    ///
    /// # Errors
    /// [`ProtocolError`]: the peer may not send this.
    pub fn control(&mut self, control: Control) -> Result<(), ProtocolError> {
        match control {
            Control::Credit { channel, bytes } => {
                let window = self.peer.window;
                let state = self.channel(channel)?;
                let credit = state.credit.checked_add(bytes).filter(|credit| *credit <= window);
                state.credit = credit.ok_or(ProtocolError::CreditOverflow { channel })?;
            }
            Control::Grant { channel, capacity } => {
                let grants = &mut self.channel(channel)?.lane.grants;
                if grants.len() >= MOST_POSTS {
                    return Err(ProtocolError::TooManyBuffers { channel });
                }
                grants.push_back(capacity);
                self.enter_round(channel);
            }
            Control::Ping => self.pong = true,
            Control::Close => self.ack = true,
            Control::CloseAck if !self.close_sent => return Err(ProtocolError::AckWithoutClose),
            Control::CloseAck => self.acked = true,
            Control::Pong | Control::Abort { .. } => {}
        }
        Ok(())
    }

    fn channel(&mut self, channel: u16) -> Result<&mut Channel, ProtocolError> {
        let channels = self.peer.channels;
        let state = self.channels.get_mut(usize::from(channel));
        state.ok_or(ProtocolError::UnknownChannel { channel, channels })
    }

    /// Has the receiving half's credit sent with the next batch.
    pub fn reply(&mut self, control: Control) {
        let Control::Credit { channel, bytes } = control else {
            self.replies.push(control);
            return;
        };
        let Some(state) = self.channels.get_mut(usize::from(channel)) else { return };
        if state.owed == 0 {
            self.owing.push(channel);
        }
        state.owed += bytes;
    }

    /// Has a ping sent with the next batch.
    pub fn ping(&mut self) {
        self.ping = true;
    }

    /// Whether control frames wait that the peer may be waiting for. Unannounced buffers do not count
    /// while it has as many others.
    pub fn presses(&self) -> bool {
        self.pressing || !self.owing.is_empty() || self.ping || self.pong || self.ack
    }

    #[inline]
    pub(super) fn has_control(&self) -> bool {
        !self.replies.is_empty() | !self.owing.is_empty() | self.ping | self.pong | self.ack
    }

    pub(super) fn put_control(&mut self) {
        self.pressing = false;
        for control in self.replies.drain(..) {
            if let Control::Grant { channel, .. } = control {
                self.channels[usize::from(channel)].unannounced = 0;
            }
            control.put(&mut self.stage);
        }
        for channel in self.owing.drain(..) {
            let bytes = std::mem::take(&mut self.channels[usize::from(channel)].owed);
            Control::Credit { channel, bytes }.put(&mut self.stage);
        }
        let flags = [
            (&mut self.ping, Control::Ping),
            (&mut self.pong, Control::Pong),
            (&mut self.ack, Control::CloseAck),
        ];
        for (due, control) in flags {
            if std::mem::take(due) {
                control.put(&mut self.stage);
            }
        }
    }

    /// Tells the peer of a buffer that waits for a post of it.
    ///
    /// # Errors
    /// [`Refused::UnknownChannel`] and [`Refused::Full`], if 1024 buffers wait already.
    pub fn grant(&mut self, channel: u16, capacity: u64) -> Result<(), Refused> {
        let channels = self.peer.channels;
        let state = self.channels.get_mut(usize::from(channel));
        let state = state.ok_or(Refused::UnknownChannel { channel, channels })?;
        if self.closing {
            return Err(Refused::Closed);
        }
        if state.offered >= MOST_POSTS {
            return Err(Refused::Full);
        }
        state.offered += 1;
        state.unannounced += 1;
        self.pressing |= state.starving();
        self.replies.push(Control::Grant { channel, capacity });
        Ok(())
    }

    /// Takes note that a buffer came back filled.
    pub fn granted(&mut self, channel: u16) {
        if let Some(state) = self.channels.get_mut(usize::from(channel)) {
            state.offered = state.offered.saturating_sub(1);
            self.pressing |= state.starving();
        }
    }
}
