//! Benchmarks with marks for `netfathom cost`: programs whose way through their work can be seen
//! from outside.

pub mod archive;
pub mod tree;
