//! The library over real sockets, and its protocol over any bytes.

mod bounds;
mod delivery;
mod ends;
mod fairness;
mod hostile;
mod posts;
mod property;
mod rig;
#[cfg(feature = "tokio")]
mod tasks;

#[path = "../fuzzed/mod.rs"]
mod fuzzed;
