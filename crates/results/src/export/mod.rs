//! Results in formats that other programs read.

pub mod pcapng;
