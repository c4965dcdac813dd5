//! Kernel programs and their loading: one folder a program set, with `NAME.bpf.c`, the
//! `abi.h` that both sides know, and the Rust that loads it.
#![allow(unsafe_code)]

pub mod calls;
pub mod contention;
pub mod delay;
mod function;
pub mod generator;
mod holders;
#[cfg(test)]
mod lab;
mod libbpf_log;
mod load;
mod mapping;
pub mod message;
mod pid_namespace;
pub mod probe;
pub mod run_time;
mod set;
pub mod sink;
pub mod softirq;
pub mod stack;
mod sums;
mod tcx;
pub mod tracepoint;
pub mod tree;
pub mod watch;
pub mod xdp;

pub use load::{Cause, Refusal};
pub use set::SetError;
