//! Many hosts, one measurement: agents take plans over NATS, measure, and answer; a controller plans, merges and judges.
//!
//! NATS carries plans and results. When a load starts, it starts by the hosts' own clocks, which `clock` has compared
//! by datagrams between the hosts themselves.

pub mod access;
pub mod agent;
mod clock;
pub mod controller;
mod effect;
mod error;
mod schedule;
pub mod wire;

pub use error::FleetError;
