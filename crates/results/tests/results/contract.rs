//! What is on disk is a contract: the fixture of schema version 1.

use std::path::PathBuf;

use netfathom_model::record::{Measurement, Record, TrialKind};
use netfathom_results::{schema, store};

use crate::fixture;

/// A file of this crate.
pub fn file(path: &str) -> PathBuf {
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

/// The fixture, read as any record is.
pub fn stack_fixture() -> Record {
    store::read(&file("tests/fixtures/stack.json")).expect("the fixture")
}

#[test]
fn schema_version_1_is_readable() {
    let record = stack_fixture();
    let Measurement::Stack(result) = &record.measurement;
    let count = |kind| result.trials.iter().filter(|t| t.kind == kind).count();
    assert_eq!(record.schema_version, 1);
    assert_eq!((count(TrialKind::Measured), count(TrialKind::Control), count(TrialKind::Witness)), (3, 2, 1));
    assert!(result.trials.iter().all(|t| t.accounting.gap() == 0));
}

#[test]
fn reading_and_writing_changes_nothing() {
    let text = std::fs::read_to_string(file("tests/fixtures/stack.json")).expect("the fixture");
    let again = serde_json::to_string(&stack_fixture()).expect("a record as JSON");
    assert!(again == text.trim_end(), "the fixture does not survive a round trip");
}

#[test]
fn the_schema_that_is_checked_in_is_the_one_of_this_build() {
    let path = file("schema/record-v1.schema.json");
    let generated = serde_json::to_string_pretty(&schema()).expect("a schema as JSON") + "\n";
    if blessing("1") {
        std::fs::write(&path, &generated).expect("write the schema");
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == generated,
        "{} is out of date: look at what changed, raise SCHEMA_VERSION if a field changed its meaning or \
         went, and run the test again with NETFATHOM_BLESS=1",
        path.display()
    );
}

#[test]
fn the_fixture_is_valid_under_the_schema() {
    let text = std::fs::read_to_string(file("tests/fixtures/stack.json")).expect("the fixture");
    let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&record).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    record["measurement"]["trials"][0]["load"]["sent"] = "many".into();
    assert!(!validator.is_valid(&record), "the schema lets everything through");
}
