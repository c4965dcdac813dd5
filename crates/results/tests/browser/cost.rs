//! The report of a cost to others: its pictures hold the record's own values, and every kind and gap is drawn.

use netfathom_model::record::{
    Comparison, CostBenchmark, CostResult, Effect, Estimate, Measurement, Record, ReproducedRun, State,
};
use serde_json::{Value, json};

use crate::kinds::{of, open_all, stays_quiet};
use crate::layout::{COLOURS, has};
use crate::records::poisoned;
use crate::{Shown, show};

/// The fixtures, each of another kind of cost.
const ALL: [&str; 5] = ["cost", "cost-chance", "cost-offline", "cost-own", "cost-observers"];

fn result(record: &Record) -> &CostResult {
    let Measurement::Cost(cost) = &record.measurement else { panic!("another measurement") };
    cost
}

fn with(name: &str, edit: impl FnOnce(&mut CostResult)) -> Record {
    let mut record = of(name);
    let Measurement::Cost(cost) = &mut record.measurement else { panic!("another measurement") };
    edit(cost);
    record
}

/// What a curve of a chart really holds, with its places.
fn drawn(shown: &mut Shown, chart: &str, curve: &str) -> Vec<(f64, f64)> {
    let values = shown.page.eval(&format!(
        "(() => {{ const {{ plot }} = netfathom.charts['{chart}'];
            const values = plot.data[plot.series.findIndex((s, i) => i > 0 && s.label === '{curve}')];
            return [...values].map((v, i) => [plot.data[0][i], v]).filter(([, v]) => v !== null); }})()"
    ));
    let pair = |p: &Value| (p[0].as_f64().expect("a place"), p[1].as_f64().expect("a value"));
    values.as_array().expect("a curve").iter().map(pair).collect()
}

fn same(a: &[(f64, f64)], b: &[(f64, f64)]) {
    let close = |a: f64, b: f64| (a - b).abs() <= b.abs() * 1e-9 + 1e-12;
    let all = a.iter().zip(b).all(|(a, b)| close(a.0, b.0) && close(a.1, b.1));
    assert!(a.len() == b.len() && all, "{a:?} is not {b:?}");
}

fn of_effect(benchmark: &CostBenchmark, effect: Effect) -> Vec<&Comparison> {
    benchmark.of_effect(effect).collect()
}

#[test]
fn curves_are_the_slowdowns_over_the_load() {
    let record = of("cost");
    let Some(mut shown) = show("cost curves", &record) else { return };
    open_all(&mut shown);
    let cost = result(&record);
    for (place, benchmark) in cost.benchmarks.iter().enumerate() {
        for (effect, name) in [
            (Effect::Program, "the program"),
            (Effect::Load, "the load alone"),
            (Effect::Both, "program and load"),
        ] {
            let at =
                |c: &&Comparison| cost.conditions[c.condition].level.as_ref().unwrap().bits_per_s.unwrap();
            let all = of_effect(benchmark, effect);
            let wanted: Vec<(f64, f64)> = all.iter().map(|c| (at(c), c.ratio.value - 1.0)).collect();
            same(&drawn(&mut shown, &format!("cost-{place}"), name), &wanted);
            // The same without regard to how much each load is.
            let level = |c: &&Comparison| {
                ["0", "800k", "8M", "80M"]
                    .iter()
                    .position(|l| cost.conditions[c.condition].level.as_ref().unwrap().text == *l)
            };
            let apart: Vec<(f64, f64)> =
                all.iter().map(|c| (level(c).unwrap() as f64, c.ratio.value - 1.0)).collect();
            same(&drawn(&mut shown, &format!("cost-apart-{place}"), name), &apart);
        }
    }
}

