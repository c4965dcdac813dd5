//! Messages are held against what their benchmark did not make up: the system calls and segments
//! that each way of sending must take, the kernel's own counts, stalls that Linux makes by rule.

mod bench;
mod driver;
mod kernel;
mod layers;
mod path;
mod rates;
mod stalls;
