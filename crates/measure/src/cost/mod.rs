//! What a program takes from a benchmark that runs beside it.

pub mod watch;
