//! Base sequences: when each mark was reached in each condition, and how far behind the first one that is.

use netfathom_model::record::{CostBenchmark, CostResult};

use super::comparison::condition_name;
use super::trials::{color, conditions, counting};
use crate::page::{Axis, Chart, Page, Series};

/// The mean times of the marks of one condition.
struct Sequence {
    condition: usize,
    /// Mean time of each mark in nanoseconds, the start, which is 0, first.
    marks_ns: Vec<f64>,
}

pub(super) fn draw(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, place: usize) {
    let all: Vec<Sequence> =
        conditions(result, benchmark).into_iter().filter_map(|c| sequence(benchmark, c)).collect();
    let Some(first) = all.first() else { return };
    let from = vec![0.0; first.marks_ns.len()];
    page.chart(Chart {
        id: format!("cost-marks-{place}"),
        title: format!("When each mark of {} was reached", benchmark.name),
        about: "The mean time of each mark, a line for each condition.".into(),
        ..chart(result, benchmark, &all, &from)
    });
    if all.len() > 1 {
        page.chart(Chart {
            id: format!("cost-behind-{place}"),
            title: format!("Marks behind those of “{}”", condition_name(result, first.condition)),
            about: "How much later than in the first condition each mark was reached.".into(),
            note: Some(
                "Means of the trials that count. A line that leaves the others shows where time is lost.",
            ),
            ..chart(result, benchmark, &all[1..], &first.marks_ns)
        });
    }
}

fn chart(result: &CostResult, benchmark: &CostBenchmark, all: &[Sequence], from: &[f64]) -> Chart {
    let line = |sequence: &Sequence| Series {
        label: condition_name(result, sequence.condition),
        color: color(sequence.condition),
        values: sequence.marks_ns.iter().zip(from).map(|(at, from)| Some(at - from)).collect(),
        ..Series::default()
    };
    Chart {
        x: Axis::Named,
        y: Axis::Time,
        height: 260,
        xs: (0..from.len()).map(|mark| mark as f64).collect(),
        names: benchmark.marks.clone(),
        x_label: "mark".into(),
        series: all.iter().map(line).collect(),
        ..Chart::default()
    }
}

/// That of a condition in which a trial counts. Trials that have not as many spans as the benchmark are left out.
fn sequence(benchmark: &CostBenchmark, condition: usize) -> Option<Sequence> {
    let spans = benchmark.marks.len().checked_sub(1).filter(|&n| n > 0)?;
    let whole = |spans_ns: &Vec<f64>| spans_ns.len() == spans && spans_ns.iter().all(|ns| ns.is_finite());
    let trials: Vec<&Vec<f64>> =
        counting(benchmark, condition).map(|t| &t.spans_ns).filter(|s| whole(s)).collect();
    if trials.is_empty() {
        return None;
    }
    let mut marks_ns = vec![0.0];
    for span in 0..spans {
        let mean_ns = trials.iter().map(|t| t[span]).sum::<f64>() / trials.len() as f64;
        marks_ns.push(marks_ns[span] + mean_ns);
    }
    Some(Sequence { condition, marks_ns })
}
