//! A TCP transport that counts its system calls.

use std::{
    io,
    net::TcpStream,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use netfathom_message::transport::{Ready, Tcp, Transport};

#[derive(Debug, Default)]
struct Counts {
    units: AtomicU64,
    writes: AtomicU64,
    reads: AtomicU64,
    waits: AtomicU64,
}

/// The calls of both ends, and what they were made for.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Counts>);

impl Calls {
    pub fn transport(&self, stream: TcpStream) -> Counted {
        Counted(Tcp::new(stream).expect("a socket"), self.clone())
    }

    /// Adds to the number of messages, trips or posts.
    pub fn units(&self, count: u64) {
        self.0.units.fetch_add(count, Relaxed);
    }

    pub fn writes_a_unit(&self) -> f64 {
        self.0.writes.load(Relaxed) as f64 / self.0.units.load(Relaxed) as f64
    }

    pub fn show(&self) -> String {
        let units = self.0.units.load(Relaxed) as f64;
        let each = |calls: &AtomicU64| calls.load(Relaxed) as f64 / units;
        let counts = &self.0;
        format!(
            "calls: {:.3} write {:.3} read {:.3} poll",
            each(&counts.writes),
            each(&counts.reads),
            each(&counts.waits)
        )
    }
}

#[derive(Debug)]
pub struct Counted(Tcp, Calls);

impl AsFd for Counted {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transport for Counted {
    fn send(&self, parts: &[&[u8]]) -> io::Result<usize> {
        self.1.0.writes.fetch_add(1, Relaxed);
        self.0.send(parts)
    }

    fn recv(&self, parts: [&mut [u8]; 3], block: bool) -> io::Result<usize> {
        self.1.0.reads.fetch_add(1, Relaxed);
        self.0.recv(parts, block)
    }

    fn wait(&self, read: bool, write: bool, limit: Option<Duration>) -> io::Result<Ready> {
        self.1.0.waits.fetch_add(1, Relaxed);
        self.0.wait(read, write, limit)
    }

    fn expect_bulk(&self, unsent: usize) {
        self.0.expect_bulk(unsent);
    }
}
