//! Tests of `netfathom-results` through its public interface, in one binary so that it is
//! linked once.

mod charts;
mod contract;
mod cost;
mod curves;
mod experiments;
mod extremes;
mod fixtures;
mod host;
mod hostile;
mod layers;
mod message;
#[path = "../browser/pictures.rs"]
mod pictures;
mod runs;
mod samples;
mod short;
mod store;
mod swapped;
mod terminal;
mod walk;
mod watch;
