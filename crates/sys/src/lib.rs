//! System calls. Unsafe code is here; `bpf` has that of kernel programs, `mark` its own, since it depends on nothing.
//!
//! Every unsafe block carries the reason why it is sound; all other crates are safe Rust.
#![allow(unsafe_code)]

#[macro_use]
mod refusal;

mod call;
pub mod capability;
pub mod child;
pub mod clock;
pub mod confinement;
pub mod counters;
pub mod cpu;
pub mod device;
pub mod directory;
pub mod endpoint;
pub mod file;
pub mod guest;
pub mod interrupt;
#[cfg(test)]
mod lab;
pub mod limits;
pub mod link;
pub mod memory;
pub mod netfilter;
pub mod netns;
pub mod notify;
pub mod offload;
pub mod packet_ring;
pub mod page_cache;
pub mod perf_event;
pub mod pressure;
pub mod probe;
pub mod process;
pub mod random;
pub mod route;
mod rtnetlink;
pub mod socket;
pub mod splice;
pub mod stdio;
pub mod steer;
pub mod sysfs;
pub mod tcp_info;
pub mod tun;
pub mod xsk;
pub mod zero_copy;
