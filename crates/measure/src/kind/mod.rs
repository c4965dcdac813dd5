//! The measurements, a folder each.

pub mod capacity;
pub mod cost;
pub mod host;
pub mod join;
pub mod load;
pub mod message;
pub mod reverse;
pub mod stack;
pub mod sweep;
pub mod transfer;
pub mod watch;
