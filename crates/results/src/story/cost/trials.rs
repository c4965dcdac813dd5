//! The trials of each benchmark, what failed of them, and what could not be measured.

use crate::page::{Axis, Band, Chart, Color, Look, Page, Series, Table, shortened};
use itertools::Itertools as _;
use netfathom_model::print::bytes;
use netfathom_model::record::{CostBenchmark, CostResult, CostTrial, ProgramTrial};

use super::comparison::condition_name;
use super::{LONGEST_NAME, more, notes, sequences};
use crate::story::{MOST_ROWS, number, trial_number};

struct Spread {
    condition: usize,
    trials: usize,
    failed: usize,
    /// Shortest, mean and longest time in nanoseconds.
    times_ns: Option<[f64; 3]>,
}

const COLORS: [Color; 10] = [
    "rate",
    "rx",
    "tx",
    "planned",
    "call",
    "lag",
    "stage-qdisc",
    "cause-slow-sender",
    "cause-nagle",
    "cause-loss",
];

pub(super) fn color(condition: usize) -> Color {
    COLORS[condition % COLORS.len()]
}

pub(super) fn draw(page: &mut Page, result: &CostResult) {
    for (place, benchmark) in result.benchmarks.iter().enumerate() {
        page.heading(&format!("{}: trials", shortened(&benchmark.name, LONGEST_NAME)));
        notes::benchmark_notes(benchmark).iter().for_each(|text| page.text(text));
        let spreads = spreads(result, benchmark);
        page.chart(chart(result, benchmark, &spreads, place));
        table(page, result, &spreads);
        notes::failures(result, benchmark).iter().for_each(|failure| page.bullet(failure));
        for text in &benchmark.absent {
            page.bullet(&format!("not measured: {text}"));
        }
        sequences::draw(page, result, benchmark, place);
        if !benchmark.trials.is_empty() {
            page.details("each trial", |page| page.table(each(result, benchmark)));
        }
    }
}

/// Trials in the order in which they ran, so that drift is seen: it is the same for all of a block.
fn chart(result: &CostResult, benchmark: &CostBenchmark, spreads: &[Spread], place: usize) -> Option<Chart> {
    let (first, [_, mean, _]) = spreads.iter().find_map(|s| Some((s.condition, s.times_ns?)))?;
    let trials = in_order(benchmark);
    let beyond = |trial: &CostTrial| {
        let counts = trial.failed.is_none() && trial.total_ns.is_finite();
        counts.then(|| trial.total_ns / mean - 1.0).filter(|share| share.is_finite())
    };
    let line = |spread: &Spread| Series {
        values: trials.iter().map(|t| beyond(t).filter(|_| t.condition == spread.condition)).collect(),
        ..Series::new(condition_name(result, spread.condition), color(spread.condition), Look::Dots)
    };
    Some(Chart {
        id: format!("cost-trials-{place}"),
        title: format!("Each trial relative to the mean of “{}”", condition_name(result, first)),
        about: "The time of each trial in the order in which they ran; every second block is shaded.".into(),
        x: Axis::Trial,
        y: Axis::Share,
        height: 280,
        xs: (1..=trials.len()).map(|number| number as f64).collect(),
        bands: blocks(&trials),
        series: spreads.iter().map(line).collect(),
        ..Chart::default()
    })
}

fn in_order(benchmark: &CostBenchmark) -> Vec<&CostTrial> {
    benchmark.trials.iter().sorted_by_key(|trial| trial.index).collect()
}

fn blocks(trials: &[&CostTrial]) -> Vec<Band> {
    let mut from = 0.5;
    let band = |(place, block): (usize, &[&CostTrial])| {
        let to = from + block.len() as f64;
        Band { from: std::mem::replace(&mut from, to), to, label: String::new(), shaded: place % 2 == 1 }
    };
    trials.chunk_by(|a, b| a.block == b.block).enumerate().map(band).collect()
}

fn table(page: &mut Page, result: &CostResult, all: &[Spread]) {
    if all.is_empty() {
        page.text("n/a: none is finished");
        return;
    }
    let mut table = Table::of("trials|shortest|mean|longest|failed|<condition");
    for Spread { condition, trials, failed, times_ns } in all.iter().take(MOST_ROWS) {
        let times = times_ns.map_or_else(|| ["-", "-", "-"].map(Into::into), |t| t.map(number::mean));
        let [shortest, mean, longest] = times;
        let cells = [trials.to_string(), shortest, mean, longest, failed.to_string()];
        table.row_open(&cells, &condition_name(result, *condition));
    }
    page.table(table);
    more(page, all.len(), "condition");
}

fn each(result: &CostResult, benchmark: &CostBenchmark) -> Table {
    let mut table =
        Table::of("trial|block|time|program there|its CPU time|its memory|its output|started|<condition");
    for trial in in_order(benchmark) {
        let known = |text: &dyn Fn(&ProgramTrial) -> Option<String>| {
            trial.program.as_ref().and_then(text).unwrap_or_else(|| "-".into())
        };
        let counts = trial.failed.is_none() && trial.total_ns.is_finite();
        let cells = [
            trial_number(trial.index),
            trial_number(trial.block),
            if counts { number::mean(trial.total_ns) } else { "n/a".into() },
            known(&|p| Some(number::percent(p.present))),
            known(&|p| p.cpu_ns.map(number::seconds)),
            known(&|p| p.peak_rss_bytes.map(|size| bytes(size as f64))),
            known(&|p| p.output_bytes.map(|size| bytes(size as f64))),
            known(&|p| Some(p.starts.to_string())),
        ];
        let killed = trial.program.is_some_and(|p| p.killed).then_some("the program was killed");
        let wrong = trial.failed.as_deref().into_iter().chain(killed);
        let words = [condition_name(result, trial.condition)].into_iter().chain(wrong.map(str::to_owned));
        table.row_open(cells, &words.collect::<Vec<_>>().join("; "));
    }
    table
}

pub(super) fn counting(benchmark: &CostBenchmark, condition: usize) -> impl Iterator<Item = &CostTrial> {
    benchmark.trials.iter().filter(move |t| t.condition == condition && t.failed.is_none())
}

/// The conditions in which there are trials; a damaged record may name such as do not exist.
pub(super) fn conditions(result: &CostResult, benchmark: &CostBenchmark) -> Vec<usize> {
    let all = benchmark.trials.iter().map(|t| t.condition).sorted_unstable().dedup();
    all.take(result.conditions.len().max(64)).collect()
}

/// How far apart the trials of each condition are.
fn spreads(result: &CostResult, benchmark: &CostBenchmark) -> Vec<Spread> {
    let spread = |condition| {
        let times: Vec<f64> =
            counting(benchmark, condition).map(|t| t.total_ns).filter(|ns| ns.is_finite()).collect();
        let failed = benchmark.trials.iter().filter(|t| t.condition == condition && t.failed.is_some());
        let times_ns = (!times.is_empty()).then(|| {
            [
                times.iter().copied().fold(f64::INFINITY, f64::min),
                netfathom_stats::mean(&times),
                times.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ]
        });
        Spread { condition, trials: counting(benchmark, condition).count(), failed: failed.count(), times_ns }
    };
    conditions(result, benchmark).into_iter().map(spread).collect()
}
