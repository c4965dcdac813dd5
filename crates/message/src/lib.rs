#![warn(missing_docs)]
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod blocking;
mod config;
mod connection;
mod error;
pub mod protocol;
pub mod strategy;
#[cfg(feature = "tokio")]
pub mod tasks;
pub mod transport;
pub mod wire;

pub use blocking::Blocking;
pub use bytes::Bytes;
pub use config::Config;
pub use connection::{Arrival, Connection, PostCallback, Wait};
pub use error::Error;
pub use protocol::{Limits, PostEnd, Received};
