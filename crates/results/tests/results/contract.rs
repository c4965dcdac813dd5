//! What is on disk is a contract: the fixture of schema version 1.

use std::path::PathBuf;

use crate::fixture;

/// A file of this crate.
fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn blessing(what: &str) -> bool {
    std::env::var("NETFATHOM_BLESS").is_ok_and(|v| v == what)
}

#[test]
fn the_fixture_is_written_only_when_blessed() {
    if blessing("fixture") {
        let mut json = serde_json::to_string(&fixture::stack()).expect("a record as JSON");
        json.push('\n');
        std::fs::write(file("tests/fixtures/stack.json"), json).expect("write the fixture");
    }
}
