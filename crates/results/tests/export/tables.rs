//! Tables, by Python's own reader of CSV and by Arrow's of Parquet.

use netfathom_model::record::Measurement;
use netfathom_results::export::{Format, StoredRun, What};
use netfathom_results::quantity;
use netfathom_testkit::test_name;
use serde_json::{Value, json};

use crate::fixtures::ALL;
use crate::readers::{python, read, read_all};
use crate::runs::{exported, messages, run, sampled, written};

const CSV: &str = "\
import csv, json, sys
for file in sys.argv[1:]:
    print(json.dumps(list(csv.DictReader(open(file, newline='', encoding='utf-8'), strict=True))))";
const PARQUET: &str = "\
import json, sys, pyarrow.parquet as pq
for file in sys.argv[1:]:
    print(json.dumps(pq.read_table(file).to_pylist()))";

fn by(script: &str, run: &StoredRun, format: Format, what: What) -> Option<Vec<Value>> {
    let python = python(test_name!())?;
    let (_dir, file) = exported(run, format, what);
    let Value::Array(rows) = read(&python, script, &file) else { panic!("no list of rows") };
    Some(rows)
}

#[test]
fn every_quantity_of_every_fixture_is_read_as_it_was() {
    let Some(python) = python(test_name!()) else { return };
    for (script, format) in [(CSV, Format::Csv), (PARQUET, Format::Parquet)] {
        let (_dirs, files): (Vec<_>, Vec<_>) =
            ALL.iter().map(|name| exported(&run(name), format, What::Trials)).unzip();
        for (name, rows) in ALL.iter().zip(read_all(&python, script, &files)) {
            let shown: Vec<_> = rows.as_array().unwrap().iter().map(of_quantity).collect();
            assert_eq!(shown, values(name), "{name}, {}", format.name());
        }
    }
}

/// Shell tools cut CSV at each comma.
#[test]
fn a_title_of_a_transfer_has_no_comma() {
    let quantities = quantity::of(&run("ttcp").record.measurement);
    assert!(["rtt", "call.p99"].iter().all(|name| quantities.iter().any(|of| of.name == *name)));
    assert!(quantities.iter().all(|of| !of.title.contains(',')), "{quantities:?}");
}

/// Name, trial and value of every quantity of a fixture.
fn values(name: &str) -> Vec<(String, usize, f64)> {
    let quantities = quantity::of(&run(name).record.measurement).into_iter();
    let of = |q: quantity::Quantity| {
        q.trials.into_iter().enumerate().map(move |(i, value)| (q.name.clone(), i + 1, value))
    };
    let values: Vec<_> = quantities.flat_map(of).collect();
    assert!(!values.is_empty(), "{name}");
    values
}

/// Of CSV everything is text.
fn of_quantity(row: &Value) -> (String, usize, f64) {
    let text = |key: &str| match &row[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (text("quantity"), text("trial").parse().unwrap(), text("value").parse().unwrap())
}

#[test]
fn buckets_add_up_to_what_was_counted() {
    let run = run("stack");
    let Some(rows) = by(PARQUET, &run, Format::Parquet, What::Histograms) else { return };
    let of = |row: &&Value| row["histogram"] == "tx" && row["trial_index"] == 0;
    let counts: u64 = rows.iter().filter(of).map(|row| row["count"].as_u64().unwrap()).sum();
    let Measurement::Stack(stack) = &run.record.measurement else { panic!() };
    let total = &stack.trials[0].paths[0].total;
    assert!(total.negative > 0, "the fixture has times below zero");
    assert_eq!(counts, total.n);
    let below = rows.iter().find(|row| of(row) && row["low_ns"].is_null()).unwrap();
    assert_eq!((&below["high_ns"], &below["count"]), (&json!(0), &json!(total.negative)));
}

#[test]
fn a_window_without_messages_has_no_value() {
    let mut emptied = run("stack");
    let Measurement::Stack(stack) = &mut emptied.record.measurement else { panic!() };
    let series = &mut stack.trials[0].paths[0].series;
    (series.n[3], series.sum_ns[3], series.min_ns[3], series.max_ns[3]) = (0, 0, 0, 0);
    let runs = ["load", "reverse", "join", "ttcp"].map(run).into_iter().chain([emptied]);
    let mut without = 0;
    for run in runs {
        let Some(rows) = by(PARQUET, &run, Format::Parquet, What::Series) else { return };
        for row in &rows {
            assert!(row["end_ns"].as_u64() >= row["start_ns"].as_u64(), "{row}");
            let empty = row["n"] == 0 && row["unit"] == "ns";
            let no_time = row["end_ns"] == row["start_ns"] && row["unit"] == "bytes_per_s";
            assert_eq!(row["value"].is_null(), empty || no_time, "{row}");
            without += usize::from(empty);
        }
    }
    assert!(without >= 1);
}

#[test]
fn single_messages_are_those_of_the_run() {
    let (_dir, run) = sampled();
    for (script, format) in [(CSV, Format::Csv), (PARQUET, Format::Parquet)] {
        let Some(rows) = by(script, &run, format, What::Samples) else { return };
        assert_eq!(rows.len(), messages().len());
        for (row, message) in rows.iter().zip(messages()) {
            for (key, value) in serde_json::to_value(message).unwrap().as_object().unwrap() {
                let shown = if format == Format::Csv {
                    row[key].as_str().unwrap().parse().map_or(Value::Null, |ns: u64| ns.into())
                } else {
                    row[key].clone()
                };
                assert_eq!(shown, *value, "{key}");
            }
        }
    }
}

#[test]
fn what_csv_quotes_is_read_as_it_was() {
    let mut run = run("join");
    let Measurement::Join(join) = &mut run.record.measurement else { panic!() };
    join.spans[0].from = "a \"b\", c\nd".into();
    let Some(rows) = by(CSV, &run, Format::Csv, What::Trials) else { return };
    assert!(rows.iter().any(|row| row["title"].as_str().unwrap().starts_with("a \"b\", c\nd to ")));
}

#[test]
fn the_columns_are_a_promise() {
    let head = |name: &str, what| {
        let (bytes, _) = written(&run(name), Format::Csv, what).unwrap();
        String::from_utf8(bytes).unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(head("stack", What::Trials), "measurement,quantity,title,unit,better,main,trial,value");
    assert_eq!(head("stack", What::Histograms), "measurement,histogram,trial_index,low_ns,high_ns,count");
    assert_eq!(
        head("stack", What::Series),
        "measurement,series,unit,trial_index,start_ns,end_ns,n,value,min,max"
    );
}
