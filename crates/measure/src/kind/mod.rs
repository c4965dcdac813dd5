//! The measurements, a folder each, by their names in records. Two commands have other names: `transfer` is
//! `netfathom ttcp`, `sweep` is `netfathom ttcp sweep`.

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
