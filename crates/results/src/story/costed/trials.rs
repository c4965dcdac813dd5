//! The trials of a benchmark: how far apart they are, and the base sequences they make.

use netfathom_model::record::{CostBenchmark, CostResult, CostTrial};

/// The trials of one condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Its place among the conditions.
    pub condition: usize,
    /// Trials that count,
    pub trials: usize,
    /// and those that failed.
    pub failed: usize,
    /// Shortest, mean and longest time in nanoseconds.
    pub times_ns: Option<[f64; 3]>,
}

/// The mean times of the marks of one condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sequence {
    /// Its place among the conditions.
    pub condition: usize,
    /// Mean time of each mark in nanoseconds, the start, which is 0, first.
    pub marks_ns: Vec<f64>,
}

/// Trials of a condition that count.
fn counting(benchmark: &CostBenchmark, condition: usize) -> impl Iterator<Item = &CostTrial> {
    benchmark.trials.iter().filter(move |t| t.condition == condition && t.failed.is_none())
}

/// The conditions in which there are trials; a damaged record may name such as do not exist.
fn conditions(result: &CostResult, benchmark: &CostBenchmark) -> Vec<usize> {
    let mut all: Vec<usize> = benchmark.trials.iter().map(|t| t.condition).collect();
    all.sort_unstable();
    all.dedup();
    all.truncate(result.conditions.len().max(64));
    all
}

/// How far apart the trials of each condition are.
pub(crate) fn spreads(result: &CostResult, benchmark: &CostBenchmark) -> Vec<Spread> {
    let spread = |condition| {
        let times: Vec<f64> =
            counting(benchmark, condition).map(|t| t.total_ns).filter(|ns| ns.is_finite()).collect();
        let failed = benchmark.trials.iter().filter(|t| t.condition == condition && t.failed.is_some());
        let times_ns = (!times.is_empty()).then(|| {
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            [
                times.iter().copied().fold(f64::INFINITY, f64::min),
                mean,
                times.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ]
        });
        Spread { condition, trials: counting(benchmark, condition).count(), failed: failed.count(), times_ns }
    };
    conditions(result, benchmark).into_iter().map(spread).collect()
}

/// The sequences of a benchmark, of the conditions in which a trial counts. Trials that have not as many spans
/// as the benchmark are left out.
pub(crate) fn sequences(result: &CostResult, benchmark: &CostBenchmark) -> Vec<Sequence> {
    conditions(result, benchmark).into_iter().filter_map(|c| sequence(benchmark, c)).collect()
}

fn sequence(benchmark: &CostBenchmark, condition: usize) -> Option<Sequence> {
    let spans = benchmark.marks.len().checked_sub(1).filter(|&n| n > 0)?;
    let whole = |spans_ns: &Vec<f64>| spans_ns.len() == spans && spans_ns.iter().all(|ns| ns.is_finite());
    let trials: Vec<&Vec<f64>> =
        counting(benchmark, condition).map(|t| &t.spans_ns).filter(|s| whole(s)).collect();
    if trials.is_empty() {
        return None;
    }
    let mut marks_ns = vec![0.0];
    let mut at = 0.0;
    for span in 0..spans {
        at += trials.iter().map(|t| t[span]).sum::<f64>() / trials.len() as f64;
        marks_ns.push(at);
    }
    Some(Sequence { condition, marks_ns })
}
