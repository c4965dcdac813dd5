//! Base sequences: when each mark was reached, in each condition.

use netfathom_model::record::{CostBenchmark, CostResult};

use super::counting;

/// The mean times of the marks of one condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sequence {
    /// Its place among the conditions.
    pub condition: usize,
    /// Trials that count.
    pub trials: usize,
    /// Mean time of each mark in nanoseconds, the start, which is 0, first.
    pub marks_ns: Vec<f64>,
}

/// The sequences of a benchmark, of the conditions in which a trial counts. Trials that have not as many spans
/// as the benchmark are left out.
pub(crate) fn sequences(result: &CostResult, benchmark: &CostBenchmark) -> Vec<Sequence> {
    let conditions = 0..result.conditions.len();
    conditions.filter_map(|condition| sequence(benchmark, condition)).collect()
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
    Some(Sequence { condition, trials: trials.len(), marks_ns })
}
