//! The measurements: each is a folder that turns a plan into a record.

pub mod environment;
pub mod host;
pub mod lab;
pub mod stack;
