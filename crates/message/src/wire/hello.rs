//! The first bytes each way: the version, and what the sender of them is ready to take.

use super::{WIDE_HEADER, WireError};

/// Bytes of a hello.
pub const HELLO: usize = 24;
/// The version of the protocol this library speaks.
pub const VERSION: u16 = 1;
const MAGIC: [u8; 4] = *b"NfMs";
/// No body may be longer than this, whatever is announced.
pub(crate) const LONGEST_BODY: u32 = 16 << 20;

/// What a side is ready to take. The other side obeys it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The newest version of the protocol it speaks. The older of both is spoken.
    pub version: u16,
    /// Channels 0 to this, exclusive. The smaller number of both counts.
    pub channels: u16,
    /// Longest message it takes, in bytes.
    pub max_message: u32,
    /// Longest piece of a post it takes, in bytes.
    pub max_chunk: u32,
    /// Bytes of messages, headers included, that may be on their way on each channel unasked for.
    pub window: u32,
}

impl Hello {
    /// The hello as bytes.
    pub fn encode(&self) -> [u8; HELLO] {
        let mut bytes = [0; HELLO];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&self.version.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.channels.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.max_message.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.max_chunk.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.window.to_le_bytes());
        bytes
    }

    /// Reads a hello; `None` while it is not whole.
    ///
    /// # Errors
    /// [`WireError`] as soon as it cannot become one: a stranger is refused at its first byte.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, WireError> {
        let strange = bytes.iter().zip(&MAGIC).position(|(found, wanted)| found != wanted);
        if let Some(at) = strange {
            return Err(WireError::NotThisProtocol { at, byte: bytes[at] });
        }
        let Some(bytes) = bytes.first_chunk::<HELLO>() else { return Ok(None) };
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(half(at)) | u32::from(half(at + 2)) << 16;
        if word(20) != 0 {
            return Err(WireError::BadHello { field: "reserved word", value: word(20) });
        }
        let hello = Self {
            version: half(4),
            channels: half(6),
            max_message: word(8),
            max_chunk: word(12),
            window: word(16),
        };
        hello.check().map(|()| Some(hello))
    }

    /// Whether the limits can be kept.
    ///
    /// # Errors
    /// [`WireError::Version`] and [`WireError::BadHello`].
    pub fn check(&self) -> Result<(), WireError> {
        let bad = |field, value| Err(WireError::BadHello { field, value });
        if self.version < VERSION {
            return Err(WireError::Version { theirs: self.version });
        }
        if self.channels == 0 {
            return bad("number of channels", 0);
        }
        if self.max_message == 0 || self.max_message > LONGEST_BODY {
            return bad("longest message", self.max_message);
        }
        if self.max_chunk == 0 || self.max_chunk > LONGEST_BODY {
            return bad("longest chunk", self.max_chunk);
        }
        // Credit comes back by half a window. Less than that is owed while all was taken, so a
        // longest message always leaves if it fits the other half.
        if self.window < 2 * (self.max_message + WIDE_HEADER as u32) || self.window > 1 << 30 {
            return bad("window", self.window);
        }
        Ok(())
    }

    /// The limits for what may be sent to the peer with the hello `theirs`.
    pub(crate) fn agreed(&self, theirs: &Self) -> Self {
        Self {
            version: self.version.min(theirs.version),
            channels: self.channels.min(theirs.channels),
            max_message: theirs.max_message,
            max_chunk: self.max_chunk.min(theirs.max_chunk),
            window: theirs.window,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Hello = Hello { version: 1, channels: 4, max_message: 100, max_chunk: 1000, window: 216 };

    #[test]
    fn a_hello_comes_back_and_a_cut_one_waits() {
        let bytes = HERE.encode();
        assert_eq!(Hello::decode(&bytes), Ok(Some(HERE)));
        for cut in 0..HELLO {
            assert_eq!(Hello::decode(&bytes[..cut]), Ok(None));
        }
    }

    #[test]
    fn a_stranger_is_refused_at_its_first_byte() {
        assert_eq!(Hello::decode(b"G"), Err(WireError::NotThisProtocol { at: 0, byte: b'G' }));
    }

    #[test]
    fn impossible_limits_are_named() {
        let refused = |hello: Hello| match Hello::decode(&hello.encode()) {
            Err(WireError::BadHello { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(Hello { channels: 0, ..HERE }), "number of channels");
        assert_eq!(refused(Hello { max_message: u32::MAX, ..HERE }), "longest message");
        assert_eq!(refused(Hello { max_chunk: 0, ..HERE }), "longest chunk");
        assert_eq!(refused(Hello { window: 215, ..HERE }), "window");
        let old = Hello { version: 0, ..HERE };
        assert_eq!(Hello::decode(&old.encode()), Err(WireError::Version { theirs: 0 }));
    }
}
