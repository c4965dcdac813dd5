//! System calls: the only user-space unsafe of netfathom.
//!
//! Every unsafe block carries the reason why it is sound; everything above this crate is
//! safe Rust.
#![allow(unsafe_code)]

pub mod capability;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod link;
pub mod netns;
pub mod probe;
pub mod socket;
