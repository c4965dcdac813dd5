//! Messages that came while the application asked for another channel's.

use std::ops::Range;

/// Messages of one channel, in order, in one piece of memory. Their number of bytes is bounded by
/// the channel's window, which counts headers of as many bytes as are kept here.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
}

const PREFIX: usize = 4;

impl Inbox {
    pub fn put(&mut self, body: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(body);
    }

    /// Takes the first message; it lies where it is until the next one is put in.
    pub fn take(&mut self) -> Option<Range<usize>> {
        let prefix: [u8; PREFIX] = *self.bytes.get(self.start..)?.first_chunk()?;
        let from = self.start + PREFIX;
        self.start = from + u32::from_le_bytes(prefix) as usize;
        Some(from..self.start)
    }

    pub fn at(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Bytes of memory it holds.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_in_order_and_memory_is_used_again() {
        let mut inbox = Inbox::default();
        inbox.put(b"");
        for number in 0..10_000_u32 {
            inbox.put(&number.to_le_bytes());
            let range = inbox.take().unwrap();
            let expected = number.checked_sub(1).map(|n| n.to_le_bytes().to_vec()).unwrap_or_default();
            assert_eq!(inbox.at(range), expected);
        }
        assert!(inbox.memory() < 256, "{} bytes for one message", inbox.memory());
    }
}
