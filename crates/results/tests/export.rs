//! What `netfathom_results::export` writes, read by programs that are not netfathom's.

#[path = "export/exposition.rs"]
mod exposition;
#[path = "results/fixtures.rs"]
mod fixtures;
#[path = "export/formats.rs"]
mod formats;
#[path = "export/package.rs"]
mod package;
#[path = "export/readers.rs"]
mod readers;
#[path = "export/refusals.rs"]
mod refusals;
#[path = "export/runs.rs"]
mod runs;
#[path = "export/tables.rs"]
mod tables;
#[path = "export/traces.rs"]
mod traces;
