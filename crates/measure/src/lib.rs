//! The measurements: each is a folder that turns a plan into a record.

pub mod accounting;
pub mod capacity;
pub mod environment;
pub mod error;
pub mod host;
mod judge;
pub mod lab;
pub mod load;
pub mod observer;
pub mod reverse;
pub mod rig;
pub mod stack;
