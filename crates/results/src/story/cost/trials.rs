//! The trials of each benchmark, what failed of them, and what could not be measured.

use crate::page::{Align, Page, Table, shortened};
use netfathom_model::record::{CostBenchmark, CostResult};

use super::{LONGEST_NAME, more};
use crate::story::MOST_ROWS;
use crate::story::costed::{self, Spread};

pub(super) fn draw(page: &mut Page, result: &CostResult) {
    for benchmark in &result.benchmarks {
        page.heading(&format!("{}: trials", shortened(&benchmark.name, LONGEST_NAME)));
        for text in costed::benchmark_notes(benchmark) {
            page.text(&text);
        }
        table(page, result, benchmark);
        for failure in costed::failures(result, benchmark) {
            page.bullet(&failure);
        }
        for text in &benchmark.absent {
            page.bullet(&format!("not measured: {text}"));
        }
    }
}

fn table(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark) {
    let all = costed::spreads(result, benchmark);
    if all.is_empty() {
        page.text("n/a: none is finished");
        return;
    }
    let right = ["trials", "shortest", "mean", "longest", "failed"].map(|head| (head, Align::Right));
    let mut table = Table::new(&right.into_iter().chain([("condition", Align::Left)]).collect::<Vec<_>>());
    for Spread { condition, trials, failed, times_ns } in all.iter().take(MOST_ROWS) {
        let times = times_ns.map_or_else(|| ["-", "-", "-"].map(Into::into), |t| t.map(costed::time));
        let [shortest, mean, longest] = times;
        let cells = [trials.to_string(), shortest, mean, longest, failed.to_string()];
        table.row_open(&cells, &costed::condition_name(result, *condition));
    }
    page.table(table);
    more(page, all.len());
}
