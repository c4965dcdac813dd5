//! Frames that carry no one's data.

use super::{Header, Kind};

/// A frame of the connection's own affairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The peer may send this many more bytes of messages (with their headers) on the channel.
    Credit {
        /// The channel.
        channel: u16,
        /// Bytes more.
        bytes: u32,
    },
    /// One more buffer waits for a post on the channel.
    Grant {
        /// The channel.
        channel: u16,
        /// Bytes the buffer takes.
        capacity: u64,
    },
    /// Asks for a pong.
    Ping,
    /// Answers a ping.
    Pong,
    /// The sender of this sends no message and no post any more.
    Close,
    /// The sender of this has read all up to the other's close.
    CloseAck,
    /// The connection ends here.
    Abort {
        /// Why: below 0x1_0000 the application's own, above it this library's.
        code: u32,
    },
}

impl Control {
    /// Appends the frame.
    pub fn put(self, out: &mut Vec<u8>) {
        let (kind, channel) = match self {
            Self::Credit { channel, .. } => (Kind::Credit, channel),
            Self::Grant { channel, .. } => (Kind::Grant, channel),
            Self::Ping => (Kind::Ping, 0),
            Self::Pong => (Kind::Pong, 0),
            Self::Close => (Kind::Close, 0),
            Self::CloseAck => (Kind::CloseAck, 0),
            Self::Abort { .. } => (Kind::Abort, 0),
        };
        Header { kind, channel, length: kind.body().unwrap_or(0) }.put(out);
        match self {
            Self::Credit { bytes, .. } => out.extend_from_slice(&bytes.to_le_bytes()),
            Self::Grant { capacity, .. } => out.extend_from_slice(&capacity.to_le_bytes()),
            Self::Abort { code } => out.extend_from_slice(&code.to_le_bytes()),
            _ => {}
        }
    }

    /// The control frame with this header and body; `None` of a message or a chunk, and of a body
    /// that is shorter than the header says.
    pub fn read(header: Header, body: &[u8]) -> Option<Self> {
        let word = || body.first_chunk().map(|word| u32::from_le_bytes(*word));
        Some(match header.kind {
            Kind::Message | Kind::Chunk | Kind::LastChunk => return None,
            Kind::Credit => Self::Credit { channel: header.channel, bytes: word()? },
            Kind::Grant => {
                let capacity = u64::from_le_bytes(*body.first_chunk()?);
                Self::Grant { channel: header.channel, capacity }
            }
            Kind::Ping => Self::Ping,
            Kind::Pong => Self::Pong,
            Kind::Close => Self::Close,
            Kind::CloseAck => Self::CloseAck,
            Kind::Abort => Self::Abort { code: word()? },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_frame_comes_back() {
        let frames = [
            Control::Credit { channel: 3, bytes: 77 },
            Control::Grant { channel: 300, capacity: 1 << 40 },
            Control::Ping,
            Control::Pong,
            Control::Close,
            Control::CloseAck,
            Control::Abort { code: 9 },
        ];
        for frame in frames {
            let mut bytes = Vec::new();
            frame.put(&mut bytes);
            let (header, size) = Header::read(&bytes).unwrap().unwrap();
            assert_eq!(header.frame(), bytes.len());
            assert_eq!(Control::read(header, &bytes[size..]), Some(frame));
        }
    }
}
