//! Marks of real programs, threads and signals.
#![allow(unsafe_code)] // Signals and forks, which std does not have.

mod c;
mod processes;
mod python;
mod signals;
mod strangers;
mod threads;
mod turns;
mod usdt;
