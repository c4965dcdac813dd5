//! Frames in.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt::xdp_statistics;

use super::ring::{Consumer, Producer};
use super::{RingKind, Socket, XskError};
use crate::call::poll;

/// Receives the frames that an XDP program redirects to this socket: one that was put into
/// the program's XSKMAP, by its descriptor, under the number of the queue.
pub struct XskReceiver {
    // In this order: the socket is closed last, after its rings are unmapped.
    receive: Consumer<libc::xdp_desc>,
    fill: Producer<u64>,
    socket: Socket,
}

impl XskReceiver {
    /// Opens a receiver on a queue of a device of the calling thread's namespace, with room
    /// for `frames` frames, a power of two. It can be used in any thread from then on.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, when there is no such device or queue or it is down, or when
    /// another AF_XDP socket has the queue.
    pub fn open(ifindex: u32, queue: u32, frames: u32) -> Result<Self, XskError> {
        Self::try_open(ifindex, queue, frames).map_err(XskError::new(format!(
            "receive by AF_XDP with {frames} frames from queue {queue} of device number {ifindex}"
        )))
    }

    fn try_open(ifindex: u32, queue: u32, frames: u32) -> io::Result<Self> {
        let socket = Socket::create(frames)?;
        // Twice the frames: the kernel shows us a frame before it takes the frame's place out of
        // this ring (xsk_flush, 6.18), which must not look full then.
        let mut fill = Producer::new(socket.ring(RingKind::Fill, 2 * frames)?);
        // No socket is bound without both rings of the memory, although none goes out here.
        socket.size(RingKind::Completion, 1)?;
        // As many entries as frames: this ring can be full only when no frame is left.
        let receive = Consumer::new(socket.ring(RingKind::Receive, frames)?);
        socket.umem.frames().for_each(|frame| fill.write(frame));
        fill.publish();
        socket.bind(ifindex, queue)?;
        Ok(Self { receive, fill, socket })
    }

    /// Hands every frame that is there to `each`, link-layer header included, and returns
    /// how many; waits for the first one for `timeout` at most, and returns 0 after that.
    ///
    /// # Errors
    /// Those of poll(2): `Interrupted` by a signal, so that the caller can look whether it
    /// is to end.
    pub fn receive(&mut self, timeout: Duration, mut each: impl FnMut(&[u8])) -> io::Result<usize> {
        match self.drain(&mut each) {
            0 => {
                self.wait(timeout)?;
                Ok(self.drain(&mut each))
            }
            frames => Ok(frames),
        }
    }

    /// As [`Self::receive`] without waiting, and without a system call.
    pub fn drain(&mut self, mut each: impl FnMut(&[u8])) -> usize {
        let mut frames = 0;
        while let Some(entry) = self.receive.read() {
            each(self.socket.umem.slice(entry.addr, entry.len as usize));
            // The kernel masks the address: it may lie behind the headroom of its frame.
            self.fill.write(entry.addr);
            frames += 1;
        }
        if frames > 0 {
            self.receive.release();
            self.fill.publish();
        }
        frames
    }

    fn wait(&self, timeout: Duration) -> io::Result<()> {
        let mut one = [PollFd::new(&self.socket.fd, PollFlags::IN)];
        poll(&mut one, Some(timeout))?;
        if one[0].revents().contains(PollFlags::ERR) {
            return Err(io::Error::from_raw_os_error(libc::ENETDOWN));
        }
        Ok(())
    }

    /// Frames that were redirected to this socket and that it had no room for, since it was
    /// opened.
    pub fn dropped(&self) -> io::Result<u64> {
        let counted = xdp_statistics(&self.socket.fd)?;
        // Without a frame to put it into the kernel counts a packet as dropped, and the want
        // of a frame again beside it: only the former is a packet.
        Ok(counted.rx_dropped + counted.rx_ring_full.unwrap_or(0))
    }
}

impl AsFd for XskReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.fd.as_fd()
    }
}
