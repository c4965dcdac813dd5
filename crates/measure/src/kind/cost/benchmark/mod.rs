//! Benchmarks with marks for `netfathom cost`: programs with a progress that can be observed from outside.

pub mod archive;
pub mod tree;
