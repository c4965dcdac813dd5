//! AF_XDP: whole frames, past the stack.

use netfathom_model::engine;
use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::xsk::{XskError, XskSender};

use super::{Engine, Handed};
use crate::load::frame::Frame;

/// Frames in memory that the kernel shares, a power of two: a few batches, so that the next
/// can be written while the last is on its way.
const FRAMES: u32 = 1024;
/// How long a device may keep all frames.
const PATIENCE_NS: u64 = 100_000_000;
/// No device answered in time (errno(3)).
const EIO: i32 = 5;

/// One kick of the socket a batch.
pub struct AfXdp {
    socket: XskSender,
    frame: Frame,
}

impl AfXdp {
    /// Through one queue of a device of the calling thread's namespace.
    pub fn open(ifindex: u32, queue: u32, frame: Frame) -> Result<Self, XskError> {
        Ok(Self { socket: XskSender::open(ifindex, queue, FRAMES, frame.bytes())?, frame })
    }

    /// Frames that can be written, once there is one; `None` if the device gives none back.
    fn room(&mut self) -> Option<usize> {
        let deadline_ns = monotonic_ns() + PATIENCE_NS;
        loop {
            match self.socket.room() {
                // A receiver on another processor gives frames back a moment later.
                0 if monotonic_ns() < deadline_ns => std::hint::spin_loop(),
                0 => return None,
                room => return Some(room),
            }
        }
    }
}

impl Engine for AfXdp {
    fn most(&self) -> usize {
        engine::Engine::AfXdp.batch()
    }

    #[inline]
    fn send(&mut self, batch: &mut [Header]) -> Handed {
        let Some(room) = self.room() else {
            let now_ns = monotonic_ns();
            batch.iter_mut().for_each(|header| header.sent_ns = now_ns);
            return Handed { accepted: 0, refused: batch.len(), errno: EIO };
        };
        let count = batch.len().min(room);
        let sent_ns = monotonic_ns();
        let bytes = self.frame.bytes().len();
        for header in &mut batch[..count] {
            header.sent_ns = sent_ns;
            self.socket.push(bytes, |frame| self.frame.fill(header, frame));
        }
        // What the kernel has not taken by now is published all the same, and leaves with the
        // next call; if it never does, it is missing at the far end.
        let _ = self.socket.flush();
        Handed::taken(count)
    }
}
