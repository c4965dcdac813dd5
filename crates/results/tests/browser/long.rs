//! Records with more of everything than a screen has places for.

use std::sync::LazyLock;

use netfathom_model::record::{Record, StageSummary, StageSummaryTimes};
use netfathom_results::render::html::render;
use serde_json::{Value, json};

use crate::kinds::open_all;
use crate::records::{fixture, stack, stack_mut};
use crate::{Shown, open, show};

/// Windows of the long curve, and where it has its one peak.
const WINDOWS: usize = 300_000;
const PEAK: usize = 123_456;

/// A trial with a window every millisecond, each with two messages of together 2,000 ns, and one peak.
fn long() -> Record {
    let mut record = fixture();
    let stack = stack_mut(&mut record);
    stack.trials.truncate(1);
    let trial = &mut stack.trials[0];
    let sent = std::iter::once(&mut trial.load.series);
    for series in sent.chain(trial.paths.iter_mut().map(|path| &mut path.series)) {
        series.window_ns = 1_000_000;
        (series.n, series.sum_ns) = (vec![2; WINDOWS], vec![2_000; WINDOWS]);
        (series.min_ns, series.max_ns) = (vec![900; WINDOWS], vec![1_100; WINDOWS]);
        series.sum_ns[PEAK] = 2_000_000;
    }
    record
}

/// Drawn once: that takes a while.
fn show_long(test: &str) -> Option<Shown> {
    static HTML: LazyLock<String> = LazyLock::new(|| render(&long()).expect("a record can be drawn"));
    open(test, &HTML)
}

#[test]
fn a_long_curve_keeps_its_peak_and_shows_every_value_when_zoomed() {
    assert_eq!(stack(&long()).trials[0].paths[0].series.n.len(), WINDOWS);
    let Some(mut shown) = show_long("long curve") else { return };
    let drawn = "netfathom.charts['time-tx'].plot.data";
    assert!(shown.page.eval(&format!("{drawn}[0].length")).as_u64() < Some(5_000), "not binned");
    assert_eq!(shown.page.eval(&format!("Math.max(...{drawn}[1])")).as_f64(), Some(1e6), "the peak is lost");
    let output = "document.querySelector('#chart-time-tx figcaption').innerText";
    assert!(shown.page.eval(output).as_str().unwrap().contains("lowest and highest of 300 values"));

    shown.page.eval("netfathom.charts['time-tx'].plot.setScale('x', { min: 123.4, max: 123.5 })");
    shown.page.settle();
    let xs = shown.page.eval(&format!("[...{drawn}[0]].filter((x) => x >= 123.4 && x <= 123.5).length"));
    assert_eq!(xs, json!(100), "a window a millisecond");
    let peak = shown.page.eval(&format!("(({{ 0: xs, 1: ys }}) => xs[ys.indexOf(1e6)])({drawn})"));
    assert!((peak.as_f64().unwrap() - 123.4565).abs() < 1e-9, "{peak}");
    assert!(!shown.page.eval(output).as_str().unwrap().contains("lowest and highest"));

    shown.page.eval("document.querySelector('#chart-time-tx .reset').click()");
    shown.page.settle();
    let view = shown.page.eval("((s) => s.max - s.min)(netfathom.charts['time-tx'].plot.scales.x)");
    assert!((view.as_f64().unwrap() - 299.999).abs() < 1e-6, "{view}");
    assert_eq!(shown.page.eval(&format!("Math.max(...{drawn}[1])")).as_f64(), Some(1e6), "the peak is lost");
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}

#[test]
fn the_table_of_a_long_curve_says_what_it_leaves_out() {
    let Some(mut shown) = show_long("long table") else { return };
    shown.page.eval("document.querySelector('#chart-time-tx details').open = true");
    shown.page.wait_for("document.querySelector('#chart-time-tx table')");
    assert_eq!(shown.page.eval("document.querySelectorAll('#chart-time-tx tbody tr').length"), json!(1_000));
    let message = shown.page.eval("document.querySelector('#chart-time-tx .cut').innerText");
    assert!(message.as_str().unwrap().contains("299,000 more rows are left out here"), "{message}");
}

/// The entries of a list in a record, repeated.
fn repeated(record: &Record, list: &str, times: usize) -> Record {
    let mut value = serde_json::to_value(record).unwrap();
    let all = value.pointer_mut(list).and_then(Value::as_array_mut).expect("a list");
    *all = all.iter().cycle().take(times).cloned().collect();
    serde_json::from_value(value).expect("a record")
}

/// Stages that were not measured: the shortest that there are.
#[test]
fn hundreds_of_thousands_of_stages_are_shown_in_part_and_named() {
    let mut record = fixture();
    for summary in &mut stack_mut(&mut record).summaries {
        summary.stages.retain(|stage| matches!(stage.times, StageSummaryTimes::Unavailable(_)));
        // One reason for all would be a single row.
        let other = summary.stages.first().cloned();
        let times = StageSummaryTimes::Unavailable("so".into());
        summary.stages.extend(other.map(|stage| StageSummary { times, ..stage }));
    }
    let record = repeated(&record, "/measurement/summaries/0/stages", 400_000);
    let html = render(&record).unwrap();
    assert!(html.len() < 40_000_000, "{} bytes", html.len());
    let Some(mut shown) = open("many stages", &html) else { return };
    open_all(&mut shown);
    let state = shown.page.eval("[...document.querySelectorAll('.state')].map((p) => p.innerText).join()");
    assert!(state.as_str().unwrap().contains("measurement.summaries.stages (of 400000)"), "{state}");
    let most =
        "[...document.querySelectorAll('main *')].reduce((top, n) => Math.max(top, n.children.length), 0)";
    assert!(shown.page.eval(most).as_u64() <= Some(2_001));
    let message = shown.page.eval("[...document.querySelectorAll('.cut')].map((p) => p.innerText).join()");
    assert!(message.as_str().unwrap().contains("are left out here"), "{message}");
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}

#[test]
fn a_thousand_trials_are_shown_in_part_and_named() {
    let mut record = fixture();
    let stack = stack_mut(&mut record);
    stack.trials.truncate(1);
    stack.trials[0].paths.truncate(1);
    stack.trials[0].paths[0].stages.clear();
    let record = repeated(&record, "/measurement/trials", 1_100);
    let Some(mut shown) = show("many trials", &record) else { return };
    open_all(&mut shown);
    let message =
        shown.page.eval("[...document.querySelectorAll('.cut, .note')].map((p) => p.textContent).join()");
    let message = message.as_str().unwrap();
    assert!(message.contains("100 more rows are left out here"), "{message}");
    assert!(message.contains("Only the first 200 of 1,102 curves are drawn"), "{message}");
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}
