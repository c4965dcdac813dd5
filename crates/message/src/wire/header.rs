//! The header of a frame.

use super::WireError;

/// Bytes of a header of a channel below 256 and a body below 64 KiB.
pub const SHORT_HEADER: usize = 4;
/// Bytes of any other header.
pub const WIDE_HEADER: usize = 8;
const WIDE: u8 = 0x80;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// One message, whole.
    Message = 0,
    /// A piece of a post which goes on.
    Chunk = 1,
    /// The last piece of a post.
    LastChunk = 2,
    /// More bytes of messages may be sent on the channel: u32.
    Credit = 3,
    /// A buffer waits for a post on the channel; its capacity: u64.
    Grant = 4,
    /// Is anybody there?
    Ping = 5,
    /// Yes.
    Pong = 6,
    /// No message and no post comes after this.
    Close = 7,
    /// All up to the peer's close has been read.
    CloseAck = 8,
    /// The connection ends here, for a reason: u32.
    Abort = 9,
}

impl Kind {
    fn of(number: u8) -> Result<Self, WireError> {
        Ok(match number {
            0 => Self::Message,
            1 => Self::Chunk,
            2 => Self::LastChunk,
            3 => Self::Credit,
            4 => Self::Grant,
            5 => Self::Ping,
            6 => Self::Pong,
            7 => Self::Close,
            8 => Self::CloseAck,
            9 => Self::Abort,
            kind => return Err(WireError::UnknownKind { kind }),
        })
    }

    /// Bytes of the body of a control frame; `None` of a message and a chunk, which have any.
    pub fn body(self) -> Option<u32> {
        match self {
            Self::Message | Self::Chunk | Self::LastChunk => None,
            Self::Ping | Self::Pong | Self::Close | Self::CloseAck => Some(0),
            Self::Credit | Self::Abort => Some(4),
            Self::Grant => Some(8),
        }
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the frame carries.
    pub kind: Kind,
    /// The channel it belongs to; 0 in frames of the connection itself.
    pub channel: u16,
    /// Bytes of body that follow.
    pub length: u32,
}

impl Header {
    /// Bytes this header takes.
    #[inline]
    pub fn size(&self) -> usize {
        if self.channel < 256 && self.length < 65_536 { SHORT_HEADER } else { WIDE_HEADER }
    }

    /// Bytes of header and body.
    #[inline]
    pub fn frame(&self) -> usize {
        self.size() + self.length as usize
    }

    /// Appends the header.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        if self.size() == SHORT_HEADER {
            let word = self.kind as u32 | u32::from(self.channel) << 8 | self.length << 16;
            out.extend_from_slice(&word.to_le_bytes());
        } else {
            let word = u64::from(self.kind as u8 | WIDE)
                | u64::from(self.channel) << 16
                | u64::from(self.length) << 32;
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads a header and its size from the front of `bytes`; `None` while they are too few.
    ///
    /// # Errors
    /// [`WireError`] as soon as the first bytes cannot become a header.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, WireError> {
        let Some(&first) = bytes.first() else { return Ok(None) };
        let kind = Kind::of(first & 0x0f)?;
        if first & 0x70 != 0 {
            return Err(WireError::Reserved { byte: first });
        }
        let read = if first & WIDE == 0 { Self::short(kind, bytes) } else { Self::wide(kind, bytes)? };
        let Some((header, size)) = read else { return Ok(None) };
        match kind.body() {
            Some(body) if body != header.length => {
                Err(WireError::ControlLength { kind, length: header.length })
            }
            _ => Ok(Some((header, size))),
        }
    }

    #[inline]
    fn short(kind: Kind, bytes: &[u8]) -> Option<(Self, usize)> {
        let word: &[u8; SHORT_HEADER] = bytes.first_chunk()?;
        let length = u32::from(u16::from_le_bytes([word[2], word[3]]));
        Some((Self { kind, channel: u16::from(word[1]), length }, SHORT_HEADER))
    }

    fn wide(kind: Kind, bytes: &[u8]) -> Result<Option<(Self, usize)>, WireError> {
        if let Some(&byte) = bytes.get(1).filter(|byte| **byte != 0) {
            return Err(WireError::Reserved { byte });
        }
        let Some(word) = bytes.first_chunk::<WIDE_HEADER>() else { return Ok(None) };
        let channel = u16::from_le_bytes([word[2], word[3]]);
        let length = u32::from_le_bytes([word[4], word[5], word[6], word[7]]);
        Ok(Some((Self { kind, channel, length }, WIDE_HEADER)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_in_their_shortest_form() {
        for (channel, length, size) in [(0, 0, 4), (255, 65_535, 4), (256, 0, 8), (0, 65_536, 8)] {
            let header = Header { kind: Kind::Message, channel, length };
            let mut bytes = Vec::new();
            header.put(&mut bytes);
            assert_eq!(bytes.len(), size);
            assert_eq!(Header::read(&bytes), Ok(Some((header, size))));
            for cut in 0..size {
                assert_eq!(Header::read(&bytes[..cut]), Ok(None), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_no_header_is_named() {
        assert_eq!(Header::read(&[15]), Err(WireError::UnknownKind { kind: 15 }));
        assert_eq!(Header::read(&[0x10]), Err(WireError::Reserved { byte: 0x10 }));
        assert_eq!(Header::read(&[0x80, 7]), Err(WireError::Reserved { byte: 7 }));
        let ping = Header::read(&[Kind::Ping as u8, 0, 1, 0]);
        assert_eq!(ping, Err(WireError::ControlLength { kind: Kind::Ping, length: 1 }));
    }
}
