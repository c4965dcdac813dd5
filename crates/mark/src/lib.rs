#![warn(missing_docs)]
#![doc = include_str!("../README.md")]
// Marks are made in shared memory and in signal handlers, where std has no way. Each block says
// why it is sound.
#![allow(unsafe_code)]

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod layout;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub mod listen;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod os;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod process;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod ring;
#[cfg(all(feature = "usdt", target_os = "linux", target_pointer_width = "64"))]
mod usdt;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
#[path = "unsupported.rs"]
mod process;

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod abi;

/// What this process's ring has recorded and lost so far. All processes that share it count. Nothing where there is no
/// Linux of 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether somebody listens now.
    pub listened: bool,
    /// Marks in the ring since it was made, and slots passed over as who wrote into them was killed.
    pub recorded: u64,
    /// Marks for which there was no room, or no ring yet. Marks without a listener are not lost.
    pub lost: u64,
}

/// Says that the program is here, now. Recorded if somebody listens.
///
/// Of a name at most 38 bytes are kept, and the listener sees that it was cut. It may be called in
/// any thread and in a signal handler, takes no lock, allocates nothing and never waits.
#[inline]
pub fn mark(name: &str) {
    probe(name);
    process::mark(name, now_ns);
}

/// Says that the program was here at a time that it took itself: CLOCK_MONOTONIC, in nanoseconds.
#[inline]
pub fn mark_at(name: &str, at_ns: u64) {
    probe(name);
    process::mark(name, || at_ns);
}

/// What became of the marks so far.
#[must_use]
pub fn status() -> Status {
    process::status()
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
use os::monotonic_ns as now_ns;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn now_ns() -> u64 {
    0
}

#[cfg(all(feature = "usdt", target_os = "linux", target_pointer_width = "64"))]
use usdt::probe;

#[cfg(not(all(feature = "usdt", target_os = "linux", target_pointer_width = "64")))]
#[inline(always)]
fn probe(_: &str) {}
