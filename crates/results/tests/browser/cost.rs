//! The report of a cost to others: every kind and gap is drawn.

use netfathom_model::record::{CostResult, Estimate, Measurement, Record, ReproducedRun, State};
use serde_json::json;

use crate::kinds::{of, open_all, stays_quiet};
use crate::records::poisoned;
use crate::show;

/// The fixtures, each of another kind of cost.
const ALL: [&str; 5] = ["cost", "cost-chance", "cost-offline", "cost-own", "cost-observers"];

fn with(name: &str, edit: impl FnOnce(&mut CostResult)) -> Record {
    let mut record = of(name);
    let Measurement::Cost(cost) = &mut record.measurement else { panic!("another measurement") };
    edit(cost);
    record
}

#[test]
fn every_kind_is_drawn() {
    for name in ALL {
        stays_quiet(name, &of(name));
        stays_quiet(&format!("hostile {name}"), &poisoned(of(name)));
    }
}

#[test]
fn every_gap_is_drawn() {
    for (name, record) in sparse() {
        stays_quiet(name, &record);
    }
}

/// Records with something missing or inconsistent, each with its name.
fn sparse() -> Vec<(&'static str, Record)> {
    let mut none = with("cost", |c| c.benchmarks.clear());
    none.state = State::Interrupted;
    vec![
        ("cost of nothing", none),
        ("cost without comparisons", with("cost-own", |c| c.benchmarks[0].comparisons.clear())),
        ("cost without trials", with("cost", |c| c.benchmarks.iter_mut().for_each(|b| b.trials.clear()))),
        ("cost without conditions", with("cost", |c| c.conditions.clear())),
        (
            "cost of names without levels",
            with("cost", |c| c.conditions.iter_mut().for_each(|o| o.level = None)),
        ),
        ("cost of loads that are no rates", with("cost", words)),
        ("cost of nonsense", with("cost", nonsense)),
        ("cost without marks", with("cost", |c| c.benchmarks.iter_mut().for_each(|b| b.marks.clear()))),
        ("cost of forty marks", with("cost-chance", forty)),
    ]
}

fn words(c: &mut CostResult) {
    for level in c.conditions.iter_mut().filter_map(|o| o.level.as_mut()) {
        level.bits_per_s = None;
        level.text = format!("{} and a good deal more than that", level.text);
    }
}

/// Spans of differing lengths, places that do not exist, and numbers that are none.
fn nonsense(c: &mut CostResult) {
    let tar = &mut c.benchmarks[0];
    tar.trials[0].spans_ns.truncate(2);
    tar.trials[1].condition = usize::MAX;
    tar.trials[2].total_ns = f64::NAN;
    tar.comparisons[0].ratio = Estimate { value: f64::NAN, half_width: f64::INFINITY };
    tar.comparisons[1].ratio.half_width = f64::INFINITY;
    tar.comparisons[2].condition = 99;
    tar.comparisons[2].against = usize::MAX;
    tar.comparisons[3].pcost = Estimate { value: f64::NEG_INFINITY, half_width: f64::NAN };
    tar.comparisons[3].smallest = Some(f64::INFINITY);
    tar.comparisons[3].spans.truncate(1);
    tar.comparisons[3].spans[0].before_ns = f64::NAN;
    let more = tar.comparisons[0].spans.clone();
    tar.comparisons[4].spans.extend(more);
    tar.comparisons[4].spans[0].ratio = None;
    tar.comparisons[4].taken[0].difference = Estimate { value: 1e300, half_width: f64::NAN };
    tar.comparisons[5].ratio = Estimate { value: 1e300, half_width: 1e299 };
    tar.calls =
        vec![netfathom_model::record::OwnCall { name: String::new(), times: Vec::new(), adds: Vec::new() }];
    c.benchmarks[1].resources.truncate(1);
    c.program[0].condition = 1_000_000;
    c.program[1].processors = Some(f64::NAN);
    c.overall[0].against = usize::MAX;
}

fn forty(c: &mut CostResult) {
    let tar = &mut c.benchmarks[0];
    tar.marks = (0..=40).map(|n| format!("/usr/share/a/long/path/of/files/{n}/mark-number-{n}")).collect();
    for trial in &mut tar.trials {
        trial.spans_ns = (0..40).map(|span| 1e6 + f64::from(span)).collect();
    }
    let like = tar.comparisons[0].spans[0].clone();
    tar.comparisons[0].spans = vec![like; 40];
}

#[test]
fn a_part_of_an_experiment_is_drawn_whole() {
    let mut record = of("reproduce");
    let cost = of("cost").measurement;
    let Measurement::Reproduce(reproduce) = &mut record.measurement else { panic!("another measurement") };
    let place = reproduce.runs.len();
    reproduce.runs.push(ReproducedRun { name: "tcpdump beside tar".into(), measurement: cost });
    let Some(mut shown) = show("cost in an experiment", &record) else { return };
    open_all(&mut shown);
    let is_drawn = format!("Boolean(netfathom.charts['run-{place}-cost-0'])");
    assert_eq!(shown.page.eval(&is_drawn), json!(true));
    stays_quiet("cost in an experiment", &record);
}
