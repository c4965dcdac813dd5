//! Tests of `netfathom-results` through its public interface, in one binary so that it is
//! linked once.

mod contract;
#[path = "../fixture/mod.rs"]
mod fixture;
mod host;
mod samples;
mod store;
mod terminal;

/// Says on standard error that a test could not run, and why: skipped is not passed.
/// Written past the capture of the test harness, which would hide it.
fn skip(test: &str, why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}
