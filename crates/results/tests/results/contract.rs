//! What is on disk is a contract: the fixtures of schema version 1.

use std::path::PathBuf;

use netfathom_model::record::{Measurement, Record, TrialKind};
use netfathom_results::{draw, schema, store, story};
use serde_json::Value;

use crate::fixtures::{ALL, fixture, path};

/// A record as a terminal shows it.
pub fn render(record: &Record, width: usize, color: bool) -> String {
    draw::terminal(&story::of(record), width, color)
}

pub fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The text of a page that fits, and steers no terminal.
pub fn sane(record: &Record) -> String {
    let text = render(record, 80, false);
    let wide: Vec<&str> = text.lines().filter(|l| l.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf/s"), "{text}");
    text
}

/// As one line, so that it may be looked into wherever it was wrapped.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The answer of the short view.
pub fn first_line(record: &Record) -> String {
    draw::short(&story::of(record), 200, false).lines().next().unwrap().to_owned()
}

pub fn stack_fixture() -> Record {
    fixture("stack")
}

#[test]
fn schema_version_1_is_readable() {
    let record = stack_fixture();
    let Measurement::Stack(result) = &record.measurement else {
        panic!("the fixture is of another measurement")
    };
    let count = |kind| result.trials.iter().filter(|t| t.kind == kind).count();
    assert_eq!(record.schema_version, 1);
    assert_eq!(
        (count(TrialKind::Measured), count(TrialKind::Baseline), count(TrialKind::CrossCheck)),
        (3, 2, 1)
    );
    assert!(result.trials.iter().all(|t| t.accounting.gap() == 0));
}

/// Every field that was written is there again; fields that came later may stand beside it.
#[test]
fn reading_and_writing_loses_nothing() {
    for name in ALL {
        let old: Value =
            serde_json::from_slice(&std::fs::read(path(name)).expect("the fixture")).expect("JSON");
        let new = serde_json::to_value(fixture(name)).expect("a record as JSON");
        assert_eq!(lost("", &old, &new), None, "the fixture {name} does not survive a round trip");
    }
}

#[test]
fn each_fixture_is_of_its_measurement() {
    for name in ALL {
        // That of the taps is a second one of stack; of costs there are several.
        let kind = if name == "taps" { "stack" } else { name.split('-').next().unwrap_or(name) };
        assert_eq!(fixture(name).measurement.name(), kind);
    }
}

/// The path of the first value of `old` that `new` does not have.
fn lost(path: &str, old: &Value, new: &Value) -> Option<String> {
    use Value::{Array, Object};
    match (old, new) {
        (Object(a), Object(b)) => a.iter().find_map(|(k, v)| {
            let path = format!("{path}/{k}");
            b.get(k).map_or_else(|| Some(path.clone()), |w| lost(&path, v, w))
        }),
        (Array(a), Array(b)) if a.len() == b.len() => {
            (0..).zip(a.iter().zip(b)).find_map(|(i, (v, w)): (usize, _)| lost(&format!("{path}/{i}"), v, w))
        }
        _ => (old != new).then(|| path.to_owned()),
    }
}

#[test]
fn the_schema_that_is_checked_in_is_the_one_of_this_build() {
    let path = file("schema/record-v1.schema.json");
    let generated = one_line_a_definition(schema());
    if std::env::var_os("NETFATHOM_BLESS").is_some() {
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

/// The schema as text; a field that changed is one line of a diff.
fn one_line_a_definition(mut schema: Value) -> String {
    let definitions = schema["$defs"].take();
    let lines = |object: &Value| -> Vec<String> {
        object.as_object().expect("an object").iter().map(|(k, v)| format!("\"{k}\": {v}")).collect()
    };
    let definitions = format!("{{\n{}\n}}", lines(&definitions).join(",\n"));
    let top = lines(&schema).join(",\n").replace("\"$defs\": null", &format!("\"$defs\": {definitions}"));
    format!("{{\n{top}\n}}\n")
}

#[test]
fn the_fixtures_as_written_are_valid_under_the_schema() {
    let validator = jsonschema::validator_for(&schema()).expect("a schema");
    let written = |name| -> Value {
        let json = store::Written::of(&fixture(name)).json().expect("JSON");
        serde_json::from_slice(&json).expect("JSON")
    };
    for name in ALL {
        let record = written(name);
        let errors: Vec<String> =
            validator.iter_errors(&record).map(|e| e.instance_path().to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
    for (name, spoilt) in [
        ("stack", "/measurement/trials/0/load/sent"),
        ("load", "/measurement/trials/1/echo/answered"),
        ("capacity", "/measurement/rows/0/searches/0/probes/0/in_time"),
        ("reverse", "/measurement/variants/0/summary/drop"),
        ("join", "/measurement/spans/0/times/n"),
        ("reproduce", "/measurement/runs/0/measurement/trials/0/load/sent"),
        ("taps", "/measurement/taps/1/lost"),
        ("ttcp", "/measurement/streams/0/tcp/retransmits"),
        ("sweep", "/measurement/points/1/rate/median_bytes_per_s"),
        ("message", "/measurement/cells/1/ratio/half_width"),
        ("cost", "/measurement/benchmarks/1/comparisons/3/spans/2/before_ns"),
        ("cost-own", "/measurement/benchmarks/0/calls/1/adds/0/value"),
        ("watch", "/measurement/account/seen"),
        ("stack", "/figures/quantities/0/trials"),
    ] {
        let mut record = written(name);
        *record.pointer_mut(spoilt).expect("the fixture has it") = "many".into();
        assert!(!validator.is_valid(&record), "the schema lets everything through at {spoilt}");
    }
}
