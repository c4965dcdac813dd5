//! Where two ends meet that make their own connection, and what they cannot tell each other over it.

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::layer::End as Whose;

use super::error::EndError;

/// Looks at what the other end does.
const NAP: Duration = Duration::from_micros(50);

/// On a cache line of its own, and on that beside it, which processors fetch together: each end
/// counts in the midst of what is measured.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

/// Where two ends meet.
pub struct Rendezvous {
    /// The server's host, as the client sees it.
    host: IpAddr,
    server_at: OnceLock<SocketAddr>,
    server_has_ended: AtomicBool,
    cut: AtomicBool,
    received_by_client: Count,
    received_by_server: Count,
}

impl Rendezvous {
    /// At the server's host, whose port is not known yet.
    pub fn new(host: IpAddr) -> Self {
        Self {
            host,
            server_at: OnceLock::new(),
            server_has_ended: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            received_by_client: Count::default(),
            received_by_server: Count::default(),
        }
    }

    pub fn host(&self) -> IpAddr {
        self.host
    }

    pub fn server_is_at(&self, at: SocketAddr) {
        // There is one server, so it is set once.
        let _ = self.server_at.set(at);
    }

    /// Waits until the server listens; where.
    pub fn await_server(&self) -> Result<SocketAddr, EndError> {
        self.wait(|| self.server_at.get().is_some())?;
        self.server_at.get().copied().ok_or_else(cut)
    }

    /// An end has received so many messages.
    pub fn has_received(&self, whose: Whose, messages: u64) {
        self.received(whose).store(messages, Relaxed);
    }

    /// Waits until an end has received so many.
    pub fn await_received(&self, whose: Whose, messages: u64) -> Result<(), EndError> {
        self.wait(|| self.received(whose).load(Relaxed) >= messages)
    }

    fn received(&self, whose: Whose) -> &AtomicU64 {
        match whose {
            Whose::Client => &self.received_by_client.0,
            Whose::Server => &self.received_by_server.0,
        }
    }

    /// The server has heard that the client has finished.
    pub fn server_has_ended(&self) {
        self.server_has_ended.store(true, Release);
    }

    /// Waits until it has, at most so long; whether it has.
    pub fn await_server_end(&self, most: Duration) -> Result<bool, EndError> {
        let begin = Instant::now();
        let ended = || self.server_has_ended.load(Acquire);
        self.wait(|| ended() || begin.elapsed() > most)?;
        Ok(ended())
    }

    /// Ends whatever waits at either end, soon.
    pub fn cut(&self) {
        self.cut.store(true, Release);
    }

    /// Fails once the ends were cut.
    pub fn goes_on(&self) -> Result<(), EndError> {
        if self.cut.load(Acquire) { Err(cut()) } else { Ok(()) }
    }

    fn wait(&self, until: impl Fn() -> bool) -> Result<(), EndError> {
        while !until() {
            self.goes_on()?;
            thread::sleep(NAP);
        }
        Ok(())
    }
}

fn cut() -> EndError {
    EndError::Unexpected("it was cut: it took too long, or the other end has failed".into())
}
