//! Stalls that were recognized: as it was, and each remedy beside it.

use crate::page::{Cell, Page, Table};
use netfathom_model::record::{MessageResult, Remedied, RemedyRow};

use super::figure::each;
use super::groups;
use crate::story::{logarithmic, number};

/// Columns of the longest bar.
const BAR: usize = 12;

pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    for remedied in &result.remedies {
        page.main(&format!(
            "“{}” stalls with {} bytes on {}: {}",
            remedied.layer,
            number::count(remedied.bytes),
            groups::pair(result, remedied.pair),
            remedied.stall.name()
        ));
        table(page, remedied);
    }
    if !result.remedies.is_empty() {
        page.rest();
        page.note(
            "bars: the median, logarithmic; speedup: beside the first row; delayed \
             ACKs: per message",
        );
    }
}

fn table(page: &mut Page, remedied: &Remedied) {
    let mut table = Table::of("<|p50|p99|speedup|delayed\nACKs|<stall|<change").bars(0, BAR);
    let timed = remedied.rows.iter().filter(|r| r.times.n > 0);
    let share = logarithmic(timed.map(|r| r.times.p50_ns as f64));
    for row in &remedied.rows {
        let bar = if row.times.n > 0 { share(row.times.p50_ns as f64) } else { 0.0 };
        let [median, p99, faster] = figures(remedied, row);
        let acks = each(row.delayed_acks_per_message);
        let stall = if row.gone { "gone" } else { "there" }.to_owned();
        let what = format!("{} ({})", row.remedy, row.layer);
        let figures = [median, p99, faster, acks, stall].map(Cell::from);
        table.row_open([Cell::Bar { bar }].into_iter().chain(figures), &what);
    }
    page.table(table);
}

/// Median, 99th percentile, and how many times as fast as it was.
fn figures(remedied: &Remedied, row: &RemedyRow) -> [String; 3] {
    if row.times.n == 0 {
        return ["n/a", "n/a", "n/a"].map(String::from);
    }
    let was = as_it_was(remedied).filter(|was| was.times.n > 0 && row.times.p50_ns > 0);
    let faster = was.map(|was| was.times.p50_ns as f64 / row.times.p50_ns as f64);
    let [median, p99] = [row.times.p50_ns, row.times.p99_ns].map(number::time);
    [median, p99, each(faster)]
}

/// The stalled one, which is the first.
pub(super) fn as_it_was(remedied: &Remedied) -> Option<&RemedyRow> {
    remedied.rows.first()
}

/// Of the remedies with which the stall is gone, the one with the shortest median.
pub(super) fn best_remedy(remedied: &Remedied) -> Option<&RemedyRow> {
    let gone = remedied.rows.iter().skip(1).filter(|row| row.gone && row.times.n > 0);
    gone.min_by_key(|row| row.times.p50_ns)
}
