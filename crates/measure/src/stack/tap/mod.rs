//! The two ends of a tap that run in the sender's and in the reader's thread. `()` is the
//! tap of a control trial: nothing.

use std::io;
use std::net::UdpSocket;

use netfathom_model::message::Header;
use netfathom_model::path::Stage;
use netfathom_stats::Windowed;

pub mod bpf;
pub mod departed;
pub mod pcap;
pub mod timestamping;

/// Three digits, for what a run is about: stack time and lag.
pub const GRAIN: u32 = 10;
/// Buckets of at most 0.8 %, for its parts: they are many, and each goes into the record.
pub const PART_GRAIN: u32 = 7;

/// Stack times of one direction of one trial, as a tap collects them.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Application to link layer or back.
    pub total: Windowed,
    /// The stages that the tap saw.
    pub stages: Vec<(Stage, Windowed)>,
    /// Messages whose stack time could not be cut into stages.
    pub unstaged: u64,
}

impl Collected {
    /// Empty, with room for the stages.
    #[must_use]
    pub fn new(stages: &[Stage], windows: usize) -> Self {
        let part = |&stage| (stage, Windowed::new(PART_GRAIN, windows));
        Self { total: Windowed::new(GRAIN, windows), stages: stages.iter().map(part).collect(), unstaged: 0 }
    }

    /// Adds what another tap of the same stages collected.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.stages.iter_mut().zip(&other.stages).for_each(|(a, b)| a.1.merge(&b.1));
        self.unstaged += other.unstaged;
    }
}

/// The sender's end.
pub trait SendTap {
    /// A message was handed to the operating system, which accepted or refused it.
    fn sent(&mut self, header: &Header, accepted: bool);
    /// The last one was.
    fn finish(&mut self);
}

/// The reader's end.
pub trait ReceiveTap {
    /// The reader's thread is about to begin.
    fn begin(&mut self, _: &UdpSocket) {}
    /// Receives the next message; blocks as the socket does.
    ///
    /// # Errors
    /// Those of recv(2).
    fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize>;
    /// What was received was a new message of this trial, and is with the application.
    fn delivered(&mut self, header: &Header, received_ns: u64);
    /// A message before this one has not come.
    fn skipped(&mut self, sequence: u64);
}

impl SendTap for () {
    #[inline]
    fn sent(&mut self, _: &Header, _: bool) {}
    fn finish(&mut self) {}
}

impl ReceiveTap for () {
    #[inline]
    fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
        socket.recv(buffer)
    }
    #[inline]
    fn delivered(&mut self, _: &Header, _: u64) {}
    fn skipped(&mut self, _: u64) {}
}
