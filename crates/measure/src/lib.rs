//! The measurements: each is a folder that turns a plan into a record.

pub mod accounting;
pub mod capacity;
pub mod capture;
pub mod cost;
pub mod environment;
pub mod error;
pub mod host;
pub mod join;
mod judge;
pub mod lab;
pub mod lab_setup;
pub mod load;
pub mod message;
pub mod message_log;
pub mod observer;
pub mod reproduce;
pub mod reverse;
pub mod rig;
pub mod stack;
pub mod sweep;
pub mod transfer;
pub mod wire;
