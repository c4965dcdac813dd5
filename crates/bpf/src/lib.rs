//! Kernel programs and their loading: one folder a program set, with `NAME.bpf.c`, the
//! `abi.h` that both sides know, and the Rust that loads it.
//!
//! By command: `stack` has the sets `stack` (the bpf tap) and `delay`, with `contention` for who had the CPUs, as `load`,
//! `capacity`, `reverse`, `message` and `ttcp --explain` do. `watch` has `watch`, `message` has `message` and `calls`, `cost`
//! has `tree`, `ttcp --cost` has `softirq`. `generator` and `sink` are the engine and the receiver `xdp`, `probe` is for
//! `netfathom host`.
//!
//! What a kernel may lack: `tracepoint` and `function` find out before programs are loaded, `load` names it once the kernel
//! refused them.
#![allow(unsafe_code)]

pub mod calls;
pub mod contention;
pub mod delay;
mod drop_reason;
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
mod time_namespace;
pub mod tracepoint;
pub mod tree;
pub mod watch;
pub mod xdp;

pub use load::{Cause, Refusal};
pub use set::SetError;
