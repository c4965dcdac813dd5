//! The measurements: each turns a plan into a record.
//!
//! Layers, from the lowest up; none knows those above it: `ground` is where a measurement takes place, `load` sends and
//! receives, `tap` takes the times of the link layer, `kind` has a folder for each measurement.

pub mod ground;
pub mod kind;
pub mod load;
pub mod tap;