#[test]
fn a_switched_off_curve_leaves_the_picture() {
    let Some(mut shown) = show("cost toggle", &of("cost")) else { return };
    shown.page.prefer("light");
    let colours = format!("{COLOURS}('cost-0')");
    assert!(has(&shown.page.eval(&colours), "#7a4fa0"));
    shown
        .page
        .eval("document.querySelector('#chart-cost-0 button[data-group=\"program and load\"]').click()");
    shown.page.settle();
    let left = shown.page.eval(&colours);
    assert!(!has(&left, "#7a4fa0") && has(&left, "#c44e00"), "{left}");
}

#[test]
fn marks_stand_at_the_means_of_the_trials_that_count() {
    let record = with("cost", |c| c.benchmarks[0].trials[5].failed = Some("it was disturbed".into()));
    let Some(mut shown) = show("cost marks", &record) else { return };
    open_all(&mut shown);
    let cost = result(&record);
    let tar = &cost.benchmarks[0];
    let means = |condition: usize| {
        let trials: Vec<_> =
            tar.trials.iter().filter(|t| t.condition == condition && t.failed.is_none()).collect();
        let mut at = vec![0.0];
        for span in 0..tar.marks.len() - 1 {
            at.push(at[span] + trials.iter().map(|t| t.spans_ns[span]).sum::<f64>() / trials.len() as f64);
        }
        at
    };
    assert_eq!(tar.trials.iter().filter(|t| t.failed.is_some()).count(), 2, "some are to be left out");
    let first = means(0);
    for (condition, said) in cost.conditions.iter().enumerate() {
        let at = means(condition);
        let wanted: Vec<(f64, f64)> = at.iter().enumerate().map(|(mark, ns)| (*ns, mark as f64)).collect();
        same(&drawn(&mut shown, "cost-marks-0", &said.name), &wanted);
        if condition > 0 {
            let behind: Vec<(f64, f64)> = at
                .iter()
                .zip(&first)
                .enumerate()
                .map(|(mark, (ns, first))| (mark as f64, ns - first))
                .collect();
            same(&drawn(&mut shown, "cost-behind-0", &said.name), &behind);
        }
    }
}

#[test]
fn trials_are_shares_of_the_mean_of_the_first_condition() {
    let record = of("cost-chance");
    let Some(mut shown) = show("cost trials", &record) else { return };
    let tar = &result(&record).benchmarks[0];
    let of_condition = |c: usize| tar.trials.iter().filter(move |t| t.condition == c);
    let first: Vec<f64> = of_condition(0).map(|t| t.total_ns).collect();
    let mean = first.iter().sum::<f64>() / first.len() as f64;
    for (condition, name) in [(0, "without"), (1, "with")] {
        let wanted: Vec<(f64, f64)> =
            of_condition(condition).map(|t| (f64::from(t.index) + 1.0, t.total_ns / mean - 1.0)).collect();
        same(&drawn(&mut shown, "cost-trials-0", name), &wanted);
    }
}

/// Where bars and whiskers of a section begin and end, in percent of their tracks.
fn boxes(shown: &mut Shown, section: &str, kind: &str) -> Vec<(f64, f64)> {
    let all = shown.page.eval(&format!(
        "[...document.querySelectorAll('#{section} .forest .{kind}')].map((b) => [parseFloat(b.style.left), parseFloat(b.style.width)])"
    ));
    let pair = |p: &Value| (p[0].as_f64().expect("a left edge"), p[1].as_f64().expect("a width"));
    all.as_array().expect("boxes").iter().map(pair).collect()
}

