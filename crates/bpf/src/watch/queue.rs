//! Datagrams that wait in a socket, and since when no thread has read.

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::{MapCore, MapFlags};

use super::abi::copied::DatagramQueue;
use super::{SET, Watch};
use crate::mapping::from_bytes;
use crate::set::SetError;

/// What came into a socket of UDP and was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    pub messages: u64,
    /// When a thread read the last time, or the first of them came: the later of both, CLOCK_MONOTONIC.
    pub since_ns: u64,
}

impl Watch {
    /// `None` if all is read, and of a socket that is not followed.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn unread(&self, socket: &impl AsFd) -> Result<Option<Unread>, SetError> {
        let key = socket.as_fd().as_raw_fd().to_ne_bytes();
        let value = SET.map(&self.object, "datagrams")?.lookup(&key, MapFlags::ANY);
        let value = value.map_err(SET.step("ask"))?;
        let queue = value.and_then(|value| from_bytes(value.get(..size_of::<DatagramQueue>())?));
        Ok(queue.and_then(unread))
    }
}

/// Numbers go on beyond the largest. What came before the first was not seen.
fn unread(queue: DatagramQueue) -> Option<Unread> {
    let next = if queue.read.wrapping_sub(queue.first).cast_signed() > 0 { queue.read } else { queue.first };
    let messages = queue.came.wrapping_sub(next).cast_signed();
    let messages = u64::try_from(messages).ok().filter(|&messages| messages > 0)?;
    Some(Unread { messages, since_ns: queue.since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_the_first_and_was_not_read_waits() {
        let messages = |came, read, first| {
            let queue = DatagramQueue { came, read, first, unused: 0, since: 7 };
            unread(queue).map(|of| (of.messages, of.since_ns))
        };
        // Three waited before.
        assert_eq!(messages(1010, 997, 1000), Some((10, 7)));
        assert_eq!(messages(1010, 1004, 1000), Some((6, 7)));
        assert_eq!([messages(1010, 1010, 1000), messages(1010, 1011, 1000)], [None, None]);
        assert_eq!(messages(3, u32::MAX, u32::MAX - 1), Some((4, 7)));
    }
}
