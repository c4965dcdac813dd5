//! The benchmark's own system calls, those that take most time first.

use crate::page::{Axis, Bar, Bars, Page, Table, shortened};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, OwnCall, OwnTime};

use super::comparison::{self, condition_name};
use super::figure::Figure;
use super::{LONGEST_NAME, answer, charts, more, pair_name};
use crate::story::{MOST_ROWS, number};
use netfathom_model::print::grouped;

pub(super) fn draw(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark) {
    if benchmark.calls.is_empty() {
        return;
    }
    match comparison::shown(result, benchmark).filter(|_| !answer::own_alone(result)) {
        None => alone(page, result, benchmark),
        Some(comparison) => compared(page, result, benchmark, comparison),
    }
    more(page, benchmark.calls.len(), "call");
}

fn compared(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) {
    page.heading(&format!("Its own system calls, a trial: {}", pair_name(result, benchmark, comparison)));
    page.bars(added(benchmark, comparison));
    let mut table = Table::of("calls\nwithout|calls\nwith|time\nwithout|time\nwith|adds|<call");
    for call in benchmark.calls.iter().take(MOST_ROWS) {
        let [before, after] = [comparison.against, comparison.condition].map(|c| of_condition(call, c));
        let adds = comparison::adds(benchmark, comparison, call);
        let cells = [
            calls(before),
            calls(after),
            time(before),
            time(after),
            adds.map_or_else(|| "-".into(), Figure::time),
        ];
        table.row_open(&cells, &shortened(&call.name, LONGEST_NAME));
    }
    page.table(table);
    page.note("adds: how much longer a run takes with it; -: the call was not made");
}

fn added(benchmark: &CostBenchmark, comparison: &Comparison) -> Bars {
    let bar = |call: &OwnCall| {
        let adds = comparison::adds(benchmark, comparison, call)?;
        let bar = charts::bar(&call.name, comparison.effect, adds, !adds.beyond_chance());
        Some(Bar { text: adds.time(), ..bar })
    };
    let bars = benchmark.calls.iter().take(MOST_ROWS).filter_map(bar).collect();
    charts::beside_zero(Axis::Time, "What each call adds to a run", bars)
}

/// Where nothing is compared there are still their times in the first condition.
fn alone(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark) {
    let of = condition_name(result, 0);
    page.main(&format!("{}: its own system calls, {of}", shortened(&benchmark.name, LONGEST_NAME)));
    let mut table = Table::of("calls|time|<call");
    for call in benchmark.calls.iter().take(MOST_ROWS) {
        let first = of_condition(call, 0);
        table.row_open(&[calls(first), time(first)], &shortened(&call.name, LONGEST_NAME));
    }
    page.table(table);
}

fn of_condition(call: &OwnCall, condition: usize) -> Option<OwnTime> {
    call.times.get(condition).copied().flatten()
}

fn calls(own: Option<OwnTime>) -> String {
    own.filter(|own| own.calls.is_finite()).map_or_else(
        || "-".into(),
        |own| {
            let decimals = usize::from(own.calls.fract() != 0.0 && own.calls < 1000.0);
            grouped(own.calls, decimals)
        },
    )
}

fn time(own: Option<OwnTime>) -> String {
    own.map_or_else(|| "-".into(), |own| number::mean(own.total_ns))
}
