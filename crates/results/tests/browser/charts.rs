//! The charts show the record's own values, worked out here a second time from the record.

use netfathom_model::path::Direction;
use netfathom_model::record::{PathTimes, Record, Series, StackResult, StageSummaryTimes, Trial, TrialKind};
use netfathom_stats as stats;
use serde_json::Value;

use crate::layout::{COLOURS, has};
use crate::records::{fixture, stack};
use crate::{Shown, show};

fn measured(stack: &StackResult) -> impl Iterator<Item = &Trial> {
    stack.trials.iter().filter(|t| t.kind == TrialKind::Measured)
}

fn path(trial: &Trial, direction: Direction) -> &PathTimes {
    trial.paths.iter().find(|p| p.direction == direction).expect("the fixture has both directions")
}

fn numbers(value: &Value) -> Vec<Option<f64>> {
    value.as_array().expect("a list of numbers").iter().map(Value::as_f64).collect()
}

/// What a curve of a chart really holds, read back from the chart.
fn drawn(shown: &mut Shown, chart: &str, curve: &str) -> Vec<Option<f64>> {
    numbers(&shown.page.eval(&format!(
        "(() => {{ const {{ plot }} = netfathom.charts['{chart}'];
            return plot.data[plot.series.findIndex((s, i) => i > 0 && s.label === '{curve}')]; }})()"
    )))
}

fn same(drawn: &[Option<f64>], wanted: &[Option<f64>]) {
    assert_eq!(drawn.len(), wanted.len());
    for (i, (a, b)) in drawn.iter().zip(wanted).enumerate() {
        match (a, b) {
            (Some(a), Some(b)) => assert!((a - b).abs() <= b.abs() * 1e-9, "value {i}: {a}, not {b}"),
            _ => assert_eq!(a, b, "value {i}"),
        }
    }
}

fn means(series: &Series) -> Vec<Option<f64>> {
    (0..series.n.len()).map(|w| series.mean_ns(w)).collect()
}

/// Merging is addition: sums and counts first, the division last.
fn merged_means(record: &Record, direction: Direction) -> Vec<Option<f64>> {
    let all: Vec<&Series> = measured(stack(record)).map(|t| &path(t, direction).series).collect();
    let windows = all.iter().map(|s| s.n.len()).max().unwrap();
    let mean = |w: usize| {
        let n: u64 = all.iter().filter_map(|s| s.n.get(w)).sum();
        let sum: i64 = all.iter().filter_map(|s| s.sum_ns.get(w)).sum();
        (n > 0).then(|| sum as f64 / n as f64)
    };
    (0..windows).map(mean).collect()
}

#[test]
fn time_over_the_run_is_the_records() {
    let record = fixture();
    let Some(mut shown) = show("time", &record) else { return };
    for direction in [Direction::Tx, Direction::Rx] {
        let chart = format!("time-{}", direction.name());
        for trial in measured(stack(&record)) {
            let label = format!("trial {}", trial.index + 1);
            same(&drawn(&mut shown, &chart, &label), &means(&path(trial, direction).series));
        }
        same(&drawn(&mut shown, &chart, "all trials"), &merged_means(&record, direction));
    }
}

#[test]
fn the_rate_is_what_left_and_what_was_wanted() {
    let record = fixture();
    let Some(mut shown) = show("rate", &record) else { return };
    let plan = &stack(&record).plan;
    let trial = measured(stack(&record)).next().unwrap();
    let window_s = trial.load.series.window_ns as f64 / 1e9;
    let achieved = drawn(&mut shown, "rate", &format!("trial {}", trial.index + 1));
    let wanted = drawn(&mut shown, "rate", "planned");
    // The last window may be cut off by the end of the plan.
    for w in 0..trial.load.series.n.len() - 1 {
        let left = trial.load.series.n[w] as f64 / window_s;
        assert!((achieved[w].unwrap() - left).abs() < 1e-6 * left, "window {w}");
        // A ramp's mean over a window is its rate in the middle.
        let middle = plan.profile.rate_at_s((w as f64 + 0.5) * window_s);
        assert!((wanted[w].unwrap() - middle).abs() < 1e-6 * middle, "window {w}");
    }
}

