//! Curves are the record's own values, worked out here a second time from the record.

use netfathom_model::path::Direction;
use netfathom_model::record::{
    LoadTrialKind, Measurement, PathTimes, Record, Series, StackResult, Trial, TrialKind,
};
use netfathom_results::page::Chart;
use netfathom_results::story;
use netfathom_stats as stats;

use crate::curves::curve;
use crate::pictures::charts;

fn fixture() -> Record {
    crate::fixtures::fixture("stack")
}

fn stack(record: &Record) -> &StackResult {
    let Measurement::Stack(stack) = &record.measurement else { panic!("another measurement") };
    stack
}

fn measured(stack: &StackResult) -> impl Iterator<Item = &Trial> {
    stack.trials.iter().filter(|t| t.kind == TrialKind::Measured)
}

fn path(trial: &Trial, direction: Direction) -> &PathTimes {
    trial.paths.iter().find(|p| p.direction == direction).expect("the fixture has both directions")
}

fn chart(record: &Record, id: &str) -> Chart {
    let page = story::of(record);
    let found = charts(&page).into_iter().find(|(name, _)| name == id);
    found.unwrap_or_else(|| panic!("there is no chart {id}")).1.clone()
}

fn drawn(record: &Record, id: &str, label: &str) -> Vec<Option<f64>> {
    curve(&story::of(record), id, label).to_vec()
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
    for direction in [Direction::Tx, Direction::Rx] {
        let chart = format!("time-{}", direction.name());
        for trial in measured(stack(&record)) {
            let label = format!("stack time, trial {}", trial.index + 1);
            same(&drawn(&record, &chart, &label), &means(&path(trial, direction).series));
        }
        same(&drawn(&record, &chart, "stack time"), &merged_means(&record, direction));
    }
}

#[test]
fn the_rate_is_what_left_and_what_was_wanted() {
    let record = fixture();
    let plan = &stack(&record).plan;
    let trial = measured(stack(&record)).next().unwrap();
    let window_s = trial.load.series.window_ns as f64 / 1e9;
    let achieved = drawn(&record, "rate", &format!("achieved, trial {}", trial.index + 1));
    let wanted = drawn(&record, "rate", "planned");
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
    let points = drawn(&record, "against-rx", "windows").into_iter().flatten().count();
    let windows: usize = measured(stack(&record)).map(|t| path(t, Direction::Rx).series.n.len()).sum();
    assert_eq!(points, windows);
    let line: Vec<f64> = drawn(&record, "against-rx", "all trials").into_iter().flatten().collect();
    let (first, last) = (line[0], line[line.len() - 1]);
    assert!(last > first * 1.5, "the fixture's reader gets slower with the rate: {first} to {last}");
}

#[test]
fn percentiles_are_those_of_the_merged_histogram() {
    let record = fixture();
    let nines = chart(&record, "percentiles").xs;
    assert!(nines.last() >= Some(&3.0), "the curve ends before 99.9 %");
    for summary in &stack(&record).summaries {
        let merged = stats::Distribution::from(&summary.total);
        let quantile = |x: f64| 1.0 - (10f64.powf(-x) * 1e5).round() / 1e5;
        let wanted = nines.iter().map(|&x| merged.quantile(quantile(x)).map(|v| v as f64));
        let curve = drawn(&record, "percentiles", summary.direction.name());
        // What a rounded quantile may move by one rank, it moves within a bucket.
        for (a, b) in curve.iter().zip(wanted) {
            let Some(a) = a else {
                assert!(b <= Some(0.0), "{b:?} has a place on the axis");
                continue;
            };
            let b = b.unwrap();
            assert!((a - b).abs() <= b.abs() / 16.0, "{a} is not {b}");
        }
        for named in [summary.total.p50_ns, summary.total.p99_ns, summary.total.p999_ns] {
            assert!(curve.contains(&Some(named as f64)), "{named} is missing");
        }
    }
}

#[test]
fn layers_add_up_to_the_stack_time() {
    let record = fixture();
    for direction in [Direction::Tx, Direction::Rx] {
        let layers = chart(&record, &format!("stages-{}", direction.name())).series;
        for (w, b) in merged_means(&record, direction).into_iter().enumerate() {
            let a: f64 = layers.iter().filter_map(|layer| layer.values[w]).sum();
            let b = b.unwrap();
            assert!((a - b).abs() < b * 0.02, "{a} is not {b}");
        }
    }
}

#[test]
fn the_response_lies_above_the_service() {
    let record: Record = serde_json::from_str(include_str!("../fixtures/load.json")).unwrap();
    let Measurement::Load(load) = &record.measurement else { panic!("another measurement") };
    let echo = load.summary.as_ref().and_then(|s| s.echo_loaded.as_ref()).expect("answers");
    for (curve, d) in [("response, loaded", &echo.response), ("service, loaded", &echo.service)] {
        let curve = drawn(&record, "echo", curve);
        for value in [d.p50_ns, d.p99_ns, d.p999_ns] {
            assert!(curve.contains(&Some(value as f64)), "{value} is missing");
        }
    }
    assert!(echo.response.p999_ns > 2 * echo.service.p999_ns, "the fixture shows no omission");
}

#[test]
fn lag_over_the_run_is_merged_window_by_window() {
    let record: Record = serde_json::from_str(include_str!("../fixtures/load.json")).unwrap();
    let Measurement::Load(load) = &record.measurement else { panic!("another measurement") };
    let loaded: Vec<_> = load.trials.iter().filter(|t| t.kind == LoadTrialKind::Loaded).collect();
    let p99 = |w: usize| {
        let mut all = stats::Distribution::new(5);
        loaded.iter().for_each(|t| all.merge(&(&t.lag_windows.windows[w]).into()));
        all.quantile(0.99).expect("every window has messages") as f64
    };
    let wanted: Vec<f64> = (0..loaded[0].lag_windows.windows.len()).map(p99).collect();
    let drawn: Vec<f64> = drawn(&record, "lag-run", "p99").into_iter().flatten().collect();
    assert_eq!(drawn, wanted);
}

#[test]
fn reverse_rates_are_the_records_over_the_window() {
    let record: Record = serde_json::from_str(include_str!("../fixtures/reverse.json")).unwrap();
    let Measurement::Reverse(reverse) = &record.measurement else { panic!("another measurement") };
    let trials = &reverse.variants[0].trials;
    for (w, value) in drawn(&record, "reverse-ignored", "outgoing").into_iter().enumerate() {
        let mean = trials.iter().map(|t| t.outgoing[w] as f64).sum::<f64>() / trials.len() as f64;
        let wanted = mean / (trials[0].window_ns as f64 / 1e9);
        assert!((value.unwrap() - wanted).abs() < 1e-6 * wanted, "window {w}");
    }
}

#[test]
fn joined_times_over_the_run_are_the_records() {
    let record = crate::fixtures::fixture("join");
    let Measurement::Join(join) = &record.measurement else { panic!("another measurement") };
    for (i, span) in join.spans.iter().enumerate() {
        same(&chart(&record, &format!("span-{i}")).series[0].values, &means(&span.series));
    }
}
