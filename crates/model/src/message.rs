//! What a message carries: who it is and when it left. Big-endian, at the start of the
//! UDP payload, read by the receiver, the kernel programs and any capture alike.
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! | 0 | 4 | magic `nfth` |
//! | 4 | 4 | flow: drawn anew for each trial, so that strays of an older one are foreign |
//! | 8 | 8 | sequence, from 0 |
//! | 16 | 8 | intended departure, CLOCK_MONOTONIC ns |
//! | 24 | 8 | application time: the clock just before the send call, CLOCK_MONOTONIC ns |

/// Bytes that the fields take; the smallest message.
pub const HEADER_BYTES: usize = 32;
/// The first four bytes of every message, `nfth`.
pub const MAGIC: u32 = 0x6e66_7468;

/// The fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which trial it belongs to.
    pub flow: u32,
    /// Its number within the trial.
    pub sequence: u64,
    /// When it should have left.
    pub intended_ns: u64,
    /// When the application handed it to the operating system.
    pub sent_ns: u64,
}

impl Header {
    /// Writes the header to the start of a payload of at least [`HEADER_BYTES`].
    ///
    /// # Panics
    /// If the payload is shorter.
    #[inline]
    pub fn write(&self, payload: &mut [u8]) {
        payload[0..4].copy_from_slice(&MAGIC.to_be_bytes());
        payload[4..8].copy_from_slice(&self.flow.to_be_bytes());
        payload[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        payload[16..24].copy_from_slice(&self.intended_ns.to_be_bytes());
        payload[24..32].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Reads the header; `None` of a payload that is too short or not ours.
    #[inline]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let head = payload.first_chunk::<HEADER_BYTES>()?;
        let u32_at = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) << 32 | u64::from(u32_at(at + 4));
        (u32_at(0) == MAGIC).then(|| Self {
            flow: u32_at(4),
            sequence: u64_at(8),
            intended_ns: u64_at(16),
            sent_ns: u64_at(24),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_and_truncated_payloads_are_none() {
        let mut payload = [0; HEADER_BYTES];
        assert_eq!(Header::read(&payload), None);
        Header { flow: 1, sequence: 2, intended_ns: 3, sent_ns: 4 }.write(&mut payload);
        assert_eq!(Header::read(&payload[..HEADER_BYTES - 1]), None);
    }

    proptest! {
        #[test]
        fn reads_what_it_wrote(flow: u32, sequence: u64, intended_ns: u64, sent_ns: u64) {
            let header = Header { flow, sequence, intended_ns, sent_ns };
            let mut payload = [0; 64];
            header.write(&mut payload);
            prop_assert_eq!(Header::read(&payload), Some(header));
        }
    }
}
