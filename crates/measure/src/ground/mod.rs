//! Where a measurement takes place: hosts, devices, processors, the machine, and whoever watches.

pub mod environment;
pub mod error;
pub mod lab;
pub mod observer;
pub mod processors;
pub mod rig;
