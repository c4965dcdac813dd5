//! The slowdown by load or condition, a table for each effect on each benchmark.

use crate::page::{Cell, Page, Table, shortened};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Effect, Outcome};

use super::comparison::{self, row_name};
use super::figure::{Figure, pcost, slowdown};
use super::{charts, more, notes};
use crate::story::{MOST_ROWS, number};

/// Columns of the longest bar.
const BAR: usize = 16;

/// Letters of a load.
const LONGEST_LOAD: usize = 12;

pub(super) fn draw(page: &mut Page, result: &CostResult) {
    let most = most(result);
    let charts: Vec<_> =
        result.benchmarks.iter().enumerate().map(|(i, b)| charts::over_load(result, b, i)).collect();
    let mut bars = charts::slowdowns(result).filter(|_| charts.iter().all(Option::is_none));
    for (benchmark, mut chart) in result.benchmarks.iter().zip(charts) {
        for effect in comparison::effects(result, benchmark) {
            let words = comparison::effect_words(effect);
            let title = format!("{}: {words}", shortened(&benchmark.name, 60));
            page.head(&title, effect == result.headline());
            page.chart(chart.take());
            page.bars(bars.take());
            table(page, result, benchmark, effect, most);
        }
    }
    if result.benchmarks.iter().any(|b| !b.comparisons.is_empty()) {
        page.note(notes::slowdown_note(result));
        page.rest();
        pcosts(page, result);
    }
    overall(page, result);
}

/// The measure of the paper, of each comparison.
fn pcosts(page: &mut Page, result: &CostResult) {
    page.note(notes::PCOST);
    for benchmark in &result.benchmarks {
        for effect in comparison::effects(result, benchmark) {
            let rows = benchmark.of_effect(effect).take(MOST_ROWS);
            let of = |c: &Comparison| format!("{} ({})", pcost(c).percent(), row_name(result, c));
            let all: Vec<String> = rows.map(of).collect();
            let (name, words) = (shortened(&benchmark.name, 60), comparison::effect_words(effect));
            page.bullet(&format!("{name}: {words}: {}", all.join(", ")));
        }
    }
}

/// The largest slowdown: bars are shares of it.
fn most(result: &CostResult) -> f64 {
    let all = result.benchmarks.iter().flat_map(|b| &b.comparisons).map(|c| c.ratio.value - 1.0);
    all.filter(|s| s.is_finite()).fold(0.0, f64::max)
}

fn table(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, effect: Effect, most: f64) {
    let rows: Vec<&Comparison> = benchmark.of_effect(effect).collect();
    let loads = effect != Effect::Observation && rows.iter().any(|c| comparison::level(result, c).is_some());
    let mut table = match loads {
        true => Table::of("load|slowdown|MDE|<outcome|<").bars(4, BAR),
        false => Table::of("slowdown|MDE|<outcome|<|<condition").bars(3, BAR),
    };
    for comparison in rows.iter().take(MOST_ROWS) {
        let name = row_name(result, comparison);
        let mut cells: Vec<Cell> = Vec::new();
        cells.extend(loads.then(|| shortened(&name, LONGEST_LOAD).into()));
        cells.extend([
            slowdown(comparison).percent().into(),
            detectable(comparison).map_or_else(|| "-".into(), number::percent).into(),
            comparison::outcome(comparison.outcome).into(),
            if charts::is_chance(comparison.outcome) {
                "".into()
            } else {
                Cell::Bar { bar: (comparison.ratio.value - 1.0) / most }
            },
        ]);
        if loads {
            table.row(cells);
            continue;
        }
        table.row_open(cells, &name);
        // The answer is of this part.
        if let Some(slowed) = comparison::slowed_part(benchmark, comparison) {
            let cells = [
                slowed.change.percent().into(),
                "-".into(),
                comparison::outcome(Outcome::Cost).into(),
                "".into(),
            ];
            table.row_open::<Cell>(cells, &format!("{name}: {}", slowed.span));
        }
    }
    page.table(table);
    more(page, rows.len(), "comparison");
}

/// Beside a slowdown that is significant it says nothing.
fn detectable(comparison: &Comparison) -> Option<f64> {
    comparison.smallest.filter(|_| charts::is_chance(comparison.outcome))
}

fn overall(page: &mut Page, result: &CostResult) {
    if result.overall.is_empty() {
        return;
    }
    page.heading("All benchmarks together");
    let mut table = Table::of("slowdown|PCost|<of what");
    for o in result.overall.iter().take(MOST_ROWS) {
        let figures = [Figure::alone(o.ratio).beyond_one().percent(), Figure::alone(o.pcost).percent()];
        let what = format!("{}: {}", o.effect.name(), comparison::versus(result, o.condition, o.against));
        table.row_open(&figures, &what);
    }
    page.table(table);
    more(page, result.overall.len(), "comparison");
    page.note(
        "the geometric mean of the ratios of times, and the mean of the PCosts, ± half the 95 % interval",
    );
}
