//! Frames out.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::ring::{Consumer, Producer};
use super::{FRAME_BYTES, RingKind, Socket, XskError};

/// Frames that the kernel takes in one call by default.
const USUAL_BUDGET: u32 = 32;
/// XDP_MAX_TX_SKB_BUDGET, since Linux 6.17: frames that the kernel takes in one call.
const MAX_TX_SKB_BUDGET: i32 = 9;
/// How long the kernel may take none of the frames before that is an error. A device that
/// still works takes one within milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sends frames through one queue of a device, in the order in which they were pushed.
///
/// The kernel copies each into a packet that goes straight to the driver: past routing,
/// netfilter and the queueing discipline. What receives it sees a packet without checksum
/// offload, so the sums in the frame must be right.
pub struct XskSender {
    // In this order: the socket is closed last, after its rings are unmapped.
    transmit: Producer<libc::xdp_desc>,
    completion: Consumer<u64>,
    /// Where frames begin that the kernel does not have.
    free: Vec<u64>,
    refused: u64,
    budget: u32,
    socket: Socket,
}

impl XskSender {
    /// Opens a sender on a queue of a device of the calling thread's namespace, with
    /// `frames` frames, a power of two, that all begin with the bytes of `template` and
    /// are zero beyond. It can be used in any thread from then on.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, when there is no such device or queue or it is down, when
    /// another AF_XDP socket has the queue, or when `template` is longer than [`FRAME_BYTES`].
    pub fn open(ifindex: u32, queue: u32, frames: u32, template: &[u8]) -> Result<Self, XskError> {
        Self::try_open(ifindex, queue, frames, template).map_err(XskError::new(format!(
            "send by AF_XDP with {frames} frames through queue {queue} of device number {ifindex}"
        )))
    }

    fn try_open(ifindex: u32, queue: u32, frames: u32, template: &[u8]) -> io::Result<Self> {
        if template.len() > FRAME_BYTES {
            let why = format!("{} bytes are no frame; the largest has {FRAME_BYTES}", template.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut socket = Socket::create(frames)?;
        // No socket is bound without both rings of the memory, although none comes in here.
        socket.size(RingKind::Fill, 1)?;
        // Room for every frame: completing one can never fail for want of it.
        let completion = Consumer::new(socket.ring(RingKind::Completion, frames)?);
        let transmit = Producer::new(socket.ring(RingKind::Transmit, frames)?);
        socket.bind(ifindex, queue)?;
        for frame in socket.umem.frames() {
            socket.umem.slice_mut(frame, template.len()).copy_from_slice(template);
        }
        // From the end, so that the first frame is used first.
        let free = socket.umem.frames().collect::<Vec<_>>().into_iter().rev().collect();
        let mut sender = Self { transmit, completion, free, refused: 0, budget: USUAL_BUDGET, socket };
        // Every call then takes all frames: fewer calls. Older kernels refuse it, and so do newer ones
        // if the ring has fewer frames than one call takes anyway: no harm is done.
        let _ = sender.set_budget(frames);
        Ok(sender)
    }

    pub(super) fn set_budget(&mut self, frames: u32) -> io::Result<()> {
        self.socket.set_option(MAX_TX_SKB_BUDGET, frames)?;
        self.budget = frames;
        Ok(())
    }

    /// How many frames can be pushed now; takes back those that the device is done with.
    ///
    /// Frames that were flushed may come back a little later: when the driver, or whoever gets
    /// the packet next, lets go of it. Over a veth that is at once, unless its other end is
    /// steered to another processor (see [`crate::steer`]). So where there is too little, ask again.
    #[inline]
    pub fn room(&mut self) -> usize {
        while let Some(frame) = self.completion.read() {
            self.free.push(frame);
        }
        self.completion.release();
        self.free.len()
    }

    /// Writes a frame of `bytes`; it leaves with the next [`Self::flush`]. `fill` gets the
    /// template, or what an earlier `fill` made of it: it needs to write only what changes,
    /// and must write all that ever differs.
    ///
    /// # Panics
    /// Without [`Self::room`], or with more bytes than [`FRAME_BYTES`].
    #[inline]
    pub fn push(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(bytes <= FRAME_BYTES, "a frame of {bytes} bytes; the largest has {FRAME_BYTES}");
        let frame = self.free.pop().expect("a frame that is free: ask for `room` first");
        fill(self.socket.umem.slice_mut(frame, bytes));
        self.transmit.write(libc::xdp_desc { addr: frame, len: bytes as u32, options: 0 });
    }

    /// Makes the kernel send all that was pushed, and returns when it has taken it.
    ///
    /// # Errors
    /// Those of sendto(2), such as ENETDOWN; `TimedOut` when the device took nothing for a
    /// second. What it has not taken then goes out with the next flush.
    pub fn flush(&mut self) -> io::Result<()> {
        self.transmit.publish();
        let mut pending = self.transmit.pending();
        let mut stuck: Option<Instant> = None;
        while pending > 0 {
            // In copy mode the kernel never sends by itself: no flag needs to be asked.
            self.kick()?;
            let left = self.transmit.pending();
            if left < pending {
                stuck = None;
            } else if stuck.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                let why = format!("the device took none of {left} frames for {PATIENCE:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            } else {
                // Sent packets that are still under way fill the send buffer: let them go.
                thread::yield_now();
            }
            pending = left;
        }
        Ok(())
    }

    /// Lets the kernel take some frames. That it could not take all is no error.
    fn kick(&mut self) -> io::Result<()> {
        // Without payload: the kernel reads the ring alone.
        match send(&self.socket.fd, &[], SendFlags::DONTWAIT) {
            Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => Ok(()),
            // A packet that was taken, and that the device threw away (NET_XMIT_DROP).
            Err(Errno::BUSY) => {
                self.refused += 1;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Frames that the kernel took and the device refused at once, such as those that the
    /// other end of a veth has no room for: they count as sent, and never arrive.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Frames that the kernel takes in one system call.
    pub fn budget(&self) -> u32 {
        self.budget
    }
}