#[test]
fn every_window_stands_against_its_rate() {
    let record = fixture();
    let Some(mut shown) = show("against", &record) else { return };
    shown.page.prefer("light");
    let colours = shown.page.eval(&format!("{COLOURS}('against-rx')"));
    assert!(has(&colours, "#c44e00"), "the line through the windows is broken: {colours}");
    let points = drawn(&mut shown, "against-rx", "windows").into_iter().flatten().count();
    let windows: usize = measured(stack(&record)).map(|t| path(t, Direction::Rx).series.n.len()).sum();
    assert_eq!(points, windows);
    let line: Vec<f64> = drawn(&mut shown, "against-rx", "all trials").into_iter().flatten().collect();
    let (first, last) = (line[0], line[line.len() - 1]);
    assert!(last > first * 1.5, "the fixture's reader gets slower with the rate: {first} to {last}");
}

#[test]
fn percentiles_are_those_of_the_merged_histogram() {
    let record = fixture();
    let Some(mut shown) = show("percentiles", &record) else { return };
    let nines = numbers(&shown.page.eval("[...netfathom.charts['percentiles'].plot.data[0]]"));
    let nines: Vec<f64> = nines.into_iter().flatten().collect();
    assert!(nines.last() >= Some(&3.0), "the curve ends before 99.9 %");
    for summary in &stack(&record).summaries {
        let merged = stats::Distribution::from(&summary.total);
        let quantile = |x: f64| 1.0 - (10f64.powf(-x) * 1e5).round() / 1e5;
        let wanted = nines.iter().map(|&x| merged.quantile(quantile(x)).map(|v| v as f64));
        let curve = drawn(&mut shown, "percentiles", summary.direction.name());
        // What a rounded quantile may move by one rank, it moves within a bucket.
        for (a, b) in curve.iter().zip(wanted) {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!((a - b).abs() <= b.abs() / 16.0, "{a} is not {b}");
        }
        for named in [summary.total.p50_ns, summary.total.p99_ns, summary.total.p999_ns] {
            assert!(curve.contains(&Some(named as f64)), "{named} is missing");
        }
    }
}

#[test]
fn bars_are_as_long_as_the_stages_take() {
    let record = fixture();
    let Some(mut shown) = show("waterfall", &record) else { return };
    for summary in &stack(&record).summaries {
        let bars = numbers(&shown.page.eval(&format!(
            "[...document.querySelectorAll('.waterfall.{} .bar')].map((b) => parseFloat(b.style.width))",
            summary.direction.name()
        )));
        let bars: Vec<f64> = bars.into_iter().flatten().collect();
        let taken = |times: &StageSummaryTimes| match times {
            StageSummaryTimes::Measured(d) => Some(d.sum_ns as f64),
            StageSummaryTimes::Unavailable(_) => None,
        };
        let parts = summary.stages.iter().filter_map(|s| taken(&s.times));
        let parts: Vec<f64> = parts.chain([summary.total.sum_ns as f64]).collect();
        assert_eq!(bars.len(), parts.len(), "a bar a measured stage, and one of the stack time");
        let (bar, part) = (bars[bars.len() - 1], parts[parts.len() - 1]);
        for (b, p) in bars.iter().zip(&parts) {
            assert!((b / bar - p / part).abs() < 0.005, "{b} of {bar} is not {p} of {part}");
        }
    }
}

#[test]
fn layers_add_up_to_the_stack_time() {
    let record = fixture();
    let Some(mut shown) = show("layers", &record) else { return };
    for direction in [Direction::Tx, Direction::Rx] {
        let top = format!("[...netfathom.charts['stages-{}'].plot.data[1]]", direction.name());
        for (a, b) in numbers(&shown.page.eval(&top)).into_iter().zip(merged_means(&record, direction)) {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!((a - b).abs() < b * 0.02, "{a} is not {b}");
        }
    }
}

#[test]
fn a_chart_reads_as_a_table_too() {
    let record = fixture();
    let Some(mut shown) = show("table", &record) else { return };
    shown.page.eval("document.querySelector('#chart-time-tx details').open = true");
    shown.page.wait_for("document.querySelector('#chart-time-tx table')");
    let rows = shown.page.eval("document.querySelectorAll('#chart-time-tx tbody tr').length");
    let windows = path(measured(stack(&record)).next().unwrap(), Direction::Tx).series.n.len();
    assert_eq!(rows, Value::from(windows));
}
