//! The slowdown by load or condition, a table for each effect on each benchmark.

use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Effect};

use crate::render::costed::{self, shortened};
use crate::render::terminal::MOST_ROWS;
use crate::render::terminal::bar::bar;
use crate::render::terminal::page::Page;
use crate::render::terminal::table::{Align, Table};

/// Columns of the longest bar.
const BAR: usize = 10;

/// Letters of a level or a condition.
const LONGEST_NAME: usize = 22;

pub(super) fn draw(page: &mut Page, result: &CostResult) {
    let most = most(result);
    for benchmark in &result.benchmarks {
        for effect in costed::effects(result, benchmark) {
            page.heading(&format!("{}: {}", shortened(&benchmark.name, 60), costed::effect_words(effect)));
            table(page, result, benchmark, effect, most);
        }
    }
    if result.benchmarks.iter().any(|b| !b.comparisons.is_empty()) {
        note(page, result);
    }
}

/// The largest slowdown, of which bars are shares.
fn most(result: &CostResult) -> f64 {
    let all = result.benchmarks.iter().flat_map(|b| &b.comparisons).map(|c| c.ratio.value - 1.0);
    all.filter(|s| s.is_finite()).fold(0.0, f64::max)
}

fn table(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, effect: Effect, most: f64) {
    let rows: Vec<&Comparison> = benchmark.of_effect(effect).collect();
    let loads = rows.iter().any(|c| costed::level(result, c).is_some());
    let mut table = Table::new(&[
        (if loads { "load" } else { "condition" }, if loads { Align::Right } else { Align::Left }),
        ("slowdown", Align::Right),
        ("", Align::Left),
        ("PCost", Align::Right),
        ("seen\nfrom", Align::Right),
        ("blocks", Align::Right),
        ("outcome", Align::Left),
    ]);
    for comparison in rows.iter().take(MOST_ROWS) {
        table.row(&[
            shortened(&costed::row_name(result, comparison), LONGEST_NAME),
            costed::slowdown(comparison).percent(),
            bar((comparison.ratio.value - 1.0) / most, BAR),
            costed::pcost(comparison).percent(),
            comparison.smallest.map_or_else(|| "-".into(), costed::percent),
            comparison.blocks.to_string(),
            costed::outcome(comparison.outcome).into(),
        ]);
    }
    page.table(&table);
    if rows.len() > MOST_ROWS {
        page.note(&format!("… and {} more in the record", rows.len() - MOST_ROWS));
    }
}

fn note(page: &mut Page, result: &CostResult) {
    let all = || result.benchmarks.iter().flat_map(|b| &b.comparisons);
    let with_interval = all().any(|c| costed::slowdown(c).half.is_some());
    let interval = if with_interval {
        ", each ± half its 95 % interval between blocks; seen from: the slowdown that would have been told apart, \
         four times in five"
    } else {
        "; of single runs there is no interval, and nothing is told from chance"
    };
    page.note(&format!(
        "slowdown: how much longer the benchmark takes; PCost (Qian & Wang 2006): the sum over its spans of (d' - d) / \
         (d' + d), which saturates{interval}"
    ));
}
