//! What this side is ready to take and to keep.

use crate::wire::{Hello, VERSION};

/// The bounds of a connection, of this side.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Channels, 1 to 65535. The smaller number of both sides counts.
    pub channels: u16,
    /// Longest message taken, in bytes, up to 16 MiB.
    pub max_message: u32,
    /// Bytes of a post in one piece, up to 16 MiB: what a message may have to wait for. The smaller
    /// of both sides counts.
    pub chunk: u32,
    /// Bytes of messages, with their headers, that the peer may send on each channel before the
    /// application takes some. Bounds the memory of a channel that the application does not read.
    pub window: u32,
    /// Bytes of messages that may wait to be written.
    pub send_queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { channels: 16, max_message: 64 << 10, chunk: 64 << 10, window: 4 << 20, send_queue: 1 << 20 }
    }
}

impl Limits {
    /// The hello that announces them to the peer.
    pub fn hello(&self) -> Hello {
        Hello {
            version: VERSION,
            channels: self.channels,
            max_message: self.max_message,
            max_chunk: self.chunk,
            window: self.window,
        }
    }
}
