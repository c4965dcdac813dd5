//! Stalls that were recognised: as it was, and each remedy beside it.

use netfathom_model::record::{MessageResult, Remedied, RemedyRow};

use crate::render::messaged::{self, as_it_was};
use crate::render::terminal::bar::bar;
use crate::render::terminal::number;
use crate::render::terminal::page::Page;
use crate::render::terminal::table::{Align, Table};

/// Columns of the longest bar.
const BAR: usize = 12;

pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    for remedied in &result.remedies {
        page.heading(&format!(
            "“{}” stalls with {} bytes: {}",
            remedied.layer,
            number::count(remedied.bytes),
            remedied.stall.name()
        ));
        table(page, remedied);
    }
    if !result.remedies.is_empty() {
        page.note(
            "bars are logarithmic, of the median; ratio: the median as a multiple of that as it was; delayed \
             acks: acknowledgements that were put off, a message",
        );
    }
}

fn table(page: &mut Page, remedied: &Remedied) {
    let right = ["p50", "p99", "ratio", "delayed\nacks"].map(|head| (head, Align::Right));
    let heads: Vec<(&str, Align)> = [("", Align::Left)]
        .into_iter()
        .chain(right)
        .chain([("stall", Align::Left), ("what was done", Align::Left)])
        .collect();
    let mut table = Table::new(&heads);
    let medians = || remedied.rows.iter().filter(|r| r.times.n > 0).map(|r| r.times.p50_ns as f64);
    let (low, high) = (medians().fold(f64::INFINITY, f64::min) / 2.0, medians().fold(0.0, f64::max));
    let share = |ns: f64| (ns / low).ln() / (high / low).ln();
    let was = as_it_was(remedied).filter(|row| row.times.n > 0);
    for row in &remedied.rows {
        let known = |text: &dyn Fn(&RemedyRow) -> String| {
            if row.times.n > 0 { text(row) } else { "n/a".into() }
        };
        let ratio = was.filter(|was| was.times.p50_ns > 0).map(|was| {
            let value = row.times.p50_ns as f64 / was.times.p50_ns as f64;
            messaged::each(Some(value))
        });
        table.row_open(
            &[
                known(&|r| bar(share(r.times.p50_ns as f64), BAR)).replace("n/a", ""),
                known(&|r| messaged::time(r.times.p50_ns as f64)),
                known(&|r| messaged::time(r.times.p99_ns as f64)),
                known(&|_| ratio.clone().unwrap_or_else(|| "n/a".into())),
                messaged::each(row.delayed_acks_per_message),
                if row.gone { "gone" } else { "there" }.into(),
            ],
            &format!("{} ({})", row.remedy, row.layer),
        );
    }
    page.table(&table);
}
