//! What was taken, by resource.

use crate::page::{Align, Page, Table};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult};

use super::{beside, more};
use crate::story::MOST_ROWS;
use crate::story::costed;

pub(super) fn draw(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) {
    if comparison.taken.is_empty() {
        return;
    }
    page.heading(&format!("What was taken, by resource, a trial: {}", beside(result, benchmark, comparison)));
    let right = ["before", "after", "difference"].map(|head| (head, Align::Right));
    let heads = [("resource", Align::Left)].into_iter().chain(right).chain([("", Align::Left)]);
    let mut table = Table::new(&heads.collect::<Vec<_>>());
    for taken in comparison.taken.iter().take(MOST_ROWS) {
        let difference = costed::difference(comparison, taken);
        let mut cells = vec![taken.resource.name().to_owned()];
        cells.extend([taken.before, taken.after].map(|value| costed::amount(taken.resource, value)));
        cells.push(difference.amount(taken.resource));
        if difference.beyond_chance() {
            cells.push("*".into());
            table.row_strong(&cells);
        } else {
            table.row(&cells);
        }
    }
    page.table(table);
    more(page, comparison.taken.len());
    page.note(costed::taken_note(comparison));
}
