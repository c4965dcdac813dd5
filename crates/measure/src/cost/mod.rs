//! `netfathom cost`: what a program takes from the rest of the machine.

mod blocks;
mod conditions;
pub mod error;
mod load;
#[cfg(test)]
mod made_up;
mod order;
pub mod program;
mod sequences;
mod summary;

pub use sequences::{SequencesError, read as sequences};
