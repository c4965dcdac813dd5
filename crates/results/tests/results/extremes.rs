//! Records with numbers that no measurement has: whoever reads, draws, compares or exports them comes to an end.

use std::panic::catch_unwind;
use std::path::Path;

use netfathom_model::record::{Measurement, Record, State};
use netfathom_model::sample::Sample;
use netfathom_results::compare::{self, Run, Wishes};
use netfathom_results::export::{self, Format, What};
use netfathom_results::render::{html, markdown};
use netfathom_results::{draw, store, story};
use netfathom_sys::directory::Directory;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use crate::contract;
use crate::fixtures::{ALL, fixture};
use crate::walk::{changed, hollow, walk};

#[test]
fn numbers_that_no_measurement_has_break_no_picture() {
    // Variants of one kind have the fields of that kind.
    for name in ALL.into_iter().filter(|name| !name.contains('-')) {
        for number in [json!(0), json!(u32::MAX), json!(1u64 << 53), json!(1e308)] {
            let record = changed(&fixture(name), &|v| v.is_number().then(|| number.clone()));
            let drawn = std::panic::catch_unwind(|| {
                html::render(&record).expect("drawn");
                let _ = markdown::render(&record);
                contract::render(&record, 100, false)
            });
            let drawn = drawn.unwrap_or_else(|_| panic!("{name} with {number}"));
            let words = || drawn.split(|c: char| !c.is_alphanumeric());
            assert!(words().all(|word| !["inf", "NaN"].contains(&word)), "{name} with {number}: {drawn}");
        }
    }
}

/// In percent it is beyond its type.
#[test]
fn a_share_that_no_percent_can_hold_is_not_known() {
    let mut value = serde_json::to_value(fixture("reverse")).expect("JSON");
    let place = "/measurement/variants/1/trials/0/phases/0/sender_waited";
    *value.pointer_mut(place).expect("a place") = json!(-1e308);
    let page = markdown::render(&serde_json::from_value(value).expect("a record"));
    assert!(page.contains("| n/a |") && !page.contains("inf |"), "{page}");
}

/// A missing part is named or left out, whichever it is.
#[test]
fn a_record_that_lacks_something_is_drawn_without_nonsense() {
    for name in ALL {
        let mut hollowed = vec![changed(&fixture(name), &hollow)];
        walk(&fixture(name), &hollow, |_, one| hollowed.extend(serde_json::from_value(one.clone())));
        for record in &hollowed {
            contract::sane(record);
            let page = serde_json::to_string(&story::of(record)).expect("JSON");
            assert!(!page.contains("NaN") && !page.contains("inf\""), "{name}: {page}");
        }
    }
}

fn make_all(record: &Record, honest: &Record, directory: &Path) {
    let _ = contract::render(record, 100, false);
    let _ = story::answer(&record.measurement, &record.verdict);
    let _ = markdown::render(record);
    html::render(record).expect("drawn");
    let run = |record: &Record, id: &str| {
        let record = Record { id: id.into(), ..record.clone() };
        Run { name: id.into(), record }
    };
    let wishes = Wishes { force: true };
    let both = [run(record, "a"), run(honest, "b")];
    let pairs = vec![(both[0].clone(), both[1].clone()), (run(record, "c"), run(record, "d"))];
    let apart = compare::apart(&both[0], &both[1], &wishes).expect("two runs");
    let pairs = compare::pairs(&pairs, &wishes).expect("two pairs");
    let all = [apart, pairs].map(|comparison| {
        let gates = compare::gates(&comparison, &[]).expect("no thresholds");
        (comparison, gates)
    });
    let _ = draw::terminal(&story::compare::of(&all), 100, false);
    let _ = draw::markdown(&story::compare::of(&all));
    html::render_comparisons(&all).expect("drawn");
    export(record, directory, &OF_RECORD);
    export(record, directory, &OF_MESSAGES);
}

