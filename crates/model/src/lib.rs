//! The words of netfathom: what is to be measured, and what was.
//!
//! A [`plan`] goes into a measurement and a [`record`] comes out of it; the other modules
//! are the words both are made of. No I/O, no unsafe.
//!
//! Times are nanoseconds, rates are messages a second, sizes are bytes; a name carries its
//! unit.

#![warn(missing_docs)]

#[macro_use]
mod named;

pub mod accounting;
pub mod engine;
pub mod environment;
pub mod grouping;
pub mod host;
pub mod layer;
pub mod message;
pub mod path;
pub mod plan;
pub mod print;
pub mod profile;
pub mod random;
pub mod record;
pub mod sample;
pub mod units;
pub mod verdict;
