//! A path between two hosts with a delay, a loss, a rate and a queue that are known: each host
//! has a TUN device, and a thread for each direction carries packets from one to the other.
//!
//! It needs nothing of the kernel but TUN: netem, which does this in the kernel, is not on
//! every one, and is a module that a container cannot load.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use netfathom_model::plan::Wire;
use netfathom_sys::clock::{monotonic_ns, wait_punctually};
use netfathom_sys::tun::{MOST_BYTES, Packets, Tun, TunError};
use parking_lot::Mutex;

use super::LabError;

mod line;

use line::{Fate, Line};

/// Packets that are read, at most, before it is looked whether all of this is to end.
const BATCH: usize = 64;

/// Why there is no lab over such a path.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("no lab: {0}")]
    Device(#[from] TunError),
    #[error("no lab: cannot start a thread that carries packets: {0}; raise ulimit -u or -n")]
    Thread(#[source] io::Error),
}

/// What became of the packets of one direction so far. A packet is counted when its fate is
/// decided: what is under way is in none of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounts {
    pub passed: u64,
    pub lost: u64,
    /// Found the queue full, or too much under way.
    pub dropped: u64,
    /// Not taken by the far host's device, such as while it is down.
    pub refused: u64,
}

/// Which packets the devices of such a path are to hand over. Where packets are lost or take
/// their time one by one, they must be as small as on a wire; elsewhere many segments at once
/// are several times as fast.
pub(crate) fn packets(wire: &Wire) -> Packets {
    let one_by_one = wire.loss_per_million > 0 || wire.rate_bits_per_s.is_some();
    if one_by_one { Packets::Single } else { Packets::Whole }
}

/// Carries packets between two devices until it is dropped.
pub(crate) struct Relay {
    counts: [Arc<Mutex<WireCounts>>; 2],
    threads: Vec<JoinHandle<()>>,
    /// Closed to end the threads: their waits notice it.
    run: Option<PipeWriter>,
}

impl Relay {
    /// Begins to carry packets; direction 0 is from the first device to the second.
    pub(crate) fn start(devices: [Tun; 2], wire: &Wire, seed: u64) -> io::Result<Self> {
        let (stop, run) = io::pipe()?;
        let [first, second] = devices.map(Arc::new);
        let mut relay = Self { counts: Default::default(), threads: Vec::new(), run: Some(run) };
        let ways = [(&first, &second, seed, "wire there"), (&second, &first, !seed, "wire back")];
        for ((from, to, seed, name), counts) in ways.into_iter().zip(relay.counts.clone()) {
            let way = WireThread {
                from: Arc::clone(from),
                to: Arc::clone(to),
                line: Line::new(wire, seed),
                counts,
                stop: stop.try_clone()?,
            };
            // A relay that has only one of its threads ends it by being dropped here.
            relay.threads.push(thread::Builder::new().name(name.into()).spawn(move || way.run())?);
        }
        Ok(relay)
    }

    /// What became of the packets of each direction.
    pub(crate) fn counts(&self) -> [WireCounts; 2] {
        self.counts.each_ref().map(|counts| *counts.lock())
    }
}

impl std::fmt::Debug for Relay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.run.take());
        // A thread is never longer away from its wait than a batch takes, as no call of it blocks.
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported it, and this has no caller to report to.
            let _ = thread.join();
        }
    }
}

struct WireThread {
    from: Arc<Tun>,
    to: Arc<Tun>,
    line: Line,
    counts: Arc<Mutex<WireCounts>>,
    stop: PipeReader,
}

impl WireThread {
    fn run(mut self) {
        wait_punctually();
        let mut buffer = vec![0; MOST_BYTES];
        // An error here is that a device was taken away: nothing is left to carry then.
        while let Ok(true) = self.from.wait(self.stop.as_fd(), self.line.next_due_ns()) {
            if self.carry(&mut buffer).is_err() {
                return;
            }
        }
    }

    /// Packets in and out alternately, until there is neither or a batch is done: what is due would
    /// otherwise wait for a whole batch to be read.
    fn carry(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut waits = true;
        for _ in 0..BATCH {
            waits = waits && self.take_in(buffer)?;
            let went = self.hand_over();
            if !waits && !went {
                break;
            }
        }
        Ok(())
    }

    /// Reads a packet from the near device, if one waits there.
    fn take_in(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let length = self.from.read(buffer)?;
        if length == 0 {
            return Ok(false);
        }
        let packet = &buffer[..length];
        // Read after the packet, for each anew: no packet may seem older than it is, as it
        // would arrive too early.
        match self.line.take(packet, monotonic_ns()) {
            Fate::AtOnce => self.write(packet),
            Fate::Held => {}
            Fate::Lost => self.counts.lock().lost += 1,
            Fate::Dropped => self.counts.lock().dropped += 1,
        }
        Ok(true)
    }

    /// Writes the next packet into the far device, if it is due.
    fn hand_over(&mut self) -> bool {
        let Some(packet) = self.line.due(monotonic_ns()) else { return false };
        self.write(&packet);
        true
    }

    fn write(&self, packet: &[u8]) {
        match self.to.write(packet) {
            Ok(()) => self.counts.lock().passed += 1,
            Err(_) => self.counts.lock().refused += 1,
        }
    }
}