/// What is made of the single messages of a run.
const OF_MESSAGES: [(Format, What); 4] = [
    (Format::Perfetto, What::Trials),
    (Format::Pcapng, What::Trials),
    (Format::Csv, What::Samples),
    (Format::Parquet, What::Samples),
];
const OF_RECORD: [(Format, What); 8] = [
    (Format::Csv, What::Trials),
    (Format::Csv, What::Series),
    (Format::Csv, What::Histograms),
    (Format::Parquet, What::Series),
    (Format::Iperf3, What::Trials),
    (Format::Netperf, What::Trials),
    (Format::Openmetrics, What::Trials),
    (Format::Hdr, What::Trials),
];

fn export(record: &Record, directory: &Path, all: &[(Format, What)]) {
    let run =
        export::StoredRun { record: record.clone(), samples: Some(directory.join(store::SAMPLES_FILE)) };
    for &(format, what) in all {
        // A record with nothing for a format is refused, which does not matter here.
        let _ = export::write(&mut Vec::new(), &run, format, what);
    }
}

/// Every number of a value by its place; one list for all that differ in their places within arrays alone.
fn places(value: &Value) -> Vec<Vec<String>> {
    fn find(place: &str, shape: &str, value: &Value, found: &mut Vec<(String, Vec<String>)>) {
        match value {
            Value::Number(_) => match found.iter_mut().find(|(known, _)| known == shape) {
                Some((_, places)) => places.push(place.into()),
                None => found.push((shape.into(), vec![place.into()])),
            },
            Value::Array(all) => {
                for (i, item) in all.iter().enumerate() {
                    find(&format!("{place}/{i}"), &format!("{shape}/*"), item, found);
                }
            }
            Value::Object(all) => {
                for (name, field) in all {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    find(&format!("{place}/{name}"), &format!("{shape}/{name}"), field, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    find("", "", value, &mut found);
    found.into_iter().map(|(_, places)| places).collect()
}

/// What stands at the edges of the types that a reader may put it into.
fn extremes() -> Vec<Value> {
    vec![
        json!(0),
        json!(1),
        json!(-1),
        json!(u32::MAX),
        json!(1u64 << 53),
        json!(-(1i64 << 53)),
        json!(1u64 << 61),
        json!((1u64 << 62) - 1),
        json!(1 - (1i64 << 62)),
        json!(1u64 << 63),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e-320),
        json!(1e308),
        json!(-1e308),
    ]
}

/// The record of a file with that content, if it is one.
fn read_back(directory: &Path, value: &Value) -> Result<Record, String> {
    let file = directory.join("record.json");
    std::fs::write(&file, value.to_string()).expect("written");
    store::read(&file).map_err(|e| e.to_string())
}

/// Places that are tried; with `PROPTEST_CASES=20000` nearly all.
const CASES: u32 = 40;

#[test]
fn one_number_that_no_measurement_has_ends_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    store::samples::write(&Directory::open(directory.path()).unwrap(), &[message(&json!(5_000_000))])
        .expect("written");
    let values: Vec<Value> =
        ALL.iter().map(|name| serde_json::to_value(fixture(name)).expect("JSON")).collect();
    let places: Vec<_> = values.iter().map(places).collect();
    let of = (0..ALL.len(), any::<Index>(), any::<Index>(), select(extremes()));
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 0,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    };
    proptest!(config, |((fixture_index, shape, place, number) in of)| {
        let place = place.get(shape.get(places[fixture_index].as_slice()).as_slice()).as_str();
        let mut value = values[fixture_index].clone();
        *value.pointer_mut(place).expect("a place") = number.clone();
        if let Ok(record) = read_back(directory.path(), &value) {
            let honest = fixture(ALL[fixture_index]);
            let made = catch_unwind(|| make_all(&record, &honest, directory.path()));
            prop_assert!(made.is_ok(), "{}: {place} is {number}", ALL[fixture_index]);
        }
    });
}

/// A message with all its times, each that number.
fn message(time_ns: &Value) -> Sample {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(Sample::default()) else { panic!("a sample") };
    for (name, field) in &mut fields {
        *field = if name == "trial" { json!(0) } else { time_ns.clone() };
    }
    serde_json::from_value(Value::Object(fields)).expect("a sample")
}

/// Messages with one time at another edge of its type than all others.
fn messages() -> Vec<Sample> {
    let edges = [0, (1 << 62) - 1, i64::MAX as u64, 1 << 63, u64::MAX];
    let names: Vec<String> = match serde_json::to_value(Sample::default()) {
        Ok(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => panic!("a sample"),
    };
    let mut messages = Vec::new();
    for (most, one) in edges.iter().flat_map(|most| edges.iter().map(move |one| (most, one))) {
        for name in names.iter().filter(|name| *name != "trial") {
            let mut message = serde_json::to_value(message(&json!(most))).expect("JSON");
            message[name] = json!(one);
            messages.push(serde_json::from_value(message).expect("a sample"));
        }
    }
    messages
}

#[test]
fn messages_at_times_that_no_clock_tells_end_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = fixture("stack");
    for message in messages() {
        store::samples::write(&Directory::open(directory.path()).unwrap(), std::slice::from_ref(&message))
            .expect("written");
        let made = catch_unwind(|| export(&record, directory.path(), &OF_MESSAGES));
        assert!(made.is_ok(), "{message:?}");
    }
    store::samples::write(&Directory::open(directory.path()).unwrap(), &messages()).expect("written");
    html::render_run(&record, &Directory::open(directory.path()).unwrap()).expect("drawn");
}

#[test]
fn a_sweep_of_more_points_than_memory_holds_is_drawn() {
    let mut record = Record { state: State::Interrupted, ..fixture("sweep") };
    let shown = |record: &Record, planned: usize| {
        let drawn = contract::render(record, 200, false);
        assert!(drawn.contains(&format!("of {planned} trials are finished")), "{planned}: {drawn:.500}");
    };
    let Measurement::Sweep(result) = &record.measurement else { panic!("a sweep") };
    let plan = result.plan.clone();
    shown(&record, plan.combinations().len() * plan.trials as usize);
    let Measurement::Sweep(result) = &mut record.measurement else { panic!("a sweep") };
    result.plan.socket_buffers_bytes = (0..200_000).map(Some).collect();
    result.plan.writes_bytes = (0..200_000).collect();
    shown(&record, 200_000 * 200_000 * plan.no_delay.len() * plan.trials as usize);
}

#[test]
fn what_cannot_be_added_up_is_no_record() {
    let directory = tempfile::tempdir().expect("a directory");
    let stack: Value = serde_json::to_value(fixture("stack")).expect("JSON");
    let with = |place: &str, number: Value| {
        let mut value = stack.clone();
        *value.pointer_mut(place).expect("a place") = number;
        read_back(directory.path(), &value)
    };
    let sent = "/measurement/trials/0/accounting/sent";
    assert!(with(sent, json!(1u64 << 61)).is_ok());
    let reply = with(sent, json!(1u64 << 62)).expect_err("a refusal");
    assert!(reply.contains("record.json is damaged: `sent`: 4611686018427387904 is no count"), "{reply}");
    let least = "/measurement/trials/0/load/lag/min_ns";
    assert!(with(least, json!(1 - (1i64 << 62))).is_ok(), "clocks may be far apart");
    assert!(with(least, json!(-(1i64 << 62))).expect_err("a refusal").contains("is no time"));
    assert!(with("/measurement/plan/seed", json!(u64::MAX)).is_ok(), "a seed is added to nothing");
    let squares = "/measurement/trials/0/load/series/sum_sq_ns2/0";
    assert!(with(squares, json!(1u64 << 63)).is_ok(), "other programs write 1e20 with all its digits");
    let many = json!(vec![1u64 << 60; 4]);
    assert!(
        with("/measurement/trials/0/load/series/n", many)
            .expect_err("a refusal")
            .contains("too much together")
    );
}