#[test]
fn bars_are_as_long_as_the_changes_and_whiskers_as_their_intervals() {
    let record = of("cost-own");
    let Some(mut shown) = show("cost spans", &record) else { return };
    let tar = &result(&record).benchmarks[0];
    let spans: Vec<Estimate> = tar.comparisons[0].spans.iter().map(|s| s.ratio.unwrap()).collect();
    let (bars, whiskers) = (boxes(&mut shown, "spans", "bar"), boxes(&mut shown, "spans", "whisker"));
    assert_eq!((bars.len(), whiskers.len()), (spans.len(), spans.len()));
    let scale = bars[0].1 / (spans[0].value - 1.0);
    for ((span, bar), whisker) in spans.iter().zip(&bars).zip(&whiskers) {
        assert!((bar.1 - scale * (span.value - 1.0)).abs() < 0.01, "{bar:?} of {span:?}");
        assert!((whisker.1 - scale * 2.0 * span.half_width).abs() < 0.01, "{whisker:?} of {span:?}");
    }
    // Nothing that chance could have made looks as if it had been taken.
    let beyond = |t: &&netfathom_model::record::Taken| !t.difference.holds(0.0);
    let times = [
        "run-queue delay",
        "own processor time",
        "interrupts (machine)",
        "steal (machine)",
        "CPU pressure (machine)",
    ];
    let of_times = || tar.comparisons[0].taken.iter().filter(|t| times.contains(&t.resource.name()));
    let untold = boxes(&mut shown, "taken", "bar.untold").len();
    assert_eq!(untold, of_times().filter(|t| !beyond(t)).count());
    assert_eq!(boxes(&mut shown, "taken", "bar").len(), of_times().count());
}

#[test]
fn its_own_calls_come_first_where_they_were_asked_for() {
    let first = "[...document.querySelectorAll('main > section')].slice(0, 3).map((s) => s.id)";
    let Some(mut shown) = show("cost own first", &of("cost-own")) else { return };
    assert_eq!(shown.page.eval(first), json!(["calls", "spans", "picture"]));
    let Some(mut shown) = show("cost picture first", &of("cost-chance")) else { return };
    assert_eq!(shown.page.eval(first), json!(["picture", "sequences", "spans"]));
}

#[test]
fn without_loads_the_band_is_what_would_not_have_been_seen() {
    let record = of("cost-chance");
    let Some(mut shown) = show("cost band", &record) else { return };
    let c = &result(&record).benchmarks[0].comparisons[0];
    let (band, whisker) = (boxes(&mut shown, "picture", "band"), boxes(&mut shown, "picture", "whisker"));
    let wanted = c.smallest.unwrap() / c.ratio.half_width;
    assert!((band[0].1 / whisker[0].1 - wanted).abs() < 0.01, "{band:?} and {whisker:?}");
    let answer = shown.page.eval("document.querySelector('.answer').innerText").to_string();
    assert!(answer.contains("told apart") && answer.contains("would have been seen"), "{answer}");
}

#[test]
fn a_comparison_is_chosen_and_told_apart_from_the_others() {
    let Some(mut shown) = show("cost choice", &of("cost")) else { return };
    // That of the answer comes first.
    let said = "[...document.querySelectorAll('#spans .note')].find((n) => n.offsetParent && n.innerText.includes('beside')).innerText";
    assert_eq!(shown.page.eval(said), json!("tar: “with at 80M” beside “without at 80M”"));
    let click = |text: &str| {
        format!(
            "[...document.querySelectorAll('#spans .choice button')].find((b) => b.offsetParent && b.innerText === '{text}').click()"
        )
    };
    shown.page.eval(&click("light"));
    shown.page.eval(&click("8M"));
    assert_eq!(shown.page.eval(said), json!("light: “with at 8M” beside “without at 8M”"));
    let rows = "[...document.querySelectorAll('#spans .forest .what')].filter((n) => n.offsetParent).map((n) => n.innerText)";
    assert_eq!(shown.page.eval(rows), json!(["cpu", "memory", "calls", "data"]));
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
    assert!(!drawn(&mut shown, &format!("run-{place}-cost-0"), "the program").is_empty());
    let part = shown.page.eval(&format!("document.querySelector('#run-{place}').innerText")).to_string();
    for said in ["tcpdump -eX -s0 slows tar down by", "seen from", "tcpdump beside tar"] {
        assert!(part.contains(said), "{said}: {part}");
    }
    stays_quiet("cost in an experiment", &record);
}
