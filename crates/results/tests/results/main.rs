//! Tests of `netfathom-results` through its public interface, in one binary so that it is
//! linked once.

mod contract;
#[path = "../fixture/mod.rs"]
mod fixture;
